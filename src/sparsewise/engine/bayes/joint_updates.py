"""Updates of all prior variances at once: EM, MacKay's, and those of the convex bound."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import square_sums
from sparsewise.engine.bayes.evidence import Evidence
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

SETTLED = 2e-2
"""A change of γ by less than this part of the largest leaves the same columns."""

OUTSTANDING = 100.0
"""Columns whose γ are all larger by this factor than those of any others stand out."""

ROUGH = 1e4
"""σ² of at least this many units of rounding survives squaring."""

LEAST_LEFT = 1e-3
"""As many of the rows, at least, are left to tell the noise."""

NEGLIGIBLE = 1e-6
"""A γ below this part of the largest is pruned; if that was wrong, the polish brings it back."""

HARDLY = 2e-3
"""Updates of all γ end once they raise the log evidence by less (real data: half of that): the
polish goes on from there."""


def update_all(evidence: Evidence, updates: Updates, most: int) -> None:
    """Change all γ together until the evidence hardly rises; the model begins with what is left.

    Halted, it stays as it is: of thousands of columns not yet pruned, none is an answer.
    """
    columns = evidence.open_columns()
    B, Y = evidence.remainders_of(columns), evidence.residual.T
    gamma = np.ones(columns.size, B.real.dtype)
    before = -np.inf
    least = max(0.1 * evidence.min_increase, HARDLY * weight(B.dtype.kind == "c"))
    for _ in range(most):
        squared, share, worth = posterior(B, Y, gamma, evidence.noise)
        evidence.log.check_interrupt()
        if worth - before < least:
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
    B: Array,
    Y: Array,
    gamma: Array,
    noise: float,
    *,
    held: bool,
    rows: float,
    check_interrupt: Heed,
    known: Array | None = None,
    settled: float = SETTLED,
) -> Relevant:
    """MacKay's updates of all γ, and of σ² unless it is held, until they hardly change.

    σ² ← ‖r‖² / (ν - Σ γ_j S_j), with ν rows: what is left, over the degrees of freedom that are.
    Y has one target a column, all of which share γ: |μ_j|² is the sum over targets, whose norms are
    one together. The updates end, too, once the columns of a `known` model, a mask, stand out from
    all others: that is where they lead, and how far need not be known.
    """
    columns = np.arange(B.shape[1])
    eps = tolerances(B.dtype).eps
    for _ in range(MOST):
        check_interrupt()
        # Lower, and squares lose it; where the search ends is told without any noise.
        floor = ROUGH * eps * float(gamma.sum())
        squared, share, rss = rough_posterior(B, Y, gamma, max(noise, floor))
        if not held:
            noise = rss / max(rows - float(share.sum()), LEAST_LEFT * rows)
        before = gamma
        # A share that is rounding is that of nothing.
        gamma = np.divide(squared, share, out=np.zeros_like(gamma), where=share > eps)
        largest = float(gamma.max(initial=0.0))
        done = float(np.abs(gamma - before).max(initial=0.0)) <= settled * largest
        least = IRRELEVANT * largest
        if known is not None:
            others = float(gamma[~known[columns]].max(initial=0.0))
            if float(gamma[known[columns]].min(initial=largest)) > OUTSTANDING * others:
                done, least = True, others
        keep = np.flatnonzero(gamma > least)
        if keep.size < gamma.size:
            columns, B, gamma = columns[keep], B[:, keep], gamma[keep]
        if done or not keep.size:
            break
    return Relevant(columns, gamma, noise)


class Relevant(NamedTuple):
    """What is left of all columns: which, with which γ, and the σ² that goes with it."""

    columns: Array
    gamma: Array
    noise: float


class Posterior(NamedTuple):
    """|μ|², share = γ S, and the log evidence of a target but for a constant."""

    squared: Array
    share: Array
    worth: float


def posterior(B: Array, Y: Array, gamma: Array, noise: float) -> Posterior:
    """The posterior of all coefficients, by the smaller of two factors; see `relevant`.

    With G = B Γ^½: σ²I + G G* = L L* of n rows, or σ²I + G*G = L L* of as many as there are
    columns.
    """
    n, m = B.shape
    G = B * np.sqrt(gamma)
    size = float(gamma.sum())
    if m >= n:
        L = lower_factor(G, noise, size)
        Z, z = divide(L, G), divide(L, Y)
        mean, share = Z.conj().T @ z, square_sums(Z)
        fit, missing = float(np.vdot(z, z).real), 0
    else:
        L = lower_factor(G.conj().T, noise, size)
        W = divide(L, np.eye(m, dtype=L.dtype))
        mean = W.conj().T @ (W @ (G.conj().T @ Y))
        share = np.maximum(1 - noise * square_sums(W), 0.0)
        r = Y - G @ mean
        fit = float(np.vdot(r, r).real) / noise + float(np.vdot(mean, mean).real)
        missing = n - m
    log_det = 2 * float(np.log(np.diagonal(L).real).sum()) + missing * float(np.log(noise))
    worth = -weight(B.dtype.kind == "c") * (log_det + fit)
    return Posterior(gamma * square_sums(mean.T), share, worth)


def rough_posterior(B: Array, Y: Array, gamma: Array, noise: float) -> tuple[Array, Array, float]:
    """|μ|², share = γ S and ‖Y - B μ‖², where squares may cost half of the digits."""
    n, m = B.shape
    G = B * np.sqrt(gamma)
    wide = m >= n
    gram = np.asfortranarray(lower_gram(G if wide else G.conj().T))
    gram.reshape(-1, order="A")[:: len(gram) + 1] += noise
    cholesky, inverse, _ = _triangles(gram.dtype.char)
    L, _ = cholesky(gram, lower=1, overwrite_a=True)
    W = inverse(L, lower=1)[0]
    if wide:  # C = L L*: r = σ² C⁻¹ y, and with Z = L⁻¹ G, γ S = |Z|²
        z, Z = W @ Y, W @ G
        mean, share = Z.conj().T @ z, square_sums(Z)
        r = noise * (W.conj().T @ z)
    else:
        mean = W.conj().T @ (W @ (G.conj().T @ Y))
        share = np.maximum(1 - noise * square_sums(W), 0.0)
        r = Y - G @ mean
    return gamma * square_sums(mean.T), share, float(np.vdot(r, r).real)


@cache
def _rank_k(char: str) -> Any:
    """G G* of complex matrices."""
    from scipy.linalg import get_blas_funcs

    return get_blas_funcs("herk", dtype=char)


@cache
def _triangles(char: str) -> tuple[Any, Any, Any]:
    """Cholesky's factor, its inverse, and division by it."""
    from scipy.linalg import get_blas_funcs, get_lapack_funcs

    names: Any = get_lapack_funcs(("potrf", "trtri"), dtype=char)
    return *names, get_blas_funcs("trsm", dtype=char)


def lower_factor(G: Array, noise: float, size: float) -> Array:
    """L with L L* = σ²I + G G*; by QR where squaring would cost the digits of σ².

    size is at least ‖G‖².
    """
    rows, quiet = len(G), tolerances(G.dtype).eps ** 0.5
    if noise * rows > quiet * size:  # ‖G‖² is at least that
        gram = lower_gram(G)
        if noise > quiet * min(size, _frobenius(gram)):
            gram.flat[:: rows + 1] += noise
            return np.linalg.cholesky(gram)  # looks at the lower triangle alone
    R = np.linalg.qr(np.vstack([G.conj().T, noise**0.5 * np.eye(rows)]), mode="r")
    diagonal = np.diagonal(R)
    return np.asarray((R * (diagonal.conj() / np.abs(diagonal))[:, None]).conj().T)


def lower_gram(G: Array) -> Array:
    """G G*, of which only the lower triangle is right: half of the work, where G is complex.

    (Real products are NumPy's, which sees this for itself.)
    """
    if G.dtype.kind != "c":
        return np.asarray(G @ G.T)
    herk = _rank_k(G.dtype.char)
    if G.flags.f_contiguous:
        return np.asarray(herk(1.0, G, lower=1))
    return np.asarray(herk(1.0, G.T, trans=2)).T  # the upper triangle of its conjugate


def _frobenius(gram: Array) -> float:
    """The Frobenius norm of a matrix that equals its conjugate transpose, from its lower half."""
    below, diagonal = np.tril(gram, -1), gram.diagonal()
    return float((2 * square_sums(below).sum() + square_sums(diagonal[:, None])[0]) ** 0.5)


def divide(L: Array, B: Array) -> Array:
    """L⁻¹B, L being lower triangular."""
    _, _, trsm = _triangles(L.dtype.char)
    return np.asarray(trsm(1.0, L, B, lower=1))
