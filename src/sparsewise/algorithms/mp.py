"""Matching Pursuit (Mallat and Zhang, 1993)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_count
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.active_set import begin
from sparsewise.engine.log import Callback
from sparsewise.engine.matching import Matching
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.results import Solution, Stop


@algorithm(
    Family.PURSUIT,
    "huge designs, as it never solves for all coefficients",
    least_squares=False,
    multi_target=False,
)
def mp(
    A: Any,
    y: ArrayLike,
    *,
    residual: float | None = None,
    sparsity: int | None = None,
    max_iter: int = 10_000,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] = (),
    callback: Callback | None = None,
) -> Solution:
    """Matching Pursuit: move one coefficient at a time, along the column closest to the residual.

    x_j += a_j* r / ‖a_j‖² for the j of largest |a_j* r| / ‖a_j‖. The coefficients are not those of
    least squares, and the same column may be chosen repeatedly.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    residual : float, optional
        Stop once ‖r‖ <= residual.
    sparsity : int, optional
        Stop before a further column would make more features than this.
    max_iter : int
        Most steps; a guard, not a stopping rule.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    start : iterable of int
        Columns to start with; like `include` they are fitted by least squares first.
    callback : callable, optional
        Called with every `Step`; returning True stops.

    Returns
    -------
    Solution
        With ``least_squares=False``.
    """
    active, stopping = begin(
        "mp", A, y, sparsity=sparsity, residual=residual,
        include=include, exclude=exclude, start=start, callback=callback, multi_target=False,
    )  # fmt: skip
    most = check_count(max_iter, "max_iter", 1)
    model = Matching(active)
    return model.solve("mp", lambda: match(model, stopping, sparsity, most))


def match(
    model: Matching, stopping: StoppingCriterion, sparsity: int | None, most: int | None
) -> Stop:
    """Take at most `most` steps along the closest column; return why they ended."""
    for done in count():
        if stop := model.reason_to_stop(stopping):
            return stop
        j, inner = model.closest()
        if j < 0:
            return Stop.NO_IMPROVEMENT
        if sparsity is not None and j not in model.coef and len(model.coef) >= sparsity:
            return Stop.SPARSITY
        if done == most:
            break
        model.move(j, inner)
    return Stop.MAX_ITER
