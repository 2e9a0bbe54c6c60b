"""Whether a minimiser is one, from the data alone."""

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
"""How far a minimiser may be from its conditions, relatively, before more care is taken."""


def is_minimiser(
    data: Problem, weights: Weights, found: Minimiser, r: Array, bound: float | None
) -> bool:
    """Whether ‖r‖ <= bound, r = λν, |a_jᵀν| <= w_j and a_jᵀν = w_j sign(x_j) on S.

    But for rounding, for real data, in unit columns and a unit target, r = y - A x being made from
    them. An infinite λ needs but the bound; at λ = 0, r is what no column explains, or nothing.
    Costs one pass over A.
    """
    eps = data.tolerances.eps
    deviation = max(DEVIATION, 1e2 * eps)
    nu, penalty = found.dual, found.penalty
    needless = math.isinf(penalty)
    data.begin()
    length, aside, size, dual, beyond = load_homotopy().conditions(
        np.zeros(weights.unit.size, nu.dtype) if needless else _inner(data, nu),
        weights.unit, found.columns, found.x, r, nu, 0.0 if needless else penalty, deviation,
    )  # fmt: skip
    unsure = ROUNDING * eps * (1.0 + size)
    if bound is not None and length > bound * (1 + deviation) + unsure:
        return False
    if needless:
        return True
    if penalty == 0:
        aside = 0.0
        if length > unsure:
            aside = float(np.abs(data.correlate(r)).max(where=~weights.barred, initial=0.0))
    return bool(aside <= deviation * length + unsure and beyond <= 4 * ROUNDING * eps * dual)


def _inner(data: Problem, nu: Array) -> Array:
    """a_j*ν of all unit columns; entries of A may be as large as numbers are."""
    if not data.design.measured.extreme:
        return data.correlate(nu)
    size = float(np.linalg.norm(nu)) or 1.0
    return data.correlate(nu / size) * size


def is_reachable(data: Problem, weights: Weights, bound: float) -> bool:
    """Whether some x has ‖A x - y‖ <= bound, but for rounding, by least squares on all columns."""
    unit = data.unit_columns(np.flatnonzero(~weights.barred))
    x = np.linalg.lstsq(unit, data.y, rcond=None)[0]
    rest = float(np.linalg.norm(data.y - unit @ x))
    eps = data.tolerances.eps
    return rest <= bound + 16 * ROUNDING * eps * (1 + float(np.abs(x).sum()))
