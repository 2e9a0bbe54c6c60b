"""A criterion on some data: what the model as it is costs, and all that are one step away."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.criteria.information import BY_RESIDUAL, Criteria
from sparsewise.engine.active_set import ActiveSet
from sparsewise.errors import InputError, Parameter
from sparsewise.problem.problem import Problem
from sparsewise.results import Stop

Cost = Callable[[float, float], float]
"""What a model of this ‖r‖² and so many degrees of freedom (columns) costs: less is better."""

Models = tuple[Array, Array]
"""‖r‖² and degrees of freedom."""


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


class StepCriterion(NamedTuple):
    """A criterion on some data, and what rounding makes of it.

    Attributes
    ----------
    inner : callable
        The criterion of a target of norm one (by name, it differs from the other by a constant or
        not at all, and no scale leaves the range of numbers).
    outer : callable
        The same in the units of the data.
    tie : float
        ‖r‖² that differ by less, relatively, are equal for all we can know.
    drift : float
        The relative error of a score that is worth a second look.
    exact : float
        ‖r‖² that counts as an exact fit, for a target of norm one.
    """

    inner: Cost
    outer: Cost
    tie: float
    drift: float
    exact: float

    def cost(self, rss: float, df: float) -> float:
        """The criterion of a model, for a target of norm one."""
        return self.inner(0.0 if rss <= self.exact else rss, df)

    def decide(self, active: ActiveSet, gain: float, loss: float) -> Literal["add", "drop"] | Stop:
        """What to do, given the best gain and the least loss (negative: there is none)."""
        rss = active.rss
        here = self.cost(rss, active.df)
        # What the models next to this one cost at most, whatever rounding has done.
        up = down = math.inf
        if gain >= 0:
            after, df = active.after_best_addition(gain)
            up = self.cost(after * (1 + self.tie), df)
        if loss >= 0:
            after, df = active.after_best_deletion(loss)
            down = self.cost(after * (1 + self.tie), df)
            needless = after <= self.exact and down <= here
            if needless or here == math.inf == min(up, down):
                return "drop"
        if min(up, down) < here:
            return "drop" if down <= up else "add"
        return Stop.EXACT_FIT if rss <= self.exact else Stop.CRITERION

    def less(self, gain: float) -> float:
        """A gain that this one is larger than, if it is no error."""
        return gain * (1 - self.drift)

    def more(self, loss: float) -> float:
        """A loss that this one is smaller than, if it is no error."""
        return loss * (1 + self.drift)

    def look_around(self, active: ActiveSet) -> Round:
        """The model as it is and all that are one step away, in the units of the data."""
        units = active.problem.units

        def judged(rss: float, df: float) -> tuple[float, float]:
            squared = units.squared(0.0 if rss <= self.exact else rss)
            return squared, self.outer(squared, df)

        def moves(columns: Iterable[int], change: Iterable[float], after: Models) -> Moves:
            j, fall = np.array(list(columns), np.int64), np.array(list(change), float)
            costs = [judged(*model) for model in zip(*(one.tolist() for one in after), strict=True)]
            table = np.array(costs, float).reshape(-1, 2)
            return Moves(j, np.array([units.squared(c) for c in fall]), table[:, 0], table[:, 1])

        gains, losses = active.gains(), active.loose_losses()
        free = np.flatnonzero(gains >= 0)
        return Round(
            *judged(active.rss, active.df),
            active.order,
            moves(free, gains[free], active.after_adding(free)),
            moves(losses.keys(), losses.values(), active.after_dropping(list(losses))),
        )


def check_criterion(criterion: object) -> None:
    """Refuse what is neither the name of a criterion nor a function."""
    if not callable(criterion) and criterion not in BY_RESIDUAL:
        raise InputError(
            f"must be one of {', '.join(BY_RESIDUAL)}, or a function of squared residual and size, "
            f"not {criterion!r}.",
            parameter="criterion",
        )


def step_criterion(criterion: str | Cost, data: Problem) -> StepCriterion:
    """The criterion on these data, of which excluded columns are no part."""
    if callable(criterion):
        inner, outer = _by_function(criterion, data)
    else:
        inner, outer = _by_name(criterion, data)
    rounding = data.tolerances
    return StepCriterion(inner, outer, rounding.tie, rounding.drift, rounding.exact)


def _by_name(name: str, data: Problem) -> tuple[Cost, Cost]:
    """A named criterion for a target of norm one, and for the target itself."""
    rows, features = data.design.rows, data.shape[1] - len(data.constraints.exclude)
    variance = _full_variance(data) if name == "cp" else None
    total = data.units.squared(1.0)
    scaled = None if variance is None else variance * total
    exact, parts = data.tolerances.exact, 2 if data.is_complex else 1
    targets = data.independent_targets
    unit = Criteria(rows, features, False, 1.0, variance, exact, parts, targets)
    return unit.cost(name), replace(unit, total=total, variance=scaled).cost(name)


def _full_variance(data: Problem) -> float:
    """s² of Mallows' Cp: the residual variance with every column, or as many as are independent."""
    barred = data.constraints.exclude
    full = ActiveSet(data.constrained()._replace(ridge=0.0))
    full.add(j for j in range(data.shape[1]) if j not in barred)
    left = data.design.rows - full.size
    if left <= 0:
        raise InputError(
            f"cp needs the residual variance of the full model, and {full.size} columns leave none "
            f"of {data.design.rows:g} rows",
            ("take another ", Parameter("criterion"), ", such as ric."),
        )
    return full.rss / left


def _by_function(criterion: Cost, data: Problem) -> tuple[Cost, Cost]:
    """A criterion of one's own for a target of norm one, and for the target itself."""
    units = data.units

    def outer(rss: float, size: float) -> float:
        told = criterion(rss, size)
        try:
            cost = float(told)
        except (TypeError, ValueError):
            cost = math.nan
        except OverflowError:
            cost = math.inf if told > 0 else -math.inf
        if math.isnan(cost):
            raise InputError(
                f"criterion({rss:.6g}, {size}) is not a number",
                "let it return infinity where a model is not to be chosen.",
            )
        return cost

    return (lambda rss, size: outer(units.squared(rss), size)), outer
