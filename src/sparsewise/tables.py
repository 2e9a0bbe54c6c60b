"""Read a table of numbers: feature names, a matrix and a target.

Every cell is read as text first and turned into a number here, so that whatever is wrong can be
said in the user's terms: which column, how many cells, in which row the first one is.
"""

from __future__ import annotations

import csv
import io
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from sparsewise.messages import InputError, listing, look_up, quoted, shortened

FloatArray = npt.NDArray[np.float64]

MISSING = ("", "na", "n/a", "nan", "null", "none", "#n/a")
# Beyond this, squares overflow.
LARGEST = 1e150
SEPARATORS = (",", "\t", ";")


@dataclass(frozen=True)
class RawTable:
    """Columns as they were read: text, or numbers for a built-in example."""

    label: str
    columns: dict[str, pl.Series]
    default_target: str | None = None


@dataclass(frozen=True)
class Table:
    """A numeric table: y is to be explained by the columns of X, called ``names``."""

    label: str
    names: tuple[str, ...]
    X: FloatArray
    target: str
    y: FloatArray


def load_example(name: str) -> RawTable:
    """Load a built-in table by name."""
    look_up([name], EXAMPLES, "example")
    return EXAMPLES[name]()


def read_table(source: str) -> RawTable:
    """Read a CSV or TSV file with a header line; ``"-"`` is standard input.

    The separator (comma, tab or semicolon) is the one that the header line uses most.
    """
    label = "standard input" if source == "-" else source
    text = _decode(_read_bytes(source), label)
    header_line = next((line for line in _lines(text) if line.strip()), "")
    if not header_line:
        raise InputError(f"{label} is empty: a header line and rows of numbers are needed")
    separator = max(SEPARATORS, key=header_line.count)
    header = _header(text, separator, label)
    try:
        frame = pl.read_csv(
            io.BytesIO(text.encode()), separator=separator, infer_schema=False, new_columns=header
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(_why_unreadable(text, separator, len(header), label, error)) from None
    columns = {name: frame[name] for name in header}
    return RawTable(label, columns)


def select(
    raw: RawTable,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    chosen: Sequence[str] = (),
) -> Table:
    """Choose target and features by name, and turn their cells into numbers.

    Parameters
    ----------
    raw : RawTable
        The columns as read.
    target : str, optional
        The column to be explained; an example has a default.
    features : sequence of str, optional
        The candidate columns; all but the target if not given.
    exclude : sequence of str
        Columns to leave out of the candidates.
    chosen : sequence of str
        Names that must be among the candidates.
    """
    target = raw.default_target if target is None else target
    if target is None:
        raise InputError(f"--target is needed: one of the columns {listing(raw.columns)}")
    look_up([target], raw.columns, "column")
    look_up([*(features or ()), *chosen, *exclude], raw.columns, "column")
    if target in (*(features or ()), *chosen):
        raise InputError(f"{quoted(target)} can't be the target and a feature at once")
    candidates = raw.columns if features is None else dict.fromkeys(features)
    names = tuple(name for name in candidates if name != target and name not in exclude)
    if not names:
        raise InputError("no features are left: the table needs a column besides the target")
    y, *X = _numbers(raw, [target, *names])
    return Table(raw.label, names, np.asfortranarray(np.column_stack(X)), target, y)


def positions(names: Sequence[str], of: Sequence[str]) -> list[int]:
    """Return where each name (once) stands in ``of``; an unknown one is an error."""
    look_up(names, of, "feature")
    return [of.index(name) for name in dict.fromkeys(names)]


def split_names(text: str) -> list[str]:
    """Split ``a,b,"c,d"`` into names; a name with a comma is quoted as in a CSV file."""
    row = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in row if name.strip()]


def as_argument(names: Iterable[str]) -> str:
    """Return names as the value of a command-line option, quoted where the shell needs it."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(names)
    return shlex.quote(buffer.getvalue())


# --- built-in examples ----------------------------------------------------------------------------


def _diabetes() -> RawTable:
    """Efron et al. (2004): disease progression of 442 patients, ten measurements, own units."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    columns = {name: pl.Series(name, data.data[:, j]) for j, name in enumerate(data.feature_names)}
    columns["progression"] = pl.Series("progression", data.target)
    return RawTable("diabetes", columns, default_target="progression")


EXAMPLES: dict[str, Callable[[], RawTable]] = {"diabetes": _diabetes}


# --- from bytes to named columns ------------------------------------------------------------------


def _read_bytes(source: str) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {quoted(source)}") from None
    except OSError as error:
        raise InputError(f"can't read {quoted(source)}: {error.strerror}") from None


def _decode(data: bytes, label: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(f"{label} is not a text table in UTF-8: save it as CSV with that encoding")
    return text if "\n" in text else text.replace("\r", "\n")


def _lines(text: str) -> Iterator[str]:
    """Yield one line after the other, without a copy of them all."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _records(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the rows as lists of cells, without blank lines."""
    return (row for row in csv.reader(_lines(text), delimiter=separator) if row)


def _header(text: str, separator: str, label: str) -> list[str]:
    """Return the column names; one without a name is called after its position."""
    try:
        cells = next(_records(text, separator))
    except csv.Error as error:
        raise InputError(f"can't read the header of {label}: {error}") from None
    names = [cell.strip() or f"column_{j}" for j, cell in enumerate(cells, start=1)]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(f"{label} has more than one column called {listing(repeated)}")
    return names


def _why_unreadable(text: str, separator: str, width: int, label: str, error: Exception) -> str:
    try:
        for number, row in enumerate(_records(text, separator)):
            if len(row) > width:
                return f"row {number} of {label} has {len(row)} cells, but the header has {width}"
    except csv.Error:
        pass
    return f"can't read {label} as a table: {str(error).splitlines()[0]}"


# --- from cells to numbers ------------------------------------------------------------------------


def _numbers(raw: RawTable, names: Sequence[str]) -> list[FloatArray]:
    """Return the named columns as floats; text, gaps and infinities are errors."""
    filled = _filled_rows(raw)
    n_rows = int(filled.sum())
    if n_rows == 0:
        raise InputError(f"{raw.label} has a header, but no rows")
    text, missing, too_large, columns = {}, {}, {}, []
    for name in names:
        cells = raw.columns[name]
        number, is_missing = _cast(cells)
        is_text = number.is_null() & ~is_missing & filled
        is_too_large = (number.abs() > LARGEST).fill_null(False)
        if is_text.any():
            row = _first(is_text)
            text[name] = f"the first is {quoted(str(cells[row]))} in row {row + 1}"
        if count := int((is_missing & filled).sum()):
            missing[name] = count
        if is_too_large.any():
            too_large[name] = _first(is_too_large) + 1
        columns.append(number.filter(filled).to_numpy())
    _refuse_text(text, target=names[0])
    if missing:
        counts = shortened([f"{quoted(name)} {count}" for name, count in missing.items()])
        raise InputError(
            f"missing values (of {n_rows} rows): {counts}; "
            "fill them in, remove these rows, or leave the column out with --exclude"
        )
    for name, row in too_large.items():
        raise InputError(
            f"column {quoted(name)} has a value beyond {LARGEST:g} in row {row}: "
            "correct it, or use another unit"
        )
    return columns


def _filled_rows(raw: RawTable) -> pl.Series:
    """Return a mask of the rows that aren't blank: blank lines are no data."""
    empty = pl.DataFrame([column.is_null().alias(name) for name, column in raw.columns.items()])
    return ~empty.select(pl.all_horizontal(pl.all())).to_series()


def _cast(cells: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the cells as floats (null where they are none), and which ones are missing."""
    if cells.dtype != pl.String:
        return cells.cast(pl.Float64), cells.is_null()
    cells = cells.str.strip_chars()
    is_missing = cells.is_null() | cells.str.to_lowercase().is_in(MISSING)
    words = cells.filter(~is_missing).str.to_lowercase()
    if len(words) and words.is_in(("true", "false")).all():
        cells = cells.str.to_lowercase().replace({"true": "1", "false": "0"})
    number = cells.cast(pl.Float64, strict=False)
    return number.set(is_missing, None), is_missing


def _refuse_text(text: dict[str, str], target: str) -> None:
    if target in text:
        raise InputError(
            f"the target {quoted(target)} holds text ({text[target]}): it must be numbers"
        )
    if len(text) == 1:
        [(name, example)] = text.items()
        raise InputError(
            f"column {quoted(name)} holds text ({example}): "
            f"leave it out with --exclude {as_argument([name])}, or turn it into numbers first"
        )
    if text:
        raise InputError(
            f"the columns {listing(text)} hold text: "
            f"leave them out with --exclude {as_argument(text)}, or turn them into numbers first"
        )


def _first(mask: pl.Series) -> int:
    position = mask.arg_max()
    assert position is not None
    return position
