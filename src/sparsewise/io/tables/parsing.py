"""From cells to numbers, or to the levels of a column of text.

This is done for some rows at a time. What depends on all rows (whether a text says nothing but true
and false, which levels there are) is in their `Profile`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl

from sparsewise.io.tables.reading import RawTable, as_text

MISSING = ("", "na", "n/a", "nan", "null", "none", "#n/a")
# Beyond this, squares overflow.
LARGEST = 1e150


class ParsedColumn(NamedTuple):
    """Some rows of a column: floats or levels, null where there is none.

    Attributes
    ----------
    values : Series
        The numbers, or levels.
    missing : Series
        Which cells are missing.
    texts : Series
        The cells as they are written.
    kind : str
        What the column holds in place of numbers; empty if nothing.
    other : Series, optional
        Which cells hold that.
    boolean : Series, optional
        1 and 0 where a text says true and false.
    only_boolean : bool
        Whether it says nothing else.
    """

    values: pl.Series
    missing: pl.Series
    texts: pl.Series
    kind: str = ""
    other: pl.Series | None = None
    boolean: pl.Series | None = None
    only_boolean: bool = False


REFUSED: tuple[tuple[tuple[Any, ...], str], ...] = (
    ((pl.String,), "text"),
    ((pl.Categorical, pl.Enum), "categories"),
    ((pl.Date, pl.Datetime, pl.Time), "dates or times"),
    ((pl.Duration,), "durations"),
    ((pl.List, pl.Array), "lists"),
    ((pl.Struct,), "records"),
    ((pl.Binary,), "bytes"),
)
"""What a column can hold besides numbers, by its type."""
GROUPS = ("text", "categories", "dates or times")
"""What can be told apart by its text."""


def parse_column(raw: RawTable, name: str, categorical: bool) -> ParsedColumn:
    """Return a column as numbers, or as levels if it is categorical."""
    cells = raw.columns[name]
    if raw.is_text:
        cells, missing = _tidied(cells)
        if categorical:
            return _levels(cells, missing)
        return _numbers(cells, missing, raw.decimal)
    missing = cells.is_null()
    if cells.dtype.is_float():
        missing |= cells.is_nan().fill_null(False)
    kind = _kind(cells.dtype)
    if categorical and (not kind or kind in GROUPS):
        return _levels(as_text(cells), missing)
    if kind:
        return ParsedColumn(cells, missing, cells, kind, ~missing)
    return ParsedColumn(_without(cells.cast(pl.Float64), missing), missing, cells)


def _kind(dtype: pl.DataType) -> str:
    """Return what a typed column holds if not numbers or booleans."""
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return ""
    return next((word for types, word in REFUSED if dtype in types), "objects")


def _tidied(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return text without spaces around it, and which cells are missing."""
    cells = cells.str.strip_chars()
    return cells, cells.is_null() | cells.str.to_lowercase().is_in(MISSING)


def _numbers(cells: pl.Series, missing: pl.Series, decimal: str) -> ParsedColumn:
    """Return the numbers in text, and where it says true or false."""
    number = _as_numbers(cells, decimal)
    is_nan = number.is_nan().fill_null(False)  # as "-nan", say
    gaps = missing | is_nan
    number = _without(number, gaps)
    other = number.is_null() & ~gaps
    if not other.any():
        return ParsedColumn(number, gaps, cells, only_boolean=bool(missing.all()))
    texts = cells.str.to_lowercase()
    boolean = (texts == "true").cast(pl.Float64).set(~texts.is_in(("true", "false")), None)
    only_boolean = bool((boolean.is_not_null() | missing).all())
    return ParsedColumn(number, gaps, cells, "text", other, boolean, only_boolean)


def _as_numbers(cells: pl.Series, decimal: str) -> pl.Series:
    """Return the numbers in text; with a decimal comma, a point is part of none."""
    if decimal == ".":
        return cells.cast(pl.Float64, strict=False)
    points = cells.str.contains(".", literal=True).fill_null(False)
    return _without(
        cells.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False), points
    )


def _levels(cells: pl.Series, missing: pl.Series) -> ParsedColumn:
    return ParsedColumn(_without(cells, missing), missing, cells)


def _without(cells: pl.Series, missing: pl.Series) -> pl.Series:
    """Return the cells with null where they are missing; without a copy if none is."""
    return cells.set(missing, None) if missing.any() else cells


def sorted_levels(levels: Iterable[str]) -> tuple[str, ...]:
    """Return levels in order: numbers by size, anything else as text."""
    texts = list(levels)
    sizes = pl.Series(texts, dtype=pl.String).cast(pl.Float64, strict=False)
    if sizes.is_finite().fill_null(False).all():
        return tuple(text for _, text in sorted(zip(sizes.to_list(), texts, strict=True)))
    return tuple(sorted(texts))
