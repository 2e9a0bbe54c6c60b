"""min Σ w_j|x_j| s.t. ‖A x - y‖ <= bound as a second-order cone program, through Clarabel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import EPS, ConeProgram, fitted
from sparsewise.engine.l1.interior_point import interior_point
from sparsewise.engine.l1.l1_solution import LostDigitsError, Minimiser, check_reachable
from sparsewise.engine.l1.polish import polished
from sparsewise.engine.l1.weights import Weights
from sparsewise.problem.problem import Problem

NO_ROOM = 1e-11
"""A bound below this part of the target is a bound of zero, for all that an interior point sees."""


POOR = 1e-3
"""A minimiser of less accuracy than this is none."""


def solve_conic(data: Problem, weights: Weights, bound: float, *, tol: float = 1e-10) -> Minimiser:
    """The minimiser of Σ w_j|x_j| with ‖U x - y‖ <= bound, for unit columns and a unit target.

    What is outside the range of U can't be fitted: with d the distance of y from the range, the
    same x minimises the problem for the projection of y and the bound √(bound² - d²). That one is
    a cone program,

        min Σ w_j t_j   s.t.   |x_j| <= t_j,   ‖U x - y‖ <= bound   (or U x = y),

    solved by Clarabel's interior-point method (Goulart and Chen, 2024) in real numbers: a complex
    coefficient is a pair of these, in a cone of three dimensions. An interior point is nowhere
    zero. Where |x_j| exceeds the slack w_j - |u_j*ν| column j belongs to the support (strict
    complementarity), and on the support Newton's method solves the optimality conditions

        U_S*ν = w x/|x|,     U_S x + λν = y,     λ‖ν‖ = bound

    to rounding (for real data this is the closed form of the homotopy method).

    Parameters
    ----------
    data : Problem
        The design and the target.
    weights : Weights
        What each coefficient costs; free and barred columns, too.
    bound : float
        The bound on the residual of the unit target; 0 for basis pursuit.
    tol : float
        Accuracy to ask Clarabel for.

    Returns
    -------
    Minimiser
        Exactly sparse, with the accuracy that its dual vector proves.
    """
    columns = np.flatnonzero(np.isfinite(weights.unit))
    return restricted(data, weights, columns, bound, lambda form: interior_point(form.program, tol))


class Form(NamedTuple):
    """A cone program in units and rows that suit it, and the way there.

    Attributes
    ----------
    program : ConeProgram
        The program for a target of norm one in the range of its columns.
    basis : ndarray, or None
        An orthonormal basis of that range; None: the whole space.
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


def restricted(
    data: Problem,
    weights: Weights,
    columns: Array,
    bound: float,
    start: Callable[[Form], tuple[Array, Array]],
) -> Minimiser:
    """The minimiser with these columns alone, from x and ν that are close to it.

    Those that cost nothing must be among the columns.
    """
    B = data.unit_columns(columns)
    kind = np.complex128 if data.y.dtype.kind == "c" or B.dtype.kind == "c" else np.float64
    B, y = B.astype(kind), data.y.astype(kind)
    eps = data.tolerances_in(y.dtype).eps
    w, unit = _relevant(weights.unit[columns], np.abs(B.conj().T @ y))

    x, nu = np.zeros(columns.size, kind), np.zeros(y.size, kind)
    free = w == 0
    x[free] = fitted(B[:, free], y)
    r = y - B @ x
    if np.linalg.norm(r) <= bound + 4 * eps:  # nothing needs to be paid for
        return _minimiser(data, columns, free, x, nu, math.inf, 0.0)

    Q = range_of(B, eps)
    target = Q.conj().T @ y
    outside = y - Q @ target
    distance = float(np.linalg.norm(outside))
    check_reachable(data, bound, distance)
    size = float(np.linalg.norm(target))
    room = math.sqrt(max(bound**2 - distance**2, 0.0)) / size
    whole = Q.shape[1] == y.size  # then a sparse B had better stay as it is
    program = ConeProgram(
        B if whole else Q.conj().T @ B, w, (y if whole else target) / size,
        room if room > NO_ROOM else 0.0,
    )  # fmt: skip
    form = Form(program, None if whole else Q, size, unit)
    x, nu, penalty = polished(program, *start(form))

    x, penalty = size * x, size * penalty
    nu = nu if whole else Q @ nu
    if not whole and penalty > 0:
        nu = nu + outside / penalty
    elif not whole and distance > math.sqrt(eps):
        # No dual vector attains the optimum; ν + t (y - Qy) comes as close as rounding lets it.
        nu = nu + outside * (float(np.linalg.norm(nu)) / (distance * math.sqrt(EPS)))
    length = float(np.linalg.norm(nu))
    nu, accuracy = ConeProgram(B, w, y, bound).judge(x, nu)
    penalty *= length / (float(np.linalg.norm(nu)) or 1.0)
    if not accuracy <= POOR:
        raise LostDigitsError
    return _minimiser(data, columns, free, x, nu / unit, penalty * unit, accuracy)


def _relevant(w: Array, corr: Array) -> tuple[Array, float]:
    """Weights in a unit in which those that matter first are of the size of numbers there, and it.

    The least λ at which x is zero is then 1, and ν of the size of y, however little some columns
    cost beside others.
    """
    paid = w > 0
    unit = float((corr[paid] / w[paid]).max(initial=0.0)) or 1.0
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
    """The columns with non-zero coefficients and those that cost nothing."""
    chosen = np.flatnonzero((x != 0) | free)
    return Minimiser(
        columns[chosen], x[chosen].astype(data.y.dtype), nu.astype(data.y.dtype), penalty, accuracy
    )


def range_of(B: Array, eps: float) -> Array:
    """An orthonormal basis of the range of B, by QR with pivoting; some eps are nothing."""
    from scipy.linalg import qr

    n, m = B.shape
    if not m:
        return np.zeros((n, 0), B.dtype)
    Q, R, _ = qr(B, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    return Q[:, sizes > 8 * max(n, m) * eps * sizes[0]]
