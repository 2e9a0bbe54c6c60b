"""K[i, j] = k(x_i, c_j): a kernel between points and candidates, computed tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sparsewise.design import base
from sparsewise.design.base import Array, Design, precision, square_sums, working_type
from sparsewise.design.dense import DenseDesign

Kernel = Callable[[Array, Array], Array]

TEMPORARIES = 4
"""A kernel holds distances, exponents and the like at once: together they are to fill a block."""

WIDEST = 1024
"""Most candidates in a tile: a few hundred rows then fit, too, which products are quickest with."""

FOLD = 512
"""Rows that are folded into a triangle at once: enough for matrix products, few to hold."""

CONSTANT = 64
"""A column that varies by fewer units of rounding than this is constant for all we can know."""


class KernelDesign(Design):
    """The kernel matrix of points and candidates, never held as a whole.

    Every column, product and norm calls the kernel on tiles of a fixed size, so that memory stays
    at O(n) for each column or vector asked for, plus a few tiles. Each pass over the matrix costs
    n m values of the kernel. `stored` and `condensed` make them once, and keep n m or m² of them.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Y)`` returns the array of shape (len(X), len(Y)) of finite real values.
    X : ndarray of shape (n, p)
        The points, one for each row.
    candidates : ndarray of shape (m, p)
        The points that may be chosen, one for each column.
    centred : bool
        Whether each column is to have mean zero.

    Notes
    -----
    Centring is an intercept with a flat prior. With y = b 1 + K w + e, integrating over all b (or
    minimising over it) leaves y and K only through P y and P K, where P = I - 1 1ᵀ/n takes the mean
    away. P K itself is never needed: P K x is K x less its mean, and (P K)ᵀ V is Kᵀ times V
    less its means.
    """

    def __init__(self, kernel: Kernel, X: Array, candidates: Array, *, centred: bool) -> None:
        super().__init__((len(X), len(candidates)), np.dtype(np.float64))
        self.kernel, self.X, self.candidates = kernel, X, candidates
        self.centred = centred
        self.rows = max(len(X) - int(centred), 1)  # the means have taken one
        # Better to fail now than after work; two rows and one column tell K from its transpose.
        self.dtype = evaluate(kernel, X[:2], candidates[:1]).dtype

    def columns(self, J: Array | slice) -> Array:
        """The columns J, centred where asked for; Fortran-ordered."""
        K = self.values(J)
        return _centre(K) if self.centred else K

    def values(self, J: Array | slice, rows: slice = slice(None)) -> Array:
        """The columns J, or some rows of them, as the kernel gives them; Fortran-ordered."""
        chosen = self.candidates[J]
        first, last, _ = rows.indices(self.shape[0])
        K = np.empty((last - first, len(chosen)), self.dtype, order="F")
        for part, columns, tile in self._tiles(chosen, first, last):
            K[part.start - first : part.stop - first, columns] = tile
        return K

    def matvec(self, x: Array) -> Array:
        """A x; the kernel is called for the non-zero entries of x alone."""
        J = np.flatnonzero(x)
        weights = x[J]
        out = np.zeros(self.shape[0], np.result_type(self.dtype, x))
        for rows, columns, tile in self._tiles(self.candidates[J]):
            out[rows] += tile @ weights[columns]
        return self._without_means(out)

    def rmatmat(self, V: Array) -> Array:
        """A* V, tile by tile; Fortran-ordered."""
        V = self._without_means(V)
        out = np.zeros((V.shape[1], self.shape[1]), np.result_type(self.dtype, V))
        for rows, columns, tile in self._tiles(self.candidates):
            out[:, columns] += V[rows].T @ tile
        return out.T

    def stored(self) -> DenseDesign:
        """The same matrix held in memory: the kernel is called once for every entry."""
        return self._dense(self.columns(slice(None)))

    def condensed(self, y: Array) -> tuple[DenseDesign, Array]:
        """The triangle of QR of the matrix and a target (centred, too): m + 1 rows in place of n.

        The kernel is called once for every entry. Algorithms see A and y through inner products
        alone, and these are the same: they can't tell the difference. It takes n m² operations.
        """
        m = self.shape[1]
        _, R = self.triangle(y[:, None])
        return self._dense(R[:, :m]), R[:, m].copy()

    def _dense(self, A: Array) -> DenseDesign:
        design = DenseDesign(A)
        design.rows = self.rows
        return design

    def triangle(self, others: Array | None = None) -> tuple[Array, Array]:
        """The means that were taken away, and R of QR of A, with other columns to its right."""
        n, m = self.shape
        others = np.empty((n, 0)) if others is None else others
        # Where means are to go, a column of ones comes first: R[0] then holds them.
        first = int(self.centred)
        size = first + m + others.shape[1]
        R = np.zeros((size, size), order="F")
        for start in range(0, n, FOLD):
            rows = slice(start, min(start + FOLD, n))
            K = self.values(slice(None), rows)
            R = fold(R, np.column_stack([np.ones((len(K), first)), K, others[rows]]))
        if not self.centred:
            return np.zeros(m), R
        level = CONSTANT * float(precision(self.dtype).eps) * np.abs(R[0])
        R[1:, square_sums(R[1:]) <= np.square(level)] = 0.0
        return R[0, 1 : m + 1] / R[0, 0], R[1:, 1:]

    def _square_sums(self) -> Array:
        return np.concatenate([square_sums(block) for _, block in self._blocks()])

    def _without_means(self, V: Array) -> Array:
        return V - V.mean(axis=0) if self.centred else V

    def _tiles(
        self, candidates: Array, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Rows, columns and values of the kernel, for the points first..last (None: to the end)."""
        for start in range(0, len(candidates), WIDEST):
            columns = slice(start, min(start + WIDEST, len(candidates)))
            some = candidates[columns]
            for rows in row_blocks(first, self.shape[0] if last is None else last, len(some)):
                yield rows, columns, evaluate(self.kernel, self.X[rows], some, rows.start)


def row_blocks(first: int, last: int, width: int) -> Iterator[slice]:
    """Rows first..last in pieces whose kernel values, `width` to a row, are cheap to hold."""
    height = max(1, base.BLOCK_BYTES // (8 * TEMPORARIES * max(1, width)))
    for start in range(first, last, height):
        yield slice(start, min(start + height, last))


def evaluate(kernel: Kernel, X: Array, Y: Array, first: int = 0) -> Array:
    """``kernel(X, Y)``, checked; `first` is the row of X[0] in the data, for the message."""
    values = np.asarray(kernel(X, Y))
    expected = (len(X), len(Y))
    if values.shape != expected:
        raise ValueError(
            f"The kernel returned shape {values.shape} for {len(X)} and {len(Y)} points; it must "
            f"return one value for each pair, shape {expected}."
        )
    if values.dtype.kind not in "fiub":
        raise TypeError(f"The kernel must return real numbers, not {values.dtype}.")
    values = values.astype(working_type(values.dtype, "The kernel"), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum())  # no temporary, unlike a mask of all entries
    if suspicious and (bad := ~np.isfinite(values)).any():
        row = first + int(np.argwhere(bad)[0, 0])
        raise ValueError(
            f"The kernel returned NaN or infinity, first for row {row} of X; it must be finite for "
            "every pair of points."
        )
    return values


def _centre(K: Array) -> Array:
    """Each column less its mean, in place; zero where nothing but rounding would be left."""
    means = K.mean(axis=0, dtype=np.float64)
    K -= means.astype(K.dtype)
    level = CONSTANT * float(precision(K.dtype).eps) * np.abs(means)
    spread = np.maximum(K.max(axis=0), -K.min(axis=0))
    K[:, spread <= level] = 0.0
    return K


def fold(R: Array, B: Array) -> Array:
    """The triangle of QR of R, a triangle itself, on top of B; either may be overwritten."""
    from scipy.linalg import get_lapack_funcs

    tpqrt: Any = get_lapack_funcs("tpqrt", (R,))
    folded: Array = tpqrt(
        0, min(64, len(R)), R, np.asfortranarray(B), overwrite_a=1, overwrite_b=1
    )[0]
    return folded
