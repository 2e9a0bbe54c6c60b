"""Kernels by name: functions of the distance between two points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist, pdist

from sparsewise._typing import Array
from sparsewise.design.base import CONSTANT

SAMPLE = 1000
"""Points whose distances tell the median well enough: half a million pairs."""

FAR = 1e3
"""exp(-FAR) is zero, so that nothing changes beyond."""

WIDEST = 600.0
"""Logarithms of scales beyond this would leave the range of numbers."""


# Each takes r = distance / length scale and may overwrite it: half of the time of a tile is spent
# here, and room for further arrays would cost as much again.


def _matern32(r: Array) -> Array:
    r *= 3**0.5
    decay = _decay(r)
    r += 1
    r *= decay
    return r


def _matern52(r: Array) -> Array:
    r *= 5**0.5
    decay = _decay(r)
    polynomial = r / 3
    polynomial += 1
    polynomial *= r
    polynomial += 1
    polynomial *= decay
    return polynomial


def _rbf(r: Array) -> Array:
    r *= r
    r *= 0.5
    return _decay(r)


def _decay(a: Array) -> Array:
    """exp(-a), where infinity has become FAR: infinity times zero would be NaN."""
    np.minimum(a, FAR, out=a)
    decay = np.negative(a)
    return np.exp(decay, out=decay)


PROFILES: dict[str, Callable[[Array], Array]] = {
    "matern12": _decay,
    "matern32": _matern32,
    "matern52": _matern52,
    "rbf": _rbf,
}
"""Every kernel by name, as a function of r = distance / length scale."""


@dataclass(frozen=True)
class Stationary:
    """A kernel of ‖x - x'‖ / length_scale.

    Parameters
    ----------
    name : str
        A key of `PROFILES`.
    length_scale : float
        The distance at which two points begin to know little of each other.
    """

    name: str
    length_scale: float

    def __call__(self, X: Array, Y: Array) -> Array:
        """The kernel between the rows of X and those of Y, in their precision."""
        # Differences, not the Gram trick: near zero, where Matérn-1/2 is steep, the latter has
        # lost half of its digits. Scaled first, so that no square overflows.
        with np.errstate(over="ignore"):
            r = cdist(X / self.length_scale, Y / self.length_scale)
            return PROFILES[self.name](r).astype(np.result_type(X, Y), copy=False)


@dataclass(frozen=True, eq=False)
class Scaled:
    """A kernel of points whose features are divided by numbers of their own.

    Parameters
    ----------
    kernel : callable
        Of the points as they are then.
    scale : ndarray of shape (p,)
        A number for each feature.
    """

    kernel: Callable[[Array, Array], Array]
    scale: Array

    def __call__(self, X: Array, Y: Array) -> Array:
        """The kernel between the rows of X and those of Y."""
        return self.kernel(X / self.scale, Y / self.scale)


def spreads(X: Array) -> Array:
    """The standard deviation of each feature, in units of their geometric mean; 1 for constants.

    So features that are alike stay as they are, and so does the unit of a length scale.
    """
    size = np.abs(X).max(axis=0)
    unit = np.where(size > 0, size, 1.0)  # squares of X / unit are in range, whatever the units
    std = (X / unit).std(axis=0)
    varies = std > CONSTANT * np.finfo(X.dtype).eps
    powers = np.log(np.where(varies, std, 1.0)) + np.log(np.where(varies, unit, 1.0))
    powers[varies] -= powers[varies].mean() if varies.any() else 0.0
    return np.exp(np.clip(powers, -WIDEST, WIDEST))


def median_distance(X: Array, rng: np.random.RandomState) -> float:
    """The median distance between two points, of a sample where there are many; never zero."""
    if len(X) > SAMPLE:
        X = X[np.sort(rng.choice(len(X), SAMPLE, replace=False))]
    # Only differences count, and halves of them are in range, as are squares of X / size.
    X = X / 2 - X.min(axis=0) / 2
    size = float(X.max())
    if len(X) < 2 or size == 0.0:
        return 1.0
    distances = pdist(X / size)
    median = float(np.median(distances))
    if median == 0.0:  # most points coincide: how far apart are those that don't?
        apart = distances[distances > 0]
        median = float(np.median(apart)) if apart.size else 1.0
    real = np.finfo(np.float64)
    return min(max(median * (2 * size), float(real.tiny)), float(real.max))
