"""Rows to learn from and rows to predict: what all cross-validation shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise.design.base import Array
from sparsewise.errors import InputError, Parameter
from sparsewise.selection.data import Data
from sparsewise.wording import count

ROUNDING = 1e4
"""By how much more than those of a fit the squared errors of predictions may be rounding."""


def train_and_test(data: Data, cv: Any) -> list[tuple[Any, Any]]:
    """Rows to learn from and rows to predict, fold by fold, as `Data.part` takes them."""
    splits = data.splits(cv)
    if not splits:
        raise InputError("has no folds: give how many, or some.", parameter="cv")
    fewest = max(1, len(data.include)) + data.intercept
    if any(data.count_of(train) < fewest or not data.count_of(test) for train, test in splits):
        wrong = f" leaves fewer than {count(fewest, 'row')} to learn from, or none to predict"
        raise InputError(("A fold of ", Parameter("cv"), wrong, ": give other folds."))
    return splits


def held_out_errors(fold: Data, held: Data, columns: Array, coefs: Array) -> Array:
    """The mean squared errors in rows held out of models of a fold, one in each column of coefs."""
    learnt = fold.reduced
    return held.squared_errors(columns, coefs, learnt.means[columns], learnt.level) / held.weight


def mean_and_error(by_fold: Array) -> tuple[Array, Array]:
    """Mean over the folds, and its standard error."""
    mean = by_fold.mean(axis=0)
    unit = float(mean.max()) or 1.0  # squares of squares are in range, whatever the units
    spread = (by_fold / unit).std(axis=0, ddof=min(1, len(by_fold) - 1))
    return mean, unit * spread / np.sqrt(len(by_fold))


def good_enough(data: Data, mean: Array, std: Array, one_standard_error: bool) -> Array:
    """Which errors are the least, or can't be told from it.

    The rule of one standard error is that of Breiman et al. (1984): errors this close can't be
    told apart, so the simpler model has it.
    """
    best = int(np.argmin(mean))
    level = mean[best] + (std[best] if one_standard_error else 0.0)
    # Below this, errors are rounding: of models that fit exactly the smallest is as good as any.
    rounding = ROUNDING * data.design.tolerances.exact * data.total / data.rows
    return np.asarray(mean <= max(level, rounding))
