"""Adaptive forward-backward greedy algorithm, FoBa (Zhang, 2009)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_tolerance
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.errors import InputError
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution, Stop


@algorithm(Family.STEPWISE, "paths on which features lose their worth")
def foba(
    A: Any,
    y: ArrayLike | Targets,
    *,
    delta: float,
    nu: float = 0.5,
    ridge: float = 0.0,
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
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    delta : float
        Stop when no column lowers ‖r‖² by more than δ².
    nu : float
        Share of a forward gain that a backward step may give back; below 1.
    ridge : float
        Shrink coefficients: minimise ‖r‖² + ridge ‖z‖², z the coefficients of columns scaled to
        unit norm. A pure number; see `Problem`.
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
    active, stopping = begin(
        "foba", A, y, delta=delta,
        ridge=ridge, include=include, exclude=exclude, start=start, callback=callback,
    )  # fmt: skip
    share = check_tolerance(nu, "nu") or 0.0
    if share >= 1:
        raise InputError(
            f"must be below 1, not {nu}", "a step back may not undo a whole gain.", parameter="nu"
        )
    return active.solve("foba", lambda: go_forward_and_back(active, stopping, share))


def go_forward_and_back(active: ActiveSet, stopping: StoppingCriterion, nu: float) -> Stop:
    """Alternate a forward step and the backward steps it allows; return why that ended."""
    gains: dict[int, float] = {}
    while True:
        size, before = active.size, active.objective
        stop = active.grow(stopping, steps=1)
        if active.size == size:
            return stop
        gains[active.size] = before - active.objective
        give_back(active, stopping, nu, gains)


def give_back(
    active: ActiveSet, stopping: StoppingCriterion, nu: float, gains: dict[int, float]
) -> None:
    """Backward steps, each at most ν times the gain recorded for the size it leaves."""
    while (size := active.size) in gains:
        active.shrink(stopping._replace(loss=nu * gains[size]), steps=1)
        if active.size == size:
            return
