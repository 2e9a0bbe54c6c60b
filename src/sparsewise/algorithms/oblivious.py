"""The oblivious algorithm: look once, take the best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.until import Until, until
from sparsewise.solution import Solution, Stop


def oblivious(
    A: Any,
    y: ArrayLike,
    *,
    sparsity: int,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> Solution:
    """The columns of largest correlation with y, |a_j* y| / ‖a_j‖, then least squares.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    sparsity : int
        Number of features.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    callback : callable, optional
        Called with every `Step`; returning True stops.

    Returns
    -------
    Solution
        Least squares on the chosen columns.
    """
    active = begin(A, y, include=include, exclude=exclude, callback=callback, room=sparsity)
    limit = until(active.problem, sparsity=sparsity, needed_by="oblivious")
    return active.solution("oblivious", fill(active, limit))


def fill(active: ActiveSet, limit: Until) -> Stop:
    """Add the columns of largest correlation with the present residual until there are enough."""
    if active.problem.is_zero or active.size >= limit.most:
        return limit.full
    ranking = active.ranking(active.problem.shape[1])
    while ranking and active.size < limit.most and not active.log.halted:
        room = limit.most - active.size
        active.add(ranking[:room])
        ranking = ranking[room:]
    if active.log.halted:
        return Stop.CALLBACK
    return limit.full if active.size >= limit.most else Stop.DEPENDENT
