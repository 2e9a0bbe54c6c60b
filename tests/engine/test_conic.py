"""The conic reference against linear programming, scikit-learn, and the optimality conditions."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.optimize import linprog
from scipy.sparse.linalg import aslinearoperator

import sparsewise
from sparsewise.engine.l1.conic import solve_conic
from sparsewise.engine.l1.l1_solution import l1_solution
from sparsewise.engine.l1.weights import check_weights
from sparsewise.engine.log import Log
from sparsewise.problem.problem import problem
from sparsewise.results import L1Solution, Stop
from tests.problems import FAMILIES, normal

pytest.importorskip("clarabel", reason="Clarabel is not installed")
sklearn_linear = pytest.importorskip("sklearn.linear_model")


def conic(A, y, residual, weights=None, include=(), exclude=(), debias=False) -> L1Solution:
    data = problem(A, y, include=include, exclude=exclude)
    costs = check_weights(data, weights)
    found = solve_conic(data, costs, residual / data.scale)
    assert np.all(found.x != 0)
    return l1_solution(Log(data, None), "bpdn", Stop.RESIDUAL, costs, found, residual, debias)


def distance(A, y) -> float:
    return float(np.linalg.norm(y - A @ np.linalg.lstsq(A, y, rcond=None)[0]))


def without_zeros(A):
    return A[:, np.linalg.norm(A, axis=0) > 0]


@pytest.mark.parametrize("seed", range(8))
def test_basis_pursuit_is_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    A, w = normal(rng, 15, 40) * rng.uniform(0.1, 10, 40), rng.uniform(0.5, 2, 40)
    y = normal(rng, 15)
    found = conic(A, y, 0.0, weights=w)
    lp = linprog(np.concatenate([w, w]), A_eq=np.hstack([A, -A]), b_eq=y)
    assert found.objective == pytest.approx(lp.fun, rel=1e-10)
    np.testing.assert_allclose(found.coef, lp.x[:40] - lp.x[40:], atol=1e-9 * abs(lp.x).max())
    assert found.support.size <= 15
    assert found.check(A, y).ok


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "m"), [(30, 12), (20, 50)])
def test_a_bound_is_the_lasso_at_its_penalty(seed, n, m):
    rng = np.random.default_rng([seed, n])
    A = normal(rng, n, m) + normal(rng, n, 1)
    y = A[:, :4] @ normal(rng, 4) + 0.3 * normal(rng, n)
    d = distance(A, y)
    found = conic(A, y, d + 0.2 * (np.linalg.norm(y) - d))
    lasso = sklearn_linear.Lasso(
        alpha=found.penalty / n, fit_intercept=False, tol=1e-14, max_iter=10**6
    ).fit(A, y)
    np.testing.assert_allclose(found.coef, lasso.coef_, atol=1e-6 * np.abs(found.coef).max())
    assert found.objective == pytest.approx(np.abs(lasso.coef_).sum(), rel=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_optimality_holds_to_rounding(family, seed):
    p = FAMILIES[family](seed)
    A = without_zeros(p.A)
    d, size = distance(A, p.y), np.linalg.norm(p.y)
    for part in (0.01, 0.3, 0.9):
        bound = d + part * (size - d)
        found = conic(A, p.y, bound)
        check = found.check(A, p.y)
        assert check.ok, check
        assert found.accuracy < 1e-10
        assert found.residual_norm == pytest.approx(bound, rel=1e-10)


@pytest.mark.parametrize("family", ["wide", "correlated wide", "complex wide", "duplicates"])
@pytest.mark.parametrize("seed", range(3))
def test_weights_free_and_barred_columns(family, seed):
    p = FAMILIES[family](seed)
    A = without_zeros(p.A)
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.1, 3, A.shape[1])
    barred, free = [0, 2], [1, 4]
    allowed = np.delete(A, barred, axis=1)
    d = distance(allowed, p.y)
    kept = distance(A[:, free], p.y)
    for bound in (d + 0.05 * (kept - d), d + 0.7 * (kept - d)):
        found = conic(A, p.y, bound, weights=w, include=free, exclude=barred)
        check = found.check(A, p.y)
        assert check.ok, check
        assert found.accuracy < 1e-8
        assert not set(barred) & set(found.support)
        assert set(free) <= set(found.support)


def test_free_columns_that_do_cost_nothing():
    rng = np.random.default_rng(1)
    A, y = normal(rng, 10, 20), normal(rng, 10)
    d = distance(A[:, [3, 5]], y)
    found = conic(A, y, d * 1.01, include=[3, 5])
    assert list(found.support) == [3, 5]
    assert found.objective == 0
    assert found.residual_norm == pytest.approx(d)
    assert found.check(A, y).ok


@pytest.mark.parametrize("kind", [float, complex])
def test_copies_share_nothing(kind):
    rng = np.random.default_rng(2)
    half = normal(rng, 12, 15, kind=kind)
    A = np.hstack([half, half * np.exp(1j * np.arange(15)) if kind is complex else -half])
    y = half[:, :3] @ np.array([1.0, -2.0, 1.5]) + 0.1 * normal(rng, 12, kind=kind)
    found = conic(A, y, 0.5)
    once = conic(half, y, 0.5)
    assert found.objective == pytest.approx(once.objective, rel=1e-10)
    assert len({j % 15 for j in found.support}) == found.support.size
    assert found.check(A, y).ok


def test_equal_correlations():
    A, y = np.eye(6), np.ones(6)
    found = conic(A, y, 1.0)
    np.testing.assert_allclose(found.coef, 1 - 1 / np.sqrt(6), rtol=1e-10)
    assert found.check(A, y).ok


@pytest.mark.parametrize("kind", [float, complex])
def test_basis_pursuit_of_planted_vectors(kind):
    rng = np.random.default_rng(3)
    A = normal(rng, 30, 60, kind=kind)
    x = np.zeros(60, kind)
    x[[4, 17, 33, 50]] = normal(rng, 4, kind=kind)
    found = conic(A, A @ x, 0.0)
    assert list(found.support) == [4, 17, 33, 50]
    np.testing.assert_allclose(found.coef, x, atol=1e-10 * np.abs(x).max())
    assert found.check(A, A @ x).ok
    assert found.accuracy < 1e-11


@pytest.mark.parametrize("kind", [float, complex])
def test_basis_pursuit_of_any_target(kind):
    rng = np.random.default_rng(4)
    A, y = normal(rng, 20, 50, kind=kind), normal(rng, 20, kind=kind)
    found = conic(A, y, 0.0)
    assert found.check(A, y).ok
    assert found.accuracy < 1e-11
    assert found.penalty == 0


@pytest.mark.parametrize("store", [sparse.csc_array, sparse.csr_array, aslinearoperator])
def test_other_designs(store):
    rng = np.random.default_rng(5)
    A = normal(rng, 25, 60) * (rng.random((25, 60)) < 0.2) + 0.01 * np.eye(25, 60)
    A = without_zeros(A)
    y = normal(rng, 25)
    bound = 0.3 * np.linalg.norm(y)
    dense, other = conic(A, y, bound), conic(store(A), y, bound)
    np.testing.assert_allclose(other.coef, dense.coef, atol=1e-10)
    assert other.check(store(A), y).ok


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
def test_single_precision(kind):
    rng = np.random.default_rng(6)
    A = normal(rng, 20, 40, kind=complex if kind is np.complex64 else float).astype(kind)
    y = A[:, 3] * 2 - A[:, 7] + 0.1 * A[:, 9]
    found = conic(A, y, 0.2)
    assert found.coef.dtype == kind
    assert found.check(A, y).ok


def test_complex_target_of_a_real_design():
    rng = np.random.default_rng(7)
    A, y = normal(rng, 15, 30), normal(rng, 15, kind=complex)
    found = conic(A, y, 1.0)
    typed = conic(A.astype(complex), y, 1.0)
    np.testing.assert_allclose(found.coef, typed.coef, atol=1e-12)
    assert found.check(A, y).ok


def test_scales_do_not_matter():
    rng = np.random.default_rng(8)
    A, y = normal(rng, 15, 30), normal(rng, 15)
    found = conic(A, y, 1.0)
    scaled = conic(1e6 * A, 1e-4 * y, 1e-4)
    np.testing.assert_allclose(1e10 * scaled.coef, found.coef, rtol=1e-9)


@pytest.mark.parametrize("factor", [1.0, 1.5, np.inf])
def test_a_bound_of_the_norm_of_y_needs_nothing(factor):
    rng = np.random.default_rng(9)
    A, y = normal(rng, 10, 20), normal(rng, 10)
    found = conic(A, y, factor * np.linalg.norm(y))
    assert found.support.size == 0
    assert found.penalty == np.inf
    assert found.check(A, y).ok
    assert conic(A, np.zeros(10), 0.0).support.size == 0


def test_an_infeasible_bound_names_the_distance():
    rng = np.random.default_rng(10)
    A, y = normal(rng, 20, 8), 7 * normal(rng, 20)
    d = distance(A, y)
    with pytest.raises(ValueError, match=f"range of A is {d:.10g}; allow a residual"):
        conic(A, y, 0.9 * d)
    with pytest.raises(ValueError, match="allow a residual"):
        conic(A, y, 0.0)
    with pytest.raises(ValueError, match=f"range of A is {np.linalg.norm(y):.6g}"):
        conic(A, y, 1.0, exclude=range(8))
    closer = distance(A[:, 1:], y)
    with pytest.raises(ValueError, match=f"range of A is {closer:.6g}"):
        conic(A, y, d * 1.0001, exclude=[0])


def test_the_distance_itself_is_a_bound():
    """No dual vector attains the optimum there; x is least squares all the same."""
    rng = np.random.default_rng(11)
    A, y = normal(rng, 20, 8), normal(rng, 20)
    found = conic(A, y, distance(A, y))
    np.testing.assert_allclose(found.coef, np.linalg.lstsq(A, y, rcond=None)[0], rtol=1e-6)
    assert found.accuracy < 1e-4
    assert found.check(A, y).ok


def test_debiasing_refits():
    rng = np.random.default_rng(12)
    A, y = normal(rng, 20, 40), normal(rng, 20)
    found = conic(A, y, 2.0, debias=True)
    fitted = np.linalg.lstsq(A[:, found.support], y, rcond=None)[0]
    np.testing.assert_allclose(found.coef[found.support], fitted, rtol=1e-9)
    assert found.check(A, y).ok


def test_without_clarabel_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    rng = np.random.default_rng(13)
    with pytest.raises(ImportError, match=r"pip install 'sparsewise\[conic\]'"):
        conic(normal(rng, 5, 9), normal(rng, 5), 0.1)


@pytest.mark.parametrize("family", ["tall", "wide", "correlated wide", "duplicates"])
@pytest.mark.parametrize("seed", range(3))
def test_bpdn_by_both_solvers(family, seed):
    p = FAMILIES[family](seed)
    d = distance(p.A, p.y)
    bound = d + 0.3 * (np.linalg.norm(p.y) - d)
    by_cones = sparsewise.bpdn(p.A, p.y, residual=bound, solver="conic")
    by_path = sparsewise.bpdn(p.A, p.y, residual=bound, solver="homotopy")
    assert by_cones.objective == pytest.approx(by_path.objective, rel=1e-9)
    assert by_cones.residual_norm == pytest.approx(bound, rel=1e-9)
    assert by_cones.stop is Stop.RESIDUAL
    assert by_cones.check(p.A, p.y).ok


@pytest.mark.parametrize("kind", [float, complex])
def test_bp_by_cones(kind):
    rng = np.random.default_rng(14)
    A = normal(rng, 20, 45, kind=kind)
    y = A[:, [2, 30]] @ np.array([1.0, -3.0])
    found = sparsewise.bp(A, y, solver="conic")
    assert list(found.support) == [2, 30]
    assert found.stop is Stop.EXACT_FIT
    assert found.check(A, y).ok


def test_errors_reach_the_caller(monkeypatch):
    rng = np.random.default_rng(15)
    A, y = normal(rng, 20, 8), normal(rng, 20)
    with pytest.raises(ValueError, match=f"range of A is {distance(A, y):.10g}; allow a residual"):
        sparsewise.bp(A, y, solver="conic")
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"pip install 'sparsewise\[conic\]'"):
        sparsewise.bpdn(A, y, residual=0.9 * np.linalg.norm(y), solver="conic")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [float, complex])
def test_weights_over_decades(kind, seed):
    """λ and ν belong together, however little the columns that matter cost beside the others."""
    rng = np.random.default_rng(seed)
    A, y = normal(rng, 12, 8, kind=kind), normal(rng, 12, kind=kind)
    w = 10.0 ** rng.uniform(-10, 0, 8)
    bound = 0.9 * np.linalg.norm(y)
    found = conic(A, y, bound, weights=w)
    r = y - A @ found.coef
    np.testing.assert_allclose(found.penalty * found.dual, r, atol=1e-8 * bound)
    assert np.linalg.norm(r) <= bound * (1 + 1e-9)
    assert (np.abs(A.conj().T @ found.dual) <= w * (1 + 1e-8)).all()
    assert found.accuracy < 1e-8
