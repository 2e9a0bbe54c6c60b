"""A as a scipy.sparse matrix or array, in compressed columns or rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import AboutMeans, Design, constant_level, two_stage_mean


class SparseDesign(Design):
    """A CSC or CSR matrix, not copied; other formats are converted to CSC once.

    Columns of a CSC matrix are contiguous; those of a CSR matrix take a scan of its indices.

    Parameters
    ----------
    A : scipy.sparse matrix or array of shape (n, m)
        Of a floating-point type.
    rows : float, optional
        How many measurements the rows stand for; None: one each.
    """

    def __init__(self, A: Any, *, rows: float | None = None) -> None:
        if A.ndim == 2 and A.format not in ("csc", "csr"):
            A = A.tocsc()
        super().__init__(A.shape, A.dtype, rows=rows)
        self.A = canonical(A)
        # Neither transposition copies the entries.
        self._AT = self.A.T

    def columns(self, J: Array | slice) -> Array:
        return self.A[:, J].toarray()

    def row_block(self, rows: slice) -> Array:
        return self.A[rows].toarray()

    def matvec(self, x: Array) -> Array:
        return self.A @ x

    def rmatmat(self, V: Array) -> Array:
        if self.dtype.kind == "c":
            return np.asfortranarray((self._AT @ V.conj()).conj())
        return np.asfortranarray(self._AT @ V)

    def square_sums(self, weights: Array | None = None) -> Array:
        rows, columns = places(self.A)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            squares = self.A.data.real**2 + self.A.data.imag**2
            if weights is not None:
                squares = squares * weights[rows]
        return np.bincount(columns, weights=squares, minlength=self.shape[1])

    def about_means(self, weights: Array | None) -> AboutMeans | None:
        """Where all entries of a column are stored, most of the mean is taken from them at once.

        What is left of it is small then, and has all its digits; of other columns it is the mean.
        """
        if self.dtype.kind == "c":
            return None
        n, m = self.shape
        rows, columns = places(self.A)
        weights = np.ones(n) if weights is None else weights
        total, of_entries = float(weights.sum()), weights[rows]

        def mean_of(values: Array) -> Array:
            return np.bincount(columns, of_entries * values, m) / total

        full = np.bincount(columns, minlength=m) == n
        taken, left = two_stage_mean(
            mean_of(self.A.data),
            lambda mean: mean_of(self.A.data - mean[columns]),
            self.dtype,
            where=full,
        )
        data = self.A.data - taken[columns]
        absent = np.where(full, 0.0, total - np.bincount(columns, of_entries, m))
        size, norms = _spread(data - left[columns], left, absent, columns, of_entries)

        means: Array = taken + left
        constant = size <= np.where(full, constant_level(means, self.dtype), 0.0)
        means[constant] = self.row_block(slice(1))[0, constant]
        norms[constant] = 0.0
        data[constant[columns]] = 0.0
        A = type(self.A)((data, self.A.indices, self.A.indptr), shape=self.shape)
        return AboutMeans(SparseDesign(A, rows=self.rows), means, norms)


def _spread(
    apart: Array, mean: Array, absent: Array, columns: Array, weights: Array
) -> tuple[Array, Array]:
    """Largest distance from the mean, and norm of all distances, for each column.

    Those of the stored entries are given, with their columns and weights; all others, `absent` by
    weight, are zero, a `mean` apart. Sums of squares would overflow were they not scaled.
    """
    size = np.where(absent > 0, np.abs(mean), 0.0)
    np.maximum.at(size, columns, np.abs(apart))
    unit = np.where(size > 0, size, 1.0)
    squares = np.bincount(columns, weights * np.square(apart / unit[columns]), len(mean)).astype(
        np.float64, copy=False
    )  # of no entries they would be whole numbers
    squares += np.maximum(absent, 0.0) * np.square(mean / unit)
    return size, size * np.sqrt(squares)


def canonical(A: Any) -> Any:
    """The same matrix without duplicate entries, which would make sums of squares wrong."""
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    return A


def places(A: Any) -> tuple[Array, Array]:
    """Row and column of each stored entry of a CSR or CSC matrix."""
    outer = np.repeat(np.arange(len(A.indptr) - 1), np.diff(A.indptr))
    return (outer, A.indices) if A.format == "csr" else (A.indices, outer)
