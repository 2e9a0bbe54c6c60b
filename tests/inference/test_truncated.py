"""Tails of truncated distributions, against arithmetic of many digits."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import t as student

from sparsewise.inference.truncated import (
    arc_tail,
    log_arc_mass,
    log_beta_cdf,
    log_t_tail,
    normal_interval,
    normal_tail,
)


def precise_tail(t, down, up):
    if t < 0:
        return 1 - precise_tail(-t, up, down)
    with mp.workdps(60):
        low, at, high = (mp.erfc((mp.mpf(t) + step) / mp.sqrt(2)) for step in (-down, 0, up))
        return float((at - high) / (low - high))


@pytest.mark.parametrize(
    ("t", "down", "up"),
    [
        (1, 0.5, 2), (5, math.inf, math.inf), (-2, 1, 5), (-2, 1, 0.5), (-40, 3, 0.2),
        (30, 0.1, math.inf), (1e4, 1e-3, 1e-4), (-1e3, 1e-2, math.inf), (1e6, 1e-5, math.inf),
        (0.5, 2, 1e-6), (-1e-3, 1, 2e-3), (1e-9, 2e-9, 1e-9), (30, 1e-6, 1e-6), (38, 38, 40),
    ],
)  # fmt: skip
def test_truncated_normal_tails(t, down, up):
    assert normal_tail(t, down, up) == pytest.approx(precise_tail(t, down, up), rel=1e-5, abs=0)


def test_nothing_is_left():
    assert normal_tail(3.0, 0.0, 0.0) == normal_tail(-3.0, 0.0, 0.0) == 1.0
    assert normal_tail(3.0, 0.0, 1.0) == 1.0
    assert str(normal_tail(3.0, 1.0, 0.0)) == "0.0"
    assert arc_tail(0.5, np.array([0.5]), np.array([0.5]), 3) == 1.0


@pytest.mark.parametrize(
    ("t", "down", "up"),
    [(3, 1, 2), (3, 1e-3, math.inf), (3, 1e-9, math.inf), (3, 1, 1e-6), (1e6, 1e-6, 1.0)],
)
def test_the_tail_at_either_end_of_an_interval(t, down, up):
    low, high = normal_interval(t, down, up, 0.9)
    assert normal_tail(t - low, down, up) == pytest.approx(0.05, rel=1e-6)
    assert normal_tail(t - high, down, up) == pytest.approx(0.95, rel=1e-6)


def test_without_truncation_the_interval_is_the_usual_one():
    low, high = normal_interval(0.7, math.inf, math.inf, 0.95)
    assert (low, high) == pytest.approx((0.7 - 1.959963985, 0.7 + 1.959963985))


@pytest.mark.parametrize("truncation", [(0.0, math.inf), (1.0, 0.0), (0.0, 0.0)])
def test_at_a_limit_the_interval_is_all_numbers(truncation):
    assert normal_interval(2.0, *truncation, 0.95) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("x", "a"), [(0.3, 2.5), (0.01, 250.0), (0.5, 2000.0), (0.99, 5e4), (1e-8, 50.0), (0.3, 1e6)]
)
def test_log_of_a_beta_distribution(x, a):
    with mp.workdps(40):
        series = mp.log(mp.hyp2f1(a, 0.5, a + 1, x))
        expected = float(a * mp.log(x) - mp.log(a) - mp.log(mp.beta(a, 0.5)) + series)
    assert log_beta_cdf(np.array([x]), a)[0] == pytest.approx(expected, rel=1e-13)


def test_arcs_are_intervals_of_student_s_t():
    df, psi = 7, np.array([0.3, 0.9, 1.4])
    t = np.sqrt(df) / np.tan(psi)
    expected = 2 * (student.sf(t[1:], df) - student.sf(t[:-1], df))
    w = np.tan(psi / 2)
    np.testing.assert_allclose(np.exp(log_arc_mass(w[:-1], w[1:], df)), expected, rtol=1e-12)
    assert math.exp(log_t_tail(w[0], df)) == pytest.approx(2 * student.sf(t[0], df))
    part = arc_tail(w[1], np.array([0.0, w[1]]), np.array([w[0], w[2]]), df)
    inside = 2 * student.sf(t[0], df)
    assert part == pytest.approx(inside / (inside + expected[1]))


def test_arcs_so_improbable_that_they_underflow():
    """The density sin(ψ)^(df-1) falls by e^-df·δ/ψ over a short way δ, whatever its size."""
    df, psi = 2000, 0.01
    half = [math.tan(x / 2) for x in (psi * (1 - 1e-3), psi)]
    share = arc_tail(half[0], np.array([0.0]), np.array([half[1]]), df)
    assert share == pytest.approx(math.exp(df * math.log1p(-1e-3)), rel=1e-4)
