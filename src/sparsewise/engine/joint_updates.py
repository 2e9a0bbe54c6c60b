"""Updates of all prior variances at once: EM, MacKay's, and those of the convex bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

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

NEGLIGIBLE = 1e-6
"""A γ below this part of the largest is pruned; if that was wrong, the polish brings it back."""


def update_all(evidence: Evidence, updates: Updates, most: int) -> None:
    """Change all γ together until the evidence hardly rises; the model begins with what is left.

    Halted, it stays as it is: of thousands of columns not yet pruned, none is an answer.
    """
    columns, B, y = evidence.candidates()
    gamma = np.ones(columns.size, B.real.dtype)
    before = -np.inf
    for _ in range(most):
        squared, share, worth = posterior(B, y, gamma, evidence.noise)
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
    below = np.eye(rows, dtype=G.dtype) * G.dtype.type(noise**0.5)
    R = np.linalg.qr(np.vstack([G.conj().T, below]), mode="r")
    diagonal = np.diagonal(R)
    return np.asarray((R * (diagonal.conj() / np.abs(diagonal))[:, None]).conj().T)


def divide(L: Array, B: Array) -> Array:
    """L⁻¹B, L being lower triangular."""
    from scipy.linalg import get_blas_funcs

    trsm: Any = get_blas_funcs("trsm", (L, B))
    return np.asarray(trsm(1.0, L, B, lower=1))
