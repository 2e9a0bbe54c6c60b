"""The posterior over models against enumeration, and what it promises."""

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse

import sparsewise as sw
from sparsewise import plan
from sparsewise.criteria.model_prior import damping_grid
from tests.problems import normal, unit_columns
from tests.references.model_posterior import enumerate_models, inclusion


def table(n=30, m=6, kind=float, targets=None, seed=0):
    """Two columns that matter, one nearly a copy of the first, and noise."""
    rng = np.random.default_rng(seed)
    A = normal(rng, n, m, kind=kind)
    A[:, 1] = 0.9 * A[:, 0] + 0.4 * A[:, 1]
    shape = (n,) if targets is None else (n, targets)
    y = (A[:, [0, 3]] @ [0.5, 0.4]).reshape(n, *[1] * (len(shape) - 1))
    return A, y + normal(rng, *shape, kind=kind)


def naive(A, y, beta=None, sigma=None, include=()):
    n, m = A.shape
    Y = np.atleast_2d(y.T)
    norms = np.linalg.norm(Y, axis=1, keepdims=True) * len(Y) ** 0.5
    scale = np.linalg.norm(y)
    beta = (m - len(include)) ** 0.5 if beta is None else beta
    d2, log_prior = damping_grid(n)
    sigma = None if sigma is None else sigma / scale
    unit = unit_columns(A)
    shares, mean = enumerate_models(
        unit, Y / norms, beta, d2, log_prior, sigma, sw.problem.problem.problem(
            A, y, multi_target=True).independent_targets, include,
    )  # fmt: skip
    return shares, mean * norms.T / np.linalg.norm(A, axis=0)[:, None]


CASES = {
    "real": ({}, {}),
    "complex": ({"kind": complex}, {}),
    "known noise": ({}, {"sigma": 0.9}),
    "two targets": ({"targets": 2}, {}),
    "another prior": ({}, {"size_prior": 1.0}),
    "more columns than rows": ({"n": 5, "m": 7}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_models_are_added_up(case):
    drawn, asked = CASES[case]
    A, y = table(**drawn)
    found = sw.posterior(A, y, **asked)
    shares, mean = naive(A, y, asked.get("size_prior"), asked.get("sigma"))
    assert found.proved > 0.999
    assert np.abs(found.inclusion - inclusion(shares, A.shape[1])).max() < 1 - found.proved
    np.testing.assert_allclose(found.coef.reshape(mean.shape), mean, atol=5e-3)
    best = max(shares, key=shares.get)
    assert found.supports[0] == best
    assert found.weights[0] == pytest.approx(shares[best], abs=1e-3)
    assert found.check(A, y).ok
    assert found.check(A, y).odds_error < 1e-3


@pytest.mark.parametrize("case", CASES)
def test_or_sampled(case):
    drawn, asked = CASES[case]
    A, y = table(**drawn)
    found = sw.posterior(A, y, tol=0.002, max_iter=60_000, max_models=0, **asked)
    shares, mean = naive(A, y, asked.get("size_prior"), asked.get("sigma"))
    assert found.proved == 0
    assert np.abs(found.inclusion - inclusion(shares, A.shape[1])).max() < 0.01
    np.testing.assert_allclose(found.coef.reshape(mean.shape), mean, atol=0.01)
    assert found.sizes.sum() == pytest.approx(1)
    assert found.check(A, y).ok
    assert found.agreement > 0.97


def test_sums_and_samples_have_the_same_spread():
    A, y = table()
    exact = sw.posterior(A, y)
    found = sw.posterior(A, y, tol=0.002, max_iter=40_000, max_models=0)
    np.testing.assert_allclose(found.coef_std, exact.coef_std, rtol=0.1)
    assert found.sigma == pytest.approx(exact.sigma, rel=0.02)
    np.testing.assert_allclose(found.sizes[:6], exact.sizes[:6], atol=0.01)


def test_columns_in_every_model_and_in_none():
    A, y = table()
    found = sw.posterior(A, y, include=[5], exclude=[3], tol=0.002, max_iter=40_000, max_models=0)
    shares, _ = naive(np.delete(A, 3, axis=1), y, include=[4])
    expected = np.insert(inclusion(shares, 5), 3, 0.0)
    assert found.inclusion[5] == 1
    assert found.inclusion[3] == 0
    np.testing.assert_allclose(found.inclusion, expected, atol=0.01)
    assert all(5 in S and 3 not in S for S in found.supports)


@pytest.mark.parametrize("max_models", [0, 10_000])
def test_copies_are_never_together(max_models):
    A, y = table()
    A, y = np.column_stack([A, -3 * A[:, 0], np.zeros(30)]), y + 2 * A[:, 0]
    found = sw.posterior(A, y, max_models=max_models)
    assert (found.proved > 0) == (max_models > 0)
    assert not any({0, 6} <= set(S) for S in found.supports)
    assert found.inclusion[0] == pytest.approx(found.inclusion[6], abs=0.05)
    assert found.inclusion[7] == 0
    assert any({0, 6} <= set(one.columns) for one in found.credible_sets())


@pytest.mark.parametrize("slots", [45, 4])
def test_rows_of_the_gram_matrix_are_made_as_needed(slots, monkeypatch):
    """And forgotten where there is no room, but for those in use: the chains are the same."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 60))
    y = A[:, :3].sum(axis=1) + rng.standard_normal(40)
    whole = sw.posterior(A, y, max_iter=2000)
    monkeypatch.setattr(plan, "makes_whole_gram", lambda m: False)
    monkeypatch.setattr(plan, "gram_slots", lambda m: slots)
    found = sw.posterior(sparse.csc_array(A), y, max_iter=2000)
    np.testing.assert_allclose(found.inclusion, whole.inclusion, atol=1e-6)


def test_the_same_seed_gives_the_same_answer():
    A, y = table(40, 35)
    one, two = (sw.posterior(A, y, max_iter=1000, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.inclusion, two.inclusion)
    other = sw.posterior(A, y, max_iter=1000, seed=4)
    assert (one.inclusion != other.inclusion).any()


def test_units_make_no_difference():
    A, y = table()
    scales = np.array([1e-3, 1, 1e4, 1, 5, 1])
    one, two = sw.posterior(A, y), sw.posterior(A * scales, 1e3 * y)
    np.testing.assert_allclose(one.inclusion, two.inclusion, rtol=1e-6)
    np.testing.assert_allclose(one.coef, two.coef * scales / 1e3, rtol=1e-6)


def test_chains_that_disagree_say_so(monkeypatch):
    monkeypatch.setattr(sys.modules["sparsewise.algorithms.posterior"], "DISAGREE", 0.0)
    A, y = table(40, 35)
    with pytest.warns(sw.InputWarning, match="Chains disagree"):
        sw.posterior(A, y, max_iter=500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sw.posterior(*table())  # added up: there is nothing to disagree on


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(30)}, "y is zero"),
        ({"size_prior": 0.0}, "size_prior must be a finite number greater than 0"),
        ({"tol": -1.0}, "tol must be"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"A": np.eye(2), "y": np.ones(2)}, "There are 2 rows"),
        ({"y": "exact"}, "y is fitted exactly"),
    ],
)
def test_what_is_refused(change, message):
    A, y = table()
    if isinstance(change.get("y"), str):
        change = {"y": A[:, 0]}
    with pytest.raises(sw.InputError, match=message):
        sw.posterior(**{"A": A, "y": y} | change)


# --- what is made of it ---------------------------------------------------------------------------


def correlated(seed=0, n=200, m=40):
    """Neighbours are nearly copies; columns 5 and 25 matter."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, m))
    for j in range(1, m):
        if j % 10:
            A[:, j] = 0.99 * A[:, j - 1] + 0.14 * A[:, j]
    return A, A[:, [5, 25]] @ [0.5, -0.5] + rng.standard_normal(n)


def test_credible_sets_hold_what_matters():
    held = found = 0
    for seed in range(6):
        A, y = correlated(seed)
        sets = sw.posterior(A, y, max_iter=4000).credible_sets()
        columns = [set(one.columns) for one in sets]
        assert sum(map(len, columns)) == len(set().union(*columns))
        held += sum(bool({5, 25} & one) for one in columns)
        found += len(columns)
        assert all(one.probability >= 0.95 and one.purity >= 0.5 for one in sets)
    assert 9 <= found <= 14
    assert held >= found - 1


def test_sets_of_a_higher_level_are_larger():
    A, y = correlated()
    found = sw.posterior(A, y, max_iter=4000)
    small, large = (found.credible_sets(level)[0].columns for level in (0.5, 0.99))
    assert set(small) <= set(large)
    assert len(small) < len(large)
    assert found.credible_sets(purity=1.0) == [
        one for one in found.credible_sets() if len(one.columns) == 1
    ]
    with pytest.raises(sw.InputError, match="level must be between 0 and 1"):
        found.credible_sets(1.5)


def test_samples_are_drawn_from_it():
    A, y = table()
    found = sw.posterior(A, y)
    drawn = found.sample(4000, seed=1)
    np.testing.assert_allclose(drawn.mean(axis=0), found.inclusion, atol=0.03)
    np.testing.assert_array_equal(drawn, found.sample(4000, seed=1))


def test_the_text_names_columns_and_sets():
    A, y = correlated()
    text = repr(sw.posterior(A, y, max_iter=2000))
    assert "Posterior over models of 40 columns" in text
    assert "one of {" in text
    assert "4 chains" in text
    assert "of the posterior was seen" in repr(sw.posterior(*table()))


def test_a_check_notices_other_data():
    A, y = table()
    found = sw.posterior(A, y)
    assert not found.check(A, y + A[:, 2]).ok
    with pytest.raises(sw.InputError, match="2 targets"):
        found.check(A, np.column_stack([y, y]))


def test_noise_has_no_column_more_probable_than_not():
    chosen = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A, y = rng.standard_normal((60, 40)), rng.standard_normal(60)
        chosen += sw.posterior(A, y, max_iter=1000).support.size > 0
    assert chosen <= 2
