"""What is drawn at random: matrices, coefficients, noise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reproduction.declaration import Cell, Experiment
from sparsewise._typing import Array

DATA = Path(__file__).with_name("data")
"""Public tables; its README says where they are from."""


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


def _blocks(rng: np.random.Generator, n: int, m: int) -> Array:
    """Normal columns; ten at a time have a correlation of 0.99 to each other."""
    common = np.repeat(rng.standard_normal((n, -(-m // 10))), 10, axis=1)[:, :m]
    return np.sqrt(0.99) * common + 0.1 * rng.standard_normal((n, m))


def _table_columns(rng: np.random.Generator, n: int, m: int) -> Array:
    """Rows and columns of a real table, all at random; columns are standardised."""
    wide = [table for table in real_tables() if table.shape[0] >= n and table.shape[1] >= m]
    table = wide[rng.integers(len(wide))]
    A = table[rng.choice(table.shape[0], n, replace=False)]
    A = A[:, np.ptp(A, axis=0) > 0]
    A = A[:, rng.choice(A.shape[1], m, replace=False)]
    return (A - A.mean(axis=0)) / A.std(axis=0)


@cache
def real_tables() -> tuple[Array, ...]:
    """Three tables of scikit-learn with squares and products of their columns, and genotypes."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

    loaded = (load(return_X_y=True)[0] for load in (load_diabetes, load_wine, load_breast_cancer))
    return *map(with_products, loaded), *(genotypes(region).A for region in (2, 3))


def with_products(X: Array) -> Array:
    """Standardised columns, and the products of each two of them, squares among these."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    first, second = np.triu_indices(X.shape[1])
    return np.hstack([X, X[:, first] * X[:, second]])


@cache
def genotypes(region: int) -> Draw:
    """Columns of susieR's N2finemapping or N3finemapping, two traits, and their true effects."""
    with np.load(DATA / "susie.npz") as data:
        codes, values, traits, effects = (
            data[f"n{region}_{name}"] for name in ("codes", "values", "traits", "effects")
        )
    A = np.take_along_axis(values, codes.astype(np.int64), axis=1).T
    return Draw(A - A.mean(axis=0), traits - traits.mean(axis=0), effects)


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
    "blocks": _blocks,
    "table_columns": _table_columns,
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
