"""A as an array in memory or memory-mapped, of any order and strides; never copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import AboutMeans, Design, square_sums


class DenseDesign(Design):
    """A floating-point array, used without a copy.

    BLAS reads C and Fortran order, and slices of these. Arrays with other strides or a foreign byte
    order are copied one block of columns at a time.

    Parameters
    ----------
    A : ndarray of shape (n, m)
        The array, of a floating-point type.
    rows : float, optional
        How many measurements the rows stand for; None: one each.
    error : float
        Relative error of the entries where that is more than rounding; else 0.
    once : bool
        Whether it serves a single problem.
    """

    dense = True

    def __init__(
        self, A: Array, *, rows: float | None = None, error: float = 0.0, once: bool = False
    ) -> None:
        native = A.dtype.isnative
        dtype = A.dtype if native else A.dtype.newbyteorder("=")
        super().__init__(A.shape, dtype, rows=rows, error=error)
        self.A = A
        self._complex = self.dtype.kind == "c"
        self._once = once
        self._view: tuple[Array, bool] | None = None
        self._direct = native and (A.flags.forc or _blas_can_read(A))

    def column(self, j: int) -> Array:
        return self.A[:, j]  # a view

    def columns(self, J: Array | slice) -> Array:
        if isinstance(J, slice):
            return self.A[:, J]
        if self.A.flags.f_contiguous:  # contiguous columns are far faster to gather
            return self.A.T[J].T
        return self.A[:, J]  # np.take would first copy an array that isn't contiguous

    def matvec(self, x: Array) -> Array:
        if x.dtype.kind == "c" and not self._complex:
            return self._forward(x.real) + 1j * self._forward(x.imag)
        return self._forward(x)

    def _forward(self, x: Array) -> Array:
        if self._direct:
            return self.A @ x
        out = np.zeros(self.shape[0], np.result_type(self.dtype, x))
        for first, block in self._blocks():
            out += block @ x[first : first + block.shape[1]]
        return out

    def rmatvec(self, v: Array) -> Array:
        if self._direct and not self._complex and v.dtype.kind != "c":
            return np.dot(self.A.T, np.ascontiguousarray(v))
        return super().rmatvec(v)

    def rmatmat(self, V: Array) -> Array:
        if V.dtype.kind == "c" and not self._complex:
            # Two real products; a mixed product would make a complex copy of A.
            return self._product(V.real) + 1j * self._product(V.imag)
        if not self._complex:
            return self._product(V)
        P = self._product(V.conj())
        return np.conjugate(P, out=P)

    def _product(self, V: Array) -> Array:
        """Aᵀ V (no conjugate), Fortran-ordered: each product is contiguous."""
        VT = np.ascontiguousarray(V.T)
        if self._direct:
            # NumPy takes the matrix-vector routine only for a vector.
            if len(VT) == 1:
                return np.dot(self.A.T, VT[0])[:, None]
            return np.dot(VT, self.A).T
        out = np.empty((len(VT), self.shape[1]), np.result_type(self.dtype, V))
        for first, block in self._blocks():
            out[:, first : first + block.shape[1]] = VT @ block
        return out.T

    def in_place(self, dtype: np.dtype[Any]) -> tuple[Array, bool] | None:
        if self._view is None and self.A.flags.forc and self.A.flags.aligned:
            by_rows = self.A.flags.c_contiguous
            view = self.A.view() if by_rows else self.A.T
            view.flags.writeable = False  # or numba would compile again for a writeable A
            self._view = view, not by_rows
        return self._view if self.A.dtype == dtype else None

    def _as_whole(self, dtype: np.dtype[Any]) -> Array:
        # A copy that starts on a cache line takes as long as it saves in some twenty passes.
        if self._once and self.A.flags.carray and self.A.dtype == dtype:
            return self.A
        return super()._as_whole(dtype)

    def row_block(self, rows: slice | Array) -> Array:
        return self.A[rows]

    def square_sums(self, weights: Array | None = None) -> Array:
        return square_sums(self.A, weights)

    def _cached_array(self) -> Array | None:
        if not self.is_tall:
            return super()._cached_array()
        view = self.in_place(self.dtype)
        return None if view is None or view[1] else view[0]

    def about_means(self, weights: Array | None) -> AboutMeans | None:
        from sparsewise.design.shifted import array_about_means

        return None if self._complex else array_about_means(self.A, weights, self.rows)


def _blas_can_read(A: Array) -> bool:
    """Whether one stride is a single item and the other a positive number of items."""
    item, (row, column) = A.itemsize, A.strides
    n, m = A.shape
    by_rows = column == item and row >= m * item and row % item == 0
    by_columns = row == item and column >= n * item and column % item == 0
    return by_rows or by_columns
