"""The lasso by products with A alone: proximal gradient steps and the duality gap."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.parameters import check_positive
from sparsewise.design.base import not_adjoint, precision
from sparsewise.engine.l1.cone_program import inner
from sparsewise.engine.l1.l1_solution import Minimiser, l1_solution
from sparsewise.engine.l1.unpenalised import Unpenalised
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.l1.working_set import WorkingSet
from sparsewise.engine.log import Log
from sparsewise.errors import InputError
from sparsewise.problem.problem import Problem
from sparsewise.results import L1Solution, Stop
from sparsewise.results.l1 import limits_at
from sparsewise.tolerances import tolerances

POWER_STEPS = 5
"""Power iterations for the first guess of L; the steps themselves correct it."""

MOST_TRIES = 100
"""More corrections of L in one step than this are not those of a linear map."""

ROUGHLY = 10.0
"""By what factor ratios may be off between columns whose norms are but of the right size."""

ROUNDS = 20
"""Most rounds of a finish: columns that are still missing after so many are too many."""

FEWEST = 64
"""So many columns may be in the first round of a finish, or join in another."""

FAITHFUL = 1e-3
"""By how much an adjoint may be off: some operators work in lower precision inside."""


class Point(NamedTuple):
    """Coefficients of the unit columns, and what they fit."""

    x: Array
    fit: Array


class Lasso:
    """½‖U x - y‖² + λ Σ w_j|x_j| for unit columns and a unit target, by products alone.

    Columns that cost nothing are projected out of U and y, so that r is orthogonal to them at
    every step; their coefficients follow at the end by least squares.

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
        To be heeded between two steps.
    now, ahead : Point
        Where the last step led, and where the next one starts: there, unless `look_ahead` moves it.
    """

    def __init__(self, data: Problem, weights: Weights, penalty: float, tol: float) -> None:
        self.data, self.weights, self.log = data, weights, Log(data, None)
        self.given = check_positive(penalty, "penalty")
        self.penalty = 1.0  # as good as any for a target of zeros
        if not data.is_zero:
            self.penalty = relative_penalty(self.given, weights.top, data.scale)
        # A gap below this is rounding; the error of data is no part of it, as iterations go.
        self.tolerance = tolerances(data.y.dtype)
        self.tol = max(check_positive(tol, "tol"), 1e2 * self.tolerance.eps)
        self.paid = weights.usual
        real = precision(data.y.dtype)
        limits = limits_at(self.given, data.scale, weights.given, data.design.norms())
        limits = np.clip(limits, float(real.tiny), float(real.max))
        self.limits = np.where(self.paid, limits, np.inf).astype(real.dtype)
        self.free = Unpenalised(data, weights.free, data.y.dtype)
        self.y = self.free.projected_out(data.y)
        self.L = 0.0
        self.gap = math.inf
        self.dual = np.zeros_like(data.y)
        self.now = self.ahead = Point(np.zeros(data.shape[1], data.y.dtype), np.zeros_like(self.y))
        self._tried = not data.design.is_operator or data.is_zero

    def converged(self) -> bool:
        """Whether the relative duality gap of `now` is small; the residual of `ahead` bounds it.

        For s with s|u_j*r| <= λ w_j, the dual objective is s Re y*r - s²‖r‖²/2. One pass over A.
        """
        r = self._residual = self.y - self.ahead.fit
        self._correlations = self._correlate(r)
        if not self._tried:  # an adjoint of zeros would be satisfied with x = 0
            v, self._tried = self._anywhere(), True
            self._check_adjoint(v, self.fit(v), r, self._correlations)
        with np.errstate(divide="ignore", over="ignore"):  # no limit is zero
            most = float((self.limits / np.abs(self._correlations)).min())
        product, squared = inner(self.y, r), inner(r, r)
        scale = max(min(most, product / squared if squared > 0 else 0.0), 0.0)
        dual = scale * product - scale**2 * squared / 2
        primal = self.objective()
        self.gap = abs(primal - dual) / primal if primal > 0 else 0.0
        self.dual = r * scale
        return self.gap <= self.tol

    def step(self) -> None:
        """x + U*r/L, soft-thresholded by λ w_j/L, with L large enough: one pass over A.

        The step can't raise the objective where ‖U d‖² <= L‖d‖² along its direction d, up to what
        rounding makes of U d.
        """
        self.L = self.L or self._largest_eigenvalue()
        for _ in range(MOST_TRIES):
            x = soft(self.ahead.x + self._correlations / self.L, self.limits / self.L)
            new = Point(x, self.fit(x))
            moved, changed = new.x - self.ahead.x, new.fit - self.ahead.fit
            curvature, length = inner(changed, changed), inner(moved, moved)
            most = self.L * length * (1 + 1e-6)
            if curvature <= most or length == 0:
                break
            if curvature <= most + (8 * self.tolerance.eps) ** 2 * inner(new.fit, new.fit):
                break
            self.L = max(1.05 * curvature / length, 1.2 * self.L)
        if self.data.design.is_operator:
            self._check_adjoint(moved, changed, self._residual, self._correlations)
        self.now = self.ahead = new

    def look_ahead(self, before: Point, beta: float) -> None:
        """Start the next step from now + β (now - before); what that fits needs no product."""
        x, fit = self.now
        self.ahead = Point(x + beta * (x - before.x), fit + beta * (fit - before.fit))

    def finish(self) -> bool:
        """The minimiser on the columns that matter, by Newton's method; whether that is all.

        These are the largest coefficients at first. A pass over A then tells the gap, and which
        columns are missing. Where they become too many, or the gap doesn't close, nothing changes.
        """
        before = vars(self).copy()
        kind = np.complex128 if self.data.y.dtype.kind == "c" else np.float64
        free = Unpenalised(self.data, self.weights.free, np.dtype(kind))
        some, limits = WorkingSet(self.data, free, kind), self.limits.astype(np.float64)
        new = largest(np.abs(self.now.x), FEWEST)
        for _ in range(ROUNDS):
            some.hold(new, limits)
            if some.columns.size > self.data.shape[0]:
                break
            if not some.descend(limits[some.columns], 0.1 * self.tol):
                break
            x = np.zeros_like(self.now.x)
            x[some.columns] = some.x
            fit = (some.y - some.residual()).astype(x.dtype)
            self.now = self.ahead = Point(x, fit)
            if self.converged():
                return True
            beyond = np.abs(self._correlations) / self.limits
            beyond[some.columns[some.support]] = 0
            new = largest(np.where(beyond > 1, beyond, 0), max(FEWEST, some.support.size))
            if not np.setdiff1d(new, some.columns).size:
                break
        vars(self).update(before)
        return False

    def fit(self, x: Array) -> Array:
        """U x, less what the free columns would explain of it."""
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
        accuracy = max(self.tol, self.gap, self._optimality(x, data.y - fit))
        minimiser = Minimiser(support, x[support], self.dual, self.penalty, accuracy)
        found: L1Solution = l1_solution(
            self.log, algorithm, stop, self.weights, minimiser, None, debias
        )
        unit = min(data.scale / self.given, float(precision(data.y.dtype).max))
        return replace(found, penalty=self.given, dual=self.dual * unit)

    def _optimality(self, x: Array, r: Array) -> float:
        """How far x and its residual itself, not scaled, are from the optimality conditions.

        The larger of max_j |u_j*r| - λ w_j, relative to the largest |u_j*y|, and
        ‖r‖² + λ Σ w_j|x_j| - Re y*r, relative to ½‖y‖²; up to rounding.
        """
        data = self.data
        limits = np.where(self.weights.unit == 0, 0.0, self.limits)
        inside = float((np.abs(data.correlate(r)) - limits).max())
        if data.design.measured.rough:  # whoever checks it may know the norms
            inside *= ROUGHLY
        highest = float(np.abs(data.correlate(data.y)).max()) or 1.0
        gap = 2 * abs(inner(r, r) + self._cost(self.now.x) - inner(data.y, r))
        rounding = 16 * self.tolerance.eps * (1 + float(np.abs(x).sum()))
        return max(inside / highest, gap) + rounding

    def _correlate(self, r: Array) -> Array:
        """U*r of what costs something: one pass over A."""
        return np.where(self.paid, self._finite(self.data.correlate(r)), 0)

    def _finite(self, product: Array) -> Array:
        """A product, which an operator may return with anything in it."""
        if self.data.design.is_operator and not np.isfinite(product).all():
            raise InputError(
                "is an operator whose products are NaN or infinite",
                "they must be finite numbers.",
                parameter="A",
            )
        return product

    def _check_adjoint(self, d: Array, image: Array, r: Array, correlations: Array) -> None:
        """Whether ⟨U d, r⟩ = ⟨d, U*r⟩ for an image U d and correlations U*r, but for rounding."""
        sizes = [math.sqrt(inner(v, v)) for v in (d, image, r, correlations)]
        # Residuals of a unit target, and differences of two fits, have rounding errors, too.
        fit = math.sqrt(inner(self.now.fit, self.now.fit))
        lost = 64 * self.tolerance.eps * (fit * sizes[2] + sizes[1] + float(np.abs(d).sum()))
        allowed = max(FAITHFUL, self.tolerance.drift) * (sizes[0] * sizes[3] + sizes[1] * sizes[2])
        if abs(inner(image, r) - inner(d, correlations)) > allowed + lost:
            raise not_adjoint()

    def _cost(self, x: Array) -> float:
        chosen = np.flatnonzero(x)
        return float(self.limits[chosen].astype(np.float64) @ np.abs(x[chosen]))

    def _largest_eigenvalue(self) -> float:
        """The largest eigenvalue of U*U, from below, by power iterations from a random start."""
        v, value = self._anywhere(), 1.0
        for _ in range(POWER_STEPS):
            v /= math.sqrt(inner(v, v)) or 1.0
            image = self.fit(v)
            value = max(value, inner(image, image))
            v = self._correlate(image)
        return value

    def _anywhere(self) -> Array:
        """Random coefficients of what costs something."""
        rng = np.random.default_rng(0)
        v = np.where(self.paid, rng.standard_normal(self.paid.size), 0)
        return v.astype(self.data.y.dtype)


def relative_penalty(penalty: float, top: float, scale: float) -> float:
    """λ·top/scale, whose factors may be out of range together where their product is not."""
    (p, i), (t, j), (s, k) = math.frexp(penalty), math.frexp(top), math.frexp(scale)
    try:
        relative = math.ldexp(p * t / s, i + j - k)
    except OverflowError:  # nothing is worth that much: x is zero
        return sys.float_info.max
    if relative < sys.float_info.min:
        raise InputError(
            "is too small beside A and y to be told from 0", "raise it.", parameter="penalty"
        )
    return relative


def largest(sizes: Array, most: int) -> Array:
    """The places of the largest numbers above 0, at most so many."""
    places = np.flatnonzero(sizes > 0)
    order = np.argsort(-sizes[places], kind="stable")
    return np.sort(places[order[:most]])


def soft(v: Array, threshold: Array) -> Array:
    """v/|v| · max(|v| - threshold, 0), of real or complex numbers."""
    if v.dtype.kind != "c":
        return np.sign(v) * np.maximum(np.abs(v) - threshold, 0)
    size = np.abs(v)
    left = np.maximum(size - threshold, 0)
    return v * np.divide(left, size, out=np.zeros_like(left), where=left > 0)
