"""scikit-learn's own checks, and life among its pipelines, searches, frames and routes."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_regressor
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsewise import (
    BasisPursuitRegressor,
    PursuitRegressor,
    RelevanceVectorRegressor,
    SparseBayesRegressor,
    SparseRegressor,
    StepwiseRegressor,
)
from sparsewise.model_selection.choice import PATHS
from sparsewise.model_selection.cross_validation import _fold_errors
from sparsewise.model_selection.tabular_data import TabularData
from tests.estimators.conftest import (
    BY_FOLDS,
    RIDGE,
    SETTINGS,
    assert_close,
    assert_same,
    make,
    over,
    table,
    told,
)

# One of each way in which a model is chosen, noise inferred and coefficients told: the checks are
# of data and attributes. All settings meet weights, sparse tables and pickles in other tests.
CHECKED = [
    "forward", "backward", "both from the full model", "foba", "cp", "loo", "sparsity",
    "delta, both", "no intercept", "certified", "cv",
    "rmp", "fast_sbl", "em", "bayes, no intercept",
    "bpdn", "ard", "focuss", "penalty, debiased", "fista",
    "omp", "mp", "lace",
    "search", "search, aic", "search, cv",
]  # fmt: skip
COUNTS = np.random.default_rng(2).integers(1, 3, 60)

# "em" is told the noise. The check of weights has more features than rows, and repeats rows, so
# that a fit can be exact and the noise, were it inferred, is at the level of rounding; updates of
# all γ at once then choose by rounding among 30 features that do as well.


# Several checks fit noise and then call transform: no feature is the right answer, and
# scikit-learn's warning of it is true.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
# Some fit 30 features to 20 rows of noise: that a criterion can't choose there is true as well.
@pytest.mark.filterwarnings("ignore:.*was still improving at:UserWarning")
# One calls partial_fit after fit: that the rows of fit are not there is true, too.
@pytest.mark.filterwarnings("ignore:partial_fit begins anew:UserWarning")
@parametrize_with_checks(
    [*(SETTINGS[name] for name in CHECKED), RIDGE["forward"], RIDGE["search"]],
    expected_failed_checks=lambda estimator: (
        {"check_regressor_multioutput": "cp needs more rows than features, which has 11 and 10"}
        if getattr(estimator, "criterion", None) == "cp"
        else {}
    ),
)
def test_all_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_every_estimator_is_checked():
    kinds = {type(SETTINGS[name]) for name in CHECKED}
    assert kinds == {
        StepwiseRegressor, SparseBayesRegressor, BasisPursuitRegressor, PursuitRegressor,
        SparseRegressor,
    }  # fmt: skip


@over(["forward", "rmp", "bpdn", "omp", "search"])
def test_tags(name):
    tags = get_tags(make(name))
    assert is_regressor(make(name))
    assert tags.input_tags.sparse
    assert tags.target_tags.required
    assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]
    assert not tags.non_deterministic


# --- pipelines and searches ----------------------------------------------------------------------


@over(["forward", "rmp", "bpdn", "omp", "search"])
def test_last_in_a_pipeline(name):
    X, y = table()
    pipeline = make_pipeline(StandardScaler(), make(name)).fit(X, y)
    # Units and shifts change nothing.
    assert_close(pipeline.predict(X), make(name).fit(X, y).predict(X))
    assert pipeline.score(X, y) > 0.9


@over(["forward", "rmp", "ard", "omp", "search"])
def test_a_selector_before_another_regressor(name):
    X, y = table(seed=3)
    model = make(name).fit(X, y)
    pipeline = make_pipeline(make(name), LinearRegression()).fit(X, y)
    chosen = model.get_support()
    assert 0 < chosen.sum() < 8
    np.testing.assert_array_equal(model.transform(X), X[:, chosen])
    np.testing.assert_array_equal(model.get_support(indices=True), np.flatnonzero(chosen))
    expected = LinearRegression().fit(X[:, chosen], y).predict(X[:, chosen])
    np.testing.assert_allclose(pipeline.predict(X), expected)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_array_equal(back, np.where(chosen, X, 0))


def test_names_through_a_pipeline():
    X, y = table(m=3, k=2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(PolynomialFeatures(2, include_bias=False), StepwiseRegressor())
    pipeline.set_output(transform="pandas").fit(frame, y)
    assert set(pipeline[-1].get_feature_names_out()) >= {"b", "c"}
    assert set(pipeline[-1].get_feature_names_out()) <= set(pipeline[0].get_feature_names_out())


def test_grid_search():
    X, y = table()
    search = GridSearchCV(
        StepwiseRegressor(),
        {"direction": ["forward", "backward", "both", "foba"], "criterion": ["aic", "bic", "loo"]},
        error_score="raise",
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 12
    assert search.best_score_ > 0.9
    assert search.best_estimator_.get_support()[1:4].all()


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (SparseBayesRegressor(), {"algorithm": ["rmp", "fast_sbl", "sbl"]}),
        (BasisPursuitRegressor(), {"weights": [None, "ard", "candes"], "debias": [False, True]}),
        (PursuitRegressor(), {"sparsity": [1, 2, 3], "algorithm": ["omp", "srr"]}),
    ],
)
def test_grid_search_over_the_others(estimator, grid):
    X, y = table()
    search = GridSearchCV(estimator, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.9


def test_a_search_over_sizes_agrees_with_the_folds():
    """What criterion="cv" computes from one path a fold, by one fit for each fold and size."""
    X, y = table(seed=2)
    model = StepwiseRegressor(criterion="cv", one_standard_error=False).fit(X, y)
    search = GridSearchCV(
        StepwiseRegressor(sparsity=0),
        {"sparsity": list(range(9))},
        scoring="neg_mean_squared_error",
    ).fit(X, y)
    np.testing.assert_allclose(
        -search.cv_results_["mean_test_score"], model.cv_errors_.mean, rtol=1e-9
    )
    assert search.best_params_["sparsity"] == model.cv_errors_.chosen


def test_in_an_ensemble():
    X, y = table()
    bag = BaggingRegressor(StepwiseRegressor(), n_estimators=5, random_state=0).fit(X, y)
    assert bag.score(X, y) > 0.9


@over(SETTINGS)
def test_clone_keeps_all_parameters(name):
    model = SETTINGS[name]
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert repr(again) == repr(model)


def test_folds_at_a_time():
    X, y = table()
    for name in BY_FOLDS:
        one, two = make(name).fit(X, y), make(name, n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(one.cv_errors_.by_fold, two.cv_errors_.by_fold)
        np.testing.assert_array_equal(one.coef_, two.coef_)


def test_folds_in_other_processes():
    """All that a fold needs can be sent there."""
    X, y = table()
    data = TabularData.of(X, y, COUNTS.astype(float), intercept=True, include=[1], exclude=[2])
    sent = pickle.loads(pickle.dumps((data, PATHS["both"])))
    rows = np.arange(60)
    args = rows[:40], rows[40:]
    np.testing.assert_array_equal(
        _fold_errors(*sent, *args), _fold_errors(data, PATHS["both"], *args)
    )


# --- frames --------------------------------------------------------------------------------------

NAMES = list("abcdefgh")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@over(["forward", "rmp", "bpdn", "omp", "cv"])
def test_frames(name, kind):
    X, y = table()
    library = {"pandas": pd, "polars": pl}[kind]
    frame = library.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    series = library.Series(y, name="z") if kind == "pandas" else pl.Series("z", y)
    model = make(name).set_output(transform=kind).fit(frame, series)
    assert_close(model.coef_, make(name).fit(X, y).coef_, rtol=1e-12)
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    found = [NAMES[j] for j in model.get_support(indices=True)]
    assert list(model.get_feature_names_out()) == found
    selected = model.transform(frame)
    assert isinstance(selected, library.DataFrame)
    assert list(selected.columns) == found
    path = model.path_
    assert isinstance(path, pd.DataFrame if kind == "pandas" else pl.DataFrame)
    assert set(path["feature"][1:]) <= set(NAMES)
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[NAMES[::-1]])


def test_include_by_name_is_include_by_number():
    X, y = table()
    frame = pd.DataFrame(X, columns=NAMES)
    for name in ("forward", "backward", "both", "rmp", "bpdn", "omp"):
        by_name = make(name, include=["h", "a"], exclude=["b"]).fit(frame, y)
        by_number = make(name, include=[7, 0], exclude=np.array([1])).fit(X, y)
        mixed = make(name, include=["h", 7, 0, "a", "h"], exclude=["b", 1, 1]).fit(frame, y)
        np.testing.assert_array_equal(by_name.coef_, by_number.coef_)
        np.testing.assert_array_equal(mixed.coef_, by_number.coef_)
        assert by_name.get_support()[[0, 7]].all()
        assert not by_name.get_support()[1]


# --- metadata ------------------------------------------------------------------------------------


@over(["forward", "rmp", "bpdn", "omp", "search"])
def test_weights_are_routed(name):
    X, y = table()
    weights = np.random.default_rng(1).integers(0, 3, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(name).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipeline.fit(X, y, sample_weight=weights)
        direct = make(name).fit(X, y, sample_weight=weights)
        assert_close(pipeline.predict(X), direct.predict(X))

        model = make(name).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        folds = cross_validate(
            model, X, y, params={"sample_weight": weights}, cv=3, return_estimator=True,
            return_indices=True,
        )  # fmt: skip
        for i, fitted in enumerate(folds["estimator"]):
            train, test = folds["indices"]["train"][i], folds["indices"]["test"][i]
            expected = make(name).fit(X[train], y[train], sample_weight=weights[train])
            np.testing.assert_array_equal(fitted.coef_, expected.coef_)
            score = expected.score(X[test], y[test], sample_weight=weights[test])
            assert folds["test_score"][i] == pytest.approx(score, rel=1e-12)


def test_weights_that_nobody_asked_for_are_refused():
    X, y = table()
    with sklearn.config_context(enable_metadata_routing=True):
        weights = {"sample_weight": np.ones(60)}
        with pytest.raises(ValueError, match="sample_weight"):
            cross_val_score(StepwiseRegressor(), X, y, params=weights, error_score="raise")


# --- what stays, what goes -----------------------------------------------------------------------


@over(SETTINGS)
def test_pickled_and_back(name):
    X, y = table()
    model = make(name).fit(X, y)
    _ = model.path_  # which a pickle has if it was computed
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(stream)):
        assert_same(again, model, X, rtol=0)
        assert str(again.summary()) == str(model.summary())


def test_a_pickle_holds_no_data():
    X, y = table(5000, 8)
    for name in ("forward", "rmp", "ard", "omp"):
        assert len(pickle.dumps(make(name).fit(X, y))) < X.nbytes / 4


@over(SETTINGS)
def test_fit_again(name):
    """The second fit is that of a new estimator: nothing stays from the first."""
    X, y = table()
    other, target = table(40, 5, seed=7)
    frame = pd.DataFrame(X, columns=NAMES)
    model = make(name, certify=True).fit(frame, y, sample_weight=COUNTS)
    model.set_params(certify=False).fit(other, target)
    fresh = make(name, certify=False).fit(other, target)
    assert vars(model).keys() == vars(fresh).keys()
    assert_same(model, fresh, other, rtol=0)
    assert not hasattr(model, "certificate_")
    assert not hasattr(model, "feature_names_in_")


def test_attributes_of_another_criterion_go():
    X, y = table()
    model = StepwiseRegressor(criterion="cv").fit(X, y)
    assert "cv" in model.path_
    model.set_params(criterion="loo").fit(X, y)
    assert not hasattr(model, "cv_errors_")
    assert "cv" not in model.path_
    model.set_params(criterion="bic").fit(X, y)
    assert not hasattr(model, "loo_")


@over(["forward", "rmp", "bpdn", "omp", "search"])
def test_nothing_is_known_before_the_fit(name):
    X, _ = table()
    model = make(name)
    for ask in (
        lambda: model.predict(X),
        lambda: model.predict(X, return_std=True),
        lambda: model.transform(X),
        lambda: model.get_support(),
        lambda: model.summary(),
        lambda: model.path_,
    ):
        with pytest.raises(NotFittedError):
            ask()
    assert not hasattr(model, "sigma_")


@over(SETTINGS)
def test_the_data_stay_as_they_are(name):
    X, y = table()
    weights = np.linspace(0, 2, 60)
    before = X.copy(), y.copy(), weights.copy()
    for array in (X, y, weights):
        array.flags.writeable = False
    model = make(name).fit(X, y, sample_weight=weights)
    model.predict(X)
    for array, copy in zip((X, y, weights), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_validation_of_parameters_can_be_skipped():
    X, y = table()
    with (
        sklearn.config_context(skip_parameter_validation=True),
        pytest.raises(KeyError, match="sideways"),  # and then it is somebody else's word
    ):
        StepwiseRegressor("sideways").fit(X, y)


@over(SETTINGS)
def test_twice_the_same(name):
    X, y = table()
    one, two = told(make(name).fit(X, y), X), told(make(name).fit(X, y), X)
    for key, value in one.items():
        np.testing.assert_array_equal(value, two[key])


# --- fits that fail ------------------------------------------------------------------------------

LINEAR = ("forward", "both", "cv", "loo", "certified", "rmp", "em", "bpdn", "ard", "omp")
KERNEL = RelevanceVectorRegressor(algorithm="rmp0", delta=1.0, certify=True)


def assert_unfitted(model, X, y):
    """Nothing is left: neither an answer nor an attribute."""
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert [name for name in vars(model) if name.endswith("_")] == []
    for name in ("n_features_in_", "certificate_", "path_", "sigma_"):
        assert not hasattr(model, name)


PLACES = [
    "sparsewise.estimators.base.SparseLinearModel._validate_params",
    "sparsewise.estimators.inputs.validate_data",
    "sparsewise.model_selection.tabular_data.reduce",
    "sparsewise.estimators.uncertainty.noise_and_covariance",
    "sparsewise.model_selection.data.Data.criteria",
]
ERRORS = [ValueError, MemoryError, KeyboardInterrupt, SystemExit]
# Each estimator fails at each place, and each place in each way.
FAILURES = [
    (name, where, ERRORS[(i + j) % len(ERRORS)])
    for i, name in enumerate(LINEAR)
    for j, where in enumerate(PLACES)
]


@pytest.mark.parametrize(("name", "where", "error"), FAILURES)
def test_a_refit_that_fails_leaves_nothing(name, where, error, monkeypatch):
    """Wherever it ends: the old model does not answer for the new table."""
    X, y = table()
    model = make(name).fit(X, y)

    def fail(*args, **words):
        raise error

    monkeypatch.setattr(where, fail)
    with pytest.raises(error):
        model.fit(X[:, :5], y)
    monkeypatch.undo()
    assert_unfitted(model, X, y)
    assert_same(model.fit(X, y), make(name).fit(X, y), X, rtol=0)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize(
    "where",
    ["validate_data", "KernelDesign", "median_distance", "fold", "in_precision", "Exact"],
)
def test_a_kernel_refit_that_fails_leaves_nothing(where, error, monkeypatch):
    X, y = table()
    model = clone(KERNEL).set_params(algorithm="rmp", delta=None).fit(X, y)
    before = model.predict(X)

    def fail(*args, **words):
        raise error

    monkeypatch.setattr(f"sparsewise.estimators.relevance_vector.{where}", fail)
    with pytest.raises(error):
        model.fit(X[:, :5], y)
    monkeypatch.undo()
    assert_unfitted(model, X, y)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), before)


@pytest.mark.parametrize(
    "bad",
    [
        {"X": np.zeros((3, 2))},
        {"X": np.full((60, 8), np.nan)},
        {"y": np.full(60, np.inf)},
        {"X": np.full((60, 8), "a", dtype=object)},
    ],
)
@pytest.mark.parametrize("model", [*(make(name) for name in LINEAR), KERNEL], ids=str)
def test_bad_data_leave_nothing(model, bad):
    X, y = table()
    model = clone(model).fit(X, y)
    with pytest.raises(ValueError, match=r"\w"):
        model.fit(**{"X": X, "y": y, **bad})
    assert_unfitted(model, X, y)


def test_a_certificate_is_of_this_fit():
    X, y = table()
    model = clone(KERNEL).fit(X, y)
    assert hasattr(model, "certificate_")
    assert not hasattr(model.set_params(certify=False).fit(X, y), "certificate_")


# --- as a selector -------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e2])
@over(["forward", "backward", "both", "rmp", "fast_sbl", "omp", "bpdn", "ard"])
def test_select_from_model(name, scale):
    """All that were chosen; basis pursuit, whose penalty is a number, with a threshold."""
    X, y = table(m=12, k=6)
    chosen = make(name).fit(scale * X, y).get_support()
    assert chosen.sum() >= 5
    default = SelectFromModel(make(name)).fit(scale * X, y)
    if not isinstance(default.estimator_, BasisPursuitRegressor):
        np.testing.assert_array_equal(default.get_support(), chosen)
    tiny = SelectFromModel(make(name), threshold=1e-300).fit(scale * X, y)
    np.testing.assert_array_equal(tiny.get_support(), chosen)
    assert "l1" not in str(make(name).get_params().values())
