"""Estimators that take a ridge, against the normal equations of centred, unit norm columns."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from sparsewise import (
    Condensed,
    InputError,
    PursuitRegressor,
    SparseRegressor,
    StepwiseRegressor,
    forward,
)
from sparsewise.estimators import for_algorithm
from tests.estimators.conftest import RIDGE, assert_close, assert_same, over, table

RIDGES = [1e-3, 0.3, 5.0]
DIRECTIONS = ["forward", "backward", "both", "foba"]


class RidgeFit:
    """Ridge regression on some columns, from the normal equations; weights are repetitions."""

    def __init__(self, X, y, support, ridge, intercept=True):
        A = X[:, support]
        self.means, self.level = (A.mean(0), y.mean(0)) if intercept else (0 * A[0], 0 * y[0])
        A, y = A - self.means, y - self.level
        norms = np.linalg.norm(A, axis=0)
        U = A / norms
        M = U.T @ U + ridge * np.eye(len(support))
        hat = U @ np.linalg.solve(M, U.T)
        z = np.linalg.solve(M, U.T @ y)
        r = y - U @ z
        self.coef = (z.T / norms).T
        self.loss, self.df = np.sum(r**2, axis=0), np.trace(hat)
        self.objective = self.loss + ridge * np.sum(z**2, axis=0)
        self.variance = self.loss / (len(y) - self.df - intercept)
        inverse = np.linalg.inv(M)
        self.spread = inverse @ U.T @ U @ inverse / np.outer(norms, norms)
        left = 1 - np.diag(hat) - intercept / len(y)
        self.loo = np.mean((r.T / left) ** 2)

    @property
    def intercept(self):
        return self.level - self.means @ self.coef


def check(model, X, y, ridge, intercept=True):
    """Coefficients, noise, standard errors and degrees of freedom are those of the definition."""
    support = np.flatnonzero(model.get_support())
    fit = RidgeFit(X, y, support, ridge, intercept)
    assert_close(model.coef_[..., support], fit.coef.T, 1e-10)
    assert_close(model.intercept_, fit.intercept, 1e-10)
    assert model.solution_.df == pytest.approx(fit.df, rel=1e-10)
    assert_close(model.noise_, np.sqrt(fit.variance), 1e-9)
    assert_close(model.covariance_, np.mean(fit.variance) * fit.spread, 1e-9)
    assert_close(
        model.coef_std_[..., support].T ** 2,
        np.multiply.outer(np.diag(fit.spread), fit.variance),
        1e-9,
    )
    return fit


def tall_path(X, y, ridge, order, cost):
    """The number of features of least cost among the first of these."""
    costs = [cost(RidgeFit(X, y, list(order[:k]), ridge)) for k in range(1, len(order) + 1)]
    return 1 + int(np.argmin(costs))


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("criterion", ["ric", "aic", "cp", "loo", "cv"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_stepwise_is_the_ridge_fit_of_its_choice(direction, criterion, ridge):
    X, y = table(noise=3.0)
    model = StepwiseRegressor(direction, criterion=criterion, ridge=ridge).fit(X, y)
    fit = check(model, X, y, ridge)
    if criterion == "loo":
        assert model.loo_ == pytest.approx(fit.loo, rel=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        StepwiseRegressor(fit_intercept=False),
        StepwiseRegressor(sparsity=2),
        StepwiseRegressor("both", delta=2.0),
        StepwiseRegressor("both", sparsity=3),
        StepwiseRegressor(include=[5], exclude=[2]),
        SparseRegressor(),
        SparseRegressor("cv", cv=3, one_standard_error=False),
        PursuitRegressor("forward", sparsity=2),
        PursuitRegressor("srr"),
    ],
    ids=str,
)
@pytest.mark.parametrize("ridge", RIDGES)
def test_other_ways_to_choose(model, ridge):
    X, y = table()
    model = clone(model).set_params(ridge=ridge).fit(X, y)
    check(model, X, y, ridge, model.fit_intercept)


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_criteria_count_the_trace(criterion):
    X, y = table(noise=6.0)
    model, n = StepwiseRegressor(criterion=criterion, ridge=0.4).fit(X, y), len(y)
    price = {"aic": 2.0, "bic": np.log(n)}[criterion]
    path = forward(X - X.mean(0), y - y.mean(), sparsity=8, ridge=0.4).path
    order = [step.column for step in path]
    size = tall_path(X, y, 0.4, order, lambda fit: n * np.log(fit.loss) + price * fit.df)
    assert set(np.flatnonzero(model.get_support())) == set(order[:size])
    path, shift = model.path_, None
    for k in range(1, 9):
        fit = RidgeFit(X, y, order[:k], 0.4)
        assert path["rss"][k] == pytest.approx(fit.loss)
        value = n * np.log(fit.loss) + price * fit.df
        shift = path[criterion][k] - value if shift is None else shift
        assert path[criterion][k] == pytest.approx(value + shift)
        assert path["loo"][k] == pytest.approx(fit.loo)


def test_folds_have_the_same_ridge():
    X, y = table(noise=3.0)
    folds = KFold(4)
    model = StepwiseRegressor(criterion="cv", cv=folds, ridge=0.2).fit(X, y)
    errors = []
    for train, test in folds.split(X):
        A, b = X[train], y[train]
        path = forward(A - A.mean(0), b - b.mean(), sparsity=3, ridge=0.2).path
        fit = RidgeFit(A, b, order := [step.column for step in path], 0.2)
        errors.append(np.mean((y[test] - fit.intercept - X[test][:, order] @ fit.coef) ** 2))
    assert model.cv_errors_.mean[3] == pytest.approx(np.mean(errors))


def test_tall_folds_are_condensed_with_the_ridge():
    X, y = table(3000, 8, noise=3.0)
    folds = KFold(3)
    condensed = StepwiseRegressor(criterion="cv", cv=folds, ridge=0.2).fit(X, y)
    by_lists = list(folds.split(X))
    twice = [*by_lists, by_lists[0]]  # which keeps the rows as they are
    plain = StepwiseRegressor(criterion="cv", cv=twice, ridge=0.2).fit(X, y)
    assert_close(condensed.cv_errors_.by_fold, plain.cv_errors_.by_fold[:3])


def test_the_score_of_a_search_is_that_of_the_objective():
    X, y = table(noise=3.0)
    model = SparseRegressor(ridge=0.2).fit(X, y)
    scores, sizes = model.path_["score"], model.path_["size"]
    fit = RidgeFit(X, y, np.flatnonzero(model.get_support()), 0.2)
    share = fit.objective / np.sum((y - y.mean()) ** 2)
    expected = model.solution_.goal.cost(share, model.get_support().sum())
    assert scores[-1] == pytest.approx(expected)
    assert model.solution_.score == pytest.approx(expected)
    assert sizes[-1] == model.get_support().sum()
    assert model.solution_.path.dfs[-1] == pytest.approx(fit.df)


def test_a_noise_that_is_given():
    X, y = table()
    model = SparseRegressor(ridge=0.3, sigma=2.0).fit(X, y)
    fit = RidgeFit(X, y, np.flatnonzero(model.get_support()), 0.3)
    assert model.sigma_ == 2.0
    assert_close(model.covariance_, 4.0 * fit.spread)


@over(RIDGE)
def test_weights_are_repetitions(name):
    X, y = table(noise=2.0)
    counts = np.random.default_rng(5).integers(0, 4, len(y))
    twice = np.repeat(X, counts, axis=0), np.repeat(y, counts)
    weighted = clone(RIDGE[name]).fit(X, y, sample_weight=counts)
    assert_same(weighted, clone(RIDGE[name]).fit(*twice), X)
    check(weighted, *twice, weighted.ridge)


@pytest.mark.parametrize("kind", [StepwiseRegressor, SparseRegressor])
def test_several_targets(kind):
    X, y = table()
    Y = np.stack([y, X[:, 2] - 0.1 * y, np.sin(y)], axis=1)
    model = kind(ridge=0.3).fit(X, Y)
    check(model, X, Y, 0.3)


@pytest.mark.parametrize("kind", [StepwiseRegressor, SparseRegressor])
def test_condensed_rows_and_rows_in_parts(kind):
    X, y = table(noise=2.0)
    at_once = kind(ridge=0.3).fit(X, y)
    condensed = kind(ridge=0.3).fit(Condensed().update(X, y))
    parts = kind(ridge=0.3).partial_fit(X[:25], y[:25]).partial_fit(X[25:], y[25:])
    for other in (condensed, parts):
        check(other, X, y, 0.3)
        np.testing.assert_array_equal(other.get_support(), at_once.get_support())


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_no_more_features_than_allowed(direction):
    """Many features may have few degrees of freedom."""
    X, y = table(60, 20, k=15, noise=0.1)
    words = {"criterion": "aic", "ridge": 20.0, "max_features": 4}
    model = StepwiseRegressor(direction, **words).fit(X, y)
    assert model.get_support().sum() == 4
    assert model.solution_.df < 2


def test_a_start_with_more_features_than_allowed():
    X, y = table(60, 20, k=15, noise=0.1)
    words = {"criterion": "aic", "ridge": 20.0, "max_features": 4, "start": list(range(9))}
    model = StepwiseRegressor("both", **words).fit(X, y)
    assert model.get_support().sum() <= 4


def test_dependent_features_can_be_told_apart():
    X, y = table()
    X = np.column_stack([X, X[:, 2]])
    model = StepwiseRegressor("backward", include=[2, 8], ridge=0.3).fit(X, y)
    check(model, X, y, 0.3)
    assert model.coef_[2] == pytest.approx(model.coef_[8])
    with pytest.raises(InputError, match="can't be told"):
        StepwiseRegressor(include=[2, 8]).fit(X, y)


@pytest.mark.parametrize("model", [StepwiseRegressor("both"), SparseRegressor()], ids=str)
def test_no_ridge_is_least_squares(model):
    X, y = table()
    plain, zero = clone(model).fit(X, y), clone(model).set_params(ridge=0).fit(X, y)
    assert_same(zero, plain, X, rtol=0)


def test_certified_at_this_ridge():
    X, y = table()
    model = StepwiseRegressor(ridge=0.3, certify=True).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert "at this ridge" in str(model.summary())


def test_the_summary_tells_the_ridge():
    X, y = table()
    model = StepwiseRegressor(ridge=0.3).fit(X, y)
    text = " ".join(str(model.summary()).split())
    assert f"0.3 ‖z‖², z those of features of norm 1: {model.solution_.df:.4g} degrees" in text
    assert "of the ridge fit, without its bias" in text
    assert "ridge fit" not in str(StepwiseRegressor().fit(X, y).summary())


@pytest.mark.parametrize("kind", [StepwiseRegressor, SparseRegressor, PursuitRegressor])
def test_copies(kind):
    X, y = table()
    model = kind(ridge=0.3) if kind is not PursuitRegressor else kind("srr", ridge=0.3)
    assert clone(model).ridge == 0.3
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)


def test_by_algorithm():
    for name in ("forward", "stepwise", "solve", "srr"):
        assert for_algorithm(name, ridge=1.0).ridge == 1.0
    with pytest.raises(InputError, match="rmp does not take ridge"):
        for_algorithm("rmp", ridge=1.0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (StepwiseRegressor(ridge=-1.0), "ridge"),
        (StepwiseRegressor(ridge=1e300), "ridge must be at least 0 and at most"),
        (SparseRegressor(ridge=1.0, debias=True), "ridge shrinks .* debias=True"),
        (PursuitRegressor("omp", ridge=1.0), "omp does not take ridge"),
    ],
    ids=str,
)
def test_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*table())
