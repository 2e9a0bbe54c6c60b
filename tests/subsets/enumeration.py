"""All subsets of the columns, one by one: slow, and obviously right."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

# Singular values of unit columns below this part of the largest are rounding errors.
RANK = {np.dtype("f4"): 1e-5, np.dtype("f8"): 1e-12}


def doubled(A: np.ndarray) -> np.ndarray:
    """The same numbers in double precision."""
    return np.asarray(A).astype(np.result_type(A, np.float64))


def unit(A: np.ndarray) -> np.ndarray:
    """Columns of unit norm (zero columns as they are), in double precision."""
    A = doubled(A)
    A = A / np.maximum(np.abs(A).max(axis=0), np.finfo(float).tiny)
    norms = np.linalg.norm(A, axis=0)
    return A / np.where(norms > 0, norms, 1.0)


def all_subsets(m: int, k: int) -> np.ndarray:
    """Every subset of k of m columns, one per row."""
    return np.array(list(combinations(range(m), k)), int).reshape(-1, k)


def bases(A: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the span of each subset: by rows, n x k with zeros if dependent."""
    U, s, _ = np.linalg.svd(unit(A)[:, sets].transpose(1, 0, 2), full_matrices=False)
    rank = RANK[np.asarray(A).real.dtype]
    return U * (s > rank * s.max(axis=1, keepdims=True, initial=0.0))[:, None, :]


def residual_norms(A: np.ndarray, y: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """‖r‖ of the least-squares fit on each subset; of several targets √Σ_t‖r_t‖²."""
    Y = doubled(y).reshape(len(y), -1)
    if not sets.shape[1]:
        return np.full(len(sets), np.linalg.norm(Y))
    Q = bases(A, sets)
    return np.linalg.norm(Y - Q @ (Q.conj().transpose(0, 2, 1) @ Y), axis=(1, 2))


def residual_norm(A: np.ndarray, y: np.ndarray, columns: Iterable[int]) -> float:
    """‖r‖ of one subset."""
    return float(residual_norms(A, y, np.array([list(columns)], int))[0])


def best(
    A: np.ndarray, y: np.ndarray, k: int, include: Iterable[int] = (), exclude: Iterable[int] = ()
) -> tuple[tuple[int, ...], float, float]:
    """The best subset of k columns, its ‖r‖, and that of the next best."""
    sets = all_subsets(np.asarray(A).shape[1], k)
    keep = [{*include} <= {*row} and not {*exclude} & {*row} for row in sets.tolist()]
    norms = residual_norms(A, y, sets[keep])
    first = int(np.argmin(norms))
    return tuple(sets[keep][first].tolist()), norms[first], np.sort([*norms, np.inf])[1]


def others(m: int, columns: Iterable[int]) -> np.ndarray:
    """Every other subset of as many columns, and every subset of one fewer."""
    ours = sorted(columns)
    sets = all_subsets(m, len(ours))
    return sets[~np.all(sets == ours, axis=1)]
