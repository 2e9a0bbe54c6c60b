"""Whether the support behind the data is found."""

from __future__ import annotations

from functools import partial

import numpy as np

from sparsewise.algorithms import ALGORITHMS
from sparsewise.experiments.declaration import Unit, resolved
from sparsewise.experiments.draws import draw, generator
from sparsewise.experiments.measure import Values, noted, timed


def recovery(unit: Unit, seed: int) -> Values:
    """Whether the support is the true one, the error of the coefficients, size and time."""
    cell, words = unit.cell, unit.contender.words(unit.cell)
    algorithm = ALGORITHMS[unit.contender.algorithm]
    threshold = float(resolved(unit.contender.threshold, cell))
    values: Values = {"success": [], "error": [], "size": [], "seconds": []}
    for realization in range(unit.experiment.realizations):
        with noted(f"realisation {realization}"):
            A, y, x = draw(unit.experiment, cell, generator(cell, realization, seed))
            solution, seconds = timed(partial(algorithm, A, y, **words), realization == 0)
        found = np.abs(solution.coef) > threshold
        values["success"].append(float(np.array_equal(found, x != 0)))
        values["error"].append(float(np.linalg.norm(solution.coef - x) / np.linalg.norm(x)))
        values["size"].append(float(found.sum()))
        values["seconds"].append(seconds)
    return values
