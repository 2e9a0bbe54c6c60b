"""The exact best subset of each size, by leaps and bounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.progress import waiting
from sparsewise.design.base import square_sums
from sparsewise.design.unit_columns import inverse_of_triangle, precise_unit_columns
from sparsewise.kernels import load_leaps
from sparsewise.problem.problem import Problem

if TYPE_CHECKING:
    from sparsewise.kernels.leaps import Scratch, Stack

MOST_COLUMNS = 200
"""With more columns a search would never end (and the stack would take gigabytes)."""

MOST_CONTENDERS = 64
"""Most subsets kept that are about as good as the best; further ties are dropped."""

ROUNDING = 64
"""Error of the data and of the search, in units of eps.

Dependent columns have no invertible triangle, so a ridge of this size is added. It raises ‖r‖² by
(64 eps ‖x‖)², as rounding errors of the data might.
"""

CLOSE = 1000 * ROUNDING
"""Distance from the span of the others, in units of eps, below which a column is dependent."""

STRETCH = 5e7
"""About how many multiplications (m³ per node) pass between two checks of the clock."""


def can_search(data: Problem) -> bool:
    """Whether there are few enough columns for an exact search."""
    return candidates(data).size <= MOST_COLUMNS


class Search:
    """A search among all subsets of a problem's columns.

    Parameters
    ----------
    data : Problem
        Design, target or targets (a subset fits as well as it fits all of them, Σ_t‖r_t‖²), and
        constraints: columns that every subset has, and that none has.
    most : int
        The largest size of interest.
    incumbent : ndarray of int, optional
        A subset of `most` columns to beat: then only this size is searched, and subsets that are
        about as good are kept (`contenders`).

    Attributes
    ----------
    done : bool
        Whether every subset was evaluated or ruled out.
    improved : bool
        Whether a better subset than the incumbent was found.
    """

    def __init__(
        self,
        data: Problem,
        most: int,
        *,
        incumbent: Array | None = None,
    ) -> None:
        include = data.constraints.include
        self.columns = candidates(data)
        data.begin()
        self._leaps = load_leaps(self.columns.size)
        self._R, self._t, self._rss, self._ridge = _root(data, self.columns)
        self.most = min(most, self.columns.size)
        self.least = max(len(include), 1) if incumbent is None else self.most
        self._rounding = ROUNDING * data.tolerances_in(self._R.dtype).eps
        self._data_rounding = ROUNDING * data.tolerances.eps
        self._dependent = data.tolerances.dependent + self._ridge**2
        self._stack, self._scratch = self._begin(len(include), incumbent is not None)
        if incumbent is not None:
            rss, size = self._fit(incumbent)
            self._rounding = self._data_rounding * (1 + size)
            self._keep(incumbent, rss)
        elif self.columns.size and not len(include):
            # Subsets of one column need no search: evaluate them all.
            self.offer(self.columns[[np.argmin(self._of_single_columns())]])
        self._first_to_beat = self._to_beat(slice(self.most, self.most + 1))
        self._depth = 0 if self.columns.size else -1
        if self.columns.size:
            self._leaps.enter(self._stack, 0, *self._limits, self._scratch)

    @property
    def done(self) -> bool:
        """Whether every subset was evaluated or ruled out."""
        return self._depth < 0

    @property
    def improved(self) -> bool:
        """Whether a better subset than the incumbent was found."""
        return bool((self._stack.best[self.most] < self._first_to_beat).any())

    def run(self, seconds: float | None, ask: Callable[[], bool | None] | None = None) -> bool:
        """Search for at most so many seconds (None: to the end); return whether it is done.

        `ask` is called now and then; returning True stops.
        """
        self._advance(0)  # compiles if needed, outside the time limit
        nodes = 1 + int(STRETCH / self.columns.size**3) if self.columns.size else 1
        end = math.inf if seconds is None else time.monotonic() + seconds
        with waiting("searching all subsets") as wait:
            while not self.done and time.monotonic() < end:
                self._advance(nodes)
                wait.update(nodes, lambda: self._so_far(wait.done))
                if ask is not None and ask():
                    break
        return self.done

    def _so_far(self, nodes: float) -> str:
        """The state of the search as text."""
        text = f"searching: {nodes:,.0f} branches"
        proved, low, lowest = self.proved(), self.lower_bounds(), self.lowest()
        gap = float(np.max(1 - low / lowest, where=(lowest > 0) & ~proved, initial=0.0))
        if len(proved) > 1:
            text += f", {proved.sum()} of {len(proved)} sizes proved"
        return f"{text}, gap {gap:.1%}"

    def subset(self, size: int) -> tuple[int, ...]:
        """The best subset of this size found so far, ascending."""
        return self._named(self._stack.sets[size, :size])

    def contenders(self) -> list[tuple[int, ...]]:
        """Subsets about as good as the best: ascending columns, in lexicographic order."""
        met = self._stack.met[: self._stack.count[0], : self.most]
        return sorted({self.subset(self.most), *map(self._named, met)})

    def lower_bounds(self) -> Array:
        """For each size from `least` to `most`, a lower bound of every ‖r‖² (unit target)."""
        return np.minimum(self._open_bounds(), self._stack.doubt[self._sizes])

    def proved(self) -> Array:
        """For each size, whether no subset can beat the best by more than rounding."""
        return np.asarray(self.lower_bounds() >= self._to_beat(self._sizes))

    def lowest(self) -> Array:
        """For each size, the lowest ‖r‖² found so far (unit target)."""
        return self._stack.best[self._sizes]

    def in_doubt(self) -> Array:
        """For each size, whether nearly dependent columns may be the best."""
        return np.asarray(self._stack.doubt[self._sizes] < self._to_beat(self._sizes))

    def _to_beat(self, sizes: slice) -> Array:
        """The ‖r‖² that a subset of each size must undercut to be better by more than rounding."""
        best = self._stack.best[sizes]
        return np.where(np.isinf(best), np.inf, np.maximum(best - self._margin(best), 0.0))

    def _margin(self, rss: Array) -> Array:
        """The error of ‖r‖² from rounding of ‖r‖; 0 for infinite values."""
        norm = np.sqrt(np.where(np.isinf(rss), 0.0, rss))
        return 2 * self._rounding * norm + self._rounding**2

    @property
    def _sizes(self) -> slice:
        return slice(self.least, self.most + 1)

    @property
    def _limits(self) -> tuple[int, int, float, float, float]:
        return self.least, self.most, self._rounding, self._dependent, self._ridge

    def _open_bounds(self) -> Array:
        """For each size, the lowest bound of the open branches, or the best if lower."""
        stack, bounds = self._stack, self._stack.best.copy()
        for depth in range(self._depth + 1):
            width, rss = stack.width[depth], stack.rss[depth]
            for i in range(stack.fixed[depth], stack.next[depth] + 1):
                below = bounds[i + 1 : width]
                bound = max(rss + stack.loss[depth, i], stack.floor[depth])
                np.minimum(below, bound, out=below)
        bounds[:2] = stack.best[:2]  # all single columns were evaluated
        return bounds[self._sizes]

    def _advance(self, nodes: int) -> None:
        self._depth = self._leaps.search(
            self._stack, self._depth, nodes, *self._limits, self._scratch
        )

    def _begin(self, fixed: int, with_ties: bool) -> tuple[Stack, Scratch]:
        """A stack with the root on it, and scratch space."""
        m, kind = self.columns.size, self._R.dtype
        stack = self._leaps.Stack(
            R=np.zeros((m, m, m), kind),
            t=np.zeros((m, *self._t.shape), kind),
            columns=np.zeros((m, m), np.int64),
            width=np.full(m, m),
            fixed=np.full(m, fixed),
            rss=np.full(m, self._rss),
            loss=np.zeros((m, m)),
            floor=np.zeros(m),
            next=np.zeros(m, np.int64),
            best=np.full(m + 1, np.inf),
            sets=np.zeros((m + 1, m), np.int64),
            doubt=np.full(m + 1, np.inf),
            met=np.zeros((MOST_CONTENDERS if with_ties else 0, m), np.int64),
            count=np.zeros(1, np.int64),
        )
        if m:
            stack.R[0], stack.t[0], stack.columns[0] = self._R, self._t, np.arange(m)
        scratch = self._leaps.Scratch(np.zeros((m, m), kind), np.zeros(m), np.zeros(m, np.int64))
        return stack, scratch

    def offer(self, columns: Array) -> None:
        """Offer a subset found elsewhere: it becomes the best of its size if it is."""
        rss, _ = self._fit(columns)
        if rss < self._stack.best[columns.size]:
            self._keep(columns, rss)

    def _keep(self, columns: Array, rss: float) -> None:
        self._stack.best[columns.size] = rss
        self._stack.sets[columns.size, : columns.size] = self._places(columns)

    def _fit(self, columns: Array) -> tuple[float, float]:
        """‖r‖² of a subset, and the size of its coefficients."""
        part = self._R[:, self._places(columns)]
        x = np.linalg.lstsq(part, self._t.T, rcond=None)[0]
        rest = self._t.T - part @ x
        return self._rss + float(np.vdot(rest, rest).real), float(np.linalg.norm(x))

    def _of_single_columns(self) -> Array:
        """‖r‖² of each column by itself."""
        rests = (t[:, None] - self._R * (self._R.conj().T @ t) for t in self._t)
        return np.sum([square_sums(rest) for rest in rests], axis=0)

    def _places(self, columns: Array) -> Array:
        """The positions of these columns in the root."""
        order = np.argsort(self.columns)
        return order[np.searchsorted(self.columns, columns, sorter=order)]

    def _named(self, places: Array) -> tuple[int, ...]:
        """The columns in these positions, ascending."""
        return tuple(np.sort(self.columns[places]).tolist())


def candidates(data: Problem) -> Array:
    """The columns a subset can have: first the included ones; no excluded or zero columns."""
    include = data.constraints.include
    constrained = {*include, *data.constraints.exclude}
    free = np.flatnonzero(data.inverse_norms > 0).tolist()
    return np.array([*include, *(j for j in free if j not in constrained)], np.int64)


def _root(data: Problem, columns: Array) -> tuple[Array, Array, float, float]:
    """Triangle, targets (rows) and ‖r‖² of all columns in double precision, and the ridge.

    Only dependent columns need a ridge. More targets than columns are reduced to a triangle, which
    has their inner products.
    """
    kind = np.result_type(data.dtype, np.float64)
    m, targets = columns.size, data.Y.astype(kind)
    table = np.column_stack([precise_unit_columns(data.design, columns), targets.T])
    R: Any = np.linalg.qr(table, mode="r")
    eps, ridge = data.tolerances.eps, 0.0
    if _least_distance(R, m) < CLOSE * eps:
        ridge = ROUNDING * eps
        table = np.concatenate([R, ridge * np.eye(m, m + len(targets), dtype=kind)])
        R = np.linalg.qr(table, mode="r")
    rss = float(np.square(np.abs(R[m:, m:])).sum())
    t: Any = R[:m, m:].T
    t = np.linalg.qr(t, mode="r") if len(t) > m else t.copy()
    return np.ascontiguousarray(R[:m, :m]), t, rss, ridge


def _least_distance(R: Array, m: int) -> float:
    """The smallest distance of one of the first m columns from the span of the others."""
    if len(R) < m:
        return 0.0
    if np.abs(np.diagonal(R)[:m]).min(initial=1.0) < np.finfo(float).eps:
        return 0.0
    U = inverse_of_triangle(R[:m, :m])
    return 1 / float(np.sqrt(np.square(np.abs(U)).sum(axis=1)).max(initial=1.0))
