"""The stopping parameters, which mean the same everywhere, as numbers the engine compares with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import count
from typing import Any, NamedTuple

from sparsewise._util.parameters import check_count, check_tolerance
from sparsewise.errors import InputError, Parameter, Part
from sparsewise.problem.problem import Problem
from sparsewise.results import Stop


class StoppingCriterion(NamedTuple):
    """When to stop adding and dropping, in units of ‖y‖ = 1.

    Attributes
    ----------
    most : int
        Most columns: features, and those that are locked.
    enough : float
        Stop adding once ‖r‖² is at most this.
    gain : float
        Add only what lowers ‖r‖² by more than this.
    loss : float
        Drop what raises ‖r‖² by at most this (negative: only what `most` demands).
    ceiling : float
        Drop only as long as ‖r‖² stays at most this.
    full : Stop
        What it means to have `most` features.
    small : Stop
        What it means that no step is worth its price.
    """

    most: int
    enough: float
    gain: float
    loss: float
    ceiling: float
    full: Stop
    small: Stop

    def by_size(self) -> StoppingCriterion:
        """The same, but dropping only what `most` demands."""
        return self._replace(loss=-1.0)


def stopping_criterion(algorithm: str | None, problem: Problem, **taken: Any) -> StoppingCriterion:
    """Check the stopping parameters and scale them.

    Parameters
    ----------
    algorithm : str, optional
        Who is asking: it is an error if none is given. None: the criterion may come from elsewhere.
    problem : Problem
        What it is to be used on.
    **taken : number or None
        Those that it takes, of sparsity (most features), residual (stop once ‖r‖ is at most this)
        and delta (add while ‖r‖² falls by more than δ², drop while it grows by at most δ²).
    """
    # With a ridge, more columns than rows can be in a model.
    locked = len(problem.constraints.locked)
    highest = (problem.shape[1] if problem.ridge else min(problem.shape)) - locked
    sparsity = check_count(taken.get("sparsity"), "sparsity", 0, highest)
    residual = check_tolerance(taken.get("residual"), "residual")
    delta = check_tolerance(taken.get("delta"), "delta")
    if algorithm and sparsity is None and residual is None and delta is None:
        raise _not_told(algorithm, tuple(taken))
    exact = problem.tolerances.exact
    squared = None if residual is None else (residual / problem.scale) * (residual / problem.scale)
    step = exact if delta is None else max((delta / problem.scale) * (delta / problem.scale), exact)
    return StoppingCriterion(
        most=locked + (highest if sparsity is None else sparsity),
        enough=-1.0 if squared is None else squared,
        gain=step,
        loss=step if delta is not None else (math.inf if residual is not None else -1.0),
        ceiling=math.inf if squared is None else max(squared, exact),
        full=Stop.EXHAUSTED if sparsity is None else Stop.SPARSITY,
        small=Stop.NO_IMPROVEMENT if delta is None else Stop.DELTA,
    )


def _not_told(algorithm: str, taken: tuple[str, ...]) -> InputError:
    """What to say where nothing ends an algorithm: the parameters it takes, one of which will."""
    words: list[Part] = [Parameter(taken[0])]
    for name in taken[1:]:
        words += [" or " if name == taken[-1] else ", ", Parameter(name)]
    asked = "give it " if len(taken) == 1 else "give one of the stopping parameters it takes: "
    return InputError(f"{algorithm} must be told when to stop", (asked, *words, "."))


def up_to(most: int | None, name: str, least: int = 1) -> Iterable[int]:
    """0, 1, 2, … as many as the parameter of this name allows; None: for ever."""
    most = check_count(most, name, least)
    return count() if most is None else range(most)
