"""Stepwise Regression with Replacement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.search.replacement import replace_from_both_starts
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution


@algorithm(Family.EXCHANGE, "the best model of a size, correlated features")
def srr(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sparsity: int,
    residual: float | None = None,
    max_iter: int | None = None,
    ridge: float = 0.0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] = (),
    callback: Callback | None = None,
) -> Solution:
    """Add the column of largest gain, drop the column of least loss; while ‖r‖ falls.

    Starts from the columns closest to y, and again from those of `forward` if they fit better than
    the first result. Ends when no exchange of the best addition for the cheapest deletion helps.

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
        Most replacements from a start; by default until none lowers the residual.
    ridge : float
        Shrink coefficients: minimise ‖r‖² + ridge ‖z‖², z the coefficients of columns scaled to
        unit norm. A pure number; see `Problem`.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    start : iterable of int
        Columns to begin with, and with these alone; the rest, up to `sparsity`, are those closest
        to y.
    callback : callable, optional
        Called with every `Step`; returning True stops.

    Returns
    -------
    Solution
        Least squares on the chosen columns.
    """
    active, stopping = begin(
        "srr", A, y, sparsity=sparsity, residual=residual,
        ridge=ridge, include=include, exclude=exclude, start=start, callback=callback,
    )  # fmt: skip
    return active.solve(
        "srr", lambda: replace_from_both_starts(active, stopping, exchange, max_iter)
    )


def exchange(active: ActiveSet, stopping: StoppingCriterion) -> None:
    """Add one column by gain, then drop one by loss."""
    active.grow(stopping._replace(most=stopping.most + 1), steps=1)
    active.shrink(stopping.by_size())
