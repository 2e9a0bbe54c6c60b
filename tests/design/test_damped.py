"""[A; √ridge diag(‖a_j‖)] is a design like any other."""

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import aslinearoperator

from sparsewise import as_design
from sparsewise.design.damped import Damped


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array, aslinearoperator])
@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
def test_it_is_the_stacked_matrix(kind, dtype):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((7, 5)).astype(dtype)
    A[:, 3] = 0
    design = Damped(as_design(kind(A)), 0.3)
    whole = np.vstack([A, np.sqrt(0.3) * np.diag(np.linalg.norm(A, axis=0))]).astype(dtype)
    tolerance = {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(design.columns(slice(None)), whole, **tolerance)
    np.testing.assert_allclose(design.columns(np.array([4, 1])), whole[:, [4, 1]], **tolerance)
    x, V = rng.standard_normal(5).astype(dtype), rng.standard_normal((12, 2)).astype(dtype)
    np.testing.assert_allclose(design.matvec(x), whole @ x, **tolerance)
    np.testing.assert_allclose(design.rmatmat(V), whole.conj().T @ V, **tolerance)
    np.testing.assert_allclose(design.norms(), np.linalg.norm(whole, axis=0), **tolerance)
    assert design.rows == 7
