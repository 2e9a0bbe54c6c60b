"""Orthogonal Matching Pursuit with Replacement (Jain, Tewari and Dhillon, 2011)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_tolerance
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.search.replacement import replace_until_settled
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.errors import InputError
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution


@algorithm(Family.EXCHANGE, "the best model of a size, many features")
def ompr(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sparsity: int,
    residual: float | None = None,
    step: float = 1.0,
    max_iter: int | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] = (),
    callback: Callback | None = None,
) -> Solution:
    """Exchange the smallest coefficient for the column closest to the residual; while ‖r‖ falls.

    A gradient step of length η gives z = x + η A*r; the largest z outside the support enters, and
    the smallest of all leaves. Starts from the columns closest to y.

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
    step : float
        η, the length of the gradient step on unit columns.
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
    eta = check_tolerance(step, "step")
    if not eta or eta == float("inf"):
        raise InputError(f"must be positive and finite, not {step}.", parameter="step")
    active, stopping = begin(
        "ompr", A, y, sparsity=sparsity, residual=residual,
        include=include, exclude=exclude, start=start, callback=callback,
    )  # fmt: skip
    swap = partial(exchange, step=eta)
    return active.solve("ompr", lambda: replace_until_settled(active, stopping, swap, max_iter))


def exchange(active: ActiveSet, stopping: StoppingCriterion, *, step: float) -> None:
    """Exchange the smallest coefficient for the column closest to the residual, if larger."""
    correlations = active.correlations()
    sizes = active.loose_coef()
    if not sizes or correlations.max() < 0:
        return
    closest = next(active.ranking(correlations))
    sizes[closest] = step * float(correlations[closest]) ** 0.5
    smallest = active.least(sizes)
    if smallest != closest:
        active.drop([smallest])
        active.add([closest])
