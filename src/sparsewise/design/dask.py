"""A as a Dask array: blocks of columns stay on the workers, and only small arrays travel.

A pass over A is one task per block: V is sent, the products A_b* V return. The pool of columns from
which the engine predicts its next steps is fetched by one task per block that holds any of them.
Nothing else of A is ever on the client.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.dask_cluster import Workers, workers
from sparsewise._util.text import quoted
from sparsewise.design.base import AboutMeans, Design, working_type
from sparsewise.design.choose import as_floats, is_dask_array
from sparsewise.design.dense import DenseDesign
from sparsewise.design.shifted import Shifted
from sparsewise.errors import InputTypeError

COLUMNS_BYTES = 1 << 30
"""Most bytes of a block. A task costs some ms, so there is one block per thread up to this size."""


class ColumnBlocks(NamedTuple):
    """Blocks of columns held by workers.

    Attributes
    ----------
    blocks : list
        Handles of the arrays, each with n rows.
    shifts : list
        For each block what to subtract from its columns, held by workers too: an array, or None.
    firsts : ndarray of int
        The first column of each block, and m.
    by : Workers
        The workers that hold them.
    """

    blocks: list[Any]
    shifts: list[Any]
    firsts: Array
    by: Workers


class DaskDesign(Design):
    """A dask.array of any chunks, rechunked to blocks of columns.

    Workers hold the blocks from the first use on.

    Parameters
    ----------
    array : dask.array.Array of shape (n, m)
        The matrix. If the number of rows is unknown, rows are counted first.

    Attributes
    ----------
    array : dask.array.Array
        The matrix.
    """

    is_remote = True

    def __init__(self, array: Any) -> None:
        self.array = counted(array)
        super().__init__(self.array.shape, working_type(self.array.dtype, "A"))
        self._held: ColumnBlocks | None = None

    @property
    def held(self) -> ColumnBlocks:
        """The blocks, computed on first use."""
        if self._held is None:
            self._held = self._spread()
            n, m = self.shape
            self.note = f"blocks of columns on {self._held.by.name}, since {n} × {m} is wide"
        return self._held

    def _spread(self) -> ColumnBlocks:
        """Persist blocks of columns on the workers: one per thread, more if that were too large."""
        by, (n, m) = workers(), self.shape
        size = n * m * self.dtype.itemsize
        count = min(m, by.threads * -(-size // (COLUMNS_BYTES * by.threads)))
        firsts = np.arange(count + 1) * m // count
        array = self.array.map_blocks(_dense, meta=np.empty((0, 0), self.array.dtype))
        columns = array.rechunk({0: n, 1: tuple(np.diff(firsts).tolist())}).to_delayed()
        blocks = by.hold(columns.ravel(), partial(_as_contiguous, dtype=self.dtype), size)
        return ColumnBlocks(blocks, [None] * count, firsts, by)

    def columns(self, J: Array | slice) -> Array:
        at = np.arange(self.shape[1])[J]
        firsts = self.held.firsts
        where = np.searchsorted(firsts, at, side="right") - 1
        touched = np.unique(where).tolist()
        out = np.empty((self.shape[0], at.size), self.dtype, order="F")
        parts = self._ask("columns", touched, [at[where == b] - firsts[b] for b in touched])
        for b, part in zip(touched, parts, strict=True):
            out[:, where == b] = part
        return out

    def matvec(self, x: Array) -> Array:
        out = np.zeros(self.shape[0], np.result_type(self.dtype, x))
        touched = [b for b in range(len(self.held.blocks)) if x[self._at(b)].any()]
        for part in self._ask("matvec", touched, [x[self._at(b)] for b in touched]):
            out += part
        return out

    def rmatmat(self, V: Array) -> Array:
        out = np.empty((V.shape[1], self.shape[1]), np.result_type(self.dtype, V))
        for b, part in enumerate(self._ask_all("rmatmat", V)):
            out[:, self._at(b)] = part.T
        return out.T

    def row_block(self, rows: slice) -> Array:
        return np.hstack(self._ask_all("row_block", rows))

    def square_sums(self, weights: Array | None = None) -> Array:
        return np.concatenate(self._ask_all("square_sums", weights))

    def about_means(self, weights: Array | None) -> AboutMeans | None:
        if self.dtype.kind == "c":
            return None
        blocks, _, _, by = self.held
        centred = by.ask(_about_means, blocks, [by.share(weights)] * len(blocks), stay=True)
        shifts, means, norms = (by.ask(_item, centred, [i] * len(blocks)) for i in range(3))
        design = copy(self)  # the same blocks, with these shifts subtracted from their columns
        design._held, design._measured = self.held._replace(shifts=shifts), None
        design._whole = None
        return AboutMeans(design, *(np.concatenate(by.results(one)) for one in (means, norms)))

    def faults(self) -> tuple[int, tuple[int, int] | None]:
        count, where = 0, None
        for b, (in_block, at) in enumerate(self._ask_all("faults")):
            count += in_block
            if at is not None and where is None:
                where = at[0], int(self.held.firsts[b]) + at[1]
        return count, where

    def _scaled_norms(self) -> Array:
        if self.faults()[0]:
            raise self._not_finite()
        return np.concatenate(self._ask_all("_scaled_norms"))

    # ------------------------------------------------------------------ calls to the workers

    def _at(self, b: int) -> slice:
        """The columns of a block."""
        return slice(int(self.held.firsts[b]), int(self.held.firsts[b + 1]))

    def _ask_all(self, method: str, *arguments: Any) -> list[Any]:
        """The results of a method of every block's design, with the same arguments."""
        every, shared = range(len(self.held.blocks)), map(self.held.by.share, arguments)
        return self._ask(method, every, *([value] * len(every) for value in shared))

    def _ask(self, method: str, numbers: Sequence[int], *arguments: Sequence[Any]) -> list[Any]:
        """The results of a method of these blocks' designs, each with its own arguments."""
        blocks, shifts, _, by = self.held
        chosen = [blocks[b] for b in numbers], [shifts[b] for b in numbers]
        return by.results(by.ask(_call, *chosen, [method] * len(numbers), *arguments, stay=True))


def counted(array: Any) -> Any:
    """The same dask.array with known chunk sizes, which may take a pass to compute."""
    return array.compute_chunk_sizes() if np.isnan(array.shape).any() else array


def as_dask_array(X: Any, name: str = "X") -> tuple[Any, list[str] | None]:
    """A Dask collection as a dask.array of numbers, and its column names, if any.

    Its chunk sizes may be unknown.
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


# Tasks: functions of a block, which becomes a design in each of them at no cost.


def _call(block: Array, shift: Array | None, method: str, *arguments: Any) -> Any:
    design = DenseDesign(block) if shift is None else Shifted(block, shift)
    return getattr(design, method)(*arguments)


def _dense(block: Any) -> Any:
    """The chunk as a dense array: Dask can't concatenate all kinds of sparse matrices."""
    return block.toarray() if hasattr(block, "toarray") else block


def _as_contiguous(block: Any, dtype: np.dtype[Any]) -> Array:
    """A block as a contiguous array that owns its memory.

    A view of the chunk would keep all of the chunk in memory; a view of a message from another
    worker is misaligned, so that products take twice as long.
    """
    array = np.require(as_floats(block, "A"), dtype, "O")
    return array if array.flags.forc else np.ascontiguousarray(array)


def _about_means(block: Array, weights: Array | None) -> tuple[Array | None, Array, Array]:
    """The shift to subtract from the columns, if that pays; their means and centred norms."""
    centred = DenseDesign(block).about_means(weights)
    assert centred is not None
    return getattr(centred.design, "shift", None), centred.means, centred.norms


def _item(values: tuple[Any, ...], i: int) -> Any:
    return values[i]
