"""BP ARD: Sparse Bayesian Learning as a sequence of weighted ℓ1 problems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise._util.parameters import check_positive
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.l1.basis_pursuit import BasisPursuit, Solver
from sparsewise.engine.l1.reweighting import relevance_weights, reweighted
from sparsewise.engine.l1.weights import check_weights
from sparsewise.engine.log import Callback
from sparsewise.problem.problem import problem
from sparsewise.results import L1Solution, Reweighted


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
    max_outer: int = 8,
    tol: float = 1e-4,
    debias: bool = False,
    solver: Solver = "auto",
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> L1Solution:
    """Iteratively reweighted `bpdn` with the weights of automatic relevance determination.

    Wipf and Nagarajan (2008): with prior variances γ_j = |x_j|/w_j the weights are

        w_j = √(a_j* C⁻¹ a_j),        C = σ² I + A diag(γ) A*,

    iterated a few times between two ℓ1 problems. Columns are scaled to unit norm first. Each round
    is warm-started from the last one; rounds end when no coefficient changes by more than `tol`
    times the largest.

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
    max_outer : int
        Most rounds after the first, unweighted one.
    tol : float
        Largest change of a coefficient, relative to the largest one, at which to stop.
    debias, solver, include, exclude, callback
        As for `bpdn`.

    Returns
    -------
    L1Solution
        The solution of the last finished round; `rounds` summarises all of them.
    """
    data = problem(A, y, include=include, exclude=exclude)
    pursuit = BasisPursuit(data, residual, solver, callback)
    noise = pursuit.bound if sigma is None else check_positive(sigma, "sigma")
    # With noise below rounding, or as far above the target, the weights would lose all digits.
    quiet = data.tolerances.quiet
    noise = min(max(noise / data.scale, quiet), 1 / quiet)

    def rule(x: Array, weights: Array) -> Array:
        return relevance_weights(data, x, weights, noise)

    equal = check_weights(data, data.design.norms())
    last = reweighted(pursuit, equal, rule, max_outer, tol)
    return last.solution("bp_ard", pursuit, debias)
