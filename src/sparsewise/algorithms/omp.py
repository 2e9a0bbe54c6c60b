"""Orthogonal Matching Pursuit (Pati, Rezaiifar and Krishnaprasad, 1993)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import begin
from sparsewise.engine.log import Callback
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution


@algorithm(Family.PURSUIT, "features that are nearly uncorrelated")
def omp(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sparsity: int | None = None,
    residual: float | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] = (),
    callback: Callback | None = None,
) -> Solution:
    """Add the column closest to the residual, then refit by least squares; repeat.

    Chooses arg max |a_j* r| / ‖a_j‖ (eq. 2.2 of the paper), so that the result does not depend on
    how the columns are scaled. At least one stopping parameter is required.

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
    J. A. Tropp, "Greed is good", IEEE Trans. Information Theory 50 (2004).
    """
    active, stopping = begin(
        "omp", A, y, sparsity=sparsity, residual=residual,
        include=include, exclude=exclude, start=start, callback=callback,
    )  # fmt: skip
    return active.solve("omp", lambda: active.grow(stopping, by="corr", solution_only=True))
