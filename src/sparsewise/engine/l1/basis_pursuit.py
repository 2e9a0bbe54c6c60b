"""Basis pursuit denoising: the smallest Σ w_j |x_j| within a bound on the residual."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Literal

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.parameters import check_number, check_tolerance
from sparsewise.engine.l1.complex_path import ComplexPath
from sparsewise.engine.l1.cone_program import inner
from sparsewise.engine.l1.conic import solve_conic
from sparsewise.engine.l1.homotopy import Homotopy, attempts
from sparsewise.engine.l1.l1_solution import (
    LostDigitsError,
    Minimiser,
    OutOfReachError,
    l1_solution,
)
from sparsewise.engine.l1.optimality import POOR, is_reachable, is_within, judged
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.log import Callback, Log
from sparsewise.errors import InputError, Parameter
from sparsewise.problem.problem import Problem
from sparsewise.results import L1Solution, Stop

Solver = Literal["auto", "homotopy", "conic"]

FAIR, FAIR_DIGITS = 1e-8, 1e3
"""A duality gap, absolute and in units of eps, good enough not to try another solver."""


class BasisPursuit:
    """min Σ w_j |x_j| subject to ‖A x - y‖ <= residual, for one set of weights after another.

    The homotopy and the complex path are warm-started from the previous minimiser; a cone program
    is solved from scratch.

    Parameters
    ----------
    data : Problem
        A and y.
    residual : float
        The bound on ‖A x - y‖, in the units of the data.
    solver : {"auto", "homotopy", "conic"}
        The solver; "auto" chooses one for the data.
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
        self.r: Array | None = None  # residual of the minimiser, where known

    def run(self, weights: Weights) -> Stop:
        """Minimise with these weights, until done or halted."""
        self.weights, self._minimiser, self.r = weights, None, None
        return self.log.run(self._solve)

    def _solve(self) -> Stop:
        bound = self.bound / self.data.scale
        if self._solver != "homotopy":
            solve = self._solve_complex if self._solver == "complex path" else self._solve_conic
            found = self._minimiser = moved_within(self.data, solve(bound), bound)
            length = float(np.linalg.norm(found.residual(self.data)))
            size = 1 + float(np.abs(found.x).sum())
            if not is_within(length, size, bound, self.data.tolerances.eps):
                return Stop.ROUNDING
            return Stop.RESIDUAL if bound else Stop.EXACT_FIT
        path, last = self._path, None
        for data, careful in attempts(self.data):
            try:
                # At λ = 0 the weights no longer matter: no warm start.
                if path is None or not path.penalty:
                    self.log.begin_anew()
                    path = self._path = Homotopy(self.log, self.weights, careful, data)
                else:
                    path.reweight(self.weights)
                stop = path.reach(bound)
                last = judged(path, self.data, self.weights, bound)
                if last.holds:
                    break
            except LostDigitsError:
                pass
            except OutOfReachError:
                if careful and not is_reachable(data, self.weights, bound):
                    raise
            path = None
        if last is None:
            raise LostDigitsError
        self._minimiser, self.r = last.checked(), last.r
        if not (last.is_sound and last.fits):
            return Stop.ROUNDING
        return stop if bound else Stop.EXACT_FIT

    @cached_property
    def _complex_path(self) -> ComplexPath:
        return ComplexPath(self.data, lambda: self.log.halted)

    def _solve_conic(self, bound: float) -> Minimiser:
        return solve_conic(self.data, self.weights, bound)

    def _solve_complex(self, bound: float) -> Minimiser:
        """By Newton's method along the path; where that falls short, by Clarabel if installed."""
        path = self._complex_path
        try:
            newton = path.minimise(self.weights, bound)
        except LostDigitsError:
            newton = None
        fair = max(FAIR, FAIR_DIGITS * self.data.tolerances.eps)
        if newton is not None and path.gap <= fair and newton.accuracy <= POOR:
            return newton
        try:
            conic = self._solve_conic(bound)
        except OutOfReachError:
            raise
        except (ImportError, InputError) as error:
            if newton is None or not newton.accuracy <= POOR:
                raise LostDigitsError from error
            return newton
        if newton is None or math.isinf(path.gap):
            return conic
        return min(newton, conic, key=lambda minimiser: minimiser.accuracy)

    def minimiser(self) -> Minimiser:
        """The minimiser of the last run, or where it was halted."""
        if self._minimiser is None:  # halted
            assert self._path is not None
            return self._path.minimiser().rounded(self.data)
        return self._minimiser

    def result(self) -> Minimiser:
        """The minimiser; if the run was halted, check it: rounding may have spoilt the path."""
        minimiser = self.minimiser()
        if self.log.halted and self._solver == "homotopy":
            assert self._path is not None
            here = judged(self._path, self.data, self.weights, 0.0, halted=True)
            minimiser = here.checked(halted=True)
        return minimiser

    def solution(self, algorithm: str, stop: Stop, debias: bool, **more: Any) -> L1Solution:
        """The minimiser in the units of the data."""
        minimiser, r = self.result(), self.r
        return l1_solution(
            self.log, algorithm, stop, self.weights, minimiser, self.bound, debias, r=r, **more
        )


def moved_within(data: Problem, found: Minimiser, bound: float) -> Minimiser:
    """The minimiser x times 1 + τ, with the least τ > 0 for which ‖r‖ meets the bound.

    Newton's method meets it to the digits that nearly dependent columns leave. ‖r - τ A x‖ falls at
    first, since Re r*A x = λ Σ w_j|x_j|.
    """
    r = found.residual(data)
    fit = data.y - r
    excess, slope, square = inner(r, r) - bound**2, inner(r, fit), inner(fit, fit)
    inside = slope**2 - square * excess
    if not (bound > 0 and excess > 0 and slope > 0 and inside > 0):
        return found
    more = excess / (slope + math.sqrt(inside))  # and so much more does it cost
    x = (found.x * (1 + more)).astype(found.x.dtype)
    return found._replace(x=x, accuracy=found.accuracy + 2 * more)


def check_bound(value: float, name: str = "residual") -> float:
    """A non-negative number."""
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
            "The path of complex coefficients is not piecewise linear",
            ("use ", Parameter("solver", "conic"), ' for them, or "auto".'),
        )
    if solver == "auto":
        return "complex path" if is_complex else "homotopy"
    return solver
