"""What each coefficient costs in ℓ1-penalised least squares."""

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
    """What each coefficient costs: Σ w_j |x_j|.

    Attributes
    ----------
    given : ndarray of shape (m,)
        w in the units of the data; 0 for a column that costs nothing, infinite for one that is
        barred.
    unit : ndarray of shape (m,)
        The same for unit columns, w_j / ‖a_j‖, scaled so that the largest finite one is 1.
    top : float
        That scale: the largest finite w_j / ‖a_j‖.
    """

    given: Array
    unit: Array
    top: float

    @cached_property
    def plain(self) -> bool:
        """Whether every column costs something, and none everything."""
        return bool(self.unit.min() > 0 and self.unit.max() < np.inf)

    @cached_property
    def free(self) -> Array:
        """The columns that cost nothing."""
        return np.flatnonzero(self.unit == 0)

    @cached_property
    def barred(self) -> Array:
        """Which columns can't be chosen."""
        return np.isinf(self.unit)

    @cached_property
    def usual(self) -> Array:
        """Which columns cost something, but not everything."""
        return (self.unit > 0) & ~self.barred

    @cached_property
    def finite(self) -> Array:
        """The weights of unit columns; 0 for those that are barred."""
        return self.unit if self.plain else np.where(self.barred, 0.0, self.unit)

    def renewed(self, unit: Array, data: Problem) -> Weights:
        """With other weights of unit columns; what is free or barred stays so."""
        unit = np.where(self.usual, unit, self.unit)
        top, norms = float(unit[self.usual].max(initial=0.0)) or 1.0, data.design.norms()
        unit = np.where(self.usual, np.maximum(unit / top, least_part(data)), self.unit)
        if top > 0.5 * sys.float_info.max / float(norms.max()):  # it is their ratios that matter
            top = 1.0
        given = np.where(self.barred, 0.0, unit) * norms * top
        return Weights(np.where(self.barred, np.inf, given), unit, top)


def least_part(data: Problem) -> float:
    """The least part of the largest weight that is told from nothing in the working precision."""
    return float(precision(data.y.dtype).tiny)


def check_weights(data: Problem, weights: ArrayLike | None) -> Weights:
    """Weights of all columns: 1 by default, 0 for those included, infinite for those excluded.

    A column of zeros is excluded, too. However little a column costs beside the others, it is not
    free (`least_part`).
    """
    m = data.shape[1]
    given = np.ones(m) if weights is None else _real(weights, m)
    given[list(data.constraints.include)] = 0
    given[list(data.constraints.exclude)] = np.inf
    given[data.inverse_norms == 0] = np.inf
    norms = data.design.norms()
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        unit = given / norms
        top = float(unit.max()) or 1.0
        if top == np.inf:
            top = float(np.max(unit, where=np.isfinite(given), initial=0.0)) or 1.0
        unit = unit / top if top < np.inf else np.zeros_like(unit)
    if float(unit.min()) >= least_part(data):
        return Weights(given, unit, top)
    tiny = (unit < least_part(data)) & (given > 0)
    if tiny.any():
        if float(unit[tiny].min()) < sys.float_info.min:
            raise InputError(
                "are beyond the range of numbers beside each other, divided by the norms of their "
                "columns",
                "scale A, or the weights.",
                parameter="weights",
            )
        unit[tiny] = least_part(data)
        given[tiny] = unit[tiny] * top * norms[tiny]
    return Weights(given, unit, top)


def _real(weights: ArrayLike, m: int) -> Array:
    """A copy as m real numbers, none below 0."""
    values = as_floats(weights, "weights")
    if values.dtype.kind == "c":
        raise InputTypeError("must be real, not complex.", parameter="weights")
    given = np.array(values, np.float64)
    if given.shape != (m,):
        raise InputError(
            f"must have shape ({m},), one for each column of A, not {given.shape}.",
            parameter="weights",
        )
    bad = np.flatnonzero(~(given >= 0))
    if bad.size:
        raise InputError(
            f"must be at least 0, but weights[{bad[0]}] is {given[bad[0]]}",
            "infinity bars a column.",
            parameter="weights",
        )
    return given
