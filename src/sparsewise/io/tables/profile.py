"""The profile of a table: what all of its rows hold, found piece by piece.

Profiles of pieces add up, in the order of the pieces, to that of the table: what follows from it is
the same for a small table in memory, for files that are streamed, and for pieces that other
machines have read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sparsewise._util.text import quoted

MOST_REMEMBERED = 100_000
"""Levels of a column that are remembered: more are refused anyway, whatever their number."""


class Cell(NamedTuple):
    """A cell: what is written there, and in which row; of which file, where there are several."""

    text: str
    row: int
    file: str

    def __str__(self) -> str:
        return f"row {self.row} of {self.file}" if self.file else f"row {self.row}"

    @property
    def example(self) -> str:
        """The cell as the first of a kind."""
        return f"the first is {quoted(self.text)} in {self}"


@dataclass(frozen=True)
class ColumnProfile:
    """What some rows of a column hold.

    Attributes
    ----------
    missing : int
        Cells without a value.
    kind : str
        What it holds in place of numbers.
    first : Cell or None
        The first cell of that kind.
    others : int
        How many there are.
    only_boolean : bool
        Whether a text says nothing but true and false.
    levels : frozenset of str
        The levels, or texts in place of numbers, as far as they are remembered.
    low, high : float
        The least number and the largest; the other way round if there is none.
    first_number, last_number : float or None
        Of rows that are numbered: whole numbers of which each is one more than that before.
    too_large, negative, unknown : Cell or None
        The first cell with a number that is too large, or negative, or with a level that is not
        among those known.
    """

    missing: int = 0
    kind: str = ""
    first: Cell | None = None
    others: int = 0
    only_boolean: bool = True
    levels: frozenset[str] = frozenset()
    low: float = math.inf
    high: float = -math.inf
    first_number: float | None = None
    last_number: float | None = None
    too_large: Cell | None = None
    negative: Cell | None = None
    unknown: Cell | None = None

    def __add__(self, later: ColumnProfile) -> ColumnProfile:
        first = self if self.kind else later
        full = len(self.levels) >= MOST_REMEMBERED
        first_number, last_number = self._numbering(later)
        return ColumnProfile(
            missing=self.missing + later.missing,
            kind=first.kind,
            first=first.first,
            others=self.others + later.others,
            only_boolean=self.only_boolean and later.only_boolean,
            levels=self.levels if full else self.levels | later.levels,
            low=min(self.low, later.low),
            high=max(self.high, later.high),
            first_number=first_number,
            last_number=last_number,
            too_large=self.too_large or later.too_large,
            negative=self.negative or later.negative,
            unknown=self.unknown or later.unknown,
        )

    def _numbering(self, later: ColumnProfile) -> tuple[float | None, float | None]:
        """The first and the last number of rows, if later ones go on where these end."""
        if later.low > later.high:
            return self.first_number, self.last_number
        if self.low > self.high:
            return later.first_number, later.last_number
        goes_on = self.last_number is not None and later.first_number == self.last_number + 1
        return (self.first_number, later.last_number) if goes_on else (None, None)

    @property
    def is_constant(self) -> bool:
        """Whether all numbers are the same."""
        return self.low == self.high

    @property
    def is_boolean(self) -> bool:
        """Whether a text says true and false, which are 1 and 0."""
        return self.kind == "text" and self.only_boolean

    @property
    def refused(self) -> str:
        """What it holds that is no number."""
        return "" if self.is_boolean else self.kind

    @property
    def content(self) -> str:
        """What it holds in place of numbers, with an example."""
        return f"{self.refused} ({'' if self.first is None else self.first.example})"


@dataclass(frozen=True)
class Profile:
    """What some rows of a table hold.

    Attributes
    ----------
    rows : int
        All rows.
    complete : int
        Those without a missing value.
    counted : int
        Those of a weight above 0 among them.
    columns : mapping
        What each column holds.
    """

    rows: int = 0
    complete: int = 0
    counted: int = 0
    columns: Mapping[str, ColumnProfile] = field(default_factory=dict)

    def __add__(self, later: Profile) -> Profile:
        columns = {
            name: self.columns.get(name, ColumnProfile()) + column
            for name, column in later.columns.items()
        }
        return Profile(
            self.rows + later.rows,
            self.complete + later.complete,
            self.counted + later.counted,
            {**self.columns, **columns},
        )

    @property
    def refused(self) -> dict[str, ColumnProfile]:
        """The columns that hold something else than numbers."""
        return {name: column for name, column in self.columns.items() if column.refused}
