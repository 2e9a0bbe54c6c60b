"""How well each row is predicted without it, for every model on a path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.unit_columns import damp_factor, inverse_of_triangle
from sparsewise.errors import InputError, Parameter, Words
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.results import Path

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
    whose loss is not that of the path: then the path is one of other data. The errors
    of several targets are weighed as their residuals are.

    With a ridge, h_i is that of the ridge fit, each feature being scaled as in all rows.
    """
    if not isinstance(data, TabularData):
        raise InputError(*NEEDS_ROWS)
    errors, losses = np.full(1 + len(path), np.nan), path.losses.tolist()
    unsure = math.sqrt(data.design.tolerances.eps) * data.total
    for first, orders in _runs(path):
        largest = max(orders, key=len)
        by_size, recomputed = _along(data, np.array(largest, np.int64))
        for i, order in enumerate(orders, first):
            if math.isclose(recomputed[len(order)], losses[i], rel_tol=0, abs_tol=unsure):
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


def _along(data: TabularData, order: Array) -> tuple[Array, list[float]]:
    """Error and loss of the model of the first k of these columns, for each k."""
    Q, R = data.factor(order)
    if data.ridge:
        damped, R = damp_factor(R, data.ridge)
        Q = Q @ damped
    Y = data.targets
    size = np.abs(Y).max(axis=1, initial=0.0)
    size[size == 0] = 1.0  # squares are in range, whatever the units
    t = Q.T @ (Y / size[:, None]).T
    whole = 1 - (1 / data.rows if data.intercept else 0.0)
    squares, alone = np.zeros((order.size + 1, len(Y))), np.ones(order.size + 1)
    unit = size if data.multi_target else size[0]
    for block, vectors in data.basis_by_rows(order, Q, R, unit):
        # With the first 0, 1, … directions: what is left of each residual, and of each row,
        # 1 - h_i for one of its copies.
        targets, basis = vectors[: len(Y)], vectors[len(Y) :]
        taken = np.square(basis)
        if data.weights is not None:
            taken /= data.weights[block]
        left = whole - _summed(np.zeros(taken.shape[1]), taken)
        alone = np.minimum(alone, left.min(axis=1))
        left = np.maximum(left, ALONE)
        for i, target in enumerate(targets):
            ratio = _summed(target, basis * -t[:, i, None])
            ratio /= left
            squares[:, i] += np.einsum("ki,ki->k", ratio, ratio)
    explained = np.vstack([np.zeros(len(Y)), np.cumsum(np.square(t), axis=0)])
    if data.ridge:  # ‖y‖² - ‖t‖² is the objective, of which the ridge term is no loss
        explained[1:] += data.ridge * _squared_coefs(R, t)
    losses = data.mean_loss(data.totals - explained * size * size)
    errors = data.mean_loss(squares / data.rows * size * size)
    return np.where(alone > ALONE, errors, np.nan), losses.tolist()


def _squared_coefs(R: Array, t: Array) -> Array:
    """‖z‖² of each target's z = R⁻¹ t, with the first 1, 2, … columns."""
    U = inverse_of_triangle(R)
    each = [np.square(np.cumsum(U * one, axis=1)).sum(axis=0) for one in t.T]
    return np.array(each).T.reshape(t.shape)


def _summed(first: Array, others: Array) -> Array:
    """The first row, and the sums of it and the first 1, 2, … of the others."""
    sums = np.vstack([first, others])
    for k in range(len(others)):  # whole rows at a time, as `accumulate` does not
        sums[k + 1] += sums[k]
    return sums
