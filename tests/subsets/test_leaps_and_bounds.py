"""Leaps and bounds, driven node by node: what it has found and what it promises at any time."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsewise.kernels import compile as jit
from sparsewise.kernels import load_leaps
from sparsewise.problem.problem import problem
from sparsewise.subsets.leaps_and_bounds import MOST_COLUMNS, Search, can_search
from tests.problems import correlated, duplicated, gaussian, normal, rank_deficient
from tests.subsets.enumeration import all_subsets, best, residual_norm, residual_norms

PROBLEMS = {
    "tall": lambda seed: gaussian(seed, 20, 10, 3),
    "wide": lambda seed: gaussian(seed, 7, 10, 3),
    "complex": lambda seed: gaussian(seed, 14, 9, 3, kind=complex),
    "complex wide": lambda seed: gaussian(seed, 6, 9, 3, kind=complex),
    "correlated": lambda seed: correlated(seed, 12, 10, 3),
    "rank deficient": lambda seed: rank_deficient(seed, 12, 10, 5),
    "copies": lambda seed: duplicated(seed, 12, 10, 3),
}
ROUNDING = 1e-9


def enumerated(A, y, most):
    """The lowest ‖r‖² of each size, for a unit target."""
    return np.array([best(A, y, k)[1] for k in range(1, most + 1)]) ** 2 / np.linalg.norm(y) ** 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PROBLEMS)
def test_at_any_time_the_bounds_hold_and_only_rise(name, seed):
    p = PROBLEMS[name](seed)
    most = 4
    truth = enumerated(p.A, p.y, most)
    search, before = Search(problem(p.A, p.y), most), np.zeros(most)
    for nodes in (0, 1, 1, 1, 2, 3, 5, 8, 13, 10**6):
        search._advance(nodes)
        bounds = search.lower_bounds()
        assert np.all(bounds <= truth + ROUNDING)
        assert np.all(bounds >= before - ROUNDING)
        assert np.all(np.diff(bounds) <= ROUNDING)  # larger subsets fit no worse
        for k in range(1, most + 1):
            found = residual_norm(p.A, p.y, search.subset(k)) ** 2 / np.linalg.norm(p.y) ** 2
            assert truth[k - 1] - ROUNDING <= found
            assert bounds[k - 1] <= found + ROUNDING
        before = bounds
    assert search.done
    np.testing.assert_allclose(bounds, truth, atol=ROUNDING)


@pytest.mark.parametrize("name", PROBLEMS)
def test_one_node_at_a_time_ends_where_a_single_run_does(name):
    p = PROBLEMS[name](9)
    at_once, step_by_step = (Search(problem(p.A, p.y), 4) for _ in range(2))
    assert at_once.run(None)
    for _ in range(10**4):
        if step_by_step.done:
            break
        step_by_step._advance(1)
    assert [at_once.subset(k) for k in range(1, 5)] == [step_by_step.subset(k) for k in range(1, 5)]


def test_no_time_means_no_node():
    p = gaussian(0, 40, 30, 5)
    search = Search(problem(p.A, p.y), 10)
    bounds = search.lower_bounds()
    assert not search.run(0.0)
    np.testing.assert_array_equal(search.lower_bounds(), bounds)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["tall", "wide", "complex", "correlated"])
def test_an_incumbent_is_beaten_or_confirmed(name, seed):
    p = PROBLEMS[name](seed)
    truth, _, _ = best(p.A, p.y, 3)
    rng = np.random.default_rng(seed)
    for columns in (truth, *rng.permuted(np.tile(np.arange(p.A.shape[1]), (5, 1)), axis=1)[:, :3]):
        incumbent = np.sort(np.array(columns))
        search = Search(problem(p.A, p.y), 3, incumbent=incumbent)
        assert search.run(None)
        assert search.improved == (tuple(incumbent.tolist()) != truth)
        assert search.subset(3) == truth


def test_a_tie_does_not_beat_the_incumbent():
    p = duplicated(3, 12, 10, 3)
    sets = all_subsets(10, 3)
    norms = residual_norms(p.A, p.y, sets)
    tied = sets[np.isclose(norms, norms.min(), rtol=1e-12)]
    assert len(tied) > 1
    for incumbent in tied:
        search = Search(problem(p.A, p.y), 3, incumbent=incumbent)
        assert search.run(None)
        assert not search.improved


def test_an_offer_counts_only_if_it_is_better():
    p = gaussian(1, 20, 10, 3)
    search = Search(problem(p.A, p.y), 3)
    truth, norm, _ = best(p.A, p.y, 3)
    worse = np.array([0, 1, 2])
    assert tuple(worse) != truth
    before = search.subset(3)
    if residual_norm(p.A, p.y, worse) > residual_norm(p.A, p.y, before):
        search.offer(worse)
        assert search.subset(3) == before
    search.offer(np.array(truth))
    assert search.subset(3) == truth
    assert search._stack.best[3] == pytest.approx((norm / np.linalg.norm(p.y)) ** 2)


def test_zero_columns_and_excluded_ones_are_not_searched():
    p = gaussian(2, 20, 8, 3)
    A = p.A.copy()
    A[:, 4] = 0
    search = Search(problem(A, p.y, include=[6], exclude=[1]), 8)
    assert search.columns.tolist() == [6, 0, 2, 3, 5, 7]
    assert (search.least, search.most) == (1, 6)


def test_only_zero_columns():
    search = Search(problem(np.zeros((4, 3)), np.ones(4)), 2)
    assert search.done
    assert search.lower_bounds().size <= 1


def test_how_many_columns_can_be_searched():
    A = np.random.default_rng(0).standard_normal((3, MOST_COLUMNS + 1))
    assert not can_search(problem(A, np.ones(3)))
    assert can_search(problem(A[:, 1:], np.ones(3)))


# --- its parts ------------------------------------------------------------------------------------


alone = cache(jit.alone)  # as Python can call it

KINDS = st.sampled_from([float, complex])


def triangle(seed, width, kind, targets):
    """A, Y and what a node holds of them: R, t with one target a row, and ‖r‖²."""
    rng = np.random.default_rng(seed)
    A, Y = normal(rng, 12, width, kind=kind), normal(rng, 12, targets, kind=kind)
    Q, R = np.linalg.qr(A)
    t = Q.conj().T @ Y
    return A, Y, np.ascontiguousarray(R), t.T.copy(), np.linalg.norm(Y - Q @ t) ** 2


@given(st.integers(0, 10**6), st.integers(1, 7), KINDS, st.integers(1, 3), st.data())
def test_dropping_a_column_by_rotations(seed, width, kind, targets, data):
    leaps = load_leaps()
    A, Y, R, t, rss = triangle(seed, width, kind, targets)
    i = data.draw(st.integers(0, width - 1))
    S, s = np.full_like(R, np.nan), np.full_like(t, np.nan)
    grown = alone(leaps.without)(R, t, width, i, S, s)
    rest = [j for j in range(width) if j != i]
    assert rss + grown == pytest.approx(residual_norm(A, Y, rest) ** 2)
    part = S[:, : width - 1]
    np.testing.assert_allclose(np.tril(part, -1), 0, atol=1e-14)
    np.testing.assert_allclose(
        part.conj().T @ part, (A[:, rest].conj().T @ A[:, rest]), atol=1e-12 * np.abs(A).sum() ** 2
    )
    np.testing.assert_allclose(part.conj().T @ s.T, A[:, rest].conj().T @ Y, atol=1e-10)


@given(st.integers(0, 10**6), st.integers(1, 7), KINDS, st.integers(1, 3))
def test_losses_are_what_dropping_costs(seed, width, kind, targets):
    leaps = load_leaps()
    A, Y, R, t, rss = triangle(seed, width, kind, targets)
    loss = np.zeros(width)
    alone(leaps.measure_losses)(R, t, width, 0, np.zeros_like(R), loss)
    without = [
        residual_norm(A, Y, [j for j in range(width) if j != i]) ** 2 - rss for i in range(width)
    ]
    np.testing.assert_allclose(loss, without, rtol=1e-7, atol=1e-10)


@given(st.integers(0, 10**6), st.integers(2, 7), KINDS, st.integers(1, 3), st.data())
def test_reflections_restore_the_triangle(seed, width, kind, targets, data):
    leaps = load_leaps()
    _, _, R, t, _ = triangle(seed, width, kind, targets)
    fixed = data.draw(st.integers(0, width - 1))
    order = np.r_[:fixed, fixed + np.random.default_rng(seed).permutation(width - fixed)]
    M = R[:, order].copy()
    gram, inner = M.conj().T @ M, M.conj().T @ t.T
    alone(leaps.triangular)(M, t, fixed, width, np.zeros_like(R[0]))
    np.testing.assert_allclose(np.tril(M, -1), 0, atol=1e-13)
    np.testing.assert_allclose(M.conj().T @ M, gram, atol=1e-11)
    np.testing.assert_allclose(M.conj().T @ t.T, inner, atol=1e-11)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.data())
def test_free_columns_are_sorted_by_falling_loss(values, data):
    leaps = load_leaps()
    loss = np.array(values)
    width = loss.size
    fixed = data.draw(st.integers(0, width - 1))
    order = np.zeros(width, np.int64)
    in_order = alone(leaps.sort_by_loss)(loss, fixed, width, order)
    assert sorted(order[fixed:]) == list(range(fixed, width))
    assert np.all(np.diff(loss[order[fixed:]]) <= 0)
    assert in_order == bool(np.all(np.diff(loss[fixed:]) <= 0))
