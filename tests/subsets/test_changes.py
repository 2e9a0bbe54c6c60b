"""The best addition, deletion and exchange of one column, against all there are."""

import numpy as np
import pytest

from sparsewise.problem.problem import problem
from sparsewise.subsets.exchanges import changes_of_one
from sparsewise.subsets.fit import Fit
from tests.problems import normal


def rss(A, y, columns):
    V = A[:, list(columns)]
    r = y - V @ np.linalg.lstsq(V, y, rcond=None)[0]
    return np.vdot(r, r).real / np.vdot(y, y).real


def fit(A, y, columns, **constraints):
    return Fit(problem(A, y, **constraints), np.array(columns, np.int64))


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", range(8))
def test_each_is_the_best_of_its_kind(seed, kind):
    rng = np.random.default_rng(seed)
    A, y = normal(rng, 9, 12, kind=kind), normal(rng, 9, kind=kind)
    S, include, exclude = [1, 4, 7], [4], [0, 11]
    others = [j for j in range(12) if j not in {*S, *exclude}]
    added = min(rss(A, y, [*S, j]) for j in others)
    dropped = min(rss(A, y, [j for j in S if j != i]) for i in (1, 7))
    exchanged = min(rss(A, y, [*(s for s in S if s != i), j]) for i in (1, 7) for j in others)
    told = {len(one.columns): one for one in changes_of_one(fit(A, y, S, include=include,
                                                               exclude=exclude))}  # fmt: skip
    assert told[4].loss == pytest.approx(added, rel=1e-10)
    assert told[2].loss == pytest.approx(dropped, rel=1e-10)
    if exchanged < rss(A, y, S):
        assert told[3].loss == pytest.approx(exchanged, rel=1e-10)
    else:
        assert 3 not in told
    for one in told.values():
        assert one.loss == pytest.approx(rss(A, y, one.columns), rel=1e-10)
        assert list(one.columns) == sorted(one.columns)
        assert 4 in one.columns
        assert not {0, 11} & {*one.columns}


def test_ties_go_to_the_lowest_column():
    A = np.hstack([np.eye(4), np.eye(4)])
    y = np.array([1.0, 2.0, 2.0, 0.0])
    first, *_ = changes_of_one(fit(A, y, []))
    assert first.columns == (1,)
    (grown, shrunk) = changes_of_one(fit(A, y, [1, 2]))
    assert grown.columns == (0, 1, 2)
    assert shrunk.columns == (2,)


def test_what_must_stay_stays_and_dependent_columns_stay_out():
    A = np.eye(3)[:, [0, 0, 1]]
    y = np.array([1.0, 0.5, 0.2])
    told = [one.columns for one in changes_of_one(fit(A, y, [0], include=[0]))]
    assert told == [(0, 2)]
    assert not list(changes_of_one(fit(A, y, [0, 2], include=[0, 2])))


def test_columns_that_may_be_dependent_are_no_additions():
    """At the edge of what can be told apart, nothing is promised."""
    rng = np.random.default_rng(0)
    a, b = normal(rng, 20), normal(rng, 20)
    A = np.column_stack([a, a + 1e-9 * b])
    assert [one.columns for one in changes_of_one(fit(A, b, [0], include=[0]))] == []
    A = np.column_stack([a, a + 1e-5 * b])
    assert [one.columns for one in changes_of_one(fit(A, b, [0], include=[0]))] == [(0, 1)]


def test_a_dependent_support_has_no_changes():
    A = np.ones((4, 2))
    assert not list(changes_of_one(fit(A, np.arange(4.0), [0, 1])))
