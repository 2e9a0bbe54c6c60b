"""What a fitted model expects of new rows: here, or wherever a Dask collection has them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.predictive_std import observation_std
from sparsewise.design.base import TILE_BYTES
from sparsewise.errors import InputError


class Exact(NamedTuple):
    """In double precision, what single precision rounds: predictions are made of these.

    Of several targets there are a level, an intercept and a noise for each.
    """

    means_: Array
    level: Any
    intercept_: Any
    noise_: Any
    covariance_: Array | None


class Predictor(NamedTuple):
    """A model without its data: small, so that it can be sent to where rows are.

    Attributes
    ----------
    coef : ndarray of shape (k,), or (k, q) of several targets
        Coefficients of the chosen features.
    exact : Exact
        Their means, and the rest.
    level : float
        What the mean of the target adds to the variance, in units of σ².
    dtype : numpy.dtype
        In which predictions are returned.
    """

    coef: Array
    exact: Exact
    level: float
    dtype: np.dtype[Any]

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
                mean[part], std[part] = self._of_some(rows[part][:, chosen], return_std)
        if not (np.isfinite(mean).all() and np.isfinite(std).all()):
            wrong = f"A prediction is beyond the range of {self.dtype}"
            raise InputError(wrong, "give rows closer to those of fit.")
        return mean, std

    def _of_some(self, Z: Any, return_std: bool) -> tuple[Array, Array]:
        """In double precision, whatever comes in and goes out: features may be far from zero.

        For the same reason about the means, as in training, though with intercept_ the sum is
        equal on paper.
        """
        exact, Z = self.exact, Z.astype(np.float64)
        if not isinstance(Z, np.ndarray):
            if not return_std:
                return Z @ self.coef + exact.intercept_, self._nothing
            Z = Z.toarray()
        Z -= exact.means_
        mean = Z @ self.coef + exact.level
        if not return_std or exact.noise_ is None or exact.covariance_ is None:
            return mean, self._nothing
        return mean, observation_std(Z, exact.covariance_, exact.noise_, self.level)

    @property
    def _nothing(self) -> Array:
        """In place of standard deviations that nobody wants."""
        return np.empty((0, *self.coef.shape[1:]))

    def mean(self, block: Array) -> Array:
        """Expected targets of rows that nobody has looked at, of the chosen features alone."""
        return self._afar(block, return_std=False)[0]

    def std(self, block: Array) -> Array:
        """Their standard deviations."""
        return self._afar(block, return_std=True)[1]

    def _afar(self, block: Array, return_std: bool) -> tuple[Array, Array]:
        if not np.isfinite(block).all():
            wrong = "has NaN or infinite entries in a chosen feature"
            raise InputError(wrong, "drop or fill them first.", parameter="X")
        return self.expected(block, return_std=return_std)
