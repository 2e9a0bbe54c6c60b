"""Steps forward until well past the best model on the way, and what they nearly took."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.criteria.base import Criterion
from sparsewise.criteria.early_stopping import AHEAD_IN_SCREENING, worth
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.stopping import StoppingCriterion

NEARBY = 256
"""Columns near to being taken, at least, of each stretch of the way."""


class ForwardScreening(NamedTuple):
    """How far steps forward went.

    Attributes
    ----------
    order : list of int
        The columns that came in, in order.
    best : int
        How many of them the best model on the way has.
    nearby : ndarray of int
        Columns that were, at some point of the way, near to coming in; with those that did.
    """

    order: list[int]
    best: int
    nearby: Array


def forward_screening(
    active: ActiveSet, criterion: Criterion, stopping: StoppingCriterion
) -> ForwardScreening:
    """Go forward from a model, in longer and longer stretches, to twice the size of the best."""
    least, best = criterion.cost(active.rss, active.size), active.size
    near = [active.gains()]
    while active.size < stopping.most and active.size <= worth(best, AHEAD_IN_SCREENING):
        before = active.size
        active.grow(stopping, steps=max(before, AHEAD_IN_SCREENING))
        rss = [float(loss) for one in active.log.stretches for loss in one.losses]
        sizes = active.size - np.arange(len(rss))[::-1]
        costs = criterion.cost(rss, sizes)
        if costs.min() < least:
            least, best = float(costs.min()), int(sizes[np.argmin(costs)])
        near.append(active.gains())
        if active.size == before:
            break
    width = max(NEARBY, 2 * active.size)
    tops = [np.argsort(-gains, kind="stable")[:width] for gains in near]
    nearby = np.unique(np.concatenate([*tops, np.array(active.order, np.int64)]))
    return ForwardScreening(active.order, best, nearby)
