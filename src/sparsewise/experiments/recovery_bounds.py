"""Bounds on the probability of recovery: no draws, only formulas."""

from __future__ import annotations

import numpy as np

from sparsewise.experiments.declaration import Unit
from sparsewise.experiments.measure import Values
from sparsewise.guarantees.recovery import orthonormal_recovery_probability, recovery_probability

MOST = 5.0
"""How far δ = (1/2 - μ₁(k)) min|x_i| / σ goes."""


def bounds(unit: Unit, seed: int) -> Values:
    """The bound that the contender is called after, at as many δ as there are realisations.

    "theorem" is Thm. 4.5 as printed, "older" that of Cai and Wang, "bound" the proved one, all for
    orthonormal columns; "achieved" what forward algorithms then achieve.
    """
    m, k = int(unit.cell["m"]), int(unit.cell["k"])
    at = np.linspace(MOST / unit.experiment.realizations, MOST, unit.experiment.realizations)
    which = unit.contender.algorithm
    if which == "achieved":
        found = [orthonormal_recovery_probability(m, k, delta) for delta in at]
    else:
        found = [getattr(recovery_probability(m, k, delta, 0.0, 0.0), which) for delta in at]
    return {"delta": at.tolist(), "probability": [float(value) for value in found]}
