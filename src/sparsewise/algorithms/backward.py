"""Backward Regression, also known as backward elimination and BOOMP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import begin
from sparsewise.engine.log import Callback
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution


@algorithm(
    Family.ELIMINATION,
    "correlated features, if there are more rows than features",
    starts_full=True,
)
def backward(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sparsity: int | None = None,
    residual: float | None = None,
    delta: float | None = None,
    ridge: float = 0.0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Drop the column whose loss raises the least-squares residual least; repeat.

    arg min_{i in S} ‖r_{S∖i}‖ (eq. 1.4 of the paper), by the loss |x_i|² / [(A_S*A_S)⁻¹]_ii of
    Lemma 3.5, at O(k²) a step. Columns go while there are more than `sparsity`, and beyond that
    while every tolerance given allows it. At least one stopping parameter is needed.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    sparsity : int, optional
        Drop columns until there are at most this many.
    residual : float, optional
        Drop columns as long as ‖r‖ stays at most this.
    delta : float, optional
        Drop columns as long as each raises ‖r‖² by at most δ².
    ridge : float
        Shrink coefficients: minimise ‖r‖² + ridge ‖z‖², z the coefficients of columns scaled to
        unit norm. A pure number; see `Problem`.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    start : iterable of int, optional
        Columns to begin with; all of them by default, which must then be independent.
    callback : callable, optional
        Called with every `Step`; returning True stops.

    Returns
    -------
    Solution
        Least squares on the chosen columns.
    """
    active, stopping = begin(
        "backward", A, y, sparsity=sparsity, residual=residual, delta=delta,
        ridge=ridge, include=include, exclude=exclude, start=start, callback=callback,
        basis=False,
    )  # fmt: skip
    return active.solve("backward", lambda: active.shrink(stopping))
