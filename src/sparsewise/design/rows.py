"""A subset of rows without a copy: those of a fold, or with positive weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import AboutMeans, Design


class Rows(Design):
    """The rows `at` of a matrix that is not copied.

    Parameters
    ----------
    design : Design
        The matrix, whose `row_block` accepts row numbers: an array, local or on workers.
    at : ndarray of int
        The rows, each at most once.
    """

    def __init__(self, design: Design, at: Array) -> None:
        super().__init__((len(at), design.shape[1]), design.dtype, error=design.error)
        self.inner, self.at, self.dense = design, at, design.dense

    def columns(self, J: Array | slice) -> Array:
        return self.inner.columns(J)[self.at]

    def row_block(self, rows: slice) -> Array:
        at: Any = self.at[rows]
        return self.inner.row_block(at)

    def matvec(self, x: Array) -> Array:
        return self.inner.matvec(x)[self.at]

    def rmatmat(self, V: Array) -> Array:
        return self.inner.rmatmat(self._spread(V))

    def square_sums(self, weights: Array | None = None) -> Array:
        return self.inner.square_sums(self._counts(weights))

    def about_means(self, weights: Array | None) -> AboutMeans | None:
        about = self.inner.about_means(self._counts(weights))
        return about and about._replace(design=Rows(about.design, self.at))

    def _counts(self, weights: Array | None) -> Array:
        """Weights for all rows, zero for the others."""
        return self._spread(np.ones(len(self.at)) if weights is None else weights)

    def _spread(self, values: Array) -> Array:
        """The values of these rows, with zeros for all others."""
        full = np.zeros((self.inner.shape[0], *values.shape[1:]), values.dtype, order="F")
        full[self.at] = values
        return full
