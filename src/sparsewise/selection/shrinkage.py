"""Coefficients of a chosen model as Sparse Bayesian Learning sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsewise.algorithms import rmp
from sparsewise.results import MultistartSolution, Stop
from sparsewise.selection.data import Data

SETTLED = 1e-6
"""A rise of the log evidence below this changes no coefficient that anybody would notice."""


def shrunk(data: Data, solution: MultistartSolution) -> MultistartSolution:
    """The same features, with posterior means in place of least squares.

    Each coefficient has a prior N(0, γ_j), but for those of `include`, where it is flat. Given the
    features and σ, the γ maximise the evidence: a coefficient that least squares puts at t
    standard errors, of a feature orthogonal to the others, is shrunk by 1 - 1/t². What is plain
    stays as it is, and what the criterion hardly let in counts for less.
    """
    support = solution.support
    settled = solution.stop is not Stop.INTERRUPTED
    if not (support.size and settled and solution.sigma > 0):
        return solution
    free = np.flatnonzero(np.isin(support, data.include))
    columns = data.design.columns(support)
    found = rmp(
        columns, data.target, sigma=solution.sigma, min_increase=SETTLED, include=free.tolist()
    )
    if found.stop is Stop.INTERRUPTED or found.support.size < support.size:
        # Given the others, the evidence has no use for one of them: it takes all or none.
        return solution
    coef = np.zeros_like(solution.coef)
    coef[support] = found.coef
    return replace(
        solution,
        coef=coef,
        residual_norm=found.residual_norm,
        covariance=found.covariance,
        least_squares=False,
    )
