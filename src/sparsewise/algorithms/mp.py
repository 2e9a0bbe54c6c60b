"""Matching Pursuit (Mallat and Zhang, 1993)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.design.base import Array
from sparsewise.engine.active_set import begin
from sparsewise.engine.log import Callback
from sparsewise.problem import check_count
from sparsewise.results import Solution, Stop
from sparsewise.tolerances import tolerances


@algorithm(
    Family.PURSUIT, "huge designs, as it never solves for all coefficients", least_squares=False
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
    least squares, and the same column may be taken again and again.

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
        Columns to begin with; like `include` they are fitted by least squares first.
    callback : callable, optional
        Called with every `Step`; returning True stops.

    Returns
    -------
    Solution
        With ``least_squares=False``.
    """
    first, limit = begin(
        "mp", A, y, include, exclude, start, callback, sparsity=sparsity, residual=residual
    )
    rounds = check_count(max_iter, "max_iter", 1) or 0
    nothing = tolerances(first.problem.y.dtype).exact
    r, rss, x, log = first.residual, first.rss, first.coef, first.log
    stop = first.reason_not_to_exchange(limit)
    while stop is None:
        j, inner = first.closest(r)
        if abs(inner) ** 2 <= nothing:  # r is orthogonal to every column, or none may be taken
            stop = Stop.NO_IMPROVEMENT
        elif sparsity is not None and j not in x and len(x) >= sparsity:
            stop = Stop.SPARSITY
        elif rounds == 0:
            stop = Stop.MAX_ITER
        else:
            rounds -= 1
            x[j] = x.get(j, 0) + inner
            r -= inner * first.unit_column(j)
            rss = float(np.vdot(r, r).real)
            log.record("add", [j], [rss], [_values(x, r)], len(x))
            stop = first.reason_not_to_exchange(limit, rss)
    columns = np.array(list(x), np.int64)
    return log.solution("mp", stop, columns, _values(x, r), rss, least_squares=False)


def _values(x: dict[int, Any], like: Array) -> Array:
    return np.array(list(x.values()), like.dtype)
