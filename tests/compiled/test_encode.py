"""Every function behind `encode` on small problems; as Python, too (`make test`)."""

import numpy as np
import pytest

from sparsewise import ALGORITHMS, encode
from sparsewise.compiled import load_encoders
from tests.compiled.tracing import idle
from tests.problems import normal

CASES = [
    ("omp", {"sparsity": 5}),
    ("omp", {"residual": 0.7}),
    ("forward", {"sparsity": 4}),
    ("gomp", {"sparsity": 5, "batch": 2}),
    ("rmp0", {"delta": 0.3}),
]


@pytest.mark.parametrize("kind", [float, complex])
def test_every_function(kind):
    rng = np.random.default_rng(0)
    A, Y = normal(rng, 10, 16, kind=kind), normal(rng, 10, 12, kind=kind)
    # Sums of columns, which a way forward is led astray by: there is something to drop.
    A[:, 1] = A[:, 2] + A[:, 3] + 0.2 * A[:, 4]
    Y[:, :6] = A[:, [2]] + A[:, [3]] + 0.1 * Y[:, :6]
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
