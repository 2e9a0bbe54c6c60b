"""Sparse tables stay sparse, single precision stays single, and both say the same as others."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from sparsewise import (
    BasisPursuitRegressor,
    PursuitRegressor,
    SparseBayesRegressor,
    StepwiseRegressor,
)
from tests.estimators.conftest import (
    SETTINGS,
    STEPWISE,
    assert_close,
    assert_same,
    make,
    over,
    quietly,
    table,
)
from tests.storages import random_csr

STORES = {
    "csr_matrix": scipy.sparse.csr_matrix,
    "csc_matrix": scipy.sparse.csc_matrix,
    "csr_array": scipy.sparse.csr_array,
    "csc_array": scipy.sparse.csc_array,
    "coo_array": scipy.sparse.coo_array,
}


def thin(n=120, m=10, seed=0):
    """One in three entries; a column of ones and a full one far from zero among them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m)) * (rng.random((n, m)) < 0.3)
    X[:, 4] = 1.0
    X[:, 5] = 100 + rng.standard_normal(n)
    y = 2 + X[:, :3] @ [3.0, -2.0, 1.0] + X[:, 5] + 0.3 * rng.standard_normal(n)
    return X, y


@pytest.mark.parametrize("store", STORES)
@over(["forward", "both", "cv", "rmp", "bpdn", "ard", "omp"])
def test_every_sparse_format(name, store):
    X, y = thin()
    dense, sparse = make(name).fit(X, y), make(name).fit(STORES[store](X), y)
    assert_same(sparse, dense, X)
    assert_close(sparse.predict(STORES[store](X)), dense.predict(X))
    selected = sparse.transform(STORES[store](X))
    assert scipy.sparse.issparse(selected)
    np.testing.assert_array_equal(selected.toarray(), dense.transform(X))


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@over(SETTINGS)
def test_sparse_is_dense(name, weighted):
    X, y = thin()
    weights = np.random.default_rng(3).integers(0, 3, 120) if weighted else None
    # A column of ones is the intercept, or none.
    dense = make(name).fit(X, y, sample_weight=weights)
    sparse = make(name).fit(scipy.sparse.csr_array(X), y, sample_weight=weights)
    rtol = 1e-6 if name in ("fista", "mp") else 1e-8
    assert_same(sparse, dense, X, rtol=rtol)
    assert_close(sparse.predict(scipy.sparse.csc_array(X)), dense.predict(X), rtol=rtol)
    if sparse.coef_std_ is not None:
        for mine, theirs in zip(
            sparse.predict(scipy.sparse.csr_array(X), return_std=True),
            dense.predict(X, return_std=True),
            strict=True,
        ):
            assert_close(mine, theirs, rtol=rtol)


@over(["forward", "cv", "rmp", "bpdn", "omp"])
def test_entries_given_twice_add_up(name):
    X, y = thin()
    plain = scipy.sparse.coo_array(X)
    double = scipy.sparse.coo_array(
        (np.append(plain.data / 2, plain.data / 2), np.tile(np.array(plain.coords), 2)),
        shape=X.shape,
    )
    rows = scipy.sparse.csr_array(X)
    twice = scipy.sparse.csr_array(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr), shape=X.shape
    )
    dense = make(name).fit(X, y)
    for sparse in (double, twice):
        assert_same(make(name).fit(sparse, y), dense, X)


def large(n, m):
    """One entry in fifty."""
    rng = np.random.default_rng(0)
    X = random_csr(rng, n, m, 0.02)
    y = X[:, [3, 50, 200]] @ [3.0, 2.0, -4.0] + 1 + 0.1 * rng.standard_normal(n)
    return X, y


@pytest.fixture
def largest(monkeypatch):
    """The sizes of all parts of sparse tables that are made dense."""
    sizes = []
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_array):
        plain = kind.toarray

        def spy(self, *args, _plain=plain, **words):
            sizes.append(self.shape[0] * self.shape[1])
            return _plain(self, *args, **words)

        monkeypatch.setattr(kind, "toarray", spy)
        monkeypatch.setattr(kind, "todense", spy)
    return sizes


SPARSE = [
    StepwiseRegressor(sparsity=8),
    StepwiseRegressor("both", criterion="ebic"),
    StepwiseRegressor("foba", delta=0.6),
    SparseBayesRegressor(),
    SparseBayesRegressor("fast_sbl"),
    BasisPursuitRegressor(),
    BasisPursuitRegressor(residual=8.0),
    BasisPursuitRegressor("ard", residual=8.0),
    BasisPursuitRegressor(penalty=0.5, solver="fista"),
    PursuitRegressor(sparsity=8),
    PursuitRegressor("srr", sparsity=8),
]


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@pytest.mark.parametrize("model", SPARSE, ids=str)
def test_never_made_dense(model, weighted, largest):
    """No more than the columns that are in the model, and a few to look at, ever are."""
    X, y = large(3000, 400)
    weights = np.random.default_rng(1).integers(1, 3, 3000) if weighted else None
    model = clone(model).fit(X, y, sample_weight=weights)
    model.predict(X)
    assert model.get_support()[[3, 50, 200]].all()
    assert largest
    assert max(largest) < 0.5 * 3000 * 400


def test_memory():
    """160 MB if it were dense; what is needed are the columns of the model."""
    X, y = large(20_000, 1_000)
    peaks = []
    for model in (
        StepwiseRegressor(sparsity=8),  # the first one loads what is compiled, too
        StepwiseRegressor(sparsity=8),
        SparseBayesRegressor(sigma=0.1),
        PursuitRegressor(sparsity=8),
    ):
        tracemalloc.start()
        try:
            model.fit(X, y).predict(X)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert max(peaks[1:]) < 20_000 * 1_000 * 8 / 5


# --- single precision ----------------------------------------------------------------------------


@over(SETTINGS)
def test_single_precision_is_kept(name):
    X, y = table(80, 6)
    single = X.astype(np.float32)
    model = make(name).fit(single, y.astype(np.float32))
    assert model.coef_.dtype == np.float32
    assert model.predict(single).dtype == np.float32
    assert model.transform(single).dtype == np.float32
    if model.coef_std_ is not None:
        mean, std = model.predict(single, return_std=True)
        assert mean.dtype == std.dtype == np.float32
    double = make(name).fit(single.astype(np.float64), y.astype(np.float32))
    assert double.coef_.dtype == np.float64
    np.testing.assert_array_equal(model.get_support(), double.get_support())
    rtol = 1e-3 if name in ("fista", "mp", "focuss") else 2e-4
    assert_close(model.coef_ * X.std(0), double.coef_ * X.std(0), rtol=rtol)
    assert_close(model.predict(single), double.predict(single), rtol=rtol)
    assert_close(model.noise_, double.noise_, rtol=2e-3)
    for fitted in (
        "coef_", "means_", "intercept_", "noise_", "covariance_", "coef_std_", "intercept_std_",
        "gamma_", "sigma_",
    ):  # fmt: skip
        if (value := getattr(model, fitted, None)) is not None:
            assert value.dtype == np.float32, fitted
            assert np.asarray(getattr(double, fitted)).dtype == np.float64, fitted


@pytest.mark.parametrize("target", [np.float64, np.int64])
@over(["forward", "rmp", "bpdn", "omp", "cv"])
def test_the_type_is_that_of_the_features(name, target):
    X, y = table(80, 6)
    model = make(name).fit(X.astype(np.float32), np.round(100 * y).astype(target))
    assert model.coef_.dtype == np.float32
    assert model.predict(X.astype(np.float32)).dtype == np.float32
    assert model.predict(X).dtype == np.float64


@over(["forward", "cv", "rmp", "bpdn", "ard", "omp"])
def test_sparse_and_single(name):
    X, y = thin()
    X[:, 5] -= 100
    sparse = scipy.sparse.csr_array(X.astype(np.float32))
    model = make(name).fit(sparse, y)
    assert model.coef_.dtype == np.float32
    assert model.predict(sparse).dtype == np.float32
    assert model.transform(sparse).dtype == np.float32
    dense = make(name).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(model.get_support(), dense.get_support())
    assert_close(model.coef_, dense.coef_, rtol=1e-4)
    assert_close(model.predict(sparse), dense.predict(X.astype(np.float32)), rtol=1e-4)


@over(["forward", "rmp", "bpdn", "omp"])
def test_single_precision_far_from_zero(name):
    """Features of 1e4 ± 1 have three digits of their own: these are not lost on the way."""
    X, y = table(80, 4, seed=1)
    X = (X / X.std(0) + 1e4).astype(np.float32)
    single, double = make(name).fit(X, y), make(name).fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(single.get_support(), double.get_support())
    assert_close(single.predict(X), double.predict(X.astype(np.float64)), rtol=1e-4)
    sparse = scipy.sparse.csr_array(X)
    assert_close(single.predict(sparse), single.predict(X), rtol=1e-6)


def test_half_precision_becomes_double():
    X, y = table(80, 4)
    model = quietly(StepwiseRegressor().fit, X.astype(np.float16), y)
    assert model.coef_.dtype == np.float64


@over([*STEPWISE])
def test_an_exact_fit_in_single_precision(name):
    """What single precision can't tell from exact is taken as such: no feature more."""
    X = np.round(4 * table(60, 8)[0]).astype(np.float32)
    y = (2 + X[:, 2] - 3 * X[:, 5] + X[:, 7]).astype(np.float32)
    if SETTINGS[name].fit_intercept and name not in ("delta", "delta, both"):
        model = make(name).fit(X, y)
        assert model.get_support(indices=True).tolist() == [2, 5, 7]


@over(["forward", "both", "rmp", "bpdn", "ompr"])
def test_a_sparse_table_without_an_entry(name):
    X, y = scipy.sparse.csr_array((20, 3), dtype=np.float32), np.arange(20.0)
    model = make(name).fit(X, y)
    assert not model.get_support().any()
    assert model.predict(X) == pytest.approx(9.5)


def test_a_target_beyond_single_precision_is_refused():
    X, y = table(40, 4)
    with pytest.raises(ValueError, match="y is beyond the range of float32, in which X is"):
        StepwiseRegressor().fit(X.astype(np.float32), 1e60 * y)
    model = StepwiseRegressor().fit(X.astype(np.float32), 1e25 * y.astype(np.float32))
    assert model.get_support().sum() >= 3
    assert np.isfinite(model.covariance_).all()  # squares, which single precision can't hold
    with pytest.raises(ValueError, match="A prediction is beyond the range of float32"):
        model.predict(1e20 * X.astype(np.float32))
