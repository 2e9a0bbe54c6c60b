"""What rounding makes of the numbers the engine compares, for unit columns and a unit target."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np


class Tolerances(NamedTuple):
    """Pure numbers, one set for each precision: that of a type, or that of data known less well.

    Attributes
    ----------
    eps : float
        Distance from 1 to the next number; of data, how far their entries may be off, relatively.
    exact : float
        ‖r‖² that counts as an exact fit.
    dependent : float
        Energy that rounding may leave of a dependent column: it can't be added.
    frail : float
        ‖U‖² = trace (A_S*A_S)⁻¹ at which coefficients have lost half of their digits: columns that
        make it larger are dependent for all that can be told, in whatever order they came.
    tie : float
        Scores that differ by less, relatively, are equal for all we can know.
    trust : float
        An energy below trust·√(energy when last measured) has lost half of its digits.
    drift : float
        Relative error of an energy that can't come from rounding in a few steps.
    faded : float
        Once ‖r‖² has fallen by this factor, corr carries the errors of larger times.
    quiet : float
        Noise below this part of the target is not told from rounding.
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
        """The same for damped columns: eps·‖U‖ of the residual is to be far below σ."""
        return max(noise, self.eps**0.5) / self.exact if noise else self.frail

    def tells_apart(self, size: float) -> bool:
        """Whether columns with this ‖U‖² are told apart, as all are that came step by step."""
        return size <= self.frail * (1 + self.drift)


def tolerances(dtype: np.dtype[Any], error: float = 0.0) -> Tolerances:
    """The tolerances of a floating-point type, or of data that are off by more than that."""
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
