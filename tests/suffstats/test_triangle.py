"""Triangles: inner products of the rows, however these came."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sparsewise.design import as_design
from sparsewise.errors import InputError
from sparsewise.suffstats.triangle import Triangle
from tests.problems import normal


def gathered(Z, cuts=(), weights=None):
    """The triangle of rows that come in pieces."""
    triangle = Triangle.empty(Z.shape[1])
    for rows in np.split(np.arange(len(Z)), cuts):
        if rows.size:
            own = None if weights is None else weights[rows]
            triangle.update([as_design(np.asfortranarray(Z[rows]))], own)
    return triangle


def inner_products(Z, weights=None):
    w = np.ones(len(Z)) if weights is None else weights
    return (w[:, None] * Z).T.conj() @ Z


def assert_holds(triangle, Z, weights=None, tol=1e-12):
    """Means, and inner products with and without them, of columns of any size."""
    w = np.ones(len(Z)) if weights is None else weights
    means = w @ Z / w.sum()
    size = np.abs(Z).max(axis=0) + 1e-300
    assert np.abs(triangle.means - means).max() <= tol * size.max()
    for made, G in (
        (triangle.plain(), inner_products(Z, weights)),
        (triangle.centred(), inner_products(Z - means, weights)),
    ):
        unit = np.sqrt(np.maximum(np.diagonal(inner_products(Z, weights)).real, 1e-300))
        assert np.abs(made.conj().T @ made - G).max() <= tol * unit.max() ** 2
        assert (np.abs(made.conj().T @ made - G) <= tol * np.outer(unit, unit)).all()


@given(
    seed=st.integers(0, 1000),
    shape=st.tuples(st.integers(1, 60), st.integers(1, 12)),
    kind=st.sampled_from([float, complex]),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    weighted=st.booleans(),
)
def test_any_cut_gives_the_same(seed, shape, kind, cuts, weighted):
    rng = np.random.default_rng(seed)
    Z = normal(rng, *shape, kind=kind) + rng.normal(size=shape[1])
    weights = rng.uniform(0.1, 3, shape[0]) if weighted else None
    cut = sorted(min(c, shape[0]) for c in cuts)
    assert_holds(gathered(Z, cut, weights), Z, weights)


@given(seed=st.integers(0, 1000), sizes=st.lists(st.integers(1, 30), min_size=2, max_size=5))
def test_triangles_add_up_in_any_order(seed, sizes):
    rng = np.random.default_rng(seed)
    parts = [normal(rng, n, 6) + 100 * rng.normal(size=6) for n in sizes]
    triangles = [gathered(part) for part in parts]
    whole = np.vstack(parts)
    forth = sum(triangles[1:], triangles[0])
    nested = triangles[0] + sum(triangles[2:], triangles[1])
    back = sum(triangles[-2::-1], triangles[-1])
    for merged in (forth, nested, back):
        assert_holds(merged, whole)
        assert merged.count == merged.weight == len(whole)


def test_merging_changes_neither():
    rng = np.random.default_rng(0)
    one, other = gathered(normal(rng, 9, 3)), gathered(normal(rng, 2, 3) + 5)
    before = [triangle.R.copy() for triangle in (one, other)]
    _ = one + other, one + Triangle.empty(3), Triangle.empty(3) + one
    assert all(map(np.array_equal, before, (one.R, other.R)))


def test_offsets_cost_no_digits():
    rng = np.random.default_rng(1)
    Z = normal(rng, 4000, 5)
    far = gathered(Z + 2.0**40, [7, 500, 3000])  # exact to add, and to take away, but for rounding
    exact = (Z + 2.0**40) - 2.0**40
    exact -= exact.mean(axis=0)
    made = far.centred()
    np.testing.assert_allclose(made.T @ made, exact.T @ exact, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 / 3, -1e-200])
def test_constant_columns_leave_nothing(value):
    rng = np.random.default_rng(2)
    Z = normal(rng, 2000, 3)
    Z[:, 1] = value
    parts = np.split(Z, [1, 700])
    merged = gathered(parts[0]) + (gathered(parts[1]) + gathered(parts[2]))
    for triangle in (gathered(Z, [3, 900]), merged):
        assert not triangle.centred()[:, 1].any()
        assert triangle.means[1] == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_columns_of_any_size(scale):
    rng = np.random.default_rng(3)
    Z = normal(rng, 50, 4)
    scaled = Z * [1, scale, 1, scale]
    merged = gathered(scaled[:3]) + gathered(scaled[3:], [20])
    for triangle in (gathered(scaled, [10]), merged):
        made = triangle.centred() / [1, scale, 1, scale]
        apart = Z - Z.mean(axis=0)
        np.testing.assert_allclose(made.T @ made, apart.T @ apart, atol=1e-11)


def test_sizes_that_grow_by_hundreds_of_decades():
    rng = np.random.default_rng(4)
    Z = normal(rng, 40, 2)
    Z[:10, 0] = 0.0
    Z[10:20, 0] *= 1e-250
    Z[20:, 0] *= 1e200
    made = gathered(Z, [10, 20]).plain() / [1e200, 1]
    now = np.where(np.arange(40)[:, None] >= 20, Z / [1e200, 1], Z * [0, 1])
    np.testing.assert_allclose(made.T @ made, now.T @ now, atol=1e-11)


def test_single_precision_is_gathered_in_double():
    rng = np.random.default_rng(5)
    Z = normal(rng, 3000, 4).astype(np.float32)
    assert gathered(Z, [100]).R.dtype == np.float64
    assert_holds(gathered(Z, [100]), Z.astype(np.float64))


def test_some_rows_of_a_sparse_matrix():
    rng = np.random.default_rng(6)
    Z = normal(rng, 300, 5) * (rng.random((300, 5)) < 0.2)
    at = rng.permutation(300)[:120]
    triangle = Triangle.empty(6)
    triangle.update([as_design(csr_array(Z)), as_design(np.ones((300, 1)))], None, at)
    assert_holds(triangle, np.column_stack([Z[at], np.ones(120)]))


def test_squared_errors_of_predictions():
    rng = np.random.default_rng(7)
    Z, w = normal(rng, 80, 4) + 10, rng.uniform(0.5, 2, 80)
    a, b = normal(rng, 4, 3), normal(rng, 3)
    expected = w @ np.square(b + Z @ a)
    np.testing.assert_allclose(gathered(Z, [30], w).squared_norms(b, a), expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_named(bad):
    Z = np.ones((700, 3))
    Z[650, 2] = bad
    with pytest.raises(InputError, match=r"X has 1 NaN .* row 650, column 2"):
        gathered(Z)
    with pytest.raises(InputError, match="out of range"):
        gathered(np.array([[1.7e308], [-1.7e308]]), [1])
