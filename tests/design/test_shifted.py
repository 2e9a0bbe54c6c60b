"""A sparse matrix less one of rank one: the contract of designs, and it is never made dense."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sparse

import sparsewise
from sparsewise.design.sparse import ShiftedSparseDesign
from sparsewise.selection.reduction import reduce
from tests.problems import normal
from tests.storages import random_csr

FORMATS = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix]


@pytest.fixture(params=FORMATS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture(params=[np.float32, np.float64])
def dtype(request):
    return request.param


@pytest.fixture
def pair(kind, dtype):
    """A shifted design of 13 x 9 with an empty column, and the same matrix as an array."""
    rng = np.random.default_rng(21)
    S = normal(rng, 13, 9) * (rng.random((13, 9)) < 0.4)
    u, b = normal(rng, 13), normal(rng, 9)
    S[:, 4] = b[4] = 0
    A = S - np.outer(u, b)
    return ShiftedSparseDesign(kind(S.astype(dtype)), u, b, np.linalg.norm(A, axis=0)), A


def close(actual, expected, dtype):
    size = float(np.max(np.abs(expected), initial=1e-300))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=100 * np.finfo(dtype).eps * size)


@pytest.mark.parametrize("vectors", [float, complex])
def test_products(pair, dtype, vectors):
    design, A = pair
    rng = np.random.default_rng(22)
    x, v, V = (normal(rng, *shape, kind=vectors) for shape in ((9,), (13,), (13, 4)))
    close(design.matvec(x), A @ x, dtype)
    close(design.rmatvec(v), A.T @ v, dtype)
    close(design.rmatmat(V), A.T @ V, dtype)
    close(np.vdot(v, design.matvec(x)), np.vdot(design.rmatvec(v), x), dtype)
    assert design.rmatmat(V).flags.f_contiguous


def test_columns(pair, dtype):
    design, A = pair
    J = np.array([7, 0, 3])
    assert design.dtype == design.columns(J).dtype == dtype
    assert design.shape == A.shape
    close(design.columns(J), A[:, J], dtype)
    close(design.columns(slice(2, 5)), A[:, 2:5], dtype)
    close(design.column(6), A[:, 6], dtype)
    close(design.laid_out(None, design.dtype), A, dtype)
    assert design.columns(J[:0]).shape == (13, 0)


def test_norms(pair, dtype):
    design, A = pair
    np.testing.assert_allclose(design.norms(), np.linalg.norm(A, axis=0), rtol=1e-15)
    close(np.linalg.norm(design.unit_columns(slice(None)), axis=0), np.arange(9) != 4, dtype)


def test_an_empty_column_is_zero_in_all_products(pair):
    design, _ = pair
    assert not design.column(4).any()
    assert not design.rmatmat(normal(np.random.default_rng(23), 13, 3))[4].any()
    assert not design.matvec(np.eye(9)[4]).any()
    assert design.inverse_norms()[4] == 0


def table(n=60, m=30, density=0.3):
    """A sparse table with a constant, an empty, a full and a repeated column; noise of 0.5."""
    rng = np.random.default_rng(24)
    X = normal(rng, n, m) * (rng.random((n, m)) < density) + 0.0
    X[:, 3], X[:, 4], X[:, 5], X[:, 6] = 0.1, 0, 100 + normal(rng, n), X[:, 2]
    y = 7 + X[:, [1, 2, 5, 9]] @ np.array([3, -2, 1, 4]) + 0.5 * normal(rng, n)
    return X, y, rng.integers(0, 3, n).astype(float)


SOLVERS = {
    "forward": {"sparsity": 8},
    "rmp0": {"delta": 1.5},
    "rmp": {},
    "bpdn": {"residual": 6.0},
    "backward": {"sparsity": 4, "start": [0, 1, 2, 5, 7, 8, 9, 10]},
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_solutions_are_those_of_the_dense_table(name, kind, dtype, weighted):
    X, y, weights = table()
    X = X.astype(dtype)
    w = weights if weighted else None
    dense, thin = reduce(X, y, w, True), reduce(kind(X), y, w, True)
    assert isinstance(thin.design, ShiftedSparseDesign)
    assert thin.design.dtype == dtype
    solver = getattr(sparsewise, name)
    expected = solver(dense.design, dense.target, **SOLVERS[name])
    actual = solver(thin.design, thin.target, **SOLVERS[name])
    assert {1, 5, 9} <= set(expected.support)
    np.testing.assert_array_equal(actual.support, expected.support)
    rtol = 1e-9 if dtype is np.float64 else 1e-3
    np.testing.assert_allclose(actual.coef, expected.coef, rtol=rtol, atol=rtol)
    if name == "rmp":
        assert actual.sigma == pytest.approx(expected.sigma, rel=rtol)
        assert actual.log_evidence == pytest.approx(expected.log_evidence, rel=rtol)
    if dtype is np.float64:
        assert actual.check(thin.design, thin.target).ok


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_memory(kind):
    """Far from the n m numbers of the matrix: O(n + m) for each vector, and the entries."""
    n, m = 20_000, 2_000
    rng = np.random.default_rng(25)
    X = kind(random_csr(rng, n, m, 1e-3))
    y = 3 + X[:, [5, 70, 900]] @ np.array([3.0, 2.0, 1.0])
    small = reduce(X[:50], y[:50], None, True)
    sparsewise.forward(small.design, small.target, sparsity=1)  # compiles what it needs
    tracemalloc.start()
    try:
        reduced = reduce(X, y, np.full(n, 2.0), True)
        solution = sparsewise.forward(reduced.design, reduced.target, sparsity=5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert list(solution.support) == [5, 70, 900]
    assert peak < n * m * 8 / 10, f"{peak / 2**20:.1f} MiB"
