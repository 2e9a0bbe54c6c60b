"""The stopping parameters, which mean the same everywhere, as numbers the engine compares with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from sparsewise.errors import InputError, Parameter
from sparsewise.parameters import check_count, check_tolerance
from sparsewise.problem import Problem
from sparsewise.results import Stop
from sparsewise.tolerances import tolerances


class StoppingCriterion(NamedTuple):
    """When to stop adding and dropping, in units of ‖y‖ = 1.

    Attributes
    ----------
    most : int
        Most features.
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


def stopping_criterion(
    algorithm: str | None,
    problem: Problem,
    *,
    sparsity: int | None = None,
    residual: float | None = None,
    delta: float | None = None,
) -> StoppingCriterion:
    """Check the stopping parameters and scale them.

    Parameters
    ----------
    algorithm : str, optional
        Who is asking: it is an error if none is given. None: the criterion may come from elsewhere.
    problem : Problem
        What it is to be used on.
    sparsity : int, optional
        Most features.
    residual : float, optional
        Stop once ‖r‖ <= residual.
    delta : float, optional
        Add while ‖r‖² falls by more than δ², drop while it grows by at most δ².
    """
    sparsity = check_count(sparsity, "sparsity", 0, min(problem.shape))
    residual = check_tolerance(residual, "residual")
    delta = check_tolerance(delta, "delta")
    if algorithm and sparsity is None and residual is None and delta is None:
        raise InputError(
            f"{algorithm} must be told when to stop",
            (
                "give one of the stopping parameters it takes: ",
                Parameter("sparsity"), ", ", Parameter("residual"), " or ", Parameter("delta"), ".",
            ),
        )  # fmt: skip
    exact = tolerances(problem.y.dtype).exact
    squared = None if residual is None else (residual / problem.scale) * (residual / problem.scale)
    step = exact if delta is None else max((delta / problem.scale) * (delta / problem.scale), exact)
    return StoppingCriterion(
        most=min(problem.shape) if sparsity is None else sparsity,
        enough=-1.0 if squared is None else squared,
        gain=step,
        loss=step if delta is not None else (math.inf if residual is not None else -1.0),
        ceiling=math.inf if squared is None else max(squared, exact),
        full=Stop.EXHAUSTED if sparsity is None else Stop.SPARSITY,
        small=Stop.NO_IMPROVEMENT if delta is None else Stop.DELTA,
    )


def up_to(most: int | None, name: str, least: int = 1) -> Iterable[int]:
    """0, 1, 2, … as many as the parameter of this name allows; None: for ever."""
    most = check_count(most, name, least)
    return count() if most is None else range(most)
