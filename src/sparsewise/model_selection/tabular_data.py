"""A table: an array, a sparse matrix, or a design that is large, with target and weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import count
from sparsewise.design import Design
from sparsewise.errors import InputError
from sparsewise.model_selection.data import Data
from sparsewise.problem.preprocessing import Reduced, reduce, some_rows

BLOCK = 1024
"""Rows looked at together."""


@dataclass(frozen=True, kw_only=True)
class TabularData(Data):
    """Features, target and weights of rows.

    Parameters
    ----------
    X : ndarray, sparse matrix, DaskDesign, or Rows of a large array, of shape (n, m)
        The features.
    y : ndarray of shape (n,) or (n, q)
        The target, or several, one a column.
    weights : ndarray of shape (n,), optional
        How often each row counts; greater than 0.
    places : ndarray of int, optional
        For each row of the table its number among these, -1 if it was left out.
    groups : ndarray of shape (n,), optional
        Rows that splitters keep together.
    """

    X: Any
    y: Array
    weights: Array | None
    places: Array | None = None
    groups: Array | None = None

    @classmethod
    def of(cls, X: Any, y: Array, weights: Array | None, **others: Any) -> TabularData:
        """The rows of a table that count: those of weight zero are left out."""
        whole = cls(X=X, y=y, weights=weights, **others)
        if weights is None or weights.all():
            return whole
        counts = weights > 0
        if np.count_nonzero(counts) < 1 + whole.intercept:
            return whole  # `reduce` will say what is wrong
        places = np.where(counts, np.cumsum(counts) - 1, -1)
        return replace(whole.part(counts), places=places)

    @cached_property
    def reduced(self) -> Reduced:
        return reduce(self.X, self.y, self.weights, self.intercept)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def count(self) -> int:
        return len(self.y)

    @property
    def weight(self) -> float:
        return len(self.y) if self.weights is None else float(self.weights.sum())

    @property
    def is_weighted(self) -> bool:
        return self.weights is not None

    def kept(self) -> Self:
        # X itself, not what was made of it: n x m numbers more would be too many to keep.
        weights = None if self.weights is None else self.weights.copy()
        return replace(self, y=self.y.copy(), weights=weights)

    def part(self, rows: Array) -> Self:
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(
            X=some_rows(self.X, rows),
            y=self.y[rows],
            weights=weights,
            intercept=self.intercept,
            include=self.include,
            exclude=self.exclude,
            ridge=self.ridge,
            groups=None if self.groups is None else self.groups[rows],
        )

    def count_of(self, rows: Array) -> int:
        return len(rows)

    def splits(self, cv: Any) -> list[tuple[Array, Array]]:
        """Rows to learn from and rows to predict, fold by fold.

        A number of folds, or a splitter, sees the rows that count and no others; folds that are
        given as lists of rows, or by `PredefinedSplit`, speak of the whole table. A number of folds
        keeps groups together, if there are any.
        """
        from sklearn.model_selection import GroupKFold, PredefinedSplit, check_cv

        if isinstance(cv, Integral) and int(cv) > len(self.y):
            rows = count(len(self.y), "row")
            raise InputError(f"asks for more folds than {rows}", "ask for fewer.", parameter="cv")
        # Splitters count the rows; those of a large array that are not all there are not gathered.
        X = np.empty((len(self.y), 0)) if isinstance(self.X, Design) else self.X
        if self.groups is not None and (cv is None or isinstance(cv, Integral)):
            there = len(np.unique(self.groups))
            cv = GroupKFold(check_cv(cv).get_n_splits())
            if cv.n_splits > there:
                wrong = f"asks for more folds than {count(there, 'group')}"
                raise InputError(wrong, "ask for fewer.", parameter="cv")
        splits = list(check_cv(cv).split(X, self.y, self.groups))
        if isinstance(cv, (Iterable, PredefinedSplit)):
            at = np.arange(len(self.y)) if self.places is None else self.places
            try:
                splits = [(at[train], at[test]) for train, test in splits]
            except IndexError:
                raise InputError(
                    f"names rows that X does not have: it has rows 0 to {len(at) - 1}.",
                    parameter="cv",
                ) from None
            splits = [(train[train >= 0], test[test >= 0]) for train, test in splits]
        return splits

    def parts(self) -> Iterator[slice]:
        """All rows, so many at a time that there is never much of them at once."""
        return (slice(first, first + BLOCK) for first in range(0, len(self.y), BLOCK))

    def row_block(self, rows: slice) -> Array:
        """Some rows of the table, in a dense array."""
        if isinstance(self.X, Design):
            return self.X.row_block(rows)
        return np.asarray(
            self.X[rows] if isinstance(self.X, np.ndarray) else self.X[rows].toarray()
        )

    def is_finite(self) -> bool:
        """Whether all features are numbers still: the table is the user's, who may change it."""
        if isinstance(self.X, Design) and not self.X.dense:  # what workers hold is ours
            return True
        return all(bool(np.isfinite(self.row_block(rows)).all()) for rows in self.parts())

    def squared_errors(self, columns: Array, coefs: Array, means: Array, level: Any) -> Array:
        models = coefs.shape[1:]  # and targets, if there are several
        flat = coefs.reshape(columns.size, math.prod(models))
        squares = np.zeros(flat.shape[1])
        for rows, some in self._columns_by_rows(columns):
            Z = some - means
            targets = self.y[rows] - level
            expected = (Z @ flat).reshape(len(Z), *models)
            residuals = (targets[:, None] - expected).reshape(len(Z), flat.shape[1])
            counts = np.ones(len(Z)) if self.weights is None else self.weights[rows]
            squares += counts @ np.square(residuals)
        return squares.reshape(models)

    def _columns_by_rows(self, columns: Array) -> Iterator[tuple[slice, Array]]:
        """These features, for some rows at a time."""
        if isinstance(self.X, Design) and not self.X.dense:
            some = self.X.columns(columns)  # whole rows would have to come from far away
            yield from ((rows, some[rows]) for rows in self.parts())
        else:
            yield from ((rows, self.row_block(rows)[:, columns]) for rows in self.parts())

    def basis_by_rows(
        self, columns: Array, Q: Array, R: Array, unit: Any
    ) -> Iterator[tuple[slice, Array]]:
        """The target, in these units, and a `factor`'s basis, for some rows of the table at a time.

        One vector a row, as weights and intercept leave them; the targets first, in a unit each if
        there are several.
        """
        if not self.reduced.condensed:
            vectors = np.vstack([(np.asarray(self.target, np.float64) / unit).T, Q.T])
            reflection = self.reduced.reflection
            whole = vectors if reflection is None else reflection.apply_adjoint(vectors.T).T
            yield from ((rows, whole[:, rows]) for rows in self.parts())
            return
        from scipy.linalg import solve_triangular

        norms = self.design.norms()[columns]
        for rows in self.parts():  # Q of the triangle is not that of the table, but R is
            apart = self.row_block(rows)[:, columns] - self.reduced.means[columns]
            basis = solve_triangular(R, (apart / norms).T, trans="T")
            vectors = np.vstack([((self.y[rows] - self.reduced.level) / unit).T, basis])
            yield rows, vectors if self.weights is None else vectors * np.sqrt(self.weights[rows])
