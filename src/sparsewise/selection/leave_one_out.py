"""How well each row is predicted without it, for every model on a path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sparsewise.design.base import Array
from sparsewise.errors import InputError, Parameter, Words
from sparsewise.results import Path
from sparsewise.selection.data import Data
from sparsewise.selection.table import Table

ALONE = 1e-12
"""A row of which less than this is left is fitted by itself alone."""

NEEDS_ROWS: tuple[Words, Words] = (
    "Leave-one-out needs the rows themselves, not what they condense to",
    ("use ", Parameter("criterion", "ric"), " or ", Parameter("criterion", "cv"), "."),
)
"""What is wrong with condensed rows, and what to do."""


def leave_one_out(data: Data, path: Path) -> Array:
    """The mean squared error of rows left out one at a time: at the start and after each step.

    Without row i its residual is r_i / (1 - h_i), with h_i = q_i*q_i from an orthonormal basis Q of
    the model (PRESS, Allen 1974). Steps of one kind share a basis: each adds a direction to
    it, or takes the last one away. NaN for a model that fits a row by that row alone, and for one
    whose squared residual is not that of the path: then the path is one of other data.
    """
    if not isinstance(data, Table):
        raise InputError(*NEEDS_ROWS)
    errors, losses = np.full(1 + len(path), np.nan), path.losses.tolist()
    unsure = math.sqrt(data.design.tolerances.eps) * data.total
    for first, orders in _runs(path):
        largest = max(orders, key=len)
        by_size, rss = _along(data, np.array(largest, np.int64))
        for i, order in enumerate(orders, first):
            if math.isclose(rss[len(order)], losses[i], rel_tol=0, abs_tol=unsure):
                errors[i] = by_size[len(order)]
    return errors


def _runs(path: Path) -> Iterator[tuple[int, list[list[int]]]]:
    """Stretches of models, each within the next or the other way round; columns by their turn.

    The last model of one stretch is the first of the next, as the smallest or the largest.
    """
    order, first = list(path.start), 0
    run = [list(order)]
    action = ""
    for number, step in enumerate(path):
        if action and step.action != action:
            yield first, _in_turn(run)
            first, run = number, [list(order)]
        action = step.action
        order = (
            [j for j in order if j != step.column] if action == "drop" else [*order, step.column]
        )
        run.append(order)
    yield first, _in_turn(run)


def _in_turn(run: list[list[int]]) -> list[list[int]]:
    """The models of a run, columns reordered so that each begins as the next smaller one does."""
    if len(run[-1]) > len(run[0]):
        return run
    gone = [next(j for j in a if j not in b) for a, b in pairwise(run)]
    full = [*run[-1], *reversed(gone)]
    return [full[: len(order)] for order in run]


def _along(data: Table, order: Array) -> tuple[Array, list[float]]:
    """Error and squared residual of the model of the first k of these columns, for each k."""
    Q, R = data.factor(order)
    y = np.asarray(data.target, np.float64)
    size = float(np.abs(y).max(initial=0.0)) or 1.0  # squares are in range, whatever the units
    t = Q.T @ (y / size)
    whole = 1 - (1 / data.rows if data.intercept else 0.0)
    squares, alone = np.zeros(order.size + 1), np.ones(order.size + 1)
    for block, residual in data.basis_by_rows(order, Q, R, size):
        # With the first 0, 1, … directions: what is left of each residual, and of each row,
        # 1 - h_i for one of its copies.
        taken = np.square(residual)
        if data.weights is not None:
            taken /= data.weights[block]
        taken[0] = 0.0
        residual[1:] *= -t[:, None]
        for k in range(order.size):  # whole rows at a time, as `accumulate` does not
            residual[k + 1] += residual[k]
            taken[k + 1] += taken[k]
        left = np.subtract(whole, taken, out=taken)
        alone = np.minimum(alone, left.min(axis=1))
        ratio = residual / np.maximum(left, ALONE)
        squares += np.einsum("ki,ki->k", ratio, ratio)
    rss = float(np.vdot(y, y)) - np.append(0.0, np.cumsum(np.square(t))) * size * size
    return np.where(alone > ALONE, squares / data.rows * size * size, np.nan), rss.tolist()
