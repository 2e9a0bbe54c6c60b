"""Relevance vector regression: what it recovers, what it promises, what it refuses."""

import os
import pickle
import tracemalloc
from unittest import mock

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsewise import plan
from sparsewise.design import base
from sparsewise.estimators import RelevanceVectorRegressor, relevance_vector
from sparsewise.estimators.kernel_functions import PROFILES, SAMPLE, Stationary, median_distance

with mock.patch.dict(os.environ):  # importing it sets the number of threads
    from reproduction.benchmarks import kernels

BAYESIAN = ["rmp", "fast_sbl", "sbl"]
STEPWISE = ["rmp0", "foba", "forward"]
ALGORITHMS = BAYESIAN + STEPWISE
NOISE = 0.1


def sinc(X):
    return 3 + np.sinc(X[:, 0] / np.pi)


def data(seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, (n, 1))
    return X, sinc(X) + NOISE * rng.standard_normal(n)


def regressor(algorithm, kernel="rbf", *, noise=NOISE, **words):
    """As a user would set it: delta keeps out what is within the noise."""
    words.setdefault("length_scale", 2.0 if isinstance(kernel, str) else "median")
    if algorithm in STEPWISE:
        words["delta"] = 3 * noise
    return RelevanceVectorRegressor(kernel, algorithm=algorithm, **words)


# --- kernels -------------------------------------------------------------------------------------

PEERS = {
    "matern12": lambda scale: Matern(scale, nu=0.5),
    "matern32": lambda scale: Matern(scale, nu=1.5),
    "matern52": lambda scale: Matern(scale, nu=2.5),
    "rbf": RBF,
}


@pytest.mark.parametrize("length_scale", [0.3, 2.0, 50.0])
@pytest.mark.parametrize("name", PROFILES)
def test_kernels_against_scikit_learn(name, length_scale):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((20, 4)), rng.standard_normal((30, 4))
    Y[:3] = X[:3] + 1e-9
    ours = Stationary(name, length_scale)(X, Y)
    np.testing.assert_allclose(ours, PEERS[name](length_scale)(X, Y), rtol=1e-12)


@pytest.mark.parametrize("name", PROFILES)
def test_kernels_at_far_scales(name):
    X = np.array([[0.0], [1.0], [3.0]])
    expected = Stationary(name, 2.0)(X, X)
    for scale in (1e-200, 1e200):
        ours = Stationary(name, 2.0 * scale)(X * scale, X * scale)
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
    np.testing.assert_array_equal(Stationary(name, 1e-300)(X, X), np.eye(3))


def test_kernels_keep_single_precision():
    X = np.ones((2, 1), np.float32)
    assert Stationary("matern32", 1.0)(X, X).dtype == np.float32


def test_median_distance():
    rng = np.random.RandomState(0)
    assert median_distance(np.array([[0.0], [1.0], [4.0]]), rng) == pytest.approx(3.0)
    assert median_distance(np.array([[0.0]] * 9 + [[5.0]]), rng) == pytest.approx(5.0)
    for same in (np.zeros((4, 2)), np.ones((4, 2)), np.ones((1, 2))):
        assert median_distance(same, rng) > 0
    X = rng.standard_normal((3 * SAMPLE, 2))
    full = np.median(np.linalg.norm(X[:, None] - X[::7], axis=2))
    assert median_distance(X, rng) == pytest.approx(full, rel=0.1)
    for scale in (1e-200, 1e200):
        assert median_distance(scale * X[:50], rng) == pytest.approx(
            scale * median_distance(X[:50], rng), rel=1e-12
        )


# --- recovery ------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_recovers_sinc(algorithm):
    X, y = data(n=120 if algorithm == "sbl" else 300)
    model = regressor(algorithm).fit(X, y)
    grid = np.linspace(-9.5, 9.5, 200)[:, None]
    assert np.sqrt(np.mean((model.predict(grid) - sinc(grid)) ** 2)) < 0.5 * NOISE
    assert model.noise_ == pytest.approx(NOISE, rel=0.2)
    assert 2 <= model.relevance_.size <= 20
    assert model.relevance_.size < len(X) / 6
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    assert np.all(np.diff(model.relevance_) > 0)
    assert model.solution_.algorithm == algorithm


@pytest.mark.parametrize("kernel", [*PROFILES, Matern(2.0), lambda X, Y: np.exp(-abs(X - Y.T))])
def test_every_kind_of_kernel(kernel):
    X, y = data()
    model = regressor("rmp", kernel).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - sinc(X)) ** 2)) < 0.6 * NOISE
    assert model.length_scale_ == (2.0 if isinstance(kernel, str) else None)


def test_default_settings_in_several_dimensions():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(500)
    model = RelevanceVectorRegressor().fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.75
    assert 0.25 < model.noise_ < 0.5  # what few kernels miss of the function counts as noise


def test_scikit_learn_kernels_are_cloned_and_left_as_they_are():
    X, y = data(n=60)
    kernel = ConstantKernel(2.0) * Matern(2.0) + WhiteKernel(0.1)
    model = RelevanceVectorRegressor(kernel).fit(X, y)
    assert model.kernel_ == kernel
    assert model.kernel_ is not kernel
    assert model.kernel is kernel


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_without_an_intercept(algorithm):
    X, y = data(n=80)
    model = regressor(algorithm, fit_intercept=False).fit(X, y - 3)
    assert model.intercept_ == 0.0
    K = model.kernel_(X, model.relevance_vectors_)
    np.testing.assert_allclose(model.predict(X), K @ model.coef_, atol=1e-9)
    assert np.sqrt(np.mean((model.predict(X) + 3 - sinc(X)) ** 2)) < 0.8 * NOISE


# --- the noise, told nothing ---------------------------------------------------------------------


def judged(task, seeds, **words):
    """Mean error, vectors and noises over several draws of a problem of Tipping's."""
    found = [kernels.estimator(task.draw(seed), task, **words) for seed in seeds]
    error, vectors, _ = np.mean(found, axis=0)
    return error, vectors, [one.sigma for one in found]


def task(name):
    return next(one for one in kernels.TASKS if one.name == name)


def test_sinc_by_splines_as_tipping_found_it():
    """.0326 with 6.7 vectors, over 100 draws; the noise is 0.1."""
    error, vectors, sigmas = judged(task("sinc"), range(8))
    assert error < 0.036
    assert vectors < 10
    assert all(0.07 < sigma < 0.125 for sigma in sigmas)


def test_friedman_as_tipping_found_it():
    """2.80 with 59 vectors; the noise is 1, and kernels at 240 points leave something to it."""
    error, vectors, sigmas = judged(task("friedman"), range(5))
    assert error < 3.2
    assert 40 < vectors < 70
    assert all(0.9 < sigma < 1.4 for sigma in sigmas)


def test_no_worse_than_his_updates():
    """As they stand in his paper, on the same draws."""
    plain = [kernels.by_the_book(task("friedman").draw(seed), task("friedman")) for seed in (0, 1)]
    error, _, _ = judged(task("friedman"), (0, 1))
    assert error < 1.05 * np.mean([one.error for one in plain])


def test_some_candidates_tell_the_noise_of_all(monkeypatch):
    """Of 240 only 60 begin; what they could not explain is found as the others come in."""
    error, _, sigmas = judged(task("friedman"), range(3))
    monkeypatch.setattr(plan, "KERNEL_JOINTLY", 0)
    monkeypatch.setattr(relevance_vector, "SCREENED", 60)
    of_some, _, from_some = judged(task("friedman"), range(3))
    np.testing.assert_allclose(from_some, sigmas, rtol=0.35)
    assert of_some < 1.25 * error
    monkeypatch.setattr(relevance_vector, "follow", lambda data, inferred, climb: inferred)
    assert np.mean(judged(task("friedman"), range(3))[2]) > 1.3 * np.mean(from_some)


@pytest.mark.parametrize("algorithm", BAYESIAN)
def test_rough_kernels_do_not_explain_the_noise(algorithm):
    """Pure noise in three dimensions: Tipping's updates alone would see a fifth of it."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.random((150, 3)), rng.standard_normal(150)
        model = RelevanceVectorRegressor("matern12", algorithm=algorithm).fit(X, y)
        assert model.sigma_ == pytest.approx(y.std(), rel=0.25)
        assert model.relevance_.size < 40


WORTH = {
    "smooth": (lambda x: np.sinc(6 * x), {"kernel": "rbf", "length_scale": 0.3}),
    "spline": (lambda x: np.sinc(6 * x), {"kernel": lambda X, Y: kernels.spline(X, Y)}),
    "rough": (np.sin, {"kernel": "matern12", "length_scale": 0.01}),
    "a spike": (lambda x: 10.0 * (np.arange(x.size) == 7), {"length_scale": 0.3}),
    "nothing": (np.zeros_like, {}),
    "exact": (lambda x: 1e9 * np.sin(x), {"kernel": "rbf", "length_scale": 1.0}),
}


@pytest.mark.parametrize("algorithm", BAYESIAN)
@pytest.mark.parametrize("name", WORTH)
def test_worth_no_less_than_the_empty_model_and_it_holds(name, algorithm):
    """σ, model and evidence belong together, whatever there is to be found."""
    function, words = WORTH[name]
    x = np.linspace(-1, 1, 100)
    y = function(x) + 0.1 * np.random.default_rng(1).standard_normal(100)
    model = RelevanceVectorRegressor(**words, algorithm=algorithm).fit(x[:, None], y)
    empty = -0.5 * 99 * (np.log(2 * np.pi * y.var(ddof=1)) + 1)
    assert model.log_evidence_ >= empty - 1e-9 * abs(empty)
    assert model.log_evidence_ == model.solution_.log_evidence
    assert model.sigma_ == model.noise_ == pytest.approx(model.solution_.sigma)
    assert model.sigma_ <= 1.001 * y.std(ddof=1)
    check = model.check(x[:, None], y)
    assert check.ok, check


def test_smooth_kernels_that_are_all_alike():
    """Kernels of length 0.3 on 100 points of [0, 1], where a price for each finds one feature."""
    errors, sigmas = [], []
    x = np.linspace(0, 1, 100)[:, None]
    f = np.sinc((x[:, 0] - 0.5) * 20 / np.pi)
    for seed in range(5):
        y = f + 0.1 * np.random.default_rng(seed).standard_normal(100)
        model = RelevanceVectorRegressor("rbf", length_scale=0.3).fit(x, y)
        errors.append(np.sqrt(np.mean((model.predict(x) - f) ** 2)))
        sigmas.append(model.sigma_)
    assert np.mean(errors) < 0.045
    assert np.mean(sigmas) == pytest.approx(0.1, rel=0.1)


def test_the_same_every_time():
    X, y = data(n=300)
    one, other = (RelevanceVectorRegressor().fit(X, y) for _ in range(2))
    assert one.sigma_ == other.sigma_
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_check_is_of_the_data(algorithm):
    X, y = data(n=80)
    model = regressor(algorithm, n_candidates=50, random_state=1).fit(X, y)
    assert model.check(X, y).ok
    assert not model.check(X, y[::-1]).ok
    np.testing.assert_array_equal(model.relevance_, model.candidates_[model.solution_.support])


def test_stepwise_algorithms_have_no_evidence():
    X, y = data(n=40)
    model = regressor("forward").fit(X, y)
    assert model.sigma_ == model.noise_
    assert not hasattr(model, "log_evidence_")
    for name in ("sigma_", "log_evidence_"):
        with pytest.raises(NotFittedError):
            getattr(RelevanceVectorRegressor(), name)


# --- the model on paper --------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_prediction_by_the_textbook(algorithm, fit_intercept):
    """Mean and deviation from the whole normal equations, the intercept being one more column."""
    X, y = data(n=60)
    model = regressor(algorithm, "matern32", fit_intercept=fit_intercept).fit(X, y)
    grid = np.linspace(-12, 12, 50)[:, None]
    mean, std = model.predict(grid, return_std=True)

    def design(points):
        K = model.kernel_(points, model.relevance_vectors_)
        return np.column_stack([np.ones(len(points)), K]) if fit_intercept else K

    A, B = design(X), design(grid)
    weights = np.append([model.intercept_] if fit_intercept else [], model.coef_)
    np.testing.assert_allclose(mean, B @ weights, rtol=1e-9, atol=1e-9)
    inverse_prior = np.zeros(len(weights))
    if algorithm in BAYESIAN:
        gamma = model.solution_.gamma[model.solution_.support]
        inverse_prior[len(weights) - len(gamma) :] = 1 / gamma
    precision = A.T @ A / model.noise_**2 + np.diag(inverse_prior)
    covariance = np.linalg.inv(precision)
    np.testing.assert_allclose(weights, covariance @ A.T @ y / model.noise_**2, rtol=1e-6)
    variance = model.noise_**2 + np.einsum("ij,jk,ik->i", B, covariance, B)
    np.testing.assert_allclose(std, model.dispersion_ * np.sqrt(variance), rtol=1e-6)
    if algorithm in STEPWISE:
        residual = np.linalg.norm(y - A @ weights)
        assert model.noise_ == pytest.approx(residual / np.sqrt(len(y) - len(weights)))
    elif fit_intercept:
        stated = model.solution_.covariance
        np.testing.assert_allclose(covariance[1:, 1:], stated, rtol=1e-5)


@pytest.mark.parametrize("algorithm", ["rmp", "fast_sbl", "forward"])
def test_coverage(algorithm):
    """95 % intervals hold about 95 % of new observations, over several samples."""
    inside = []
    for seed in range(10):
        X, y = data(seed, n=150)
        X_new, y_new = data(100 + seed, n=400)
        mean, std = regressor(algorithm).fit(X, y).predict(X_new, return_std=True)
        inside.append(np.mean(np.abs(y_new - mean) < 1.96 * std))
    # Each is off by its own noise estimate, some 6 %, which moves coverage by 0.7 %; σ/√10 of that
    # and a model that is a little too simple are what the bounds allow for.
    assert 0.93 <= np.mean(inside) <= 0.97


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("algorithm", ["rmp", "forward"])
def test_dispersion_by_leaving_out(algorithm, fit_intercept):
    """Each point is left out, a vector with its kernel, and the model solved from scratch."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-5, 5, (60, 2))
    y = np.sin(X[:, 0]) + 0.2 * X[:, 1] + 0.3 * rng.standard_normal(60)
    words = {"noise": 0.3, "fit_intercept": fit_intercept, "length_scale": "median"}
    model = regressor(algorithm, "matern32", **words).fit(X, y)
    chosen, variance = model.relevance_, model.noise_**2
    prior = np.full(len(chosen), np.inf)
    if algorithm in BAYESIAN:
        prior = model.solution_.gamma[model.solution_.support]

    def ratio(i, points, gamma):
        A = np.column_stack([np.ones(60), model.kernel_(X, X[points])])
        precision = np.append(0.0, 1 / gamma)
        A, precision = A[:, 1 - fit_intercept :], precision[1 - fit_intercept :]
        B, b = np.delete(A, i, axis=0), np.delete(y, i)
        covariance = np.linalg.inv(B.T @ B / variance + np.diag(precision))
        error = y[i] - A[i] @ covariance @ B.T @ b / variance
        return error**2 / (variance + A[i] @ covariance @ A[i])

    ratios = []
    for i in range(60):
        if i not in chosen:
            ratios.append(ratio(i, chosen, prior))
            continue
        j = chosen.tolist().index(i)
        rest, gamma = np.delete(chosen, j), np.delete(prior, j)
        others = np.setdiff1d(np.arange(60), chosen)
        distances = np.linalg.norm((X[others] - X[i]) / model.scale_, axis=1)
        nearest = others[np.argmin(distances)]
        exchanged = ratio(i, np.append(rest, nearest), np.append(gamma, prior[j]))
        ratios.append((ratio(i, rest, gamma) + exchanged) / 2)
    assert len(chosen) > 2
    assert model.dispersion_ > 1.05
    assert model.dispersion_ == pytest.approx(np.sqrt(np.mean(ratios)), rel=1e-8)


@pytest.mark.parametrize("name", ["diabetes", "friedman1"])
def test_coverage_of_what_kernels_follow(name):
    """Told nothing: kernels are many, and the posterior alone states far too little."""
    inside, stated = [], []
    for seed in range(4):
        if name == "diabetes":
            X, y = load_diabetes(return_X_y=True)
        else:
            X, y = make_friedman1(200, noise=1.0, random_state=seed)
        rows = np.random.default_rng(seed).permutation(len(y))
        new, old = rows[: len(y) // 4], rows[len(y) // 4 :]
        model = RelevanceVectorRegressor().fit(X[old], y[old])
        mean, std = model.predict(X[new], return_std=True)
        inside.extend(np.abs(y[new] - mean) < 1.96 * std)
        stated.extend(np.abs(y[new] - mean) < 1.96 * std / model.dispersion_)
    assert np.mean(stated) < 0.9
    assert 0.92 <= np.mean(inside) <= 0.98  # 200 points and more: a standard error of .015 or less


@pytest.mark.parametrize("factor", [1e-6, 1e5])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_equivariance(algorithm, factor):
    X, y = data(n=60)
    one = regressor(algorithm).fit(X, y)
    other = regressor(algorithm, noise=factor * NOISE).fit(X, factor * y)
    np.testing.assert_array_equal(one.relevance_, other.relevance_)
    for a, b in zip(one.predict(X, True), other.predict(X, True), strict=True):
        np.testing.assert_allclose(factor * a, b, rtol=1e-6)
    assert other.noise_ == pytest.approx(factor * one.noise_, rel=1e-6)


@pytest.mark.parametrize("algorithm", ["rmp", "rmp0"])
def test_a_shift_of_y_moves_the_intercept_alone(algorithm):
    X, y = data(n=80)
    one, other = regressor(algorithm).fit(X, y), regressor(algorithm).fit(X, y + 1000)
    np.testing.assert_array_equal(one.relevance_, other.relevance_)
    assert other.intercept_ == pytest.approx(one.intercept_ + 1000, rel=1e-9)
    np.testing.assert_allclose(one.predict(X) + 1000, other.predict(X), rtol=1e-9)


@pytest.mark.parametrize("algorithm", ["rmp", "rmp0"])
def test_units_of_x_do_not_matter_with_the_median(algorithm):
    X, y = data(n=80)
    one = regressor(algorithm, "matern32", length_scale="median").fit(X, y)
    other = clone(one).fit(1e9 * X, y)
    np.testing.assert_allclose(one.predict(X), other.predict(1e9 * X), rtol=1e-6)
    assert other.length_scale_ == pytest.approx(1e9 * one.length_scale_)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_constant_target(algorithm, value):
    X, _ = data(n=30)
    model = regressor(algorithm).fit(X, np.full(30, value))
    assert model.relevance_.size == 0
    assert model.relevance_vectors_.shape == (0, 1)
    assert model.noise_ == 0.0
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, value, rtol=1e-15)
    np.testing.assert_array_equal(std, 0.0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_points_that_coincide(algorithm):
    """Every kernel is constant: nothing can be told but the mean."""
    y = np.array([1.0, 2.0, 3.0, 6.0])
    words = {"noise": 1e-3} if algorithm in STEPWISE else {}
    model = regressor(algorithm, length_scale="median", **words).fit(np.full((4, 2), 0.1), y)
    assert model.relevance_.size == 0
    mean, std = model.predict([[0.1, 0.1], [5.0, 5.0]], return_std=True)
    np.testing.assert_allclose(mean, 3.0)
    assert np.isfinite(std).all()
    assert model.noise_ > 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_points(algorithm, n):
    X, y = data(n=n)
    mean, std = regressor(algorithm, noise=1e-9).fit(X, y).predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()


def test_very_wide_kernel():
    """Kernels that are all but constant have large weights; predictions must keep their digits."""
    X, y = data(n=100)
    model = regressor("forward", length_scale=1e5, noise=0.01).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert model.score(X, y) >= 0
    assert np.isfinite(std).all()
    residual = np.linalg.norm(y - mean)
    assert residual == pytest.approx(model.solution_.residual_norm, rel=1e-4)


def test_given_noise():
    X, y = data(n=80)
    assert regressor("rmp", sigma=0.2).fit(X, y).noise_ == pytest.approx(0.2)


# --- candidates, memory --------------------------------------------------------------------------


def test_certificate():
    """Far apart, kernels are as good as orthogonal: the choice is proved. None unless asked for."""
    X = 20.0 * np.arange(30)[:, None]
    y = 0.01 * np.random.default_rng(0).standard_normal(30)
    y[[3, 8, 21]] += [5.0, -4.0, 3.0]
    words = {"kernel": "rbf", "length_scale": 1.0, "algorithm": "rmp0", "delta": 0.5}
    model = RelevanceVectorRegressor(**words, fit_intercept=False, certify=True).fit(X, y)
    assert model.relevance_.tolist() == [3, 8, 21]
    assert model.certificate_.status == "optimal"
    assert model.certificate_.columns == (3, 8, 21)
    assert not hasattr(RelevanceVectorRegressor(**words).fit(X, y), "certificate_")


@pytest.mark.parametrize("cache_size", [200, 0.02, 0])
def test_certificate_however_the_kernel_is_held(cache_size):
    X = np.linspace(-10, 10, 120)[:, None]
    y = np.sinc(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(120)
    words = {"length_scale": 1.0, "n_candidates": 40, "random_state": 0, "certify": True}
    expected = RelevanceVectorRegressor(**words).fit(X, y).certificate_
    found = RelevanceVectorRegressor(**words, cache_size=cache_size).fit(X, y).certificate_
    assert (found.status, found.columns) == (expected.status, expected.columns)
    assert found.residual_norm == pytest.approx(expected.residual_norm, rel=1e-6)
    assert found.bound == pytest.approx(expected.bound, rel=1e-3, abs=1e-9)


def test_candidates():
    X, y = data()
    model = regressor("rmp", n_candidates=40, random_state=3).fit(X, y)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.relevance_, again.relevance_)
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    assert model.solution_.coef.shape == (40,)
    assert np.sqrt(np.mean((model.predict(X) - sinc(X)) ** 2)) < NOISE
    everyone = regressor("rmp", n_candidates=200).fit(X, y)
    np.testing.assert_array_equal(everyone.relevance_, regressor("rmp").fit(X, y).relevance_)


def test_median_of_many_points_is_the_same_every_time():
    X, y = data(n=2 * SAMPLE)
    words = {"length_scale": "median", "n_candidates": 20}
    scales = [regressor("forward", **words).fit(X, y).length_scale_ for _ in range(2)]
    assert scales[0] == scales[1]


@pytest.mark.parametrize("cache_size", [0, 0.01])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_stored_condensed_and_in_tiles(algorithm, cache_size, monkeypatch):
    """How the kernel matrix is reached makes no difference; 10 kB hold a triangle of 30 rows."""
    monkeypatch.setattr(base, "BLOCK_BYTES", 1 << 13)
    X, y = data(n=80)
    words = {"n_candidates": 30, "random_state": 0}
    one = regressor(algorithm, "matern12", **words).fit(X, y)
    other = regressor(algorithm, "matern12", cache_size=cache_size, **words).fit(X, y)
    np.testing.assert_array_equal(one.relevance_, other.relevance_)
    for a, b in zip(one.predict(X, True), other.predict(X, True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("cache_size", [0, 2])
@pytest.mark.parametrize("algorithm", ["rmp", "forward"])
def test_memory_stays_far_below_the_kernel_matrix(algorithm, cache_size, monkeypatch):
    monkeypatch.setattr(base, "BLOCK_BYTES", 1 << 18)
    n, m = 4000, 400
    X, y = data(n=n)
    model = regressor(algorithm, n_candidates=m, cache_size=cache_size, random_state=0)
    clone(model).fit(X[:500], y[:500])  # compiles and imports what it needs
    tracemalloc.start()
    try:
        model.fit(X, y)
        model.predict(X, return_std=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.relevance_.size > 2
    assert peak < 8 * n * m / 2, f"{peak / 2**20:.1f} MiB"


# --- scikit-learn --------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        RelevanceVectorRegressor(),
        RelevanceVectorRegressor(algorithm="rmp0", delta=0.5),
        RelevanceVectorRegressor("rbf", algorithm="foba", delta=0.5, length_scale=2.0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("algorithm", ["rmp", "forward"])
def test_pickle(algorithm):
    X, y = data(n=60)
    model = regressor(algorithm).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X, True), again.predict(X, True))


def test_pipeline_and_grid_search():
    X, y = data(n=120)
    pipeline = make_pipeline(StandardScaler(), RelevanceVectorRegressor("rbf"))
    scales = [0.01, 0.3]
    grid = {"relevancevectorregressor__length_scale": scales}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["relevancevectorregressor__length_scale"] == 0.3
    mean, std = search.best_estimator_.predict(X, return_std=True)
    assert mean.shape == std.shape == (120,)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"kernel": "gauss"}, "'kernel' parameter .*'matern32'"),
        ({"kernel": 3}, "'kernel' parameter"),
        ({"length_scale": -1.0}, "'length_scale' parameter"),
        ({"length_scale": 0.0}, "'length_scale' parameter"),
        ({"length_scale": np.nan}, "'length_scale' parameter"),
        ({"length_scale": "mean"}, "'length_scale' parameter .*'median'"),
        ({"length_scale": 1.0, "kernel": RBF()}, "length_scale belongs to kernels by name"),
        ({"algorithm": "omp"}, "'algorithm' parameter"),
        ({"algorithm": "rmp0"}, "needs delta"),
        ({"algorithm": "foba", "delta": -1.0}, "'delta' parameter"),
        ({"algorithm": "forward", "delta": 1.0, "sigma": 1.0}, "sigma belongs to rmp, fast_sbl"),
        ({"delta": 1.0}, "delta belongs to forward, rmp0, foba"),
        ({"sigma": 0.0}, "'sigma' parameter"),
        ({"sigma": np.nan}, "'sigma' parameter"),
        ({"n_candidates": 31}, "n_candidates is 31, but there are only 30 training points"),
        ({"n_candidates": 0}, "'n_candidates' parameter"),
        ({"n_candidates": 2.5}, "'n_candidates' parameter"),
        ({"cache_size": -1}, "'cache_size' parameter"),
        ({"fit_intercept": "no"}, "'fit_intercept' parameter"),
    ],
)
def test_bad_settings(words, message):
    X, y = data(n=30)
    with pytest.raises(ValueError, match=message):
        RelevanceVectorRegressor(**words).fit(X, y)


@pytest.mark.parametrize("algorithm", ["rmp", "rmp0"])
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda X, Y: X[:, 0] * Y[0, 0], "must return one value for each pair"),
        (lambda X, Y: np.log(X - X.max() - 1 + 0 * Y.T), "NaN or infinity, first for row 0 of X"),
    ],
)
def test_bad_kernels(algorithm, kernel, message):
    X, y = data(n=30)
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        regressor(algorithm, kernel).fit(X, y)


def test_a_kernel_that_fails_later():
    X, y = data(n=30)
    model = regressor("rmp0", lambda X, Y: np.where(X > 10.5, np.nan, np.exp(-abs(X - Y.T))))
    model.fit(X, y)
    with pytest.raises(ValueError, match="NaN or infinity, first for row 1 of X"):
        model.predict([[0.0], [11.0]])


def test_bad_data():
    X, y = data(n=30)
    model = RelevanceVectorRegressor()
    with pytest.raises(NotFittedError):
        model.predict(X)
    for bad in (np.nan, np.inf):
        worse = X.copy()
        worse[3] = bad
        with pytest.raises(ValueError, match="X contains"):
            model.fit(worse, y)
        with pytest.raises(ValueError, match="y contains"):
            model.fit(X, np.where(np.arange(30) == 5, bad, y))
    with pytest.raises(ValueError, match="expecting 1 features"):
        model.fit(X, y).predict(np.ones((2, 2)))


# --- units and precision -------------------------------------------------------------------------


def surface(n=80):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (n, 3))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("units", [(1.0, 1e3, 1e-3), (1e-120, 1e100, 1.0), (64.0, 64.0, 64.0)])
def test_units_of_features_do_not_matter(units):
    X, y = surface()
    one = RelevanceVectorRegressor().fit(X, y)
    other = RelevanceVectorRegressor().fit(X * units, y)
    np.testing.assert_array_equal(one.relevance_, other.relevance_)
    expected = one.predict(X, return_std=True)
    np.testing.assert_allclose(other.predict(X * units, return_std=True), expected, rtol=1e-6)
    assert one.scale_.prod() == pytest.approx(1.0)
    if units[0] == units[1]:
        assert other.length_scale_ == pytest.approx(64 * one.length_scale_)


def test_scale_is_of_what_is_found():
    """A length scale that is given, and a kernel with its own, are for X as it is."""
    X, y = surface()
    X[:, 1] *= 10
    for words in ({"length_scale": 2.0}, {"kernel": RBF(2.0)}, {"scale": False}):
        model = RelevanceVectorRegressor(**words).fit(X, y)
        assert model.scale_ is None
    plain = RelevanceVectorRegressor("rbf", length_scale=2.0, scale=False).fit(X, y)
    given = RelevanceVectorRegressor("rbf", length_scale=2.0).fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), given.predict(X))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e200])
def test_constant_features_have_no_scale(value):
    X, y = surface()
    more = np.column_stack([X, np.full(80, value)])
    one, other = RelevanceVectorRegressor().fit(X, y), RelevanceVectorRegressor().fit(more, y)
    assert other.scale_[3] == 1.0
    np.testing.assert_allclose(other.predict(more), one.predict(X), rtol=1e-8)


@pytest.mark.parametrize(
    "model", [RelevanceVectorRegressor(), regressor("forward", "rbf")], ids=str
)
def test_single_precision_comes_back(model):
    X, y = surface()
    single = X.astype(np.float32)
    model = clone(model).fit(single, y.astype(np.float32))
    for name in ("coef_", "relevance_vectors_", "intercept_", "noise_"):
        assert getattr(model, name).dtype == np.float32, name
    mean, std = model.predict(single, return_std=True)
    assert mean.dtype == std.dtype == np.float32
    double = clone(model).fit(single.astype(np.float64), y.astype(np.float32))
    np.testing.assert_allclose(mean, double.predict(single.astype(np.float64)), rtol=1e-5)
    assert model.predict(X).dtype == np.float64
    with pytest.raises(ValueError, match="y is beyond the range of float32, in which X is"):
        clone(model).fit(single, 1e40 * y)
