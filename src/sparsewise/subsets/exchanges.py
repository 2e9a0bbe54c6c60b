"""Exchanges of one column of a support for another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import square_sums
from sparsewise.design.unit_columns import projections
from sparsewise.subsets.fit import Fit

BLOCK = 1 << 16
"""About how many exchanges are looked at together."""

MOST_TIES = 64
"""More exchanges that fit as well are not looked at: nobody would read them."""

CLEARLY = 1e-2
"""Columns that are dependent at this part of what makes them so may be, for all that is known."""


class Swap(NamedTuple):
    """An exchange of one column for another, and by how much ‖r‖² falls."""

    out: int
    into: int
    fall: float

    def columns_after(self, columns: Array) -> tuple[int, ...]:
        """The columns after the exchange, ascending."""
        return tuple(sorted({*columns.tolist(), self.into} - {self.out}))


class Exchanges(NamedTuple):
    """What all exchanges of one column come to.

    Attributes
    ----------
    best : Swap or None
        The one that lowers ‖r‖² most, if any does.
    settled : bool
        Whether all of them clearly raise it.
    ties : list of Swap
        Those that leave it as it is, for all that rounding can tell.
    """

    best: Swap | None
    settled: bool
    ties: list[Swap]


class Change(NamedTuple):
    """A support after one column came, went or was exchanged, and its loss, ‖r‖²."""

    columns: tuple[int, ...]
    loss: float


def changes_of_one(fit: Fit) -> Iterator[Change]:
    """The addition, the deletion and the exchange of one column that leave the least ‖r‖².

    Each only if there is one; ties go to the lowest column.
    """
    if fit.dependent:
        return
    loss, columns, tie = fit.norm**2, fit.columns.tolist(), fit.tolerance.tie
    gains = _gains(fit)
    if (top := gains.max(initial=0.0)) > 0:
        j = int(np.argmax(gains >= top * (1 - tie)))
        yield Change(tuple(sorted([*columns, int(fit.others[j])])), loss - float(gains[j]))
    if fit.loose.any():
        losses = fit.squares / square_sums(fit.U.conj().T)
        losses[~fit.loose] = np.inf
        i = int(np.argmax(losses <= losses.min() * (1 + tie)))
        yield Change((*columns[:i], *columns[i + 1 :]), loss + float(losses[i]))
    if (swap := exchanges_of_one(fit).best) is not None:
        yield Change(swap.columns_after(fit.columns), loss - swap.fall)


def _gains(fit: Fit) -> Array:
    """By how much ‖r‖² falls with each other column; 0 for those that may be dependent.

    ‖U‖² grows by (1 + ‖w‖²)/e, with w the column on the support, and e its squared distance.
    """
    if not fit.others.size:
        return np.zeros(0)
    corr, energy, P = measured(fit)
    size = square_sums(fit.U).sum() + (1 + square_sums(fit.U @ P.conj().T)) / np.maximum(
        energy, fit.tolerance.eps**2
    )
    can = (energy > fit.tolerance.dependent) & (size < CLEARLY * fit.tolerance.frail)
    return square_sums(corr) * can / np.where(can, energy, 1.0)


def exchanges_of_one(fit: Fit) -> Exchanges:
    """The exchange that lowers ‖r‖² most, if any does; and whether all of them clearly raise it.

    Let q_i be the direction that only column i of the support spans, t_i = q_i*y, p = a_j*q_i,
    and c = a_j*r, e the squared distance of a_j from the span. Without i, they are c + p t_i and
    e + |p|²: with j in place of i, ‖r‖² falls by

        |c + p t_i|²/(e + |p|²) - |t_i|² = (|c|² + 2 Re(c̄ p t_i) - |t_i|² e) / (e + |p|²),

    which is free of cancellation in this form. Of several targets, each with its own c and t_i, the
    falls add up: with sums over targets of |c|², c̄ t_i and |t_i|² it is the same form. What it says
    is checked by fits of its own.
    """
    if not fit.loose.any() or not fit.others.size:
        return Exchanges(None, True, [])
    settled, better, close = True, [], []
    for leaving, fall, unsure, can in _falls(fit):
        # What hardly differs from the rest of the support could fit anything: nothing is settled.
        settled = settled and bool(can.all() and np.all(fall < -unsure))
        falls = np.where(can & (fall > unsure), fall, 0.0)
        top = falls.max(axis=0)
        for i in np.flatnonzero(top):
            j = int(np.argmax(falls[:, i] >= top[i] * (1 - fit.tolerance.tie)))
            better.append(Swap(int(leaving[i]), int(fit.others[j]), float(fall[j, i])))
        for j, i in np.argwhere(can & (np.abs(fall) <= unsure))[:MOST_TIES]:
            close.append(Swap(int(leaving[i]), int(fit.others[j]), max(float(fall[j, i]), 0.0)))
    better.sort(key=lambda swap: -swap.fall)
    best, ties = None, []
    for swap in [*better, *close[:MOST_TIES]]:
        verdict = fit.against(swap.columns_after(fit.columns))
        if verdict > 0:
            best = swap
            break
        if verdict == 0:
            ties.append(swap)
    return Exchanges(best, settled, [] if best else ties)


def lowest_of_equals(fit: Fit) -> tuple[int, ...]:
    """The support, its columns exchanged for lower ones as long as these fit as well."""
    while not fit.dependent:
        ties = exchanges_of_one(fit).ties
        lower = [swap.columns_after(fit.columns) for swap in ties if swap.into < swap.out]
        if not lower:
            break
        fit = fit.with_columns(min(lower))
    return tuple(fit.columns.tolist())


def _falls(fit: Fit) -> Iterator[tuple[Array, Array, Array, Array]]:
    """By how much ‖r‖² falls with each other column in place of one of the support.

    For some columns of the support at a time: these, then, with a row for each other column, the
    falls, what rounding may make of them, and which of the others may come in at all.
    """
    corr, energy, P = measured(fit)
    gained, energy = square_sums(corr)[:, None], energy[:, None]
    found, tolerance, length = np.sqrt(gained), fit.tolerance, np.sqrt(square_sums(fit.U.conj().T))
    loose = np.flatnonzero(fit.loose)
    for part in np.array_split(loose, math.ceil(loose.size * fit.others.size / BLOCK)):
        p, t = P @ (fit.U[part].conj() / length[part, None]).T, fit.x[:, part] / length[part]
        losses = square_sums(t)
        lost, brought = losses * energy, np.abs(p) * np.sqrt(losses)
        cross = 2 * (p * (corr.conj().T @ t)).real
        left = energy + np.square(np.abs(p))
        # Targets of opposite signs may cancel in the cross term: what it is made of does not.
        unsure = tolerance.tie * (gained + 2 * found * brought + lost) + 16 * tolerance.eps * (
            fit.norm * (found + brought) + losses * np.sqrt(energy)
        )
        can = left > tolerance.dependent
        safe = np.where(can, left, 1.0)
        yield fit.columns[part], (gained + cross - lost) / safe, unsure / safe, can


def measured(fit: Fit) -> tuple[Array, Array, Array]:
    """a_j*r, the squared distance from the span of the support, and a_j*Q for the other columns.

    The first with one target a row. Columns near the span, of which 1 - ‖a_j*Q‖² leaves few digits,
    are measured by themselves.
    """
    design, others = fit.data.design, fit.others
    corr = projections(design, fit.r.T)[others].T
    P = projections(design, fit.Q)[others]
    energy = np.maximum(1 - square_sums(P.conj().T), 0)
    near = np.flatnonzero(energy < fit.tolerance.eps**0.25)
    for part in np.array_split(near, max(1, near.size // 256)):
        rest = design.unit_columns(others[part])
        for _ in range(2):
            rest = rest - fit.Q @ (fit.Q.conj().T @ rest)
        energy[part] = square_sums(rest)
        corr[:, part] = fit.r @ rest.conj()
    return corr, energy, P
