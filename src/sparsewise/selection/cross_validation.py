"""The number of features by cross-validation: one path for each fold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import PredefinedSplit, check_cv

from sparsewise.design import Rows
from sparsewise.design.base import Array
from sparsewise.engine.halting import interrupted
from sparsewise.errors import InputError, Parameter
from sparsewise.problem import DependentColumnsError
from sparsewise.results import Path, Solution
from sparsewise.selection.choice import PathOf, at_most, best_by_size, most_features
from sparsewise.selection.data import Data
from sparsewise.selection.path_end import AHEAD, as_far_as, effortless, worth
from sparsewise.tolerances import tolerances
from sparsewise.wording import count

ROUNDING = 1e4
"""By how much more than those of a fit the squared errors of predictions may be rounding."""


class Errors(NamedTuple):
    """Mean squared errors of rows that were left out, by size of the model.

    Attributes
    ----------
    sizes : ndarray of int
        Sizes, ascending.
    by_fold : ndarray of shape (folds, sizes)
        The error in each fold.
    mean, std : ndarray
        Mean over the folds, and its standard error.
    chosen : int
        The size of choice.
    followed : int
        The size that paths were followed to, if there were as many features.
    """

    sizes: Array
    by_fold: Array
    mean: Array
    std: Array
    chosen: int
    followed: int


def cross_validate(
    data: Data,
    path: PathOf,
    cv: Any,
    one_standard_error: bool,
    n_jobs: int | None,
    max_features: int | None = None,
) -> Errors:
    """Errors of every size, and the best; or the smallest within a standard error of it.

    The rule of one standard error is that of Breiman et al. (1984): errors this close can't be
    told apart, so the simpler model has it. Paths are followed to `max_features`; if that is None,
    to twice as many features as the least error has, and 100 more, or as far as takes no time.
    """
    splits = _splits(data, cv)
    run = delayed(_fold_errors)
    # What takes time, in compiled code and BLAS, lets other threads run; processes would copy X.
    at_once = Parallel(n_jobs=n_jobs, prefer="threads")
    included, last = len(data.include), -1
    further = max(worth(included), effortless(data)) if max_features is None else max_features
    while further > last:
        wanted = further
        folds = at_once(run(data, path, *split, wanted, max_features) for split in splits)
        by_fold = np.array([errors[: min(map(len, folds))] for errors in folds])
        mean = by_fold.mean(axis=0)
        last = included + mean.size - 1
        if last < wanted or max_features is not None:  # there are no more features to follow
            break
        further = worth(included + int(np.argmin(mean)))
    unit = float(mean.max()) or 1.0  # squares of squares are in range, whatever the units
    std = unit * (by_fold / unit).std(axis=0, ddof=min(1, len(splits) - 1)) / np.sqrt(len(splits))
    best = int(np.argmin(mean))
    level = mean[best] + (std[best] if one_standard_error else 0.0)
    # Below this, errors are rounding: of models that fit exactly the smallest is as good as any.
    level = max(level, ROUNDING * tolerances(data.design.dtype).exact * data.total / data.rows)
    sizes = included + np.arange(mean.size)
    return Errors(sizes, by_fold, mean, std, int(sizes[np.argmax(mean <= level)]), wanted)


def _splits(data: Data, cv: Any) -> list[tuple[Array, Array]]:
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


def _fold_errors(
    data: Data,
    path: PathOf,
    train: Array,
    test: Array,
    wanted: int = AHEAD,
    max_features: int | None = None,
) -> Array:
    """The mean squared error in the rows `test` of the best model of each size on the others."""
    fold, held = data.part(train), data.part(test)
    most = most_features(fold, max_features=max_features)
    run, included = _without_dependent(path, fold, most, wanted)
    if interrupted():  # half a path says nothing of the sizes it has not reached
        raise KeyboardInterrupt
    # A path that begins with all features has met all sizes, wanted or not.
    last = max(min(most, wanted) - len(data.include) + included, *run.path.sizes)
    columns, coefs = _coefficients(run.path, included, last)
    squares = np.zeros(coefs.shape[1])
    for rows in held.parts():
        Z = held.row_block(rows)[:, columns] - fold.reduced.means[columns]
        residuals = (held.y[rows] - fold.reduced.level)[:, None] - Z @ coefs
        counts = np.ones(len(Z)) if held.weights is None else held.weights[rows]
        squares += counts @ np.square(residuals)
    return squares / (len(held.y) if held.weights is None else held.weights.sum())


def _without_dependent(path: PathOf, fold: Data, most: int, wanted: int) -> tuple[Solution, int]:
    """The path, and how many of the features of include are on it from the start.

    Some may say nothing in these rows, being constant there, say: they count, but are left out.
    """
    try:
        return path(fold, most, as_far_as(wanted, most)), len(fold.include)
    except DependentColumnsError as error:
        included = [j for j in fold.include if j not in error.columns]
        less = len(fold.include) - len(included)
        if not less:
            raise
        rest = replace(fold, include=included)
        return path(rest, most - less, as_far_as(wanted - less, most - less)), len(included)


def _coefficients(path: Path, least: int, most: int) -> tuple[Array, Array]:
    """The features met, and their coefficients in the best model of each size."""
    best = best_by_size(path)
    return path.coefs_after([at_most(best, k) for k in range(least, most + 1)])
