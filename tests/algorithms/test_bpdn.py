"""Basis pursuit and its denoising against Clarabel, HiGHS and the optimality conditions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard

import sparsewise as sw
from sparsewise import plan
from sparsewise.results import Stop
from tests.problems import hilbert
from tests.references import l1 as reference

# --- families of problems ------------------------------------------------------------------------


def gaussian(rng, n, m):
    return rng.standard_normal((n, m))


def neighbours(rng, n, m, correlation=0.95):
    """Each column correlates with the one before."""
    A = gaussian(rng, n, m)
    for j in range(1, m):
        A[:, j] = correlation * A[:, j - 1] + (1 - correlation**2) ** 0.5 * A[:, j]
    return A


def decaying(rng, n, m):
    """Singular values fall as 1/p²; unit columns."""
    A = (gaussian(rng, n, n) / np.arange(1, n + 1) ** 2) @ gaussian(rng, n, m)
    return A / np.linalg.norm(A, axis=0)


def target(rng, A, k=4, noise=0.2):
    """A few true columns and some noise."""
    x = np.zeros(A.shape[1])
    x[rng.permutation(x.size)[:k]] = rng.choice([-1.0, 1.0], min(k, x.size))
    e = gaussian(rng, A.shape[0], 1)[:, 0]
    return A @ x + noise * np.linalg.norm(A @ x) * e / np.linalg.norm(e)


def generic(make, n, m, noise=0.2):
    def family(rng):
        A = make(rng, n, m)
        return A, target(rng, A, noise=noise), None

    return family


def scaled(rng):
    """Six decades of units, with the weights that undo them."""
    A = gaussian(rng, 16, 24) * 10.0 ** rng.uniform(-3, 3, 24)
    return A, target(rng, A), np.linalg.norm(A, axis=0)


def unequal(rng):
    """Columns of different norms at equal weights."""
    A = gaussian(rng, 16, 24) * 10.0 ** rng.uniform(-1, 1, 24)
    return A, target(rng, A), None


def six_decades(rng):
    A = gaussian(rng, 14, 24)
    return A, target(rng, A), 10.0 ** rng.uniform(-6, 0, 24)


def some_free(rng):
    A = gaussian(rng, 14, 24)
    w = rng.uniform(0.5, 2, 24)
    w[rng.permutation(24)[:3]] = 0
    return A, target(rng, A), w


def some_barred(rng):
    A = gaussian(rng, 14, 24)
    w = rng.uniform(0.5, 2, 24)
    w[rng.permutation(24)[:8]] = np.inf
    return A, target(rng, A), w


def copies(factors, equal):
    """Every column twice, at equal weights or not."""

    def family(rng):
        half = gaussian(rng, 12, 10)
        A = np.hstack([half, half * rng.choice(factors, 10)])[:, rng.permutation(20)]
        return A, target(rng, half), None if equal else rng.choice([0.5, 1.0, 2.0], 20)

    return family


def sums(rng):
    """Half of the columns are sums and differences of the others."""
    half = gaussian(rng, 12, 12)
    A = np.hstack([half, half @ rng.choice([0.0, 0.0, 1.0, -1.0], (12, 12))])
    return A, target(rng, half), None


def identity(rng):
    A = np.hstack([np.eye(9), -np.eye(9), np.eye(9)])[:, rng.permutation(27)]
    return A, rng.integers(-2, 3, 9).astype(float) + np.eye(9)[0], None


def signs(rng):
    """Columns of ±1, a target with ties."""
    return rng.choice([-1.0, 1.0], (8, 16)), rng.integers(-1, 2, 8) + 2.0 * np.eye(8)[3], None


def integers(rng):
    A = rng.integers(-2, 3, (7, 15)).astype(float)
    A[0, 0] = 1.0
    return A, A @ rng.integers(-1, 2, 15) + np.eye(7)[2], rng.choice([1.0, 2.0], 15)


def hadamard_and_identity(rng):
    A = np.hstack([hadamard(8), np.eye(8)])[:, rng.permutation(16)]
    return A, rng.choice([-1.0, 1.0], 8), None


def orthonormal_ties(rng):
    """All correlations of the target are equal."""
    Q = np.linalg.qr(gaussian(rng, 12, 12))[0]
    return Q, Q @ rng.choice([-1.0, 1.0], 12), None


def rank_deficient(rng):
    """More columns than rows, and fewer dimensions than rows."""
    A = gaussian(rng, 12, 5) @ gaussian(rng, 5, 20)
    return A, target(rng, A), None


def rank_deficient_integers(rng):
    A = (rng.integers(-1, 2, (9, 4)) @ rng.integers(-1, 2, (4, 16))).astype(float)
    A[:, 0] = np.arange(9)
    return A, target(rng, A), None


def zero_columns(rng):
    A = gaussian(rng, 12, 20)
    A[:, rng.permutation(20)[:6]] = 0
    return A, target(rng, A), None


def few_columns_exactly(rng):
    """The target is made of three columns and nothing else: some coefficients vanish at the end."""
    A = neighbours(rng, 14, 20)
    return A, A[:, :3] @ np.array([1.0, 1.0, -1.0]), None


FAMILIES = {
    "tall": generic(gaussian, 30, 12),
    "wide": generic(gaussian, 16, 32),
    "square": generic(gaussian, 15, 15),
    "neighbours tall": generic(neighbours, 30, 12),
    "neighbours wide": generic(neighbours, 15, 32),
    "decaying": generic(decaying, 10, 24),
    "scaled": scaled,
    "unequal": unequal,
    "weights over six decades": six_decades,
    "free columns": some_free,
    "barred columns": some_barred,
    "copies": copies([1.0], equal=True),
    "negated copies": copies([-1.0], equal=True),
    "rescaled copies": copies([1.0, -1.0, 3.0, -0.1], equal=True),
    "copies of other weights": copies([1.0, -1.0], equal=False),
    "sums": sums,
    "identity": identity,
    "signs": signs,
    "integers": integers,
    "hadamard and identity": hadamard_and_identity,
    "orthonormal ties": orthonormal_ties,
    "rank deficient": rank_deficient,
    "rank deficient integers": rank_deficient_integers,
    "zero columns": zero_columns,
    "few columns exactly": few_columns_exactly,
}


def make(family, seed):
    return FAMILIES[family](np.random.default_rng([seed, len(family), ord(family[0])]))


def bounds(A, y, w):
    """Three bounds from loose to tight; the last is zero where the target is in the range."""
    usable = A if w is None else A[:, np.isfinite(w)]
    size, d = np.linalg.norm(y), reference.distance(usable, y)
    exact = d < 1e-12 * size
    inside = 0.0 if exact else (size**2 - d**2) ** 0.5
    d = 0.0 if exact else d
    room = [0.5, 0.05, 0.0 if exact else 0.005]
    return [float(np.hypot(d, part * (size if exact else inside))) for part in room]


class Guard:
    """Stops a path that has no end."""

    def __init__(self, most=2000):
        self.steps, self.most = [], most

    def __call__(self, step):
        self.steps.append(step)
        assert len(self.steps) < self.most, "the path has no end"


def assert_minimiser(A, y, bound, w, found):
    """Feasible, exactly sparse, optimal by its own dual vector, by KKT and by Clarabel."""
    size = np.linalg.norm(y)
    residual = np.linalg.norm(A @ found.coef - y)
    assert found.check(A, y).ok, found.check(A, y)
    assert residual <= bound + 1e-10 * size
    assert found.residual_norm == pytest.approx(residual, rel=1e-9, abs=1e-13 * size)
    if np.isfinite(found.penalty) and found.objective > 0 and bound > 0:
        assert residual == pytest.approx(bound, rel=1e-10)
        assert reference.kkt(A, y, found.coef, found.penalty, w).worst < 1e-10
    paid = found.support if w is None else found.support[w[found.support] > 0]
    assert (found.coef[paid] != 0).all()
    assert not np.delete(found.coef, found.support).any()
    unit = A[:, found.support] / np.linalg.norm(A[:, found.support], axis=0)
    assert np.linalg.matrix_rank(unit, tol=1e-9) == found.support.size <= A.shape[0]
    cost = reference.cost(found.coef, w)
    assert found.objective == pytest.approx(cost, rel=1e-12)
    best = reference.cost(reference.minimum(A, y, bound, w), w)
    assert cost == pytest.approx(best, rel=1e-7, abs=1e-9 * size)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("family", FAMILIES)
def test_minimiser(family, seed):
    A, y, w = make(family, seed)
    for bound in bounds(A, y, w):
        quick = sw.bpdn(A, y, residual=bound, weights=w)
        assert_minimiser(A, y, bound, w, quick)
        watched = sw.bpdn(A, y, residual=bound, weights=w, callback=Guard())
        assert watched.objective == pytest.approx(quick.objective, rel=1e-10)
        np.testing.assert_allclose(A @ watched.coef, A @ quick.coef, atol=1e-9 * np.linalg.norm(y))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_basis_pursuit_is_the_linear_program(seed, weighted):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(4, 14), rng.integers(14, 30)
    A, y = gaussian(rng, n, m), gaussian(rng, n, 1)[:, 0]
    w = rng.uniform(0.1, 3, m) if weighted else None
    found = sw.bp(A, y, weights=w)
    assert found.objective == pytest.approx(reference.linear_program(A, y, w), rel=1e-9)
    assert found.stop is Stop.EXACT_FIT
    assert found.check(A, y).ok
    np.testing.assert_allclose(A @ found.coef, y, atol=1e-12)
    zero = sw.bpdn(A, y, residual=0, weights=w)
    np.testing.assert_array_equal(zero.coef, found.coef)


# --- degenerate problems, by hypothesis ----------------------------------------------------------

small_integers = st.integers(-2, 2)


@st.composite
def integer_problems(draw):
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    A = np.array(draw(st.lists(small_integers, min_size=n * m, max_size=n * m)), float)
    y = np.array(draw(st.lists(small_integers, min_size=n, max_size=n)), float)
    w = np.array(draw(st.lists(st.sampled_from([1.0, 1.0, 2.0]), min_size=m, max_size=m)))
    return A.reshape(n, m), y, w, draw(st.sampled_from([0.0, 0.1, 0.5]))


@given(integer_problems())
def test_ties_of_every_kind(drawn):
    A, y, w, part = drawn
    size, d = np.linalg.norm(y), reference.distance(A, y)
    bound = 0.0 if part == 0 and d < 1e-12 else float(np.hypot(d, max(part, 0.01) * size))
    found = sw.bpdn(A, y, residual=bound, weights=w, callback=Guard(500))
    assert found.check(A, y).ok
    best = reference.cost(reference.minimum(A, y, bound, w), w) if bound < size else 0.0
    assert found.objective == pytest.approx(best, rel=1e-7, abs=1e-8)
    again = sw.bpdn(A, y, residual=bound, weights=w)
    assert again.objective == pytest.approx(best, rel=1e-7, abs=1e-8)
    assert found.support.size <= np.linalg.matrix_rank(A)


def test_a_tied_column_that_has_just_come_in_does_not_make_way_for_a_copy():
    """Copies, and a bound a hair above the distance: rounding alone tells what comes next."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        half = gaussian(rng, 8, 7)
        A = np.hstack([half, half * rng.choice([1.0, -1.0, 3.0, -0.1], 7)])
        y = gaussian(rng, 8, 1)[:, 0]
        bound = reference.distance(A, y) * (1 + 1e-13)
        found = sw.bpdn(A, y, residual=bound, callback=Guard())
        assert np.linalg.norm(A @ found.coef - y) <= bound * (1 + 1e-10)
        assert found.objective < 1e3


def test_columns_that_come_late_still_come():
    """A dear column, or one that is nearly a copy, comes in when next to nothing of λ is left."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = gaussian(rng, 12, 2) * [100.0, 10.0 ** rng.uniform(-4, 0)]
        y = A @ rng.choice([-1.0, 1.0], 2)
        np.testing.assert_allclose(np.abs(sw.bp(A, y).coef), 1.0, rtol=1e-8)
        A = gaussian(rng, 12, 1) + 1e-5 * gaussian(rng, 12, 3)
        y = A @ rng.choice([-1.0, 1.0], 3)
        np.testing.assert_allclose(np.abs(sw.bp(A, y).coef), 1.0, rtol=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_nearly_equal_columns(seed):
    """Coefficients are large and cancel; what is left of λ is small, but not noise."""
    rng = np.random.default_rng(seed)
    A = gaussian(rng, 11, 1) + 10.0 ** rng.uniform(-4, -2) * gaussian(rng, 11, 12)
    y = gaussian(rng, 11, 1)[:, 0]
    bound = 1e-3 * np.linalg.norm(y)
    found = sw.bpdn(A, y, residual=bound)
    assert np.linalg.norm(A @ found.coef - y) <= bound + 1e-8 * np.linalg.norm(y)
    best = reference.cost(reference.minimum(A, y, bound))
    assert found.objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("family", ["wide", "signs", "integers", "hadamard and identity", "copies"])
def test_bounds_met_at_a_bend(family):
    """Whether the bound is met before or after the bend is a matter of rounding."""
    for seed in range(4):
        A, y, w = make(family, seed)
        path = sw.l1_path(A, y, weights=w)
        for model in path.points[1:-1]:
            for ulps in (-2, 0, 2):
                bound = model.squared_residual**0.5 * (1 + ulps * 2.0**-52)
                for callback in (None, Guard()):
                    found = sw.bpdn(A, y, residual=bound, weights=w, callback=callback)
                    cost = reference.cost(model.coef, w)
                    assert found.objective == pytest.approx(cost, rel=1e-7, abs=1e-9)


# --- the ends ------------------------------------------------------------------------------------


def told_distance(call):
    """The distance that the error message of this call tells."""
    with pytest.raises(ValueError, match="distance of y from the range of A is") as error:
        call()
    told = re.search(r"range of A is ([0-9.e+-]+);", str(error.value))
    assert told is not None
    return float(told.group(1))


def test_infeasible_bound_names_the_distance():
    rng = np.random.default_rng(0)
    A, y = gaussian(rng, 20, 6), gaussian(rng, 20, 1)[:, 0]
    d = reference.distance(A, y)
    for call in (lambda: sw.bpdn(A, y, residual=0.9 * d), lambda: sw.bp(A, y)):
        assert told_distance(call) == pytest.approx(d, rel=1e-8)
    assert sw.bpdn(A, y, residual=d * (1 + 1e-6)).support.size == 6


@pytest.mark.parametrize("family", ["copies", "negated copies", "rank deficient", "sums"])
def test_infeasible_bound_where_columns_depend_on_each_other(family):
    """Nothing independent is left, and yet the residual is not zero: the path must end."""
    for seed in range(8):
        A, y, w = make(family, seed)
        A = np.vstack([A, np.zeros(A.shape[1])])
        y = np.append(y, np.linalg.norm(y))
        d = reference.distance(A, y)
        for callback in (None, Guard()):
            with pytest.raises(ValueError, match=re.escape(f"{d:.10g}"[:9])):
                sw.bpdn(A, y, residual=0.99 * d, weights=w, callback=callback)


def test_distance_knows_of_barred_columns():
    rng = np.random.default_rng(1)
    A, y = gaussian(rng, 8, 12), gaussian(rng, 8, 1)[:, 0]
    d = reference.distance(A[:, 6:], y)
    with pytest.raises(ValueError, match=re.escape(f"{d:.10g}"[:9])):
        sw.bp(A, y, exclude=range(6))


@pytest.mark.parametrize("factor", [1.0, 1.5, np.inf])
def test_nothing_is_needed_for_a_loose_bound(factor):
    rng = np.random.default_rng(2)
    A, y = gaussian(rng, 8, 12), gaussian(rng, 8, 1)[:, 0]
    found = sw.bpdn(A, y, residual=factor * np.linalg.norm(y))
    assert not found.coef.any()
    assert found.support.size == 0
    assert found.objective == 0
    assert found.check(A, y).ok


def test_free_columns_may_be_enough():
    rng = np.random.default_rng(2)
    A, y = gaussian(rng, 8, 12), gaussian(rng, 8, 1)[:, 0]
    d = reference.distance(A[:, :2], y)
    found = sw.bpdn(A, y, residual=1.01 * d, include=[0, 1])
    assert found.support.tolist() == [0, 1]
    np.testing.assert_allclose(found.coef[:2], np.linalg.lstsq(A[:, :2], y, rcond=None)[0])
    assert found.objective == 0
    assert found.check(A, y).ok


@pytest.mark.parametrize("call", [lambda A, y: sw.bp(A, y), lambda A, y: sw.bpdn(A, y, residual=1)])
def test_zero_target(call):
    A = gaussian(np.random.default_rng(3), 8, 12)
    found = call(A, np.zeros(8))
    assert found.stop is Stop.ZERO_TARGET
    assert not found.coef.any()
    assert found.check(A, np.zeros(8)).ok


def test_one_column():
    found = sw.bpdn([[3.0], [4.0]], [3.0, 4.0], residual=1.0)
    np.testing.assert_allclose(found.coef, [0.8])
    assert found.penalty == pytest.approx(5.0)


# --- words ---------------------------------------------------------------------------------------


def test_include_and_exclude_are_weights():
    rng = np.random.default_rng(4)
    A, y = gaussian(rng, 10, 16), gaussian(rng, 10, 1)[:, 0]
    w = rng.uniform(0.5, 2, 16)
    words = sw.bpdn(A, y, residual=0.3, weights=w, include=[2, 5], exclude=[0, 9])
    w[[2, 5]], w[[0, 9]] = 0, np.inf
    numbers = sw.bpdn(A, y, residual=0.3, weights=w)
    np.testing.assert_array_equal(words.coef, numbers.coef)
    np.testing.assert_array_equal(words.weights, w)
    assert {2, 5} <= set(words.support)
    assert not words.coef[[0, 9]].any()
    kept = np.delete(np.arange(16), [0, 9])
    without = sw.bpdn(A[:, kept], y, residual=0.3, weights=w[kept])
    np.testing.assert_allclose(without.coef, words.coef[kept], atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_debias_is_least_squares_on_the_support(seed):
    A, y, _ = make("wide", seed)
    plain, refitted = (sw.bpdn(A, y, residual=0.4, debias=which) for which in (False, True))
    S = plain.support
    assert refitted.support.tolist() == S.tolist()
    np.testing.assert_allclose(
        refitted.coef[S], np.linalg.lstsq(A[:, S], y, rcond=None)[0], rtol=1e-9
    )
    assert refitted.debiased
    assert refitted.least_squares
    assert refitted.objective == plain.objective
    assert refitted.residual_norm < plain.residual_norm
    assert refitted.check(A, y).ok


def test_single_precision_stays_single():
    for seed in range(6):
        A, y, _ = make("wide", seed)
        bound = 0.1 * np.linalg.norm(y)
        single = sw.bpdn(A.astype(np.float32), y.astype(np.float32), residual=bound)
        assert single.coef.dtype == np.float32
        assert single.dual.dtype == np.float32
        double = sw.bpdn(A, y, residual=bound)
        np.testing.assert_allclose(single.coef, double.coef, atol=2e-5)
        assert single.objective == pytest.approx(double.objective, rel=1e-5)
        assert single.check(A.astype(np.float32), y.astype(np.float32)).ok


def test_every_storage(store):
    A, y, _ = make("wide", 0)
    bound = 0.1 * np.linalg.norm(y)
    expected = sw.bpdn(A, y, residual=bound)
    found = sw.bpdn(store(A), y, residual=bound)
    assert found.support.tolist() == expected.support.tolist()
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e3 * store.eps)
    assert found.check(store(A), y).ok


@pytest.mark.parametrize("family", ["tall", "wide", "decaying", "copies", "signs", "free columns"])
def test_large_designs_take_the_same_path(family, monkeypatch):
    """Bend by bend from Python, as designs that are not small do, or in one compiled loop."""
    for seed in range(4):
        A, y, w = make(family, seed)
        bound = bounds(A, y, w)[1]
        monkeypatch.setattr(plan, "SMALL", 1 << 16)
        small = sw.bpdn(A, y, residual=bound, weights=w)
        monkeypatch.setattr(plan, "SMALL", 0)
        large = sw.bpdn(A, y, residual=bound, weights=w)
        assert small.objective == pytest.approx(large.objective, rel=1e-11)
        np.testing.assert_allclose(A @ small.coef, A @ large.coef, atol=1e-10 * np.linalg.norm(y))
        if family in ("tall", "wide"):
            assert [step[:2] for step in small.path] == [step[:2] for step in large.path]


def test_a_large_design():
    rng = np.random.default_rng(5)
    A = gaussian(rng, 120, 700)
    y = target(rng, A, k=12, noise=0.1)
    bound = 0.12 * np.linalg.norm(y)
    found = sw.bpdn(A, y, residual=bound)
    assert found.check(A, y).ok
    assert reference.kkt(A, y, found.coef, found.penalty).worst < 1e-12
    assert found.residual_norm == pytest.approx(bound, rel=1e-12)
    assert found.n_passes <= len(found.path) + 6


def test_a_pass_a_bend():
    for seed in range(6):
        A, y, _ = make("wide", seed)
        found = sw.bpdn(A, y, residual=0.01)
        assert len(found.path) <= found.n_passes <= len(found.path) + 6


def test_callback_sees_each_step_and_may_stop():
    A, y, _ = make("wide", 1)
    seen = Guard()
    whole = sw.bpdn(A, y, residual=0.2, callback=seen)
    assert list(whole.path) == seen.steps
    assert len(seen.steps) > 6
    steps = []

    def stop(step):
        steps.append(step)
        return len(steps) == 5

    part = sw.bpdn(A, y, residual=0.2, callback=stop)
    assert part.stop is Stop.CALLBACK
    assert steps == seen.steps[:5]
    model = whole.path.models()[4]
    np.testing.assert_allclose(part.coef, model.coef, atol=1e-12)
    assert reference.kkt(A, y, part.coef, part.penalty).worst < 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_units_do_not_matter(seed):
    """Columns and weights times the same factors, y and the bound times another."""
    rng = np.random.default_rng(seed)
    A, y, _ = make("wide", seed)
    factors, unit = 10.0 ** rng.uniform(-8, 8, A.shape[1]), 10.0 ** rng.uniform(-8, 8)
    plain = sw.bpdn(A, y, residual=0.3)
    other = sw.bpdn(A * factors, unit * y, residual=unit * 0.3, weights=factors)
    assert other.support.tolist() == plain.support.tolist()
    np.testing.assert_allclose(other.coef * factors / unit, plain.coef, rtol=1e-9)
    assert other.objective / unit == pytest.approx(plain.objective, rel=1e-9)
    assert other.penalty / unit == pytest.approx(plain.penalty, rel=1e-9)
    assert other.check(A * factors, unit * y).ok
    heavier = sw.bpdn(A, y, residual=0.3, weights=np.full(A.shape[1], 1e5))
    np.testing.assert_allclose(heavier.coef, plain.coef, rtol=1e-9)
    assert heavier.objective == pytest.approx(1e5 * plain.objective, rel=1e-9)


def test_solution_says_what_it_is():
    A, y, _ = make("wide", 2)
    found = sw.bpdn(A, y, residual=0.5)
    assert "residual <= 0.5" in repr(found)
    assert "Σ w|x|" in repr(found)
    assert "duality gap" in repr(found.check(A, y))
    assert not found.check(A, 2 * y).ok
    assert not found.check(A[:, ::-1], y).ok


# --- complex data, and bad input -----------------------------------------------------------------


def test_complex_data_have_a_path_of_their_own():
    A, y, _ = make("wide", 3)
    real = sw.bpdn(A, y, residual=0.3)
    typed = sw.bpdn(A.astype(complex), y, residual=0.3)
    assert typed.coef.dtype == np.complex128
    np.testing.assert_allclose(typed.coef, real.coef, atol=1e-8)
    turned = sw.bpdn(1j * A, y, residual=0.3)
    np.testing.assert_allclose(turned.coef, -1j * real.coef, atol=1e-8)
    assert turned.check(1j * A, y).ok
    with pytest.raises(ValueError, match='use solver="conic"'):
        sw.bpdn(1j * A, y, residual=0.3, solver="homotopy")


def test_both_solvers_agree():
    for seed in range(4):
        A, y, _ = make("wide", seed)
        path, cone = (sw.bpdn(A, y, residual=0.3, solver=name) for name in ("homotopy", "conic"))
        assert path.support.tolist() == cone.support.tolist()
        np.testing.assert_allclose(path.coef, cone.coef, atol=1e-9)


BAD_WEIGHTS = {
    "NaN": ([1.0, np.nan, 1.0], r"weights\[1\] is nan"),
    "negative": ([1.0, 1.0, -2.0], r"weights\[2\] is -2.0"),
    "short": ([1.0, 1.0], r"shape \(3,\)"),
    "square": (np.ones((3, 3)), r"shape \(3,\)"),
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_bad_weights(name):
    weights, message = BAD_WEIGHTS[name]
    with pytest.raises(ValueError, match=message):
        sw.bpdn(np.eye(3), np.ones(3), residual=0.1, weights=weights)


BAD_CALLS = {
    "solver": ({"residual": 1, "solver": "simplex"}, ValueError, "'simplex'"),
    "negative bound": ({"residual": -1}, ValueError, "residual must be at least 0"),
    "NaN bound": ({"residual": np.nan}, ValueError, "residual must be a number, not NaN"),
    "no bound": ({"residual": None}, TypeError, "residual must be a number, not None"),
    "both": ({"residual": 1, "include": [0], "exclude": [0]}, ValueError, "both include and"),
    "beyond": ({"residual": 1, "include": [3]}, ValueError, "columns 0 to 2"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls(name):
    call, error, message = BAD_CALLS[name]
    with pytest.raises(error, match=message):
        sw.bpdn(np.eye(3), np.ones(3), **call)


def test_free_columns_must_be_independent():
    A = np.hstack([np.eye(3), np.eye(3)])
    with pytest.raises(ValueError, match="are linearly dependent"):
        sw.bpdn(A, np.ones(3), residual=0.1, include=[0, 3])


# --- columns that nearly agree, cost differently, or are fitted tightly --------------------------


def judged(A, y, bound, w=None, include=(), exclude=(), **words):
    """The minimiser, with its residual and its duality gap in extended precision.

    Both relative, less what no arithmetic of this precision can tell: a residual is off by
    rounding errors of A x, and each of these is worth ‖ν‖ in the gap.
    """
    found = sw.bpdn(A, y, residual=bound, weights=w, include=include, exclude=exclude, **words)
    long, eps = np.longdouble, np.finfo(found.coef.dtype).eps
    w = np.ones(A.shape[1]) if w is None else np.array(w, float)
    w[list(include)], w[list(exclude)] = 0, np.inf
    norms, size = np.linalg.norm(A.astype(long), axis=0), np.linalg.norm(y.astype(long))
    usable = np.isfinite(w) & (norms > 0)
    unit, cost = A[:, usable] / norms[usable], w[usable] / norms[usable]
    x = found.coef[usable] * norms[usable] / size
    r, nu = y / size - unit @ x, found.dual.astype(long)
    noise = 64 * eps * (1 + np.abs(x).sum())
    exceeded = np.linalg.norm(r) - bound / size
    inner, length = np.abs(unit.T @ nu) - 1e3 * eps * np.linalg.norm(nu), np.linalg.norm(nu)
    nu = nu / max((inner[cost > 0] / cost[cost > 0]).max(initial=0.0), 1.0)
    objective = cost @ np.abs(x)
    gap = objective - (y / size @ nu - bound / size * np.linalg.norm(nu)) - noise * length
    assert abs(found.residual_norm / size - np.linalg.norm(r)) <= 1e-9 * np.linalg.norm(r) + noise
    return found, float(exceeded - noise), float(gap / objective) if objective else 0.0


@pytest.mark.parametrize("factor", [1e-20, 1e-17, 1e-8, 1e8, 1e17, 1e20])
@pytest.mark.parametrize("seed", range(4))
def test_one_column_in_other_units(seed, factor):
    rng = np.random.default_rng(seed)
    A, y = gaussian(rng, 16, 32), gaussian(rng, 16, 1)[:, 0]
    A[:, 3] *= factor
    for bound in (1.0, 0.1, 1e-6, 0.0):
        _, exceeded, gap = judged(A, y, bound)
        assert exceeded <= 1e-9 * bound
        assert gap < 1e-9


@pytest.mark.parametrize("decades", [6, 12, 20, 100])
@pytest.mark.parametrize("seed", range(4))
def test_every_column_in_units_of_its_own(seed, decades):
    rng = np.random.default_rng([seed, decades])
    A, y = gaussian(rng, 10, 16), gaussian(rng, 10, 1)[:, 0]
    A *= 10.0 ** rng.uniform(-decades, decades, 16)
    for bound in (1.0, 1e-6, 0.0):
        _, exceeded, gap = judged(A, y, bound)
        assert exceeded <= 1e-9 * bound
        assert gap < 1e-9


@pytest.mark.parametrize("digits", range(2, 12))
@pytest.mark.parametrize("seed", range(4))
def test_columns_that_nearly_agree(seed, digits):
    """Whatever the order of memory."""
    rng = np.random.default_rng([seed, digits])
    A, y = gaussian(rng, 7, 1) + 10.0**-digits * gaussian(rng, 7, 13), gaussian(rng, 7, 1)[:, 0]
    for bound in (0.3 * np.linalg.norm(y), 1e-3, 0.0):
        found, exceeded, gap = judged(A, y, bound)
        assert exceeded <= 1e-9 * bound
        assert gap < 1e-6
        other = sw.bpdn(np.asfortranarray(A), y, residual=bound)
        assert other.objective == pytest.approx(found.objective, rel=10.0 ** (digits - 13))


def test_large_means():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = gaussian(rng, 12, 20) + 10.0 ** rng.integers(3, 9)
        y = A[:, :3] @ gaussian(rng, 3, 1)[:, 0]
        found, _, gap = judged(A, y, 0.0)
        assert found.stop is Stop.EXACT_FIT
        assert gap < 1e-6


def test_what_rounding_hides_is_said():
    """Columns that agree to fourteen digits: an answer that holds, or one sentence."""
    said = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A, y = gaussian(rng, 9, 1) + 1e-14 * gaussian(rng, 9, 20), gaussian(rng, 9, 1)[:, 0]
        try:
            _, exceeded, _ = judged(A, y, 0.0)
        except sw.errors.InputError as error:
            said.append(str(error))
        else:
            assert exceeded <= 0
    assert said
    assert all(re.search("rounding hides which|No x has", sentence) for sentence in said)


@pytest.mark.parametrize("part", [1e-6, 1e-9, 1e-11])
def test_tight_bounds_are_met(part):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        A, y = gaussian(rng, 20, 50), gaussian(rng, 20, 1)[:, 0]
        bound = part * np.linalg.norm(y)
        found, exceeded, gap = judged(A, y, bound)
        assert found.stop is Stop.RESIDUAL
        assert exceeded <= 1e-9 * bound
        assert gap < 1e-9


@pytest.mark.parametrize("bound", [1e200, 1e308, 1e-200, 5e-324])
def test_bounds_beyond_the_range_of_squares(bound):
    A, y, _ = make("wide", 0)
    found = sw.bpdn(A, y, residual=bound)
    assert found.check(A, y).ok
    assert found.stop is (Stop.RESIDUAL if bound > 1 else Stop.EXACT_FIT)
    assert sw.l1_path(A, y, residual=bound).check(A, y).ok


def test_a_refusal_is_right():
    """What least squares can reach is never out of reach."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        A = gaussian(rng, 12, 6) + 10.0 ** rng.integers(0, 8)
        y = gaussian(rng, 12, 1)[:, 0]
        d = reference.distance(A / np.linalg.norm(A, axis=0), y)
        _, exceeded, _ = judged(A, y, 1.0001 * d)
        assert exceeded <= 1e-9 * d
        with pytest.raises(ValueError, match="No x has"):
            sw.bpdn(A, y, residual=0.999 * d)


@pytest.mark.parametrize("seed", range(8))
def test_single_precision_of_close_columns(seed):
    rng = np.random.default_rng(seed)
    A = (gaussian(rng, 8, 1) + 1e-3 * gaussian(rng, 8, 14)).astype(np.float32)
    y = gaussian(rng, 8, 1)[:, 0].astype(np.float32)
    for bound in (0.5, 1e-2, 0.0):
        found, exceeded, _ = judged(A, y, bound)
        assert found.coef.dtype == np.float32
        assert exceeded <= 1e-5 * bound
        double = sw.bpdn(A.astype(float), y.astype(float), residual=bound)
        assert found.objective == pytest.approx(double.objective, rel=1e-3)


def test_check_knows_what_large_free_coefficients_leave_of_a_residual():
    """Halted while only columns cost something that are zero: the gap is nothing but rounding."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((13, 1)) + 1e-2 * rng.standard_normal((13, 8))
        y, w = rng.standard_normal(13), rng.uniform(0.1, 1, 8)
        found = sw.bpdn(A, y, residual=0.1, weights=w, include=[0, 1, 2], callback=lambda _: True)
        assert found.check(A, y).ok


# --- where rounding ends it ----------------------------------------------------------------------


def hilbert_draws(count, kind=float):
    """Columns 1/(i + j + 1), and integers, ones or the last singular vector as a target."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        A = hilbert(*rng.integers(5, 30, 2)).astype(kind)
        y = rng.integers(-3, 4, len(A)).astype(float)
        if seed % 3 == 1:
            y = np.ones(len(A))
        elif seed % 3 == 2:
            y = np.linalg.svd(A)[0][:, -1]
        if kind is complex:
            y = y + 1j * rng.integers(-3, 4, len(A))
        yield A, y.astype(A.dtype)


def bp_or_more(method, A, y):
    """By this method, at a small residual if it takes one."""
    if method in (sw.bp, sw.l1_path):
        return method(A, y)
    return method(A, y, residual=0.01 * float(np.linalg.norm(y)))


METHODS = pytest.mark.parametrize("method", [sw.bp, sw.bpdn, sw.bp_candes, sw.l1_path])


@METHODS
def test_what_rounding_spoils_is_told(method):
    """An answer holds when it is checked; where coefficients are too large for that, it says so."""
    told, said = set(), []
    for A, y in hilbert_draws(36):
        try:
            found = bp_or_more(method, A, y)
        except ValueError as error:
            said.append(str(error))
            continue
        assert found.check(A, y).ok
        told.add(found.stop)
        if found.stop is Stop.EXACT_FIT:
            assert np.linalg.norm(y - A @ found.coef) <= 1e-11 * np.linalg.norm(y)
        elif found.stop is not Stop.ROUNDING:
            assert found.accuracy < 1e-7
    assert Stop.ROUNDING in told
    assert len(told) > 1
    assert all(re.search("No x has|rounding hides", sentence) for sentence in said)
    assert method is not sw.l1_path or not said


@pytest.mark.parametrize("kind", [np.float32, complex])
@pytest.mark.parametrize("method", [sw.bp, sw.bpdn])
def test_what_rounding_spoils_in_other_types(method, kind):
    for A, y in hilbert_draws(9, kind):
        try:
            found = bp_or_more(method, A, y)
        except ValueError:
            continue
        norm = float(np.linalg.norm(y.astype(complex)))
        length = np.linalg.norm(y.astype(complex) - A.astype(complex) @ found.coef)
        if found.stop is Stop.EXACT_FIT:
            assert length <= 4 * np.finfo(kind).eps ** 0.75 * norm
        if found.stop is not Stop.ROUNDING:
            assert found.check(A, y).ok
        assert abs(found.residual_norm - length) <= max(1e-6, found.accuracy / 8) * norm


@METHODS
def test_no_exact_fit_is_told_of_coefficients_that_single_precision_spoils(method):
    A, y = hilbert(6, 11).astype("f4"), np.array([2, -1, 2, 0, -3, 1], "f4")
    more = {} if method in (sw.bp, sw.l1_path) else {"residual": 0.0}
    found = method(A, y, **more)
    assert found.stop is Stop.ROUNDING
    length = np.linalg.norm(y.astype(float) - A.astype(float) @ found.coef)
    assert found.residual_norm == pytest.approx(length, rel=1e-4)


def test_a_path_ends_where_rounding_begins():
    """Not at an end that is nothing but rounding errors: every point of it is a minimiser."""
    A, y = hilbert(12, 24), np.array([-1.0, 1, 0, 1, -1, -3, -1, 1, 1, 3, -2, -1])
    path = sw.l1_path(A, y)
    assert path.stop is Stop.ROUNDING
    assert 0 < path.penalty < 1e-9 * path.penalties[0]
    assert path.accuracy < 1e-7
    assert path.check(A, y).ok


def test_a_check_knows_the_digits_of_the_dual_vector():
    """Columns of norms 1e-10 to 1e10: a_j*ν of the largest is known to few digits."""
    data = np.load(Path(__file__).parents[1] / "data" / "uneven_columns.npz")
    A, y = data["A"], data["y"]
    found = sw.bpdn(A, y, residual=0.00968)
    assert found.stop is Stop.RESIDUAL
    assert found.check(A, y).ok
    wrong = replace(found, dual=1.01 * found.dual)
    assert not wrong.check(A, y).ok
