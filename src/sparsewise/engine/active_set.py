"""The model under construction, and the verbs of every stepwise algorithm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.compiled import load_kernels
from sparsewise.design.base import Array
from sparsewise.engine.factor import Factor
from sparsewise.engine.log import Callback, Log
from sparsewise.engine.look_ahead import LookAhead
from sparsewise.engine.scores import Scores
from sparsewise.engine.stopping import Until, until
from sparsewise.problem import DependentColumnsError, Problem, check_columns, problem
from sparsewise.results import Stop


class ActiveSet:
    """Active columns, the score of every column, and a log; add, drop, grow and shrink.

    Parameters
    ----------
    problem : Problem
        Design and target.
    include, exclude, start : iterable of int, optional
        Columns that must be, must not be, and are at first in the model.
    callback : callable, optional
        Called with each `Step`; returning True halts.
    room : int, optional
        How many columns the model is to have at most, where that is known.
    basis : bool
        Whether the start will be added to. Dropping alone needs no basis.
    noise : float
        σ² for a target of norm one, where columns are damped (see `Evidence`).
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
        noise: float = 0.0,
    ) -> None:
        self._kernels = load_kernels()
        self.problem = problem
        self.log = Log(problem, callback)
        self._factor = Factor(problem, 16 if room is None else max(room, 1), noise)
        self._scores = Scores(self._factor)
        self._tolerance = self._factor.tolerance
        # With noise, the evidence says when to stop, however close the fit.
        self._nothing = -1.0 if noise else self._tolerance.exact
        self._look_ahead = LookAhead()
        self._measured_anew = False
        if any(map(_may_hold, (include, exclude, start))):
            self._take_wishes(include, exclude, start, room, basis)

    def _take_wishes(
        self,
        include: Iterable[int] | None,
        exclude: Iterable[int] | None,
        start: Iterable[int] | None,
        room: int | None,
        basis: bool,
    ) -> None:
        """Begin with include and start, and close the columns of exclude."""
        m = self.problem.shape[1]
        forced = check_columns(include, m, "include")
        barred = check_columns(exclude, m, "exclude")
        first = check_columns(start, m, "start")
        if both := sorted(set(forced) & set(barred)):
            raise ValueError(f"Column {both[0]} is in both include and exclude; keep it in one.")
        if room is not None and len(forced) > room:
            raise ValueError(
                f"include names {len(forced)} columns, but sparsity allows only {room}; raise it."
            )
        self._scores.state[barred] = self._kernels.EXCLUDED
        closed = {*forced, *barred}
        columns = [*forced, *(j for j in first if j not in closed)]
        if columns and not self._factor.load(columns, len(forced), basis):
            raise self._cannot_start_from(columns)
        self._scores.state[columns] = self._kernels.ACTIVE
        if columns:
            self.log.record("start", columns, [self.rss], [self._factor.coef()], self.size)

    def _cannot_start_from(self, columns: list[int]) -> DependentColumnsError:
        """Which of these columns can't be in one model with those before them, and what to do."""
        kept = set(ActiveSet(self.problem).add(columns))
        others = [j for j in columns if j not in kept]
        return DependentColumnsError(others, len(columns))

    # ------------------------------------------------------------------ what is there

    @property
    def size(self) -> int:
        """Number of active columns."""
        return self._factor.size

    @property
    def rss(self) -> float:
        """‖r‖², for y scaled to norm one."""
        return self._factor.rss

    @property
    def residual(self) -> Array:
        """r = y - A x, for y scaled to norm one."""
        return self._factor.r

    @property
    def order(self) -> list[int]:
        """The active columns in the order in which they came."""
        return self._factor.columns.tolist()

    @property
    def support(self) -> frozenset[int]:
        """The active columns as a set."""
        return frozenset(self.order)

    @property
    def coef(self) -> dict[int, Any]:
        """Coefficient of each active column (unit columns, unit target)."""
        return dict(zip(self.order, self._factor.coef(), strict=True))

    def loose_coef(self) -> dict[int, float]:
        """|x_i| of each active column that may be dropped (unit columns, unit target).

        0 where it is rounding, so that such columns are tied.
        """
        x = np.abs(self._factor.coef())
        x[np.square(x) <= self._tolerance.exact] = 0.0
        free = ~self._factor.locked[: self.size]
        return dict(zip(self._factor.columns[free].tolist(), x[free].tolist(), strict=True))

    def losses(self) -> Array:
        """The growth of ‖r‖² if each active column is dropped, in order."""
        return self._factor.losses()

    def gains(self) -> Array:
        """|corr|²/energy, the fall of ‖r‖² for each column; -1 where it can't be added."""
        return self._scores.values(by_gain=True)

    def correlations(self) -> Array:
        """|u_j* r|² for each column that can be added, -1 for the others."""
        return self._scores.values(by_gain=False)

    def closed(self) -> Array:
        """Which columns can't be added."""
        return self._scores.state != self._kernels.OPEN

    def ranking(self, scores: Array) -> Iterator[int]:
        """The columns of non-negative score, best first; near-ties by column."""
        order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores >= 0)]
        values = scores[order]
        first = 0
        while first < order.size:
            # A tie reaches as far down as its leader's value allows.
            level = values[first] * (1 - self._tolerance.tie)
            last = first + int(np.searchsorted(-values[first:], -level, side="right"))
            yield from np.sort(order[first:last]).tolist()
            first = last

    def least(self, sizes: dict[int, float]) -> int:
        """The column of smallest size; near-ties by column."""
        level = min(sizes.values()) * (1 + self._tolerance.tie)
        return min(j for j, size in sizes.items() if size <= level)

    def closest(self, r: Array) -> tuple[int, Any]:
        """The column closest to any vector r, active or not, with u_j* r; -1: all are barred."""
        inner = self.problem.correlate(r)
        state = self._scores.state
        barred = (state == self._kernels.EXCLUDED) | (state == self._kernels.NULL)
        size = np.where(barred, -1.0, np.abs(inner))
        j = int(np.argmax(size >= size.max() * (1 - self._tolerance.tie)))
        return (j, inner[j]) if not barred[j] else (-1, 0.0)

    def unit_column(self, j: int) -> Array:
        """Column j of A, scaled to unit norm."""
        return self._factor.unit_column(j)

    def fell_below(self, rss: float) -> bool:
        """Whether ‖r‖² is lower than it was by more than rounding."""
        return self.rss < rss * (1 - self._tolerance.tie)

    def reason_not_to_grow(self, limit: Until) -> Stop | None:
        """The stopping word that is met, if one is."""
        if self.size >= min(limit.most, self._factor.capacity) and not self.log.halted:
            return limit.full
        return self.reason_not_to_exchange(limit)

    def reason_not_to_exchange(self, limit: Until, rss: float | None = None) -> Stop | None:
        """The same without the number of features, for this ‖r‖² or one known better."""
        rss = self.rss if rss is None else rss
        if self.log.halted:
            return Stop.CALLBACK
        if rss <= limit.enough:
            return Stop.RESIDUAL
        if rss <= self._nothing:
            return Stop.EXACT_FIT
        return None

    def nothing_left(self) -> Stop:
        """Why no column can be added."""
        blocked = (self._scores.state == self._kernels.DEPENDENT).any()
        return Stop.DEPENDENT if blocked else Stop.EXHAUSTED

    def solution(self, algorithm: str, stop: Stop, **more: Any) -> Any:
        """The model as it is, in the units of the data; a `Solution` or the `kind` asked for."""
        columns = self._factor.columns.copy()
        return self.log.solution(algorithm, stop, columns, self._factor.coef(), self.rss, **more)

    # ------------------------------------------------------------------ the verbs

    def grow(
        self, limit: Until, *, by: Literal["gain", "corr"] = "gain", steps: int | None = None
    ) -> Stop:
        """Add the best column again and again, at most `steps` times; say why it ended."""
        left = self.problem.shape[1] if steps is None else steps
        while left > 0:
            if stop := self.reason_not_to_grow(limit):
                return stop
            self._scores.sync()
            added, stop = self._advance(limit, by == "gain", 1 if self.log.callback else left)
            left -= added
            if self.log.halted:
                return Stop.CALLBACK
            if stop:
                return stop
        return Stop.MAX_ITER

    def shrink(
        self, limit: Until, *, by: Literal["loss", "coef"] = "loss", steps: int | None = None
    ) -> Stop:
        """Drop what matters least again and again, at most `steps` times; say why it ended."""
        left = self.size if steps is None else steps
        while left > 0 and self.size > 0:
            self._scores.before_dropping()
            count = 1 if self.log.callback else min(left, self.size)
            limits = (float(limit.most), limit.loss, limit.ceiling)
            columns, rss, X, code = self._factor.shrink(by == "loss", count, limits)
            self._dropped(columns, rss, X)
            left -= columns.size
            if self.log.halted:
                return Stop.CALLBACK
            if stop := self._meaning(code, limit):
                return stop
        return Stop.MAX_ITER if self.size else Stop.EXHAUSTED

    def add(self, columns: Iterable[int], count: int | None = None) -> list[int]:
        """Add these columns, or the first `count` of them that are independent.

        The scores wait: one block pass serves all of them.
        """
        self._scores.before_adding()
        wanted = min(self.problem.shape) - self.size
        if count is not None:
            wanted = min(count, wanted)
        added: list[int] = []
        for j in columns:
            if len(added) == wanted or self.log.halted:
                break
            if not self._factor.add(j):
                self._scores.state[j] = self._kernels.DEPENDENT
                continue
            self._scores.state[j] = self._kernels.ACTIVE
            added.append(j)
            self.log.record("add", [j], [self.rss], [self._factor.coef()], self.size)
        return added

    def drop(self, columns: Iterable[int]) -> None:
        """Drop these columns."""
        self._scores.before_dropping()
        for j in columns:
            if self.log.halted:
                break
            x = self._factor.drop(j)
            self._dropped(np.array([j]), [self.rss], [x])

    def return_to(self, support: frozenset[int]) -> None:
        """Undo an exchange: these columns again and no others."""
        self.drop([j for j in self.order if j not in support])
        self.add(sorted(support.difference(self.order)))

    def _added(self, columns: Array, rss: Array, coefs: Array) -> None:
        self.log.record("add", columns, rss, coefs, self.size)

    def _dropped(self, columns: Array, rss: Any, coefs: Any) -> None:
        if columns.size:
            self._scores.reopen(columns)
            self.log.record("drop", columns, rss, coefs, self.size)

    # ------------------------------------------------------------------ steps forward

    def _advance(self, limit: Until, by_gain: bool, steps: int) -> tuple[int, Stop | None]:
        """Some steps forward, from all columns or from a checked guess."""
        factor, scores, tolerance = self._factor, self._scores, self._tolerance
        k = factor.size
        factor.make_room(k + 1)
        steps = min(steps, factor.room - k)
        small = self.problem.design.is_small
        if not small:
            steps = self._look_ahead.steps(steps)
        picks = np.empty(steps, np.int64)
        rss = np.empty(steps)
        X = np.empty((steps, k + steps), factor.dtype)
        if k:
            X[0, :k] = factor.coef()
        limits = (
            float(limit.most), limit.enough, limit.gain, self._nothing, tolerance.dependent,
            tolerance.tie, scores.faded, math.inf if self._measured_anew else tolerance.drift,
            factor.noise,
        )  # fmt: skip
        step = self._from_all if small else self._from_pool
        added, code, known = step(by_gain, steps, limits, picks, rss, X)
        scores.knows(k + known)
        # An energy just measured has all the digits there are, and is not measured again.
        self._measured_anew = code == self._kernels.DRIFTED and not added
        if added:
            factor.took(picks[:added], rss[added - 1])
            coefs = X if added == steps else X[:added].copy()
            self._added(picks[:added], rss[:added], coefs)
        return added, self._meaning(code, limit)

    def _from_all(
        self,
        by_gain: bool,
        steps: int,
        limits: tuple[float, ...],
        picks: Array,
        rss: Array,
        X: Array,
    ) -> tuple[int, int, int]:
        """Steps on all columns at once: small matrices only."""
        factor, scores, design = self._factor, self._scores, self.problem.design
        added, code, known = self._kernels.grow(
            design.laid_out(None, factor.dtype), self.problem.inverse_norms, True, scores.corr,
            scores.energy, scores.floor, scores.state, factor.Q, factor.U, factor.damping,
            factor.t, factor.r, factor.size, by_gain, steps, limits, picks, rss, X,
        )  # fmt: skip
        self.problem.passes.count += known
        return added, code, known

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

        One pass over A serves as many steps as the guess was right for; the steps are those of
        one pass a step.
        """
        kernels, factor, scores = self._kernels, self._factor, self._scores
        scale = self.problem.inverse_norms
        k = factor.size
        pool = self._pool(by_gain, steps)
        if pool.size == 0:
            return 0, kernels.NONE_LEFT, 0
        state = np.zeros(pool.size, np.int8)
        added, code, _ = kernels.grow(
            self.problem.design.laid_out(pool, factor.dtype), scale[pool], False,
            scores.corr[pool], scores.energy[pool], scores.floor[pool], state, factor.Q, factor.U,
            factor.damping, factor.t, factor.r, k, by_gain, steps, limits, picks, rss, X,
        )  # fmt: skip
        scores.state[pool[state == kernels.DEPENDENT]] = kernels.DEPENDENT
        if added == 0:
            return 0, code, 0
        picks[:added] = pool[picks[:added]]
        # At the end nobody asks for the scores after the last pick: its pass can wait.
        at_end = code in (kernels.FITTED, kernels.EXACT, kernels.FULL)
        confirmed, known, stale = kernels.confirm(
            scores.project(k, k + added - at_end), scale, factor.t[k:],
            picks[:added], scores.corr, scores.energy, scores.floor, scores.state, by_gain,
            self._tolerance.dependent, self._tolerance.tie,
        )  # fmt: skip
        self._look_ahead.learn(added, confirmed)
        if confirmed < added:
            factor.retreat(k + confirmed, k + added)
        if stale:
            code = kernels.STALE
        elif confirmed < added or not at_end:
            code = kernels.MORE  # whatever the pool alone seemed to say
        return confirmed, code, known

    def _pool(self, by_gain: bool, steps: int) -> Array:
        """The columns from which the next `steps` steps are guessed, ascending."""
        best, scores = self._scores.best(by_gain)
        if best < 0 or steps == 1:
            return np.array([best] if best >= 0 else [], np.int64)
        width = min(4 * steps, scores.size)
        top = np.argpartition(scores, scores.size - width)[-width:]
        return np.unique(np.append(top[scores[top] >= 0], best))

    def _meaning(self, code: int, limit: Until) -> Stop | None:
        """What a kernel's answer means; None: go on (the next sync mends the scores)."""
        kernels = self._kernels
        if code == kernels.FULL:
            return limit.full
        if code == kernels.FITTED:
            return Stop.RESIDUAL
        if code == kernels.EXACT:
            return Stop.EXACT_FIT
        if code == kernels.SMALL:
            return limit.small
        if code == kernels.NONE_LEFT:
            return self.nothing_left()
        if code == kernels.LOCKED:
            return Stop.EXHAUSTED
        if code in (kernels.STALE, kernels.DRIFTED):
            self._scores.distrust(everything=code == kernels.DRIFTED)
        return None


def begin(
    algorithm: str,
    A: Any,
    y: ArrayLike,
    include: Iterable[int] | None,
    exclude: Iterable[int] | None,
    start: Iterable[int] | None,
    callback: Callback | None,
    *,
    sparsity: int | None = None,
    residual: float | None = None,
    delta: float | None = None,
    basis: bool = True,
) -> tuple[ActiveSet, Until]:
    """What every algorithm begins with: an active set on checked data, and when to stop.

    ``start=None`` stands for all columns.
    """
    data = problem(A, y)
    limit = until(algorithm, data, sparsity=sparsity, residual=residual, delta=delta)
    active = ActiveSet(
        data,
        include=include,
        exclude=exclude,
        start=() if data.is_zero else range(data.shape[1]) if start is None else start,
        callback=callback,
        room=sparsity,
        basis=basis,
    )
    return active, limit


def _may_hold(columns: Any) -> bool:
    """Whether there can be anything in it: None and empty lists need no further check."""
    return columns is not None and (not hasattr(columns, "__len__") or len(columns) > 0)
