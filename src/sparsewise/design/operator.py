"""A as anything that can apply itself and its adjoint: scipy's LinearOperator, PyLops, ..."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.design.base import Design, not_adjoint, precision, scaled_norms, working_type
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
        ‖a_j‖ of every column, or of all, where they are known (often 1). Otherwise algorithms that
        need them make every column once to measure it, which costs m applications of the operator.
        What is claimed is held against what the adjoint tells of each column, against three columns
        now, and against every column that is made later.
    rows : float, optional
        How many measurements the rows stand for; None: one each.
    """

    is_operator = True

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
            self._claimed = self._checked(norms)
            self._measured = self._with_norms(self._claimed)
            last = self.shape[1] - 1
            self.columns(np.unique([0, last // 2, last]))

    def columns(self, J: Array | slice) -> Array:
        wanted = range(self.shape[1])[J] if isinstance(J, slice) else J
        out = np.empty((self.shape[0], len(wanted)), self.dtype, order="F")
        unit = np.zeros(self.shape[1], self.dtype)
        for i, j in enumerate(wanted):
            unit[j] = 1
            out[:, i] = self.matvec(unit)
            unit[j] = 0
        self._compare(out, self._answer[J])
        if self._claimed is not None:
            self._hold_to_claim(np.arange(self.shape[1])[J], scaled_norms(out))
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
            raise not_adjoint()

    def _hold_to_claim(self, J: Array, norms: Array) -> None:
        """Refuse columns of other norms than was claimed."""
        assert self._claimed is not None
        claimed = self._claimed[J]
        allowed = FAITHFUL * np.maximum(norms, claimed) + float(precision(self.dtype).tiny)
        off = np.abs(norms - claimed) > allowed
        if off.any():
            at = int(np.argmax(off))
            raise _wrong_claim(J[at], claimed[at], f"{norms[at]:.6g}")

    def _float_type(self) -> np.dtype[Any]:
        """The operator's own type, or that of its first column where it has none."""
        kind = getattr(self.operator, "dtype", None)
        if kind is None:
            kind = self._call("matvec", np.eye(1, self.shape[1])[0]).dtype
        return working_type(np.dtype(kind), "A")

    def _checked(self, norms: ArrayLike | float) -> Array:
        """One norm for each column, as far as that can be told without making any."""
        m = self.shape[1]
        given = np.asarray(norms)
        if given.dtype.kind not in "biuf":
            raise InputTypeError(
                f"must be real numbers, one for all columns or one for each, not {given.dtype}.",
                parameter="norms",
            )
        if given.shape not in ((), (m,)):
            raise InputError(
                f"must be one number for all columns or {m}, one for each, not of shape "
                f"{given.shape}.",
                parameter="norms",
            )
        values = np.broadcast_to(given, m).astype(np.float64)
        if (bad := np.flatnonzero(~(np.isfinite(values) & (values >= 0)))).size:
            raise InputError(
                f"must be finite and at least 0, but that of column {bad[0]} is "
                f"{values[bad[0]]:.6g}.",
                parameter="norms",
            )
        # For a vector v of norm one, |a_j*v| <= ‖a_j‖.
        told = np.abs(self._answer).astype(np.float64)
        most = (1 + FAITHFUL) * values + float(precision(self.dtype).tiny)
        if (low := np.flatnonzero(told > most)).size:
            raise _wrong_claim(low[0], values[low[0]], f"at least {told[low[0]]:.6g}")
        return values


def _wrong_claim(j: int, claimed: float, norm: str) -> InputError:
    return InputError(
        f"claims that column {j} has the norm {claimed:.6g}, but it has {norm}",
        "give the norms of the columns as the operator makes them, or none, to have them measured.",
        parameter="norms",
    )


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
