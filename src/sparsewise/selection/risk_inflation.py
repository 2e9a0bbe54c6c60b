"""The risk inflation criterion: what a model is worth when it was chosen among very many."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparsewise.design.base import Array
from sparsewise.tolerances import tolerances


class RiskInflation(NamedTuple):
    """RIC of models of a target of norm one.

        (n - k) log ‖r‖² + 2 k log m      σ unknown
        ‖r‖²/σ² + 2 k log m               σ known

    The best of m columns of pure noise lowers ‖r‖²/σ² by 2 log m at most, nearly always (Foster and
    George 1994). n - k rather than n, because a model of k columns leaves n - k directions to tell
    the noise from: with n alone, any target is fitted once m >= n. Complex data have twice as many
    real measurements. A fit to rounding error counts as one to rounding level: among such
    models the smallest is best.

    Attributes
    ----------
    rows : float
        n: how many measurements there are.
    columns : int
        m: how many columns there are to choose from.
    noise : float or None
        σ² for a target of norm one, if it is known.
    parts : int
        2 for complex data, else 1.
    exact : float
        ‖r‖² that is but rounding error.
    """

    rows: float
    columns: int
    noise: float | None
    parts: int
    exact: float

    def costs(self, rss: Array | float, size: Array | int) -> Array:
        """The criterion of models of these ‖r‖² and sizes; infinite where no row is left."""
        rss, k = np.maximum(np.asarray(rss, float), self.exact), np.asarray(size, float)
        charge = 2 * k * self._log_m
        if self.noise is not None:
            return np.asarray(self.parts * rss / self.noise + charge)
        left = self.rows - k
        return np.where(left > 0, self.parts * left * np.log(rss) + charge, np.inf)

    def cost(self, rss: float, size: int) -> float:
        """That of one model."""
        return float(self.costs(rss, size))

    def variance(self, rss: float, size: int) -> float:
        """σ²: known, or what a model of this ‖r‖² and size leaves of the target."""
        if self.noise is not None:
            return self.noise
        return max(rss, self.exact) / max(self.rows - size, 1.0)

    def threshold(self, rss: float, size: int) -> float:
        """δ²: what a column must lower ‖r‖² by, the noise being what this model leaves."""
        return 2 * self.variance(rss, size) * self._log_m / self.parts

    def chance(self, rss: float, size: int) -> float:
        """log₁₀ of a bound on the probability that some `size` columns fit noise as well.

        A target of random direction has RSS/‖y‖² of at most ρ on given k columns with probability
        I_ρ((n-k)/2, k/2), and there are (m choose k) ways to choose them.
        """
        from scipy.special import gammaln

        m, k, left = self.columns, size, self.rows - size
        if k == 0 or left <= 0:
            return 0.0
        ways = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
        half = self.parts / 2
        fits = log_beta(min(max(rss, self.exact), 1.0), half * left, half * k)
        return min(float(ways + fits) / math.log(10), 0.0)

    @property
    def _log_m(self) -> float:
        return math.log(max(self.columns, 2))


def risk_inflation(
    rows: float, columns: int, noise: float | None, dtype: np.dtype[Any]
) -> RiskInflation:
    """The criterion for data of this type."""
    return RiskInflation(
        rows, columns, noise, 2 if dtype.kind == "c" else 1, tolerances(dtype).exact
    )


def log_beta(x: float, a: float, b: float) -> float:
    """log I_x(a, b), the regularised incomplete beta function, however small."""
    from scipy.special import betainc, betaln, hyp2f1

    value = float(betainc(a, b, x))
    if value > 1e-250:
        return math.log(value)
    # I_x(a, b) = x^a (1 - x)^b F(a + b, 1; a + 1; x) / (a B(a, b)); so far out, F is moderate.
    factor = math.log(hyp2f1(a + b, 1.0, a + 1.0, x)) - math.log(a) - float(betaln(a, b))
    return a * math.log(x) + b * math.log1p(-x) + factor
