"""`solve`: the best model there is where all can be tried, on every kind of data."""

import itertools
import math
import signal
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.linear_model import LinearRegression

import sparsewise as sw
from sparsewise import plan
from sparsewise.design.dense import DenseDesign
from sparsewise.engine.halting import interruptible
from sparsewise.engine.search import forward_screening as forward_screening
from sparsewise.engine.search import multistart
from tests.problems import FAMILIES, KNOWN, normal
from tests.references.multistart import best_neighbour, best_of_all, cost

PROBLEMS = {p.name: p for p in KNOWN}
TALL = PROBLEMS["tall"]
HELD = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "sparse": sparse.csc_array,
    "operator": aslinearoperator,
    "design": sw.as_design,
}


def planted(seed, n, m, k, noise=0.05, kind=float):
    """±1 weights on unit columns, and noise of this norm."""
    rng = np.random.default_rng([seed, n, m, k])
    A = normal(rng, n, m, kind=kind)
    A /= np.linalg.norm(A, axis=0)
    support = np.sort(rng.choice(m, k, replace=False))
    e = normal(rng, n, kind=kind)
    y = A[:, support] @ rng.choice([-1.0, 1.0], k) + noise * e / np.linalg.norm(e)
    return A, y, support.tolist()


# --- the best there is ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("criterion", ["ric", "bic", "aic"])
@pytest.mark.parametrize("relative", [None, 0.1])
def test_of_all_subsets_it_takes_the_best_nearly_always(kind, criterion, relative):
    """Noise enough to leave little to find: where it misses, another model is hardly worse."""
    missed = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 1])
        n, m = int(rng.integers(4, 11)), int(rng.integers(2, 9))
        A = normal(rng, n, m, kind=kind)
        y = A[:, : m // 2].sum(axis=1) + 0.7 * normal(rng, n, kind=kind)
        sigma = None if relative is None else relative * float(np.linalg.norm(y))
        solution = sw.solve(A, y, criterion=criterion, sigma=sigma)
        best, _ = best_of_all(A, y, criterion=criterion, sigma=sigma)
        assert solution.score >= best - 1e-9 * (1 + abs(best))
        missed += solution.score > best + 1e-9 * (1 + abs(best))
    assert missed <= 1


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_single_change_lowers_the_score(family, held):
    for seed in (0, 1):
        p = FAMILIES[family](seed)
        solution = sw.solve(HELD[held](p.A), p.y)
        here, _ = cost(p.A, p.y, solution.support)
        assert solution.score == pytest.approx(here, rel=1e-9)
        assert best_neighbour(p.A, p.y, solution.support) >= here - 1e-7 * (1 + abs(here))
        assert solution.check(HELD[held](p.A), p.y).ok


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("criterion", ["ric", "bic", "aic"])
@pytest.mark.parametrize("relative", [None, 0.01, 0.3])
@pytest.mark.parametrize("shape", [(4, 17), (16, 21), (30, 8)])
def test_nor_with_other_charges_and_constraints(shape, kind, criterion, relative):
    """Thresholds that steps go by are but close to what the score asks for."""
    for seed in range(4):
        rng = np.random.default_rng([seed, *shape])
        A, y = normal(rng, *shape, kind=kind), normal(rng, shape[0], kind=kind)
        sigma = None if relative is None else relative * float(np.linalg.norm(y))
        order = rng.permutation(shape[1])
        words = {"include": order[:2].tolist(), "exclude": order[2:5].tolist()}
        solution = sw.solve(A, y, criterion=criterion, sigma=sigma, effort=4, **words)
        asked = {"criterion": criterion, "sigma": sigma, **words}
        here, _ = cost(A, y, solution.support, **asked)
        assert best_neighbour(A, y, solution.support, **asked) >= here - 1e-7 * (1 + abs(here))


@pytest.mark.parametrize(
    ("n", "m", "k", "noise"), [(64, 128, 16, 5e-3), (64, 128, 16, 0.4), (200, 20, 5, 0.5)]
)
def test_nothing_is_told_and_the_support_is_found(n, m, k, noise):
    for seed in range(3):
        A, y, support = planted(seed, n, m, k, noise)
        solution = sw.solve(A, y)
        assert solution.support.tolist() == support
        assert solution.stop is sw.Stop.FOUND_AGAIN
        assert solution.sigma == pytest.approx(noise / math.sqrt(n), rel=0.5)


def test_coefficients_of_very_different_size():
    """Joint updates come to the same small model again and again; floating searches don't."""
    for seed in range(8):
        rng = np.random.default_rng([seed, 24])
        A = normal(rng, 64, 128)
        A /= np.linalg.norm(A, axis=0)
        true = rng.choice(128, 24, replace=False)
        e = normal(rng, 64)
        y = A[:, true] @ (rng.choice([-1.0, 1.0], 24) * 0.85 ** np.arange(24))
        y += 5e-3 * e / np.linalg.norm(e)
        solution = sw.solve(A, y)
        assert solution.stop is sw.Stop.FOUND_AGAIN
        assert solution.score <= cost(A, y, true)[0] + 1e-6


def test_correlated_columns():
    rng = np.random.default_rng(0)
    A = (normal(rng, 64, 64) / np.arange(1, 65) ** 2) @ normal(rng, 64, 128)
    A /= np.linalg.norm(A, axis=0)
    support = [3, 40, 77, 90, 121]
    e = normal(rng, 64)
    y = A[:, support] @ np.array([1.0, -1, 1, 1, -1]) + 5e-3 * e / np.linalg.norm(e)
    assert sw.solve(A, y).support.tolist() == support


def test_noise_is_left_alone():
    """Few false columns a fit, and what there is of them is told to be by chance."""
    false = []
    for seed, (n, m) in itertools.product(range(4), [(64, 128), (200, 20), (60, 200)]):
        rng = np.random.default_rng([seed, n])
        solution = sw.solve(normal(rng, n, m), normal(rng, n), effort=6)
        false.append(solution.support.size)
        few = sw.Stop.NOTHING_FOUND if not false[-1] else (sw.Stop.BY_CHANCE, sw.Stop.EFFORT)
        assert solution.stop is few or solution.stop in few
        assert solution.chance > -4
    assert np.mean(false) <= 0.35


# --- least squares --------------------------------------------------------------------------------


def test_coefficients_are_those_of_scikit_learn():
    A, y, support = planted(0, 80, 30, 4, 0.3)
    solution = sw.solve(A, y)
    assert solution.support.tolist() == support
    theirs = LinearRegression(fit_intercept=False).fit(A[:, support], y)
    np.testing.assert_allclose(solution.coef[support], theirs.coef_, rtol=1e-10)
    assert not np.delete(solution.coef, support).any()
    r = y - A @ solution.coef
    assert solution.residual_norm == pytest.approx(np.linalg.norm(r))
    s2 = r @ r / (80 - 4)
    assert solution.sigma == pytest.approx(math.sqrt(s2))
    covariance = s2 * np.linalg.inv(A[:, support].T @ A[:, support])
    np.testing.assert_allclose(solution.covariance, covariance, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(solution.std[support], np.sqrt(np.diag(covariance)), rtol=1e-8)
    assert not np.delete(solution.std, support).any()


def test_noise_that_is_known_is_the_noise():
    A, y, support = planted(1, 80, 30, 4, 0.3)
    solution = sw.solve(A, y, sigma=0.04)
    assert solution.sigma == 0.04
    assert set(solution.support) >= set(support)
    V = A[:, solution.support]
    expected = 0.04 * np.sqrt(np.diag(np.linalg.inv(V.T @ V)))
    np.testing.assert_allclose(solution.std[solution.support], expected, rtol=1e-8)
    assert sw.solve(A, y, sigma=10.0).support.size == 0
    assert sw.solve(A, y, sigma=10.0).stop is sw.Stop.NOTHING_FOUND


def test_known_noise_may_take_as_many_columns_as_rows():
    rng = np.random.default_rng(0)
    A, y = normal(rng, 5, 15), normal(rng, 5)
    solution = sw.solve(A, y, sigma=1e-3)
    assert solution.support.size == 5
    assert solution.chance == 0
    assert solution.check(A, y).ok


# --- exact data -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [float, complex])
def test_of_exact_data_it_takes_the_smallest_support(kind):
    A, y, support = planted(3, 30, 60, 6, 0.0, kind=kind)
    solution = sw.solve(A, y)
    assert solution.support.tolist() == support
    assert solution.residual_norm <= 1e-13 * np.linalg.norm(y)
    assert solution.chance < -100


def test_a_target_among_the_columns():
    A = normal(np.random.default_rng(2), 12, 30)
    solution = sw.solve(A, 3 * A[:, 17])
    assert solution.support.tolist() == [17]
    assert solution.coef[17] == pytest.approx(3)


def test_include_that_fits_already():
    A = normal(np.random.default_rng(2), 12, 30)
    solution = sw.solve(A, A[:, 4] - A[:, 9], include=[9, 4])
    assert solution.support.tolist() == [4, 9]
    assert solution.stop is sw.Stop.EXACT_FIT
    assert solution.starts == ()


# --- awkward data ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 5), (2, 1), (2, 2), (3, 1), (2, 7)])
@pytest.mark.parametrize("sigma", [None, 0.1])
def test_tiny_tables(n, m, sigma):
    rng = np.random.default_rng([n, m])
    A, y = normal(rng, n, m), normal(rng, n)
    solution = sw.solve(A, y, sigma=sigma)
    assert solution.check(A, y).ok
    assert solution.score == pytest.approx(best_of_all(A, y, sigma=sigma)[0])


def test_a_zero_target():
    A = normal(np.random.default_rng(0), 6, 4)
    for words in ({}, {"sigma": 0.3}, {"include": [2]}):
        solution = sw.solve(A, np.zeros(6), **words)
        assert solution.stop is sw.Stop.ZERO_TARGET
        assert not solution.coef.any()
        assert solution.sigma == words.get("sigma", 0.0)
        assert solution.chance == 0
        assert solution.check(A, np.zeros(6)).ok


def test_a_constant_target():
    A = normal(np.random.default_rng(0), 40, 10)
    A[:, 3] = 1.0
    assert sw.solve(A, np.full(40, 7.0)).support.tolist() == [3]


def test_columns_of_zeros():
    A, y, support = planted(0, 40, 20, 3)
    A[:, [j for j in range(0, 20, 2) if j not in support]] = 0
    assert sw.solve(A, y).support.tolist() == support
    empty = sw.solve(np.zeros((5, 3)), np.arange(5.0))
    assert empty.support.size == 0
    assert empty.stop is sw.Stop.EXHAUSTED
    assert empty.check(np.zeros((5, 3)), np.arange(5.0)).ok


def test_nothing_may_come_in():
    A, y, _ = planted(0, 10, 3, 1)
    assert sw.solve(A, y, exclude=[0, 1, 2]).stop is sw.Stop.EXHAUSTED
    whole = sw.solve(A, y, include=[0, 1, 2])
    assert whole.support.tolist() == [0, 1, 2]
    assert whole.check(A, y).ok


def test_of_copies_one_is_taken_and_always_the_same():
    A, y, support = planted(0, 40, 20, 3)
    twice = np.hstack([A, -2 * A, A])
    for seed in range(3):
        solution = sw.solve(twice, y, seed=seed)
        assert solution.support.tolist() == support
        assert solution.check(twice, y).ok


def test_of_copies_that_fit_exactly_every_start_takes_the_lowest():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        B = normal(rng, 12, 4)
        solution = sw.solve(np.hstack([B, B, B]), B[:, 0] - 2 * B[:, 1])
        assert {start.support for start in solution.starts} == {(0, 1)}
        assert solution.support.tolist() == [0, 1]


def test_columns_apart_by_the_rounding_of_single_precision_are_one():
    """In few rows of double precision, too: no start has more of them than the answer may."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        A = (normal(rng, 27, 1) @ normal(rng, 1, 3)).astype(np.float32)
        y = normal(rng, 27).astype(np.float32)
        solution = sw.solve(A, y, criterion=0, effort=6)
        assert {start.support for start in solution.starts} == {(0,)}
        assert solution.support.tolist() == [0]


def test_starts_that_come_to_copies_agree():
    """Which of them comes out better by a bit is nobody's answer."""
    for seed, start in [(10, 1), (39, 0)]:
        A, y, support = planted(seed, 40, 20, 3, 0.3)
        rng = np.random.default_rng(seed)
        copies = [A * rng.uniform(0.1, 3, 20), -A * rng.uniform(0.1, 3, 20)]
        turned = A @ np.linalg.qr(rng.standard_normal((20, 20)))[0][:, :3]
        solution = sw.solve(np.hstack([A, *copies, turned]), y, seed=start)
        assert solution.support.tolist() == support
        assert solution.stop is sw.Stop.FOUND_AGAIN
        assert solution.times_found == len(solution.starts) <= 3


def test_columns_that_depend_on_others():
    for seed in range(3):
        for family in ("duplicates", "rank deficient", "complex rank deficient"):
            p = FAMILIES[family](seed)
            solution = sw.solve(p.A, p.y)
            chosen = p.A[:, solution.support]
            assert np.linalg.matrix_rank(chosen) == solution.support.size
            assert solution.check(p.A, p.y).ok


def test_dependent_columns_of_include_are_refused():
    A = normal(np.random.default_rng(0), 10, 5)
    A[:, 3] = A[:, 1]
    with pytest.raises(sw.InputError, match="depend"):
        sw.solve(A, A[:, 0], include=[1, 3])


def test_as_many_columns_of_include_as_rows():
    A, y = normal(np.random.default_rng(0), 4, 6), np.arange(4.0)
    solution = sw.solve(A, y, include=[0, 1, 2, 3])
    assert solution.support.tolist() == [0, 1, 2, 3]
    assert solution.check(A, y).ok


def test_near_copies():
    """Columns that agree to nine digits: whichever is taken, the answer is what it says."""
    rng = np.random.default_rng(0)
    base = normal(rng, 30, 6)
    A = np.hstack([base + 10.0**-d * normal(rng, 30, 6) for d in (0, 5, 9, 12)])
    y = A[:, 2] - A[:, 4] + 0.01 * normal(rng, 30)
    assert sw.solve(A, y).check(A, y).ok


# --- how data are held ----------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("held", HELD)
def test_the_known_answer_however_it_is_held(problem, held):
    p = PROBLEMS[problem]
    solution = sw.solve(HELD[held](p.A), p.y)
    assert solution.support.tolist() == p.truth
    np.testing.assert_allclose(solution.coef, sw.solve(p.A, p.y).coef, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [float, complex])
def test_single_precision_stays_single(kind):
    A, y, support = planted(0, 60, 90, 5, 0.1, kind=kind)
    small = np.complex64 if kind is complex else np.float32
    solution = sw.solve(A.astype(small), y)
    assert solution.support.tolist() == support
    assert solution.coef.dtype == solution.covariance.dtype == small
    assert solution.std.dtype == np.float32
    assert solution.check(A.astype(small), y).ok


@pytest.mark.parametrize("power", [-150, -75, 75, 150])
def test_units_of_columns_do_not_matter(power):
    A, y, support = planted(0, 50, 20, 4)
    scales = np.where(np.arange(20) % 2, 10.0**power, 1.0)
    solution, plain = sw.solve(A * scales, y), sw.solve(A, y)
    assert solution.support.tolist() == plain.support.tolist() == support
    np.testing.assert_allclose(solution.coef * scales, plain.coef, rtol=1e-9)
    assert solution.score == pytest.approx(plain.score, rel=1e-9)
    assert solution.chance == pytest.approx(plain.chance, rel=1e-9)


@pytest.mark.parametrize("factor", [-3.0, 1e-140, 1e140])
def test_nor_those_of_the_target(factor):
    A, y, _ = planted(0, 50, 20, 4)
    solution, plain = sw.solve(A, factor * y), sw.solve(A, y)
    np.testing.assert_allclose(solution.coef, factor * plain.coef, rtol=1e-9)
    assert solution.sigma == pytest.approx(abs(factor) * plain.sigma)
    assert solution.score == pytest.approx(plain.score, rel=1e-9)


def test_variances_beyond_the_numbers_are_refused():
    A, y, _ = planted(0, 50, 20, 4)
    with pytest.raises(sw.InputError, match="out of range"):
        sw.solve(A, 1e-200 * y)


@pytest.mark.parametrize("kind", [float, complex])
def test_many_rows_are_folded_into_few(kind, monkeypatch):
    """What is found is what the rows as they are would tell."""
    A, y, support = planted(0, 400, 12, 4, 1.0, kind=kind)
    folded = sw.solve(A, y)
    monkeypatch.setattr(multistart, "condense_problem", lambda data: data)
    plain = sw.solve(A, y)
    assert folded.support.tolist() == plain.support.tolist() == support
    np.testing.assert_allclose(folded.coef, plain.coef, rtol=1e-10)
    assert folded.score == pytest.approx(plain.score, rel=1e-10)
    assert folded.chance == pytest.approx(plain.chance, rel=1e-8)
    assert folded.sigma == pytest.approx(plain.sigma)


@pytest.mark.parametrize("held", ["dense", "sparse", "operator"])
def test_wide_tables_are_screened(held, monkeypatch):
    """Few columns are updated jointly; the answer is one that no other column would better."""
    A, y, support = planted(0, 60, 900, 6, 0.05)
    whole = sw.solve(A, y)
    monkeypatch.setattr(plan, "JOINTLY", 0)
    monkeypatch.setattr(forward_screening, "NEARBY", 24)
    widths = []
    relevant = multistart.relevant

    def seen(B, *args, **words):
        widths.append(B.shape[1])
        return relevant(B, *args, **words)

    monkeypatch.setattr(multistart, "relevant", seen)
    screened = sw.solve(HELD[held](A), y)
    assert max(widths) < 450
    assert screened.support.tolist() == whole.support.tolist() == support
    assert screened.check(HELD[held](A), y).ok


def test_the_columns_of_an_operator_are_computed_once(monkeypatch):
    A, y, support = planted(0, 260, 300, 4)
    held = aslinearoperator(A)
    solution = sw.solve(held, y)
    assert solution.support.tolist() == support
    assert 300 <= solution.n_products <= 302  # and what checks the adjoint
    np.testing.assert_allclose(solution.coef, sw.solve(A, y).coef, atol=1e-12)
    assert solution.check(held, y).ok
    # Where their norms are known, and too many for joint updates, not even that.
    monkeypatch.setattr(plan, "JOINTLY", 0)
    monkeypatch.setattr(forward_screening, "NEARBY", 24)
    A, y, support = planted(0, 60, 1500, 4)
    few = sw.solve(sw.OperatorDesign(aslinearoperator(A), norms=1.0), y)
    assert few.support.tolist() == support
    assert few.n_products < 1500


def test_where_chance_may_explain_it_all_columns_are_updated(monkeypatch):
    """Columns of which none stands out: what steps forward come near to lacks some of them."""
    A, y, support = planted(1, 64, 128, 22, 0.01)
    monkeypatch.setattr(plan, "JOINTLY", 0)
    monkeypatch.setattr(forward_screening, "NEARBY", 8)
    monkeypatch.setattr(forward_screening, "AHEAD_IN_SCREENING", 4)
    monkeypatch.setattr(plan, "JOINTLY_IN_DOUBT", 0)
    assert sw.solve(A, y, effort=8).support.tolist() != support
    monkeypatch.setattr(plan, "JOINTLY_IN_DOUBT", 3 * 64 * 128 * 64)
    widths, relevant = [], multistart.relevant

    def seen(B, *args, **words):
        widths.append(B.shape[1])
        return relevant(B, *args, **words)

    monkeypatch.setattr(multistart, "relevant", seen)
    assert sw.solve(A, y, effort=8).support.tolist() == support
    assert widths[0] < 128 == widths[1]
    widths.clear()
    sw.solve(A, normal(np.random.default_rng(0), 64), effort=8)
    assert [width == 128 for width in widths] == [False, True, True, True, False, False]


def test_the_order_of_columns_and_rows_does_not_matter():
    A, y, support = planted(5, 60, 100, 8, 0.05)
    rng = np.random.default_rng(0)
    for _ in range(3):
        columns, rows = rng.permutation(100), rng.permutation(60)
        solution = sw.solve(A[rows][:, columns], y[rows])
        assert sorted(columns[solution.support].tolist()) == support


# --- what is asked for ----------------------------------------------------------------------------


def test_include_and_exclude():
    A, y, support = planted(0, 50, 40, 5)
    other = next(j for j in range(40) if j not in support)
    with_it = sw.solve(A, y, include=[other])
    assert with_it.support.tolist() == sorted([*support, other])
    without = sw.solve(A, y, exclude=[support[0]])
    assert support[0] not in without.support
    assert support[0] not in {j for start in without.starts for j in start.support}
    assert all(set(start.support) >= {other} for start in with_it.starts)
    for solution in (with_it, without):
        assert solution.check(A, y).ok


def test_the_same_seed_has_the_same_answer():
    A, y, _ = planted(0, 24, 60, 11, 0.2)  # hard: starts come to different models
    one, two = (sw.solve(A, y, seed=4, effort=6) for _ in range(2))
    np.testing.assert_array_equal(one.coef, two.coef)
    assert one.starts == two.starts
    assert (one.score, one.chance, one.stop) == (two.score, two.chance, two.stop)
    other = sw.solve(A, y, seed=5, effort=6)
    assert other.starts != one.starts


def test_more_effort_is_never_worse():
    A, y, support = planted(5, 32, 64, 12, 5e-3)
    few, many = (sw.solve(A, y, effort=effort) for effort in (2, 16))
    assert few.support.tolist() != support
    assert few.stop is not sw.Stop.FOUND_AGAIN
    assert many.support.tolist() == support
    assert many.score < few.score


def test_it_is_no_worse_than_steps_from_nothing():
    """Joint updates of all columns may lead past a single one that is best."""
    for seed in (2, 33, 38):
        rng = np.random.default_rng([seed, 1])
        n, m = int(rng.integers(4, 11)), int(rng.integers(2, 9))
        A = normal(rng, n, m, kind=complex)
        y = A[:, : m // 2].sum(axis=1) + 0.7 * normal(rng, n, kind=complex)
        one = min(cost(A, y, [j])[0] for j in range(m))
        assert sw.solve(A, y, effort=3).score <= one + 1e-9


def test_effort_is_the_most_starts():
    A, y = normal(np.random.default_rng(0), 20, 40), normal(np.random.default_rng(1), 20)
    for effort in (1, 3):
        assert len(sw.solve(A, y, effort=effort).starts) == effort


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"effort": 0}, "effort must be at least 1"),
        ({"effort": 2.5}, "effort must be a whole number"),
        ({"effort": None}, "effort must be a whole number"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": None}, "seed must be a whole number"),
        ({"criterion": "cp"}, "criterion must be one of ric, bic, aic"),
        ({"criterion": ["ric"]}, "criterion must be one of ric, bic, aic"),
        ({"sigma": 0.0}, "sigma must be a finite number greater than 0"),
        ({"sigma": math.nan}, "sigma must be a number"),
        ({"sigma": 1e200}, "sigma is .* out of all proportion"),
        ({"include": [9]}, "include names column 9"),
        ({"include": [0], "exclude": [0]}, "can't be in both"),
        ({"callback": 3}, "callback must be a function"),
    ],
)
def test_bad_words_are_named(words, match):
    with pytest.raises(sw.InputError, match=match):
        sw.solve(np.eye(4), np.arange(4.0), **words)


# --- what is told ---------------------------------------------------------------------------------


def test_starts_tell_what_each_came_to():
    A, y, _ = planted(0, 24, 60, 11, 0.2)
    solution = sw.solve(A, y, effort=8)
    assert len(solution.starts) == 8
    for start in solution.starts:
        here, _ = cost(A, y, start.support)
        assert start.score == pytest.approx(here, rel=1e-9)
    assert min(start.score for start in solution.starts) == pytest.approx(solution.score, rel=1e-9)
    answer = tuple(solution.support.tolist())
    assert solution.times_found == sum(start.support == answer for start in solution.starts) >= 1


def test_it_ends_when_the_answer_is_plain():
    A, y, _ = planted(0, 64, 128, 8)
    solution = sw.solve(A, y)
    assert solution.stop is sw.Stop.FOUND_AGAIN
    assert len(solution.starts) == solution.times_found == 2
    text = repr(solution)
    assert "2 of 2 starts came to this" in text
    assert f"by chance at odds below 10^{solution.chance:.3g}" in text
    assert "effort" in solution.stop.advice


def test_a_failed_recovery_shows():
    """Far more columns than can be told apart: all starts are used, and the odds are told."""
    A, y, _ = planted(0, 20, 100, 12, 0.3)
    solution = sw.solve(A, y, effort=5, criterion="aic")
    assert len(solution.starts) == 5
    assert solution.chance > -2
    assert solution.stop is sw.Stop.BY_CHANCE
    assert "by chance" in repr(solution)
    assert "rows" in solution.stop.advice


def test_effort_that_is_used_up():
    A, y, support = planted(0, 64, 128, 8)
    solution = sw.solve(A, y, effort=1)
    assert solution.stop is sw.Stop.EFFORT
    assert solution.support.tolist() == support
    assert "1 of 1 start came to this" in repr(solution)


def test_the_callback_is_told_of_starts_and_may_stop():
    A, y = normal(np.random.default_rng(0), 20, 40), normal(np.random.default_rng(1), 20)
    told = []
    solution = sw.solve(A, y, effort=6, callback=told.append)
    assert tuple(told) == solution.starts
    assert all(isinstance(start, sw.Start) for start in told)
    few = []

    def enough(start):
        few.append(start)
        return len(few) == 2

    stopped = sw.solve(A, y, effort=6, callback=enough)
    assert stopped.stop is sw.Stop.CALLBACK
    assert few == told[:2] == list(stopped.starts)
    assert stopped.check(A, y).ok


def test_the_path_leads_to_the_answer():
    for p in KNOWN:
        solution = sw.solve(p.A, p.y)
        models = solution.path.models()
        assert models[-1].support.tolist() == solution.support.tolist()
        for model in models:
            r = p.y - p.A @ model.coef
            assert model.loss == pytest.approx(np.vdot(r, r).real, rel=1e-6, abs=1e-12)
        assert solution.path.at(1).support.size == 1


def test_certificate_and_pickle():
    import pickle

    A, y, _ = planted(0, 60, 12, 3, 0.1)
    solution = sw.solve(A, y)
    assert solution.certificate(A, y).status == "optimal"
    copy = pickle.loads(pickle.dumps(solution))
    assert copy.starts == solution.starts
    assert copy.check(A, y).ok


# --- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.fixture
def ctrl_c_is_heard():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_ctrl_c_leaves_the_best_so_far(calls, monkeypatch):
    A, y, _ = planted(0, 24, 60, 11, 0.2)
    start, times = multistart.Multistart.start, []

    def pressed(*args):
        times.append(1)
        if len(times) == calls:
            signal.raise_signal(signal.SIGINT)
        return start(*args)

    monkeypatch.setattr(multistart.Multistart, "start", pressed)
    with interruptible():
        part = sw.solve(A, y, effort=8)
    assert part.stop is sw.Stop.INTERRUPTED
    assert len(part.starts) == calls - 1
    before = sw.solve(A, y, effort=calls - 1) if calls > 1 else None
    if before is None:
        assert part.support.size == 0
    else:
        np.testing.assert_array_equal(part.coef, before.coef)
    assert part.check(A, y).ok


def test_what_a_callback_raises_is_the_users_own():
    def fails(start):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sw.solve(TALL.A, TALL.y, callback=fails)


def test_inputs_are_left_alone():
    p = replace(PROBLEMS["tall complex"])
    A, y = p.A.copy(), p.y.copy()
    sw.solve(A, y, include=[3])
    np.testing.assert_array_equal(A, p.A)
    np.testing.assert_array_equal(y, p.y)


@pytest.mark.parametrize("rows", [100.5, 5.5, 2.0, 1.0, 0.5, 0.0, -0.9])
@pytest.mark.parametrize("words", [{}, {"sigma": 0.1}, {"include": [0, 1]}])
def test_rows_that_count_for_more_or_less_than_they_are(rows, words):
    """Weights of rows add up to anything, even to nothing: there is an answer all the same."""
    rng = np.random.default_rng(0)
    A = normal(rng, 12, 8)
    y = A[:, 2] + 0.1 * normal(rng, 12)
    design = DenseDesign(A, rows=rows)
    solution = sw.solve(design, y, effort=2, **words)
    assert solution.goal.sample.rows == rows
    assert solution.check(design, y).ok
    assert not math.isnan(solution.score)
    assert solution.chance <= 0
    assert math.isfinite(solution.sigma)
