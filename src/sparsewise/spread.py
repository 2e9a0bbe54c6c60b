"""How far new observations scatter about the prediction of a linear model."""

from __future__ import annotations

import numpy as np

from sparsewise.design.base import Array


def observation_std(Z: Array, covariance: Array, noise: float, level: float) -> Array:
    """The square root of σ² (1 + level) + z*Σz, for each row z of Z.

    Each row is taken in the unit of its largest part, so that no square overflows or vanishes.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        The features, about their means if the model has an intercept.
    covariance : ndarray of shape (k, k)
        Σ, of the coefficients.
    noise : float
        σ, the standard deviation of the noise.
    level : float
        What the mean of the target adds, in units of σ²: 1/n, or 0 without an intercept.
    """
    deviations = np.sqrt(np.diagonal(covariance))
    safe = np.where(deviations > 0, deviations, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        correlation = covariance / safe[:, None] / safe
        Z = Z * deviations
        unit = np.maximum(np.abs(Z).max(axis=1, initial=0.0), noise)
        unit = np.where(unit > 0, unit, 1.0)
        Z = Z / unit[:, None]
        spread = np.maximum(np.sum((Z @ correlation) * Z, axis=1), 0.0)
        return np.asarray(unit * np.sqrt((noise / unit) ** 2 * (1 + level) + spread))
