"""ℓ1-penalised least squares of complex data along a path of λ, by Newton's method."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import EPS, ConeProgram, Proof, fitted, inner
from sparsewise.engine.l1.conic import Form, range_of, restricted
from sparsewise.engine.l1.l1_solution import LostDigitsError, Minimiser, OutOfReachError
from sparsewise.engine.l1.polish import newton
from sparsewise.engine.l1.unpenalised import Unpenalised
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.l1.working_set import WorkingSet, phases
from sparsewise.problem.problem import Problem

LOWER = 0.4, 0.8
"""λ falls to this part of itself at most, from one round to the next; the second: with care."""

MOST_ROUNDS = 200
"""More rounds than this are not those of a path that can be followed."""

FEWEST = 32
"""So many columns may join the working set at once, or as many as there are in the model."""

CLOSE = 0.95
"""Columns with a correlation of this part of what they cost join, too."""

ROUGH, FINE = (0.1, 1e-3), 1e-4
"""How far from its minimiser the working set may be on the way, and at the end, relatively."""

FAR = 0.01
"""The same where no column is about to join."""

BEYOND = 1e-3
"""Columns whose correlations are beyond what they cost by more, relatively, are missing."""

NEAR = 0.02
"""λ that is to change by less than this is as good as found: Newton's method does the rest."""

END = 1e-8
"""A λ below this part of the first is zero, or the bound can't be met."""

STEPS = 12
"""Most steps of Newton's method to the bound."""

FITTED = 0.2
"""‖r‖² that differs from what λ makes of it by less than this part is that of an exact fit."""

DUST = 3 / 4
"""Coefficients of an exact fit below this power of eps, as parts of the largest, are zero."""

ROUNDING = 64
"""Units of rounding: a residual of fewer of these is none."""

CANCELLED = 1e-3
"""A residual below this part of the target has lost digits that its proof may need."""

CORRECTIONS = 8
"""How often columns that a proof shows to be missing are added to it."""

GOOD = 1e-10
"""An accuracy that no other way needs to improve on."""


class ComplexPath:
    """The minimiser of Σ w_j|x_j| with ‖A x - y‖ <= bound, for complex data.

    The minimiser of ½‖A x - y‖² + λ Σ w_j|x_j| is followed to the λ at which ‖r‖ meets the bound.
    A round looks ahead: the tangent of the path tells λ, since ‖r‖² is nearly linear in λ² (it is
    for real data), and the residual there, whose correlations with all columns, one pass over A,
    tell which of them may come in. With these the minimiser at that λ is found by Newton's method
    (`WorkingSet`). The last round meets the bound to rounding.

    Parameters
    ----------
    data : Problem
        The design and the target.
    halted : callable
        Whether somebody has asked to stop.

    Attributes
    ----------
    gap : float
        What the last minimiser leaves to be proven, relatively, but for rounding.
    """

    def __init__(self, data: Problem, halted: Callable[[], bool]) -> None:
        self.data, self._halted = data, halted
        self._eps = data.tolerances.eps
        self._good = max(GOOD, 1e3 * self._eps)
        self._set = WorkingSet(data, self._free(np.zeros(0, np.intp)))
        self._careful, self._penalty, self._unit = False, 1.0, 1.0
        self._w = np.zeros(0)
        self.gap = 0.0

    def _free(self, columns: Array) -> Unpenalised:
        return Unpenalised(self.data, columns, np.dtype(np.complex128))

    def minimise(self, weights: Weights, bound: float) -> Minimiser:
        """The minimiser with these weights; from the one before, if there is one.

        Raises `LostDigitsError` where the path can't be followed to its end.
        """
        data, free = self.data, self._free(weights.free)
        y, self.gap = free.projected_out(data.y.astype(np.complex128)), 0.0
        if np.linalg.norm(y) <= bound + 4 * self._eps:  # nothing needs to be paid for
            x = free.coef(data.y).astype(data.y.dtype)
            return Minimiser(weights.free, x, np.zeros_like(data.y), math.inf, 0.0)
        first = np.abs(self._correlate(y))
        usual, unit = weights.usual, weights.unit
        self._unit = float((first[usual] / unit[usual]).max(initial=0.0))
        if not 0 < self._unit < math.inf:
            raise LostDigitsError
        # In these units the first λ is 1; what is free is projected out, and never joins.
        self._weights, self._w = weights, np.where(usual, unit * self._unit, np.inf)
        found: list[tuple[float, Minimiser]] = []
        for self._careful in (False, True):
            with suppress(LostDigitsError):
                if self._set.support.size and not self._careful:
                    self._go_on()
                else:
                    self._set = WorkingSet(data, free)
                    self._begin(first)
                new = self._follow(bound)
                found.append((self.gap, new))
                if self.gap <= self._good:
                    break
        if not found:
            raise LostDigitsError
        self.gap, best = min(found, key=lambda one: one[0])
        return best

    def _descend(self, penalty: float, tol: float) -> None:
        """The minimiser on the working set at this λ."""
        self._penalty = penalty
        if not self._set.descend(penalty * self._costs, tol):
            raise LostDigitsError

    @property
    def _costs(self) -> Array:
        """w of the working set."""
        return self._w[self._set.columns]

    def _correlate(self, r: Array) -> Array:
        """u_j*r of all unit columns, whose entries may be as large as numbers are."""
        size = float(np.linalg.norm(r)) or 1.0
        if not math.isfinite(size):
            raise LostDigitsError
        return self.data.correlate((r / size).astype(self.data.y.dtype, copy=False)) * size

    def _begin(self, corr: Array) -> None:
        """The first round: the columns of the largest correlations."""
        ratio = corr / self._w
        most = max(FEWEST, self.data.shape[0] // 8)
        order = np.argsort(-ratio, kind="stable")[: most + 1]
        last = float(ratio[order[-1]]) if order.size > most else 0.0
        penalty = min(max(last, 0.5), 1 - 1e-3)
        self._set.hold(np.sort(order[ratio[order] >= CLOSE * penalty]), self._w)
        self._descend(penalty, ROUGH[self._careful])

    def _go_on(self) -> None:
        """From the minimiser for other weights: λ is where it suits these best."""
        now = self._set
        chosen = now.support
        turned = self._costs[chosen] * phases(now.x[chosen])
        corr = now.correlations()[chosen]
        share = inner(turned, corr) / inner(turned, turned)
        self._descend(min(max(share, END), 1.0), ROUGH[False])

    def _follow(self, bound: float) -> Minimiser:
        """From round to round, to the bound."""
        now, lower = self._set, LOWER[self._careful]
        for _ in range(MOST_ROUNDS):
            penalty = self._penalty
            if not now.support.size or penalty < END:
                break
            way = now.tangent(self._costs, penalty)
            chosen, r = now.support, now.residual()
            if self._halted():
                bound = float(np.linalg.norm(r))
            if not way.slope > 0:
                break
            squared = penalty**2 - (inner(r, r) - bound**2) / way.slope
            least = math.sqrt(max(squared, 0.0)) if bound else 0.0
            target = min(max(least, lower * penalty), penalty / lower, 1.0)
            near = abs(target - penalty) <= NEAR * penalty
            fits = not bound and abs(squared) <= FITTED * penalty**2
            ahead = r - (penalty - target) * (now.B @ way.step)
            ratio = np.abs(self._correlate(ahead)) / self._w
            joining = self._joining(ratio, target)
            if least < target < penalty and not joining.size:  # nothing happens until then
                target = self._next_event(ratio, least, target)
            if fits and (found := self._exact()):
                return found
            if bound and near and not (ratio[joining] > (1 + BEYOND) * target).any():
                found, missing = self._meet(bound)
                if self.gap <= self._good or not missing.size:
                    return found
                joining, target = missing, self._penalty
            else:
                now.move((penalty - target) * way.step[chosen])
            now.hold(joining, self._w)
            self._descend(target, FINE if near or fits else ROUGH[self._careful])
        return self._polished(bound)

    def _next_event(self, ratio: Array, least: float, target: float) -> float:
        """The λ below this one at which the bound is met, or the next column may join."""
        outside = ratio.copy()
        outside[self._set.columns[self._set.support]] = 0
        return min(max(least, float(outside.max()), FAR * target), target)

    def _joining(self, ratio: Array, target: float) -> Array:
        """Columns whose correlations say that they may be in the minimiser at this λ."""
        inside = np.zeros(ratio.size, bool)
        inside[self._set.columns[self._set.support]] = True
        columns = np.flatnonzero((ratio >= CLOSE * target) & ~inside)
        most = max(FEWEST, self.data.shape[0] // 8, self._set.support.size)
        if columns.size > most:
            columns = np.sort(columns[np.argsort(-ratio[columns], kind="stable")[:most]])
        return columns

    def _meet(self, bound: float) -> tuple[Minimiser, Array]:
        """The minimiser on the support that meets the bound, to rounding; columns it lacks.

        Newton's method for B*r = λ w u and ‖r‖ = bound.
        """
        now = self._set
        for _ in range(STEPS):
            chosen = now.support
            r, corr = now.residual(), now.correlations()[chosen]
            turned = self._costs[chosen] * phases(now.x[chosen])
            curvature = now.curvature(self._penalty * self._costs)
            aside, along = (curvature.divide(v) for v in (corr - self._penalty * turned, turned))
            change = ((inner(r, r) - bound**2) / 2 - inner(corr, aside)) / inner(corr, along)
            change = min(max(change, -self._penalty), 0.5 * self._penalty)
            step = aside + change * along
            now.move(step)
            self._penalty -= change
            largest = float(np.abs(now.x).max())
            if not largest > 0:
                raise LostDigitsError
            if max(np.abs(step).max() / largest, abs(change) / self._penalty) <= 8 * EPS:
                break
        chosen, r = now.support, now.residual()
        found, missing = self._proven(
            now.columns[chosen], now.x[chosen], r, r / self._penalty, self._penalty, bound
        )
        if self.gap > self._good and (bound < CANCELLED or not missing.size):
            return self._refined(bound)
        return found, missing

    def _refined(self, bound: float) -> tuple[Minimiser, Array]:
        """The same where λ is so small that r/λ has lost the digits of ν: ν on its own.

        In the range of the support, where y - Q t is what is outside of it.
        """
        now = self._set
        chosen = now.support
        B = now.B[:, chosen]
        Q = range_of(B, EPS)
        t, R = Q.conj().T @ now.y, Q.conj().T @ B
        outside = now.y - Q @ t
        if np.linalg.norm(outside) <= ROUNDING * EPS:
            outside[:] = 0
        room = math.sqrt(max(bound**2 - inner(outside, outside), 0.0))
        program = ConeProgram(R, self._costs[chosen], t, room)
        start = now.x[chosen], Q.conj().T @ (now.residual() / self._penalty)
        penalty = self._penalty if room else 0.0
        x, nu, penalty = newton(program, np.arange(chosen.size), *start, penalty)
        nu = Q @ nu + (outside / penalty if room else 0)
        return self._proven(now.columns[chosen], x, now.y - B @ x, nu, penalty, bound)

    def _exact(self) -> Minimiser | None:
        """The minimiser of basis pursuit, if its columns are known, and independent.

        At λ = 0 least squares tell x; some columns that the path still has have no part in it. Any
        ν will do that holds the others at what they cost, in phase with x, and none beyond it. That
        of the path is close to such a vector: it is moved by as little as brings the columns of the
        path there, and then those that this moves too far.
        """
        now = self._set
        n = self.data.shape[0] - self._weights.free.size
        chosen = now.support
        columns, B, r = now.columns[chosen], now.B[:, chosen], now.residual()
        if chosen.size > n:  # they may be: phases have a say, too
            found, _ = self._refined(0.0)
            return found if self.gap <= self._good else None
        x = fitted(B, now.y)
        stays = np.abs(x) > self._eps**DUST * np.abs(x).max()
        if (x * now.x[chosen].conj()).real.min(where=stays, initial=math.inf) <= 0:
            return None
        x[~stays], x[stays] = 0, fitted(B[:, stays], now.y)
        rest = now.y - B @ x
        if np.linalg.norm(rest) > ROUNDING * self._eps * (1 + np.abs(x).sum()):
            return None
        goals = self._costs[chosen] * phases(np.where(stays, x, now.x[chosen]))
        nu, held = r / self._penalty, columns
        for _ in range(CORRECTIONS):
            nu = nu + np.linalg.lstsq(B.conj().T, goals - B.conj().T @ nu, rcond=None)[0]
            found, missing = self._proven(columns[stays], x[stays], rest, nu, 0.0, 0.0)
            missing = np.setdiff1d(missing, held)
            if self.gap <= self._good or not missing.size or held.size + missing.size > n:
                break
            more = now.free.projected_out(self.data.unit_columns(missing))
            B, held = np.column_stack([B, more]), np.concatenate([held, missing])
            goals = np.concatenate([goals, self._w[missing] * phases(more.conj().T @ nu)])
        return found if self.gap <= self._good else None

    def _polished(self, bound: float) -> Minimiser:
        """The minimiser near the end of the path, where columns depend on each other or λ is tiny.

        As `solve_conic` finds it from an interior point, on the working set.
        """
        now, weights = self._set, self._weights
        for _ in range(CORRECTIONS):
            places = np.flatnonzero(
                np.abs(now.correlations()) > CLOSE * self._penalty * self._costs
            )
            columns = np.concatenate([weights.free, now.columns[places]])
            x = np.concatenate([np.zeros(weights.free.size), now.x[places]])
            nu = now.residual() / (self._penalty * self._unit)
            start = partial(Form.from_data, x=x, nu=nu)
            try:
                found = restricted(self.data, weights, columns, bound, start)
            except OutOfReachError as error:  # by these columns
                raise LostDigitsError from error
            paid = np.isin(found.columns, weights.free, invert=True)
            r = found.residual(self.data)
            found, missing = self._proven(
                found.columns[paid],
                found.x[paid],
                r,
                found.dual * self._unit,
                found.penalty / self._unit,
                bound,
            )
            if not missing.size:
                return found
            now.hold(missing, self._w)
            self._descend(self._penalty, FINE)
        return found

    def _proven(
        self, columns: Array, x: Array, r: Array, nu: Array, penalty: float, bound: float
    ) -> tuple[Minimiser, Array]:
        """The minimiser with what ν proves of it, and the columns it lacks."""
        data, free = self.data, self._weights.free
        nu = self._set.free.projected_out(nu)  # once more: rounding may be large beside λ
        ratio = np.abs(self._correlate(nu)) / self._w
        missing = np.setdiff1d(np.flatnonzero(ratio > 1 + self._good), columns)
        largest = float(ratio.max())
        if not 0 < largest < math.inf:
            raise LostDigitsError
        nu, penalty = nu / largest, penalty * largest
        if free.size:
            rest = data.y - data.unit_columns(columns) @ x
            more = self._set.free.coef(rest)
            r = rest - self._set.free.unit @ more
            columns, x = np.concatenate([free, columns]), np.concatenate([more, x])
        w = np.where(np.isin(columns, free), 0.0, self._w[columns])
        proof = Proof.of(w, x, data.y, r, nu, bound, self._eps)
        unsure = ROUNDING * self._eps * (1 + float(np.abs(x).sum()))
        self.gap = proof.gap if np.linalg.norm(r) <= bound * (1 + 1e-12) + unsure else math.inf
        dtype, accuracy = data.y.dtype, proof.gap + proof.rounding
        nu, penalty = (nu / self._unit).astype(dtype), penalty * self._unit
        return Minimiser(columns, x.astype(dtype), nu, penalty, accuracy), missing
