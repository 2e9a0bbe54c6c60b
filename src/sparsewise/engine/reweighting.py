"""Basis pursuit again and again, with weights made of the last minimiser."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsewise.design.base import Array, Design, square_sums
from sparsewise.engine.basis_pursuit import BasisPursuit
from sparsewise.engine.weights import Weights
from sparsewise.parameters import check_positive, check_whole
from sparsewise.problem import Problem
from sparsewise.results import Round, Stop
from sparsewise.tolerances import tolerances

INNER = 8
"""Rounds of the relevance weights' own fixed-point iteration between two ℓ1 problems."""

Rule = Callable[[Array, Array], Array]
"""From the coefficients of unit columns and their weights to new weights."""


def reweighted(
    pursuit: BasisPursuit, weights: Weights, rule: Rule, max_outer: int, tol: float
) -> tuple[Stop, tuple[Round, ...]]:
    """Minimise with these weights, then with those that the rule makes of each minimiser.

    Ends when no coefficient of a unit column moves by more than `tol` times the largest, or after
    `max_outer` rounds besides the first. Returns why it ended, and what each round came to.
    """
    most, small = check_whole(max_outer, "max_outer", 0), check_positive(tol, "tol")
    rounds: list[Round] = []
    x = np.zeros(pursuit.data.shape[1], pursuit.data.y.dtype)
    for _ in range(most + 1):
        if rounds:
            weights = weights.renewed(rule(x, weights.finite * weights.top), pursuit.data)
        stop = pursuit.run(weights)
        found = pursuit.minimiser()
        before, x = x, found.coef(pursuit.data)
        change = float(np.abs(x - before).max() / np.abs(before).max()) if rounds else math.inf
        rounds.append(Round(found.columns.size, found.cost(weights, pursuit.data), change))
        if change <= small:
            return Stop.SETTLED, tuple(rounds)
        if pursuit.log.halted or not x.any() or not weights.usual.any():
            return stop, tuple(rounds)
    return Stop.MAX_OUTER, tuple(rounds)


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


def usual_epsilon(design: Design, size: Array) -> float:
    """The i-th largest of sizes of which the largest is 1, i = n/(4 log(m/n)); at least 1e-3."""
    n, m = design.rows, design.shape[1]
    i = round(n / (4 * math.log(m / n))) if m > n else m
    i = min(max(i, 1), size.size)
    return max(float(np.partition(size, -i)[-i]), 1e-3)
