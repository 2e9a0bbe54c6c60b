"""What a fitted model expects of new rows: here, or wherever a Dask collection has them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.predictive_std import observation_std
from sparsewise.design.base import TILE_BYTES
from sparsewise.errors import InputError
from sparsewise.estimators.state import FittedState
from sparsewise.suffstats.dask_collections import by_rows


class Predictor(NamedTuple):
    """A model without its data: small, so that it can be sent to where rows are.

    Attributes
    ----------
    coef : ndarray of shape (k,), or (k, q) of several targets
        Coefficients of the chosen features.
    means : ndarray of shape (k,)
        Their means.
    level, intercept, noise : float, or ndarray of shape (q,)
        The mean of the target, the constant, and the standard deviation of the noise.
    covariance : ndarray of shape (k, k) or None
        Of the coefficients.
    level_variance : float
        What the mean of the target adds to the variance, in units of σ².
    dtype : numpy.dtype
        In which predictions are returned.
    """

    coef: Array
    means: Array
    level: Any
    intercept: Any
    noise: Any
    covariance: Array | None
    level_variance: float
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, state: FittedState, dtype: np.dtype[Any]) -> Self:
        """The predictor of a fitted model, for rows in this precision."""
        solution = state.solution_
        return cls(
            solution.coef[solution.support].astype(np.float64),
            state.means_,
            state.level,
            state.intercept_,
            state.noise_,
            state.covariance_,
            state.has_intercept / state.n_rows_,
            np.result_type(dtype, state.coef_.dtype),
        )

    def expected(
        self, rows: Any, chosen: Any = slice(None), return_std: bool = False
    ) -> tuple[Array, Array]:
        """Expected targets of rows, and standard deviations of observations if these are wanted.

        The chosen features are these columns.
        """
        n, each = rows.shape[0], self.coef.shape[1:]
        mean = np.empty((n, *each), self.dtype)
        std = np.empty((n if return_std else 0, *each), self.dtype)
        # A few rows at a time: there may be so many that memory has no room for a copy.
        width = max(1, TILE_BYTES // (8 * max(self.coef.size, 1)))
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, len(mean), width):
                part = slice(first, first + width)
                mean[part], std[part] = self._of_block(rows[part][:, chosen], return_std)
        if not (np.isfinite(mean).all() and np.isfinite(std).all()):
            wrong = f"A prediction is beyond the range of {self.dtype}"
            raise InputError(wrong, "give rows closer to those of fit.")
        return mean, std

    def _of_block(self, Z: Any, return_std: bool) -> tuple[Array, Array]:
        """In double precision, whatever comes in and goes out: features may be far from zero.

        For the same reason about the means, as in training, though with the intercept the sum is
        equal on paper.
        """
        Z, no_std = Z.astype(np.float64), np.empty((0, *self.coef.shape[1:]))
        if not isinstance(Z, np.ndarray):
            if not return_std:
                return Z @ self.coef + self.intercept, no_std
            Z = Z.toarray()
        Z -= self.means
        mean = Z @ self.coef + self.level
        if not return_std or self.noise is None or self.covariance is None:
            return mean, no_std
        return mean, observation_std(Z, self.covariance, self.noise, self.level_variance)

    def expected_of_dask(self, array: Any, chosen: Array, return_std: bool) -> Any:
        """The same of a Dask array, for Dask to compute when it is asked to."""
        functions = [self.mean, self.std] if return_std else [self.mean]
        each = self.coef.shape[1:]
        lazy = [by_rows(function, array, chosen, self.dtype, each) for function in functions]
        return tuple(lazy) if return_std else lazy[0]

    def mean(self, block: Array) -> Array:
        """Expected targets of rows that have not been checked, of the chosen features alone."""
        return self._of_unchecked(block, return_std=False)[0]

    def std(self, block: Array) -> Array:
        """Their standard deviations."""
        return self._of_unchecked(block, return_std=True)[1]

    def _of_unchecked(self, block: Array, return_std: bool) -> tuple[Array, Array]:
        if not np.isfinite(block).all():
            wrong = "has NaN or infinite entries in a chosen feature"
            raise InputError(wrong, "drop or fill them first.", parameter="X")
        return self.expected(block, return_std=return_std)
