"""Coefficients of a chosen model as Sparse Bayesian Learning sees them."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from sparsewise._typing import Array
from sparsewise.model_selection.data import Data
from sparsewise.results import MultistartSolution, ShrunkSolution

MOST = 100
"""Updates of the prior variances: a dozen are usual, more where features are nearly dependent."""

SETTLED = 1e-10
"""A change of the fitted values by less than this part of σ is none."""

STRONGEST = 1e8
"""σ²/γ of a feature of norm one that the data speak against: its coefficient is as good as zero."""


def shrunk(data: Data, solution: MultistartSolution) -> ShrunkSolution | MultistartSolution:
    """The same features, with posterior means in place of least squares.

    Each coefficient has a prior N(0, γ_j), but for those of `include`, where it is flat. Given the
    features and σ, MacKay's updates γ_j ← μ_j²/(1 - Σ_jj/γ_j) raise the evidence from where least
    squares is. A coefficient that this puts at t standard errors, of a feature orthogonal to the
    others, is shrunk by 1 - 1/t²: what is plain stays as it is, and what the criterion hardly let
    in counts for less. Several targets share γ_j in units of their noise, and t² is the mean of
    theirs.
    """
    support, sigma = solution.support, solution.sigma
    if not (support.size and sigma > 0):
        return solution
    columns, R = data.triangle(support)
    norms = data.design.norms()[columns].astype(np.float64)
    sigmas = solution.each_sigma.copy()
    sigmas[sigmas == 0] = 1.0  # of constant targets, which have no coefficients
    fitted = R @ ((solution.rows_of_coef[columns] * norms[:, None]) / sigmas)
    mean, root, damping = posterior(R.astype(np.float64), fitted, np.isin(columns, data.include))
    lost = np.array([np.linalg.norm(r) for r in (fitted - R @ mean).T]) * sigmas
    # Of one target to the digit.
    all_lost = lost[0] if lost.size == 1 else math.sqrt(data.mean_loss(np.square(lost)))
    back = np.argsort(columns)
    root = (root / norms[:, None])[back] * sigma
    coef = np.zeros_like(solution.coef)
    values = (mean / norms[:, None])[back] * sigmas
    coef[support] = values.reshape(support.size, *coef.shape[1:])
    told = {one.name: getattr(solution, one.name) for one in fields(solution)}
    return ShrunkSolution(
        **told
        | {
            "coef": coef,
            "residual_norm": math.hypot(solution.residual_norm, all_lost),
            "covariance": (root @ root.T).astype(solution.covariance.dtype),
            "least_squares": False,
        },
        damping=damping[back],
        fitted=solution,
    )


def posterior(R: Array, fitted: Array, free: Array) -> tuple[Array, Array, Array]:
    """Posterior mean, a root of the covariance, and 1/γ, of least squares R x = fitted with σ = 1.

    With D the diagonal matrix of 1/√γ, zero where the prior is flat, and [R; D] = Q T, the first
    two are T⁻¹Q*[fitted; 0] and T⁻¹. One target a column; they share γ.
    """
    from scipy.linalg import solve_triangular

    k, targets = fitted.shape
    target, eye = np.vstack([fitted, np.zeros_like(fitted)]), np.eye(k)
    damping, mean = np.zeros(k), np.zeros_like(fitted)  # 1/γ: the first round is least squares
    settled = SETTLED * math.sqrt(targets)
    for _ in range(MOST):
        used = damping
        Q, T = np.linalg.qr(np.vstack([R, np.diag(np.sqrt(used))]))
        root = solve_triangular(T, eye)
        before, mean = mean, root @ (Q.T @ target)
        if np.linalg.norm(R @ (mean - before)) <= settled:
            break
        told = np.maximum(1 - used * np.square(root).sum(axis=1), 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            squares = np.square(mean).mean(axis=1)
            damping = np.where(free, 0.0, np.fmin(told / squares, STRONGEST))
    return mean, root, used
