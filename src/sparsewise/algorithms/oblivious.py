"""The oblivious algorithm: look once, take the best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.stopping import Until
from sparsewise.results import Solution, Stop


@algorithm(Family.PURSUIT, "a first look at very many features")
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
    active, limit = begin("oblivious", A, y, include, exclude, (), callback, sparsity=sparsity)
    return active.solution("oblivious", fill(active, limit))


def fill(active: ActiveSet, limit: Until) -> Stop:
    """Add the columns of largest correlation with y until there are enough."""
    if active.problem.is_zero or active.size >= limit.most:
        return limit.full
    correlations = np.square(np.abs(active.problem.correlate(active.problem.y)))
    correlations[active.closed()] = -1.0
    active.add(active.ranking(correlations), limit.most - active.size)
    if active.log.halted:
        return Stop.CALLBACK
    return limit.full if active.size >= limit.most else active.nothing_left()
