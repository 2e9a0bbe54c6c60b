"""What BP ARD and Candès' reweighting share: basis pursuit with weights from the last round."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.algorithms.bpdn import Solver, check_bound, choose_solver, reach
from sparsewise.design.base import Array
from sparsewise.engine.conic import solve_conic
from sparsewise.engine.homotopy import Homotopy
from sparsewise.engine.log import Callback, Log
from sparsewise.engine.minimiser import Minimiser, l1_solution
from sparsewise.engine.weights import Weights, check_weights
from sparsewise.problem import Problem, check_positive, check_whole, problem
from sparsewise.results import L1Solution, Reweighted, Round, Stop

Rule = Callable[[Problem, Array, Array], Array]
"""From a problem, the coefficients of its unit columns and their weights to new weights."""


def reweighted(
    algorithm: str,
    rule: Rule,
    A: Any,
    y: ArrayLike,
    residual: float,
    rounds: int,
    tol: float,
    debias: bool,
    solver: Solver,
    include: Iterable[int],
    exclude: Iterable[int],
    callback: Callback | None,
) -> L1Solution:
    """Solve with equal weights, then with those that the rule makes of each solution.

    Weights belong to unit columns, so that units don't matter. Ends when no coefficient moves by
    more than `tol` times the largest, or after so many rounds.
    """
    data, bound = problem(A, y), check_bound(residual)
    most, small = check_whole(rounds, "rounds", 0), check_positive(tol, "tol")
    weights = check_weights(data, data.design.norms(), include, exclude)
    log = Log(data, callback)
    solve = _conic(data, bound) if choose_solver(solver, data) == "conic" else _path(log, bound)
    found, stop = solve(weights)
    x = _dense(data, found)
    told = [Round(found.columns.size, found.cost(weights, data), np.inf)]
    for _ in range(most):
        if stop is Stop.CALLBACK or not x.any() or not weights.usual.any():
            break
        weights = _renewed(data, weights, rule(data, x, _finite(weights)))
        found, stop = solve(weights)
        before, x = x, _dense(data, found)
        change = float(np.abs(x - before).max() / np.abs(before).max())
        told.append(Round(found.columns.size, found.cost(weights, data), change))
        if change <= small:
            stop = Stop.SETTLED
            break
    else:
        stop = Stop.MAX_OUTER
    return l1_solution(
        log, algorithm, stop, weights, found, bound, debias, kind=Reweighted, rounds=tuple(told)
    )


Solve = Callable[[Weights], tuple[Minimiser, Stop]]


def _path(log: Log, bound: float) -> Solve:
    """Go on from the solution of the last round; without a bound to stay above, begin anew."""
    path: Homotopy | None = None

    def solve(weights: Weights) -> tuple[Minimiser, Stop]:
        nonlocal path
        if path is None or not path.penalty:
            path = Homotopy(log, weights)
        else:
            path.turn(weights)
        stop = reach(path, bound)
        return path.minimiser(), stop

    return solve


def _conic(data: Problem, bound: float) -> Solve:
    def solve(weights: Weights) -> tuple[Minimiser, Stop]:
        return solve_conic(data, weights, bound / data.scale), Stop.RESIDUAL

    return solve


def _renewed(data: Problem, old: Weights, unit: Array) -> Weights:
    """New weights of unit columns; what is free or barred stays so."""
    unit = np.where(old.usual, unit, old.unit)
    top = float(unit[old.usual].max(initial=0.0)) or 1.0
    given = np.where(old.barred, 0.0, unit) * data.design.norms()
    return Weights(np.where(old.barred, np.inf, given), unit / top, top)


def _finite(weights: Weights) -> Array:
    """The weights of unit columns; 0 for those that are barred."""
    return np.where(weights.barred, 0.0, weights.unit) * weights.top


def _dense(data: Problem, found: Minimiser) -> Array:
    """The coefficients of all unit columns."""
    x = np.zeros(data.shape[1], data.y.dtype)
    x[found.columns] = found.x
    return x
