"""The risk inflation criterion, and what others charge."""

import math

import numpy as np
import pytest

from sparsewise import forward, solve
from sparsewise.criteria.base import Sample
from sparsewise.criteria.ric import CHARGES, by_charge
from sparsewise.tolerances import tolerances
from tests.problems import normal

DOUBLE = tolerances(np.dtype(float))
SIZES = [(64, 128), (200, 20), (10, 1000), (2, 3)]


def score(criterion, rows, features, dtype=None, noise=None):
    """The criterion for a target of norm one, of this type."""
    dtype = np.dtype(float if dtype is None else dtype)
    parts, exact = 2 if dtype.kind == "c" else 1, tolerances(dtype).exact
    return by_charge(criterion, Sample(rows, features, exact=exact, parts=parts, noise=noise))


# --- the score ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("criterion", CHARGES)
@pytest.mark.parametrize("parts", [1, 2])
def test_it_is_what_its_formula_says(n, m, criterion, parts):
    """(n - k) log ‖r‖² + k·charge, or ‖r‖²/σ² + k·charge; twice as many measurements if complex."""
    charge = {"ric": 2 * math.log(m), "bic": parts * math.log(n), "aic": 2.0 * parts}[criterion]
    dtype = np.dtype(complex if parts == 2 else float)
    for k in range(min(n, m)):
        for rss in (1.0, 0.3, 1e-6):
            unknown = parts * (n - k) * math.log(rss) + k * charge
            assert score(criterion, n, m, dtype=dtype).cost(rss, k) == pytest.approx(unknown)
            known = parts * rss / 0.02 + k * charge
            goal = score(criterion, n, m, noise=0.02, dtype=dtype)
            assert goal.cost(rss, k) == pytest.approx(known)


@pytest.mark.parametrize("noise", [None, 0.01])
def test_many_models_at_once_cost_what_each_does(noise):
    goal = score("ric", 20, 50, noise=noise)
    rss, sizes = np.geomspace(1, 1e-40, 22), np.arange(22)
    expected = [goal.cost(float(r), int(k)) for r, k in zip(rss, sizes, strict=True)]
    np.testing.assert_allclose(goal.cost(rss, sizes), expected)


def test_no_row_is_left_to_tell_the_noise_from():
    assert score("ric", 5, 9).cost(0.1, 5) == math.inf
    assert score("ric", 5, 9).cost(0.0, 7) == math.inf
    assert score("ric", 5, 9, noise=0.1).cost(0.0, 5) < math.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_a_fit_to_rounding_error_is_one_to_rounding_level(dtype):
    """So that of models which fit exactly the smallest is best."""
    goal = score("ric", 30, 90, dtype=np.dtype(dtype))
    level = tolerances(np.dtype(dtype)).exact
    assert goal.sample.exact == level
    assert goal.cost(0.0, 4) == goal.cost(level / 7, 4) == goal.cost(level, 4)
    assert goal.cost(2 * level, 4) > goal.cost(level, 4)
    costs = goal.cost(np.zeros(29), np.arange(29))
    assert (np.diff(costs) > 0).all()


def test_a_wide_table_of_noise_is_not_fitted():
    """n - k is what prevents it: with n alone the same charge takes nearly all that there are."""
    rng = np.random.default_rng(1)
    n, m = 64, 128
    y = rng.standard_normal(n)
    path = forward(rng.standard_normal((n, m)), y, sparsity=n - 1).path
    rss = np.array([1.0, *(step.loss / (y @ y) for step in path)])
    k = np.arange(n)
    assert np.argmin(score("ric", n, m).cost(rss, k)) <= 2
    assert np.argmin(n * np.log(rss) + 2 * math.log(m) * k) > n // 2


def test_variance_and_threshold():
    goal = score("ric", 40, 100)
    assert goal.sample.noise_variance(0.2, 10) == pytest.approx(0.2 / 30)
    assert goal.threshold(0.2, 10) == pytest.approx(2 * math.log(100) * 0.2 / 30)
    assert goal.sample.noise_variance(0.0, 10) == pytest.approx(DOUBLE.exact / 30)
    assert goal.sample.noise_variance(0.2, 40) > 0
    known = score("bic", 40, 100, noise=0.05)
    assert known.sample.noise_variance(0.2, 10) == 0.05
    assert known.threshold(0.2, 10) == pytest.approx(0.05 * math.log(40))
    halved = score("bic", 40, 100, noise=0.05, dtype=np.dtype(complex))
    assert halved.threshold(0.2, 10) == pytest.approx(0.05 * math.log(40))
    extreme = score("ric", 40, 100, noise=0.05, dtype=np.dtype(complex))
    assert extreme.threshold(0.2, 10) == pytest.approx(0.05 * math.log(100))


def test_the_threshold_is_what_a_column_must_gain_of_known_noise():
    goal = score("ric", 40, 100, noise=0.01, dtype=np.dtype(complex))
    gain = goal.threshold(0.5, 3)
    assert goal.cost(0.5 - gain, 4) == pytest.approx(goal.cost(0.5, 3))


@pytest.mark.parametrize("parts", [1, 2])
def test_ric_charges_what_the_best_of_many_columns_of_noise_gains(parts):
    rng = np.random.default_rng(0)
    m, kind = 1000, complex if parts == 2 else float
    noise = normal(rng, 200, m, kind=kind) / math.sqrt(parts)  # of variance 1
    most = np.mean(np.max(np.abs(noise) ** 2, axis=1))
    goal = score("ric", 50, m, noise=1.0, dtype=np.dtype(kind))
    assert goal.threshold(1.0, 0) == pytest.approx(most, rel=0.25)


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_others_charge_real_numbers_whatever_their_type(criterion):
    """Real content of a complex type has twice the score of its real self."""
    real = score(criterion, 30, 50)
    typed = score(criterion, 30, 50, dtype=np.dtype(complex))
    for k in range(9):
        assert typed.cost(0.3, k) == pytest.approx(2 * real.cost(0.3, k))


def test_tiny_tables():
    """One row, one column: a charge of log 1 would be none."""
    for criterion in CHARGES:
        assert score(criterion, 1, 1).charge == score(criterion, 2, 2).charge > 0
    assert score("ric", 1, 1).charge == 2 * math.log(2)


def test_the_empty_model_costs_nothing_whatever_rounding_does():
    goal = score("ric", 50, 20)
    eps = np.finfo(float).eps
    np.testing.assert_array_equal(goal.cost([1 - 3 * eps, 1.0, 1 + 3 * eps], 0), 0.0)
    assert goal.cost(1 - 1e-12, 0) < 0
    rng = np.random.default_rng(0)
    for _ in range(20):
        solution = solve(normal(rng, 50, 20), normal(rng, 50), effort=2)
        empty = [start.score for start in solution.starts if not start.support]
        assert not any(empty)
