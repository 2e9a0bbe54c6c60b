"""Relevance Matching Pursuit in the noiseless limit: RMP₀ and RMP₀+ (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.stopping import StoppingCriterion, up_to
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution, Stop


@algorithm(
    Family.STEPWISE,
    "little noise, and features that a path forward takes by mistake",
    meant_by=("delta",),
)
def rmp0(
    A: Any,
    y: ArrayLike | Targets,
    *,
    delta: float,
    max_outer: int | None = None,
    ridge: float = 0.0,
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
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    delta : float
        What a column must be worth: it is added if ‖r‖² falls by more than δ², and dropped if
        ‖r‖² grows by at most δ².
    max_outer : int, optional
        Most rounds. 1 is the paper's RMP₀; None, until the support is stable, its RMP₀+.
    ridge : float
        Shrink coefficients: minimise ‖r‖² + ridge ‖z‖², z the coefficients of columns scaled to
        unit norm. A pure number; see `Problem`.
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
    active, stopping = begin(
        "rmp0", A, y, delta=delta,
        ridge=ridge, include=include, exclude=exclude, start=start, callback=callback,
    )  # fmt: skip
    return active.solve("rmp0", lambda: alternate(active, stopping, max_outer))


def alternate(active: ActiveSet, stopping: StoppingCriterion, max_outer: int | None) -> Stop:
    """Algorithm 2 from the current model; return why it ended."""
    seen: set[frozenset[int]] = set()
    for _ in up_to(max_outer, "max_outer"):
        seen.add(active.support)
        active.grow(stopping)
        active.shrink(stopping)
        if active.support in seen:
            return Stop.STABLE
    return Stop.MAX_OUTER
