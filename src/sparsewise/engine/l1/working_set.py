"""ℓ1-penalised least squares on a working set of columns, by Newton's method."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import EPS, inner, stack, unstack
from sparsewise.engine.l1.unpenalised import Unpenalised
from sparsewise.kernels import load_homotopy
from sparsewise.problem.problem import Problem

MAX_SWEEPS = 16
"""Most sweeps of coordinate descent between two Newton steps."""

QUICK = 16
"""Sweeps of real numbers for each of complex ones: they are compiled, and with more of them fewer
problems with more columns than rows are left without an answer."""

MAX_STEPS = 60
"""Most Newton steps at one λ: a problem that needs more does not suit the method."""

FEW = 64
"""Inactive columns stay while they are at most this many plus a quarter of all."""

COPY = 1e-14
"""Relative difference below which two columns are copies."""

NULL = 1e-12
"""Singular values up to this fraction of the largest are zero up to rounding."""

HALVINGS = 4
"""How often a Newton step is shortened before it is abandoned."""

SHRINKAGE = 0.25
"""Factor by which it is shortened."""


class Tangent(NamedTuple):
    """The derivative of the minimiser along the path, as λ falls.

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

    Where no x_j is zero the penalty is smooth, and Newton's method converges in a few steps.
    Coordinate descent in between finds which x_j are zero, as does a Newton step that would reverse
    a coefficient. No step raises the objective.

    Parameters
    ----------
    data : Problem
        The design and the target.
    free : Unpenalised
        The unpenalised columns, projected out of all else.
    dtype : dtype
        Data type of the coefficients, in double precision.

    Attributes
    ----------
    columns : ndarray of int
        The columns of the working set.
    y : ndarray
        The target, with the unpenalised columns projected out.
    x : ndarray
        The coefficients of the working set.
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
        """Positions of the non-zero coefficients."""
        return np.flatnonzero(self.x)

    @property
    def B(self) -> Array:
        """The unit columns, with the unpenalised ones projected out."""
        return self._room[:, : self.columns.size]

    def residual(self) -> Array:
        """y - B x."""
        return np.asarray(self.y - self.B @ self.x)

    def correlations(self) -> Array:
        """B*r."""
        return np.asarray(self._inner - self._gram @ self.x)

    def extend(self, columns: Array, weights: Array) -> None:
        """Add these columns; inactive ones leave once they are many.

        A copy of a column in the set joins only if it is cheaper. `weights` are those of all m
        columns.
        """
        inside = np.zeros(self.data.shape[1], bool)  # marks are quicker than operations on sets
        inside[columns] = True
        needed = (self.x != 0) | inside[self.columns]
        if np.count_nonzero(~needed) > FEW + self.columns.size // 4:
            self._keep(np.flatnonzero(needed))
        inside[self.columns] = False
        new = np.flatnonzero(inside)
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
        """Positions >= first of columns that copy another one up to phase and are no cheaper."""
        sizes = np.sqrt(self._gram.diagonal().real)
        alike = np.abs(self._gram[first:]) >= (1 - COPY) * np.outer(sizes[first:], sizes)
        alike &= np.arange(sizes.size) < np.arange(first, sizes.size)[:, None]
        copies = set()
        for j, i in zip(*np.nonzero(alike), strict=True):
            j += first
            turned = self.B[:, i] * phases(self._gram[i, j])
            same = np.linalg.norm(self.B[:, j] - turned) <= COPY * sizes[j]
            if same and costs[j] >= (1 - COPY) * costs[i] and i not in copies:
                copies.add(j)
        return np.array(sorted(copies), np.intp)

    def _keep(self, positions: Array) -> None:
        """Keep the columns in these positions only."""
        self._room[:, : positions.size] = self._room[:, positions]
        self.columns, self.x = self.columns[positions], self.x[positions]
        self._inner = self._inner[positions]
        self._gram = np.asfortranarray(self._gram[np.ix_(positions, positions)])

    def curvature(self, limits: Array) -> Curvature:
        """The Hessian of the objective on the support; limits are ω of the whole set."""
        chosen = self.support
        hessian = Curvature(self._gram[np.ix_(chosen, chosen)], self.x[chosen], limits[chosen])
        self.degenerate = hessian.degenerate
        return hessian

    def tangent(self, weights: Array, penalty: float) -> Tangent:
        """How x and ‖r‖ change with λ, ω = λ w.

        dx/dλ = -H⁻¹ w u, and d‖r‖²/dλ² = Re (w u)*H⁻¹ w u, with u = x/|x|.
        """
        limits = penalty * weights
        curvature = self.curvature(limits)
        if curvature.degenerate:
            self.reduce_support(limits)
            curvature = self.curvature(limits)
        chosen, step = self.support, np.zeros_like(self.x)
        turned = weights[chosen] * phases(self.x[chosen])
        step[chosen] = curvature.divide(turned)
        return Tangent(step, inner(turned, step[chosen]))

    def move(self, step: Array) -> None:
        """Add this step to the support's coefficients; those that would reverse become zero."""
        chosen = self.support
        self.x[chosen] = _step_or_zero(self.x[chosen], step)

    def minimise(self, limits: Array, tol: float) -> bool:
        """Minimise with ω = limits until |B*r - ω u| <= tol·ω; return whether that converged."""
        corr, sweeps = self.correlations(), 1
        for _ in range(MAX_STEPS):
            if self._has_converged(corr, limits, tol):
                return True
            self._descend(limits, corr, sweeps)
            corr = self.correlations()
            if np.count_nonzero(self.x):
                if self.support.size > 2 * self.y.size or self.degenerate:
                    self.reduce_support(limits)
                x, corr = self._newton(limits, corr)
                # Newton's method is of little use until the support is right.
                sweeps = 1 if x is not self.x else min(2 * sweeps, MAX_SWEEPS)
                self.x = x
        return False

    def _has_converged(self, corr: Array, limits: Array, tol: float) -> bool:
        """Whether |c - ω u| <= tol·ω, and |c| <= (1 + tol) ω where x is zero, up to rounding."""
        off = np.abs(corr - limits * phases(self.x)) - np.where(self.x == 0, limits, 0)
        rounding = 8 * EPS * (1 + float(np.abs(self.x).sum()))
        return bool((off <= tol * limits + rounding).all())

    def _descend(self, limits: Array, corr: Array, sweeps: int) -> None:
        """Sweeps of coordinate descent, updating x and corr = B*r in place."""
        if self._dtype == np.float64:
            load_homotopy().descend(self._gram.T, self.x, corr, limits, QUICK * sweeps)
            return
        for _ in range(sweeps):
            self._sweep(limits, corr)

    def _sweep(self, limits: Array, corr: Array) -> None:
        """One sweep of coordinate descent, updating x and corr = B*r in place.

        With the others fixed, x_j = z(1 - ω/|z|)/‖b_j‖², or 0 if |z| <= ω, with z = c + ‖b_j‖² x_j.
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

    def reduce_support(self, limits: Array) -> None:
        """Reduce the support to independent columns with the same fit, at no higher penalty.

        Where columns are dependent even with each coefficient's phase fixed, some changes of the
        moduli leave the fit as it is. Along these the penalty is linear: descend until a
        coefficient is zero, and repeat.
        """
        chosen = self.support
        moduli, turned = np.abs(self.x[chosen]), phases(self.x[chosen])
        null = null_space(stack(self.B[:, chosen] * turned))
        while null.shape[1]:
            direction = null[:, 0] * (-1 if float(limits[chosen] @ null[:, 0]) > 0 else 1)
            falling = np.flatnonzero(direction < -EPS * np.abs(direction).max())
            if not falling.size:
                break
            lengths = moduli[falling] / -direction[falling]
            gone = falling[np.argmin(lengths)]
            moduli = np.maximum(moduli + lengths.min() * direction, 0)
            moduli[gone] = 0
            pivot = np.argmax(np.abs(null[gone]))
            others = np.delete(np.arange(null.shape[1]), pivot)
            null = null[:, others] - np.outer(
                null[:, pivot], null[gone, others] / null[gone, pivot]
            )
            null[gone] = 0
        self.x[chosen] = moduli * turned

    def _newton(self, limits: Array, corr: Array) -> tuple[Array, Array]:
        """x after a Newton step, shortened until the objective falls, and B*r there.

        The objective changes by Σ ω(|x'| - |x|) - Re (x' - x)*(c + c')/2, without cancellation.
        """
        x, chosen = self.x, self.support
        before = x[chosen]
        gradient = corr[chosen] - limits[chosen] * phases(before)
        step = self.curvature(limits).divide(gradient)
        for _ in range(HALVINGS):
            after = x.copy()
            after[chosen] = _step_or_zero(before, step)
            corr_after = self._inner - self._gram @ after
            penalty = float(limits[chosen] @ (np.abs(after[chosen]) - np.abs(before)))
            if penalty - inner(after - x, corr + corr_after) / 2 <= 0:
                return after, corr_after
            step = SHRINKAGE * step
        return x, corr


class Curvature:
    """The Cholesky factor of the Hessian H of ½‖B x - y‖² + Σ ω_j|x_j| where no x_j is zero.

    |x_j| is linear along x_j and has curvature 1/|x_j| across it. So in coordinates rotated by
    u = x/|x|, with F = diag(ū) B*B diag(u) and real and imaginary parts separate,

        H = [Re F, -Im F; Im F, Re F + diag(ω/|x|)].

    For real coefficients, whose phases are fixed, H = Re F.

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
        factor, self._solve = _lapack_cholesky()
        ridge, failed = 0.0, 1
        while failed:
            H = np.empty((size, size), order="F")  # only the lower triangle is read
            H[:k, :k] = turned.real
            diagonal = H.reshape(-1, order="A")[:: size + 1]
            if self._is_complex:
                H[k:, k:], H[k:, :k] = turned.real, turned.imag
                diagonal[k:] += bent
            diagonal += ridge
            self._factor, failed = factor(H, lower=1, clean=0, overwrite_a=1)
            self.degenerate = ridge > 0
            # Dependent columns: any descent direction serves.
            ridge = 100 * ridge or 100 * EPS * float(diagonal.max())

    def divide(self, v: Array) -> Array:
        """H⁻¹v."""
        turned = stack(v * self._phases.conj())
        solved = unstack(self._solve(self._factor, turned, lower=1)[0], self._is_complex)
        return np.asarray(solved * self._phases)


@cache
def _lapack_cholesky() -> tuple[Any, ...]:
    """LAPACK's Cholesky factorisation and its solver."""
    from scipy.linalg import get_lapack_funcs

    factor_and_solve: Any = get_lapack_funcs(("potrf", "potrs"), dtype="d")
    return tuple(factor_and_solve)


def null_space(A: Array) -> Array:
    """A basis of the null space of A up to rounding, one vector per column."""
    _, sizes, V = np.linalg.svd(A)
    rank = int(np.sum(sizes > NULL * sizes.max(initial=0.0)))
    return np.asarray(V[rank:].conj().T)


def phases(x: Array) -> Array:
    """x/|x|; 0 for 0."""
    size = np.abs(x)
    return np.asarray(np.divide(x, size, out=np.zeros_like(x), where=size > 0))


def _step_or_zero(x: Array, step: Array) -> Array:
    """x + step, or zero where that reverses a coefficient."""
    after = x + step
    return np.where((after * x.conj()).real > 0, after, 0)
