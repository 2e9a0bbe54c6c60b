"""ℓ1-penalised least squares on a few columns, by Newton's method."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import EPS, inner, stack, unstack
from sparsewise.engine.l1.unpenalised import Unpenalised
from sparsewise.problem.problem import Problem

MOST_SWEEPS = 16
"""Most sweeps over single coefficients between two steps of Newton's method."""

MOST_STEPS = 60
"""More steps than this at one λ are not those of a problem that Newton's method suits."""

FEW = 64
"""Columns that are not needed may stay if they are no more than this, or a quarter of all."""

COPY = 1e-14
"""Columns that differ by less, relatively, are copies."""

NOTHING = 1e-12
"""A singular value of this part of the largest is zero but for rounding."""

HALVINGS = 4
"""How often a step of Newton's method is shortened before it is given up."""

SHORTER = 0.25
"""By how much."""


class Tangent(NamedTuple):
    """Where the minimiser goes as λ falls.

    Attributes
    ----------
    step : ndarray
        -dx/dλ on the support.
    slope : float
        d‖r‖²/dλ².
    """

    step: Array
    slope: float


class WorkingSet:
    """Columns that are, or may be, in the minimiser of ½‖B x - y‖² + Σ ω_j|x_j|.

    Where no x_j is zero, the second term is smooth, and Newton's method leads to the minimiser in a
    few steps. Which are zero is told by proximal gradient steps in between (as `ista` takes them),
    and where a step would turn a coefficient round. No step raises the objective.

    Parameters
    ----------
    data : Problem
        The design and the target.
    free : Unpenalised
        What costs nothing: projected out of all else.
    dtype : dtype
        Of the coefficients, in double precision.

    Attributes
    ----------
    columns : ndarray of int
        Which columns these are.
    y : ndarray
        The target, without what the free columns explain.
    x : ndarray
        Their coefficients.
    """

    def __init__(self, data: Problem, free: Unpenalised, dtype: Any = np.complex128) -> None:
        self.data, self.free, self._dtype = data, free, dtype
        self.y = free.projected_out(data.y.astype(dtype))
        self.columns = np.zeros(0, np.intp)
        self._room = np.zeros((self.y.size, 0), dtype, order="F")
        self.x = np.zeros(0, dtype)
        self._gram = np.zeros((0, 0), dtype)
        self._inner = np.zeros(0, dtype)
        self.degenerate = False

    @property
    def support(self) -> Array:
        """Positions of the coefficients that are not zero."""
        return np.flatnonzero(self.x)

    @property
    def B(self) -> Array:
        """The columns, of unit norm, without what the free columns explain."""
        return self._room[:, : self.columns.size]

    def residual(self) -> Array:
        """y - B x."""
        return np.asarray(self.y - self.B @ self.x)

    def correlations(self) -> Array:
        """B*r."""
        return np.asarray(self._inner - self._gram @ self.x)

    def hold(self, columns: Array, weights: Array) -> None:
        """Hold the support and these columns; others leave once they are many.

        Of copies that cost no less than a column that is held, none is: weights are those of all.
        """
        needed = (self.x != 0) | np.isin(self.columns, columns)
        if np.count_nonzero(~needed) > FEW + self.columns.size // 4:
            self._keep(np.flatnonzero(needed))
        new = np.setdiff1d(columns, self.columns)
        if not new.size:
            return
        k, p = self.columns.size, self.columns.size + new.size
        if p > self._room.shape[1]:
            room = np.empty((self.y.size, 2 * p), self._dtype, order="F")
            room[:, :k] = self.B
            self._room = room
        more = self._room[:, k:p]
        more[...] = self.free.projected_out(self.data.unit_columns(new))
        self.columns = np.concatenate([self.columns, new])
        gram = np.empty((p, p), self._dtype, order="F")
        gram[:k, :k] = self._gram
        gram[k:] = more.conj().T @ self.B
        gram[:k, k:] = gram[k:, :k].conj().T
        self._gram = gram
        self._inner = np.concatenate([self._inner, more.conj().T @ self.y])
        self.x = np.concatenate([self.x, np.zeros(new.size, self._dtype)])
        if (copies := self._copies(k, weights[self.columns])).size:
            self._keep(np.delete(np.arange(p), copies))

    def _copies(self, first: int, costs: Array) -> Array:
        """Places, from the first, of what is another column, but for its phase, and no cheaper."""
        sizes = np.sqrt(self._gram.diagonal().real)
        alike = np.abs(self._gram[first:]) >= (1 - COPY) * np.outer(sizes[first:], sizes)
        alike &= np.arange(sizes.size) < np.arange(first, sizes.size)[:, None]
        found = set()
        for j, i in zip(*np.nonzero(alike), strict=True):
            j += first
            turned = self.B[:, i] * phases(self._gram[i, j])
            same = np.linalg.norm(self.B[:, j] - turned) <= COPY * sizes[j]
            if same and costs[j] >= (1 - COPY) * costs[i] and i not in found:
                found.add(j)
        return np.array(sorted(found), np.intp)

    def _keep(self, places: Array) -> None:
        """Hold the columns in these places, and no others."""
        self._room[:, : places.size] = self._room[:, places]
        self.columns, self.x = self.columns[places], self.x[places]
        self._inner = self._inner[places]
        self._gram = np.asfortranarray(self._gram[np.ix_(places, places)])

    def curvature(self, limits: Array) -> Curvature:
        """That of the objective on the support; limits are ω of all columns."""
        chosen = self.support
        found = Curvature(self._gram[np.ix_(chosen, chosen)], self.x[chosen], limits[chosen])
        self.degenerate = found.degenerate
        return found

    def tangent(self, weights: Array, penalty: float) -> Tangent:
        """How x and ‖r‖ change with λ, ω = λ w.

        dx/dλ = -H⁻¹ w u, and d‖r‖²/dλ² = Re (w u)*H⁻¹ w u, with u = x/|x|.
        """
        limits = penalty * weights
        curvature = self.curvature(limits)
        if curvature.degenerate:
            self.thin_out(limits)
            curvature = self.curvature(limits)
        chosen, step = self.support, np.zeros_like(self.x)
        turned = weights[chosen] * phases(self.x[chosen])
        step[chosen] = curvature.divide(turned)
        return Tangent(step, inner(turned, step[chosen]))

    def move(self, step: Array) -> None:
        """Change the support's coefficients by this much; those that turn round are zero."""
        chosen = self.support
        self.x[chosen] = _ahead(self.x[chosen], step)

    def descend(self, limits: Array, tol: float) -> bool:
        """Minimise, ω being the limits, until |B*r - ω u| is less than `tol` times ω.

        Whether that came to an end.
        """
        corr, sweeps = self.correlations(), 1
        for _ in range(MOST_STEPS):
            if self._is_settled(corr, limits, tol):
                return True
            for _ in range(sweeps):
                self._sweep(limits, corr)
            corr = self.correlations()
            if np.count_nonzero(self.x):
                if self.support.size > 2 * self.y.size or self.degenerate:
                    self.thin_out(limits)
                after, there = self._newton(limits, corr)
                # Newton's method is of little use before it is known what is zero.
                sweeps = 1 if after is not self.x else min(2 * sweeps, MOST_SWEEPS)
                self.x, corr = after, there
        return False

    def _is_settled(self, corr: Array, limits: Array, tol: float) -> bool:
        """Whether |c - ω u| <= tol·ω, and |c| <= (1 + tol) ω for what is zero, up to rounding."""
        off = np.abs(corr - limits * phases(self.x)) - np.where(self.x == 0, limits, 0)
        rounding = 8 * EPS * (1 + float(np.abs(self.x).sum()))
        return bool((off <= tol * limits + rounding).all())

    def _sweep(self, limits: Array, corr: Array) -> None:
        """Minimise over one coefficient after the other; B*r is kept true.

        Σ over the others being fixed, that of column j is z(1 - ω/|z|)/‖b_j‖², z = c + ‖b_j‖² x.
        """
        x, gram = self.x, self._gram
        for j in np.flatnonzero((x != 0) | (np.abs(corr) > limits)).tolist():
            energy, now, limit = gram[j, j].real, x[j].item(), limits[j]
            z = corr[j].item() + energy * now
            size = abs(z)
            new = z * ((size - limit) / (size * energy)) if size > limit else 0.0
            if new != now:
                x[j] = new
                corr -= gram[:, j] * (new - now)

    def thin_out(self, limits: Array) -> None:
        """Go to as few columns as have the same fit, at no higher cost.

        Where columns depend on each other even if each coefficient keeps its phase, there are
        changes of their sizes that change no fit. Along these the cost is linear: down to where
        the first coefficient is zero, and so on.
        """
        chosen = self.support
        amounts, turned = np.abs(self.x[chosen]), phases(self.x[chosen])
        left = self.B[:, chosen] * turned
        idle = null_space(stack(left))
        while idle.shape[1]:
            way = idle[:, 0] * (-1 if float(limits[chosen] @ idle[:, 0]) > 0 else 1)
            falling = np.flatnonzero(way < -EPS * np.abs(way).max())
            if not falling.size:
                break
            reach = amounts[falling] / -way[falling]
            gone = falling[np.argmin(reach)]
            amounts = np.maximum(amounts + reach.min() * way, 0)
            amounts[gone] = 0
            pivot = np.argmax(np.abs(idle[gone]))
            others = np.delete(np.arange(idle.shape[1]), pivot)
            idle = idle[:, others] - np.outer(
                idle[:, pivot], idle[gone, others] / idle[gone, pivot]
            )
            idle[gone] = 0
        self.x[chosen] = amounts * turned

    def _newton(self, limits: Array, corr: Array) -> tuple[Array, Array]:
        """A step of Newton's method, as long as lowers the objective, and B*r after it.

        The objective changes by Σ ω(|x'| - |x|) - Re (x' - x)*(c + c')/2, without cancellation.
        """
        x, chosen = self.x, self.support
        before = x[chosen]
        gradient = corr[chosen] - limits[chosen] * phases(before)
        step = self.curvature(limits).divide(gradient)
        for _ in range(HALVINGS):
            after = x.copy()
            after[chosen] = _ahead(before, step)
            there = self._inner - self._gram @ after
            dearer = float(limits[chosen] @ (np.abs(after[chosen]) - np.abs(before)))
            if dearer - inner(after - x, corr + there) / 2 <= 0:
                return after, there
            step = SHORTER * step
        return x, corr


class Curvature:
    """The Hessian H of ½‖B x - y‖² + Σ ω_j|x_j| where no x_j is zero, factorised.

    |x_j| is linear along x_j and curved by 1/|x_j| across it. So in coordinates that are turned by
    u = x/|x|, with F = diag(ū) B*B diag(u), real and imaginary parts apart,

        H = [Re F, -Im F; Im F, Re F + diag(ω/|x|)];

    of real coefficients, which can't turn, the part Re F is all.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        B*B.
    x : ndarray of shape (k,)
        The coefficients.
    limits : ndarray of shape (k,)
        ω.
    """

    def __init__(self, gram: Array, x: Array, limits: Array) -> None:
        k = x.size
        self._phases, self._is_complex = phases(x), x.dtype.kind == "c"
        turned = self._phases.conj()[:, None] * gram * self._phases
        bent, size = limits / np.abs(x), 2 * k if self._is_complex else k
        factor, self._solve = _triangles()
        ridge, failed = 0.0, 1
        while failed:
            H = np.empty((size, size), order="F")  # of which the lower triangle is looked at
            H[:k, :k] = turned.real
            diagonal = H.reshape(-1, order="A")[:: size + 1]
            if self._is_complex:
                H[k:, k:], H[k:, :k] = turned.real, turned.imag
                diagonal[k:] += bent
            diagonal += ridge
            self._factor, failed = factor(H, lower=1, clean=0, overwrite_a=1)
            self.degenerate = ridge > 0
            # Columns that depend on each other: any direction that descends will do.
            ridge = 100 * ridge or 100 * EPS * float(diagonal.max())

    def divide(self, v: Array) -> Array:
        """H⁻¹v."""
        turned = stack(v * self._phases.conj())
        found = unstack(self._solve(self._factor, turned, lower=1)[0], self._is_complex)
        return np.asarray(found * self._phases)


@cache
def _triangles() -> tuple[Any, ...]:
    """Cholesky's factor, and division by it."""
    from scipy.linalg import get_lapack_funcs

    factor_and_solve: Any = get_lapack_funcs(("potrf", "potrs"), dtype="d")
    return tuple(factor_and_solve)


def null_space(A: Array) -> Array:
    """A basis of what A turns to nothing but rounding, one vector a column."""
    _, sizes, V = np.linalg.svd(A)
    rank = int(np.sum(sizes > NOTHING * sizes.max(initial=0.0)))
    return np.asarray(V[rank:].conj().T)


def phases(x: Array) -> Array:
    """x/|x|; 0 for 0."""
    size = np.abs(x)
    return np.asarray(np.divide(x, size, out=np.zeros_like(x), where=size > 0))


def _ahead(x: Array, step: Array) -> Array:
    """x + step; zero where that turns a coefficient round."""
    there = x + step
    return np.where((there * x.conj()).real > 0, there, 0)
