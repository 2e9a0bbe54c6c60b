"""Dask collections: which way they go, and tall ones into a triangle.

Tall data condense: every block of rows into a triangle where it is, and these, a few at a time,
into one. That reads the data once, and (m + q + 1)² numbers travel, for q targets. Wide data stay
as blocks of columns (`design/dask.py`), of which products are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.dask_cluster import workers
from sparsewise.design.base import Design, not_finite
from sparsewise.design.choose import as_design, as_floats
from sparsewise.design.choose import is_dask as is_dask
from sparsewise.design.dask import DaskDesign, counted
from sparsewise.design.dask import as_dask_array as as_dask_array
from sparsewise.errors import ClusterError, InputError
from sparsewise.plan import CONDENSE_BEYOND_WORKERS, CONDENSE_ON_WORKERS, condenses
from sparsewise.suffstats.condensed import Condensed, check_one_each, check_targets, column_names

TOGETHER = 8
"""Triangles that are merged by one task."""


def is_tall(X: Any, y: Any = None) -> bool:
    """Whether a dask.array is to be condensed, rather than spread by its columns.

    If it is tall (n ≥ 4 m), and narrow: at most 1024 columns, or 8192 if workers can't hold it. If
    nobody knows how many rows there are, few columns will do: they need not be counted then.
    Further targets are further columns of the triangle.
    """
    (n, m), q = X.shape, np.shape(y)[1] if np.ndim(y) == 2 else 1
    return condenses(CONDENSE_ON_WORKERS, n, m, q) or (
        condenses(CONDENSE_BEYOND_WORKERS, n, m, q) and X.nbytes > workers().memory
    )


def condense(
    X: Any, y: Any, sample_weight: Any = None, fold: Any = None, *, names: list[str] | None = None
) -> Condensed:
    """All rows of Dask collections as a triangle: one pass, on the workers.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n, m)
        The features, in any chunks.
    y : dask array, series or data frame, or array-like, of shape (n,) or (n, q)
        The target, or several, one a column.
    sample_weight : dask array or series, or array-like, of shape (n,), optional
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
    array, by = _in_rows(array, [y, sample_weight, fold]), workers()
    heights = array.chunks[0]
    if (size := max(heights) * array.shape[1] * array.dtype.itemsize) > by.largest:
        raise ClusterError(
            f"A chunk of rows takes {size / 2**30:.3g} GiB, but one of {by.name} can hold "
            f"{by.largest / 2**30:.3g} GiB",
            "rechunk the array to fewer rows.",
        )
    firsts = np.cumsum([0, *heights])[:-1].tolist()
    given = zip((y, sample_weight, fold), ("y", "sample_weight", "fold"), strict=True)
    others = [_by_rows(values, heights, name) for values, name in given]
    make, merge = dask.delayed(_condense_block, pure=False), dask.delayed(_merged, pure=False)
    parts = list(map(make, array.to_delayed().ravel(), *others, firsts))
    while len(parts) > 1:
        parts = [merge(parts[i : i + TOGETHER]) for i in range(0, len(parts), TOGETHER)]
    (condensed,) = by.results(by.compute(parts))
    condensed.feature_names = known if names is None else names
    if condensed.n_targets is not None:
        condensed.target_names = as_dask_array(y, "y")[1] if is_dask(y) else column_names(y)
    return condensed


def system(A: Any, y: Any) -> tuple[Design, Array]:
    """A and y of an algorithm: those of the triangle if A is tall, otherwise blocks of columns.

    A is a Dask collection, or a `DaskDesign` that was made of one.
    """
    array = A.array if isinstance(A, DaskDesign) else as_dask_array(A, "A")[0]
    if array.ndim == 2 and is_tall(array, y):
        return _of_triangle(array, y)
    return A if isinstance(A, DaskDesign) else DaskDesign(array), as_floats(here(y), "y")


def _of_triangle(array: Any, y: Any) -> tuple[Design, Array]:
    try:
        condensed = condense(array, y)
    except InputError as error:  # functions have an A where tables are called X
        name = "A" if error.parameter == "X" else error.parameter
        raise type(error)(error.wrong, error.advice, parameter=name) from None
    if not condensed.count:
        raise InputError("has no rows", "give at least one.", parameter="A")
    triangle, target = condensed.system(intercept=False)
    triangle.note = tall_note(condensed.count, array.shape[1])
    return triangle, target


def tall_note(n: float, m: int) -> str:
    """What there is to say of data of this shape that were condensed."""
    why = "is tall" if n >= CONDENSE_ON_WORKERS.rows * m else "has few columns"
    return f"condensed into a triangle by {workers().name}, since {n:.15g} × {m} {why}"


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
    array, by = _whole_rows(as_dask_array(values, "y")[0]), workers()
    return np.concatenate(by.results(by.compute(array.to_delayed().ravel())))


def by_rows(
    function: Callable[[Array], Array],
    X: Any,
    columns: Array,
    dtype: np.dtype[Any],
    each: tuple[int, ...] = (),
) -> Any:
    """A number for each row, from these columns of it, as a dask.array that nobody has computed.

    Or as many numbers as `each` holds.
    """
    array, _ = as_dask_array(X)
    some = array[:, columns].rechunk({1: max(len(columns), 1)})
    if each:
        return some.map_blocks(function, chunks=(some.chunks[0], each), dtype=dtype)
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
    least = CONDENSE_ON_WORKERS.rows * m
    return array.rechunk({0: least}) if max(array.chunks[0]) < least else array


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
        _check_rows(values, int(sum(heights)), name)
        return np.split(values, np.cumsum(heights)[:-1])
    values = _whole_rows(as_dask_array(values, name)[0])
    if not np.isnan(sum(heights)):
        values = counted(values)
        _check_rows(values, int(sum(heights)), name)
        values = values.rechunk({0: tuple(heights)})
    return list(values.to_delayed().ravel())


def _whole_rows(array: Any) -> Any:
    """A dask.array whose chunks are whole rows, if it has columns."""
    return array.rechunk({1: -1}) if array.ndim == 2 else array


def _check_rows(values: Any, n: int, name: str) -> None:
    if name == "y":
        check_targets(values, n)
    else:
        check_one_each(values, n, name)


# Tasks.


def _condense_block(X: Any, y: Any, weights: Any, fold: Any, first: float) -> Condensed:
    """The triangle of some rows, of which the first has this number; a filter may leave none."""
    if not X.shape[0]:
        return Condensed()
    try:
        return Condensed().update(X, y, weights, fold=fold)
    except InputError:
        target = as_floats(y, "y")
        columns = {"X": X, "y": target.reshape(len(target), -1)}
        for name, dimensions in (("X", 2), ("y", target.ndim)):
            count, where = as_design(columns[name]).faults()
            if where is not None and not np.isnan(first):
                at = int(first) + where[0], where[1]
                raise not_finite(name, count, at[:dimensions]) from None
        raise


def _merged(parts: list[Condensed]) -> Condensed:
    return reduce(add, parts)
