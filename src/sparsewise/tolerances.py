"""Rounding tolerances of the engine's comparisons, for unit columns and a unit target."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np


class Tolerances(NamedTuple):
    """Dimensionless tolerances, one set per precision: of a type, or of less precise data.

    Attributes
    ----------
    eps : float
        Machine epsilon, or the relative error of the data if that is larger.
    exact : float
        ‖r‖² up to which a fit counts as exact.
    dependent : float
        Energy that rounding may leave of a dependent column: a column below it can't be added.
    frail : float
        ‖U‖² = trace (A_S*A_S)⁻¹ at which coefficients have lost half of their digits: columns that
        make it larger are numerically dependent, in whatever order they were added.
    tie : float
        Scores that differ by less than this, relatively, are tied.
    trust : float
        An energy below trust·√(energy when last measured) has lost half of its digits.
    drift : float
        Relative error of an energy that can't come from rounding in a few steps.
    faded : float
        Once ‖r‖² has fallen by this factor, corr carries rounding errors of when it was larger.
    quiet : float
        Noise below this fraction of the target can't be distinguished from rounding.
    """

    eps: float
    exact: float
    dependent: float
    frail: float
    tie: float
    trust: float
    drift: float
    faded: float
    quiet: float

    def frail_at(self, noise: float) -> float:
        """`frail` for damped columns: eps·‖U‖ must stay far below σ."""
        return max(noise, self.eps**0.5) / self.exact if noise else self.frail

    def tells_apart(self, size: float) -> bool:
        """Whether columns with this ‖U‖² are independent, as all are that were added in steps."""
        return size <= self.frail * (1 + self.drift)


def tolerances(dtype: np.dtype[Any], error: float = 0.0) -> Tolerances:
    """The tolerances of a floating-point type, or of data with a larger relative error."""
    return _tolerances(dtype.char, error)


@cache
def _tolerances(char: str, error: float) -> Tolerances:
    eps = max(float(np.finfo(char).eps), error)
    return Tolerances(
        eps=eps,
        exact=(64 * eps) ** 2,
        dependent=64 * eps,
        frail=1 / eps,
        tie=eps ** (2 / 3),
        trust=64 * eps**0.5,
        drift=eps ** (1 / 3),
        faded=1e-6,
        quiet=eps**0.5,
    )
