"""From a file to named columns.

Cells of a text file stay text; a Parquet file has columns with types.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from sparsewise.errors import InputError
from sparsewise.files import read_file
from sparsewise.wording import listing, look_up, quoted

SEPARATORS = (",", "\t", ";")
PARQUET = b"PAR1"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class RawTable:
    """Columns as they were read: text, or of the types of a Parquet file.

    All rows of a file, or those of a piece of it.
    """

    label: str
    columns: dict[str, pl.Series]
    default_target: str | None = None
    is_text: bool = False  # numbers are to be found in the text, and blank lines are no data
    first_row: int = 0  # how many rows of the file come before
    size: int = 0  # how much of its file it is, in the units of that

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.columns)

    def pieces(self, names: Sequence[str]) -> Iterator[RawTable]:
        """Yield itself: it is there as a whole."""
        yield self


def read_table(source: str) -> RawTable:
    """Read a Parquet file, or a CSV or TSV file with a header line; ``"-"`` is standard input.

    Which of them it is its content tells. The separator (comma, tab or semicolon) is the one that
    makes most cells of the header line.
    """
    label = "standard input" if source == "-" else source
    data = sys.stdin.buffer.read() if source == "-" else read_file(source)
    if data.startswith(PARQUET) and (data.endswith(PARQUET) or b"\0" in data):
        return _read_parquet(data, label)
    return _read_text(_cleaned(data, label), label)


def _read_parquet(data: bytes, label: str) -> RawTable:
    frame = parquet_frame(lambda: pl.read_parquet(io.BytesIO(data)), label)
    names = tidy_names(frame.columns, label)
    return RawTable(label, dict(zip(names, frame.get_columns(), strict=True)))


def parquet_frame(read: Callable[[], pl.DataFrame], label: str) -> pl.DataFrame:
    """Return what can be read of a Parquet file; a damaged one is an `InputError`."""
    # Of a damaged file, the library may print how it failed, besides telling us.
    with _nothing_printed():
        try:
            return read()
        except FileNotFoundError:
            raise InputError(f"there is no file {quoted(label)}") from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            raise InputError(
                f"can't read {label}: it is a Parquet file, but cut short or damaged"
            ) from None


def tidy_names(columns: Iterable[str], label: str) -> list[str]:
    """Return the names of the columns of a Parquet file; there must be some."""
    names = _named(columns, label)
    if not names:
        raise InputError(f"{label} is empty: it has no columns")
    return names


@contextlib.contextmanager
def _nothing_printed() -> Iterator[None]:
    """Point the standard error of the process to nowhere for a while."""
    try:
        before = os.dup(2)
    except OSError:  # it is closed already
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


def _read_text(data: bytes, label: str) -> RawTable:
    if not data.strip():
        raise empty_text(label)
    separator, header = header_of(data, label)
    frame = text_frame(data, separator, header, label)
    return RawTable(label, {name: frame[name] for name in header}, is_text=True)


def empty_text(label: str) -> InputError:
    """A text without a header."""
    return InputError(f"{label} is empty: a header line and rows of numbers are needed")


def text_frame(
    data: bytes, separator: str, header: list[str], label: str, before: int = 0
) -> pl.DataFrame:
    """Return the cells of a text with a header line, as text.

    So many rows of the file come before those of the text.
    """
    try:
        return pl.read_csv(
            io.BytesIO(data), separator=separator, infer_schema=False, new_columns=header
        )
    except pl.exceptions.PolarsError as error:
        wrong = _why_unreadable(data, separator, len(header), label, error, before)
        raise InputError(wrong) from None


def _cleaned(data: bytes, label: str) -> bytes:
    """Return text in UTF-8, with lines that end as we know them."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    check_text(data, label)
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def check_text(data: bytes, label: str) -> None:
    """Raise an error for what is no text in UTF-8."""
    try:
        is_text = "\0" not in data.decode()
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise InputError(
            f"{label} is not a text table in UTF-8: save it as CSV with that encoding, or Parquet"
        )


def _lines(data: bytes) -> Iterator[str]:
    """Yield one line after the other, without a copy of them all."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end].decode()
        start = end


def _records(data: bytes, separator: str) -> Iterator[list[str]]:
    """Yield the rows as lists of cells, without blank lines."""
    return (row for row in csv.reader(_lines(data), delimiter=separator) if row)


def header_bytes(data: bytes, separator: str) -> int:
    """Return how many bytes a text has up to the end of its header line."""
    reader = csv.reader(_lines(data), delimiter=separator)
    while not next(reader):
        pass
    end = 0
    for _ in range(reader.line_num):
        end = data.find(b"\n", end) + 1 or len(data)
    return end


def header_of(data: bytes, label: str) -> tuple[str, list[str]]:
    """Return the separator that makes most cells of the header line, and the column names."""
    found, trouble = {}, ""
    for separator in SEPARATORS:
        try:
            found[separator] = next(_records(data, separator))
        except csv.Error as error:  # a wide header may be too long for one cell, say
            trouble = str(error)
    if not found:
        raise InputError(f"can't read the header of {label}: {trouble}")
    separator = max(found, key=lambda one: len(found[one]))
    return separator, _named(found[separator], label)


def _named(cells: Iterable[str], label: str) -> list[str]:
    """Return the column names; one without a name is called after its position."""
    names = [cell.strip() or f"column_{j}" for j, cell in enumerate(cells, start=1)]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError(f"{label} has more than one column called {listing(repeated)}")
    return names


def _why_unreadable(
    data: bytes, separator: str, width: int, label: str, error: Exception, before: int
) -> str:
    try:
        for number, row in enumerate(_records(data, separator), start=before):
            if len(row) > width:
                return f"row {number} of {label} has {len(row)} cells, but the header has {width}"
    except csv.Error:
        pass
    return f"can't read {label} as a table: {str(error).splitlines()[0]}"


def load_example(name: str) -> RawTable:
    """Load a built-in table by name."""
    look_up([name], EXAMPLES, "example")
    return EXAMPLES[name]()


def _diabetes() -> RawTable:
    """Efron et al. (2004): disease progression of 442 patients, ten measurements, own units."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    columns = {name: pl.Series(name, data.data[:, j]) for j, name in enumerate(data.feature_names)}
    columns["progression"] = pl.Series("progression", data.target)
    return RawTable("diabetes", columns, default_target="progression")


EXAMPLES: dict[str, Callable[[], RawTable]] = {"diabetes": _diabetes}
