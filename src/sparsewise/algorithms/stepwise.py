"""Stepwise Regression by a criterion, as R's ``step`` does it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.design import as_design
from sparsewise.design.base import Array
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.stopping import Until
from sparsewise.problem import Problem, check_columns
from sparsewise.results import Solution, Stop
from sparsewise.selection.criteria import BY_RESIDUAL, Criteria
from sparsewise.tolerances import tolerances

Cost = Callable[[float, int], float]
"""What a model of this ‖r‖² and this many columns costs: less is better."""


class Moves(NamedTuple):
    """Steps of one kind that are open to a model, in the units of the data.

    Attributes
    ----------
    columns : ndarray of int
        The columns that can be added (ascending), or dropped (in the order in which they came).
    change : ndarray
        By how much ‖r‖² would fall, or grow.
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


@algorithm(Family.STEPWISE, "what step of R does")
def stepwise(
    A: Any,
    y: ArrayLike,
    *,
    criterion: str | Cost = "bic",
    start: Iterable[int] | None = (),
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
    watch: Callable[[Round], object] | None = None,
) -> Solution:
    """Add or drop the column that lowers a criterion most; repeat until no single step does.

    Of all columns that can be added the one of largest gain is best, and of all that can be
    dropped the one of least loss (Lemma 3.5 of the paper), since every criterion grows with ‖r‖²;
    the cheaper of the two models is taken if it costs less than the present one by more than
    rounding. Equal costs: the smaller model.

    A fit to rounding error costs -∞ by most criteria; it loses what it doesn't need, and is the
    answer. Where a model has too few rows to be judged, columns go until it can be.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    criterion : str or callable
        "aic", "aicc", "bic", "ebic", "cp" or "adjusted_r2" for n rows and no intercept (see
        `sparsewise.selection.Criteria`), or a function of ‖r‖² (in the units of y) and the number
        of columns that grows with ‖r‖² and is to be small.
    start : iterable of int, optional
        Columns to begin with; None: all of them, which must then be independent.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    callback : callable, optional
        Called with every `Step`; returning True stops.
    watch : callable, optional
        Called with a `Round` before each decision.

    Returns
    -------
    Solution
        Least squares on the chosen columns.

    References
    ----------
    T. J. Hastie and D. Pregibon, "Generalized linear models", chapter 6 of "Statistical Models in
    S", Wadsworth and Brooks/Cole, 1992.
    """
    check_criterion(criterion)
    design = as_design(A)
    barred = check_columns(exclude, design.shape[1], "exclude")
    active, limit = begin("stepwise", design, y, include, barred, start, callback, delta=0.0)
    stop = Stop.ZERO_TARGET
    if not active.problem.is_zero:
        stop = descend(active, limit, judge(criterion, active.problem, barred), watch)
    return active.solution("stepwise", stop)


def check_criterion(criterion: Any) -> None:
    """Refuse what is neither the name of a criterion nor a function."""
    if not callable(criterion) and criterion not in BY_RESIDUAL:
        raise ValueError(
            f"criterion must be one of {', '.join(BY_RESIDUAL)}, or a function of squared residual "
            f"and size, not {criterion!r}."
        )


def descend(
    active: ActiveSet, limit: Until, judged: Judge, watch: Callable[[Round], object] | None
) -> Stop:
    """Single steps down the criterion; say why it ended."""
    visits: Counter[frozenset[int]] = Counter()
    while True:
        support = active.support
        visits[support] += 1
        # A second visit: scores turned out to be rounding, and were made anew. A third: circles.
        if visits[support] > 2:
            return Stop.CRITERION
        if watch and visits[support] == 1:
            watch(look_around(active, judged))
        gain, loss = float(active.gains().max()), min(losses(active).values(), default=-1.0)
        match judged.decide(active, gain, loss):
            case "add":
                active.grow(limit._replace(gain=max(limit.gain, judged.less(gain))), steps=1)
            case "drop":
                active.shrink(limit._replace(loss=max(limit.loss, judged.more(loss))), steps=1)
            case stop:
                return active.nothing_left() if gain < 0 and loss < 0 else stop
        if active.log.halted:
            return Stop.CALLBACK


def losses(active: ActiveSet) -> dict[int, float]:
    """The growth of ‖r‖² for each column that may be dropped, in the order in which they came."""
    loose = active.loose_coef()
    growth = zip(active.order, active.losses().tolist(), strict=True)
    return {j: loss for j, loss in growth if j in loose}


class Judge(NamedTuple):
    """The criterion, and what rounding makes of it.

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

    def cost(self, rss: float, size: int) -> float:
        """The criterion of a model, for a target of norm one."""
        return self.inner(0.0 if rss <= self.exact else rss, size)

    def decide(self, active: ActiveSet, gain: float, loss: float) -> Literal["add", "drop"] | Stop:
        """What to do, given the best gain and the least loss (negative: there is none)."""
        rss, size = active.rss, active.size
        here = self.cost(rss, size)
        # What the models next to this one cost at most, whatever rounding has done.
        up = down = math.inf
        if gain >= 0:
            up = self.cost((rss - gain) * (1 + self.tie), size + 1)
        if loss >= 0:
            down = self.cost((rss + loss) * (1 + self.tie), size - 1)
            needless = rss + loss <= self.exact and down <= here
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


def judge(criterion: str | Cost, data: Problem, barred: list[int]) -> Judge:
    """The criterion on these data, of which the columns `barred` are no part."""
    inner, outer = (
        by_function(criterion, data) if callable(criterion) else by_name(criterion, data, barred)
    )
    rounding = tolerances(data.y.dtype)
    return Judge(inner, outer, rounding.tie, rounding.drift, rounding.exact)


def by_name(name: str, data: Problem, barred: list[int]) -> tuple[Cost, Cost]:
    """A named criterion for a target of norm one, and for the target itself."""
    rows, columns = data.shape
    variance = full_variance(data, barred) if name == "cp" else None
    unit = Criteria(rows, columns - len(barred), False, 1.0, variance)
    total = data.units.squared(1.0)
    scaled = None if variance is None else variance * total
    given = Criteria(rows, columns - len(barred), False, total, scaled)
    return unit.cost(name), given.cost(name)


def full_variance(data: Problem, barred: list[int]) -> float:
    """s² of Mallows' Cp: the residual variance with every column, or as many as are independent."""
    full = ActiveSet(data)
    full.add(j for j in range(data.shape[1]) if j not in barred)
    left = data.shape[0] - full.size
    if left == 0:
        raise ValueError(
            f"cp needs the residual variance of the full model, and {full.size} columns leave none "
            f"of {data.shape[0]} rows; take another criterion, such as ebic."
        )
    return full.rss / left


def by_function(criterion: Cost, data: Problem) -> tuple[Cost, Cost]:
    """A criterion of one's own for a target of norm one, and for the target itself."""
    units = data.units

    def outer(rss: float, size: int) -> float:
        cost = float(criterion(rss, size))
        if math.isnan(cost):
            raise ValueError(
                f"criterion({rss:.6g}, {size}) is not a number; let it return infinity where a "
                "model is not to be chosen."
            )
        return cost

    return (lambda rss, size: outer(units.squared(rss), size)), outer


def look_around(active: ActiveSet, judged: Judge) -> Round:
    """The model as it is and all that are one step away, in the units of the data."""
    units, size, rss = active.problem.units, active.size, active.rss

    def told(rss: float, size: int) -> tuple[float, float]:
        squared = units.squared(0.0 if rss <= judged.exact else rss)
        return squared, judged.outer(squared, size)

    def moves(columns: Iterable[int], change: Iterable[float], sign: int) -> Moves:
        j, fall = np.array(list(columns), np.int64), np.array(list(change), float)
        after = [told(rss + sign * c, size + -sign) for c in fall]
        table = np.array(after, float).reshape(-1, 2)
        return Moves(j, np.array([units.squared(c) for c in fall]), table[:, 0], table[:, 1])

    gains, loss = active.gains(), losses(active)
    free = np.flatnonzero(gains >= 0)
    return Round(
        *told(rss, size),
        active.order,
        moves(free, gains[free], -1),
        moves(loss.keys(), loss.values(), 1),
    )
