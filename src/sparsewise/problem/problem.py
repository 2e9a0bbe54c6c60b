"""A design and a target, checked once, frozen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise import kernels
from sparsewise._typing import Array
from sparsewise._util.parameters import check_number, shown
from sparsewise.design import Design, as_design
from sparsewise.design.base import precision
from sparsewise.design.choose import as_floats, is_dask
from sparsewise.design.damped import Damped
from sparsewise.design.dask import DaskDesign
from sparsewise.design.dense import DenseDesign
from sparsewise.design.operator import products_made
from sparsewise.errors import InputError, Parameter
from sparsewise.problem.constraints import ALONE, NO_CONSTRAINTS, Constraints, check_constraints
from sparsewise.problem.partition import Partition
from sparsewise.problem.targets import Targets, independent_rows, unit_target, unit_targets
from sparsewise.suffstats.dask_collections import system
from sparsewise.tolerances import Tolerances, tolerances

MODERATE = (1e-100, 1e100), (1e-10, 1e10)
"""‖y‖ whose quotients with norms are well within the range of double, and of single precision."""


MOST_RIDGE = 1e12
"""Coefficients are shrunk by that: with more, rounding of the target is all that they tell."""

NOTHING: tuple[int, ...] = ()
"""The default of every constraint, of which there is only one: it takes no look to know it."""


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
    """From unit columns and targets of norm one, taken together, back to the data, without them.

    Attributes
    ----------
    scale : float
        The unit of ‖r‖.
    scales : ndarray of shape (q, 1), or None
        The unit of each target; None: there is one, and `scale` is its unit.
    inverse_norms : ndarray of shape (m,)
        1 / ‖a_j‖, or 0 for a column of zeros.
    dtype : dtype
        Of the coefficients.
    moderate : bool
        Whether all products of these are in range.
    """

    scale: float
    scales: Array | None
    inverse_norms: Array
    dtype: np.dtype[Any]
    moderate: bool

    @property
    def each(self) -> tuple[int, ...]:
        """The shape of a coefficient: (), or (q,) where there are several targets."""
        return () if self.scales is None else (len(self.scales),)

    def coef(self, columns: Array, x: Array) -> Array:
        """All coefficients, given those of some unit columns: of shape (m,), or (m, q)."""
        values = self.values(columns, x)
        coef = np.zeros((self.inverse_norms.size, *self.each), self.dtype)
        coef[columns] = values
        return coef

    def values(self, columns: Array, x: Array) -> Array:
        """The coefficients of these columns alone, given with one target a row."""
        factors = self.inverse_norms[columns]
        if self.scales is None:
            return self._products(x.reshape(factors.shape), np.float64(self.scale), factors)
        return self._products(x, self.scales, factors).T

    def _products(self, x: Array, scale: Any, factors: Array) -> Array:
        """x · scale · factors, or an error if that is out of range."""
        if self.moderate:
            return np.asarray(x * (scale * factors), self.dtype)
        with np.errstate(over="ignore", under="ignore"):
            values = product(x, scale, factors).astype(self.dtype)
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


@dataclass(slots=True)
class Passes:
    """How many times A has been read from end to end, and how many products that took.

    Attributes
    ----------
    count : int
        So many times: products A x and A* V, and what measures the norms.
    condensed : bool
        Whether A was read for its triangle: reading that is no pass over A.
    begun : bool
        Whether some model of the problem was begun.
    made_before : int
        Products with operators made before, by this thread.
    """

    count: int = 0
    condensed: bool = False
    begun: bool = False
    made_before: int = field(default_factory=products_made)

    def add(self, passes: int = 1) -> None:
        """Count what was read."""
        self.count += 0 if self.condensed else passes

    @property
    def products(self) -> int:
        """Products with an operator that were made since, to make its columns among them."""
        return products_made() - self.made_before


class Problem(NamedTuple):
    """min ‖y - A x‖² + ridge ‖z‖² over sparse x, in units that suit the arithmetic.

    Columns are scaled to unit norm and y to norm one wherever the engine meets them, so that
    every tolerance is a pure number and no scale of the data matters. Several targets are brought
    to norm one together, each with its weight: Σ_t‖y_t‖² = 1.

    The ridge term is of the coefficients of unit columns, z_j = ‖a_j‖ x_j: a pure number, the
    same whatever the units of y and of the columns. A ridge of 1 halves the coefficient of a
    column that is alone. With it the fit is A_S (A_S*A_S + ridge I)⁻¹ A_S* y (unit columns), and
    the trace of that matrix its degrees of freedom, df.

    Steps lower the penalised objective ‖r‖² + ridge ‖z‖², of which they are the greedy steps;
    criteria judge a model by the loss ‖r‖² and df, since ‖r‖² + 2 σ² df is an unbiased estimate
    of the error of prediction for any linear fit (Mallows 1973, Stein 1981), while the penalty is
    no error of anything.

    Attributes
    ----------
    design : Design
        A, where it lies.
    Y : ndarray of shape (q, n)
        One target a row, in the working type, Σ_t‖y_t‖² = 1.
    scale : float
        The unit of ‖r‖: ‖y‖, or 1 if y is zero. Of several targets, the root mean square of
        `noise_scales`, so that q copies of a target have the scale of one.
    scales : ndarray of shape (q, 1), or None
        The unit of each row of Y, where there are several targets; 1 for one of zeros.
    is_zero : bool
        Whether y is zero, so that there is nothing to explain.
    inverse_norms : ndarray of shape (m,)
        1 / ‖a_j‖, or 0 for a column of zeros; in the working precision. Of an operator, where
        nothing but units depends on it, ‖a_j‖ may be rough (`Design.in_rough_units`).
    passes : Passes
        How often A was read for this problem; a design may serve others at the same time.
    ridge : float
        What a squared coefficient of a unit column costs.
    constraints : Constraints
        Columns that a model must have, must not have, and begins with.
    partition : Partition
        Which columns come and go together.
    """

    design: Design
    Y: Array
    scale: float
    scales: Array | None
    is_zero: bool
    inverse_norms: Array
    passes: Passes
    ridge: float = 0.0
    constraints: Constraints = NO_CONSTRAINTS
    partition: Partition = ALONE

    @property
    def y(self) -> Array:
        """The target, where it is one."""
        (y,) = self.Y
        return y

    @property
    def own_targets(self) -> Array | Targets:
        """What another algorithm takes as y beside `design`: the same, but for the unit."""
        return self.y if self.scales is None else Targets(self.Y.T, np.ones(len(self.Y)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The working type."""
        return self.Y.dtype

    @property
    def is_complex(self) -> bool:
        """Whether the data are complex."""
        return self.Y.dtype.kind == "c"

    def constrained(self, **constraints: Any) -> Problem:
        """The same under other constraints: see `Constraints`."""
        checked = check_constraints(self.shape[1], partition=self.partition, **constraints)
        return self._replace(constraints=checked)

    @property
    def augmented(self) -> Problem:
        """The same as plain least squares, on [A; √ridge I] (unit columns) and zeros below y."""
        if not self.ridge:
            return self
        design = Damped(self.design, self.ridge)
        Y = np.pad(self.Y, ((0, 0), (0, self.shape[1])))
        return self._replace(design=design, Y=Y, inverse_norms=design.inverse_norms(), ridge=0.0)

    @property
    def targets(self) -> int:
        """q: how many targets there are; those of zeros don't count."""
        return 1 if self.scales is None else max(int(self.Y.any(axis=1).sum()), 1)

    @property
    def independent_targets(self) -> float:
        """How many independent targets tell as much: 1 for copies of one, q if all are orthogonal.

        Of targets that have much in common, so may their noise.
        """
        return independent_rows(self.Y)

    @property
    def noise_scales(self) -> Array:
        """The unit, in each target, of noise that is equal for all rows of Y; 0 for one of zeros.

        Their root mean square is `scale`.
        """
        if self.scales is None:
            return np.array([self.scale])
        return self.scales[:, 0] * self.Y.any(axis=1) / math.sqrt(self.targets)

    def unit_coef(self, coef: Array, columns: Array) -> Array:
        """Of all coefficients those of some columns, scaled to unit norm: one target a row."""
        norms = self.design.norms()[columns]
        x = coef[columns].T.reshape(len(self.Y), columns.size)
        return product(x, norms, divisor=self.scale if self.scales is None else self.scales)

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

    def begin(self) -> None:
        """Before the first kernel is called: whether this problem waits for the compiler.

        A problem counts once, however many models of it are made.
        """
        if not self.passes.begun:
            self.passes.begun = True
            kernels.COMPILATION.begin(*self.shape)

    def in_rows_of(self, design: Design, Y: Array) -> Problem:
        """The same problem in other rows of the same inner products; their passes are not A's."""
        self.begin()
        inverse = design.inverse_norms()
        passes = Passes(begun=True, made_before=self.passes.made_before)
        return self._replace(design=design, Y=Y, inverse_norms=inverse, passes=passes)

    # What reads A, counted.

    def correlate(self, r: Array) -> Array:
        """u_j* r for every unit column u_j: one pass over A."""
        self.passes.add()
        return self.design.rmatvec(r) * self.inverse_norms

    def correlate_rows(self, R: Array) -> Array:
        """u_j* r for every unit column u_j and each row r of R, one row for each."""
        if len(R) == 1:  # a product with one vector is quicker
            return self.correlate(R[0])[None]
        return self.rmatmat_rows(R) * self.inverse_norms

    def rmatmat_rows(self, V: Array) -> Array:
        """A* v for each row v of V, one row for each; see `rmatmat`."""
        return np.ascontiguousarray(self.rmatmat(V.T).T)

    def rmatvec(self, v: Array) -> Array:
        """A* v: one pass over A."""
        self.passes.add()
        return self.design.rmatvec(v)

    def rmatmat(self, V: Array) -> Array:
        """A* V: one pass over A."""
        self.passes.add()
        return self.design.rmatmat(V)

    def matvec(self, x: Array) -> Array:
        """A x: one pass over A."""
        self.passes.add()
        return self.design.matvec(x)

    def unit_columns(self, J: Array | slice) -> Array:
        """The columns J scaled to unit norm: no pass, but a product each with an operator."""
        return self.design.unit_columns(J)

    @property
    def units(self) -> Units:
        """The way back to the units of the data."""
        # Squares of the norms are in range, and so is that of ‖y‖: so are their quotients.
        low, high = MODERATE[self.dtype.char in "fF"]
        least = most = self.scale
        if self.scales is not None:
            least, most = float(self.scales.min()), float(self.scales.max())
        moderate = low < least and most < high and not self.design.measured.extreme
        return Units(self.scale, self.scales, self.inverse_norms, self.dtype, moderate)


def problem(
    A: Any,
    y: ArrayLike | Targets,
    *,
    multi_target: bool = False,
    approximate_norms: bool = False,
    ridge: float = 0.0,
    include: Iterable[int] | None = NOTHING,
    exclude: Iterable[int] | None = NOTHING,
    start: Iterable[int] | None = NOTHING,
    locked: Iterable[int] | None = NOTHING,
) -> Problem:
    """Check a design and a target, or several of them, and bring them together.

    `approximate_norms`: the norms of columns serve as units alone, and may be estimates.
    ``start=None`` stands for all columns; for a target of zeros, for none. The others are as in
    `Problem` and `Constraints`.
    """
    ridge = check_ridge(ridge)
    passes = Passes()
    Y, weights = (y.Y, y.weights) if isinstance(y, Targets) else (y, None)
    if type(A) is np.ndarray:
        design: Design = DenseDesign(as_floats(A, "A"), once=True)
    elif type(A) is DenseDesign:  # before what takes longer to tell
        design = A
    elif is_dask(A) or isinstance(A, DaskDesign):
        design, Y = system(A, Y)
        passes = Passes(count=int(design.dense), condensed=design.dense)
    else:
        design = as_design(A)
    if approximate_norms:
        design = design.in_rough_units()
    passes.add(design.passes_to_measure)
    target = as_floats(Y, "y")
    dtype = design.dtype
    if target.dtype.kind == "c" and dtype.kind != "c":
        dtype = np.result_type(dtype, np.complex64)
    unit = unit_targets if multi_target and target.ndim == 2 else unit_target
    targets = unit(target, weights, design.shape[0], dtype)
    constraints = NO_CONSTRAINTS
    if not (include is exclude is start is locked is NOTHING):
        m, is_zero = design.shape[1], targets[-1]
        first = NOTHING if is_zero else range(m) if start is None else start
        constraints = check_constraints(
            m, include=include, exclude=exclude, start=first, locked=locked
        )
    return Problem(design, *targets, design.inverse_norms(), passes, ridge, constraints)


def check_ridge(value: float) -> float:
    """A number from 0 to `MOST_RIDGE`."""
    if type(value) is float and 0 <= value <= MOST_RIDGE:
        return value
    ridge = check_number(value, "ridge")
    if not 0 <= ridge <= MOST_RIDGE:
        raise InputError(
            f"must be at least 0 and at most {MOST_RIDGE:.0e}, not {shown(value)}",
            "a ridge of 1 halves the coefficient of a lone column.",
            parameter="ridge",
        )
    return ridge


def problem_of(A: Any, y: ArrayLike | Targets, coef: Array, ridge: float = 0.0) -> Problem:
    """The problem that has these coefficients: of one target, or of as many as y has."""
    data = problem(A, y, multi_target=True, ridge=ridge)
    if coef.shape[1:] != data.units.each:
        here, there = (
            f"{each[0]} targets" if each else "one" for each in (data.units.each, coef.shape[1:])
        )
        raise InputError(
            f"has {here}, but the coefficients are those of {there}",
            "pass y as the algorithm got it.",
            parameter="y",
        )
    return data


def product(first: Array, *others: Array | float, divisor: Array | float = 1.0) -> Array:
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
