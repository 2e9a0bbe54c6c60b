"""The estimators in all their settings, and tables to fit them to."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from sparsewise import (
    BasisPursuitRegressor,
    PursuitRegressor,
    SparseBayesRegressor,
    SparseRegressor,
    StepwiseRegressor,
)

STEPWISE = {
    "forward": StepwiseRegressor(),
    "backward": StepwiseRegressor("backward"),
    "both": StepwiseRegressor("both"),
    "both from the full model": StepwiseRegressor("both", criterion="aic", start="full"),
    "foba": StepwiseRegressor("foba"),
    "aic": StepwiseRegressor(criterion="aic"),
    "aicc": StepwiseRegressor(criterion="aicc"),
    "ebic": StepwiseRegressor(criterion="ebic"),
    "cp": StepwiseRegressor(criterion="cp"),
    "adjusted_r2": StepwiseRegressor(criterion="adjusted_r2"),
    "loo": StepwiseRegressor(criterion="loo"),
    "loo, there and back": StepwiseRegressor("both", criterion="loo"),
    "sparsity": StepwiseRegressor(sparsity=3),
    "sparsity, backward": StepwiseRegressor("backward", sparsity=3),
    "delta": StepwiseRegressor(delta=2.0),
    "delta, both": StepwiseRegressor("both", delta=2.0),
    "delta of the bic": StepwiseRegressor("both", delta="bic"),
    "no intercept": StepwiseRegressor(fit_intercept=False),
    "certified": StepwiseRegressor("both", certify=True),
    "included": StepwiseRegressor(include=[2], exclude=[0]),
}
STEPWISE_BY_FOLDS = {
    "cv": StepwiseRegressor(criterion="cv"),
    "cv, backward": StepwiseRegressor("backward", criterion="cv", one_standard_error=False),
    "cv, both, three folds": StepwiseRegressor("both", criterion="cv", cv=3),
    "cv, foba": StepwiseRegressor("foba", criterion="cv"),
}
BY_FOLDS = STEPWISE_BY_FOLDS | {"search, cv": SparseRegressor("cv", cv=3)}
BAYESIAN = {
    "rmp": SparseBayesRegressor(),
    "fast_sbl": SparseBayesRegressor("fast_sbl"),
    "em": SparseBayesRegressor("sbl", updates="em", sigma=0.5),
    "mackay": SparseBayesRegressor("sbl", updates="mackay", sigma=0.5),
    "convex": SparseBayesRegressor("sbl", updates="convex", sigma=0.5),
    "no price": SparseBayesRegressor(price=0.0),
    "noise prior": SparseBayesRegressor(noise_prior=(2.0, 1.0)),
    "bayes, no intercept": SparseBayesRegressor(fit_intercept=False),
    "bayes, included": SparseBayesRegressor(include=[2], exclude=[0]),
}
SEARCHED = {
    "search": SparseRegressor(),
    "search, bic": SparseRegressor("bic"),
    "search, aic": SparseRegressor("aic", debias=True),
    "search, noise given": SparseRegressor(sigma=0.5),
    "search, no intercept": SparseRegressor(fit_intercept=False),
    "search, included": SparseRegressor(include=[2], exclude=[0]),
}
L1 = {
    "bpdn": BasisPursuitRegressor(),
    "ard": BasisPursuitRegressor("ard"),
    "candes": BasisPursuitRegressor("candes"),
    "focuss": BasisPursuitRegressor("focuss"),
    "debiased": BasisPursuitRegressor(debias=True),
    "penalty": BasisPursuitRegressor(penalty=1.0),
    "penalty, debiased": BasisPursuitRegressor(penalty=1.0, debias=True),
    "fista": BasisPursuitRegressor(penalty=1.0, solver="fista"),
    "residual": BasisPursuitRegressor(residual=5.0),
    "l1, noise given": BasisPursuitRegressor("ard", sigma=0.6),
    "l1, no intercept": BasisPursuitRegressor(fit_intercept=False),
    "units as they are": BasisPursuitRegressor(standardize=False),
    "l1, included": BasisPursuitRegressor(include=[2], exclude=[0]),
}
PURSUITS = {
    "omp": PursuitRegressor(),
    "mp": PursuitRegressor("mp", sparsity=4),
    "gomp": PursuitRegressor("gomp", sparsity=4),
    "oblivious": PursuitRegressor("oblivious"),
    "srr": PursuitRegressor("srr"),
    "ompr": PursuitRegressor("ompr", sparsity=3),
    "subspace_pursuit": PursuitRegressor("subspace_pursuit"),
    "lace": PursuitRegressor("lace", sparsity=3),
    "omp to a residual": PursuitRegressor(residual=5.0),
    "omp, no intercept": PursuitRegressor(fit_intercept=False),
}
WITHOUT_FOLDS = STEPWISE | BAYESIAN | SEARCHED | L1 | PURSUITS
SETTINGS = WITHOUT_FOLDS | BY_FOLDS

RIDGE = {
    "forward": StepwiseRegressor(ridge=0.5),
    "both from the full model": StepwiseRegressor("both", criterion="aic", start="full", ridge=0.1),
    "loo": StepwiseRegressor("backward", criterion="loo", ridge=0.1),
    "search": SparseRegressor(ridge=0.5),
}
"""With a ridge: apart, since most tests of the settings above are of least squares."""


def over(settings):
    """A parameter "name" for each of these settings."""
    return pytest.mark.parametrize("name", settings)


def make(name, **words):
    """A fresh estimator with these settings, and perhaps others."""
    return clone(SETTINGS[name]).set_params(**words)


def table(n=60, m=8, k=3, noise=0.5, seed=0):
    """Correlated features far from zero and of many scales; y of k of them, and noise."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, m)) + 0.5 * rng.standard_normal((n, 1))
    scale = 10.0 ** rng.uniform(-1, 1, m)
    y = 3.0 + Z[:, 1 : k + 1] @ (2.0 + np.arange(k)) + noise * rng.standard_normal(n)
    return scale * (Z + rng.standard_normal(m)), y


def quietly(fit, *args, **words):
    """Call it without the warning that a path has ended early."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*was still improving at")
        return fit(*args, **words)


def told(model, X):
    """All that a fitted model says of itself, by name; None where it says nothing."""
    facts = {
        name: getattr(model, name)
        for name in (
            "coef_", "intercept_", "noise_", "covariance_", "coef_std_", "intercept_std_",
            "means_", "n_rows_",
        )
    }  # fmt: skip
    facts["predictions"] = model.predict(X)
    if model.covariance_ is not None and model.noise_ is not None:
        facts["deviations"] = model.predict(X, return_std=True)[1]
    for name in (
        "gamma_",
        "log_evidence_",
        "sigma_",
        "price_",
        "residual_",
        "delta_",
        "loo_",
        "chance_",
    ):
        if hasattr(model, name):
            facts[name] = getattr(model, name)
    for name, values in model._path_columns().items():
        if name not in ("action", "feature"):
            facts[f"path {name}"] = values.astype(float)
    return facts


def assert_same(one, other, X, rtol=1e-8, leave_out=()):
    """The same features, path and numbers, each relative to the largest of its kind."""
    np.testing.assert_array_equal(one.get_support(), other.get_support())
    mine, theirs = told(one, X), told(other, X)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        if name in leave_out:
            continue
        if value is None:
            assert theirs[name] is None, name
            continue
        # R² is relative to one, however small it is; so is the RIC, of which that of nothing is 0.
        size = float(name.endswith(("r2", "ric")))
        assert_close(value, theirs[name], rtol, name, size=size)


def assert_close(value, expected, rtol=1e-8, name="", size=0.0):
    """Equal, relative to the largest entry (at least `size`); infinite and unknown ones, too."""
    value, expected = np.asarray(value, float), np.asarray(expected, float)
    usual = np.isfinite(expected)
    size = np.abs(expected[usual]).max(initial=size)
    np.testing.assert_array_equal(usual, np.isfinite(value), err_msg=name)
    np.testing.assert_array_equal(value[~usual], expected[~usual], err_msg=name)
    np.testing.assert_allclose(
        value[usual], expected[usual], rtol=rtol, atol=rtol * size, err_msg=name
    )
