"""A as any object with matvec and rmatvec: scipy's LinearOperator, PyLops, ..."""

from __future__ import annotations

import threading
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.design.base import Design, not_adjoint, precision, scaled_norms, working_type
from sparsewise.errors import InputError, InputTypeError

ADJOINT_TOL = 1e-2
"""Relative error allowed in an adjoint: some operators compute in lower precision internally."""


class _Made(threading.local):
    """Designs hold no counters, since threads share them: a thread counts what it makes."""

    products = 0


_made = _Made()


def products_made() -> int:
    """How many products with operators this thread has made, those for single columns among them.

    A real operator makes two of a complex vector.
    """
    return _made.products


class OperatorDesign(Design):
    """An object with ``shape``, ``matvec`` and ``rmatvec``.

    Parameters
    ----------
    operator : object
        The operator; its ``dtype`` is used if it has one.
    norms : array-like of shape (m,) or float, optional
        ‖a_j‖ of every column, or one number for all, if known (often 1). Otherwise algorithms that
        need norms compute every column once, which costs m applications of the operator. Given
        norms are checked against the adjoint, against three columns now, and against every column
        computed later.
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
        # Fail early. Columns computed later are compared with this product.
        self._probe = irregular(self.shape[0], self.dtype)
        self._answer = self.rmatvec(self._probe)
        if norms is not None:
            self._given_norms = self._checked(norms)
            self._measured = self._with_norms(self._given_norms)
            last = self.shape[1] - 1
            self.columns(np.unique([0, last // 2, last]))

    def columns(self, J: Array | slice) -> Array:
        indices = range(self.shape[1])[J] if isinstance(J, slice) else J
        out = np.empty((self.shape[0], len(indices)), self.dtype, order="F")
        unit = np.zeros(self.shape[1], self.dtype)
        for i, j in enumerate(indices):
            unit[j] = 1
            out[:, i] = self.matvec(unit)
            unit[j] = 0
        self._compare(out, self._answer[J])
        if self._given_norms is not None:
            self._check_norms(np.arange(self.shape[1])[J], scaled_norms(out))
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
        """The product; a real operator is applied to real and imaginary parts separately."""
        if v.dtype.kind == "c" and self.dtype.kind != "c":
            return self._apply(name, v.real, size) + 1j * self._apply(name, v.imag, size)
        return self._apply(name, v, size)

    def _apply(self, name: str, v: Array, size: int) -> Array:
        """The product, checked: `size` finite numbers of the operator's type."""
        result = self._call(name, v)
        if result.size != size:
            raise self._failed(name, f"returned shape {result.shape}, not ({size},)")
        if result.dtype.kind not in ("biufc" if self.dtype.kind == "c" else "biuf"):
            raise self._failed(name, f"returned {result.dtype}, though its type is {self.dtype}")
        with np.errstate(over="ignore", invalid="ignore"):
            values = result.astype(self.dtype).ravel()
            suspicious = not np.isfinite(values.sum())
        if suspicious and not np.isfinite(values).all():
            raise self._failed(name, "returned NaN or infinity")
        return values

    def _call(self, name: str, v: Array) -> Array:
        """The product with a copy of v; its exceptions become an `InputError` that names them."""
        _made.products += 1
        try:
            return np.asarray(getattr(self.operator, name)(v.copy()))
        except NotImplementedError:
            raise InputTypeError(
                "The operator has no adjoint", "give it an rmatvec that computes A* v."
            ) from None
        except (InputError, MemoryError):
            raise
        except Exception as error:
            message = " ".join(str(error).split()).rstrip(".")
            raise self._failed(name, f"raised {type(error).__name__} ({message})") from error

    def _failed(self, name: str, what: str) -> InputError:
        return InputError(
            f"is an operator whose {name} {what}",
            "its products must be finite numbers, one for each row or column.",
            parameter="A",
        )

    def _compare(self, columns: Array, answer: Array) -> None:
        """Raise an error if columns contradict the adjoint's products with the probe."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            off = np.abs(self._probe @ columns.conj() - answer)
            allowed = ADJOINT_TOL * np.abs(columns).mean(axis=0) + float(precision(self.dtype).tiny)
            contradicts = bool((off > allowed).any())
        if contradicts:
            raise not_adjoint()

    def _check_norms(self, J: Array, norms: Array) -> None:
        """Raise an error if columns have other norms than given."""
        assert self._given_norms is not None
        claimed = self._given_norms[J]
        allowed = ADJOINT_TOL * np.maximum(norms, claimed) + float(precision(self.dtype).tiny)
        off = np.abs(norms - claimed) > allowed
        if off.any():
            at = int(np.argmax(off))
            raise _wrong_norm(J[at], claimed[at], f"{norms[at]:.6g}")

    def _float_type(self) -> np.dtype[Any]:
        """The operator's dtype, or that of its first column if it has none."""
        kind = getattr(self.operator, "dtype", None)
        if kind is None:
            kind = self._call("matvec", np.eye(1, self.shape[1])[0]).dtype
        return working_type(np.dtype(kind), "A")

    def _checked(self, norms: ArrayLike | float) -> Array:
        """One norm per column, checked as far as possible without computing any column."""
        m = self.shape[1]
        array = np.asarray(norms)
        if array.dtype.kind not in "biuf":
            raise InputTypeError(
                f"must be real numbers, one for all columns or one for each, not {array.dtype}.",
                parameter="norms",
            )
        if array.shape not in ((), (m,)):
            raise InputError(
                f"must be one number for all columns or {m}, one for each, not of shape "
                f"{array.shape}.",
                parameter="norms",
            )
        values = np.broadcast_to(array, m).astype(np.float64)
        if (bad := np.flatnonzero(~(np.isfinite(values) & (values >= 0)))).size:
            raise InputError(
                f"must be finite and at least 0, but that of column {bad[0]} is "
                f"{values[bad[0]]:.6g}.",
                parameter="norms",
            )
        # For a vector v of norm one, |a_j*v| <= ‖a_j‖.
        least = np.abs(self._answer).astype(np.float64)
        allowed = (1 + ADJOINT_TOL) * values + float(precision(self.dtype).tiny)
        if (low := np.flatnonzero(least > allowed)).size:
            raise _wrong_norm(low[0], values[low[0]], f"at least {least[low[0]]:.6g}")
        return values


def _wrong_norm(j: int, claimed: float, norm: str) -> InputError:
    return InputError(
        f"claims that column {j} has the norm {claimed:.6g}, but it has {norm}",
        "give the norms of the columns as the operator makes them, or none, to have them measured.",
        parameter="norms",
    )


def irregular(n: int, dtype: np.dtype[Any]) -> Array:
    """A unit vector that is unlikely to be orthogonal to any column."""
    v = np.cos(np.arange(1.0, n + 1) ** 1.5)
    return (v / np.linalg.norm(v)).astype(dtype)


def _shape(operator: Any) -> Any:
    """The shape that an operator states, as non-negative integers."""
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
