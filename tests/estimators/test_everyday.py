"""Three lines on a table: what is found, how sure it is, and that units don't matter."""

import math

import numpy as np
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
from tests.estimators.conftest import (
    BAYESIAN,
    L1,
    SETTINGS,
    assert_close,
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
    if name not in BAYESIAN and name != "mp" and (name not in L1 or "debiased" in name)
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
    flat = np.column_stack([np.full(60, model.fit_intercept), X[:, model.include or []]])
    rest = y - flat @ np.linalg.lstsq(flat, y)[0]
    left = 60 - np.linalg.matrix_rank(flat)
    expected = -(left * math.log(2 * math.pi * model.sigma_**2) + rest @ rest / model.sigma_**2) / 2
    assert first == pytest.approx(expected, rel=1e-9)
