"""From an interior point to the exactly sparse minimiser, accurate to rounding."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import (
    EPS,
    ConeProgram,
    deinterleave,
    embed,
    interleave,
    lstsq,
    stack,
    unstack,
)

ROUNDS = 4
"""Most corrections of the support that the interior point suggests."""

SINGULAR = 1e-14
"""Reciprocal condition number below which a matrix is numerically singular."""

GOOD = 1e-11
"""An accuracy at which no further support is tried."""


class Candidate(NamedTuple):
    """x and ν, λ with r = λν, and the accuracy that ν proves."""

    x: Array
    nu: Array
    penalty: float
    accuracy: float


CLOSE = 2.0
"""Two accuracies may differ by this factor through rounding alone."""


def polish(program: ConeProgram, x: Array, nu: Array) -> tuple[Array, Array, float]:
    """The exactly sparse x, ν and λ of the best accuracy proven by its dual vector.

    Small coefficients and small slacks are hard to distinguish. The first support is that of strict
    complementarity; the next ones set fewer and fewer coefficients to zero.
    """
    slack = np.maximum(program.w - np.abs(program.B.conj().T @ nu), 0) * (program.w > 0)
    best = Candidate(x, nu, 0.0, math.inf)
    for caution in (1.0, 1e-2, 1e-4, 1e-6):
        support = np.flatnonzero(np.abs(x) > caution * slack)
        best = _better(best, _on_support(program, support, x, nu))
        if best.accuracy < GOOD:
            break
    return best[:3]


def _better(best: Candidate, new: Candidate) -> Candidate:
    return new if new.accuracy < best.accuracy else best


def _on_support(program: ConeProgram, support: Array, x: Array, nu: Array) -> Candidate:
    """The best candidate on this support and its corrections."""
    support, start = _independent(program, support, x, nu)
    guess = x.copy()
    guess[support] = start
    length = float(np.linalg.norm(nu))
    penalty = program.bound / length if length > 0 else 0.0
    new = _truncated(program, support, start)
    best = Candidate(new, nu, penalty, program.judge(new, nu)[1])
    for _ in range(ROUNDS):
        values, dual, lam = newton(program, support, guess[support], nu, penalty)
        if not (np.isfinite(values).all() and np.isfinite(dual).all()):
            break
        new = np.zeros_like(x)
        new[support] = values
        solved = Candidate(new, dual, lam, program.judge(new, dual)[1])
        # Where both prove the same but for rounding, this one has λν = y - B x besides.
        if solved.accuracy < CLOSE * best.accuracy:
            best = solved
        # A coefficient that reversed is zero; a column beyond its weight is missing.
        turned = (values * guess[support].conj()).real <= 0
        turned &= program.w[support] > 0
        beyond = np.abs(program.B.conj().T @ dual) > program.w * (1 + 1e-9) + EPS
        missing = np.setdiff1d(np.flatnonzero(beyond & (guess != 0)), support)
        if not turned.any() and not missing.size:
            break
        support = np.union1d(support[~turned], missing)
    return best


def _truncated(program: ConeProgram, support: Array, values: Array) -> Array:
    """x on the support, moved towards least squares until the bound is met."""
    x = np.zeros(program.w.size, program.B.dtype)
    x[support] = values
    r = program.y - program.B @ x
    closest = values + lstsq(program.B[:, support], r)
    least = program.y - program.B[:, support] @ closest
    extra = float(np.linalg.norm(r - least))
    room = math.sqrt(max(program.bound**2 - float(np.vdot(least, least).real), 0.0))
    if extra > room:
        x[support] = closest + (values - closest) * (room / extra)
    return x


def _independent(program: ConeProgram, support: Array, x: Array, nu: Array) -> tuple[Array, Array]:
    """Columns that are independent with the phases of their coefficients fixed, and coefficients.

    All minimisers have the same fit and the same phases. The interior point spreads the fit over
    dependent columns (copies, say). Non-negative least squares (Lawson and Hanson) finds the same
    fit with independent ones, at the same cost.
    """
    from scipy.linalg import qr
    from scipy.optimize import nnls

    if not support.size:
        return support, x[support]
    penalised, free = support[program.w[support] > 0], support[program.w[support] == 0]
    # The phases of x are those of B*ν, on which copies agree to rounding.
    phases = program.B[:, penalised].conj().T @ nu
    phases = phases / np.maximum(np.abs(phases), EPS)
    fit = program.B[:, support] @ x[support]
    any_phase = embed(program.B[:, free])  # unpenalised coefficients may have any phase
    columns = np.column_stack([stack(program.B[:, penalised] * phases), any_phase])
    sizes = np.abs(np.diag(qr(columns, mode="r", pivoting=True)[0]))
    if sizes.size == columns.shape[1] and sizes[-1] > 1e-9 * sizes[0]:
        return support, x[support]
    fit = stack(fit)
    moduli = nnls(np.column_stack([columns, -any_phase]), fit, maxiter=100 * fit.size)[0]
    moduli, plus, minus = np.split(moduli, [penalised.size, penalised.size + any_phase.shape[1]])
    values = np.zeros_like(x)
    values[penalised] = moduli * phases
    values[free] = deinterleave(plus - minus, program.is_complex)
    chosen = np.flatnonzero(values)
    return chosen, values[chosen]


def newton(
    program: ConeProgram, support: Array, x: Array, nu: Array, penalty: float
) -> tuple[Array, Array, float]:
    """Solve B*ν = w x/|x|, B x + λν = y, λ‖ν‖ = bound on the support, from a close start."""
    B, w = program.B[:, support], program.w[support]
    E, y, x, nu = embed(B), stack(program.y), interleave(x), stack(nu)
    k, n = x.size, y.size
    J = np.zeros((k + n + 1, k + n + 1))
    J[:k, k:-1], J[k:-1, :k] = E.T, E
    for _ in range(8):
        phases, curvature = _phases(x, w, program.is_complex)
        length = float(np.linalg.norm(nu))
        F = np.concatenate([E.T @ nu - phases, E @ x + penalty * nu - y, [0.0]])
        J[:k, :k] = -curvature
        J[k:-1, k:-1] = penalty * np.eye(n)
        J[-1, -1] = 1.0
        if program.bound > 0:
            F[-1] = penalty * length - program.bound
            J[k:-1, -1] = nu
            J[-1, k:-1], J[-1, -1] = penalty * nu / length, length
        step = _solution(J, -F)
        x, nu, penalty = x + step[:k], nu + step[k:-1], penalty + float(step[-1])
        sizes = 1 + np.abs(x).max(initial=0.0), 1 + np.abs(nu).max(initial=0.0)
        if np.abs(step[:k]).max(initial=0.0) <= 4 * EPS * sizes[0] and (
            np.abs(step[k:-1]).max(initial=0.0) <= 4 * EPS * sizes[1]
        ):
            break
        if not np.isfinite(step).all() or np.any(x == 0):
            break
    return deinterleave(x, program.is_complex), unstack(nu, program.is_complex), penalty


def _solution(J: Array, F: Array) -> Array:
    """J⁻¹F; the minimum-norm least-squares solution where J is numerically singular."""
    from scipy.linalg import get_lapack_funcs, lstsq

    routines: Any = get_lapack_funcs(("getrf", "gecon", "getrs"), (J,))
    factorise, condition, solve = routines
    LU, pivots, failed = factorise(J)
    if not failed and condition(LU, np.abs(J).sum(axis=0).max())[0] > SINGULAR:
        return np.asarray(solve(LU, pivots, F)[0])
    return np.asarray(lstsq(J, F, cond=SINGULAR, lapack_driver="gelsy", check_finite=False)[0])


def _phases(x: Array, w: Array, is_complex: bool) -> tuple[Array, Array]:
    """w x/|x| and its derivative, w (I - u uᵀ)/|x| with u = x/|x|; zero for real data."""
    if not is_complex:
        return w * np.sign(x), np.zeros((x.size, x.size))
    pairs = x.reshape(-1, 2)
    lengths = np.hypot(pairs[:, 0], pairs[:, 1])
    u = pairs / np.maximum(lengths, np.finfo(float).tiny)[:, None]
    blocks = (np.eye(2) - u[:, :, None] * u[:, None, :]) * (w / lengths)[:, None, None]
    H = np.zeros((x.size, x.size))
    at = np.arange(0, x.size, 2)
    for i in (0, 1):
        for j in (0, 1):
            H[at + i, at + j] = blocks[:, i, j]
    return (u * w[:, None]).ravel(), H
