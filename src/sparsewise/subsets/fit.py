"""Least squares on a subset of columns, and the columns that could replace some of them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import square_sums
from sparsewise.design.unit_columns import inverse_of_triangle, is_dependent, unit_factor
from sparsewise.problem.problem import Problem


class Fit:
    """Least squares on a support, for unit columns and a unit target, in double precision.

    Several targets have one fit: ‖r‖² is Σ_t‖r_t‖², and the size of a coefficient √Σ_t|x_ti|². This
    is the fit of the stacked targets on the block columns I_q ⊗ a_i.

    Parameters
    ----------
    data : Problem
        Design, target or targets, and constraints: columns of the support that must stay, and
        columns that must not come in.
    columns : ndarray of int
        The support, ascending.

    Attributes
    ----------
    x, r : ndarrays of shape (q, k) and (q, n)
        Coefficients and residual, one target per row.
    squares : ndarray of shape (k,)
        Σ_t|x_ti|² of each column.
    norm : float
        ‖r‖.
    loose : ndarray of bool
        Which columns of the support may be exchanged for others.
    others : ndarray of int
        The columns that may replace them: not in the support, not excluded, not zero.
    dependent : bool
        Whether the columns of the support are numerically dependent.
    redundant : bool
        Whether fewer of its columns fit equally well up to rounding.
    """

    def __init__(self, data: Problem, columns: Array) -> None:
        self.data, self.columns, self.size = data, columns, columns.size
        self.loose = ~np.isin(columns, list(data.constraints.include))
        there = np.flatnonzero(data.inverse_norms > 0)
        self.others = np.setdiff1d(there, [*columns, *data.constraints.exclude])
        Y = data.Y.astype(np.result_type(data.dtype, np.float64), copy=False).T
        self.Q, self.R = unit_factor(data.design, columns)
        # A column too small for its inverse norm counts as zero, as it does everywhere.
        vanishing = bool((data.inverse_norms[columns] == 0).any())
        self.dependent = vanishing or is_dependent(self.R, data.design)
        if self.dependent:
            rounding = 8 * data.tolerances.eps
            X = np.linalg.lstsq(self.Q @ self.R, Y, rcond=rounding)[0]
            rest = Y - self.Q @ (self.R @ X)
        else:
            self.U = inverse_of_triangle(self.R)
            X = self.U @ (self.Q.conj().T @ Y)
            rest = Y - self.Q @ (self.Q.conj().T @ Y)
            rest -= self.Q @ (self.Q.conj().T @ rest)
        self.x, self.r = X.T, np.ascontiguousarray(rest.T)
        self.norm = float(np.linalg.norm(self.r))
        self.tolerance = data.tolerances
        self.squares = square_sums(self.x)
        sizes = np.sqrt(self.squares)
        size_of_x = 1 + float(sizes.sum())
        # The data themselves are rounded.
        self.rounding = 64 * self.tolerance.eps * size_of_x
        # The resulting error of ‖r‖, and of sums of n products: closer fits are tied.
        self._unsure = (8 + math.sqrt(data.shape[0]) / 8) * self.tolerance.eps * size_of_x
        exchangeable = sizes[self.loose] if self.loose.any() else sizes
        self.min_abs = float(exchangeable.min()) if self.size and not self.dependent else 0.0
        has_zero = bool(self.loose.any()) and self.min_abs <= self.rounding
        self.redundant = self.dependent or has_zero

    def with_columns(self, columns: Iterable[int]) -> Fit:
        """The fit on other columns."""
        return Fit(self.data, np.array(sorted(columns), np.int64))

    def against(self, columns: Iterable[int]) -> int:
        """1 if these columns fit better, 0 if as well, -1 if worse or dependent."""
        other = self.with_columns(columns)
        fall, unsure = self.norm - other.norm, max(self._unsure, other._unsure)
        if other.dependent or fall < -unsure:
            return -1
        return int(fall > unsure)
