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
    """Fill up to `sparsity` columns by correlation, then exchange while the objective falls.

    An exchange that does not lower it is undone.
    """
    active.fill(stopping)
    return _settle(active, stopping, exchange, max_iter)


def replace_from_both_starts(
    active: ActiveSet, stopping: StoppingCriterion, exchange: Exchange, max_iter: int | None
) -> Stop:
    """The same, and once more from where steps forward lead, should that fit better.

    Unless there is a start already.
    """
    given = active.loose_coef()
    stop = replace_until_settled(active, stopping, exchange, max_iter)
    if given or active.reason_not_to_exchange(stopping):
        return stop
    ahead = active.other()
    ahead.grow(stopping._replace(enough=-1.0))
    if not ahead.fell_below(active.objective):
        return stop
    active.return_to(ahead.support)
    return _settle(active, stopping, exchange, max_iter)


def _settle(
    active: ActiveSet, stopping: StoppingCriterion, exchange: Exchange, max_iter: int | None
) -> Stop:
    """Exchange while the objective falls; say why it ended."""
    for _ in up_to(max_iter, "max_iter", 0):
        if met := active.reason_not_to_exchange(stopping):
            return met
        support, before = active.support, active.objective
        exchange(active, stopping)
        if not active.fell_below(before):
            active.return_to(support)
            return Stop.NO_IMPROVEMENT
    return active.reason_not_to_exchange(stopping) or Stop.MAX_ITER
