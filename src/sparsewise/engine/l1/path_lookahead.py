"""Breakpoints of an ℓ1 path, predicted from a few columns and verified on all in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.kernels import load_homotopy
from sparsewise.problem.problem import Problem

POOL_WIDTH = 4
"""Candidate columns per predicted breakpoint."""

FEW = 32
"""Checking this many columns one by one costs less than a pass over A."""


class PathLookahead:
    """The next breakpoints if only the columns of a pool could enter.

    Between breakpoints every c_j is linear in λ, and so are the weights: a column outside the pool
    that is within its weight at two breakpoints is so in between. So if c = Aᵀr is within the
    weights at the first k predicted breakpoints, these are the first k of the full path.

    Parameters
    ----------
    data : Problem
        The design and the target.
    state : State
        The current point of the path (not modified), with room for the predicted breakpoints.
    steps : int
        Number of breakpoints to predict.
    """

    def __init__(self, data: Problem, state: Any, steps: int) -> None:
        self._data, self._start = data, state
        self._size = int(state.count[load_homotopy().SIZE])
        self.pool = self._candidates(POOL_WIDTH * steps)
        self._W = data.design.as_contiguous(self.pool, state.corr.dtype)
        self._scale = data.inverse_norms[self.pool]

    def _candidates(self, width: int) -> Array:
        """The active columns and the inactive ones closest to their weights, ascending."""
        s, kernels = self._start, load_homotopy()
        with np.errstate(divide="ignore", invalid="ignore"):
            near = np.where(s.state == kernels.OPEN, np.abs(s.corr) / s.weight, -1.0)
        near[s.state == kernels.PARKED] = np.inf
        width = min(width, near.size)
        top = np.argpartition(near, near.size - width)[near.size - width :]
        return np.union1d(top[near[top] >= 0], s.order[: self._size])

    def follow(self, room: int, bound: float, limits: tuple[float, ...]) -> tuple[Any, int]:
        """The state after `room` - 1 breakpoints, and the exit code.

        Columns are numbered by their positions in the pool.
        """
        s, pool, kernels = self._start, self.pool, load_homotopy()
        order = s.order.copy()
        order[: self._size] = np.searchsorted(pool, s.order[: self._size])
        new = s._replace(
            Q=s.Q.copy(), U=s.U.copy(), t=s.t.copy(), r=s.r.copy(), order=order,
            locked=s.locked.copy(), corr=s.corr[pool], weight=s.weight[pool],
            delta=s.delta[pool], sign=s.sign[pool], state=s.state[pool], b=s.b[pool],
            at=s.at.copy(), count=s.count.copy(), columns=np.empty(room, np.int64),
            left=np.empty(room), squares=np.empty(room), X=np.zeros_like(s.X[:room]),
        )  # fmt: skip
        code = kernels.follow(self._W, self._scale, new, kernels.LOOK, bound, limits)
        return new, int(code)

    def count_valid(self, new: Any, r: Array, corr: Array, slack: float) -> int:
        """How many of the predicted breakpoints, and the end, precede the entry of another column.

        r and corr are those of the end; slack is the relative rounding error of c.
        """
        s, kernels = self._start, load_homotopy()
        outside = s.state == kernels.OPEN
        outside[self.pool] = False
        self._others = np.flatnonzero(outside)
        self._R = np.vstack([residual(s), self._residuals(new), r])
        last = len(self._R) - 1
        left = np.array([1.0, *(new.left[: last - 1] / s.at[kernels.LEFT]), 0.0])
        left[last] = new.at[kernels.LEFT] / s.at[kernels.LEFT]
        self._left, self._slack = left, slack
        self._sizes = {0: np.abs(s.corr[self._others]), last: np.abs(corr[self._others])}
        return (self._first_violation(0, last) or last + 1) - 1

    def _first_violation(self, first: int, last: int) -> int:
        """The first point after `first` at which another column exceeds its weight; 0 if none.

        c_j differs from its linear interpolation between the two points by at most the distance of
        r from its own. If this bound leaves many columns uncertain, bisect: compute c at the middle
        point. If few, check them one by one.
        """
        s, left, others = self._start, self._left[first : last + 1, None], self._others
        limits = (s.weight[others] + (1 - left) * s.delta[others]) * (1 + self._slack)
        limits += self._slack * s.at[load_homotopy().LENGTH]
        if last == first + 1:
            return last if (self._sizes[last] > limits[1]).any() else 0
        span = float(left[0, 0] - left[-1, 0])
        share = (left - left[-1]) / span if span > 0 else np.zeros_like(left)
        R = self._R[first : last + 1]
        deviation = np.linalg.norm(R - (share * R[0] + (1 - share) * R[-1]), axis=1)
        upper = share * self._sizes[first] + (1 - share) * self._sizes[last] + deviation[:, None]
        uncertain = np.flatnonzero((upper[1:] > limits[1:]).any(axis=0))
        if uncertain.size > FEW:
            middle = (first + last) // 2
            self._sizes[middle] = np.abs(self._data.correlate(self._R[middle])[others])
            return self._first_violation(first, middle) or self._first_violation(middle, last)
        inner = R[1:] @ self._data.unit_columns(others[uncertain])
        violated = (np.abs(inner) > limits[1:, uncertain]).any(axis=1)
        return first + 1 + int(np.argmax(violated)) if violated.any() else 0

    def _residuals(self, new: Any) -> Array:
        """r at every breakpoint."""
        done = int(new.count[load_homotopy().BENDS])
        coefs = np.zeros((done, self.pool.size), self._data.y.dtype)
        order = np.searchsorted(self.pool, self._start.order[: self._size]).tolist()
        for row, column in enumerate(new.columns[:done].tolist()):
            if column >= 0:
                order.append(column)
            else:
                order.remove(-1 - column)
            coefs[row, order] = new.X[row, : len(order)]
        return np.asarray(self._data.y - (coefs * self._scale) @ self._W.T)


def residual(state: Any) -> Array:
    """r = r_LS + Q e, e = Uᵀ(s ω)."""
    k = int(state.count[load_homotopy().SIZE])
    active = state.order[:k]
    e = state.U[:k, :k] @ (state.sign[active] * state.weight[active])
    return np.asarray(state.r[0] + e @ state.Q[:k], state.r.dtype)
