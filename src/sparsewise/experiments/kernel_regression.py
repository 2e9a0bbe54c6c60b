"""Sparse kernel regression on the Boston housing data: error on unseen rows against sparsity."""

from __future__ import annotations

import io
from functools import cache, partial
from importlib.resources import files

import numpy as np

from sparsewise._typing import Array
from sparsewise.algorithms import ALGORITHMS
from sparsewise.experiments.declaration import Cell, Unit
from sparsewise.experiments.draws import generator
from sparsewise.experiments.measure import Values, noted, timed

LEAST, MOST = 0.2, 6.0
"""The range of δ, for a target of unit variance: from most features to hardly any."""


def deltas(many: int) -> Array:
    """As many values of δ, in equal ratios."""
    return np.geomspace(LEAST, MOST, many)


@cache
def boston() -> tuple[Array, Array]:
    """Features and median values of 506 tracts; see data/README.md."""
    text = files("sparsewise.experiments").joinpath("data/boston.csv").read_text()
    table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def split(cell: Cell, seed: int) -> tuple[Array, Array, Array, Array, float]:
    """Kernel and target of three quarters of the rows, kernel and target of the rest; and a unit.

    Features and target are standardised by the training rows. The kernel is Matérn-3/2, its length
    scale the median distance of training rows. Targets are about their mean; in the unit of the
    last number they are what they were.
    """
    # With this comes scikit-learn, for which the other experiments needn't wait.
    from sparsewise.estimators.kernel_functions import Stationary, median_distance

    X, y = boston()
    order = generator(cell, 0, seed).permutation(len(y))
    train, test = np.sort(order[: 3 * len(y) // 4]), np.sort(order[3 * len(y) // 4 :])
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    level, unit = float(y[train].mean()), float(y[train].std())
    y = (y - level) / unit
    kernel = Stationary("matern32", median_distance(X[train], np.random.RandomState(0)))
    return kernel(X[train], X[train]), y[train], kernel(X[test], X[train]), y[test], unit


def kernel_regression(unit: Unit, seed: int) -> Values:
    """Size of the model and error on the test rows, for every δ; the cell is a split."""
    K, y, K_test, y_test, scale = split(unit.cell, seed)
    algorithm = ALGORITHMS[unit.contender.algorithm]
    values: Values = {"delta": [], "size": [], "rmse": [], "seconds": []}
    for i, delta in enumerate(deltas(unit.experiment.realizations).tolist()):
        at = Cell(unit.cell.experiment, {**unit.cell.quantities, "delta": delta})
        with noted(f"delta {delta:.3g}"):
            solution, seconds = timed(
                partial(algorithm, K, y, **unit.contender.arguments(at)), i == 0
            )
        errors = y_test - K_test @ solution.coef
        values["delta"].append(delta)
        values["size"].append(float(solution.support.size))
        values["rmse"].append(scale * float(np.sqrt(np.mean(np.square(errors)))))
        values["seconds"].append(seconds)
    return values
