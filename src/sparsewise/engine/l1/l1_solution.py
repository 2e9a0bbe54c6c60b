"""From a minimiser in unit columns, however it was found, to an `L1Solution`."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.log import Log
from sparsewise.errors import InputError
from sparsewise.problem.problem import Problem
from sparsewise.results import L1Solution, Stop

Kind = TypeVar("Kind", bound=L1Solution)


class Minimiser(NamedTuple):
    """A minimiser for unit columns, a unit target and weights of which the largest is 1.

    Attributes
    ----------
    columns, x : ndarray
        The support, in the order of the path if there is one, and its coefficients: none is zero,
        but perhaps those of columns that cost nothing.
    dual : ndarray of shape (n,)
        ν with |a_j*ν| <= w_j, and equality (in phase with x_j) on the support.
    penalty : float
        λ with r = λν.
    accuracy : float
        Relative gap to vouch for.
    """

    columns: Array
    x: Array
    dual: Array
    penalty: float
    accuracy: float

    def rounded(self, data: Problem) -> Minimiser:
        """In the precision of the data."""
        dtype = data.y.dtype
        if self.x.dtype == dtype:
            return self
        x, dual = self.x.astype(dtype), self.dual.astype(dtype)
        return self._replace(x=x, dual=dual, accuracy=data.tolerances.quiet)

    def residual(self, data: Problem) -> Array:
        """y - A x."""
        return np.asarray(data.y - data.unit_columns(self.columns) @ self.x)

    def coef(self, data: Problem) -> Array:
        """The coefficients of all unit columns."""
        x = np.zeros(data.shape[1], data.y.dtype)
        x[self.columns] = self.x
        return x

    def cost(self, weights: Weights, data: Problem) -> float:
        """Σ w_j |x_j| in the units of the data."""
        each = weights.given[self.columns] / data.design.norms()[self.columns]
        return float(np.abs(self.x) @ each) * data.scale


def l1_solution(
    log: Log,
    algorithm: str,
    stop: Stop,
    weights: Weights,
    found: Minimiser,
    bound: float | None,
    debias: bool,
    kind: type[Kind] = L1Solution,  # type: ignore[assignment]  # mypy: a default can't tell Kind
    r: Array | None = None,
    **more: Any,
) -> Kind:
    """The minimiser in the units of the data, or least squares on its support.

    One that was halted on the way is the minimiser under the bound that it has reached. r is
    y - A x of the minimiser, if that is known.
    """
    data: Problem = log.problem
    r = found.residual(data) if r is None else r
    if bound is not None and stop in (Stop.CALLBACK, Stop.INTERRUPTED):
        bound = max(bound, float(np.linalg.norm(r)) * data.scale)
    model = found._replace(x=least_squares(data, found.columns)) if debias else found
    if debias:
        r = model.residual(data)
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    if not weights.plain:
        include = tuple(np.intersect1d(weights.free, found.columns).tolist())
        exclude = tuple(np.flatnonzero(weights.barred & (data.inverse_norms > 0)).tolist())
    solution = log.solution(
        algorithm, stop, model.columns, model.x, float(np.vdot(r, r).real),
        least_squares=debias, kind=kind, include=include, exclude=exclude,
        objective=found.cost(weights, data),
        weights=weights.given,
        bound=bound,
        penalty=data_penalty(found.penalty, weights, data),
        dual=_data_dual(found.dual, weights.top),
        accuracy=found.accuracy,
        debiased=debias,
        **more,
    )  # fmt: skip
    assert isinstance(solution, kind)
    return solution


def data_penalty(penalty: float, weights: Weights, data: Problem) -> float:
    """λ in the units of the data, λ ‖y‖/top: digits and powers of two apart, lest one overflow."""
    (a, i), (b, j), (c, k) = map(math.frexp, (penalty, data.scale, weights.top))
    try:
        return math.ldexp(a * b / c, i + j - k)
    except OverflowError:
        return math.inf


def _data_dual(dual: Array, top: float) -> Array:
    """ν in the units of the data."""
    if top < 1e15:
        return np.asarray(dual * top)
    with np.errstate(over="ignore"):
        scaled = np.asarray(dual * top)
    if not np.isfinite(scaled).all():
        raise InputError(
            "The dual vector is beyond the range of numbers", "scale A, or the weights."
        )
    return scaled


class OutOfReachError(InputError):
    """A bound below the distance of y from the range of A (both for a unit target).

    Parameters
    ----------
    data : Problem
        A and y.
    bound, distance : float
        Of the unit target.
    """

    def __init__(self, data: Problem, bound: float, distance: float) -> None:
        super().__init__(
            f"No x has ‖A x - y‖ <= {bound * data.scale:g}: the distance of y from the range of A "
            f"is {distance * data.scale:.10g}",
            "allow a residual of at least that.",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(InputError, parameter=self.parameter), (self.wrong, self.advice)


class LostDigitsError(InputError):
    """Rounding hides which columns to choose."""

    def __init__(self) -> None:
        super().__init__(
            "Columns agree so closely, or cost so differently, that rounding hides which of them "
            "make the least ℓ1 norm",
            "leave out those that say the same, take away their means, or scale them.",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


def check_reachable(data: Problem, bound: float, distance: float) -> None:
    """Refuse a bound below the distance of y from the range of A (both for a unit target)."""
    if distance > bound + data.tolerances.tie:
        raise OutOfReachError(data, bound, distance)


def least_squares(data: Problem, columns: Array) -> Array:
    """The coefficients of these unit columns that fit the unit target best."""
    unit = data.unit_columns(columns)
    return np.asarray(np.linalg.lstsq(unit, data.y, rcond=None)[0], data.y.dtype)
