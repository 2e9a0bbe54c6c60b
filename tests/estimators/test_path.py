"""`path_`: made once, when it is read; leave-one-out with it, and of the data of the fit alone."""

import copy
import gc
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sparsewise import StepwiseRegressor
from sparsewise.errors import InputError
from sparsewise.estimators import leave_one_out_errors, stepwise_search
from tests.estimators.conftest import SETTINGS, STEPWISE, make, over, table


@pytest.fixture
def errors_computed(monkeypatch):
    """Counts how often leave-one-out errors are computed."""
    calls = []

    def counted(*args):
        calls.append(args)
        return true(*args)

    true = leave_one_out_errors.leave_one_out
    for module in (leave_one_out_errors, stepwise_search):
        monkeypatch.setattr(module, "leave_one_out", counted)
    return calls


def same(path, other):
    """Whether two paths have the same columns, to the digit."""
    assert path.keys() == other.keys()
    for name in path:
        np.testing.assert_array_equal(path[name], other[name], err_msg=name)
    return True


def without_errors(path):
    return {name: values for name, values in path.items() if name != "loo"}


@over(SETTINGS)
def test_once_and_when_it_is_read(name, errors_computed):
    X, y = table()
    model = make(name).fit(X, y)
    in_fit = len(errors_computed)
    assert in_fit == ("loo" in name)
    model.predict(X)
    str(model.summary())
    assert len(errors_computed) == in_fit
    assert model.path_ is model.path_
    assert len(errors_computed) == isinstance(model, StepwiseRegressor)


def test_printing_the_steps_asks_for_nothing_more(errors_computed, capsys):
    StepwiseRegressor(verbose=True).fit(*table())
    assert capsys.readouterr().out
    assert not errors_computed


def test_another_fit_has_another_path():
    X, y = table()
    model = StepwiseRegressor().fit(X, y)
    first = model.path_
    assert model.fit(X[:, :5], y).path_["loo"].tolist() != first["loo"].tolist()
    assert same(model.path_, clone(model).fit(X[:, :5], y).path_)


def test_the_data_are_kept_no_longer_than_needed():
    X, y = table()

    def kept(use):
        frame = X.copy()
        held = weakref.ref(frame)
        model = StepwiseRegressor().fit(frame, y)
        use(model)
        del frame
        gc.collect()
        return held() is not None

    assert kept(lambda model: None)
    assert not kept(lambda model: model.path_)
    assert kept(pickle.dumps)
    assert not kept(lambda model: model.set_params(criterion="loo").fit(X, y))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@over(["forward", "loo", "cv"])
def test_copies_have_the_path_without_the_data(name, again, errors_computed):
    """What has been computed, that is: a copy computes nothing, and can't without the rows."""
    X, y = table()
    expected = make(name).fit(X, y).path_
    model = make(name).fit(X, y)
    computed = len(errors_computed)
    twin = again(model)
    assert twin._state_.loo.data is None
    assert same(without_errors(twin.path_), without_errors(expected))
    assert np.isnan(twin.path_["loo"]).all() == (name != "loo")
    assert len(errors_computed) == computed
    assert same(model.path_, expected)
    assert same(again(model).path_, expected)
    assert same(copy.copy(model).path_, expected)


def test_a_clone_and_an_estimator_without_a_fit():
    X, y = table()
    model = StepwiseRegressor().fit(X, y)
    with pytest.raises(NotFittedError):
        _ = clone(model).path_
    assert pickle.loads(pickle.dumps(StepwiseRegressor("both"))).direction == "both"
    frame = pd.DataFrame(X)
    frame.columns = list("abcdefgh")
    kept = StepwiseRegressor().set_output(transform="pandas").fit(frame, y)
    assert isinstance(copy.deepcopy(kept).transform(frame), pd.DataFrame)
    assert isinstance(copy.deepcopy(kept).path_, pd.DataFrame)


# --- data that have changed ----------------------------------------------------------------------


def changed(X, how):
    values = X if isinstance(X, np.ndarray) else X.data
    if how == "other numbers":
        values[:] = np.random.default_rng(1).standard_normal(values.shape)
    elif how == "one number":
        values.flat[3] += 1.0
    elif how == "nan":
        values.flat[-1] = np.nan
    else:
        values[:] = 0.0


@pytest.mark.parametrize("how", ["other numbers", "one number", "nan", "zeros"])
@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_matrix])
@over(STEPWISE)
def test_errors_of_other_data_are_unknown(name, kind, how):
    """X was changed in place: the path is what it was, but no row can be left out of it."""
    dense, y = table()
    X = kind(dense)
    expected = make(name).fit(X, y).path_
    model = make(name).fit(X, y)
    changed(X, how)
    path = model.path_
    assert same(without_errors(path), without_errors(expected))
    if model.criterion == "loo":
        assert same(path, expected)
        return
    for now, before in zip(path["loo"], expected["loo"], strict=True):
        # A model whose columns have not changed is as good as before.
        assert np.isnan(now) or now == pytest.approx(before, rel=1e-6)
    met = {int(name[1:]) for name in expected["feature"][1:] if name}
    if how != "one number" or 3 in met:
        assert np.isnan(path["loo"]).any()


def test_a_target_and_weights_that_have_changed_do_not_matter():
    X, y = table()
    weights = np.linspace(0.5, 1.5, 60)
    expected = StepwiseRegressor().fit(X, y, sample_weight=weights).path_
    model = StepwiseRegressor().fit(X, y, sample_weight=weights)
    y[:], weights[:] = 0.0, -1.0
    assert same(model.path_, expected)


# --- a fit that fails ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [{"include": [9]}, {"direction": "sideways"}, {"criterion": "cp", "exclude": ["a"]}],
    ids=str,
)
def test_a_fit_that_fails_leaves_nothing(words):
    X, y = table()
    model = StepwiseRegressor(criterion="cv", certify=True).fit(X, y)
    with pytest.raises(ValueError, match=r"include|direction|exclude"):
        model.set_params(**words).fit(X[:, :3], y)
    assert not [name for name in vars(model) if name.endswith("_")]
    for ask in (lambda: model.predict(X), lambda: model.path_, model.get_support):
        with pytest.raises(NotFittedError):
            ask()


def test_a_fit_that_is_interrupted_leaves_nothing(monkeypatch):
    X, y = table()
    model = StepwiseRegressor(certify=True).fit(X, y)

    def interrupt(*args, **words):
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsewise.results.solution.certify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :3], y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_an_error_of_ours_in_a_certificate_is_not_hidden(monkeypatch):
    X, y = table()

    def fail(error):
        def certify(*args, **words):
            raise error

        monkeypatch.setattr("sparsewise.results.solution.certify", certify)

    fail(ValueError("shapes do not match"))
    with pytest.raises(ValueError, match="shapes"):
        StepwiseRegressor(certify=True).fit(X, y)
    fail(InputError("fewer columns fit as well"))
    model = StepwiseRegressor(certify=True).fit(X, y)
    assert model.uncertified_ == "fewer columns fit as well"
    assert not hasattr(model, "certificate_")


# --- frames and the record -----------------------------------------------------------------------

WITHOUT_POLARS = """
import sys
import numpy as np, pandas as pd
from sparsewise import StepwiseRegressor
X = np.random.default_rng(0).standard_normal((30, 4))
frame = pd.DataFrame(X, columns=list("abcd"))
for table in (X, X.tolist(), frame):
    path = StepwiseRegressor().fit(table, X[:, 0]).path_
    assert type(path) is (pd.DataFrame if table is frame else dict)
assert "polars" not in sys.modules
"""


def test_polars_is_imported_by_those_who_use_it():
    subprocess.run([sys.executable, "-c", WITHOUT_POLARS], check=True, timeout=120)


@over(SETTINGS)
def test_a_fit_leaves_one_record(name):
    """Besides what scikit-learn notes of X; every fitted attribute is read from the record."""
    X, y = table()
    model = make(name).fit(pd.DataFrame(X, columns=list("abcdefgh")), y)
    left = vars(model).keys() - model.get_params().keys()
    assert left == {"_state_", "n_features_in_", "feature_names_in_"}
    assert model.coef_ is model._state_.coef_
    del model._state_
    assert not hasattr(model, "coef_")


def test_helpers_are_no_methods():
    """What an estimator has besides its parameters, fitted attributes and scikit-learn's hooks."""
    ours = [kind for kind in StepwiseRegressor.__mro__ if kind.__module__.startswith("sparsewise")]
    names = {name for kind in ours for name in vars(kind)}
    private = {name for name in names if name[0] == "_" and name[:2] != "__"}
    scikit_learn = {"_get_support_mask", "_parameter_constraints"}
    assert len(private - scikit_learn) <= 10
