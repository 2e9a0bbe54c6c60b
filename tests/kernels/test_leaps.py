"""Every function of the search on small problems; as Python, too (`make test`)."""

import numpy as np
import pytest

from sparsewise import best_subset, certify
from sparsewise.kernels import load_leaps
from tests.kernels.tracing import idle
from tests.problems import correlated, gaussian, normal
from tests.subsets.enumeration import best


@pytest.mark.parametrize("kind", [float, complex])
def test_every_function(kind):
    def run():
        for p in (gaussian(0, 14, 9, 3, kind=kind), correlated(0, 14, 9, 3)):
            for size in (1, 3, 5):
                found = best_subset(p.A, p.y, sparsity=size)
                columns, norm, _ = best(p.A, p.y, size)
                np.testing.assert_array_equal(found.support, np.sort(columns))
                assert found.residual_norm == pytest.approx(norm)

        # Columns that nearly agree, and copies.
        A = np.column_stack([p.A[:, :5], p.A[:, 0] + 1e-10 * p.A[:, 6], p.A[:, 1]])
        assert best_subset(A, p.A[:, 6], sparsity=2).gaps[2] > 0
        # A choice to be beaten, and a copy of one of its columns.
        first = best_subset(p.A, p.y, sparsity=3).support
        A = np.column_stack([p.A, p.A[:, first[0]]])
        tied = certify(A, p.y, first, time_limit=None).ties
        assert tied == (tuple(sorted({*first.tolist(), 9} - {int(first[0])})),)
        # Several targets, and more of them than columns.
        rng = np.random.default_rng(0)
        for q in (2, 12):
            Y = normal(rng, 14, q, kind=kind)
            Y /= np.linalg.norm(Y, axis=0)
            found = best_subset(p.A, Y, sparsity=3)
            assert tuple(found.support) == best(p.A, Y, 3)[0]

    assert not idle(load_leaps(), run)
