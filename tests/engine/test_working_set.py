"""Newton's method on a few columns, against the optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest

from sparsewise.engine.l1.unpenalised import Unpenalised
from sparsewise.engine.l1.working_set import Curvature, WorkingSet, null_space, phases
from sparsewise.problem.problem import problem
from tests.problems import normal


def working_set(A, y, free=()) -> WorkingSet:
    data = problem(A, y)
    free = Unpenalised(data, np.array(free, int), np.dtype(complex))
    return WorkingSet(data, free)


def off(found: WorkingSet, limits) -> float:
    """How far c = B*r is from ω x/|x|, or from |c| <= ω."""
    corr, x = found.B.conj().T @ found.residual(), found.x
    np.testing.assert_allclose(found.correlations(), corr, atol=1e-12)
    error = np.where(x != 0, np.abs(corr - limits * phases(x)), np.abs(corr) - limits)
    return float((error / limits).max())


@pytest.mark.parametrize("shape", [(30, 12), (20, 50), (5, 40)])
@pytest.mark.parametrize("part", [0.8, 0.2, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_a_descent_ends_at_the_minimiser(shape, part, seed):
    rng = np.random.default_rng([seed, *shape])
    found = working_set(normal(rng, *shape, kind=complex), normal(rng, shape[0], kind=complex))
    found.extend(np.arange(shape[1]), np.ones(found.data.shape[1]))
    limits = part * rng.uniform(0.5, 1, shape[1]) * np.abs(found.correlations()).max()
    assert found.minimise(limits, 1e-9)
    assert off(found, limits) <= 1.1e-9
    # No more columns than real equations; fewer where phases leave no choice.
    assert found.support.size <= 2 * shape[0]


@pytest.mark.parametrize("shape", [(30, 12), (20, 50), (5, 40)])
@pytest.mark.parametrize("part", [0.8, 0.2, 0.05])
def test_real_coefficients_stay_real(shape, part):
    rng = np.random.default_rng(shape)
    data = problem(normal(rng, *shape), normal(rng, shape[0]))
    found = WorkingSet(data, Unpenalised(data, np.array([], int), np.dtype(float)), np.float64)
    found.extend(np.arange(shape[1]), np.ones(shape[1]))
    limits = part * rng.uniform(0.5, 1, shape[1]) * np.abs(found.correlations()).max()
    assert found.minimise(limits, 1e-9)
    assert found.x.dtype == np.float64
    assert off(found, limits) <= 1.1e-9
    assert found.support.size <= shape[0]


def test_columns_come_and_go():
    rng = np.random.default_rng(1)
    found = working_set(normal(rng, 20, 400, kind=complex), normal(rng, 20, kind=complex), [7])
    found.extend(np.arange(10, 350), np.ones(found.data.shape[1]))
    limits = np.full(340, 0.5 * np.abs(found.correlations()).max())
    assert found.minimise(limits, 1e-6)
    kept = found.columns[found.support]
    x = found.x[found.support]
    found.extend(np.array([3, 5]), np.ones(found.data.shape[1]))
    assert set(kept) | {3, 5} == set(found.columns)
    np.testing.assert_array_equal(found.x[found.support], x)
    np.testing.assert_allclose(found.B[:, -1].conj() @ found.free.unit[:, 0], 0, atol=1e-15)
    np.testing.assert_allclose(
        found.correlations(), found.B.conj().T @ found.residual(), atol=1e-14
    )


def test_of_copies_the_first_is_held():
    rng = np.random.default_rng(2)
    half = normal(rng, 6, 3, kind=complex)
    found = working_set(np.hstack([half, 1j * half, 2 * half]), normal(rng, 6, kind=complex))
    found.extend(np.arange(9), np.array([1, 2, 1, 1, 1, 1, 1, 1, 1]))
    assert found.columns.tolist() == [0, 1, 2, 4]  # the second is cheaper as a copy
    found.extend(np.arange(5, 9), np.ones(9))
    assert found.columns.tolist() == [0, 1, 2, 4]
    np.testing.assert_allclose(found.correlations(), found.B.conj().T @ found.y, atol=1e-15)


def test_what_depends_in_phase_is_thinned_out():
    rng = np.random.default_rng(2)
    A = normal(rng, 3, 9, kind=complex)  # more than twice as many as rows
    found = working_set(A, normal(rng, 3, kind=complex))
    found.extend(np.arange(9), np.ones(9))
    found.x = normal(rng, 9, kind=complex)
    limits, before, cost = np.ones(9), found.residual(), np.abs(found.x).sum()
    found.reduce_support(limits)
    assert found.support.size == 6
    np.testing.assert_allclose(found.residual(), before, atol=1e-13)
    assert np.abs(found.x).sum() <= cost


def test_curvature_is_the_second_derivative():
    rng = np.random.default_rng(3)
    B, x, w = normal(rng, 8, 4, kind=complex), normal(rng, 4, kind=complex), rng.uniform(1, 2, 4)
    gram = B.conj().T @ B
    step = normal(rng, 4, kind=complex)

    def gradient(x):
        return gram @ x + w * phases(x)

    h = 1e-6
    change = (gradient(x + h * step) - gradient(x - h * step)) / (2 * h)
    np.testing.assert_allclose(Curvature(gram, x, w).divide(change), step, rtol=1e-7)


def test_a_singular_curvature_still_descends():
    one = np.array([[1.0]])
    gram = np.block([[one, one], [one, one]]).astype(complex)
    curvature = Curvature(gram, np.array([1, 2 + 0j]), np.zeros(2))
    assert curvature.degenerate
    step = curvature.divide(np.array([1, 1 + 0j]))
    np.testing.assert_allclose(step.sum(), 1, rtol=1e-6)


def test_the_tangent_is_that_of_the_path():
    rng = np.random.default_rng(4)
    found = working_set(normal(rng, 20, 8, kind=complex), normal(rng, 20, kind=complex))
    found.extend(np.arange(8), np.ones(found.data.shape[1]))
    w, penalty, h = np.ones(8), 0.1, 1e-5
    ends = []
    for at in (penalty + h, penalty - h, penalty):
        assert found.minimise(at * w, 1e-12)
        ends.append((found.x.copy(), np.linalg.norm(found.residual()) ** 2))
    (above, high), (below, low), _ = ends
    way = found.tangent(w, penalty)
    np.testing.assert_allclose(way.step, (below - above) / (2 * h), atol=1e-6)
    assert way.slope == pytest.approx((high - low) / (4 * h * penalty), rel=1e-5)


def test_null_space_and_phases():
    A = np.array([[1.0, 1.0, 0.0]])
    assert null_space(A).shape == (3, 2)
    np.testing.assert_allclose(A @ null_space(A), 0, atol=1e-15)
    np.testing.assert_array_equal(phases(np.array([0, 2j])), [0, 1j])
