"""Relevance Matching Pursuit in the noiseless limit: RMP₀ and RMP₀+ (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import begin
from sparsewise.engine.log import Callback
from sparsewise.problem import check_count
from sparsewise.results import Solution, Stop


@algorithm(Family.STEPWISE, "little noise, and features that a path forward takes by mistake")
def rmp0(
    A: Any,
    y: ArrayLike,
    *,
    delta: float,
    max_outer: int | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] | None = (),
    callback: Callback | None = None,
) -> Solution:
    """Forward until no gain exceeds δ², backward while a loss is at most δ²; until stable.

    Each round lowers ‖r‖² + δ²|S|, or leaves the support as it is.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    delta : float
        What a column must be worth: it is added if ‖r‖² falls by more than δ², and dropped if
        ‖r‖² grows by at most δ².
    max_outer : int, optional
        Most rounds. 1 is the paper's RMP₀; None, until the support is stable, its RMP₀+.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    start : iterable of int, optional
        Columns to begin with; None: all of them, which must then be independent.
    callback : callable, optional
        Called with every `Step`; returning True stops.

    Returns
    -------
    Solution
        Least squares on the chosen columns.
    """
    active, limit = begin("rmp0", A, y, include, exclude, start, callback, delta=delta)
    seen: set[frozenset[int]] = set()
    for _ in rounds(max_outer):
        seen.add(active.support)
        stop = active.grow(limit)
        if stop is not Stop.CALLBACK:
            stop = active.shrink(limit)
        if stop is Stop.CALLBACK:
            break
        if active.support in seen:
            stop = Stop.STABLE
            break
    else:
        stop = Stop.MAX_OUTER
    return active.solution("rmp0", stop)


def rounds(most: int | None) -> Iterable[int]:
    """Counts up to `most`, or for ever."""
    most = check_count(most, "max_outer", 1)
    return count() if most is None else range(most)
