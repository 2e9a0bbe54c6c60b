"""Rows below a triangle, made a triangle again: as QR of all of them at once."""

import numpy as np
import pytest

from sparsewise.design.base import FOLD, NARROW, fold, fold_rows


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rows(rng, n, m, dtype):
    """Standard normal entries."""
    B = rng.standard_normal((n, m))
    return (B + 1j * rng.standard_normal((n, m)) if np.dtype(dtype).kind == "c" else B).astype(
        dtype
    )


def triangle(B):
    """R of it, as many rows as columns."""
    n, m = B.shape
    R = np.zeros((m, m), B.dtype, order="F")
    R[: min(n, m)] = np.linalg.qr(B, mode="r")
    return R


def with_real_diagonal(R):
    """R with rows turned so that its diagonal is not negative: this one is unique."""
    diagonal = np.diag(R)
    phase = np.where(diagonal == 0, 1, diagonal / np.where(diagonal == 0, 1, np.abs(diagonal)))
    return R / phase[:, None]


def assert_same_triangle(R, A, units=1.0):
    """R is upper triangular, and its columns have the inner products of those of A times units."""
    np.testing.assert_array_equal(R, np.triu(R))
    R = R / units
    size = np.linalg.norm(A, axis=0)
    bound = 20 * np.finfo(float).eps * A.shape[1] * np.outer(size, size)
    assert (np.abs(R.conj().T @ R - A.conj().T @ A) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("m", [1, 2, 7, 8, 9, 65, 130])
@pytest.mark.parametrize("n", [1, 5, 64, 300])
def test_as_qr_of_all_rows(n, m, dtype, rng):
    """Whether rows are fewer than columns, or one; the first triangle may be one of few rows."""
    above, below = rows(rng, m // 2 + 1, m, dtype), rows(rng, n, m, dtype)
    A = np.vstack([above, below])
    R = fold(triangle(above), below.copy(order="F"))
    assert R.dtype == dtype
    assert_same_triangle(R, A)
    if len(A) >= m:
        expected = with_real_diagonal(np.linalg.qr(A, mode="r"))
        condition = np.linalg.cond(A)
        np.testing.assert_allclose(
            with_real_diagonal(R), expected, rtol=0, atol=1e-13 * condition * np.abs(A).max() * m
        )


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_at_every_scale(dtype, rng):
    """Columns of sizes from 1e-150 to 1e150, beside each other."""
    A = rows(rng, 400, 21, dtype)
    units = np.ldexp(1.0, np.linspace(-498, 498, 21).astype(int))
    B = A * units
    R = fold(np.zeros((21, 21), dtype, order="F"), np.asfortranarray(B[:150]))
    assert_same_triangle(fold(R, np.asfortranarray(B[150:])), A, units)


def test_rows_of_every_scale(rng):
    """A row that dwarfs all others, or is dwarfed, before them or after."""
    A = rows(rng, 200, 12, float)
    A[[3, 150]] *= [[1e150], [1e-150]]
    for order in (np.arange(200), np.arange(200)[::-1]):
        R = fold(triangle(A[order][:40]), np.asfortranarray(A[order][40:]))
        scaled = A * 1e-150
        assert_same_triangle(R * 1e-150, scaled)


def test_columns_of_zeros_stay_zero(rng):
    A = rows(rng, 90, 20, float)
    A[:, [0, 7, 19]] = 0.0
    R = fold(triangle(A[:30]), np.asfortranarray(A[30:]))
    assert not R[:, [0, 7, 19]].any()
    assert_same_triangle(R, A)
    nothing = fold(np.zeros((20, 20), order="F"), np.zeros((9, 20), order="F"))
    assert not nothing.any()


def test_dependent_columns(rng):
    """What depends on others leaves rounding errors only, and the rest is as it should be."""
    A = rows(rng, 500, 30, float)
    A[:, 10:20] = A[:, :10] @ rng.standard_normal((10, 10))
    R = fold(triangle(A[:100]), np.asfortranarray(A[100:]))
    assert_same_triangle(R, A)
    assert np.abs(np.diag(R)[10:20]).max() < 1e-12 * np.abs(A).sum()


def test_a_small_column_beside_its_large_copy_keeps_its_digits(rng):
    """The Gram matrix would lose them: its condition number is the square."""
    large = rng.standard_normal(800)
    A = np.column_stack([large, large + 1e-9 * rng.standard_normal(800)])
    R = fold(triangle(A[:10]), np.asfortranarray(A[10:]))
    rest = A[:, 1] - A[:, 0] * (A[:, 0] @ A[:, 1] / (A[:, 0] @ A[:, 0]))
    assert abs(R[1, 1]) == pytest.approx(np.linalg.norm(rest), rel=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_shows(bad, rng):
    B = rows(rng, 50, 9, float)
    B[17, 4] = bad
    assert not np.isfinite(fold(triangle(rows(rng, 20, 9, float)), np.asfortranarray(B))).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_any_order_and_precision_of_rows(order, rng):
    above, below = rows(rng, 12, 6, float), rows(rng, 33, 6, np.float32)
    R = fold(np.array(triangle(above), order=order), np.array(below, order=order))
    assert R.dtype == np.float64
    assert_same_triangle(R, np.vstack([above, below]))


def test_short_rows_are_folded_by_more_at_once():
    assert fold_rows(1) == FOLD * NARROW
    assert fold_rows(50) == 5 * FOLD
    assert fold_rows(NARROW) == fold_rows(5000) == FOLD
