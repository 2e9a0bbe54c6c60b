"""How far new points lie from a sum of kernels, next to what it states.

A model states the variance of an observation as if its kernels, their prior variances and the noise
had been given. They were chosen by the same points, and above all the kernel at a point was chosen
for that point: a new one has none. So each point is left out in turn, in closed form, a relevance
vector together with its kernel.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from sparsewise._typing import Array
from sparsewise.tolerances import tolerances

TINY = tolerances(np.dtype(np.float64)).dependent
"""What rounding may leave of 1 - h, or of the energy of a dependent column."""


@np.errstate(over="ignore", invalid="ignore")  # a kernel may have values of any size
def dispersion(
    residual: Array,
    leverage: Array,
    noise: float,
    vectors: Array,
    triangle: Array,
    data: Array,
    own: Array,
    precision: Array,
) -> float:
    """√ of the mean of e_i²/v_i, the squared error of point i over its variance, without it.

    With leverage h_i, e_i = r_i / (1 - h_i) and v_i = σ² / (1 - h_i). A relevance vector is left
    out with its kernel j, which leaves the posterior (mean w, covariance Σ) first:

        r_i + k_i*Σ_j w_j / Σ_jj  for  r_i        h_i - (k_i*Σ_j)² / (σ² Σ_jj)  for  h_i

    Its ratio is the mean of two: the one without any kernel in that place, too large where another
    would serve as well; and the one with a substitute, too small, since all prior variances were
    found with the point in sight. Not below 1.

    Parameters
    ----------
    residual, leverage : ndarray of shape (n,)
        r and h of all points, with the intercept's part if there is one.
    noise : float
        σ; 0 has nothing to compare with.
    vectors : ndarray of shape (k,)
        The points whose kernels were chosen.
    triangle : ndarray of shape (k, k)
        R of Σ = σ² (RᵀR)⁻¹.
    data : ndarray of shape (rows, 2 k + 1)
        The k kernels, the k substitutes and y, without the intercept; or the triangle of these.
    own : ndarray of shape (k, 2 k)
        The rows of kernels and substitutes that belong to the vectors.
    precision : ndarray of shape (k,)
        σ² over the prior variances; 0 for least squares.
    """
    if not noise:
        return 1.0
    ratio = np.square(residual / noise) / np.maximum(1 - leverage, TINY)
    if k := vectors.size:
        K, S, y = data[:, :k], data[:, k : 2 * k], data[:, -1]
        inverse = solve_triangular(triangle, np.eye(k))
        cov = inverse @ inverse.T
        var, w = np.diagonal(cov), cov @ (K.T @ y)
        # Without its kernel: column j of each matrix is of the model without kernel j.
        share = np.einsum("ij,ji->i", own[:, :k], cov)
        r = residual[vectors] + share * w / var
        left = np.maximum(1 - leverage[vectors] + share**2 / var, TINY)
        alone = np.square(r / noise) / left
        # Substitutes regressed on the other kernels, then on all points but their own.
        T = cov @ (K.T @ S)
        T -= cov * (np.diagonal(T) / var)
        rest = S - K @ T
        u = (np.diagonal(own[:, k:]) - np.einsum("ij,ji->i", own[:, :k], T)) / left
        energy = np.square(rest).sum(axis=0) + precision @ np.square(T) - u**2 * left + precision
        corr = S.T @ (y - K @ w) + np.einsum("ij,ij->j", S, K @ cov) * w / var - u * r
        serves = energy > TINY * np.square(S).sum(axis=0)
        energy = np.where(serves, energy, np.inf)
        error = r / left - u * corr / energy
        exchanged = np.square(error / noise) / (1 / left + u**2 / energy)
        ratio[vectors] = (alone + exchanged) / 2
    return max(1.0, float(np.sqrt(ratio.mean())))
