"""Information criteria, Mallows' Cp, adjusted R² and generalised cross-validation."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from sparsewise.criteria.base import Formula, Sample, Terms, log_choices, where
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


class Likelihood(Formula):
    """n log(RSS/n) + penalty, or RSS/σ² + penalty with σ known: -2 log L but for a constant.

    L is the normal likelihood, maximised over the coefficients, and over σ unless that is known.
    For complex data the criterion is half of that, which changes no choice.
    """

    @abstractmethod
    def penalty(self, p: Any) -> Any:
        """What p coefficients cost, with the intercept."""

    def terms(self, df: Any) -> Terms:
        """The formula at these degrees of freedom."""
        n, noise, penalty = self.sample.rows, self.sample.noise, self.penalty(self.sample.p(df))
        return Terms(n, penalty, n, is_log=True) if noise is None else Terms(1.0, penalty, noise)


class AIC(Likelihood):
    """n log(RSS/n) + 2p, as ``extractAIC`` of R has it; RSS/σ² + 2p with σ known.

    H. Akaike, "A new look at the statistical model identification", IEEE Transactions on Automatic
    Control 19, 1974.
    """

    def penalty(self, p: Any) -> Any:
        """2p."""
        return 2 * p


class AICc(Likelihood):
    """AIC + 2q(q + 1)/(n - q - 1), with q = p + 1 to count σ; the AIC itself where σ is known.

    C. M. Hurvich and C.-L. Tsai, "Regression and time series model selection in small samples",
    Biometrika 76, 1989.
    """

    def penalty(self, p: Any) -> Any:
        """2p + 2q(q + 1)/(n - q - 1)."""
        if self.sample.noise is not None:
            return 2 * p
        q, left = p + 1, self.sample.rows - p - 2
        return 2 * p + where(left > 0, 2 * q * (q + 1) / left, np.nan)


class BIC(Likelihood):
    """n log(RSS/n) + p log n, or RSS/σ² + p log n with σ known.

    G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6, 1978.
    """

    def penalty(self, p: Any) -> Any:
        """p log n."""
        # Weights may add up to less than an intercept takes.
        return p * (math.log(self.sample.rows) if self.sample.rows > 0 else math.nan)


class EBIC(BIC):
    """BIC + 2 log (m choose k), shared by as many targets as are independent.

    J. Chen and Z. Chen, "Extended Bayesian information criteria for model selection with large
    model spaces", Biometrika 95, 2008, with their γ = 1.
    """

    def penalty(self, p: Any) -> Any:
        """p log n + 2 log (m choose k)."""
        choices = log_choices(self.sample.features, p - self.sample.intercept)
        return super().penalty(p) + 2 * choices / self.sample.targets


class Cp(Formula):
    """RSS/s² - n + 2p, s² the residual variance with all features, or σ² if that is known.

    C. L. Mallows, "Some comments on Cp", Technometrics 15, 1973.
    """

    def terms(self, df: Any) -> Terms:
        """1/s², and 2p - n."""
        sample = self.sample
        variance = sample.variance if sample.noise is None else sample.noise
        # Where the full model is exact, s² is rounding, and so must the best model be.
        unit = max(variance or 0.0, sample.exact * sample.total / sample.rows) or 1.0
        weight = math.nan if variance is None else 1.0
        return Terms(weight, 2 * sample.p(df) - sample.rows, unit)


class AdjustedR2(Formula):
    """1 - (RSS/(n - p)) / (TSS/(n - intercept)); the largest is best.

    H. Theil, "Economic Forecasts and Policy", North-Holland, 1961.
    """

    largest: ClassVar[bool] = True

    def terms(self, df: Any) -> Terms:
        """(n - intercept)/(n - p) of RSS/TSS."""
        left, total = self.sample.left(df), self.sample.total
        weight = self.sample.left(0) / where(left > 0, left, np.nan)
        return Terms(weight if total > 0 else math.nan, -1.0, total or 1.0)


class GCV(Formula):
    """RSS/(n - p)²: the leave-one-out error with all leverages at their mean, p/n.

    G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method for choosing a
    good ridge parameter", Technometrics 21, 1979.
    """

    def terms(self, df: Any) -> Terms:
        """1/(n - p)², and no penalty besides."""
        left = self.sample.left(df)
        return Terms(where(left > 0, 1 / np.square(np.maximum(left, 1)), np.nan), 0.0)


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
