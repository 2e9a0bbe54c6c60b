"""The exact best subset of each size, by leaps and bounds."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsewise.compiled import load_leaps
from sparsewise.design.base import Array
from sparsewise.design.unit_columns import precise_unit_columns
from sparsewise.problem import Problem
from sparsewise.tolerances import tolerances

if TYPE_CHECKING:
    from sparsewise.compiled.leaps import Scratch, Stack

MOST_COLUMNS = 200
"""With more columns there is no hope of an end (and the stack would take gigabytes)."""

RIDGE = 1e-8
"""Weight of the rows that let dependent columns have a triangle: ‖r‖² grows by RIDGE² ‖x‖²."""

STRETCH = 5e7
"""About how many multiplications (m³ a node) there are between two looks at the clock."""


def can_search(data: Problem) -> bool:
    """Whether A is narrow enough for an exact search."""
    return data.shape[1] <= MOST_COLUMNS


class Search:
    """A search among all subsets of a problem's columns.

    Parameters
    ----------
    data : Problem
        Design and target.
    most : int
        The largest size of interest.
    include, exclude : sequence of int
        Columns that every subset has, and that none has.
    incumbent : ndarray of int, optional
        A subset of `most` columns to be beaten: then no other size is looked at.

    Attributes
    ----------
    done : bool
        Whether every subset was looked at or ruled out.
    improved : bool
        Whether something better than the incumbent was found.
    """

    def __init__(
        self,
        data: Problem,
        most: int,
        *,
        include: Sequence[int] = (),
        exclude: Sequence[int] = (),
        incumbent: Array | None = None,
    ) -> None:
        self._leaps = load_leaps()
        forced, barred = list(include), {*include, *exclude}
        free = np.flatnonzero(data.inverse_norms > 0).tolist()
        self.columns = np.array([*forced, *(j for j in free if j not in barred)], np.int64)
        self._R, self._t, self._rss, self._ridge = _root(data, self.columns)
        self.most = min(most, self.columns.size)
        self.least = max(len(forced), 1) if incumbent is None else self.most
        self._rounding = 64 * tolerances(self._R.dtype).eps
        self._data_rounding = 64 * tolerances(data.y.dtype).eps
        self._dependent = tolerances(data.y.dtype).dependent + self._ridge**2
        self._stack, self._scratch = self._begin(len(forced))
        self._to_beat = math.inf
        if incumbent is not None:
            self._must_be_beaten(incumbent)
        self._depth = 0 if self.columns.size else -1
        if self.columns.size:
            limits = (self.least, self.most, self._dependent)
            self._leaps.enter(self._stack, 0, *limits, self._scratch)

    @property
    def done(self) -> bool:
        """Whether every subset was looked at or ruled out."""
        return self._depth < 0

    @property
    def improved(self) -> bool:
        """Whether something better than the incumbent was found."""
        return bool(self._stack.best[self.most] < self._to_beat)

    def run(self, seconds: float | None) -> bool:
        """Search, at most so long (None: to the end); return whether all is done."""
        self._go_on(0)  # compiles, where that is still to be done: not the caller's time
        nodes = 1 + int(STRETCH / self.columns.size**3) if self.columns.size else 1
        end = math.inf if seconds is None else time.monotonic() + seconds
        while not self.done and time.monotonic() < end:
            self._go_on(nodes)
        return self.done

    def subset(self, size: int) -> tuple[int, ...]:
        """The best subset of this size found so far, ascending."""
        return tuple(np.sort(self.columns[self._stack.sets[size, :size]]).tolist())

    def lower_bounds(self) -> Array:
        """For each size from `least` to `most`, what no subset's ‖r‖² is below (unit target)."""
        stack, bounds = self._stack, self._stack.best.copy()
        for depth in range(self._depth + 1):
            width, rss = stack.width[depth], stack.rss[depth]
            for i in range(stack.fixed[depth], stack.next[depth] + 1):
                below = bounds[i + 1 : width]
                np.minimum(below, rss + stack.loss[depth, i], out=below)
        return bounds[self.least : self.most + 1]

    def _go_on(self, nodes: int) -> None:
        self._depth = self._leaps.search(
            self._stack, self._depth, nodes, self.least, self.most, self._rounding,
            self._dependent, self._scratch,
        )  # fmt: skip

    def _begin(self, fixed: int) -> tuple[Stack, Scratch]:
        """A stack with the root on it, and room to work in."""
        m, kind = self.columns.size, self._R.dtype
        stack = self._leaps.Stack(
            R=np.zeros((m, m, m), kind),
            t=np.zeros((m, m), kind),
            columns=np.zeros((m, m), np.int64),
            width=np.full(m, m),
            fixed=np.full(m, fixed),
            rss=np.full(m, self._rss),
            loss=np.zeros((m, m)),
            next=np.zeros(m, np.int64),
            best=np.full(m + 1, np.inf),
            sets=np.zeros((m + 1, m), np.int64),
        )
        if m:
            stack.R[0], stack.t[0], stack.columns[0] = self._R, self._t, np.arange(m)
        scratch = self._leaps.Scratch(np.zeros((m, m), kind), np.zeros(m), np.zeros(m, np.int64))
        return stack, scratch

    def offer(self, columns: Array) -> None:
        """A subset found elsewhere, as the best of its size unless a better one is known."""
        rss, _ = self._fit(columns)
        if rss < self._stack.best[columns.size]:
            self._keep(columns, rss)

    def _must_be_beaten(self, columns: Array) -> None:
        """Begin with a subset to be beaten by more than rounding and the ridge can make up."""
        rss, size = self._fit(columns)
        error = self._data_rounding * (1 + size)
        slack = 1e-9 * rss + 2 * error * math.sqrt(rss) + error**2
        self._to_beat = max(rss - slack - (self._ridge * size) ** 2, 0.0)
        self._keep(columns, self._to_beat)

    def _keep(self, columns: Array, rss: float) -> None:
        self._stack.best[columns.size] = rss
        self._stack.sets[columns.size, : columns.size] = self._places(columns)

    def _fit(self, columns: Array) -> tuple[float, float]:
        """‖r‖² of a subset, and the size of its coefficients."""
        part = self._R[:, self._places(columns)]
        x = np.linalg.lstsq(part, self._t, rcond=None)[0]
        rest = self._t - part @ x
        return self._rss + float(np.vdot(rest, rest).real), float(np.linalg.norm(x))

    def _places(self, columns: Array) -> Array:
        """Where these columns stand in the root."""
        order = np.argsort(self.columns)
        return order[np.searchsorted(self.columns, columns, sorter=order)]


def _root(data: Problem, columns: Array) -> tuple[Array, Array, float, float]:
    """Triangle, target and ‖r‖² of all columns in double precision; and the ridge.

    Only dependent columns need one.
    """
    kind = np.result_type(data.y.dtype, np.float64)
    m = columns.size
    table = np.column_stack([precise_unit_columns(data.design, columns), data.y.astype(kind)])
    R: Any = np.linalg.qr(table, mode="r")
    ridge = 0.0
    if len(R) < m or np.abs(np.diagonal(R)[:m]).min(initial=1.0) < RIDGE:
        ridge = RIDGE
        table = np.concatenate([R, ridge * np.eye(m, m + 1, dtype=kind)])
        R = np.linalg.qr(table, mode="r")
    rss = float(np.square(np.abs(R[m, m]))) if len(R) > m else 0.0
    return np.ascontiguousarray(R[:m, :m]), R[:m, m].copy(), rss, ridge
