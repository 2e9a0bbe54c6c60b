"""The factorisation of the active columns: A_S U = Q with Q orthonormal, damped or not.

How errors stay small:

- Columns are orthogonalised twice when the first sweep takes away more than half.
- The errors of U are those of its largest size; when deletions have shrunk it too far, the factor
  is made from scratch (`Factor.make`).
- ‖U‖² = trace (A_S*A_S)⁻¹ is at most 1/eps, in whatever order the columns came: coefficients keep
  half of their digits. The model that is returned is refitted by QR where ‖U‖ asks for it.
- Damping makes energies of the size of d² meaningful: a damped column is dependent only at the
  square of the rounding level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import square_sums
from sparsewise.design.unit_columns import divide_by_triangle, inverse_of_triangle
from sparsewise.kernels import load_kernels
from sparsewise.problem.problem import Problem

Prior = tuple[float, float, float, float, float]
"""What kernels need to judge a damped column: see `judge` in `compiled/stepwise.py`."""


class Dropped(NamedTuple):
    """Columns that were dropped one after the other, and the models after each.

    Attributes
    ----------
    columns : ndarray of int
        In this order.
    rss : ndarray
        ‖r‖² after each.
    coefs : ndarray
        Coefficients of the columns left.
    df : ndarray or None
        The trace of the hat matrix; None: how many columns are left.
    """

    columns: Array
    rss: Array
    coefs: Array
    df: Array | None


FINE = 1e-2
"""A part of √eps: errors of a residual below it are not worth a QR."""


class Factor:
    """Basis Q, recipes U and coordinates t = Q*y of the active columns, updated step by step.

    Row i of ``U`` is the recipe of basis vector q_i in terms of the active columns, so that
    x = U t are the least-squares coefficients, and loss = |x_i|²/Σ_c|U_ci|², the growth of ‖r‖² if
    column i is dropped, costs no more than a look (Lemma 3.5 of the paper). A drop is a reflection
    of basis and recipes; that of the basis waits until somebody asks for it, and the directions
    that left then lie right behind the active ones.

    Several targets share Q and U; t, x and r have one row for each, and ‖r‖² and |x_i|² are sums
    over targets.

    Columns may be damped: [A_S; D] U = [Q; D U] is orthonormal, and x = U t minimises
    ‖r‖² + ‖D x‖². Gains and losses are those of this objective.

    - A ridge term damps every column alike: d_i² = ridge.
    - Sparse Bayesian Learning has d_i² = σ²/γ_i. Then x is the posterior mean, σ² U U* its
      covariance, and I - Q Q* = σ² C⁻¹ the matrix R of the paper (section 3.1); undamped, it is
      the projection of Lemma 3.4. D doesn't depend on σ² once γ/σ² is given: the factor knows no
      noise.

    Parameters
    ----------
    problem : Problem
        Design and target; its ridge damps the columns.
    room : int
        For how many columns to make room at first.
    damped : bool
        Whether columns have a damping each, though there is no ridge.

    Attributes
    ----------
    size : int
        Number of active columns.
    order : ndarray of int
        Room for the active columns, in the order in which they came.
    locked : ndarray of bool
        Which of them can't be dropped.
    damping : ndarray
        Room for the d_i (0: a flat prior); of no length if columns are not damped.
    ridge : float
        d² of columns that are added, unless the caller says otherwise.
    rss : float
        ‖r‖² for a target of norm one.
    tolerance : Tolerances
        What rounding makes of numbers of this type.
    frail : float
        ‖U‖² that it must not exceed.
    kernels : module
        The compiled functions of stepwise algorithms.
    epoch : int
        How many times it was made from scratch; directions of different epochs don't compare.
    """

    def __init__(self, problem: Problem, room: int, damped: bool = False) -> None:
        problem.begin()
        design, Y = problem.design, problem.Y
        self.kernels = load_kernels()
        self.problem = problem
        self.dtype = dtype = Y.dtype
        self.tolerance = design.tolerances
        n, m = design.shape
        self.ridge = problem.ridge
        self.is_damped = damped or self.ridge > 0
        # Damped columns are never dependent, unless the damping is too little to tell.
        self.capacity = m if self.is_damped else min(n, m)
        if damped:
            self.tolerance = self.tolerance._replace(dependent=self.tolerance.exact)
        room = min(room, self.capacity)
        self.frail = self.tolerance.frail
        self.size = 0
        self.order = np.empty(room, np.int64)
        self.locked = np.zeros(room, np.bool_)
        self.damping = np.zeros(room if self.is_damped else 0, problem.inverse_norms.dtype)
        self.U = np.empty((room, room), dtype)
        self.t = np.empty((len(Y), room), dtype)
        self._Q: Array | None = np.empty((room, n), dtype)
        self._r = Y.copy()
        self.rss = 0.0 if problem.is_zero else 1.0
        self.epoch = 0
        self._turns: list[tuple[Array, int]] = []
        self._turned = 0
        self._largest = 0  # most columns since it was made from scratch
        self._peak = 0.0

    @property
    def columns(self) -> Array:
        """The active columns in the order in which they came."""
        return self.order[: self.size]

    @property
    def room(self) -> int:
        """How many columns there is room for."""
        return self.order.size

    def coef(self) -> Array:
        """x = U t: coefficients of the unit columns, in order, one target a row."""
        k = self.size
        return np.asarray(self.t[:, :k] @ self.U[:k, :k])

    def squares(self) -> Array:
        """|x_i|² of the active columns, in order: the sum over targets."""
        x = self.coef()
        return np.square(np.abs(x[0])) if len(x) == 1 else square_sums(x)

    def diagonal(self) -> Array:
        """[U U*]_ii of the active columns: their variances in units of σ²."""
        k = self.size
        return square_sums(self.U[:k, :k])

    @property
    def d(self) -> Array:
        """The damping of the active columns, in order."""
        return self.damping[: self.size]

    @property
    def df(self) -> float:
        """The trace of the hat matrix A_S (A_S*A_S + D²)⁻¹ A_S*: k - Σ d_i² [U U*]_ii."""
        if not self.is_damped:
            return self.size
        return self.size - float(np.square(self.d) @ self.diagonal())

    def dfs(self, first: int) -> Array | None:
        """That after each column but the first so many came; None: it is their number."""
        if not self.is_damped:
            return None
        k = self.size
        lost = np.square(np.abs(self.U[:k, :k])) @ np.square(self.d)  # of each direction
        return np.arange(first + 1, k + 1) - np.cumsum(lost)[first:]

    def losses(self) -> Array:
        """|x_i|²/[(A_S*A_S + D²)⁻¹]_ii of the active columns, in order."""
        return np.asarray(self.squares() / self.diagonal())

    @property
    def Q(self) -> Array:
        """One basis vector a row; turned by what was dropped, made if there was none."""
        if self._Q is None or (self._turned and self._is_worn()):
            self.make()
        Q = self._Q
        assert Q is not None
        if self._turns:
            self._turn(Q)
        return Q

    def _is_worn(self) -> bool:
        """Whether turns have left too many errors: eps each in Q, and eps·‖U‖ in U."""
        turned, tolerance = self._turned, self.tolerance
        return turned * tolerance.eps > tolerance.tie or turned**2 * self._peak > self.frail

    @property
    def r(self) -> Array:
        """The residuals of the targets, one a row."""
        _ = self.Q
        return self._r

    def unit_columns(self, columns: Array | slice) -> Array:
        """Columns of A scaled to unit norm, side by side."""
        return np.asarray(self.problem.unit_columns(columns), self.dtype)

    def unit_column(self, j: int) -> Array:
        """Column j of A, scaled to unit norm."""
        return np.ascontiguousarray(self.unit_columns(np.array([j]))[:, 0])

    # ------------------------------------------------------------------ from scratch

    def load(
        self,
        columns: Sequence[int],
        forced: int,
        basis: bool = True,
        damping: Array | None = None,
    ) -> bool:
        """Begin with these columns, the first `forced` of them locked; False: they are dependent.

        Without `basis` only the triangular factor is made, which is all that dropping needs.
        `damping`: the d_i of these columns, all by the ridge if None.
        """
        k = len(columns)
        if k > self.capacity:
            return False
        self.make_room(k)
        self.size = k
        self.order[:k] = columns
        self.locked[:k] = np.arange(k) < forced
        if self.is_damped:
            self.d[:] = self.ridge**0.5 if damping is None else damping
        return self.make(basis)

    def make(self, basis: bool = True) -> bool:
        """QR of the active columns: all drift is gone. False: they are dependent."""
        k, Y = self.size, self.problem.Y
        unit = self.unit_columns(self.columns)
        if basis:
            Q, R = np.linalg.qr(np.vstack([unit, np.diag(self.d)]) if self.is_damped else unit)
            self._Q = np.empty((self.room, Y.shape[1]), self.dtype)
            self._Q[:k] = Q[: Y.shape[1]].T
        else:
            both = np.column_stack([unit, Y.T])
            if self.is_damped:
                below = np.zeros((k, both.shape[1]), self.dtype)
                np.fill_diagonal(below, self.d)
                both = np.vstack([both, below])
            R = np.asarray(np.linalg.qr(both, mode="r"))
            self._Q = None
            self.t[:, :k] = R[:k, k:].T
            self.rss = float(square_sums(R[k:, k:]).sum())
        self.epoch += 1
        self._turns.clear()
        self._turned, self._peak, self._largest = 0, 0.0, k
        # Columns that once came in may be borderline now; U must fit Q all the same.
        regular = bool(np.diagonal(R)[:k].all())
        if k and regular:
            self.U[:k, :k] = inverse_of_triangle(R[:k, :k]).T
        if basis:
            self._r = Y.copy()
            self.t[:, :k] = 0
            for _ in range(2):
                self.reorthogonalise()
        elif self.is_damped and regular:
            self.rss = max(self.rss - self.penalty, 0.0)
        return regular and self._holds()

    def _holds(self) -> bool:
        """Whether columns of no damping of their own are told apart, as far as rounding tells."""
        flat = self.d == 0 if self.is_damped and not self.ridge else slice(self.size)
        size = float(square_sums(self.U[: self.size, : self.size])[flat].sum())
        return self.problem.tolerances.tells_apart(size)

    def refitted(self) -> tuple[Array, Array] | None:
        """Coefficients and r as good as QR makes them, where rounding may show in U t.

        Recipes are made of recipes, and A_S U t may be off by eps·‖U‖·|U||t|; the answer of QR is
        by eps·‖x‖, which is often far less. What was dropped has left errors of its own in U.
        None: U t and r are as good.
        """
        if not self._may_show_rounding():
            return None
        return self._as_good_as_qr() or self._by_qr()

    def freshen(self) -> tuple[Array, Array] | None:
        """Make it anew where rounding shows in U t; `refitted`."""
        if not self._may_show_rounding():
            return None
        if good := self._as_good_as_qr():
            return good
        self.make()
        return self.refitted()

    def _may_show_rounding(self) -> bool:
        """Whether rounding may show in U t, by what bounds it."""
        k, size, fine = self.size, self._squares(), FINE**2 / self.tolerance.eps
        if self._peak > FINE**-2 or self._peak * size > fine:
            return True
        if size * size * k <= fine:
            return False
        sums = np.abs(self.t[:, :k]) @ np.abs(self.U[:k, :k])
        return size * float(sums.sum()) ** 2 > fine

    def _as_good_as_qr(self) -> tuple[Array, Array] | None:
        """x = U t, refined once if need be, and y - A_S x, if no more than rounding is amiss.

        That is, if the columns could take no more out of y - A_S x than after a QR: of the size of
        the rounding of x, eps·(1 + Σ|x|). It is Q*(y - A_S x), by Q* = U*A_S*, which costs far
        less than a QR. In single precision bounds are soon above it, but hardly ever what they
        bound. None, too, where U is too poor to tell.
        """
        if max(self._peak, self._squares()) > FINE**-2:
            return None
        x, unit = self.coef(), self.unit_columns(self.columns)
        U = self.U[: self.size, : self.size]
        for _ in range(2):
            r = self.problem.Y - x @ unit.T
            inner = r @ unit.conj()
            if self.is_damped:  # below r stands -D x
                inner -= self.d * self.d * x
            left = inner @ U.conj().T
            if np.linalg.norm(left) <= self.tolerance.eps * (1.0 + float(np.abs(x).sum())):
                return x, r
            x = x + left @ U
        return None

    def _squares(self) -> float:
        """‖U‖²."""
        entries = self.U[: self.size, : self.size].ravel()
        return float(np.vdot(entries, entries).real)

    def _by_qr(self) -> tuple[Array, Array]:
        """Coefficients by QR of the active columns, refined once, and what they leave of y."""
        Y, unit = self.problem.Y.T, self.unit_columns(self.columns)
        below = np.diag(self.d) if self.is_damped else np.empty((0, self.size), self.dtype)
        Q, R = np.linalg.qr(np.vstack([unit, below]))
        x = np.zeros((self.size, Y.shape[1]), self.dtype)
        for _ in range(2):
            rest = np.concatenate([Y - unit @ x, -below @ x])
            x += divide_by_triangle(R, Q.conj().T @ rest)
        return x.T, np.ascontiguousarray((Y - unit @ x).T)

    def reorthogonalise(self) -> None:
        """Take out of r what has come back of the active directions."""
        assert self._Q is not None
        k = self.size
        Q = self._Q[:k]
        inner = self._r @ Q.conj().T
        if self.is_damped:  # below r stands -D x
            inner -= (self.d * self.d * self.coef()) @ self.U[:k, :k].conj().T
        self._r -= inner @ Q
        self.t[:, :k] += inner
        self.rss = float(np.vdot(self._r, self._r).real)

    def remainders(self, columns: Array) -> tuple[Array, Array]:
        """corr and energy of a few columns from their projections, which keeps all digits."""
        k, Q = self.size, self.Q[: self.size]
        V = self.unit_columns(columns)
        below = np.zeros((self.d.size, columns.size), self.dtype)
        lower = (
            self.d[:, None] * self.U[:k, :k].T if self.is_damped else np.empty((0, k), self.dtype)
        )
        for _ in range(2):
            H = Q.conj() @ V + lower.conj().T @ below
            V -= Q.T @ H
            below -= lower @ H
        corr = self._r @ V.conj()
        if self.is_damped:
            corr -= (self.d * self.coef()) @ below.conj()
        return corr, square_sums(V) + square_sums(below)

    def make_room(self, columns: int) -> int:
        """Room for at least this many columns; what is there stays. Returns how many there is."""
        room = self.order.size
        if columns <= room:
            return room
        columns = min(max(columns, 2 * room), self.capacity)
        if self._Q is not None:
            self._Q = _larger(self._Q, (columns, self.problem.shape[0]))
        self.U = _larger(self.U, (columns, columns))
        self.t = _larger(self.t, (len(self.t), columns))
        self.order = _larger(self.order, (columns,))
        self.locked = _larger(self.locked, (columns,))
        if self.is_damped:
            self.damping = _larger(self.damping, (columns,))
        return columns

    # ------------------------------------------------------------------ step by step

    def add(self, columns: Sequence[int], again: bool = False) -> tuple[Array, Array, Array]:
        """Add columns in turn, those that don't depend on the active ones.

        `again`: they are of a set that has been active as a whole, which tells them from the others
        though they may have come in another order. Returns which came in, and ‖r‖² and coefficients
        after each of these.
        """
        k, count, candidates = self.size, len(columns), np.array(columns, np.int64)
        self.make_room(k + count)
        unit = np.ascontiguousarray(self.unit_columns(candidates).T)
        limits = (0.0, math.inf) if again else (self.tolerance.dependent, self.frail)
        taken, rss = np.empty(count, np.bool_), np.empty(count)
        X = np.empty((count, len(self.t), k + count), self.dtype)
        X[0, :, :k] = self.coef()
        added = self.kernels.add(
            self.Q, self.U, self.damping, self.t, self._r, k, unit, *limits, self.ridge,
            taken, rss, X,
        )  # fmt: skip
        if added:
            self.took(candidates[taken], rss[added - 1])
        return taken, rss[:added], X[:added]

    def took(self, columns: Iterable[int] | Array, rss: float) -> None:
        """These columns were added by a kernel."""
        k, added = self.size, np.asarray(columns)
        self.size = size = k + added.size
        self.order[k:size] = added
        self.locked[k:size] = False
        self._largest = max(self._largest, size)
        self.rss = float(rss)

    def took_without_basis(self, columns: Array, rss: float) -> None:
        """These columns were added by a kernel that has written U, t and r, but no basis."""
        self.took(columns, rss)
        self._Q = None

    def was_changed(self, size: int, rss: float, dropped: int) -> None:
        """A kernel has added and dropped columns, and turned the basis at once."""
        self.size, self.rss = size, rss
        self._turned += dropped
        self._largest = max(self._largest, size)

    def retreat(self, k: int, size: int) -> None:
        """Directions k..size, written by a kernel, are not to be: give r back their part."""
        self._r += self.t[:, k:size] @ self.Q[k:size]

    def drop(self, columns: Sequence[int]) -> Dropped:
        """Drop these columns."""
        given = np.array(columns, np.int64)
        return self._shrink(True, given.size, (0.0, math.inf, math.inf), given)[0]

    def shrink(
        self, by_loss: bool, steps: int, limits: tuple[float, float, float]
    ) -> tuple[Dropped, int]:
        """Drop what matters least, at most `steps` times; and why the kernel came back.

        limits = (columns allowed, loss allowed, ‖r‖² allowed).
        """
        if self._turned and self._is_worn():
            self.make(self._Q is not None)
        dropped, code = self._shrink(by_loss, steps, limits, np.empty(0, np.int64))
        if code == self.kernels.DRIFTED:
            self.make(self._Q is not None)
        return dropped, code

    def _shrink(
        self, by_loss: bool, steps: int, limits: tuple[float, float, float], given: Array
    ) -> tuple[Dropped, int]:
        """The same, or drop what is given; drift is the caller's concern."""
        k, tolerance = self.size, self.tolerance
        reflectors = np.empty((steps, k + 1), self.dtype)
        columns = np.empty(steps, np.int64)
        left, df = np.empty(steps), np.empty(steps)
        X = np.zeros((steps, len(self.t), k), self.dtype)
        share = tolerance.tie * (self._turned + 1)
        dropped, code, self._peak = self.kernels.shrink(
            self.U, self.damping, self.t, self.order, self.locked, k, self.rss, by_loss, steps,
            (*limits, tolerance.tie, tolerance.exact, self._peak, share), given,
            reflectors, columns, left, df, X,
        )  # fmt: skip
        if dropped:
            self.rss = float(left[dropped - 1])
            self._lost(reflectors[:dropped])
        df_of = df[:dropped] if self.is_damped else None
        return Dropped(columns[:dropped], left[:dropped], X[:dropped], df_of), code

    def revise(
        self, steps: int, least_rise: float, prior: Prior
    ) -> tuple[Array, Array, Array, Array, int]:
        """Delete or re-estimate damped columns, at most `steps` times (see `stepwise.revise`).

        Returns the columns (-1 - j where j was deleted), the rises of the evidence less price,
        ‖r‖² and posterior mean after each step, and why the kernel came back.
        """
        k, Q, tolerance = self.size, self.Q, self.tolerance
        turns = np.eye(k, dtype=self.dtype)
        columns = np.empty(steps, np.int64)
        rises, left = np.empty(steps), np.empty(steps)
        X = np.empty((steps, len(self.t), k), self.dtype)
        worn = tolerance.tie * (self._turned + 1)
        taken, self.size, code, self._peak = self.kernels.revise(
            turns, self.U, self.damping, self.t, self.order, self.locked, k,
            self.rss + self.penalty, steps,
            (least_rise, tolerance.tie, tolerance.trust, self.frail, self._peak, worn), prior,
            columns, rises, left, X,
        )  # fmt: skip
        if taken:
            Q[: self.size] = turns[: self.size] @ Q[:k]
            self._turned += taken
            self._settle()
        # n revisions at O(k²) pay for a factor made anew at O(n k²); a small rest costs little.
        few = 2 * self.size < self._largest
        if code == self.kernels.DRIFTED or few or self._turned > self._r.shape[1]:
            self.make()
        return columns[:taken], rises[:taken], left[:taken], X[:taken], code

    def change(self, i: int, goes: bool, prior: Prior) -> tuple[Array, Array, float]:
        """Take the column at position i out, or give it its best γ.

        Returns the direction q that changed, t of each target and f: corr += f t A*q,
        energy += f |A*q|².
        """
        k, Q = self.size, self.Q
        self.size, growth = self.kernels.change_alone(
            Q, self.U, self.damping, self.t, self.order, self.locked, k, i, goes, self.squares(),
            self.diagonal(), prior, np.empty(k + 1, self.dtype),
        )  # fmt: skip
        direction, t = Q[k - 1].copy(), self.t[:, k - 1 : k].copy()
        self._turned += 1
        self._settle()
        return direction, t, growth

    def is_unsure(self, i: int, prior: Prior) -> bool:
        """Whether a damped column must be measured before its best γ is known, or can be had."""
        diagonal, tolerance = self.diagonal(), self.tolerance
        unsure: bool = self.kernels.is_unsure_alone(
            self.squares()[i], diagonal[i], self.d[i], diagonal.sum(), prior, tolerance.trust,
            self.frail,
        )  # fmt: skip
        return unsure

    def merge(self, first: int, other: int) -> None:
        """Column `first` takes over the γ of its copy `other`, which goes."""
        i, gone = self._position(first), self._position(other)
        self.damping[i] = np.sum(np.square(self.damping[[i, gone]].astype(float)) ** -1.0) ** -0.5
        self._close_gap(gone)
        self.size -= 1
        self.make()

    def _position(self, j: int) -> int:
        """Where column j stands among the active ones."""
        return int(np.flatnonzero(self.columns == j)[0])

    def _close_gap(self, i: int) -> None:
        """What is known of the columns behind position i moves up."""
        last = self.size - 1
        for known in (self.order, self.locked, self.damping):
            known[i:last] = known[i + 1 : last + 1]

    def move_last_to(self, i: int) -> None:
        """The column that came last takes position i: it was there before, and left for a while."""
        k = self.size
        for known in (self.order, self.locked, self.damping):
            known[i:k] = np.roll(known[i:k], 1)
        self.U[:k, i:k] = np.roll(self.U[:k, i:k], 1, axis=1)

    def _settle(self) -> None:
        """r anew from a basis that has changed."""
        assert self._Q is not None
        self._r = self.problem.Y - self.t[:, : self.size] @ self._Q[: self.size]
        self.reorthogonalise()

    @property
    def objective(self) -> float:
        """‖r‖² + ‖D x‖²: what gains and losses are of."""
        return self.rss + self.penalty if self.is_damped else self.rss

    @property
    def penalty(self) -> float:
        """‖D x‖²; for Sparse Bayesian Learning, ‖r‖² + ‖D x‖² = y*R y = σ² y*C⁻¹y."""
        weighted = self.d * self.coef()
        return float(np.vdot(weighted, weighted).real)

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
            self.kernels.turn(target, reflectors, k)
        if not few:
            Q[:first] = target @ Q[:first]
        self._r += self.t[:, self.size : first] @ Q[self.size : first]
        self._turns.clear()


def _larger(old: Array, shape: tuple[int, ...]) -> Array:
    """A larger array that begins with the old one."""
    new = np.zeros(shape, old.dtype)
    new[tuple(slice(size) for size in old.shape)] = old
    return new
