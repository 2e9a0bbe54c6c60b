"""What the columns of X and y are called, and columns by their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.parameters import check_columns
from sparsewise._util.text import look_up, quoted
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.frames import frame_kind
from sparsewise.suffstats.condensed import column_names


class Columns(NamedTuple):
    """The columns of X and y.

    Attributes
    ----------
    n_features : int
        How many columns X has.
    feature_names : ndarray of str or None
        Their names, where X has any.
    target : str
        The name of the target; "y" where it has none.
    target_names : ndarray of str or None
        The names of several targets, where y is a data frame.
    frame : str
        The kind of data frame that X is: "pandas", "polars", or "" for anything else.
    """

    n_features: int
    feature_names: Array | None = None
    target: str = "y"
    target_names: Array | None = None
    frame: str = ""

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, multi_target: bool) -> Self:
        """The columns of a table whose features scikit-learn has noted in the estimator."""
        names = vars(estimator).get("feature_names_in_")
        return cls(estimator.n_features_in_, names, *target_names(y, multi_target), frame_kind(X))

    def feature(self, j: int) -> str:
        """The name of a feature; x0, x1, … where X has no names."""
        return f"x{j}" if self.feature_names is None else str(self.feature_names[j])

    def targets(self, q: int) -> tuple[str, ...]:
        """The names of q targets."""
        if self.target_names is not None:
            return tuple(self.target_names)
        return (self.target,) if q == 1 else tuple(f"y{t}" for t in range(q))

    def numbers(self, features: Iterable[Any] | None, parameter: str) -> list[int]:
        """The column numbers of features that a parameter lists by name or number."""
        # A feature may be listed twice, or by name and by number.
        listed = () if features is None else features
        numbers = [self._number(feature, parameter) for feature in listed]
        return check_columns(numbers, self.n_features, parameter, "X")

    def _number(self, feature: Any, parameter: str) -> int:
        if isinstance(feature, str):
            return self._number_of_name(feature, parameter)
        if isinstance(feature, (bool, np.bool_)) or not isinstance(feature, (int, np.integer)):
            wrong = f"must list names or column numbers, not {feature!r}."
            raise InputError(wrong, parameter=parameter)
        return int(feature)

    def _number_of_name(self, name: str, parameter: str) -> int:
        if self.feature_names is None:
            raise InputError(
                f"names {quoted(name)}, but X has no column names: give the number of the "
                "column, or X as a data frame.",
                parameter=parameter,
            )
        try:
            look_up([name], self.feature_names, "feature")
        except InputError as error:
            end = "" if str(error).endswith("?") else "."
            raise InputError((Parameter(parameter), f": {error}{end}")) from None
        at = np.flatnonzero(self.feature_names == name)
        if at.size > 1:
            raise InputError(
                f"names {quoted(name)}, but {at.size} columns of X are called that: give the "
                "number of one.",
                parameter=parameter,
            )
        return int(at[0])


def target_names(y: Any, multi_target: bool) -> tuple[str, Array | None]:
    """What one target is called, and each of several where y is a data frame."""
    names = column_names(y) or []
    target = names[0] if len(names) == 1 else str(getattr(y, "name", None) or "y")
    return target, np.array(names, object) if names and multi_target else None
