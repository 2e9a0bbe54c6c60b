"""A as anything that can apply itself and its adjoint: scipy's LinearOperator, PyLops, ..."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.design.base import Array, Design, working_type
from sparsewise.errors import InputError, InputTypeError


class OperatorDesign(Design):
    """An object with ``shape``, ``matvec`` and ``rmatvec``.

    Parameters
    ----------
    operator : object
        The operator; ``dtype`` is used where it has one.
    norms : array-like of shape (m,) or float, optional
        ‖a_j‖ where they are known (often 1). Otherwise every column is made once to measure it,
        which costs m applications of the operator.
    rows : float, optional
        How many measurements the rows stand for; None: one each.
    """

    applied = True

    def __init__(
        self,
        operator: Any,
        *,
        norms: ArrayLike | float | None = None,
        rows: float | None = None,
    ) -> None:
        shape = tuple(operator.shape)
        super().__init__(shape, np.dtype(np.float64), rows=rows)
        self.operator = operator
        self.dtype = self._float_type()
        self.rmatvec(np.zeros(self.shape[0], self.dtype))  # better to fail now than after work
        if norms is not None:
            self._measured = self._with_norms(self._checked(norms))

    def columns(self, J: Array | slice) -> Array:
        wanted = range(self.shape[1])[J] if isinstance(J, slice) else J
        out = np.empty((self.shape[0], len(wanted)), self.dtype, order="F")
        unit = np.zeros(self.shape[1], self.dtype)
        for i, j in enumerate(wanted):
            unit[j] = 1
            out[:, i] = self.matvec(unit.copy())
            unit[j] = 0
        return out

    def matvec(self, x: Array) -> Array:
        return self._real_or_complex(self.operator.matvec, x)

    def rmatvec(self, v: Array) -> Array:
        try:
            return self._real_or_complex(self.operator.rmatvec, v)
        except NotImplementedError:
            raise InputTypeError(
                "The operator has no adjoint", "give it an rmatvec that computes A* v."
            ) from None

    def rmatmat(self, V: Array) -> Array:
        out = np.empty((self.shape[1], V.shape[1]), np.result_type(self.dtype, V), order="F")
        for i in range(V.shape[1]):
            out[:, i] = self.rmatvec(V[:, i])
        return out

    def _real_or_complex(self, product: Any, v: Array) -> Array:
        """The product; a real operator sees the parts of a complex vector one by one."""
        if v.dtype.kind == "c" and self.dtype.kind != "c":
            return np.ravel(product(v.real.copy())) + 1j * np.ravel(product(v.imag.copy()))
        return np.ravel(product(v))

    def _float_type(self) -> np.dtype[Any]:
        """The operator's own type, or that of its first column where it has none."""
        kind = getattr(self.operator, "dtype", None)
        if kind is None:
            kind = np.asarray(self.operator.matvec(np.eye(1, self.shape[1])[0])).dtype
        return working_type(np.dtype(kind), "A")

    def _checked(self, norms: ArrayLike | float) -> Array:
        values = np.broadcast_to(np.asarray(norms, np.float64), self.shape[1]).copy()
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise InputError(
                "must be finite and at least 0, one for each column.", parameter="norms"
            )
        return values
