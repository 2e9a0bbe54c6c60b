"""Every algorithm against its naive twin in tests/reference.py, many seeds."""

import numpy as np
import pytest

from sparsewise import ALGORITHMS
from tests.problems import FAMILIES, correlated, gaussian, variants, words
from tests.reference import REFERENCES

SEEDS = range(6)


def test_every_algorithm_has_a_reference():
    assert set(ALGORITHMS) == set(REFERENCES)
    assert all(function.__name__ == name for name, function in ALGORITHMS.items())


def compare(name, p, call):
    expected = REFERENCES[name](p.A, p.y, **call)
    solution = ALGORITHMS[name](p.A, p.y, **call)
    assert solution.algorithm == name
    assert list(solution.support) == expected.support
    size = np.linalg.norm(expected.coef) or 1.0
    np.testing.assert_allclose(solution.coef, expected.coef, rtol=0, atol=1e-8 * size)
    r = p.y - p.A @ expected.coef
    assert solution.residual_norm == pytest.approx(np.linalg.norm(r), rel=1e-8)
    assert solution.check(p.A, p.y).ok


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_same_support_and_coefficients(name, family, seed):
    p = FAMILIES[family](seed)
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
