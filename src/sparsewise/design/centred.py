"""A with each column centred at its weighted mean: an intercept projected out.

With u = √w / ‖√w‖, fitting an intercept leaves of a column times √w the part orthogonal to u, which
is √w_i (x_i - x̄) with the weighted mean x̄. The Householder reflection H with H u = -e_0 keeps all
lengths and angles and makes the first entry of each such part zero. There remain n - 1 rows,

    √w_i ((x_i - x̄) - u_0 (x_0 - x̄) / (1 + u_0)),    i > 0,

without an intercept: no n-th direction in which rounding could spoil an exact fit.
"""

from __future__ import annotations

import math

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import (
    Design,
    constant_level,
    precision,
    square_sums,
    tile_shape,
    two_stage_mean,
)
from sparsewise.design.weighted import Weighted


class Reflection:
    """The Householder reflection H = I - z z*/(1 + u_0), z = u + e_0, with H u = -e_0.

    u holds the square roots of the weights, scaled to unit norm.

    Parameters
    ----------
    n : int
        Rows.
    weights : ndarray of shape (n,), optional
        At least 0; None: one each.
    """

    def __init__(self, n: int, weights: Array | None = None) -> None:
        self.n, self.weights = n, weights
        self.total = float(n) if weights is None else float(weights.sum())
        self.share = None if weights is None else weights / self.total
        self.root = None if weights is None else np.sqrt(weights)
        self.first_share = 1 / n if self.share is None else float(self.share[0])
        self.first = math.sqrt(self.first_share)  # u_0
        self.u = np.full(n, self.first) if self.share is None else np.sqrt(self.share)

    def apply(self, v: Array) -> Array:
        """P v: H v without its first entry."""
        lost = self.u[1:] * ((self.u @ v + v[0]) / (1 + self.first))
        return np.asarray((v[1:] - lost).astype(v.dtype, copy=False))

    def apply_adjoint(self, V: Array) -> Array:
        """P* V = H [0; V], whose columns are orthogonal to u; Fortran-ordered.

        It is (-s, V - u s/(1 + u_0)), s = u·V, with u_0 left out of u.
        """
        u = self.u[1:]
        s = u @ V
        out = np.empty((self.n, *V.shape[1:]), np.result_type(V, np.float32), order="F")
        out[0] = -s
        np.multiply.outer(u, s / -(1 + self.first), out=out[1:])
        out[1:] += V
        return out

    def column(self, y: Array) -> tuple[Array, float]:
        """y centred and reflected, and its mean."""
        rest, means = self.columns(y[:, None])
        return rest[:, 0], means[0].item()

    def columns(self, X: Array) -> tuple[Array, Array]:
        """The columns centred and reflected (n - 1 rows in X's order and type), and their means."""
        m = X.shape[1]
        rest = np.empty_like(X[1:], subok=False)
        means = np.empty(m, np.result_type(X.dtype, np.float64))
        tall, wide = tile_shape(X)
        for first in range(0, m, wide):
            J = slice(first, first + wide)
            means[J] = self._block(X[:, J], rest[:, J], tall)
        return rest, means

    def _block(self, X: Array, rest: Array, tall: int) -> Array:
        """Some columns: fill in the rest, return the means (see `two_stage_mean`)."""
        first, below = X[0], X[1:]
        pieces = [slice(start, start + tall) for start in range(0, self.n - 1, tall)]
        sums = np.asarray(sum(self._sums(below[rows], rows) for rows in pieces))
        exact = sums + self.first_share * first.astype(sums.dtype, copy=False)

        def mean_of_rest(mean: Array) -> Array:
            left = self.first_share * (first - mean)
            for rows in pieces:
                left += self._sums(np.subtract(below[rows], mean, out=rest[rows]), rows)
            return left

        mean, left = two_stage_mean(exact, mean_of_rest, X.dtype)
        if X.dtype.char in "fF":
            np.subtract(below, mean, out=rest)
        first = first - mean
        means: Array = mean + left
        level = constant_level(means, X.dtype)
        # Few columns have their mean in the first row: these alone are looked at as a whole.
        near = np.flatnonzero(np.abs(first - left) <= level)
        if near.size:
            near = near[np.abs(rest[:, near] - left[near]).max(axis=0) <= level[near]]
            means[near] = X[0, near]
        shift = ((left + self.first * first) / (1 + self.first)).astype(X.dtype, copy=False)
        for rows in pieces:
            rest[rows] -= shift
            if self.root is not None:
                rest[rows] *= self.root[1:][rows, None].astype(precision(X.dtype).dtype, copy=False)
        if near.size:
            rest[:, near] = 0.0
        return means

    def _sums(self, below: Array, rows: slice) -> Array:
        """Sums over rows by their shares, in double precision; `rows` count from the second.

        Not by BLAS, which may round equal columns differently, by where they are.
        """
        if self.share is None:
            below = below.astype(np.result_type(below.dtype, np.float64), copy=False)
            return np.asarray(np.add.reduce(below) / self.n)
        return np.asarray(np.add.reduce(self.share[1:][rows, None] * below))


class Centred(Design):
    """A matrix centred at its weighted column means, reflected to n - 1 rows.

    Products are those of the inner design with vectors orthogonal to u; columns are computed from
    its columns. A storage that knows its means (`Design.about_means`) subtracts them from its
    entries first where that costs nothing, so that little cancels in the products.

    Parameters
    ----------
    design : Design
        The matrix, with at least two rows.
    weights : ndarray of shape (n,), optional
        Non-negative weights of the rows, which are multiplied by their roots; None: one each.
    rows : float, optional
        How many measurements the rows stand for (Σ w - 1 where a weight is how often a row is
        there); None: one less than the design has, since the means take a degree of freedom.
    """

    def __init__(
        self, design: Design, weights: Array | None = None, *, rows: float | None = None
    ) -> None:
        n, m = design.shape
        rows = design.rows - 1 if rows is None else rows
        super().__init__((n - 1, m), design.dtype, rows=rows, error=design.error)
        self.reflection = Reflection(n, weights)
        self.is_operator, self.dense = design.is_operator, design.dense
        self._means: Array | None = None
        if centred := design.about_means(weights):
            design, self._means = centred.design, centred.means
            self._measured = self._with_norms(centred.norms)
        self._inner = design
        root = self.reflection.root
        self._weighted = design if root is None else Weighted(design, root)

    @property
    def means(self) -> Array:
        """The column means: one pass over A, unless its storage knows them."""
        if self._means is None:
            weights = self.reflection.weights
            ones = np.ones(self.reflection.n) if weights is None else weights
            sums = self._inner.rmatvec(ones.astype(self.dtype)).conj()
            self._means = sums / self.reflection.total
        return self._means

    def columns(self, J: Array | slice) -> Array:
        return self.reflection.columns(self._inner.columns(J))[0]

    def matvec(self, x: Array) -> Array:
        return self.reflection.apply(self._weighted.matvec(x))

    def rmatmat(self, V: Array) -> Array:
        return self._weighted.rmatmat(self.reflection.apply_adjoint(V))

    def triangle(self, others: Array | None = None, *, first: Array | None = None) -> Array:
        """R of the QR of [first, A, others]; the component along u drops out with the first row."""
        adjoint = self.reflection.apply_adjoint
        before = [self.reflection.u, *([] if first is None else [adjoint(first)])]
        after = None if others is None else adjoint(others)
        R = self._weighted.triangle(after, first=np.column_stack(before))
        R[1:, square_sums(R[1:]) <= np.square(constant_level(R[0], self.dtype))] = 0.0
        return R[1:, 1:]
