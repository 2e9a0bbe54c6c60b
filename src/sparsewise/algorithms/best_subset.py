"""The best subset of each size, exactly."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_tolerance
from sparsewise.algorithms.forward import forward
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.errors import InputError
from sparsewise.problem.targets import Targets
from sparsewise.results import BestSubsets, Progress, Stop
from sparsewise.subsets.exchanges import lowest_of_equals
from sparsewise.subsets.fit import Fit
from sparsewise.subsets.leaps_and_bounds import MOST_COLUMNS, Search

TIME_LIMIT = 10.0
"""Seconds of search unless told otherwise: nobody should wait for 2^m subsets unasked."""

LEAST_GAP = float(np.finfo(float).eps)
"""What is not proved has a gap, however small: 0 says that it is."""

PATIENCE = 1.0
"""Seconds between two reports on the progress."""


def best_subset(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sparsity: int,
    time_limit: float | None = TIME_LIMIT,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callable[[Progress], bool | None] | None = None,
) -> BestSubsets:
    """The subsets of 1, 2, …, `sparsity` columns that leave the smallest residuals.

    By leaps and bounds (Furnival and Wilson 1974): no subset of a set of columns fits better than
    the set, so whole branches of the tree of all 2^m subsets are ruled out at once. 30 columns take
    a fraction of a second and 40 typically a few; the time grows exponentially with m. Of subsets
    that fit as well as each other, the one of the lowest columns is taken. Several targets get one
    support: what counts is the sum of their squared residuals, each relative to its target.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from, at most 200 of them.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that are to share their columns.
    sparsity : int
        The largest size.
    time_limit : float or None
        Seconds after which to return the best found so far, with a lower bound for each size; None
        for as long as it takes.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    callback : callable, optional
        Called with the `Progress` of the search about every second (``print`` shows it); returning
        True stops.

    Returns
    -------
    BestSubsets
        A `Solution` for the largest size, with all others in its path.
    """
    seconds = check_tolerance(time_limit, "time_limit")
    active, stopping = begin(
        "best_subset", A, y, sparsity=sparsity, include=include, exclude=exclude
    )
    design, forced = active.problem.design, active.order
    m, barred = design.shape[1], active.problem.constraints.exclude
    if m - len(barred) > MOST_COLUMNS:
        raise InputError(
            f"best_subset can choose among at most {MOST_COLUMNS} columns, not {m - len(barred)}",
            "exclude some, or use rmp0, foba or srr and certify the result.",
        )
    low: dict[int, float] = {}
    gaps: dict[int, float] = {}

    def search_all_sizes() -> Stop:
        if active.problem.is_zero or stopping.most == active.size:
            return stopping.full
        # Nothing returned is to be worse than what Forward Regression finds, nor larger: where
        # that ends, the fit is exact or the other columns are dependent.
        own = active.problem.own_targets  # y may be that of rows which have been condensed
        greedy = forward(design, own, sparsity=stopping.most, include=forced, exclude=barred)
        search = Search(active.problem, greedy.support.size)
        for size in greedy.path.sizes:
            search.offer(greedy.path.at(size).support)
        watched = _Watch(search, callback, lambda: active.log.halted)
        done = search.run(seconds, watched)
        sizes = range(search.least, search.most + 1)
        met = {active.size: active.rss}
        for size in sizes:
            found = Fit(active.problem, np.array(search.subset(size)))
            _go_to(active, lowest_of_equals(found), met)
        figures = search.lower_bounds().tolist(), search.proved().tolist()
        for size, bound, proved in zip(sizes, *figures, strict=True):
            gaps[size] = _gap(bound, met[size], proved)
            squared = min(bound, met[size]) if gaps[size] else met[size]
            low[size] = active.problem.units.squared(squared)
        if not done:
            return Stop.CALLBACK if watched.halted else Stop.TIME_LIMIT
        if any(gaps.values()):
            return Stop.UNSETTLED
        return Stop.PROVED if greedy.stop is Stop.SPARSITY else greedy.stop

    return active.solve(
        "best_subset", search_all_sizes, kind=BestSubsets, lower_bounds=low, gaps=gaps
    )


def _go_to(active: ActiveSet, columns: Collection[int], met: dict[int, float]) -> None:
    """Drop and add columns until there are these; note the lowest ‖r‖² met of each size."""
    for j in [j for j in active.order if j not in columns]:
        active.drop([j])
        met[active.size] = min(met.get(active.size, math.inf), active.rss)
    for j in sorted({*columns} - active.support):
        active.add([j])
        met[active.size] = min(met.get(active.size, math.inf), active.rss)


def _gap(low: float, lowest: float, proved: bool) -> float:
    """By what part of itself the lowest ‖r‖² found may still fall; 0 only where it can't."""
    return 0.0 if proved or lowest == 0 else max(1 - low / lowest, LEAST_GAP)


class _Watch:
    """Tells a callback how far a search has come, now and then, and whether to stop it."""

    def __init__(
        self,
        search: Search,
        callback: Callable[[Progress], bool | None] | None,
        interrupted: Callable[[], bool],
    ) -> None:
        self._search, self._callback, self._interrupted = search, callback, interrupted
        self._begun = self._told = time.monotonic()
        self.halted = False

    def __call__(self) -> bool:
        now = time.monotonic()
        if self._callback is not None and now >= self._told + PATIENCE:
            self._told = now
            self.halted = bool(self._callback(Progress(now - self._begun, self._gaps())))
        return self.halted or self._interrupted()

    def _gaps(self) -> dict[int, float]:
        search = self._search
        figures = zip(search.lower_bounds(), search.lowest(), search.proved(), strict=True)
        return {
            size: _gap(float(low), float(lowest), bool(proved))
            for size, (low, lowest, proved) in enumerate(figures, search.least)
        }
