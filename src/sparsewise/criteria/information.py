"""What a model is worth, told from its squared residual and its size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsewise._typing import Array
from sparsewise.criteria.ric import Score, score
from sparsewise.tolerances import tolerances

BY_RESIDUAL = ("aic", "aicc", "bic", "ebic", "ric", "cp", "adjusted_r2")
"""Criteria that squared residual and size are enough for."""

NAMES = {
    "aic": "AIC",
    "aicc": "AICc",
    "bic": "BIC",
    "ebic": "EBIC",
    "ric": "RIC",
    "cp": "Mallows' Cp",
    "adjusted_r2": "adjusted R²",
    "loo": "leave-one-out error",
    "cv": "cross-validation error",
}
"""How the criteria are called in a sentence."""

SHORT_NAMES = {**NAMES, "cp": "Cp", "adjusted_r2": "adj. R²", "loo": "LOO", "cv": "CV"}
"""The same at the head of a column."""

EXACT = tolerances(np.dtype(np.float64)).exact
"""In double precision, a smaller share of the target's squared norm is rounding error."""


@dataclass(frozen=True)
class Criteria:
    """Criteria of least-squares fits; p = k + intercept coefficients, residual RSS.

    ======================  =====================================================================
    aic                     n log(RSS/n) + 2 p, as ``extractAIC`` of R has it
    aicc                    aic + 2 q (q + 1) / (n - q - 1), q = p + 1 counting σ (Hurvich and Tsai
                            1989)
    bic                     n log(RSS/n) + p log n (Schwarz 1978)
    ebic                    bic + 2 log (m choose k) (Chen and Chen 2008, their γ = 1)
    ric                     (n - p) log(RSS/TSS) + 2 k log m (Foster and George 1994; see `Score`)
    cp                      RSS/s² - n + 2 p, s² the residual variance with all features (Mallows)
    adjusted_r2             1 - (RSS/(n - p)) / (TSS/(n - intercept)); the largest is best
    ======================  =====================================================================

    q targets that share their features have q n numbers of equal relative noise, and each feature
    has q coefficients: RSS being their weighted mean (see `Targets`), the
    criteria are those of all targets divided by q, so that q copies of a target have those of one.
    Which features they are is chosen once for all: what m adds to EBIC and RIC is shared by as many
    `targets` as are independent.

    Parameters
    ----------
    rows : float
        n; a row of weight 2 counts twice.
    features : int
        m, how many there are to choose from.
    intercept : bool
        Whether the model has a constant besides.
    total : float
        TSS, the squared norm of the (centred) target.
    variance : float, optional
        s² of Mallows' Cp; None where there are too few rows to tell.
    exact : float
        A squared residual below this share of the target's is rounding error: the fit is exact.
        By most criteria it costs -∞; by the RIC as much as one that has just this share left, so
        that the smallest of such models is best, and none wins that has hardly a row to spare.
    parts : int
        2 for complex data, which the RIC counts as twice as many measurements; else 1.
    targets : float
        How many independent targets share the features.
    """

    rows: float
    features: int
    intercept: bool
    total: float
    variance: float | None = None
    exact: float = EXACT
    parts: int = 1
    targets: float = 1.0

    def is_exact(self, rss: Array | float) -> Array:
        """Whether squared residuals are but rounding error."""
        return np.asarray(rss) <= self.exact * self.total

    def values(self, name: str, rss: Array | float, size: Array | float) -> Array:
        """A criterion by name, for models of these squared residuals and sizes.

        NaN where it is not defined, for want of rows.
        """
        rss, k = np.asarray(rss, float), np.asarray(size, float)
        rss = np.where(self.is_exact(rss), 0.0, rss)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(_FORMULAS[name](self, rss, k, k + self.intercept))

    def costs(self, name: str, rss: Array | float, size: Array | float) -> Array:
        """The same, the smaller the better; infinite where it is not defined."""
        values = self.values(name, rss, size)
        values = -values if name == "adjusted_r2" else values
        return np.where(np.isnan(values), np.inf, values)

    def cost(self, name: str) -> Callable[[float, float], float]:
        """The cost of one model by this criterion, as a function of RSS and size."""
        return lambda rss, size: float(self.costs(name, rss, size))

    def _log_likelihood(self, rss: Array) -> Array:
        """n log(RSS/n): twice the negative log likelihood, but for a constant."""
        return np.asarray(self.rows * np.log(rss / self.rows))

    def _aic(self, rss: Array, k: Array, p: Array) -> Array:
        return self._log_likelihood(rss) + 2 * p

    def _aicc(self, rss: Array, k: Array, p: Array) -> Array:
        q = p + 1
        left = self.rows - q - 1
        return self._aic(rss, k, p) + np.where(left > 0, 2 * q * (q + 1) / left, np.nan)

    def _bic(self, rss: Array, k: Array, p: Array) -> Array:
        # Weights may add up to less than an intercept takes.
        each = math.log(self.rows) if self.rows > 0 else math.nan
        return self._log_likelihood(rss) + p * each

    def _ebic(self, rss: Array, k: Array, p: Array) -> Array:
        from scipy.special import gammaln  # here, as SciPy takes long to import

        m = self.features
        choices = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
        return self._bic(rss, k, p) + 2 * choices / self.targets

    def _ric(self, rss: Array, k: Array, p: Array) -> Array:
        if self.total == 0:
            return np.full(rss.shape, np.nan)
        return np.where(self.rows > p, self._score.costs(rss / self.total, k), np.nan)

    @cached_property
    def _score(self) -> Score:
        """The RIC of a target of norm one: the intercept takes one of the rows."""
        dtype = np.dtype(np.complex128 if self.parts == 2 else np.float64)
        rows = self.rows - self.intercept
        ric = score("ric", rows, self.features, dtype=dtype, targets=self.targets)
        return ric._replace(exact=self.exact)

    def _cp(self, rss: Array, k: Array, p: Array) -> Array:
        if self.variance is None:
            return np.full(rss.shape, np.nan)
        # Where the full model is exact, s² is rounding, and so must the best model be.
        variance = max(self.variance, self.exact * self.total / self.rows)
        return rss / (variance or 1.0) - self.rows + 2 * p

    def _adjusted_r2(self, rss: Array, k: Array, p: Array) -> Array:
        left = self.rows - p
        if self.total == 0:
            return np.full(rss.shape, np.nan)
        scale = (self.rows - self.intercept) / self.total
        return np.where(left > 0, 1 - scale * rss / left, np.nan)


_FORMULAS = {name: getattr(Criteria, f"_{name}") for name in BY_RESIDUAL}


def first_least(costs: Sequence[float] | Array) -> int:
    """Where the least cost is; of those equal but for rounding the first. NaN is no cost."""
    costs = np.asarray(costs, float)
    costs = np.where(np.isnan(costs), np.inf, costs)
    least = float(costs.min())
    if not math.isfinite(least):
        return int(np.argmin(costs))
    # Against their spread, which neither units nor constants change.
    spread = float(costs[np.isfinite(costs)].max()) - least
    return int(np.argmax(costs <= least + 1e-9 * spread))
