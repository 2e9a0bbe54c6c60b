"""Workbooks of Excel: the first sheet, whose first row has the names of columns."""

from __future__ import annotations

import io

import polars as pl

from sparsewise.errors import InputError


def read_excel(data: bytes, label: str) -> pl.DataFrame:
    """Return the first sheet; cells have the types that Excel gives them."""
    try:
        import fastexcel
    except ImportError:
        raise InputError(
            f"{label} is an Excel file: install what reads it with: pip install "
            "'sparsewise[excel]', or save the table as CSV"
        ) from None
    try:
        return pl.read_excel(
            io.BytesIO(data),
            engine="calamine",
            infer_schema_length=None,  # of all rows
            raise_if_empty=False,
        )
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError):
        raise InputError(
            f"can't read {label}: it is an Excel file, but protected, cut short or damaged"
        ) from None
