"""What a model must contain, must not contain and begins with: checked in this one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any, NamedTuple

import numpy as np

from sparsewise._util.parameters import check_columns
from sparsewise._util.text import shortened
from sparsewise.errors import InputError, Parameter
from sparsewise.problem.partition import Partition


class Constraints(NamedTuple):
    """Columns that a model must have, must not have, and begins with.

    Attributes
    ----------
    include : tuple of int
        Features that every model has.
    exclude : tuple of int
        Columns that no model has.
    start : tuple of int
        Features of the first model; they may be dropped.
    locked : tuple of int
        Columns that every model has but that are no features, such as the constant of an
        intercept: they are not counted, not shrunk, and not in the support.
    """

    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    start: tuple[int, ...] = ()
    locked: tuple[int, ...] = ()

    @property
    def kept(self) -> tuple[int, ...]:
        """The columns that can't be dropped, those that are locked first."""
        return (*self.locked, *self.include)

    @property
    def first(self) -> list[int]:
        """The columns of the first model, in order."""
        closed = {*self.kept, *self.exclude}
        return [*self.kept, *(j for j in self.start if j not in closed)]


NO_CONSTRAINTS = Constraints()
ALONE = Partition()


def check_constraints(
    m: int,
    *,
    include: Iterable[int] | None = (),
    exclude: Iterable[int] | None = (),
    start: Iterable[int] | None = (),
    locked: Iterable[int] | None = (),
    partition: Partition = ALONE,
    matrix: str = "A",
    called: Callable[[int], str] = "Column {}".format,
) -> Constraints:
    """Constraints on the m columns of a matrix; a column stands for its whole group.

    `matrix` and `called` are what messages call the matrix and its columns.
    """
    given = {"include": include, "exclude": exclude, "start": start, "locked": locked}
    if not any(map(_may_hold, given.values())):
        return NO_CONSTRAINTS
    checked = Constraints(
        **{
            name: partition.whole(check_columns(columns, m, name, matrix))
            for name, columns in given.items()
        }
    )
    _check_apart(checked, "include", called)
    _check_apart(checked, "locked", called)
    return checked


def _check_apart(constraints: Constraints, name: str, called: Callable[[int], str]) -> None:
    """Refuse columns that are to be in every model and in none."""
    if both := sorted(set(getattr(constraints, name)) & set(constraints.exclude)):
        lists = Parameter(name), " and ", Parameter("exclude")
        names = shortened([called(j) for j in both])
        raise InputError((f"{names} can't be in both ", *lists), "keep each in one.")


def _may_hold(columns: Any) -> bool:
    """Whether there can be anything in it: None and empty lists need no further check."""
    if columns is None:
        return False
    if isinstance(columns, (tuple, list)):
        return bool(columns)
    if isinstance(columns, np.ndarray):
        return columns.size > 0
    return not isinstance(columns, Sized) or len(columns) > 0
