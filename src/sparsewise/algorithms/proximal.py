"""What ISTA and FISTA share: the step, the duality gap, and the columns that cost nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.design.base import Array
from sparsewise.engine.log import Log
from sparsewise.engine.minimiser import Minimiser, l1_solution
from sparsewise.engine.weights import check_weights
from sparsewise.problem import check_positive, problem
from sparsewise.results import L1Solution, Stop
from sparsewise.tolerances import tolerances

POWER_STEPS = 5
"""Power iterations for the first guess of L; the steps themselves correct it."""


class Point(NamedTuple):
    """Coefficients of the unit columns, and what they fit."""

    x: Array
    fit: Array


class Lasso:
    """½‖U x - y‖² + λ Σ w_j|x_j| for unit columns and a unit target, by products alone.

    Columns that cost nothing are projected out of U and y, so that r is orthogonal to them at
    every step; their coefficients follow at the end by least squares.
    """

    def __init__(
        self,
        A: Any,
        y: ArrayLike,
        penalty: float,
        weights: ArrayLike | None,
        include: Iterable[int],
        exclude: Iterable[int],
        tol: float,
    ) -> None:
        self.data = problem(A, y)
        self.weights = check_weights(self.data, weights, include, exclude)
        self.penalty = check_positive(penalty, "penalty") * self.weights.top / self.data.scale
        # A gap below this is rounding.
        rounding = 1e2 * tolerances(self.data.y.dtype).eps
        self.tol = max(check_positive(tol, "tol"), rounding)
        real = self.data.inverse_norms.dtype
        self.paid = np.isfinite(self.weights.unit) & (self.weights.unit > 0)
        self.limits = np.where(self.paid, self.penalty * self.weights.unit, np.inf).astype(real)
        self.basis = orthonormal_basis(self.data.unit_columns(self.weights.free))
        self.y = self._projected(self.data.y)
        self.L = 0.0
        self.gap = math.inf
        self.dual = np.zeros_like(self.data.y)

    @property
    def origin(self) -> Point:
        """x = 0."""
        m = self.data.shape[1]
        return Point(np.zeros(m, self.data.y.dtype), np.zeros_like(self.y))

    def correlations(self, at: Point) -> Array:
        """U*(y - U x), the negative gradient: one pass over A."""
        return np.where(self.paid, self.data.correlate(self.y - at.fit), 0)

    def converged(self, now: Point, at: Point, correlations: Array) -> bool:
        """Whether the relative duality gap of `now` is small; the residual of `at` bounds it.

        For s with s|u_j*r| <= λ w_j, the dual objective is s Re y*r - s²‖r‖²/2.
        """
        r = self.y - at.fit
        with np.errstate(divide="ignore"):
            most = float(np.min(self.limits / np.abs(correlations), initial=np.inf))
        product, squared = inner(self.y, r), inner(r, r)
        scale = max(min(most, product / squared if squared > 0 else 0.0), 0.0)
        dual = scale * product - scale**2 * squared / 2
        primal = self.objective(now)
        self.gap = abs(primal - dual) / primal if primal > 0 else 0.0
        self.dual = r * (scale / self.penalty)
        return self.gap <= self.tol

    def step(self, at: Point, correlations: Array) -> Point:
        """x + U*r/L, soft-thresholded by λ w_j/L, with L large enough: one pass over A.

        The step can't raise the objective where ‖U d‖² <= L‖d‖² along its direction d.
        """
        self.L = self.L or self._largest_eigenvalue()
        while True:
            x = soft(at.x + correlations / self.L, self.limits / self.L)
            new = Point(x, self.fit(x))
            moved, changed = new.x - at.x, new.fit - at.fit
            curvature, length = inner(changed, changed), inner(moved, moved)
            if curvature <= self.L * length * (1 + 1e-6) or length == 0:
                return new
            self.L = max(1.05 * curvature / length, 1.2 * self.L)

    def fit(self, x: Array) -> Array:
        """U x, less what the free columns would explain of it."""
        return self._projected(self.data.matvec(x * self.data.inverse_norms))

    def objective(self, at: Point) -> float:
        """½‖y - U x‖² + λ Σ w_j|x_j|."""
        return inner(self.y - at.fit, self.y - at.fit) / 2 + self._cost(at.x)

    def solution(self, algorithm: str, stop: Stop, found: Point, debias: bool) -> L1Solution:
        """The minimiser in the units of the data."""
        data, free = self.data, self.weights.free
        x = found.x.copy()
        if free.size:
            rest = data.y - data.matvec(x * data.inverse_norms)
            x[free] = np.linalg.lstsq(data.unit_columns(free), rest, rcond=None)[0]
        support = np.union1d(np.flatnonzero(x), free)
        accuracy = max(self.tol, self.gap, self._optimality(found))
        minimiser = Minimiser(support, x[support], self.dual, self.penalty, accuracy)
        return l1_solution(Log(data, None), algorithm, stop, self.weights, minimiser, None, debias)

    def _optimality(self, at: Point) -> float:
        """How far the residual itself, not scaled, is from the optimality conditions.

        The larger of max_j |u_j*r| - λ w_j, relative to the largest |u_j*y|, and
        ‖r‖² + λ Σ w_j|x_j| - Re y*r, relative to ½‖y‖²; up to rounding.
        """
        r = self.y - at.fit
        inside = np.abs(self.correlations(at)) - self.limits
        highest = float(np.abs(self.data.correlate(self.data.y)).max()) or 1.0
        gap = 2 * abs(inner(r, r) + self._cost(at.x) - inner(self.y, r))
        rounding = 16 * tolerances(self.data.y.dtype).eps
        return max(float(inside.max()) / highest, gap) + rounding

    def _cost(self, x: Array) -> float:
        chosen = np.flatnonzero(x)
        return float(self.limits[chosen].astype(np.float64) @ np.abs(x[chosen]))

    def _projected(self, v: Array) -> Array:
        return v - self.basis @ (self.basis.conj().T @ v) if self.basis.shape[1] else v

    def _largest_eigenvalue(self) -> float:
        """The largest eigenvalue of U*U, from below, by power iterations from a random start."""
        rng = np.random.default_rng(0)
        v = np.where(self.paid, rng.standard_normal(self.paid.size), 0).astype(self.data.y.dtype)
        value = 1.0
        for _ in range(POWER_STEPS):
            v /= math.sqrt(inner(v, v)) or 1.0
            image = self.fit(v)
            value = max(value, inner(image, image))
            v = np.where(self.paid, self.data.correlate(image), 0)
        return value


def soft(v: Array, threshold: Array) -> Array:
    """v/|v| · max(|v| - threshold, 0), of real or complex numbers."""
    if v.dtype.kind != "c":
        return np.sign(v) * np.maximum(np.abs(v) - threshold, 0)
    size = np.abs(v)
    left = np.maximum(size - threshold, 0)
    return v * np.divide(left, size, out=np.zeros_like(left), where=left > 0)


def inner(u: Array, v: Array) -> float:
    """Re u*v."""
    return float(np.vdot(u, v).real)


def orthonormal_basis(U: Array) -> Array:
    """An orthonormal basis of the span of the columns of U."""
    from scipy.linalg import orth

    return orth(U) if U.shape[1] else U
