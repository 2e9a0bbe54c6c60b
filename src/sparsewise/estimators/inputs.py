"""How rows come in: as a table, in chunks, condensed already, or from Dask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    _get_feature_names,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from sparsewise._typing import Array
from sparsewise._util.parameters import check_columns
from sparsewise._util.text import count, look_up, quoted
from sparsewise.algorithms import solve
from sparsewise.design import DaskDesign
from sparsewise.design.base import not_finite
from sparsewise.design.choose import is_dask_array
from sparsewise.design.dask import counted
from sparsewise.errors import InputError, InputTypeError, InputWarning, Parameter
from sparsewise.estimators.chunks import (
    CHUNK,
    Gathered,
    are_chunks,
    as_input_error,
    in_chunk,
    no_parts,
    whole,
)
from sparsewise.estimators.dtypes import check_real
from sparsewise.estimators.frames import frame_kind
from sparsewise.estimators.state import forget
from sparsewise.model_selection.condensed_data import CondensedData
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.problem.constraints import check_constraints
from sparsewise.suffstats.condensed import (
    Condensed,
    check_alike,
    check_names,
    checked_target,
    checked_weights,
    column_names,
)
from sparsewise.suffstats.dask_collections import (
    as_dask_array,
    condense,
    folds_by_row,
    here,
    is_dask,
    is_tall,
    tall_note,
)

ACCEPTED = {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32)}
"""What X may be without being converted."""


SEEN = ("n_features_in_", "feature_names_in_", "target_names_")
"""What checks note of X and y, to compare the next ones with."""

BEGINS_ANEW = (
    "partial_fit begins anew, without the rows of fit, which were not kept",
    "give all rows to partial_fit, or the first ones as chunks to fit.",
)
"""What to know of rows that come after a table."""


# scikit-learn ships no types: its base classes are Any to the checker.
class Intake(BaseEstimator):  # type: ignore[misc]
    """What an estimator does with rows before an algorithm sees them.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.
    target_names_ : ndarray of str
        The names of the targets, where y was a data frame.
    """

    _function = solve.__name__  # which takes complex numbers, too

    fit_intercept: bool
    include: Sequence[int | str] | None
    exclude: Sequence[int | str] | None
    n_features_in_: int
    feature_names_in_: Array
    target_names_: Array
    _gathered_: Gathered

    def _data(
        self,
        X: Any,
        y: ArrayLike | None,
        weights: ArrayLike | None,
        groups: ArrayLike | None = None,
    ) -> Data:
        """The rows, checked, with `include` and `exclude` as column numbers."""
        if groups is not None and (is_dask(X) or isinstance(X, Condensed) or are_chunks(X, y)):
            wrong = "tells splitters which rows belong together, but these are not kept"
            raise InputError(wrong, ("give each row's ", Parameter("fold")), parameter="groups")
        if is_dask(X):
            return self._from_dask(X, y, weights)
        if isinstance(X, Condensed) or are_chunks(X, y):
            self._gathered_ = self._gather(X, y, weights)
            return self._condensed_data()
        table = self._table(X, y, ensure_min_samples=1 + self.fit_intercept)
        counts: Array | None = None
        if weights is not None:
            counts = _check_sample_weight(
                weights, table[0], dtype=np.float64, ensure_non_negative=True
            )
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(table[0], groups)
        data = TabularData.of(*table, counts, groups=groups, **self._model())
        self._look_over(data)
        return data

    def _more_data(self, X: Any, y: Any, weights: Any, fold: Any) -> Data:
        """These rows on top of those that have been gathered; what was fitted is forgotten."""
        if is_dask(X):
            wrong = "is a Dask collection, whose rows are not here"
            raise InputTypeError(wrong, "give it to fit, or its parts one by one.", parameter="X")
        had = vars(self)
        gathered: Gathered = had.get("_gathered_", Gathered())
        begins_anew = "solution_" in had and "_gathered_" not in had
        is_first = gathered.rows.n_features is None
        table = self._table(X, y, reset=is_first, ensure_min_samples=0)
        gathered = gathered.with_chunk(*table, weights, fold, self._folds)
        forget(self, but=SEEN)
        self._gathered_ = gathered
        data = self._condensed_data()
        if begins_anew:
            data.warn(InputWarning(*BEGINS_ANEW))
        return data

    @property
    def _one_target(self) -> str | None:
        """Who takes one target only, if one does with these settings: "mp takes", say."""
        return None

    def _table(self, X: Any, y: Any, **how: Any) -> tuple[Any, Array]:
        """Features and target as numbers, checked; their names, unless these are known.

        A target of one column is one target, unless there may be several.
        """
        self._check_real(X, y)
        check_one_target(y, self._one_target)
        rows, *columns = _shape(y) or (1,)
        multi_target = bool(columns) and self._one_target is None
        if multi_target and hasattr(y, "nnz"):
            raise InputTypeError("is a sparse matrix", "pass y.toarray().", parameter="y")
        if columns == [0]:
            raise InputError("has no columns, and so no targets.", parameter="y")
        if how.get("reset", True):
            self._frame = frame_kind(X)
            self._name_targets(y)
        elif multi_target:
            known = getattr(self, "target_names_", None)
            check_names(column_names(y), None if known is None else known.tolist(), "y")
        if multi_target and not rows:  # of which scikit-learn takes one dimension only
            y, multi_target = np.empty(0), False
        table: tuple[Any, Array] = validate_data(
            self, X, y, y_numeric=True, multi_output=multi_target, **ACCEPTED, **how
        )
        is_single, most = table[0].dtype == np.float32, np.finfo(np.float32).max
        if is_single and np.abs(table[1]).max(initial=0.0) > most:
            raise InputError(
                "is beyond the range of float32, in which X is", "scale it.", parameter="y"
            )
        return table

    def _check_real(self, X: Any, y: Any = None) -> None:
        """Refuse what holds no real numbers."""
        function = getattr(self, "algorithm", self._function)
        check_real(X, "X", function)
        check_real(y, "y", function)

    def _name_targets(self, y: Any) -> None:
        """Take note of what the target is called, or each of several."""
        names = column_names(y) or []
        if names and self._one_target is None:
            self.target_names_ = np.array(names, object)
        self._target = names[0] if len(names) == 1 else str(getattr(y, "name", None) or "y")

    def _targets(self, q: int) -> tuple[str, ...]:
        """The names of q targets."""
        if hasattr(self, "target_names_"):
            return tuple(self.target_names_)
        return (self._target,) if q == 1 else tuple(f"y{t}" for t in range(q))

    def _model(self) -> dict[str, Any]:
        """What the model must be: whether it has a constant, and constraints as columns."""
        constraints = check_constraints(
            self.n_features_in_,
            include=self._columns("include"),
            exclude=self._columns("exclude"),
            matrix="X",
            called=lambda j: quoted(self._name(j)),
        )
        include, exclude = list(constraints.include), list(constraints.exclude)
        return {"intercept": self.fit_intercept, "include": include, "exclude": exclude}

    def _look_over(self, data: Data) -> None:
        """Refuse or warn of data that can't tell what is asked of them."""
        if data.rows <= 1 + self.fit_intercept < data.count:
            warning = InputWarning(
                f"adds up to {data.rows:g}: being how often each row counts, it makes "
                f"{data.count} rows as few as that",
                "scale it to a mean of 1 unless this is meant.",
                parameter="sample_weight",
            )
            data.warn(warning)
        data.check_target()
        if len(data.include) > data.design.shape[0]:
            raise InputError(
                f"names {count(len(data.include), 'feature')}, but {count(data.count, 'row')} "
                f"can't tell more than {data.design.shape[0]} apart: include fewer.",
                parameter="include",
            )

    # ------------------------------------------------------------------ rows in chunks

    @property
    def _folds(self) -> int | None:
        """How many folds chunks are put into, if cross-validation is to choose."""
        return None

    @property
    def _needs_rows(self) -> InputError | None:
        """Why rows can't be condensed, if they can't."""
        return None

    def _gather(self, X: Any, y: Any, weights: Any) -> Gathered:
        """All rows of chunks, or what has been condensed already."""
        if (trouble := self._needs_rows) is not None:
            raise trouble
        given = {"y": y, "sample_weight": weights}
        if isinstance(X, Condensed):
            no_parts(given, "the rows that were condensed")
            self._see(X)
            return Gathered(X.copy())
        no_parts(given, "each chunk, (X, y, sample_weight)")
        gathered, number = Gathered(), -1
        for number, chunk in enumerate(X):
            with in_chunk(number):
                features, target, weights, fold = whole(chunk)
                with as_input_error():
                    self._check_alike(features)
                    table = self._table(features, target, reset=not number, ensure_min_samples=0)
                gathered = gathered.with_chunk(*table, weights, fold, self._folds)
        if number < 0:
            raise InputError("holds no chunks", f"give some: {CHUNK}.", parameter="X")
        return gathered

    def _check_alike(self, X: Any) -> None:
        """Refuse a chunk whose features are not those of the chunks before."""
        if not hasattr(self, "n_features_in_") or len(getattr(X, "shape", ())) != 2:
            return
        names, known = _get_feature_names(X), getattr(self, "feature_names_in_", None)
        if names is None or known is None:  # of this scikit-learn warns
            names = known = None
        check_alike(X.shape[1], names, self.n_features_in_, known)

    def _see(self, rows: Condensed) -> None:
        """Take note of the features of what was condensed."""
        if rows.dtype is not None and rows.dtype.kind == "c":
            wrong = "holds complex numbers, but estimators take real ones"
            raise InputError(wrong, "use an algorithm with its system().", parameter="X")
        check_one_target(np.empty((0, rows.n_targets or 1)), self._one_target)
        self._frame, self._target = frame_kind(rows), "y"
        self.n_features_in_ = rows.n_features or 0
        if rows.target_names is not None and self._one_target is None:
            self.target_names_ = np.array(rows.target_names, object)
        if rows.feature_names is not None:
            self.feature_names_in_ = np.array(rows.feature_names, object)

    def _condensed_data(self) -> Data:
        """The rows that were gathered, and what the model must be."""
        rows, needed = self._gathered_.rows, 1 + self.fit_intercept
        if rows.count < needed:
            there = "There is 1 row" if rows.count else "There are no rows"
            model = "a model with an intercept" if self.fit_intercept else "a model"
            raise InputError(f"{there} of positive weight, but {model} needs at least {needed}.")
        if self._one_target is not None and rows.n_targets is not None:  # one column, that is
            rows = rows.copy()
            rows.n_targets = None
        data = CondensedData(condensed=rows, **self._model())
        self._look_over(data)
        return data

    # ------------------------------------------------------------------ Dask collections

    def _from_dask(self, X: Any, y: Any, weights: Any) -> Data:
        """Tall ones are condensed where they are; of wide ones workers hold columns."""
        if y is None:
            raise InputError("is missing: give the target.", parameter="y")
        array, names = as_dask_array(X)
        if array.ndim != 2:
            wrong = f"must have two dimensions (rows, columns), not {array.ndim}."
            raise InputError(wrong, parameter="X")
        if array.dtype.kind not in "biuf":
            wrong = f"is of type {array.dtype}, but estimators take real numbers."
            raise InputTypeError(wrong, parameter="X")
        check_one_target(y, self._one_target)
        self._frame, self._target = "polars" if names is None else "pandas", "y"
        if not is_dask_array(y):  # which has a name, too, but none of the user's
            self._name_targets(y)
        self.n_features_in_ = int(array.shape[1])
        if names is not None:
            self.feature_names_in_ = np.array(names, object)
        way = self._tall if is_tall(array, y) else self._wide
        return way(array, y, weights)

    def _tall(self, array: Any, y: Any, weights: Any) -> Data:
        """The triangle of all rows, made by the workers."""
        if (trouble := self._needs_rows) is not None:
            raise trouble
        fold = None
        if (folds := self._folds) is not None:
            if array.numblocks[0] < folds:
                array = counted(array)
            fold = folds_by_row(array, folds)
        rows = condense(array, y, weights, fold)
        n = rows.count if math.isnan(array.shape[0]) else array.shape[0]
        self._gathered_, self._note_ = Gathered(rows), tall_note(n, self.n_features_in_)
        return self._condensed_data()

    def _wide(self, array: Any, y: Any, weights: Any) -> Data:
        """A table of which workers hold blocks of columns."""
        design = DaskDesign(array)
        n = design.shape[0]
        found, where = design.faults()
        if where is not None:
            raise not_finite("X", found, where)
        target = checked_target(here(y), n)
        if self._one_target is not None:
            target = target.reshape(n)
        counts = None if weights is None else checked_weights(here(weights), n)
        data = TabularData.of(design, target, counts, **self._model())
        self._look_over(data)
        self._note_ = design.note
        return data

    def _alike(self, X: Any) -> Any:
        """A Dask collection of the features of the fit, as an array."""
        array, names = as_dask_array(X)
        if array.ndim != 2 or array.shape[1] != self.n_features_in_:
            wrong = f"has shape {array.shape}, but the model is one of "
            raise InputError(wrong + count(self.n_features_in_, "column"), parameter="X")
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and names != known.tolist():
            j = next(j for j, name in enumerate(names) if name != known[j])
            wrong = f"has {quoted(names[j])} for column {j}, which was {quoted(known[j])} in fit"
            raise InputError(wrong, "give the same features.", parameter="X")
        return array

    # ------------------------------------------------------------------ columns by name

    def _columns(self, parameter: str) -> list[int]:
        """The column numbers that `include` or `exclude` stands for."""
        wanted = getattr(self, parameter)
        if wanted is None:
            return []
        # A feature may be listed twice, or by name and by number.
        numbers = [self._column(one, parameter) for one in wanted]
        return check_columns(numbers, self.n_features_in_, parameter, "X")

    def _column(self, wanted: Any, parameter: str) -> int:
        """The number of a column by its name, or by itself."""
        if isinstance(wanted, str):
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                raise InputError(
                    f"names {quoted(wanted)}, but X has no column names: give the number of the "
                    "column, or X as a data frame.",
                    parameter=parameter,
                )
            try:
                look_up([wanted], names, "feature")
            except InputError as error:
                end = "" if str(error).endswith("?") else "."
                raise InputError((Parameter(parameter), f": {error}{end}")) from None
            at = np.flatnonzero(names == wanted)
            if at.size > 1:
                raise InputError(
                    f"names {quoted(wanted)}, but {at.size} columns of X are called that: give the "
                    "number of one.",
                    parameter=parameter,
                )
            return int(at[0])
        if isinstance(wanted, (bool, np.bool_)) or not isinstance(wanted, (int, np.integer)):
            raise InputError(
                f"must list names or column numbers, not {wanted!r}.", parameter=parameter
            )
        return int(wanted)

    def _name(self, j: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"x{j}" if names is None else str(names[j])


def check_one_target(y: Any, who: str | None) -> None:
    """Refuse several targets where somebody takes one."""
    shape = () if who is None else _shape(y)
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(
            f"has {shape[1]} columns, but {who} one target",
            "fit them one by one, or with an estimator that finds the same features for all, such "
            "as SparseRegressor.",
            parameter="y",
        )


def _shape(y: Any) -> tuple[int, ...]:
    """The shape of a target; empty if it has none."""
    try:
        return np.shape(y) if isinstance(y, (list, tuple)) else getattr(y, "shape", ())
    except ValueError:  # of lists that are no array, which scikit-learn tells
        return ()
