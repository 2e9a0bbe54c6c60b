"""Floating search: one column in, then columns out while that makes the best model of its size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sparsewise.criteria.base import Criterion
from sparsewise.criteria.early_stopping import worth
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.bayes.joint_updates import Heed
from sparsewise.engine.stopping import StoppingCriterion

AHEAD = 24
"""Columns that the way goes on for past twice as many as the best model on it has: true columns are
often of little use until most of them are there."""


class _Model(NamedTuple):
    """The best model of a size that was met."""

    loss: float
    columns: list[int]


def floating_search(
    active: ActiveSet,
    criterion: Criterion,
    stopping: StoppingCriterion,
    known: Iterable[int] = (),
    check_interrupt: Heed = lambda: None,
) -> list[int]:
    """Replacement along all sizes: the columns of the best model met, in the order they came.

    As in `srr` the column of largest gain comes in and the one of least loss goes out; here the
    size grows by one where no replacement helps. After each addition, columns are dropped while
    what is left fits better than any model of its size so far. The way ends well past the size of
    the best model.

    Once it comes to a `known` model, nothing new is to be met on the way there: steps forward lead
    past it, and the columns returned are those at their end.

    P. Pudil, J. Novovičová and J. Kittler, "Floating search methods in feature selection", Pattern
    Recognition Letters 15, 1994.
    """
    known, models = frozenset(known), dict[int, _Model]()
    less = 1 - active.problem.tolerances.tie
    limit = min(worth(active.size, AHEAD), stopping.most)
    stuck = False
    while not stuck:
        check_interrupt()
        _keep(models, active, active.rss)
        _drop_what_is_not_needed(active, models, less)
        if known and active.size == len(known) and active.support == known:
            active.grow(stopping._replace(most=min(worth(active.size, AHEAD), stopping.most)))
            return active.order
        if active.size >= limit:
            limit = min(worth(_best(models, criterion), AHEAD), stopping.most)
            if active.size >= limit:
                break
        before = active.size
        active.grow(stopping, steps=1)
        stuck = active.size == before
    return models[_best(models, criterion)].columns


def _drop_what_is_not_needed(active: ActiveSet, models: dict[int, _Model], less: float) -> None:
    """Drop the column of least loss while what is left is the best model of its size."""
    while losses := active.loose_losses():
        j = active.least(losses)
        loss, other = active.rss + losses[j], models.get(active.size - 1)
        if other is None or not loss < other.loss * less:
            break
        active.drop([j])
        _keep(models, active, loss)


def _keep(models: dict[int, _Model], active: ActiveSet, loss: float) -> None:
    """Remember the model, if it is the best of its size: by ‖r‖², or what that was to be.

    So each size has ever better models, whatever rounding does, and the way ends.
    """
    loss = min(loss, active.rss)
    other = models.get(active.size)
    if other is None or loss < other.loss:
        models[active.size] = _Model(loss, active.order)


def _best(models: dict[int, _Model], criterion: Criterion) -> int:
    """The size of the best model, of equal ones the smallest."""
    sizes = sorted(models)
    costs = criterion.cost([models[size].loss for size in sizes], np.array(sizes))
    return sizes[int(np.argmin(costs))]
