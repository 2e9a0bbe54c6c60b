"""What is drawn at random: matrices, coefficients, noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from reproduction.declaration import Cell, Experiment
from sparsewise._typing import Array


class Draw(NamedTuple):
    """A problem whose answer is known: y = A x + noise; several targets are columns of y and x."""

    A: Array
    y: Array
    x: Array


def _normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape)


def _signs(rng: np.random.Generator, *shape: int) -> Array:
    return rng.choice([-1.0, 1.0], shape)


def _uniform(rng: np.random.Generator, *shape: int) -> Array:
    return rng.uniform(-1, 1, shape)


def _correlated(rng: np.random.Generator, n: int, m: int) -> Array:
    """Σ_p u_p v_p* / p²: singular values fall off, columns are nearly dependent (section 5.3)."""
    return decaying_factor(rng, n) @ rng.standard_normal((n, m))


def decaying_factor(rng: np.random.Generator, n: int) -> Array:
    """n×n, standard normal, column p divided by p²."""
    return rng.standard_normal((n, n)) / np.square(np.arange(1, n + 1))


def _neighbours(rng: np.random.Generator, n: int, m: int) -> Array:
    """Normal columns, each with a correlation of 0.9 to the one before."""
    return chain(rng.standard_normal((n, m)), 0.9)


def chain(A: Array, correlation: float) -> Array:
    """Give each of independent columns a correlation to the one before it, in place."""
    for j in range(1, A.shape[1]):
        A[:, j] = correlation * A[:, j - 1] + np.sqrt(1 - correlation**2) * A[:, j]
    return A


def _cosines(rng: np.random.Generator, n: int, m: int) -> Array:
    """Rows of the discrete cosine transform, at random (with repeats if n > m)."""
    rows = rng.choice(m, n, replace=n > m)
    return np.cos(np.pi * np.outer(rows, np.arange(m) + 0.5) / m)


FAMILIES: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "gaussian": _normal,
    "correlated": _correlated,
    "neighbours": _neighbours,
    "signs": _signs,
    "cosines": _cosines,
}
"""Matrices by name; their columns are scaled to unit norm afterwards."""


SIGNALS: dict[str, Callable[..., Array]] = {
    "signs": _signs,
    "normal": _normal,
    "uniform": _uniform,
}
"""Non-zero coefficients by name, given a generator and their shape."""


def generator(cell: Cell, realization: int, seed: int) -> np.random.Generator:
    """The random numbers of one realisation: the same for every contender, in whatever order."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(cell.key, realization)))


def draw(experiment: Experiment, cell: Cell, rng: np.random.Generator) -> Draw:
    """A matrix of unit columns, k coefficients at random places, noise of given norm.

    Where a cell says how many targets there are, each has coefficients of its own, at these places,
    and noise of its own.
    """
    n, m, k = int(cell["n"]), int(cell["m"]), int(cell["k"])
    each = (int(cell["targets"]),) if "targets" in cell.quantities else ()
    A = FAMILIES[experiment.family](rng, n, m)
    A /= np.linalg.norm(A, axis=0)
    x = np.zeros((m, *each))
    x[rng.choice(m, k, replace=False)] = SIGNALS[experiment.signal](rng, k, *each)
    return Draw(A, A @ x + noise(rng, (n, *each), cell.quantities.get("noise", 0.0)), x)


def noise(
    rng: np.random.Generator, shape: int | tuple[int, ...], norm: float, *, centred: bool = False
) -> Array:
    """Normal noise of given norm, of each column if there are several, perhaps about its mean."""
    e = rng.standard_normal(shape)
    if centred:
        e -= e.mean(axis=0)
    e *= norm / np.apply_along_axis(np.linalg.norm, 0, e)
    return e
