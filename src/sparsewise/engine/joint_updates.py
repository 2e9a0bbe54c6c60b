"""Updates of all prior variances at once: EM, MacKay's, and those of the convex bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from sparsewise.design.base import Array, square_sums
from sparsewise.engine.evidence import Evidence
from sparsewise.results import weight
from sparsewise.tolerances import tolerances

Updates = Literal["em", "mackay", "convex"]

# The next γ, given |μ|² and share = γ S = 1 - Σ_ii/γ, how much the data tell of each coefficient.
UPDATES: dict[Updates, Callable[[Array, Array, Array], Array]] = {
    "em": lambda gamma, squared, share: squared + gamma * (1 - share),
    "mackay": lambda gamma, squared, share: squared / share,
    "convex": lambda gamma, squared, share: np.sqrt(squared * gamma / share),
}

Heed = Callable[[], None]
"""Raises, should somebody have asked to stop."""

MOST = 300
"""Joint updates of one run: two dozen are usual."""

IRRELEVANT = 1e-8
"""The same as `NEGLIGIBLE`, where σ² is still on its way and nothing brings a column back."""

SETTLED = 1e-3
"""A change of γ by less than this part of the largest leaves the same columns."""

ROUGH = 1e4
"""σ² of at least this many units of rounding survives squaring."""

LEAST_LEFT = 1e-3
"""As many of the rows, at least, are left to tell the noise."""

NEGLIGIBLE = 1e-6
"""A γ below this part of the largest is pruned; if that was wrong, the polish brings it back."""


def update_all(evidence: Evidence, updates: Updates, most: int) -> None:
    """Change all γ together until the evidence hardly rises; the model begins with what is left.

    Halted, it stays as it is: of thousands of columns not yet pruned, none is an answer.
    """
    columns = evidence.open_columns()
    B, y = evidence.remainders_of(columns), evidence.residual
    gamma = np.ones(columns.size, B.real.dtype)
    before = -np.inf
    for _ in range(most):
        squared, share, worth, _ = posterior(B, y, gamma, evidence.noise)
        evidence.log.heed()
        if worth - before < 0.1 * evidence.min_increase:
            break
        before = worth
        gamma = UPDATES[updates](gamma, squared, np.maximum(share, np.finfo(gamma.dtype).tiny))
        keep = gamma > NEGLIGIBLE * gamma.max(initial=0.0)
        if not keep.all():
            columns, B, gamma = columns[keep], B[:, keep], gamma[keep]
            before = -np.inf
        if not columns.size:
            break
    evidence.restore(columns, gamma)


def relevant(
    B: Array, y: Array, gamma: Array, noise: float, *, held: bool, rows: float, heed: Heed
) -> Relevant:
    """MacKay's updates of all γ, and of σ² unless it is held, until they hardly change.

    σ² ← ‖r‖² / (ν - Σ γ_j S_j), with ν rows: what is left, over the degrees of freedom that are.
    """
    columns = np.arange(B.shape[1])
    for _ in range(MOST):
        heed()
        # Lower, and squares lose it; where the search ends is told without any noise.
        floor = ROUGH * tolerances(B.dtype).eps * float(gamma.sum())
        squared, share, _, rss = posterior(B, y, gamma, max(noise, floor), rough=True)
        if not held:
            left = max(rows - float(share.sum()), LEAST_LEFT * rows)
            noise = rss / left
        before, gamma = gamma, squared / np.maximum(share, np.finfo(gamma.dtype).tiny)
        largest = float(gamma.max(initial=0.0))
        keep = gamma > IRRELEVANT * largest
        settled = float(np.abs(gamma - before).max(initial=0.0)) <= SETTLED * largest
        if not keep.all():
            columns, B, gamma = columns[keep], B[:, keep], gamma[keep]
        if settled or not columns.size:
            break
    return Relevant(columns, gamma, noise)


class Relevant(NamedTuple):
    """What is left of all columns: which, with which γ, and the σ² that goes with it."""

    columns: Array
    gamma: Array
    noise: float


class Posterior(NamedTuple):
    """|μ|², share = γ S, the log evidence but for a constant, and ‖y - B μ‖²."""

    squared: Array
    share: Array
    worth: float
    rss: float


def posterior(B: Array, y: Array, gamma: Array, noise: float, *, rough: bool = False) -> Posterior:
    """The posterior of all coefficients, by the smaller of two factors; roughly if that will do.

    With G = B Γ^½: σ²I + G G* = L L* of n rows, or σ²I + G*G = L L* of as many as there are
    columns.
    """
    n, m = B.shape
    G = B * np.sqrt(gamma)
    size = float(gamma.sum())
    if m >= n:
        L = lower_factor(G, noise, size, rough)
        z = divide(L, y[:, None])[:, 0]
        Z = divide(L, G)
        mean = Z.conj().T @ z
        share = square_sums(Z)
        fit, missing = float(np.vdot(z, z).real), 0
        r = noise * divide(L, z[:, None], adjoint=True)[:, 0]  # r = σ² C⁻¹ y
        rss = float(np.vdot(r, r).real)
    else:
        L = lower_factor(G.conj().T, noise, size, rough)
        W = divide(L, np.eye(m, dtype=L.dtype))
        mean = W.conj().T @ (W @ (G.conj().T @ y))
        share = np.maximum(1 - noise * square_sums(W), 0.0)
        r = y - G @ mean
        rss = float(np.vdot(r, r).real)
        fit, missing = rss / noise + float(np.vdot(mean, mean).real), n - m
    log_det = 2 * float(np.log(np.diagonal(L).real).sum()) + missing * float(np.log(noise))
    worth = -weight(B.dtype.kind == "c") * (log_det + fit)
    return Posterior(gamma * np.square(np.abs(mean)), share, worth, rss)


def lower_factor(G: Array, noise: float, size: float, rough: bool = False) -> Array:
    """L with L L* = σ²I + G G*; by QR where squaring would cost the digits of σ², if these matter.

    size is at least ‖G‖².
    """
    rows = len(G)
    if rough or noise > tolerances(G.dtype).eps ** 0.5 * size:
        gram = G @ G.conj().T
        gram.flat[:: rows + 1] += noise
        return np.linalg.cholesky(gram)
    below = np.eye(rows, dtype=G.dtype) * G.dtype.type(noise**0.5)
    R = np.linalg.qr(np.vstack([G.conj().T, below]), mode="r")
    diagonal = np.diagonal(R)
    return np.asarray((R * (diagonal.conj() / np.abs(diagonal))[:, None]).conj().T)


def divide(L: Array, B: Array, adjoint: bool = False) -> Array:
    """L⁻¹B, L being lower triangular; or (L*)⁻¹B."""
    from scipy.linalg import get_blas_funcs

    trsm: Any = get_blas_funcs("trsm", (L, B))
    return np.asarray(trsm(1.0, L, B, lower=1, trans_a=2 if adjoint else 0))
