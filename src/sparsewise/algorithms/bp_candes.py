"""Reweighted ℓ1 minimisation."""

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
    """`bpdn` again and again, with weights 1/(|x_j| + ε) (Candès, Wakin and Boyd 2008).

    Small coefficients become dear, large ones cheap: nearer to counting non-zeros. Columns are
    scaled to unit norm first. Each round goes on from the solution of the last; the rounds end
    when no coefficient moves by more than `tol` times the largest.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    residual : float
        The bound on ‖A x - y‖.
    epsilon : float, optional
        ε, as a part of the largest coefficient (of unit columns). By default, in each round, the
        coefficient that is the n/(4 log(m/n))-th largest, at least 1e-3 (section 3.2 there).
    max_outer : int
        Most rounds after the first, unweighted one.
    tol : float
        When to stop.
    debias, solver, include, exclude, callback
        As for `bpdn`.

    Returns
    -------
    L1Solution
        The last finished round's, with `rounds` telling of all of them.
    """
    given = None if epsilon is None else check_positive(epsilon, "epsilon")
    data = problem(A, y, include=include, exclude=exclude)
    quiet = data.tolerances.quiet
    pursuit = BasisPursuit(data, residual, solver, callback)

    def rule(x: Array, weights: Array) -> Array:
        size = np.abs(x).astype(np.float64) / np.abs(x).max()
        # Weights further apart, or closer together, would leave nothing of each other's digits.
        part = min(max(given or usual_epsilon(data.design, size), quiet), 1 / quiet)
        return np.asarray(1 / (size + part))

    equal = check_weights(data, data.design.norms())
    last = reweighted(pursuit, equal, rule, max_outer, tol)
    return last.solution("bp_candes", pursuit, debias)
