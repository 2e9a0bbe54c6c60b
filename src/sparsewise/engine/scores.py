"""The score of every column: corr = A*r and energy = ‖(I - P_S) a_j‖², kept by one pass a step.

Additions and deletions don't touch the scores until these are needed: directions that came in lie
at the end of Q, those that left lie right behind it, and one block pass takes in either. The
reflections of a backward stage reach Q the same way; a pure backward run never makes a Q at all.

An energy that has fallen below `trust`·√(energy when last measured) has lost half of its digits:
the column is measured again from its projection, at O(nk), so that a column is dependent only if
it really is. corr is recomputed once ‖r‖ has fallen a thousandfold. Each addition computes the
energy of its column exactly and compares: a difference that rounding can't explain recomputes all
scores (DRIFTED). Scores within a relative `tie` count as equal: the lowest column wins, on every
machine.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise.engine.factor import Factor

BLOCK = 32
"""Most directions taken through A in one pass."""


class Scores:
    """What each column would be worth, for unit columns and a unit target.

    When direction q comes in (goes out), with p = A*q and t = q*y,

        corr -= t p,  energy -= |p|²        (corr += t p,  energy += |p|²)

    and gain = |corr|²/energy is the fall of ‖r‖² if a column is added; with a ridge,
    |corr|²/(energy + ridge) that of ‖r‖² + ridge ‖x‖². Rounding errors are watched: an energy that
    has fallen too far is measured anew from the column itself, corr is made anew when ‖r‖ has
    fallen too far, and both when a step shows that they have drifted.
    corr has one row a target; energies are the same for all.

    Parameters
    ----------
    factor : Factor
        The active columns.

    Attributes
    ----------
    state : ndarray of int8
        Whether each column is open, active, excluded, zero or dependent.
    shifts : int
        How often directions have changed their length since the scores were last made.
    """

    def __init__(self, factor: Factor) -> None:
        self._kernels = kernels = factor.kernels
        self._factor = factor
        self._problem = factor.problem
        self._tolerance = factor.tolerance
        self.state = np.zeros(self._problem.shape[1], np.int8)
        if self._problem.design.measured.extreme:
            self.state[self._problem.inverse_norms == 0] = kernels.NULL
        self._known: int | None = None
        self._epoch = -1
        self._stale = False
        self.shifts = 0

    # What kernels take: valid after `sync`.
    corr: Array
    energy: Array
    floor: Array
    faded: float

    def values(self, by_gain: bool) -> Array:
        """|corr|²/(energy + ridge), or |corr|²; -1 where a column can't be added."""
        self.sync()
        out = np.empty(self.energy.size, self.energy.dtype)
        self._kernels.scores_alone(
            self.corr, self.energy, self.state, by_gain, self._tolerance.dependent, out,
            self._factor.ridge,
        )  # fmt: skip
        return out

    def best(self, by_gain: bool) -> tuple[int, Array]:
        """The column of best score (-1: none can be added), and all scores."""
        out = np.empty(self.energy.size, self.energy.dtype)
        j = self._kernels.best_open_alone(
            self.corr, self.energy, self.state, by_gain, self._tolerance.dependent,
            self._tolerance.tie, out, self._factor.ridge,
        )  # fmt: skip
        return int(j), out

    # ------------------------------------------------------------------ keeping up

    def knows(self, directions: int) -> None:
        """The first so many directions of the basis are in the scores."""
        self._known = directions

    def distrust(self, everything: bool = False) -> None:
        """Some energies (or all scores) are to be measured before they are used again."""
        if everything:
            self._known = None
        self._stale = True

    def reopen(self, columns: Array) -> None:
        """These columns have left the model."""
        self.state[columns] = self._kernels.OPEN
        if self._known is not None:
            # Their scores went along while they were active, and have the errors of those steps.
            self.floor[columns] = self._tolerance.trust
            self._stale = True

    def before_adding(self) -> None:
        """Directions that left lie where new ones are to be written: take them in first."""
        if self._pending() > 0:
            self.sync()

    def before_dropping(self) -> None:
        """Directions are about to be turned: take in those that are new first."""
        if self._pending() < 0:
            self.sync()

    def _pending(self) -> int:
        """Directions that have left (positive) or come (negative) since the scores were made."""
        if self._known is None or self._epoch != self._factor.epoch:
            return 0
        return self._known - self._factor.size

    def sync(self) -> None:
        """Bring corr and energy up to date: one block pass for all that has changed."""
        factor = self._factor
        _ = factor.Q  # turned, if it was to be
        k = factor.size
        pending = self._pending()
        if self._known is None or self._epoch != factor.epoch or pending > k + 1:
            self._measure_all()
        elif pending > 0:
            self._take_out(k, k + pending)
        elif pending < 0:
            self._take_in(k + pending, k)
        self._known = k
        if factor.rss < self.faded:
            factor.reorthogonalise()
            self._correlate()
        if self._stale:
            low = (self.energy < self.floor) & (self.state == self._kernels.OPEN)
            self._measure(np.flatnonzero(low))
            self._stale = False

    def project(self, first: int, last: int) -> Array:
        """(A*q)ᵀ for directions first..last, one row each: one pass over A."""
        if last == first:
            return np.empty((0, self._problem.shape[1]), self._factor.dtype)
        return self._problem.rmatmat_rows(self._factor.Q[first:last])

    def _take_in(self, first: int, last: int) -> None:
        for start, stop in _blocks(first, last):
            P = self.project(start, stop) * self._problem.inverse_norms
            for k, p in enumerate(P, start):
                self._lower(p, self._factor.t, k)

    def _take_out(self, first: int, last: int) -> None:
        for start, stop in _blocks(first, last):
            self._kernels.restore(
                self.project(start, stop), self._problem.inverse_norms, self._factor.t, start,
                self.corr, self.energy, self.floor, self.state, self._tolerance.dependent,
                self._tolerance.trust,
            )  # fmt: skip
        self._stale = True  # a dependent column may have come free

    def _lower(self, p: Array, t: Array, k: int) -> None:
        """Direction k, of which p = A*q, has come in; rounding may show in what it leaves."""
        low = self._kernels.lower_alone(p, t, k, self.corr, self.energy, self.floor, self.state)
        self._stale = self._stale or low > 0

    def shift(self, q: Array, t: Array, f: float) -> None:
        """A direction has become shorter (f > 0) or longer: corr += f t A*q, energy += f |A*q|².

        t has a row for each target.
        """
        root = abs(f) ** 0.5
        p = self._problem.rmatvec(q) * root
        if f > 0:
            self._kernels.restore(
                p[None], self._problem.inverse_norms, t * t.real.dtype.type(root), 0, self.corr,
                self.energy, self.floor, self.state, self._tolerance.dependent,
                self._tolerance.trust,
            )  # fmt: skip
        else:
            p *= self._problem.inverse_norms
            self._lower(p, t * t.real.dtype.type(root), 0)
        self._known = self._factor.size
        self.shifts += 1
        if self.shifts == BLOCK:
            self.distrust(everything=True)

    # ------------------------------------------------------------------ from scratch

    def _correlate(self) -> None:
        """corr = A*r: one pass."""
        self.corr = self._problem.correlate_rows(self._factor.r)
        self.faded = self._tolerance.faded * self._factor.rss

    def _measure_all(self) -> None:
        """A pass for corr, and one for each block of the basis."""
        problem, k = self._problem, self._factor.size
        inverse = problem.inverse_norms
        self._epoch = self._factor.epoch
        self.shifts = 0
        self.energy = np.empty(inverse.size, inverse.dtype)  # empty_like takes longer
        self.floor = np.empty(inverse.size, inverse.dtype)
        if k == 0 and plan.correlates_in_a_loop(problem.design.shape):
            self._open_small()
            return
        self._correlate()
        self.energy.fill(1.0)
        self.floor.fill(self._tolerance.trust)
        if k:
            for start, stop in _blocks(0, k):
                P = self.project(start, stop) * problem.inverse_norms
                self.energy -= np.square(np.abs(P)).sum(axis=0)
            self.state[self.state == self._kernels.DEPENDENT] = self._kernels.OPEN
            self._stale = True

    def _open_small(self) -> None:
        """The scores of an empty model on a small matrix, in one compiled call."""
        problem, factor, tolerance = self._problem, self._factor, self._tolerance
        r = factor.r
        self.corr = np.empty((len(r), self.energy.size), factor.dtype)
        self._kernels.open_scores(
            problem.design.as_contiguous(None, factor.dtype), problem.inverse_norms, r, self.corr,
            self.energy, self.floor, tolerance.trust,
        )  # fmt: skip
        problem.passes.add()
        self.faded = tolerance.faded * factor.rss

    def _measure(self, columns: Array) -> None:
        """A few columns from their projections, which keeps all digits."""
        tolerance = self._tolerance
        for start, stop in _blocks(0, columns.size):
            block = columns[start:stop]
            corr, energy = self._factor.remainders(block)
            self.corr[:, block] = corr
            self.energy[block] = energy
            self.floor[block] = np.minimum(tolerance.trust * np.sqrt(energy), energy / 4)
            self.state[block[energy <= tolerance.dependent]] = self._kernels.DEPENDENT


def _blocks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """first..last in pieces of at most BLOCK."""
    for start in range(first, last, BLOCK):
        yield start, min(start + BLOCK, last)
