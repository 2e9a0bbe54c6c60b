"""A with a diagonal below it: least squares on it is ridge regression on A."""

from __future__ import annotations

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import Design, precision


class Damped(Design):
    """The matrix [A; √ridge diag(‖a_j‖)], of whatever design A is; only the diagonal is stored.

    With zeros below y, ‖y - A x‖² + ridge Σ ‖a_j‖²|x_j|² is plain least squares on this matrix,
    so that whatever is known of least squares (certificates, exact searches) holds for ridge
    regression. The rows below A are no measurements: `rows` is that of A.

    Parameters
    ----------
    design : Design
        A.
    ridge : float
        What a squared coefficient of a unit column costs.
    """

    def __init__(self, design: Design, ridge: float) -> None:
        n, m = design.shape
        super().__init__((n + m, m), design.dtype, rows=design.rows, error=design.error)
        self.inner, self.is_operator, self.dense = design, design.is_operator, design.dense
        real = precision(self.dtype).dtype
        self.diagonal = (design.norms() * ridge**0.5).astype(real)
        self._measured = self._with_norms(design.norms() * (1 + ridge) ** 0.5)

    def columns(self, J: Array | slice) -> Array:
        above = self.inner.columns(J)
        below = np.zeros((self.shape[1], above.shape[1]), self.dtype)
        wanted = np.arange(self.shape[1])[J]
        below[wanted, np.arange(wanted.size)] = self.diagonal[wanted]
        return np.concatenate([above, below])

    def matvec(self, x: Array) -> Array:
        return np.concatenate([self.inner.matvec(x), self.diagonal * x])

    def rmatmat(self, V: Array) -> Array:
        n = self.inner.shape[0]
        return self.inner.rmatmat(V[:n]) + self.diagonal[:, None] * V[n:]
