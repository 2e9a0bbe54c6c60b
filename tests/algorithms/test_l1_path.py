"""The path of the lasso against scikit-learn's, the optimality conditions and `bpdn`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import lars_path

import sparsewise as sw
from sparsewise import plan
from sparsewise.results import L1Path, Stop
from tests.algorithms.test_bpdn import FAMILIES, gaussian, make, neighbours
from tests.references import l1 as reference


def sklearn_path(A, y, w):
    """λ and coefficients at each bend, by the unweighted path of A diag(1/w)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the last bits of the path, which it may give up on
        alphas, _, coefs = lars_path(A / w, y, method="lasso", max_iter=10_000)
    return alphas * y.size, coefs / w[:, None]


def without_dust(A, y, coef):
    """Coefficients of columns that are tied are zero but for rounding, for several bends."""
    size = np.abs(coef) * np.linalg.norm(A, axis=0)
    return np.where(size > 1e-12 * np.linalg.norm(y), coef, 0.0)


SHAPES = {"tall": (40, 12), "square": (15, 15), "wide": (15, 40)}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", SHAPES)
def test_same_as_scikit_learn(shape, weighted, seed):
    rng = np.random.default_rng([seed, weighted])
    n, m = SHAPES[shape]
    A, y = (gaussian, neighbours)[seed % 2](rng, n, m), gaussian(rng, n, 1)[:, 0]
    w = rng.uniform(0.2, 3, m) if weighted else np.ones(m)
    penalties, coefs = sklearn_path(A, y, w)
    path = sw.l1_path(A, y, weights=w)
    size = np.abs(coefs).max()
    for penalty, coef in zip(penalties, coefs.T, strict=True):
        if penalty > 1e-9 * penalties[0]:  # it makes its last bends from what rounding left
            np.testing.assert_allclose(path.at_penalty(penalty).coef, coef, atol=1e-9 * size)
    assert path.penalties[0] == pytest.approx(penalties[0], rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", FAMILIES)
def test_optimal_at_and_between_the_bends(family, seed):
    A, y, w = make(family, seed)
    path = sw.l1_path(A, y, weights=w)
    assert isinstance(path, L1Path)
    assert path.check(A, y).ok
    assert (np.diff(path.penalties) <= 0).all()
    assert path.penalties[0] > path.penalties[1]
    assert len(path.points) == path.penalties.size <= len(path.path) + 1
    for penalty, model in zip(path.penalties, path.points, strict=True):
        assert reference.kkt(A, y, without_dust(A, y, model.coef), penalty, w).worst < 1e-10
        assert np.linalg.norm(A @ model.coef - y) ** 2 == pytest.approx(
            model.squared_residual, rel=1e-8, abs=1e-12 * (y @ y)
        )
    for upper, lower in zip(path.penalties[:-1], path.penalties[1:], strict=True):
        between = 0.3 * upper + 0.7 * lower
        coef = without_dust(A, y, path.at_penalty(between).coef)
        assert reference.kkt(A, y, coef, between, w).worst < 1e-10


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", ["tall", "wide", "neighbours wide", "free columns", "unequal"])
def test_between_the_bends_is_bpdn(family, seed):
    A, y, w = make(family, seed)
    path = sw.l1_path(A, y, weights=w)
    first, last = (path.points[i].squared_residual ** 0.5 for i in (0, -1))
    for part in (0.9, 0.5, 0.2, 0.01):
        residual = last + part * (first - last)
        model = path.at_residual(residual)
        found = sw.bpdn(A, y, residual=residual, weights=w)
        size = np.abs(found.coef).max()
        np.testing.assert_allclose(model.coef, found.coef, atol=1e-9 * size)
        assert model.support.tolist() == np.flatnonzero(found.coef).tolist()
        assert model.squared_residual == pytest.approx(residual**2, rel=1e-9)
        assert reference.kkt(A, y, model.coef, found.penalty, w).worst < 1e-9


def test_squared_residual_between_the_bends():
    A, y, _ = make("wide", 0)
    path = sw.l1_path(A, y)
    for penalty in np.linspace(path.penalties[0], path.penalties[-2], 50):
        model = path.at_penalty(penalty)
        assert model.squared_residual == pytest.approx(
            np.linalg.norm(A @ model.coef - y) ** 2, rel=1e-9
        )


def test_tall_ends_at_least_squares():
    for seed in range(5):
        A, y, _ = make("tall", seed)
        path = sw.l1_path(A, y)
        np.testing.assert_allclose(path.coef, np.linalg.lstsq(A, y, rcond=None)[0], atol=1e-10)
        assert path.penalties[-1] == path.penalty == 0
        assert path.stop is Stop.EXHAUSTED


def test_wide_ends_at_basis_pursuit():
    for seed in range(5):
        A, y, _ = make("wide", seed)
        path = sw.l1_path(A, y)
        np.testing.assert_allclose(path.coef, sw.bp(A, y).coef, atol=1e-12)
        assert path.stop is Stop.EXACT_FIT
        assert path.penalties[-1] == 0


@pytest.mark.parametrize("family", ["tall", "wide"])
def test_ends(family):
    A, y, _ = make(family, 1)
    whole = sw.l1_path(A, y)
    penalty = 0.3 * whole.penalties[0]
    short = sw.l1_path(A, y, penalty=penalty)
    assert short.penalty == pytest.approx(penalty, rel=1e-12)
    assert short.penalties[-1] == pytest.approx(penalty, rel=1e-12)
    np.testing.assert_allclose(short.coef, whole.at_penalty(penalty).coef, atol=1e-11)
    residual = 0.7 * np.linalg.norm(y)
    near = sw.l1_path(A, y, residual=residual)
    assert near.stop is Stop.RESIDUAL
    assert near.residual_norm == pytest.approx(residual, rel=1e-12)
    np.testing.assert_allclose(near.coef, whole.at_residual(residual).coef, atol=1e-11)
    both = sw.l1_path(A, y, residual=residual, penalty=penalty)
    assert both.penalty == pytest.approx(max(near.penalty, penalty), rel=1e-12)
    n = short.penalties.size - 1
    np.testing.assert_allclose(short.penalties[:n], whole.penalties[:n], rtol=1e-12)
    for path in (short, near, both):
        assert path.check(A, y).ok


def test_beyond_the_end():
    A, y, _ = make("wide", 1)
    path = sw.l1_path(A, y, penalty=1.0)
    with pytest.raises(ValueError, match=r"ends at a penalty of 1; follow it to 0\.5"):
        path.at_penalty(0.5)
    with pytest.raises(ValueError, match="The path ends at a residual of"):
        path.at_residual(0.5 * path.residual_norm)
    np.testing.assert_allclose(path.at_residual(path.residual_norm).coef, path.coef, atol=1e-12)
    np.testing.assert_array_equal(path.at_penalty(path.penalty).coef, path.coef)
    whole = sw.l1_path(A, y)
    np.testing.assert_array_equal(whole.at_penalty(0).coef, whole.coef)
    assert not path.at_penalty(2 * path.penalties[0]).coef.any()
    assert not path.at_residual(2 * np.linalg.norm(y)).coef.any()
    for call in (path.at_penalty, path.at_residual):
        with pytest.raises(ValueError, match="not NaN"):
            call(np.nan)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_end_is_where_it_was_asked_for(kind):
    """To the last digit of λ, whatever the units; ‖r‖ to rounding."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        A, y = gaussian(rng, 15, 30).astype(kind), 3 * gaussian(rng, 15, 1)[:, 0].astype(kind)
        penalty = rng.uniform(0.05, 0.9) * float(np.abs(A.T @ y).max())
        path = sw.l1_path(A, y, penalty=penalty)
        assert path.penalty == path.penalties[-1] == penalty
        np.testing.assert_array_equal(path.at_penalty(penalty).coef, path.coef)
        residual = rng.uniform(0.01, 0.9) * float(np.linalg.norm(y))
        path = sw.l1_path(A, y, residual=residual)
        end = path.at_residual(residual)
        np.testing.assert_allclose(end.coef, path.coef, atol=1e2 * np.finfo(kind).eps)


def test_shapes():
    A, y, _ = make("wide", 2)
    path = sw.l1_path(A, y)
    count = path.penalties.size
    assert path.coefs.shape == (A.shape[1], count)
    assert len(path.supports) == len(path.points) == count
    for coef, support in zip(path.coefs.T, path.supports, strict=True):
        assert set(np.flatnonzero(coef)) <= set(support)
        assert support.size <= A.shape[0]
    np.testing.assert_array_equal(path.coefs[:, -1], path.coef)
    assert not path.coefs[:, 0].any()


def test_a_penalty_above_the_first():
    A, y, _ = make("wide", 2)
    path = sw.l1_path(A, y, penalty=1e3 * np.linalg.norm(A) * np.linalg.norm(y))
    assert not path.coef.any()
    assert path.check(A, y).ok


def test_zero_target():
    A, y, _ = make("wide", 2)
    path = sw.l1_path(A, 0 * y)
    assert path.stop is Stop.ZERO_TARGET
    assert not path.coefs.any()
    assert path.check(A, 0 * y).ok


def test_large_designs_take_the_same_path(monkeypatch):
    A, y, _ = make("neighbours wide", 3)
    small = sw.l1_path(A, y)
    monkeypatch.setattr(plan, "SMALL", 0)
    large = sw.l1_path(A, y)
    np.testing.assert_allclose(small.penalties, large.penalties, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(small.coefs, large.coefs, atol=1e-9)


def test_columns_that_can_not_come_in_leave_no_trace():
    """Copies at weights of six decades: points are those of the path followed bend by bend."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        half = gaussian(rng, 12, 7)
        A = np.hstack([half, half * rng.choice([1.0, -1.0, 3.0, -0.1], 7)])
        w, y = 10.0 ** rng.uniform(-6, 0, 14), rng.integers(-1, 2, 12) + np.eye(12)[0]
        quick = sw.l1_path(A, y, weights=w)
        slow = sw.l1_path(A, y, weights=w, callback=lambda step: None)
        for penalty, model in zip(quick.penalties, quick.points, strict=True):
            coef = without_dust(A, y, model.coef)
            assert reference.kkt(A, y, coef, penalty, w).worst < 1e-8
            other = slow.at_penalty(penalty).coef
            np.testing.assert_allclose(A @ model.coef, A @ other, atol=1e-8)


def test_words():
    A, y, _ = make("wide", 4)
    path = sw.l1_path(A, y, include=[1, 2], exclude=[3])
    assert path.supports[0].tolist() == [1, 2]
    assert all({1, 2} <= set(support) for support in path.supports)
    assert not path.coefs[3].any()
    seen = []
    stopped = sw.l1_path(A, y, callback=lambda step: seen.append(step) or len(seen) == 4)
    assert stopped.stop is Stop.CALLBACK
    assert list(stopped.path) == seen
    assert reference.kkt(A, y, stopped.coef, stopped.penalty).worst < 1e-12


def test_bad_input():
    A, y, _ = make("wide", 4)
    with pytest.raises(ValueError, match='solver="conic"'):
        sw.l1_path(1j * A, y)
    with pytest.raises(ValueError, match="penalty must be at least 0"):
        sw.l1_path(A, y, penalty=-1)
    with pytest.raises(ValueError, match="residual must be at least 0"):
        sw.l1_path(A, y, residual=-1)
    with pytest.raises(ValueError, match="weights must have shape"):
        sw.l1_path(A, y, weights=[1.0])


@pytest.mark.parametrize("columns", [2.0**500, 2.0**-500, 1.0])
@pytest.mark.parametrize("target", [2.0**450, 2.0**-450, 1.0])
def test_points_in_between_at_every_scale(columns, target):
    """Squares of penalties and residuals may be out of range; the models are not."""
    rng = np.random.default_rng(5)
    A, y = rng.standard_normal((12, 7)), rng.standard_normal(12)
    plain, scaled = sw.l1_path(A, y), sw.l1_path(columns * A, target * y)
    unit = columns * target
    for share in (0.9, 0.5, 0.21, 0.03):
        penalty, residual = share * plain.penalties[0], 1.05 * share * np.linalg.norm(y)
        one, two = plain.at_penalty(penalty), scaled.at_penalty(penalty * unit)
        np.testing.assert_allclose(two.coef * (columns / target), one.coef, rtol=1e-9, atol=1e-12)
        if residual > plain.residual_norm:
            one, two = plain.at_residual(residual), scaled.at_residual(residual * target)
            np.testing.assert_allclose(two.coef * (columns / target), one.coef, rtol=1e-9)
            r = y - A @ one.coef
            assert np.linalg.norm(r) == pytest.approx(residual, rel=1e-9)
            assert one.loss == pytest.approx(r @ r, rel=1e-9)


def test_models_in_between_stay_in_single_precision():
    rng = np.random.default_rng(6)
    A, y = rng.standard_normal((12, 7), np.float32), rng.standard_normal(12, np.float32)
    path = sw.l1_path(A, y)
    assert (np.diff(path.penalties) < 0).all()  # λ where it begins is told once
    for share in (2.0, 1.0, 0.7, 0.1, 0.0):
        assert path.at_penalty(share * path.penalties[0]).coef.dtype == np.float32


def test_a_path_that_ends_where_it_begins_has_one_point():
    rng = np.random.default_rng(7)
    A, y = rng.standard_normal((12, 7)), rng.standard_normal(12)
    highest = float(np.abs(A.T @ y).max())
    for path in (sw.l1_path(A, y, penalty=2 * highest), sw.l1_path(A, 0 * y)):
        assert path.penalties.size == len(path.points) == 1
        assert not path.at_penalty(path.penalties[0]).coef.any()
    for scale in (1e200, 1e-200):
        with pytest.raises(
            ValueError, match="penalties of the path are beyond the floating-point range"
        ):
            sw.l1_path(scale * A, scale * y)


def test_one_column_in_other_units():
    """As many decades apart as numbers have digits, the path is what it is in other units."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A, y = gaussian(rng, 16, 24), gaussian(rng, 16, 1)[:, 0]
        A[:, 5] *= 1e17
        path = sw.l1_path(A, y)
        free = sw.l1_path(A, y, include=[5])
        for penalty in (3.0, 1.0, 0.1):
            coef = path.at_penalty(penalty).coef
            r = y - A @ coef
            objective = r @ r / 2 + penalty * np.abs(coef).sum()
            other = free.at_penalty(penalty).coef
            r = y - A @ other
            assert objective == pytest.approx(r @ r / 2 + penalty * np.abs(other).sum(), rel=1e-9)
            assert reference.kkt(A, y, coef, penalty).worst < 1e-10


@pytest.mark.parametrize("mean", [1e3, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_large_means(seed, mean):
    """Optimal at the bends and between them, in the digits that columns differ by."""
    rng = np.random.default_rng(seed)
    A, y = gaussian(rng, 12, 18) + mean, gaussian(rng, 12, 1)[:, 0]
    path = sw.l1_path(A, y)
    for upper, lower in zip(path.penalties[:-1], path.penalties[1:], strict=True):
        for penalty in (upper, 0.4 * upper + 0.6 * lower):
            model = path.at_penalty(penalty)
            coef = without_dust(A, y, model.coef)
            assert reference.kkt(A, y, coef, penalty).worst < 1e-9
            loss = np.linalg.norm(A @ model.coef - y) ** 2
            assert model.squared_residual == pytest.approx(loss, rel=1e-6, abs=1e-10)


def test_the_path_begins_once():
    for family in FAMILIES:
        A, y, w = make(family, 0)
        path = sw.l1_path(A, y, weights=w)
        assert path.penalties[0] > path.penalties[1]
        assert len(path.points) == path.penalties.size
    A, y, _ = make("wide", 0)
    assert sw.l1_path(A, y, penalty=1e9).penalties.size == 1


def test_single_precision_stays_single():
    A, y, _ = make("wide", 0)
    path = sw.l1_path(A.astype(np.float32), y.astype(np.float32))
    for penalty in (path.penalties[0], path.penalties[3], 0.3 * path.penalties[0], 0.0):
        assert path.at_penalty(penalty).coef.dtype == np.float32
    assert path.at_residual(0.5 * np.linalg.norm(y)).coef.dtype == np.float32


@pytest.mark.parametrize("power", [-300, -160, 160, 300])
def test_every_scale_of_the_target(power):
    A, y, _ = make("wide", 1)
    plain, path = sw.l1_path(A, y), sw.l1_path(A, y * 10.0**power)
    np.testing.assert_allclose(path.penalties / 10.0**power, plain.penalties, rtol=1e-9)
    for part in (0.7, 0.3, 0.01):
        norm = part * np.linalg.norm(y)
        coef = path.at_residual(norm * 10.0**power).coef / 10.0**power
        np.testing.assert_allclose(coef, plain.at_residual(norm).coef, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_free_columns_that_fit_all(seed):
    """What rounding leaves of y is no reason to follow a path, nor to refuse one."""
    rng = np.random.default_rng(seed)
    A, y = rng.standard_normal((2, 9)), rng.standard_normal(2)
    found = sw.l1_path(A, y, include=[6, 3])
    assert found.support.tolist() == [3, 6]
    assert found.penalty == 0
    assert found.objective == 0
    assert found.residual_norm <= 1e-14 * np.linalg.norm(y)
    assert found.check(A, y).ok
