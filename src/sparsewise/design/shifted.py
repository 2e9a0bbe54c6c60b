"""An array with a constant subtracted from each column: no loss of digits, and no copy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import (
    TILE_BYTES,
    AboutMeans,
    Design,
    constant_level,
    safe_squares,
    square_sums,
    tile_shape,
    two_stage_mean,
)
from sparsewise.design.dense import DenseDesign

NEAR = 8
"""Means within this many standard deviations cost products less than a digit."""


class Shifted(Design):
    """The matrix A - 1 s*, computed tile by tile within the cache.

    Parameters
    ----------
    A : ndarray of shape (n, m)
        Real, of any order and stride.
    shift : ndarray of shape (m,)
        The constant subtracted from each column, in A's precision.
    rows : float, optional
        How many measurements the rows stand for; None: one each.
    """

    dense = True

    def __init__(self, A: Array, shift: Array, *, rows: float | None = None) -> None:
        super().__init__(A.shape, shift.dtype, rows=rows)
        self.A, self.shift = A, shift

    def columns(self, J: Array | slice) -> Array:
        return np.asarray(self.A[:, J] - self.shift[J])

    def row_block(self, rows: slice | Array) -> Array:
        return np.asarray(self.A[rows] - self.shift)

    def matvec(self, x: Array) -> Array:
        out = np.zeros(self.shape[0], np.result_type(self.dtype, x))
        for rows, J, tile in tiles(self.A, self.shift):
            out[rows] += tile @ x[J]
        return out

    def rmatmat(self, V: Array) -> Array:
        out = np.zeros((V.shape[1], self.shape[1]), np.result_type(self.dtype, V))
        for rows, J, tile in tiles(self.A, self.shift):
            out[:, J] += V[rows].T @ tile
        return out.T

    def square_sums(self, weights: Array | None = None) -> Array:
        sums = np.zeros(self.shape[1], self.dtype)
        for rows, J, tile in tiles(self.A, self.shift):
            sums[J] += square_sums(tile, None if weights is None else weights[rows])
        return sums


def tiles(A: Array, shift: Array) -> Iterator[tuple[slice, slice, Array]]:
    """Tiles of A less its shift, in memory order: rows, columns and values."""
    n, m = A.shape
    tall, wide = tile_shape(A)
    tall = min(tall, max(1, TILE_BYTES // A.itemsize))
    for first in range(0, m, wide):
        J = slice(first, min(first + wide, m))
        for start in range(0, n, tall):
            rows = slice(start, min(start + tall, n))
            yield rows, J, A[rows, J] - shift[J]


def array_about_means(A: Array, weights: Array | None, rows: float) -> AboutMeans:
    """A real array about the weighted means of its columns.

    Parameters
    ----------
    A : ndarray of shape (n, m)
        The array.
    weights : ndarray of shape (n,), optional
        Of its rows, at least 0: one of weight 0 is as good as not there. None: one each.
    rows : float
        How many measurements the rows stand for.
    """
    dtype = A.dtype.newbyteorder("=")
    total = float(len(A)) if weights is None else float(weights.sum())
    exact = _sums(A, np.zeros(A.shape[1], dtype), weights) / total
    shift, left = two_stage_mean(exact, lambda mean: _sums(A, mean, weights) / total, dtype)
    means: Array = shift + left
    size, norms = _spread(A, shift, left, weights)
    constant = size <= constant_level(means, dtype)
    first = 0 if weights is None else int(np.argmax(weights > 0))
    means[constant] = shift[constant] = A[first, constant]
    norms[constant] = 0.0
    near = np.abs(means) * np.sqrt(total) <= NEAR * norms
    design = DenseDesign(A, rows=rows) if near.all() else Shifted(A, shift, rows=rows)
    return AboutMeans(design, means, norms)


def _sums(A: Array, shift: Array, weights: Array | None) -> Array:
    """Weighted sums over the rows of A less its shift, in double precision.

    Not by BLAS, which may round equal columns differently, by where they are.
    """
    sums = np.zeros(A.shape[1])
    for rows, J, tile in tiles(A, shift):
        weighted = tile if weights is None else weights[rows, None] * tile
        sums[J] += np.add.reduce(weighted, dtype=np.float64)
    return sums


def _spread(
    A: Array, shift: Array, left: Array, weights: Array | None, unit: Array | None = None
) -> tuple[Array, Array]:
    """Largest distance from the mean, shift and what is left, and norm of all distances.

    In units of 1; where squares are out of range then, once more in those of the distances.
    """
    size, squares, centre = np.zeros(A.shape[1]), np.zeros(A.shape[1]), left.astype(shift.dtype)
    absent = weights is not None and not weights.all()
    for rows, J, tile in tiles(A, shift):
        tile -= centre[J]
        own = None if weights is None else weights[rows]
        if own is not None and absent:
            tile, own = tile[own > 0], own[own > 0]
        size[J] = np.maximum(size[J], np.abs(tile).max(axis=0, initial=0.0))
        squares[J] += square_sums(tile if unit is None else tile / unit[J], own)
    low, high = safe_squares(shift.dtype.char)
    if unit is None and not (low < squares.min() and squares.max() < high):
        return _spread(A, shift, left, weights, np.where(size > 0, size, 1.0))
    return size, np.sqrt(squares) * (1.0 if unit is None else unit)
