"""Hypothesis: any small matrix of any type, order and rank; ties and dependence abound."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparsewise import ALGORITHMS
from tests.problems import (
    BAYES,
    BY_COLUMNS,
    BY_PROPERTY,
    ELIMINATION,
    FIXED_SIZE,
    HAS_SPARSITY,
    LEAST_SQUARES,
    Problem,
    words,
)
from tests.references.bayes import ALL_REFERENCES

DTYPES = ["f4", "f8", "c8", "c16", "i4", "?"]


@dataclass(frozen=True)
class Case:
    A: np.ndarray
    y: np.ndarray
    sparsity: int
    delta: float
    include: list[int]
    exclude: list[int]

    def words(self, name):
        p = Problem("case", self.A * 1.0, self.y, self.sparsity, self.delta)
        picks = {"include": self.include, "exclude": self.exclude}
        plain = {key: value for key, value in words(name, p).items() if key != "start"}
        limit = {"max_iter": 200} if name == "mp" else {}
        return plain | picks | limit


@st.composite
def cases(draw, dtypes=DTYPES, picks=True, deltas=(0.0, 1.0)):
    """Small integers as entries: equal scores, zero, equal and dependent columns are common."""
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 8))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    entries = st.integers(0, 1) if dtype.kind == "b" else st.integers(-2, 2)

    def array(size):
        real = np.array(draw(st.lists(entries, min_size=size, max_size=size)))
        if dtype.kind != "c":
            return real
        return real + 1j * np.array(draw(st.lists(entries, min_size=size, max_size=size)))

    A = array(n * m).reshape(n, m).astype(dtype, order=draw(st.sampled_from("CF")))
    columns = draw(st.permutations(range(m)))
    k = draw(st.integers(1, min(n, m)))
    included = draw(st.integers(0, min(k, 2))) if picks else 0
    excluded = draw(st.integers(0, min(m - included, 2))) if picks else 0
    return Case(
        A,
        array(n),
        k,
        draw(st.sampled_from(deltas)),
        sorted(columns[:included]),
        sorted(columns[m - excluded :]),
    )


def rank(A, columns):
    V = A[:, columns] * 1.0
    return int(np.linalg.matrix_rank(V)) if V.size else 0


def must_refuse(name, case):
    """Dependent columns where all of them are asked for: in include, or in a whole model.

    As many columns with a flat prior as there are rows leave no evidence to speak of.
    """
    wanted = list(case.include)
    if name in BAYES and len(wanted) == len(case.y):
        return True
    if name in ELIMINATION and case.y.any():
        wanted = [j for j in range(case.A.shape[1]) if j not in case.exclude]
    return rank(case.A, wanted) < len(wanted)


@pytest.mark.parametrize("name", BY_COLUMNS)
@given(case=cases())
def test_a_sound_solution_or_one_sentence(name, case):
    if must_refuse(name, case):
        with pytest.raises(ValueError, match=r"^[^\n]+\.$"):
            ALGORITHMS[name](case.A, case.y, **case.words(name))
        return
    solution = ALGORITHMS[name](case.A, case.y, **case.words(name))
    support = list(solution.support)
    assert np.isfinite(solution.coef).all()
    assert solution.check(case.A, case.y).ok
    assert support == sorted(set(support))
    assert not set(support) & set(case.exclude)
    if case.y.any():
        assert set(case.include) <= set(support)
    if name in HAS_SPARSITY:
        assert len(support) <= case.sparsity
    if name in LEAST_SQUARES:
        assert rank(case.A, support) == len(support)


@pytest.mark.parametrize("name", [name for name in BY_COLUMNS if name not in BY_PROPERTY])
@given(case=cases(dtypes=["f8", "c16"], deltas=(0.37, 1.13)))
def test_same_answer_as_the_reference(name, case):
    """With ties at every step: the lowest index must win each of them.

    No score of small integers meets these deltas exactly, where rounding would decide.
    """
    assume(case.y.any() and not must_refuse(name, case))
    expected = ALL_REFERENCES[name](case.A, case.y, **case.words(name))
    solution = ALGORITHMS[name](case.A, case.y, **case.words(name))
    assert list(solution.support) == expected.support
    np.testing.assert_allclose(solution.coef, expected.coef, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", LEAST_SQUARES)
@given(case=cases(picks=False))
def test_residuals_and_sizes_of_the_path(name, case):
    assume(case.y.any() and not must_refuse(name, case))
    solution = ALGORITHMS[name](case.A, case.y, **case.words(name))
    size = len(solution.path.start)
    for step in solution.path:
        size += len(step.columns) if step.action == "add" else -len(step.columns)
        assert step.size == size
        assert 0 <= step.squared_residual <= 1.001 * np.linalg.norm(case.y) ** 2
    assert size == len(solution.support)


@pytest.mark.parametrize("name", BAYES)
@given(case=cases(picks=False))
def test_evidence_and_sizes_of_the_path(name, case):
    assume(case.y.any())
    solution = ALGORITHMS[name](case.A, case.y, **case.words(name))
    size, previous = len(solution.path.start), -np.inf
    for step in solution.path:
        size += {"add": 1, "update": 0, "drop": -1}[step.action]
        assert step.size == size
        assert step.squared_residual >= 0
        assert step.log_evidence >= previous - 1e-6 * abs(previous)
        previous = step.log_evidence
    assert size == len(solution.support)


@pytest.mark.parametrize("name", FIXED_SIZE[1:])
@given(case=cases(dtypes=["f8", "c16"]))
def test_replacement_never_does_worse_than_its_start(name, case):
    assume(case.y.any() and not must_refuse(name, case))
    call = case.words("oblivious")
    start = ALGORITHMS["oblivious"](case.A, case.y, **call)
    solution = ALGORITHMS[name](case.A, case.y, **call)
    assert solution.residual_norm <= start.residual_norm + 1e-9
