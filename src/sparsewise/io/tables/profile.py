"""What all rows of a table hold, found piece by piece.

Surveys of pieces add up, in the order of the pieces, to that of the table: what follows from it is
the same for a small table in memory, for files that are streamed, and for pieces that other
machines have looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from sparsewise._util.text import quoted
from sparsewise.io.tables import parsing as cells_
from sparsewise.io.tables.parsing import Cells, cells_of, filled_rows
from sparsewise.io.tables.reading import RawTable

MOST_REMEMBERED = 100_000
"""Levels of a column that are remembered: more are refused anyway, whatever their number."""


@dataclass(frozen=True)
class Wanted:
    """What is looked for.

    Parameters
    ----------
    names : tuple of str
        The columns that are used.
    levels : frozenset of str
        Those of them that are told apart by their text.
    weights : str, optional
        The one that says how often each row counts.
    known : mapping, optional
        The only levels that a column may have, where a model knows them already.
    filled : frozenset of str
        Columns whose missing values are filled in: no row is incomplete for them.
    skip_unknown : bool
        Whether a row with another level than those is incomplete.
    """

    names: tuple[str, ...]
    levels: frozenset[str] = frozenset()
    weights: str | None = None
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    skip_unknown: bool = False


class Place(NamedTuple):
    """A cell: what is written there, in which row of which file."""

    text: str
    row: int
    file: str

    def where(self, several: bool) -> str:
        """Return its row, and its file where there are several."""
        return f"row {self.row} of {self.file}" if several else f"row {self.row}"

    def example(self, several: bool) -> str:
        """Return it as the first of a kind."""
        return f"the first is {quoted(self.text)} in {self.where(several)}"


@dataclass(frozen=True)
class Found:
    """What some rows of a column hold.

    Attributes
    ----------
    missing : int
        Cells without a value.
    kind : str
        What it holds in place of numbers.
    first : Place or None
        The first cell of that kind.
    only_truth : bool
        Whether a text says nothing but true and false.
    levels : frozenset of str
        The levels, as far as they are remembered.
    low, high : float
        The least number and the largest; the other way round if there is none.
    first_number, last_number : float or None
        Of rows that are numbered: whole numbers of which each is one more than that before.
    too_large, negative, unknown : Place or None
        The first cell with a number that is too large, or negative, or with a level that is not
        among those known.
    """

    missing: int = 0
    kind: str = ""
    first: Place | None = None
    only_truth: bool = True
    levels: frozenset[str] = frozenset()
    low: float = math.inf
    high: float = -math.inf
    first_number: float | None = None
    last_number: float | None = None
    too_large: Place | None = None
    negative: Place | None = None
    unknown: Place | None = None

    def __add__(self, later: Found) -> Found:
        first = self if self.kind else later
        full = len(self.levels) >= MOST_REMEMBERED
        first_number, last_number = self._numbering(later)
        return Found(
            missing=self.missing + later.missing,
            kind=first.kind,
            first=first.first,
            only_truth=self.only_truth and later.only_truth,
            levels=self.levels if full else self.levels | later.levels,
            low=min(self.low, later.low),
            high=max(self.high, later.high),
            first_number=first_number,
            last_number=last_number,
            too_large=self.too_large or later.too_large,
            negative=self.negative or later.negative,
            unknown=self.unknown or later.unknown,
        )

    def _numbering(self, later: Found) -> tuple[float | None, float | None]:
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
    def is_truth(self) -> bool:
        """Whether it tells truth values, which are 0 and 1."""
        return self.kind == "text" and self.only_truth

    @property
    def refused(self) -> str:
        """What it holds that is no number."""
        return "" if self.is_truth else self.kind


@dataclass(frozen=True)
class Survey:
    """What some rows of a table hold.

    Attributes
    ----------
    rows : int
        Rows that are not blank.
    kept : int
        Those without a missing value.
    counted : int
        Those of a weight above 0 among them.
    columns : mapping
        What each column holds.
    """

    rows: int = 0
    kept: int = 0
    counted: int = 0
    columns: Mapping[str, Found] = field(default_factory=dict)

    def __add__(self, later: Survey) -> Survey:
        columns = {
            name: self.columns.get(name, Found()) + found for name, found in later.columns.items()
        }
        return Survey(
            self.rows + later.rows,
            self.kept + later.kept,
            self.counted + later.counted,
            {**self.columns, **columns},
        )


class Looked(NamedTuple):
    """Some rows that were looked at: what they hold, their cells, which are complete, and blank."""

    survey: Survey
    cells: Mapping[str, Cells]
    kept: pl.Series
    filled: pl.Series  # rows that aren't blank


def look(piece: RawTable, wanted: Wanted) -> Looked:
    """Look at some rows."""
    cells = {name: cells_of(piece, name, name in wanted.levels) for name in wanted.names}
    filled = filled_rows(piece)
    kept = filled
    for name, column in cells.items():
        if name not in wanted.filled:
            kept = kept & ~column.missing
        if wanted.skip_unknown and name in wanted.known:
            kept = kept & column.values.is_in(wanted.known[name]).fill_null(True)
    columns = {
        name: _found(piece, name, column, filled, kept, wanted) for name, column in cells.items()
    }
    counted = int(kept.sum())
    if wanted.weights is not None and not columns[wanted.weights].refused:
        column = cells[wanted.weights]
        weights = column.values if column.truth is None else column.truth
        counted = int(((weights > 0).fill_null(False) & kept).sum())
    return Looked(Survey(int(filled.sum()), int(kept.sum()), counted, columns), cells, kept, filled)


def _found(
    piece: RawTable, name: str, column: Cells, filled: pl.Series, kept: pl.Series, wanted: Wanted
) -> Found:
    """Return what some rows of a column hold."""

    def first(mask: pl.Series | None) -> Place | None:
        """The first of the cells, if there is any."""
        if mask is None or not mask.any():
            return None
        row = mask.arg_max()
        assert row is not None
        return Place(str(column.texts[row])[:60], piece.first_row + row + 1, piece.label)

    missing = int((column.missing & filled).sum())
    if column.kind:
        place = first(column.other)
        return Found(missing, column.kind, place, column.only_truth)
    if name in wanted.known:
        stranger = ~column.values.is_in(wanted.known[name]).fill_null(True) & kept
        return Found(missing, unknown=first(stranger))
    if name in wanted.levels:
        levels = column.values.filter(kept).drop_nulls().unique().head(MOST_REMEMBERED)
        return Found(missing, levels=frozenset(levels.to_list()))
    numbers = column.values
    low, high, first_number, last_number = _range(numbers.filter(kept).drop_nulls())
    negative = (numbers < 0).fill_null(False) & kept if name == wanted.weights else None
    return Found(
        missing,
        only_truth=column.only_truth,
        low=low,
        high=high,
        first_number=first_number,
        last_number=last_number,
        too_large=first((numbers.abs() > cells_.LARGEST).fill_null(False) & kept),
        negative=first(negative),
    )


def _range(numbers: pl.Series) -> tuple[float, float, float | None, float | None]:
    """Return the least and the largest number; and the first and the last, if rows are numbered."""
    values = numbers.to_numpy()
    if not values.size:
        return math.inf, -math.inf, None, None
    low, high = float(values.min()), float(values.max())
    is_numbering = (
        high - low == values.size - 1 and low.is_integer() and bool((np.diff(values) == 1).all())
    )
    return (low, high, low, high) if is_numbering else (low, high, None, None)
