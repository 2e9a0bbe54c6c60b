"""Several targets that share their features: y of shape (n, q) in every linear estimator."""

import io
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_regressor_multioutput

from sparsewise import (
    BasisPursuitRegressor,
    PursuitRegressor,
    RelevanceVectorRegressor,
    SparseBayesRegressor,
    SparseRegressor,
    StepwiseRegressor,
    plan,
)
from sparsewise.errors import InputError
from sparsewise.model_selection.leave_one_out import leave_one_out
from sparsewise.model_selection.tabular_data import TabularData
from tests.estimators.conftest import (
    L1,
    SETTINGS,
    WITHOUT_FOLDS,
    assert_close,
    assert_same,
    make,
    over,
    quietly,
    table,
    told,
)

SEVERAL = [name for name in SETTINGS if name not in {*L1, "mp"}]
ONE = [*L1, "mp"]
COUNTED = [name for name in WITHOUT_FOLDS if name in SEVERAL]
UNPRICED = [
    name
    for name in SEVERAL
    # The evidence of q copies is q times that of one, but not the price of a feature.
    if not isinstance(SETTINGS[name], SparseBayesRegressor) or name == "no price"
]
TARGETS = ["yield", "temperature", "pressure"]
COUNTS = np.random.default_rng(5).integers(0, 4, 60)


def targets(X, y, seed=1):
    """Three targets whose scales differ by decades, of features that they share in part."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((2, len(y)))
    spread = X.std(axis=0)
    second = 1e3 * (X[:, 1] / spread[1] + 2 * X[:, 5] / spread[5] + 0.3 * noise[0]) + 5e4
    third = 1e-3 * (X[:, 2] / spread[2] - X[:, 1] / spread[1] + 0.2 * noise[1])
    return np.column_stack([y, second, third])


def problem_of_three(**how):
    X, y = table(**how)
    return X, targets(X, y)


def least_squares(X, Y, support, weights=None):
    """Coefficients, intercepts and residuals by scikit-learn."""
    if not len(support):
        level = np.average(Y, axis=0, weights=weights)
        return np.zeros((Y.shape[1], 0)), level, Y - level
    fit = LinearRegression().fit(X[:, support], Y, sample_weight=weights)
    return fit.coef_, fit.intercept_, Y - fit.predict(X[:, support])


def mean_square(R, Y):
    """‖r‖² as a mean over targets that count by their norms, in the units of the library."""
    totals = np.square(Y - Y.mean(axis=0)).sum(axis=0)
    return float((np.square(R).sum(axis=0) / totals).mean() * totals.mean())


def naive_forward(X, Y, most):
    """Supports of each size: every feature is tried, by least squares from scratch."""
    chosen = []
    for _ in range(most):
        left = [j for j in range(X.shape[1]) if j not in chosen]
        loss = {j: mean_square(least_squares(X, Y, [*chosen, j])[2], Y) for j in left}
        chosen.append(min(loss, key=loss.get))
        yield list(chosen)


# --- shapes --------------------------------------------------------------------------------------


@over(SEVERAL)
def test_shapes_of_scikit_learn(name):
    X, Y = problem_of_three()
    model = make(name).fit(X, Y)
    assert model.coef_.shape == (3, 8)
    assert model.coef_.flags.c_contiguous
    assert np.shape(model.intercept_) == (3,) or not model.fit_intercept
    assert model.predict(X).shape == (60, 3)
    assert model.get_support().sum() > 0
    np.testing.assert_array_equal(model.coef_.any(axis=0), model.get_support())
    if model.noise_ is not None and model.covariance_ is not None:
        mean, std = model.predict(X, return_std=True)
        assert mean.shape == std.shape == (60, 3)
        assert model.noise_.shape == (3,)
        assert model.coef_std_.shape == (3, 8)
    uniform = r2_score(Y, model.predict(X), multioutput="uniform_average")
    assert model.score(X, Y) == uniform
    assert uniform > 0.5 or not model.fit_intercept


@over(SEVERAL)
def test_a_column_is_one_target_to_the_digit(name):
    """As in scikit-learn's LinearRegression, with a row of coefficients and a column of targets."""
    X, y = table()
    one, column = make(name).fit(X, y), make(name).fit(X, y[:, None])
    assert column.coef_.shape == (1, 8)
    assert column.predict(X).shape == (60, 1)
    expected, found = told(one, X), told(column, X)
    assert expected.keys() == found.keys()
    for what, value in expected.items():
        if value is None:
            assert found[what] is None
            continue
        np.testing.assert_array_equal(np.ravel(found[what]), np.ravel(value), err_msg=what)
    if hasattr(one, "cv_errors_"):
        np.testing.assert_array_equal(one.cv_errors_.by_fold, column.cv_errors_.by_fold)


@over(UNPRICED)
def test_copies_are_one_target(name):
    X, y = table()
    one, copies = make(name).fit(X, y), make(name).fit(X, np.column_stack([y] * 3))
    expected, found = told(one, X), told(copies, X)
    for what, value in expected.items():
        if value is None or what in ("log_evidence_", "path log_evidence", "gamma_", "chance_"):
            continue
        like = np.asarray(value, float)
        if what in ("predictions", "deviations"):
            like = like[:, None]
        assert_close(
            found[what], np.broadcast_to(like, np.shape(found[what])), 1e-7, what, size=1.0
        )


@over(SEVERAL)
def test_units_of_targets_do_not_matter(name):
    X, Y = problem_of_three()
    scale = np.array([1e-3, 1.0, 1e6])
    if any(getattr(SETTINGS[name], what, None) for what in ("sigma", "residual", "delta")):
        scale[:] = 1.0  # these have units
    if name == "noise prior":
        scale[:] = 1.0
    one = make(name).fit(X, Y)
    other = make(name).fit(X, Y * scale)
    np.testing.assert_array_equal(one.get_support(), other.get_support())
    assert_close(one.coef_, other.coef_ / scale[:, None], 1e-7)
    assert_close(one.predict(X), other.predict(X) / scale, 1e-7)
    if one.coef_std_ is not None:
        assert_close(one.coef_std_, other.coef_std_ / scale[:, None], 1e-7)


def test_a_large_target_does_not_drown_the_others():
    """The feature of each is found, though their norms are a million to one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 20))
    Y = X[:, [3, 7]] * [1e6, 1.0] + rng.standard_normal((80, 2)) * [1e5, 0.1]
    for model in (StepwiseRegressor(), SparseRegressor(), SparseBayesRegressor()):
        assert model.fit(X, Y).get_support(indices=True).tolist() == [3, 7]


# --- naive references ----------------------------------------------------------------------------


def test_forward_selection():
    X, Y = problem_of_three()
    path = list(naive_forward(X, Y, 5))
    for size, support in enumerate(path, 1):
        model = StepwiseRegressor(sparsity=size).fit(X, Y)
        assert model.get_support(indices=True).tolist() == sorted(support)
        coef, intercept, R = least_squares(X, Y, sorted(support))
        assert_close(model.coef_[:, sorted(support)], coef)
        assert_close(model.intercept_, intercept)
        assert_close(model.path_["rss"][size], mean_square(R, Y))
        uniform = r2_score(Y, Y - R)
        assert_close(model.path_["r2"][size], uniform)
        assert f"mean R² = {uniform:.4f}" in model.summary().title


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_standard_errors(weighted, intercept):
    """Those of each target by itself, on the features that were chosen for all."""
    X, Y = problem_of_three()
    weights = COUNTS + 1.0 if weighted else None
    how = {"sparsity": 3, "fit_intercept": intercept}
    model = StepwiseRegressor(**how).fit(X, Y, sample_weight=weights)
    support = model.get_support(indices=True)
    new, _ = table(seed=9)
    _, std = model.predict(new, return_std=True)
    for t in range(3):
        one = StepwiseRegressor(**how, include=support).fit(X, Y[:, t], sample_weight=weights)
        assert_close(model.coef_[t], one.coef_)
        assert_close(model.noise_[t], one.noise_)
        assert_close(model.coef_std_[t], one.coef_std_)
        if intercept:
            assert_close(model.intercept_std_[t], one.intercept_std_)
        assert_close(std[:, t], one.predict(new, return_std=True)[1])
        share = np.square(one.noise_) / np.square(model.noise_).mean()
        assert_close(model.covariance_ * share, one.covariance_)


def test_posterior_of_given_prior_variances():
    """M-SBL: coefficients, their deviations and the evidence, from γ and σ alone."""
    X, Y = problem_of_three()
    model = SparseBayesRegressor().fit(X, Y)
    support, sigma = model.get_support(indices=True), model.sigma_
    Z = X[:, support] - X[:, support].mean(axis=0)
    typical = np.sqrt(np.square(sigma).mean())
    evidence = 0.0
    for t, y in enumerate((Y - Y.mean(axis=0)).T):
        gamma = model.gamma_[support] * (sigma[t] / typical) ** 2
        precision = Z.T @ Z / sigma[t] ** 2 + np.diag(1 / gamma)
        covariance = np.linalg.inv(precision)
        assert_close(model.coef_[t, support], covariance @ Z.T @ y / sigma[t] ** 2, 1e-7)
        assert_close(model.coef_std_[t, support], np.sqrt(np.diag(covariance)), 1e-7)
        # Of the 59 dimensions that the intercept leaves.
        C = sigma[t] ** 2 * np.eye(60) + (Z * gamma) @ Z.T
        log_det = np.linalg.slogdet(C)[1] - np.log(sigma[t] ** 2)
        fit = y @ np.linalg.solve(C, y)
        evidence -= 0.5 * (59 * np.log(2 * np.pi) + log_det + fit)
    assert_close(model.log_evidence_, evidence, 1e-7)


@over(["search", "search, bic", "search, included"])
def test_shrunk_coefficients(name):
    """Posterior means of a prior in units of each target's noise, which they share."""
    X, Y = problem_of_three()
    model, plain = make(name).fit(X, Y), make(name, debias=True).fit(X, Y)
    assert_close(model.noise_, plain.noise_)
    support = model.get_support(indices=True)
    Z = X[:, support] - X[:, support].mean(axis=0)
    norms = np.linalg.norm(Z, axis=0)
    damping = model.solution_.damping
    precision = Z.T @ Z + np.diag(damping * norms**2)
    covariance = np.linalg.inv(precision)
    assert_close(model.coef_[:, support].T, covariance @ Z.T @ (Y - Y.mean(axis=0)), 1e-7)
    std = np.sqrt(np.diag(covariance)) * model.noise_[:, None]
    assert_close(model.coef_std_[:, support], std, 1e-7)
    told_of = 1 - damping * norms**2 * np.diag(covariance)
    squares = np.square(model.coef_[:, support] * norms / model.noise_[:, None]).mean(axis=0)
    free = ~np.isin(support, model.include or [])
    assert_close(damping[free], (told_of / squares)[free], 1e-4)
    assert (damping[~free] == 0).all()


def test_cross_validation():
    """The errors of all sizes, by one fit for each fold and size; targets weighed as in the fit."""
    X, Y = problem_of_three(seed=2)
    model = StepwiseRegressor(criterion="cv", one_standard_error=False).fit(X, Y)
    totals = np.square(Y - Y.mean(axis=0)).sum(axis=0)
    for size in range(9):
        errors = []
        for train, test in KFold(5).split(X):
            fold = StepwiseRegressor(sparsity=size).fit(X[train], Y[train])
            squares = np.square(Y[test] - fold.predict(X[test])).mean(axis=0)
            errors.append((squares / totals).mean() * totals.mean())
        assert_close(model.cv_errors_.mean[size], np.mean(errors))
    assert model.cv_errors_.chosen == np.argmin(model.cv_errors_.mean)


def test_charges_by_cross_validation():
    X, Y = problem_of_three(seed=2)
    model = SparseRegressor("cv", cv=3).fit(X, Y)
    totals = np.square(Y - Y.mean(axis=0)).sum(axis=0)
    errors = model.cv_errors_
    for train, test, told_of in zip(
        *zip(*KFold(3).split(X), strict=True), errors.by_fold, strict=True
    ):
        data = TabularData.of(X[train], Y[train], None, intercept=True, include=[], exclude=[])
        found = model._search(data, errors.charges[-1], effort=4, seed=0)
        level = Y[train].mean(axis=0)
        expected = level + (X[test] - X[train].mean(axis=0)) @ found.coef
        squares = np.square(Y[test] - expected).mean(axis=0)
        assert_close(told_of[-1], (squares / totals).mean() * totals.mean())


@pytest.mark.filterwarnings("ignore:sample_weight holds numbers that are not whole")
@pytest.mark.parametrize("weights", [None, COUNTS + 0.5])
def test_leaving_rows_out(weights):
    """Each row predicted by a fit without one of its copies."""
    X, Y = problem_of_three(n=20, m=6, k=2)
    weights = None if weights is None else weights[:20]
    data = TabularData.of(X, Y, weights, intercept=True, include=[], exclude=[])
    model = StepwiseRegressor(sparsity=3).fit(X, Y, sample_weight=weights)
    path = model.solution_.path
    counts = np.ones(20) if weights is None else weights
    centred = Y - np.average(Y, axis=0, weights=counts)
    totals = counts @ np.square(centred)
    for error, met in zip(leave_one_out(data, path), [path.initial, *path.models()], strict=True):
        squares = np.zeros(3)
        for i in range(20):
            less = counts.copy()
            less[i] = max(counts[i] - 1, 0.0)
            if counts[i] < 1:  # less than one copy of it is there
                break
            coef, level, _ = least_squares(X, Y, met.support, less)
            squares += counts[i] * np.square(Y[i] - level - coef @ X[i, met.support])
        else:
            assert_close(error, (squares / totals).mean() * totals.mean() / counts.sum(), 1e-7)
    if weights is None:
        chosen = StepwiseRegressor(criterion="loo").fit(X, Y)
        assert_close(chosen.loo_, np.nanmin(chosen.path_["loo"]))


def test_criteria_are_means_over_targets():
    """AIC and BIC of all targets together, divided by their number."""
    X, Y = problem_of_three()
    model = StepwiseRegressor("both", criterion="aic").fit(X, Y)
    chosen, n = model.get_support(indices=True), 60

    def aic(support):
        R = least_squares(X, Y, support)[2]
        return n * np.log(mean_square(R, Y) / n) + 2 * (len(support) + 1)

    found = aic(chosen)
    assert_close(model.criteria_["aic"].value(model.solution_.residual_norm**2, chosen.size), found)
    others = [sorted({*chosen} ^ {j}) for j in range(8)]
    assert found <= min(map(aic, others))
    full = least_squares(X, Y, range(8))[2]
    variance = mean_square(full, Y) / (60 - 9)
    assert_close(StepwiseRegressor(criterion="cp").fit(X, Y).criteria_.variance, variance)
    delta = StepwiseRegressor(delta="bic").fit(X, Y).delta_
    assert_close(delta, np.sqrt(variance * np.log(60)))


def test_the_ric_is_that_of_the_search():
    X, Y = problem_of_three()
    model = SparseRegressor(debias=True).fit(X, Y)
    rss = model.solution_.residual_norm**2
    ric = model.criteria_["ric"].value(rss, model.get_support().sum())
    assert_close(ric, model.solution_.score)
    assert 2.0 < model.charge_ < 2 * np.log(8)
    path = StepwiseRegressor().fit(X, Y)
    assert path.get_support().tolist() == model.get_support().tolist()


# --- weights and storage -------------------------------------------------------------------------


@pytest.mark.parametrize("store", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
@over(COUNTED)
def test_counts_are_repetitions(name, store):
    X, Y = problem_of_three()
    repeated = make(name).fit(store(np.repeat(X, COUNTS, axis=0)), np.repeat(Y, COUNTS, axis=0))
    weighted = make(name).fit(store(X), Y, sample_weight=COUNTS)
    assert repeated.get_support().any()
    assert_same(weighted, repeated, X, rtol=1e-7)


@over(["forward", "loo", "cv", "rmp", "search", "omp"])
def test_sparse_tables(name):
    X, Y = problem_of_three()
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = make(name).fit(X, Y), make(name).fit(scipy.sparse.csr_array(X), Y)
    assert_same(sparse, dense, X)
    assert_close(sparse.predict(scipy.sparse.csc_array(X)), dense.predict(X))


@over(["forward", "rmp", "search", "omp"])
def test_single_precision(name):
    X, Y = problem_of_three()
    model = make(name).fit(X.astype(np.float32), Y.astype(np.float32))
    assert model.coef_.dtype == model.intercept_.dtype == model.noise_.dtype == np.float32
    assert model.predict(X.astype(np.float32)).dtype == np.float32
    assert_close(model.coef_, make(name).fit(X, Y).coef_, 1e-2)


def test_tall_and_wide_arrays_that_are_not_copied(monkeypatch):
    """Large ones are condensed, or centred tile by tile."""
    X, Y = problem_of_three(n=400)
    expected = {name: make(name).fit(X, Y) for name in ("forward", "loo", "cv", "rmp", "cp")}
    monkeypatch.setattr("sparsewise.problem.preprocessing.COPIED", 100)
    for name, model in expected.items():
        assert_same(make(name).fit(X, Y), model, X)
    monkeypatch.setattr(plan, "CONDENSE_LARGE_ARRAY", plan.CONDENSE_LARGE_ARRAY._replace(columns=1))
    for name, model in expected.items():
        assert_same(make(name).fit(X, Y), model, X)


@settings(max_examples=20)
@given(data=st.data())
def test_any_table(data):
    """Least squares on the choice, whatever the shape; constant targets, too."""
    n, q = data.draw(st.integers(9, 30)), data.draw(st.integers(1, 6))
    X, y = table(n, 6, seed=data.draw(st.integers(0, 99)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    Y = X @ rng.standard_normal((6, q)) * rng.integers(0, 2, (1, q)) + y[:, None] * 0.1
    Y[:, rng.integers(0, 2, q) == 0] = 3.25
    model = quietly(StepwiseRegressor(sparsity=data.draw(st.integers(0, 4))).fit, X, Y)
    coef, intercept, _ = least_squares(X, Y, model.get_support(indices=True))
    assert_close(model.coef_[:, model.get_support()], coef, 1e-7, size=1.0)
    assert_close(model.intercept_, intercept, 1e-7, size=1.0)
    assert np.isfinite(model.predict(X)).all()
    str(model.summary())


# --- names, pipelines, copies --------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_of_targets(frame):
    X, Y = problem_of_three()
    named = frame(dict(zip(TARGETS, Y.T, strict=True)))
    model = SparseRegressor().fit(X, named)
    assert model.target_names_.tolist() == TARGETS
    summary = model.summary()
    assert summary.header == ("feature", *TARGETS)
    assert summary.title.startswith("yield, temperature, pressure explained by")
    assert not hasattr(model.fit(X, Y), "target_names_")
    assert model.summary().header == ("feature", "y0", "y1", "y2")


@over(["forward", "rmp", "search", "omp"])
def test_in_pipelines_and_searches(name):
    X, Y = problem_of_three()
    model = make(name).fit(X, Y)
    pipeline = make_pipeline(StandardScaler(), make(name)).fit(X, Y)
    assert_close(pipeline.predict(X), model.predict(X), 1e-7)
    before = make_pipeline(make(name), LinearRegression()).fit(X, Y)
    assert before.score(X, Y) > 0.8
    scaled = TransformedTargetRegressor(make(name), transformer=StandardScaler()).fit(X, Y)
    assert_close(scaled.predict(X), model.predict(X), 1e-7)
    assert cross_val_score(make(name), X, Y, cv=3).min() > 0.5
    search = GridSearchCV(make(name), {"fit_intercept": [True, False]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.5
    chosen = SelectFromModel(make(name), threshold=1e-300).fit(X, Y).get_support()
    np.testing.assert_array_equal(chosen, model.get_support())


@over(SEVERAL)
def test_pickles(name):
    X, Y = problem_of_three()
    model = make(name).fit(X, Y)
    _ = model.path_  # which a pickle has if it was computed
    again = pickle.load(io.BytesIO(pickle.dumps(model)))
    assert_same(again, model, X, rtol=0)
    assert str(again.summary()) == str(model.summary())


def test_another_fit_forgets_the_shape():
    X, Y = problem_of_three()
    model = StepwiseRegressor().fit(X, pd.DataFrame(Y, columns=TARGETS))
    model.fit(X, Y[:, 0])
    assert model.coef_.shape == (8,)
    assert isinstance(model.intercept_, float)
    assert not hasattr(model, "target_names_")
    assert_same(model, StepwiseRegressor().fit(X, Y[:, 0]), X, rtol=0)


def test_lists_of_lists():
    X, Y = problem_of_three()
    model = StepwiseRegressor().fit(X.tolist(), Y.tolist())
    np.testing.assert_array_equal(model.coef_, StepwiseRegressor().fit(X, Y).coef_)


def test_predictions_of_dask_collections():
    da = pytest.importorskip("dask.array")
    X, Y = problem_of_three()
    model = SparseRegressor().fit(X, Y)
    lazy = model.predict(da.from_array(X, chunks=(16, 3)), return_std=True)
    for found, expected in zip(lazy, model.predict(X, return_std=True), strict=True):
        assert found.shape == (60, 3)
        np.testing.assert_allclose(found.compute(), expected)


# --- what is said --------------------------------------------------------------------------------


def test_summary():
    X, Y = problem_of_three()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = StepwiseRegressor(certify=True).fit(frame, pd.DataFrame(Y, columns=TARGETS))
    text = str(model.summary())
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"^targets +3, with the same features; each counts by its norm", text, re.M)
    shares = r2_score(Y, model.predict(frame), multioutput="raw_values")
    for name, share, noise in zip(TARGETS, shares, model.noise_, strict=True):
        assert f"{name}: {share:.4f}" in text
        assert f"{name}: {noise:.4g}" in text
    rows = {row[0]: row[1:] for row in model.summary().rows}
    for j, name in enumerate("abcdefgh"):
        if not model.coef_[:, j].any():
            assert name not in rows
            continue
        for t, cell in enumerate(rows[name]):
            value, std = map(float, cell.split(" ± "))
            assert abs(value - model.coef_[t, j]) <= 2e-4 * np.abs(model.coef_[t]).max()
            assert abs(std - model.coef_std_[t, j]) <= 2e-2 * model.coef_std_[t].max()
    html = model.summary()._repr_html_()
    assert all(f">{name}</th>" in html for name in TARGETS)


def test_many_targets_are_told_in_parts():
    X, y = table()
    Y = np.random.default_rng(0).standard_normal((60, 30)) + y[:, None]
    text = str(StepwiseRegressor().fit(X, Y).summary())
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("(intercept)") > 5
    assert "y29" in text
    assert "y7 and 22 more explained by" in text


def test_a_trace_like_that_of_r(capsys):
    X, Y = problem_of_three()
    names = [*TARGETS[:2], "a b"]
    StepwiseRegressor("both", verbose=True).fit(X, pd.DataFrame(Y, columns=names))
    assert "cbind(yield, temperature, `a b`) ~ 1" in capsys.readouterr().out


def test_exact_and_constant_targets():
    X, y = table(noise=0.0)
    Y = np.column_stack([y, 2 * y - 1, np.full(60, 7.0)])
    model = SparseRegressor().fit(X, Y)
    assert model.get_support(indices=True).tolist() == [1, 2, 3]
    assert model.noise_.tolist() == [0.0, 0.0, 0.0]
    assert "σ = 0: the fit is exact" in str(model.summary())
    assert_close(model.predict(X), Y)
    constant = StepwiseRegressor().fit(X, np.full((60, 2), 2.5))
    assert constant.intercept_.tolist() == [2.5, 2.5]
    assert not constant.coef_.any()
    assert "the target is constant" in str(constant.summary())


# --- what is refused -----------------------------------------------------------------------------


@over(ONE)
def test_algorithms_of_one_target(name):
    X, Y = problem_of_three()
    assert not get_tags(make(name)).target_tags.multi_output
    with pytest.raises(InputError, match=r"^y has 3 columns, but \w+ takes one target; fit them"):
        make(name).fit(X, Y)
    with pytest.warns(DataConversionWarning):
        column = make(name).fit(X, Y[:, :1])
    assert_same(column, make(name).fit(X, Y[:, 0]), X, rtol=0)


@over(SEVERAL)
def test_tags(name):
    assert get_tags(make(name)).target_tags.multi_output
    assert get_tags(make(name)).target_tags.single_output
    if name in ("cp", "delta of the bic"):  # 11 rows can't tell the noise of 10 features
        return
    quietly(check_regressor_multioutput, type(make(name)).__name__, make(name))


def test_relevance_vectors_are_of_one_target():
    X, Y = problem_of_three()
    with pytest.raises(InputError, match=r"^y has 3 columns, but RelevanceVector\w+ takes one"):
        RelevanceVectorRegressor().fit(X, Y)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda Y: Y[:, :0], "y has no columns, and so no targets"),
        (lambda Y: scipy.sparse.csr_array(Y), "y is a sparse matrix; pass y.toarray"),
        (lambda Y: Y[:, :, None], "dim 3"),
        (lambda Y: np.where(Y > 3, np.nan, Y), "NaN"),
        (lambda Y: Y[:-1], "inconsistent numbers of samples"),
        (lambda Y: Y * [1, 1e-170, 1], "y is too small in column 1: its square"),
        (lambda Y: Y * [1, 1, 1e170], "y is too large in column 2: its square"),
        (lambda Y: Y + 1j, "Complex data not supported"),
    ],
)
def test_bad_targets(bad, words):
    X, Y = problem_of_three()
    model = StepwiseRegressor()
    with pytest.raises(ValueError, match=words):
        model.fit(X, bad(Y))
    assert not hasattr(model, "coef_")


def test_what_refuses_is_the_record():
    """An algorithm says itself whether targets may share their columns."""
    assert get_tags(PursuitRegressor("omp")).target_tags.multi_output
    assert not get_tags(PursuitRegressor("mp")).target_tags.multi_output
    assert not get_tags(BasisPursuitRegressor()).target_tags.multi_output
    get_tags(PursuitRegressor("no such thing"))
