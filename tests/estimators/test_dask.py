"""Dask collections in, the same models out; here by threads, with no cluster."""

import numpy as np
import pandas as pd
import pytest

from sparsewise import InputError, StepwiseRegressor
from sparsewise.estimators import prediction
from tests.estimators.conftest import (
    BY_FOLDS,
    WITHOUT_FOLDS,
    assert_close,
    assert_same,
    make,
    over,
    quietly,
    table,
)
from tests.estimators.test_several_targets import SEVERAL, TARGETS, targets

da = pytest.importorskip("dask.array", reason="Dask is not installed")

SOME = ["forward", "backward", "rmp", "search", "ard", "fista", "omp", "no intercept", "included"]
ROWS_ONLY = ("path loo",)
NAMES = list("abcdefgh")


@pytest.fixture(autouse=True)
def few_threads():
    import dask

    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def tall(weighted=False, **words):
    X, y = table(100, 8, **words)
    w = np.random.default_rng(1).integers(0, 3, 100).astype(float) if weighted else None
    return X, y, w


def wide(weighted=False):
    X, y = table(60, 40)
    w = np.random.default_rng(1).integers(1, 3, 60).astype(float) if weighted else None
    if weighted:
        w[:5] = 0.0
    return X, y, w


def spread(X, y, w=None, chunks=(30, 3), rows=35):
    """The same as Dask arrays, chunks of which don't correspond."""
    parts = [da.from_array(X, chunks=chunks), da.from_array(y, chunks=rows)]
    return *parts, None if w is None else da.from_array(w, chunks=rows)


# --- fit -----------------------------------------------------------------------------------------


@over(SOME + list(BY_FOLDS))
@pytest.mark.parametrize("weighted", [False, True])
def test_tall_arrays(name, weighted):
    X, y, w = tall(weighted)
    if name in BY_FOLDS and weighted:
        w += 1.0  # rows that don't count are in folds as others are, since nobody has seen them
    model = make(name).fit(*spread(X, y, w))
    assert_same(model, make(name).fit(X, y, w), X, rtol=1e-9, leave_out=ROWS_ONLY)
    assert "condensed into a triangle by threads of this process, since 100 × 8 is tall" in whole(
        model
    )


@over([name for name in WITHOUT_FOLDS if name not in ("em", "mackay", "convex")])
def test_wide_arrays(name):
    wide_arrays_are_the_same(name, weighted=False)


@over(SOME)
def test_wide_arrays_with_weights(name):
    wide_arrays_are_the_same(name, weighted=True)


def wide_arrays_are_the_same(name, weighted):
    X, y, w = wide(weighted)
    model = quietly(make(name).fit, *spread(X, y, w))
    assert_same(model, quietly(make(name).fit, X, y, w), X, rtol=1e-8)
    assert "blocks of columns on threads of this process, since 60 × 40 is wide" in whole(model)


@over(BY_FOLDS)
def test_folds_of_wide_arrays(name):
    X, y, _ = wide()
    model, full = make(name).fit(*spread(X, y)), make(name).fit(X, y)
    assert_same(model, full, X)
    np.testing.assert_allclose(model.cv_errors_.by_fold, full.cv_errors_.by_fold, rtol=1e-8)


SHARED = [name for name in SOME if name in SEVERAL]


@over(SHARED + [name for name in BY_FOLDS if name in SEVERAL])
def test_several_targets_of_tall_arrays(name):
    X, y, w = tall(weighted=True)
    w, Y = w + 1.0, targets(X, y)
    full = make(name).fit(X, Y, w)
    D, _, weights = spread(X, y, w)
    frame = pd.DataFrame(Y, columns=TARGETS)
    for given in (Y, da.from_array(Y, chunks=(33, 2)), frame):
        model = make(name).fit(D, given, weights)
        assert_same(model, full, X, rtol=1e-9, leave_out=ROWS_ONLY)
        assert "condensed into a triangle" in whole(model)
    assert model.target_names_.tolist() == TARGETS
    lazy = model.predict(D, return_std=True)
    for found, expected in zip(lazy, full.predict(X, return_std=True), strict=True):
        assert_close(found.compute(), expected, 1e-8)


@over(SHARED)
def test_several_targets_of_wide_arrays(name):
    X, y, w = wide(weighted=True)
    Y = targets(X, y)
    D, _, weights = spread(X, y, w)
    model = quietly(make(name).fit, D, da.from_array(Y, chunks=(33, 2)), weights)
    assert_same(model, quietly(make(name).fit, X, Y, w), X, rtol=1e-8)
    assert "blocks of columns" in whole(model)


def test_several_targets_where_one_is_taken():
    X, y, _ = tall()
    with pytest.raises(InputError, match="y has 3 columns, but BasisPursuitRegressor takes one"):
        make("ard").fit(spread(X, y)[0], targets(X, y))
    D, column, _ = spread(X, y)
    one, other = (make("ard").fit(D, target) for target in (column[:, None], column))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    D, column, _ = spread(*wide()[:2])
    one, other = (make("ard").fit(D, target) for target in (column[:, None], column))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def whole(model):
    return " ".join(str(model.summary()).split())


def test_a_target_that_is_here():
    X, y, w = tall(weighted=True)
    D, _, _ = spread(X, y)
    for target, weights in ((y, w), (y.tolist(), w.tolist()), (pd.Series(y, name="price"), w)):
        model = StepwiseRegressor().fit(D, target, weights)
        assert_close(model.coef_, StepwiseRegressor().fit(X, y, w).coef_, 1e-9)
    assert str(model.summary()).startswith("price explained")


def test_nothing_is_gathered_here(monkeypatch):
    """Neither scikit-learn nor anybody else turns the collection into an array."""
    X, y, _ = tall()
    collection, target, _ = spread(X, y)

    def refused(*_, **__):
        raise AssertionError("the collection was gathered")

    monkeypatch.setattr(da.Array, "__array__", refused)
    model = StepwiseRegressor().fit(collection, target)
    lazy = model.predict(collection)
    assert isinstance(lazy, da.Array)


def test_single_precision():
    X, y, _ = tall()
    D, target, _ = spread(X.astype(np.float32), y.astype(np.float32))
    model = StepwiseRegressor().fit(D, target)
    assert model.coef_.dtype == np.float32
    assert model.predict(D).dtype == model.predict(D).compute().dtype == np.float32


def test_rows_come_on_top():
    X, y, _ = tall()
    model = StepwiseRegressor().fit(*spread(X[:60], y[:60])[:2]).partial_fit(X[60:], y[60:])
    assert_same(model, StepwiseRegressor().fit(X, y), X, leave_out=ROWS_ONLY)
    assert "rows 100, condensed std" not in whole(model)
    assert "since 60" not in whole(model)


def test_folds_where_nobody_knows_the_rows():
    X, y, _ = tall()
    D, target, _ = spread(X, y, chunks=(25, 8), rows=25)
    some = da.from_array(np.ones(100, bool), chunks=25)
    D, target = D[some], target[some]
    assert np.isnan(D.shape[0])
    by_chunk = StepwiseRegressor(criterion="cv", cv=4).fit(D, target)
    full = StepwiseRegressor(criterion="cv", cv=4).fit(X, y)
    assert_same(by_chunk, full, X, leave_out=ROWS_ONLY)
    counted = StepwiseRegressor(criterion="cv").fit(D, target)
    full = StepwiseRegressor(criterion="cv").fit(X, y)
    assert_same(counted, full, X, leave_out=ROWS_ONLY)


def test_data_frames():
    dd = pytest.importorskip("dask.dataframe", reason="needs pyarrow")
    X, y, _ = tall()
    frame = pd.DataFrame(X, columns=NAMES).assign(price=y)
    parts = dd.from_pandas(frame, npartitions=3)
    model = StepwiseRegressor(include=["e"]).fit(parts[NAMES], parts["price"])
    full = StepwiseRegressor(include=["e"]).fit(frame[NAMES], frame["price"])
    assert model.feature_names_in_.tolist() == NAMES
    assert model._state_.columns.target == "price"
    assert type(model.path_) is pd.DataFrame
    assert_close(model.coef_, full.coef_, 1e-9)
    assert_close(model.predict(parts[NAMES]).compute(), full.predict(frame[NAMES]), 1e-9)
    assert model.transform(parts[NAMES]).columns.tolist() == full.get_feature_names_out().tolist()
    with pytest.raises(InputError, match='X has "b" for column 0, which was "a" in fit'):
        model.predict(parts[NAMES[1:] + NAMES[:1]])


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda X, y: (X, None), "y is missing"),
        (lambda X, y: (X[:, 0], y), r"X must have two dimensions .*not 1"),
        (lambda X, y: (X + 1j, y), "X is of type complex128, but estimators take real"),
        (lambda X, y: (X, y[:-1]), r"y must have shape"),
        (lambda X, y: (X, y, -da.ones_like(y)), "sample_weight must be numbers from 0 up"),
        (lambda X, y: (X, y, da.ones(3)), "sample_weight must have shape"),
        (lambda X, y: (X, y, da.zeros_like(y)), "of positive weight"),
        (lambda X, y: (da.where(X[7, 2] == X, np.nan, X), y),
         "X has 1 NaN or infinite entry, the first at row 7, column 2"),
        (lambda X, y: (X, da.where(y == y[7], np.inf, y)),
         "y has 1 NaN or infinite entry, the first at row 7"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", [tall, wide])
def test_bad_collections(shape, spoil, sentence):
    D, target, _ = spread(*shape()[:2])
    model = StepwiseRegressor()
    with pytest.raises(InputError, match=sentence) as caught:
        model.fit(*spoil(D, target))
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "n_features_in_")


def test_what_needs_rows_that_are_here():
    D, target, _ = spread(*tall()[:2])
    with pytest.raises(InputError, match="Leave-one-out needs the rows themselves"):
        StepwiseRegressor(criterion="loo").fit(D, target)
    with pytest.raises(InputError, match="X is a Dask collection, whose rows are not here"):
        StepwiseRegressor().partial_fit(D, target)
    # Of a wide one they can be had.
    X, y, _ = wide()
    model = StepwiseRegressor(criterion="loo")
    assert_close(model.fit(*spread(X, y)).loo_, StepwiseRegressor(criterion="loo").fit(X, y).loo_)


# --- predict -------------------------------------------------------------------------------------


@over(["forward", "rmp", "bpdn", "no intercept"])
@pytest.mark.parametrize("chunks", [(30, 3), (100, 8), (7, 1)])
def test_predictions_are_lazy(name, chunks, monkeypatch):
    X, y, _ = tall()
    model = make(name).fit(X, y)
    D = da.from_array(X, chunks=chunks)
    asked = []
    of_block = prediction.Predictor._of_block
    monkeypatch.setattr(
        prediction.Predictor, "_of_block", lambda *args: asked.append(1) or of_block(*args)
    )
    mean = model.predict(D)
    assert isinstance(mean, da.Array)
    assert mean.shape == (100,)
    assert not asked
    assert_close(mean.compute(), model.predict(X), 1e-12)
    if model.covariance_ is not None:
        both = model.predict(D, return_std=True)
        for lazy, here in zip(both, model.predict(X, return_std=True), strict=True):
            assert_close(lazy.compute(), here, 1e-12)


def test_chosen_features_are_lazy():
    X, y, _ = tall()
    model = StepwiseRegressor().fit(X, y)
    D = da.from_array(X, chunks=(30, 3))
    some = model.transform(D)
    assert isinstance(some, da.Array)
    np.testing.assert_array_equal(some.compute(), model.transform(X))
    with pytest.raises(InputError, match="the model is one of 8 columns"):
        model.transform(D[:, 1:])


def test_what_is_sent_to_predict_is_small():
    import pickle

    from sparsewise.estimators.prediction import Predictor

    X, y = table(100, 80)
    model = StepwiseRegressor(sparsity=3).partial_fit(X, y)
    assert len(pickle.dumps(Predictor.of(model._state_, np.dtype(float)))) < 2000


def test_a_model_of_nothing():
    X, _, _ = tall()
    model = StepwiseRegressor().fit(X, np.random.default_rng(3).standard_normal(100))
    assert not model.get_support().any()
    D = da.from_array(X, chunks=(30, 3))
    assert_close(model.predict(D).compute(), model.predict(X))


def test_bad_rows_to_predict():
    X, y, _ = tall()
    model = StepwiseRegressor().fit(X, y)
    with pytest.raises(InputError, match=r"X has shape \(100, 7\), but the model is one of 8 col"):
        model.predict(da.from_array(X[:, :-1]))
    lazy = model.predict(da.from_array(np.where(X > 0, np.nan, X), chunks=30))
    with pytest.raises(InputError, match="X has NaN or infinite entries in a chosen feature"):
        lazy.compute()
    lazy = model.predict(da.from_array(np.full_like(X, 1e308), chunks=30))
    with pytest.raises(InputError, match="A prediction is beyond the range of float64"):
        lazy.compute()
