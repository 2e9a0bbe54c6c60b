"""From the name of an algorithm to its estimator."""

import math

import numpy as np
import pytest

from sparsewise import (
    ALGORITHMS,
    BasisPursuitRegressor,
    PursuitRegressor,
    SparseBayesRegressor,
    SparseRegressor,
    StepwiseRegressor,
)
from sparsewise.algorithms import Family
from sparsewise.cli.spelling import as_option
from sparsewise.errors import InputError
from sparsewise.estimators import for_algorithm
from sparsewise.estimators.by_algorithm import parameters_of
from tests.estimators.conftest import table

KINDS = {
    Family.PURSUIT: PursuitRegressor,
    Family.STEPWISE: StepwiseRegressor,
    Family.ELIMINATION: PursuitRegressor,
    Family.EXCHANGE: PursuitRegressor,
    Family.BAYESIAN: SparseBayesRegressor,
    Family.SEARCH: SparseRegressor,
    Family.L1: BasisPursuitRegressor,
}
every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)
X, Y = table()


def needed(name):
    return {word: 1.0 for word, is_needed in parameters_of(name).items() if is_needed}


@every_algorithm
def test_every_algorithm_has_one(name):
    model = for_algorithm(name, **needed(name), exclude=[0], fit_intercept=False)
    kind = StepwiseRegressor if name == "backward" else KINDS[ALGORITHMS[name].family]
    assert type(model) is kind
    assert model.exclude == [0]
    assert model.fit_intercept is False
    if name != "bp":  # whose fit is exact, which eight features can't be
        model.fit(X, Y)
        assert not model.get_support()[0]


@every_algorithm
def test_the_algorithm_is_the_one_that_runs(name):
    wanted = needed(name)
    if "sparsity" in ALGORITHMS[name].parameters:
        wanted["sparsity"] = 2
    elif "delta" in ALGORITHMS[name].parameters:
        wanted["delta"] = 2.0
    rows = slice(None) if name != "bp" else slice(6)
    assert for_algorithm(name, **wanted).fit(X[rows], Y[rows]).solution_.algorithm in (
        # An exact fit is a bound of 0, whoever asks for it.
        (name,) if name != "bp" else ("bp", "bpdn")
    )


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("forward", {}, StepwiseRegressor()),
        ("forward", {"delta": 2.0}, StepwiseRegressor(delta=2.0)),
        ("forward", {"criterion": "aic"}, StepwiseRegressor(criterion="aic")),
        ("forward", {"cv": 3}, StepwiseRegressor(criterion="cv", cv=3)),
        ("forward", {"sparsity": 3}, PursuitRegressor("forward", sparsity=3)),
        ("forward", {"residual": 3.0}, PursuitRegressor("forward", residual=3.0)),
        ("backward", {}, StepwiseRegressor("backward")),
        ("backward", {"sparsity": 3}, PursuitRegressor("backward", sparsity=3)),
        ("foba", {}, StepwiseRegressor("foba")),
        ("stepwise", {"criterion": "ebic"}, StepwiseRegressor("both", criterion="ebic")),
        ("rmp0", {}, StepwiseRegressor("both", delta="bic")),
        ("rmp0", {"delta": 1.5}, StepwiseRegressor("both", delta=1.5)),
        ("lace", {"delta": 1.5}, PursuitRegressor("lace", delta=1.5)),
        ("gomp", {"batch": 3}, PursuitRegressor("gomp", batch=3)),
        ("rmp", {"sigma": 2.0, "price": None}, SparseBayesRegressor(sigma=2.0)),
        ("sbl", {"updates": "mackay"}, SparseBayesRegressor("sbl", updates="mackay")),
        ("bp", {}, BasisPursuitRegressor(residual=0.0)),
        ("bpdn", {"debias": True}, BasisPursuitRegressor(debias=True)),
        ("bp_ard", {"sigma": 2.0}, BasisPursuitRegressor("ard", sigma=2.0)),
        ("bp_candes", {"residual": 2.0}, BasisPursuitRegressor("candes", residual=2.0)),
        ("focuss", {}, BasisPursuitRegressor("focuss")),
        ("ista", {"penalty": 2.0}, BasisPursuitRegressor(penalty=2.0, solver="ista")),
        ("solve", {}, SparseRegressor()),
        ("solve", {"criterion": "bic", "effort": 4}, SparseRegressor("bic", effort=4)),
        ("solve", {"cv": 3, "seed": 7}, SparseRegressor("cv", cv=3, random_state=7)),
        ("solve", {"sigma": 2.0, "debias": True}, SparseRegressor(sigma=2.0, debias=True)),
        ("omp", {"certify": 2.0, "include": [1]}, PursuitRegressor(certify=2.0, include=[1])),
    ],
)
def test_the_estimator_behind_it(name, words, expected):
    model = for_algorithm(name, **words)
    assert type(model) is type(expected)
    assert model.get_params() == expected.get_params()


def in_options(part):
    return f"--{part.name}"


@pytest.mark.parametrize(
    ("name", "words", "sentence"),
    [
        ("rmp", {"debias": True}, "rmp does not take --debias; it takes --sigma, --price."),
        ("bpdn", {"sparsity": 2}, "bpdn does not take --sparsity; it takes --residual, --debias."),
        (
            "rmp0",
            {"criterion": "aic"},
            "rmp0 does not take --criterion; it takes --delta, --ridge.",
        ),
        ("lace", {"cv": 5}, "lace does not take --cv; it takes --sparsity, --residual, --delta."),
        ("fista", {}, "fista needs --penalty."),
        ("rmp", {"effort": 3}, "rmp does not take --effort; it takes --sigma, --price."),
        (
            "solve",
            {"sparsity": 3},
            "solve does not take --sparsity; it takes --sigma, --effort, --seed, --ridge, "
            "--debias, --criterion, --cv.",
        ),
        ("solve", {"criterion": "loo"}, "solve chooses by ric, bic, aic, cv, not by loo."),
        (
            "forward",
            {"cv": 5, "criterion": "aic"},
            "--cv chooses by folds, not by aic: give one of them.",
        ),
        (
            "forward",
            {"sparsity": 2, "criterion": "aic"},
            "--sparsity, --criterion both say when to stop: give one of them.",
        ),
    ],
)
def test_parameters_that_do_not_belong(name, words, sentence):
    with pytest.raises(InputError) as caught:
        for_algorithm(name, **words)
    assert caught.value.sentence(in_options) == sentence
    assert str(caught.value) == sentence.replace("--", "")


def test_names_that_are_not_known():
    with pytest.raises(InputError, match='no algorithm "romp"; did you mean "rmp" or "omp"'):
        for_algorithm("romp")
    with pytest.raises(TypeError, match="colour"):
        for_algorithm("omp", colour="red")


# --- what the estimators set themselves ----------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_the_delta_of_the_bic(intercept):
    """δ² = s² log n, s² the residual variance with all features that may be chosen."""
    weights = np.random.default_rng(0).integers(0, 3, 60)
    model = StepwiseRegressor("both", delta="bic", exclude=[7], fit_intercept=intercept)
    model.fit(X, Y, sample_weight=weights)
    D = np.column_stack([np.ones(60)] * intercept + [X[:, :7]]) * np.sqrt(weights)[:, None]
    rss = float(np.linalg.lstsq(D, Y * np.sqrt(weights))[1][0])
    rows = weights.sum()
    assert model.delta_ == pytest.approx(math.sqrt(rss / (rows - D.shape[1]) * math.log(rows)))
    same = StepwiseRegressor("both", delta=model.delta_, exclude=[7], fit_intercept=intercept)
    same.fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert same.delta_ == model.delta_
    assert "delta = " in str(model.summary())
    assert StepwiseRegressor().fit(X, Y).delta_ is None


@pytest.mark.parametrize("weights", [None, "ard", "candes", "focuss"])
def test_a_bound_by_the_noise(weights):
    counts = np.random.default_rng(0).integers(0, 3, 60)
    model = BasisPursuitRegressor(weights, sigma=0.7).fit(X, Y, sample_weight=counts)
    assert model.residual_ == pytest.approx(0.7 * math.sqrt(counts.sum()), rel=1e-15)
    same = BasisPursuitRegressor(weights, residual=model.residual_)
    np.testing.assert_array_equal(model.coef_, same.fit(X, Y, sample_weight=counts).coef_)


def test_the_price_that_was_paid():
    assert SparseBayesRegressor().fit(X, Y).price_ == pytest.approx(math.log(8))
    assert SparseBayesRegressor(exclude=[0, 1]).fit(X, Y).price_ == pytest.approx(math.log(6))
    assert SparseBayesRegressor("fast_sbl", price=2.0).fit(X, Y).price_ == 2.0


def test_updates_are_those_of_em_unless_others_are_given():
    usual, em = SparseBayesRegressor("sbl"), SparseBayesRegressor("sbl", updates="em")
    np.testing.assert_array_equal(usual.fit(X, Y).coef_, em.fit(X, Y).coef_)
    assert usual.solution_.path.losses.size != 0


def test_advice_in_both_spellings():
    """What an estimator says can be said by the command line, too."""
    with pytest.warns(UserWarning, match="use criterion") as caught:
        StepwiseRegressor(criterion="aic").fit(*table(20, 60, noise=1.0))
    warning = caught[0].message
    assert str(warning).endswith(
        'use criterion="ric", criterion="cv", SparseBayesRegressor, or sparsity.'
    )
    assert warning.sentence(as_option).endswith(
        "use --criterion ric, --criterion cv, --method rmp, or --sparsity."
    )
