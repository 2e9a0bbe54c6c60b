"""A with each row multiplied by the square root of its weight."""

from __future__ import annotations

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import Design, precision
from sparsewise.errors import InputError


class Weighted(Design):
    """The matrix diag(root) A for any design A; only the roots are stored.

    Weighted least squares is ordinary least squares with rows times √w: noise of variance σ²/w_i
    then has variance σ² in every row.

    Parameters
    ----------
    design : Design
        A.
    root : ndarray of shape (n,)
        √w, real.
    rows : float, optional
        How many measurements the rows stand for (Σ w where a weight is how often a row is there);
        None: as many as A has.
    """

    def __init__(self, design: Design, root: Array, *, rows: float | None = None) -> None:
        if root.shape != design.shape[:1]:
            raise InputError(
                f"must have shape ({design.shape[0]},), one entry per row, not {root.shape}.",
                parameter="root",
            )
        rows = design.rows if rows is None else rows
        super().__init__(design.shape, design.dtype, rows=rows, error=design.error)
        self.inner, self.is_operator, self.dense = design, design.is_operator, design.dense
        self.root = root.astype(precision(self.dtype).dtype, copy=False)

    def columns(self, J: Array | slice) -> Array:
        return self.inner.columns(J) * self.root[:, None]

    def row_block(self, rows: slice) -> Array:
        return self.inner.row_block(rows) * self.root[rows, None]

    def matvec(self, x: Array) -> Array:
        return self.inner.matvec(x) * self.root

    def rmatmat(self, V: Array) -> Array:
        return self.inner.rmatmat(V * self.root[:, None])

    def square_sums(self, weights: Array | None = None) -> Array:
        own = np.square(self.root)
        return self.inner.square_sums(own if weights is None else own * weights)
