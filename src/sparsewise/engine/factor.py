"""The factorisation of the active columns: A_S U = Q with Q orthonormal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparsewise.compiled import load_kernels
from sparsewise.design.base import Array
from sparsewise.engine.tolerances import tolerances
from sparsewise.problem import Problem


class Factor:
    """Basis Q, recipes U and coordinates t = Q*y of the active columns, updated step by step.

    Row i of ``U`` is the recipe of basis vector q_i in terms of the active columns, so that
    x = U t are the least-squares coefficients, and loss = |x_i|²/Σ_c|U_ci|², the growth of ‖r‖² if
    column i is dropped, costs no more than a look (Lemma 3.5 of the paper). A drop is a reflection
    of basis and recipes; that of the basis waits until somebody asks for it, and the directions
    that left then lie right behind the active ones.

    Parameters
    ----------
    problem : Problem
        Design and target.
    room : int
        For how many columns to make room at first.

    Attributes
    ----------
    size : int
        Number of active columns.
    order : ndarray of int
        Room for the active columns, in the order in which they came.
    locked : ndarray of bool
        Which of them can't be dropped.
    rss : float
        ‖r‖² for a target of norm one.
    tolerance : Tolerances
        What rounding makes of numbers of this type.
    epoch : int
        How many times it was made from scratch; directions of different epochs don't compare.
    """

    def __init__(self, problem: Problem, room: int) -> None:
        self._kernels = load_kernels()
        self.problem = problem
        self.dtype = problem.y.dtype
        self.tolerance = tolerances(self.dtype)
        n = problem.shape[0]
        self.size = 0
        self.order = np.empty(room, np.int64)
        self.locked = np.zeros(room, np.bool_)
        self.U = np.empty((room, room), self.dtype)
        self.t = np.empty(room, self.dtype)
        self._Q: Array | None = np.empty((room, n), self.dtype)
        self._r = problem.y.copy()
        self.rss = 0.0 if problem.is_zero else 1.0
        self.epoch = 0
        self._turns: list[tuple[Array, int]] = []
        self._turned = 0
        self._peak = 0.0

    @property
    def columns(self) -> Array:
        """The active columns in the order in which they came."""
        return self.order[: self.size]

    @property
    def room(self) -> int:
        """How many columns there is room for."""
        return self.t.size

    def coef(self) -> Array:
        """x = U t: coefficients of the unit columns, in order."""
        k = self.size
        return np.asarray(self.t[:k] @ self.U[:k, :k])

    def losses(self) -> Array:
        """|x_i|²/[(A_S*A_S)⁻¹]_ii of the active columns, in order."""
        k = self.size
        diagonal = np.square(np.abs(self.U[:k, :k])).sum(axis=0)
        return np.asarray(np.square(np.abs(self.coef())) / diagonal)

    @property
    def Q(self) -> Array:
        """One basis vector a row; turned by what was dropped, made if there was none."""
        if self._Q is None or self._turned * self.tolerance.eps > self.tolerance.tie:
            self.make()
        Q = self._Q
        assert Q is not None
        if self._turns:
            self._turn(Q)
        return Q

    @property
    def r(self) -> Array:
        """The residual of y / ‖y‖."""
        _ = self.Q
        return self._r

    def unit_columns(self, columns: Array | slice) -> Array:
        """Columns of A scaled to unit norm, side by side."""
        inverse = self.problem.inverse_norms[columns]
        return np.asarray(self.problem.design.columns(columns) * inverse, self.dtype)

    def unit_column(self, j: int) -> Array:
        """Column j of A, scaled to unit norm."""
        return np.ascontiguousarray(self.unit_columns(np.array([j]))[:, 0])

    # ------------------------------------------------------------------ from scratch

    def load(self, columns: Sequence[int], forced: int, basis: bool) -> bool:
        """Begin with these columns, the first `forced` of them locked; False: they are dependent.

        Without `basis` only the triangular factor is made, which is all that dropping needs.
        """
        k = len(columns)
        if k > self.problem.shape[0]:
            return False
        self.make_room(k)
        self.order[:k] = columns
        self.locked[:k] = np.arange(k) < forced
        self.size = k
        return self.make(basis)

    def make(self, basis: bool = True) -> bool:
        """QR of the active columns: all drift is gone. False: they are dependent."""
        k, y = self.size, self.problem.y
        unit = self.unit_columns(self.columns)
        if basis:
            Q, R = np.linalg.qr(unit)
            self._Q = np.empty((self.room, len(y)), self.dtype)
            self._Q[:k] = Q.T
            self._r = y.copy()
            self.t[:k] = 0
            for _ in range(2):
                self.reorthogonalise()
        else:
            R = np.asarray(np.linalg.qr(np.column_stack([unit, y]), mode="r"))
            self._Q = None
            self.t[:k] = R[:k, k]
            self.rss = float(abs(R[k, k]) ** 2) if len(R) > k else 0.0
        self.epoch += 1
        self._turns.clear()
        self._turned, self._peak = 0, 0.0
        least = np.square(np.abs(np.diagonal(R)[:k])).min(initial=1.0)
        if least > 0:  # columns that once came in may be borderline now; U must fit Q all the same
            self.U[:k, :k] = _inverse_of_triangle(R[:k, :k]).T
        return bool(least > self.tolerance.dependent)

    def reorthogonalise(self) -> None:
        """Take out of r what has come back of the active directions."""
        assert self._Q is not None
        Q = self._Q[: self.size]
        inner = Q.conj() @ self._r
        self._r -= inner @ Q
        self.t[: self.size] += inner
        self.rss = float(np.vdot(self._r, self._r).real)

    def make_room(self, columns: int) -> None:
        """Room for at least this many columns; what is there stays."""
        if columns <= self.room:
            return
        columns = min(max(columns, 2 * self.room), *self.problem.shape)
        if self._Q is not None:
            self._Q = _larger(self._Q, (columns, self.problem.shape[0]))
        self.U = _larger(self.U, (columns, columns))
        self.t = _larger(self.t, (columns,))
        self.order = _larger(self.order, (columns,))
        self.locked = _larger(self.locked, (columns,))

    # ------------------------------------------------------------------ step by step

    def add(self, j: int) -> bool:
        """Add column j; False: it depends on the active ones."""
        self.make_room(self.size + 1)
        v = self.unit_column(j)
        left = self._kernels.add(
            self.Q, self.U, self.t, self._r, self.size, v, self.tolerance.dependent
        )
        if left < 0:
            return False
        self.took([j], left)
        return True

    def took(self, columns: Iterable[int] | Array, rss: float) -> None:
        """These columns were added by a kernel."""
        k = self.size
        added = np.asarray(columns)
        self.order[k : k + added.size] = added
        self.locked[k : k + added.size] = False
        self.size += added.size
        self.rss = float(rss)

    def retreat(self, k: int, size: int) -> None:
        """Directions k..size, written by a kernel, are not to be: give r back their part."""
        self._r += self.t[k:size] @ self.Q[k:size]

    def drop(self, j: int) -> Array:
        """Drop column j; returns the coefficients of the others."""
        k = self.size
        i = int(np.flatnonzero(self.columns == j)[0])
        self.rss += float(self.losses()[i])
        reflector = np.empty((1, k + 1), self.dtype)
        x = np.empty(k, self.dtype)
        self._kernels.reflect(self.U, self.t, k, i, reflector[0], x, np.empty(k))
        self.order[i : k - 1] = self.order[i + 1 : k]
        self.locked[i : k - 1] = self.locked[i + 1 : k]
        self._lost(reflector)
        return x[: k - 1]

    def shrink(
        self, by_loss: bool, steps: int, limits: tuple[float, float, float]
    ) -> tuple[Array, Array, Array, int]:
        """Drop what matters least, at most `steps` times.

        limits = (columns allowed, loss allowed, ‖r‖² allowed). Returns the columns dropped, ‖r‖²
        and coefficients after each, and why the kernel came back.
        """
        k, tolerance = self.size, self.tolerance
        reflectors = np.empty((steps, k + 1), self.dtype)
        columns = np.empty(steps, np.int64)
        left = np.empty(steps)
        X = np.zeros((steps, k), self.dtype)
        share = tolerance.tie * (self._turned + 1)
        dropped, code, self._peak = self._kernels.shrink(
            self.U, self.t, self.order, self.locked, k, self.rss, by_loss, steps,
            (*limits, tolerance.tie, tolerance.exact, self._peak, share),
            reflectors, columns, left, X,
        )  # fmt: skip
        if dropped:
            self.rss = float(left[dropped - 1])
            self._lost(reflectors[:dropped])
        if code == self._kernels.DRIFTED:
            self.make(self._Q is not None)
        return columns[:dropped], left[:dropped], X[:dropped], code

    def _lost(self, reflectors: Array) -> None:
        self._turns.append((reflectors, self.size))
        self._turned += len(reflectors)
        self.size -= len(reflectors)

    def _turn(self, Q: Array) -> None:
        """Apply the reflections that wait; r takes back what has left."""
        first = self._turns[0][1]
        # A few reflectors go straight to Q; many are gathered and applied as one product.
        few = 8 * (first - self.size) < first
        target = Q if few else np.eye(first, dtype=self.dtype)
        for reflectors, k in self._turns:
            self._kernels.turn(target, reflectors, k)
        if not few:
            Q[:first] = target @ Q[:first]
        self._r += self.t[self.size : first] @ Q[self.size : first]
        self._turns.clear()


def _larger(old: Array, shape: tuple[int, ...]) -> Array:
    """A larger array that begins with the old one."""
    new = np.zeros(shape, old.dtype)
    new[tuple(slice(size) for size in old.shape)] = old
    return new


def _inverse_of_triangle(R: Array) -> Array:
    """U = R⁻¹ by back substitution."""
    from scipy.linalg import get_lapack_funcs

    trtri: Any = get_lapack_funcs("trtri", (R,))
    return np.asarray(np.triu(trtri(R)[0]))
