"""Workbooks of Excel: one of their sheets, whose first row has the names of columns."""

from __future__ import annotations

import functools
import io
import logging
import re
import zipfile
import zlib
from collections.abc import Sequence

import polars as pl

from sparsewise._util.text import listing, quoted
from sparsewise.errors import InputError
from sparsewise.io.tables.formats import BLOCK

MOST_UNPACKED = 2**29
"""Bytes of a workbook, unpacked: its cells take some four times as much."""

MOST_CELLS = 2**26
"""Cells between the corners of a sheet, with those that are empty: there is room for each."""

CELL = re.compile(rb'<(?:\w+:)?c\s[^>]*?r="([A-Z]{1,4})([0-9]{1,9})"')
"""Where a cell of a sheet is."""

DAMAGED = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError, RuntimeError)
"""What comes of an archive that is damaged, protected, or none."""


def read_excel(data: bytes, label: str, sheet: str | None = None) -> pl.DataFrame:
    """Return a sheet, by its name or number; cells have the types that Excel gives them."""
    try:
        import fastexcel
    except ImportError:
        raise InputError(
            f"{label} is an Excel file: install what reads it with: pip install "
            "'sparsewise[excel]', or save the table as CSV"
        ) from None
    # It logs a column without values, which is left out below.
    logging.getLogger("fastexcel").addHandler(logging.NullHandler())
    _check_size(data, label)
    try:
        book = fastexcel.read_excel(data)
        which = 0 if sheet is None else _named(sheet, book.sheet_names, label)
        # The types are those of all rows; a blank row between others is one of missing values.
        frame: pl.DataFrame = book.load_sheet(which, schema_sample_rows=None).to_polars()
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError):
        raise InputError(
            f"can't read {label}: it is an Excel file, but protected, cut short or damaged"
        ) from None
    frame = frame.select(
        column
        for column in frame
        if column.null_count() < len(column) or not column.name.startswith("__UNNAMED__")
    )
    return frame.with_columns(
        pl.col(name).cast(pl.Date) for name in frame.columns if _is_date(frame[name])
    )


def _check_size(data: bytes, label: str) -> None:
    """Raise an error for a workbook of which far more would come than it takes itself."""
    size, cells = _size(data)
    if size > MOST_UNPACKED:
        raise InputError(
            f"{label} takes {size / 1e9:.1f} GB unpacked, and sheets are read as a whole: save the "
            "table as CSV or Parquet"
        )
    if cells > MOST_CELLS:
        raise InputError(
            f"{label} has a cell so far from the first that {cells:.0e} are between them: leave "
            "out what is beside the table"
        )


def _size(data: bytes) -> tuple[int, int]:
    """Return the bytes of a workbook, unpacked, and the most cells up to the last of a sheet."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
            names = [name for name in archive.namelist() if name.endswith(".xml")]
            if size > MOST_UNPACKED:
                return size, 0
            return size, max((_cells(archive.read(name)) for name in names), default=0)
    except DAMAGED:  # or of before 2007: whoever reads it says so
        return 0, 0


def _cells(sheet: bytes) -> int:
    """Return how many cells there are up to the last row and column of a sheet."""
    last_row = last_column = 0
    for start in range(0, len(sheet), BLOCK):  # a cell on both sides of a cut is found, too
        cells = set(CELL.findall(sheet, start, start + BLOCK + 1000))
        last_row = max([last_row, *(int(row) for _, row in cells)])
        last_column = max(
            [last_column, *(_column(letters) for letters in {one for one, _ in cells})]
        )
    return last_row * last_column


def _column(letters: bytes) -> int:
    """The number of a column: A is 1, Z is 26 and AA is 27."""
    return functools.reduce(lambda number, letter: 26 * number + letter - 64, letters, 0)


def _is_date(cells: pl.Series) -> bool:
    """Whether all times are midnight: Excel has no dates without a time."""
    return cells.dtype == pl.Datetime and bool((cells == cells.dt.truncate("1d")).all())


def _named(sheet: str, names: Sequence[str], label: str) -> str:
    """Return the sheet of this name, or number, from 1."""
    if sheet in names:
        return sheet
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise InputError(
        f"names {quoted(sheet)}, but the sheets of {label} are {listing(names)}", parameter="sheet"
    )
