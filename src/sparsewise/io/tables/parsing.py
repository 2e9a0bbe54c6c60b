"""From cells to numbers, or to the levels of a column of text; and what some rows hold.

This is done for some rows at a time. What depends on all rows (whether a text says nothing but true
and false, which levels there are) is in their `Profile`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from sparsewise.io.tables.profile import MOST_REMEMBERED, Cell, ColumnProfile, Profile
from sparsewise.io.tables.reading import RawTable, as_text

if TYPE_CHECKING:
    from sparsewise.io.tables.schema import Schema

MISSING = ("", "na", "n/a", "nan", "null", "none", "#n/a")
# Beyond this, squares overflow.
LARGEST = 1e150

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
GROUPS = ("", "text", "categories", "dates or times")
"""What can be told apart by its text."""


class ParsedRows(NamedTuple):
    """Some rows: floats or levels by column, null where there is none; and their profile.

    Truth values are 1 and 0.
    """

    columns: Mapping[str, pl.Series]
    complete: pl.Series
    profile: Profile

    def values(self, name: str) -> pl.Series:
        """Return the cells of a column in complete rows."""
        return self.columns[name].filter(self.complete)


def parse(piece: RawTable, schema: Schema) -> ParsedRows:
    """Parse some rows."""
    parsed = {name: _parse_column(piece, name, schema) for name in schema.columns}
    columns = {name: cells for name, (cells, _) in parsed.items()}
    rows = len(next(iter(piece.columns.values())))
    complete = pl.repeat(True, rows, eager=True)
    for name, cells in columns.items():
        if name not in schema.imputed:
            complete &= cells.is_not_null()
        if schema.skip_unknown and name in schema.levels:
            complete &= cells.is_in(schema.levels[name]).fill_null(True)
    profiles = {
        name: profile
        if profile.kind
        else _measured(piece, name, columns[name], complete, profile, schema)
        for name, (_, profile) in parsed.items()
    }
    counted = complete
    if schema.weights is not None and not profiles[schema.weights].refused:
        counted = (columns[schema.weights] > 0).fill_null(False) & complete
    profile = Profile(rows, int(complete.sum()), int(counted.sum()), profiles)
    return ParsedRows(columns, complete, profile)


# --- cells ----------------------------------------------------------------------------------------


def _parse_column(piece: RawTable, name: str, schema: Schema) -> tuple[pl.Series, ColumnProfile]:
    """Return a column as numbers, or as levels if it is categorical; and what it holds else."""
    cells, categorical = piece.columns[name], schema.has_text(name)
    if piece.is_text:
        cells = cells.str.strip_chars()
        missing = cells.is_null() | cells.str.to_lowercase().is_in(MISSING)
        if not categorical:
            return _parse_numbers(piece, cells, missing, schema)
        kind = ""
    else:
        missing = cells.is_null()
        if cells.dtype.is_float():
            missing |= cells.is_nan().fill_null(False)
        kind = _kind(cells.dtype)
    profile = ColumnProfile(int(missing.sum()), only_boolean=False)
    if categorical and kind in GROUPS:
        return _without(as_text(cells), missing), profile
    if kind:
        return cells, _refused(piece, cells, ~missing, replace(profile, kind=kind), schema)
    return _without(cells.cast(pl.Float64), missing), profile


def _kind(dtype: pl.DataType) -> str:
    """Return what a typed column holds if not numbers or booleans."""
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return ""
    return next((word for types, word in REFUSED if dtype in types), "objects")


def _parse_numbers(
    piece: RawTable, cells: pl.Series, missing: pl.Series, schema: Schema
) -> tuple[pl.Series, ColumnProfile]:
    """Return the numbers in text, or 1 and 0 where it says nothing but true and false."""
    number = _as_numbers(cells, piece.decimal)
    gaps = missing | number.is_nan().fill_null(False)  # as "-nan", say
    number = _without(number, gaps)
    other = number.is_null() & ~gaps
    profile = ColumnProfile(int(gaps.sum()), only_boolean=bool(missing.all()))
    if not other.any():
        return number, profile
    texts = cells.str.to_lowercase()
    boolean = (texts == "true").cast(pl.Float64).set(~texts.is_in(("true", "false")), None)
    only_boolean = bool((boolean.is_not_null() | missing).all())
    profile = replace(profile, kind="text", only_boolean=only_boolean)
    return boolean if only_boolean else number, _refused(piece, cells, other, profile, schema)


def _as_numbers(cells: pl.Series, decimal: str) -> pl.Series:
    """Return the numbers in text; with a decimal comma, a point is part of none."""
    if decimal == ".":
        return cells.cast(pl.Float64, strict=False)
    points = cells.str.contains(".", literal=True).fill_null(False)
    return _without(
        cells.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False), points
    )


def _without(cells: pl.Series, missing: pl.Series) -> pl.Series:
    """Return the cells with null where they are missing; without a copy if none is."""
    return cells.set(missing, None) if missing.any() else cells


# --- what they hold -------------------------------------------------------------------------------


def _refused(
    piece: RawTable, cells: pl.Series, other: pl.Series, profile: ColumnProfile, schema: Schema
) -> ColumnProfile:
    """Add which cells hold something else than numbers."""
    groups = profile.kind in ("text", "categories")
    return replace(
        profile,
        first=_first(piece, cells, other, schema),
        others=int(other.sum()),
        levels=_levels(cells.cast(pl.String).filter(other)) if groups else frozenset(),
    )


def _measured(
    piece: RawTable,
    name: str,
    cells: pl.Series,
    complete: pl.Series,
    profile: ColumnProfile,
    schema: Schema,
) -> ColumnProfile:
    """Add what the numbers, or levels, of complete rows are."""

    def first(mask: pl.Series) -> Cell | None:
        return _first(piece, cells, mask.fill_null(False) & complete, schema)

    if name in schema.levels:
        return replace(profile, unknown=first(~cells.is_in(schema.levels[name])))
    values = cells.filter(complete).drop_nulls()
    if schema.has_text(name):
        return replace(profile, levels=_levels(values))
    low, high, first_number, last_number = _range(values)
    return replace(
        profile,
        low=low,
        high=high,
        first_number=first_number,
        last_number=last_number,
        too_large=first(cells.abs() > LARGEST),
        negative=first(cells < 0) if name == schema.weights else None,
    )


def _first(piece: RawTable, cells: pl.Series, mask: pl.Series, schema: Schema) -> Cell | None:
    """Return the first of these cells, if there is any."""
    row = mask.arg_max()
    if row is None or not mask[row]:
        return None
    file = piece.label if schema.several else ""
    return Cell(str(cells[row])[:60], piece.first_row + row + 1, file)


def _levels(texts: pl.Series) -> frozenset[str]:
    """Return what the texts are, as far as it is remembered."""
    return frozenset(texts.unique().head(MOST_REMEMBERED).to_list())


def _range(numbers: pl.Series) -> tuple[float, float, float | None, float | None]:
    """Return the least and the largest number; and the first and the last, if rows are numbered."""
    values = numbers.to_numpy()
    if not values.size:
        return np.inf, -np.inf, None, None
    low, high = float(values.min()), float(values.max())
    is_numbering = (
        high - low == values.size - 1 and low.is_integer() and bool((np.diff(values) == 1).all())
    )
    return (low, high, low, high) if is_numbering else (low, high, None, None)


def sorted_levels(levels: Iterable[str]) -> tuple[str, ...]:
    """Return levels in order: numbers by size, anything else as text."""
    texts = list(levels)
    sizes = pl.Series(texts, dtype=pl.String).cast(pl.Float64, strict=False)
    if sizes.is_finite().fill_null(False).all():
        return tuple(text for _, text in sorted(zip(sizes.to_list(), texts, strict=True)))
    return tuple(sorted(texts))
