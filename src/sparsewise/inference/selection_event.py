"""What forward steps have chosen, as inequalities in y, and what these leave of a direction.

Step s takes, of unit columns z_j without what the model before it explains, that of largest
|z_j*y|. With u_s = ±z of that column, the sign such that u_s*y >= 0, it is the event

    (u_s - z_j)*y >= 0  and  (u_s + z_j)*y >= 0     for all columns j that could be added.

All inner products of u_s and z_j with u_k, k >= s, and with residuals follow from corr, energy and
A*q_k of each step (see `sparsewise.engine.scores`): for each step two numbers a column are kept,
and no vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.stopping import StoppingCriterion


class Step(NamedTuple):
    """One step forward, for unit columns and a target of norm one.

    Attributes
    ----------
    column : int
        The column that came in.
    sign : float
        That of its coefficient.
    t : float
        u*y >= 0, with u the unit direction that came in, times the sign.
    rest : float
        ‖r‖ after the step.
    recipe : float
        The coefficient of the column is sign·t·recipe.
    corr, corr_after : ndarray of shape (m,)
        a_j*r before and after the step.
    inner : ndarray of shape (m,)
        a_j*u.
    scale : ndarray of shape (m,)
        1/√energy before the step, so that z_j*r = corr·scale; 0 for the column itself, and for
        those that could not be added.
    """

    column: int
    sign: float
    t: float
    rest: float
    recipe: float
    corr: Array
    corr_after: Array
    inner: Array
    scale: Array


class ForwardSteps(ActiveSet):
    """Steps of `forward`, one at a time, with what selection events are made of."""

    def steps(self, stopping: StoppingCriterion) -> Iterator[Step]:
        """Each step until the criterion is met."""
        scores, factor = self._scores, self._factor
        while not self.reason_not_to_grow(stopping):
            scores.sync()
            gains, corr, energy = self.gains(), scores.corr[0].astype(float), scores.energy.copy()
            k = self.size
            self.grow(stopping, steps=1)
            if self.size == k:
                return
            j = self.order[-1]
            # Columns of a larger gain depend on those before them: that is no matter of y.
            barred = (gains < 0) | (gains > gains[j] * (1 + self._tolerance.tie))
            barred[j] = True
            with np.errstate(divide="ignore", invalid="ignore"):
                scale = np.where(barred, 0.0, 1 / np.sqrt(energy.astype(float)))
            t = float(factor.t[0, k])
            sign = math.copysign(1.0, t)
            inner = scores.project(k, k + 1)[0] * self.problem.inverse_norms * sign
            scores.sync()
            yield Step(
                j, sign, abs(t), math.sqrt(self.rss), float(factor.U[k, k]),
                corr, scores.corr[0].astype(float), inner.astype(float), scale,
            )  # fmt: skip


class SelectionEvent:
    """The inequalities of all steps so far, along one direction or one circle at a time.

    Parameters
    ----------
    rounding : float
        Of an inner product of unit vectors: a pure number.
    """

    def __init__(self, rounding: float) -> None:
        self._rounding = rounding
        self._t: list[float] = []
        self._corr: list[Array] = []  # z_j*y of each step
        self._scale: list[Array] = []

    def add(self, step: Step) -> None:
        """The inequalities of the next step."""
        self._t.append(step.t)
        self._corr.append(step.corr * step.scale)
        self._scale.append(step.scale)

    def line(self, step: Step) -> tuple[float, float]:
        """How far u*y may move down and up from what it is, the rest of y being what it is.

        u is the direction of the last step. Of g*y >= 0, g*u > 0, there follows that u*y is at
        least what it is less g*y/g*u (the polyhedral lemma of Lee, Sun, Sun and Taylor, 2016).
        """
        down, up = step.t, math.inf  # u*y >= 0, too
        for t, own, corr, scale in self._steps():
            for side in (1.0, -1.0):
                slope = own - side * step.inner * scale
                room = np.maximum(t - side * corr, 0.0)
                # Slopes that are rounding are those of copies of the column that came in.
                falls, rises = slope > self._rounding * scale, slope < -self._rounding * scale
                down = min(down, float(np.min(room[falls] / slope[falls], initial=down)))
                up = min(up, float(np.min(room[rises] / -slope[rises], initial=up)))
        return down, up

    def arcs(self, step: Step) -> tuple[float, Array, Array]:
        """The part of a circle in which all steps are what they are; angles as tan(ψ/2).

        With P the projection on the model before the last step, y = P y + ρ (u cos ψ + v sin ψ),
        ψ from 0 to π/2: u is the direction of the step and v that of the residual after it. Each
        inequality is a + b cos ψ + c sin ψ >= 0, or with w = tan(ψ/2)

            (a - b) w² + 2 c w + a + b >= 0.

        Returns w as it is, and the lower and upper ends of the arcs, ascending.
        """
        rho = math.hypot(step.t, step.rest)
        w = step.rest / (rho + step.t)
        before = step.corr / rho
        along = step.corr_after / step.rest if step.rest else np.zeros_like(before)
        low, high = np.zeros(0), np.zeros(0)
        for t, own, corr, scale in self._steps():
            for side in (1.0, -1.0):
                a = (1 - own) * (t / rho - side * (corr / rho - before * scale))
                b = own - side * step.inner * scale
                c = -side * along * scale
                gaps = _violated(a, b, c, w, self._rounding * scale)
                low, high = _union(np.append(low, gaps[0]), np.append(high, gaps[1]))
        return w, np.append(0.0, high), np.append(low, 1.0)

    def _steps(self) -> Iterator[tuple[float, float, Array, Array]]:
        """t, whether it is the last step, z_j*y and 1/√energy of each step."""
        last = len(self._t) - 1
        for s, kept in enumerate(zip(self._t, self._corr, self._scale, strict=True)):
            yield kept[0], float(s == last), *kept[1:]


def _violated(a: Array, b: Array, c: Array, w: float, rounding: Array) -> tuple[Array, Array]:
    """Where in [0, 1] one of the inequalities of `SelectionEvent.arcs` fails: intervals.

    w itself is in none of them, whatever rounding may say.
    """
    size = np.hypot(b, c)
    fails = a + rounding * (1 + np.abs(a)) < size
    a, b, c, size = a[fails], b[fails], c[fails], size[fails]
    root = np.sqrt(np.maximum((size - a) * (size + a), 0.0))
    lead = np.where(a == b, 0.0, a - b)  # no negative zero
    turn = -(c + np.copysign(root, c))
    with np.errstate(divide="ignore"):
        first, last = np.sort([turn / lead, (a + b) / turn], axis=0)
    between = lead >= 0
    low = np.concatenate([first[between], np.zeros(np.count_nonzero(~between)), last[~between]])
    high = np.concatenate([last[between], first[~between], np.ones(np.count_nonzero(~between))])
    low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    inside = (low < w) & (w < high)
    near_low = w - low < high - w
    low, high = np.where(inside & near_low, w, low), np.where(inside & ~near_low, w, high)
    some = low < high
    return low[some], high[some]


def _union(low: Array, high: Array) -> tuple[Array, Array]:
    """Intervals as disjoint ones, ascending."""
    order = np.argsort(low, kind="stable")
    low, high = low[order], np.maximum.accumulate(high[order])
    first = np.ones(low.size, bool)
    first[1:] = low[1:] > high[:-1]
    return low[first], high[np.append(first[1:], True)] if low.size else high
