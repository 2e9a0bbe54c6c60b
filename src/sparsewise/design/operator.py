"""A as anything that can apply itself and its adjoint: scipy's LinearOperator, PyLops, ..."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.design.base import Array, Design, precision, working_type
from sparsewise.errors import InputError, InputTypeError

FAITHFUL = 1e-2
"""Share of its usual size by which an adjoint may be off: some work in lower precision inside."""


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
        super().__init__(_shape(operator), np.dtype(np.float64), rows=rows)
        self.operator = operator
        self.dtype = self._float_type()
        # Better to fail now than after work; columns are compared with what it says of this vector.
        self._probe = irregular(self.shape[0], self.dtype)
        self._answer = self.rmatvec(self._probe)
        if norms is not None:
            self._measured = self._with_norms(self._checked(norms))

    def columns(self, J: Array | slice) -> Array:
        wanted = range(self.shape[1])[J] if isinstance(J, slice) else J
        out = np.empty((self.shape[0], len(wanted)), self.dtype, order="F")
        unit = np.zeros(self.shape[1], self.dtype)
        for i, j in enumerate(wanted):
            unit[j] = 1
            out[:, i] = self.matvec(unit)
            unit[j] = 0
        self._compare(out, self._answer[J])
        return out

    def matvec(self, x: Array) -> Array:
        return self._product("matvec", x, self.shape[0])

    def rmatvec(self, v: Array) -> Array:
        return self._product("rmatvec", v, self.shape[1])

    def rmatmat(self, V: Array) -> Array:
        out = np.empty((self.shape[1], V.shape[1]), np.result_type(self.dtype, V), order="F")
        for i in range(V.shape[1]):
            out[:, i] = self.rmatvec(V[:, i])
        return out

    def _product(self, name: str, v: Array, size: int) -> Array:
        """The product; a real operator sees the parts of a complex vector one by one."""
        if v.dtype.kind == "c" and self.dtype.kind != "c":
            return self._apply(name, v.real, size) + 1j * self._apply(name, v.imag, size)
        return self._apply(name, v, size)

    def _apply(self, name: str, v: Array, size: int) -> Array:
        """What the operator makes of a vector: finite numbers of its type, so many of them."""
        result = self._call(name, v)
        if result.size != size:
            raise self._at_fault(name, f"returned shape {result.shape}, not ({size},)")
        if result.dtype.kind not in ("biufc" if self.dtype.kind == "c" else "biuf"):
            raise self._at_fault(name, f"returned {result.dtype}, though its type is {self.dtype}")
        with np.errstate(over="ignore", invalid="ignore"):
            values = result.astype(self.dtype).ravel()
            suspicious = not np.isfinite(values.sum())
        if suspicious and not np.isfinite(values).all():
            raise self._at_fault(name, "returned NaN or infinity")
        return values

    def _call(self, name: str, v: Array) -> Array:
        """What the operator returns for a copy of the vector; what it raises is told as its own."""
        try:
            return np.asarray(getattr(self.operator, name)(v.copy()))
        except NotImplementedError:
            raise InputTypeError(
                "The operator has no adjoint", "give it an rmatvec that computes A* v."
            ) from None
        except (InputError, MemoryError):
            raise
        except Exception as error:
            told = " ".join(str(error).split()).rstrip(".")
            raise self._at_fault(name, f"raised {type(error).__name__} ({told})") from error

    def _at_fault(self, name: str, what: str) -> InputError:
        return InputError(
            f"is an operator whose {name} {what}",
            "its products must be finite numbers, one for each row or column.",
            parameter="A",
        )

    def _compare(self, columns: Array, answer: Array) -> None:
        """Refuse columns of which the adjoint has told something else."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            off = np.abs(self._probe @ columns.conj() - answer)
            allowed = FAITHFUL * np.abs(columns).mean(axis=0) + float(precision(self.dtype).tiny)
            lies = bool((off > allowed).any())
        if lies:
            raise InputError(
                "is an operator whose rmatvec is not the adjoint of its matvec",
                "⟨A x, v⟩ must be ⟨x, A* v⟩ for all x and v.",
                parameter="A",
            )

    def _float_type(self) -> np.dtype[Any]:
        """The operator's own type, or that of its first column where it has none."""
        kind = getattr(self.operator, "dtype", None)
        if kind is None:
            kind = self._call("matvec", np.eye(1, self.shape[1])[0]).dtype
        return working_type(np.dtype(kind), "A")

    def _checked(self, norms: ArrayLike | float) -> Array:
        values = np.broadcast_to(np.asarray(norms, np.float64), self.shape[1]).copy()
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise InputError(
                "must be finite and at least 0, one for each column.", parameter="norms"
            )
        return values


def irregular(n: int, dtype: np.dtype[Any]) -> Array:
    """A vector of norm one that no column has any business with."""
    v = np.cos(np.arange(1.0, n + 1) ** 1.5)
    return (v / np.linalg.norm(v)).astype(dtype)


def _shape(operator: Any) -> Any:
    """The shape that an operator states, in whole numbers of at least 0."""
    try:
        shape = tuple(map(index, operator.shape))
    except TypeError:
        shape = (-1,)
    if min(shape, default=0) < 0:
        raise InputError(
            f"is an operator of shape {operator.shape!r}",
            "it must state its numbers of rows and columns.",
            parameter="A",
        )
    return shape
