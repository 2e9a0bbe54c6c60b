"""The steps open to a stepwise search, what they cost, and which of them to take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.criteria.base import Criterion, OwnCriterion
from sparsewise.criteria.information import BY_LOSS, Criteria
from sparsewise.engine.active_set import ActiveSet
from sparsewise.errors import InputError, Parameter
from sparsewise.problem.problem import Problem
from sparsewise.results import Stop

Cost = Callable[[float, float], float]
"""What a model of this loss (‖r‖²) and df (its number of columns) costs: less is better."""


class Moves(NamedTuple):
    """Steps of one kind that are open to a model, in the units of the data.

    Attributes
    ----------
    columns : ndarray of int
        The columns that can be added (ascending), or dropped (in the order in which they came).
    change : ndarray
        By how much ‖r‖² (with a ridge, ‖r‖² + ridge ‖x‖² of unit columns) would fall, or grow.
    rss : ndarray
        The ‖r‖² that each step leads to.
    cost : ndarray
        The criterion there.
    """

    columns: Array
    change: Array
    rss: Array
    cost: Array


class Round(NamedTuple):
    """What is known before a decision, in the units of the data.

    Attributes
    ----------
    rss, cost : float
        ‖r‖² and criterion of the model as it is.
    order : list of int
        Its columns in the order in which they came.
    additions, deletions : Moves
        Every step that can be taken.
    """

    rss: float
    cost: float
    order: list[int]
    additions: Moves
    deletions: Moves


def decide(
    criterion: Criterion, active: ActiveSet, gain: float, loss: float
) -> Literal["add", "drop"] | Stop:
    """What to do, given the best gain and the least loss (negative: there is none).

    The criterion is that of a target of norm one.
    """
    rss, rounding = active.rss, active.problem.tolerances
    here = criterion.cost(rss, active.df)
    # What the models next to this one cost at most, whatever rounding has done.
    up = down = math.inf
    if gain >= 0:
        after, df = active.after_best_addition(gain)
        up = criterion.cost(after * (1 + rounding.tie), df)
    if loss >= 0:
        after, df = active.after_best_deletion(loss)
        down = criterion.cost(after * (1 + rounding.tie), df)
        needless = after <= rounding.exact and down <= here
        if needless or here == math.inf == min(up, down):
            return "drop"
    if min(up, down) < here:
        return "drop" if down <= up else "add"
    return Stop.EXACT_FIT if rss <= rounding.exact else Stop.CRITERION


def look_around(criterion: Criterion, active: ActiveSet) -> Round:
    """The model as it is and all that are one step away, in the units of the data."""
    units, exact = active.problem.units, active.problem.tolerances.exact

    def judged(losses: Array, dfs: ArrayLike) -> tuple[Array, Array]:
        squared = np.array([units.squared(0.0 if loss <= exact else loss) for loss in losses])
        return squared, criterion.cost(squared, dfs)

    def moves(columns: Iterable[int], change: Array, losses: Array, dfs: ArrayLike) -> Moves:
        changes = np.array([units.squared(one) for one in change])
        return Moves(np.array(list(columns), np.int64), changes, *judged(losses, dfs))

    gains, losses = active.gains(), active.loose_losses()
    free = np.flatnonzero(gains >= 0)
    lowered, raised = gains[free].astype(float), np.array(list(losses.values()), float)
    here, cost = judged(np.array([active.rss]), active.df)
    return Round(
        float(here[0]),
        float(cost[0]),
        active.order,
        moves(free, lowered, *active.after_adding(free)),
        moves(losses.keys(), raised, *active.after_dropping(list(losses))),
    )


def check_criterion(criterion: object) -> None:
    """Refuse what is neither the name of a criterion nor a function."""
    if not callable(criterion) and criterion not in BY_LOSS:
        raise InputError(
            f"must be one of {', '.join(BY_LOSS)}, or a function of loss and df, "
            f"not {criterion!r}.",
            parameter="criterion",
        )


def criteria_on(data: Problem, criterion: str | Cost) -> tuple[Criterion, Criterion]:
    """The criterion for a target of norm one, and in the units of the data.

    By name they differ by a constant or not at all, and no scale leaves the range of numbers.
    Excluded columns are no part of the data.
    """
    if callable(criterion):
        exact = data.tolerances.exact
        return OwnCriterion(criterion, exact, data.units.squared), OwnCriterion(criterion)
    variance = _full_variance(data) if criterion == "cp" else None
    criteria = Criteria.of(data, variance=variance)
    total = data.units.squared(1.0)
    scaled = None if variance is None else variance * total
    return criteria[criterion], replace(criteria, total=total, variance=scaled)[criterion]


def _full_variance(data: Problem) -> float:
    """s² of Mallows' Cp: the residual variance with every column, or as many as are independent."""
    excluded = data.constraints.exclude
    full = ActiveSet(data.constrained()._replace(ridge=0.0))
    full.add(j for j in range(data.shape[1]) if j not in excluded)
    left = data.design.rows - full.size
    if left <= 0:
        raise InputError(
            f"cp needs the residual variance of the full model, and {full.size} columns leave none "
            f"of {data.design.rows:g} rows",
            ("take another ", Parameter("criterion"), ", such as ric."),
        )
    return full.rss / left
