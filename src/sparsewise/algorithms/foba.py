"""Adaptive forward-backward greedy algorithm, FoBa (Zhang, 2009)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.stopping import Until
from sparsewise.problem import check_tolerance
from sparsewise.results import Solution, Stop


@algorithm(Family.STEPWISE, "paths on which features lose their worth")
def foba(
    A: Any,
    y: ArrayLike,
    *,
    delta: float,
    nu: float = 0.5,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] = (),
    callback: Callback | None = None,
) -> Solution:
    """After each forward step, drop whatever costs at most ν times what that size gained.

    The forward step to size k is taken if it lowers ‖r‖² by g_k > δ²; then columns are dropped
    while one raises ‖r‖² by at most ν g_k, k the present size. Losses are exact (refitted) and
    cost O(k²) a step.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    delta : float
        Stop when no column lowers ‖r‖² by more than δ².
    nu : float
        Share of a forward gain that a backward step may give back; below 1.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    start : iterable of int
        Columns to begin with.
    callback : callable, optional
        Called with every `Step`; returning True stops.

    Returns
    -------
    Solution
        Least squares on the chosen columns.

    References
    ----------
    T. Zhang, "Adaptive forward-backward greedy algorithm for sparse learning with linear models",
    NIPS 2008.
    """
    active, limit = begin("foba", A, y, include, exclude, start, callback, delta=delta)
    share = check_tolerance(nu, "nu") or 0.0
    if share >= 1:
        raise ValueError(f"nu must be below 1, not {nu}; a step back may not undo a whole gain.")
    gains: dict[int, float] = {}
    while True:
        size, before = active.size, active.rss
        stop = active.grow(limit, steps=1)
        if active.size == size or stop is Stop.CALLBACK:
            break
        gains[active.size] = before - active.rss
        stop = give_back(active, limit, share, gains)
        if stop is Stop.CALLBACK:
            break
    return active.solution("foba", stop)


def give_back(active: ActiveSet, limit: Until, nu: float, gains: dict[int, float]) -> Stop:
    """Backward steps, each at most ν times the gain recorded for the size it leaves."""
    stop = limit.small
    while active.size in gains and stop is not Stop.CALLBACK:
        size = active.size
        stop = active.shrink(limit._replace(loss=nu * gains[size]), steps=1)
        if active.size == size:
            break
    return stop
