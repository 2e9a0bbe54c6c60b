"""The smallest Σ w_j |x_j| within a bound on the residual, by whichever solver suits."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Literal

from sparsewise._typing import Array
from sparsewise._util.parameters import check_number, check_tolerance
from sparsewise.engine.l1.complex_path import ComplexPath
from sparsewise.engine.l1.conic import POOR, solve_conic
from sparsewise.engine.l1.homotopy import Homotopy, attempts
from sparsewise.engine.l1.l1_solution import (
    LostDigitsError,
    Minimiser,
    OutOfReachError,
    l1_solution,
)
from sparsewise.engine.l1.optimality import is_minimiser, is_reachable
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.log import Callback, Log
from sparsewise.errors import InputError, Parameter
from sparsewise.problem.problem import Problem
from sparsewise.results import L1Solution, Stop

Solver = Literal["auto", "homotopy", "conic"]

FAIR, FAIR_DIGITS = 1e-8, 1e3
"""An accuracy, and one in units of rounding, that needs no other solver."""


class BasisPursuit:
    """min Σ w_j |x_j| subject to ‖A x - y‖ <= residual, for some weights, and then for others.

    The paths of real and of complex data go on from the minimiser before; a cone program is solved
    anew.

    Parameters
    ----------
    data : Problem
        A and y.
    residual : float
        The bound on ‖A x - y‖, in the units of the data.
    solver : {"auto", "homotopy", "conic"}
        How to minimise; "auto" chooses by the data.
    callback : callable, optional
        Called with every `Step` of the path.
    """

    def __init__(
        self, data: Problem, residual: float, solver: Solver, callback: Callback | None
    ) -> None:
        self.data, self.bound = data, check_bound(residual)
        self.log = Log(data, callback)
        self._solver = choose_solver(solver, data)
        self._path: Homotopy | None = None
        self._minimiser: Minimiser | None = None
        self.r: Array | None = None  # of the minimiser, where it is known

    def run(self, weights: Weights) -> Stop:
        """Minimise with these weights, until that is done or halted."""
        self.weights, self._minimiser, self.r = weights, None, None
        return self.log.run(self._solve)

    def _solve(self) -> Stop:
        bound = self.bound / self.data.scale
        if self._solver != "homotopy":
            curved = self._solver == "curved"
            self._minimiser = self._along_curve(bound) if curved else self._by_cones(bound)
            return Stop.RESIDUAL if bound else Stop.EXACT_FIT
        path = self._path
        for data, careful in attempts(self.data):
            try:
                # At λ = 0, weights have no say.
                if path is None or not path.penalty:
                    self.log.begin_anew()
                    path = self._path = Homotopy(self.log, self.weights, careful, data)
                else:
                    path.reweight(self.weights)
                stop = path.reach(bound)
                found = path.minimiser().rounded(self.data)
                r = found.residual(self.data)
                if is_minimiser(self.data, self.weights, found, r, bound):
                    self._minimiser, self.r = found, r
                    return stop
            except LostDigitsError:
                pass
            except OutOfReachError:
                if careful and not is_reachable(data, self.weights, bound):
                    raise
            path = None
        raise LostDigitsError

    @cached_property
    def _curve(self) -> ComplexPath:
        return ComplexPath(self.data, lambda: self.log.halted)

    def _by_cones(self, bound: float) -> Minimiser:
        return solve_conic(self.data, self.weights, bound)

    def _along_curve(self, bound: float) -> Minimiser:
        """By Newton's method, or by Clarabel, if it is here, where that falls short."""
        try:
            found = self._curve.minimise(self.weights, bound)
        except LostDigitsError:
            found = None
        fair = max(FAIR, FAIR_DIGITS * self.data.tolerances.eps)
        if found is not None and self._curve.gap <= fair and found.accuracy <= POOR:
            return found
        try:
            other = self._by_cones(bound)
        except OutOfReachError:
            raise
        except (ImportError, InputError) as error:
            if found is None or not found.accuracy <= POOR:
                raise LostDigitsError from error
            return found
        if found is None or math.isinf(self._curve.gap):
            return other
        return min(found, other, key=lambda one: one.accuracy)

    def minimiser(self) -> Minimiser:
        """What the last run came to."""
        if self._minimiser is None:  # halted on the way
            assert self._path is not None
            return self._path.minimiser().rounded(self.data)
        return self._minimiser

    def result(self) -> Minimiser:
        """That; a run that was halted may stand where digits are lost."""
        found = self.minimiser()
        if self.log.halted and self._solver == "homotopy":
            r = found.residual(self.data)
            if not is_minimiser(self.data, self.weights, found, r, None):
                raise LostDigitsError
        return found

    def solution(self, algorithm: str, stop: Stop, debias: bool, **more: Any) -> L1Solution:
        """That in the units of the data."""
        found = self.result()
        return l1_solution(
            self.log, algorithm, stop, self.weights, found, self.bound, debias, r=self.r, **more
        )


def check_bound(value: float, name: str = "residual") -> float:
    """A number of at least 0."""
    bound = check_tolerance(check_number(value, name), name)
    assert bound is not None
    return bound


def choose_solver(solver: Solver, data: Problem) -> str:
    """The solver to use on these data."""
    is_complex = data.is_complex
    if solver not in ("auto", "homotopy", "conic"):
        raise InputError(
            f'must be "auto", "homotopy" or "conic", not {solver!r}.', parameter="solver"
        )
    if solver == "homotopy" and is_complex:
        raise InputError(
            "The path of complex coefficients is not made of lines",
            ("use ", Parameter("solver", "conic"), ' for them, or "auto".'),
        )
    if solver == "auto":
        return "curved" if is_complex else "homotopy"
    return solver
