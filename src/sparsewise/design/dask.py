"""A as a Dask array: blocks of columns that stay on the workers; only what is small travels.

A pass over A is one task a block: V goes there, the products A_b* V come back. The pool of columns
from which the engine guesses its next steps is fetched by one task for each block that has some of
them. Nothing else of A is ever on the client.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from sparsewise.cluster import Workers, workers
from sparsewise.design.base import AboutMeans, Array, Design, working_type
from sparsewise.design.dense import DenseDesign
from sparsewise.design.shifted import Shifted
from sparsewise.errors import InputError

COLUMNS_BYTES = 1 << 30
"""Most bytes of a block. Every task costs some ms, so that there is one a thread if it is not larger."""


class DaskDesign(Design):
    """Blocks of columns, held by workers.

    Parameters
    ----------
    blocks : list
        What the workers hold: an array of n rows each (see `Workers.hold`).
    firsts : ndarray of int
        The first column of each block, and m.
    shape : tuple of int
        Rows and columns.
    dtype : numpy.dtype
        Of all blocks.
    held_by : Workers
        Who holds them.
    shifts : list, optional
        For each block what is to be taken from its columns, held as well: an array, or None.
    rows : float, optional
        How many measurements the rows stand for; None: one each.
    """

    def __init__(
        self,
        blocks: list[Any],
        firsts: Array,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        held_by: Workers,
        *,
        shifts: list[Any] | None = None,
        rows: float | None = None,
    ) -> None:
        super().__init__(shape, dtype, rows=rows)
        self._blocks_held, self._firsts, self._workers = blocks, firsts, held_by
        self._shifts = [None] * len(blocks) if shifts is None else shifts

    @classmethod
    def of(cls, X: Any) -> DaskDesign:
        """A dask.array of any chunks, rechunked to blocks of columns, which workers then hold."""
        X = with_known_shape(X)
        n, m = X.shape
        held_by = workers()
        dtype = working_type(X.dtype, "A")
        size = n * m * dtype.itemsize
        count = min(m, held_by.threads * -(-size // (COLUMNS_BYTES * held_by.threads)))
        widths = tuple(len(part) for part in np.array_split(np.empty(m, np.int8), count))
        columns = X.rechunk({0: n, 1: widths}).to_delayed().ravel()
        blocks = held_by.hold(columns, partial(_laid_out, dtype=dtype), size)
        return cls(blocks, np.cumsum([0, *widths]), (n, m), dtype, held_by)

    def columns(self, J: Array | slice) -> Array:
        at = np.arange(self.shape[1])[J]
        where = np.searchsorted(self._firsts, at, side="right") - 1
        concerned = np.unique(where).tolist()
        out = np.empty((self.shape[0], at.size), self.dtype, order="F")
        parts = self._ask("columns", concerned, [at[where == b] - self._firsts[b] for b in concerned])
        for b, part in zip(concerned, parts, strict=True):
            out[:, where == b] = part
        return out

    def matvec(self, x: Array) -> Array:
        out = np.zeros(self.shape[0], np.result_type(self.dtype, x))
        concerned = [b for b in range(len(self._blocks_held)) if x[self._at(b)].any()]
        for part in self._ask("matvec", concerned, [x[self._at(b)] for b in concerned]):
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
        ask, results, count = self._workers.ask, self._workers.results, len(self._blocks_held)
        told = ask(_about_means, self._blocks_held, [weights] * count)
        shifts, means, norms = (ask(_item, told, [i] * count) for i in range(3))
        design = DaskDesign(
            self._blocks_held, self._firsts, self.shape, self.dtype, self._workers,
            shifts=shifts, rows=self.rows,
        )  # fmt: skip
        return AboutMeans(design, np.concatenate(results(means)), np.concatenate(results(norms)))

    def faults(self) -> tuple[int, tuple[int, int] | None]:
        count, where = 0, None
        for b, (found, at) in enumerate(self._ask_all("faults")):
            count += found
            if at is not None and where is None:
                where = at[0], int(self._firsts[b]) + at[1]
        return count, where

    def _scaled_norms(self) -> Array:
        if self.faults()[0]:
            raise self._not_finite()
        return np.concatenate(self._ask_all("_scaled_norms"))

    # ------------------------------------------------------------------ what the workers do

    def _at(self, b: int) -> slice:
        """The columns of a block."""
        return slice(int(self._firsts[b]), int(self._firsts[b + 1]))

    def _ask_all(self, method: str, *arguments: Any) -> list[Any]:
        """What every block, a design of its own, says to the same question."""
        every = range(len(self._blocks_held))
        return self._ask(method, every, *([value] * len(every) for value in arguments))

    def _ask(self, method: str, some: Sequence[int], *arguments: Sequence[Any]) -> list[Any]:
        """What these blocks say, each with arguments of its own."""
        blocks, shifts = ([held[b] for b in some] for held in (self._blocks_held, self._shifts))
        answers = self._workers.ask(_answer, blocks, shifts, [method] * len(some), *arguments)
        return self._workers.results(answers)


def with_known_shape(X: Any) -> Any:
    """The same dask.array with its number of rows known, which may take a pass to find out."""
    if X.ndim != 2:
        raise InputError(
            f"must have two dimensions (rows, columns), not {X.ndim}.", parameter="A"
        )
    return X.compute_chunk_sizes() if np.isnan(X.shape).any() else X


# Tasks: functions of a block. It is a design of its own, made anew for each of them at no cost.


def _answer(block: Array, shift: Array | None, method: str, *arguments: Any) -> Any:
    design = DenseDesign(block) if shift is None else Shifted(block, shift)
    return getattr(design, method)(*arguments)


def _laid_out(block: Any, dtype: np.dtype[Any]) -> Array:
    """A block as an array in one piece that owns its memory.

    Neither a view of the chunk it was cut from, which could not be freed then, nor of a message
    from another worker, whose memory lies so that products take twice as long.
    """
    whole = np.require(block, dtype, "O")
    return whole if whole.flags.forc else np.ascontiguousarray(whole)


def _about_means(block: Array, weights: Array | None) -> tuple[Array | None, Array, Array]:
    """What to take from the columns, if that pays; their means and norms about these."""
    about = DenseDesign(block).about_means(weights)
    assert about is not None
    return getattr(about.design, "shift", None), about.means, about.norms


def _item(values: tuple[Any, ...], i: int) -> Any:
    return values[i]
