"""The risk inflation criterion, and others by what a degree of freedom is charged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.criteria.base import Formula, Sample, Terms, where

CHARGES = {"ric": "2 log m", "bic": "log n", "aic": "2"}
"""What each column costs, by criterion; complex ones twice that of BIC and AIC. A lone column, or
row, is charged as one of two."""


@dataclass(frozen=True)
class RIC(Formula):
    """(n - p) log(RSS/TSS) + k·charge, or RSS/σ² + k·charge with σ known.

    With a charge of 2 log m this is the risk inflation criterion: the best of m columns of pure
    noise lowers RSS/σ² by 2 log m at most, nearly always. n - p rather than n, because a model
    of p coefficients leaves n - p directions to estimate the noise from: with n alone, any target
    is fitted once m >= n. A lone column is charged as one of two, 2 log 2: no charge at all would
    let any in. Complex data have twice as many real measurements. A fit to rounding error counts
    as one to rounding level: among such models the smallest is best. An RSS that differs from TSS
    by rounding is TSS: the empty model costs 0, σ being unknown.

    Several targets that share their columns have a criterion each, of which this is the mean. A
    column of noise lowers Σ_t RSS_t/σ² by χ² of as many degrees of freedom as there are targets, so
    that the charge is what such a sum exceeds as rarely as χ² of one degree exceeds 2 log m, over
    their number.

    D. P. Foster and E. I. George, "The risk inflation criterion for multiple regression", Annals
    of Statistics 22, 1994.

    Parameters
    ----------
    sample : Sample
        What is known of the data.
    charge : float
        What a degree of freedom costs.
    """

    charge: float

    def terms(self, df: Any) -> Terms:
        """n - p of log(RSS/TSS), or RSS/σ²; twice that of complex data."""
        sample, penalty = self.sample, df * self.charge
        exact, left = sample.exact * sample.total, sample.left(df)
        if sample.noise is not None:
            return Terms(sample.parts, penalty, sample.noise, least=exact)
        weight = where((left > 0) & (sample.total > 0), sample.parts * left, np.nan)
        return Terms(weight, penalty, sample.total, is_log=True, least=exact)

    def cost(self, loss: ArrayLike, df: ArrayLike) -> Any:
        """The cost of models of these losses and degrees of freedom; ∞ where it is not defined."""
        loss, total, off = np.asarray(loss, float)[()], self.sample.total, self.sample.exact**0.5
        same = (loss >= (1 - off) * total) & (loss <= (1 + off) * total)
        return super().cost(where(same, total, loss), df)

    def threshold(self, loss: float, df: float) -> float:
        """δ²: what a column must lower the loss by, if σ² is what this model tells it to be."""
        return self.sample.noise_variance(loss, df) * self.charge / self.sample.parts


def by_charge(charge: str | float, sample: Sample) -> RIC:
    """The criterion by one of the names of `CHARGES`, or by what a column costs."""
    parts = sample.parts
    if not isinstance(charge, str):
        return RIC(sample, float(charge))
    # A complex coefficient is two real ones; the best of m complex columns still gains 2 log m.
    charges = {
        "ric": risk_inflation(sample.features, parts, sample.targets),
        "bic": parts * math.log(max(sample.rows, 2)),
        "aic": 2.0 * parts,
    }
    return RIC(sample, charges[charge])


def risk_inflation(columns: int, parts: int, targets: float) -> float:
    """What the best of m columns of noise lowers RSS/σ² by, at most: 2 log m, of one target.

    A lone column counts as one of two. Of q targets, what χ² of q times as many degrees of freedom
    exceeds as rarely, over q.
    """
    one = 2 * math.log(max(columns, 2))
    if targets == 1.0:
        return one
    from scipy.special import chdtrc, chdtri  # the tail of χ², and its inverse

    rarely = float(chdtrc(parts, one))
    return float(chdtri(parts * targets, rarely)) / targets
