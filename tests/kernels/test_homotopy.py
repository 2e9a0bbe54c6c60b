"""Every function of the homotopy on small problems; as Python, too (`make test`)."""

import numpy as np
import pytest

import sparsewise
from sparsewise import plan
from sparsewise.kernels import load_homotopy
from tests.kernels.tracing import idle
from tests.problems import gaussian


def integers(seed, n, m):
    """Few values, many ties: columns come that depend on those that are there."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-1, 2, (n, m)).astype(float)
    A[:, ~A.any(axis=0)] = 1.0
    return A, A[:, 0] + 2 * A[:, 1] + 0.1 * rng.integers(-1, 2, n)


def close():
    """Columns that nearly agree, and fewer dimensions than rows."""
    rng = np.random.default_rng(2)
    yield rng.standard_normal((9, 1)) + 1e-5 * rng.standard_normal((9, 4)), np.arange(9.0), None
    A = rng.standard_normal((9, 3)) @ rng.standard_normal((3, 6))
    yield A, np.arange(9.0), None


def decades():
    """Weights that differ by as many decades as numbers have digits, and by more."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((8, 10))
        yield A, rng.standard_normal(8), 10.0 ** rng.uniform(-20, 0, 10)


def test_every_function(monkeypatch):
    monkeypatch.setattr(plan, "LASSO_BY_PATH", 0)  # by Newton's method

    def run():
        p = gaussian(0, 12, 16, 3)
        for A, y in ((p.A, p.y), integers(1, 5, 12)):
            norm = np.linalg.norm(y)
            path = sparsewise.l1_path(A, y)
            for bound in (0.5 * norm, 0.1 * norm, 1e-3 * norm):
                found = sparsewise.bpdn(A, y, residual=bound)
                assert found.check(A, y).ok
                l1_norm = np.abs(path.at_residual(bound).coef).sum()
                assert np.abs(found.coef).sum() == pytest.approx(l1_norm)
            assert sparsewise.bp_ard(A, y, residual=0.05).check(A, y).ok
            assert sparsewise.fista(A, y, penalty=0.1 * norm).check(A, y).ok
        for A, y, w in (*close(), *decades()):
            assert sparsewise.l1_path(A, y, weights=w).check(A, y).ok

    assert not idle(load_homotopy(), run)
