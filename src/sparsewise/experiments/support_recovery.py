"""Whether the support behind the data is found."""

from __future__ import annotations

from functools import partial

import numpy as np

from sparsewise._typing import Array
from sparsewise.experiments.declaration import Unit, resolved
from sparsewise.experiments.draws import draw, generator
from sparsewise.experiments.measure import Values, noted, timed
from sparsewise.experiments.peers import competitor
from sparsewise.problem.targets import Targets


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
