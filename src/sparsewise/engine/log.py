"""What happened so far: the steps for the path, the callback, and the solution at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparsewise.design.base import Array
from sparsewise.problem import Problem
from sparsewise.solution import Action, Path, Solution, Step, Stop, Stretch

Callback = Callable[[Step], bool | None]


class Log:
    """The steps taken on a problem, in order.

    Attributes
    ----------
    halted : bool
        Whether the callback has asked to stop.
    """

    def __init__(self, problem: Problem, callback: Callback | None) -> None:
        self.problem = problem
        self.callback = callback
        self.halted = False
        self._stretches: list[Stretch] = []

    def record(
        self,
        action: Action,
        columns: Sequence[int] | Array,
        squared_residuals: Sequence[float] | Array,
        coefs: Sequence[Array] | Array,
        size: int,
        log_evidences: Sequence[float] | Array | None = None,
    ) -> None:
        """Consecutive steps that led to a model of this size; coefs has one row a step."""
        stretch = Stretch(action, columns, squared_residuals, coefs, log_evidences)
        if action == "start":
            self._stretches.clear()
        self._stretches.append(stretch)
        if self.callback is None or action == "start":
            return
        units = self.problem.units
        towards = {"add": -1, "update": 0, "drop": 1}[action]
        for i in range(len(columns)):
            step = stretch.step(i, size + towards * (len(columns) - 1 - i), units)
            self.halted = bool(self.callback(step)) or self.halted

    def solution(
        self,
        algorithm: str,
        stop: Stop,
        columns: Array,
        x: Array,
        rss: float,
        least_squares: bool = True,
        kind: type[Solution] = Solution,
        **more: Any,
    ) -> Solution:
        """The model with coefficients x on these unit columns, in the units of the data."""
        problem = self.problem
        units = problem.units
        return kind(
            algorithm=algorithm,
            support=np.sort(columns),
            coef=units.coef(columns, x),
            residual_norm=rss**0.5 * problem.scale,
            path=Path(self._stretches, units, float(not problem.is_zero)),
            stop=Stop.ZERO_TARGET if problem.is_zero else stop,
            n_passes=problem.design.passes - problem.passes_before,
            least_squares=least_squares,
            **more,
        )
