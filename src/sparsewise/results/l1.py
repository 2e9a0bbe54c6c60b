"""Sparse models by ℓ1 penalties, with the dual vector that proves them."""

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
"""Units of rounding by which a residual may be off."""


def limits_at(penalty: float, scale: float, weights: Array, norms: Array) -> Array:
    """λ w_j / (‖a_j‖ ‖y‖): how large |u_j*r| may be, for unit columns and a unit target.

    Digits and powers of two apart: products of two may be out of range where that of all is not.
    """
    (digits, power), (below, less) = np.frexp(weights), np.frexp(norms)
    (factor, more), (unit, shift) = math.frexp(penalty), math.frexp(scale)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return np.ldexp(digits / below * (factor / unit), power - less + (more - shift))


def length(v: Array) -> float:
    """‖v‖, whose square may be out of range."""
    size = float(np.abs(v).max(initial=0.0))
    return size * float(np.linalg.norm(v / size)) if size > 0 else 0.0


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class L1Solution(Solution):
    """A minimiser of Σ w_j|x_j| under a bound on ‖r‖, or of ½‖r‖² + λ Σ w_j|x_j|.

    Attributes
    ----------
    objective : float
        Σ w_j |x_j| (before debiasing).
    weights : ndarray of shape (m,)
        w: 0 for a column that costs nothing, infinite for one that is barred.
    bound : float or None
        The bound on ‖r‖, or as far as a run came that was halted before; None where λ was given
        instead.
    penalty : float
        λ with a_j*r = λ w_j x_j/|x_j| on the support; 0 where r = 0, infinite where the bound
        leaves nothing to pay for.
    dual : ndarray of shape (n,)
        ν with |a_j*ν| <= w_j and a_j*ν = w_j x_j/|x_j| on the support, which proves optimality
        (r = λν where λ > 0).
    accuracy : float
        Relative gap that the method vouches for.
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
        """Those of the lasso are its features (Zou, Hastie and Tibshirani 2007)."""
        return True

    def check(self, A: Any, y: Any) -> L1Check:
        """Recompute feasibility of x and of the dual vector, and the gap between them."""
        data = problem(A, y)
        basic = self._check_fit(data)
        bound_exceeded = 0.0
        if self.bound is not None and not self.debiased:
            bound_exceeded = max(basic.residual_norm - self.bound, 0.0) / data.scale
            if data.design.error:  # what the data leave open of y - A x is no fault of x
                unsure = ROUNDING * data.design.error * (1 + self._size(data))
                bound_exceeded = max(bound_exceeded - unsure, 0.0)
        figures = self._constrained if self.bound is not None else self._penalised
        dual_exceeded, gap = figures(data)
        gap = 0.0 if self.debiased else gap
        limit = max(self.accuracy, 1e2 * data.tolerances_in(self.coef.dtype).eps)
        ok = basic.ok and max(bound_exceeded, dual_exceeded, gap) <= limit
        return L1Check(
            ok, basic.residual_norm, basic.residual_error, basic.normal_equations,
            basic.support_ok, basic.residual_norms, bound_exceeded, dual_exceeded, gap,
        )  # fmt: skip

    def _constrained(self, data: Problem) -> tuple[float, float]:
        """By how much |a_j*ν| exceeds w_j, and the gap Σ w_j|x_j| - (Re y*ν - bound ‖ν‖).

        Both relative: what costs nothing is compared with what costs most. Less what rounding may
        have added to a difference of numbers that are larger than itself: y - A x is a sum of y and
        x_j a_j.
        """
        limits = self._limits(data)
        sizes = np.where(limits > 0, limits, limits.max(initial=0.0) or 1.0)
        exceeded = self._excess(data, self.dual, limits, sizes)
        assert self.bound is not None
        primal, norm = self.objective / data.scale, length(self.dual)
        inner = float(np.vdot(data.y, self.dual).real)
        slack = self.bound / data.scale * norm if norm > 0 else 0.0
        rounding = 8 * data.tolerances.eps * (norm * (1 + self._size(data)) + slack)
        gap, largest = abs(primal - (inner - slack)), max(primal, abs(inner - slack))
        return exceeded, max(gap - rounding, 0.0) / largest if largest > 0 else 0.0

    def _penalised(self, data: Problem) -> tuple[float, float]:
        """By how much |a_j*r| exceeds λ w_j, and the gap ½‖r‖² + λ Σ w_j|x_j| - (Re y*r - ½‖r‖²).

        Relative to the λ at which x is zero, and to ½‖y‖².
        """
        r = data.y - data.design.matvec(self.coef / data.scale)
        limits = limits_at(self.penalty, data.scale, self.weights, data.design.norms())
        limits = np.where(np.isfinite(self.weights), limits, 0.0)
        if self.debiased:
            r = self.dual * min(self.penalty / data.scale, sys.float_info.max)
        highest = float(np.abs(data.correlate(data.y)).max()) or 1.0
        exceeded = self._excess(data, r, limits, np.full(limits.size, highest))
        squares, inner = float(np.vdot(r, r).real), float(np.vdot(data.y, r).real)
        cost = self.penalty / data.scale * (self.objective / data.scale)
        return exceeded, abs(2 * (squares + cost - inner)) if not data.is_zero else 0.0

    def _size(self, data: Problem) -> float:
        """Σ|x_j| for unit columns and a unit target."""
        return float(product(np.abs(self.coef), data.design.norms(), divisor=data.scale).sum())

    def _limits(self, data: Problem) -> Array:
        """The weights of unit columns; 0 for those that are barred."""
        return np.where(np.isfinite(self.weights), self.weights, 0.0) * data.design.inverse_norms()

    def _excess(self, data: Problem, vector: Array, limits: Array, sizes: Array) -> float:
        """The largest (|a_j*v| - limit_j) / size_j of unit columns that may be chosen.

        Less what rounding may have added to a_j*v.
        """
        norm = length(vector) or 1.0
        rounding = 32 * data.tolerances.eps * norm
        # Entries of A may be as large as numbers are.
        excess = (np.abs(data.correlate(vector / norm)) * norm - limits - rounding) / sizes
        return float(excess.max(where=np.isfinite(self.weights), initial=0.0))

    @property
    def ending(self) -> str:
        """The path goes on past its last bend, or to the refit of its support."""
        return "refit" if self.debiased else "end"

    def facts(self) -> Iterator[tuple[str, str]]:
        """What the coefficients cost, and under which condition that is least."""
        figures = [f"Σ w|x| = {self.objective:.6g}{' before the refit' if self.debiased else ''}"]
        if self.bound is not None:
            figures.append(f"residual <= {self.bound:.4g}")
        if math.isfinite(self.penalty):  # for the empty model, any large enough
            figures.append(f"penalty {self.penalty:.4g}")
        yield "ℓ1 norm", ", ".join(figures)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class L1Path(L1Solution):
    """The path of the lasso: every minimiser between two values of λ, and the last of them.

    Attributes
    ----------
    penalties : ndarray
        λ where the path begins (no column that costs anything is active), at each bend after that,
        and where it ends; descending.
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
        # ‖r‖² is linear in λ² between two bends.
        highest, least = self._norms[i : i + 2]
        norm = between(highest, least, squares_apart(upper, penalty, lower))
        support = np.flatnonzero(coef)
        return Model(support, coef, norm * norm, float(support.size))

    def at_residual(self, residual: float) -> Model:
        """The model on the path with this ‖r‖: the solution of `bpdn`."""
        norm, norms = check_number(residual, "residual"), self._norms
        if norm >= norms[0]:
            return self.points[0]
        if not norm >= norms[-1]:
            end = f"The path ends at a residual of {self.residual_norm:.6g}"
            raise InputError(end, f"follow it to {residual:g}.")
        i = int(np.searchsorted(-norms, -norm, side="right")) - 1
        if i == len(norms) - 1:
            return self.points[i]
        upper, lower = self.penalties[i : i + 2]
        return self.at_penalty(between(upper, lower, squares_apart(norms[i], norm, norms[i + 1])))

    @cached_property
    def _norms(self) -> Array:
        """‖r‖ at each of the `penalties`: its square may be out of range where it is not."""
        return np.array(self._along(self.path.residual_norms.tolist(), self.residual_norm))

    def _along(self, met: list[Any], end: Any) -> list[Any]:
        """What was met at each of the `penalties`, given all that was met on the path.

        The first columns come in where it begins, with coefficients of zero: they are one point
        with the beginning, and where the path ends there, that is all.
        """
        if self.penalties.size == 1:
            return [end]
        later = met[len(met) + 2 - self.penalties.size :]
        return [met[0], *later, end]


def squares_apart(high: float, value: float, low: float) -> float:
    """(high² - value²) / (high² - low²) of numbers at least 0 whose squares may be out of range."""
    if not high > low:
        return 0.0
    value, low = float(value / high), float(low / high)
    return (1 - value) * (1 + value) / ((1 - low) * (1 + low))


def between(high: float, low: float, share: float) -> float:
    """The root of high² - share (high² - low²), within its limits."""
    if not high > 0:
        return float(low)
    ratio = float(low / high)
    squared = 1 - share * (1 - ratio) * (1 + ratio)
    return float(high) * min(max(math.sqrt(max(squared, 0.0)), ratio), 1.0)


class Round(NamedTuple):
    """One round of a reweighting: features, Σ w_j|x_j| with its weights, and the largest change.

    The change of the coefficients of unit columns is relative to the largest of them; infinite for
    the first round.
    """

    size: int
    objective: float
    change: float


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Reweighted(L1Solution):
    """The last of several weighted problems, each with weights from the solution before.

    Attributes
    ----------
    rounds : tuple of Round
        What each round came to, the first being unweighted.
    """

    rounds: tuple[Round, ...]

    def facts(self) -> Iterator[tuple[str, str]]:
        """The same, and the sizes of the rounds."""
        yield from super().facts()
        sizes = shortened([str(one.size) for one in self.rounds], most=20)
        yield "rounds", f"{len(self.rounds)}, with {sizes} features"
