"""A design and a target, checked once, frozen."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.design import Design, as_design
from sparsewise.design.base import Array, near_one, not_finite, precision
from sparsewise.design.choose import as_floats, is_dask
from sparsewise.design.dask import DaskDesign
from sparsewise.distributed import system
from sparsewise.errors import InputError, Parameter
from sparsewise.tolerances import Tolerances, tolerances

MODERATE = (1e-100, 1e100), (1e-10, 1e10)
"""‖y‖ whose quotients with norms are well within the range of double, and of single precision."""


class DependentColumnsError(InputError):
    """Some columns can't be in one model with the others.

    Parameters
    ----------
    columns : list of int
        Those that depend linearly on the ones before them, or are zero.
    wanted : int
        How many columns the model was to start from.

    Attributes
    ----------
    columns : list of int
        Those that depend linearly on the ones before them, or are zero.
    """

    def __init__(self, columns: list[int], wanted: int) -> None:
        names = ", ".join(map(str, columns[:5])) + (", …" if len(columns) > 5 else "")
        wrong = f"The model can't start from these {wanted} columns: {len(columns)} of them "
        wrong += f"({names}) depend linearly on the others or are zero"
        others = "= with the support of forward, say), or use rmp0, foba or forward."
        super().__init__(wrong, ("start from fewer columns (", Parameter("start"), others))
        self.columns, self.wanted = columns, wanted

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.columns, self.wanted)


class Units(NamedTuple):
    """From unit columns and a target of norm one back to the data, without the data."""

    scale: float
    inverse_norms: Array
    dtype: np.dtype[Any]
    moderate: bool

    def coef(self, columns: Array, x: Array) -> Array:
        """All coefficients, given those of some unit columns."""
        coef = np.zeros(self.inverse_norms.size, self.dtype)
        coef[columns] = self.values(columns, x)
        return coef

    def values(self, columns: Array, x: Array) -> Array:
        """The coefficients of these columns alone."""
        factors = self.inverse_norms[columns]
        if self.moderate:
            return np.asarray(x * (np.float64(self.scale) * factors), self.dtype)
        with np.errstate(over="ignore", under="ignore"):
            values = product(x, self.scale, factors).astype(self.dtype)
            real = precision(self.dtype)
            # Below this, what is lost to underflow shows in the fit.
            least = np.abs(x) * (100 * float(real.smallest_subnormal) / float(real.eps) ** 0.5)
        if not np.isfinite(values).all() or np.any(np.abs(values) < least):
            raise InputError(
                f"The coefficients are beyond the range of {self.dtype}",
                "scale A or y." if real.bits == 64 else "pass A as float64, or scale A or y.",
            )
        return values

    def squared(self, rss: float) -> float:
        """A squared residual."""
        return float(rss) * self.scale * self.scale


class Passes:
    """How many times A has been read from end to end (for an operator: applied)."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class OnePass(Passes):
    """A was read once, for its triangle; whatever else is read is read of that."""

    count = property(lambda _: 1, lambda *_: None)


class Problem(NamedTuple):
    """min ‖y - A x‖ over sparse x, in units that suit the arithmetic.

    Columns are scaled to unit norm and y to norm one wherever the engine meets them, so that
    every tolerance is a pure number and no scale of the data matters.

    Attributes
    ----------
    design : Design
        A, where it lies.
    y : ndarray of shape (n,)
        y / ‖y‖, in the working type.
    scale : float
        ‖y‖, or 1 if y is zero.
    is_zero : bool
        Whether y is zero, so that there is nothing to explain.
    inverse_norms : ndarray of shape (m,)
        1 / ‖a_j‖, or 0 for a column of zeros; in the working precision.
    passes : Passes
        How often A was read for this problem; a design may serve others at the same time.
    """

    design: Design
    y: Array
    scale: float
    is_zero: bool
    inverse_norms: Array
    passes: Passes

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of A."""
        return self.design.shape

    @property
    def tolerances(self) -> Tolerances:
        """What rounding, or the error of the data, makes of the numbers that are compared."""
        return self.design.tolerances

    def tolerances_in(self, dtype: np.dtype[Any]) -> Tolerances:
        """The same where these data are worked on, or their coefficients kept, in another type."""
        return tolerances(dtype, self.design.error)

    # What reads A, counted.

    def correlate(self, r: Array) -> Array:
        """u_j* r for every unit column u_j: one pass over A."""
        self.passes.count += 1
        return self.design.rmatvec(r) * self.inverse_norms

    def rmatvec(self, v: Array) -> Array:
        """A* v: one pass over A."""
        self.passes.count += 1
        return self.design.rmatvec(v)

    def rmatmat(self, V: Array) -> Array:
        """A* V: one pass over A; an operator is applied to each column of V."""
        self.passes.count += V.shape[1] if self.design.applied else 1
        return self.design.rmatmat(V)

    def matvec(self, x: Array) -> Array:
        """A x: one pass over A."""
        self.passes.count += 1
        return self.design.matvec(x)

    def unit_columns(self, J: Array | slice) -> Array:
        """The columns J scaled to unit norm; an operator is applied for each of them."""
        columns = self.design.unit_columns(J)
        if self.design.applied:
            self.passes.count += columns.shape[1]
        return columns

    @property
    def units(self) -> Units:
        """The way back to the units of the data."""
        # Squares of the norms are in range, and so is that of ‖y‖: so are their quotients.
        low, high = MODERATE[self.y.dtype.char in "fF"]
        moderate = low < self.scale < high and not self.design.measured.extreme
        return Units(self.scale, self.inverse_norms, self.y.dtype, moderate)


def problem(A: Any, y: ArrayLike) -> Problem:
    """Check a design and a target and bring them together."""
    passes = Passes()
    if is_dask(A) or isinstance(A, DaskDesign):
        design, y = system(A, y)
        passes = OnePass() if design.dense else passes
    else:
        design = as_design(A)
    if not design.is_measured:
        passes.count = design.shape[1] if design.applied else 1
    target = as_floats(y, "y")
    n = design.shape[0]
    if target.shape != (n,):
        wrong = f"must have shape ({n},), one entry per row of A, not {target.shape}"
        if target.size == n:
            raise InputError(wrong, "pass y.ravel().", parameter="y")
        raise InputError(f"{wrong}.", parameter="y")
    y_unit, scale = _unit(target)
    dtype = design.dtype
    if target.dtype.kind == "c" and dtype.kind != "c":
        dtype = np.result_type(dtype, np.complex64)
    y_unit = y_unit.astype(dtype, copy=False)
    return Problem(design, y_unit, scale or 1.0, scale == 0.0, design.inverse_norms(), passes)


def _unit(target: Array) -> tuple[Array, float]:
    """y / ‖y‖ and ‖y‖, without overflow; y itself and 0 if it is zero."""
    inner = target
    if target.dtype.char in "fF":  # whose squares are all in the range of double precision
        inner = target.astype(np.complex128 if target.dtype.kind == "c" else np.float64)
    squared = float(np.vdot(inner, inner).real)
    if 1e-200 < squared < 1e200:
        norm = math.sqrt(squared)
        return inner / norm, norm
    largest = float(np.abs(target).max())
    if not math.isfinite(largest):
        bad = np.flatnonzero(~np.isfinite(target))
        raise not_finite("y", bad.size, f"row {bad[0]}")
    if largest == 0.0:
        return target, 0.0
    inner, power = near_one(target, largest)
    norm = math.sqrt(np.vdot(inner, inner).real)
    with np.errstate(over="ignore"):
        scale = float(np.ldexp(norm, power))
    if scale == math.inf:
        raise InputError(
            f"has a norm beyond the range of {target.dtype}",
            "divide it by a power of ten.",
            parameter="y",
        )
    return inner / norm, scale


def product(first: Array, *others: Array | float, divisor: float = 1.0) -> Array:
    """Numbers times real numbers, in double precision; no partial product has to be in range."""
    if first.dtype.kind == "c":
        out = np.empty(first.shape, np.complex128)
        out.real = product(first.real, *others, divisor=divisor)
        out.imag = product(first.imag, *others, divisor=divisor)
        return out
    mantissa, power = np.frexp(divisor)
    mantissa, power = 1 / mantissa, -power
    for factor in (first, *others):
        part, exponent = np.frexp(np.asarray(factor, np.float64))
        mantissa, power = mantissa * part, power + exponent
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(mantissa, power))
