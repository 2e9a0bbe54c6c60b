"""How far new observations scatter about the prediction of a linear model."""

from __future__ import annotations

import numpy as np

from sparsewise._typing import Array


def typical(noise: Array | float) -> float:
    """The root mean square of the noise of several targets, of those that have any; of one, it."""
    some = np.asarray(noise, np.float64).ravel()
    some = some[some != 0]
    if not some.size:
        return 0.0
    largest = some.max()  # no square overflows or vanishes
    return float(largest * np.sqrt(np.square(some / largest).mean()))


def shares(noise: Array) -> Array:
    """The noise of each target in units of the typical one."""
    return np.asarray(noise / (typical(noise) or 1.0))


def observation_std(Z: Array, covariance: Array, noise: Array | float, level: float) -> Array:
    """The square root of σ² (1 + level) + z*Σz, for each row z of Z.

    Each row is taken in the unit of its largest part, so that no square overflows or vanishes. Of
    targets that share their features Σ is proportional to σ², and there is a column for each.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        The features, about their means if the model has an intercept.
    covariance : ndarray of shape (k, k)
        Σ, of the coefficients; of several targets, that of one whose noise is the `typical` one.
    noise : float, or ndarray of shape (q,)
        σ, the standard deviation of the noise, or that of each target.
    level : float
        What the mean of the target adds, in units of σ²: 1/n, or 0 without an intercept.
    """
    if np.ndim(noise):
        return np.multiply.outer(
            observation_std(Z, covariance, typical(noise), level), shares(np.asarray(noise))
        )
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
