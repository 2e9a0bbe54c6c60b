"""The best subset of each size, exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.forward import forward
from sparsewise.engine.active_set import begin
from sparsewise.errors import InputError
from sparsewise.guarantees.search import MOST_COLUMNS, Search
from sparsewise.parameters import check_columns, check_tolerance
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
    active, stopping = begin(
        "best_subset", A, y, sparsity=sparsity, include=include, exclude=exclude
    )
    design, forced = active.problem.design, active.order
    m = design.shape[1]
    barred = check_columns(exclude, m, "exclude")
    if m - len(barred) > MOST_COLUMNS:
        raise InputError(
            f"best_subset can choose among at most {MOST_COLUMNS} columns, not {m - len(barred)}",
            "exclude some, or use rmp0, foba or srr and certify the result.",
        )
    low: dict[int, float] = {}

    def search_all_sizes() -> Stop:
        if active.problem.is_zero or stopping.most == active.size:
            return stopping.full
        # Nothing returned is to be worse than what Forward Regression finds, nor larger: where
        # that ends, the fit is exact or the other columns are dependent.
        greedy = forward(design, y, sparsity=stopping.most, include=forced, exclude=barred)
        search = Search(active.problem, greedy.support.size, include=forced, exclude=barred)
        for size in greedy.path.sizes:
            search.offer(greedy.path.at(size).support)
        done = search.run(seconds)
        for size, bound in enumerate(search.lower_bounds().tolist(), search.least):
            active.return_to(frozenset(search.subset(size)))
            squared = active.rss if done else min(bound, active.rss)
            low[active.size] = active.problem.units.squared(squared)
        if not done:
            return Stop.TIME_LIMIT
        return Stop.PROVED if greedy.stop is Stop.SPARSITY else greedy.stop

    return active.solve("best_subset", search_all_sizes, kind=BestSubsets, lower_bounds=low)
