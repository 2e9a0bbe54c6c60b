"""What happened so far: the steps for the path, the callback, and the solution at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from sparsewise.design.base import Array
from sparsewise.problem import Problem
from sparsewise.solution import Path, Solution, Step, Stop, Stretch

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
        action: Literal["start", "add", "drop"],
        columns: Sequence[int] | Array,
        squared_residuals: Sequence[float] | Array,
        coefs: Sequence[Array] | Array,
        size: int,
    ) -> None:
        """Consecutive steps that led to a model of this size; coefs has one row a step."""
        self._stretches.append(Stretch(action, columns, squared_residuals, coefs))
        if self.callback is None or action == "start":
            return
        squared = self.problem.units.squared
        towards = 1 if action == "drop" else -1
        for i, (j, rss) in enumerate(zip(columns, squared_residuals, strict=True)):
            step = Step(action, int(j), squared(rss), size + towards * (len(columns) - 1 - i))
            self.halted = bool(self.callback(step)) or self.halted

    def solution(
        self,
        algorithm: str,
        stop: Stop,
        columns: Array,
        x: Array,
        rss: float,
        least_squares: bool = True,
    ) -> Solution:
        """The model with coefficients x on these unit columns, in the units of the data."""
        problem = self.problem
        units = problem.units
        return Solution(
            algorithm=algorithm,
            support=np.sort(columns),
            coef=units.coef(columns, x),
            residual_norm=rss**0.5 * problem.scale,
            path=Path(self._stretches, units, float(not problem.is_zero)),
            stop=Stop.ZERO_TARGET if problem.is_zero else stop,
            n_passes=problem.design.passes - problem.passes_before,
            least_squares=least_squares,
        )
