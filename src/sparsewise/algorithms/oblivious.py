"""The oblivious algorithm: the columns most correlated with y, chosen in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import begin
from sparsewise.engine.log import Callback
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution


@algorithm(Family.PURSUIT, "a first look at very many features")
def oblivious(
    A: Any,
    y: ArrayLike | Targets,
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
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
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
    active, stopping = begin(
        "oblivious", A, y, sparsity=sparsity,
        include=include, exclude=exclude, callback=callback,
    )  # fmt: skip
    return active.solve("oblivious", lambda: active.fill(stopping))
