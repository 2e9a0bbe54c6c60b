"""FISTA: iterative soft thresholding with momentum (Beck and Teboulle, 2009)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_whole
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.l1.cone_program import inner
from sparsewise.engine.l1.proximal import Lasso
from sparsewise.engine.l1.weights import check_weights
from sparsewise.problem.problem import problem
from sparsewise.results import L1Solution, Stop

FIRST = 16
"""Iterations before the second finish; the first comes before any."""


@algorithm(
    Family.L1,
    "the lasso at a given penalty, with many features",
    result=L1Solution,
    least_squares=False,
    meant_by=("penalty",),
)
def fista(
    A: Any,
    y: ArrayLike,
    *,
    penalty: float,
    weights: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    debias: bool = False,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> L1Solution:
    """Minimise ½‖A x - y‖² + λ Σ w_j|x_j| by soft thresholding with momentum.

    As `ista`, but each step starts from the extrapolation x + β(x - x_before), with β growing
    towards 1: the error falls with the square of the number of iterations. When a step opposes the
    momentum, β restarts from zero (O'Donoghue and Candès, 2015). Two products with A or A* per
    iteration, as for `ista`.

    These steps identify the support quickly but the coefficients slowly. Unless A is an operator,
    Newton's method therefore first minimises on a working set of columns, those that correlate
    most with y. One pass over A then proves the gap or shows which columns are missing. If the
    working set becomes too large, the iterations above begin, and it is tried again after 16 of
    them, 64, ... For a small, real A, the exact path (`l1_path`) leads to the minimiser sooner.

    Parameters
    ----------
    A, y, penalty, weights, tol, max_iter, debias, include, exclude
        As for `ista`.

    Returns
    -------
    L1Solution
        Exactly sparse. ``dual`` proves the gap; ``accuracy`` is the larger of `tol`, the gap, and
        how far the residual itself is from the optimality conditions, as ``check`` measures it.
    """
    most = check_whole(max_iter, "max_iter", 1)
    data = problem(A, y, approximate_norms=True, include=include, exclude=exclude)
    lasso = Lasso(data, check_weights(data, weights), penalty, tol)

    def steps() -> Stop:
        t, finish = 1.0, 0
        for done in range(most):
            if lasso.converged():
                return Stop.CONVERGED
            lasso.log.check_interrupt()
            if done == finish and not data.design.is_operator:
                if (not done and lasso.has_path and lasso.follow_path()) or lasso.finish():
                    return Stop.CONVERGED
                finish = 4 * finish or FIRST
            start, before = lasso.start, lasso.now
            lasso.step()
            if inner(start.x - lasso.now.x, lasso.now.x - before.x) > 0:
                t = 1.0
            t, t_before = (1 + math.sqrt(1 + 4 * t * t)) / 2, t
            lasso.extrapolate(before, (t_before - 1) / t)
        return Stop.CONVERGED if lasso.converged() else Stop.MAX_ITER

    return lasso.solution("fista", lasso.log.run(steps), debias)
