"""Workbooks of Excel: one of their sheets, whose first row has the names of columns."""

from __future__ import annotations

import io
import logging
import zipfile
from collections.abc import Sequence

import polars as pl

from sparsewise._util.text import listing, quoted
from sparsewise.errors import InputError

MOST_UNPACKED = 2**29
"""Bytes of a workbook, unpacked: its cells take some four times as much."""


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
    """Raise an error for an archive of which far more comes than it takes itself."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, ValueError):  # of before 2007, or damaged
        return
    if size > MOST_UNPACKED:
        raise InputError(
            f"{label} takes {size / 1e9:.1f} GB unpacked, and sheets are read as a whole: save the "
            "table as CSV or Parquet"
        )


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
