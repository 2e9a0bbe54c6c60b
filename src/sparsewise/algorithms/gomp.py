"""Generalised Orthogonal Matching Pursuit (Wang, Kwon and Shim, 2012)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import begin
from sparsewise.engine.log import Callback
from sparsewise.problem import check_count
from sparsewise.results import Solution


@algorithm(Family.PURSUIT, "many features at a time, nearly uncorrelated")
def gomp(
    A: Any,
    y: ArrayLike,
    *,
    batch: int,
    sparsity: int | None = None,
    residual: float | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] = (),
    callback: Callback | None = None,
) -> Solution:
    """Add the `batch` columns closest to the residual, then refit; repeat.

    One pass over A serves the whole batch. At least one stopping word is needed.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    batch : int
        Columns added at each step.
    sparsity : int, optional
        Most features.
    residual : float, optional
        Stop once ‖r‖ <= residual.
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
    """
    check_count(batch, "batch", 1)
    active, limit = begin(
        "gomp", A, y, include, exclude, start, callback, sparsity=sparsity, residual=residual
    )
    while not (stop := active.reason_not_to_grow(limit)):
        correlations = active.correlations()
        if correlations.max() <= limit.gain:
            stop = active.nothing_left() if correlations.max() < 0 else limit.small
            break
        active.add(active.ranking(correlations), min(batch, limit.most - active.size))
    return active.solution("gomp", stop)
