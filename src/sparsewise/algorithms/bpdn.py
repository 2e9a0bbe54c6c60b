"""Basis Pursuit Denoising: the smallest ℓ1 norm within a bound on the residual."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.l1.basis_pursuit import BasisPursuit, Solver
from sparsewise.engine.l1.weights import check_weights
from sparsewise.engine.log import Callback
from sparsewise.problem.problem import problem
from sparsewise.results import L1Solution


@algorithm(Family.L1, "the lasso at a given residual", result=L1Solution)
def bpdn(
    A: Any,
    y: ArrayLike,
    *,
    residual: float,
    weights: ArrayLike | None = None,
    debias: bool = False,
    solver: Solver = "auto",
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> L1Solution:
    """min Σ w_j |x_j| subject to ‖A x - y‖ <= residual (Chen, Donoho and Saunders 1998).

    The homotopy method follows the minimiser of ½‖A x - y‖² + λ Σ w_j |x_j| from the λ at which it
    is zero down to the λ at which ‖r‖ meets the bound, from breakpoint to breakpoint; in a large A,
    one pass serves several. The result is exact up to rounding, and exactly sparse. (Pass float64
    where columns agree to three digits, or weights differ by decades: float32 is too coarse.)

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    residual : float
        The bound on ‖A x - y‖; 0 is basis pursuit.
    weights : array-like of shape (m,), optional
        w, all 1 by default, for the columns as they are: with the columns' norms as ``weights``,
        units don't matter. 0 leaves a column unpenalised; infinity excludes it.
    debias : bool
        Whether to refit the chosen columns by least squares.
    solver : {"auto", "homotopy", "conic"}
        "homotopy" is the method above, for real data; "conic" passes a second-order cone program to
        Clarabel (extra ``conic``). "auto" is the homotopy for real data; for complex data, whose
        path is curved, it is Newton's method along the path.
    include, exclude : iterable of int
        Columns that are not penalised, and that are excluded.
    callback : callable, optional
        Called with every `Step` of the path; returning True stops.

    Returns
    -------
    L1Solution
        With the dual vector that proves optimality.
    """
    data = problem(A, y, approximate_norms=True, include=include, exclude=exclude)
    pursuit = BasisPursuit(data, residual, solver, callback)
    stop = pursuit.run(check_weights(data, weights))
    return pursuit.solution("bpdn", stop, debias)
