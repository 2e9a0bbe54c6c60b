"""Whether a minimiser is one, from the data alone: two products with A."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparsewise.design.base import Array
from sparsewise.engine.minimiser import Minimiser
from sparsewise.engine.weights import Weights
from sparsewise.problem import Problem
from sparsewise.tolerances import tolerances

ROUNDING = 16
"""Units of rounding by which a residual may be off, and inner products of unit vectors."""

DEVIATION = 1e-9
"""How far a minimiser may be from its conditions, relatively, before it is refined."""


class Optimality(NamedTuple):
    """The conditions of the minimiser, recomputed, each as a multiple of what rounding explains.

    Attributes
    ----------
    residual : float
        How far ‖r‖ exceeds its bound.
    direction : float
        How far r is from λν.
    dual : float
        How far |a_j*ν| exceeds w_j, or differs from it on the support.
    """

    residual: float
    direction: float
    dual: float

    @property
    def holds(self) -> bool:
        """Whether all of them hold, but for rounding."""
        return max(self) <= 1.0


def optimality(
    data: Problem, weights: Weights, found: Minimiser, bound: float | None
) -> Optimality:
    """How well it satisfies ‖r‖ <= bound, r = λν, |a_j*ν| <= w_j, a_j*ν = w_j x_j/|x_j| on S.

    In unit columns and a unit target. An infinite λ needs but the bound; at λ = 0, r is what no
    column explains, or nothing.
    """
    tolerance = tolerances(data.y.dtype)
    unit = data.unit_columns(found.columns)
    r = data.y - unit @ found.x
    length, size = float(np.linalg.norm(r)), float(np.abs(found.x).sum())
    unsure = ROUNDING * tolerance.eps * (1 + size)
    deviation = max(DEVIATION, 1e2 * tolerance.eps)
    over = 0.0
    if bound is not None and length > bound:
        over = (length - bound) / (unsure + deviation * bound)
    if math.isinf(found.penalty):
        return Optimality(over, 0.0, 0.0)
    nu, w = found.dual, weights.unit
    aside = 0.0
    if found.penalty > 0:
        rest = float(np.linalg.norm(r - found.penalty * nu))
        aside = rest / (unsure + deviation * length)
    elif length > unsure:
        left = np.abs(data.correlate(r)).max(where=~weights.barred, initial=0.0)
        aside = float(left) / (unsure + deviation * length)
    size = float(np.linalg.norm(nu)) or 1.0
    inner = data.correlate(nu / size) * size  # entries of A may be as large as numbers are
    noise = 4 * ROUNDING * tolerance.eps * size
    excess = np.abs(inner) - w
    sizes = np.abs(found.x)
    phases = np.divide(found.x, sizes, out=np.zeros_like(found.x), where=sizes > 0)
    excess[found.columns] = np.abs(inner[found.columns] - w[found.columns] * phases)
    # What costs nothing is compared with what costs most.
    allowed = noise + deviation * np.where(weights.usual, w, 1.0)
    beyond = float((excess / allowed).max(where=~weights.barred, initial=0.0))
    return Optimality(over, aside, beyond)


def is_reachable(data: Problem, weights: Weights, bound: float) -> bool:
    """Whether some x has ‖A x - y‖ <= bound, but for rounding, by least squares on all columns."""
    unit = data.unit_columns(np.flatnonzero(~weights.barred))
    x = np.linalg.lstsq(unit, data.y, rcond=None)[0]
    rest = float(np.linalg.norm(data.y - unit @ x))
    eps = tolerances(data.y.dtype).eps
    return rest <= bound + 16 * ROUNDING * eps * (1 + float(np.abs(x).sum()))
