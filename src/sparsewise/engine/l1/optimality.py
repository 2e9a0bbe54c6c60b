"""Optimality conditions of an ℓ1 minimiser, checked from the data alone."""

from __future__ import annotations

import math

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.l1_solution import Minimiser
from sparsewise.engine.l1.weights import Weights
from sparsewise.kernels import load_homotopy
from sparsewise.problem.problem import Problem
from sparsewise.results.l1 import ROUNDING

DEVIATION = 1e-9
"""Relative violation of the optimality conditions above which a more careful solve follows."""


def is_minimiser(
    data: Problem, weights: Weights, minimiser: Minimiser, r: Array, bound: float | None
) -> bool:
    """Whether ‖r‖ <= bound, r = λν, |a_jᵀν| <= w_j and a_jᵀν = w_j sign(x_j) on S.

    All up to rounding, for real data, unit columns and a unit target, with r = y - A x. An infinite
    λ needs only the bound; at λ = 0, r is orthogonal to all columns, or zero. One pass over A.
    """
    eps = data.tolerances.eps
    deviation = max(DEVIATION, 1e2 * eps)
    nu, penalty = minimiser.dual, minimiser.penalty
    is_zero = math.isinf(penalty)  # x = 0 meets the bound
    data.begin()
    length, aside, size, dual, beyond = load_homotopy().conditions(
        np.zeros(weights.unit.size, nu.dtype) if is_zero else _inner(data, nu),
        weights.unit, minimiser.columns, minimiser.x, r, nu, 0.0 if is_zero else penalty, deviation,
    )  # fmt: skip
    unsure = ROUNDING * eps * (1.0 + size)
    if bound is not None and length > bound * (1 + deviation) + unsure:
        return False
    if is_zero:
        return True
    if penalty == 0:
        aside = 0.0
        if length > unsure:
            aside = float(np.abs(data.correlate(r)).max(where=~weights.excluded, initial=0.0))
    return bool(aside <= deviation * length + unsure and beyond <= 4 * ROUNDING * eps * dual)


def _inner(data: Problem, nu: Array) -> Array:
    """a_j*ν of all unit columns, without overflow where entries of A are huge."""
    if not data.design.measured.extreme:
        return data.correlate(nu)
    size = float(np.linalg.norm(nu)) or 1.0
    return data.correlate(nu / size) * size


def is_reachable(data: Problem, weights: Weights, bound: float) -> bool:
    """Whether some x has ‖A x - y‖ <= bound up to rounding, by least squares on all columns."""
    unit = data.unit_columns(np.flatnonzero(~weights.excluded))
    x = np.linalg.lstsq(unit, data.y, rcond=None)[0]
    rest = float(np.linalg.norm(data.y - unit @ x))
    eps = data.tolerances.eps
    return rest <= bound + 16 * ROUNDING * eps * (1 + float(np.abs(x).sum()))
