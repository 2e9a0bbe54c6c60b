"""Every algorithm against its naive twin in tests/reference.py, many seeds."""

from dataclasses import replace

import numpy as np
import pytest

from sparsewise import ALGORITHMS, Targets
from tests.problems import (
    BAYES,
    BY_COLUMNS,
    BY_PROPERTY,
    FAMILIES,
    L1,
    SEARCHES,
    SEVERAL,
    correlated,
    gaussian,
    multi_target,
    variants,
    words,
)
from tests.references.bayes import ALL_REFERENCES, BAYES_REFERENCES
from tests.references.stepwise import Unit
from tests.storages import single

SEEDS = range(3)
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
    size = np.linalg.norm(expected.coef, axis=0)  # of each target
    assert np.all(np.abs(solution.coef - expected.coef) <= 1e-8 * size)
    unit = Unit(p.A, p.y)
    left = unit.distance(expected.coef)  # of a square matrix, nothing but rounding
    assert solution.residual_norm == pytest.approx(left, rel=1e-8, abs=1e-13 * unit.scale)
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


@pytest.mark.parametrize("seed", SEEDS[:2])
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


# --- several targets -----------------------------------------------------------------------------


def in_turn(shift):
    """Each family with one number of targets, and each number with real and complex families."""
    return [(family, (1, 2, 5)[(i + shift) % 3]) for i, family in enumerate(FAMILIES)]


@pytest.mark.parametrize(("family", "q"), [*in_turn(0), *in_turn(1)])
@pytest.mark.parametrize("name", [name for name in STEPWISE if name in SEVERAL])
def test_same_support_for_several_targets(name, family, q):
    same_in_all_variants(name, multi_target(FAMILIES[family](q), q))


@pytest.mark.parametrize(("family", "q"), in_turn(0))
@pytest.mark.parametrize("name", DENSE)
def test_same_evidence_of_several_targets(name, family, q):
    same_in_all_variants(name, multi_target(FAMILIES[family](0), q))


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("family", ["tall", "wide", "complex tall", "complex wide"])
@pytest.mark.parametrize("name", [name for name in SEVERAL if name in (*STEPWISE, *DENSE)])
def test_several_targets_in_single_precision(name, family, q):
    p = multi_target(FAMILIES[family](0), q)
    p = replace(p, A=single(p.A), y=single(p.y))
    solution = ALGORITHMS[name](p.A, p.y, **words(name, p))
    expected = ALL_REFERENCES[name](double(p.A), double(p.y), **words(name, p))
    assert list(solution.support) == expected.support
    assert solution.coef.dtype == p.A.dtype
    size = np.linalg.norm(expected.coef, axis=0)
    rough = 2e-3 if name in DENSE else 1e-4  # a maximum is flat
    assert np.all(np.abs(solution.coef - expected.coef) <= rough * size)
    assert solution.check(p.A, p.y).ok


def double(values):
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)


@pytest.mark.parametrize("q", [2, 5])
@pytest.mark.parametrize("name", [name for name in SEVERAL if name in (*STEPWISE, *DENSE)])
def test_targets_with_weights(name, q):
    """Targets count as they are told to, and the units of residual, delta and sigma follow."""
    p = multi_target(FAMILIES["complex wide"](1), q)
    weights = np.arange(1.0, q + 1) / np.linalg.norm(p.y, axis=0) ** 0.5
    targets = Targets(p.y, weights=weights)
    p = replace(p, y=targets, delta=0.12 * Unit(p.A, targets).scale)
    compare(name, p, words(name, p))


@pytest.mark.parametrize("updates", ["em", "mackay", "convex"])
@pytest.mark.parametrize("family", ["tall", "correlated wide", "complex tall", "complex wide"])
def test_joint_updates_of_several_targets(updates, family):
    """M-SBL ends at a maximum as good as that of hundreds of naive updates."""
    p = multi_target(FAMILIES[family](0), 3)
    call = {"sigma": p.delta, "updates": updates}
    expected = ALL_REFERENCES["sbl"](p.A, p.y, **call)
    solution = ALGORITHMS["sbl"](p.A, p.y, **call)
    assert list(solution.support) == expected.support
    assert solution.log_evidence == pytest.approx(expected.log_evidence, rel=1e-5)
    assert solution.check(p.A, p.y).ok
