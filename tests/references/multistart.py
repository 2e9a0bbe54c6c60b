"""The model of least score by trying: every subset, or every one next to a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

EXACT = (64 * np.finfo(float).eps) ** 2
#: Singular values, relative to the largest, below which columns are dependent.
DEPENDENT = 1e-9


def charge(criterion: str, n: int, m: int) -> float:
    """What a column costs."""
    return {"ric": 2 * math.log(max(m, 2)), "bic": math.log(max(n, 2)), "aic": 2.0}[criterion]


def cost(
    A: np.ndarray,
    y: np.ndarray,
    support: Iterable[int],
    *,
    criterion: str = "ric",
    sigma: float | None = None,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
) -> tuple[float, bool]:
    """The score of least squares on these columns, for ‖y‖ = 1; whether they are independent."""
    S = list(support)
    n, m = A.shape
    V = A[:, S] / np.linalg.norm(A[:, S], axis=0)
    x, _, rank, _ = np.linalg.lstsq(V, y, rcond=DEPENDENT)
    r = y - V @ x
    norm = np.linalg.norm(y)
    rss = max(float(np.vdot(r, r).real) / norm**2, EXACT)
    parts = 2 if np.iscomplexobj(A) or np.iscomplexobj(y) else 1
    price = len(S) * charge(criterion, n, m - len(exclude))
    if sigma is not None:
        value = parts * rss / (sigma / norm) ** 2 + price
    else:
        value = parts * (n - len(S)) * math.log(rss) + price if n > len(S) else math.inf
    return float(value), int(rank) == len(S)


def best_of_all(A: np.ndarray, y: np.ndarray, **how: Any) -> tuple[float, tuple[int, ...]]:
    """The least score of all subsets of independent columns, and the first of these."""
    best: tuple[float, tuple[int, ...]] = (math.inf, ())
    for size in range(min(A.shape) + 1):
        for support in combinations(range(A.shape[1]), size):
            value, independent = cost(A, y, support, **how)
            if independent and value < best[0] - 1e-12 * abs(value):
                best = value, support
    return best


def best_neighbour(A: np.ndarray, y: np.ndarray, support: Iterable[int], **how: Any) -> float:
    """The least score of models with one column more, less, or exchanged."""
    S = [int(j) for j in support]
    others = [j for j in range(A.shape[1]) if j not in {*S, *how.get("exclude", ())}]
    others = [j for j in others if A[:, j].any()]
    loose = [j for j in S if j not in how.get("include", ())]
    less = [[j for j in S if j != i] for i in loose]
    models = [[*S, j] for j in others if len(S) < len(A)] + less
    models += [[*T, j] for T in less for j in others]
    costs = (cost(A, y, T, **how) for T in models)
    return min((value for value, independent in costs if independent), default=math.inf)
