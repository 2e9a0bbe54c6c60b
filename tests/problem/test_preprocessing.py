"""Weights and intercept are taken out, and nothing else: against exact sums and repeated rows."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given
from hypothesis import strategies as st

import sparsewise
from sparsewise.design import as_design, base
from sparsewise.plan import SMALL
from sparsewise.problem.preprocessing import reduce
from tests.problems import normal
from tests.storages import reversed_strides, strided

KEEP = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "strided columns": lambda X: strided(X.T).T,
    "reversed": reversed_strides,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
}


@pytest.fixture(params=KEEP)
def keep(request):
    return KEEP[request.param]


def centred(values, weights):
    """One column less its mean, and this: in exact arithmetic, rounded at the end."""
    values, weights = (list(map(Fraction, column.tolist())) for column in (values, weights))
    products = (w * x for w, x in zip(weights, values, strict=True))
    mean = sum(products, Fraction(0)) / sum(weights, Fraction(0))
    return np.array([float(x - mean) for x in values]), float(mean)


def naive(X, y, weights, intercept):
    """[X y] less its means, times √w; and the means."""
    table = np.column_stack([X, y]).astype(float)
    weights = np.ones(len(table)) if weights is None else weights
    means = np.zeros(table.shape[1])
    if intercept:
        columns, means = zip(*(centred(column, weights) for column in table.T), strict=True)
        table = np.column_stack(columns)
    return np.sqrt(weights)[:, None] * table, np.array(means)


def lengths(table):
    """Norms of columns, at every scale."""
    largest = np.abs(table).max(axis=0)
    return largest * np.linalg.norm(table / np.where(largest > 0, largest, 1), axis=0)


def cosines(table, size):
    """Inner products of columns in units of these lengths."""
    unit = table / np.where(size > 0, size, 1)
    return unit.T @ unit


def whole(reduced):
    """[A y] as it was reduced."""
    return np.column_stack([reduced.design.columns(slice(None)), reduced.target]).astype(float)


def agree(reduced, X, y, weights, intercept, tolerance=1e-13):
    """All inner products, norms and means are those of the naive version."""
    expected, means = naive(X, y, weights, intercept)
    size = lengths(expected)
    np.testing.assert_allclose(
        cosines(whole(reduced), size), cosines(expected, size), rtol=0, atol=tolerance
    )
    np.testing.assert_allclose(reduced.design.norms(), size[:-1], rtol=tolerance)
    assert reduced.means.dtype == np.float64
    np.testing.assert_allclose(reduced.means, means[:-1], rtol=1e-15, atol=1e-15 * size[:-1].max())
    np.testing.assert_allclose(reduced.level, means[-1], rtol=1e-15, atol=1e-15 * size[-1])


def table(n=40, m=9, seed=0):
    """Sparse, with a constant, an empty and two full columns, and two that are equal."""
    rng = np.random.default_rng(seed)
    X = normal(rng, n, m) * (rng.random((n, m)) < 0.5) + 0.0
    X[:, 3], X[:, 4], X[:, 5], X[:, 8] = 0.1, 0, 5 + normal(rng, n), X[:, 0]
    X[:, 7] = normal(rng, n)
    return X, 3 + normal(rng, n), rng.integers(0, 4, n) * rng.choice([0.7, 1.0, 2.5], n)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_inner_products(keep, dtype, weighted, intercept):
    X, y, weights = table()
    X, w = X.astype(dtype), weights if weighted else None
    reduced = reduce(keep(X), y, w, intercept)
    agree(reduced, X, y, w, intercept, 20 * np.finfo(dtype).eps)
    left = np.count_nonzero(weights) if weighted else len(X)
    assert reduced.design.shape == (left - intercept, 9)
    assert reduced.target.shape == (left - intercept,)
    assert reduced.design.dtype == dtype
    assert reduced.target.dtype == np.float64
    assert reduced.rows == pytest.approx(weights.sum() if weighted else len(X))
    assert reduced.design.rows == reduced.rows - intercept
    assert isinstance(reduced.level, float)
    if not intercept:
        assert reduced.level == 0
        assert not reduced.means.any()


@pytest.mark.parametrize("shape", [(700, 100), (100, 700), (3, 30_000)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tables_of_many_tiles(shape, order, dtype, monkeypatch):
    """Worked on piece by piece; equal columns stay equal, wherever they are."""
    monkeypatch.setattr(base, "TILE_BYTES", 1 << 12)
    rng = np.random.default_rng(1)
    X = np.asarray(10 + normal(rng, *shape), dtype, order=order)
    X[:, -1] = X[:, 1]
    X[:, 0] = 0.1
    y, weights = normal(rng, shape[0]), rng.random(shape[0])
    assert X.size > SMALL
    some = np.array([0, 1, 2, shape[1] // 2, shape[1] - 1])
    for w in (None, weights):
        reduced = reduce(X, y, w, True)
        expected, means = naive(X[:, some], y, w, True)
        Z, z = expected[:, :-1], expected[:, -1]
        A = reduced.design.columns(some)
        scale = np.outer(lengths(Z), lengths(z[:, None]))[:, 0]
        errors = np.abs(A.astype(float).T @ reduced.target - Z.T @ z)
        assert (errors <= 20 * np.finfo(dtype).eps * scale).all()
        np.testing.assert_allclose(reduced.means[some], means[:-1], rtol=1e-15)
        np.testing.assert_array_equal(A[:, 1], A[:, -1])
        assert not A[:, 0].any()
        assert reduced.design.A.flags.c_contiguous == (order == "C")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [True, False])
def test_equal_columns_stay_equal(dtype, order, weighted):
    rng = np.random.default_rng(2)
    for n, m in [(7, 5), (50, 33), (900, 101)]:
        X = np.asarray(np.tile(normal(rng, n, 1), m), dtype, order=order)
        reduced = reduce(X, normal(rng, n), rng.random(n) if weighted else None, True)
        A = reduced.design.columns(slice(None))
        assert (A[:, :1] == A).all()
        assert A.any()


counts = st.lists(st.integers(0, 5), min_size=3, max_size=30).filter(
    lambda list_: np.count_nonzero(list_) > 1
)


@given(counts=counts, seed=st.integers(0, 2**32 - 1), intercept=st.booleans(), thin=st.booleans())
def test_a_weight_is_a_number_of_repeated_rows(counts, seed, intercept, thin):
    X, y, _ = table(len(counts), seed=seed)
    weights = np.array(counts, float)
    kind = sparse.csr_array if thin else np.asarray
    once = reduce(kind(X), y, weights, intercept)
    agree(once, X, y, weights, intercept)
    again = reduce(kind(np.repeat(X, counts, axis=0)), np.repeat(y, counts), None, intercept)
    assert once.rows == again.rows == sum(counts)
    assert isinstance(once.rows, int)
    assert once.design.rows == again.design.rows
    size = lengths(whole(again))
    np.testing.assert_allclose(
        cosines(whole(once), size), cosines(whole(again), size), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(once.means, again.means, rtol=0, atol=1e-14)


@given(counts=counts, seed=st.integers(0, 2**32 - 1), intercept=st.booleans(), thin=st.booleans())
def test_weight_zero_is_no_row_at_all(counts, seed, intercept, thin):
    X, y, _ = table(len(counts), seed=seed)
    weights = np.array(counts, float)
    kept = weights > 0
    kind = sparse.csc_array if thin else np.asarray
    X[~kept], y[~kept] = 1e30, -1e30
    same(
        reduce(kind(X), y, weights, intercept),
        reduce(kind(X[kept]), y[kept], weights[kept], intercept),
    )


def same(one, other):
    """To the last bit."""
    for r, s in zip(one[1:5], other[1:5], strict=True):
        np.testing.assert_array_equal(r, s)
    J = slice(None)
    np.testing.assert_array_equal(one.design.columns(J), other.design.columns(J))
    np.testing.assert_array_equal(one.design.norms(), other.design.norms())
    assert one.design.rows == other.design.rows


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_of_one_are_none(keep, intercept):
    X, y, _ = table()
    same(reduce(keep(X), y, np.ones(40), intercept), reduce(keep(X), y, None, intercept))


def test_evidence_is_that_of_repeated_rows():
    """More rows than entries of the target: the evidence counts them, the noise is theirs."""
    rng = np.random.default_rng(3)
    X = normal(rng, 25, 12)
    y = 2 + 3 * X[:, 1] - X[:, 7] + 0.3 * normal(rng, 25)
    counts = rng.integers(1, 4, 25)
    once = reduce(X, y, counts.astype(float), True)
    again = reduce(np.repeat(X, counts, axis=0), np.repeat(y, counts), None, True)
    assert once.design.rows > len(once.target)
    for words in ({}, {"include": [4]}, {"sigma": 0.3}):
        a = sparsewise.rmp(once.design, once.target, **words)
        b = sparsewise.rmp(again.design, again.target, **words)
        np.testing.assert_allclose(a.coef, b.coef, atol=1e-6)
        assert a.sigma == pytest.approx(b.sigma, rel=1e-6)
        assert a.log_evidence == pytest.approx(b.log_evidence, rel=1e-9)
        assert a.check(once.design, once.target).ok


def test_rows_need_not_be_whole():
    X, y, weights = table()
    reduced = reduce(X, y, weights + 0.3, True)
    assert reduced.rows == pytest.approx(weights.sum() + 12)
    assert reduced.design.rows == reduced.rows - 1
    solution = sparsewise.rmp(reduced.design, reduced.target)
    assert solution.check(reduced.design, reduced.target).ok


# --- rounding ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [True, False])
def test_large_offsets(keep, weighted):
    """All digits that the entries have are there afterwards."""
    X, y, weights = table()
    X = 1e9 + np.round(X, 3)
    X[:, 1] -= 3e12
    y = y + 1e9
    w = weights if weighted else None
    agree(reduce(keep(X), y, w, True), X, y, w, True)


@pytest.mark.parametrize("weighted", [True, False])
def test_large_offsets_in_single_precision(keep, weighted):
    X, y, weights = table()
    X = (1e5 + X).astype(np.float32)
    w = weights if weighted else None
    agree(reduce(keep(X), y, w, True), X, y, w, True, 2e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_far_scales(keep, scale, weighted, intercept):
    X, y, weights = table()
    X[:, [0, 5]] *= scale
    w = weights if weighted else None
    agree(reduce(keep(X), y * scale, w, intercept), X, y * scale, w, intercept)
    agree(reduce(keep(X), y / scale, w, intercept), X, y / scale, w, intercept)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [True, False])
def test_constant_columns(keep, dtype, weighted):
    """Exactly zero, and so are all their products: rounding has left no direction of noise."""
    rng = np.random.default_rng(4)
    values = np.array([0.1, 1e9 + 0.1, -7e-30, 0.0, 1 / 3])
    X = np.tile(values, (1000, 1)).astype(dtype)
    X = np.hstack([X, normal(rng, 1000, 2).astype(dtype)])
    noisy = X[:, 4] * (1 + 5 * np.finfo(dtype).eps * rng.standard_normal(1000))
    X[:, 4] = noisy.astype(dtype)
    assert len(set(X[:, 4])) > 2
    weights = rng.random(1000) if weighted else None
    reduced = reduce(keep(X), np.full(1000, 0.1), weights, True)
    assert not reduced.design.columns(slice(0, 5)).any()
    assert not reduced.design.rmatmat(normal(rng, 999, 2))[:5].any()
    assert not reduced.design.matvec(np.arange(7) < 5).any()
    assert not reduced.design.norms()[:5].any()
    assert (reduced.design.norms()[5:] > 0).all()
    assert reduced.level == 0.1
    assert not reduced.target.any()
    np.testing.assert_array_equal(reduced.means[:5], X[0, :5])


@pytest.mark.parametrize("row", [0, 1, 999])
def test_a_column_with_one_other_entry_is_not_constant(keep, row):
    X = np.full((1000, 2), 0.1)
    X[row, 1] += 1e-12
    reduced = reduce(keep(X), np.arange(1000.0), None, True)
    np.testing.assert_allclose(reduced.design.norms(), [0, 1e-12 * (0.999**0.5)], rtol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(reduced.design.column(1)), 1e-12, rtol=1e-3)


@pytest.mark.parametrize("weight", [None, 0.3, 0.7, 1.1, 2.3])
def test_constant_columns_of_many_rows(weight):
    """Sums of so many equal numbers round alike, again and again, and lose digits."""
    n = 200_000
    X = np.column_stack([np.full(n, 0.1), np.arange(n)])
    weights = None if weight is None else np.full(n, weight)
    for kind in (np.asarray, np.asfortranarray, sparse.csr_array):
        reduced = reduce(kind(X), X[:, 0], weights, True)
        assert (reduced.design.norms() > 0).tolist() == [False, True]
        assert reduced.means[0] == reduced.level == 0.1


def test_constant_where_it_has_weight(keep):
    X, y, _ = table()
    X[:, 1] = np.where(np.arange(40) % 2, 0.3, X[:, 0])
    reduced = reduce(keep(X), y, np.arange(40.0) % 2, True)
    assert not reduced.design.column(1).any()
    assert reduced.means[1] == 0.3


# --- memory and bad input ------------------------------------------------------------------------


def test_nothing_is_copied_without_intercept_and_weights():
    X, y, _ = table()
    for kind in (np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_matrix):
        stored = kind(X)
        reduced = reduce(stored, y, None, False)
        assert type(reduced.design) is type(as_design(stored))
        kept, given_ = reduced.design.A, stored
        if sparse.issparse(stored):
            kept, given_ = kept.data, stored.data
        assert np.shares_memory(kept, given_)
        assert reduced.target is y


def test_the_table_is_left_as_it_is(keep):
    X, y, weights = table()
    stored, before = keep(X), (y.copy(), weights.copy())
    for w in (None, weights):
        for intercept in (True, False):
            reduce(stored, y, w, intercept)
    np.testing.assert_array_equal(stored.toarray() if sparse.issparse(stored) else stored, X)
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(weights, before[1])


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_of_dense_tables(weighted, order):
    """The result, a few tiles, and nothing else of the table's size."""
    rng = np.random.default_rng(5)
    X = np.asarray(rng.standard_normal((1000, 2000), dtype=np.float32), order=order)
    y, weights = rng.standard_normal(1000), rng.random(1000) if weighted else None
    tracemalloc.start()
    try:
        reduced = reduce(X, y, weights, True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * X.nbytes
    assert reduced.design.A.nbytes < X.nbytes


def test_integers_and_single_targets():
    X, y, _ = table()
    integers = np.round(10 * y).astype(np.int32)
    agree(reduce(X, integers, None, True), X, integers, None, True)
    assert reduce(X, integers, None, False).target.dtype == np.float64
    single = y.astype(np.float32)
    assert reduce(X, single, None, True).target.dtype == np.float32


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_duplicate_entries_are_added(kind, intercept):
    X, y, weights = table()
    once = kind(X)
    halves = (np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr)
    twice = kind(halves, shape=X.shape)
    assert not twice.has_canonical_format
    agree(reduce(twice, y, weights, intercept), X, y, weights, intercept)


@pytest.mark.parametrize(
    ("positive", "intercept", "message"),
    [
        (0, True, "sample_weight is zero for all of 20 rows: an intercept needs at least 2"),
        (1, True, "sample_weight is zero for all but 1 of 20 rows: an intercept needs at least 2"),
        (0, False, "sample_weight is zero for all of 20 rows: at least 1 is needed"),
    ],
)
def test_too_few_rows_of_positive_weight(positive, intercept, message):
    X, y, _ = table(20)
    weights = (np.arange(20) < positive) * 1.0
    with pytest.raises(ValueError, match=message):
        reduce(X, y, weights, intercept)


def test_as_few_rows_as_there_may_be():
    X, y, _ = table(20)
    weights = (np.arange(20) < 2) * 3.0
    two = reduce(X, y, weights, True)
    assert two.design.shape == (1, 9)
    assert abs(two.target[0]) == pytest.approx(abs(y[0] - y[1]) * math.sqrt(1.5))
    assert reduce(X, y, (np.arange(20) < 1) * 3.0, False).design.shape == (1, 9)
    for weights in (None, np.array([3.0])):
        with pytest.raises(ValueError, match=r"There is 1 row, but .* intercept needs at least 2"):
            reduce(X[:1], y[:1], weights, True)


# --- several targets -----------------------------------------------------------------------------


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_each_target_as_by_itself(keep, weighted, intercept, large, monkeypatch):
    """A column of y is what it is alone; condensed, its inner products are."""
    if large:
        monkeypatch.setattr("sparsewise.problem.preprocessing.COPIED", 0)
    rng = np.random.default_rng(3)
    X, Y = keep(rng.standard_normal((60, 4)) + 5), rng.standard_normal((60, 3)) * [1, 1e6, 1e-6] + 9
    weights = rng.integers(1, 4, 60) / 2 if weighted else None
    multi_target = reduce(X, Y, weights, intercept)
    assert multi_target.target.shape == (multi_target.design.shape[0], 3)
    assert multi_target.level.shape == (3,)
    for t in range(3):
        one = reduce(X, np.ascontiguousarray(Y[:, t]), weights, intercept)
        np.testing.assert_allclose(multi_target.level[t], one.level, rtol=1e-14)
        target = multi_target.target[:, t]
        np.testing.assert_allclose(
            multi_target.design.rmatvec(np.ascontiguousarray(target)),
            one.design.rmatvec(np.ascontiguousarray(one.target)),
            rtol=1e-9,
            atol=1e-9 * np.linalg.norm(one.target),
        )
        np.testing.assert_allclose(target @ target, one.target @ one.target)
        if not multi_target.condensed:
            size = np.abs(one.target).max() + abs(one.level)
            np.testing.assert_allclose(target, one.target, rtol=0, atol=1e-14 * size)


def test_so_many_targets_that_no_triangle_is_made(monkeypatch):
    monkeypatch.setattr("sparsewise.problem.preprocessing.COPIED", 0)
    rng = np.random.default_rng(4)
    X, Y = normal(rng, 60, 4), normal(rng, 60, 30)
    assert reduce(X, Y[:, :5], None, True).condensed
    assert not reduce(X, Y, None, True).condensed
