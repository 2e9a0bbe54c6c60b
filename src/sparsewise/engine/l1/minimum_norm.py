"""Weighted minimum-norm solutions, and the columns that remain as coefficients vanish (FOCUSS)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import EPS, inner
from sparsewise.engine.l1.l1_solution import (
    Minimiser,
    is_spoilt,
    least_squares,
    told_residual,
)
from sparsewise.engine.l1.unpenalised import Unpenalised
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.log import Log
from sparsewise.problem.problem import Problem
from sparsewise.results import Solution, Stop

ROUNDING = 64
"""In units of eps: smaller changes, relative to the largest coefficient, are rounding."""


def weighted_fit(
    B: Array, w: Array, y: Array, bound: float, eps: float = EPS
) -> tuple[Array, float]:
    """The x of minimum ‖x/w‖ with ‖B x - y‖ <= bound, and the distance of y from the range of B.

    With the singular values s of B W = U S V*, x = W V (S² + μ)⁻¹ S U*y, where μ solves the
    secular equation ‖r‖ = bound; μ = 0 if the bound can only just be met. Singular values of a few
    eps count as zero.
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
        shares = (parts / norm) ** 2  # by themselves: squares of parts may underflow
        step = (norm / room - 1) / float(shares @ (squares / (1 + t * squares)))
        t += step
        if not step > 4 * EPS * t:
            break
    return 1 / t


class RemainingColumns:
    """The columns whose coefficients have not vanished, in double precision, and the log of drops.

    Parameters
    ----------
    data : Problem
        A and y.
    weights : Weights
        Says which columns are unpenalised and which are excluded.

    Attributes
    ----------
    log : Log
        Checked for interruption between rounds.
    B, y : ndarray
        The remaining unit columns and the target, with the unpenalised columns projected out.
    x : ndarray
        Coefficients of the remaining columns.
    eps : float
        eps of double precision, or the relative error of the data if larger.
    """

    def __init__(self, data: Problem, weights: Weights) -> None:
        dtype = np.result_type(data.y.dtype, np.float64)
        self.data, self.log = data, Log(data, None)
        self.eps = data.tolerances_in(dtype).eps
        excluded = np.flatnonzero(weights.excluded & (data.inverse_norms > 0))
        self._constraints = tuple(weights.free.tolist()), tuple(excluded.tolist())
        self.free = Unpenalised(data, weights.free, dtype)
        self.columns = np.flatnonzero(weights.penalised)
        self.A = data.unit_columns(self.columns).astype(dtype)
        self.B = self.free.projected_out(self.A)
        if weights.free.size:  # what rounding leaves of a column that depends on them is no column
            self.B[:, np.linalg.norm(self.B, axis=0) <= ROUNDING * self.eps] = 0
        self.y = self.free.projected_out(data.y.astype(dtype))
        self.x = np.zeros(0, dtype)

    def are_needed(self, bound: float) -> bool:
        """Whether the unpenalised columns alone miss the bound on ‖r‖; if not, drop all others."""
        if np.linalg.norm(self.y) > bound + ROUNDING * self.eps:
            return True
        self._keep(np.zeros(self.columns.size, bool))
        return False

    def start(self, x: Array) -> None:
        """Start from these coefficients of all columns."""
        self.x = x
        order = np.concatenate([self.free.columns, self.columns])
        r = self.y - self.B @ x
        self.log.record("start", order, [inner(r, r)], [self._all_coef()], order.size)

    def meets(self, bound: float, distance: float, x: Array) -> bool:
        """Whether this distance from the range is within the bound, up to the rounding of U x."""
        rounding = ROUNDING * self.data.tolerances.eps
        return distance <= bound + rounding * (1 + float(np.abs(x).sum()))

    def alive(self) -> Array:
        """Which coefficients exceed the rounding error of the largest."""
        size = np.abs(self.x)
        # The data determine coefficients no more precisely than this.
        return np.asarray(size > self.data.tolerances.tie * size.max())

    def drop(self, gone: Array) -> None:
        """Drop these of the remaining columns (by position)."""
        if gone.size:
            alive = np.ones(self.columns.size, bool)
            alive[gone] = False
            free = self.free.columns.size
            r = self.y - self.B[:, alive] @ self.x[alive]
            losses = [inner(r, r)] * gone.size
            models = Dropped(self._all_coef(), gone + free)
            self.log.record("drop", self.columns[gone], losses, models, free + int(alive.sum()))
            self._keep(alive)
            self.x = self.x[alive]

    def update(self, x: Array, tol: float) -> bool:
        """Take over these coefficients; return whether no relative change exceeds `tol`."""
        allowed = tol * np.abs(x) + ROUNDING * EPS * np.abs(x).max()
        before, self.x = self.x, x
        return bool((np.abs(x - before) <= allowed).all())

    def solution(self, algorithm: str, stop: Stop, debias: bool) -> Solution:
        """The final model."""
        columns = np.concatenate([self.free.columns, self.columns])
        x = self._all_coef().astype(self.data.y.dtype)
        if debias:
            x = least_squares(self.data, columns)
        model = Minimiser(columns, x, self.y, 0.0, 0.0)
        r = told_residual(self.data, model)
        if stop is not Stop.INTERRUPTED and is_spoilt(self.data, model):
            stop = Stop.ROUNDING
        include, exclude = self._constraints
        return self.log.solution(
            algorithm, stop, columns, x, inner(r, r), least_squares=debias,
            include=include, exclude=exclude,
        )  # fmt: skip

    def _keep(self, alive: Array) -> None:
        self.columns, self.A, self.B = self.columns[alive], self.A[:, alive], self.B[:, alive]

    def _all_coef(self) -> Array:
        """The coefficients of the unpenalised columns, by least squares on the rest, then x."""
        return np.concatenate([self.free.coef(self.data.y - self.A @ self.x), self.x])


class Dropped(Sequence[Array]):
    """The coefficients after each of several drops, computed lazily."""

    def __init__(self, x: Array, gone: Array) -> None:
        self.x, self.gone = x, gone

    def __len__(self) -> int:
        return self.gone.size

    def __getitem__(self, i: Any) -> Any:
        return np.delete(self.x, self.gone[: range(len(self))[i] + 1])
