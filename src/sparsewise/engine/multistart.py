"""Search from several starts: joint updates, the way back, forward and backward; the best of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.design.base import Array
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.halting import Halted, interrupted
from sparsewise.engine.joint_updates import posterior, relevant
from sparsewise.engine.noise_inference import relative_noise
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.guarantees.exchanges import exchanges_of_one
from sparsewise.guarantees.fit import Fit
from sparsewise.parameters import check_constraints, check_count
from sparsewise.problem import DependentColumnsError, Problem, problem
from sparsewise.results import MultistartSolution, Start, Stop
from sparsewise.selection.risk_inflation import RiskInflation, risk_inflation

LARGE_NOISE = 0.1
"""σ² at first, as a part of the target's variance, where it follows the updates."""

SMALL_NOISE = 1e-4
"""σ² of the starts that hold it: 1 % of the target's standard deviation."""

PLAIN = -8.0
"""log₁₀: a fit this unlikely by chance, found twice, is the answer."""

ROUNDS = 8
"""Most stages forward and back from one start."""

AHEAD = 16
"""Steps that a way forward goes on for at least, past the best model on it."""

SCREENED = 256
"""Columns near to being taken, at least, that are updated jointly with those that are."""

JOINTLY = 1 << 28
"""n m min(n, m) up to which all columns are updated together; else those that may matter."""


class Found(NamedTuple):
    """What a start came to: a model of a target of norm one, and what it costs."""

    cost: float
    support: tuple[int, ...]
    rss: float
    survivors: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self.support)


class Multistart:
    """The model of least cost that several starts come to.

    Each start draws prior variances γ, lets MacKay's updates find what is relevant, looks at every
    model on the way back from there, and goes forward and back at the threshold that the best of
    them implies, until nothing changes.

    Parameters
    ----------
    problem : Problem
        Design and target.
    criterion : RiskInflation
        What models cost.
    include, exclude : sequence of int
        Columns that must, and must not, be in the model.
    told : callable
        Called with what each start came to; True: stop.

    Attributes
    ----------
    found : list of Found
        What each start came to.
    """

    def __init__(
        self,
        problem: Problem,
        criterion: RiskInflation,
        *,
        include: Sequence[int] = (),
        exclude: Sequence[int] = (),
        told: Callable[[Found], bool | None] | None = None,
    ) -> None:
        self.problem, self.criterion = problem, criterion
        self.include, self.exclude, self.told = list(include), list(exclude), told
        self.found: list[Found] = []
        empty = self._model(self.include)
        self.empty = Found(criterion.cost(empty.rss, empty.size), tuple(self.include), empty.rss)
        n = min(problem.shape[0], int(criterion.rows))
        self.most = max(min(n - 1, problem.shape[1]), len(self.include))
        self._r = empty.residual
        self._size = float(np.vdot(self._r, self._r).real)
        self._gather(empty, self._candidates(empty))

    @property
    def best(self) -> Found:
        """The model of least cost; of equal ones the smallest, then the first found."""
        return min([self.empty, *self.found], key=lambda one: (one.cost, one.size))

    def run(self, effort: int, seed: int) -> Stop:
        """So many starts at most; why there are no more."""
        for i in range(effort):
            found = self.start(i, np.random.default_rng([seed, i]))
            self.found.append(found)
            if self.told is not None and self.told(found):
                raise Halted
            if self._is_plain():
                return Stop.FOUND_AGAIN
        return Stop.EFFORT

    def _is_plain(self) -> bool:
        """Whether the best model was found from two starts, and can't be there by chance."""
        best = self.best
        times = Counter(one.support for one in self.found)[best.support]
        return times > 1 and self.criterion.chance(best.rss, best.size) < PLAIN

    def start(self, i: int, rng: np.random.Generator) -> Found:
        """What start number i comes to."""
        survivors = self._survivors(i, rng)
        found = self._on_the_way_back(survivors)
        for _ in range(ROUNDS):
            self._heed()
            further = self._forth_and_back(found)
            if not further.cost < found.cost:
                break
            found = further
        return self._settled(found)._replace(survivors=tuple(survivors))

    # ------------------------------------------------------------------ the stages of a start

    def _survivors(self, i: int, rng: np.random.Generator) -> list[int]:
        """The columns that joint updates leave, the most relevant first; with those of include."""
        columns, rows = self._columns, self.criterion.rows - len(self.include)
        if not columns.size or self._size <= self.criterion.exact:
            return self.include
        gamma = np.ones(columns.size) if i == 0 else np.exp(rng.standard_normal(columns.size))
        if i % 2:
            gamma = gamma * (self._guess + 0.5)
        known = self.criterion.noise is not None or i % 2 == 1
        noise = (SMALL_NOISE if i % 2 else LARGE_NOISE) * self._size / rows
        if self.criterion.noise is not None:
            noise = self.criterion.noise
        left = relevant(
            self._B, self._r, gamma.astype(self._guess.dtype), noise,
            known=known, rows=rows, heed=self._heed,
        )  # fmt: skip
        order = np.argsort(-left.gamma, kind="stable")[: self.most - len(self.include)]
        return [*self.include, *columns[left.columns[order]].tolist()]

    def _on_the_way_back(self, columns: list[int]) -> Found:
        """The best model met while the least column is dropped, again and again."""
        active = self._model(columns, basis=False)
        order, rss = active.order, [active.rss]
        active.shrink(self._stopping(most=0))
        dropped: list[int] = []
        for step in active.log.stretches[1:]:
            rss += list(map(float, step.losses))
            dropped += list(map(int, step.columns))
        size = len(order) - np.arange(len(rss))
        costs = self.criterion.costs(np.array(rss), size)
        at = len(costs) - 1 - int(np.argmin(costs[::-1]))  # of equal ones the smallest
        gone = set(dropped[:at])
        return self._found((j for j in order if j not in gone), rss[at])

    def _forth_and_back(self, found: Found) -> Found:
        """RMP₀ from a model at the threshold it implies; the best model on the way back."""
        threshold = self.criterion.threshold(found.rss, found.size)
        stopping = self._stopping(most=self.most, gain=threshold, loss=threshold)
        active = self._model(found.support)
        seen: set[frozenset[int]] = set()
        while active.support not in seen and len(seen) < ROUNDS:
            seen.add(active.support)
            active.grow(stopping)
            active.shrink(stopping)
        return self._on_the_way_back(active.order)

    def _settled(self, found: Found) -> Found:
        """Go on until no addition, deletion or exchange of one column costs less."""
        while found.cost < np.inf and not found.rss <= self.criterion.exact:
            self._heed()
            further = self._exchanged(found)
            if further is None or not further.cost < found.cost:
                break
            found = min(self._forth_and_back(further), further, key=lambda one: one.cost)
        return found

    def _exchanged(self, found: Found) -> Found | None:
        """The model after the exchange of one column that fits best, if one fits better."""
        columns = np.array(found.support, np.int64)
        swap = exchanges_of_one(Fit(self.problem, columns, self.include, self.exclude)).best
        if swap is None:
            return None
        support = swap.applied(columns)
        return self._found(support, self._model(support, basis=False).rss)

    # ------------------------------------------------------------------ what they are made of

    def _model(self, columns: Iterable[int], basis: bool = True) -> ActiveSet:
        """Least squares on these columns, but for those that depend on others."""
        columns = list(columns)
        while True:
            try:
                return ActiveSet(
                    self.problem, include=self.include, exclude=self.exclude, start=columns,
                    basis=basis,
                )  # fmt: skip
            except DependentColumnsError as error:
                if set(error.columns) & set(self.include):
                    raise
                columns = [j for j in columns if j not in error.columns]

    def _found(self, columns: Iterable[int], rss: float) -> Found:
        support = tuple(sorted(columns))
        return Found(self.criterion.cost(rss, len(support)), support, rss)

    def _stopping(self, most: int, gain: float = 0.0, loss: float = -1.0) -> StoppingCriterion:
        exact = self.criterion.exact
        return StoppingCriterion(
            most=most, enough=-1.0, gain=max(gain, exact), loss=max(loss, exact) if loss > 0 else loss,
            ceiling=np.inf, full=Stop.SPARSITY, small=Stop.DELTA,
        )  # fmt: skip

    def _candidates(self, empty: ActiveSet) -> Array:
        """The columns to update jointly: all, or those that a way forward meets or nearly takes."""
        n, m = self.problem.shape
        if n * m * min(n, m) <= JOINTLY:
            return empty.open_columns()
        forward = self._model(self.include)
        least, at = self.empty.cost, forward.size
        near = [forward.gains()]
        while forward.size < self.most and forward.size <= 2 * at + AHEAD:
            before = forward.size
            forward.grow(self._stopping(most=self.most), steps=max(before, AHEAD))
            rss = [float(loss) for one in forward.log.stretches for loss in one.losses]
            size = forward.size - np.arange(len(rss))[::-1]
            costs = self.criterion.costs(np.array(rss), size)
            if costs.min() < least:
                least, at = float(costs.min()), int(size[np.argmin(costs)])
            near.append(forward.gains())
            if forward.size == before:
                break
        width = max(SCREENED, 2 * forward.size)
        tops = [np.argsort(-gains, kind="stable")[:width] for gains in near]
        wanted = np.unique(np.concatenate([*tops, np.array(forward.order, np.int64)]))
        return np.intersect1d(wanted, empty.open_columns())

    def _gather(self, empty: ActiveSet, columns: Array) -> None:
        """Hold these columns, without what must be included, in as few rows as tell the same."""
        self._columns = columns
        B = empty.remainders_of(columns)
        if B.shape[0] > 2 * (B.shape[1] + 1):
            R = np.linalg.qr(np.column_stack([B, empty.residual]), mode="r")
            self._B, self._r = R[:, :-1], R[:, -1]
        else:
            self._B, self._r = B, empty.residual
        self._guess = self._minimum_norm()

    def _minimum_norm(self) -> Array:
        """|x| of (nearly) minimum norm, each column being as likely as any other."""
        if not self._columns.size:
            return np.empty(0, self._B.real.dtype)
        flat = np.ones(self._columns.size, self._B.real.dtype)
        noise = SMALL_NOISE / len(self._r)
        return np.sqrt(posterior(self._B, self._r, flat, noise).squared)

    @staticmethod
    def _heed() -> None:
        if interrupted():
            raise Halted


# --- from data to a solution ----------------------------------------------------------------------


def search(
    algorithm: str,
    A: Any,
    y: ArrayLike,
    *,
    sigma: float | None,
    effort: int,
    include: Iterable[int],
    exclude: Iterable[int],
    seed: int,
    callback: Callable[[Start], bool | None] | None,
) -> MultistartSolution:
    """Search from so many starts at most: the best model any of them came to."""
    data = problem(A, y)
    most = check_count(effort, "effort", 1) or 1
    forced, barred = check_constraints(include, exclude, data.shape[1])
    noise = None if sigma is None else relative_noise(sigma, data)
    criterion = risk_inflation(
        data.design.rows, data.shape[1] - len(barred), noise, data.y.dtype
    )

    def told(found: Found) -> bool | None:
        return None if callback is None else callback(Start(found.support, found.cost))

    multistart = Multistart(
        data, criterion, include=sorted(forced), exclude=barred, told=told
    )
    active = ActiveSet(data, include=forced, exclude=barred)
    stop = active.log.run(lambda: multistart.run(most, seed))
    best = multistart.best
    if stop is Stop.EFFORT and multistart.chance > BY_CHANCE:
        stop = Stop.BY_CHANCE
    retrace(active, best)
    return active.solution(
        algorithm, stop, kind=MultistartSolution,
        starts=tuple(Start(one.support, one.cost) for one in multistart.found),
        **multistart.told_of_best(active),
    )  # fmt: skip


def retrace(active: ActiveSet, found: Found) -> None:
    """From what the joint updates left to the model found, column by column."""
    active.add(j for j in found.survivors if j not in active.support)
    active.drop([j for j in active.order if j not in found.support])
    active.add(j for j in found.support if j not in active.support)
