"""A large table stays the only array of its size, and what is made of it is that of a copy."""

import json
import subprocess
import sys

import numpy as np
import pytest

from sparsewise import BasisPursuitRegressor, SparseBayesRegressor, StepwiseRegressor
from sparsewise.selection import reduction
from tests.estimators.conftest import SETTINGS, assert_close, assert_same, make, over, table

MEASURE = """
import json, sys, tracemalloc, warnings
import numpy as np
from sklearn.linear_model import LinearRegression
import sparsewise as sw

warnings.simplefilter("ignore")
path, n, m, dtype, order = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:6]
rng = np.random.default_rng(0)
X = np.memmap(path, dtype, "w+", shape=(n, m), order=order)
for first in range(0, n, 1000):
    X[first : first + 1000] = rng.standard_normal(X[first : first + 1000].shape) + 100
X.flush()
X = np.memmap(path, dtype, "r", shape=(n, m), order=order)
y = np.asarray(X[:, :3] @ np.ones(3, dtype)) + rng.standard_normal(n).astype(dtype)
weights = 0.5 + rng.random(n)
size = {} if m < n / 4 else {"sparsity": 5}

def extra(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()

# What is compiled and imported is there afterwards.
sw.StepwiseRegressor(**size).fit(X, y).summary()
sw.BasisPursuitRegressor().fit(np.array(X[:50, :5]), np.array(y[:50]))
model = sw.StepwiseRegressor(**size)
found = {
    "fit": extra(lambda: model.fit(X, y)),
    "predict": extra(lambda: model.predict(X, return_std=True)),
    "score": extra(lambda: model.score(X, y)),
    "summary": extra(lambda: str(model.summary())),
    "weights": extra(lambda: sw.StepwiseRegressor(**size).fit(X, y, sample_weight=weights)),
    "origin": extra(lambda: sw.StepwiseRegressor(fit_intercept=False, **size).fit(X, y)),
    "bayes": extra(lambda: sw.SparseBayesRegressor(sigma=1.0).fit(X, y)),
    "pursuit": extra(lambda: sw.PursuitRegressor(sparsity=4).fit(X, y)),
}
if m < n / 4:
    found["folds"] = extra(lambda: sw.StepwiseRegressor(criterion="cv").fit(X, y))
    found["noise"] = extra(lambda: sw.BasisPursuitRegressor().fit(X, y))
    found["least squares"] = extra(lambda: LinearRegression().fit(X, y))
print(json.dumps(found))
"""


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
    words = [str(tmp_path / "X"), *map(str, shape), dtype, order]
    run = subprocess.run([sys.executable, "-c", MEASURE, *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    extra = json.loads(run.stdout)
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
        assert large.path_.columns == path.columns
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
