"""Dask collections: which way they go, and tall ones into a triangle.

Tall data condense: every block of rows into a triangle where it is, and these, a few at a time,
into one. That reads the data once, and (m + 2)² numbers travel. Wide data stay as blocks of
columns (`design/dask.py`), of which products are asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from sparsewise.cluster import workers
from sparsewise.condensed import Condensed
from sparsewise.design.base import Array, Design, not_finite
from sparsewise.design.choose import as_design, as_floats, is_dask_array
from sparsewise.design.dask import DaskDesign, counted
from sparsewise.errors import InputError, InputTypeError
from sparsewise.wording import quoted

NARROW = 1024
"""Most columns of data that are condensed though they would fit: n m² operations, as many as the
products of a path of so many steps, but in one pass, after which all further ones cost nothing."""

NARROWEST = 8192
"""Most columns of a triangle: half a gigabyte."""

TALL = 4
"""Rows a column, at least, that make data tall: fewer leave the triangle hardly smaller."""

TOGETHER = 8
"""Triangles that are merged by one task."""


def is_dask(X: Any) -> bool:
    """Whether it is a Dask array, data frame or series."""
    return is_dask_array(X) or _is_dask_frame(X)


def as_dask_array(X: Any, name: str = "X") -> tuple[Any, list[str] | None]:
    """A Dask collection as a dask.array of numbers, and the names of its columns, if it has any.

    The numbers of rows in its chunks may be unknown.
    """
    if is_dask_array(X):
        return X, None
    frame = X if X.ndim == 2 else X.to_frame(name)
    for column, kind in frame.dtypes.items():
        if getattr(kind, "kind", "O") not in "biufc":
            raise InputTypeError(
                f"has a column that holds no numbers: {quoted(str(column))} is of type {kind}",
                "leave it out, or turn it into numbers (dask.dataframe.get_dummies).",
                parameter=name,
            )
    kinds = [np.dtype(getattr(kind, "numpy_dtype", kind)) for kind in frame.dtypes]
    common = np.result_type(*kinds) if all(kind.kind in "fc" for kind in kinds) else np.float64
    array = frame.astype(common).to_dask_array()
    if X.ndim == 1:
        return array[:, 0], None
    return array, [str(column) for column in X.columns]


def is_tall(X: Any) -> bool:
    """Whether a dask.array is to be condensed, rather than spread by its columns.

    If it is tall (n ≥ 4 m), and narrow: at most 1024 columns, or 8192 if workers can't hold it. A
    number of rows that is unknown counts as large.
    """
    n, m = X.shape
    if n < TALL * m:
        return False
    return m <= NARROW or (m <= NARROWEST and not X.nbytes <= workers().memory)


def condense(
    X: Any, y: Any, sample_weight: Any = None, fold: Any = None, *, names: list[str] | None = None
) -> Condensed:
    """All rows of Dask collections as a triangle: one pass, on the workers.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n, m)
        The features, in any chunks.
    y : dask array or series, or array-like, of shape (n,)
        The target.
    sample_weight : the same, optional
        How often each row counts.
    fold : the same, int or str, optional
        The fold that the rows, or each of them, belong to.
    names : list of str, optional
        The names of the features; None: those of a data frame.

    Returns
    -------
    Condensed
        As `Condensed.update` makes of the rows; the same whatever the number of workers.
    """
    import dask

    array, known = as_dask_array(X)
    array = _in_rows(array, [y, sample_weight, fold])
    heights = array.chunks[0]
    firsts = np.cumsum([0, *heights])[:-1].tolist()
    given = zip((y, sample_weight, fold), ("y", "sample_weight", "fold"), strict=True)
    others = [_by_rows(values, heights, name) for values, name in given]
    make, merge = dask.delayed(_condensed, pure=False), dask.delayed(_merged, pure=False)
    parts = list(map(make, array.to_delayed().ravel(), *others, firsts))
    while len(parts) > 1:
        parts = [merge(parts[i : i + TOGETHER]) for i in range(0, len(parts), TOGETHER)]
    by = workers()
    (condensed,) = by.results(by.compute(parts))
    condensed.feature_names = known if names is None else names
    return condensed


def system(design: DaskDesign, y: Any) -> tuple[Design, Array]:
    """A and y of an algorithm: those of the triangle if A is tall, otherwise as they are."""
    if not is_tall(design.array):
        return design, as_floats(here(y), "y")
    n, m = design.shape
    try:
        condensed = condense(design.array, y)
    except InputError as error:  # functions have an A where tables are called X
        name = "A" if error.parameter == "X" else error.parameter
        raise type(error)(error.wrong, error.advice, parameter=name) from None
    triangle, target = condensed.system(intercept=False)
    triangle.note = tall_note(n, m)
    return triangle, target


def tall_note(n: float, m: int) -> str:
    """What there is to say of data of this shape that were condensed."""
    return f"condensed into a triangle by {workers().name}, since {n:g} × {m} is tall"


def folds_by_row(array: Any, folds: int) -> Any:
    """The fold of each row of a dask.array, in its chunks: as many rows in each, in one piece.

    By chunk, in turn, where nobody knows the number of rows.
    """
    import dask.array as da

    if np.isnan(array.shape[0]):
        numbers = da.arange(array.numblocks[0], chunks=1)
        return array[:, 0].map_blocks(
            lambda block, number: np.full(len(block), number[0] % folds), numbers, dtype=np.int64
        )
    n = array.shape[0]
    ends = np.cumsum(n // folds + (np.arange(folds) < n % folds))
    rows = da.arange(n, chunks=(array.chunks[0],))
    return rows.map_blocks(lambda block: np.searchsorted(ends, block, side="right"), dtype=np.int64)


def here(values: Any) -> Any:
    """A Dask collection's values; anything else as it is."""
    if not is_dask(values):
        return values
    array, _ = as_dask_array(values, "y")
    by = workers()
    return np.concatenate(by.results(by.compute(array.to_delayed().ravel())))


def predict(X: Any, coef: Array, intercept: Any = 0.0) -> Any:
    """X coef + intercept as a dask.array, computed when somebody asks for it."""
    used = np.flatnonzero(coef)
    return by_rows(lambda rows: rows @ coef[used] + intercept, X, used, np.result_type(coef, float))


def by_rows(
    function: Callable[[Array], Array], X: Any, columns: Array, dtype: np.dtype[Any]
) -> Any:
    """A number for each row, from these columns of it, as a dask.array that nobody has computed."""
    array, _ = as_dask_array(X)
    some = array[:, columns].rechunk({1: max(len(columns), 1)})
    return some.map_blocks(function, drop_axis=1, dtype=dtype)


# ---------------------------------------------------------------------- rows, block by block


def _in_rows(array: Any, others: Sequence[Any]) -> Any:
    """In chunks of whole rows, so many that merging their triangles is little work.

    Rows are counted if the chunks of the others don't correspond by themselves.
    """
    m = array.shape[1]
    if np.isnan(array.shape[0]) and not all(_corresponds(values, array) for values in others):
        array = counted(array)
    if np.isnan(array.shape[0]):
        return array.rechunk({1: m})
    if array.numblocks[1] > 1:
        array = array.rechunk({0: "auto", 1: m})
    return array.rechunk({0: TALL * m}) if max(array.chunks[0]) < TALL * m else array


def _corresponds(values: Any, array: Any) -> bool:
    """Whether the chunks are those of the array though nobody knows their rows; or are none."""
    if not is_dask(values):
        return np.ndim(values) == 0
    values, _ = as_dask_array(values)
    return np.isnan(values.shape[0]) and values.numblocks[0] == array.numblocks[0]


def _by_rows(values: Any, heights: Sequence[float], name: str) -> list[Any]:
    """What belongs to blocks of so many rows: values for each row, or one for all."""
    if not is_dask(values):
        if np.ndim(values) == 0:
            return [values] * len(heights)
        values = np.asarray(values)
        _check_rows(values, sum(heights), name)
        return np.split(values, np.cumsum(heights)[:-1])
    values, _ = as_dask_array(values, name)
    if not np.isnan(sum(heights)):
        values = counted(values)
        _check_rows(values, sum(heights), name)
        values = values.rechunk({0: tuple(heights)})
    return list(values.to_delayed().ravel())


def _check_rows(values: Any, n: float, name: str) -> None:
    if values.shape != (n,):
        raise InputError(
            f"must have shape ({n},), one entry per row of X, not {values.shape}.", parameter=name
        )


# Tasks.


def _condensed(X: Any, y: Any, weights: Any, fold: Any, first: float) -> Condensed:
    """The triangle of some rows, of which the first has this number; a filter may leave none."""
    if not X.shape[0]:
        return Condensed()
    try:
        return Condensed().update(X, y, weights, fold=fold)
    except InputError:
        for name, values in (("X", as_floats(X, "X")), ("y", as_floats(y, "y"))):
            count, where = as_design(values.reshape(len(values), -1)).faults()
            if where is not None and not np.isnan(first):
                row, column = int(first) + where[0], where[1]
                at = f"row {row}, column {column}" if name == "X" else f"row {row}"
                raise not_finite(name, count, at) from None
        raise


def _merged(parts: list[Condensed]) -> Condensed:
    return reduce(add, parts)


def _is_dask_frame(X: Any) -> bool:
    module = sys.modules.get("dask.dataframe")
    return module is not None and isinstance(X, (module.DataFrame, module.Series))
