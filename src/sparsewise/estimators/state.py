"""What a fit leaves behind: one record, all of it or nothing, in the precision of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sparsewise._typing import Array
from sparsewise.criteria.information import Criteria
from sparsewise.errors import InputWarning, Words
from sparsewise.estimators.chunks import AccumulatedRows
from sparsewise.estimators.feature_names import Columns
from sparsewise.estimators.leave_one_out_errors import LeaveOneOutErrors
from sparsewise.results import Solution


class Fit(NamedTuple):
    """What an estimator finds in the data.

    Attributes
    ----------
    solution : Solution
        The model.
    attributes : mapping
        Fitted attributes of this estimator alone, by name.
    loo : LeaveOneOutErrors or None
        The leave-one-out errors of the path, where they are known or can be computed later.
    notes : tuple
        What there is to say of it in the summary.
    """

    solution: Solution
    attributes: Mapping[str, Any] = {}
    loo: LeaveOneOutErrors | None = None
    notes: tuple[Words, ...] = ()


class Waiting(NamedTuple):
    """Rows of `partial_fit` that are too few for a model, and why."""

    rows: AccumulatedRows
    columns: Columns
    why: str


@dataclass(kw_only=True)
class FittedState:
    """All that a fit leaves behind; fitted attributes (`Fitted`) are read from it.

    Those that end in an underscore are the fitted attributes of all linear estimators, in double
    precision: see `SparseLinearModel`.

    Attributes
    ----------
    columns : Columns
        The columns of X and y.
    has_intercept : bool
        Whether the model has a constant.
    level : float, or ndarray of shape (q,)
        The mean of the target: the prediction where all features are at their means.
    losses, totals : ndarray of shape (q,)
        Squared norms of the residual and of each target, about its mean with an intercept.
    attributes : mapping
        Fitted attributes of one estimator alone, and those that a model may lack.
    rows : AccumulatedRows or None
        The condensed rows, for `partial_fit` to add to.
    note : str
        How the rows were read, for the summary.
    loo : LeaveOneOutErrors or None
        The leave-one-out errors of the path, where they are known or can be computed.
    notes : tuple
        What there is to say of the fit in the summary.
    path : dict or data frame, optional
        `path_`, once it has been read.
    """

    solution_: Solution
    columns: Columns
    has_intercept: bool
    coef_: Array
    means_: Array
    level: Any
    intercept_: Any
    noise_: Any
    covariance_: Array | None
    coef_std_: Any
    intercept_std_: Any
    n_rows_: float
    criteria_: Criteria
    losses: Array
    totals: Array
    warnings_: tuple[InputWarning, ...]
    attributes: dict[str, Any]
    rows: AccumulatedRows | None = None
    note: str = ""
    loo: LeaveOneOutErrors | None = None
    notes: tuple[Words, ...] = ()
    path: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # A pickle needs no package for data frames: it makes its own frame of the path.
        return {**vars(self), "path": None}


class Fitted:
    """A fitted attribute, which an estimator reads from its `FittedState`.

    Parameters
    ----------
    rounded : bool
        Whether it is given in the precision of the coefficients.
    """

    def __init__(self, *, rounded: bool = False) -> None:
        self.rounded = rounded

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        state = vars(estimator).get("_state_")
        if isinstance(state, FittedState):
            values = state.attributes if self.name in state.attributes else vars(state)
            if self.name in values:
                value = values[self.name]
                return in_precision(state.coef_.dtype, value) if self.rounded else value
        raise AttributeError(f"{type(estimator).__name__} has no {self.name}.")


def check_fitted(estimator: Any) -> None:
    """Raise an error if there is no fit; where rows are there but too few, say that."""
    state = vars(estimator).get("_state_")
    if isinstance(state, Waiting):
        raise NotFittedError(f"{state.why.rstrip('.')}: give partial_fit more rows.")
    check_is_fitted(estimator)


@contextmanager
def reset_on_failure(estimator: Any) -> Iterator[None]:
    """Forget an earlier fit, and should this one fail, what it has left: half a fit is none."""
    forget(estimator)
    try:
        yield
    except BaseException:
        forget(estimator)
        raise


@contextmanager
def rollback_on_error(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if an error is raised."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def forget(estimator: Any) -> None:
    """Remove what a fit has left: names that end in an underscore."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def in_precision(dtype: np.dtype[Any], value: Any) -> Any:
    """A number or an array in this precision; as it is if that is double, None, or out of range."""
    if value is None or dtype == np.float64:
        return value
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.asarray(value).astype(dtype)
    fits = np.array_equal(np.isinf(rounded), np.isinf(value))
    if not fits or np.any((rounded == 0) != (np.asarray(value) == 0)):
        return value
    return rounded if isinstance(value, np.ndarray) else rounded[()]
