"""The path of the lasso as far as rounding errors leave it alone."""

from __future__ import annotations

from typing import NamedTuple

from sparsewise.engine.l1.homotopy import Homotopy, attempts
from sparsewise.engine.l1.l1_solution import LostDigitsError
from sparsewise.engine.l1.optimality import POOR, Judged, judged
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.log import Log
from sparsewise.problem.problem import Problem
from sparsewise.results import Stop


class Followed(NamedTuple):
    """A path, why it ended, and its end, which was checked."""

    path: Homotopy
    stop: Stop
    end: Judged


def trusted_path(log: Log, weights: Weights, squared: float | None, least: float) -> Followed:
    """The path to ‖r‖² = `squared` or λ = `least`, whichever comes first.

    Where rounding errors spoil its end beyond use, it ends at the last breakpoint that they leave
    alone, found by bisection. Raises `LostDigitsError` if there is none.
    """
    data: Problem = log.problem
    for attempt, careful in attempts(data):
        log.begin_anew()
        path = Homotopy(log, weights, careful, attempt)
        if (found := _follow(path, squared, least)) is not None:
            if found.end.holds:
                return found
            if log.halted:
                found.end.checked(halted=True)
                return found
    if found is not None and found.end.minimiser.accuracy <= POOR:
        return found if found.end.is_sound else found._replace(stop=Stop.ROUNDING)
    bends = sorted({bend for bend in path.breakpoints if bend > least})
    low, high = 0, len(bends)
    trusted: Followed | None = None
    while low < high:
        middle = (low + high) // 2
        log.begin_anew()
        found = _follow(Homotopy(log, weights, careful, attempt), squared, bends[middle])
        if found is not None and found.end.is_sound:
            high, trusted, steps = middle, found, log.stretches
            if log.halted:
                return found
        else:
            low = middle + 1
    if trusted is None:
        raise LostDigitsError
    log.follow(steps)
    return trusted._replace(stop=Stop.ROUNDING)


def _follow(path: Homotopy, squared: float | None, least: float) -> Followed | None:
    """The path to ‖r‖² = `squared` or λ = `least`; None if it gets lost."""
    log, least = path.log, min(least, path.first_penalty)
    try:
        stop = log.run(lambda: path.lower(squared, to=least))
    except LostDigitsError:
        return None
    return Followed(path, stop, judged(path, log.problem, path.weights, None))
