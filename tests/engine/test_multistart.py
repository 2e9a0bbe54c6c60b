"""The stages of a search: where a start leads, what is kept, and what ends it."""

import math

import numpy as np
import pytest

import sparsewise as sw
from sparsewise.criteria.base import Sample
from sparsewise.criteria.ric import by_charge
from sparsewise.engine.halting import Halted
from sparsewise.engine.search import multistart
from sparsewise.engine.search.multistart import Found, Multistart, condense_problem, spread
from sparsewise.problem.problem import DependentColumnsError, problem
from tests.problems import normal
from tests.references.multistart import best_neighbour, cost


def made(n=30, m=50, k=4, noise=0.05, kind=float, **words):
    """A search on a few true columns of unit norm, the first ones."""
    rng = np.random.default_rng([n, m, k])
    A = normal(rng, n, m, kind=kind)
    A /= np.linalg.norm(A, axis=0)
    e = normal(rng, n, kind=kind)
    y = A[:, :k].sum(axis=1) + noise * e / np.linalg.norm(e)
    data = problem(A, y)
    criterion, sigma = words.pop("criterion", "ric"), words.pop("sigma", None)
    relative = None if sigma is None else (sigma / data.scale) ** 2
    tell = words.pop("tell", None)
    data = data.constrained(**words)
    goal = by_charge(criterion, Sample.of(data, noise=relative))
    return Multistart(data, goal, tell=tell), A, y


def ric(rows, features):
    return by_charge("ric", Sample(rows, features))


def run(search, effort=8, seed=0):
    return search.run(effort, seed)


# --- starts ---------------------------------------------------------------------------------------


def test_starts_are_what_seed_and_number_say():
    one, two = made()[0], made()[0]
    run(one)
    run(two)
    assert [found[:3] for found in one.found] == [found[:3] for found in two.found]


@pytest.mark.parametrize("kind", [float, complex])
def test_each_start_ends_where_no_single_change_helps(kind):
    search, A, y = made(12, 20, 3, noise=1.0, kind=kind)
    run(search, effort=4)
    for one in search.found:
        here, _ = cost(A, y, one.support)
        assert one.cost == pytest.approx(here, rel=1e-9)
        assert best_neighbour(A, y, one.support) >= here - 1e-8 * (1 + abs(here))


def test_the_best_is_the_best_of_all_that_were_met():
    search, _, _ = made(12, 40, 5, noise=0.8)
    run(search, effort=6)
    assert search.best.cost == pytest.approx(min(one.cost for one in search.found), rel=1e-12)


def test_a_way_back_meets_every_size():
    search, A, y = made()
    found = search._on_the_way_back(list(range(10)))
    assert found.support == (0, 1, 2, 3)
    sizes = [len(one.columns) for one in found.way]
    assert sum(sizes) >= 10
    assert found.cost == pytest.approx(cost(A, y, range(4))[0])


def test_a_way_back_keeps_what_must_be_included():
    search, _, _ = made(include=[20, 7], exclude=[3])
    assert search.best.support == (7, 20)
    found = search._on_the_way_back([7, 20, 0, 1, 2, 5])
    assert set(found.support) >= {7, 20}
    run(search)
    for one in search.found:
        assert {7, 20} <= set(one.support)
        assert 3 not in one.support


def test_starts_begin_alike_and_go_ever_farther_afield():
    assert spread(0) == 0
    assert 0 < spread(1) < spread(20) < spread(40) <= spread(1000) == 1


# --- single changes -------------------------------------------------------------------------------


def found_on(search, support):
    return search._found(support, search.model(support).rss)


@pytest.mark.parametrize("support", [(0, 1, 2), (0, 1, 2, 3, 9), (0, 1, 2, 9), ()])
def test_one_column_missing_too_many_or_wrong(support):
    search, _, _ = made()
    assert search._settled(found_on(search, support)).support == (0, 1, 2, 3)


def test_the_quick_look_misses_no_change():
    """Whatever changes_of_one finds, `_may_change` lets through."""
    rng = np.random.default_rng(0)
    for trial in range(30):
        search, A, y = made(10, 16, 3, noise=1.0, kind=complex if trial % 2 else float)
        support = tuple(sorted(rng.choice(16, int(rng.integers(0, 6)), replace=False).tolist()))
        found = found_on(search, support)
        if best_neighbour(A, y, support) < found.cost - 1e-6:
            assert search._may_change(found)
            assert search._changed(found).cost < found.cost


def test_the_lowest_of_copies():
    rng = np.random.default_rng(0)
    A = normal(rng, 20, 5)
    A = np.hstack([A, -A, 3 * A])
    data = problem(A, A[:, 1] - A[:, 4] + 0.1 * normal(rng, 20))
    search = Multistart(data, ric(20, 15))
    found = search._settled(found_on(search, (9, 11)))
    assert found.support == (1, 4)
    assert search.best.support == (1, 4)


def test_where_lower_columns_take_over_the_search_goes_on():
    """Three columns of a plane and one beside it: two of them do, if they are the right ones."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        A = normal(rng, 13, 3) @ normal(rng, 3, 4)
        y = A[:, 0] - A[:, 2] + 0.3 * normal(rng, 13)
        data = problem(A, y)
        search = Multistart(data, ric(13, 4))
        for support in ((1, 2, 3), (0, 1, 3)):
            found = search._settled(found_on(search, support))
            assert best_neighbour(A, y, found.support) >= found.cost - 1e-8 * (1 + abs(found.cost))


# --- models ---------------------------------------------------------------------------------------


def test_dependent_columns_are_left_out_of_a_model():
    A = normal(np.random.default_rng(0), 10, 4)
    A = np.column_stack([A, A[:, 0] + A[:, 1], np.zeros(10)])
    search = Multistart(problem(A, A[:, 2]), ric(10, 6))
    assert search.model([0, 1, 4, 5, 3]).support == {0, 1, 3}


def test_dependent_columns_that_must_be_included_are_not():
    A = np.ones((5, 2))
    with pytest.raises(DependentColumnsError):
        Multistart(problem(A, np.arange(5.0), include=[0, 1]), ric(5, 2))


def test_columns_dependent_together_but_not_one_by_one(monkeypatch):
    """It ends, too, where nobody can tell which column is to blame."""
    search, _, _ = made()
    plain = multistart.ActiveSet

    def picky(data, **words):
        start = data.constraints.start
        if len(start) > 2:
            raise DependentColumnsError([], len(start))
        return plain(data, **words)

    monkeypatch.setattr(multistart, "ActiveSet", picky)
    assert search.model([5, 6, 7, 8]).support == {5, 6}


def test_the_best_is_the_smallest_of_equals():
    search, _, _ = made()
    search.best = Found(-5.0, (1, 2), 0.5)
    rss = math.exp((-5.0 - search.criterion.charge) / 29)
    level = search._found([3], rss).cost
    search.best = Found(level, (1, 2), 0.5)
    search._found([3], rss)
    assert search.best.support == (3,)  # one column does
    search._found([2], rss)
    assert search.best.support == (3,)  # the first of them


def test_most_columns_leave_a_row_to_tell_the_noise_from():
    assert made(5, 20, 2)[0].most == 4
    assert made(5, 20, 2, sigma=0.1)[0].most == 5
    assert made(20, 5, 2)[0].most == 5
    assert made(5, 20, 2, include=[0, 1, 2, 3, 4])[0].most == 5


# --- the end --------------------------------------------------------------------------------------


def test_found_twice_and_no_accident():
    search, _, _ = made()
    assert run(search) is sw.Stop.FOUND_AGAIN
    assert [one.support for one in search.found] == [(0, 1, 2, 3)] * 2


def test_found_twice_but_by_chance(monkeypatch):
    search, _, _ = made()
    monkeypatch.setattr(multistart, "PLAIN", -1000.0)
    assert run(search, effort=3) is sw.Stop.EFFORT
    assert len(search.found) == 3


@pytest.mark.parametrize(("chance", "times"), [(-40.0, 2), (-32.0, 2), (-31.0, 3), (-8.1, 8)])
def test_the_less_clear_it_is_the_more_starts_have_to_agree(chance, times, monkeypatch):
    monkeypatch.setattr(Multistart, "chance", chance)
    search, _, _ = made()
    search.found = [search.best] * (times - 1)
    assert not search._is_plain()
    search.found.append(search.best)
    assert search._is_plain()
    monkeypatch.setattr(Multistart, "chance", -8.0)
    assert not search._is_plain()


def test_nothing_to_find():
    rng = np.random.default_rng(1)
    search = Multistart(problem(normal(rng, 30, 20), normal(rng, 30)), ric(30, 20))
    assert run(search, effort=2) is sw.Stop.NOTHING_FOUND


def test_nothing_left_to_explain():
    A = np.eye(4)
    search = Multistart(problem(A, A[0], include=[0]), ric(4, 4))
    assert run(search) is sw.Stop.EXACT_FIT
    assert not search.found


def test_no_column_to_choose():
    A = np.zeros((4, 2))
    assert run(Multistart(problem(A, np.ones(4)), ric(4, 2))) is sw.Stop.EXHAUSTED


def test_whoever_listens_may_halt():
    told = []
    search, _, _ = made(tell=lambda one: told.append(one) or True)
    with pytest.raises(Halted):
        run(search)
    assert told == search.found
    assert len(told) == 1


# --- fewer rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float32, float, complex])
def test_rows_are_folded_if_that_makes_them_much_fewer(kind):
    rng = np.random.default_rng(0)
    A = normal(rng, 90, 6, kind=complex if kind is complex else float).astype(kind)
    y = A[:, 0] - 2 * A[:, 3]
    data = problem(A, y)
    folded = condense_problem(data)
    assert folded.shape == (7, 6)
    assert folded.design.rows == 90
    assert folded.y.dtype.kind == data.y.dtype.kind
    R, q = folded.design.columns(np.arange(6)), folded.y
    eps = float(np.finfo(kind).eps)
    np.testing.assert_allclose(R.conj().T @ R, A.conj().T @ A, rtol=1e3 * eps, atol=1e3 * eps)
    np.testing.assert_allclose(R.conj().T @ q, A.conj().T @ data.y, rtol=1e3 * eps, atol=1e3 * eps)
    assert condense_problem(problem(A[:13], y[:13])).shape == (13, 6)


def test_columns_far_out_of_range_fold():
    rng = np.random.default_rng(0)
    A = normal(rng, 60, 5) * 10.0 ** np.array([-150, 0, 150, 100, -100])
    y = A[:, 1] + normal(rng, 60)
    folded, data = condense_problem(problem(A, y)), problem(A, y)
    np.testing.assert_allclose(
        folded.correlate(folded.y), data.correlate(data.y), rtol=1e-10, atol=1e-13
    )
