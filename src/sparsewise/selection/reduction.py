"""From a table with weights and an intercept to a plain matrix and target.

The model is y = b 1 + X β + e, with e_i of variance σ²/w_i. Rows times √w_i have equal noise. With
u = √w / ‖√w‖, the intercept is what lies along u; its best value leaves of y and of each column the
part orthogonal to u, which is √w_i (x_i - x̄) with the weighted mean x̄. The reflection that takes u
to the first axis, backwards, keeps all lengths and angles and makes the first entry of each such
part zero. What is left are n - 1 rows,

    √w_i ((x_i - x̄) - u_0 (x_0 - x̄) / (1 + u_0)),    i > 0,

and the intercept is gone: there is no n-th direction for rounding to spoil an exact fit with.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparsewise.design import Design, as_design
from sparsewise.design.base import SMALL, Array, precision
from sparsewise.design.kernel_matrix import CONSTANT
from sparsewise.design.sparse import ShiftedSparseDesign, canonical, places

TILE_BYTES = 1 << 19
"""Whole rows or columns of about this size are centred at once, while they are in the cache."""


class Reduced(NamedTuple):
    """The plain problem: a design and a target of equal noise, without an intercept.

    Attributes
    ----------
    design : Design
        n - 1 rows with an intercept, n without; rows of weight zero are none. Its own `rows` counts
        each row by its weight, less one with an intercept.
    target : ndarray
        As many entries.
    means : ndarray of shape (m,)
        The weighted means of the features; zeros without an intercept.
    level : float
        That of y.
    rows : float
        Σ w: an int if whole.
    """

    design: Design
    target: Array
    means: Array
    level: float
    rows: float


def reduce(X: Any, y: Array, weights: Array | None, intercept: bool) -> Reduced:
    """Take weights and intercept out of a regression: inner products of what is left are the same.

    Parameters
    ----------
    X : ndarray, or scipy.sparse matrix or array in CSR or CSC, of shape (n, m)
        float32 or float64, finite.
    y : ndarray of shape (n,)
        Finite numbers.
    weights : ndarray of shape (n,), optional
        How often each row is there, at least 0 and finite; None: once.
    intercept : bool
        Whether the model has a constant.

    Returns
    -------
    Reduced
        A constant column, or y, is exactly zero with an intercept, and equal columns are equal.
        Without intercept and weights nothing is copied; otherwise X is once, a sparse X as a
        sparse one.
    """
    y = y if y.dtype.char in "fd" else y.astype(np.float64)
    if weights is not None:
        X, y, weights = _weighed(X, y, weights, intercept)
    n, m = X.shape
    if n < 1 + intercept:
        raise ValueError(
            f"There is {n} row, but a model with an intercept needs at least 2: give more rows, or "
            "leave out the intercept."
        )
    rows = n if weights is None else _whole(float(weights.sum()))
    root = None if weights is None else np.sqrt(weights)
    sparse = not isinstance(X, np.ndarray)
    if not intercept:
        if root is not None:
            X = _scaled(X, root) if sparse else X * root[:, None].astype(X.dtype)
            y = y * root.astype(y.dtype)
        return Reduced(_counted(as_design(X), rows), y, np.zeros(m), 0.0, rows)
    rule = _Reflection(n, weights)
    if sparse:
        target, level = rule.column(y)
        design, means = rule.sparse(X)
    else:
        rest, target, means, level = rule.table(X, y)
        design = as_design(rest)
    return Reduced(_counted(design, rows - 1), target, means, level, rows)


def _weighed(X: Any, y: Array, weights: Array, intercept: bool) -> tuple[Any, Array, Array | None]:
    """The rows of positive weight, and these weights; None if all are one."""
    weights = weights.astype(np.float64, copy=False)
    kept = weights > 0
    n, left = len(kept), int(np.count_nonzero(kept))
    if left < min(n, 1 + intercept):
        but = f" but {left}" if left else ""
        needs = "an intercept needs at least 2" if intercept else "at least 1 is needed"
        raise ValueError(
            f"sample_weight is zero for all{but} of {n} rows: {needs} of positive weight."
        )
    if left < n:
        X, y, weights = X[kept], y[kept], weights[kept]
    return X, y, None if (weights == 1).all() else weights


def _whole(number: float) -> float:
    """An int if it is one but for rounding: 2e-16 of a row tells nothing."""
    nearest = round(number)
    return nearest if abs(number - nearest) <= 1e-12 * number else number


def _counted(design: Design, rows: float) -> Design:
    design.rows = rows
    return design


def _scaled(X: Any, root: Array) -> Any:
    """Rows of a sparse matrix times numbers."""
    return _with_data(X, X.data * root.astype(X.dtype)[places(X)[0]])


def _with_data(X: Any, data: Array) -> Any:
    """A sparse matrix with other entries at the same places; the indices are shared."""
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def _tile(X: Array) -> tuple[int, int]:
    """How many rows and columns to work on at once: whole ones, as they lie in memory."""
    n, m = X.shape
    if abs(X.strides[0]) < abs(X.strides[1]) or m == 1:
        return n, max(1, TILE_BYTES // (n * X.itemsize))
    return max(1, TILE_BYTES // (m * X.itemsize)), m


class _Reflection:
    """Centring and reflection for n rows of these weights, or of one each.

    Parameters
    ----------
    n : int
        Rows.
    weights : ndarray of shape (n,), optional
        All positive.
    """

    def __init__(self, n: int, weights: Array | None) -> None:
        self.n = n
        self.weights = weights
        self.total = float(n) if weights is None else float(weights.sum())
        self.share = None if weights is None else weights / self.total
        self.first_share = 1 / n if self.share is None else float(self.share[0])
        self.first = math.sqrt(self.first_share)  # u_0

    def table(self, X: Array, y: Array) -> tuple[Array, Array, Array, float]:
        """What is left of a dense X and of y, and their means."""
        n, m = X.shape
        if X.size <= SMALL and X.dtype == y.dtype:  # calls are what costs: all columns at once
            columns = np.empty((n, m + 1), X.dtype, order="F")
            columns[:, :m], columns[:, m] = X, y
            rest, means = self.dense(columns)
            return rest[:, :m], rest[:, m], means[:m], float(means[m])
        rest, means = self.dense(X)
        target, level = self.column(y)
        return rest, target, means, level

    def column(self, y: Array) -> tuple[Array, float]:
        """What is left of y, and its mean."""
        rest, means = self.dense(y[:, None])
        return rest[:, 0], float(means[0])

    def dense(self, X: Array) -> tuple[Array, Array]:
        """n - 1 rows in X's own order and type, and the means."""
        m = X.shape[1]
        rest = np.empty_like(X[1:], subok=False)
        means = np.empty(m)
        tall, wide = _tile(X)
        for first in range(0, m, wide):
            J = slice(first, first + wide)
            means[J] = self._block(X[:, J], rest[:, J], tall)
        return rest, means

    def _block(self, X: Array, rest: Array, tall: int) -> Array:
        """Some columns: fill in the rest, return the means.

        A first mean, rounded to X's type, is taken away, which is exact for entries near it; what
        is still left of the mean is small then, and has all its digits: large offsets cost none.
        """
        first, below = X[0], X[1:]
        pieces = [slice(start, start + tall) for start in range(0, self.n - 1, tall)]
        sums = sum(self._sums(below[rows], rows) for rows in pieces)
        exact = sums + self.first_share * first.astype(np.float64, copy=False)
        mean = exact.astype(X.dtype)
        first = first - mean
        # What single precision has rounded away is known; doubles have in the sums themselves.
        double = X.dtype == np.float64
        left = self.first_share * first if double else exact - mean
        for rows in pieces:
            np.subtract(below[rows], mean, out=rest[rows])
            if double:
                left += self._sums(rest[rows], rows)
        means: Array = mean + left
        level = CONSTANT * float(precision(X.dtype).eps) * np.abs(means)
        # Few columns have their mean in the first row: these alone are looked at as a whole.
        near = np.flatnonzero(np.abs(first - left) <= level)
        if near.size:
            near = near[np.abs(rest[:, near] - left[near]).max(axis=0) <= level[near]]
            means[near] = X[0, near]
        shift = ((left + self.first * first) / (1 + self.first)).astype(X.dtype, copy=False)
        for rows in pieces:
            rest[rows] -= shift
            if self.weights is not None:
                rest[rows] *= np.sqrt(self.weights[1:][rows, None]).astype(X.dtype, copy=False)
        if near.size:
            rest[:, near] = 0.0
        return means

    def _sums(self, below: Array, rows: slice) -> Array:
        """Sums over rows by their shares, in double precision; `rows` count from the second.

        Not by BLAS, which may round equal columns differently, by where they are.
        """
        if self.share is None:
            return np.asarray(np.add.reduce(below.astype(np.float64, copy=False)) / self.n)
        return np.asarray(np.add.reduce(self.share[1:][rows, None] * below))

    def sparse(self, X: Any) -> tuple[Design, Array]:
        """The design that is left of a sparse X, and the means.

        Where all entries of a column are stored, most of the mean is taken from them at once; what
        is left to be shifted is small then, and has all its digits.
        """
        X = canonical(X)
        m = X.shape[1]
        rows, columns = places(X)
        weights = np.ones(self.n) if self.weights is None else self.weights
        of_entries = weights[rows]

        def mean_of(values: Array) -> Array:
            return np.bincount(columns, of_entries * values, m) / self.total

        full = np.bincount(columns, minlength=m) == self.n
        exact = mean_of(X.data)
        taken = np.where(full, exact, 0.0).astype(X.dtype)
        data = X.data - taken[columns]
        mean = mean_of(data) if X.dtype == np.float64 else exact - taken
        absent = np.where(full, 0.0, self.total - np.bincount(columns, of_entries, m))
        size, norms = _spread(data - mean[columns], mean, absent, columns, of_entries)

        means: Array = taken + mean
        level = CONSTANT * float(precision(X.dtype).eps) * np.abs(means)
        constant = size <= np.where(full, level, 0.0)
        first = X[[0]].toarray()[0]
        means[constant] = first[constant]
        first = np.where(constant, 0.0, first - taken)
        mean[constant] = norms[constant] = 0.0
        data[constant[columns]] = 0.0

        root, length = np.sqrt(weights), math.sqrt(self.total)
        S = _scaled(_with_data(X, data), root)[1:]
        shift = length * (mean + self.first * first) / (1 + self.first)
        return ShiftedSparseDesign(S, root[1:] / length, shift, norms), means


def _spread(
    apart: Array, mean: Array, absent: Array, columns: Array, weights: Array
) -> tuple[Array, Array]:
    """Largest distance from the mean, and norm of all distances, for each column.

    Those of the stored entries are given, with their columns and weights; all others, `absent` by
    weight, are zero, a `mean` apart. Sums of squares would overflow were they not scaled.
    """
    size = np.where(absent > 0, np.abs(mean), 0.0)
    np.maximum.at(size, columns, np.abs(apart))
    unit = np.where(size > 0, size, 1.0)
    squares = np.bincount(columns, weights * np.square(apart / unit[columns]), len(mean))
    squares += np.maximum(absent, 0.0) * np.square(mean / unit)
    return size, size * np.sqrt(squares)
