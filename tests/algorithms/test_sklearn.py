"""Orthogonal Matching Pursuit against scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp

from sparsewise import gomp, omp
from tests.problems import FAMILIES, unit_columns

REAL = ["tall", "wide", "correlated tall", "correlated wide", "orthonormal"]


def agree(solution, coef):
    assert list(solution.support) == list(np.flatnonzero(coef))
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-8, atol=1e-10 * np.linalg.norm(coef))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("family", REAL)
def test_sparsity(family, seed):
    p = FAMILIES[family](seed)
    A = unit_columns(p.A)
    coef = orthogonal_mp(A, p.y, n_nonzero_coefs=p.sparsity)
    agree(omp(A, p.y, sparsity=p.sparsity), coef)
    agree(gomp(A, p.y, batch=1, sparsity=p.sparsity), coef)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("family", REAL)
@pytest.mark.parametrize("share", [0.8, 0.5])
def test_residual(family, seed, share):
    """scikit-learn's tol is a squared norm."""
    p = FAMILIES[family](seed)
    A = unit_columns(p.A)
    residual = share * np.linalg.norm(p.y)
    coef = orthogonal_mp(A, p.y, tol=residual**2)
    solution = omp(A, p.y, residual=residual)
    agree(solution, coef)
    assert solution.residual_norm <= residual
