"""What a search minimises: how close a model fits, and a charge for each of its columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.tolerances import tolerances

ByCharge = Literal["ric", "bic", "aic"]

CHARGES: dict[ByCharge, str] = {"ric": "2 log m", "bic": "log n", "aic": "2"}
"""What each column costs, by criterion; complex ones twice that of BIC and AIC."""


class Score(NamedTuple):
    """What models of a target of norm one cost: the lower the better.

        (n - k) log ‖r‖² + k·charge       σ unknown
        ‖r‖²/σ² + k·charge                σ known

    With a charge of 2 log m this is the risk inflation criterion: the best of m columns of pure
    noise lowers ‖r‖²/σ² by 2 log m at most, nearly always (Foster and George 1994). n - k
    rather than n, because a model of k columns leaves n - k directions to tell the noise from:
    with n alone, any target is fitted once m >= n. Complex data have twice as many real
    measurements. A fit to rounding error counts as one to rounding level: among such models the
    smallest is best.

    Several targets that share their columns have a score each, of which this is the mean, ‖r‖²
    being that of all. A column of noise lowers Σ_t‖r_t‖²/σ² by χ² of as many degrees of freedom as
    there are targets, so that the charge is what such a sum exceeds as rarely as χ² of one degree
    exceeds 2 log m, over their number.

    Attributes
    ----------
    rows : float
        n: how many measurements there are.
    columns : int
        m: how many columns there are to choose from.
    charge : float
        What a column costs.
    noise : float or None
        σ² for a target of norm one, if it is known.
    parts : int
        2 for complex data, else 1.
    exact : float
        ‖r‖² that is but rounding error.
    targets : float
        q: how many independent targets share their columns (`Problem.independent_targets`).
    """

    rows: float
    columns: int
    charge: float
    noise: float | None = None
    parts: int = 1
    exact: float = 0.0
    targets: float = 1.0

    def costs(self, rss: Array | float, size: Array | int) -> Array:
        """The score of models of these ‖r‖² and sizes; infinite where no row is left."""
        rss, k = np.maximum(np.asarray(rss, float), self.exact), np.asarray(size, float)
        if self.noise is not None:
            return np.asarray(self.parts * rss / self.noise + k * self.charge)
        left = self.rows - k
        return np.where(left > 0, self.parts * left * np.log(rss) + k * self.charge, np.inf)

    def cost(self, rss: float, size: int) -> float:
        """That of one model."""
        rss, left = max(rss, self.exact), self.rows - size
        if self.noise is not None:
            return self.parts * rss / self.noise + size * self.charge
        return self.parts * left * math.log(rss) + size * self.charge if left > 0 else math.inf

    def variance(self, rss: float, size: int) -> float:
        """σ²: known, or what a model of this ‖r‖² and size leaves of the target."""
        if self.noise is not None:
            return self.noise
        return max(rss, self.exact) / max(self.rows - size, 1.0)

    def threshold(self, rss: float, size: int) -> float:
        """δ²: what a column must lower ‖r‖² by, the noise being what this model leaves."""
        return self.variance(rss, size) * self.charge / self.parts

    def chance(self, rss: float, size: int) -> float:
        """log₁₀ of a bound on the probability that some `size` columns fit noise as well.

        A target of random direction has RSS/‖y‖² of at most ρ on given k columns with probability
        I_ρ((n-k)/2, k/2), and there are (m choose k) ways to choose them. q targets together are
        one of q times as many measurements.
        """
        from scipy.special import gammaln

        m, k, left = self.columns, size, self.rows - size
        if k == 0 or left <= 0:
            return 0.0
        ways = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
        half = self.parts * self.targets / 2
        fits = log_beta(min(max(rss, self.exact), 1.0), half * left, half * k)
        return min(float(ways + fits) / math.log(10), 0.0)


def score(
    criterion: ByCharge | float,
    rows: float,
    columns: int,
    *,
    noise: float | None = None,
    dtype: np.dtype[Any] | None = None,
    error: float = 0.0,
    targets: float = 1.0,
) -> Score:
    """The score by name, or by what a column costs, for data of this type and error."""
    dtype = np.dtype(np.float64) if dtype is None else dtype
    # A complex coefficient is two real ones; the best of m complex columns still gains 2 log m.
    parts = 2 if dtype.kind == "c" else 1
    charges: dict[ByCharge, float] = {
        "ric": risk_inflation(columns, parts, targets),
        "bic": parts * math.log(max(rows, 2)),
        "aic": 2.0 * parts,
    }
    charge = charges[criterion] if isinstance(criterion, str) else float(criterion)
    return Score(rows, columns, charge, noise, parts, tolerances(dtype, error).exact, targets)


def risk_inflation(columns: int, parts: int, targets: float) -> float:
    """What the best of m columns of noise lowers ‖r‖²/σ² by, at most: 2 log m, of one target.

    Of q targets, what χ² of q times as many degrees of freedom exceeds as rarely, over q.
    """
    one = 2 * math.log(max(columns, 2))
    if targets == 1.0:
        return one
    from scipy.special import chdtrc, chdtri  # the tail of χ², and its inverse

    rarely = float(chdtrc(parts, one))
    return float(chdtri(parts * targets, rarely)) / targets


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
