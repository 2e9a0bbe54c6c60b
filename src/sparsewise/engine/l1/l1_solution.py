"""From a minimiser for unit columns to an `L1Solution` in the units of the data."""

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
        The support, in path order if there is a path, and its coefficients, which are non-zero
        except perhaps those of unpenalised columns.
    dual : ndarray of shape (n,)
        ν with |a_j*ν| <= w_j, and equality (in phase with x_j) on the support.
    penalty : float
        λ with r = λν.
    accuracy : float
        Guaranteed relative duality gap.
    """

    columns: Array
    x: Array
    dual: Array
    penalty: float
    accuracy: float

    def rounded(self, data: Problem) -> Minimiser:
        """The same in the precision of the data."""
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
        each = weights.values[self.columns] / data.design.norms()[self.columns]
        return float(np.abs(self.x) @ each) * data.scale


def l1_solution(
    log: Log,
    algorithm: str,
    stop: Stop,
    weights: Weights,
    minimiser: Minimiser,
    bound: float | None,
    debias: bool,
    kind: type[Kind] = L1Solution,  # type: ignore[assignment]  # mypy: a default can't tell Kind
    r: Array | None = None,
    **more: Any,
) -> Kind:
    """The minimiser in the units of the data, or least squares on its support.

    A run that was halted is the minimiser under the bound that it reached. r is y - A x of the
    minimiser, if already known.
    """
    data: Problem = log.problem
    r = minimiser.residual(data) if r is None else r
    if bound is not None and stop in (Stop.CALLBACK, Stop.INTERRUPTED):
        bound = max(bound, float(np.linalg.norm(r)) * data.scale)
    model = minimiser
    if debias:
        model = minimiser._replace(x=least_squares(data, minimiser.columns))
        r = model.residual(data)
        if is_spoilt(data, model) and stop not in (Stop.CALLBACK, Stop.INTERRUPTED):
            stop = Stop.ROUNDING
    if data.y.dtype.char in "fF" or stop is Stop.ROUNDING:
        r = told_residual(data, model)
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    if not weights.all_penalised:
        include = tuple(np.intersect1d(weights.free, minimiser.columns).tolist())
        exclude = tuple(np.flatnonzero(weights.excluded & (data.inverse_norms > 0)).tolist())
    solution = log.solution(
        algorithm, stop, model.columns, model.x, float(np.vdot(r, r).real),
        least_squares=debias, kind=kind, include=include, exclude=exclude,
        objective=minimiser.cost(weights, data),
        weights=weights.values,
        bound=bound,
        penalty=data_penalty(minimiser.penalty, weights, data),
        dual=_data_dual(minimiser.dual, weights.top),
        accuracy=minimiser.accuracy,
        debiased=debias,
        **more,
    )  # fmt: skip
    assert isinstance(solution, kind)
    return solution


def is_spoilt(data: Problem, model: Minimiser) -> bool:
    """Whether rounding errors of large coefficients, eps Σ|x|, show in the first half of digits."""
    return 4 * data.tolerances.quiet * float(np.abs(model.x).sum()) > 1


def told_residual(data: Problem, model: Minimiser) -> Array:
    """y - A x of the coefficients as they are returned; in double precision, if A is at hand.

    Large coefficients leave rounding errors in it that a check is to find again.
    """
    columns = np.sort(model.columns)
    coef = data.units.coef(model.columns, model.x)
    if data.y.dtype.char in "fF" and not data.design.is_operator:
        kind = np.result_type(data.y, np.float64)
        A = data.design.columns(columns).astype(kind)
        return np.asarray(data.y - A @ (coef[columns].astype(kind) / data.scale))
    x = data.unit_coef(coef, columns)[0].astype(data.y.dtype)
    return np.asarray(data.y - x @ data.unit_columns(columns).T)


def data_penalty(penalty: float, weights: Weights, data: Problem) -> float:
    """λ in the units of the data, λ ‖y‖/top."""
    return product_ratio(penalty, data.scale, weights.top)


def product_ratio(a: float, b: float, c: float) -> float:
    """a b/c by mantissas and exponents: infinite only if the result itself overflows."""
    (a, i), (b, j), (c, k) = map(math.frexp, (a, b, c))
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
            "The dual vector is beyond the floating-point range", "scale A, or the weights."
        )
    return scaled


class OutOfReachError(InputError):
    """A bound below the distance of y from the range of A (both for a unit target).

    Parameters
    ----------
    data : Problem
        A and y.
    bound, distance : float
        For the unit target.
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
            "Columns are so nearly dependent, or their weights so different, that rounding hides "
            "which of them give the smallest ℓ1 norm",
            "drop near-duplicates, center the columns, or rescale them.",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


def correlations(data: Problem, v: Array) -> Array:
    """a_j*v of all unit columns, without overflow where entries of A are huge."""
    if not data.design.measured.extreme:
        return data.correlate(v)
    size = float(np.linalg.norm(v)) or 1.0
    if not math.isfinite(size):
        raise LostDigitsError
    return data.correlate((v / size).astype(v.dtype, copy=False)) * size


def check_reachable(data: Problem, bound: float, distance: float) -> None:
    """Raise an error for a bound below the distance of y from the range of A (unit target)."""
    if distance > bound + data.tolerances.tie:
        raise OutOfReachError(data, bound, distance)


def least_squares(data: Problem, columns: Array) -> Array:
    """The least-squares coefficients of these unit columns for the unit target."""
    unit = data.unit_columns(columns)
    return np.asarray(np.linalg.lstsq(unit, data.y, rcond=None)[0], data.y.dtype)
