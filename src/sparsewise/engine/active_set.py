"""The active columns: an orthonormal basis, the inverse factor, and the score of every column.

Adding or dropping a column changes the active subspace by one unit direction q, and with
p = A*q and t = q*y the two vectors behind every forward score change by

    corr -= t p,  energy -= |p|²   (add)        corr += t p,  energy += |p|²   (drop)

so that gain = |corr|²/energy, the fall of ‖r‖² if a column is added, costs one pass over A a step.
The factor U with A_S U = Q plays the same part for the active columns: x = U t, and
loss = |x_i|²/‖row i of U‖² is the growth of ‖r‖² if one is dropped (Lemma 3.5 of the paper).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.design.base import Array
from sparsewise.engine.log import Callback, Log
from sparsewise.engine.tolerances import tolerances
from sparsewise.engine.until import Until
from sparsewise.problem import Problem, check_columns, problem
from sparsewise.solution import Solution, Stop

By = Literal["gain", "corr"]

POOL_ENTRIES = 1 << 16
"""A with at most this many entries is looked at as a whole; larger ones through a pool."""

LOOK_AHEAD = 32
"""Most steps guessed from a pool of columns before one pass over A checks them."""

BLOCK = 32
"""Most directions taken through A in one pass."""


class ActiveSet:
    """The model under construction, and the verbs of every stepwise algorithm.

    Parameters
    ----------
    problem : Problem
        Design and target.
    include, exclude, start : iterable of int, optional
        Columns that must be, must not be, and are at first in the model.
    callback : callable, optional
        Called with each `Step`; returning True halts.
    room : int, optional
        How many columns to make room for at first.
    basis : bool
        Whether the start will be added to. Without it only the triangular factor is made.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        include: Iterable[int] | None = (),
        exclude: Iterable[int] | None = (),
        start: Iterable[int] | None = (),
        callback: Callback | None = None,
        room: int | None = None,
        basis: bool = True,
    ) -> None:
        from sparsewise.engine import kernels  # numba is loaded by the first solve, not by import

        self._kernels = kernels
        self.problem = problem
        n, m = problem.shape
        self._dtype = problem.y.dtype
        self._tolerance = tolerances(self._dtype)
        self.log = Log(problem, callback)

        self.size = 0
        self.rss = 0.0 if problem.is_zero else 1.0
        room = min(n, m, 16 if room is None else max(room, 1))
        self._basis: Array | None = np.empty((room, n), self._dtype)
        self._U = np.empty((room, room), self._dtype)
        self._t = np.empty(room, self._dtype)
        self._order = np.empty(room, np.int64)
        self._locked = np.zeros(room, np.bool_)
        self._r = problem.y.copy()

        self._synced: int | None = None
        self._stale = False
        self._look = 8
        self._whole: Array | None = None
        self._turns: list[tuple[Array, int, int]] = []
        self._peak = 0.0
        self._turned = 0

        self._state = self._initial_state(include, exclude, start, basis)

    # ------------------------------------------------------------------ set-up

    def _make_room(self, columns: int) -> None:
        """Room for this many columns; what is there stays."""
        if self._basis is not None:
            self._basis = _grown(self._basis, (columns, self.problem.shape[0]))
        self._U = _grown(self._U, (columns, columns))
        self._t = _grown(self._t, (columns,))
        self._order = _grown(self._order, (columns,))
        self._locked = _grown(self._locked, (columns,))

    def _initial_state(
        self,
        include: Iterable[int] | None,
        exclude: Iterable[int] | None,
        start: Iterable[int] | None,
        basis: bool,
    ) -> Array:
        """Which columns may be added; takes in include and start on the way."""
        m = self.problem.shape[1]
        self._state = np.zeros(m, np.int8)
        if self.problem.has_zeros:
            self._state[self.problem.inverse_norms == 0] = self._kernels.NULL
        if not any(map(_may_hold, (include, exclude, start))):
            return self._state
        forced = check_columns(include, m, "include")
        barred = check_columns(exclude, m, "exclude")
        first = check_columns(start, m, "start")
        if both := sorted(set(forced) & set(barred)):
            raise ValueError(f"Column {both[0]} is in both include and exclude; keep it in one.")
        self._state[barred] = self._kernels.EXCLUDED
        columns = list(dict.fromkeys([*forced, *(j for j in first if j not in set(barred))]))
        if columns:
            self._load(columns, len(forced), basis)
        return self._state

    def _load(self, columns: list[int], forced: int, basis: bool) -> None:
        """Begin with these columns; the first `forced` of them can't be dropped."""
        fits = len(columns) <= self.problem.shape[0]
        if fits:
            self._make_room(max(len(columns), self._t.size))
            self._order[: len(columns)] = columns
            self._locked[: len(columns)] = np.arange(len(columns)) < forced
        if not fits or self._factor(np.array(columns), basis) <= self._tolerance.dependent:
            raise ValueError(self._dependent_start(columns))
        self._state[columns] = self._kernels.ACTIVE
        self.log.record("start", columns, [self.rss], self._coef()[None], self.size)

    def _dependent_start(self, columns: list[int]) -> str:
        """Which of these columns can't be in one model with those before them, and what to do."""
        independent = ActiveSet(self.problem, room=len(columns))
        kept = set(independent.add(columns))
        left_out = [j for j in columns if j not in kept]
        names = ", ".join(map(str, left_out[:5])) + (", …" if len(left_out) > 5 else "")
        return (
            f"The model can't start from these {len(columns)} columns: {len(left_out)} of them "
            f"({names}) depend linearly on the others or are zero; start from fewer columns "
            "(start= with the support of forward, say), or use rmp0, foba or forward."
        )

    def _factor(self, columns: Array, basis: bool = True) -> float:
        """QR of the active columns from scratch: all drift is gone, scores are to be made anew.

        Returns the least energy with which a column came in.
        """
        k = len(columns)
        unit = self._unit_columns(columns)
        y = self.problem.y
        if basis:
            Q, R = np.linalg.qr(unit)
            t = Q.conj().T @ y
            r = y - Q @ t
            again = Q.conj().T @ r
            r -= Q @ again
            self._basis = np.empty((self._t.size, len(y)), self._dtype)
            self._basis[:k] = Q.T
            self._t[:k] = t + again
            self._r = r
            self.rss = float(np.vdot(r, r).real)
        else:
            R = np.linalg.qr(np.column_stack([unit, y]), mode="r")
            self._t[:k] = R[:k, k]
            self.rss = float(abs(R[k, k]) ** 2) if len(R) > k else 0.0
            self._basis = None
        least = float(np.square(np.abs(np.diagonal(R)[:k])).min(initial=1.0))
        if least > self._tolerance.dependent:
            self._U[:k, :k] = _inverse_of_triangle(R[:k, :k]).T
        self.size = k
        self._synced = None
        self._turns.clear()
        self._peak = 0.0
        self._turned = 0
        return least

    def _unit_columns(self, columns: Array | slice) -> Array:
        """These columns of A, scaled to unit norm, in the working type."""
        inverse = self.problem.inverse_norms[columns]
        return np.asarray(self.problem.design.columns(columns) * inverse, self._dtype)

    def _pool_of(self, columns: Array | slice) -> Array:
        """These columns of A as they are, side by side, laid out for the kernels."""
        pool = self.problem.design.columns(columns)
        pool = np.ascontiguousarray(pool, self._dtype)
        flags = pool.flags
        return pool if flags.writeable and flags.aligned else pool.copy()

    # ------------------------------------------------------------------ what is there

    @property
    def order(self) -> list[int]:
        """The active columns in the order in which they came."""
        return [int(j) for j in self._order[: self.size]]

    @property
    def support(self) -> frozenset[int]:
        """The active columns as a set."""
        return frozenset(self._order[: self.size].tolist())

    def _coef(self) -> Array:
        """x = U t: coefficients of the unit columns, in insertion order."""
        k = self.size
        return np.asarray(self._t[:k] @ self._U[:k, :k])

    @property
    def coef(self) -> dict[int, Any]:
        """Coefficient of each active column (unit columns, unit target)."""
        return dict(zip(self.order, self._coef(), strict=True))

    def loose_coef(self) -> dict[int, float]:
        """|x_i| of each active column that may be dropped (unit columns, unit target)."""
        free = ~self._locked[: self.size]
        return dict(zip(self._order[: self.size][free].tolist(), np.abs(self._coef()[free]), strict=True))

    def fell_below(self, rss: float) -> bool:
        """Whether ‖r‖² is lower than it was by more than rounding."""
        return self.rss < rss * (1 - self._tolerance.tie)

    def gains(self) -> Array:
        """|corr|²/energy, the fall of ‖r‖² for each column; -1 where it can't be added."""
        return self._scores(by_gain=True)

    def correlations(self) -> Array:
        """|u_j* r|² for each column that can be added, -1 for the others."""
        return self._scores(by_gain=False)

    def losses(self) -> Array:
        """|x_i|²/[(A_S*A_S)⁻¹]_ii, the growth of ‖r‖² for each active column, in order."""
        k = self.size
        rows = np.square(np.abs(self._U[:k, :k])).sum(axis=0)
        return np.asarray(np.square(np.abs(self._coef())) / rows)

    @property
    def residual(self) -> Array:
        """r = y - A x, for y scaled to norm one."""
        self._need_basis()
        return self._r

    def closest(self, r: Array) -> tuple[int, Any]:
        """The column closest to any vector r, active or not, with u_j* r; -1: all are barred."""
        inner = self.problem.correlate(r)
        barred = (self._state == self._kernels.EXCLUDED) | (self._state == self._kernels.NULL)
        size = np.where(barred, -1.0, np.abs(inner))
        j = int(np.argmax(size >= size.max() * (1 - self._tolerance.tie)))
        return (j, inner[j]) if not barred[j] else (-1, 0.0)

    def unit_column(self, j: int) -> Array:
        """Column j of A, scaled to unit norm."""
        return self._unit_columns(np.array([j]))[:, 0]

    def _scores(self, by_gain: bool) -> Array:
        self._sync()
        out = np.empty(self._energy.size, self._energy.dtype)
        self._kernels.scores(
            self._corr, self._energy, self._state, by_gain, self._tolerance.dependent, out
        )
        return out

    def ranking(self, count: int) -> list[int]:
        """The `count` columns of largest |u_j* r|, best first, near-ties by column."""
        scores = self.correlations()
        order = np.argsort(-scores, kind="stable")
        order = order[: np.count_nonzero(scores >= 0)]
        ranked: list[int] = []
        while len(ranked) < min(count, order.size):
            rest = order[len(ranked) :]
            level = scores[rest[0]] * (1 - self._tolerance.tie)
            tied = np.count_nonzero(scores[rest] >= level) if rest.size > 1 else 1
            ranked.extend(np.sort(rest[:tied]).tolist())
        return ranked[:count]

    # ------------------------------------------------------------------ the verbs

    def grow(self, until: Until, *, by: By = "gain", steps: int | None = None) -> Stop | None:
        """Add the best column again and again; say why it ended, or None after `steps` steps."""
        left = steps if steps is not None else self.problem.shape[1]
        while left > 0:
            if stop := self.reason_not_to_grow(until):
                return stop
            self._sync()
            added, stop = self._advance(until, by == "gain", 1 if self.log.callback else left)
            left -= added
            if self.log.halted:
                return Stop.CALLBACK
            if stop:
                return stop
        return None

    def shrink(
        self, until: Until, *, by: Literal["loss", "coef"] = "loss", steps: int | None = None
    ) -> Stop | None:
        """Drop what matters least again and again; say why it ended, or None after `steps`."""
        left = steps if steps is not None else self.size
        while left > 0 and self.size > 0:
            dropped, stop = self._retire(until, by == "loss", 1 if self.log.callback else left)
            left -= dropped
            if self.log.halted:
                return Stop.CALLBACK
            if stop:
                return stop
        return None if self.size or steps is not None else Stop.EXHAUSTED

    def add(self, columns: Iterable[int]) -> list[int]:
        """Add these columns, but for dependent ones; the scores wait for one block pass."""
        self._ready_to_add()
        added, left, coefs = [], [], []
        h = np.empty(min(self.problem.shape) + 1, self._dtype)
        for j in columns:
            if self.size == min(self.problem.shape):
                break
            if self.size == self._t.size:
                self._make_room(min(2 * self.size, *self.problem.shape))
            v = self.unit_column(j)
            rss = self._kernels.add(
                self._basis, self._U, self._t, self._r, self.size, v, h, self._tolerance.dependent
            )
            if rss < 0:
                self._close(j)
                continue
            self._order[self.size] = j
            self._locked[self.size] = False
            self._state[j] = self._kernels.ACTIVE
            self.size += 1
            self.rss = rss
            added.append(j)
            left.append(rss)
            coefs.append(self._coef())
        if added:
            self.log.record("add", added, left, coefs, self.size)
        return added

    def drop(self, columns: Iterable[int]) -> None:
        """Drop these columns."""
        for j in columns:
            self._ready_to_drop()
            k = self.size
            i = self.order.index(j)
            reflector = np.zeros((1, k + 1), self._dtype)
            x = self._coef()[i]
            self.rss += float(np.square(np.abs(x)) / np.square(np.abs(self._U[:k, i])).sum())
            self._kernels.reflect(self._U, self._t, k, i, reflector[0])
            self._order[i : k - 1] = self._order[i + 1 : k]
            self._locked[i : k - 1] = self._locked[i + 1 : k]
            self._left([j], reflector)
            self.log.record("drop", [j], [self.rss], self._coef()[None], self.size)

    def return_to(self, support: frozenset[int]) -> None:
        """Undo an exchange: these columns again and no others."""
        self.drop(j for j in self.order if j not in support)
        self.add(sorted(support.difference(self.order)))

    def solution(self, algorithm: str, stop: Stop) -> Solution:
        """The model as it is, in the units of the data."""
        columns = self._order[: self.size].copy()
        return self.log.solution(algorithm, stop, columns, self._coef(), self.rss)

    # ------------------------------------------------------------------ growing

    def reason_not_to_grow(self, until: Until) -> Stop | None:
        """The stopping word that is met, if one is."""
        if self.log.halted:
            return Stop.CALLBACK
        if self.size >= until.most:
            return until.full
        return self.reason_not_to_exchange(until)

    def reason_not_to_exchange(self, until: Until) -> Stop | None:
        """The same without the number of features."""
        if self.log.halted:
            return Stop.CALLBACK
        if self.rss <= until.enough:
            return Stop.RESIDUAL
        if self.rss <= self._tolerance.exact:
            return Stop.EXACT_FIT
        return None

    def _advance(self, until: Until, by_gain: bool, steps: int) -> tuple[int, Stop | None]:
        """Some steps forward, from all columns or from a checked guess."""
        if self.size == self._t.size:
            self._make_room(min(2 * self.size, *self.problem.shape))
        k, tolerance = self.size, self._tolerance
        steps = min(steps, self._t.size - k)
        picks = np.empty(steps, np.int64)
        rss = np.empty(steps)
        X = np.empty((steps, k + steps), self._dtype)
        if k:
            X[0, :k] = self._coef()
        limits = (
            float(until.most), until.enough, until.gain, tolerance.exact, tolerance.dependent,
            tolerance.tie, self._faded, tolerance.drift,
        )  # fmt: skip
        n, m = self.problem.shape
        step = self._from_all if n * m <= POOL_ENTRIES else self._from_pool
        added, code, synced = step(by_gain, steps, limits, picks, rss, X)
        self._synced = k + synced
        if added:
            self._order[k : k + added] = picks[:added]
            self._locked[k : k + added] = False
            self.size += added
            self.rss = float(rss[added - 1])
            coefs = X[:added, : self.size]
            self.log.record("add", picks[:added].tolist(), rss[:added].tolist(), coefs, self.size)
        return added, self._meaning(code, until)

    def _from_all(
        self,
        by_gain: bool,
        steps: int,
        limits: tuple[float, ...],
        picks: Array,
        rss: Array,
        X: Array,
    ) -> tuple[int, int, int]:
        """Steps on a copy of all columns: small matrices only."""
        if self._whole is None:
            self._whole = self._pool_of(slice(None))
        added, code, synced = self._kernels.grow(
            self._whole, self.problem.inverse_norms, True, self._corr, self._energy, self._floor, self._state, self._basis,
            self._U, self._t, self._r, self.size, by_gain, steps, limits, picks, rss, X,
        )  # fmt: skip
        self.problem.design.passes += synced
        return added, code, synced

    def _from_pool(
        self,
        by_gain: bool,
        steps: int,
        limits: tuple[float, ...],
        picks: Array,
        rss: Array,
        X: Array,
    ) -> tuple[int, int, int]:
        """Guess the next steps from the columns of best scores, then check against all columns.

        One pass over A serves as many steps as the guess was right for: the result is the same
        as that of one pass a step.
        """
        kernels, k = self._kernels, self.size
        look = min(steps, self._look)
        pool = self._pool(by_gain, look)
        if pool.size == 0:
            return 0, kernels.NONE_LEFT, 0
        state = np.zeros(pool.size, np.int8)
        added, code, _ = kernels.grow(
            self._pool_of(pool), self.problem.inverse_norms[pool], False, self._corr[pool],
            self._energy[pool], self._floor[pool], state, self._basis, self._U, self._t, self._r,
            k, by_gain, look, limits, picks, rss, X,
        )  # fmt: skip
        self._state[pool[state == kernels.DEPENDENT]] = kernels.DEPENDENT
        if added == 0:
            return 0, code, 0
        picks[:added] = pool[picks[:added]]
        at_end = code in (kernels.FITTED, kernels.EXACT, kernels.FULL)
        confirmed, applied, stale = kernels.confirm(
            self._project(k, k + added - at_end), self.problem.inverse_norms, self._t[k:],
            picks[:added], self._corr, self._energy, self._floor, self._state,
            by_gain, self._tolerance.dependent, self._tolerance.tie,
        )  # fmt: skip
        self._look = min(2 * look, LOOK_AHEAD) if confirmed == look else max(1, confirmed)
        if confirmed < added:
            Q = self._need_basis()
            self._r += self._t[k + confirmed : k + added] @ Q[k + confirmed : k + added]
            code = kernels.MORE
        if stale:
            code = kernels.STALE
        return confirmed, code if code != kernels.SMALL else kernels.MORE, applied

    def _pool(self, by_gain: bool, look: int) -> Array:
        """The columns from which the next `look` steps are guessed, ascending."""
        scores = np.empty(self._energy.size, self._energy.dtype)
        best = self._kernels.best_open(
            self._corr, self._energy, self._state, by_gain, self._tolerance.dependent,
            self._tolerance.tie, scores,
        )  # fmt: skip
        if best < 0 or look == 1:
            return np.array([best] if best >= 0 else [], np.int64)
        width = min(4 * look, scores.size)
        top = np.argpartition(scores, scores.size - width)[-width:]
        return np.unique(np.append(top[scores[top] >= 0], best))

    def _project(self, first: int, last: int) -> Array:
        """(A*q)ᵀ for the basis directions first..last, one row each: one pass over A."""
        if last == first:
            return np.empty((0, self.problem.shape[1]), self._dtype)
        Q = self._need_basis()
        return np.ascontiguousarray(self.problem.design.rmatmat(Q[first:last].T).T)

    def _meaning(self, code: int, until: Until) -> Stop | None:
        """What a kernel's answer means; None: go on (the scores are mended by the next sync)."""
        kernels = self._kernels
        if code == kernels.FULL:
            return until.full
        if code == kernels.FITTED:
            return Stop.RESIDUAL
        if code == kernels.EXACT:
            return Stop.EXACT_FIT
        if code == kernels.SMALL:
            return Stop.DELTA
        if code == kernels.NONE_LEFT:
            return self.nothing_left()
        if code == kernels.STALE:
            self._stale = True
        elif code == kernels.DRIFTED:
            self._synced = None
        return None

    def nothing_left(self) -> Stop:
        """Why no column can be added."""
        blocked = (self._state == self._kernels.DEPENDENT).any()
        return Stop.DEPENDENT if blocked else Stop.EXHAUSTED

    def _ready_to_add(self) -> None:
        """The basis is there, and what lies behind its active columns may be written over."""
        if self._synced is not None and self._synced > self.size:
            self._sync()
        self._need_basis()

    def _close(self, j: int) -> None:
        if self._state[j] == self._kernels.OPEN:
            self._state[j] = self._kernels.DEPENDENT

    # ------------------------------------------------------------------ shrinking

    def _retire(self, until: Until, by_loss: bool, steps: int) -> tuple[int, Stop | None]:
        """Some steps backward."""
        self._ready_to_drop()
        kernels, k = self._kernels, self.size
        steps = min(steps, k)
        reflectors = np.empty((steps, k + 1), self._dtype)
        columns = np.empty(steps, np.int64)
        left = np.empty(steps)
        X = np.zeros((steps, k), self._dtype)
        limits = (
            float(until.most),
            until.loss,
            until.ceiling,
            self._tolerance.tie,
            self._peak,
            self._tolerance.tie * (self._turned + 1),
        )
        dropped, code, self._peak = kernels.shrink(
            self._U, self._t, self._order, self._locked, k, self.rss, by_loss, steps, limits,
            reflectors, columns, left, X,
        )  # fmt: skip
        if dropped:
            gone = columns[:dropped].tolist()
            self.rss = float(left[dropped - 1])
            self._left(gone, reflectors[:dropped])
            self.log.record("drop", gone, left[:dropped].tolist(), X[:dropped], self.size)
        if code == kernels.DRIFTED:
            self._factor(self._order[: self.size].copy(), self._basis is not None)
        stops = {
            kernels.FULL: Stop.SPARSITY,
            kernels.SMALL: Stop.DELTA,
            kernels.FITTED: Stop.RESIDUAL,
            kernels.NONE_LEFT: Stop.EXHAUSTED,
        }
        return dropped, stops.get(code)

    def _ready_to_drop(self) -> None:
        """The scores know every direction of the basis before it is turned."""
        if self._synced is not None and self._synced < self.size:
            self._sync()

    def _left(self, columns: list[int], reflectors: Array) -> None:
        """Columns have gone: open them again, and remember how the basis is to be turned."""
        self._turns.append((reflectors, self.size, len(columns)))
        self._turned += len(columns)
        self.size -= len(columns)
        self._state[columns] = self._kernels.OPEN
        if self._synced is not None:
            self._floor[columns] = np.inf
            self._stale = True

    # ------------------------------------------------------------------ keeping scores true

    def _need_basis(self) -> Array:
        """Q, turned by what has been dropped; directions that left lie behind the active ones."""
        if self._basis is None or self._turned * self._tolerance.eps > self._tolerance.tie:
            self._factor(self._order[: self.size].copy())
        Q = self._basis
        assert Q is not None
        if self._turns:
            first = self._turns[0][1]
            count = first - self.size
            # A few reflectors go straight to Q; many are gathered and applied as one product.
            target = Q if 8 * count < first else np.eye(first, dtype=self._dtype)
            for reflectors, k, dropped in self._turns:
                self._kernels.turn(target, reflectors, k, dropped)
            if target is not Q:
                Q[:first] = target @ Q[:first]
            self._r += self._t[self.size : first] @ Q[self.size : first]
            self._turns.clear()
        return Q

    def _sync(self) -> None:
        """Bring corr and energy up to date: at most one block pass for all that has changed."""
        Q = self._need_basis()
        k = self.size
        behind = 0 if self._synced is None else self._synced - k
        if self._synced is None or behind > k + 1:
            self._measure_all()
        elif behind > 0:
            for first in range(k, k + behind, BLOCK):
                last = min(first + BLOCK, k + behind)
                self._kernels.restore(
                    self._project(first, last), self.problem.inverse_norms, self._t[first:last],
                    self._corr, self._energy, self._floor, self._state, self._tolerance.dependent,
                    self._tolerance.trust,
                )  # fmt: skip
        elif behind < 0:
            for first in range(k + behind, k, BLOCK):
                last = min(first + BLOCK, k)
                P = self._project(first, last) * self.problem.inverse_norms
                for i, p in enumerate(P):
                    stale = self._kernels.lower(
                        p, self._t[first + i], self._corr, self._energy, self._floor, self._state
                    )
                    self._stale = self._stale or stale > 0
        self._synced = k
        if self.rss < self._faded:
            again = Q[:k].conj() @ self._r
            self._r -= again @ Q[:k]
            self._t[:k] += again
            self.rss = float(np.vdot(self._r, self._r).real)
            self._correlate()
        if self._stale:
            low = (self._energy < self._floor) & (self._state == self._kernels.OPEN)
            self._measure(np.flatnonzero(low))
            self._stale = False

    def _correlate(self) -> None:
        """corr = A*r from scratch: one pass."""
        self._corr = self.problem.correlate(self._r)

        self._faded = self._tolerance.faded * self.rss

    def _measure_all(self) -> None:
        """Every score from scratch: a pass for corr, and one for each block of the basis."""
        m = self.problem.shape[1]
        self._correlate()
        self._energy = np.ones(m, self.problem.inverse_norms.dtype)
        self._floor = np.full(m, self._tolerance.trust, self._energy.dtype)
        for first in range(0, self.size, BLOCK):
            P = self._project(first, min(first + BLOCK, self.size)) * self.problem.inverse_norms
            self._energy -= np.square(np.abs(P)).sum(axis=0)
        if self.size:
            self._state[self._state == self._kernels.DEPENDENT] = self._kernels.OPEN
            self._stale = True

    def _measure(self, columns: Array) -> None:
        """corr and energy of a few columns from their projections, which keeps all digits."""
        Q = self._need_basis()[: self.size].T
        for first in range(0, columns.size, BLOCK):
            block = columns[first : first + BLOCK]
            V = self._unit_columns(block)
            for _ in range(2):
                V -= Q @ (Q.conj().T @ V)
            energy = np.square(np.abs(V)).sum(axis=0)
            self._corr[block] = V.conj().T @ self._r
            self._energy[block] = energy
            self._floor[block] = np.minimum(self._tolerance.trust * np.sqrt(energy), energy / 4)
            self._state[block[energy <= self._tolerance.dependent]] = self._kernels.DEPENDENT


def begin(
    A: Any,
    y: ArrayLike,
    *,
    include: Iterable[int] | None = (),
    exclude: Iterable[int] | None = (),
    start: Iterable[int] | None = (),
    callback: Callback | None = None,
    room: int | None = None,
) -> ActiveSet:
    """An active set on checked data."""
    return ActiveSet(
        problem(A, y),
        include=include,
        exclude=exclude,
        start=start,
        callback=callback,
        room=room,
    )


def _may_hold(columns: Any) -> bool:
    """Whether there can be anything in it: None and empty lists need no further check."""
    return columns is not None and (not hasattr(columns, "__len__") or len(columns) > 0)


def _grown(old: Array, shape: tuple[int, ...]) -> Array:
    """A larger array that begins with the old one."""
    new = np.zeros(shape, old.dtype)
    new[tuple(slice(size) for size in old.shape)] = old
    return new


def _inverse_of_triangle(R: Array) -> Array:
    """U = R⁻¹ by back substitution."""
    from scipy.linalg import get_lapack_funcs

    (trtri,) = get_lapack_funcs(("trtri",), (R,))
    U, _ = trtri(R)
    return np.asarray(np.triu(U))
