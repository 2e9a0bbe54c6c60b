"""Rows to learn from and rows to predict: what all cross-validation shares."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import PredefinedSplit, check_cv

from sparsewise.design import Rows
from sparsewise.design.base import Array
from sparsewise.errors import InputError, Parameter
from sparsewise.selection.data import Data
from sparsewise.wording import count

ROUNDING = 1e4
"""By how much more than those of a fit the squared errors of predictions may be rounding."""


def train_and_test(data: Data, cv: Any) -> list[tuple[Array, Array]]:
    """Rows to learn from and rows to predict, fold by fold.

    A number of folds, or a splitter, sees the rows that count and no others; folds that are given
    as lists of rows, or by `PredefinedSplit`, speak of the whole table.
    """
    if isinstance(cv, Integral) and int(cv) > len(data.y):
        rows = count(len(data.y), "row")
        raise InputError(f"asks for more folds than {rows}", "ask for fewer.", parameter="cv")
    # Splitters count the rows; those of a large array that are not all there are not gathered.
    X = np.empty((len(data.y), 0)) if isinstance(data.X, Rows) else data.X
    splits = list(check_cv(cv).split(X, data.y))
    if not splits:
        raise InputError("has no folds: give how many, or some.", parameter="cv")
    if isinstance(cv, (Iterable, PredefinedSplit)):
        at = np.arange(len(data.y)) if data.places is None else data.places
        try:
            splits = [(at[train], at[test]) for train, test in splits]
        except IndexError:
            raise InputError(
                f"names rows that X does not have: it has rows 0 to {len(at) - 1}.", parameter="cv"
            ) from None
        splits = [(train[train >= 0], test[test >= 0]) for train, test in splits]
    fewest = max(1, len(data.include)) + data.intercept
    if any(len(train) < fewest or not len(test) for train, test in splits):
        wrong = f" leaves fewer than {count(fewest, 'row')} to learn from, or none to predict"
        raise InputError(("A fold of ", Parameter("cv"), wrong, ": give other folds."))
    return splits


def held_out_errors(fold: Data, held: Data, columns: Array, coefs: Array) -> Array:
    """The mean squared errors in rows held out of models of a fold, one in each column of coefs."""
    squares = np.zeros(coefs.shape[1])
    for rows in held.parts():
        Z = held.row_block(rows)[:, columns] - fold.reduced.means[columns]
        residuals = (held.y[rows] - fold.reduced.level)[:, None] - Z @ coefs
        counts = np.ones(len(Z)) if held.weights is None else held.weights[rows]
        squares += counts @ np.square(residuals)
    return squares / (len(held.y) if held.weights is None else held.weights.sum())


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
