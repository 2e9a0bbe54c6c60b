"""What happened so far: the steps for the path, the callback, and the solution at the end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from sparsewise.design.base import Array
from sparsewise.problem import Problem
from sparsewise.solution import Action, Path, Solution, Step, Stop, Stretch

Callback = Callable[[Step], bool | None]

_asked_to_stop = False


def interrupted() -> bool:
    """Whether Ctrl-C was pressed in an `interruptible` stretch."""
    return _asked_to_stop


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end algorithms as a callback would: the answer is the model met so far.

    A second Ctrl-C ends the program as usual. Only in the main thread, where signals arrive, and
    not where they are to be ignored, as in the background.
    """
    global _asked_to_stop
    before = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or before in (signal.SIG_IGN, None):
        yield
        return

    def ask(number: int, frame: object) -> None:
        global _asked_to_stop
        _asked_to_stop = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _asked_to_stop = False


class Log:
    """The steps taken on a problem, in order."""

    def __init__(self, problem: Problem, callback: Callback | None) -> None:
        self.problem = problem
        self.callback = callback
        self._halted = False
        self._stretches: list[Stretch] = []

    @property
    def halted(self) -> bool:
        """Whether the callback, or Ctrl-C, has asked to stop."""
        return self._halted or interrupted()

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
            self._halted = bool(self.callback(step)) or self._halted

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
            stop=self._reason(stop),
            n_passes=problem.design.passes - problem.passes_before,
            least_squares=least_squares,
            **more,
        )

    def _reason(self, stop: Stop) -> Stop:
        """Why it ended, if something else than the algorithm itself decided that."""
        if self.problem.is_zero:
            return Stop.ZERO_TARGET
        return Stop.INTERRUPTED if interrupted() else stop
