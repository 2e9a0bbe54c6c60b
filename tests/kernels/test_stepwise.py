"""Every kernel of the stepwise algorithms on a small problem; as Python, too (`make test`)."""

import numpy as np

from sparsewise import ALGORITHMS, plan
from sparsewise.kernels import load_kernels
from tests.kernels.tracing import idle
from tests.problems import gaussian
from tests.references.stepwise import REFERENCES

P = gaussian(0, 12, 16, 3)


def check(name, A, **parameters):
    found = ALGORITHMS[name](A, P.y, **parameters)
    expected = REFERENCES[name](A, P.y, **parameters)
    np.testing.assert_array_equal(found.support, np.sort(expected.support))
    assert found.check(A, P.y).ok


def test_every_kernel(monkeypatch):
    def run():
        check("omp", P.A, sparsity=4)
        check("srr", P.A, sparsity=3)
        check("subspace_pursuit", P.A, sparsity=3)
        check("forward", P.A, sparsity=6)
        check("backward", P.A[:, :8], sparsity=2)
        check("foba", P.A, delta=0.3)
        ridge = ALGORITHMS["backward"](P.A[:, :8], P.y, residual=np.linalg.norm(P.y), ridge=0.5)
        assert ridge.check(P.A[:, :8], P.y).ok
        for name in ("rmp", "fast_sbl"):
            assert ALGORITHMS[name](P.A, P.y, sigma=0.3).check(P.A, P.y).ok
        # The path of ℓ1-penalised least squares takes its columns in by the same kernels.
        assert ALGORITHMS["bpdn"](P.A, P.y, residual=1.0).check(P.A, P.y).ok
        # A larger matrix is looked at by passes, with steps guessed ahead.
        monkeypatch.setattr(plan, "SMALL", 0)
        monkeypatch.setattr(plan, "IN_CACHE", 0)
        check("forward", P.A, sparsity=8)

    assert not idle(load_kernels(), run)
