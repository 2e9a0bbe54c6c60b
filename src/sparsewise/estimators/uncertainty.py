"""Noise, covariance of the coefficients, and standard deviations that follow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.predictive_std import shares, typical
from sparsewise.design.unit_columns import damp_factor
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.state import FittedState
from sparsewise.model_selection.data import Data
from sparsewise.results import MultistartSolution, Solution
from sparsewise.results.solution import UncertainSolution

OUT_OF_RANGE = "their squares are too large or too small for numbers, so use other units"


def noise_and_covariance(data: Data, solution: Solution) -> tuple[Any, Array | None]:
    """Standard deviation of the noise, covariance of the chosen coefficients; None if unknown.

    The covariance is unknown where units are such that squares are out of range. Several targets
    have a noise each, and the covariance is that of one with the typical noise.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        noise, covariance = _estimated(data, solution)
        if noise is None or covariance is None:
            return noise, None
        means, variances = data.reduced.means[solution.support], np.diagonal(covariance)
        in_range = np.isfinite(covariance).all() and np.isfinite(means @ covariance @ means)
        in_range &= not np.any(noise) or bool((variances >= np.finfo(covariance.dtype).tiny).all())
    return noise, covariance if in_range else None


def _estimated(data: Data, solution: Solution) -> tuple[Any, Array | None]:
    """Both from the posterior, or from the squared residuals: σ² = ‖r‖²/(n - df).

    With a ridge always the latter, but for a noise that was given.
    """
    if isinstance(solution, UncertainSolution) and not solution.ridge:
        if not data.multi_target:
            return solution.posterior
        noise = solution.each_sigma.copy()
        return noise, solution.covariance * (typical(noise) / (solution.sigma or 1.0)) ** 2
    support = solution.support
    df = solution.df if solution.ridge else support.size
    left = data.rows - df - data.intercept
    if isinstance(solution, MultistartSolution) and solution.goal.sample.noise is not None:
        noise = solution.each_sigma.copy()
    elif left <= 0:
        return None, None
    else:
        exact = data.design.tolerances.exact
        noise = np.array(
            [
                0.0 if loss <= exact * total else math.sqrt(loss / left)
                for loss, total in zip(data.losses(solution), data.totals, strict=True)
            ]
        )
    covariance = None
    if solution.least_squares:
        covariance = _covariance(data, support, typical(noise), solution.ridge)
    return noise if data.multi_target else noise[0].item(), covariance


def _covariance(data: Data, support: Array, noise: float, ridge: float) -> Array:
    """σ² (A_S*A_S)⁻¹, by QR of unit columns.

    With a ridge σ² M⁻¹ A_S*A_S M⁻¹, M = A_S*A_S + ridge I of unit columns: by how much noise
    moves the shrunk coefficients, whose bias is no part of it.
    """
    columns, R = data.triangle(support)
    Q = np.eye(support.size)
    if ridge:
        Q, R = damp_factor(R, ridge)
    root = np.linalg.solve(R, Q.T) * noise / data.design.norms()[columns, None]
    root = root[np.argsort(columns)]
    return np.asarray(root @ root.T)


def standard_deviations(
    data: Data, support: Array, noise: Any, covariance: Array | None
) -> tuple[Any, Any]:
    """Those of the coefficients and of the intercept, where they are known.

    The mean of the target and the coefficients are independent given the noise, and the
    intercept is their difference: its variance is σ²/n + x̄ᵀΣx̄.
    """
    if covariance is None or noise is None:
        return None, None
    means = data.reduced.means[support]
    coef_std: Array = np.zeros(data.n_features)
    coef_std[support] = np.sqrt(np.diagonal(covariance))
    shift = max(float(means @ covariance @ means), 0.0)
    intercept_std: Any = math.sqrt(typical(noise) ** 2 / data.rows + shift)
    if np.ndim(noise):
        each = shares(noise)
        coef_std, intercept_std = np.outer(each, coef_std), intercept_std * each
    return coef_std, intercept_std if data.intercept else None


def is_out_of_range(state: FittedState) -> bool:
    """Whether standard deviations are unknown for their size alone."""
    solution = state.solution_
    has_some = solution.least_squares or solution.posterior is not None
    return has_some and state.noise_ is not None and state.covariance_ is None


def no_standard_deviations(state: FittedState) -> InputError:
    """Why predictions have no standard deviations."""
    if is_out_of_range(state):
        return InputError(f"There are no standard deviations: {OUT_OF_RANGE}.")
    if state.solution_.least_squares:
        return InputError(
            "There are no more rows than coefficients, so that nothing tells the noise: "
            "standard deviations need more rows, or fewer features."
        )
    wrong = "The coefficients are shrunk, and have no standard deviations: use "
    stepwise, bayesian = Parameter("StepwiseRegressor"), Parameter("SparseBayesRegressor")
    use = Parameter("debias", True), ", ", stepwise, " or ", bayesian, " for these."
    return InputError((wrong, *use))
