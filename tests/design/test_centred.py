"""Centred and weighted designs: sparse ones are never made dense, and lose no digits."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sparse

import sparsewise
from sparsewise.design import Centred, Weighted, as_design
from sparsewise.design.centred import Reflection
from sparsewise.problem.preprocessing import reduce
from tests.problems import normal
from tests.storages import counts, random_csr, reflected

FORMATS = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix]


@pytest.fixture(params=FORMATS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture(params=[np.float32, np.float64])
def dtype(request):
    return request.param


def test_the_reflection_and_its_way_back():
    """H takes the constant to the first axis: what is left are the rows below it."""
    rng = np.random.default_rng(20)
    for weights in (None, counts(7)):
        rule = Reflection(7, weights)
        V = normal(rng, 6, 3)
        whole = rule.apply_adjoint(V)
        np.testing.assert_allclose(rule.u @ whole, 0, atol=1e-15)
        np.testing.assert_allclose(np.column_stack([rule.apply(v) for v in whole.T]), V, atol=1e-14)
        np.testing.assert_allclose(rule.apply(rule.u), 0, atol=1e-15)
        X = 5 + normal(rng, 7, 3)
        rest, means = rule.columns(X)
        np.testing.assert_allclose(rest, reflected(X, weights), atol=1e-14)
        np.testing.assert_allclose(means, np.average(X, axis=0, weights=weights), rtol=1e-15)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_columns_products_and_norms_of_sparse_tables(kind, dtype, weighted):
    X, _, weights = table()
    X, w = X.astype(dtype), weights + 0.5 if weighted else None
    design = Centred(as_design(kind(X)), w)
    A = reflected(X.astype(float), w)
    eps = 100 * np.finfo(dtype).eps
    J = np.array([7, 0, 5])
    assert design.dtype == design.columns(J).dtype == dtype
    assert (design.shape, design.rows) == ((59, 30), 59)
    np.testing.assert_allclose(design.columns(J), A[:, J], rtol=0, atol=10 * eps)
    np.testing.assert_allclose(design.norms(), np.linalg.norm(A, axis=0), rtol=eps, atol=1e-12)
    np.testing.assert_allclose(design.means, np.average(X, axis=0, weights=w), rtol=eps, atol=eps)
    V = normal(np.random.default_rng(22), 59, 3)
    scale = np.linalg.norm(V) * 100
    np.testing.assert_allclose(design.rmatmat(V), A.T @ V, rtol=0, atol=eps * scale)
    assert design.rmatmat(V).flags.f_contiguous
    for j in (3, 4):  # a constant and an empty column
        assert not design.column(j).any()
        assert not design.rmatmat(V)[j].any()
        assert not design.matvec(np.eye(30)[j]).any()
        assert design.inverse_norms()[j] == 0


def test_a_root_for_each_row():
    for root in (np.ones(3), np.ones((4, 1))):
        with pytest.raises(ValueError, match=r"root must have shape \(4,\), one entry per row"):
            Weighted(as_design(np.eye(4)), root)


def test_wrappers_wrap_each_other():
    """Rows of a weighted matrix may be centred, those of a centred one weighted."""
    rng = np.random.default_rng(23)
    A, root = normal(rng, 12, 5), np.sqrt(counts(12))
    one = Centred(Weighted(as_design(A), root, rows=30))
    assert one.rows == 29
    np.testing.assert_allclose(one.columns(slice(None)), reflected((A.T * root).T), atol=1e-14)
    other = Weighted(Centred(as_design(A)), root[1:])
    np.testing.assert_allclose(other.stored().A, (reflected(A).T * root[1:]).T, atol=1e-14)
    twice = Centred(Centred(as_design(A)))
    B, R = reflected(reflected(A)), twice.triangle()
    assert twice.rows == 10
    np.testing.assert_allclose(twice.columns(slice(None)), B, atol=1e-14)
    np.testing.assert_allclose(R.T @ R, B.T @ B, atol=1e-13)


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
    assert isinstance(thin.design, Centred)
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
