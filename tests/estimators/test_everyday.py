"""Three lines on a table: what is found, how sure it is, and that units don't matter."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, LinearRegression, OrthogonalMatchingPursuit
from sklearn.model_selection import cross_val_score

import sparsewise
from sparsewise import (
    BasisPursuitRegressor,
    PursuitRegressor,
    SparseBayesRegressor,
    StepwiseRegressor,
)
from sparsewise.criteria.information import Criteria
from tests.estimators.conftest import (
    BAYESIAN,
    BY_FOLDS,
    L1,
    SETTINGS,
    STEPWISE,
    assert_close,
    assert_same,
    make,
    over,
    table,
)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


# --- diabetes ------------------------------------------------------------------------------------

USUAL = {"bmi", "bp", "s5"}  # what every published analysis of these data finds


# Those are in the units of another table.
@over([name for name in SETTINGS if "residual" not in name and name != "l1, noise given"])
def test_three_lines(name, diabetes):
    X, y = diabetes
    model = make(name).fit(X, y)
    found = set(model.get_feature_names_out())
    if "delta" not in name and model.fit_intercept:
        assert found >= {"bmi", "s5"}
        assert 0.4 < model.score(X, y) < 0.52
    assert str(model.summary())


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (StepwiseRegressor(), (5, 7)),
        (StepwiseRegressor("both", criterion="aic"), (5, 8)),
        (StepwiseRegressor(criterion="cv"), (2, 6)),
        (SparseBayesRegressor(), (4, 6)),
        (BasisPursuitRegressor(), (4, 8)),
        (BasisPursuitRegressor("ard"), (3, 6)),
        (PursuitRegressor(), (4, 7)),
    ],
    ids=str,
)
def test_diabetes(model, size, diabetes):
    X, y = diabetes
    model.fit(X, y)
    found = set(model.get_feature_names_out())
    assert found >= USUAL - ({"bp"} if model.get_params().get("criterion") == "cv" else set())
    assert size[0] <= len(found) <= size[1]
    assert not found & {"s4", "age"}
    everything = cross_val_score(LinearRegression(), X, y, cv=5).mean()
    # Fewer features cost a little here: all ten have some part in it.
    assert cross_val_score(model, X, y, cv=5).mean() > everything - 0.05


def test_diabetes_by_its_paper(diabetes):
    """The order in which the lasso finds features (Efron et al. 2004, section 2)."""
    X, y = diabetes
    path = BasisPursuitRegressor(penalty=0.0).fit(X, y).path_
    first = path.loc[path["action"] == "add", "feature"].tolist()[:6]
    assert first == ["bmi", "s5", "bp", "s3", "sex", "s6"]


def test_the_full_and_the_empty_model(diabetes):
    X, y = diabetes
    ols = LinearRegression().fit(X, y)
    model = StepwiseRegressor(include=range(10)).fit(X, y)
    assert_close(model.coef_, ols.coef_)
    assert model.intercept_ == pytest.approx(ols.intercept_)
    model = StepwiseRegressor(sparsity=0).fit(X, y)
    assert model.intercept_ == pytest.approx(y.mean())


def test_agrees_with_scikit_learn(diabetes):
    X, y = diabetes
    omp = OrthogonalMatchingPursuit(n_nonzero_coefs=4).fit(X, y)
    assert_close(PursuitRegressor(sparsity=4).fit(X, y).coef_, omp.coef_)
    lasso = Lasso(alpha=0.3, tol=1e-12, max_iter=100_000).fit(X, y)
    ours = BasisPursuitRegressor(penalty=0.3 * len(y), standardize=False).fit(X, y)
    assert_close(ours.coef_, lasso.coef_, rtol=1e-6)
    assert ours.intercept_ == pytest.approx(lasso.intercept_)


# --- standard errors -----------------------------------------------------------------------------

LEAST_SQUARES = [
    name
    for name in SETTINGS
    if name not in BAYESIAN and name != "mp" and SETTINGS[name].get_params().get("debias", True)
]


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@over(LEAST_SQUARES)
def test_standard_errors_by_the_textbook(name, weighted):
    """σ² (XᵀWX)⁻¹ with the constant as one more column."""
    X, y = table(60, 6)
    weights = np.random.default_rng(0).integers(1, 4, 60) if weighted else np.ones(60)
    model = make(name).fit(X, y, sample_weight=weights)
    chosen = model.get_support()
    D = np.column_stack([np.ones(60)] * model.fit_intercept + [X[:, chosen]])
    inverse = np.linalg.inv(D.T @ (weights[:, None] * D))
    beta = inverse @ D.T @ (weights * y)
    left = weights.sum() - D.shape[1]
    noise = math.sqrt(weights @ (y - D @ beta) ** 2 / left)
    covariance = noise**2 * inverse
    first = int(model.fit_intercept)
    assert model.noise_ == pytest.approx(noise, rel=1e-9)
    assert_close(model.coef_[chosen], beta[first:])
    assert_close(model.covariance_, covariance[first:, first:])
    assert_close(model.coef_std_[chosen], np.sqrt(np.diag(covariance)[first:]))
    assert not model.coef_std_[~chosen].any()
    if first:
        assert model.intercept_ == pytest.approx(beta[0], rel=1e-8)
        assert model.intercept_std_ == pytest.approx(math.sqrt(covariance[0, 0]), rel=1e-8)
    else:
        assert model.intercept_ == 0.0
        assert model.intercept_std_ is None
    X_new, _ = table(20, 6, seed=9)
    D_new = np.column_stack([np.ones(20)] * first + [X_new[:, chosen]])
    mean, std = model.predict(X_new, return_std=True)
    assert_close(mean, D_new @ beta)
    assert_close(std, np.sqrt(noise**2 + np.einsum("ij,jk,ik->i", D_new, covariance, D_new)))


@over([name for name in L1 if "debiased" not in name] + ["mp"])
def test_shrunk_coefficients_have_no_standard_errors(name):
    X, y = table()
    model = make(name).fit(X, y)
    assert model.covariance_ is model.coef_std_ is model.intercept_std_ is None
    with pytest.raises(ValueError, match="shrunk"):
        model.predict(X, return_std=True)


@over(BAYESIAN)
def test_the_bayesian_model_is_that_of_the_function(name):
    """On centred data, one degree of freedom less: all that the function says."""
    X, y = table(60, 6)
    model = make(name).fit(X, y)
    A, b = (X - X.mean(0), y - y.mean()) if model.fit_intercept else (X, y)
    design = sparsewise.design.DenseDesign(A, rows=60 - model.fit_intercept)
    m = 6 - len(model.exclude or ())
    words = {
        "sigma": model.sigma,
        "price": math.log(m) if model.price is None else model.price,
        "noise_prior": model.noise_prior,
        "include": model.include or [],
        "exclude": model.exclude or [],
    }
    if model.updates is not None:
        words["updates"] = model.updates
    bare = sparsewise.ALGORITHMS[model.algorithm](design, b, **words)
    assert bare.support.tolist() == model.get_support(indices=True).tolist()
    assert_close(model.coef_, bare.coef)
    assert_close(model.sigma_, bare.sigma)
    assert_close(model.gamma_, bare.gamma)
    assert_close(model.covariance_, bare.covariance)
    assert_close(model.coef_std_, bare.std)
    assert model.noise_ == model.sigma_
    assert_close(model.log_evidence_, bare.log_evidence)


@over(["rmp", "fast_sbl", "bayes, no intercept", "bayes, included", "noise prior"])
def test_posterior_and_evidence_by_the_textbook(name):
    """With the constant as one more column of infinite prior variance."""
    X, y = table(50, 5)
    model = make(name).fit(X, y)
    chosen = model.get_support()
    first = int(model.fit_intercept)
    D = np.column_stack([np.ones(50)] * first + [X[:, chosen]])
    with np.errstate(divide="ignore"):
        prior = np.append(np.zeros(first), 1 / model.gamma_[chosen])
    covariance = np.linalg.inv(D.T @ D / model.sigma_**2 + np.diag(prior))
    mean = covariance @ D.T @ y / model.sigma_**2
    assert_close(model.coef_[chosen], mean[first:], rtol=1e-7)
    assert_close(model.covariance_, covariance[first:, first:], rtol=1e-7)
    if first:
        assert model.intercept_ == pytest.approx(mean[0], rel=1e-7)
        assert model.intercept_std_ == pytest.approx(math.sqrt(covariance[0, 0]), rel=1e-7)
    assert np.isinf(model.gamma_[[j % 5 for j in model.include or ()]]).all()
    # The evidence is that of what is orthogonal to the columns with a flat prior.
    flat = np.column_stack([np.ones(50)] * first + [X[:, np.isinf(model.gamma_)]])
    Q = np.linalg.qr(flat, mode="complete")[0][:, flat.shape[1] :]
    proper = np.where(np.isinf(model.gamma_), 0, model.gamma_)
    C = model.sigma_**2 * np.eye(Q.shape[1]) + (Q.T @ X * proper) @ (Q.T @ X).T
    z = Q.T @ y
    quadratic = z @ np.linalg.solve(C, z)
    log_det = np.linalg.slogdet(2 * math.pi * C)[1]
    assert model.log_evidence_ == pytest.approx(-0.5 * (log_det + quadratic), rel=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        StepwiseRegressor("both"),
        StepwiseRegressor(criterion="cv"),
        SparseBayesRegressor(),
        SparseBayesRegressor("fast_sbl"),
        BasisPursuitRegressor("ard", debias=True),
        PursuitRegressor("omp"),
    ],
    ids=str,
)
def test_coverage(model):
    """About 95 % of new observations are within two standard deviations.

    Each of 20 samples of 80 rows is off by its own estimate of the noise, of relative error
    1/√160 = 8 %, or 0.9 % in coverage; 20 of these, and 200 new rows each (0.3 % together), leave
    0.4 % of uncertainty. The normal quantile in place of Student's, and a selection made on the
    same data, are worth one percent on the low side.
    """
    inside = []
    for seed in range(20):
        X, y = table(280, 8, seed=seed)
        mean, std = model.fit(X[:80], y[:80]).predict(X[80:], return_std=True)
        inside.append(np.mean(np.abs(y[80:] - mean) <= 1.96 * std))
    assert 0.93 <= np.mean(inside) <= 0.96


def test_coverage_of_coefficients():
    """Standard errors of features that were given are right: no selection, no proviso."""
    inside = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 3)) + 5
        y = 1.0 + X @ [1.0, 2.0, 0.0] + rng.standard_normal(40)
        model = StepwiseRegressor(include=range(3)).fit(X, y)
        inside.append(np.abs(model.coef_ - [1, 2, 0]) <= 2.028 * model.coef_std_)  # t, 36 left
        inside[-1] = np.append(
            inside[-1], abs(model.intercept_ - 1) <= 2.028 * model.intercept_std_
        )
    # A binomial share of 200 has a standard deviation of 1.5 %.
    assert np.all(np.abs(np.mean(inside, axis=0) - 0.95) < 0.05)


# --- units ---------------------------------------------------------------------------------------

EXCEPT_UNITS = [name for name in SETTINGS if name != "units as they are"]


def in_units(name, factor):
    """The settings whose parameters are in the units of y, in other units."""
    model = make(name)
    words = model.get_params()
    for word in ("delta", "sigma", "residual"):
        if words.get(word) not in (None, "bic"):
            words[word] *= factor
    # λ of ½‖r‖² + λ Σ‖x_j‖|β_j| goes with y, too.
    if words.get("penalty") is not None:
        words["penalty"] *= factor
    if words.get("noise_prior") is not None:
        words["noise_prior"] = (words["noise_prior"][0], words["noise_prior"][1] * factor**2)
    return model.set_params(**words)


@over(EXCEPT_UNITS)
def test_units_of_features(name):
    X, y = table()
    scale = 10.0 ** np.linspace(-9, 9, 8) * np.array([1, -1, 1, -1, 1, -1, 1, 1])
    one, other = make(name).fit(X, y), make(name).fit(X * scale, y)
    np.testing.assert_array_equal(one.get_support(), other.get_support())
    rtol = 1e-5 if name in ("fista", "mp") else 1e-8
    np.testing.assert_allclose(other.coef_ * scale, one.coef_, rtol=rtol)
    assert_close(other.predict(X * scale), one.predict(X), rtol=rtol)
    assert_close(other.noise_, one.noise_, rtol=rtol)
    if one.coef_std_ is not None:
        np.testing.assert_allclose(other.coef_std_ * np.abs(scale), one.coef_std_, rtol=rtol)
        X_new, _ = table(20, seed=4)
        assert_close(
            other.predict(X_new * scale, return_std=True)[1],
            one.predict(X_new, return_std=True)[1],
        )
    assert one.path_["feature"].tolist() == other.path_["feature"].tolist()


@pytest.mark.parametrize("factor", [1e-12, 1e12, -3.0])
@over(SETTINGS)
def test_units_of_the_target(name, factor):
    X, y = table()
    if factor < 0 and name == "noise prior":
        factor = 3.0
    one, other = make(name).fit(X, y), in_units(name, abs(factor)).fit(X, factor * y)
    np.testing.assert_array_equal(one.get_support(), other.get_support())
    rtol = 1e-5 if name in ("fista", "mp") else 1e-8
    assert_close(other.coef_, factor * one.coef_, rtol=rtol)
    assert_close(other.predict(X), factor * one.predict(X), rtol=rtol)
    assert_close(other.noise_, abs(factor) * one.noise_, rtol=rtol)
    if one.covariance_ is not None:
        assert_close(other.covariance_, factor**2 * one.covariance_, rtol=rtol)
    assert one.path_["feature"].tolist() == other.path_["feature"].tolist()


@over([name for name in SETTINGS if SETTINGS[name].fit_intercept])
def test_shifts(name):
    """Of features and target: nothing but the intercept changes."""
    X, y = table()
    shift = 100.0 * np.arange(8)
    one, other = make(name).fit(X, y), make(name).fit(X + shift, y - 500)
    rtol = 1e-5 if name in ("fista", "mp") else 1e-8
    assert_close(other.coef_, one.coef_, rtol=rtol)
    assert_close(other.predict(X + shift), one.predict(X) - 500, rtol=rtol)
    assert_close(other.noise_, one.noise_, rtol=rtol)
    expected = one.intercept_ - 500 - shift @ one.coef_
    assert other.intercept_ == pytest.approx(expected, rel=1e-6)
    if one.covariance_ is not None:
        assert_close(other.covariance_, one.covariance_, rtol=rtol)
    assert one.path_["feature"].tolist() == other.path_["feature"].tolist()


def test_far_from_zero():
    """Digits of features a billion away from zero are those that are there."""
    X, y = table(60, 4)
    X = np.round(X * 64) / 64  # so that a shift rounds nothing
    for name in ("forward", "rmp", "bpdn", "omp"):
        near = make(name).fit(X, y)
        far = make(name).fit(X + 2.0**30, y)
        assert_close(far.coef_, near.coef_, rtol=1e-8)
        assert_close(far.predict(X + 2.0**30), near.predict(X), rtol=1e-8)


@over([name for name in SETTINGS if name not in BY_FOLDS])
def test_the_order_of_rows(name):
    X, y = table()
    weights = np.linspace(0.5, 1.5, 60)
    order = np.random.default_rng(0).permutation(60)
    one = make(name).fit(X, y, sample_weight=weights)
    other = make(name).fit(X[order], y[order], sample_weight=weights[order])
    assert_same(one, other, X)


@over(SETTINGS)
def test_the_order_of_features(name):
    X, y = table()
    order = np.random.default_rng(0).permutation(8)
    words = {}
    for word in ("include", "exclude"):
        if (columns := getattr(SETTINGS[name], word)) is not None:
            words[word] = [int(np.flatnonzero(order == j % 8)[0]) for j in columns]
    one, other = make(name).fit(X, y), make(name, **words).fit(X[:, order], y)
    np.testing.assert_array_equal(one.get_support()[order], other.get_support())
    rtol = 1e-5 if name in ("fista", "mp") else 1e-8
    assert_close(other.coef_, one.coef_[order], rtol=rtol)
    assert_close(other.intercept_, one.intercept_, rtol=max(rtol, 1e-7))


@pytest.mark.parametrize("order", ["C", "F", "strided", "list", "int"])
@over(["forward", "rmp", "bpdn", "omp", "cv"])
def test_however_the_table_is_stored(name, order):
    X, y = table()
    X = np.round(10 * X)
    stored = {
        "C": np.ascontiguousarray(X),
        "F": np.asfortranarray(X),
        "strided": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "list": X.tolist(),
        "int": X.astype(np.int64),
    }[order]
    one, other = make(name).fit(X, y), make(name).fit(stored, y.tolist())
    assert_close(other.coef_, one.coef_, rtol=1e-10)
    assert_close(other.predict(stored), one.predict(X), rtol=1e-10)


# --- what is said --------------------------------------------------------------------------------


@over(SETTINGS)
def test_the_pieces_fit_together(name):
    X, y = table()
    model = make(name).fit(X, y)
    chosen = model.get_support()
    np.testing.assert_array_equal(np.flatnonzero(chosen), model.solution_.support)
    assert not model.coef_[~chosen].any()
    assert model.n_features_in_ == 8
    assert model.n_rows_ == 60
    assert model.coef_.shape == (8,)
    assert isinstance(model.intercept_, float)
    assert isinstance(model.criteria_, Criteria)
    assert_close(model.means_, X[:, chosen].mean(0) * model.fit_intercept)
    assert_close(model.predict(X), model.intercept_ + X @ model.coef_, rtol=1e-7)
    rss = float(np.sum((y - model.predict(X)) ** 2))
    assert model.solution_.residual_norm == pytest.approx(math.sqrt(rss), rel=1e-7)
    text = str(model.summary())
    assert all(name in text for name in model.get_feature_names_out())
    assert f"{chosen.sum()} of 8 features" in text


def test_paths_are_frames_of_the_kind_that_came_in(diabetes):
    X, y = diabetes
    columns = [
        "step", "action", "feature", "size", "rss", "r2",
        "aic", "aicc", "bic", "ebic", "ric", "cp", "adjusted_r2", "loo",
    ]  # fmt: skip
    path = StepwiseRegressor().fit(X, y).path_
    assert isinstance(path, pd.DataFrame)
    assert path.columns.tolist() == columns
    assert path["feature"].tolist()[1:4] == ["bmi", "s5", "bp"]
    assert path["action"].tolist() == ["start"] + ["add"] * 10
    assert path["bic"].idxmin() == path["ric"].idxmin() == 6
    again = StepwiseRegressor().fit(pl.DataFrame(X.to_dict("list")), y.to_numpy()).path_
    assert isinstance(again, pl.DataFrame)
    assert again.columns == columns
    bare = StepwiseRegressor().fit(X.to_numpy(), y.to_numpy()).path_
    assert isinstance(bare, dict)
    assert list(bare) == columns
    assert all(isinstance(values, np.ndarray) for values in bare.values())
    assert bare["feature"].tolist()[1:3] == ["x2", "x8"]
    for name in columns[3:]:
        np.testing.assert_allclose(path[name], bare[name], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(again[name], bare[name], rtol=1e-9, atol=1e-9)


def test_certificate(diabetes):
    X, y = diabetes
    model = StepwiseRegressor("both", certify=True).fit(X, y)
    assert model.certificate_.size == model.get_support().sum()
    assert "best" in str(model.summary())
    assert not hasattr(StepwiseRegressor(sparsity=0, certify=True).fit(X, y), "certificate_")


@over([*STEPWISE])
def test_the_solution_holds_on_centred_data(name):
    X, y = table()
    model = make(name).fit(X, y)
    A, b = (X - X.mean(0), y - y.mean()) if model.fit_intercept else (X, y)
    assert model.solution_.check(A, b).ok


@over(BAYESIAN)
def test_the_path_tells_the_evidence_of_its_start(name):
    """Of nothing but flat priors, at the final σ: N(0, σ²) of what they leave."""
    X, y = table(60, 6)
    model = make(name).fit(X, y)
    if model.algorithm == "sbl":  # which begins with all features
        return
    taken = np.column_stack([np.full(60, model.fit_intercept), X[:, model.include or []]])
    rest = y - taken @ np.linalg.lstsq(taken, y)[0]
    left = 60 - np.linalg.matrix_rank(taken)
    expected = -(left * math.log(2 * math.pi * model.sigma_**2) + rest @ rest / model.sigma_**2) / 2
    assert model.path_["log_evidence"][0] == pytest.approx(expected, rel=1e-9)
