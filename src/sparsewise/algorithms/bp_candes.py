"""Iteratively reweighted ℓ1 minimisation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise._util.parameters import check_positive
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.l1.basis_pursuit import BasisPursuit, Solver
from sparsewise.engine.l1.reweighting import reweighted, usual_epsilon
from sparsewise.engine.l1.weights import check_weights
from sparsewise.engine.log import Callback
from sparsewise.problem.problem import problem
from sparsewise.results import L1Solution, Reweighted


@algorithm(Family.L1, "fewer features than bpdn takes", result=Reweighted)
def bp_candes(
    A: Any,
    y: ArrayLike,
    *,
    residual: float,
    epsilon: float | None = None,
    max_outer: int = 8,
    tol: float = 1e-4,
    debias: bool = False,
    solver: Solver = "auto",
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> L1Solution:
    """Iteratively reweighted `bpdn` with weights 1/(|x_j| + ε) (Candès, Wakin and Boyd 2008).

    Small coefficients are penalised more, large ones less: closer to counting non-zeros. Columns
    are scaled to unit norm first. Each round is warm-started from the last one; rounds end when no
    coefficient changes by more than `tol` times the largest.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    residual : float
        The bound on ‖A x - y‖.
    epsilon : float, optional
        ε, relative to the largest coefficient (of unit columns). By default, in each round, the
        n/(4 log(m/n))-th largest coefficient, but at least 1e-3 (section 3.2 of their paper).
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
    fixed = None if epsilon is None else check_positive(epsilon, "epsilon")
    data = problem(A, y, include=include, exclude=exclude)
    quiet = data.tolerances.quiet
    pursuit = BasisPursuit(data, residual, solver, callback)

    def rule(x: Array, weights: Array) -> Array:
        size = np.abs(x).astype(np.float64) / np.abs(x).max()
        # Beyond these limits the weights would lose each other's digits.
        eps = min(max(fixed or usual_epsilon(data.design, size), quiet), 1 / quiet)
        return np.asarray(1 / (size + eps))

    equal = check_weights(data, data.design.norms())
    last = reweighted(pursuit, equal, rule, max_outer, tol)
    return last.solution("bp_candes", pursuit, debias)
