"""The best subset of each size, exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.forward import forward
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.guarantees.search import MOST_COLUMNS, Search
from sparsewise.problem import check_columns, check_tolerance
from sparsewise.results import BestSubsets, Stop


def best_subset(
    A: Any,
    y: ArrayLike,
    *,
    sparsity: int,
    time_limit: float | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> BestSubsets:
    """The subsets of 1, 2, …, `sparsity` columns that leave the smallest residuals.

    By leaps and bounds (Furnival and Wilson 1974): no subset of a set of columns fits better than
    the set, so whole branches of the tree of all 2^m subsets are ruled out at once. 30 columns take
    a fraction of a second and 40 typically a few; the time grows exponentially with m.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from, at most 200 of them.
    y : array-like of shape (n,)
        The target.
    sparsity : int
        The largest size.
    time_limit : float, optional
        Seconds after which to return the best found so far, with a lower bound for each size.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.

    Returns
    -------
    BestSubsets
        A `Solution` for the largest size, with all others in its path.
    """
    seconds = check_tolerance(time_limit, "time_limit")
    active, limit = begin(
        "best_subset", A, y, include, exclude, (), None, sparsity=sparsity, residual=None
    )
    forced, m = active.order, active.problem.shape[1]
    barred = check_columns(exclude, m, "exclude")
    if m - len(barred) > MOST_COLUMNS:
        raise ValueError(
            f"best_subset can choose among at most {MOST_COLUMNS} columns, not "
            f"{m - len(barred)}; exclude some, or use rmp0, foba or srr and certify the result."
        )
    if active.problem.is_zero or limit.most == active.size:
        return _result(active, limit.full, {})
    # Nothing returned is to be worse than what Forward Regression finds, nor larger: where that
    # ends, the fit is exact or the other columns are dependent.
    greedy = forward(active.problem.design, y, sparsity=limit.most, include=forced, exclude=barred)
    search = Search(active.problem, greedy.support.size, include=forced, exclude=barred)
    for size in greedy.path.sizes:
        search.offer(greedy.path.at(size).support)
    done = search.run(seconds)
    low: dict[int, float] = {}
    for size, bound in enumerate(search.lower_bounds().tolist(), search.least):
        active.return_to(frozenset(search.subset(size)))
        found = active.rss if done else min(bound, active.rss)
        low[active.size] = active.problem.units.squared(found)
    stop = Stop.PROVED if greedy.stop is Stop.SPARSITY else greedy.stop
    return _result(active, stop if done else Stop.TIME_LIMIT, low)


def _result(active: ActiveSet, stop: Stop, lower_bounds: dict[int, float]) -> BestSubsets:
    return active.solution("best_subset", stop, kind=BestSubsets, lower_bounds=lower_bounds)
