"""From a table with weights and an intercept to a plain matrix and target.

The model is y = b + X β + e, with e_i of variance σ²/w_i. Rows times √w_i have equal noise
(`design/weighted.py`), and the intercept makes every column orthogonal to u = √w/‖√w‖. The
reflection that takes u to the first axis keeps all lengths and angles and turns one row into
zeros: n - 1 rows remain, and neither weights nor intercept (`design/centred.py`). A sparse X stays
sparse, an operator an operator. Columns are shifted to their means first, so that large offsets
cost no digits. The design remembers how many measurements it stands for (`design.rows`, Σw - 1):
weight 2 is the same as a repeated row, for every estimator.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise.design import Centred, DaskDesign, DenseDesign, Design, Rows, Weighted, as_design
from sparsewise.design.base import BLOCK_BYTES, precision
from sparsewise.design.centred import Reflection
from sparsewise.errors import InputError
from sparsewise.suffstats.triangle import Triangle, number_of_rows

COPIED = 8 * BLOCK_BYTES
"""Bytes of an array that is centred in a copy, which is quickest; larger ones are never copied."""


class Reduced(NamedTuple):
    """The plain problem: a design and a target of equal noise, without an intercept.

    Attributes
    ----------
    design : Design
        n - 1 rows with an intercept, n without; rows of weight zero are none. Its own `rows` counts
        each row by its weight, less one with an intercept.
    target : ndarray
        As many entries; of several targets one a column.
    means : ndarray of shape (m,)
        The weighted means of the features; zeros without an intercept.
    level : float, or ndarray of shape (q,)
        That of y, or of each target.
    rows : float
        Σ w: an int if whole.
    reflection : Reflection or None
        What took the intercept away: the way back to the rows of the table.
    condensed : bool
        Whether the rows are those of a triangle, from which there is no way back.
    """

    design: Design
    target: Array
    means: Array
    level: Any
    rows: float
    reflection: Reflection | None
    condensed: bool = False


def reduce(X: Any, y: Array, weights: Array | None, intercept: bool) -> Reduced:
    """Take weights and intercept out of a regression: inner products of what is left are the same.

    Parameters
    ----------
    X : ndarray, sparse matrix in CSR or CSC, operator or Design of shape (n, m)
        float32 or float64, finite; with weights of zero an array or a sparse matrix.
    y : ndarray of shape (n,) or (n, q)
        Finite numbers.
    weights : ndarray of shape (n,), optional
        How often each row is there, at least 0 and finite; None: once.
    intercept : bool
        Whether the model has a constant.

    Returns
    -------
    Reduced
        A constant column, or y, is exactly zero with an intercept, and equal columns are equal.
        A large array that is tall is condensed to its triangle, row by row. Without intercept and
        weights nothing is copied; otherwise a small array is once, and whatever else X is stays as
        it is, within `Weighted` or `Centred`.
    """
    y = y if y.dtype.char in "fd" else y.astype(np.float64)
    if weights is not None:
        X, y, weights = _weighed(X, y, weights, intercept)
    n, m = X.shape
    if n < 1 + intercept:
        raise InputError(
            f"There is {n} row, but a model with an intercept needs at least 2: give more rows, or "
            "leave out the intercept."
        )
    rows = n if weights is None else number_of_rows(float(weights.sum()))
    if is_large(X):
        X = as_design(X)
        if plan.condenses(plan.CONDENSE_LARGE_ARRAY, n, m, y.size // n):
            reduced = _reduce_to_triangle(X, y, weights, intercept, rows)
            if reduced is not None:
                return reduced
    dense = isinstance(X, np.ndarray)
    if intercept and dense:
        rule = Reflection(n, weights)
        rest, target, means, level = _table(rule, X, y)
        return Reduced(DenseDesign(rest, rows=rows - 1), target, means, level, rows, rule)
    if intercept:
        design = Centred(as_design(X), weights, rows=rows - 1)
        target, level = _about_mean(design.reflection, y)
        return Reduced(design, target, design.means, level, rows, design.reflection)
    if weights is None:
        return Reduced(as_design(X), y, np.zeros(m), _no_level(y), rows, None)
    root = np.sqrt(weights)
    plain: Design = (
        DenseDesign(X * root[:, None].astype(X.dtype), rows=rows)
        if dense
        else Weighted(as_design(X), root, rows=rows)
    )
    target = (y.T * root.astype(y.dtype)).T
    return Reduced(plain, target, np.zeros(m), _no_level(y), rows, None)


def _no_level(y: Array) -> Any:
    """Zero, of each target where there are several."""
    return 0.0 if y.ndim == 1 else np.zeros(y.shape[1])


def _weighed(X: Any, y: Array, weights: Array, intercept: bool) -> tuple[Any, Array, Array | None]:
    """The rows of positive weight, and these weights; None if all are one."""
    weights = weights.astype(np.float64, copy=False)
    kept = weights > 0
    n, left = len(kept), int(np.count_nonzero(kept))
    if left < min(n, 1 + intercept):
        but = f" but {left}" if left else ""
        needs = "an intercept needs at least 2" if intercept else "at least 1 is needed"
        raise InputError(
            f"is zero for all{but} of {n} rows: {needs} of positive weight.",
            parameter="sample_weight",
        )
    if left < n:
        X, y, weights = some_rows(X, kept), y[kept], weights[kept]
    return X, y, None if (weights == 1).all() else weights


def is_large(X: Any) -> bool:
    """Whether X is an array of which there should be no copy, far away, or some rows of one."""
    return isinstance(X, (Rows, DaskDesign)) or (isinstance(X, np.ndarray) and X.nbytes > COPIED)


def some_rows(X: Any, rows: Array) -> Any:
    """Some rows of a table, by number or by a mask; those of a large array stay where they are."""
    if not is_large(X):
        return X[rows]
    at: Any = np.flatnonzero(rows) if rows.dtype == bool else rows
    whole, at = (X.inner, X.at[at]) if isinstance(X, Rows) else (as_design(X), at)
    once = np.bincount(at, minlength=1).max() <= 1
    return Rows(whole, at) if once else np.asarray(whole.row_block(at))


def _reduce_to_triangle(
    design: Design, y: Array, weights: Array | None, intercept: bool, rows: float
) -> Reduced | None:
    """The triangle of [1 X y], rows times √w, less what the intercept takes; None if out of range.

    Columns are about their means before they are folded in, so that large offsets cost no digits.
    """
    m, targets = design.shape[1], y.reshape(len(y), -1)
    q = targets.shape[1]
    triangle = Triangle.empty(m + q)
    triangle.update([design, as_design(targets)], weights)
    R = triangle.centred() if intercept else triangle.plain()
    real, size = precision(design.dtype), np.abs(R).max(axis=0)
    if not ((size < real.max) & ((size == 0) | (size > real.tiny / real.eps))).all():
        return None
    means = triangle.means if intercept else np.zeros(m + q)
    plain = DenseDesign(R[:, :m].astype(design.dtype), rows=rows - intercept)
    target, level = _shaped(R[:, m:].astype(y.dtype), means[m:], y)
    return Reduced(plain, target, means[:m], level, rows, None, condensed=True)


def _table(rule: Reflection, X: Array, y: Array) -> tuple[Array, Array, Array, Any]:
    """What is left of an array X and of y, and their means."""
    n, m = X.shape
    if plan.is_small(X.shape) and X.dtype == y.dtype:  # calls are what costs: all columns at once
        targets = y.reshape(n, -1)
        columns = np.empty((n, m + targets.shape[1]), X.dtype, order="F")
        columns[:, :m], columns[:, m:] = X, targets
        rest, means = rule.columns(columns)
        target, level = _shaped(rest[:, m:], means[m:], y)
        return rest[:, :m], target, means[:m], level
    rest, means = rule.columns(X)
    target, level = _about_mean(rule, y)
    return rest, target, means, level


def _about_mean(rule: Reflection, y: Array) -> tuple[Array, Any]:
    """What is left of y, and its mean; of each target where there are several."""
    return _shaped(*rule.columns(y.reshape(len(y), -1)), y)


def _shaped(targets: Array, levels: Array, y: Array) -> tuple[Array, Any]:
    """Targets and their means, one a column, as y has them: one target is no column."""
    return (targets[:, 0], levels[0].item()) if y.ndim == 1 else (targets, levels)
