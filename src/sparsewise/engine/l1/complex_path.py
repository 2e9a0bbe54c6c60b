"""ℓ1-penalised least squares of complex data along a path of λ, by Newton's method."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import EPS, ConeProgram, Proof, inner, lstsq
from sparsewise.engine.l1.conic import ScaledProgram, range_basis, solve_on
from sparsewise.engine.l1.l1_solution import LostDigitsError, Minimiser, OutOfReachError
from sparsewise.engine.l1.polish import newton
from sparsewise.engine.l1.unpenalised import Unpenalised
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.l1.working_set import WorkingSet, phases
from sparsewise.problem.problem import Problem

MIN_FACTOR = 0.4, 0.8
"""λ falls at most to this fraction of itself per round; the second value is the careful one."""

MAX_ROUNDS = 200
"""Most rounds: a path that needs more can't be followed."""

MIN_JOINING = 32
"""This many columns may always join the working set at once; more if the model is larger."""

NEAR_LIMIT = 0.95
"""Columns join from this fraction of their weight in correlation."""

ROUGH, FINE = (0.1, 1e-3), 1e-4
"""Relative tolerance of the minimiser along the path (fast, careful), and at its end."""

FAR = 0.01
"""λ falls at most to this fraction of itself where no column is about to join."""

VIOLATION = 1e-3
"""Columns whose correlations exceed their weights by more than this, relatively, are missing."""

NEAR = 0.02
"""Relative change of λ below which Newton's method on the bound takes over."""

ZERO_PENALTY = 1e-8
"""Relative to the first λ: below this λ is zero, or the bound can't be met."""

MAX_STEPS = 12
"""Most Newton steps to the bound."""

FITTED = 0.2
"""The fit is exact if ‖r‖² extrapolates to zero at λ = 0 within this fraction."""

ZERO_POWER = 3 / 4
"""Coefficients of an exact fit below this power of eps, relative to the largest, are zero."""

ROUNDING = 64
"""In units of eps: a smaller residual is zero."""

CANCELLED = 1e-3
"""Below this fraction of ‖y‖, cancellation may have cost r digits that the proof needs."""

CORRECTIONS = 8
"""Most rounds in which columns that the proof shows to be missing are added."""

GOOD = 1e-10
"""A duality gap at which no other method is tried."""


class ComplexPath:
    """The minimiser of Σ w_j|x_j| with ‖A x - y‖ <= bound, for complex data.

    The minimiser of ½‖A x - y‖² + λ Σ w_j|x_j| is followed to the λ at which ‖r‖ meets the bound.
    Each round predicts and corrects. The tangent of the path predicts λ, since ‖r‖² is nearly
    linear in λ² (for real data it is), and the residual there. One pass over A correlates that with
    all columns and shows which may enter. With these, Newton's method finds the minimiser at the
    new λ (`WorkingSet`). The last round meets the bound to rounding.

    Parameters
    ----------
    data : Problem
        The design and the target.
    halted : callable
        Whether the run is to stop.

    Attributes
    ----------
    gap : float
        The relative duality gap of the last minimiser, rounding apart.
    """

    def __init__(self, data: Problem, halted: Callable[[], bool]) -> None:
        self.data, self._halted = data, halted
        self._eps = data.tolerances.eps
        self._good = max(GOOD, 1e3 * self._eps)
        self._working = WorkingSet(data, self._free(np.zeros(0, np.intp)))
        self._careful, self._penalty, self._unit = False, 1.0, 1.0
        self._w = np.zeros(0)
        self.gap = 0.0

    def _free(self, columns: Array) -> Unpenalised:
        return Unpenalised(self.data, columns, np.dtype(np.complex128))

    def minimise(self, weights: Weights, bound: float) -> Minimiser:
        """The minimiser with these weights, warm-started from the previous one if there is one.

        Raises `LostDigitsError` if the path can't be followed to its end.
        """
        data, free = self.data, self._free(weights.free)
        y, self.gap = free.projected_out(data.y.astype(np.complex128)), 0.0
        if np.linalg.norm(y) <= bound + 4 * self._eps:  # the unpenalised columns suffice
            x = free.coef(data.y).astype(data.y.dtype)
            return Minimiser(weights.free, x, np.zeros_like(data.y), math.inf, 0.0)
        first = np.abs(self._correlate(y))
        penalised, unit = weights.penalised, weights.unit
        self._unit = float((first[penalised] / unit[penalised]).max(initial=0.0))
        if not 0 < self._unit < math.inf:
            raise LostDigitsError
        # In these units the first λ is 1. Unpenalised columns are projected out and never join.
        self._weights, self._w = weights, np.where(penalised, unit * self._unit, np.inf)
        candidates: list[tuple[float, Minimiser]] = []
        for self._careful in (False, True):
            with suppress(LostDigitsError):
                if self._working.support.size and not self._careful:
                    self._warm_start()
                else:
                    self._working = WorkingSet(data, free)
                    self._cold_start(first)
                new = self._follow(bound)
                candidates.append((self.gap, new))
                if self.gap <= self._good:
                    break
        if not candidates:
            raise LostDigitsError
        self.gap, best = min(candidates, key=lambda candidate: candidate[0])
        return best

    def _descend(self, penalty: float, tol: float) -> None:
        """Move to the minimiser on the working set at this λ."""
        self._penalty = penalty
        if not self._working.minimise(penalty * self._costs, tol):
            raise LostDigitsError

    @property
    def _costs(self) -> Array:
        """The weights w of the working set."""
        return self._w[self._working.columns]

    def _correlate(self, r: Array) -> Array:
        """u_j*r of all unit columns, without overflow where r is huge."""
        size = float(np.linalg.norm(r)) or 1.0
        if not math.isfinite(size):
            raise LostDigitsError
        return self.data.correlate((r / size).astype(self.data.y.dtype, copy=False)) * size

    def _cold_start(self, corr: Array) -> None:
        """The first round: the columns with the largest correlations."""
        ratio = corr / self._w
        most = max(MIN_JOINING, self.data.shape[0] // 8)
        order = np.argsort(-ratio, kind="stable")[: most + 1]
        last = float(ratio[order[-1]]) if order.size > most else 0.0
        penalty = min(max(last, 0.5), 1 - 1e-3)
        self._working.extend(np.sort(order[ratio[order] >= NEAR_LIMIT * penalty]), self._w)
        self._descend(penalty, ROUGH[self._careful])

    def _warm_start(self) -> None:
        """Start from the minimiser for other weights, at the λ that suits it best."""
        working = self._working
        chosen = working.support
        turned = self._costs[chosen] * phases(working.x[chosen])
        corr = working.correlations()[chosen]
        share = inner(turned, corr) / inner(turned, turned)
        self._descend(min(max(share, ZERO_PENALTY), 1.0), ROUGH[False])

    def _follow(self, bound: float) -> Minimiser:
        """Follow the path to the bound, round by round."""
        working, lower = self._working, MIN_FACTOR[self._careful]
        for _ in range(MAX_ROUNDS):
            penalty = self._penalty
            if not working.support.size or penalty < ZERO_PENALTY:
                break
            tangent = working.tangent(self._costs, penalty)
            chosen, r = working.support, working.residual()
            if self._halted():
                bound = float(np.linalg.norm(r))
            if not tangent.slope > 0:
                break
            squared = penalty**2 - (inner(r, r) - bound**2) / tangent.slope
            least = math.sqrt(max(squared, 0.0)) if bound else 0.0
            target = min(max(least, lower * penalty), penalty / lower, 1.0)
            near = abs(target - penalty) <= NEAR * penalty
            fits = not bound and abs(squared) <= FITTED * penalty**2
            ahead = r - (penalty - target) * (working.B @ tangent.step)
            ratio = np.abs(self._correlate(ahead)) / self._w
            joining = self._joining(ratio, target)
            if least < target < penalty and not joining.size:  # nothing joins until then
                target = self._next_event(ratio, least, target)
            if fits and (exact := self._exact_fit()):
                return exact
            if bound and near and not (ratio[joining] > (1 + VIOLATION) * target).any():
                minimiser, missing = self._newton_to_bound(bound)
                if self.gap <= self._good or not missing.size:
                    return minimiser
                joining, target = missing, self._penalty
            else:
                working.move((penalty - target) * tangent.step[chosen])
            working.extend(joining, self._w)
            self._descend(target, FINE if near or fits else ROUGH[self._careful])
        return self._polished(bound)

    def _next_event(self, ratio: Array, least: float, target: float) -> float:
        """The next λ at which the bound is met or another column may join."""
        outside = ratio.copy()
        outside[self._working.columns[self._working.support]] = 0
        return min(max(least, float(outside.max()), FAR * target), target)

    def _joining(self, ratio: Array, target: float) -> Array:
        """Columns that may be in the minimiser at this λ, by their correlations."""
        inside = np.zeros(ratio.size, bool)
        inside[self._working.columns[self._working.support]] = True
        columns = np.flatnonzero((ratio >= NEAR_LIMIT * target) & ~inside)
        most = max(MIN_JOINING, self.data.shape[0] // 8, self._working.support.size)
        if columns.size > most:
            columns = np.sort(columns[np.argsort(-ratio[columns], kind="stable")[:most]])
        return columns

    def _newton_to_bound(self, bound: float) -> tuple[Minimiser, Array]:
        """The minimiser on the support that meets the bound to rounding, and missing columns.

        Newton's method for B*r = λ w u and ‖r‖ = bound.
        """
        working = self._working
        for _ in range(MAX_STEPS):
            chosen = working.support
            r, corr = working.residual(), working.correlations()[chosen]
            turned = self._costs[chosen] * phases(working.x[chosen])
            curvature = working.curvature(self._penalty * self._costs)
            aside, along = (curvature.divide(v) for v in (corr - self._penalty * turned, turned))
            change = ((inner(r, r) - bound**2) / 2 - inner(corr, aside)) / inner(corr, along)
            change = min(max(change, -self._penalty), 0.5 * self._penalty)
            step = aside + change * along
            working.move(step)
            self._penalty -= change
            largest = float(np.abs(working.x).max())
            if not largest > 0:
                raise LostDigitsError
            if max(np.abs(step).max() / largest, abs(change) / self._penalty) <= 8 * EPS:
                break
        chosen, r = working.support, working.residual()
        minimiser, missing = self._certified(
            working.columns[chosen], working.x[chosen], r, r / self._penalty, self._penalty, bound
        )
        if self.gap > self._good and (bound < CANCELLED or not missing.size):
            return self._refined(bound)
        return minimiser, missing

    def _refined(self, bound: float) -> tuple[Minimiser, Array]:
        """The same where λ is so small that r/λ has lost digits: Newton's method with ν separate.

        It works in the range of the support; y - Q t is the part of y outside it.
        """
        working = self._working
        chosen = working.support
        B = working.B[:, chosen]
        Q = range_basis(B, EPS)
        t, R = Q.conj().T @ working.y, Q.conj().T @ B
        outside = working.y - Q @ t
        if np.linalg.norm(outside) <= ROUNDING * EPS:
            outside[:] = 0
        room = math.sqrt(max(bound**2 - inner(outside, outside), 0.0))
        program = ConeProgram(R, self._costs[chosen], t, room)
        start = working.x[chosen], Q.conj().T @ (working.residual() / self._penalty)
        penalty = self._penalty if room else 0.0
        x, nu, penalty = newton(program, np.arange(chosen.size), *start, penalty)
        nu = Q @ nu + (outside / penalty if room else 0)
        return self._certified(working.columns[chosen], x, working.y - B @ x, nu, penalty, bound)

    def _exact_fit(self) -> Minimiser | None:
        """The minimiser of basis pursuit, if its support is known and independent.

        At λ = 0, x is the least-squares solution, in which some columns of the path are zero. Any ν
        proves it that has a_j*ν = w_j x_j/|x_j| on the support and |a_j*ν| <= w_j elsewhere. The ν
        of the path is close to one: correct it by the minimum-norm change that puts the columns of
        the path at their weights, then also those that this moved beyond theirs.
        """
        working = self._working
        n = self.data.shape[0] - self._weights.free.size
        chosen = working.support
        columns, B, r = working.columns[chosen], working.B[:, chosen], working.residual()
        if chosen.size > n:  # possible for complex data: phases are degrees of freedom
            minimiser, _ = self._refined(0.0)
            return minimiser if self.gap <= self._good else None
        x = lstsq(B, working.y)
        stays = np.abs(x) > self._eps**ZERO_POWER * np.abs(x).max()
        if (x * working.x[chosen].conj()).real.min(where=stays, initial=math.inf) <= 0:
            return None
        x[~stays], x[stays] = 0, lstsq(B[:, stays], working.y)
        rest = working.y - B @ x
        if np.linalg.norm(rest) > ROUNDING * self._eps * (1 + np.abs(x).sum()):
            return None
        goals = self._costs[chosen] * phases(np.where(stays, x, working.x[chosen]))
        nu, fixed = r / self._penalty, columns
        for _ in range(CORRECTIONS):
            nu = nu + np.linalg.lstsq(B.conj().T, goals - B.conj().T @ nu, rcond=None)[0]
            minimiser, missing = self._certified(columns[stays], x[stays], rest, nu, 0.0, 0.0)
            missing = np.setdiff1d(missing, fixed)
            if self.gap <= self._good or not missing.size or fixed.size + missing.size > n:
                break
            more = working.free.projected_out(self.data.unit_columns(missing))
            B, fixed = np.column_stack([B, more]), np.concatenate([fixed, missing])
            goals = np.concatenate([goals, self._w[missing] * phases(more.conj().T @ nu)])
        return minimiser if self.gap <= self._good else None

    def _polished(self, bound: float) -> Minimiser:
        """The minimiser near the end of the path, where columns are dependent or λ is tiny.

        Polished as `solve_conic` does from an interior point, on the working set.
        """
        working, weights = self._working, self._weights
        for _ in range(CORRECTIONS):
            places = np.flatnonzero(
                np.abs(working.correlations()) > NEAR_LIMIT * self._penalty * self._costs
            )
            columns = np.concatenate([weights.free, working.columns[places]])
            x = np.concatenate([np.zeros(weights.free.size), working.x[places]])
            nu = working.residual() / (self._penalty * self._unit)
            start = partial(ScaledProgram.from_data, x=x, nu=nu)
            try:
                part = solve_on(self.data, weights, columns, bound, start)
            except OutOfReachError as error:  # with these columns
                raise LostDigitsError from error
            penalised = np.isin(part.columns, weights.free, invert=True)
            minimiser, missing = self._certified(
                part.columns[penalised],
                part.x[penalised],
                part.residual(self.data),
                part.dual * self._unit,
                part.penalty / self._unit,
                bound,
            )
            if not missing.size:
                return minimiser
            working.extend(missing, self._w)
            self._descend(self._penalty, FINE)
        return minimiser

    def _certified(
        self, columns: Array, x: Array, r: Array, nu: Array, penalty: float, bound: float
    ) -> tuple[Minimiser, Array]:
        """The minimiser with the accuracy that ν proves, and the columns it lacks."""
        data, free = self.data, self._weights.free
        nu = self._working.free.projected_out(nu)  # again: rounding may be large relative to λ
        ratio = np.abs(self._correlate(nu)) / self._w
        missing = np.setdiff1d(np.flatnonzero(ratio > 1 + self._good), columns)
        largest = float(ratio.max())
        if not 0 < largest < math.inf:
            raise LostDigitsError
        nu, penalty = nu / largest, penalty * largest
        if free.size:
            rest = data.y - data.unit_columns(columns) @ x
            more = self._working.free.coef(rest)
            r = rest - self._working.free.unit @ more
            columns, x = np.concatenate([free, columns]), np.concatenate([more, x])
        w = np.where(np.isin(columns, free), 0.0, self._w[columns])
        proof = Proof.of(w, x, data.y, r, nu, bound, self._eps)
        unsure = ROUNDING * self._eps * (1 + float(np.abs(x).sum()))
        self.gap = proof.gap if np.linalg.norm(r) <= bound * (1 + 1e-12) + unsure else math.inf
        dtype, accuracy = data.y.dtype, proof.gap + proof.rounding
        nu, penalty = (nu / self._unit).astype(dtype), penalty * self._unit
        return Minimiser(columns, x.astype(dtype), nu, penalty, accuracy), missing
