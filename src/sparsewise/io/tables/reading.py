"""From a file to named columns.

Cells of a text file stay text; columns of a Parquet, Arrow or Excel file have types.
"""

from __future__ import annotations

import contextlib
import csv
import io
import operator
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, islice

import polars as pl

from sparsewise._util.progress import STDERR
from sparsewise._util.text import listing, look_up, quoted
from sparsewise.errors import InputError, Parameter
from sparsewise.io.tables import formats
from sparsewise.io.tables.formats import BYTE_ORDER_MARK, Form, check_text

SEPARATORS = (",", "\t", ";")
UNUSUAL = "|:"
"""What else may be between cells, if it is named."""


@dataclass(frozen=True)
class RawTable:
    """Columns as they were read: text, or of the types of a Parquet, Arrow or Excel file.

    All rows of a file, or those of a piece of it.
    """

    label: str
    columns: dict[str, pl.Series]
    default_target: str | None = None
    is_text: bool = False  # numbers are to be found in the text
    first_row: int = 0  # how many rows of the file come before
    size: int = 0  # how much of its file it is, in the units of that
    decimal: str = "."  # what is before the decimals of a number in text
    kind: str = formats.TEXT  # what it was read of

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.columns)

    def pieces(self, names: Sequence[str]) -> Iterator[RawTable]:
        """Yield itself: it is there as a whole."""
        yield self


def read_table(source: str, form: Form | None = None) -> RawTable:
    """Read a Parquet, Arrow or Excel file, or a text with a header line; ``"-"`` is standard input.

    Its content says which of them it is; gzip, bzip2, xz and zstd are unpacked. The separator of a
    text is the one of comma, tab and semicolon that makes most cells of the header line.

    Parameters
    ----------
    source : str
        The file.
    form : Form, optional
        How a text is written, and which sheet is meant, where that is not plain.
    """
    label = "standard input" if source == "-" else source
    form = form or Form()
    data = formats.whole(source, label, form)
    kind = formats.kind_of(data[: formats.HEAD], data[-4:])
    if kind != formats.TEXT:
        return _read_typed(data, label, kind, form.sheet)
    return _read_text(_cleaned(formats.in_utf8(data, label, form), label), label, form)


def _read_typed(data: bytes, label: str, kind: str, sheet: str | None) -> RawTable:
    """Read a file whose columns have types."""
    if kind == formats.EXCEL:
        from sparsewise.io.tables.excel import read_excel

        frame = read_excel(data, label, sheet)
    else:
        read = {
            formats.PARQUET: pl.read_parquet,
            formats.ARROW: pl.read_ipc,
            formats.ARROW_STREAM: pl.read_ipc_stream,
        }[kind]
        frame = typed_frame(lambda: read(io.BytesIO(data)), label, kind)
        frame = as_declared(frame, formats.declared_categories(io.BytesIO(data), kind))
    names = tidy_names(frame.columns, label)
    return RawTable(label, dict(zip(names, frame.get_columns(), strict=True)), kind=kind)


def typed_frame(read: Callable[[], pl.DataFrame], label: str, kind: str) -> pl.DataFrame:
    """Return what can be read of a Parquet or Arrow file; a damaged one is an `InputError`."""
    # Of a damaged file, the library may print how it failed, besides raising an error.
    with STDERR, _nothing_printed():
        try:
            return read()
        except FileNotFoundError:
            raise InputError(f"there is no file {quoted(label)}") from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            a = "a" if kind == formats.PARQUET else "an"
            raise InputError(
                f"can't read {label}: it is {a} {kind} file, but cut short or damaged"
            ) from None


def as_declared(frame: pl.DataFrame, categories: Collection[str]) -> pl.DataFrame:
    """Return the frame with these columns as categories, whatever these are."""
    return frame.with_columns(
        as_text(frame[name]).cast(pl.Categorical)
        for name in categories
        if name in frame.columns and frame[name].dtype.is_numeric()
    )


def as_text(cells: pl.Series) -> pl.Series:
    """Return typed cells as a text file would have them: whole numbers without a point."""
    if cells.dtype.is_decimal():
        cells = cells.cast(pl.Float64)
    texts = cells.cast(pl.String).str.strip_chars()
    return texts.str.strip_suffix(".0") if cells.dtype.is_float() else texts


def tidy_names(columns: Iterable[str], label: str) -> list[str]:
    """Return the names of columns that have types; there must be some."""
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


def _read_text(data: bytes, label: str, form: Form) -> RawTable:
    if not data.strip():
        raise empty_text(label)
    separator, header = header_of(data, label, form)
    rows, _ = without_blank_end(data[header_bytes(data, separator) :], len(header))
    frame = text_frame(rows, separator, header, label)
    columns = {name: frame[name] for name in header}
    return RawTable(label, columns, is_text=True, decimal=form.decimal)


def empty_text(label: str) -> InputError:
    """A text without a header."""
    return InputError(f"{label} is empty: a header line and rows of numbers are needed")


def without_blank_end(data: bytes, width: int) -> tuple[bytes, bytes]:
    """Cut off the blank lines at the end of a text.

    Every line behind the header is a row, a blank one, too: it lacks all values. But those that end
    a file are no rows, unless it has a single column, where they are how a missing value is
    written.
    """
    if width == 1:
        return data, b""
    rows = data.rstrip(b"\r\n")
    blank = data[len(rows) :]
    return (rows + b"\n", blank.partition(b"\n")[2]) if rows else (b"", blank)


def text_frame(
    data: bytes, separator: str, header: list[str], label: str, before: int = 0
) -> pl.DataFrame:
    """Return the cells of a text without its header line, as text.

    So many rows of the file come before those of the text.
    """
    # As many cells as the header has, so that a row which has more is noticed.
    data = separator.join(f"c{j}" for j in range(len(header))).encode() + b"\n" + data
    try:
        return pl.read_csv(
            io.BytesIO(data), separator=separator, infer_schema=False, new_columns=header
        )
    except pl.exceptions.PolarsError as error:
        wrong = _why_unreadable(data, separator, len(header), label, error, before)
        raise InputError(wrong) from None


def _cleaned(data: bytes, label: str) -> bytes:
    """Return text in UTF-8, with lines that end as we know them."""
    data = check_text(data.removeprefix(BYTE_ORDER_MARK), label)
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def _lines(data: bytes) -> Iterator[str]:
    """Yield one line after the other, without a copy of them all."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end].decode()
        start = end


def _records(data: bytes, separator: str) -> Iterator[list[str]]:
    """Yield the rows as lists of cells, from the first that is not blank."""
    return dropwhile(operator.not_, csv.reader(_lines(data), delimiter=separator))


def header_bytes(data: bytes, separator: str) -> int:
    """Return how many bytes a text has up to the end of its header line."""
    reader = csv.reader(_lines(data), delimiter=separator)
    while not next(reader):
        pass
    end = 0
    for _ in range(reader.line_num):
        end = data.find(b"\n", end) + 1 or len(data)
    return end


def header_of(data: bytes, label: str, form: Form) -> tuple[str, list[str]]:
    """Return the separator that makes most cells of the header line, and the column names."""
    headers, trouble = {}, ""
    for separator in dict.fromkeys((*SEPARATORS, form.delimiter or ",")):
        try:
            headers[separator] = next(_records(data, separator))
        except csv.Error as error:  # a wide header may be too long for one cell, say
            trouble = str(error)
    likely = max(_likely(headers, form), key=lambda sign: len(headers[sign]), default=",")
    separator = form.delimiter or likely
    if separator not in headers:
        raise InputError(f"can't read the header of {label}: {trouble}")
    if form.delimiter is None:
        _check_usual(data, label, headers[separator])
    elif len(headers[separator]) == 1 < len(headers[likely]):
        raise InputError(
            f"{quoted(separator)} is not in the header of {label}, which has "
            f"{len(headers[likely])} cells by {_called(likely)}",
            parameter="delimiter",
        )
    return separator, _named(headers[separator], label)


def _likely(headers: dict[str, list[str]], form: Form) -> list[str]:
    """Return what may be between cells: no comma if it is part of numbers."""
    others = [sign for sign in headers if sign != form.decimal]
    return others if any(len(headers[sign]) > 1 for sign in others) else list(headers)


def _check_usual(data: bytes, label: str, header: list[str]) -> None:
    """Raise an error for one column where header and first row have as many cells by a sign."""
    if len(header) > 1:
        return
    for sign in (*UNUSUAL, " "):
        try:
            rows = list(islice(_records(data, sign), 2))
        except csv.Error:  # it is not, then
            continue
        if len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1:
            option = Parameter("delimiter", "space" if sign == " " else shlex.quote(sign))
            raise InputError((f"cells of {label} seem separated by {_called(sign)}: try ", option))


def _called(sign: str) -> str:
    """What a separator is called."""
    return {"\t": "tabs", " ": "spaces"}.get(sign, quoted(sign))


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
