"""Floating search: the same columns as by least squares from scratch, and where it ends."""

import numpy as np
import pytest

from sparsewise.criteria.base import Sample
from sparsewise.criteria.ric import by_charge
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.halting import Halted
from sparsewise.engine.search import floating
from sparsewise.engine.search.floating import floating_search
from sparsewise.engine.stopping import stopping_criterion
from sparsewise.problem.problem import problem
from tests.problems import normal
from tests.references.multistart import cost


def made(seed, n, m, k, kind=float, include=(), start=(), noise=0.3):
    """An active set, what it is judged by, and the data it is of."""
    rng = np.random.default_rng([seed, n, m, k])
    A = normal(rng, n, m, kind=kind) + normal(rng, n, 1, kind=kind)
    y = A[:, :k] @ normal(rng, k) + noise * normal(rng, n, kind=kind)
    data = problem(A, y, include=include, start=start)
    stopping = stopping_criterion(None, data)._replace(most=n - 1)
    return ActiveSet(data), by_charge("ric", Sample.of(data)), stopping, A, y


def naive(A, y, first, include, ahead):
    """The same by least squares from scratch."""

    def rss(S):
        x = np.linalg.lstsq(A[:, S], y, rcond=None)[0]
        return float(np.linalg.norm(y - A[:, S] @ x) ** 2)

    def score(size):
        return cost(A, y, best[size][1])[0]

    n, m = A.shape
    S, best = [*include, *first], {}
    limit = min(2 * len(S) + ahead, n - 1)
    while True:
        if rss(S) < best.get(len(S), (np.inf,))[0]:
            best[len(S)] = rss(S), list(S)
        while loose := [j for j in S if j not in include]:
            out = min(loose, key=lambda j: rss([i for i in S if i != j]))
            less = [i for i in S if i != out]
            if len(less) not in best or not rss(less) < best[len(less)][0] * (1 - 1e-9):
                break
            S = less
            best[len(S)] = rss(S), list(S)
        if len(S) >= limit:
            limit = min(2 * min(best, key=score) + ahead, n - 1)
            if len(S) >= limit:
                break
        S = [*S, min((j for j in range(m) if j not in S), key=lambda j: rss([*S, j]))]
    return best[min(best, key=score)][1]


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("include", [(), (5,)])
@pytest.mark.parametrize("start", [(), (7, 2)])
def test_the_columns_are_those_of_least_squares_from_scratch(kind, include, start, monkeypatch):
    monkeypatch.setattr(floating, "AHEAD", 6)
    sizes = set()
    for seed in range(6):
        active, criterion, stopping, A, y = made(seed, 14, 24, 5, kind, include, start)
        found = floating_search(active, criterion, stopping)
        assert sorted(found) == sorted(naive(A, y, start, include, 6))
        assert set(include) <= set(found)
        sizes.add(len(found))
    assert len(sizes) > 1


def test_it_exchanges_what_steps_forward_are_stuck_with():
    """The sum of two columns is closest to y, and none of the two is."""
    rng = np.random.default_rng(0)
    A = normal(rng, 20, 8)
    A[:, 7] = A[:, 0] + A[:, 1] + 0.3 * normal(rng, 20)
    data = problem(A, A[:, 0] + A[:, 1] + 1e-3 * normal(rng, 20))
    criterion = by_charge("ric", Sample.of(data))
    active, stopping = ActiveSet(data), stopping_criterion(None, data)
    assert sorted(floating_search(active, criterion, stopping)) == [0, 1]
    assert 7 in active.log.stretches[0].columns


def test_a_known_model_is_where_steps_forward_begin(monkeypatch):
    active, criterion, stopping, _, _ = made(0, 14, 24, 3, noise=0.01)
    best = floating_search(active, criterion, stopping)
    grown = []
    grow = ActiveSet.grow
    monkeypatch.setattr(ActiveSet, "grow", lambda a, s, **words: grown.append(words) or grow(a, s))
    active = ActiveSet(active.problem.constrained(start=best))
    past = floating_search(active, criterion, stopping, best)
    assert past[: len(best)] == best
    assert len(past) == stopping.most
    assert grown == [{}]


def test_whoever_waits_may_stop_it():
    active, criterion, stopping, _, _ = made(0, 14, 24, 3)

    def stop():
        raise Halted

    with pytest.raises(Halted):
        floating_search(active, criterion, stopping, check_interrupt=stop)
