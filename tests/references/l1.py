"""Weighted ℓ1 problems once more, naively: Clarabel for the minimiser, NumPy for its optimality.

Slow, and meant to be obviously right. Real data; free columns have weight 0, barred ones infinity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

# --- the minimiser -------------------------------------------------------------------------------


def minimum(A, y, bound: float, w=None) -> np.ndarray:
    """A minimiser of Σ w_j |x_j| with ‖A x - y‖ <= bound, by Clarabel: nowhere exactly zero.

    Everything is scaled first, so that the solver's tolerances mean something, and rows are turned
    into the range of A: its equations are then independent, and what is outside of the range is
    a constant part of the residual.
    """
    A, y = np.asarray(A, np.float64), np.asarray(y, np.float64)
    norms, size = np.linalg.norm(A, axis=0), np.linalg.norm(y)
    x = np.zeros(A.shape[1])
    w = np.ones(x.size) if w is None else np.asarray(w, np.float64)
    usable = np.flatnonzero((norms > 0) & np.isfinite(w))
    if not usable.size or size == 0:
        return x
    B, cost = A[:, usable] / norms[usable], w[usable] / norms[usable]
    U, s, _ = np.linalg.svd(B, full_matrices=False)
    basis = U[:, s > 1e-12 * s[0]]
    target = basis.T @ (y / size)
    outside = np.linalg.norm(y / size - basis @ target)
    inside = math.sqrt(max((bound / size) ** 2 - outside**2, 0.0))
    z = _clarabel(basis.T @ B, target, inside, cost / (cost.max() or 1.0))
    x[usable] = z * size / norms[usable]
    return x


def _clarabel(B: np.ndarray, y: np.ndarray, bound: float, w: np.ndarray) -> np.ndarray:
    """min wᵀt  s.t.  -t <= x <= t,  (bound, y - B x) in the second-order cone (or B x = y)."""
    n, m = B.shape
    eye, none = sparse.eye(m), sparse.csc_matrix((n, m))
    rows = [sparse.hstack([eye, -eye]), sparse.hstack([-eye, -eye])]
    right, cones = [np.zeros(2 * m)], [clarabel.NonnegativeConeT(2 * m)]
    if bound > 0:
        rows.append(sparse.csc_matrix((1, 2 * m)))
        right.append(np.array([bound]))
    rows.append(sparse.hstack([sparse.csc_matrix(B), none]))
    right.append(y)
    cones.append(clarabel.SecondOrderConeT(n + 1) if bound > 0 else clarabel.ZeroConeT(n))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.max_iter = 200
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((2 * m, 2 * m)), np.concatenate([np.zeros(m), w]),
        sparse.csc_matrix(sparse.vstack(rows)), np.concatenate(right), cones, settings,
    )  # fmt: skip
    return np.asarray(solver.solve().x)[:m]


def cost(x, w=None) -> float:
    """Σ w_j |x_j|; a barred column that is used costs all there is."""
    if w is None:
        return float(np.abs(x).sum())
    used = np.asarray(x) != 0
    return float(np.abs(np.asarray(x)[used]) @ np.asarray(w)[used])


def linear_program(A, y, w=None) -> float:
    """The least Σ w_j |x_j| with A x = y, by HiGHS on positive and negative parts."""
    m = A.shape[1]
    w = np.ones(m) if w is None else np.asarray(w)
    found = linprog(np.concatenate([w, w]), A_eq=np.hstack([A, -A]), b_eq=y, method="highs")
    assert found.status == 0, found.message
    return float(found.fun)


def distance(A, y) -> float:
    """The distance of y from the range of A."""
    return float(np.linalg.norm(y - A @ np.linalg.lstsq(A, y, rcond=None)[0]))


# --- optimality ----------------------------------------------------------------------------------


class Kkt(NamedTuple):
    """The optimality conditions of ½‖A x - y‖² + λ Σ w_j |x_j|, recomputed.

    Unit columns and a unit target, so that the figures are pure numbers: by how much a_jᵀr differs
    from λ w_j sign(x_j) on the support, and by how much |a_jᵀr| exceeds λ w_j elsewhere.
    """

    on_support: float
    elsewhere: float

    @property
    def worst(self) -> float:
        return max(self.on_support, self.elsewhere)


def kkt(A, y, x, penalty: float, w=None) -> Kkt:
    """How well x satisfies the conditions at this λ (in the units of the data)."""
    A, y, x = (np.asarray(v, np.float64) for v in (A, y, x))
    norms, size = np.linalg.norm(A, axis=0), np.linalg.norm(y) or 1.0
    w = np.ones(x.size) if w is None else np.asarray(w, np.float64)
    usable = (norms > 0) & np.isfinite(w)
    assert not x[~usable].any()
    A, x, w, norms = A[:, usable], x[usable], w[usable], norms[usable]
    c = A.T @ (y - A @ x) / norms / size
    limit = penalty * w / norms / size
    on = x != 0
    return Kkt(
        float(np.abs(c - limit * np.sign(x)).max(where=on, initial=0.0)),
        float((np.abs(c) - limit).max(where=~on, initial=0.0)),
    )


# --- reweighting ---------------------------------------------------------------------------------


def reweight(A, y, bound: float, rule, rounds: int, tol: float) -> tuple[np.ndarray, int]:
    """x of the last of so many weighted problems, and how many were solved.

    Coefficients and weights are those of unit columns and a unit target (so are ε and σ of the
    rules); what Clarabel leaves of a zero is cut off.
    """
    norms, size = np.linalg.norm(A, axis=0), np.linalg.norm(y)
    B, y, bound, w = A / norms, y / size, bound / size, np.ones(A.shape[1])
    x = _cut(minimum(B, y, bound, w))
    solved = 1
    for _ in range(rounds):
        w = rule(B, x, w)
        before, x = x, _cut(minimum(B, y, bound, w))
        solved += 1
        if np.abs(x - before).max() <= tol * np.abs(before).max():
            break
    return size * x / norms, solved


def _cut(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) > 1e-6 * np.abs(x).max(), x, 0.0)


def candes_rule(epsilon: float | None = None):
    """1/(|x_j| + ε), ε being given, or the n/(4 log(m/n))-th largest |x_j| and at least 1e-3.

    Both as parts of the largest |x_j| (Candès, Wakin and Boyd 2008, section 3.2).
    """

    def rule(B, x, w):
        n, m = B.shape
        size = np.abs(x) / np.abs(x).max()
        i = max(1, min(round(n / (4 * math.log(m / n))), m)) if m > n else m
        usual = max(sorted(size, reverse=True)[i - 1], 1e-3)
        return 1 / (size + (epsilon or usual))

    return rule


def ard_rule(sigma: float):
    """√(a_jᵀ(σ² I + A diag(|x|/w) Aᵀ)⁻¹a_j), iterated eight times (Wipf and Nagarajan 2008)."""

    def rule(B, x, w):
        for _ in range(8):
            C = sigma**2 * np.eye(B.shape[0]) + (B * (np.abs(x) / w)) @ B.T
            w = np.sqrt(np.einsum("ij,ij->j", B, np.linalg.solve(C, B)))
        return w

    return rule
