"""min Σ w_j|x_j| s.t. ‖A x - y‖ <= bound as a second-order cone program, through Clarabel."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparsewise.design.base import Array
from sparsewise.engine.minimiser import Minimiser, out_of_reach
from sparsewise.engine.weights import Weights
from sparsewise.problem import Problem
from sparsewise.tolerances import tolerances

EPS = float(np.finfo(float).eps)

NO_ROOM = 1e-11
"""A bound below this part of the target is a bound of zero, for all that an interior point sees."""

ROUNDS = 4
"""Most corrections of a support that the interior point has proposed."""

GOOD = 1e-11
"""An accuracy that no other support needs to improve on."""


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
    w = weights.unit[columns]
    B = data.unit_columns(columns)
    kind = np.complex128 if data.y.dtype.kind == "c" or B.dtype.kind == "c" else np.float64
    B, y = B.astype(kind), data.y.astype(kind)

    x, nu = np.zeros(columns.size, kind), np.zeros(y.size, kind)
    free = w == 0
    x[free] = _least_squares(B[:, free], y)
    r = y - B @ x
    if np.linalg.norm(r) <= bound + 4 * EPS:  # nothing needs to be paid for
        return _minimiser(data, columns, free, x, nu, math.inf, 0.0)

    Q = _range(B)
    target = Q.conj().T @ y
    outside = y - Q @ target
    distance = float(np.linalg.norm(outside))
    check_reachable(data, bound, distance)
    size = float(np.linalg.norm(target))
    room = math.sqrt(max(bound**2 - distance**2, 0.0)) / size
    whole = Q.shape[1] == y.size  # then a sparse B had better stay as it is
    core = Core(
        B if whole else Q.conj().T @ B, w, (y if whole else target) / size,
        room if room > NO_ROOM else 0.0,
    )  # fmt: skip
    x, nu, penalty = _polished(core, *_interior_point(core, tol))

    x, penalty = size * x, size * penalty
    nu = nu if whole else Q @ nu
    if not whole and penalty > 0:
        nu = nu + outside / penalty
    elif not whole and distance > math.sqrt(EPS):
        # No dual vector attains the optimum; ν + t (y - Qy) comes as close as rounding lets it.
        nu = nu + outside * (float(np.linalg.norm(nu)) / (distance * math.sqrt(EPS)))
    nu, accuracy = Core(B, w, y, bound).judge(x, nu)
    return _minimiser(data, columns, free, x, nu, penalty, accuracy)


def check_reachable(data: Problem, bound: float, distance: float) -> None:
    """Refuse a bound below the distance of y from the range of A (both for a unit target)."""
    if distance > bound + tolerances(data.y.dtype).tie:
        raise out_of_reach(data, bound, distance)


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


class Core(NamedTuple):
    """min Σ w_j|x_j| s.t. ‖B x - y‖ <= bound with all columns allowed."""

    B: Array
    w: Array
    y: Array
    bound: float

    def judge(self, x: Array, nu: Array) -> tuple[Array, float]:
        """The dual vector brought into its set, and what it proves of x.

        That is the relative gap Σ w_j|x_j| - (Re y*ν - bound ‖ν‖), plus what is infeasible.
        """
        free = self.w == 0
        nu = nu - self.B[:, free] @ _least_squares(self.B[:, free], nu)
        inner = np.abs(self.B.conj().T @ nu)
        nu = nu / max(float((inner[~free] / self.w[~free]).max(initial=0.0)), EPS)
        primal = float(self.w @ np.abs(x))
        parts = float(np.vdot(self.y, nu).real), self.bound * float(np.linalg.norm(nu))
        dual = parts[0] - parts[1]
        largest = max(primal, abs(dual), EPS)
        exceeded = float(np.linalg.norm(self.y - self.B @ x)) - self.bound
        inner = np.abs(self.B.conj().T @ nu) - self.w
        beyond = (inner / np.where(free, 1.0, self.w)).max(initial=0.0)
        # |u_j*ν| <= w_j can't be told more precisely than |u_j*ν| itself.
        dearth = float(np.linalg.norm(nu)) / self.w[~free].min(initial=1.0)
        rounding = 16 * EPS * (1 + abs(parts[0]) / largest + float(np.abs(x).sum()))
        gap = abs(primal - dual) / largest
        return nu, gap + max(exceeded, 0.0) + float(beyond) + rounding + 2 * EPS * dearth


def _least_squares(B: Array, y: Array) -> Array:
    return np.linalg.lstsq(B, y, rcond=None)[0] if B.shape[1] else np.zeros(0, y.dtype)


def _range(B: Array) -> Array:
    """An orthonormal basis of the range of B, by QR with pivoting."""
    from scipy.linalg import qr

    n, m = B.shape
    if not m:
        return np.zeros((n, 0), B.dtype)
    Q, R, _ = qr(B, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    return Q[:, sizes > 8 * max(n, m) * EPS * sizes[0]]


# --- the interior point ----------------------------------------------------------------------


def _interior_point(core: Core, tol: float) -> tuple[Array, Array]:
    """x and ν of Clarabel, nowhere zero."""
    try:
        import clarabel
    except ImportError:
        raise ImportError(
            "solver='conic' needs Clarabel; install it: pip install 'sparsewise[conic]'."
        ) from None
    from scipy import sparse

    complex_data = core.B.dtype.kind == "c"
    E, y = (_embedded(core.B), _stacked(core.y)) if complex_data else (core.B, core.y)
    parts = 2 if complex_data else 1
    k, paid = core.w.size, np.flatnonzero(core.w)

    # Variables: the parts of each x_j, then t_j for each column that costs something.
    fits: list[Any] = [sparse.hstack([sparse.csc_array(E), sparse.csc_array((y.size, paid.size))])]
    right, cones = [y], [clarabel.ZeroConeT(y.size)]
    if core.bound > 0:
        fits.insert(0, sparse.csc_array((1, parts * k + paid.size)))
        right, cones = [np.array([core.bound]), y], [clarabel.SecondOrderConeT(y.size + 1)]
    sizes, more = _absolute_values(clarabel, k, paid, complex_data)
    M = sparse.csc_matrix(sparse.vstack([*fits, sizes]))
    rhs = np.concatenate([*right, np.zeros(sizes.shape[0])])
    cost = np.concatenate([np.zeros(parts * k), core.w[paid]])

    nothing = sparse.csc_matrix((cost.size, cost.size))
    solver = clarabel.DefaultSolver(nothing, cost, M, rhs, cones + more, _settings(clarabel, tol))
    found = solver.solve()
    good = (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    if found.status not in good:
        raise RuntimeError(
            f"Clarabel ended with status {found.status}; raise residual a little, or use the "
            "default solver."
        )
    x, z = np.asarray(found.x)[: parts * k], -np.asarray(found.z)
    nu = z[len(rhs) - sizes.shape[0] - y.size :][: y.size]
    if complex_data:
        return x[0::2] + 1j * x[1::2], nu[: nu.size // 2] + 1j * nu[nu.size // 2 :]
    return x, nu


def _absolute_values(
    clarabel: Any, k: int, paid: Array, complex_data: bool
) -> tuple[Any, list[Any]]:
    """Rows and cones of |x_j| <= t_j: two half-lines, or a cone of three dimensions."""
    from scipy import sparse

    p = paid.size
    if not complex_data:
        pick = sparse.csc_array((np.ones(p), (np.arange(p), paid)), shape=(p, k))
        eye = sparse.eye_array(p)
        half_lines = sparse.vstack([sparse.hstack([pick, -eye]), sparse.hstack([-pick, -eye])])
        return half_lines, [clarabel.NonnegativeConeT(2 * p)]
    at = 3 * np.arange(p)
    rows = np.concatenate([at, at + 1, at + 2])
    columns = np.concatenate([2 * k + np.arange(p), 2 * paid, 2 * paid + 1])
    discs = sparse.csc_array((-np.ones(3 * p), (rows, columns)), shape=(3 * p, 2 * k + p))
    return discs, [clarabel.SecondOrderConeT(3)] * p


def _settings(clarabel: Any, tol: float) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    # What it then calls almost solved is a fair start for Newton's method.
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = 1e-5
    settings.reduced_tol_feas = 1e-6
    return settings


def _embedded(B: Array) -> Array:
    """Complex columns as pairs of real ones: [Re -Im; Im Re], interleaved."""
    n, k = B.shape
    E = np.empty((2 * n, 2 * k))
    E[:n, 0::2], E[:n, 1::2] = B.real, -B.imag
    E[n:, 0::2], E[n:, 1::2] = B.imag, B.real
    return E


def _stacked(v: Array) -> Array:
    """[Re; Im]."""
    return np.concatenate([v.real, v.imag])


def _interleaved(v: Array) -> Array:
    return np.column_stack([v.real, v.imag]).ravel()


# --- from there to rounding ------------------------------------------------------------------


def _polished(core: Core, x: Array, nu: Array) -> tuple[Array, Array, float]:
    """The exactly sparse x, ν and λ that the dual vector proves best.

    Small coefficients and small slacks are hard to tell apart: what is taken for zero is first
    what complementarity says, then less and less of it.
    """
    slack = np.maximum(core.w - np.abs(core.B.conj().T @ nu), 0) * (core.w > 0)
    best, least = (x, nu, 0.0), math.inf
    for caution in (1.0, 1e-2, 1e-4, 1e-6):
        support = np.flatnonzero(np.abs(x) > caution * slack)
        found, accuracy = _on_support(core, support, x, nu)
        if accuracy < least:
            best, least = found, accuracy
        if least < GOOD:
            break
    return best


def _on_support(
    core: Core, support: Array, x: Array, nu: Array
) -> tuple[tuple[Array, Array, float], float]:
    """The best of the support as proposed and as corrected, and its accuracy."""
    support, start = _independent(core, support, x, nu)
    guess = x.copy()
    guess[support] = start
    length = float(np.linalg.norm(nu))
    penalty = core.bound / length if length > 0 else 0.0
    best = _truncated(core, support, start), nu, penalty
    least = core.judge(best[0], nu)[1]
    for _ in range(ROUNDS):
        values, dual, lam = _newton(core, support, guess[support], nu, penalty)
        if not (np.isfinite(values).all() and np.isfinite(dual).all()):
            break
        new = np.zeros_like(x)
        new[support] = values
        accuracy = core.judge(new, dual)[1]
        if accuracy < least:
            best, least = (new, dual, lam), accuracy
        # A coefficient that turned round is zero; a column beyond its weight is missing.
        turned = (values * guess[support].conj()).real <= 0
        turned &= core.w[support] > 0
        beyond = np.abs(core.B.conj().T @ dual) > core.w * (1 + 1e-9) + EPS
        missing = np.setdiff1d(np.flatnonzero(beyond & (guess != 0)), support)
        if not turned.any() and not missing.size:
            break
        support = np.union1d(support[~turned], missing)
    return best, least


def _truncated(core: Core, support: Array, values: Array) -> Array:
    """x on the support, moved towards least squares until the bound is met."""
    x = np.zeros(core.w.size, core.B.dtype)
    x[support] = values
    r = core.y - core.B @ x
    closest = values + _least_squares(core.B[:, support], r)
    least = core.y - core.B[:, support] @ closest
    extra = float(np.linalg.norm(r - least))
    room = math.sqrt(max(core.bound**2 - float(np.vdot(least, least).real), 0.0))
    if extra > room:
        x[support] = closest + (values - closest) * (room / extra)
    return x


def _independent(core: Core, support: Array, x: Array, nu: Array) -> tuple[Array, Array]:
    """Columns that stay independent once each coefficient keeps its phase, and coefficients.

    All minimisers have the same fit and the same phases. Where columns depend on each other (think
    of copies) the interior point spreads the weight over them; non-negative least squares (Lawson
    and Hanson) finds the same fit by independent ones, at the same cost.
    """
    from scipy.linalg import qr
    from scipy.optimize import nnls

    if not support.size:
        return support, x[support]
    paid, free = support[core.w[support] > 0], support[core.w[support] == 0]
    # Those of B*ν are the phases of x, and copies agree on them to rounding.
    phases = core.B[:, paid].conj().T @ nu
    phases = phases / np.maximum(np.abs(phases), EPS)
    fit = core.B[:, support] @ x[support]
    either = core.B[:, free]  # what costs nothing may have any phase
    real = core.B[:, paid] * phases
    if fit.dtype.kind == "c":
        real, either, fit = np.vstack([real.real, real.imag]), _embedded(either), _stacked(fit)
    all_of_them = np.column_stack([real, either])
    sizes = np.abs(np.diag(qr(all_of_them, mode="r", pivoting=True)[0]))
    if sizes.size == all_of_them.shape[1] and sizes[-1] > 1e-9 * sizes[0]:
        return support, x[support]
    found = nnls(np.column_stack([all_of_them, -either]), fit, maxiter=100 * fit.size)[0]
    amounts, plus, minus = np.split(found, [paid.size, paid.size + either.shape[1]])
    rest = plus - minus
    values = np.zeros_like(x)
    values[paid] = amounts * phases
    values[free] = rest[0::2] + 1j * rest[1::2] if x.dtype.kind == "c" else rest
    chosen = np.flatnonzero(values)
    return chosen, values[chosen]


def _newton(
    core: Core, support: Array, x: Array, nu: Array, penalty: float
) -> tuple[Array, Array, float]:
    """Solve B*ν = w x/|x|, B x + λν = y, λ‖ν‖ = bound on the support, from a close start."""
    from scipy.linalg import lstsq

    B, w = core.B[:, support], core.w[support]
    complex_data = B.dtype.kind == "c"
    E, y = (_embedded(B), _stacked(core.y)) if complex_data else (B, core.y)
    x, nu = (_interleaved(x), _stacked(nu)) if complex_data else (x, nu)
    k, n = x.size, y.size
    J = np.zeros((k + n + 1, k + n + 1))
    J[:k, k:-1], J[k:-1, :k] = E.T, E
    for _ in range(8):
        phases, curvature = _phases(x, w, complex_data)
        length = float(np.linalg.norm(nu))
        F = np.concatenate([E.T @ nu - phases, E @ x + penalty * nu - y, [0.0]])
        J[:k, :k] = -curvature
        J[k:-1, k:-1] = penalty * np.eye(n)
        J[-1, -1] = 1.0
        if core.bound > 0:
            F[-1] = penalty * length - core.bound
            J[k:-1, -1] = nu
            J[-1, k:-1], J[-1, -1] = penalty * nu / length, length
        step = lstsq(J, -F, cond=1e-14, lapack_driver="gelsy", check_finite=False)[0]
        x, nu, penalty = x + step[:k], nu + step[k:-1], penalty + float(step[-1])
        sizes = 1 + np.abs(x).max(initial=0.0), 1 + np.abs(nu).max(initial=0.0)
        if np.abs(step[:k]).max(initial=0.0) <= 4 * EPS * sizes[0] and (
            np.abs(step[k:-1]).max(initial=0.0) <= 4 * EPS * sizes[1]
        ):
            break
        if not np.isfinite(step).all() or np.any(x == 0):
            break
    if complex_data:
        return x[0::2] + 1j * x[1::2], nu[: n // 2] + 1j * nu[n // 2 :], penalty
    return x, nu, penalty


def _phases(x: Array, w: Array, complex_data: bool) -> tuple[Array, Array]:
    """w x/|x| and its derivative, w (I - u uᵀ)/|x| with u = x/|x|; zero for real data."""
    if not complex_data:
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
