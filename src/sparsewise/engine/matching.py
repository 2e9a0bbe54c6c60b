"""Coefficients that move one at a time and are never refitted: the model of Matching Pursuit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.results import Solution, Stop


class Matching:
    """Coefficients x and residual r of unit columns, from a least-squares fit onwards.

    Parameters
    ----------
    start : ActiveSet
        The fit to begin with; its log is gone on with.

    Attributes
    ----------
    coef : dict of int to number
        The coefficient of each column met so far.
    """

    def __init__(self, start: ActiveSet) -> None:
        self._start, self._log = start, start.log
        self.coef, self._r = start.refitted()
        self._rss = float(np.vdot(self._r, self._r).real)
        self._nothing = start.problem.tolerances.exact

    def reason_to_stop(self, stopping: StoppingCriterion) -> Stop | None:
        """The part of the stopping criterion that is met, if one is."""
        return self._start.reason_not_to_exchange(stopping, self._rss)

    def closest(self) -> tuple[int, Any]:
        """The column closest to r, active or not, with u_j* r; -1: r is orthogonal to all."""
        j, inner = self._start.closest(self._r)
        return (j, inner) if abs(inner) ** 2 > self._nothing else (-1, inner)

    def move(self, j: int, by: Any) -> None:
        """Move the coefficient of unit column j."""
        self.coef[j] = self.coef.get(j, 0) + by
        self._r -= by * self._start.unit_column(j)
        self._rss = float(np.vdot(self._r, self._r).real)
        self._log.record("add", [j], [self._rss], [self._values()], len(self.coef))
        self._log.check_interrupt()

    def solve(self, algorithm: str, steps: Callable[[], Stop]) -> Solution:
        """Take these steps until they end or somebody halts them: the solution."""
        stop = self._log.run(steps)
        columns = np.array(list(self.coef), np.int64)
        return self._log.solution(
            algorithm, stop, columns, self._values(), self._rss, least_squares=False
        )

    def _values(self) -> Array:
        return np.array(list(self.coef.values()), self._r.dtype)
