"""min Σ w_j|x_j| s.t. ‖A x - y‖ <= bound as a second-order cone program, through Clarabel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import EPS, ConeProgram, lstsq
from sparsewise.engine.l1.interior_point import interior_point
from sparsewise.engine.l1.l1_solution import LostDigitsError, Minimiser, check_reachable
from sparsewise.engine.l1.optimality import POOR
from sparsewise.engine.l1.polish import polish
from sparsewise.engine.l1.weights import Weights
from sparsewise.problem.problem import Problem

ZERO_BOUND = 1e-11
"""A relative bound below this is zero at the precision of an interior-point method."""


def solve_conic(data: Problem, weights: Weights, bound: float, *, tol: float = 1e-10) -> Minimiser:
    """The minimiser of Σ w_j|x_j| with ‖U x - y‖ <= bound, for unit columns and a unit target.

    The part of y outside the range of U can't be fitted: with d the distance of y from the range,
    the same x solves the problem for the projection of y and the bound √(bound² - d²). This is a
    cone program,

        min Σ w_j t_j   s.t.   |x_j| <= t_j,   ‖U x - y‖ <= bound   (or U x = y),

    solved by Clarabel's interior-point method (Goulart and Chen, 2024) in real numbers: a complex
    coefficient is a pair of them, in a three-dimensional cone. An interior point has no zero
    coefficients. Where |x_j| exceeds the slack w_j - |u_j*ν|, column j belongs to the support
    (strict complementarity). On the support Newton's method solves the optimality conditions

        U_S*ν = w x/|x|,     U_S x + λν = y,     λ‖ν‖ = bound

    to rounding (for real data this is the closed form of the homotopy method).

    Parameters
    ----------
    data : Problem
        The design and the target.
    weights : Weights
        The penalty weights, which also say which columns are unpenalised or excluded.
    bound : float
        The bound on the residual of the unit target; 0 for basis pursuit.
    tol : float
        The accuracy requested of Clarabel.

    Returns
    -------
    Minimiser
        Exactly sparse, with the accuracy that its dual vector proves.
    """
    columns = np.flatnonzero(np.isfinite(weights.unit))
    return solve_on(data, weights, columns, bound, lambda p: interior_point(p.program, tol))


class ScaledProgram(NamedTuple):
    """A cone program scaled and projected to the range of its columns, and how to get there.

    Attributes
    ----------
    program : ConeProgram
        The program for a target of norm one in the range of its columns.
    basis : ndarray, or None
        An orthonormal basis of that range; None for the whole space.
    size : float
        The unit of x.
    unit : float
        The unit of weights and dual vector.
    """

    program: ConeProgram
    basis: Array | None
    size: float
    unit: float

    def from_data(self, x: Array, nu: Array) -> tuple[Array, Array]:
        """x and ν in these units."""
        nu = nu * self.unit
        return x / self.size, nu if self.basis is None else self.basis.conj().T @ nu


def solve_on(
    data: Problem,
    weights: Weights,
    columns: Array,
    bound: float,
    start: Callable[[ScaledProgram], tuple[Array, Array]],
) -> Minimiser:
    """The minimiser with these columns alone, polished from the x and ν that `start` returns.

    The unpenalised columns must be among them.
    """
    B = data.unit_columns(columns)
    kind = np.complex128 if data.y.dtype.kind == "c" or B.dtype.kind == "c" else np.float64
    B, y = B.astype(kind), data.y.astype(kind)
    eps = data.tolerances_in(y.dtype).eps
    w, unit = _scale_weights(weights.unit[columns], np.abs(B.conj().T @ y))

    x, nu = np.zeros(columns.size, kind), np.zeros(y.size, kind)
    free = w == 0
    x[free] = lstsq(B[:, free], y)
    r = y - B @ x
    if np.linalg.norm(r) <= bound + 16 * eps * (1 + np.abs(x).sum()):  # these suffice
        return _minimiser(data, columns, free, x, nu, math.inf, 0.0)

    Q = range_basis(B, eps)
    target = Q.conj().T @ y
    outside = y - Q @ target
    distance = float(np.linalg.norm(outside))
    check_reachable(data, bound, distance)
    size = float(np.linalg.norm(target))
    room = math.sqrt(max(bound**2 - distance**2, 0.0)) / size
    whole = Q.shape[1] == y.size  # then a sparse B stays sparse
    program = ConeProgram(
        B if whole else Q.conj().T @ B, w, (y if whole else target) / size,
        room if room > ZERO_BOUND else 0.0,
    )  # fmt: skip
    scaled = ScaledProgram(program, None if whole else Q, size, unit)
    x, nu, penalty = polish(program, *start(scaled))

    x, penalty = size * x, size * penalty
    nu = nu if whole else Q @ nu
    if not whole and penalty > 0:
        nu = nu + outside / penalty
    elif not whole and distance > math.sqrt(eps):
        # No dual vector attains the optimum; ν + t (y - Qy) comes as close as rounding allows.
        nu = nu + outside * (float(np.linalg.norm(nu)) / (distance * math.sqrt(EPS)))
    length = float(np.linalg.norm(nu))
    nu, accuracy = ConeProgram(B, w, y, bound).judge(x, nu)
    penalty *= length / (float(np.linalg.norm(nu)) or 1.0)
    if not accuracy <= POOR:
        raise LostDigitsError
    return _minimiser(data, columns, free, x, nu / unit, penalty * unit, accuracy)


def _scale_weights(w: Array, corr: Array) -> tuple[Array, float]:
    """Weights scaled so that the smallest λ with x = 0 is 1, and the unit of that scale.

    ν is then of the size of y, however different the weights are.
    """
    penalised = w > 0
    unit = float((corr[penalised] / w[penalised]).max(initial=0.0)) or 1.0
    return w * unit, unit


def _minimiser(
    data: Problem,
    columns: Array,
    free: Array,
    x: Array,
    nu: Array,
    penalty: float,
    accuracy: float,
) -> Minimiser:
    """The minimiser on the columns that have non-zero coefficients or are unpenalised."""
    chosen = np.flatnonzero((x != 0) | free)
    return Minimiser(
        columns[chosen], x[chosen].astype(data.y.dtype), nu.astype(data.y.dtype), penalty, accuracy
    )


def range_basis(B: Array, eps: float) -> Array:
    """An orthonormal basis of the range of B up to rounding, by QR with pivoting."""
    from scipy.linalg import qr

    n, m = B.shape
    if not m:
        return np.zeros((n, 0), B.dtype)
    Q, R, _ = qr(B, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    return Q[:, sizes > 8 * max(n, m) * eps * sizes[0]]
