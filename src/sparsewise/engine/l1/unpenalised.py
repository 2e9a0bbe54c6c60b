"""Unpenalised columns, projected out of a problem."""

from __future__ import annotations

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import lstsq
from sparsewise.problem.problem import Problem


class Unpenalised:
    """Unpenalised columns: projected out of all else, and fitted by least squares at the end.

    Parameters
    ----------
    data : Problem
        Design and target.
    columns : ndarray of int
        The unpenalised columns.
    dtype : dtype
        The data type to work in.
    """

    def __init__(self, data: Problem, columns: Array, dtype: np.dtype[np.generic]) -> None:
        from scipy.linalg import orth

        self.columns = columns
        self.unit = data.unit_columns(columns).astype(dtype, copy=False)
        self._basis = orth(self.unit) if columns.size else self.unit

    def projected_out(self, v: Array) -> Array:
        """A vector, or each column of a matrix, less its projection onto these columns."""
        return v - self._basis @ (self._basis.conj().T @ v) if self.columns.size else v

    def coef(self, rest: Array) -> Array:
        """Their least-squares coefficients for this target."""
        return lstsq(self.unit, rest)
