"""ℓ1-penalised least squares along a path of weights."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from sparsewise.compiled import load_homotopy
from sparsewise.design.base import Array
from sparsewise.engine.factor import Factor
from sparsewise.engine.log import Log
from sparsewise.engine.minimiser import Minimiser
from sparsewise.engine.weights import Weights
from sparsewise.problem import Problem
from sparsewise.results import Stop

BENDS = 64
"""How many bends a compiled call may tell of at first; twice as many each time."""

MOST_BENDS = 200
"""More bends than this for each row and column are a sign that the path goes in circles."""

NUDGE = 1e-2
"""Weights of idle columns are raised by up to this part of √eps to leave a cycle."""


class Homotopy:
    """The minimiser of ½‖A x - y‖² + λ Σ w_j |x_j|, followed as λ and w change.

    It begins at the λ at which the first column comes in. `shrink` lowers λ, `grow` raises it,
    `turn` exchanges the weights: always along lines on which the minimiser bends from time to
    time, so that a new problem costs as many bends as it is far from the last.

    Parameters
    ----------
    log : Log
        Takes the steps.
    weights : Weights
        What each column costs.

    Attributes
    ----------
    penalty : float
        λ, for unit columns, a unit target and `Weights.unit`.
    begun : bool
        Whether λ has left its first value.
    tolerance : Tolerances
        What rounding makes of numbers of this type.
    bends : list of float
        λ at each step of the log.
    """

    def __init__(self, log: Log, weights: Weights) -> None:
        self._kernels = load_homotopy()
        self.log = log
        self.data: Problem = log.problem
        self._factor = Factor(self.data, 32)
        self._dtype = self.data.y.dtype
        self.tolerance = self._factor.tolerance
        self._bends = BENDS
        self._generator = np.random.default_rng(0)
        m = self.data.shape[1]
        self._weight, self._delta = np.zeros(m, self._dtype), np.zeros(m, self._dtype)
        self._at = np.zeros(5)
        self._scratch = np.zeros((5, 0), self._dtype)
        self._vectors = np.zeros((2, self.data.shape[0]), self._dtype)
        self._state = np.zeros(m, np.int8)
        self._signs = np.zeros(self._factor.room, self._dtype)
        self._free = np.zeros(self._factor.room, np.bool_)
        self.bends: list[float] = []
        self._span = (0.0, 0.0)
        self._told = 0
        self.begun = False
        self._begin(weights)

    def _begin(self, weights: Weights) -> None:
        """Columns that cost nothing are active; λ is where the first of the others comes in."""
        kernels, factor = self._kernels, self._factor
        self._set_weights(weights)
        free = weights.free.tolist()
        self._state[weights.barred] = kernels.BARRED
        self._state[free] = kernels.ACTIVE
        if free:
            if not factor.load(free, len(free), True):
                raise ValueError(
                    "The columns that cost nothing (include, or a weight of 0) depend linearly on "
                    "each other; leave some of them out."
                )
            self._make_room()
            self._free[: len(free)] = True
            self.log.record("start", free, [factor.rss], [factor.coef()], len(free))
            self._told = len(free)
        self._corr = self.data.correlate(factor.r).astype(self._dtype, copy=False)
        self._first_corr = np.abs(self._corr)
        self.penalty = self.first_penalty

    def _set_weights(self, weights: Weights) -> None:
        self.weights = weights
        self._unit = np.where(weights.barred, 0.0, weights.unit).astype(self._dtype)

    # ------------------------------------------------------------------ what is there

    @property
    def first_penalty(self) -> float:
        """The λ above which no column that costs anything is active."""
        costs = self._unit > 0
        return float((self._first_corr[costs] / self._unit[costs]).max(initial=0.0))

    @property
    def size(self) -> int:
        """Number of active columns."""
        return self._factor.size

    @property
    def squared_residual(self) -> float:
        """‖r‖² for a target of norm one."""
        e = self._turned(self._unit * self.penalty)
        return self._factor.rss + float(e @ e)

    @property
    def least_squared_residual(self) -> float:
        """‖r‖² of least squares on the active columns."""
        return self._factor.rss

    @property
    def fits_exactly(self) -> bool:
        """Whether least squares on the active columns leave nothing but rounding."""
        return self._factor.rss <= self.tolerance.exact

    def rest(self) -> None:
        """Nothing is to be paid for: λ is infinite."""
        self.penalty = np.inf

    def minimiser(self) -> Minimiser:
        """The minimiser at the present λ and weights, with its dual vector."""
        factor, k = self._factor, self.size
        if np.isinf(self.penalty):
            x, none = factor.coef(), np.zeros_like(factor.r)
            return Minimiser(factor.columns.copy(), x, none, self.penalty, self._accuracy())
        U, Q, columns = factor.U[:k, :k], factor.Q[:k], factor.columns.copy()
        e = self._turned(self._unit)
        x = (factor.t[:k] - self.penalty * e) @ U
        # Where λ is zero, so may coefficients of active columns be.
        least = self.tolerance.eps**0.75 * float(np.abs(x).max(initial=0.0)) * (self.penalty == 0)
        wrong = (x * self._signs[:k] <= least) & ~self._free[:k]
        dual = e @ Q
        if self.penalty > 0:
            dual = dual + factor.r / self.penalty
        keep = ~wrong
        return Minimiser(columns[keep], x[keep], dual, self.penalty, self._accuracy())

    def _accuracy(self) -> float:
        return 1e2 * self.tolerance.quiet * NUDGE

    def _turned(self, weights: Array) -> Array:
        """Uᵀ(s ω): the residual's part in the span of the active columns."""
        k = self.size
        return np.asarray(
            self._factor.U[:k, :k] @ (self._signs[:k] * weights[self._factor.columns])
        )

    # ------------------------------------------------------------------ the verbs

    def shrink(self, bound: float | None = None, to: float = 0.0) -> Stop:
        """Lower λ until ‖r‖² is `bound`, or to a value."""
        return self._go(to, self._unit, bound)

    def grow(self, bound: float) -> Stop:
        """Raise λ until ‖r‖² is `bound`."""
        return self._go(2 * self.first_penalty + self.penalty, self._unit, bound)

    def turn(self, weights: Weights) -> None:
        """Go over to other weights (of the same free and barred columns), λ staying as it is."""
        before = self._unit
        self._set_weights(weights)
        self._go(self.penalty, before, None)

    def _go(self, to: float, before: Array, bound: float | None) -> Stop:
        """From λ and the weights before to λ = `to` and the weights now."""
        kernels, start = self._kernels, self.penalty
        self._weight = (start * before).astype(self._dtype)
        self._delta = (to * self._unit - start * before).astype(self._dtype)
        self._at[kernels.LEFT] = self._at[kernels.FRESH] = 1.0
        self._at[kernels.STILL] = 0.0
        self._span = (start, to)
        self.begun = True
        self._state[self._state == kernels.PARKED] = kernels.OPEN
        limit = -1.0 if bound is None else bound
        shrinks = to == 0.0
        code = kernels.END if not start else kernels.MORE
        while code not in (kernels.END, kernels.MET):
            code = self._some_bends(limit, shrinks)
            left = float(self._at[kernels.LEFT])
            self.penalty = to + (start - to) * left
            if code == kernels.STALE:
                self._refresh()
            elif code == kernels.CYCLE:
                self._nudge()
            elif self.log.halted:
                return Stop.CALLBACK
        return Stop.RESIDUAL if code == kernels.MET else Stop.EXHAUSTED

    # ------------------------------------------------------------------ bend by bend

    def _some_bends(self, bound: float, shrinks: bool) -> int:
        """Follow the line for a while; return why that ended."""
        tolerance = self.tolerance
        limits = (
            tolerance.exact if shrinks else -1.0, tolerance.dependent, tolerance.eps**0.75,
            32 * tolerance.eps, float(2 * min(self.data.shape) + 20), tolerance.faded**0.5,
        )  # fmt: skip
        if self.data.design.is_small and not self.log.callback:
            self._make_room()
            return self._bends_of_small(bound, limits)
        return self._bends_of_large(bound, limits)

    def _check_bends(self) -> None:
        if len(self.bends) > MOST_BENDS * sum(self.data.shape):
            raise RuntimeError(
                f"The path has more than {len(self.bends)} bends and seems to go in circles; use "
                'solver="conic", or scale the columns.'
            )

    def _bends_of_small(self, bound: float, limits: tuple[float, ...]) -> int:
        """All in one compiled call, on all of A."""
        self._check_bends()
        factor, design = self._factor, self.data.design
        count = self._bends
        columns, left = np.empty(count, np.int64), np.empty(count)
        squares, X = np.empty(count), np.zeros((count, factor.room + 1), self._dtype)
        W = design.laid_out(None, self._dtype)
        state = self._now()
        done, code = self._kernels.follow(
            W, self.data.inverse_norms, state, bound, limits, columns, left, squares, X
        )
        self.data.passes.count += done + 1
        self._keep_up(int(np.count_nonzero(columns[:done] < 0)))
        self._tell(columns[:done], left[:done], squares[:done], X[:done])
        self._bends = 2 * count if code == self._kernels.MORE else BENDS
        return int(code)

    def _bends_of_large(self, bound: float, limits: tuple[float, ...]) -> int:
        """One by one, each with a pass over A."""
        kernels, at = self._kernels, self._at
        exact, dependent, slow, noise, still, faded = limits
        self._make_room()
        state = self._now()
        kernels.aim(state)
        while not self.log.halted:
            if at[kernels.LEFT] < faded * at[kernels.FRESH]:
                return kernels.STALE
            self._check_bends()
            b = self.data.correlate(state.u).astype(self._dtype, copy=False)
            kind, place, time = kernels.next_bend(state, b, bound, exact, slow, noise)
            kernels.move(state, b, time)
            if kind in (kernels.END, kernels.MET):
                return int(kind)
            if at[kernels.STILL] > still:
                return kernels.CYCLE
            columns, gone = self._bend(state, kind == kernels.ADD, place, dependent)
            self._make_room()
            state = self._now()
            squares = [kernels.aim(state)] * len(columns)
            kernels.round_off(state, columns[-1:] == [place] and kind == kernels.ADD, slow)
            x = state.x[: self.size].copy()
            coefs = [np.insert(x, gone, 0.0), x] if len(columns) == 2 else [x]
            self._tell(columns, [at[kernels.LEFT]] * len(columns), squares, coefs)
        return kernels.MORE

    def _bend(self, state: Any, comes: bool, place: int, dependent: float) -> tuple[list[int], int]:
        """A column comes, or the one at a position goes.

        Returns the changes as `follow` tells them, and the position that was given up for the
        column that came.
        """
        before = self._factor.columns.copy()
        if not comes:
            self._kernels.leave(state, place)
            self._keep_up(1)
            return [-1 - int(before[place])], -1
        gone = self._kernels.enter(state, place, self._factor.unit_column(place), dependent)
        self._keep_up(int(gone >= 0))
        columns = [] if gone == -2 else [place]
        return columns + ([-1 - int(before[gone])] if gone >= 0 else []), gone

    def _tell(self, columns: Any, left: Any, squares: Any, coefs: Any) -> None:
        """The steps, those of one kind together."""
        start, to = self._span
        self.bends += [to + (start - to) * float(share) for share in left]
        first, size = 0, self._told
        for comes, group in groupby(columns, key=lambda column: column >= 0):
            last = first + len(list(group))
            size += last - first if comes else first - last
            part = slice(first, last)
            named = [int(j) if comes else -1 - int(j) for j in columns[part]]
            self.log.record("add" if comes else "drop", named, squares[part], coefs[part], size)
            first = last
        self._told = size

    # ------------------------------------------------------------------ keeping up

    def _now(self) -> Any:
        """The state as kernels take it."""
        factor, room = self._factor, self._factor.room
        self._at[self._kernels.SIZE], self._at[self._kernels.RSS] = factor.size, factor.rss
        if self._scratch.shape[1] < 2 * room + 2:  # what orthogonalising k columns needs
            self._scratch = np.zeros((5, 2 * room + 2), self._dtype)
        x, dx, e, g, h = self._scratch
        return self._kernels.State(
            factor.Q, factor.U, factor.t, factor.r, factor.order, self._signs, self._free,
            x, dx, e, g, self._vectors[0], self._corr, self._weight, self._delta, self._state,
            self._vectors[1], h, self._at,
        )  # fmt: skip

    def _keep_up(self, dropped: int) -> None:
        """The factor learns what the kernels have made of it."""
        kernels = self._kernels
        self._factor.was_changed(int(self._at[kernels.SIZE]), float(self._at[kernels.RSS]), dropped)

    def _make_room(self) -> None:
        """Room for one more column, if there can be one."""
        factor = self._factor
        factor.make_room(min(factor.size + 1, factor.capacity))
        missing = factor.room - self._signs.size
        if missing > 0:
            self._signs = np.append(self._signs, np.zeros(missing, self._dtype))
            self._free = np.append(self._free, np.zeros(missing, np.bool_))

    def _refresh(self) -> None:
        """c from scratch: it carries the rounding errors of larger times."""
        factor, kernels = self._factor, self._kernels
        _ = factor.Q
        factor.reorthogonalise()
        r = factor.r + self._turned(self._weight) @ factor.Q[: self.size]
        self._corr = self.data.correlate(r).astype(self._dtype, copy=False)
        self._at[kernels.FRESH] = self._at[kernels.LEFT]

    def _nudge(self) -> None:
        """Columns that are tied for ever are told apart by weights raised a little."""
        idle = self._state == self._kernels.OPEN
        size = NUDGE * self.tolerance.quiet
        factors = 1 + size * self._generator.random(np.count_nonzero(idle)).astype(self._dtype)
        target = self._weight[idle] + self._delta[idle]
        self._weight[idle] *= factors
        self._delta[idle] = target * factors - self._weight[idle]
        self._at[self._kernels.STILL] = 0
