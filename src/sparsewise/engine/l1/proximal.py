"""The lasso by proximal gradient steps: products with A alone, and the duality gap."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise._util.parameters import check_positive
from sparsewise.design.base import not_adjoint, precision
from sparsewise.engine.l1.cone_program import inner
from sparsewise.engine.l1.homotopy import Homotopy
from sparsewise.engine.l1.l1_solution import (
    LostDigitsError,
    Minimiser,
    is_spoilt,
    l1_solution,
    product_ratio,
)
from sparsewise.engine.l1.unpenalised import Unpenalised
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.l1.working_set import WorkingSet
from sparsewise.engine.log import Log
from sparsewise.errors import InputError
from sparsewise.problem.problem import Problem
from sparsewise.results import L1Solution, Stop
from sparsewise.results.l1 import limits_at
from sparsewise.tolerances import tolerances

POWER_ITERATIONS = 5
"""Power iterations for the first estimate of L; backtracking corrects it."""

MAX_TRIES = 100
"""Most backtracking corrections of L per step; a linear map needs fewer."""

ROUGH_NORMS = 10.0
"""By what factor ratios may be wrong between columns of which only rough norms are known."""

MAX_ROUNDS = 20
"""Most rounds of `finish`: if columns are still missing then, the support is too large for it."""

MIN_JOINING = 64
"""Columns in the first round of `finish`, and the least number that may join in a later one."""

GAP_DIGITS = 256
"""The least gap to ask for, in units of eps: below, iterations may go round in circles."""

ADJOINT_TOL = 1e-3
"""Relative error allowed in an adjoint: some operators compute in lower precision internally."""


class Point(NamedTuple):
    """Coefficients x of the unit columns, and the fit U x."""

    x: Array
    fit: Array


class Lasso:
    """½‖U x - y‖² + λ Σ w_j|x_j| for unit columns and a unit target, by products alone.

    Unpenalised columns are projected out of U and y, so that r is orthogonal to them at every step.
    Their coefficients follow at the end by least squares.

    Parameters
    ----------
    data : Problem
        A and y.
    weights : Weights
        w.
    penalty : float
        λ, in the units of the data.
    tol : float
        The relative duality gap to reach.

    Attributes
    ----------
    log : Log
        Checked for interruption between steps.
    has_path : bool
        Whether the exact path leads to the minimiser sooner than steps do.
    now, start : Point
        The current iterate, and where the next step starts: the same unless `extrapolate` moved it.
    """

    def __init__(self, data: Problem, weights: Weights, penalty: float, tol: float) -> None:
        self.data, self.weights, self.log = data, weights, Log(data, None)
        self.raw_penalty = check_positive(penalty, "penalty")
        self.penalty = 1.0  # any value serves for a target of zeros
        if not data.is_zero:
            self.penalty = relative_penalty(self.raw_penalty, weights.top, data.scale)
        # A gap below this is rounding. Measurement error of the data does not enter the iterations.
        self.tolerance = tolerances(data.y.dtype)
        self.tol = max(check_positive(tol, "tol"), GAP_DIGITS * self.tolerance.eps)
        self.penalised = weights.penalised
        real = precision(data.y.dtype)
        limits = limits_at(self.raw_penalty, data.scale, weights.values, data.design.norms())
        limits = np.clip(limits, float(real.tiny), float(real.max))
        self.limits = np.where(self.penalised, limits, np.inf).astype(real.dtype)
        self.free = Unpenalised(data, weights.free, data.y.dtype)
        self.y = self.free.projected_out(data.y)
        self.L = 0.0
        self.gap = math.inf
        self.dual = np.zeros_like(data.y)
        self.now = self.start = Point(np.zeros(data.shape[1], data.y.dtype), np.zeros_like(self.y))
        is_plain = not (weights.free.size or data.design.is_operator or data.is_complex)
        self.has_path = is_plain and plan.solves_by_path(data.shape)
        self._adjoint_checked = not data.design.is_operator or data.is_zero

    def converged(self) -> bool:
        """Whether the relative duality gap of `now` is at most `tol`; one pass over A.

        The dual point is the residual r of `start`, scaled: for s with s|u_j*r| <= λ w_j, the dual
        objective is s Re y*r - s²‖r‖²/2.
        """
        # Rounding errors of large coefficients are no part of a dual point.
        r = self._residual = self.free.projected_out(self.y - self.start.fit)
        self._correlations = self._correlate(r)
        if not self._adjoint_checked:  # with an adjoint of zeros, x = 0 would seem optimal
            v, self._adjoint_checked = self._random_coef(), True
            self._check_adjoint(v, self.fit(v), r, self._correlations)
        with np.errstate(divide="ignore", over="ignore"):  # no limit is zero
            largest_scale = float((self.limits / np.abs(self._correlations)).min())
        product, squared = inner(self.y, r), inner(r, r)
        scale = max(min(largest_scale, product / squared if squared > 0 else 0.0), 0.0)
        dual = scale * product - scale**2 * squared / 2
        primal = self.objective()
        self.gap = abs(primal - dual) / primal if primal > 0 else 0.0
        self.dual = r * scale
        return self.gap <= self.tol

    def step(self) -> None:
        """x ← soft(x + U*r/L, λ w/L), raising L until the step descends; one pass over A.

        The step can't raise the objective if ‖U d‖² <= L‖d‖² along its direction d, up to the
        rounding error of U d.
        """
        self.L = self.L or self._largest_eigenvalue()
        for _ in range(MAX_TRIES):
            x = soft(self.start.x + self._correlations / self.L, self.limits / self.L)
            new = Point(x, self.fit(x))
            moved, changed = new.x - self.start.x, new.fit - self.start.fit
            curvature, length = inner(changed, changed), inner(moved, moved)
            bound = self.L * length * (1 + 1e-6)
            if curvature <= bound or length == 0:
                break
            if curvature <= bound + (8 * self.tolerance.eps) ** 2 * inner(new.fit, new.fit):
                break
            self.L = max(1.05 * curvature / length, 1.2 * self.L)
        if self.data.design.is_operator:
            self._check_adjoint(moved, changed, self._residual, self._correlations)
        self.now = self.start = new

    def extrapolate(self, before: Point, beta: float) -> None:
        """Start the next step from now + β (now - before); its fit needs no product with A."""
        x, fit = self.now
        self.start = Point(x + beta * (x - before.x), fit + beta * (fit - before.fit))

    def follow_path(self) -> bool:
        """Follow the exact path to this penalty; return whether that closed the gap."""
        data, before = self.data, vars(self).copy()
        path = Homotopy(Log(data, None), self.weights)
        try:
            path.lower(to=min(self.penalty, path.first_penalty))
        except LostDigitsError:
            return False
        x = path.minimiser().coef(data)
        self.now = self.start = Point(x, self.fit(x))
        if self.converged():
            return True
        vars(self).update(before)
        return False

    def finish(self) -> bool:
        """Minimise on a working set by Newton's method; return whether that closed the gap.

        The working set starts from the largest coefficients. A pass over A then gives the gap and
        the columns that violate their limits, which join. If the working set becomes too large, or
        the gap doesn't close, nothing changes.
        """
        self.data.begin()
        before = vars(self).copy()
        kind = np.complex128 if self.data.y.dtype.kind == "c" else np.float64
        free = Unpenalised(self.data, self.weights.free, np.dtype(kind))
        working, limits = WorkingSet(self.data, free, kind), self.limits.astype(np.float64)
        ratios = np.abs(self._correlations) / self.limits
        new = largest(np.abs(self.now.x) if self.now.x.any() else ratios, MIN_JOINING)
        for _ in range(MAX_ROUNDS):
            working.extend(new, limits)
            if working.columns.size > self.data.shape[0]:
                break
            if not working.minimise(limits[working.columns], 0.1 * self.tol):
                break
            x = np.zeros_like(self.now.x)
            x[working.columns] = working.x
            fit = (working.y - working.residual()).astype(x.dtype)
            self.now = self.start = Point(x, fit)
            if self.converged():
                return True
            beyond = np.abs(self._correlations) / self.limits
            beyond[working.columns] = 0
            new = largest(np.where(beyond > 1, beyond, 0), max(MIN_JOINING, working.support.size))
            if not new.size:
                break
        vars(self).update(before)
        return False

    def fit(self, x: Array) -> Array:
        """U x with the unpenalised columns projected out."""
        return self.free.projected_out(self._finite(self.data.matvec(x * self.data.inverse_norms)))

    def objective(self) -> float:
        """½‖y - U x‖² + λ Σ w_j|x_j|."""
        r = self.y - self.now.fit
        return inner(r, r) / 2 + self._cost(self.now.x)

    def solution(self, algorithm: str, stop: Stop, debias: bool) -> L1Solution:
        """The minimiser in the units of the data."""
        data, free = self.data, self.weights.free
        x, fit = self.now.x.copy(), self.now.fit
        if free.size:
            fit = data.matvec(x * data.inverse_norms)
            x[free] = self.free.coef(data.y - fit)
            fit = fit + self.free.unit @ x[free]
        support = np.union1d(np.flatnonzero(x), free)
        accuracy = max(self.tol, 1.001 * self.gap, self._optimality(x, data.y - fit))
        minimiser = Minimiser(support, x[support], self.dual, self.penalty, accuracy)
        if is_spoilt(data, minimiser) and stop in (Stop.CONVERGED, Stop.MAX_ITER):
            stop = Stop.ROUNDING
        solution: L1Solution = l1_solution(
            self.log, algorithm, stop, self.weights, minimiser, None, debias
        )
        unit = min(data.scale / self.raw_penalty, float(precision(data.y.dtype).max))
        return replace(solution, penalty=self.raw_penalty, dual=self.dual * unit)

    def _optimality(self, x: Array, r: Array) -> float:
        """How far x and its residual, unscaled, are from the optimality conditions.

        The larger of max_j |u_j*r| - λ w_j, relative to the largest |u_j*y|, and
        ‖r‖² + λ Σ w_j|x_j| - Re y*r, relative to ½‖y‖²; up to rounding.
        """
        data = self.data
        limits = np.where(self.weights.unit == 0, 0.0, self.limits)
        inside = float((np.abs(data.correlate(r)) - limits).max())
        if data.design.measured.rough:  # a later check may use the exact norms
            inside *= ROUGH_NORMS
        highest = float(np.abs(data.correlate(data.y)).max()) or 1.0
        gap = 2 * abs(inner(r, r) + self._cost(self.now.x) - inner(data.y, r))
        rounding = 16 * self.tolerance.eps * (1 + float(np.abs(x).sum()))
        return max(inside / highest, gap) + rounding

    def _correlate(self, r: Array) -> Array:
        """U*r on the penalised columns, 0 elsewhere: one pass over A."""
        return np.where(self.penalised, self._finite(self.data.correlate(r)), 0)

    def _finite(self, product: Array) -> Array:
        """The product, if finite; an operator may return anything."""
        if self.data.design.is_operator and not np.isfinite(product).all():
            raise InputError(
                "is an operator whose products are NaN or infinite",
                "they must be finite numbers.",
                parameter="A",
            )
        return product

    def _check_adjoint(self, d: Array, image: Array, r: Array, correlations: Array) -> None:
        """Raise an error unless ⟨U d, r⟩ = ⟨d, U*r⟩ up to rounding; image = U d."""
        sizes = [math.sqrt(inner(v, v)) for v in (d, image, r, correlations)]
        # Residuals of a unit target and differences of two fits have rounding errors as well.
        fit = math.sqrt(inner(self.now.fit, self.now.fit))
        lost = 64 * self.tolerance.eps * (fit * sizes[2] + sizes[1] + float(np.abs(d).sum()))
        tol = max(ADJOINT_TOL, self.tolerance.drift)
        allowed = tol * (sizes[0] * sizes[3] + sizes[1] * sizes[2])
        if abs(inner(image, r) - inner(d, correlations)) > allowed + lost:
            raise not_adjoint()

    def _cost(self, x: Array) -> float:
        chosen = np.flatnonzero(x)
        return float(self.limits[chosen].astype(np.float64) @ np.abs(x[chosen]))

    def _largest_eigenvalue(self) -> float:
        """A lower bound of the largest eigenvalue of U*U, by a few power iterations."""
        v, value = self._random_coef(), 1.0
        for _ in range(POWER_ITERATIONS):
            v /= math.sqrt(inner(v, v)) or 1.0
            image = self.fit(v)
            value = max(value, inner(image, image))
            v = self._correlate(image)
        return value

    def _random_coef(self) -> Array:
        """Random coefficients of the penalised columns."""
        rng = np.random.default_rng(0)
        v = np.where(self.penalised, rng.standard_normal(self.penalised.size), 0)
        return v.astype(self.data.y.dtype)


def relative_penalty(penalty: float, top: float, scale: float) -> float:
    """λ·top/scale, at most the largest float: x is zero at any penalty as large as that."""
    relative = min(product_ratio(penalty, top, scale), sys.float_info.max)
    if relative < sys.float_info.min:
        raise InputError(
            "is too small beside A and y to differ from 0", "raise it.", parameter="penalty"
        )
    return relative


def largest(sizes: Array, most: int) -> Array:
    """The indices of the largest positive values, at most `most` of them, ascending."""
    indices = np.flatnonzero(sizes > 0)
    order = np.argsort(-sizes[indices], kind="stable")
    return np.sort(indices[order[:most]])


def soft(v: Array, threshold: Array) -> Array:
    """Soft threshold v/|v| · max(|v| - threshold, 0) of real or complex numbers."""
    if v.dtype.kind != "c":
        return np.sign(v) * np.maximum(np.abs(v) - threshold, 0)
    size = np.abs(v)
    left = np.maximum(size - threshold, 0)
    return v * np.divide(left, size, out=np.zeros_like(left), where=left > 0)
