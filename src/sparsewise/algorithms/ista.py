"""ISTA: iterative soft thresholding (Daubechies, Defrise and De Mol, 2004)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_whole
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.l1.proximal import Lasso
from sparsewise.engine.l1.weights import check_weights
from sparsewise.problem.problem import problem
from sparsewise.results import L1Solution, Stop


@algorithm(Family.L1, "the lasso at a given penalty", result=L1Solution)
def ista(
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
    """Minimise ½‖A x - y‖² + λ Σ w_j|x_j| by gradient steps with a soft threshold.

    x ← soft(x + A*(y - A x)/L, λ w/L), with L at least the largest eigenvalue of A*A along the
    step (for unit columns). The objective never rises. An iteration takes two products, with A and
    A*; `fista` needs far fewer iterations. Norms of an operator's columns are not measured.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    penalty : float
        λ, in the units of the data (scikit-learn's ``alpha`` times n). From max_j |a_j*y|/w_j on,
        x is zero.
    weights : array-like of shape (m,), optional
        w, all 1 by default; 0 leaves a column unpenalised, infinity excludes it.
    tol : float
        Stop once the duality gap, relative to the objective, is below this (or below rounding).
    max_iter : int
        Most iterations.
    debias : bool
        Refit least squares on the support.
    include : iterable of int
        Columns that are not penalised.
    exclude : iterable of int
        Columns that must not be in the model.

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
        for _ in range(most):
            if lasso.converged():
                return Stop.CONVERGED
            lasso.log.check_interrupt()
            lasso.step()
        return Stop.CONVERGED if lasso.converged() else Stop.MAX_ITER

    return lasso.solution("ista", lasso.log.run(steps), debias)
