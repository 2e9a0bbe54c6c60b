"""From cells to numbers, or to the levels of a column of text.

Whatever is wrong is said in the user's terms: which column, how many cells, in which row the first
one is, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from sparsewise.errors import InputError, Parameter, Part
from sparsewise.models import Source
from sparsewise.tables.names import as_argument
from sparsewise.tables.reading import RawTable
from sparsewise.wording import count, listing, quoted, shortened

FloatArray = npt.NDArray[np.float64]
MISSING = ("", "na", "n/a", "nan", "null", "none", "#n/a")
# Beyond this, squares overflow.
LARGEST = 1e150
# More are rather names of rows than groups of them.
MOST_LEVELS = 1000


class Cells(NamedTuple):
    """A column on its way: floats or levels, null where there is none; which cells are missing."""

    values: pl.Series
    missing: pl.Series
    refused: str = ""  # what it holds in place of numbers
    example: str = ""


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
        return _levels(*_tidied(cells)) if categorical else _found_numbers(*_tidied(cells))
    missing = cells.is_null()
    if cells.dtype.is_float():
        missing |= cells.is_nan().fill_null(False)
    kind = _kind(cells.dtype)
    if categorical and (not kind or kind in GROUPS):
        return _levels(_as_text(cells), missing)
    if kind:
        example = "" if missing.all() else _example(cells, ~missing)
        return Cells(cells, missing, kind, example)
    number = cells.cast(pl.Float64)
    return Cells(number.set(missing, None), missing)


def _kind(dtype: pl.DataType) -> str:
    """Return what a typed column holds if not numbers or truth values."""
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return ""
    return next((word for types, word in REFUSED if dtype in types), "objects")


def _tidied(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return text without spaces around it, and which cells are missing."""
    cells = cells.str.strip_chars()
    return cells, cells.is_null() | cells.str.to_lowercase().is_in(MISSING)


def _found_numbers(cells: pl.Series, missing: pl.Series) -> Cells:
    """Return the numbers that text tells; truth values are 0 and 1, if there is nothing else."""
    words = cells.str.to_lowercase()
    if words.filter(~missing).is_in(("true", "false")).all():
        cells = words.replace({"true": "1", "false": "0"})
    number = cells.cast(pl.Float64, strict=False)
    is_nan = number.is_nan().fill_null(False)  # as "-nan", say
    missing = missing | is_nan
    number = number.set(missing, None)
    text = number.is_null() & ~missing
    if text.any():
        return Cells(number, missing, "text", _example(cells, text))
    return Cells(number, missing)


def _as_text(cells: pl.Series) -> pl.Series:
    """Return typed cells as a text file would have them: whole numbers without a point."""
    if cells.dtype.is_decimal():
        cells = cells.cast(pl.Float64)
    texts = cells.cast(pl.String).str.strip_chars()
    return texts.str.strip_suffix(".0") if cells.dtype.is_float() else texts


def _levels(cells: pl.Series, missing: pl.Series) -> Cells:
    return Cells(cells.set(missing, None), missing)


def _example(cells: pl.Series, where: pl.Series) -> str:
    row = _first(where)
    return f"the first is {quoted(str(cells[row])[:60])} in row {row + 1}"


def _first(mask: pl.Series) -> int:
    position = mask.arg_max()
    assert position is not None
    return position


def filled_rows(raw: RawTable) -> pl.Series:
    """Return a mask of the rows that aren't blank: blank lines of a text are no data."""
    empty = pl.DataFrame([column.is_null().alias(name) for name, column in raw.columns.items()])
    filled = ~empty.select(pl.all_horizontal(pl.all())).to_series()
    if not raw.is_text:
        filled = filled | True
    if not filled.any():
        raise InputError(f"{raw.label} has a header, but no rows")
    return filled


def missing_counts(cells: Mapping[str, Cells], rows: pl.Series) -> str:
    """Return how many values are missing in which columns, in words."""
    counts = {name: int((column.missing & rows).sum()) for name, column in cells.items()}
    return shortened([f"{quoted(name)} {times}" for name, times in counts.items() if times])


def complete_rows(
    raw: RawTable, cells: Mapping[str, Cells], drop_missing: bool
) -> tuple[pl.Series, int, list[str]]:
    """Return a mask of the rows to use, how many were left out, and a note on these."""
    filled = filled_rows(raw)
    n = int(filled.sum())
    missing = missing_counts(cells, filled)
    if not missing:
        return filled, 0, []
    if not drop_missing:
        rows = "leave these rows out with ", Parameter("drop_missing", True)
        columns = ", or a column with ", Parameter("exclude")
        raise InputError(f"missing values (of {n} rows): {missing}", (*rows, *columns))
    kept = filled
    for column in cells.values():
        kept = kept & ~column.missing
    dropped = n - int(kept.sum())
    if dropped == n:
        raise InputError(
            f"every row has a missing value (of {n} rows): {missing}",
            ("leave columns out with ", Parameter("exclude")),
        )
    note = f"{count(dropped, 'row')} of {n} left out for missing values: {missing}"
    return kept, dropped, [note]


def refuse_text(cells: Mapping[str, Cells], target: str, weights: str | None) -> None:
    """Raise an error for columns that hold no numbers, with the way out."""
    refused = {name: column for name, column in cells.items() if column.refused}
    for role, name in (("target", target), ("column of weights", weights)):
        if name in refused:
            what, example = refused[name].refused, refused[name].example
            raise InputError(f"the {role} {quoted(name)} holds {what} ({example}): use numbers")
    if not refused:
        return
    groups = [name for name, column in refused.items() if column.refused in GROUPS]
    them = "it" if len(refused) == 1 else "them"
    leave_out = f": leave {them} out with ", Parameter("exclude", as_argument(refused))
    levels = Parameter("categorical", as_argument(groups))
    encode: tuple[Part, ...] = (", or make a 0/1 feature of each level with ", levels)
    others = encode if groups else (f", or turn {them} into numbers first",)
    if len(refused) == 1:
        [(name, column)] = refused.items()
        held = f"column {quoted(name)} holds {column.refused} ({column.example})"
    else:
        kinds = dict.fromkeys(column.refused for column in refused.values())
        held = f"the columns {listing(refused)} hold {' and '.join(kinds)}"
    raise InputError((held, *leave_out, *others))


def numbers(column: Cells, name: str, kept: pl.Series) -> FloatArray:
    """Return the numbers of a column without gaps."""
    too_large = (column.values.abs() > LARGEST).fill_null(False) & kept
    if too_large.any():
        raise InputError(
            f"column {quoted(name)} has a value beyond {LARGEST:g} in row {_first(too_large) + 1}: "
            "correct it, or use another unit"
        )
    return np.array(column.values.filter(kept).to_numpy(), dtype=np.float64)


def weights_of(column: Cells, name: str, kept: pl.Series) -> FloatArray:
    """Return weights: none negative, not all zero."""
    weights = numbers(column, name, kept)
    negative = (column.values < 0).fill_null(False) & kept
    if negative.any():
        raise InputError(
            f"the weights {quoted(name)} are negative in row {_first(negative) + 1}: they tell how "
            "often a row counts"
        )
    if not weights.any():
        raise InputError(f"the weights {quoted(name)} are all 0: no row would count")
    return weights


def encoding_of(
    cells: Mapping[str, Cells], sources: Sequence[str], categorical: set[str], kept: pl.Series
) -> tuple[tuple[Source, ...], list[str]]:
    """Return how features are made of columns, and notes on those that none are made of."""
    encoding, notes = [], []
    for name in sources:
        if name not in categorical:
            encoding.append(Source(name))
            continue
        levels = _sorted_levels(cells[name].values.filter(kept), name)
        if len(levels) > 1:
            encoding.append(Source(name, levels))
        else:
            notes.append(f"{quoted(name)} is {quoted(levels[0])} in every row, and left out")
    return tuple(encoding), notes


def _sorted_levels(values: pl.Series, name: str) -> tuple[str, ...]:
    """Return the levels: numbers by size, anything else as text."""
    levels = values.unique()
    if len(levels) > MOST_LEVELS:
        wrong = (
            f"column {quoted(name)} has {len(levels)} levels, more than {MOST_LEVELS}: leave it "
        )
        leave_out = "out with ", Parameter("exclude", as_argument([name]))
        raise InputError((wrong, *leave_out, ", or group them first"))
    texts = levels.to_list()
    sizes = levels.cast(pl.Float64, strict=False)
    if sizes.is_finite().fill_null(False).all():
        return tuple(text for _, text in sorted(zip(sizes.to_list(), texts, strict=True)))
    return tuple(sorted(texts))


def refuse_unknown(column: Cells, source: Source, kept: pl.Series) -> None:
    """Raise an error for a level that the model has never met."""
    unknown = ~column.values.is_in(source.levels or ()).fill_null(True) & kept
    if unknown.any():
        row = _first(unknown)
        raise InputError(
            f"column {quoted(source.name)} has the level {quoted(str(column.values[row])[:60])} in "
            f"row {row + 1}, which the model does not know; it knows {listing(source.levels or ())}"
        )


def matrix(
    cells: Mapping[str, Cells], encoding: Sequence[Source], names: Sequence[str], kept: pl.Series
) -> FloatArray:
    """Return one column for each name, contiguous."""
    n, place = int(kept.sum()), {name: j for j, name in enumerate(names)}
    try:
        X = np.empty((n, len(names)), order="F")
    except MemoryError:
        size = f"{n * len(names) * 8 / 1e9:.0f} GB"
        wrong = f"{n} rows and {len(names)} features need {size}, which is more than there is: "
        how = "choose fewer by ", Parameter("features"), " or ", Parameter("exclude")
        raise InputError((wrong, *how)) from None
    for source in encoding:
        column = cells[source.name]
        if source.levels is None:
            if source.name in place:
                X[:, place[source.name]] = numbers(column, source.name, kept)
            continue
        codes = column.values.filter(kept).replace_strict(
            list(source.levels), list(range(len(source.levels))), return_dtype=pl.Int32
        )
        which = codes.to_numpy()
        for name, level in zip(source.features, source.encoded, strict=True):
            if name in place:
                X[:, place[name]] = which == source.levels.index(level)
    return X
