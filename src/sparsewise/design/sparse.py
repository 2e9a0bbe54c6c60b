"""A as a scipy.sparse matrix or array, in compressed columns or rows, perhaps with means less."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise.design.base import Array, Design


class SparseDesign(Design):
    """CSC or CSR as it is; other formats are converted to CSC once.

    Columns of a CSC matrix are reached at once; of a CSR matrix by a scan of its indices.
    """

    def __init__(self, A: Any) -> None:
        if A.ndim == 2 and A.format not in ("csc", "csr"):
            A = A.tocsc()
        super().__init__(A.shape, A.dtype)
        self.A = canonical(A)
        # Neither transposition copies the entries.
        self._AT = self.A.T

    def columns(self, J: Array | slice) -> Array:
        return self.A[:, J].toarray()

    def matvec(self, x: Array) -> Array:
        return self.A @ x

    def rmatmat(self, V: Array) -> Array:
        if self.dtype.kind == "c":
            return np.asfortranarray((self._AT @ V.conj()).conj())
        return np.asfortranarray(self._AT @ V)

    def _square_sums(self) -> Array:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            squares = self.A.data.real**2 + self.A.data.imag**2
        return np.bincount(places(self.A)[1], weights=squares, minlength=self.shape[1])


class ShiftedSparseDesign(SparseDesign):
    """The matrix S - u bᵀ: sparse, but for a matrix of rank one, which centring takes away.

    It is dense, but never made: a column is that of S less a multiple of u, a product that with S
    less a multiple of u or b.

    Parameters
    ----------
    S : scipy.sparse matrix or array of shape (n, m)
        Real, in compressed columns or rows.
    u : ndarray of shape (n,)
        What multiples are taken away of.
    b : ndarray of shape (m,)
        How much of it each column loses.
    norms : ndarray of shape (m,)
        The norms of the columns of S - u bᵀ. They are to be given because whoever shifts knows
        them without the cancellation of ‖s_j‖² - …; a column of norm 0 must be 0 in S and b, too.
    """

    def __init__(self, S: Any, u: Array, b: Array, norms: Array) -> None:
        super().__init__(S)
        self.u = u.astype(self.dtype, copy=False)
        self.b = b.astype(self.dtype, copy=False)
        self._measured = self._with_norms(norms.astype(np.float64, copy=False))

    def columns(self, J: Array | slice) -> Array:
        block = super().columns(J)
        block -= np.multiply.outer(self.u, self.b[J])
        return block

    def matvec(self, x: Array) -> Array:
        return super().matvec(x) - self.u * (self.b @ x)

    def rmatmat(self, V: Array) -> Array:
        products = super().rmatmat(V)
        products -= np.multiply.outer(self.b, self.u @ V)
        return products

    def _square_sums(self) -> Array:
        return self.sq_norms()


def canonical(A: Any) -> Any:
    """The same matrix without duplicate entries, which would spoil sums of squares."""
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    return A


def places(A: Any) -> tuple[Array, Array]:
    """Row and column of each stored entry of a CSR or CSC matrix."""
    outer = np.repeat(np.arange(len(A.indptr) - 1), np.diff(A.indptr))
    return (outer, A.indices) if A.format == "csr" else (A.indices, outer)
