"""FOCUSS: focal underdetermined system solver (Gorodnitsky and Rao, 1997)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.algorithms.bpdn import check_bound
from sparsewise.algorithms.proximal import orthonormal_basis
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.design.base import Array
from sparsewise.engine.conic import check_reachable
from sparsewise.engine.halting import interrupted
from sparsewise.engine.log import Log
from sparsewise.engine.minimiser import least_squares
from sparsewise.engine.weights import check_weights
from sparsewise.problem import Problem, check_number, check_positive, check_whole, problem
from sparsewise.results import Solution, Stop
from sparsewise.tolerances import tolerances

ROUNDING = 64 * float(np.finfo(float).eps)
"""Changes below this part of the largest coefficient are none."""


@algorithm(Family.L1, "signals with few sources", dense=True, least_squares=False)
def focuss(
    A: Any,
    y: ArrayLike,
    *,
    residual: float = 0.0,
    p: float = 0.8,
    tol: float = 1e-6,
    max_iter: int = 1000,
    debias: bool = False,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> Solution:
    """Iterate weighted minimum-norm solutions, x ← W (A W)⁺ y with W = diag(|x|^(1 - p/2)).

    Each round lowers Σ|x_j|^p (Σ log|x_j| for p = 0) for unit columns, from the solution of least
    norm. With a bound on the residual, the pseudo-inverse gives way to the regularised
    W (W A*A W + μI)⁻¹ W A* y with the μ for which ‖A x - y‖ = residual. A coefficient that has
    fallen to rounding error of the largest is zero for good. Ends once a round changes no remaining
    coefficient by more than `tol` of its size. Copies of a column share its coefficient, whatever
    p. Needs A as a dense matrix; a round costs O(n²k) for k remaining columns (O(nk²) once these
    are fewer than n).

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    residual : float
        The bound on ‖A x - y‖; 0 asks for an exact fit.
    p : float
        The power, at least 0 and below 2. From 1 downwards solutions are sparse: at 1 they
        approach those of `bp`, but slowly; the smaller p, the sooner the first rounds decide
        which columns vanish, and the more often wrongly. In between, 0.8 recovers well.
    tol : float
        The largest relative change of a coefficient that counts as none.
    max_iter : int
        Most rounds.
    debias : bool
        Refit least squares on the support.
    include : iterable of int
        Columns that must be in the model; their coefficients cost nothing.
    exclude : iterable of int
        Columns that must not be in the model.

    Returns
    -------
    Solution
        ``path`` starts from all columns and drops them as their coefficients vanish.
    """
    power = check_number(p, "p")
    if not 0 <= power < 2:
        raise ValueError(f"p must be at least 0 and below 2, not {p}.")
    change = check_positive(tol, "tol")
    rounds = check_whole(max_iter, "max_iter", 1)
    data = problem(A, y)
    bound = check_bound(residual) / data.scale
    negligible = tolerances(data.y.dtype).tie  # the data know their coefficients no better
    model = _Model(data, include, exclude)
    x = np.zeros(0, model.y.dtype)
    if np.linalg.norm(model.y) <= bound + ROUNDING:
        model.keep(np.zeros(model.columns.size, bool), x)
        return model.solution(Stop.RESIDUAL, x, debias)

    stop = Stop.MAX_ITER
    x, distance = weighted_fit(model.B, np.ones(model.columns.size), model.y, bound)
    check_reachable(data, bound, distance)
    model.start(x)
    for _ in range(rounds):
        if interrupted():
            break
        size = np.abs(x)
        alive = size > negligible * size.max()
        model.keep(alive, x)
        before, size = x[alive], size[alive]
        x, _ = weighted_fit(model.B, size ** (1 - power / 2), model.y, bound)
        allowed = change * np.abs(x) + ROUNDING * np.abs(x).max()
        if alive.all() and (np.abs(x - before) <= allowed).all():
            stop = Stop.SETTLED
            break
    return model.solution(stop, x, debias)


def weighted_fit(B: Array, w: Array, y: Array, bound: float) -> tuple[Array, float]:
    """The x of least ‖x/w‖ with ‖B x - y‖ <= bound, and the distance of y from the range of B.

    With the singular values s of B W = U S V*, x = W V (S² + μ)⁻¹ S U*y, where μ solves the
    secular equation ‖r‖ = bound; μ = 0 if the bound can only just be met.
    """
    U, s, V = np.linalg.svd(B * w, full_matrices=False)
    rank = int(np.sum(s > max(B.shape) * float(np.finfo(float).eps) * s[:1].max(initial=0.0)))
    U, s, V = U[:, :rank], s[:rank], V[:rank]
    c = U.conj().T @ y
    distance = float(np.linalg.norm(y - U @ c))
    room = math.sqrt(max(bound**2 - distance**2, 0.0))
    mu = regularisation(s**2, np.abs(c), room) if room > 0 else 0.0
    return w * (V.conj().T @ (s / (s**2 + mu) * c)), distance


def regularisation(squares: Array, sizes: Array, room: float) -> float:
    """The μ with Σ (μ c_i/(s_i² + μ))² = room², given s_i² and |c_i|.

    As a function of t = 1/μ, the residual is ‖c/(1 + t s²)‖, and its inverse is increasing and
    concave: Newton's method for 1/‖·‖ = 1/room from t = 0 approaches the root from the left
    and can't overshoot (the secular equation of trust-region methods).
    """
    if float(np.linalg.norm(sizes)) <= room:
        return math.inf
    t = 0.0
    for _ in range(200):
        parts = sizes / (1 + t * squares)
        norm = float(np.linalg.norm(parts))
        slope = float(parts**2 @ (squares / (1 + t * squares))) / norm
        step = (norm / room - 1) * norm / slope
        t += step
        if not step > 4 * np.finfo(float).eps * t:
            break
    return 1 / t


class _Model:
    """The columns that remain, in double precision, and the way there.

    What costs nothing is projected out of the columns and the target, and fitted at the end.
    """

    def __init__(self, data: Problem, include: Iterable[int], exclude: Iterable[int]) -> None:
        weights = check_weights(data, None, include, exclude)
        kind = np.result_type(data.y.dtype, np.float64)
        self.data, self.log, self.free = data, Log(data, None), weights.free
        self.columns = np.flatnonzero(np.isfinite(weights.unit) & (weights.unit > 0))
        self.F = data.unit_columns(self.free).astype(kind)
        self.A = data.unit_columns(self.columns).astype(kind)
        self.Q = orthonormal_basis(self.F)
        self.B, self.y = self._projected(self.A), self._projected(data.y.astype(kind))

    def start(self, x: Array) -> None:
        """Record the first coefficients, of all columns."""
        values = self._with_free(x)
        order = np.concatenate([self.free, self.columns])
        self.log.record("start", order, [_squared(self.y - self.B @ x)], [values], order.size)

    def keep(self, alive: Array, x: Array) -> None:
        """Drop the other columns for good; x are the coefficients before."""
        gone = np.flatnonzero(~alive)
        if gone.size and x.size:
            rss = _squared(self.y - self.B[:, alive] @ x[alive])
            models = Dropped(self._with_free(x), gone + self.free.size)
            size = self.free.size + int(alive.sum())
            self.log.record("drop", self.columns[gone], [rss] * gone.size, models, size)
        if gone.size:
            self.columns, self.A, self.B = self.columns[alive], self.A[:, alive], self.B[:, alive]

    def solution(self, stop: Stop, x: Array, debias: bool) -> Solution:
        """The model at the end."""
        columns = np.concatenate([self.free, self.columns])
        values = self._with_free(x).astype(self.data.y.dtype)
        if debias:
            values = least_squares(self.data, columns)
        r = self.data.y - np.column_stack([self.F, self.A]) @ values
        return self.log.solution("focuss", stop, columns, values, _squared(r), least_squares=debias)

    def _projected(self, v: Array) -> Array:
        return v - self.Q @ (self.Q.conj().T @ v)

    def _with_free(self, x: Array) -> Array:
        """The coefficients of the free columns, which fit the rest best, then x."""
        if not self.free.size:
            return x
        rest = self.data.y - self.A @ x
        return np.concatenate([np.linalg.lstsq(self.F, rest, rcond=None)[0], x])


class Dropped(Sequence[Array]):
    """The coefficients after each of several drops, made when asked for."""

    def __init__(self, x: Array, gone: Array) -> None:
        self.x, self.gone = x, gone

    def __len__(self) -> int:
        return self.gone.size

    @overload
    def __getitem__(self, i: int) -> Array: ...
    @overload
    def __getitem__(self, i: slice) -> list[Array]: ...
    def __getitem__(self, i: int | slice) -> Array | list[Array]:
        if isinstance(i, slice):
            return [self[j] for j in range(len(self))[i]]
        return np.delete(self.x, self.gone[: range(len(self))[i] + 1])


def _squared(r: Array) -> float:
    return float(np.vdot(r, r).real)
