"""Products and factors behind the joint updates, against plain ones."""

from __future__ import annotations

import numpy as np
import pytest

from sparsewise.engine.bayes.joint_updates import lower_factor, lower_gram
from tests.problems import normal

KINDS = [np.float32, np.float64, np.complex64, np.complex128]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("order", ["C", "F", "neither"])
@pytest.mark.parametrize("shape", [(5, 9), (9, 5), (1, 3)])
def test_lower_triangle_of_a_gram_matrix(dtype, order, shape):
    rng = np.random.default_rng(shape)
    kind = complex if np.dtype(dtype).kind == "c" else float
    G = normal(rng, *shape, kind=kind).astype(dtype)
    G = np.repeat(G, 2, axis=1)[:, ::2] if order == "neither" else np.array(G, order=order)
    found = lower_gram(G)
    assert found.dtype == dtype
    expected = np.tril(G @ G.conj().T)
    np.testing.assert_allclose(np.tril(found), expected, atol=64 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("noise", [0.5, 1e-3, 1e-9])  # by Cholesky's method, and by QR
def test_lower_factor(dtype, order, noise):
    rng = np.random.default_rng(1)
    kind = complex if np.dtype(dtype).kind == "c" else float
    G = np.array(normal(rng, 6, 20, kind=kind), dtype, order=order)
    L = lower_factor(G, noise, float(np.square(np.abs(G)).sum()))
    np.testing.assert_allclose(L, np.tril(L), atol=1e-15)
    expected = G @ G.conj().T + noise * np.eye(6)
    np.testing.assert_allclose(L @ L.conj().T, expected, atol=256 * np.finfo(dtype).eps * 20)
