"""Sparse Bayesian Learning with all features at once: EM, MacKay's and the convex-bound updates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.algorithms.rmp import match_relevance
from sparsewise.design.base import Array, square_sums
from sparsewise.engine.evidence import Evidence
from sparsewise.engine.log import Callback
from sparsewise.engine.noise_inference import NoisePrior, begin
from sparsewise.problem import check_count
from sparsewise.results import BayesianSolution, weight
from sparsewise.tolerances import tolerances

Updates = Literal["em", "mackay", "convex"]

# The next γ, given |μ|² and share = γ S = 1 - Σ_ii/γ, how much the data tell of each coefficient.
UPDATES: dict[str, Callable[[Array, Array, Array], Array]] = {
    "em": lambda gamma, squared, share: squared + gamma * (1 - share),
    "mackay": lambda gamma, squared, share: squared / share,
    "convex": lambda gamma, squared, share: np.sqrt(squared * gamma / share),
}

NEGLIGIBLE = 1e-6
"""A γ below this part of the largest is pruned; if that was wrong, the polish brings it back."""


@algorithm(
    Family.BAYESIAN,
    "small tables, and comparison with other programs",
    result=BayesianSolution,
    dense=True,
    least_squares=False,
)
def sbl(
    A: Any,
    y: ArrayLike,
    *,
    sigma: float | None = None,
    updates: Updates = "em",
    min_increase: float = 1e-2,
    price: float = 0.0,
    noise_prior: NoisePrior | None = None,
    max_iter: int | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> BayesianSolution:
    """Sparse Bayesian Learning with all features at once, pruned as it goes, then polished.

    The model and its evidence are those of `rmp`. All γ_j start at one (unit columns, unit
    target) and change together, with μ and Σ the posterior mean and covariance:

    - "em": γ = |μ|² + Σ_jj (Tipping 2001), sure and slow;
    - "mackay": γ = |μ|² / (1 - Σ_jj/γ) (MacKay 1992), 5 to 10 times quicker, best where
      features are uncorrelated;
    - "convex": γ = |μ| / (a_j*C⁻¹a_j)^½ (Wipf and Nagarajan 2008), by a convex bound of log|C|.

    Such updates only ever come close to zero. The stages of `rmp` finish the work from there:
    they delete what the evidence says is zero, and leave a maximum of it. Needs A as a dense
    matrix; an update costs O(m·min(n, m)²), m being the columns not yet pruned.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    sigma : float, optional
        Standard deviation of the noise. None: inferred as in `rmp`.
    updates : {"em", "mackay", "convex"}
        The rule by which γ changes.
    min_increase : float
        The updates end when one raises the log evidence by less than a tenth of this; the
        polish re-estimates what raises it by more than this.
    price : float
        What a feature must raise the log evidence by to be in the model.
    noise_prior : (shape, scale), optional
        Inverse-gamma prior on σ², where σ is inferred.
    max_iter : int, optional
        Most updates of all γ; None: 2,000.
    include : iterable of int
        Columns that must be in the model; their coefficients have a flat prior.
    exclude : iterable of int
        Columns that must not be in the model.
    callback : callable, optional
        Called with every `Step` of the polish; returning True stops.

    Returns
    -------
    BayesianSolution
        Posterior mean as ``coef``, with ``gamma``, ``sigma``, ``covariance`` and
        ``log_evidence``; ``path`` starts from the columns that were left after the updates.
    """
    if updates not in list(UPDATES):
        raise ValueError(f"updates must be one of {', '.join(UPDATES)}, not {updates!r}.")
    most = check_count(max_iter, "max_iter", 0)
    evidence = begin(
        A, y, match_relevance, sigma=sigma, price=price, min_increase=min_increase,
        noise_prior=noise_prior, include=include, exclude=exclude, callback=callback,
    )  # fmt: skip
    if not evidence.problem.is_zero:
        columns, gamma = update_all(evidence, UPDATES[updates], 2000 if most is None else most)
        if not evidence.log.halted:  # of thousands of columns not yet pruned, none is an answer
            evidence.restore(columns, gamma)
    return evidence.solution("sbl", match_relevance(evidence))


def update_all(
    evidence: Evidence, rule: Callable[[Array, Array, Array], Array], most: int
) -> tuple[Array, Array]:
    """Change all γ together until the evidence hardly rises; what is left, and its γ."""
    columns, B, y = evidence.candidates()
    gamma = np.ones(columns.size, B.real.dtype)
    before = -np.inf
    for _ in range(most):
        squared, share, worth = posterior(B, y, gamma, evidence.noise)
        if worth - before < 0.1 * evidence.min_increase or evidence.log.halted:
            break
        before = worth
        gamma = rule(gamma, squared, np.maximum(share, np.finfo(gamma.dtype).tiny))
        keep = gamma > NEGLIGIBLE * gamma.max(initial=0.0)
        if not keep.all():
            columns, B, gamma = columns[keep], B[:, keep], gamma[keep]
            before = -np.inf
        if not columns.size:
            break
    return columns, gamma


def posterior(B: Array, y: Array, gamma: Array, noise: float) -> tuple[Array, Array, float]:
    """|μ|², share = γ S, and log evidence but for a constant, by the smaller of two factors.

    With G = B Γ^½: σ²I + G G* = L L* of n rows, or σ²I + G*G = L L* of as many as there are
    columns.
    """
    n, m = B.shape
    G = B * np.sqrt(gamma)
    size = float(gamma.sum())
    if m >= n:
        L = lower_factor(G, noise, size)
        z = divide(L, y[:, None])[:, 0]
        Z = divide(L, G)
        mean = Z.conj().T @ z
        share = square_sums(Z)
        fit, missing = float(np.vdot(z, z).real), 0
    else:
        L = lower_factor(G.conj().T, noise, size)
        W = divide(L, np.eye(m, dtype=L.dtype))
        mean = W.conj().T @ (W @ (G.conj().T @ y))
        share = np.maximum(1 - noise * square_sums(W), 0.0)
        r = y - G @ mean
        squares = np.vdot(r, r).real + noise * np.vdot(mean, mean).real
        fit, missing = float(squares) / noise, n - m
    log_det = 2 * float(np.log(np.diagonal(L).real).sum()) + missing * float(np.log(noise))
    return gamma * np.square(np.abs(mean)), share, -weight(B.dtype.kind == "c") * (log_det + fit)


def lower_factor(G: Array, noise: float, size: float) -> Array:
    """L with L L* = σ²I + G G*; by QR where squaring would cost the digits of σ².

    size is at least ‖G‖².
    """
    rows = len(G)
    if noise > tolerances(G.dtype).eps ** 0.5 * size:
        gram = G @ G.conj().T
        gram.flat[:: rows + 1] += noise
        return np.linalg.cholesky(gram)
    R = np.linalg.qr(np.vstack([G.conj().T, noise**0.5 * np.eye(rows)]), mode="r")
    diagonal = np.diagonal(R)
    return np.asarray((R * (diagonal.conj() / np.abs(diagonal))[:, None]).conj().T)


def divide(L: Array, B: Array) -> Array:
    """L⁻¹B, L being lower triangular."""
    from scipy.linalg import get_blas_funcs

    trsm: Any = get_blas_funcs("trsm", (L, B))
    return np.asarray(trsm(1.0, L, B, lower=1))
