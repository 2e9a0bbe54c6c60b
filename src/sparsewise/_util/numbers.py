"""Formatting of numbers: sensible precision, decimal points aligned."""

from __future__ import annotations

import math
from collections.abc import Sequence


def numerals(values: Sequence[float], figures: int = 5) -> list[str]:
    """Format numbers with the same number of decimals, so that decimal points align.

    The largest shows at least ``figures`` significant figures, the others three where six decimals
    suffice. Smaller numbers use scientific notation, as do all of them if the largest is below
    1e-4 or at least 1e10.
    """
    sizes = [abs(value) for value in values if value != 0]
    if not sizes:
        return ["0"] * len(values)
    top, low = (math.floor(math.log10(size)) for size in (max(sizes), min(sizes)))
    if not -4 <= top <= 9:
        return [f"{value:.{figures - 1}e}" for value in values]
    least = max(0, figures - 1 - top)
    decimals = max(least, min(2 - low, 6))
    return [_numeral(value, decimals) for value in values]


def _numeral(value: float, decimals: int) -> str:
    too_small = 0 < abs(value) < 10.0 ** (1 - decimals)
    return f"{value:.1e}" if too_small else f"{value:.{decimals}f}"
