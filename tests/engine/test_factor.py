"""What is known of a column moves with it: its number, its lock and its damping."""

import numpy as np
import pytest

from sparsewise.engine.factor import Factor
from sparsewise.problem.problem import problem


@pytest.fixture
def damped():
    """A factor of five columns, the first locked, the others damped."""
    rng = np.random.default_rng(0)
    factor = Factor(problem(rng.standard_normal((20, 9)), rng.standard_normal(20)), 8, damped=True)
    factor.load([7, 2, 5, 0, 3], 1, damping=np.array([0.0, 0.2, 0.5, 0.1, 0.3]))
    return factor


def known(factor):
    """What is known of each active column."""
    k = factor.size
    columns = factor.columns.tolist()
    values = zip(factor.locked[:k].tolist(), factor.d.tolist(), strict=True)
    return dict(zip(columns, values, strict=True))


def anew(factor):
    """The coefficients of the same columns with the same damping, from scratch."""
    other = Factor(factor.problem, 8, damped=True)
    other.load(factor.columns.tolist(), 1, damping=factor.d.copy())
    return other.coef()


def test_a_damped_column_is_dropped_with_its_damping(damped):
    before = known(damped)
    damped.drop([2])
    assert known(damped) == {j: before[j] for j in (7, 5, 0, 3)}
    np.testing.assert_allclose(damped.coef(), anew(damped))


def test_so_are_those_that_matter_least(damped):
    before = known(damped)
    (dropped, *_), _ = damped.shrink(True, 2, (0.0, np.inf, np.inf))
    assert dropped.size == 2
    assert known(damped) == {j: one for j, one in before.items() if j not in dropped}
    np.testing.assert_allclose(damped.coef(), anew(damped))


def test_a_copy_leaves_its_damping_to_the_first(damped):
    before = known(damped)
    damped.merge(5, 0)
    after = known(damped)
    assert after.keys() == before.keys() - {0}
    assert after[5][1] ** -2 == pytest.approx(before[5][1] ** -2 + before[0][1] ** -2)
    assert after[3] == before[3]
