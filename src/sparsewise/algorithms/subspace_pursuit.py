"""Subspace Pursuit (Dai and Milenkovic, 2009)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.search.replacement import replace_until_settled
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution


@algorithm(Family.EXCHANGE, "compressed sensing with a known number of features")
def subspace_pursuit(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sparsity: int,
    residual: float | None = None,
    max_iter: int | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] = (),
    callback: Callback | None = None,
) -> Solution:
    """Add the k columns closest to the residual, refit, keep the k largest; while ‖r‖ falls.

    Starts from the columns closest to y.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    sparsity : int
        Number of features.
    residual : float, optional
        Stop once ‖r‖ <= residual.
    max_iter : int, optional
        Most replacements; by default until none lowers the residual.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    start : iterable of int
        Columns to begin with; the rest, up to `sparsity`, are those closest to y.
    callback : callable, optional
        Called with every `Step`; returning True stops.

    Returns
    -------
    Solution
        Least squares on the chosen columns.
    """
    active, stopping = begin(
        "subspace_pursuit", A, y, sparsity=sparsity, residual=residual,
        include=include, exclude=exclude, start=start, callback=callback,
    )  # fmt: skip
    return active.solve(
        "subspace_pursuit", lambda: replace_until_settled(active, stopping, exchange, max_iter)
    )


def exchange(active: ActiveSet, stopping: StoppingCriterion) -> None:
    """Add as many columns again by correlation; then drop those of the smallest coefficients."""
    active.add(active.ranking(active.correlations()), stopping.most)
    sizes = np.full(active.problem.shape[1], -1.0)
    for j, size in active.loose_coef().items():
        sizes[j] = size
    surplus = max(active.size - stopping.most, 0)
    active.drop(list(active.ranking(sizes))[::-1][:surplus])
