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
"""About how many exchanges are evaluated at once."""

MOST_TIES = 64
"""Most tied exchanges that are reported."""

CLEARLY = 1e-2
"""Columns count as clearly independent below this fraction of the limit for dependence."""


class Swap(NamedTuple):
    """An exchange of one column for another, and by how much ‖r‖² falls."""

    out: int
    into: int
    fall: float

    def columns_after(self, columns: Array) -> tuple[int, ...]:
        """The columns after the exchange, ascending."""
        return tuple(sorted({*columns.tolist(), self.into} - {self.out}))


class Exchanges(NamedTuple):
    """The outcome of all exchanges of one column.

    Attributes
    ----------
    best : Swap or None
        The exchange that lowers ‖r‖² most, if any does.
    settled : bool
        Whether all of them clearly raise it.
    ties : list of Swap
        Those that leave it unchanged up to rounding.
    """

    best: Swap | None
    settled: bool
    ties: list[Swap]


class Change(NamedTuple):
    """A support after one column was added, dropped or exchanged, and its loss, ‖r‖²."""

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
    """The fall of ‖r‖² by adding each other column; 0 for those that may be dependent.

    ‖U‖² grows by (1 + ‖w‖²)/e, with w the column's coefficients on the support and e its energy.
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
    """The best exchange of one column, if any lowers ‖r‖²; whether all clearly raise it; ties.

    Let q_i be the direction that only column i of the support spans, t_i = q_i*y, p = a_j*q_i,
    and c = a_j*r, e the squared distance of a_j from the span. Without i, they are c + p t_i and
    e + |p|²: with j in place of i, ‖r‖² falls by

        |c + p t_i|²/(e + |p|²) - |t_i|² = (|c|² + 2 Re(c̄ p t_i) - |t_i|² e) / (e + |p|²),

    which is free of cancellation in this form. For several targets, each with its own c and t_i,
    the falls add up: the form is the same with sums over targets of |c|², c̄ t_i and |t_i|². The
    result is checked by refitting.
    """
    if not fit.loose.any() or not fit.others.size:
        return Exchanges(None, True, [])
    settled, better, close = True, [], []
    for leaving, fall, unsure, can in _falls(fit):
        # A column nearly dependent on the rest of the support could fit anything: not settled.
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
    """The support with columns exchanged for lower ones while these fit equally well."""
    while not fit.dependent:
        ties = exchanges_of_one(fit).ties
        lower = [swap.columns_after(fit.columns) for swap in ties if swap.into < swap.out]
        if not lower:
            break
        fit = fit.with_columns(min(lower))
    return tuple(fit.columns.tolist())


def _falls(fit: Fit) -> Iterator[tuple[Array, Array, Array, Array]]:
    """The fall of ‖r‖² with each other column in place of one of the support.

    For a block of the support at a time: its columns, and with one row per other column the falls,
    their rounding errors, and which of the others are independent enough to enter.
    """
    corr, energy, P = measured(fit)
    gained, energy = square_sums(corr)[:, None], energy[:, None]
    size, tolerance, length = np.sqrt(gained), fit.tolerance, np.sqrt(square_sums(fit.U.conj().T))
    loose = np.flatnonzero(fit.loose)
    for part in np.array_split(loose, math.ceil(loose.size * fit.others.size / BLOCK)):
        p, t = P @ (fit.U[part].conj() / length[part, None]).T, fit.x[:, part] / length[part]
        losses = square_sums(t)
        lost, brought = losses * energy, np.abs(p) * np.sqrt(losses)
        cross = 2 * (p * (corr.conj().T @ t)).real
        left = energy + np.square(np.abs(p))
        # Targets of opposite signs may cancel in the cross term: bound the error by its parts.
        unsure = tolerance.tie * (gained + 2 * size * brought + lost) + 16 * tolerance.eps * (
            fit.norm * (size + brought) + losses * np.sqrt(energy)
        )
        can = left > tolerance.dependent
        safe = np.where(can, left, 1.0)
        yield fit.columns[part], (gained + cross - lost) / safe, unsure / safe, can


def measured(fit: Fit) -> tuple[Array, Array, Array]:
    """a_j*r, the squared distance from the span of the support, and a_j*Q of the other columns.

    The first has one target per row. For columns near the span, 1 - ‖a_j*Q‖² cancels: they are
    orthogonalised instead.
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
