"""Rows to learn from and rows to predict: what all cross-validation shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise._util.progress import Counted, waiting
from sparsewise._util.text import count
from sparsewise.errors import InputError, Parameter, TooFewRowsError
from sparsewise.model_selection.condensed_data import CondensedData
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.problem.problem import DependentColumnsError
from sparsewise.suffstats.condensed import Condensed

Result = TypeVar("Result")

ROUNDING = 1e4
"""By how much more than those of a fit the squared errors of predictions may be rounding."""


def in_folds(data: Data, cv: Any) -> tuple[Data, list[tuple[Any, Any]]]:
    """Rows to learn from and rows to predict, fold by fold, as `Data.part` of what is returned.

    A tall table is condensed fold by fold, if each row is predicted at most once, from all others:
    the triangles of all folds but one add up to what is learnt from.
    """
    splits = data.splits(cv)
    if not splits:
        raise InputError("has no folds: give how many, or some.", parameter="cv")
    fewest = max(1, len(data.include)) + data.intercept
    if any(data.count_of(train) < fewest or not data.count_of(test) for train, test in splits):
        wrong = f" leaves fewer than {count(fewest, 'row')} to learn from, or none to predict"
        raise TooFewRowsError(("A fold of ", Parameter("cv"), wrong, ": give other folds."))
    if isinstance(data, TabularData) and not data.multi_target and _condenses(data):
        fold = fold_of_rows(splits, data.count)
        if fold is not None:
            return _condense_folds(data, fold)
    return data, splits


def _condenses(table: TabularData) -> bool:
    """Whether the triangles of folds are quickly made, compared with paths on their rows."""
    is_array = isinstance(table.X, np.ndarray)
    return table.reduced.condensed or (
        is_array and plan.condenses(plan.CONDENSE_FOLDS, *table.X.shape)
    )


def fold_of_rows(splits: list[tuple[Array, Array]], n: int) -> Array | None:
    """The number of the fold that predicts each row, -1 if none does.

    None if a row is predicted twice, or not learnt from just where it is not predicted.
    """
    fold = np.full(n, -1)
    for i, (train, test) in enumerate(splits):
        times = np.bincount(np.concatenate([train, test]), minlength=n)
        if (times != 1).any() or (fold[test] >= 0).any():
            return None
        fold[test] = i
    return fold


def _condense_folds(table: TabularData, fold: Array) -> tuple[Data, list[tuple[Any, Any]]]:
    """A triangle for each fold, and the same splits."""
    condensed = Condensed().update(table.X, table.y, table.weights, fold=fold)
    model = {name: getattr(table, name) for name in ("intercept", "include", "exclude", "ridge")}
    labels = range(fold.min(), fold.max() + 1)
    splits = [([j for j in labels if j != i], [i]) for i in labels if i >= 0]
    return CondensedData(condensed=condensed, **model), splits


def over_folds(
    splits: list[tuple[Any, Any]], n_jobs: int | None, errors_of: Callable[[Any, Any], Result]
) -> list[Result]:
    """What a function of rows to learn from and rows to predict returns for each fold."""
    # What takes time, in compiled code and BLAS, lets other threads run; processes would copy X.
    at_once = Parallel(n_jobs=n_jobs, prefer="threads")
    with waiting("cross-validating", len(splits), unasked=True) as wait:
        run = delayed(Counted(errors_of, wait))
        results: list[Result] = at_once(run(train, test) for train, test in splits)
    return results


def without_dependent(search: Callable[..., Result], fold: Data, *args: Any) -> Result:
    """A search in a fold, without included features that are dependent in its rows.

    Some may be constant there, say.
    """
    try:
        return search(fold, *args)
    except DependentColumnsError as error:
        included = [j for j in fold.include if j not in error.columns]
        if len(included) == len(fold.include):
            raise
        return search(replace(fold, include=included), *args)


def held_out_errors(data: Data, fold: Data, held: Data, columns: Array, coefs: Array) -> Array:
    """The mean squared errors in rows held out of models of a fold, one in each column of coefs.

    Those of several targets are weighed by what all rows of `data` have of them, in every fold, as
    a fit to all rows weighs them.
    """
    learnt = fold.reduced
    errors = held.squared_errors(columns, coefs, learnt.means[columns], learnt.level) / held.weight
    return data.mean_loss(errors) if data.multi_target else errors


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
