"""Exact best-subset selection."""

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
"""Default seconds of search: 2^m subsets may take for ever."""

LEAST_GAP = float(np.finfo(float).eps)
"""The smallest gap of a size that is not proved optimal: 0 means proved."""

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

    Leaps and bounds (Furnival and Wilson 1974): no subset of a set of columns fits better than the
    set, so whole branches of the tree of all 2^m subsets are ruled out at once. 30 columns take a
    fraction of a second and 40 typically a few; the time grows exponentially with m. Ties go to the
    lowest columns. Several targets get one support, which minimises the sum of their squared
    residuals, each relative to its target.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from, at most 200 of them.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support.
    sparsity : int
        The largest size.
    time_limit : float or None
        Seconds after which to return the best subsets found so far, with a lower bound for each
        size; None for no limit.
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
    design, included = active.problem.design, active.order
    m, excluded = design.shape[1], active.problem.constraints.exclude
    if m - len(excluded) > MOST_COLUMNS:
        raise InputError(
            f"best_subset can choose among at most {MOST_COLUMNS} columns, not {m - len(excluded)}",
            "exclude some, or use rmp0, foba or srr and certify the result.",
        )
    low: dict[int, float] = {}
    gaps: dict[int, float] = {}

    def search_all_sizes() -> Stop:
        if active.problem.is_zero or stopping.most == active.size:
            return stopping.full
        # No result may be worse than that of Forward Regression, nor larger: where that ends early,
        # the fit is exact or the other columns are dependent.
        Y = active.problem.own_targets  # y itself may belong to rows before condensing
        greedy = forward(design, Y, sparsity=stopping.most, include=included, exclude=excluded)
        search = Search(active.problem, greedy.support.size)
        for size in greedy.path.sizes:
            search.offer(greedy.path.at(size).support)
        watched = _Watch(search, callback, lambda: active.log.halted)
        done = search.run(seconds, watched)
        sizes = range(search.least, search.most + 1)
        met = {active.size: active.rss}
        for size in sizes:
            fit = Fit(active.problem, np.array(search.subset(size)))
            _move_to(active, lowest_of_equals(fit), met)
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


def _move_to(active: ActiveSet, columns: Collection[int], met: dict[int, float]) -> None:
    """Drop and add columns until the support is this one; record the lowest ‖r‖² of each size."""
    for j in [j for j in active.order if j not in columns]:
        active.drop([j])
        met[active.size] = min(met.get(active.size, math.inf), active.rss)
    for j in sorted({*columns} - active.support):
        active.add([j])
        met[active.size] = min(met.get(active.size, math.inf), active.rss)


def _gap(low: float, lowest: float, proved: bool) -> float:
    """By what fraction the lowest ‖r‖² found may still fall; 0 only if proved."""
    return 0.0 if proved or lowest == 0 else max(1 - low / lowest, LEAST_GAP)


class _Watch:
    """Reports the progress of a search to a callback, and whether to stop."""

    def __init__(
        self,
        search: Search,
        callback: Callable[[Progress], bool | None] | None,
        interrupted: Callable[[], bool],
    ) -> None:
        self._search, self._callback, self._interrupted = search, callback, interrupted
        self._begun = self._reported = time.monotonic()
        self.halted = False

    def __call__(self) -> bool:
        now = time.monotonic()
        if self._callback is not None and now >= self._reported + PATIENCE:
            self._reported = now
            self.halted = bool(self._callback(Progress(now - self._begun, self._gaps())))
        return self.halted or self._interrupted()

    def _gaps(self) -> dict[int, float]:
        search = self._search
        figures = zip(search.lower_bounds(), search.lowest(), search.proved(), strict=True)
        return {
            size: _gap(float(low), float(lowest), bool(proved))
            for size, (low, lowest, proved) in enumerate(figures, search.least)
        }
