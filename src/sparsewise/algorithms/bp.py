"""Basis Pursuit: the smallest ℓ1 norm that fits exactly."""

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


@algorithm(
    Family.L1, "exact data with more features than rows", result=L1Solution, least_squares=False
)
def bp(
    A: Any,
    y: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    debias: bool = False,
    solver: Solver = "auto",
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> L1Solution:
    """min Σ w_j |x_j| subject to A x = y (Chen, Donoho and Saunders 1998).

    The limit of `bpdn` for a residual of zero: the end of the path.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target, which must be in the range of A.
    weights, debias, solver, include, exclude, callback
        As for `bpdn`.

    Returns
    -------
    L1Solution
        With the dual vector that proves optimality.
    """
    data = problem(A, y, approximate_norms=True, include=include, exclude=exclude)
    pursuit = BasisPursuit(data, 0.0, solver, callback)
    stop = pursuit.run(check_weights(data, weights))
    return pursuit.solution("bp", stop, debias)
