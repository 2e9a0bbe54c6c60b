"""Results of ℓ1-penalised regression, with the dual vector that proves optimality."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.parameters import check_number
from sparsewise._util.text import shortened
from sparsewise.errors import InputError
from sparsewise.problem.problem import Problem, problem, product
from sparsewise.results.check import L1Check
from sparsewise.results.path import Model
from sparsewise.results.solution import Solution

ROUNDING = 16
"""Error of a residual in units of eps."""

DUAL_ROUNDING = 32
"""Error of a_j*ν in units of eps ‖ν‖, for unit columns."""

GAP_ROUNDING = 8
"""Error of a duality gap in units of eps ‖ν‖ Σ|x|."""


def limits_at(penalty: float, scale: float, weights: Array, norms: Array) -> Array:
    """λ w_j / (‖a_j‖ ‖y‖), the limit of |u_j*r| for unit columns and a unit target.

    Computed by mantissas and exponents, so that no intermediate product overflows or underflows.
    """
    (digits, power), (below, less) = np.frexp(weights), np.frexp(norms)
    (factor, more), (unit, shift) = math.frexp(penalty), math.frexp(scale)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return np.ldexp(digits / below * (factor / unit), power - less + (more - shift))


def length(v: Array) -> float:
    """‖v‖ without overflow or underflow of its square."""
    size = float(np.abs(v).max(initial=0.0))
    return size * float(np.linalg.norm(v / size)) if size > 0 else 0.0


def off_support(unit: Array, r: Array) -> Array:
    """r less its projection onto these columns, which is rounding error of large coefficients."""
    for _ in range(2):
        r = r - unit @ np.linalg.lstsq(unit, r, rcond=None)[0]
    return r


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class L1Solution(Solution):
    """A minimiser of Σ w_j|x_j| under a bound on ‖r‖, or of ½‖r‖² + λ Σ w_j|x_j|.

    Attributes
    ----------
    objective : float
        Σ w_j |x_j| (before debiasing).
    weights : ndarray of shape (m,)
        w: 0 for an unpenalised column, infinite for an excluded one.
    bound : float or None
        The bound on ‖r‖, or the ‖r‖ at which a run was halted; None if λ was given instead.
    penalty : float
        λ with a_j*r = λ w_j x_j/|x_j| on the support; 0 if r = 0, infinite if the unpenalised
        columns alone meet the bound.
    dual : ndarray of shape (n,)
        ν with |a_j*ν| <= w_j and a_j*ν = w_j x_j/|x_j| on the support, which proves optimality
        (r = λν where λ > 0).
    accuracy : float
        Guaranteed relative duality gap; where rounding ended it (`Stop.ROUNDING`), how far the
        conditions may be violated.
    debiased : bool
        Whether coef is the least-squares fit on the support instead of the minimiser.
    """

    objective: float
    weights: Array
    bound: float | None
    penalty: float
    dual: Array
    accuracy: float
    debiased: bool

    @property
    def counts_features(self) -> bool:
        """The degrees of freedom of the lasso are its features (Zou, Hastie, Tibshirani 2007)."""
        return True

    def check(self, A: Any, y: Any) -> L1Check:
        """Recompute primal and dual feasibility and the duality gap."""
        data = problem(A, y)
        basic = self._check_fit(data)
        bound_exceeded = 0.0
        if self.bound is not None and not self.debiased:
            bound_exceeded = max(basic.residual_norm - self.bound, 0.0) / data.scale
            if data.design.error:  # the error of the data limits how well y - A x is known
                unsure = ROUNDING * data.design.error * (1 + self._size(data))
                bound_exceeded = max(bound_exceeded - unsure, 0.0)
        figures = self._constrained if self.bound is not None else self._penalised
        dual_exceeded, gap = figures(data)
        gap = 0.0 if self.debiased else gap
        limit = max(self.accuracy, 1e2 * data.tolerances_in(self.coef.dtype).eps)
        ok = basic.ok and max(bound_exceeded, dual_exceeded, gap) <= limit
        return basic.extended(
            L1Check, ok=ok, infeasibility=bound_exceeded, dual_infeasibility=dual_exceeded, gap=gap
        )

    def _constrained(self, data: Problem) -> tuple[float, float]:
        """By how much |a_j*ν| exceeds w_j, and the gap Σ w_j|x_j| - (Re y*ν - bound ‖ν‖).

        Both relative; an unpenalised column is compared with the largest weight. The rounding error
        of the differences is subtracted: y - A x is a sum of y and x_j a_j, which may be larger.
        """
        weights = np.where(np.isfinite(self.weights), self.weights, 0.0)  # excluded: 0
        limits = weights * data.design.inverse_norms()
        sizes = np.where(limits > 0, limits, limits.max(initial=0.0) or 1.0)
        exceeded = self._excess(data, self.dual, limits, sizes)
        assert self.bound is not None
        primal, norm = self.objective / data.scale, length(self.dual)
        inner = float(np.vdot(data.y, self.dual).real)
        slack = self.bound / data.scale * norm if norm > 0 else 0.0
        rounding = GAP_ROUNDING * data.tolerances.eps * (norm * (1 + self._size(data)) + slack)
        gap, largest = abs(primal - (inner - slack)), max(primal, abs(inner - slack))
        return exceeded, max(gap - rounding, 0.0) / largest if largest > 0 else 0.0

    def _penalised(self, data: Problem) -> tuple[float, float]:
        """By how much |a_j*θ| exceeds λ w_j, and the gap of the objective to Re y*θ - ½‖θ‖².

        For every θ with |a_j*θ| <= λ w_j, that is a lower bound of ½‖r‖² + λ Σ w_j|x_j|. θ = λν is
        free of the rounding errors that large coefficients leave in r. Relative to the λ at which
        x is zero, and to ½‖y‖².
        """
        unit_penalty = min(self.penalty / data.scale, sys.float_info.max)
        r = data.y - data.design.matvec(self.coef / data.scale)
        limits = limits_at(self.penalty, data.scale, self.weights, data.design.norms())
        limits = np.where(np.isfinite(self.weights), limits, 0.0)
        if self.penalty > 0 and self.dual.any():
            theta = self.dual * unit_penalty
        elif self.penalty > 0:  # the units of ν are out of range
            with np.errstate(divide="ignore", over="ignore"):
                shares = limits[limits > 0] / np.abs(data.correlate(r))[limits > 0]
            theta = r * min(float(shares.min(initial=1.0)), 1.0)
        else:
            chosen = np.union1d(self.support, np.flatnonzero(self.weights == 0))
            theta = off_support(data.unit_columns(chosen), r)
        highest = float(np.abs(data.correlate(data.y)).max()) or 1.0
        exceeded = self._excess(data, theta, limits, np.full(limits.size, highest))
        squares = float(np.vdot(r, r).real) + float(np.vdot(theta, theta).real)
        cost = self.penalty / data.scale * (self.objective / data.scale)
        gap = squares + 2 * (cost - float(np.vdot(data.y, theta).real))
        rounding = 2 * GAP_ROUNDING * data.tolerances.eps * length(theta) * (1 + self._size(data))
        return exceeded, max(abs(gap) - rounding, 0.0) if not data.is_zero else 0.0

    def _size(self, data: Problem) -> float:
        """Σ|x_j| for unit columns and a unit target."""
        return float(product(np.abs(self.coef), data.design.norms(), divisor=data.scale).sum())

    def _excess(self, data: Problem, vector: Array, limits: Array, sizes: Array) -> float:
        """The largest (|a_j*v| - limit_j) / size_j over unit columns that are not excluded.

        The rounding error of a_j*v is subtracted.
        """
        norm = length(vector) or 1.0
        rounding = DUAL_ROUNDING * data.tolerances.eps * norm
        # Without overflow where entries of A are huge.
        excess = (np.abs(data.correlate(vector / norm)) * norm - limits - rounding) / sizes
        return float(excess.max(where=np.isfinite(self.weights), initial=0.0))

    @property
    def ending(self) -> str:
        """The path continues past its last breakpoint, or to the refit of its support."""
        return "refit" if self.debiased else "end"

    def facts(self) -> Iterator[tuple[str, str]]:
        """The weighted ℓ1 norm, and the bound or penalty at which it is minimal."""
        figures = [f"Σ w|x| = {self.objective:.6g}{' before the refit' if self.debiased else ''}"]
        if self.bound is not None:
            figures.append(f"residual <= {self.bound:.4g}")
        if math.isfinite(self.penalty):  # for the empty model, any large enough
            figures.append(f"penalty {self.penalty:.4g}")
        yield "ℓ1 norm", ", ".join(figures)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class L1Path(L1Solution):
    """The lasso path: every minimiser between two values of λ; as a solution, its end.

    Attributes
    ----------
    penalties : ndarray
        λ where the path starts (no penalised column is active), at each breakpoint, and where it
        ends; descending.
    """

    penalties: Array

    @cached_property
    def points(self) -> list[Model]:
        """The model at each of the `penalties`; in between, coefficients are linear in λ."""
        end = Model(self.support, self.coef, self.residual_norm * self.residual_norm, self.df)
        return self._along([self.path.initial, *self.path.models()], end)

    @property
    def supports(self) -> list[Array]:
        """The active columns at each of the `penalties`."""
        return [model.support for model in self.points]

    @property
    def coefs(self) -> Array:
        """The coefficients at each of the `penalties`, one column each: (m, number of them)."""
        return np.column_stack([model.coef for model in self.points])

    def at_penalty(self, penalty: float) -> Model:
        """The minimiser of ½‖A x - y‖² + λ Σ w_j |x_j| at this λ."""
        penalty = check_number(penalty, "penalty")
        if not penalty >= self.penalties[-1]:
            end = f"The path ends at a penalty of {self.penalties[-1]:.6g}"
            raise InputError(end, f"follow it to {penalty:g}.")
        if penalty >= self.penalties[0]:
            return self.points[0]
        i = int(np.searchsorted(-self.penalties, -penalty, side="right")) - 1
        if i == len(self.penalties) - 1:
            return self.points[i]
        upper, lower = map(float, self.penalties[i : i + 2])
        before, after = self.points[i : i + 2]
        share = (upper - penalty) / (upper - lower)
        coef = before.coef + share * (after.coef - before.coef)
        # ‖r‖² is linear in λ² between two breakpoints.
        highest, least = self._norms[i : i + 2]
        norm = between(highest, least, squares_apart(upper, penalty, lower))
        support = np.flatnonzero(coef)
        return Model(support, coef, norm * norm, float(support.size))

    def at_residual(self, residual: float) -> Model:
        """The model on the path with this ‖r‖: the solution of `bpdn`."""
        norm, norms = check_number(residual, "residual"), self._norms
        if norm >= norms[0]:
            return self.points[0]
        # The residual of the end is known to rounding errors of y.
        if not norm >= norms[-1] - ROUNDING * float(np.finfo(self.coef.dtype).eps) * norms[0]:
            end = f"The path ends at a residual of {self.residual_norm:.6g}"
            raise InputError(end, f"follow it to {residual:g}.")
        i = int(np.searchsorted(-norms, -norm, side="right")) - 1
        if i == len(norms) - 1:
            return self.points[i]
        upper, lower = self.penalties[i : i + 2]
        return self.at_penalty(between(upper, lower, squares_apart(norms[i], norm, norms[i + 1])))

    @cached_property
    def _norms(self) -> Array:
        """‖r‖ at each of the `penalties`; its square may overflow or underflow."""
        return np.array(self._along(self.path.residual_norms.tolist(), self.residual_norm))

    def _along(self, values: list[Any], end: Any) -> list[Any]:
        """The values at each of the `penalties`, given those at each step of the path.

        The first columns enter at the start with coefficients of zero, so that they are one point
        with the start. A path that ends there has no other.
        """
        if self.penalties.size == 1:
            return [end]
        later = values[len(values) + 2 - self.penalties.size :]
        return [values[0], *later, end]


def squares_apart(high: float, value: float, low: float) -> float:
    """(high² - value²) / (high² - low²) of non-negative numbers, without overflow."""
    if not high > low:
        return 0.0
    value, low = float(value / high), float(low / high)
    return (1 - value) * (1 + value) / ((1 - low) * (1 + low))


def between(high: float, low: float, share: float) -> float:
    """√(high² - share (high² - low²)), between low and high."""
    if not high > 0:
        return float(low)
    ratio = float(low / high)
    squared = 1 - share * (1 - ratio) * (1 + ratio)
    return float(high) * min(max(math.sqrt(max(squared, 0.0)), ratio), 1.0)


class Round(NamedTuple):
    """One round of reweighting: number of features, Σ w_j|x_j|, and the largest change.

    The change of coefficients (of unit columns) is relative to the largest; infinite for the first
    round.
    """

    size: int
    objective: float
    change: float


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Reweighted(L1Solution):
    """The solution of the last of several problems, each with weights from the solution before.

    Attributes
    ----------
    rounds : tuple of Round
        A summary of each round; the first is unweighted.
    """

    rounds: tuple[Round, ...]

    def facts(self) -> Iterator[tuple[str, str]]:
        """The same, and the number of features in each round."""
        yield from super().facts()
        sizes = shortened([str(each.size) for each in self.rounds], most=20)
        yield "rounds", f"{len(self.rounds)}, with {sizes} features"
