"""Reads Dask collections in: workers condense tall ones, and hold columns of wide ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparsewise._util.text import count, quoted
from sparsewise.design import DaskDesign
from sparsewise.design.base import not_finite
from sparsewise.design.choose import is_dask_array
from sparsewise.design.dask import counted
from sparsewise.errors import InputError, InputTypeError
from sparsewise.estimators.chunks import AccumulatedRows
from sparsewise.estimators.feature_names import Columns, target_names
from sparsewise.estimators.requirements import Inputs, Requirements, check_one_target
from sparsewise.suffstats.condensed import checked_target, checked_weights
from sparsewise.suffstats.dask_collections import (
    as_dask_array,
    condense,
    folds_by_row,
    here,
    is_tall,
    tall_note,
)


def read_dask(estimator: Any, needs: Requirements, X: Any, y: Any, weights: Any) -> Inputs:
    """The rows of a Dask array or data frame."""
    if y is None:
        raise InputError("is missing: give the target.", parameter="y")
    array, names = as_dask_array(X)
    if array.ndim != 2:
        wrong = f"must have two dimensions (rows, columns), not {array.ndim}."
        raise InputError(wrong, parameter="X")
    if array.dtype.kind not in "biuf":
        wrong = f"is of type {array.dtype}, but estimators take real numbers."
        raise InputTypeError(wrong, parameter="X")
    check_one_target(y, needs.single_target)
    estimator.n_features_in_ = int(array.shape[1])
    feature_names = None if names is None else np.array(names, object)
    if feature_names is not None:
        estimator.feature_names_in_ = feature_names
    # A Dask array has a name that is not the user's.
    target = ("y", None) if is_dask_array(y) else target_names(y, not needs.single_target)
    frame = "" if names is None else "pandas"
    columns = Columns(estimator.n_features_in_, feature_names, *target, frame)
    read_rows = _read_tall if is_tall(array, y) else _read_wide
    return read_rows(needs, columns, array, y, weights)


def _read_tall(needs: Requirements, columns: Columns, array: Any, y: Any, weights: Any) -> Inputs:
    """The triangle of all rows, computed by the workers."""
    if needs.needs_rows is not None:
        raise needs.needs_rows
    fold = None
    if needs.n_folds is not None:
        if array.numblocks[0] < needs.n_folds:
            array = counted(array)
        fold = folds_by_row(array, needs.n_folds)
    condensed = condense(array, y, weights, fold)
    # Workers have the weights; their sum is enough to tell most of them that are not whole.
    rows = AccumulatedRows(condensed, is_whole=float(condensed.n_rows).is_integer())
    n = rows.rows.count if math.isnan(array.shape[0]) else array.shape[0]
    note = tall_note(n, columns.n_features)
    return Inputs(needs.condensed(columns, rows), columns, rows, note)


def _read_wide(needs: Requirements, columns: Columns, array: Any, y: Any, weights: Any) -> Inputs:
    """A table of which workers hold blocks of columns."""
    design = DaskDesign(array)
    n = design.shape[0]
    bad, where = design.faults()
    if where is not None:
        raise not_finite("X", bad, where)
    target = checked_target(here(y), n)
    if needs.single_target:
        target = target.reshape(n)
    counts = None if weights is None else checked_weights(here(weights), n)
    data = needs.table(columns, design, target, counts)
    return Inputs(data, columns, note=design.note)


def same_features(X: Any, columns: Columns) -> Any:
    """A Dask collection as an array, if it has the features of the fit."""
    array, names = as_dask_array(X)
    if array.ndim != 2 or array.shape[1] != columns.n_features:
        wrong = f"has shape {array.shape}, but the model is one of "
        raise InputError(wrong + count(columns.n_features, "column"), parameter="X")
    known = columns.feature_names
    if names is not None and known is not None and names != known.tolist():
        j = next(j for j, name in enumerate(names) if name != known[j])
        wrong = f"has {quoted(names[j])} for column {j}, which was {quoted(known[j])} in fit"
        raise InputError(wrong, "give the same features.", parameter="X")
    return array
