"""Weighted solutions of least norm, and the columns that remain as coefficients vanish."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.l1_solution import least_squares
from sparsewise.engine.l1.unpenalised import Unpenalised
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.log import Log
from sparsewise.problem.problem import Problem
from sparsewise.results import Solution, Stop

EPS = float(np.finfo(float).eps)

ROUNDING = 64
"""Units of rounding: changes below this part of the largest coefficient are none."""


def weighted_fit(
    B: Array, w: Array, y: Array, bound: float, eps: float = EPS
) -> tuple[Array, float]:
    """The x of least ‖x/w‖ with ‖B x - y‖ <= bound, and the distance of y from the range of B.

    With the singular values s of B W = U S V*, x = W V (S² + μ)⁻¹ S U*y, where μ solves the
    secular equation ‖r‖ = bound; μ = 0 if the bound can only just be met. Singular values of no
    more than some eps are none.
    """
    U, s, V = np.linalg.svd(B * w, full_matrices=False)
    rank = int(np.sum(s > max(B.shape) * eps * s[:1].max(initial=0.0)))
    U, s, V = U[:, :rank], s[:rank], V[:rank]
    c = U.conj().T @ y
    distance = float(np.linalg.norm(y - U @ c))
    room = math.sqrt(max(bound**2 - distance**2, 0.0))
    mu = regularisation(s**2, np.abs(c), room) if room > 0 else 0.0
    return w * (V.conj().T @ (s / (s**2 + mu) * c)), distance


def regularisation(squares: Array, sizes: Array, room: float) -> float:
    """The μ with Σ (μ c_i/(s_i² + μ))² = room², given s_i² and |c_i|.

    As a function of t = 1/μ, the residual is ‖c/(1 + t s²)‖, and its inverse is increasing and
    concave: Newton's method for 1/‖·‖ = 1/room from t = 0 approaches the root from the left
    and can't overshoot (the secular equation of trust-region methods).
    """
    if float(np.linalg.norm(sizes)) <= room:
        return math.inf
    t = 0.0
    for _ in range(200):
        parts = sizes / (1 + t * squares)
        norm = float(np.linalg.norm(parts))
        slope = float(parts**2 @ (squares / (1 + t * squares))) / norm
        step = (norm / room - 1) * norm / slope
        t += step
        if not step > 4 * EPS * t:
            break
    return 1 / t


class RemainingColumns:
    """The columns whose coefficients have not vanished, in double precision, and the way there.

    Parameters
    ----------
    data : Problem
        A and y.
    weights : Weights
        Says which columns cost nothing, and which are barred.

    Attributes
    ----------
    log : Log
        To be heeded between two rounds.
    B, y : ndarray
        The remaining unit columns and the target, without what the free columns explain.
    x : ndarray
        Coefficients of the remaining columns.
    eps : float
        Rounding of double precision, or the error of the data if that is larger.
    """

    def __init__(self, data: Problem, weights: Weights) -> None:
        dtype = np.result_type(data.y.dtype, np.float64)
        self.data, self.log = data, Log(data, None)
        self.eps = data.tolerances_in(dtype).eps
        barred = np.flatnonzero(weights.barred & (data.inverse_norms > 0))
        self._constraints = tuple(weights.free.tolist()), tuple(barred.tolist())
        self.free = Unpenalised(data, weights.free, dtype)
        self.columns = np.flatnonzero(weights.usual)
        self.A = data.unit_columns(self.columns).astype(dtype)
        self.B = self.free.projected_out(self.A)
        self.y = self.free.projected_out(data.y.astype(dtype))
        self.x = np.zeros(0, dtype)

    def are_needed(self, bound: float) -> bool:
        """Whether the free columns alone don't meet the bound on ‖r‖; else none remains."""
        if np.linalg.norm(self.y) > bound + ROUNDING * self.eps:
            return True
        self._keep(np.zeros(self.columns.size, bool))
        return False

    def start(self, x: Array) -> None:
        """Begin with these coefficients of all columns."""
        self.x = x
        order = np.concatenate([self.free.columns, self.columns])
        rss = _squared(self.y - self.B @ x)
        self.log.record("start", order, [rss], [self._all_coef()], order.size)

    def meets(self, bound: float, distance: float, x: Array) -> bool:
        """Whether this distance from the range is within the bound, up to the rounding of U x."""
        rounding = ROUNDING * self.data.tolerances.eps
        return distance <= bound + rounding * (1 + float(np.abs(x).sum()))

    def alive(self) -> Array:
        """Which columns have coefficients that are more than rounding error of the largest."""
        size = np.abs(self.x)
        # The data know their coefficients no better than to this.
        return np.asarray(size > self.data.tolerances.tie * size.max())

    def drop(self, gone: Array) -> None:
        """Go on without these of the remaining columns."""
        if gone.size:
            alive = np.ones(self.columns.size, bool)
            alive[gone] = False
            free = self.free.columns.size
            losses = [_squared(self.y - self.B[:, alive] @ self.x[alive])] * gone.size
            models = Dropped(self._all_coef(), gone + free)
            self.log.record("drop", self.columns[gone], losses, models, free + int(alive.sum()))
            self._keep(alive)
            self.x = self.x[alive]

    def settle(self, x: Array, tol: float) -> bool:
        """Take these coefficients over; whether none changes by much."""
        allowed = tol * np.abs(x) + ROUNDING * EPS * np.abs(x).max()
        before, self.x = self.x, x
        return bool((np.abs(x - before) <= allowed).all())

    def solution(self, algorithm: str, stop: Stop, debias: bool) -> Solution:
        """The model at the end."""
        columns = np.concatenate([self.free.columns, self.columns])
        x = self._all_coef().astype(self.data.y.dtype)
        if debias:
            x = least_squares(self.data, columns)
        r = self.data.y - np.column_stack([self.free.unit, self.A]) @ x
        include, exclude = self._constraints
        return self.log.solution(
            algorithm, stop, columns, x, _squared(r), least_squares=debias,
            include=include, exclude=exclude,
        )  # fmt: skip

    def _keep(self, alive: Array) -> None:
        self.columns, self.A, self.B = self.columns[alive], self.A[:, alive], self.B[:, alive]

    def _all_coef(self) -> Array:
        """The coefficients of the free columns, which fit the rest best, then x."""
        return np.concatenate([self.free.coef(self.data.y - self.A @ self.x), self.x])


class Dropped(Sequence[Array]):
    """The coefficients after each of several drops, made when asked for."""

    def __init__(self, x: Array, gone: Array) -> None:
        self.x, self.gone = x, gone

    def __len__(self) -> int:
        return self.gone.size

    def __getitem__(self, i: Any) -> Any:
        return np.delete(self.x, self.gone[: range(len(self))[i] + 1])


def _squared(r: Array) -> float:
    return float(np.vdot(r, r).real)
