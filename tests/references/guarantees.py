"""The figures of section 4 once more, naively: every pair, every set, every subset.

Slow, and meant to be obviously right. Columns may be real or complex and of any scale.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np


def unit_columns(A) -> np.ndarray:
    """Columns of norm one, in double precision; columns of zeros stay."""
    A = np.asarray(A)
    U = np.array(A, np.result_type(A.dtype, np.float64))
    for j in range(U.shape[1]):
        biggest = np.abs(U[:, j]).max()
        if biggest > 0:
            U[:, j] /= biggest
            U[:, j] /= np.linalg.norm(U[:, j])
    return U


def others(m: int, columns: Iterable[int]) -> list[int]:
    """All columns but these."""
    those = set(columns)
    return [j for j in range(m) if j not in those]


def coherence(A) -> float:
    """The largest |⟨a_i, a_j⟩| of two different columns."""
    U = unit_columns(A)
    highest = 0.0
    for i, j in itertools.combinations(range(U.shape[1]), 2):
        highest = max(highest, abs(np.vdot(U[:, i], U[:, j])))
    return float(highest)


def babel(A, k: int) -> float:
    """The largest Σ_j |⟨a_i, a_j⟩| over all sets of k columns and all columns outside them."""
    U = unit_columns(A)
    m = U.shape[1]
    highest = 0.0
    for chosen in itertools.combinations(range(m), k):
        for i in others(m, chosen):
            highest = max(highest, sum(abs(np.vdot(U[:, i], U[:, j])) for j in chosen))
    return float(highest)


def exact_recovery(A, support: Sequence[int]) -> float:
    """The largest ‖A_S⁺ a_j‖₁ over the columns outside S; infinity if S is dependent."""
    U = unit_columns(A)
    S = list(support)
    if S and np.linalg.matrix_rank(U[:, S], tol=1e-6) < len(S):
        return math.inf
    highest = 0.0
    for j in others(U.shape[1], S):
        highest = max(highest, sum(abs(np.linalg.pinv(U[:, S]) @ U[:, j])))
    return float(highest)


def residual_norm(A, y, columns: Iterable[int]) -> float:
    """‖y - A_S x‖ of the least-squares x on these columns."""
    part = unit_columns(A)[:, list(columns)]
    return float(np.linalg.norm(y - part @ np.linalg.lstsq(part, y, rcond=None)[0]))


def best_subset(A, y, k: int) -> tuple[tuple[int, ...], float]:
    """The k columns with the smallest ‖r‖ and that norm, of all there are; the first of equals."""
    best, least = (), math.inf
    for columns in itertools.combinations(range(np.shape(A)[1]), k):
        norm = residual_norm(A, y, columns)
        if norm < least:
            best, least = columns, norm
    return best, least
