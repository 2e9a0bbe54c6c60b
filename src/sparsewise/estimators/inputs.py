"""Reads X and y in: a table, chunks of rows, condensed rows, or Dask collections."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from sparsewise._typing import Array
from sparsewise.errors import InputError, InputTypeError, Parameter
from sparsewise.estimators import chunks
from sparsewise.estimators.chunks import AccumulatedRows
from sparsewise.estimators.dask_inputs import read_dask
from sparsewise.estimators.dtypes import check_real
from sparsewise.estimators.feature_names import Columns
from sparsewise.estimators.requirements import Inputs, Requirements, check_one_target, target_shape
from sparsewise.estimators.state import FittedState, Waiting
from sparsewise.suffstats import condensed
from sparsewise.suffstats.condensed import Condensed
from sparsewise.suffstats.dask_collections import is_dask

ACCEPTED = {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32)}
"""What X may be without being converted."""

CONDENSED = "condensed"
"""What the summary says of such rows."""

BEGINS_ANEW = (
    "partial_fit begins anew, without the rows of fit, which were not kept",
    "give all rows to partial_fit, or the first ones as chunks to fit.",
)


def read(
    estimator: Any, needs: Requirements, X: Any, y: Any, weights: Any, groups: Any = None
) -> Inputs:
    """The rows of `fit`, checked, with `include` and `exclude` as column numbers."""
    condenses = is_dask(X) or isinstance(X, Condensed) or chunks.are_chunks(X, y)
    if groups is not None and condenses:
        wrong = "tells splitters which rows belong together, but these are not kept"
        raise InputError(wrong, ("give each row's ", Parameter("fold")), parameter="groups")
    if is_dask(X):
        return read_dask(estimator, needs, X, y, weights)
    if condenses:
        return _read_condensed(estimator, needs, X, {"y": y, "sample_weight": weights})
    rows, target, columns = read_table(estimator, needs, X, y, None, 1 + needs.intercept)
    counts = None if weights is None else condensed.checked_weights(weights, len(target))
    if groups is not None:
        groups = column_or_1d(groups)
        check_consistent_length(rows, groups)
    return Inputs(needs.table(columns, rows, target, counts, groups=groups), columns)


def take_in(
    estimator: Any,
    needs: Requirements,
    state: FittedState | Waiting | None,
    X: Any,
    y: Any,
    weights: Any,
    fold: Any,
) -> tuple[AccumulatedRows, Columns]:
    """The rows of `partial_fit`, on top of those that were condensed before."""
    if is_dask(X):
        wrong = "is a Dask collection, whose rows are not here"
        raise InputTypeError(wrong, "give it to fit, or its parts one by one.", parameter="X")
    rows, columns = AccumulatedRows(), None
    if state is not None and state.rows is not None:
        rows, columns = state.rows, state.columns
    features, target, columns = read_table(estimator, needs, X, y, columns, 0)
    return rows.with_chunk(features, target, weights, fold, needs.n_folds), columns


def read_table(
    estimator: Any, needs: Requirements, X: Any, y: Any, columns: Columns | None, min_rows: int
) -> tuple[Any, Array, Columns]:
    """Features and target as numbers, checked, and their columns.

    If columns are given, those of X and y must be the same. A target of one column is one target,
    unless there may be several.
    """
    check_real(X, "X", needs.function)
    check_real(y, "y", needs.function)
    check_one_target(y, needs.single_target)
    n, *each = target_shape(y) or (1,)
    multi_target = bool(each) and not needs.single_target
    if multi_target and scipy.sparse.issparse(y):
        raise InputTypeError("is a sparse matrix", "pass y.toarray().", parameter="y")
    if each == [0]:
        raise InputError("has no columns, and so no targets.", parameter="y")
    if columns is not None and multi_target:
        known: Any = columns.target_names
        condensed.check_names(condensed.column_names(y), known, "y")
    # Of several targets of no rows, scikit-learn takes one dimension only.
    is_empty = multi_target and not n
    rows, target = validate_data(
        estimator,
        X,
        np.empty(0) if is_empty else y,
        reset=columns is None,
        y_numeric=True,
        multi_output=multi_target and not is_empty,
        ensure_min_samples=min_rows,
        **ACCEPTED,
    )
    check_range(rows, target)
    return rows, target, columns or Columns.of(estimator, X, y, not needs.single_target)


def check_range(X: Any, y: Array) -> None:
    """Refuse a target that predictions in the precision of X can't express."""
    if X.dtype == np.float32 and np.abs(y).max(initial=0.0) > np.finfo(np.float32).max:
        wrong = "is beyond the range of float32, in which X is"
        raise InputError(wrong, "scale it.", parameter="y")


def _read_condensed(estimator: Any, needs: Requirements, X: Any, others: dict[str, Any]) -> Inputs:
    """Rows in chunks, or condensed already."""
    if needs.needs_rows is not None:
        raise needs.needs_rows
    if isinstance(X, Condensed):
        chunks.refuse_parts(others, "the rows that were condensed")
        columns, rows = _note_columns(estimator, needs, X), AccumulatedRows(X.copy())
        return Inputs(needs.condensed(columns, rows), columns, rows, CONDENSED)
    chunks.refuse_parts(others, "each chunk, (X, y, sample_weight)")
    rows, known = AccumulatedRows(), None
    for number, chunk in enumerate(X):
        with chunks.naming_chunk(number):
            features, target, weights, fold = chunks.chunk_parts(chunk)
            with chunks.as_input_error():
                _check_same_features(features, known)
                features, target, known = read_table(estimator, needs, features, target, known, 0)
            rows = rows.with_chunk(features, target, weights, fold, needs.n_folds)
    if known is None:
        raise InputError("holds no chunks", f"give some: {chunks.CHUNK}.", parameter="X")
    return Inputs(needs.condensed(known, rows), known, rows, CONDENSED)


def _check_same_features(X: Any, columns: Columns | None) -> None:
    """Refuse a chunk whose features are not those of the chunks before."""
    if columns is None or len(getattr(X, "shape", ())) != 2:
        return
    names: Any = getattr(X, "columns", None)
    known: Any = columns.feature_names
    if names is None or known is None or not all(isinstance(name, str) for name in names):
        names = known = None  # of names that come or go, scikit-learn warns
    condensed.check_alike(X.shape[1], names, columns.n_features, known)


def _note_columns(estimator: Any, needs: Requirements, rows: Condensed) -> Columns:
    """The columns of condensed rows, noted in the estimator as scikit-learn does."""
    if rows.dtype is not None and rows.dtype.kind == "c":
        wrong = "holds complex numbers, but estimators take real ones"
        raise InputError(wrong, "use an algorithm with its system().", parameter="X")
    check_one_target(np.empty((0, rows.n_targets or 1)), needs.single_target)
    features, targets = (
        None if names is None else np.array(names, object)
        for names in (rows.feature_names, rows.target_names)
    )
    estimator.n_features_in_ = rows.n_features or 0
    if features is not None:
        estimator.feature_names_in_ = features
    targets = None if needs.single_target else targets
    return Columns(estimator.n_features_in_, features, target_names=targets)
