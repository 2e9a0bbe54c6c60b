"""What happened so far: the steps for the path, the callback, and the solution at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sparsewise._typing import Array
from sparsewise._util.parameters import check_function
from sparsewise.engine.halting import Halted, interrupted
from sparsewise.problem.problem import Problem
from sparsewise.results import Action, Path, Solution, Step, Stop, Stretch

Callback = Callable[[Step], bool | None]


class Log:
    """The steps taken on a problem, in order."""

    def __init__(self, problem: Problem, callback: Callback | None) -> None:
        check_function(callback, "callback")
        self.problem = problem
        self.callback = callback
        self._empty_loss = float(not problem.is_zero)
        self._locked = len(problem.constraints.locked)
        self._halted = False
        self._stretches: list[Stretch] = []

    @property
    def stretches(self) -> list[Stretch]:
        """The steps, as they were recorded."""
        return self._stretches

    @property
    def halted(self) -> bool:
        """Whether the callback, or Ctrl-C, has asked to stop."""
        return self._halted or interrupted()

    def begin(self, columns: Sequence[int], loss: float, coef: Array, df: float) -> None:
        """The model before the first step, its locked columns first."""
        if len(columns) > self._locked:
            first = columns[self._locked :]
            self.record("start", first, [loss], [coef], len(columns), df=[df])
        else:
            self._empty_loss = loss

    def check_interrupt(self) -> None:
        """Between two steps: raise `Halted` if the callback, or Ctrl-C, has asked to stop."""
        if self._halted or interrupted():  # `halted`, without a further call
            raise Halted

    def run(self, steps: Callable[[], Stop]) -> Stop:
        """Take steps until they end or are halted; why that was."""
        try:
            stop = steps()
        except Halted:
            stop = Stop.CALLBACK
        if self.problem.is_zero:
            return Stop.ZERO_TARGET
        return Stop.INTERRUPTED if interrupted() else stop

    def begin_anew(self) -> None:
        """The steps that follow lead from the empty model, not from the one met last."""
        self._stretches = []

    def follow(self, stretches: Iterable[Stretch]) -> None:
        """Take these steps, which were recorded elsewhere, for the ones so far."""
        self._stretches = list(stretches)

    def record(
        self,
        action: Action,
        columns: Sequence[int | tuple[int, ...]] | Array,
        losses: Sequence[float] | Array,
        coefs: Sequence[Array] | Array,
        size: int,
        log_evidences: Sequence[float] | Array | None = None,
        df: Sequence[float] | Array | None = None,
    ) -> None:
        """Consecutive steps that led to a model of this size; coefs has one row a step.

        `df`: the degrees of freedom after each; None: as many as columns.
        """
        if self._locked:  # no features: the path is without them
            size -= self._locked
            coefs = [x[:, self._locked :] for x in coefs]
        stretch = Stretch(action, columns, losses, coefs, log_evidences, df)
        if action == "start":
            self._stretches.clear()
        self._stretches.append(stretch)
        if self.callback is None or action == "start":
            return
        units = self.problem.units
        towards = {"add": -1, "update": 0, "drop": 1}[action]
        for i in range(len(columns)):
            step = stretch.step(i, size + towards * (len(columns) - 1 - i), units)
            self._halted = bool(self.callback(step)) or self._halted

    def solution(
        self,
        algorithm: str,
        stop: Stop,
        columns: Array,
        x: Array,
        rss: float,
        df: float | None = None,
        least_squares: bool = True,
        kind: type[Solution] = Solution,
        include: tuple[int, ...] | None = None,
        exclude: tuple[int, ...] | None = None,
        **more: Any,
    ) -> Solution:
        """The model with coefficients x on these unit columns, in the units of the data.

        `include` and `exclude` are those of the problem, unless they follow from something else.
        """
        problem = self.problem
        units = problem.units
        support = columns[self._locked :].copy()
        support.sort()
        constraints = problem.constraints
        return kind.of(
            algorithm=algorithm,
            support=support,
            coef=units.coef(columns, x),
            residual_norm=rss**0.5 * problem.scale,
            df=float(support.size if df is None else df),
            ridge=problem.ridge,
            path=Path(self._stretches, units, self._empty_loss, problem.ridge),
            stop=stop,
            n_passes=problem.passes.count,
            n_products=problem.passes.products,
            least_squares=least_squares,
            include=constraints.include if include is None else include,
            exclude=constraints.exclude if exclude is None else exclude,
            locked=constraints.locked,
            note=problem.design.note,
            **more,
        )
