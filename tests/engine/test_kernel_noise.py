"""The noise of a sum of kernels: found together with the prior variances, and set right."""

import numpy as np
import pytest

from sparsewise.algorithms.rmp import match_relevance
from sparsewise.design import as_design
from sparsewise.engine.bayes.joint_updates import relevant
from sparsewise.engine.bayes.kernel_noise import (
    SHUFFLES,
    Inferred,
    _in_few_rows,
    follow,
    infer_kernel_noise,
)
from sparsewise.problem.problem import problem

SIGMA = 0.3


def kernels(rough, n=120, m=None, seed=0):
    """Columns that are kernels at m of n points between 0 and 1."""
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    r = np.abs(x[:, None] - x[rng.permutation(n)[:m]]) / (0.02 if rough else 0.15)
    return x, np.exp(-r if rough else -0.5 * r**2)


def noisy(x, seed=0):
    return np.sin(8 * x) + SIGMA * np.random.default_rng(100 + seed).standard_normal(x.size)


def inferred(A, y):
    return infer_kernel_noise(as_design(A), y, np.random.RandomState(0))


def sigma(found, y):
    return np.sqrt(found.noise) * np.linalg.norm(y)


@pytest.mark.parametrize("seed", range(3))
def test_smooth_kernels_see_the_noise_as_it_is(seed):
    x, A = kernels(rough=False, seed=seed)
    y = noisy(x, seed)
    found = inferred(A, y)
    assert sigma(found, y) == pytest.approx(SIGMA, rel=0.2)
    assert found.smooth
    assert 3 <= found.columns.size <= 20
    assert (found.gamma > 0).all()


def test_what_rough_kernels_see_is_set_right():
    """Each explains its own point: on pure noise the updates alone leave far less of it."""
    alone, rough = [], []
    for seed in range(6):
        _, A = kernels(rough=True, seed=seed)
        y = np.random.default_rng(seed).standard_normal(120)
        found = inferred(A, y)
        assert sigma(found, y) == pytest.approx(y.std(), rel=0.15)
        rough.append(not found.smooth)
        unit, z = A / np.linalg.norm(A, axis=0), y[:, None] / np.linalg.norm(y)
        left = relevant(
            unit, z, np.ones(120), 0.1 / 120, held=False, rows=120, check_interrupt=lambda: None
        )
        alone.append(sigma(left, y) / y.std())
    assert np.mean(alone) < 0.7
    assert min(alone) < 0.5
    assert sum(rough) >= 4  # it may not show


def test_columns_of_their_own_points_see_nothing_but_noise():
    """With A = I a shuffled target is as good as the target, whatever it is."""
    y = np.random.default_rng(0).standard_normal(40)
    found = inferred(np.eye(40), y)
    assert sigma(found, y) == pytest.approx(np.sqrt(np.mean(y**2)), rel=1e-6)
    assert not found.smooth


def test_a_mean_is_no_noise():
    """Signs are random, too: what all entries share is not taken for what is seen of noise."""
    x, A = kernels(rough=False)
    y = 20 + noisy(x)
    found = inferred(A, y)
    assert sigma(found, y) == pytest.approx(SIGMA, rel=0.25)


def test_units_do_not_matter():
    x, A = kernels(rough=False)
    y = noisy(x)
    one, other = inferred(A, y), inferred(1e90 * A, 1e-70 * y)
    assert other.noise == pytest.approx(one.noise, rel=1e-6)
    np.testing.assert_array_equal(one.columns, other.columns)
    np.testing.assert_allclose(one.gamma, other.gamma, rtol=1e-4)


def test_few_rows_have_the_same_inner_products():
    x, A = kernels(rough=False, m=20)
    data = problem(as_design(A), noisy(x))
    B, target, shuffled = _in_few_rows(data, np.arange(20), np.random.RandomState(0))
    unit = A / np.linalg.norm(A, axis=0)
    assert B.shape == (20 + 1 + SHUFFLES, 20)
    np.testing.assert_allclose(B.T @ B, unit.T @ unit, atol=1e-12)
    np.testing.assert_allclose(B.T @ target, unit.T @ data.Y.T, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(shuffled, axis=1), 1.0, rtol=1e-12)


def test_nothing_to_explain_and_nothing_to_explain_it_with():
    _, A = kernels(rough=False)
    nothing = inferred(A, np.zeros(120))
    assert nothing.noise == 0.0
    assert nothing.columns.size == 0
    y = np.ones(120)
    empty = inferred(np.zeros((120, 3)), y)
    assert sigma(empty, y) == pytest.approx(1.0)
    assert empty.columns.size == 0


def test_exact_data_leave_no_less_than_rounding(capfd):
    _, A = kernels(rough=False)
    y = A[:, 5]
    found = inferred(A, y)
    assert 0 < sigma(found, y) < 1e-4
    # A single column of no use: nothing is left, and linear algebra has nothing to complain about.
    y = np.random.default_rng(0).standard_normal(120)
    y -= A[:, 5] * (A[:, 5] @ y) / (A[:, 5] @ A[:, 5])
    assert inferred(A[:, [5]], y).columns.size == 0
    assert capfd.readouterr() == ("", "")


def test_other_columns_explain_more():
    """Two columns of many take what they can't explain for noise; σ follows as others come in."""
    x, A = kernels(rough=False)
    y = noisy(x)
    some = np.array([3, 60])
    first = inferred(A[:, some], y)._replace(columns=some[:0], gamma=np.empty(0))
    assert sigma(first, y) > 1.5 * SIGMA
    found = follow(problem(as_design(A), y), first, match_relevance)
    assert sigma(found, y) == pytest.approx(SIGMA, rel=0.2)
    assert found.columns.size > 2


def test_where_kernels_follow_noise_sigma_does_not_follow_them():
    _, A = kernels(rough=True)
    y = np.random.default_rng(0).standard_normal(120)
    data = problem(as_design(A), y)
    first = Inferred(1 / 120, np.empty(0, np.int64), np.empty(0), smooth=False)
    assert follow(data, first, match_relevance).noise == first.noise
    assert follow(data, first._replace(smooth=True), match_relevance).noise < 0.8 * first.noise


def test_what_follows_begins_where_it_says():
    """Prior variances come back in unit columns and for a unit target."""
    x, A = kernels(rough=False)
    y = 7 * noisy(x)
    A = A * np.linspace(1, 1e3, 120)
    data = problem(as_design(A), y)
    found = follow(data, inferred(A, y), match_relevance)
    again = follow(data, found, match_relevance)
    np.testing.assert_array_equal(again.columns, found.columns)
    np.testing.assert_allclose(again.gamma, found.gamma, rtol=0.2)
