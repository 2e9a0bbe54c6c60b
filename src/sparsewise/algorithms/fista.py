"""FISTA: iterative soft thresholding with momentum (Beck and Teboulle, 2009)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.proximal import Lasso, Point, inner
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.halting import interrupted
from sparsewise.problem import check_whole
from sparsewise.results import L1Solution, Stop


@algorithm(
    Family.L1,
    "the lasso, told by its penalty, with many features",
    result=L1Solution,
    least_squares=False,
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

    As `ista`, but each step starts from a point ahead, x + β(x - x_before), with β growing towards
    1: the error falls with the square of the number of iterations. Where the step turns against
    the momentum, this starts anew from zero (O'Donoghue and Candès, 2015). Two products with A or
    A* an iteration, as for `ista`.

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
    lasso = Lasso(A, y, penalty, weights, include, exclude, tol)
    now = ahead = lasso.origin
    t = 1.0
    for left in reversed(range(check_whole(max_iter, "max_iter", 1) + 1)):
        correlations = lasso.correlations(ahead)
        if lasso.converged(now, ahead, correlations):
            stop = Stop.CONVERGED
            break
        if left == 0 or interrupted():
            stop = Stop.MAX_ITER
            break
        before, now = now, lasso.step(ahead, correlations)
        if inner(ahead.x - now.x, now.x - before.x) > 0:
            t = 1.0
        t_next = (1 + math.sqrt(1 + 4 * t * t)) / 2
        ahead = _beyond(now, before, (t - 1) / t_next)
        t = t_next
    return lasso.solution("fista", stop, now, debias)


def _beyond(now: Point, before: Point, beta: float) -> Point:
    """now + β (now - before); what it fits needs no product."""
    x = now.x + beta * (now.x - before.x)
    return Point(x, now.fit + beta * (now.fit - before.fit))
