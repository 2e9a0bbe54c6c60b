"""Generalised Orthogonal Matching Pursuit (Wang, Kwon and Shim, 2012)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_whole
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution, Stop


@algorithm(Family.PURSUIT, "many features at a time, nearly uncorrelated", meant_by=("batch",))
def gomp(
    A: Any,
    y: ArrayLike | Targets,
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

    One pass over A serves the whole batch. At least one stopping parameter is required.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
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
    batch = check_whole(batch, "batch", 1)
    active, stopping = begin(
        "gomp", A, y, sparsity=sparsity, residual=residual,
        include=include, exclude=exclude, start=start, callback=callback,
    )  # fmt: skip
    return active.solve("gomp", lambda: grow_by_batches(active, stopping, batch))


def grow_by_batches(active: ActiveSet, stopping: StoppingCriterion, batch: int) -> Stop:
    """Add the columns closest to the residual, `batch` at a time; return why that ended."""
    while not (stop := active.reason_not_to_grow(stopping)):
        correlations = active.correlations()
        if correlations.max() < 0:
            return active.nothing_left()
        if correlations.max() <= stopping.gain:
            return stopping.small
        active.add(active.ranking(correlations), min(batch, stopping.most - active.size))
    return stop
