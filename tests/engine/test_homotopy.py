"""The engine of the path: other weights, larger and smaller bounds, and back again."""

from __future__ import annotations

import numpy as np
import pytest

import sparsewise as sw
from sparsewise import plan
from sparsewise.engine.l1 import homotopy as module
from sparsewise.engine.l1.homotopy import Homotopy
from sparsewise.engine.l1.weights import check_weights
from sparsewise.engine.log import Log
from sparsewise.problem.problem import problem
from sparsewise.results import Stop
from tests.algorithms.test_bpdn import make
from tests.references import l1 as reference

GENERIC = ["tall", "wide", "square", "neighbours wide", "free columns", "barred columns"]
DEGENERATE = [
    "copies", "negated copies", "copies of other weights", "sums", "identity", "signs", "integers",
    "hadamard and identity", "orthonormal ties", "rank deficient", "zero columns",
]  # fmt: skip


def begin(A, y, w):
    data = problem(A, y)
    return Homotopy(Log(data, None), check_weights(data, w))


def other_weights(path, rng, w, spread=1.0):
    """Random weights of the same free and barred columns."""
    w = np.ones(path.data.shape[1]) if w is None else w
    return check_weights(path.data, w * np.exp(spread * rng.standard_normal(w.size)))


def dense(path):
    found = path.minimiser()
    x = np.zeros(path.data.shape[1])
    x[found.columns] = found.x
    return x


def assert_optimal(path, tolerance=1e-9):
    """By the conditions in unit columns and a unit target, recomputed."""
    data, weights = path.data, path.weights
    unit = data.design.columns(np.arange(data.shape[1])) * data.inverse_norms
    w = np.where(weights.excluded, np.inf, weights.unit)
    x = dense(path)
    assert reference.kkt(unit, data.y, x, path.penalty, w).worst < tolerance
    squares = float(np.sum((data.y - unit @ x) ** 2))
    assert path.squared_residual == pytest.approx(squares, rel=1e-8, abs=1e-14)
    found = path.minimiser()
    if path.penalty > 0:
        np.testing.assert_allclose(
            path.penalty * found.dual, data.y - unit @ x, atol=tolerance * np.sqrt(squares)
        )


def scratch(path):
    """The same λ and weights, from the beginning."""
    fresh = Homotopy(Log(path.data, None), path.weights)
    fresh.lower(to=min(path.penalty, fresh.first_penalty))
    return fresh


def start(A, y, w, part=0.3):
    """A path at the λ that is a part of the first."""
    path = begin(A, y, w)
    path.lower(to=part * path.first_penalty)
    return path


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", GENERIC)
def test_turning_leads_to_the_minimiser(family, seed, large, monkeypatch):
    if large:
        monkeypatch.setattr(plan, "SMALL", 0)
    rng = np.random.default_rng(seed)
    A, y, w = make(family, seed)
    path = start(A, y, w)
    first, before = path.weights, dense(path)
    for spread in (0.1, 1.0, 3.0):
        path.reweight(other_weights(path, rng, w, spread))
        assert_optimal(path)
        np.testing.assert_allclose(dense(path), dense(scratch(path)), atol=1e-9)
    path.reweight(first)
    np.testing.assert_allclose(dense(path), before, atol=1e-9)
    assert path.penalty == pytest.approx(0.3 * path.first_penalty, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("family", DEGENERATE)
def test_turning_where_columns_are_tied(family, seed):
    """Minimisers are not unique, but their fit is, and what they cost."""
    rng = np.random.default_rng(seed)
    A, y, w = make(family, seed)
    path = start(A, y, w)
    first, before = path.weights, path.squared_residual
    for _ in range(3):
        w_now = rng.choice([0.5, 1.0, 2.0], A.shape[1])  # ties again
        path.reweight(check_weights(path.data, w_now))
        assert_optimal(path)
        fresh = scratch(path)
        assert path.squared_residual == pytest.approx(fresh.squared_residual, rel=1e-8)
        cost = np.abs(dense(path)) @ np.where(path.weights.excluded, 0, path.weights.unit)
        other = np.abs(dense(fresh)) @ np.where(path.weights.excluded, 0, path.weights.unit)
        assert cost == pytest.approx(other, rel=1e-8, abs=1e-12)
    path.reweight(first)
    assert_optimal(path)
    assert path.squared_residual == pytest.approx(before, rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", GENERIC)
def test_growing_and_shrinking_return(family, seed):
    A, y, w = make(family, seed)
    path = start(A, y, w, 0.1)
    low, before, penalty = path.squared_residual, dense(path), path.penalty
    rest = begin(A, y, w).squared_residual
    high = low + 0.7 * (rest - low)
    assert path.raise_(high) is Stop.RESIDUAL
    assert path.squared_residual == pytest.approx(high, rel=1e-10)
    assert path.penalty > penalty
    assert_optimal(path)
    np.testing.assert_allclose(dense(path), dense(scratch(path)), atol=1e-9)
    assert path.lower(low) is Stop.RESIDUAL
    assert path.penalty == pytest.approx(penalty, rel=1e-8)
    np.testing.assert_allclose(dense(path), before, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", DEGENERATE)
def test_growing_and_shrinking_where_columns_are_tied(family, seed):
    A, y, w = make(family, seed)
    path = start(A, y, w, 0.1)
    low, rest = path.squared_residual, begin(A, y, w).squared_residual
    for part in (0.5, 0.9, 0.2):
        bound = low + part * (rest - low)
        verb = path.raise_ if bound > path.squared_residual else path.lower
        verb(bound)
        assert path.squared_residual == pytest.approx(bound, rel=1e-9)
        assert_optimal(path)


@pytest.mark.parametrize("seed", range(4))
def test_a_long_wander(seed):
    """Errors do not pile up over hundreds of bends."""
    rng = np.random.default_rng(seed)
    A, y, _ = make("neighbours wide", seed)
    path = start(A, y, None)
    for _ in range(40):
        path.reweight(other_weights(path, rng, None))
        bound = rng.uniform(0.02, 0.6)
        verb = path.raise_ if bound > path.squared_residual else path.lower
        assert verb(bound) is Stop.RESIDUAL
        assert path.squared_residual == pytest.approx(bound, rel=1e-9)
    assert_optimal(path)
    np.testing.assert_allclose(dense(path), dense(scratch(path)), atol=1e-8)


def test_bends_and_steps_belong_together():
    A, y, _ = make("wide", 0)
    log = Log(problem(A, y), None)
    path = Homotopy(log, check_weights(log.problem, None))
    assert not path.started
    assert path.size == 0
    path.lower()
    assert path.started
    assert path.fits_exactly
    assert path.penalty == 0
    assert len(path.breakpoints) >= path.size == A.shape[0]
    assert (np.diff(path.breakpoints) <= 0).all()


def test_few_bends_at_a_time(monkeypatch):
    """A compiled call that runs out of room goes on in the next."""
    A, y, _ = make("neighbours wide", 1)
    whole = begin(A, y, None)
    whole.lower()
    monkeypatch.setattr(module, "FIRST_ROOM", 2)
    pieces = begin(A, y, None)
    pieces.lower()
    assert pieces.breakpoints == whole.breakpoints
    np.testing.assert_array_equal(dense(pieces), dense(whole))


def test_a_bound_met_at_once():
    A, y, _ = make("wide", 0)
    path = start(A, y, None)
    before = dense(path)
    assert path.lower(path.squared_residual) is Stop.RESIDUAL
    np.testing.assert_allclose(dense(path), before, atol=1e-12)


def single(seed, agree=0.0):
    """Data in single precision; columns that have something in common agree."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((40, 80)) + agree * rng.standard_normal((40, 1))
    y = A[:, :5].sum(axis=1) + 0.1 * rng.standard_normal(40)
    return A.astype(np.float32), y.astype(np.float32)


@pytest.mark.parametrize("name", ["bpdn", "bp_ard", "bp_candes", "l1_path"])
def test_single_precision_does_by_itself(name, monkeypatch):
    """Of ordinary data, nothing is made anew, and nothing done again in double precision."""
    monkeypatch.setattr(module, "in_double", None)
    monkeypatch.setattr(module.Factor, "make", None)
    for seed in range(10):
        A, y = single(seed)
        found = getattr(sw, name)(A, y, residual=0.2 * float(np.linalg.norm(y)))
        assert found.support.size >= 5
        assert found.coef.dtype == np.float32
        assert found.check(A, y).ok


def test_single_precision_that_is_worn_gives_way_to_double():
    """Once, and as a whole: no bend costs a factor of its own. What was read so far is counted."""
    for seed in range(10):
        A, y = single(seed, agree=30.0)
        bound = 1e-2 * float(np.linalg.norm(y))
        found, double = (
            sw.bpdn(X, z, residual=bound) for X, z in ((A, y), map(np.float64, (A, y)))
        )
        assert found.coef.dtype == np.float32
        assert found.check(A, y).ok
        assert found.objective == pytest.approx(double.objective, rel=1e-4)
        assert found.n_passes > double.n_passes


def test_steps_told_in_single_precision_are_told_once():
    for seed in range(5):
        A, y = single(seed, agree=30.0)
        told = []
        found = sw.bpdn(A, y, residual=0.1 * float(np.linalg.norm(y)), callback=told.append)
        assert [step.columns for step in told] == [step.columns for step in found.path]
