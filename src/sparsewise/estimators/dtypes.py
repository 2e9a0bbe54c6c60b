"""What is no table of real numbers, named: text, dates, complex numbers, rows not read yet."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from sparsewise._util.text import listing, quoted
from sparsewise.design.choose import as_floats, is_tensor
from sparsewise.errors import InputError, InputTypeError
from sparsewise.estimators.frames import frame_kind

CELLS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((str,), "text"),
    ((datetime.timedelta, np.timedelta64), "durations"),
    ((datetime.date, datetime.time, np.datetime64), "dates or times"),
    ((bytes,), "bytes"),
    ((dict,), "records"),
    ((list, tuple, np.ndarray), "lists"),
)
"""What a cell can be besides a number."""
DECLARED = ("category", "Categorical", "Enum", "dictionary")
"""How the types of columns that are declared to hold categories begin: pandas, Polars, Arrow."""

TIMES = ("durations", "dates or times")
"""What would pass for numbers of days or nanoseconds."""


def check_real(X: Any, parameter: str, function: str) -> None:
    """Raise an error for what holds no real numbers, with the columns that are to blame.

    Parameters
    ----------
    X : array-like or data frame
        Features, or targets.
    parameter : str
        What they are called.
    function : str
        The algorithm that takes complex numbers in the estimator's place.
    """
    polars = sys.modules.get("polars")  # a frame can't exist before its package is imported
    if polars is not None and isinstance(X, polars.LazyFrame):
        wrong = "is a LazyFrame of Polars, whose rows have not been read"
        raise InputTypeError(wrong, f"pass {parameter}.collect().", parameter=parameter)
    if is_tensor(X):
        as_floats(X, parameter)  # which names what NumPy can't read
    suspects = list(_suspects(X))
    if any(getattr(dtype, "kind", "") == "c" for _, dtype, _ in suspects):
        # So it begins in all of scikit-learn.
        wrong = f"Complex data not supported: {parameter} holds complex numbers, but estimators "
        raise InputError(f"{wrong}take real ones", f"sparsewise.{function}(X, y) takes both.")
    refused = {
        name: odd
        for name, dtype, cells in suspects
        if (odd := _first_odd(cells, dtype)) is not None
    }
    if not refused:
        return
    kinds = " and ".join(dict.fromkeys(kind for kind, _ in refused.values()))
    [(name, (_, example)), *others] = refused.items()
    what = f"has a column {quoted(name)} that holds {kinds} ({example})"
    if others:
        what = f"has columns {listing(refused)} that hold {kinds}"
    elif not name:
        what = f"holds {kinds} ({example})"
    them = "them" if others else "it"
    has_levels = "text" in kinds or "categories" in kinds
    levels = ", or make a 0/1 feature of each level, by a OneHotEncoder say" * has_levels
    advice = f"leave {them} out{levels}." if parameter == "X" and name else "give numbers."
    raise InputError(what, advice, parameter=parameter)


def _suspects(X: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name, type and cells of each column that is not of numbers; of a series without a name."""
    if kind := frame_kind(X):
        for j, dtype in enumerate(X.dtypes):
            if not _is_number(dtype):
                yield str(X.columns[j]), dtype, X.iloc[:, j] if kind == "pandas" else X[:, j]
        return
    dtype = getattr(X, "dtype", None)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if dtype is None or _is_number(dtype):
        return
    if len(shape) == 2 and not scipy.sparse.issparse(X):
        yield from ((f"x{j}", dtype, X[:, j]) for j in range(shape[1]))
    else:
        yield "", dtype, X


def _is_number(dtype: Any) -> bool:
    """Whether a column of this type is of numbers or truth values, for NumPy, pandas and Polars."""
    if type(dtype).__module__.startswith("polars"):
        return dtype.is_numeric() or str(dtype) in ("Boolean", "Null")
    return getattr(dtype, "kind", "") in "biuf"


def _first_odd(cells: Any, dtype: Any) -> tuple[str, str] | None:
    """What cells hold in place of numbers, with the first of them; None for numbers.

    Categories are none, even if their names are: their order and distances mean nothing.
    """
    if str(dtype).startswith(DECLARED):
        levels = ((row, c) for row, c in enumerate(cells.to_list()) if c is not None and c == c)
        row, first = next(levels, (0, "none"))
        return "categories", f"the first is {quoted(str(first)[:60])} in row {row}"
    is_array = isinstance(cells, np.ndarray)  # other objects in an array scikit-learn refuses
    for row, cell in enumerate(cells if is_array else cells.to_list()):
        kind = next((word for types, word in CELLS if isinstance(cell, types)), "")
        is_number = cell is None or _is_float(cell)
        if not kind and not is_number:
            kind = f"objects of type {type(cell).__name__}"
        if is_array and kind not in ("text", *TIMES):
            continue
        if kind in TIMES or (kind and not is_number):
            return kind, f"the first is {quoted(str(cell)[:60])} in row {row}"
    return None


def _is_float(cell: Any) -> bool:
    """Whether a cell converts to a number, as text may."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
