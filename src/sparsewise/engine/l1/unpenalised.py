"""Columns that cost nothing, taken out of a problem."""

from __future__ import annotations

import numpy as np

from sparsewise._typing import Array
from sparsewise.problem.problem import Problem


class Unpenalised:
    """Columns that cost nothing: projected out of all else, and fitted at the end.

    Parameters
    ----------
    data : Problem
        Design and target.
    columns : ndarray of int
        The columns that cost nothing.
    dtype : dtype
        The type to work in.
    """

    def __init__(self, data: Problem, columns: Array, dtype: np.dtype[np.generic]) -> None:
        from scipy.linalg import orth

        self.columns = columns
        self.unit = data.unit_columns(columns).astype(dtype, copy=False)
        self._basis = orth(self.unit) if columns.size else self.unit

    def projected_out(self, v: Array) -> Array:
        """What they leave of a vector, or of each column of a matrix."""
        return v - self._basis @ (self._basis.conj().T @ v) if self.columns.size else v

    def coef(self, rest: Array) -> Array:
        """The coefficients with which they fit this best."""
        if not self.columns.size:
            return np.zeros(0, rest.dtype)
        return np.asarray(np.linalg.lstsq(self.unit, rest, rcond=None)[0])
