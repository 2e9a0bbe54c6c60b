"""BP ARD: Sparse Bayesian Learning as a sequence of weighted ℓ1 problems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.algorithms.bpdn import Solver, check_bound
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.algorithms.reweighting import reweighted
from sparsewise.design.base import Array, square_sums
from sparsewise.engine.log import Callback
from sparsewise.problem import Problem, check_positive
from sparsewise.results import L1Solution, Reweighted
from sparsewise.tolerances import tolerances

INNER = 8
"""Rounds of the weights' own fixed-point iteration between two ℓ1 problems."""


@algorithm(
    Family.L1,
    "fewer features than bpdn takes, correlated ones",
    result=Reweighted,
    least_squares=False,
)
def bp_ard(
    A: Any,
    y: ArrayLike,
    *,
    residual: float,
    sigma: float | None = None,
    rounds: int = 8,
    tol: float = 1e-4,
    debias: bool = False,
    solver: Solver = "auto",
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> L1Solution:
    """`bpdn` again and again, with the weights of automatic relevance determination.

    Wipf and Nagarajan (2008): with prior variances γ_j = |x_j|/w_j the weights are

        w_j = √(a_j* C⁻¹ a_j),        C = σ² I + A diag(γ) A*,

    which is iterated a few times between two ℓ1 problems. Columns are scaled to unit norm first.
    Each round goes on from the solution of the last; the rounds end when no coefficient moves by
    more than `tol` times the largest.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    residual : float
        The bound on ‖A x - y‖.
    sigma : float, optional
        σ in the weights; `residual` by default, as in the experiments of Ament and Gomes (2021).
    rounds : int
        Most rounds after the first, unweighted one.
    tol : float
        When to stop.
    debias, solver, include, exclude, callback
        As for `bpdn`.

    Returns
    -------
    L1Solution
        The last round's, with `rounds` telling of all of them.
    """
    noise = check_bound(residual) if sigma is None else check_positive(sigma, "sigma")

    def rule(data: Problem, x: Array, weights: Array) -> Array:
        # Noise below what rounding lets through would leave nothing of the weights' digits.
        least = tolerances(data.y.dtype).quiet
        return relevance_weights(data, x, weights, max(noise / data.scale, least))

    return reweighted(
        "bp_ard", rule, A, y, residual, rounds, tol, debias, solver, include, exclude, callback
    )


def relevance_weights(data: Problem, x: Array, weights: Array, sigma: float) -> Array:
    """√(a_j* C⁻¹ a_j) of all unit columns, after INNER rounds from the weights given.

    With S the support, P = A_S*A and M = σ² Γ⁻¹ + A_S*A_S = L L*, it is (1 - ‖L⁻¹P_j‖²)/σ² squared;
    for j in S also (1 - σ² [M⁻¹]_jj/γ_j)/γ_j, which keeps its digits where γ_j is large, and is
    all that the rounds need: Γ is zero elsewhere.
    """
    from scipy.linalg import get_lapack_funcs

    S = np.flatnonzero(x)
    size, own = np.abs(x[S]), np.asarray(weights[S], np.float64)
    free = own == 0
    P = (data.rmatmat(data.unit_columns(S)) * data.inverse_norms[:, None]).conj().T
    P = P.astype(np.result_type(P.dtype, np.float64), copy=False)
    routines: Any = get_lapack_funcs(("potrf", "trtri", "trtrs"), (P,))
    factor, invert, solve = routines
    for _ in range(INNER):
        gamma = np.where(free, np.inf, size / np.where(free, 1.0, own))
        ratio = sigma**2 / gamma
        L = factor(P[:, S] + np.diag(ratio), lower=1)[0]
        inverse = square_sums(invert(L, lower=1)[0])
        own = np.sqrt((1 - np.minimum(ratio * inverse, 1 - 1e-12)) / gamma)
    rest = 1 - square_sums(solve(L, P, lower=1)[0])
    new = np.sqrt(np.maximum(rest, tolerances(data.y.dtype).eps)) / sigma
    new[S] = own
    return new
