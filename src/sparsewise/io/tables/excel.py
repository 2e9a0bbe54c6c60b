"""Workbooks of Excel: one of their sheets, whose first row has the names of columns."""

from __future__ import annotations

import io
from collections.abc import Sequence

import polars as pl

from sparsewise._util.text import listing, quoted
from sparsewise.errors import InputError


def read_excel(data: bytes, label: str, sheet: str | None = None) -> pl.DataFrame:
    """Return a sheet, by its name or number; cells have the types that Excel gives them."""
    try:
        import fastexcel
    except ImportError:
        raise InputError(
            f"{label} is an Excel file: install what reads it with: pip install "
            "'sparsewise[excel]', or save the table as CSV"
        ) from None
    try:
        name = None
        if sheet is not None:
            name = _named(sheet, fastexcel.read_excel(data).sheet_names, label)
        return pl.read_excel(
            io.BytesIO(data),
            sheet_name=name,
            engine="calamine",
            infer_schema_length=None,  # of all rows
            raise_if_empty=False,
        )
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError):
        raise InputError(
            f"can't read {label}: it is an Excel file, but protected, cut short or damaged"
        ) from None


def _named(sheet: str, names: Sequence[str], label: str) -> str:
    """Return the sheet of this name, or number, from 1."""
    if sheet in names:
        return sheet
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise InputError(
        f"names {quoted(sheet)}, but the sheets of {label} are {listing(names)}", parameter="sheet"
    )
