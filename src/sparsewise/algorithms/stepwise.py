"""Stepwise Regression by a criterion, as R's ``step`` does it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_function
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.criteria.base import Criterion
from sparsewise.engine import step_choice
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.log import Callback
from sparsewise.engine.step_choice import Cost, Round
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.problem.targets import Targets
from sparsewise.results import Solution, Stop


@algorithm(Family.STEPWISE, "what step of R does")
def stepwise(
    A: Any,
    y: ArrayLike | Targets,
    *,
    criterion: str | Cost = "ric",
    ridge: float = 0.0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] | None = (),
    callback: Callback | None = None,
    watch: Callable[[Round], object] | None = None,
) -> Solution:
    """Add or drop the column that lowers a criterion most; repeat until no single step does.

    Of all columns that can be added the one of largest gain is best, and of all that can be
    dropped the one of least loss (Lemma 3.5 of the paper), since every criterion grows with ‖r‖²;
    the cheaper of the two models is taken if it costs less than the present one by more than
    rounding. Equal costs: the smaller model. With a ridge, gain and loss are those of the penalised
    objective, and the criterion is that of ‖r‖² and of the degrees of freedom, df = trace of the
    hat matrix, in place of the number of columns.

    A fit to rounding error costs -∞, or nearly so: it is the answer, once redundant columns are
    dropped. If too few rows are left for the criterion, columns are dropped until it is defined.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    criterion : str or callable
        "ric", "aic", "aicc", "bic", "ebic", "cp" or "adjusted_r2" for n rows and no intercept (see
        `sparsewise.criteria.Criteria`), or a function of loss (‖r‖², in the units of y) and
        degrees of freedom (without a ridge, the number of columns) that grows with the loss and is
        to be small.
    ridge : float
        Shrink coefficients: minimise ‖r‖² + ridge ‖z‖², z the coefficients of columns scaled to
        unit norm. A pure number; see `Problem`.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    start : iterable of int, optional
        Columns to begin with; None: all of them, which must then be independent.
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
    return stepwise_within(
        A, y, most=None, criterion=criterion, ridge=ridge,
        include=include, exclude=exclude, start=start, callback=callback, watch=watch,
    )  # fmt: skip


def stepwise_within(
    A: Any,
    y: ArrayLike | Targets,
    *,
    most: int | None,
    criterion: str | Cost,
    ridge: float = 0.0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    start: Iterable[int] | None = (),
    callback: Callback | None = None,
    watch: Callable[[Round], object] | None = None,
) -> Solution:
    """`stepwise` among models of at most `most` columns; None: of any size.

    A larger model to start with is cut down first, by the least losses.
    """
    step_choice.check_criterion(criterion)
    check_function(watch, "watch")
    active, stopping = begin(
        "stepwise", A, y, delta=0.0,
        ridge=ridge, include=include, exclude=exclude, start=start, callback=callback,
    )  # fmt: skip
    within = stopping if most is None else stopping._replace(most=most)

    def steps() -> Stop:
        if active.problem.is_zero:
            return Stop.ZERO_TARGET
        if most is not None:
            active.shrink(within.by_size())
        inner, outer = step_choice.criteria_on(active.problem, criterion)
        tell = None if watch is None else lambda: watch(step_choice.look_around(outer, active))
        return descend(active, stopping, inner, tell, math.inf if most is None else most)

    return active.solve("stepwise", steps)


def descend(
    active: ActiveSet,
    stopping: StoppingCriterion,
    criterion: Criterion,
    tell: Callable[[], object] | None,
    most: float = math.inf,
) -> Stop:
    """Single steps down the criterion, that of a target of norm one; say why it ended.

    None leads to a model of more than `most` columns.
    """
    drift = active.problem.tolerances.drift  # a gain or loss that is off by more is made anew
    visits: Counter[tuple[frozenset[int], int]] = Counter()
    seen: set[frozenset[int]] = set()
    while True:
        support = active.support
        # A column found to be dependent is closed: returning here without it is no cycle.
        place = support, int(active.closed().sum())
        visits[place] += 1
        # On a second visit, scores were rounding and have been recomputed; a third is a cycle.
        if visits[place] > 2:
            return Stop.CRITERION
        if tell and support not in seen:
            tell()
        seen.add(support)
        gain = float(active.gains().max())
        loss = min(active.loose_losses().values(), default=-1.0)
        allowed = gain if active.size < most else -1.0
        match step_choice.decide(criterion, active, allowed, loss):
            case "add":
                least = max(stopping.gain, gain * (1 - drift))
                active.grow(stopping._replace(gain=least), steps=1)
            case "drop":
                largest = max(stopping.loss, loss * (1 + drift))
                active.shrink(stopping._replace(loss=largest), steps=1)
            case stop:
                return active.nothing_left() if gain < 0 and loss < 0 else stop
