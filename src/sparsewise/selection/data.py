"""A table as the algorithms take it: weighted, centred, with its constraints as column numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sparsewise.design import Rows
from sparsewise.design.base import Array, Design
from sparsewise.design.unit_columns import unit_factor
from sparsewise.errors import InputError, InputWarning
from sparsewise.selection.criteria import Criteria
from sparsewise.selection.reduction import Reduced, reduce, some_rows

Found = TypeVar("Found")

BLOCK = 1024
"""Rows looked at together."""


@dataclass(frozen=True)
class Data:
    """Features, target and weights of rows, and the constraints on a model of them.

    Parameters
    ----------
    X : ndarray, sparse matrix, or Rows of a large array, of shape (n, m)
        The features.
    y : ndarray of shape (n,)
        The target.
    weights : ndarray of shape (n,), optional
        How often each row counts; greater than 0.
    intercept : bool
        Whether the model has a constant.
    include, exclude : list of int
        Features that must, and must not, be in the model.
    places : ndarray of int, optional
        For each row of the table its number among these, -1 if it was left out.
    factors : list of (columns, R)
        Triangles that `factor` has made, for `triangle` to look at.
    warnings : list of InputWarning
        What the user was warned of.
    """

    X: Any
    y: Array
    weights: Array | None
    intercept: bool
    include: list[int]
    exclude: list[int]
    places: Array | None = None
    factors: list[tuple[Array, Array]] = field(default_factory=list, compare=False, repr=False)
    warnings: list[InputWarning] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of_table(cls, X: Any, y: Array, weights: Array | None, *others: Any) -> Data:
        """The rows of a table that count, by the same fields: those of weight zero are left out."""
        whole = cls(X, y, weights, *others)
        if weights is None or weights.all():
            return whole
        counts = weights > 0
        if np.count_nonzero(counts) < 1 + whole.intercept:
            return whole  # `reduce` will say what is wrong
        places = np.where(counts, np.cumsum(counts) - 1, -1)
        return replace(whole.part(counts), places=places)

    @cached_property
    def reduced(self) -> Reduced:
        """The problem without weights and intercept."""
        return reduce(self.X, self.y, self.weights, self.intercept)

    @property
    def design(self) -> Design:
        """The features, as the algorithms see them."""
        return self.reduced.design

    @property
    def target(self) -> Array:
        """The target, as the algorithms see it."""
        return self.reduced.target

    @cached_property
    def rows(self) -> float:
        """The sum of the weights."""
        return self.reduced.rows

    @cached_property
    def total(self) -> float:
        """The squared norm of the target, about its mean if there is an intercept."""
        target = np.asarray(self.target, np.float64)
        return float(np.vdot(target, target))

    def check_target(self) -> None:
        """Refuse a target whose square is out of range: nothing could be told of a fit to it."""
        vanishes = self.total < np.finfo(np.float64).tiny and self.target.any()
        if vanishes or math.isinf(self.total):
            size = "small" if vanishes else "large"
            raise InputError(f"is too {size}: its square is out of range; scale it.", parameter="y")

    def warn(self, warning: InputWarning, stacklevel: int) -> None:
        """Warn the user, and keep it for whoever describes the model."""
        self.warnings.append(warning)
        warnings.warn(warning, stacklevel=stacklevel)

    @property
    def candidates(self) -> int:
        """How many features there are to choose from."""
        return self.X.shape[1] - len(self.exclude)

    @property
    def saturates(self) -> bool:
        """Whether all features together fit any target."""
        return self.rows - self.intercept <= self.candidates

    def run(self, algorithm: Callable[..., Found], **parameters: Any) -> Found:
        """What an algorithm makes of the data, with the constraints on the features."""
        constraints = {"include": self.include, "exclude": self.exclude}
        return algorithm(self.design, self.target, **parameters, **constraints)

    def criteria(self, variance: float | None = None) -> Criteria:
        """Criteria of models of these data."""
        exact = self.design.tolerances.exact
        return Criteria(self.rows, self.candidates, self.intercept, self.total, variance, exact)

    def is_exact(self, rss: float) -> bool:
        """Whether a squared residual is but rounding error."""
        return bool(self.criteria().is_exact(rss))

    def part(self, rows: Array) -> Data:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        X = some_rows(self.X, rows)
        return Data(X, self.y[rows], weights, self.intercept, self.include, self.exclude)

    def parts(self) -> Iterator[slice]:
        """All rows, so many at a time that there is never much of them at once."""
        return (slice(first, first + BLOCK) for first in range(0, len(self.y), BLOCK))

    def row_block(self, rows: slice) -> Array:
        """Some rows of the table, in a dense array."""
        if isinstance(self.X, Rows):
            return self.X.row_block(rows)
        return np.asarray(
            self.X[rows] if isinstance(self.X, np.ndarray) else self.X[rows].toarray()
        )

    def is_finite(self) -> bool:
        """Whether all features are numbers still: the table is the user's, who may change it."""
        return all(bool(np.isfinite(self.row_block(rows)).all()) for rows in self.parts())

    def factor(self, columns: Array) -> tuple[Array, Array]:
        """Q and R of these as unit columns: each adds a direction to an orthonormal basis."""
        Q, R = unit_factor(self.design, columns)
        self.factors.append((columns, R))
        return Q, R

    def triangle(self, support: Array) -> tuple[Array, Array]:
        """The same columns, perhaps in another order, and R of the QR of these as unit columns."""
        k, wanted = support.size, set(support.tolist())
        for columns, R in self.factors:
            if wanted == set(columns[:k].tolist()):
                return columns[:k], R[:k, :k]
        return support, unit_factor(self.design, support)[1]

    def basis_by_rows(
        self, columns: Array, Q: Array, R: Array, unit: float
    ) -> Iterator[tuple[slice, Array]]:
        """The target, in these units, and a `factor`'s basis, for some rows of the table at a time.

        One vector a row, as weights and intercept leave them.
        """
        if not self.reduced.condensed:
            vectors = np.vstack([np.asarray(self.target, np.float64) / unit, Q.T])
            reflection = self.reduced.reflection
            whole = vectors if reflection is None else reflection.back(vectors.T).T
            yield from ((rows, whole[:, rows]) for rows in self.parts())
            return
        from scipy.linalg import solve_triangular

        norms = self.design.norms()[columns]
        for rows in self.parts():  # Q of the triangle is not that of the table, but R is
            apart = self.row_block(rows)[:, columns] - self.reduced.means[columns]
            basis = solve_triangular(R, (apart / norms).T, trans="T")
            vectors = np.vstack([(self.y[rows] - self.reduced.level) / unit, basis])
            yield rows, vectors if self.weights is None else vectors * np.sqrt(self.weights[rows])
