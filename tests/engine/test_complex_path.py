"""Complex basis pursuit by Newton's method: against Clarabel, its own dual, and invariances."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

import sparsewise as sw
from sparsewise.engine.l1.basis_pursuit import BasisPursuit
from sparsewise.engine.l1.complex_path import ComplexPath
from sparsewise.engine.l1.l1_solution import LostDigitsError
from sparsewise.engine.l1.weights import check_weights
from sparsewise.problem.problem import problem
from tests.problems import normal


@pytest.fixture
def cones():
    """Clarabel, for the tests that compare with it."""
    return pytest.importorskip("clarabel")


@pytest.fixture(autouse=True)
def no_cones(request, monkeypatch):
    """Elsewhere it must not be needed."""
    if "cones" not in request.fixturenames:
        monkeypatch.setitem(sys.modules, "clarabel", None)


def planted(seed, n, m, k, noise=0.0):
    rng = np.random.default_rng([seed, n, m])
    A = normal(rng, n, m, kind=complex)
    x = np.zeros(m, complex)
    x[rng.choice(m, k, replace=False)] = normal(rng, k, kind=complex)
    e = normal(rng, n, kind=complex)
    e *= noise * np.linalg.norm(A @ x) / np.linalg.norm(e)
    return A, A @ x + e, float(np.linalg.norm(e)), x


def distance(A, y) -> float:
    return float(np.linalg.norm(y - A @ np.linalg.lstsq(A, y, rcond=None)[0]))


@pytest.mark.parametrize("shape", [(30, 60), (40, 20), (25, 25), (8, 60), (60, 5), (1, 4)])
@pytest.mark.parametrize("part", [1e-6, 1e-3, 0.1, 0.5, 0.95])
@pytest.mark.parametrize("seed", range(2))
def test_every_answer_is_proved(shape, part, seed):
    rng = np.random.default_rng([seed, *shape])
    A, y = normal(rng, *shape, kind=complex), normal(rng, shape[0], kind=complex)
    d = distance(A, y)
    bound = d + part * (np.linalg.norm(y) - d)
    found = sw.bpdn(A, y, residual=bound)
    assert found.check(A, y).ok
    assert found.accuracy < (1e-6 if part == 1e-6 else 1e-9)  # by the distance, ν is huge
    assert found.residual_norm == pytest.approx(bound, rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_exact_fits_are_found(seed):
    A, y, _, x = planted(seed, 40, 100, 8)
    found = sw.bp(A, y)
    assert found.support.tolist() == np.flatnonzero(x).tolist()
    np.testing.assert_allclose(found.coef, x, atol=1e-11)
    assert found.penalty == 0
    assert found.accuracy < 1e-11
    assert found.stop is sw.Stop.EXACT_FIT
    assert found.check(A, y).ok


@pytest.mark.parametrize(("n", "m"), [(20, 50), (5, 40), (12, 13), (10, 10)])
@pytest.mark.parametrize("seed", range(3))
def test_exact_fits_of_any_target(n, m, seed):
    """More columns than rows: phases have a say, too."""
    rng = np.random.default_rng([seed, n])
    A, y = normal(rng, n, m, kind=complex), normal(rng, n, kind=complex)
    found = sw.bp(A, y)
    assert found.check(A, y).ok
    assert found.accuracy < 1e-10
    assert found.support.size >= min(n, m)


@pytest.mark.usefixtures("cones")
@pytest.mark.parametrize("seed", range(8))
def test_clarabel_comes_to_the_same(seed):
    rng = np.random.default_rng(seed)
    A = normal(rng, 15, 35, kind=complex) + 2 * normal(rng, 15, 1, kind=complex)
    A, y = A * rng.uniform(0.01, 10, 35), normal(rng, 15, kind=complex)
    w = rng.uniform(0.1, 3, 35)
    for residual in (0.0, 0.05 * np.linalg.norm(y), 0.7 * np.linalg.norm(y)):
        words = {"residual": residual, "weights": w, "include": [3], "exclude": [5, 6]}
        by_cones = sw.bpdn(A, y, solver="conic", **words)
        found = sw.bpdn(A, y, **words)
        assert found.objective == pytest.approx(by_cones.objective, rel=1e-9)
        np.testing.assert_allclose(found.coef, by_cones.coef, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(2, 20), st.integers(2, 40), st.floats(0.01, 0.95),
    st.integers(-30, 30), st.integers(-30, 30),
)  # fmt: skip
def test_invariances(seed, n, m, part, power, other):
    """Units, rotations of the rows, phases and the order of columns change nothing else."""
    rng = np.random.default_rng(seed)
    A, y = normal(rng, n, m, kind=complex), normal(rng, n, kind=complex)
    w = rng.uniform(0.2, 2, m)
    d = distance(A, y)
    bound = d + part * (np.linalg.norm(y) - d)
    found = sw.bpdn(A, y, residual=bound, weights=w)
    assert found.check(A, y).ok
    Q = np.linalg.qr(normal(rng, n, n, kind=complex))[0]
    turns, order = np.exp(1j * rng.uniform(0, 7, m)), rng.permutation(m)
    a, b = 2.0**power, 2.0**other
    B = (a * (Q @ A) * turns)[:, order]
    again = sw.bpdn(B, b * (Q @ y), residual=b * bound, weights=w[order])
    expected = (found.coef / turns)[order] * (b / a)
    size = np.abs(expected).max()
    # Where many columns share the fit, x is less certain than what it costs.
    assert again.objective == pytest.approx(found.objective * b / a, rel=1e-8)
    np.testing.assert_allclose(again.coef, expected, atol=1e-4 * size)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 3))
def test_free_and_barred_columns(seed, free, barred):
    rng = np.random.default_rng(seed)
    A, y = normal(rng, 12, 30, kind=complex), normal(rng, 12, kind=complex)
    include, exclude = list(range(free)), list(range(5, 5 + barred))
    found = sw.bpdn(A, y, residual=0.2, include=include, exclude=exclude)
    assert found.check(A, y).ok
    assert set(include) <= set(found.support)
    assert not set(exclude) & set(found.support)
    assert np.abs(A[:, include].conj().T @ found.dual).max() < 1e-12


def test_copies_of_columns():
    rng = np.random.default_rng(2)
    half = normal(rng, 12, 15, kind=complex)
    A = np.hstack([half, half * np.exp(1j * np.arange(15))])
    y = half[:, :3] @ np.array([1.0, -2.0, 1.5]) + 0.1 * normal(rng, 12, kind=complex)
    for residual in (0.0, 0.5):
        found, once = (sw.bpdn(B, y, residual=residual) for B in (A, half))
        assert found.objective == pytest.approx(once.objective, rel=1e-9)
        assert found.check(A, y).ok


def test_equal_correlations():
    found = sw.bpdn(np.eye(6) * (1 + 0j), np.ones(6), residual=1.0)
    np.testing.assert_allclose(found.coef, 1 - 1 / np.sqrt(6), rtol=1e-10)
    assert found.check(np.eye(6) * (1 + 0j), np.ones(6)).ok


@pytest.mark.parametrize("store", [sparse.csc_array, sparse.csr_array, aslinearoperator])
def test_other_designs(store):
    A, y, bound, _ = planted(1, 30, 80, 5, 0.05)
    dense, other = sw.bpdn(A, y, residual=bound), sw.bpdn(store(A), y, residual=bound)
    np.testing.assert_allclose(other.coef, dense.coef, atol=1e-10)
    assert other.check(store(A), y).ok


def test_few_passes():
    """An operator is applied some dozen times, and once for each column that may matter."""
    A, y, bound, _ = planted(2, 64, 512, 6, 0.01)
    found = sw.bpdn(A, y, residual=bound)
    assert found.n_passes < 20
    assert found.accuracy < 1e-11


@pytest.mark.parametrize("residual", [0.0, 0.3])
def test_single_precision(residual):
    A, y, _, _ = planted(3, 30, 60, 4)
    found = sw.bpdn(A.astype(np.complex64), y.astype(np.complex64), residual=residual)
    double = sw.bpdn(A, y, residual=residual)
    assert found.coef.dtype == found.dual.dtype == np.complex64
    np.testing.assert_allclose(found.coef, double.coef, atol=1e-4)
    assert found.check(A.astype(np.complex64), y.astype(np.complex64)).ok


def test_a_complex_target_of_a_real_design():
    rng = np.random.default_rng(7)
    A, y = normal(rng, 15, 30), normal(rng, 15, kind=complex)
    found, typed = (sw.bpdn(B, y, residual=1.0) for B in (A, A.astype(complex)))
    np.testing.assert_allclose(found.coef, typed.coef, atol=1e-12)


def test_weights_that_follow_each_other():
    """A path goes on from the last minimiser, and comes to the same as one that begins anew."""
    A, y, bound, _ = planted(4, 40, 120, 8, 0.05)
    data = problem(A, y)
    rng = np.random.default_rng(4)
    path, bound = ComplexPath(data, lambda: False), bound / data.scale
    for _ in range(4):
        w = check_weights(data, rng.uniform(0.2, 3, 120))
        before = data.passes.count
        again, between = path.minimise(w, bound), data.passes.count
        anew = ComplexPath(data, lambda: False).minimise(w, bound)
        np.testing.assert_allclose(again.coef(data), anew.coef(data), atol=1e-9)
        assert path.gap < 1e-10
    assert between - before <= data.passes.count - between


def test_bounds_that_nothing_meets():
    rng = np.random.default_rng(10)
    A, y = normal(rng, 20, 8, kind=complex), 7 * normal(rng, 20, kind=complex)
    d = distance(A, y)
    for residual in (0.0, 0.9 * d):
        with pytest.raises(ValueError, match=f"range of A is {d:.10g}; allow a residual"):
            sw.bpdn(A, y, residual=residual)
    with pytest.raises(ValueError, match="allow a residual"):
        sw.bpdn(A, y, residual=1.0, exclude=range(8))


@pytest.mark.parametrize("factor", [1.0, 1.5, np.inf])
def test_a_bound_of_the_norm_of_y_needs_nothing(factor):
    rng = np.random.default_rng(9)
    A, y = normal(rng, 10, 20, kind=complex), normal(rng, 10, kind=complex)
    found = sw.bpdn(A, y, residual=factor * np.linalg.norm(y))
    assert found.support.size == 0
    assert found.penalty == np.inf
    assert sw.bp(A, np.zeros(10)).support.size == 0


def test_a_halt_ends_where_it_is():
    A, y, bound, _ = planted(5, 40, 120, 8, 0.05)
    data = problem(A, y)
    path = ComplexPath(data, lambda: True)
    found = path.minimise(check_weights(data, None), bound / data.scale)
    norm = np.linalg.norm(found.residual(data))
    assert norm > 2 * bound / data.scale
    at_that = sw.bpdn(A, y, residual=norm * data.scale)
    np.testing.assert_allclose(found.coef(data) * data.scale / np.linalg.norm(A, axis=0),
                               at_that.coef, atol=1e-8)  # fmt: skip


def lost(self, weights, bound):
    raise LostDigitsError


@pytest.mark.usefixtures("cones")
def test_clarabel_helps_where_it_is(monkeypatch):
    A, y, bound, _ = planted(6, 20, 40, 3, 0.05)
    expected = sw.bpdn(A, y, residual=bound)
    monkeypatch.setattr(ComplexPath, "minimise", lost)
    found = sw.bpdn(A, y, residual=bound)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-8)


def test_no_answer_without_proof(monkeypatch):
    A, y, bound, _ = planted(6, 20, 40, 3, 0.05)
    monkeypatch.setattr(ComplexPath, "minimise", lost)
    with pytest.raises(LostDigitsError, match="Columns are so nearly dependent"):
        sw.bpdn(A, y, residual=bound)


def test_what_is_proved_less_well_is_told(monkeypatch):
    """Without Clarabel, an answer that is not proved to the last digits says so."""
    A, y, bound, _ = planted(6, 20, 40, 3, 0.05)
    data = problem(A, y)
    pursuit = BasisPursuit(data, bound, "auto", None)
    plain = ComplexPath.minimise

    def rough(self, weights, bound):
        found = plain(self, weights, bound)
        self.gap = 1e-5
        return found._replace(accuracy=1e-5)

    monkeypatch.setattr(ComplexPath, "minimise", rough)
    stop = pursuit.run(check_weights(data, None))
    assert pursuit.solution("bpdn", stop, False).accuracy == 1e-5
