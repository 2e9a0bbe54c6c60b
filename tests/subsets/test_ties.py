"""Equal fits are told, tiny differences seen, and columns that nearly agree leave a proof open."""

import math
from itertools import combinations

import numpy as np
import pytest

from sparsewise import Stop, best_subset, certify
from sparsewise.problem.problem import problem
from sparsewise.subsets.exchanges import lowest_of_equals
from sparsewise.subsets.fit import Fit
from tests.guarantees.test_constraints import DIABETES
from tests.problems import gaussian
from tests.subsets.enumeration import best, residual_norm

EYE = np.eye(8)


def with_a_copy():
    X = np.column_stack([DIABETES.data, DIABETES.data[:, 2]])
    return X, DIABETES.target - DIABETES.target.mean(), [*DIABETES.feature_names, "bmi2"]


# --- ties -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("swaps", [False, True])
def test_a_copy_fits_as_well(swaps):
    X, y, names = with_a_copy()
    c = certify(X, y, [2, 3, 8], swaps=swaps, time_limit=None)
    assert (c.status, c.proof, c.ties) == ("optimal", "search", ((3, 8, 10),))
    assert c.sentence(names) == (
        "certified best subset of 3: no other fits better; these fit as well: bmi2 in place of bmi"
    )
    alone = certify(X, y, [2, 3, 8], swaps=swaps, time_limit=None, exclude=[10])
    assert alone.ties == ()
    assert alone.sentence(names).endswith("without bmi2 (every other was ruled out)")


def test_a_tie_is_told_where_nothing_is_proved():
    X, y, _ = with_a_copy()
    c = certify(X, y, [2, 3, 8], swaps=True, time_limit=0)
    assert (c.status, c.swap_optimal, c.ties) == ("unknown", True, ((3, 8, 10),))
    assert str(c).endswith("fits better; these fit as well: 10 in place of 2")


def test_all_ties_are_told_not_only_exchanges_of_one():
    """Columns 2 and 3 span what 0 and 1 do, but neither stands in for one of these alone."""
    A = np.column_stack(
        [EYE[:, 0], EYE[:, 1], EYE[:, :2] @ [2, 1], EYE[:, :2] @ [1, -3], EYE[:, 2]]
    )
    y = EYE[:, :3] @ [1.0, 1.0, 0.01] + 0.1 * EYE[:, 7]
    c = certify(A, y, [0, 1], swaps=True, time_limit=None)
    assert c.ties == tuple(pair for pair in combinations(range(4), 2) if pair != (0, 1))
    y = EYE[:, 0] + EYE[:, 1]
    A = np.column_stack([EYE[:, :2], EYE[:, :3] @ [1, 1, 1], EYE[:, :3] @ [1, 1, -1]])
    c = certify(A, y, [0, 1], swaps=True, time_limit=None)
    assert c.ties == ((2, 3),)
    assert str(c).endswith("no other fits better; these fit as well: 2, 3 in place of 0, 1")


def test_many_ties_are_not_all_listed():
    c = certify(np.eye(8), np.ones(8), [0, 1, 2], swaps=True, time_limit=None)
    assert c.status == "optimal"
    assert len(c.ties) == 55
    assert str(c).endswith("; and 47 more")


@pytest.mark.parametrize("factor", [1.0, -1.0, 3.0, -0.1, 1 / 3])
@pytest.mark.parametrize("char", "dfDF")
def test_the_lowest_of_equal_columns_is_taken(char, factor):
    for seed in range(10):
        p = gaussian(seed, 14, 6, 3, kind=complex if char in "DF" else float)
        A = np.column_stack([p.A, factor * p.A]).astype(char)
        y = p.y.astype(char)
        found = best_subset(A, y, sparsity=4)
        for size in range(1, 5):
            model = found.path.at(size)
            truth, _, _ = best(A[:, :6], y, size)
            assert tuple(model.support) == truth
        forced = best_subset(A, y, sparsity=3, include=[9], exclude=[0])
        assert 9 in forced.support
        assert not {0, 3} & {*forced.support}
        assert all(j < 6 or j in (6, 9) for j in forced.support)


def test_the_lowest_of_equals_where_no_column_is_a_copy():
    found = best_subset(np.eye(6)[:, ::-1], np.ones(6), sparsity=3)
    assert found.support.tolist() == [0, 1, 2]
    fit = Fit(problem(np.eye(6), np.ones(6), include=[4]), np.array([3, 4, 5]))
    assert lowest_of_equals(fit) == (0, 1, 4)


# --- proofs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-9, 1e-12, 1e-13])
@pytest.mark.parametrize("swaps", [False, True])
def test_copies_elsewhere_blur_nothing(tiny, swaps):
    A, y = EYE[:, [0, 2, 3, 4, 4, 5]], EYE[0] + tiny * (0.5 * EYE[2] + EYE[3])
    c = certify(A, y, [0, 1], swaps=swaps, time_limit=None)
    assert (c.status, c.better) == ("beaten", (0, 2))
    c = certify(A, y, [0, 2], swaps=swaps, time_limit=None)
    assert (c.status, c.ties) == ("optimal", ())
    found = best_subset(A, y, sparsity=3)
    assert [found.path.at(k).support.tolist() for k in (1, 2, 3)] == [[0], [0, 2], [0, 1, 2]]
    assert found.proved


@pytest.mark.parametrize("tiny", [1e-14, 1e-15, 1e-17])
def test_what_is_lost_in_rounding_is_not_proved(tiny):
    A, y = EYE[:, [0, 2, 3, 4, 4, 5]], EYE[0] + tiny * (0.5 * EYE[2] + EYE[3])
    assert certify(A, y, [0, 1], swaps=True, time_limit=None).status == "unknown"


@pytest.mark.parametrize("apart", [1e-7, 1e-9, 1e-11])
def test_columns_that_nearly_agree_leave_it_open(apart):
    """Together, by huge coefficients, 0 and 1 fit what no other two do."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    A = np.column_stack([Q[:, 0], Q[:, 0] + apart * Q[:, 1], Q[:, 2:5]])
    y = Q[:, 1:4] @ [1.0, 0.3, 0.2]
    assert residual_norm(A, y, [0, 1]) < residual_norm(A, y, [2, 3])
    c = certify(A, y, [2, 3], swaps=True, time_limit=None)
    assert (c.status, c.proof) == ("unknown", None)
    assert str(c).startswith("not certified: nearly dependent columns may make")
    found = best_subset(A, y, sparsity=2)
    assert found.stop is Stop.UNSETTLED
    assert (found.gaps[1], found.proved) == (0, False)
    assert found.lower_bounds[2] <= residual_norm(A, y, [0, 1]) ** 2 * (1 + 1e-6)
    assert "1 of 2 sizes" in repr(found)


@pytest.mark.parametrize("apart", [1e-7, 1e-9, 1e-11, 1e-13, 0.0])
def test_columns_that_nearly_agree_do_no_harm_where_they_are_not_needed(apart):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    A = np.column_stack([Q[:, 0], Q[:, 0] + apart * Q[:, 1], Q[:, 2:5]])
    y = Q[:, [0, 2, 3, 7]] @ [1.0, 0.5, 0.2, 0.1]
    assert certify(A, y, [0, 2], time_limit=None).status == "optimal"
    assert certify(A, y, [0, 3], time_limit=None).better in ((0, 2), (1, 2))
    assert best_subset(A, y, sparsity=3).proved


# --- scales ---------------------------------------------------------------------------------------

SCALES = [1e-300, 1e-200, 1e-170, 1e-160, 1e160, 1e200, 1e300]


@pytest.mark.parametrize("scale", SCALES)
def test_certificates_at_every_scale(scale):
    p = gaussian(0, 12, 8, 3)
    plain = certify(p.A, p.y, [0, 1, 2], swaps=True, time_limit=None)
    scaled = certify(p.A, scale * p.y, [0, 1, 2], swaps=True, time_limit=None)
    for name in ("status", "better", "proof", "swap_optimal", "exchanged", "source"):
        assert getattr(scaled, name) == getattr(plain, name)
    assert scaled.residual_norm == pytest.approx(scale * plain.residual_norm)
    assert scaled.swap[:2] == plain.swap[:2]
    assert not math.isnan(scaled.swap.fall)


@pytest.mark.parametrize("limit", [0.0, None])
@pytest.mark.parametrize("scale", SCALES)
def test_best_subsets_at_every_scale(scale, limit):
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((20, 14)), rng.standard_normal(20)
    plain, scaled = (best_subset(A, s * y, sparsity=6, time_limit=limit) for s in (1.0, scale))
    assert scaled.proved == plain.proved == (limit is None)
    assert scaled.gaps == pytest.approx(plain.gaps)
    assert scaled.stop is plain.stop
    for size in range(1, 7):
        assert scaled.path.at(size).support.tolist() == plain.path.at(size).support.tolist()
        assert not math.isnan(scaled.lower_bounds[size])


def test_columns_that_count_as_zero_are_no_proof():
    """Below the smallest normal number nothing can be compared."""
    p = gaussian(0, 12, 8, 3)
    c = certify(1e-310 * p.A, p.y, [0, 1], swaps=True, time_limit=None)
    assert c.status == "unknown"


def test_a_near_exact_single_column_is_the_best_one():
    """Correlations can't tell the two, residuals can."""
    rng = np.random.default_rng(0)
    a = rng.integers(-2, 3, 8).astype(float)
    A = np.column_stack([a, a + 1e-9 * rng.standard_normal(8)])
    y = A[:, 1] + 1e-8 * rng.standard_normal(8)
    truth = min((0, 1), key=lambda j: residual_norm(A, y, [j]))
    for limit in (0.0, None):
        found = best_subset(A, y, sparsity=1, time_limit=limit)
        assert (found.support.tolist(), found.gaps) == ([truth], {1: 0.0})
