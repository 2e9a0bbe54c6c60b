"""The number of features by cross-validation: one path for each fold."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.criteria.early_stopping import AHEAD, as_far_as, effortless, worth
from sparsewise.engine.halting import interrupted
from sparsewise.model_selection import folds
from sparsewise.model_selection.choice import PathOf, at_most, best_by_size, most_features
from sparsewise.model_selection.data import Data
from sparsewise.results import Path, Solution


class CVErrors(NamedTuple):
    """Mean squared errors of rows that were left out, by size of the model.

    Of several targets, the mean over these, weighed as in the fit.

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
) -> CVErrors:
    """Errors of every size, and the best; or the smallest within a standard error of it.

    Paths are followed to `max_features`; if that is None, to twice as many features as the least
    error has, and 100 more, or as far as takes no time.
    """
    rows, splits = folds.in_folds(data, cv)
    included, last = len(data.include), -1
    extend_to = max_features
    if extend_to is None:
        extend_to = max(worth(included), effortless(data.rows, data.candidates))
    while extend_to > last:
        wanted = extend_to
        run = partial(_fold_errors, rows, path, wanted=wanted, max_features=max_features)
        errors = folds.over_folds(splits, n_jobs, run)
        by_fold = np.array([of_fold[: min(map(len, errors))] for of_fold in errors])
        mean, std = folds.mean_and_error(by_fold)
        last = included + mean.size - 1
        if last < wanted or max_features is not None:  # there are no more features to follow
            break
        extend_to = worth(included + int(np.argmin(mean)))
    fine = folds.good_enough(data, mean, std, one_standard_error)
    sizes = included + np.arange(mean.size)
    return CVErrors(sizes, by_fold, mean, std, int(sizes[np.argmax(fine)]), wanted)


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

    def follow(some: Data) -> tuple[Solution, int]:
        less = len(fold.include) - len(some.include)
        extend_to = as_far_as(wanted - less, most - less)
        return path(some, most - less, extend_to), len(some.include)

    # Features of include that are left out of a fold count all the same.
    run, included = folds.without_dependent(follow, fold)
    if interrupted():  # half a path says nothing of the sizes it has not reached
        raise KeyboardInterrupt
    # A path that begins with all features has met all sizes, wanted or not.
    last = max(min(most, wanted) - len(data.include) + included, *run.path.sizes)
    columns, coefs = _coefficients(run.path, included, last)
    return folds.held_out_errors(data, fold, held, columns, coefs)


def _coefficients(path: Path, least: int, most: int) -> tuple[Array, Array]:
    """The features met, and their coefficients in the best model of each size."""
    best = best_by_size(path)
    return path.coefs_after([at_most(best, k) for k in range(least, most + 1)])
