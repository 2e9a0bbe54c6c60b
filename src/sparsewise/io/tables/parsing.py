"""From cells to numbers, or to the levels of a column of text.

What a cell means is told here, for some rows of a table as for all of them; what must be known of
all rows first (whether a text tells but truth values, which levels there are) is for `survey`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from sparsewise.io.model import Source
from sparsewise.io.tables.reading import RawTable

FloatArray = npt.NDArray[np.float64]
MISSING = ("", "na", "n/a", "nan", "null", "none", "#n/a")
# Beyond this, squares overflow.
LARGEST = 1e150


class Cells(NamedTuple):
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
    truth : Series, optional
        1 and 0 where a text says true and false.
    only_truth : bool
        Whether it says nothing else.
    """

    values: pl.Series
    missing: pl.Series
    texts: pl.Series
    kind: str = ""
    other: pl.Series | None = None
    truth: pl.Series | None = None
    only_truth: bool = False


REFUSED: tuple[tuple[tuple[Any, ...], str], ...] = (
    ((pl.String, pl.Categorical, pl.Enum), "text"),
    ((pl.Date, pl.Datetime, pl.Time), "dates or times"),
    ((pl.Duration,), "durations"),
    ((pl.List, pl.Array), "lists"),
    ((pl.Struct,), "records"),
    ((pl.Binary,), "bytes"),
)
"""What a column can hold besides numbers, by its type."""
GROUPS = ("text", "dates or times")
"""What can be told apart by its text."""


def cells_of(raw: RawTable, name: str, categorical: bool) -> Cells:
    """Return a column as numbers, or as levels if it is categorical."""
    cells = raw.columns[name]
    if raw.is_text:
        cells, missing = _tidied(cells)
        if categorical:
            return _levels(cells, missing)
        return _found_numbers(cells, missing, raw.decimal)
    missing = cells.is_null()
    if cells.dtype.is_float():
        missing |= cells.is_nan().fill_null(False)
    kind = _kind(cells.dtype)
    if categorical and (not kind or kind in GROUPS):
        return _levels(_as_text(cells), missing)
    if kind:
        return Cells(cells, missing, cells, kind, ~missing)
    return Cells(_without(cells.cast(pl.Float64), missing), missing, cells)


def _kind(dtype: pl.DataType) -> str:
    """Return what a typed column holds if not numbers or truth values."""
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return ""
    return next((word for types, word in REFUSED if dtype in types), "objects")


def _tidied(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return text without spaces around it, and which cells are missing."""
    cells = cells.str.strip_chars()
    return cells, cells.is_null() | cells.str.to_lowercase().is_in(MISSING)


def _found_numbers(cells: pl.Series, missing: pl.Series, decimal: str) -> Cells:
    """Return the numbers that text tells, and where it tells truth values."""
    number = _numbers_told(cells, decimal)
    is_nan = number.is_nan().fill_null(False)  # as "-nan", say
    gaps = missing | is_nan
    number = _without(number, gaps)
    other = number.is_null() & ~gaps
    if not other.any():
        return Cells(number, gaps, cells, only_truth=bool(missing.all()))
    words = cells.str.to_lowercase()
    truth = (words == "true").cast(pl.Float64).set(~words.is_in(("true", "false")), None)
    only_truth = bool((truth.is_not_null() | missing).all())
    return Cells(number, gaps, cells, "text", other, truth, only_truth)


def _numbers_told(cells: pl.Series, decimal: str) -> pl.Series:
    """Return the numbers that text tells; with a decimal comma, a point is part of none."""
    if decimal == ".":
        return cells.cast(pl.Float64, strict=False)
    points = cells.str.contains(".", literal=True).fill_null(False)
    return _without(
        cells.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False), points
    )


def _as_text(cells: pl.Series) -> pl.Series:
    """Return typed cells as a text file would have them: whole numbers without a point."""
    if cells.dtype.is_decimal():
        cells = cells.cast(pl.Float64)
    texts = cells.cast(pl.String).str.strip_chars()
    return texts.str.strip_suffix(".0") if cells.dtype.is_float() else texts


def _levels(cells: pl.Series, missing: pl.Series) -> Cells:
    return Cells(_without(cells, missing), missing, cells)


def _without(cells: pl.Series, missing: pl.Series) -> pl.Series:
    """Return the cells with null where they are missing; without a copy if none is."""
    return cells.set(missing, None) if missing.any() else cells


def filled_rows(raw: RawTable) -> pl.Series:
    """Return a mask of the rows that aren't blank: blank lines of a text are no data."""
    empty = pl.DataFrame([column.is_null().alias(name) for name, column in raw.columns.items()])
    filled = ~empty.select(pl.all_horizontal(pl.all())).to_series()
    return filled if raw.is_text else filled | True


def sorted_levels(levels: Iterable[str]) -> tuple[str, ...]:
    """Return levels in order: numbers by size, anything else as text."""
    texts = list(levels)
    sizes = pl.Series(texts, dtype=pl.String).cast(pl.Float64, strict=False)
    if sizes.is_finite().fill_null(False).all():
        return tuple(text for _, text in sorted(zip(sizes.to_list(), texts, strict=True)))
    return tuple(sorted(texts))


def numbers(column: Cells, kept: pl.Series, as_truth: bool = False) -> FloatArray:
    """Return the numbers of a column without gaps; or its truth values as such."""
    values = column.truth if as_truth and column.truth is not None else column.values
    return np.array(values.filter(kept).to_numpy(), dtype=np.float64)


def _filled(values: FloatArray, fill: float | str | None) -> FloatArray:
    """Return numbers with that in place of gaps."""
    return values if fill is None else np.where(np.isnan(values), fill, values)


def fill(
    X: FloatArray,
    cells: Mapping[str, Cells],
    encoding: Sequence[Source],
    names: Sequence[str],
    kept: pl.Series,
    truths: frozenset[str],
) -> None:
    """Write one column for each name into a matrix."""
    place = {name: j for j, name in enumerate(names)}
    for source in encoding:
        column = cells[source.name]
        if source.levels is None:
            if source.name in place:
                told = numbers(column, kept, source.name in truths)
                X[:, place[source.name]] = _filled(told, source.fill)
            if source.indicator and source.missing in place:
                X[:, place[source.missing]] = column.missing.filter(kept).to_numpy()
            continue
        levels = column.values.filter(kept)
        if source.fill is not None:
            levels = levels.fill_null(str(source.fill))
        codes = levels.replace_strict(
            list(source.levels), list(range(len(source.levels))), return_dtype=pl.Int32
        )
        which = codes.to_numpy()
        for name, level in zip(source.features, source.encoded, strict=True):
            if name in place:
                X[:, place[name]] = which == source.levels.index(level)
