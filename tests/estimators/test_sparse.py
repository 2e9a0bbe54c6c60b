"""SparseRegressor: the search as an estimator, told nothing."""

import io
import math
import pickle
from contextlib import redirect_stdout
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

from sparsewise import InputError, SparseRegressor, StepwiseRegressor, rmp, solve
from sparsewise.algorithms.solve import EFFORT
from sparsewise.io.model import LinearModel
from sparsewise.model_selection.cv_penalty import charges_between
from sparsewise.model_selection.folds import held_out_errors
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.results import Stop
from tests.estimators.conftest import assert_close, assert_same, table

X, Y = table()
TRUE = [1, 2, 3]


def centred(X, y):
    return X - X.mean(axis=0), y - y.mean()


def test_nothing_has_to_be_told():
    model = SparseRegressor().fit(X, Y)
    assert model.solution_.support.tolist() == TRUE
    assert model.score(X, Y) > 0.95
    assert model.sigma_ == pytest.approx(0.5, rel=0.3)
    assert model.chance_ < -10


def test_features_are_those_of_solve():
    """The table's n - 1 directions about its mean are what the search is told of."""
    model = SparseRegressor(debias=True).fit(X, Y)
    Q = np.linalg.qr(np.column_stack([np.ones(len(Y)), np.eye(len(Y))[:, 1:]]))[0][:, 1:]
    found = solve(Q.T @ X, Q.T @ Y)
    assert model.solution_.support.tolist() == found.support.tolist()
    assert_close(model.coef_, found.coef)
    assert model.sigma_ == pytest.approx(found.sigma)
    assert model.chance_ == pytest.approx(found.chance)
    assert_close([s.score for s in model.starts_], sorted(s.score for s in found.starts))


def test_debiased_coefficients_are_those_of_least_squares():
    model = SparseRegressor(debias=True).fit(X, Y)
    D = np.column_stack([np.ones(len(Y)), X[:, TRUE]])
    expected, (rss,), *_ = np.linalg.lstsq(D, Y)
    assert_close([model.intercept_, *model.coef_[TRUE]], expected)
    left = len(Y) - D.shape[1]
    assert model.noise_ == pytest.approx(math.sqrt(rss / left))
    spread = np.sqrt(np.diagonal(np.linalg.inv(D.T @ D)) * rss / left)
    assert_close([model.intercept_std_, *model.coef_std_[TRUE]], spread)
    assert "std. error" in str(model.summary())
    assert "prior variances" not in str(model.summary())


def evidence_of(A, y, sigma, gamma):
    C = np.eye(len(y)) * sigma**2 + A * gamma @ A.T
    return -0.5 * (np.linalg.slogdet(C)[1] + y @ np.linalg.solve(C, y))


def test_coefficients_are_posterior_means():
    """Given the features and the noise, no other prior variances have more evidence."""
    model, fitted = (SparseRegressor(debias=debias).fit(X, Y) for debias in (False, True))
    A, y = centred(X[:, TRUE], Y)
    sigma = fitted.sigma_
    # Σ = (A*A/σ² + Γ⁻¹)⁻¹ tells the prior variances
    gamma = 1 / np.diagonal(np.linalg.inv(model.covariance_) - A.T @ A / sigma**2)
    best = evidence_of(A, y, sigma, gamma)
    for changed in (gamma * (1 + 0.8 * np.eye(3)), gamma * (1 - 0.5 * np.eye(3))):
        assert all(evidence_of(A, y, sigma, one) < best for one in changed)
    mean = np.linalg.solve(A.T @ A / sigma**2 + np.diag(1 / gamma), A.T @ y / sigma**2)
    assert_close(model.coef_[TRUE], mean)
    assert np.linalg.norm(A @ mean) < np.linalg.norm(A @ fitted.coef_[TRUE])
    assert not model.solution_.least_squares
    assert "posterior standard deviation" in str(model.summary()).replace("\n", " ")


def test_correlated_features_are_shrunk_together():
    """Where `rmp`, which begins with nothing, would drop some of what was chosen."""
    X, y = hard(3)
    model, fitted = (SparseRegressor("aic", debias=debias).fit(X, y) for debias in (False, True))
    chosen = model.get_support()
    assert chosen.sum() > 5
    assert (chosen == fitted.get_support()).all()
    assert np.isfinite(model.coef_).all()
    A, t = centred(X, y)
    assert 0.5 < np.linalg.norm(A @ model.coef_) / np.linalg.norm(A @ fitted.coef_) < 1
    C = model.covariance_
    prior = np.linalg.inv(C) - A[:, chosen].T @ A[:, chosen] / fitted.sigma_**2
    off = prior - np.diag(np.diagonal(prior))
    assert np.abs(off).max() < 1e-6 * np.abs(prior).max()
    mean = C @ (A[:, chosen].T @ t) / fitted.sigma_**2
    assert_close(model.coef_[chosen], mean, rtol=1e-6)


def test_shrinkage_of_orthogonal_features():
    """By 1 - 1/t², t being the coefficient in standard errors; not at all for include."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(np.column_stack([np.ones(80), rng.standard_normal((80, 6))]))[0][:, 1:]
    y = 5 + Q @ [9.0, -6.0, 5.0, 0, 0, 0] + rng.standard_normal(80)
    fitted = SparseRegressor(debias=True).fit(Q, y)
    assert fitted.solution_.support.tolist() == [0, 1, 2]
    t = fitted.coef_[:3] / fitted.coef_std_[:3]
    shrunk = SparseRegressor().fit(Q, y)
    assert_close(shrunk.coef_[:3], fitted.coef_[:3] * (1 - 1 / t**2), rtol=1e-4)
    flat = SparseRegressor(include=[1]).fit(Q, y)
    assert flat.coef_[1] == pytest.approx(fitted.coef_[1])
    assert flat.coef_[0] == pytest.approx(shrunk.coef_[0], rel=1e-4)


def test_residual_and_check_are_those_of_the_shrunk_model():
    model = SparseRegressor().fit(X, Y)
    assert model.solution_.residual_norm == pytest.approx(np.linalg.norm(Y - model.predict(X)))
    data = TabularData.of(X, Y, None, intercept=True, include=[], exclude=[])
    solution = model.solution_
    assert solution.check(data.design, data.target).ok
    assert solution.fitted.check(data.design, data.target).ok
    assert not solution.check(data.design, data.target[::-1].copy()).ok
    off = replace(solution, damping=1.01 * solution.damping)
    assert not off.check(data.design, data.target).ok
    assert not replace(solution, coef=1.001 * solution.coef).check(data.design, data.target).ok
    assert not replace(solution, fitted=off).check(data.design, data.target).ok


@pytest.mark.parametrize("criterion", ["ric", "bic", "aic"])
def test_what_a_feature_costs(criterion):
    model = SparseRegressor(criterion, exclude=[7]).fit(X, Y)
    n, m = len(Y) - 1, 7
    charge = {"ric": 2 * math.log(m), "bic": math.log(n), "aic": 2.0}[criterion]
    assert model.charge_ == pytest.approx(charge)
    rss = float(np.linalg.lstsq(*centred(X[:, model.get_support()], Y))[1][0])
    size = model.get_support().sum()
    total = np.sum((Y - Y.mean()) ** 2)
    score = (n - size) * math.log(rss / total) + size * charge
    assert model.solution_.score == pytest.approx(score)
    assert model.path_["score"].min() == pytest.approx(score)
    assert f"least {criterion.upper()}" in str(model.summary())


def test_the_lighter_the_charge_the_more_features():
    X, y = table(n=80, m=20, k=6, noise=12.0, seed=5)
    sizes = [SparseRegressor(name).fit(X, y).get_support().sum() for name in ("ric", "bic", "aic")]
    assert sizes[0] <= sizes[1] <= sizes[2]
    assert sizes[0] < sizes[2]


def test_pure_noise_of_a_wide_table():
    """Where the criteria of old fit every row."""
    rng = np.random.default_rng(0)
    sizes = []
    for _ in range(5):
        X, y = rng.standard_normal((50, 500)), rng.standard_normal(50)
        sizes.append(SparseRegressor(effort=4).fit(X, y).get_support().sum())
    assert np.mean(sizes) <= 0.8
    model = SparseRegressor(effort=4).fit(X, y)
    assert model.chance_ > -3
    assert model.predict(X) == pytest.approx(np.full(50, y.mean()), abs=1.5)


def test_noise_as_given():
    model = SparseRegressor(sigma=2.0).fit(X, Y)
    assert model.sigma_ == model.noise_ == 2.0
    assert "as given" in str(model.summary())
    A, y = centred(X[:, TRUE], Y)
    expected = rmp(A, y, sigma=2.0, min_increase=1e-12)
    assert_close(model.coef_[TRUE], expected.coef, rtol=1e-4)


def test_a_charge_as_a_number():
    A, y = hard()
    named, told = solve(A, y, criterion="aic", effort=3), solve(A, y, criterion=2, effort=3)
    assert told.starts == named.starts
    np.testing.assert_array_equal(told.coef, named.coef)
    assert solve(A, y, criterion=1e6).support.size == 0
    for bad in (-1.0, math.nan, math.inf, True, "loo", None, ["ric"]):
        with pytest.raises(InputError, match="criterion must be one of ric, bic, aic, or what"):
            solve(A, y, criterion=bad)


# --- starts --------------------------------------------------------------------------------------


def hard(seed=0):
    """Many features that are nearly alike, so that starts come to different models."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 30)) + rng.standard_normal((40, 30))
    return Z, Z[:, :8].sum(axis=1) + 3 * rng.standard_normal(40)


def test_starts_and_runner_up_are_told():
    X, y = hard()
    model = SparseRegressor().fit(X, y)
    scores = [start.score for start in model.starts_]
    assert scores == sorted(scores)
    assert len(scores) <= EFFORT
    assert model.starts_[0].support == tuple(model.solution_.support.tolist())
    text = " ".join(str(model.summary()).split())
    times = sum(start.support == model.starts_[0].support for start in model.starts_)
    assert f"{times} of {len(scores)} starts came to this" in text
    other = next(one for one in model.starts_ if one.support != model.starts_[0].support)
    assert f"a score higher by {other.score - scores[0]:.3g}" in text
    for j in set(other.support) - set(model.starts_[0].support):
        assert f"x{j}" in text.split("runner-up")[1]
    html = model.summary()._repr_html_()
    assert "runner-up" in html
    assert "chance" in html


def test_no_runner_up_where_all_starts_agree():
    assert "runner-up" not in str(SparseRegressor().fit(X, Y).summary())


def test_the_same_state_has_the_same_answer():
    X, y = hard()
    one, same = SparseRegressor().fit(X, y), SparseRegressor(random_state=0).fit(X, y)
    assert one.starts_ == same.starts_
    assert_same(one, same, X, rtol=0)
    starts = {
        SparseRegressor(random_state=np.random.RandomState(3), effort=6).fit(X, y).starts_
        for _ in range(2)
    }
    assert len(starts) == 1
    assert SparseRegressor(random_state=5).fit(X, y).starts_ != one.starts_


def test_effort_is_the_most_starts():
    X, y = hard()
    assert len(SparseRegressor(effort=1).fit(X, y).starts_) == 1
    assert len(SparseRegressor(effort=3).fit(X, y).starts_) <= 3


def test_a_callback_sees_every_start_and_may_stop():
    X, y = hard()
    seen = []
    model = SparseRegressor(callback=seen.append).fit(X, y)
    assert sorted(seen, key=lambda one: one.score) == list(model.starts_)
    stopped = SparseRegressor(callback=lambda start: True).fit(X, y)
    assert len(stopped.starts_) == 1
    assert stopped.solution_.stop is Stop.CALLBACK


def test_verbose():
    out = io.StringIO()
    with redirect_stdout(out):
        model = SparseRegressor(verbose=True).fit(X, Y)
    lines = out.getvalue().splitlines()
    assert len(lines) == len(model.starts_)
    assert lines[0] == f"start: score {model.starts_[0].score:.6g}, 3 features"


# --- cross-validation ----------------------------------------------------------------------------


def test_charges_between_the_criteria():
    data = TabularData.of(X, Y, None, intercept=True, include=[], exclude=[])
    named = sorted([2.0, math.log(60), 2 * math.log(8)])
    between = [math.sqrt(a * b) for a, b in pairwise(named)]
    assert_close(charges_between(data), sorted([*named, *between]))


@pytest.mark.parametrize("one_standard_error", [True, False])
def test_a_charge_by_cross_validation(one_standard_error):
    """By one fit for each fold and charge, as anybody would do it."""
    X, y = table(n=60, m=12, k=5, noise=10.0, seed=5)
    weights = np.random.default_rng(0).integers(1, 3, 60)
    model = SparseRegressor("cv", cv=4, one_standard_error=one_standard_error, debias=True)
    model.fit(X, y, sample_weight=weights)
    errors = model.cv_errors_
    assert errors.by_fold.shape == (4, errors.charges.size)
    for name in ("aic", "ric"):
        for i, (train, test) in enumerate(KFold(4).split(X)):
            one = SparseRegressor(name, effort=4, debias=True)
            one.fit(X[train], y[train], sample_weight=weights[train])
            charge = {"aic": 2.0, "ric": 2 * math.log(12)}[name]
            at = int(np.argmin(np.abs(errors.charges - charge)))
            squares = np.square(y[test] - one.predict(X[test]))
            expected = np.average(squares, weights=weights[test])
            assert errors.by_fold[i, at] == pytest.approx(expected)
    level = errors.mean.min() + one_standard_error * errors.std[np.argmin(errors.mean)]
    assert errors.chosen == errors.charges[errors.mean <= level].max()
    assert model.charge_ == errors.chosen
    assert f"{errors.mean[errors.charges.tolist().index(errors.chosen)]:.5g} ±" in str(
        model.summary()
    )
    assert (np.diff(errors.sizes) <= 1e-9).all()


def test_folds_at_a_time_change_nothing():
    X, y = hard(2)
    one, both = (SparseRegressor("cv", cv=3, effort=2, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert_same(one, both, X, rtol=0)
    np.testing.assert_array_equal(one.cv_errors_.by_fold, both.cv_errors_.by_fold)


def test_a_feature_of_include_that_is_constant_in_a_fold():
    X, y = table()
    X[:, 5] = 0.0
    X[0, 5] = 1.0  # says nothing where row 0 is left out
    model = SparseRegressor("cv", include=[5]).fit(X, y)
    assert model.get_support()[5]
    assert np.isfinite(model.cv_errors_.by_fold).all()


def test_errors_of_held_out_rows():
    fold = TabularData.of(X[:40], Y[:40], None, intercept=True, include=[], exclude=[])
    held = TabularData.of(
        X[40:], Y[40:], np.arange(20.0) + 1, intercept=True, include=[], exclude=[]
    )
    coefs = np.array([[1.0, 0.0], [2.0, 0.5]])
    columns = np.array([1, 4])
    Z = X[40:][:, columns] - X[:40][:, columns].mean(axis=0)
    residuals = Y[40:, None] - Y[:40].mean() - Z @ coefs
    expected = np.average(residuals**2, axis=0, weights=np.arange(20.0) + 1)
    assert_close(held_out_errors(fold, fold, held, columns, coefs), expected)


# --- edges ---------------------------------------------------------------------------------------


def test_an_exact_fit():
    y = 1 + X[:, 1] - 2 * X[:, 4]
    model = SparseRegressor().fit(X, y)
    assert model.solution_.support.tolist() == [1, 4]
    assert model.noise_ == 0
    assert "σ = 0: the fit is exact, but for rounding" in str(model.summary())
    mean, std = model.predict(X, return_std=True)
    assert_close(mean, y)
    assert (std == 0).all()


def test_a_constant_target_and_constant_features():
    model = SparseRegressor().fit(X, np.full(60, 7.0))
    assert not model.get_support().any()
    assert model.predict(X[:2]).tolist() == [7.0, 7.0]
    assert "the target is constant" in str(model.summary())
    flat = SparseRegressor().fit(np.ones((9, 2)), np.arange(9.0))
    assert not flat.get_support().any()
    assert flat.predict([[1.0, 1.0]]) == pytest.approx(4.0)
    str(flat.summary()), flat.path_


@pytest.mark.parametrize("shape", [(2, 1), (3, 1), (3, 5), (4, 40)])
def test_tiny_tables(shape):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    model = SparseRegressor().fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    str(model.summary()), model.path_


def test_too_few_rows_for_what_is_included():
    with pytest.raises(InputError, match="can't tell the noise"):
        SparseRegressor(include=[0, 1, 2]).fit(X[:4], Y[:4])


@pytest.mark.parametrize(
    "words", [{"criterion": "loo"}, {"effort": 0}, {"sigma": 0.0}, {"random_state": "a"}]
)
def test_bad_words(words):
    with pytest.raises(ValueError, match=next(iter(words))):
        SparseRegressor(**words).fit(X, Y)


def test_single_precision_is_kept():
    model = SparseRegressor().fit(X.astype(np.float32), Y.astype(np.float32))
    assert model.coef_.dtype == model.covariance_.dtype == np.float32
    assert model.solution_.support.tolist() == TRUE
    assert_close(model.coef_, SparseRegressor().fit(X, Y).coef_, rtol=1e-3)


def test_frames_pickles_clones_and_json(tmp_path):
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)])
    model = SparseRegressor(include=["f5"]).fit(frame, pd.Series(Y, name="price"))
    assert model.get_feature_names_out().tolist() == ["f1", "f2", "f3", "f5"]
    assert "price explained by 4 of 8" in str(model.summary())
    assert isinstance(model.path_, pd.DataFrame)
    chosen = model.set_output(transform="pandas").transform(frame)
    assert list(chosen.columns) == ["f1", "f2", "f3", "f5"]
    again = pickle.loads(pickle.dumps(model))
    assert again.starts_ == model.starts_
    assert_same(again, model, frame)
    assert clone(model).get_params() == model.get_params()
    saved = LinearModel.from_estimator(model, target="price")
    saved.save(tmp_path / "model.json")
    loaded = LinearModel.load(tmp_path / "model.json")
    some = frame[list(loaded.features)].to_numpy()
    mean, std = model.predict(frame, return_std=True)
    assert_close(loaded.predict(some), mean)
    assert_close(loaded.predict(some, return_std=True)[1], std)


def test_predictions_scatter_as_told():
    """Nine of ten new observations are within 1.64 standard deviations."""
    X, y = table(n=400, noise=2.0, seed=3)
    model = SparseRegressor().fit(X[:200], y[:200])
    mean, std = model.predict(X[200:], return_std=True)
    assert np.mean(np.abs(y[200:] - mean) < 1.645 * std) == pytest.approx(0.9, abs=0.06)


def test_it_predicts_on_diabetes():
    """Rows left out, as well as the usual stepwise regression."""
    X, y = load_diabetes(return_X_y=True)
    errors = np.zeros(2)
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        for i, model in enumerate((SparseRegressor(), StepwiseRegressor(criterion="bic"))):
            errors[i] += np.sum((y[test] - model.fit(X[train], y[train]).predict(X[test])) ** 2)
    assert errors[0] < 1.01 * errors[1]
    assert 1 - errors[0] / np.sum((y - y.mean()) ** 2) > 0.47
