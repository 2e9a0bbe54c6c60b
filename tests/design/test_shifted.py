"""Arrays less a number for each column, and some rows of them: against arrays that are made so."""

import numpy as np
import pytest

from sparsewise.design import DenseDesign, Rows
from sparsewise.design.shifted import Shifted, array_about_means

ORDERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda A: np.repeat(np.repeat(A, 2, 0), 2, 1)[::2, ::2],
    "foreign": lambda A: A.astype(A.dtype.newbyteorder()),
}


def arrays(order, dtype=np.float64, n=300, m=7):
    rng = np.random.default_rng(0)
    A = (rng.standard_normal((n, m)) + 100).astype(dtype)
    shift = A.mean(axis=0)
    return ORDERS[order](A), A, shift


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ORDERS)
def test_products_are_those_of_the_difference(order, dtype):
    A, plain, shift = arrays(order, dtype)
    rng = np.random.default_rng(1)
    at = np.array([5, 3, 250, 77])
    for design, expected in (
        (Shifted(A, shift), plain - shift),
        (Rows(Shifted(A, shift), at), (plain - shift)[at]),
        (Rows(DenseDesign(A), at), plain[at]),
    ):
        n, m = expected.shape
        x, V = rng.standard_normal(m).astype(dtype), rng.standard_normal((n, 3)).astype(dtype)
        near = {"rtol": 0, "atol": 3e4 * np.finfo(dtype).eps}
        assert design.shape == (n, m)
        np.testing.assert_allclose(design.matvec(x), expected @ x, **near)
        np.testing.assert_allclose(design.rmatmat(V), expected.T @ V, **near)
        np.testing.assert_array_equal(design.columns(np.array([4, 1])), expected[:, [4, 1]])
        np.testing.assert_array_equal(design.row_block(slice(1, 3)), expected[1:3])
        np.testing.assert_allclose(design.norms(), np.linalg.norm(expected, axis=0), rtol=1e-5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_weight_zero_are_not_there(order):
    A, plain, _ = arrays(order)
    weights = np.random.default_rng(2).integers(0, 3, len(plain)).astype(float)
    A[weights > 0, 2] = 1 / 3  # constant where it counts
    kept = A[weights > 0]
    _, means, norms = array_about_means(A, weights, 1.0)
    expected = np.average(kept, axis=0, weights=weights[weights > 0])
    np.testing.assert_allclose(means, expected, rtol=1e-14)
    apart = np.sqrt(weights[weights > 0] @ np.square(kept - expected))
    np.testing.assert_allclose(np.delete(norms, 2), np.delete(apart, 2), rtol=1e-12)
    assert norms[2] == 0.0
    assert means[2] == 1 / 3
