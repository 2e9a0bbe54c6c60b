"""Reweighted ℓ1 minimisation."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.algorithms.bpdn import Solver
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.algorithms.reweighting import reweighted
from sparsewise.design.base import Array, Design
from sparsewise.engine.log import Callback
from sparsewise.problem import Problem, check_positive
from sparsewise.results import L1Solution, Reweighted


@algorithm(Family.L1, "fewer features than bpdn takes", result=Reweighted)
def bp_candes(
    A: Any,
    y: ArrayLike,
    *,
    residual: float,
    epsilon: float | None = None,
    rounds: int = 8,
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
    given = None if epsilon is None else check_positive(epsilon, "epsilon")

    def rule(data: Problem, x: Array, weights: Array) -> Array:
        size = np.abs(x) / np.abs(x).max()
        return np.asarray(1 / (size + (given or usual_epsilon(data.design, size))))

    return reweighted(
        "bp_candes", rule, A, y, residual, rounds, tol, debias, solver, include, exclude, callback
    )


def usual_epsilon(design: Design, size: Array) -> float:
    """The i-th largest of sizes of which the largest is 1, i = n/(4 log(m/n)); at least 1e-3."""
    n, m = design.rows, design.shape[1]
    i = round(n / (4 * math.log(m / n))) if m > n else m
    i = min(max(i, 1), size.size)
    return max(float(np.partition(size, -i)[-i]), 1e-3)
