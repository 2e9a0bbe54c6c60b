"""What is no table of real numbers, named: text, dates, complex numbers, rows not read yet."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from sparsewise._util.text import listing, quoted
from sparsewise.errors import InputError, InputTypeError

KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((str,), "text"),
    ((datetime.timedelta, np.timedelta64), "durations"),
    ((datetime.date, datetime.time, np.datetime64), "dates or times"),
    ((bytes,), "bytes"),
    ((dict,), "records"),
    ((list, tuple, np.ndarray), "lists"),
)
"""What a cell can be besides a number."""
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
    _refuse_lazy(X, parameter)
    if _is_complex(X):
        # So it begins in all of scikit-learn.
        wrong = f"Complex data not supported: {parameter} holds complex numbers, but estimators "
        raise InputError(f"{wrong}take real ones", f"sparsewise.{function}(X, y) takes both.")
    refused = {name: told for name, cells in _odd_columns(X) if (told := _held(cells)) is not None}
    if not refused:
        return
    kinds = " and ".join(dict.fromkeys(kind for kind, _ in refused.values()))
    [(name, (_, example)), *others] = refused.items()
    what = f"has columns {listing(refused)} that hold {kinds}" if others else ""
    what = what or f"has a column {quoted(name)} that holds {kinds} ({example})"
    if not name:
        what = f"holds {kinds} ({example})"
    them = "them" if others else "it"
    levels = ", or make a 0/1 feature of each level, by a OneHotEncoder say" * ("text" in kinds)
    advice = f"leave {them} out{levels}." if parameter == "X" and name else "give numbers."
    raise InputError(what, advice, parameter=parameter)


def _refuse_lazy(X: Any, parameter: str) -> None:
    polars = sys.modules.get("polars")  # whoever holds a frame has imported it
    if polars is not None and isinstance(X, polars.LazyFrame):
        wrong = "is a LazyFrame of Polars, whose rows nobody has read"
        raise InputTypeError(wrong, f"pass {parameter}.collect().", parameter=parameter)


def _is_complex(X: Any) -> bool:
    """Whether all of an array, or a column of a frame, is complex."""
    types = [X.dtype] if hasattr(X, "dtype") else getattr(X, "dtypes", ())
    return any(getattr(one, "kind", "") == "c" for one in types)


def _odd_columns(X: Any) -> Iterator[tuple[str, Any]]:
    """Yield columns of frames, series and arrays that may hold something else than numbers."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        dtypes = list(X.dtypes)
        for j in (j for j, dtype in enumerate(dtypes) if not _is_number(dtype)):
            cells = X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]
            yield str(X.columns[j]), cells
        return
    dtype: Any = getattr(X, "dtype", None)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if dtype is None or _is_number(dtype) or hasattr(X, "nnz"):
        return
    if len(shape) == 1:
        yield "", X
    elif len(shape) == 2:
        for j in range(shape[1]):
            yield f"x{j}", X[:, j]


def _is_number(dtype: Any) -> bool:
    """Whether a column of this type is of numbers or truth values, for NumPy, pandas and Polars."""
    if hasattr(dtype, "is_numeric"):
        return dtype.is_numeric() or str(dtype) in ("Boolean", "Null")
    return getattr(dtype, "kind", "") in "biuf"


def _held(cells: Any) -> tuple[str, str] | None:
    """Return what cells hold in place of numbers, with the first of them; None for numbers."""
    is_array = isinstance(cells, np.ndarray)  # of other objects in it scikit-learn has its own word
    for row, cell in enumerate(cells if is_array else cells.to_list()):
        kind = next((word for types, word in KINDS if isinstance(cell, types)), "")
        if not kind and cell is not None and not _tells_number(cell):
            kind = f"objects of type {type(cell).__name__}"
        if is_array and kind not in ("text", *TIMES):
            continue
        if kind in TIMES or (kind and not _tells_number(cell)):
            return kind, f"the first is {quoted(str(cell)[:60])} in row {row}"
    return None


def _tells_number(cell: Any) -> bool:
    """Whether a cell is taken for a number, as text may be."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
