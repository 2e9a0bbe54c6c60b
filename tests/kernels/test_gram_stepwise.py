"""Every function behind `encode` on small problems; as Python, too (`make test`)."""

import numpy as np
import pytest

from sparsewise import ALGORITHMS, encode
from sparsewise.kernels import load_encoders
from tests.kernels.tracing import idle
from tests.problems import normal

CASES = [
    ("omp", {"sparsity": 5}),
    ("omp", {"residual": 0.7}),
    ("forward", {"sparsity": 4}),
    ("gomp", {"sparsity": 5, "batch": 2}),
    ("rmp0", {"delta": 0.5}),
]


@pytest.mark.parametrize("kind", [float, complex])
def test_every_function(kind):
    rng = np.random.default_rng(0)
    A = normal(rng, 24, 40, kind=kind)
    # As many columns as lead a way forward astray: there is something to drop.
    X = normal(rng, 40, 16, kind=kind)
    X[np.argsort(rng.random(X.shape), axis=0) >= 8] = 0
    Y = A @ X + 0.01 * normal(rng, 24, 16, kind=kind)
    Y[:, 6] = A[:, 5] - 2 * A[:, 6]  # fitted exactly
    # Ties: of a signal that is the sum of two orthogonal columns of the same norm.
    Q = np.linalg.qr(normal(rng, 10, 10, kind=kind))[0]

    def run():
        for name, parameters in CASES:
            for B, Z in ((A, Y), (Q, Q[:, [2, 5]] @ np.ones((2, 3)))):
                codes = encode(B, Z, algorithm=name, **parameters)
                for t in range(Z.shape[1]):
                    one = ALGORITHMS[name](B, Z[:, t], **parameters)
                    np.testing.assert_array_equal(codes.support(t), one.support)
                    assert codes.stops[t] is one.stop

    assert not idle(load_encoders(), run)
