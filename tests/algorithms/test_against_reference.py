"""Every algorithm against its naive twin in tests/reference.py, many seeds."""

import numpy as np
import pytest

from sparsewise import ALGORITHMS
from tests.problems import (
    BAYES,
    BY_COLUMNS,
    BY_PROPERTY,
    FAMILIES,
    L1,
    SEARCHES,
    correlated,
    gaussian,
    variants,
    words,
)
from tests.references.bayes import ALL_REFERENCES, BAYES_REFERENCES

SEEDS = range(6)
STEPWISE = [name for name in BY_COLUMNS if name not in (*BAYES, *SEARCHES)]
DENSE = [name for name in BAYES if name not in BY_PROPERTY]


def test_every_algorithm_has_a_reference():
    assert {*BY_COLUMNS, *L1} == set(ALGORITHMS)
    # A search is held against all subsets there are (tests/references/multistart.py).
    assert set(BY_COLUMNS) == {*ALL_REFERENCES, *SEARCHES}
    assert all(record.name == name for name, record in ALGORITHMS.items())


def compare(name, p, call):
    expected = ALL_REFERENCES[name](p.A, p.y, **call)
    solution = ALGORITHMS[name](p.A, p.y, **call)
    assert solution.algorithm == name
    assert list(solution.support) == expected.support
    size = np.linalg.norm(expected.coef) or 1.0
    np.testing.assert_allclose(solution.coef, expected.coef, rtol=0, atol=1e-8 * size)
    r = p.y - p.A @ expected.coef
    assert solution.residual_norm == pytest.approx(np.linalg.norm(r), rel=1e-8)
    assert solution.check(p.A, p.y).ok
    if name in BAYES_REFERENCES:
        compare_evidence(solution, expected, copies=p.name.startswith("duplicates"))


def compare_evidence(solution, expected, copies):
    """The same steps, not only the same end; copies come and go at gains of rounding size."""
    if not copies:
        assert [(step.action, step.column) for step in solution.path] == expected.steps
    np.testing.assert_allclose(solution.gamma, expected.gamma, rtol=1e-7)
    assert solution.sigma == pytest.approx(expected.sigma, rel=1e-12)
    assert solution.log_evidence == pytest.approx(expected.log_evidence, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", STEPWISE)
def test_same_support_and_coefficients(name, family, seed):
    same_in_all_variants(name, FAMILIES[family](seed))


@pytest.mark.parametrize("seed", SEEDS[:3])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", DENSE)
def test_same_steps_and_evidence(name, family, seed):
    """Their references solve n×n systems for every score: fewer seeds."""
    same_in_all_variants(name, FAMILIES[family](seed))


def same_in_all_variants(name, p):
    for label, call in variants(name, p).items():
        try:
            compare(name, p, call)
        except Exception as error:
            error.add_note(f"{name} on {p.name}, {label}: {call}")
            raise


@pytest.mark.parametrize("name", ["omp", "forward", "rmp0", "foba"])
@pytest.mark.parametrize("kind", [float, complex])
def test_long_runs(name, kind):
    """Dozens of steps on strongly correlated columns: rounding errors have time to grow."""
    p = correlated(1, 32, 64, 20, kind=kind)
    by_delta = {"delta": 0.02 * float(np.linalg.norm(p.y))}
    compare(name, p, by_delta if name in ("rmp0", "foba") else {"sparsity": 20})


@pytest.mark.parametrize("name", ["omp", "gomp", "forward", "rmp0"])
@pytest.mark.parametrize("make", [gaussian, correlated])
def test_many_columns(name, make):
    """So many columns that working on a part of them at a time pays: the answer is the same."""
    p = make(2, 40, 2000, 16)
    compare(name, p, words(name, p))


@pytest.mark.parametrize("name", ["rmp", "fast_sbl"])
@pytest.mark.parametrize(
    ("make", "kind"), [(gaussian, float), (correlated, float), (gaussian, complex)]
)
def test_evidence_of_many_columns(name, make, kind):
    """So many that the matrix is not small any more, and dozens of steps."""
    p = make(2, 28, 2400, 12, kind=kind)
    compare(name, p, {"sigma": 0.05 * float(np.linalg.norm(p.y))})
