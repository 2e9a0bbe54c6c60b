"""Model selection: every number on a path, and every choice, against fits from scratch."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import comb
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, LeaveOneOut

from sparsewise import PursuitRegressor, SparseBayesRegressor, StepwiseRegressor, plan, stepwise
from sparsewise.errors import InputError
from tests.estimators.conftest import (
    BAYESIAN,
    BY_FOLDS,
    L1,
    PURSUITS,
    SEARCHED,
    SETTINGS,
    STEPWISE,
    STEPWISE_BY_FOLDS,
    WITHOUT_FOLDS,
    assert_close,
    make,
    over,
    quietly,
    table,
)

RESIDUAL = ["aic", "aicc", "bic", "ebic", "ric", "cp", "adjusted_r2"]
INTERCEPT = pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])


# --- the naive versions --------------------------------------------------------------------------


def fitted(X, y, columns, intercept=True, weights=None):
    """Least squares by lstsq: a function that predicts."""
    weights = np.ones(len(y)) if weights is None else weights
    root = np.sqrt(weights)[:, None]

    def design(rows):
        return np.column_stack([np.ones(len(rows))] * intercept + [rows[:, list(columns)]])

    beta = np.linalg.lstsq(root * design(X), root[:, 0] * y, rcond=None)[0]
    return lambda rows: design(rows) @ beta


def residual_sum(X, y, columns, intercept=True, weights=None):
    r = y - fitted(X, y, columns, intercept, weights)(X)
    return float(np.sum(r**2 if weights is None else weights * r**2))


def formulas(rss, k, n, m, intercept, total, variance):
    """Criteria of a model of k features, written down once more."""
    p = k + intercept
    likelihood = n * math.log(rss / n)
    q = p + 1
    return {
        "aic": likelihood + 2 * p,
        "aicc": likelihood + 2 * p + 2 * q * (q + 1) / (n - q - 1),
        "bic": likelihood + p * math.log(n),
        "ebic": likelihood + p * math.log(n) + 2 * math.log(comb(m, k, exact=True)),
        "ric": (n - p) * math.log(rss / total) + 2 * k * math.log(m),
        "cp": rss / variance - n + 2 * p,
        "adjusted_r2": 1 - (rss / (n - p)) / (total / (n - intercept)),
    }


def forward(X, y, most, intercept=True):
    """Best additions one after another."""
    chosen = [[]]
    while len(chosen) <= most:
        rest = [j for j in range(X.shape[1]) if j not in chosen[-1]]
        best = min(rest, key=lambda j: residual_sum(X, y, [*chosen[-1], j], intercept))
        chosen.append([*chosen[-1], best])
    return chosen


def backward(X, y, intercept=True):
    """Least deletions one after another."""
    chosen = [list(range(X.shape[1]))]
    while chosen[-1]:
        least = min(
            chosen[-1],
            key=lambda j: residual_sum(X, y, [i for i in chosen[-1] if i != j], intercept),
        )
        chosen.append([i for i in chosen[-1] if i != least])
    return chosen


def left_out(X, y, columns, intercept=True, weights=None):
    """The mean squared error of each row predicted by a fit without (one copy of) it."""
    weights = np.ones(len(y)) if weights is None else weights
    errors = []
    for i in range(len(y)):
        less = weights.astype(float)
        less[i] -= 1
        kept = less > 0
        predict = fitted(X[kept], y[kept], columns, intercept, less[kept])
        errors.append((y[i] - predict(X[[i]])[0]) ** 2)
    return float(np.average(errors, weights=weights))


def models_of(model):
    """The features of each model on a path, from the table of its steps."""
    path = model.path_
    support = list(model.solution_.path.start)
    models = [list(support)]
    for action, feature in zip(path["action"][1:], path["feature"][1:], strict=True):
        j = int(feature[1:])
        support = [i for i in support if i != j] if action == "drop" else [*support, j]
        models.append(list(support))
    return models


# --- numbers on the path -------------------------------------------------------------------------


@INTERCEPT
@over(STEPWISE)
def test_criteria_of_every_model_on_the_path(name, intercept):
    X, y = table(40, 6)
    model = make(name, fit_intercept=intercept).fit(X, y)
    path = model.path_
    total = float(np.sum((y - y.mean() * intercept) ** 2))
    barred = len(model.exclude or ())
    open_features = np.setdiff1d(np.arange(6), model.exclude or ())
    m = 6 - barred
    variance = residual_sum(X, y, open_features, intercept) / (40 - m - intercept)
    models = models_of(model)
    assert len(models) == len(path["step"])
    for i, columns in enumerate(models):
        rss = residual_sum(X, y, columns, intercept)
        assert path["size"][i] == len(columns)
        assert path["rss"][i] == pytest.approx(rss, rel=1e-9)
        assert path["r2"][i] == pytest.approx(1 - rss / total, abs=1e-12)
        expected = formulas(rss, len(columns), 40, m, intercept, total, variance)
        for criterion, value in expected.items():
            assert path[criterion][i] == pytest.approx(value, rel=1e-9, abs=1e-8)
        error = left_out(X, y, columns, intercept)
        assert path["loo"][i] == pytest.approx(error, rel=1e-8)


def test_criteria_with_weights():
    X, y = table(30, 5)
    weights = np.random.default_rng(0).integers(1, 4, 30)
    n = weights.sum()
    model = StepwiseRegressor().fit(X, y, sample_weight=weights)
    total = float(weights @ (y - np.average(y, weights=weights)) ** 2)
    variance = residual_sum(X, y, range(5), weights=weights) / (n - 6)
    for i, columns in enumerate(models_of(model)):
        rss = residual_sum(X, y, columns, weights=weights)
        for criterion, value in formulas(rss, i, n, 5, True, total, variance).items():
            assert model.path_[criterion][i] == pytest.approx(value, rel=1e-9, abs=1e-8)
        error = left_out(X, y, columns, weights=weights)
        assert model.path_["loo"][i] == pytest.approx(error, rel=1e-8)


def test_left_out_by_scikit_learn():
    X, y = table(25, 4)
    model = StepwiseRegressor(criterion="loo").fit(X, y)
    for columns, stated in zip(models_of(model)[1:], model.path_["loo"][1:], strict=True):
        errors = [
            (y[i] - LinearRegression().fit(X[kept][:, columns], y[kept]).predict(X[i][:, columns]))
            for kept, i in LeaveOneOut().split(X)
        ]
        assert stated == pytest.approx(np.mean(np.square(errors)), rel=1e-9)
    assert model.loo_ == min(model.path_["loo"])


def test_a_row_that_one_feature_is_there_for():
    """Without that row nothing tells the feature's coefficient: there is no error to speak of."""
    X, y = table(25, 4)
    X = np.column_stack([X, np.eye(25)[3] * 7.0])
    y = y + X[:, 4]
    model = StepwiseRegressor(criterion="loo").fit(X, y)
    with_it = [4 in columns for columns in models_of(model)]
    assert any(with_it)
    np.testing.assert_array_equal(np.isnan(model.path_["loo"]), with_it)
    assert 4 not in model.get_support(indices=True)


@over([name for name in L1 if name != "focuss"])
def test_criteria_of_shrunk_models(name):
    """The same formulas, degrees of freedom being the features; RSS that of the shrunk fit.

    (FOCUSS has another penalty, of which the degrees of freedom are not known.)
    """
    X, y = table(40, 6)
    model = make(name).fit(X, y)
    path, centred = model.path_, y - y.mean() * model.fit_intercept
    for i in range(len(path["step"])):
        expected = formulas(
            path["rss"][i], path["size"][i], 40, 6 - len(model.exclude or ()),
            model.fit_intercept, float(centred @ centred), 1.0,
        )  # fmt: skip
        for criterion in ("aic", "bic", "ebic", "ric", "adjusted_r2"):
            assert path[criterion][i] == pytest.approx(expected[criterion], rel=1e-9, abs=1e-8)


@over(BAYESIAN)
def test_evidence_on_the_path(name):
    X, y = table(40, 6)
    model = make(name).fit(X, y)
    path = model.path_
    assert "bic" not in path
    assert len(path["step"]) == 1 + len(model.solution_.path)
    assert path["log_evidence"][-1] == pytest.approx(model.log_evidence_, abs=0.05)


@over(PURSUITS)
def test_the_path_of_a_pursuit(name):
    X, y = table(40, 6)
    model = make(name).fit(X, y)
    path = model.path_
    assert path["step"].tolist() == list(range(len(path["size"])))
    assert ("bic" in path) == (model.algorithm != "mp")
    if model.algorithm == "omp":
        for columns, rss in zip(models_of(model), path["rss"], strict=True):
            assert rss == pytest.approx(residual_sum(X, y, columns, model.fit_intercept), rel=1e-9)


# --- choices -------------------------------------------------------------------------------------


@INTERCEPT
@pytest.mark.parametrize("criterion", [*RESIDUAL, "loo"])
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_least_cost_on_a_naive_path(direction, criterion, intercept, seed):
    X, y = table(30, 5, noise=3.0, seed=seed)
    models = forward(X, y, 5, intercept) if direction == "forward" else backward(X, y, intercept)
    total = float(np.sum((y - y.mean() * intercept) ** 2))
    variance = residual_sum(X, y, range(5), intercept) / (25 - intercept)

    def cost(columns):
        if criterion == "loo":
            return left_out(X, y, columns, intercept)
        rss = residual_sum(X, y, columns, intercept)
        value = formulas(rss, len(columns), 30, 5, intercept, total, variance)[criterion]
        return -value if criterion == "adjusted_r2" else value

    best = min(models, key=cost)
    model = StepwiseRegressor(direction, criterion=criterion, fit_intercept=intercept).fit(X, y)
    assert sorted(best) == model.get_support(indices=True).tolist()
    assert [sorted(columns) for columns in models] == list(map(sorted, models_of(model)))


@pytest.mark.parametrize("criterion", RESIDUAL)
@pytest.mark.parametrize("start", ["empty", "full"])
def test_both_ends_where_no_single_step_helps(criterion, start):
    X, y = table(30, 6, noise=4.0, seed=4)
    model = StepwiseRegressor("both", criterion=criterion, start=start).fit(X, y)
    total = float(np.sum((y - y.mean()) ** 2))
    variance = residual_sum(X, y, range(6)) / 23

    def cost(columns):
        rss = residual_sum(X, y, columns)
        value = formulas(rss, len(columns), 30, 6, True, total, variance)[criterion]
        return -value if criterion == "adjusted_r2" else value

    support = set(model.get_support(indices=True).tolist())
    here = cost(support)
    assert all(cost(support ^ {j}) > here for j in range(6))
    costs = [cost(columns) for columns in models_of(model)]
    assert all(b < a for a, b in itertools.pairwise(costs))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "folds", [5, KFold(4, shuffle=True, random_state=1)], ids=["5", "splitter"]
)
def test_folds_by_a_naive_loop(folds, intercept):
    X, y = table(50, 5, noise=2.0)
    model = StepwiseRegressor(criterion="cv", cv=folds, fit_intercept=intercept).fit(X, y)
    splits = list((KFold(folds) if folds == 5 else folds).split(X))
    expected = [
        [
            np.mean((y[test] - fitted(X[train], y[train], columns, intercept)(X[test])) ** 2)
            for columns in forward(X[train], y[train], 5, intercept)
        ]
        for train, test in splits
    ]
    errors = model.cv_errors_
    assert_close(errors.by_fold, expected, rtol=1e-9)
    assert_close(errors.mean, np.mean(expected, axis=0), rtol=1e-9)
    assert_close(errors.std, np.std(expected, axis=0, ddof=1) / math.sqrt(len(splits)), rtol=1e-9)
    best = int(np.argmin(errors.mean))
    within = errors.mean <= errors.mean[best] + errors.std[best]
    assert errors.chosen == int(np.argmax(within)) <= best
    whole = forward(X, y, errors.chosen, intercept)[-1]
    assert sorted(whole) == model.get_support(indices=True).tolist()
    assert_close(model.predict(X), fitted(X, y, whole, intercept)(X))
    np.testing.assert_array_equal(model.path_["cv"], errors.mean)
    np.testing.assert_array_equal(model.path_["cv_std"], errors.std)


def test_one_standard_error_makes_a_difference():
    X, y = table(40, 8, noise=6.0, seed=1)
    careful = StepwiseRegressor(criterion="cv").fit(X, y)
    plain = StepwiseRegressor(criterion="cv", one_standard_error=False).fit(X, y)
    np.testing.assert_array_equal(careful.cv_errors_.mean, plain.cv_errors_.mean)
    assert plain.cv_errors_.chosen == np.argmin(plain.cv_errors_.mean)
    assert careful.cv_errors_.chosen < plain.cv_errors_.chosen


def test_folds_going_both_ways_take_the_better_model_of_each_size():
    """Two features that help only together: forward finds them late, going back drops the rest."""
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 60))
    X = np.column_stack([a + b + 0.3 * c, a + 10 * c, b - 10 * c])
    y = a + b + 0.01 * rng.standard_normal(60)
    one_way = StepwiseRegressor(criterion="cv").fit(X, y)
    both = StepwiseRegressor("both", criterion="cv").fit(X, y)
    assert one_way.cv_errors_.mean[2] > 4 * both.cv_errors_.mean[2]
    assert both.get_support(indices=True).tolist() == [1, 2]


def test_folds_with_wishes():
    X, y = table(50, 6)
    model = StepwiseRegressor(criterion="cv", include=[0, 5], exclude=[1]).fit(X, y)
    assert model.cv_errors_.sizes.tolist() == [2, 3, 4, 5]
    support = model.get_support()
    assert support[[0, 5]].all()
    assert not support[1]


def test_a_feature_that_is_constant_in_some_fold():
    """It is included, but rows 0 to 9 alone tell of it: without these it says nothing."""
    X, y = table(50, 5)
    X[:, 0] = np.r_[np.arange(10.0), np.zeros(40)]
    model = StepwiseRegressor(criterion="cv", include=[0]).fit(X, y)
    assert model.get_support()[0]
    expected = fitted(X[10:], y[10:], [])(X[:10])
    assert model.cv_errors_.by_fold[0, 0] == pytest.approx(np.mean((y[:10] - expected) ** 2))


@over([*STEPWISE, *STEPWISE_BY_FOLDS])
def test_exact_fits_need_no_more_than_they_need(name):
    X, _ = table(60, 8)
    y = 2 + X[:, 2] - 3 * X[:, 5] + X[:, 7]
    if SETTINGS[name].fit_intercept and "delta" not in name:
        model = make(name).fit(X, y)
        assert model.get_support(indices=True).tolist() == [2, 5, 7]
        assert model.score(X, y) == pytest.approx(1.0)
        if name not in ("included",):
            assert model.noise_ == 0.0


@over([*STEPWISE, *STEPWISE_BY_FOLDS])
def test_steps_are_told(name, capsys):
    """A line for each step; adding and dropping by a criterion prints as R's step does."""
    X, y = table(40, 6)
    model = make(name, verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    if model.solution_.algorithm == "stepwise":
        assert lines[0].startswith("Start:")
        return
    path = model.path_
    assert len(lines) == len(path["step"])
    for i, line in enumerate(lines):
        words = line.split()
        assert words[0] == path["action"][i]
        assert i == 0 or words[1] == path["feature"][i]
        assert f"  {path['size'][i]}  rss = {path['rss'][i]:.6g} " in line
    make(name).fit(X, y)
    assert not capsys.readouterr().out


# --- difficult tables ----------------------------------------------------------------------------

NEED_ROWS = ("cp", "delta of the bic")  # more than features, to tell the noise
GREEDY = [name for name in STEPWISE if name not in (*NEED_ROWS, "included", "certified")]
MANY = [*GREEDY, *BY_FOLDS, *BAYESIAN, *SEARCHED, *L1, *PURSUITS]


@pytest.mark.parametrize("shape", [(30, 60), (20, 500)], ids=str)
@over(MANY)
def test_more_features_than_rows(name, shape):
    """Nobody fails, nobody takes more features than rows can tell, and predictions are finite."""
    X, y = table(*shape, noise=0.1)
    model = quietly(make(name).fit, X, y)
    n, support = shape[0], model.get_support()
    assert support.sum() <= n - model.fit_intercept
    assert np.isfinite(model.predict(X)).all()
    if isinstance(model, StepwiseRegressor) and not model.sparsity and model.delta is None:
        assert support.sum() <= (n - model.fit_intercept) // 2


def test_the_right_features_among_many():
    X, y = table(30, 60, noise=0.1)
    for model in (
        SparseBayesRegressor(),
        SparseBayesRegressor("fast_sbl"),
        # One way alone, features come in before the right ones that would not be there with them.
        StepwiseRegressor("both", criterion="cv"),
        StepwiseRegressor("both", sparsity=3),
        PursuitRegressor("srr", sparsity=3),
    ):
        assert model.fit(X, y).get_support(indices=True).tolist() == [1, 2, 3], model


@pytest.mark.parametrize("direction", ["forward", "backward", "both", "foba"])
def test_a_criterion_that_is_still_improving_says_so(direction):
    X, y = table(20, 60, noise=1.0)
    with pytest.warns(UserWarning, match="still improving at 9 features, .* 20 rows") as caught:
        model = StepwiseRegressor(direction, criterion="aic").fit(X, y)
    assert caught[0].filename == __file__
    assert 'use criterion="ric", criterion="cv", SparseBayesRegressor,' in str(caught[0].message)
    assert [str(one) for one in model.warnings_] == [str(caught[0].message)]
    # The RIC, by which a pursuit goes if it is not told otherwise, has an end of its own.
    for other in (StepwiseRegressor(direction), PursuitRegressor()):
        assert other.fit(X, y).warnings_ == ()


@pytest.mark.parametrize("direction", ["forward", "backward", "both", "foba"])
def test_as_many_features_as_asked_for(direction):
    """Even where a criterion would not be let so far."""
    X, y = table(20, 60)
    for k in (0, 1, 15, 19):
        model = StepwiseRegressor(direction, sparsity=k).fit(X, y)
        assert model.get_support().sum() == k
    algorithm = "srr" if direction in ("both", "foba") else direction
    assert PursuitRegressor(algorithm, sparsity=15).fit(X, y).get_support().sum() == 15
    X, y = table(40, 6)
    for k in range(9):
        model = StepwiseRegressor(direction, sparsity=k).fit(X, y)
        assert model.get_support().sum() == min(k, 6)


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_delta_is_a_threshold(direction):
    """No feature left could lower the squared residual by more than δ², and none raises it less."""
    X, y = table(40, 6, noise=2.0)
    for delta in (0.5, 3.0, 10.0, 40.0):
        model = StepwiseRegressor(direction, delta=delta).fit(X, y)
        support = set(model.get_support(indices=True).tolist())
        rss = residual_sum(X, y, support)
        if direction != "backward":
            gains = [rss - residual_sum(X, y, support | {j}) for j in set(range(6)) - support]
            assert max(gains, default=0) <= delta**2
        if direction != "forward":
            losses = [residual_sum(X, y, support - {j}) - rss for j in support]
            assert min(losses, default=np.inf) > delta**2
    everything = StepwiseRegressor(direction, delta=0.0).fit(X, y)
    assert everything.get_support().all()


DEPENDENT = [name for name in WITHOUT_FOLDS if "included" not in name] + [*BY_FOLDS]


@over(DEPENDENT)
def test_constant_and_dependent_features(name):
    """Two constants, a copy and a combination: they add nothing, and fit nothing else.

    Without an intercept a constant is a feature like any other.
    """
    X, y = table(60, 4)
    more = np.column_stack([np.full(60, 0.1), X, X[:, 1], X[:, 0] - 2 * X[:, 2], np.full(60, -1e7)])
    model = make(name).fit(more, y)
    plain = make(name).fit(X, y)
    if model.fit_intercept:
        assert not model.get_support()[[0, -1]].any()
    if name in ("forward", "backward", "both", "foba", "aic", "loo", "omp", "sparsity", "cv"):
        assert_close(model.predict(more), plain.predict(X))
        rank = np.linalg.matrix_rank(more[:, model.get_support()])
        assert rank == model.get_support().sum()
    assert np.isfinite(model.predict(more)).all()


@pytest.mark.parametrize("direction", ["backward", "both"])
def test_the_full_model_leaves_out_what_depends_on_features_before(direction):
    X, y = table(60, 4)
    more = np.column_stack([X, X[:, 1], X[:, 0] - 2 * X[:, 2], np.ones(60)])
    start = "full" if direction == "both" else "auto"
    model = StepwiseRegressor(direction, start=start, criterion="aic").fit(more, y)
    assert models_of(model)[0] == [0, 1, 2, 3]
    plain = StepwiseRegressor(direction, start=start, criterion="aic").fit(X, y)
    assert_close(model.coef_[:4], plain.coef_)
    # What is included comes first, and then it is the other that depends on it.
    model = StepwiseRegressor(direction, start=start, include=[4]).fit(more, y)
    assert set(models_of(model)[0]) == {0, 2, 3, 4}
    model = StepwiseRegressor(direction, start=start, exclude=[0]).fit(more, y)
    assert set(models_of(model)[0]) == {1, 2, 3, 5}


def test_cp_where_features_depend_on_each_other():
    """The noise is told by as many features as are independent."""
    X, y = table(60, 4)
    more = np.column_stack([X, X[:, 1]])
    model = StepwiseRegressor(criterion="cp").fit(more, y)
    variance = residual_sum(X, y, range(4)) / 55
    for i, columns in enumerate(models_of(model)):
        rss = residual_sum(more, y, columns)
        expected = rss / variance - 60 + 2 * (len(columns) + 1)
        assert model.path_["cp"][i] == pytest.approx(expected, rel=1e-9, abs=1e-8)


@over(SETTINGS)
def test_constant_target(name):
    X, _ = table()
    for value in (0.0, 0.1, -1e9):
        if value and not SETTINGS[name].fit_intercept:
            continue
        model = make(name, include=None).fit(X, np.full(60, value))
        assert not model.coef_.any()
        assert model.intercept_ == value
        np.testing.assert_array_equal(model.predict(X), value)
        assert model.summary()


@over([*SETTINGS])
def test_no_feature_is_worth_it(name):
    """A target that is orthogonal to all features: the empty model, where it may be chosen."""
    X, _ = table(200, 4, seed=1)
    y = 5.0 + 1e-3 * np.random.default_rng(0).standard_normal(200)
    y += 5.0 - fitted(X, y, range(4))(X)
    model = make(name, include=None).fit(X, y)
    empty = ["forward", "backward", "both", "foba", "ebic", "loo", "cv", "delta", "rmp", "fast_sbl"]
    if name in empty:
        assert not model.get_support().any()
        assert model.intercept_ == pytest.approx(y.mean(), rel=1e-14)
        assert model.noise_ == pytest.approx(y.std(ddof=1), rel=1e-9)
        assert_close(model.predict(X), np.full(200, y.mean()))
        std = model.predict(X[:3], return_std=True)[1]
        assert_close(std, np.full(3, y.std(ddof=1) * math.sqrt(1 + 1 / 200)))
        with pytest.warns(UserWarning, match="No features"):
            assert model.transform(X).shape == (200, 0)


@over([name for name in SETTINGS if "included" not in name])
def test_one_feature(name):
    X, y = table(40, 1, k=0)
    y = y + 5 * X[:, 0]
    model = make(name).fit(X, y)
    assert model.coef_.shape == (1,)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("n", [2, 3, 4])
@over([name for name in WITHOUT_FOLDS if name not in NEED_ROWS and "included" not in name])
def test_very_few_rows(name, n):
    X, y = table(n, 6)
    model = quietly(make(name).fit, X, y)
    assert np.isfinite(model.predict(X)).all()
    if model.noise_ is None:
        assert model.get_support().sum() >= n - model.fit_intercept
        if model.solution_.least_squares:
            with pytest.raises(ValueError, match="no more rows than coefficients"):
                model.predict(X, return_std=True)


# The empty model does not reach a residual that was given.
@over([name for name in SETTINGS if name not in ("residual", "l1, noise given")])
def test_everything_excluded(name):
    X, y = table(30, 4)
    model = make(name, include=None, exclude=range(4)).fit(X, y)
    assert not model.get_support().any()
    assert_close(model.predict(X), np.full(30, y.mean() if model.fit_intercept else 0.0))


@over(SETTINGS)
def test_everything_included(name):
    """What is left is least squares."""
    X, y = table(30, 4)
    words = {"include": range(4), "exclude": None}
    for stop in ("residual", "sparsity"):
        if stop in make(name).get_params() and name not in STEPWISE:
            words[stop] = None
    model = make(name, **words).fit(X, y)
    assert model.get_support().all()
    expected = fitted(X, y, range(4), model.fit_intercept)(X)
    rtol = 1e-3 if name in ("fista", "mp") else 1e-7
    assert_close(model.predict(X), expected, rtol=rtol)


def test_no_more_noise_than_can_be_told():
    """As many coefficients as rows fit anything: a residual of zero is no sign of no noise."""
    X, y = table(10, 30)
    model = StepwiseRegressor(sparsity=9).fit(X, y)
    assert model.noise_ is None
    assert model.covariance_ is None
    assert model.coef_std_ is None
    assert StepwiseRegressor(sparsity=8).fit(X, y).noise_ > 0
    with pytest.raises(InputError, match="cp needs more rows than features"):
        StepwiseRegressor(criterion="cp").fit(X, y)


# --- where to begin ------------------------------------------------------------------------------


def test_one_meaning_of_start():
    """None is all features, for the estimator as for the function; a list is these."""
    X, y = table()
    A, b = X - X.mean(0), y - y.mean()
    for given in (None, (), [1, 5], [5, 1, 1]):
        bare = stepwise(A, b, criterion="bic", start=given)
        model = StepwiseRegressor("both", start=given).fit(X, y)
        assert model.solution_.path.start == bare.path.start
    everything = tuple(range(8))
    assert StepwiseRegressor("both", start=None).fit(X, y).solution_.path.start == everything
    assert StepwiseRegressor("both", start="full").fit(X, y).solution_.path.start == everything
    assert StepwiseRegressor("both").fit(X, y).solution_.path.start == ()
    assert StepwiseRegressor("backward", start=None).fit(X, y).solution_.path.start == everything
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    by_name = StepwiseRegressor("both", start=["b", "f"], delta=1.0).fit(frame, y)
    assert by_name.solution_.path.start == (1, 5)


def test_a_start_may_name_what_depends():
    X, y = table()
    X = np.column_stack([X, X[:, 1] + X[:, 2], np.ones(60)])
    model = StepwiseRegressor("both", start=[1, 2, 8, 9, 4]).fit(X, y)
    assert model.solution_.path.start == (1, 2, 4)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"start": [-1]}, "start names column -1, but X has columns 0 to 7"),
        ({"start": ["a"]}, 'start names "a", but X has no column names'),
        ({"start": [1.5]}, "start must list names or column numbers, not 1.5"),
        ({"start": None, "direction": "forward"}, 'direction="forward" begins with the empty'),
        (
            {"start": [1], "direction": "backward"},
            'begins with the full model; with start use "both"',
        ),
        ({"start": "full", "criterion": "cv"}, 'start has no say .* not by criterion="cv"'),
        ({"start": [], "sparsity": 2}, "start has no say .* not by sparsity"),
    ],
)
def test_starts_that_can_not_be(words, told):
    with pytest.raises(InputError, match=told):
        StepwiseRegressor(**{"direction": "both", **words}).fit(*table())


@pytest.mark.parametrize("intercept", [True, False])
def test_cp_is_told_on_every_path(intercept, monkeypatch):
    """At the fit if that is quick, otherwise when the path is read."""
    X, y = table()
    words = {"fit_intercept": intercept, "direction": "both"}
    quick = StepwiseRegressor(**words).fit(X, y)
    monkeypatch.setattr(plan, "QUICK", 0)
    later = StepwiseRegressor(**words).fit(X, y)
    assert later.criteria_.variance is None
    variance = residual_sum(X, y, range(8), intercept) / (60 - 8 - intercept)
    for model in (quick, later, pickle.loads(pickle.dumps(quick))):
        for i, columns in enumerate(models_of(model)):
            rss = residual_sum(X, y, columns, intercept)
            expected = rss / variance - 60 + 2 * (len(columns) + intercept)
            assert model.path_["cp"][i] == pytest.approx(expected, rel=1e-9)
