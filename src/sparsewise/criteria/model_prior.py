"""What is believed of models before the data: how many columns, and how large coefficients are.

Coefficients of the columns in a model have a slab N(0, σ²/d²) each, for unit columns. Its scale
τ = 1/(d √n), in units of σ and of standardised columns, has a half-Cauchy prior. A model of k of m
columns has the beta-binomial prior of size BB(α, β); log σ² is flat, and integrated out. Then

    p(S, d | y) ∝ prior(k) p(d) det(A_S*A_S/d² + I)^(-h) (y*(I + A_S A_S*/d²)⁻¹y)^(-h n)

with h = ½ for one real target; or, σ being known, exp(-h loss/σ²) in place of loss^(-h n).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.criteria.base import Sample

POINTS = 24
"""Values of d²: as many as make no difference to finer ones."""

WIDEST, NARROWEST = 1e4, 0.1
"""1/d² from this many times n, slabs a hundred times as wide as σ, down to this."""


class ModelPrior(NamedTuple):
    """The beta-binomial distribution BB(α, β) of the number of columns in a model.

    Attributes
    ----------
    size : tuple of float
        α and β.
    columns : int
        How many columns there are to choose from.
    """

    size: tuple[float, float]
    columns: int

    def log_models(self, sizes: ArrayLike) -> Array:
        """The logarithm of the prior of one model of each of these sizes."""
        from scipy.special import betaln  # here, as SciPy takes long to import

        k, (alpha, beta) = np.asarray(sizes), self.size
        return np.asarray(betaln(k + alpha, self.columns - k + beta) - betaln(alpha, beta))


def damping_grid(measurements: float) -> tuple[Array, Array]:
    """Values of d², from wide slabs to narrow ones, and logarithms of their prior probabilities.

    1/d² = n τ², half-Cauchy of scale 1 in τ, at equal distances of log τ.
    """
    log_width = np.linspace(math.log(measurements * WIDEST), math.log(NARROWEST), POINTS)
    scale = np.exp(log_width / 2) / math.sqrt(measurements)
    density = np.log(scale) - np.log1p(np.square(scale))
    return np.exp(-log_width), density - np.logaddexp.reduce(density)


def log_posterior(spectrum: Array, shares: Array, sample: Sample) -> float:
    """log p(S | y) of a model, d² summed out, less the logarithm of the prior of its size.

    Parameters
    ----------
    spectrum : ndarray
        The eigenvalues of A_S*A_S, for unit columns.
    shares : ndarray
        How much of ‖y‖² = 1 lies in the direction of each.
    sample : Sample
        Rows, targets and noise.
    """
    d2, log_prior = damping_grid(sample.rows)
    loss = 1.0 - (shares * (spectrum / (spectrum + d2[:, None]))).sum(axis=1)
    loss = np.maximum(loss, sample.exact)
    log_det = np.log1p(spectrum / d2[:, None]).sum(axis=1)
    fit = loss / sample.noise if sample.noise is not None else sample.rows * np.log(loss)
    half = sample.parts * sample.targets / 2
    return float(np.logaddexp.reduce(log_prior - half * (log_det + fit)))
