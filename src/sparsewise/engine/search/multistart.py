"""Search from several starts of two kinds, the way back, forward and back; the best of all.

Every greedy path and every local maximum of the evidence misses some models, so `solve` searches
from several starts. Most give each column a prior variance, equal at first, then at random.
MacKay's updates change all of them together, with σ² in every other such start, and leave some
dozens of columns (`engine/bayes/joint_updates.py`). The second start, and every fifth after it, is
a floating search (`floating.py`), from nothing at first, then from columns at random. Where true
coefficients differ much in size, joint updates may come to the same wrong model again and again,
and a floating search hardly ever does; where they are alike it is the other way round.

From what a start leaves, the backward path leads to the empty model, and every model on it is
scored; the best is polished by forward and backward steps at the threshold it implies, and by
exchanges, until none helps. Which exchanges may help follows from corr and energy alone
(`ActiveSet.replacements`). What follows from a model on the backward path depends on that model
only, so it is looked up when it was met before.

The search ends when the best model was found twice, or more often where it is less clear, and
chance can't explain it: by both kinds of start, or by one of them when the other has been tried and
came to nothing better.

Joint updates cost n m min(n, m) operations each. Where these are too many, candidates are the
columns that a forward path takes or nearly takes (`forward_screening`), and whatever a later
stage, which sees all of A, finds besides joins them. If what the first two starts found may be
there by chance, a few starts update all columns nevertheless, where that takes seconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise._util.parameters import check_function, check_whole, shown
from sparsewise._util.progress import unseen, waiting
from sparsewise.criteria.base import Sample
from sparsewise.criteria.chance import chance
from sparsewise.criteria.ric import CHARGES, RIC, by_charge
from sparsewise.design import as_design
from sparsewise.design.choose import is_dask
from sparsewise.design.operator import products_made
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.bayes.joint_updates import relevant, rough_posterior
from sparsewise.engine.bayes.noise import relative_noise
from sparsewise.engine.halting import Halted, interrupted
from sparsewise.engine.log import Log
from sparsewise.engine.search.floating import floating_search
from sparsewise.engine.search.forward_screening import forward_screening
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.errors import InputError
from sparsewise.problem.problem import DependentColumnsError, Problem, problem
from sparsewise.problem.targets import Targets
from sparsewise.results import MultistartSolution, Start, Stop, Stretch, each_sigma
from sparsewise.subsets.exchanges import changes_of_one, lowest_of_equals
from sparsewise.subsets.fit import Fit
from sparsewise.suffstats.triangle import condense_design

LARGE_NOISE = 0.1
"""σ² at first, as a part of the target's variance, where it follows the updates."""

SMALL_NOISE = 1e-4
"""σ² of the starts that hold it: 1 % of the target's standard deviation."""

PLAIN = -8.0
"""log₁₀: a fit this unlikely by chance is worth agreement about it."""

AGREEMENT = 64.0
"""Times that a model was found, by -log₁₀ of chance: with so much of it, it is the answer. Twice is
enough at 10⁻³², eight times at 10⁻⁸: part of a model that is hard to find is often this unlikely,
and the first starts come to it."""

BY_CHANCE = -2.0
"""log₁₀: a fit no less likely by chance than this is worth a warning."""

UNLIKELY = 1e-5
"""A γ below this part of the largest is not worth a place on the way back."""

GREEDY = 5
"""The second of so many starts is a floating search."""

FEW = 8
"""Columns at random that a floating search begins with, at least, if there are so many."""

ROUNDS = 8
"""Most stages forward and back from one start."""

QUICKLY = 1e-6
"""How far ‖r‖² may be off, relatively, where that makes a second look only."""


class Found(NamedTuple):
    """What a start came to: a model of a target of norm one, and what it costs."""

    cost: float
    support: tuple[int, ...]
    rss: float
    way: tuple[Stretch, ...] = ()

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self.support)


class Multistart:
    """The model of least score that several starts come to.

    Each start finds columns that may be relevant, by joint updates of prior variances or by a
    floating search, looks at every model on the way back from there, and goes forward and back at
    the threshold that the best of them implies, until nothing changes.

    Parameters
    ----------
    problem : Problem
        Design, target and constraints.
    criterion : RIC
        What models cost, for a target of norm one.
    tell : callable, optional
        Called with what each start came to; True: stop.

    Attributes
    ----------
    found : list of Found
        What each start came to.
    best : Found
        The model of least score met so far; of equal ones the smallest, then the first.
    """

    def __init__(
        self,
        problem: Problem,
        criterion: RIC,
        *,
        tell: Callable[[Found], bool | None] | None = None,
    ) -> None:
        self.problem, self.criterion, self.tell = problem, criterion, tell
        self.sample = criterion.sample
        self.include = sorted(problem.constraints.include)
        self.found: list[Found] = []
        self._ends: dict[tuple[int, ...], Found] = {}
        self._active: ActiveSet | None = None
        self._wait, self._words = unseen(), "searching"
        empty = self.model(self.include)
        self.best = self._found(empty.order, empty.rss)
        rows = min(problem.shape[0], int(self.sample.rows))
        # Unknown noise takes a row to tell it from.
        rows -= self.sample.noise is None
        self.most = max(min(rows, problem.shape[1]), len(self.include))
        self._empty, self._size = empty, empty.rss
        self._columns = self._screened = np.empty(0, np.int64)
        itemsize = problem.design.dtype.itemsize
        self._in_doubt = plan.joint_starts_in_doubt(problem.shape, itemsize)
        self._on_all = 0  # how many of them there were

    @property
    def chance(self) -> float:
        """log₁₀ of the odds that as many columns fit noise as closely as the best model."""
        return self.chance_of(self.best)

    def chance_of(self, found: Found) -> float:
        """The same of another model."""
        return chance(self.sample, found.rss, found.size)

    def run(self, effort: int, seed: int) -> Stop:
        """So many starts at most; why there are no more."""
        if self._size <= self.sample.exact:
            return Stop.EXACT_FIT
        with waiting("searching", unasked=True) as self._wait:
            return self._from_starts(effort, seed)

    def _from_starts(self, effort: int, seed: int) -> Stop:
        self._gather(self._candidates())
        if not self._columns.size:
            return Stop.EXHAUSTED
        for i in range(effort):
            self._words = f"searching: start {i + 1} of at most {effort}"
            self.found.append(self.start(i, np.random.default_rng([seed, i])))
            self._widen(self.found[-1].support)
            if self.tell is not None and self.tell(self.found[-1]):
                raise Halted
            if self._is_plain():
                return Stop.FOUND_AGAIN
        # An answer in doubt is not to be worse than what steps from nothing come to.
        self._settled(self._found(self._empty.order, self._size))
        if self.best.size == len(self.include):
            return Stop.NOTHING_FOUND
        return Stop.BY_CHANCE if self.chance > BY_CHANCE else Stop.EFFORT

    def _heed(self) -> None:
        """Raise, should somebody have asked to stop; tell those who wait that it goes on."""
        if interrupted():
            raise Halted
        self._wait.update(text=self._words)

    def _is_plain(self) -> bool:
        """Whether the best model was found from enough starts, and can't be there by chance.

        Among the first two starts there is one of each kind.
        """
        times = Counter(one.support for one in self.found)[self.best.support]
        return times > 1 and self.chance < PLAIN and -self.chance * times >= AGREEMENT

    def start(self, i: int, rng: np.random.Generator) -> Found:
        """What start number i comes to."""
        before = (i + GREEDY - 2) // GREEDY  # floating searches
        if i % GREEDY == 1:
            survivors = self._met_greedily(before, rng)
        else:
            survivors = self._survivors(i - before, rng)
        # Where it goes from there depends on nothing else: many starts come to one model.
        if end := self._ends.get(tuple(sorted(survivors))):
            return end
        first = self._on_the_way_back(survivors)
        if first.support not in self._ends:
            end = first if self._is_hopeless(first) else self._settled(first)
            end = end._replace(way=first.way)
            self._ends |= {first.support: end, end.support: end}
        end = self._ends[first.support]
        if self.best.support == first.support:  # met anew, and better by rounding than its end
            self.best = end
        return end

    def _is_hopeless(self, found: Found) -> bool:
        """Whether it may be there by chance, where the best model so far can't."""
        if found.cost <= self.best.cost or self.chance >= PLAIN:
            return False
        return self.chance_of(found) > PLAIN

    # ------------------------------------------------------------------ the stages of a start

    def _survivors(self, i: int, rng: np.random.Generator) -> list[int]:
        """The columns that joint updates leave, the most relevant first; with those of include."""
        if i:
            i = self._look_at_all_in_doubt(i)
        columns, rows = self._columns, max(self.sample.rows - len(self.include), 1.0)
        gamma = np.exp(spread(i) * rng.standard_normal(columns.size))
        if i % 2:
            gamma = gamma * (self._guess + 0.5)
        held = self.sample.noise is not None or i % 2 == 1
        noise = (SMALL_NOISE if i % 2 else LARGE_NOISE) * self._size / rows
        if self.sample.noise is not None:
            noise = self.sample.noise
        left = relevant(
            self._B, self._R, gamma.astype(self._guess.dtype), noise,
            held=held, rows=rows, check_interrupt=self._heed,
            known=self._known(),
        )  # fmt: skip
        order = np.argsort(-left.gamma, kind="stable")[: self.most - len(self.include)]
        order = order[left.gamma[order] > UNLIKELY * left.gamma.max(initial=0.0)]
        return [*self.include, *columns[left.columns[order]].tolist()]

    def _look_at_all_in_doubt(self, i: int) -> int:
        """Update all columns jointly, if these are many and chance may explain what was found.

        A few times at most; returns which of these starts it is, otherwise i.
        """
        if self._on_all < self._in_doubt and (self._on_all or self.chance >= PLAIN):
            if not self._on_all:
                self._screened = self._columns
                self._gather(self._empty.open_columns())
            self._on_all += 1
            return self._on_all - 1
        if self._screened.size:
            new = np.setdiff1d(self.best.support, self.include).astype(np.int64)
            self._gather(np.union1d(self._screened, new))
            self._screened = np.empty(0, np.int64)
        return i

    def _met_greedily(self, i: int, rng: np.random.Generator) -> list[int]:
        """Where a floating search leads: from nothing at first, then from columns at random."""
        columns = self.include
        if i:
            size = min(max(self.best.size, FEW), self.most // 4, self._columns.size)
            columns = [*columns, *rng.choice(self._columns, size, replace=False).tolist()]
        stopping = self.stopping(most=self.most)
        return floating_search(
            self.model(columns), self.criterion, stopping, self.best.support, self._heed
        )

    def _known(self) -> Array | None:
        """Which of the columns updated jointly are in the best model so far, if any are."""
        if self.best.size == len(self.include):
            return None
        return np.isin(self._columns, self.best.support)

    def _on_the_way_back(self, columns: list[int]) -> Found:
        """The best model met while the least column is dropped, again and again."""
        active = self.model(columns, basis=False)
        order, rss = active.order, [active.rss]
        active.shrink(self.stopping(most=0))
        dropped: list[int] = []
        for stretch in active.log.stretches:
            if stretch.action == "drop":
                rss += list(map(float, stretch.losses))
                dropped += list(map(int, stretch.columns))
        costs = self.criterion.cost(rss, len(order) - np.arange(len(rss)))
        at = len(costs) - 1 - int(np.argmin(costs[::-1]))  # of equal ones the smallest
        gone = set(dropped[:at])
        return self._found((j for j in order if j not in gone), rss[at], active.log.stretches)

    def _settled(self, found: Found) -> Found:
        """Go on until no addition, deletion or exchange of one column costs less."""
        while True:
            self._heed()
            found = min(self._polished(found), found, key=lambda one: one.cost)
            changed = self._changed(found)
            if changed.support == found.support:
                return found
            found = changed

    def _polished(self, found: Found) -> Found:
        """Forward and back from a model until that leads to no better one."""
        for _ in range(ROUNDS):
            self._heed()
            better = self._forth_and_back(found)
            if not better.cost < found.cost:
                break
            found = better
        return found

    def _forth_and_back(self, found: Found) -> Found:
        """RMP₀ from a model at the threshold it implies; the best model on the way back."""
        threshold = self.criterion.threshold(found.rss, found.size)
        stopping = self.stopping(most=self.most, gain=threshold, loss=threshold)
        self._active = active = self.model(found.support)
        seen: set[frozenset[int]] = set()
        while active.support not in seen and len(seen) < ROUNDS:
            seen.add(active.support)
            active.grow(stopping)
            active.shrink(stopping)
        if active.support == set(found.support):
            return found
        return self._on_the_way_back(active.order)

    def _changed(self, found: Found) -> Found:
        """The best model that differs by one column, or by the exchange of one, if it costs less.

        If none does, the same, of equal columns the lowest: starts that come to copies agree.
        """
        if not self._may_change(found):
            return found
        fit = Fit(self.problem, np.array(found.support, np.int64))
        costs = {
            one.columns: self.criterion.cost(one.loss, len(one.columns))
            for one in changes_of_one(fit)
        }
        support = min(costs, key=costs.__getitem__, default=found.support)
        if costs.get(support, np.inf) < found.cost:
            active = self.model(support, basis=False)
            changed = self._found(active.order, active.rss)
            if changed.cost < found.cost:
                return changed
        return self._lowest(found, fit)

    def _lowest(self, found: Found, fit: Fit) -> Found:
        """The same model with the lowest of columns that fit as well."""
        lowest = found._replace(support=lowest_of_equals(fit))
        if self.best.support == found.support:
            self.best = lowest
        return lowest

    def _may_change(self, found: Found) -> bool:
        """Whether one column more, less or exchanged may cost less: a quick look, mostly no."""
        active, rss, size = self.model_of(found), found.rss, found.size
        gain, losses = float(active.gains().max()), active.loose_losses().values()
        added = self.criterion.cost(rss - gain, size + 1) if gain > 0 else np.inf
        dropped = self.criterion.cost(rss + min(losses), size - 1) if losses else np.inf
        if min(added, dropped) < self.criterion.cost(rss * (1 + QUICKLY), size):
            return True
        return active.replacements().size > 0

    # ------------------------------------------------------------------ what they are made of

    def model(
        self, columns: Iterable[int], data: Problem | None = None, *, basis: bool = True
    ) -> ActiveSet:
        """Least squares on these columns, but for those that depend on others."""
        columns = list(columns)
        while True:
            try:
                constraints = self.problem.constraints._replace(
                    include=tuple(self.include), start=tuple(map(int, columns))
                )
                data = self.problem if data is None else data
                return ActiveSet(data._replace(constraints=constraints), basis=basis)
            except DependentColumnsError as error:
                free = [j for j in columns if j not in self.include]
                if set(error.columns) & set(self.include) or not free:
                    raise
                # Together they may be dependent though none is, one by one: the last one goes.
                gone = error.columns or free[-1:]
                columns = [j for j in columns if j not in gone]

    def model_of(self, found: Found, data: Problem | None = None) -> ActiveSet:
        """The same for what was found: the last one there was, if that is it."""
        last = self._active
        if (data is None or data is self.problem) and last and last.support == set(found.support):
            return last
        return self.model(found.support, data)

    def _found(self, columns: Iterable[int], rss: float, way: Iterable[Stretch] = ()) -> Found:
        """A model, kept if it is the best so far: should somebody halt the search, it is told."""
        support = tuple(sorted(columns))
        cost = float(self.criterion.cost(rss, len(support)))
        found = Found(cost, support, rss, tuple(way))
        best = getattr(self, "best", found)
        self.best = min(best, found, key=lambda one: (one.cost, one.size))
        return found

    def stopping(self, most: int, gain: float = 0.0, loss: float = -1.0) -> StoppingCriterion:
        """Add what gains more, and drop what loses less than that; by default all that there is."""
        gain = max(gain, self.sample.exact)
        return StoppingCriterion(
            most=most, enough=-1.0, gain=gain, loss=loss if loss < 0 else gain,
            ceiling=np.inf, full=Stop.SPARSITY, small=Stop.DELTA,
        )  # fmt: skip

    def _candidates(self) -> Array:
        """The columns to update jointly: all, or those that a way forward meets or nearly takes."""
        if plan.updates_jointly(self.problem.shape):
            return self._empty.open_columns()
        forward = forward_screening(
            self.model(self.include), self.criterion, self.stopping(most=self.most)
        )
        return np.intersect1d(forward.nearby, self._empty.open_columns())

    def _widen(self, support: Iterable[int]) -> None:
        """Update what a start has found jointly with the others, too, from now on."""
        new = np.setdiff1d(list(support), [*self._columns, *self.include])
        if new.size:
            self._gather(np.union1d(self._columns, new.astype(np.int64)))

    def _gather(self, columns: Array) -> None:
        """Hold these columns, without what must be included."""
        self._columns = columns
        if not columns.size:
            return
        m = columns.size
        self._B, self._R = self._empty.remainders_of(columns), self._empty.residual.T
        if len(self._R) > 2 * (m + self._R.shape[1]):  # fewer rows tell the same
            triangle = np.asarray(np.linalg.qr(np.column_stack([self._B, self._R]), mode="r"))
            self._B, self._R = triangle[:, :m], triangle[:, m:]
        flat = np.ones(m, self._B.real.dtype)
        noise = SMALL_NOISE / len(self._R)
        # |x| of (nearly) minimum norm, each column being as likely as any other
        self._guess = np.sqrt(rough_posterior(self._B, self._R, flat, noise)[0])


def spread(i: int) -> float:
    """Standard deviation of log γ at start i: none at first, then ever farther afield."""
    return 0.0 if i == 0 else min(0.5 + i / 64, 1.0)


def check_charge(criterion: object) -> None:
    """Refuse what is neither the name of a criterion by charge nor a charge."""
    is_name = isinstance(criterion, str) and criterion in CHARGES
    is_number = isinstance(criterion, Real) and not isinstance(criterion, bool)
    if not (is_name or (is_number and 0 <= float(criterion) < math.inf)):  # type: ignore[arg-type]
        raise InputError(
            f"must be one of {', '.join(CHARGES)}, or what a column costs, not {shown(criterion)}.",
            parameter="criterion",
        )


# --- from data to a solution ----------------------------------------------------------------------


def search(
    algorithm: str,
    A: Any,
    y: ArrayLike | Targets,
    *,
    criterion: str | float,
    sigma: float | None,
    effort: int,
    include: Iterable[int],
    exclude: Iterable[int],
    seed: int,
    ridge: float,
    callback: Callable[[Start], bool | None] | None,
) -> MultistartSolution:
    """Search from so many starts at most: the best model any of them came to.

    With a ridge the search is one of plain least squares, on the augmented problem.
    """
    before = products_made()
    data = problem(
        kept_in_memory(A), y, multi_target=True, ridge=ridge, include=include, exclude=exclude
    )
    data.passes.made_before = before
    most, seed = check_whole(effort, "effort", 1), check_whole(seed, "seed", 0)
    check_function(callback, "callback")
    check_charge(criterion)
    noise = None if sigma is None else relative_noise(sigma, data)
    sample = Sample.of(data, noise=noise)
    goal = by_charge(criterion, sample)

    def tell(found: Found) -> bool | None:
        return None if callback is None else callback(Start(found.support, found.cost))

    multistart = Multistart(condense_problem(data.augmented), goal, tell=tell)
    stop = Log(data, None).run(lambda: multistart.run(most, seed))
    active = retraced(data, multistart)
    rss, size = active.objective, active.size
    if sigma is None:
        # The noise is what the residual shows, whatever the ridge term adds to the objective.
        variance = sample.noise_variance(active.rss, active.df)
        sigma = 0.0 if data.is_zero else variance**0.5 * data.scale
    sigma = float(sigma)
    sigmas = None if data.scales is None else each_sigma(data, sample, active.residual, active.df)
    return active.solution(
        algorithm,
        stop,
        kind=MultistartSolution,
        sigma=sigma,
        sigmas=sigmas,
        covariance=active.covariance(sigma),
        score=float(goal.cost(rss, size)),
        chance=0.0 if data.is_zero else chance(sample, rss, size),
        starts=tuple(Start(one.support, one.cost) for one in multistart.found),
        goal=goal,
    )


def kept_in_memory(A: Any) -> Any:
    """The matrix of an operator, if all of its columns have to be computed; otherwise A."""
    if type(A) is np.ndarray or is_dask(A):
        return A
    design = as_design(A)
    measured = design.passes_to_measure == 0
    keep = design.is_operator and not design.is_small
    if keep and plan.computes_all_columns(design.shape, design.dtype.itemsize, measured):
        return design.stored()
    return design


def condense_problem(data: Problem) -> Problem:
    """The same problem in as few rows as tell the same, if these are much fewer."""
    worth = plan.condenses(plan.CONDENSE_SEARCH, *data.shape, len(data.Y))
    if not worth or data.design.is_operator or data.is_zero:
        return data
    return data.in_rows_of(*condense_design(data.design, data.Y))


def retraced(data: Problem, multistart: Multistart) -> ActiveSet:
    """The best model, and a path to it: from what joint updates left, back to nothing, and there.

    So there is a model of every size on it.
    """
    best = multistart.best
    active = multistart.model_of(best, data)
    ways = (one.way for one in multistart.found if one.support == best.support)
    if way := next(ways, ()):
        if data.ridge:  # that of the augmented problem, in its units: the same once more
            back = multistart.model(map(int, way[0].columns), data, basis=False)
            back.shrink(multistart.stopping(most=0))
            way = tuple(back.log.stretches)
        there = tuple(j for j in active.order if j not in multistart.include)
        active.log.follow(way)
        if there:
            coef = np.array(list(active.coef.values())).T
            active.log.record("add", [there], [active.rss], [coef], active.size, df=[active.df])
    return active
