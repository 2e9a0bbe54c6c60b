"""What is done in a cell: supports recovered, kernel regression, bounds on a probability."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from reproduction import how_sure_tasks
from reproduction.declaration import Cell, Unit, resolved
from reproduction.generators import DATA, FAMILIES, SIGNALS, draw, generator
from reproduction.measure import noted, timed
from reproduction.peers import competitor
from sparsewise._typing import Array
from sparsewise._util.text import printable
from sparsewise.algorithms import ALGORITHMS
from sparsewise.guarantees.recovery import orthonormal_recovery_probability, recovery_probability
from sparsewise.problem.targets import Targets

Values = dict[str, list[float]]
"""What was found in each realisation, by name."""

Result = dict[str, Any]
"""What `perform` returns for a unit: values, error, seconds."""

# --- support recovery -----------------------------------------------------------------------------


def recovery(unit: Unit, seed: int) -> Values:
    """Whether the support is the true one, the error of the coefficients, size and time.

    The error is relative, or absolute where all true coefficients are zero.
    """
    cell, arguments = unit.cell, unit.contender.arguments(unit.cell)
    algorithm = competitor(unit.contender.algorithm)
    threshold = float(resolved(unit.contender.threshold, cell))
    values: Values = {"success": [], "error": [], "size": [], "seconds": []}
    for realization in range(unit.realizations):
        with noted(f"realisation {realization}"):
            A, y, x = draw(unit.experiment, cell, generator(cell, realization, seed))
            # The noise of all targets is equal: so are their weights.
            target = y if y.ndim == 1 else Targets(y, weights=np.ones(y.shape[1]))
            solution, seconds = timed(partial(algorithm, A, target, **arguments), realization == 0)
        support = support_above(threshold, solution.coef)
        values["success"].append(float(np.array_equal(support, support_above(0.0, x))))
        size = np.linalg.norm(x) or 1.0
        values["error"].append(float(np.linalg.norm(solution.coef - x) / size))
        values["size"].append(float(support.size))
        values["seconds"].append(seconds)
    return values


def support_above(threshold: float, coef: Array) -> Array:
    """The columns whose coefficients count: those that are larger, of any target."""
    return np.flatnonzero((np.abs(coef) > threshold).reshape(len(coef), -1).any(axis=1))


# --- kernel regression ----------------------------------------------------------------------------

SMALLEST, LARGEST = 0.2, 6.0
"""The range of δ, for a target of unit variance: from most features to hardly any."""


def deltas(many: int) -> Array:
    """As many values of δ, in equal ratios."""
    return np.geomspace(SMALLEST, LARGEST, many)


@cache
def boston() -> tuple[Array, Array]:
    """Features and median values of 506 tracts; see data/README.md."""
    table = np.loadtxt(DATA / "boston.csv", delimiter=",", skiprows=1)
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


# --- bounds on the probability of recovery --------------------------------------------------------

LARGEST_MARGIN = 5.0
"""How far δ = (1/2 - μ₁(k)) min|x_i| / σ goes."""


def bounds(unit: Unit, seed: int) -> Values:
    """The bound that the contender is called after, at as many δ as there are realisations.

    "theorem" is Thm. 4.5 as printed, "older" that of Cai and Wang, "bound" the proved one, all for
    orthonormal columns; "achieved" what forward algorithms then achieve.
    """
    m, k, many = int(unit.cell["m"]), int(unit.cell["k"]), unit.experiment.realizations
    at = np.linspace(LARGEST_MARGIN / many, LARGEST_MARGIN, many)
    which = unit.contender.algorithm
    if which == "achieved":
        found = [orthonormal_recovery_probability(m, k, delta) for delta in at]
    else:
        found = [getattr(recovery_probability(m, k, delta, 0.0, 0.0), which) for delta in at]
    return {"delta": at.tolist(), "probability": [float(value) for value in found]}


# --- whatever the task ----------------------------------------------------------------------------

TASKS: dict[str, Callable[[Unit, int], Values]] = {
    "recovery": recovery,
    "kernel_regression": kernel_regression,
    "bounds": bounds,
    "inclusion": how_sure_tasks.inclusion,
    "credible_sets": how_sure_tasks.credible_sets,
    "fine_mapping": how_sure_tasks.fine_mapping,
    "best_subset": how_sure_tasks.best_subset,
    "averaging": how_sure_tasks.averaging,
}
"""Every kind of experiment."""

REGISTRIES: tuple[dict[str, Any], ...] = (TASKS, FAMILIES, SIGNALS, ALGORITHMS)
"""Where the words of a declaration are looked up."""

Entries = Sequence[dict[str, Any]]


def entries(unit: Unit) -> Entries:
    """What of the registries a unit needs: other processes don't know what was added in this."""
    experiment = unit.experiment
    names = (experiment.task, experiment.family, experiment.signal, unit.contender.algorithm)
    return [
        {name: known[name]} if name in known else {}
        for name, known in zip(names, REGISTRIES, strict=True)
    ]


def perform(unit: Unit, seed: int, needed: Entries = ()) -> Result:
    """Run a unit; an error is part of the result."""
    for known, more in zip(REGISTRIES, needed, strict=False):
        known.update(more)
    start = time.perf_counter()
    try:
        values, error = _checked(TASKS[unit.experiment.task](unit, seed)), None
    except (Exception, SystemExit) as reason:
        values, error = {}, described(reason)
    return {"values": values, "error": error, "seconds": time.perf_counter() - start}


def described(error: BaseException) -> str:
    """An error as one line: where, what kind, and its own words."""
    notes = getattr(error, "__notes__", [])
    return printable(": ".join([*notes, type(error).__name__, str(error)]))


def _checked(values: Values) -> Values:
    for name, found in values.items():
        for i, value in enumerate(found):
            if not math.isfinite(value):
                raise ValueError(f'"{name}" of realisation {i} is {value}')
    if not any(values.values()):
        raise ValueError("nothing was done")
    if len({len(found) for found in values.values()}) > 1:
        raise ValueError("there is not one value of each kind for each realisation")
    return values
