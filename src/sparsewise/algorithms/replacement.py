"""What the two-stage algorithms share: k columns, exchanged for better ones until none helps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.oblivious import fill
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.stopping import Until
from sparsewise.problem import check_count
from sparsewise.results import Solution, Stop

Exchange = Callable[[ActiveSet, Until], None]


def replace_until_settled(
    algorithm: str,
    exchange: Exchange,
    A: Any,
    y: ArrayLike,
    sparsity: int,
    residual: float | None,
    max_iter: int | None,
    include: Iterable[int],
    exclude: Iterable[int],
    start: Iterable[int],
    callback: Callback | None,
) -> Solution:
    """Fill up to `sparsity` columns by correlation, then exchange while ‖r‖ falls.

    An exchange that does not lower ‖r‖ is undone.
    """
    active, limit = begin(
        algorithm, A, y, include, exclude, start, callback, sparsity=sparsity, residual=residual
    )
    most = check_count(max_iter, "max_iter", 0)
    stop = fill(active, limit)
    for done in count():
        if met := active.reason_not_to_exchange(limit):
            stop = met
            break
        if done == most:
            stop = Stop.MAX_ITER
            break
        support, before = active.support, active.rss
        exchange(active, limit)
        if active.log.halted:
            continue
        if not active.fell_below(before):
            active.return_to(support)
            stop = Stop.NO_IMPROVEMENT
            break
    return active.solution(algorithm, stop)
