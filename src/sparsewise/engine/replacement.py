"""What the exchange algorithms share: k columns, exchanged for better ones until none helps."""

from __future__ import annotations

from collections.abc import Callable

from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.stopping import StoppingCriterion, up_to
from sparsewise.results import Stop

Exchange = Callable[[ActiveSet, StoppingCriterion], None]


def replace_until_settled(
    active: ActiveSet, stopping: StoppingCriterion, exchange: Exchange, max_iter: int | None
) -> Stop:
    """Fill up to `sparsity` columns by correlation, then exchange while ‖r‖ falls.

    An exchange that does not lower ‖r‖ is undone.
    """
    exchanges = up_to(max_iter, "max_iter", 0)
    active.fill(stopping)
    for _ in exchanges:
        if met := active.reason_not_to_exchange(stopping):
            return met
        support, before = active.support, active.rss
        exchange(active, stopping)
        if not active.fell_below(before):
            active.return_to(support)
            return Stop.NO_IMPROVEMENT
    return active.reason_not_to_exchange(stopping) or Stop.MAX_ITER
