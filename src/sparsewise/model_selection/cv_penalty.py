"""What a feature is to cost, by cross-validation: the same search in each fold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.criteria.ric import CHARGES, by_charge
from sparsewise.engine.halting import interrupted
from sparsewise.model_selection import folds
from sparsewise.model_selection.data import Data
from sparsewise.results import Solution

Search = Callable[[Data, float], Solution]
"""The model of a table, at this charge for each feature."""


class ChargeErrors(NamedTuple):
    """Mean squared errors of rows that were left out, by what a feature costs.

    Of several targets, the mean over these, weighed as in the fit.

    Attributes
    ----------
    charges : ndarray
        What a feature costs, ascending.
    by_fold : ndarray of shape (folds, charges)
        The error in each fold.
    mean, std : ndarray
        Mean over the folds, and its standard error.
    sizes : ndarray
        The mean number of features.
    chosen : float
        The charge of choice.
    """

    charges: Array
    by_fold: Array
    mean: Array
    std: Array
    sizes: Array
    chosen: float


def charges_between(data: Data) -> Array:
    """Those of AIC, BIC and RIC, and the geometric means between them."""
    named = np.unique([by_charge(name, data.criteria()).charge for name in CHARGES])
    between = np.sqrt(named[1:] * named[:-1])
    return np.sort(np.concatenate([named, between]))


def cross_validate_charges(
    data: Data, search: Search, cv: Any, one_standard_error: bool, n_jobs: int | None
) -> ChargeErrors:
    """Errors at each charge, and the best; or the largest charge within a standard error of it."""
    (rows, splits), charges = folds.in_folds(data, cv), charges_between(data)
    fold_errors = folds.over_folds(splits, n_jobs, partial(_fold_errors, rows, search, charges))
    by_fold = np.array([errors for errors, _ in fold_errors])
    mean, std = folds.mean_and_error(by_fold)
    fine = np.flatnonzero(folds.good_enough(data, mean, std, one_standard_error))
    sizes = np.mean([sizes for _, sizes in fold_errors], axis=0)
    return ChargeErrors(charges, by_fold, mean, std, sizes, float(charges[fine[-1]]))


def _fold_errors(
    data: Data, search: Search, charges: Array, train: Array, test: Array
) -> tuple[Array, list[int]]:
    """The mean squared errors in the rows `test`, and how many features each charge let in."""
    fold, held = data.part(train), data.part(test)
    models = [folds.without_dependent(search, fold, charge) for charge in charges.tolist()]
    if interrupted():  # half a search says little of a charge
        raise KeyboardInterrupt
    columns = np.unique(np.concatenate([model.support for model in models]))
    coefs = np.stack([model.coef[columns] for model in models], axis=1).astype(np.float64)
    errors = folds.held_out_errors(data, fold, held, columns, coefs)
    return errors, [model.support.size for model in models]
