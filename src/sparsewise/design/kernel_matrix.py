"""K[i, j] = k(x_i, c_j): a kernel between points and candidates, computed tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparsewise._typing import Array
from sparsewise.design import base
from sparsewise.design.base import Design, working_type
from sparsewise.errors import InputError, InputTypeError

Kernel = Callable[[Array, Array], Array]

TEMPORARIES = 4
"""Temporaries of a kernel (distances, exponents and the like) that together fill a block."""

WIDEST = 1024
"""Most candidates in a tile, so that a few hundred rows fit: the fastest shape for products."""


class KernelDesign(Design):
    """The kernel matrix of points and candidates, never stored as a whole.

    Every column, product and norm evaluates the kernel on tiles of a fixed size, so that memory is
    O(n) per requested column or vector, plus a few tiles. A pass over the matrix evaluates the
    kernel n m times. `stored` and `triangle` do so once, and keep n m or m² numbers.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Y)`` returns the array of shape (len(X), len(Y)) of finite real values.
    X : ndarray of shape (n, p)
        The points, one for each row.
    candidates : ndarray of shape (m, p)
        The points that may be chosen, one for each column.
    rows : float, optional
        How many measurements the rows stand for; None: one each.
    """

    def __init__(
        self, kernel: Kernel, X: Array, candidates: Array, *, rows: float | None = None
    ) -> None:
        # Fail early; two rows and one column distinguish K from its transpose.
        dtype = evaluate(kernel, X[:2], candidates[:1]).dtype
        super().__init__((len(X), len(candidates)), dtype, rows=rows)
        self.kernel, self.X, self.candidates = kernel, X, candidates

    def columns(self, J: Array | slice) -> Array:
        """The columns J; Fortran-ordered."""
        return self._values(self.candidates[J], slice(0, self.shape[0]))

    def row_block(self, rows: slice) -> Array:
        """Some rows; Fortran-ordered."""
        return self._values(self.candidates, slice(*rows.indices(self.shape[0])))

    def _values(self, candidates: Array, rows: slice) -> Array:
        K = np.empty((rows.stop - rows.start, len(candidates)), self.dtype, order="F")
        for part, columns, tile in self._tiles(candidates, rows.start, rows.stop):
            K[part.start - rows.start : part.stop - rows.start, columns] = tile
        return K

    def matvec(self, x: Array) -> Array:
        """A x; the kernel is called for the non-zero entries of x alone."""
        J = np.flatnonzero(x)
        weights = x[J]
        out = np.zeros(self.shape[0], np.result_type(self.dtype, x))
        for rows, columns, tile in self._tiles(self.candidates[J]):
            out[rows] += tile @ weights[columns]
        return out

    def rmatmat(self, V: Array) -> Array:
        """A* V, tile by tile; Fortran-ordered."""
        out = np.zeros((V.shape[1], self.shape[1]), np.result_type(self.dtype, V))
        for rows, columns, tile in self._tiles(self.candidates):
            out[:, columns] += V[rows].T @ tile
        return out.T

    def _tiles(
        self, candidates: Array, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Rows, columns and values of the kernel, for the points first..last (None: to the end)."""
        for start in range(0, len(candidates), WIDEST):
            columns = slice(start, min(start + WIDEST, len(candidates)))
            block = candidates[columns]
            for rows in row_blocks(first, self.shape[0] if last is None else last, len(block)):
                yield rows, columns, evaluate(self.kernel, self.X[rows], block, rows.start)


def row_blocks(first: int, last: int, width: int) -> Iterator[slice]:
    """Rows first..last in pieces whose kernel values, `width` per row, take little memory."""
    height = max(1, base.BLOCK_BYTES // (8 * TEMPORARIES * max(1, width)))
    for start in range(first, last, height):
        yield slice(start, min(start + height, last))


def evaluate(kernel: Kernel, X: Array, Y: Array, first: int = 0) -> Array:
    """``kernel(X, Y)``, checked; `first` is the row of X[0] in the data, for the message."""
    values = np.asarray(_called(kernel, X, Y))
    expected = (len(X), len(Y))
    if values.shape != expected:
        raise InputError(
            f"The kernel returned shape {values.shape} for {len(X)} and {len(Y)} points",
            f"it must return one value for each pair, shape {expected}.",
        )
    if values.dtype.kind not in "fiub":
        raise InputTypeError(f"The kernel must return real numbers, not {values.dtype}.")
    values = values.astype(working_type(values.dtype, "kernel"), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum())  # no temporary, unlike a mask of all entries
    if suspicious and (bad := ~np.isfinite(values)).any():
        row = first + int(np.argwhere(bad)[0, 0])
        raise InputError(
            f"The kernel returned NaN or infinity, first for row {row} of X",
            "it must be finite for every pair of points.",
        )
    return values


def _called(kernel: Kernel, X: Array, Y: Array) -> Array:
    """``kernel(X, Y)``; its exceptions become an `InputError` that names them."""
    try:
        return kernel(X, Y)
    except (InputError, MemoryError):
        raise
    except Exception as error:
        message = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"The kernel raised {type(error).__name__} ({message})",
            "it must return a value for each pair of points.",
        ) from error
