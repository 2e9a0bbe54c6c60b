"""A as a scipy.sparse matrix or array, in compressed columns or rows."""

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
        if not A.has_canonical_format:  # duplicate entries would spoil the sums of squares
            A = A.copy()
            A.sum_duplicates()
        self.A = A
        # Neither transposition copies the entries.
        self._AT = A.T

    def columns(self, J: Array | slice) -> Array:
        return self.A[:, J].toarray()

    def matvec(self, x: Array) -> Array:
        self.passes += 1
        return self.A @ x

    def rmatmat(self, V: Array) -> Array:
        self.passes += 1
        if self.dtype.kind == "c":
            return np.asfortranarray((self._AT @ V.conj()).conj())
        return np.asfortranarray(self._AT @ V)

    def _square_sums(self) -> Array:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            squares = self.A.data.real**2 + self.A.data.imag**2
        columns = self.A.indices if self.A.format == "csr" else self._column_of_entry()
        return np.bincount(columns, weights=squares, minlength=self.shape[1])

    def _column_of_entry(self) -> Array:
        return np.repeat(np.arange(self.shape[1]), np.diff(self.A.indptr))
