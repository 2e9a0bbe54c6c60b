"""How likely chance is to fit as well as a model does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

from sparsewise.criteria.base import Sample, log_choices


def chance(sample: Sample, loss: float, df: float) -> float:
    """log₁₀ of a bound on the probability that some `df` columns fit noise as well.

    A target of random direction has RSS/TSS of at most ρ on given k columns with probability
    I_ρ((n-k)/2, k/2), and there are (m choose k) ways to choose them. q targets together are one
    of q times as many measurements.
    """
    left = sample.left(df)
    if df == 0 or left <= 0:
        return 0.0
    ways = log_choices(sample.features, df)
    half = sample.parts * sample.targets / 2
    share = min(max(loss / sample.total, sample.exact), 1.0)
    return min(float(ways + log_beta(share, half * left, half * df)) / math.log(10), 0.0)


def log_beta(x: float, a: float, b: float) -> float:
    """log I_x(a, b), the regularised incomplete beta function, however small.

    Below its mean a/(a + b) it is x^a (1 - x)^b / (a B(a, b)) times the continued fraction
    1/(1 + d₁/(1 + d₂/(1 + …))), which is moderate, with

        d₂ᵢ = i (b - i) x / ((a + 2i - 1)(a + 2i))
        d₂ᵢ₊₁ = -(a + i)(a + b + i) x / ((a + 2i)(a + 2i + 1)).
    """
    from scipy.special import betainc, betaln

    if x >= a / (a + b):
        return math.log(float(betainc(a, b, x)))
    fraction = _continued(_part(i, x, a, b) for i in count(1))
    return a * math.log(x) + b * math.log1p(-x) - math.log(a) - float(betaln(a, b)) - fraction


def _part(j: int, x: float, a: float, b: float) -> float:
    """d_j of the continued fraction of the incomplete beta function."""
    i, odd = divmod(j, 2)
    if odd:
        return -(a + i) * (a + b + i) * x / ((a + j - 1) * (a + j))
    return i * (b - i) * x / ((a + j - 1) * (a + j))


def _continued(parts: Iterator[float]) -> float:
    """log (1 + d₁/(1 + d₂/(1 + …))), from the front (Lentz's method)."""
    above = value = 1.0
    below = 0.0
    for d in parts:
        below = 1 / (1 + d * below)
        above = 1 + d / above
        value *= above * below
        if abs(above * below - 1) < 1e-14:
            return math.log(value)
    raise AssertionError("the parts never end")
