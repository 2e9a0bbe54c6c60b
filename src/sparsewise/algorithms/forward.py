"""Forward Regression, also known as OLS, ORMP and OOMP."""

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
    Family.STEPWISE,
    "a path of models on which a criterion or folds choose",
    meant_by=("sparsity", "residual", "criterion", "cv", "max_features"),
)
def forward(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sparsity: int | None = None,
    residual: float | None = None,
    delta: float | None = None,
    ridge: float = 0.0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] = (),
    callback: Callback | None = None,
) -> Solution:
    """Add the column that lowers the least-squares residual most; repeat.

    arg min_j ‖r_{S∪j}‖ (eq. 1.4 of the paper), by the gain |a_j* r|² / ‖(I - P_S) a_j‖² of
    Lemma 3.5. At least one stopping parameter is needed.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    sparsity : int, optional
        Most features.
    residual : float, optional
        Stop once ‖r‖ <= residual.
    delta : float, optional
        Stop when no column lowers ‖r‖² by more than δ².
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
    """
    active, stopping = begin(
        "forward", A, y, sparsity=sparsity, residual=residual, delta=delta,
        ridge=ridge, include=include, exclude=exclude, start=start, callback=callback,
    )  # fmt: skip
    return active.solve("forward", lambda: active.grow(stopping, solution_only=True))
