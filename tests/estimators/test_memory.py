"""A large table stays the only array of its size, and what is made of it is that of a copy."""

import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sparsewise import (
    BasisPursuitRegressor,
    PursuitRegressor,
    SparseBayesRegressor,
    StepwiseRegressor,
)
from sparsewise.problem import preprocessing as reduction
from tests.estimators.conftest import SETTINGS, assert_close, assert_same, make, over, table


def mapped(path, shape, dtype, order):
    """A table in a file, far from zero, and a target of three of its features."""
    rng = np.random.default_rng(0)
    X = np.memmap(path, dtype, "w+", shape=shape, order=order)
    for first in range(0, shape[0], 1000):
        rows = X[first : first + 1000]
        rows[...] = rng.standard_normal(rows.shape) + 100
    X.flush()
    X = np.memmap(path, dtype, "r", shape=shape, order=order)
    noise = rng.standard_normal(shape[0]).astype(dtype)
    return X, np.asarray(X[:, :3] @ np.ones(3, dtype)) + noise


def extra_memory(call, size):
    """The peak while something is called, in parts of `size`."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("shape", "dtype", "order"),
    [
        ((50_000, 200), "float64", "C"),
        ((50_000, 200), "float64", "F"),
        ((100_000, 200), "float32", "C"),
        ((1_000, 10_000), "float64", "C"),
        ((1_000, 10_000), "float64", "F"),
    ],
)
def test_a_memory_map_is_not_copied(shape, dtype, order, tmp_path):
    """80 MB: a copy would be 100 %."""
    X, y = mapped(tmp_path / "X", shape, dtype, order)
    n, m = shape
    weights = 0.5 + np.random.default_rng(1).random(n)
    size = {} if m < n / 4 else {"sparsity": 5}
    model = StepwiseRegressor(**size)
    calls = {
        "fit": lambda: model.fit(X, y),
        "predict": lambda: model.predict(X, return_std=True),
        "score": lambda: model.score(X, y),
        "summary": lambda: str(model.summary()),
        "weights": lambda: StepwiseRegressor(**size).fit(X, y, sample_weight=weights),
        "origin": lambda: StepwiseRegressor(fit_intercept=False, **size).fit(X, y),
        "bayes": lambda: SparseBayesRegressor(sigma=1.0).fit(X, y),
        "pursuit": lambda: PursuitRegressor(sparsity=4).fit(X, y),
    }
    if m < n / 4:
        calls |= {
            "folds": lambda: StepwiseRegressor(criterion="cv").fit(X, y),
            "noise": lambda: BasisPursuitRegressor().fit(X, y),
            "least squares": lambda: LinearRegression().fit(X, y),
        }
    # What is compiled and imported is there afterwards.
    StepwiseRegressor(**size).fit(X, y).summary()
    BasisPursuitRegressor().fit(np.array(X[:50, :5]), np.array(y[:50]))
    extra = {what: extra_memory(call, X.nbytes) for what, call in calls.items()}
    least_squares = extra.pop("least squares", 1.0)
    allowed = {"folds": 0.2}  # the rows of each are numbers, too
    assert {what: part for what, part in extra.items() if part > allowed.get(what, 0.05)} == {}
    assert max(extra.values()) < least_squares


@pytest.fixture
def no_copies(monkeypatch):
    """Every array is a large one."""
    monkeypatch.setattr(reduction, "COPIED", 0)


def both_ways(name, X, y, monkeypatch, weights=None):
    """The estimator fitted as to a small table and as to a large one."""
    small = make(name).fit(X, y, sample_weight=weights)
    path = small.path_
    with monkeypatch.context() as patch:
        patch.setattr(reduction, "COPIED", 0)
        large = make(name).fit(X, y, sample_weight=weights)
        assert large.path_.keys() == path.keys()
    return small, large


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@over(SETTINGS)
def test_a_large_table_is_a_small_one(name, weighted, order, monkeypatch):
    """Condensed, row by row: the numbers are those of a centred copy."""
    X, y = table()
    weights = np.random.default_rng(3).integers(0, 3, 60) if weighted else None
    small, large = both_ways(name, np.asarray(X, order=order), y, monkeypatch, weights)
    assert_same(large, small, X, rtol=1e-6 if name in ("fista", "mp") else 1e-8)


@pytest.mark.parametrize("order", ["C", "F"])
@over(["forward", "cv", "loo", "both", "rmp", "bpdn", "omp", "no intercept"])
def test_a_large_wide_table_is_a_small_one(name, order, monkeypatch):
    """Shifted, tile by tile."""
    X, y = table(30, 25)
    X = np.asarray(X + 1e3, order=order)
    with monkeypatch.context() as patch:
        patch.setattr("warnings.warn", lambda *args, **words: None)
        small, large = both_ways(name, X, y, monkeypatch)
    assert_same(large, small, X, rtol=1e-7)


@pytest.mark.parametrize("shape", [(200, 6), (20, 15)])
@over(["forward", "rmp", "bpdn"])
def test_offsets_cost_a_large_table_no_digits(name, shape, monkeypatch):
    """Features of 1e9 ± 1, whole numbers that are exact: as far from zero as on it."""
    rng = np.random.default_rng(0)
    X = np.round(16 * rng.standard_normal(shape))
    y = X[:, :3] @ [3.0, 2.0, 1.0] + rng.standard_normal(shape[0])
    words = {"sparsity": 3} if name == "forward" else {"sigma": 1.5}
    monkeypatch.setattr(reduction, "COPIED", 0)
    near, far = make(name, **words).fit(X, y), make(name, **words).fit(X + 1e9, y)
    np.testing.assert_array_equal(near.get_support(), far.get_support())
    assert_close(far.coef_, near.coef_, rtol=1e-9)
    assert_close(far.predict(X + 1e9), near.predict(X), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("shape", [(60, 8), (20, 15)])
def test_units_of_a_large_table(scale, shape, no_copies):
    X, y = table(*shape)
    one = StepwiseRegressor(sparsity=3).fit(X, y)
    other = StepwiseRegressor(sparsity=3).fit(scale * X, y)
    np.testing.assert_array_equal(one.get_support(), other.get_support())
    assert_close(other.coef_ * scale, one.coef_, rtol=1e-9)
    single = np.float32(max(min(scale, 1e35), 1e-35))
    model = StepwiseRegressor(sparsity=3).fit(single * X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    assert_close(model.predict(single * X.astype(np.float32)), one.predict(X), rtol=1e-3)


@pytest.mark.parametrize(
    "model", [StepwiseRegressor(), SparseBayesRegressor(), BasisPursuitRegressor()]
)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
def test_constant_and_equal_columns_of_a_large_table(model, value, no_copies):
    X, y = table(80, 6)
    X[:, 0], X[:, 5] = value, X[:, 1]
    model.fit(X, y)
    assert not model.get_support()[[0, 5]].any()
    assert model.get_support()[1]
    flat = model.fit(X, np.full(80, value))
    assert not flat.get_support().any()
    assert flat.predict(X) == pytest.approx(value)


def test_folds_may_repeat_rows_of_a_large_table(no_copies, monkeypatch):
    X, y = table()
    rows = np.arange(60)
    folds = [(np.append(rows[20:], rows[20:30]), rows[:20]), (rows[:40], rows[40:])]
    large = StepwiseRegressor(criterion="cv", cv=folds).fit(X, y)
    monkeypatch.undo()
    small = StepwiseRegressor(criterion="cv", cv=folds).fit(X, y)
    assert_close(large.cv_errors_.by_fold, small.cv_errors_.by_fold)
