"""Predictive standard deviation of a linear model."""

from __future__ import annotations

import numpy as np

from sparsewise._typing import Array


def typical(noise: Array | float) -> float:
    """The root mean square of the targets' non-zero noise levels; for one target, its own."""
    levels = np.asarray(noise, np.float64).ravel()
    levels = levels[levels != 0]
    if not levels.size:
        return 0.0
    largest = levels.max()  # no square overflows or vanishes
    return float(largest * np.sqrt(np.square(levels / largest).mean()))


def shares(noise: Array) -> Array:
    """The noise of each target relative to the `typical` one."""
    return np.asarray(noise / (typical(noise) or 1.0))


def observation_std(Z: Array, covariance: Array, noise: Array | float, level: float) -> Array:
    """The square root of σ² (1 + level) + z*Σz, for each row z of Z.

    Each row is scaled by its largest term, so that no square overflows or vanishes. For several
    targets with the same features, Σ is proportional to σ², and the result has a column for each.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        The features, centred if the model has an intercept.
    covariance : ndarray of shape (k, k)
        Σ, the covariance of the coefficients; for several targets, at the `typical` noise.
    noise : float, or ndarray of shape (q,)
        σ, the standard deviation of the noise, or that of each target.
    level : float
        The variance of the target's mean in units of σ²: 1/n, or 0 without an intercept.
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
