"""The odds of a fit, however small."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betainc, betaln

from sparsewise.criteria.base import Sample
from sparsewise.criteria.chance import chance, log_beta

# --- the incomplete beta function -----------------------------------------------------------------


def by_integration(x: float, a: float, b: float) -> float:
    """log I_x(a, b): x^a/B(a, b) times ∫ e^(-a v) (1 - x e^(-v))^(b - 1) dv, which is moderate."""
    width = min(1 / a, 1.0)

    def inner(v: float) -> float:
        return math.exp(-a * v + (b - 1) * (math.log1p(-x * math.exp(-v)) - math.log1p(-x)))

    peaks = [width * s for s in (0.01, 0.1, 0.5, 1, 3, 10, 40)]
    whole = sum(
        quad(inner, low, high, epsabs=0, epsrel=1e-11)[0]
        for low, high in zip([0.0, *peaks], [*peaks, 800 * width], strict=True)
    )
    return a * math.log(x) + (b - 1) * math.log1p(-x) + math.log(whole) - float(betaln(a, b))


def by_fractions(x: Fraction, a: int, b: int) -> Fraction:
    """I_x(a, b) of whole numbers: the probability of at least a successes of a + b - 1."""
    n = a + b - 1
    return sum((math.comb(n, j) * x**j * (1 - x) ** (n - j) for j in range(a, n + 1)), Fraction(0))


def log_of(value: Fraction) -> float:
    """log of a fraction, whose parts may be no floating-point numbers."""
    top, bottom = value.numerator, value.denominator
    shift = top.bit_length() - bottom.bit_length()
    return math.log(Fraction(top, bottom) / Fraction(2) ** shift) + shift * math.log(2)


@pytest.mark.parametrize("a", [0.5, 1.0, 7.5, 60.0])
@pytest.mark.parametrize("b", [0.5, 2.0, 31.5])
def test_it_is_that_of_scipy_where_numbers_reach(a, b):
    for x in (1e-3, 0.1, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0):
        value = float(betainc(a, b, x))
        if value > 1e-290:
            assert log_beta(x, a, b) == pytest.approx(math.log(value), rel=1e-10, abs=1e-13)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 8), (40, 40), (300, 20), (20, 300), (150, 1)])
@pytest.mark.parametrize("x", [Fraction(1, 10**12), Fraction(1, 1000), Fraction(1, 3)])
def test_of_whole_numbers_it_is_exact(a, b, x):
    assert log_beta(float(x), a, b) == pytest.approx(log_of(by_fractions(x, a, b)), rel=1e-9)


@pytest.mark.parametrize(
    ("x", "a", "b"),
    [
        (2e-28, 18.0, 14.0),
        (1e-20, 50.0, 10.0),  # some 1e-1000
        (1e-6, 400.5, 99.5),
        (0.3, 5000.0, 500.0),
        (0.289, 4708.0, 5292.0),
        (0.137, 229562.0, 770438.0),  # large parameters, where hypergeometric functions give up
        (0.9, 20000.0, 0.5),
        (0.95, 5000.0, 1.5),
    ],
)
def test_deep_in_the_tail_it_is_that_of_an_integral(x, a, b):
    value = log_beta(x, a, b)
    assert value == pytest.approx(by_integration(x, a, b), rel=1e-8)
    assert value < -200


def test_it_rises_with_x_without_a_break():
    for a, b in [(30.0, 2.0), (3.5, 40.0), (1000.0, 1000.0), (0.5, 0.5)]:
        x = np.unique(np.concatenate([np.geomspace(1e-30, 1, 400), np.linspace(0.001, 1, 400)]))
        values = [log_beta(float(one), a, b) for one in x]
        rises = np.diff(values)
        assert (rises >= -1e-12 * np.abs(values[1:])).all()
        assert values[-1] == 0


# --- the odds -------------------------------------------------------------------------------------


def test_the_odds_of_one_column_are_those_of_an_angle():
    """A random direction in the plane: the angle to the nearest of m lines, bounded by a sum."""
    sample = Sample(2, 7)
    for angle in (0.1, 0.01, 1e-6):
        probability = 7 * 2 * angle / math.pi
        told = chance(sample, math.sin(angle) ** 2, 1)
        assert told == pytest.approx(math.log10(probability), abs=1e-6)


def test_of_complex_data_there_are_twice_as_many_parts():
    """One of two complex entries: ρ itself is uniform."""
    sample = Sample(2, 5, parts=2)
    assert chance(sample, 1e-3, 1) == pytest.approx(math.log10(5e-3), abs=1e-9)
    real = Sample(4, 5)
    assert chance(sample, 1e-3, 1) == pytest.approx(chance(real, 1e-3, 2) - math.log10(10 / 5))


def test_noise_is_fitted_as_often_as_is_told():
    """A bound on a probability that is measured: the best of m columns on pure noise."""
    rng = np.random.default_rng(0)
    n, m, draws = 8, 3, 4000
    A = rng.standard_normal((n, m))
    A /= np.linalg.norm(A, axis=0)
    Y = rng.standard_normal((draws, n))
    share = 1 - (Y @ A) ** 2 / (Y**2).sum(axis=1, keepdims=True)
    sample = Sample(n, m)
    for rho in (0.9, 0.5, 0.3):
        often = np.mean(share.min(axis=1) <= rho)
        told = 10 ** chance(sample, rho, 1)
        assert often <= told + 3 * math.sqrt(told / draws)
        if told < 0.1:
            assert often > 0.5 * told


def test_it_falls_with_the_residual_and_is_never_positive():
    for n, m, parts in [(10, 30, 1), (64, 128, 2), (500, 1000, 1)]:
        sample = Sample(n, m, parts=parts)
        for k in (1, 2, n // 2, n - 1):
            told = [chance(sample, rss, k) for rss in np.geomspace(1.0, 1e-30, 80)]
            assert max(told) <= 0
            assert (np.diff(told) <= 1e-9 * np.abs(told[1:])).all()
            assert chance(sample, 0.0, k) == chance(sample, sample.exact, k) > -math.inf


def test_edges():
    sample = Sample(6, 9)
    assert chance(sample, 0.5, 0) == 0  # no column fits as well as no column
    # As many columns as rows fit anything.
    assert chance(sample, 0.0, 6) == chance(sample, 0.0, 8) == 0
    assert chance(sample, 2.0, 3) == 0  # rounding: no more is left than there was
    tall = Sample(20, 4)
    alone = float(betainc(8.0, 2.0, 0.01))
    assert chance(tall, 0.01, 4) == pytest.approx(math.log10(alone))  # only one way to choose


def test_a_thousand_digits():
    """An exact fit of few among many: odds that no floating-point number holds."""
    sample = Sample(500, 1000)
    ways = math.log10(math.comb(1000, 100))
    told = chance(sample, 0.0, 100)
    expected = by_integration(sample.exact, 200.0, 50.0) / math.log(10) + ways
    assert told == pytest.approx(expected, rel=1e-8)
    assert told < -4000


def test_millions_of_rows_and_columns():
    told = chance(Sample(1e6, 10**7), 0.2, 50_000)
    assert -1e6 < told < -1e4
    assert chance(Sample(1e6, 10**7), 0.999, 1) == pytest.approx(
        7 + by_integration(0.999, 499999.5, 0.5) / math.log(10), rel=1e-6
    )
