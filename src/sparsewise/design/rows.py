"""Some rows of an array that is too large to be copied: those of a fold, or those that count."""

from __future__ import annotations

import numpy as np

from sparsewise.design.base import AboutMeans, Array, Design
from sparsewise.design.dense import DenseDesign
from sparsewise.design.shifted import Shifted, array_about_means


class Rows(Design):
    """The rows `at` of a matrix, which stays where it is.

    Parameters
    ----------
    design : DenseDesign or Shifted
        The matrix.
    at : ndarray of int
        The rows, each at most once.
    """

    dense = True

    def __init__(self, design: DenseDesign | Shifted, at: Array) -> None:
        super().__init__((len(at), design.shape[1]), design.dtype, error=design.error)
        self.inner, self.at = design, at

    def columns(self, J: Array | slice) -> Array:
        return self.inner.columns(J)[self.at]

    def row_block(self, rows: slice) -> Array:
        return self.inner.row_block(self.at[rows])

    def matvec(self, x: Array) -> Array:
        return self.inner.matvec(x)[self.at]

    def rmatmat(self, V: Array) -> Array:
        return self.inner.rmatmat(self._spread(V))

    def square_sums(self, weights: Array | None = None) -> Array:
        return self.inner.square_sums(self._counts(weights))

    def about_means(self, weights: Array | None) -> AboutMeans | None:
        if self.dtype.kind == "c":
            return None
        inner, means, norms = array_about_means(self.inner.A, self._counts(weights), self.rows)
        return AboutMeans(Rows(inner, self.at), means, norms)

    def _counts(self, weights: Array | None) -> Array:
        """Weights for all rows: those of others are zero."""
        return self._spread(np.ones(len(self.at)) if weights is None else weights)

    def _spread(self, values: Array) -> Array:
        """What belongs to these rows, with zeros for all others."""
        whole = np.zeros((self.inner.shape[0], *values.shape[1:]), values.dtype, order="F")
        whole[self.at] = values
        return whole
