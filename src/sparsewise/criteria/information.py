"""Information criteria, Mallows' Cp, adjusted R² and generalised cross-validation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sparsewise.criteria.base import Formula, Sample
from sparsewise.criteria.ric import by_charge

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


@dataclass(frozen=True)
class AIC(Formula):
    """n log(RSS/n) + 2p, or RSS/σ² + 2p with σ known: -2 log L + 2p but for a constant.

    It is ``extractAIC`` of R. H. Akaike, "A new look at the statistical model identification",
    IEEE Transactions on Automatic Control 19, 1974.
    """

    @property
    def is_log(self) -> bool:
        """Whether σ is estimated, by its maximum likelihood."""
        return self.sample.noise is None

    @property
    def unit(self) -> float:
        """N, or σ²."""
        return self.sample.rows if self.sample.noise is None else self.sample.noise

    def weight(self, df: Any) -> Any:
        """N, or 1."""
        return self.sample.rows if self.is_log else 1.0

    def penalty(self, df: Any) -> Any:
        """2p."""
        return 2 * (df + self.sample.intercept)


class AICc(AIC):
    """AIC + 2q(q + 1)/(n - q - 1), with q = p + 1 to count σ; the AIC itself where σ is known.

    C. M. Hurvich and C.-L. Tsai, "Regression and time series model selection in small samples",
    Biometrika 76, 1989.
    """

    def penalty(self, df: Any) -> Any:
        """2p + 2q(q + 1)/(n - q - 1)."""
        if not self.is_log:
            return super().penalty(df)
        q = df + self.sample.intercept + 1
        left = self.sample.rows - q - 1
        return super().penalty(df) + np.where(left > 0, 2 * q * (q + 1) / left, np.nan)


class BIC(AIC):
    """n log(RSS/n) + p log n, or RSS/σ² + p log n with σ known.

    G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6, 1978.
    """

    def penalty(self, df: Any) -> Any:
        """P log n."""
        # Weights may add up to less than an intercept takes.
        each = math.log(self.sample.rows) if self.sample.rows > 0 else math.nan
        return (df + self.sample.intercept) * each


class EBIC(BIC):
    """BIC + 2 log (m choose k), shared by as many targets as are independent.

    J. Chen and Z. Chen, "Extended Bayesian information criteria for model selection with large
    model spaces", Biometrika 95, 2008, with their γ = 1.
    """

    def penalty(self, df: Any) -> Any:
        """P log n + 2 log (m choose k)."""
        from scipy.special import gammaln  # here, as SciPy takes long to import

        m = self.sample.features
        choices = gammaln(m + 1) - gammaln(df + 1) - gammaln(m - df + 1)
        return super().penalty(df) + 2 * choices / self.sample.targets


class Cp(Formula):
    """RSS/s² - n + 2p, s² the residual variance with all features, or σ² if that is known.

    C. L. Mallows, "Some comments on Cp", Technometrics 15, 1973.
    """

    @property
    def unit(self) -> float:
        """S², or what rounding leaves of it where the full model is exact."""
        sample = self.sample
        known = sample.noise if sample.noise is not None else sample.variance or 0.0
        return max(known, sample.exact * sample.total / sample.rows) or 1.0

    def weight(self, df: Any) -> Any:
        """1, if s² is known."""
        return math.nan if self.sample.noise is None and self.sample.variance is None else 1.0

    def penalty(self, df: Any) -> Any:
        """2p - n."""
        return 2 * (df + self.sample.intercept) - self.sample.rows


class AdjustedR2(Formula):
    """1 - (RSS/(n - p)) / (TSS/(n - intercept)); the largest is best.

    H. Theil, "Economic Forecasts and Policy", North-Holland, 1961.
    """

    largest: ClassVar[bool] = True

    def weight(self, df: Any) -> Any:
        """The degrees of freedom of TSS over TSS, over n - p."""
        left, total = self.sample.left(df), self.sample.total
        return self.sample.left(0) / np.where((left > 0) & (total > 0), left * total, np.nan)

    def penalty(self, df: Any) -> Any:
        """-1: R² is not penalised but by its weight."""
        return -1.0


class GCV(Formula):
    """RSS/(n - p)²: the leave-one-out error with all leverages at their mean, p/n.

    G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method for choosing a
    good ridge parameter", Technometrics 21, 1979.
    """

    def weight(self, df: Any) -> Any:
        """1/(n - p)²."""
        left = self.sample.left(df)
        return np.where(left > 0, 1 / np.square(np.maximum(left, 1)), np.nan)

    def penalty(self, df: Any) -> Any:
        """None but that of the weight."""
        return 0.0


CRITERIA: dict[str, Callable[[Sample], Formula]] = {
    "aic": AIC,
    "aicc": AICc,
    "bic": BIC,
    "ebic": EBIC,
    "ric": partial(by_charge, "ric"),
    "cp": Cp,
    "adjusted_r2": AdjustedR2,
}

BY_LOSS = tuple(CRITERIA)
"""Criteria that loss and degrees of freedom are enough for."""


class Criteria(Sample):
    """The criteria of models of a sample, by name.

    ``criteria["aic"]`` is an `AIC`: its ``cost(loss, df)`` is to be small, its ``value(loss, df)``
    what the literature has. p is df + intercept.

    ======================  =====================================================================
    aic                     n log(RSS/n) + 2p (`AIC`)
    aicc                    aic + 2q(q + 1)/(n - q - 1), q = p + 1 (`AICc`)
    bic                     n log(RSS/n) + p log n (`BIC`)
    ebic                    bic + 2 log (m choose k) (`EBIC`)
    ric                     (n - p) log(RSS/TSS) + 2k log m (`RIC`)
    cp                      RSS/s² - n + 2p (`Cp`)
    adjusted_r2             1 - (RSS/(n - p)) / (TSS/(n - intercept)) (`AdjustedR2`)
    ======================  =====================================================================

    q targets that share their features have q n numbers of equal relative noise, and each feature
    has q coefficients: RSS being their weighted mean (see `Targets`), the criteria are those of all
    targets divided by q, so that q copies of a target have those of one. The features are chosen
    once for all: what m adds to EBIC and RIC is shared by as many targets as are independent.

    A fit that is exact but for rounding costs -∞ by the likelihoods; by the RIC as much as one that
    has just this loss, so that the smallest of such models is best, and none wins that has hardly a
    row to spare.
    """

    def __getitem__(self, name: str) -> Formula:
        return CRITERIA[name](self)
