"""Bounds of stability selection: published values, and the optimisation that they solve."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from sparsewise.inference.error_bounds import error_bound, least_count, r_concave_tail

# R's package stabs 0.6-3, which has the code of Shah and Samworth: 100 features, 50 pairs,
# threshold 0.6, q = 1, …, 10. It seeks optima to 1e-4, so that its bounds may be too low by that.
STABS = [
    0.006971364, 0.03342845, 0.08691176, 0.1637231, 0.2605329,
    0.3820466, 0.5295188, 0.7042719, 0.9077127, 1.141338,
]  # fmt: skip


@pytest.mark.parametrize(("q", "published"), list(enumerate(STABS, 1)))
def test_published_values(q, published):
    bound = error_bound(q, 100, 60, 50)
    assert bound.worst_case == pytest.approx(q * q / (0.2 * 100))
    assert published * (1 - 1e-7) <= bound.r_concave <= published + 3e-5


@pytest.mark.parametrize(
    ("q", "least", "published"), [(6, 60, 0.174), (7, 60, 0.248), (7, 62, 0.196), (7, 61, 0.219)]
)
def test_published_values_of_200_features(q, least, published):
    assert error_bound(q, 200, least, 50).r_concave == pytest.approx(published, abs=6e-4)


def tail_and_mean(f, least):
    f = f / f.sum()
    return f[least:].sum(), f @ np.arange(f.size) / (f.size - 1)


def best_r_concave(mean, least, size, r, starts, rng):
    """The largest tail by direct optimisation over g = f^r: a, and slopes that never fall.

    The first slope is the unit of g, and the mean tells a.
    """

    def f_of(rises):
        slopes = np.cumsum(np.append(1.0, rises))
        g = np.cumsum(np.append(0.0, slopes))

        def excess(log_a):
            return tail_and_mean((np.exp(log_a) + g) ** (1 / r), least)[1] - mean

        return (np.exp(brentq(excess, -30, 30)) + g) ** (1 / r)

    best = 0.0
    for _ in range(starts):
        found = minimize(
            lambda rises: -np.log(tail_and_mean(f_of(rises), least)[0]),
            rng.exponential(0.2, size - 1), method="L-BFGS-B", bounds=[(0, 1e4)] * (size - 1),
        )  # fmt: skip
        best = max(best, float(np.exp(-found.fun)))
    return best


@pytest.mark.parametrize(
    ("mean", "least", "size", "r"),
    [(0.1, 4, 6, -1 / 2), (0.15, 5, 8, -1 / 4), (0.05, 3, 5, -1 / 2), (0.2, 8, 8, -1 / 4)],
)
def test_the_tail_is_that_of_the_best_distribution(mean, least, size, r):
    bound = r_concave_tail(mean, least, size, r)
    best = best_r_concave(mean, least, size, r, 6, np.random.default_rng(0))
    assert best <= bound * (1 + 1e-5)
    assert best == pytest.approx(bound, rel=2e-3)


@pytest.mark.parametrize("r", [-1 / 2, -1 / 4])
def test_no_random_distribution_has_more(r):
    rng = np.random.default_rng(1)
    for _ in range(200):
        size = int(rng.integers(3, 15))
        slopes = np.sort(rng.normal(1, 2, size))
        g = np.cumsum(np.append(0.0, slopes))
        f = (g - g.min() + rng.exponential()) ** (1 / r)
        for least in range(1, size + 1):
            tail, mean = tail_and_mean(f, least)
            assert tail <= r_concave_tail(mean, least, size, r) * (1 + 1e-6)


def test_bounds_fall_with_the_threshold_and_rise_with_the_selection():
    by_threshold = np.array([error_bound(10, 200, least, 50) for least in range(51, 101, 3)])
    assert (np.diff(by_threshold, axis=0) <= 1e-12).all()
    assert (by_threshold[:, 1] <= by_threshold[:, 0]).all()
    by_size = np.array([error_bound(q, 200, 70, 50) for q in range(0, 60, 5)])
    assert (np.diff(by_size, axis=0) >= -1e-12).all()


def test_edges():
    assert error_bound(0, 10, 60, 50) == (0.0, 0.0)
    assert error_bound(10, 10, 100, 50) == (10.0, 10.0)  # all features, always
    assert error_bound(1, 10, 2, 1).r_concave <= 0.1
    assert [least_count(t, 50) for t in (0.6, 0.601, 0.7, 1.0)] == [60, 61, 70, 100]
