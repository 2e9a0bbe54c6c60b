"""Penalty weights of ℓ1-penalised least squares."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.design.base import precision
from sparsewise.design.choose import as_floats
from sparsewise.errors import InputError, InputTypeError
from sparsewise.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of the penalty Σ w_j |x_j|.

    Attributes
    ----------
    values : ndarray of shape (m,)
        w in the units of the data; 0 for an unpenalised column, infinite for an excluded one.
    unit : ndarray of shape (m,)
        The same for unit columns, w_j / ‖a_j‖, scaled so that the largest finite one is 1.
    top : float
        That scale: the largest finite w_j / ‖a_j‖.
    """

    values: Array
    unit: Array
    top: float

    @cached_property
    def all_penalised(self) -> bool:
        """Whether every column is penalised: none is unpenalised or excluded."""
        return bool(self.unit.min() > 0 and self.unit.max() < np.inf)

    @cached_property
    def free(self) -> Array:
        """The unpenalised columns."""
        return np.flatnonzero(self.unit == 0)

    @cached_property
    def excluded(self) -> Array:
        """Which columns are excluded (infinite weight)."""
        return np.isinf(self.unit)

    @cached_property
    def penalised(self) -> Array:
        """Which columns have a positive, finite weight."""
        return (self.unit > 0) & ~self.excluded

    @cached_property
    def finite(self) -> Array:
        """The weights of unit columns; 0 for excluded ones."""
        return self.unit if self.all_penalised else np.where(self.excluded, 0.0, self.unit)

    def with_unit(self, unit: Array, data: Problem) -> Weights:
        """The same with other weights of unit columns; unpenalised and excluded ones stay so."""
        unit = np.where(self.penalised, unit, self.unit)
        top, norms = float(unit[self.penalised].max(initial=0.0)) or 1.0, data.design.norms()
        unit = np.where(self.penalised, np.maximum(unit / top, min_ratio(data)), self.unit)
        if top > 0.5 * sys.float_info.max / float(norms.max()):  # only ratios matter
            top = 1.0
        values = np.where(self.excluded, 0.0, unit) * norms * top
        return Weights(np.where(self.excluded, np.inf, values), unit, top)


def min_ratio(data: Problem) -> float:
    """The smallest ratio to the largest weight that is not zero in the working precision."""
    return float(precision(data.y.dtype).tiny)


def check_weights(data: Problem, weights: ArrayLike | None) -> Weights:
    """Weights of all columns: 1 by default, 0 for those included, infinite for those excluded.

    A column of zeros is excluded as well. A positive weight never becomes zero, however small it is
    relative to the others (`min_ratio`).
    """
    m, constraints, measured = data.shape[1], data.constraints, data.design.measured
    values = np.ones(m) if weights is None else _real(weights, m)
    is_plain = not (constraints.include or constraints.exclude or measured.extreme)
    if is_plain and weights is None:  # no norm is zero, or out of range
        unit = measured.inverse.astype(np.float64)
        top = float(unit.max())
        return Weights(values, unit / top, top)
    values[list(constraints.include)] = 0
    values[list(constraints.exclude)] = np.inf
    values[data.inverse_norms == 0] = np.inf
    norms = data.design.norms()
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        unit = values / norms
        top = float(unit.max()) or 1.0
        if top == np.inf:
            top = float(np.max(unit, where=np.isfinite(values), initial=0.0)) or 1.0
        unit = unit / top if top < np.inf else np.zeros_like(unit)
    if float(unit.min()) >= min_ratio(data):
        return Weights(values, unit, top)
    tiny = (unit < min_ratio(data)) & (values > 0)
    if tiny.any():
        if float(unit[tiny].min()) < sys.float_info.min:
            raise InputError(
                "are beyond the floating-point range of each other, divided by the norms of their "
                "columns",
                "scale A, or the weights.",
                parameter="weights",
            )
        unit[tiny] = min_ratio(data)
        values[tiny] = unit[tiny] * top * norms[tiny]
    return Weights(values, unit, top)


def _real(weights: ArrayLike, m: int) -> Array:
    """A copy as m real, non-negative numbers."""
    array = as_floats(weights, "weights")
    if array.dtype.kind == "c":
        raise InputTypeError("must be real, not complex.", parameter="weights")
    values = np.array(array, np.float64)
    if values.shape != (m,):
        raise InputError(
            f"must have shape ({m},), one for each column of A, not {values.shape}.",
            parameter="weights",
        )
    bad = np.flatnonzero(~(values >= 0))
    if bad.size:
        raise InputError(
            f"must be at least 0, but weights[{bad[0]}] is {values[bad[0]]}",
            "infinity excludes a column.",
            parameter="weights",
        )
    return values
