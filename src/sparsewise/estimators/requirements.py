"""What an estimator requires of its rows, and the rows as an algorithm takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsewise._util.text import count, quoted
from sparsewise.algorithms import ALGORITHMS, solve
from sparsewise.errors import InputError, InputWarning, TooFewRowsError
from sparsewise.estimators.chunks import AccumulatedRows, are_whole
from sparsewise.estimators.feature_names import Columns
from sparsewise.model_selection.condensed_data import CondensedData
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.problem.constraints import check_constraints
from sparsewise.problem.problem import check_ridge

NEAR = 0.1
"""Weights of a mean this close to 1 count about as many rows as there are, however they are meant:
those of some rows of a table, too, that have a mean of 1 in all."""


class Requirements(NamedTuple):
    """What an estimator requires of its rows.

    Attributes
    ----------
    intercept : bool
        Whether the model has a constant.
    include, exclude : list of str or int, optional
        Features that must, and must not, be in the model.
    ridge : float
        What squared coefficients cost, for features of unit norm.
    single_target : str
        Who takes one target only: "mp takes"; empty if there may be several.
    n_folds : int or None
        How many folds chunks are put into, if cross-validation chooses the model.
    needs_rows : InputError or None
        Why condensed rows will not do, if they won't.
    function : str
        The algorithm that takes complex numbers in the estimator's place.
    """

    intercept: bool
    include: Sequence[int | str] | None = None
    exclude: Sequence[int | str] | None = None
    ridge: float = 0.0
    single_target: str = ""
    n_folds: int | None = None
    needs_rows: InputError | None = None
    function: str = solve.__name__

    def for_algorithm(self, name: str) -> Requirements:
        """The same for an estimator that runs an algorithm by its name."""
        record = ALGORITHMS.get(name)  # a wrong name is refused with the other parameters
        single = "" if record is None or record.multi_target else f"{name} takes"
        return self._replace(single_target=single, function=name)

    def constraints(self, columns: Columns) -> dict[str, Any]:
        """Intercept, include, exclude and ridge, as `Data` takes them."""
        constraints = check_constraints(
            columns.n_features,
            include=columns.numbers(self.include, "include"),
            exclude=columns.numbers(self.exclude, "exclude"),
            matrix="X",
            called=lambda j: quoted(columns.feature(j)),
        )
        include, exclude = list(constraints.include), list(constraints.exclude)
        model = {"intercept": self.intercept, "include": include, "exclude": exclude}
        return {**model, "ridge": check_ridge(self.ridge)}

    def table(self, columns: Columns, X: Any, y: Any, weights: Any, **others: Any) -> Data:
        """The rows of a table, checked."""
        data = TabularData.of(X, y, weights, **self.constraints(columns), **others)
        return checked(data, data.weights is None or are_whole(data.weights))

    def condensed(self, columns: Columns, rows: AccumulatedRows) -> Data:
        """Rows that were condensed, checked."""
        condensed, needed = rows.rows, 1 + self.intercept
        if condensed.count < needed:
            there = "There is 1 row" if condensed.count else "There are no rows"
            model = "a model with an intercept" if self.intercept else "a model"
            wrong = f"{there} of positive weight, but {model} needs at least {needed}."
            raise TooFewRowsError(wrong)
        if self.single_target and condensed.n_targets is not None:  # of one column
            condensed = condensed.copy()
            condensed.n_targets = None
        data = CondensedData(condensed=condensed, **self.constraints(columns))
        return checked(data, rows.is_whole)


class Inputs(NamedTuple):
    """What was read of X and y.

    Attributes
    ----------
    data : Data
        The rows, checked.
    columns : Columns
        The columns of X and y.
    rows : AccumulatedRows or None
        The condensed rows, for `partial_fit` to add to.
    note : str
        How the rows were read, for the summary.
    """

    data: Data
    columns: Columns
    rows: AccumulatedRows | None = None
    note: str = ""


def checked(data: Data, has_whole_weights: bool) -> Data:
    """The data, unless they can't determine the model that is asked for; with a warning, maybe.

    Weights that are not whole numbers may tell how precise rows are, as those of R's ``lm`` do.
    """
    if data.rows <= 1 + data.intercept < data.count:
        warning = InputWarning(
            f"adds up to {data.rows:g}: being how often each row counts, it makes "
            f"{data.count} rows as few as that",
            "scale it to a mean of 1 unless this is meant.",
            parameter="sample_weight",
        )
        data.warn(warning)
    elif not has_whole_weights and abs(data.rows / data.count - 1) > NEAR:
        warning = InputWarning(
            f"holds numbers that are not whole, and is how often each row counts: {data.count} "
            f"rows count as {data.rows:g}",
            "scale it to a mean of 1 if it tells how precise each row is.",
            parameter="sample_weight",
        )
        data.warn(warning)
    data.check_target()
    if len(data.include) > data.design.shape[0]:
        raise TooFewRowsError(
            f"names {count(len(data.include), 'feature')}, but {count(data.count, 'row')} "
            f"can't tell more than {data.design.shape[0]} apart: include fewer.",
            parameter="include",
        )
    return data


def check_one_target(y: Any, who: str) -> None:
    """Refuse several targets where an estimator takes one."""
    shape = target_shape(y) if who else ()
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(
            f"has {shape[1]} columns, but {who} one target",
            "fit them one by one, or with an estimator that finds the same features for all, such "
            "as SparseRegressor.",
            parameter="y",
        )


def target_shape(y: Any) -> tuple[int, ...]:
    """The shape of a target; empty if it has none."""
    try:
        return np.shape(y) if isinstance(y, (list, tuple)) else getattr(y, "shape", ())
    except ValueError:  # lists of different lengths, which scikit-learn refuses
        return ()
