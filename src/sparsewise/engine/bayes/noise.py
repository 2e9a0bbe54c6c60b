"""What a caller tells of the noise: its standard deviation, or a prior, of a unit target."""

from __future__ import annotations

import math

from sparsewise._util.parameters import check_number, check_positive, check_tolerance, shown
from sparsewise.errors import InputError
from sparsewise.problem.problem import Problem

NoisePrior = tuple[float, float]

BEYOND = 1e100
"""What is larger than the unit by this factor is a mistake, and its square no number any more."""


def relative_noise(sigma: float, data: Problem) -> float:
    """σ² for a target of norm one."""
    ratio = check_positive(sigma, "sigma") / data.scale
    if not 1 / BEYOND < ratio < BEYOND:
        raise InputError(
            f"is {ratio:.1g} times the norm of y, out of all proportion",
            "check its units, or use rmp0, the limit of no noise.",
            parameter="sigma",
        )
    return ratio * ratio


def check_floor(floor: float) -> float:
    """Least σ, as a part of the target's size; 0: none."""
    floor = check_tolerance(floor, "noise_floor") or 0.0
    if floor >= 1:
        raise InputError(
            f"must be a part of the target's size, below 1, not {floor:g}",
            "0.01 stands for 1 %.",
            parameter="noise_floor",
        )
    return floor


def check_prior(prior: NoisePrior | None, data: Problem) -> NoisePrior:
    """Shape and scale of the inverse-gamma prior, for a target of norm one."""
    if prior is None:
        return 0.0, 0.0
    try:
        shape, scale = (check_number(value, "noise_prior") for value in prior)
    except (TypeError, ValueError):
        raise InputError(
            "must be two numbers, shape and scale of an inverse-gamma distribution of sigma², not "
            f"{shown(prior)}.",
            parameter="noise_prior",
        ) from None
    if not (0 <= shape < math.inf and 0 <= scale < math.inf):
        raise InputError(
            f"must hold finite numbers of at least 0, not {shown(prior)}.", parameter="noise_prior"
        )
    relative = scale / data.scale / data.scale
    if max(shape, relative) > BEYOND:
        raise InputError(
            f"is out of all proportion to {data.design.rows:g} rows and a target of norm "
            f"{data.scale:.1g}",
            "its shape is half a number of rows, and its scale half a sum of squares.",
            parameter="noise_prior",
        )
    return shape, relative
