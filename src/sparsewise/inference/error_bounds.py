"""How many features stability selection takes by chance, at most (Shah and Samworth 2013).

B pairs of halves of the rows are drawn, and a feature is taken that is selected in a share of at
least τ of the 2B halves. In a half, q of p features are selected on average. Of the features whose
chance to be selected in a half is no higher than q/p, the expected number taken is at most

- q²/((2τ - 1) p), whatever the data and the selection (their Theorem 1);
- p min(D(q²/p², 2τ - 1, B, -1/2), D(q/p, τ, 2B, -1/4)) (their section 3.3), if for such a feature
  the share of pairs that select it twice has a -1/2-concave distribution, and the share of halves
  that select it a -1/4-concave one.

D(η, t, N, r) is the largest P(X >= t) of an r-concave X on 0, 1/N, …, 1 of mean at most η. A
distribution f is r-concave, r < 0, if f^r is convex; all log-concave ones are. The extreme ones are
powers of shifted numbers up to an end point, as in the R code that the authors published.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from sparsewise._typing import Array

GRID = 65
"""Values of a parameter among which the best is sought before it is refined."""

LARGEST = 1e6
"""A shift by which a power of 0, 1, …, 2B is flat: see `_shifts`."""

ON_THE_LATTICE = 1e-9
"""Rounding of a share times the number of halves."""


class ErrorBound(NamedTuple):
    """Bounds on the expected number of features taken that are no likelier than the average.

    Attributes
    ----------
    worst_case : float
        Without assumptions.
    r_concave : float
        If selection frequencies have r-concave distributions; never larger.
    """

    worst_case: float
    r_concave: float


def error_bound(selected: float, features: int, least: int, pairs: int) -> ErrorBound:
    """The bounds for features that are selected in at least `least` of 2 × `pairs` halves.

    Parameters
    ----------
    selected : float
        q: features selected in a half, on average or at most.
    features : int
        p: how many there are.
    least : int
        More than `pairs`.
    pairs : int
        B.
    """
    share = min(selected / features, 1.0)
    worst = min(selected * share / (least / pairs - 1), float(features))
    tail = min(
        r_concave_tail(share * share, least - pairs, pairs, -1 / 2),
        r_concave_tail(share, least, 2 * pairs, -1 / 4),
    )
    return ErrorBound(worst, min(worst, features * tail))


def least_count(threshold: float, pairs: int) -> int:
    """In how many of 2 × `pairs` halves a feature must be selected to reach a share."""
    return math.ceil(2 * pairs * threshold - ON_THE_LATTICE)


def r_concave_tail(mean: float, least: int, size: int, r: float) -> float:
    """D: the largest P(X >= least/size) of an r-concave X on 0, 1/size, …, 1 of this mean.

    It is attained by f(i) ∝ (a + i)^(1/r) for i = 0, …, k, with what is left, and no more than
    the formula has there, at k + 1. The mean tells what that is; a and k are sought. Up to twice
    the mean, the bound is 1.
    """
    if mean == 0:
        return 0.0
    target = mean * size
    first = math.ceil(2 * target) + 1
    if least < first or first > size:
        return 1.0
    shifts = _shifts(target, first, size, r)
    best = _tails(np.array([shifts[size]]), size, least, target, r)[0]
    at = (size, shifts[size], shifts[size])
    for k in range(max(first, least - 1), size):
        grid = np.geomspace(shifts[k + 1], shifts[k], GRID)
        tails = _tails(grid, k, least, target, r)
        i = int(np.argmax(tails))
        if tails[i] > best:
            best = tails[i]
            at = k, grid[max(i - 1, 0)], grid[min(i + 1, GRID - 1)]
    k, low, high = at
    if low < high:
        found = minimize_scalar(
            lambda a: -_tails(np.array([a]), k, least, target, r)[0],
            bounds=(low, high), method="bounded",
        )  # fmt: skip
        best = max(best, -found.fun)
    return float(min(max(best, 0.0), 1.0))


def _tails(a: Array, k: int, least: int, target: float, r: float) -> Array:
    """P(X >= least) for each a, with X up to k + 1."""
    i = np.arange(k + 1)
    f = (1 + i / a[:, None]) ** (1 / r)
    part = (k + 1 - target) / (f @ (k + 1.0 - i))
    return np.asarray(1 - part * f[:, :least].sum(axis=1))


@lru_cache(maxsize=64)
def _shifts(target: float, first: int, size: int, r: float) -> dict[int, float]:
    """For each k the a for which f(i) ∝ (a + i)^(1/r), i = 0, …, k, has this mean."""
    shifts = {}
    for k in range(first, size + 1):
        i = np.arange(k + 1)

        def excess(log_a: float, i: Array = i) -> float:
            f = (1 + i * math.exp(-log_a)) ** (1 / r)
            return float((i @ f) / f.sum()) - target

        low, high = math.log(target) - 60.0, math.log(LARGEST * size)
        shifts[k] = math.exp(float(brentq(excess, low, high)) if excess(high) > 0 else high)
    return shifts
