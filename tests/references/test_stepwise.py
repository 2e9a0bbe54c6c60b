"""The naive references themselves, against exhaustive search and orthonormal designs."""

from itertools import combinations

import numpy as np
import pytest

from tests.problems import (
    BAYES,
    FAMILIES,
    KNOWN,
    LEAST_SQUARES,
    SEARCHES,
    Problem,
    gaussian,
    orthonormal,
    variants,
    words,
)
from tests.references.bayes import ALL_REFERENCES
from tests.references.stepwise import REFERENCES, Unit


def rss(A, y, S):
    """The squared residual of least squares on the columns S."""
    S = list(S)
    r = y - A[:, S] @ np.linalg.lstsq(A[:, S], y, rcond=None)[0]
    return float(np.vdot(r, r).real)


@pytest.mark.parametrize("kind", [float, complex])
def test_scores_are_differences_of_squared_residuals(kind):
    p = gaussian(0, 12, 8, 3, kind=kind)
    u = Unit(p.A, p.y)
    S = [1, 4, 6]
    scale = np.linalg.norm(p.y) ** 2
    for j in u.addable(S):
        fall = rss(p.A, p.y, S) - rss(p.A, p.y, [*S, j])
        assert u.gain(S)[j] * scale == pytest.approx(fall, rel=1e-10)
    for j in S:
        growth = rss(p.A, p.y, [i for i in S if i != j]) - rss(p.A, p.y, S)
        assert u.loss(S)[j] * scale == pytest.approx(growth, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_one_step_is_the_best_of_all(seed):
    p = gaussian(seed, 9, 6, 2)

    def best(k):
        return list(min(combinations(range(6), k), key=lambda S: rss(p.A, p.y, S)))

    assert REFERENCES["forward"](p.A, p.y, sparsity=1).support == best(1)
    assert REFERENCES["backward"](p.A, p.y, sparsity=5).support == best(5)


@pytest.mark.parametrize("name", ALL_REFERENCES)
@pytest.mark.parametrize("seed", range(3))
def test_orthonormal_columns_make_every_algorithm_a_threshold(name, seed):
    """On orthonormal columns each is the best subset: the largest correlations."""
    p = orthonormal(seed)
    size = np.abs(p.A.T @ p.y)
    threshold = np.sort(size)[-p.sparsity]
    p = Problem(p.name, p.A, p.y, p.sparsity, delta=0.999 * float(threshold))
    found = ALL_REFERENCES[name](p.A, p.y, **words(name, p) | down_to_the_threshold(name))
    assert found.support == list(np.flatnonzero(size >= threshold))
    expected = (p.A.T @ p.y)[found.support]
    if name in BAYES:  # γ = c² - σ²: the posterior mean is c γ/(γ + σ²)
        expected = expected * (1 - (p.delta / expected) ** 2)
        # sbl has come near to it by then; the others set each gamma once, and exactly.
        np.testing.assert_allclose(found.coef[found.support], expected, rtol=1e-3)
    if name != "sbl":
        np.testing.assert_allclose(found.coef[found.support], expected)


def down_to_the_threshold(name):
    """What makes it go on to the last column that is worth anything."""
    if name in BAYES:
        return {"min_increase": 1e-9}
    return {"residual": 1e-9} if name == "mp" else {}


@pytest.mark.parametrize("name", ALL_REFERENCES)
@pytest.mark.parametrize("p", KNOWN, ids=lambda p: p.name)
def test_known_answers(name, p):
    assert ALL_REFERENCES[name](p.A, p.y, **words(name, p)).support == p.truth


@pytest.mark.parametrize("name", [name for name in LEAST_SQUARES if name not in SEARCHES])
@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_least_squares_on_independent_columns(name, family):
    p = FAMILIES[family](0)
    for call in variants(name, p).values():
        found = REFERENCES[name](p.A, p.y, **call)
        V = p.A[:, found.support]
        # NumPy 2.0 knows no rank of nothing.
        assert V.size == 0 or np.linalg.matrix_rank(V) == len(found.support)
        r = p.y - p.A @ found.coef
        np.testing.assert_allclose(V.conj().T @ r, 0, atol=1e-9 * np.linalg.norm(p.A) ** 2)
        assert not np.any(np.delete(found.coef, found.support))
