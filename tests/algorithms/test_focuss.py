"""FOCUSS against a naive loop, and its rates of recovery."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.optimize import linprog
from scipy.sparse.linalg import aslinearoperator

from sparsewise.algorithms.focuss import focuss
from sparsewise.engine.l1.minimum_norm import regularisation, weighted_fit
from sparsewise.results import Stop
from tests.problems import normal

KINDS = pytest.mark.parametrize("kind", [float, complex])


def planted(seed, n, m, k, kind=float, noise=0.0):
    rng = np.random.default_rng([seed, n, m])
    A = normal(rng, n, m, kind=kind)
    x = np.zeros(m, kind)
    x[rng.choice(m, k, replace=False)] = normal(rng, k, kind=kind)
    e = normal(rng, n, kind=kind)
    e *= noise * np.linalg.norm(A @ x) / np.linalg.norm(e)
    return A, A @ x + e, x, float(np.linalg.norm(e))


def naive(A, y, p, rounds):
    """The definition, with nothing pruned."""
    norms = np.linalg.norm(A, axis=0)
    x = np.linalg.pinv(A / norms) @ y
    for _ in range(rounds):
        w = np.abs(x) ** (1 - p / 2)
        x = w * (np.linalg.pinv(A / norms * w, rcond=1e-14) @ y)
    return x / norms


@KINDS
@pytest.mark.parametrize("p", [0.0, 0.5, 0.8])
def test_what_the_definition_recovers_is_recovered(kind, p):
    for seed in range(8):
        A, y, x, _ = planted(seed, 64, 128, 12, kind)
        found = focuss(A, y, p=p)
        expected = np.abs(naive(A, y, p, 60) - x).max() < 1e-6
        assert expected == (list(found.support) == list(np.flatnonzero(x)))
        assert expected == (np.abs(found.coef - x).max() < 1e-6)


@pytest.mark.parametrize(
    ("kind", "p", "least"),
    # Of 100 samples: 48, 80 and 99 real ones, 96, 100 and 100 complex ones.
    [(float, 0.0, 5), (float, 0.5, 12), (float, 0.8, 18), (complex, 0.0, 16), (complex, 0.5, 18)],
)
def test_rates_of_recovery_without_noise(kind, p, least):
    recovered = 0
    for seed in range(20):
        A, y, x, _ = planted(seed, 64, 128, 12, kind)
        found = focuss(A, y, p=p)
        assert found.check(A, y).ok
        assert found.residual_norm < 1e-8 * np.linalg.norm(y)
        assert found.stop is Stop.SETTLED
        recovered += list(found.support) == list(np.flatnonzero(x))
    assert recovered >= least


@KINDS
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_recovery_with_noise(kind, p):
    for seed in range(8):
        A, y, x, noise = planted(seed, 64, 128, 6, kind, noise=0.03)
        x[np.abs(x) > 0] += np.sign(x[np.abs(x) > 0])  # far from the noise
        y = y - A @ planted(seed, 64, 128, 6, kind)[2] + A @ x
        found = focuss(A, y, p=p, residual=noise)
        assert found.residual_norm == pytest.approx(noise, rel=1e-8)
        assert set(found.support) == set(np.flatnonzero(x))


def test_the_power_one_approaches_basis_pursuit():
    for seed in range(5):
        A, y, _, _ = planted(seed, 15, 30, 15)
        unit = A / np.linalg.norm(A, axis=0)
        lp = linprog(np.ones(60), A_eq=np.hstack([unit, -unit]), b_eq=y)
        found = focuss(A, y, p=1.0, max_iter=5000)
        total = np.abs(found.coef * np.linalg.norm(A, axis=0)).sum()
        assert total == pytest.approx(lp.fun, rel=1e-6)
        assert total >= lp.fun * (1 - 1e-10)


@KINDS
@pytest.mark.parametrize("p", [0.0, 0.7, 1.0, 1.6])
def test_iterates_are_those_of_the_naive_loop(kind, p):
    A, y, _, _ = planted(1, 12, 24, 4, kind)
    norms = np.linalg.norm(A, axis=0)
    unit = A / norms
    x = np.linalg.pinv(unit) @ y
    for rounds in range(1, 6):
        w = np.abs(x) ** (1 - p / 2)
        x = w * (np.linalg.pinv(unit * w) @ y)
        found = focuss(A, y, p=p, max_iter=rounds)
        np.testing.assert_allclose(found.coef * norms, x, atol=1e-9 * np.abs(x).max())
        assert found.stop is Stop.MAX_ITER


@KINDS
def test_regularised_iterates_are_those_of_the_naive_loop(kind):
    """The naive μ: bisection on the residual of the normal equations."""
    A, y, _, noise = planted(2, 12, 24, 4, kind, noise=0.2)
    norms = np.linalg.norm(A, axis=0)
    unit = A / norms

    def fit(w):
        low, high = -20.0, 20.0
        G = (unit * w**2) @ unit.conj().T
        for _ in range(200):
            mu = 10 ** ((low + high) / 2)
            x = w**2 * (unit.conj().T @ np.linalg.solve(G + mu * np.eye(12), y))
            low, high = ((low + high) / 2, high) if np.linalg.norm(unit @ x - y) < noise else (
                low, (low + high) / 2,
            )  # fmt: skip
        return x

    x = fit(np.ones(24))
    for rounds in range(1, 5):
        x = fit(np.abs(x) ** 0.75)
        found = focuss(A, y, p=0.5, residual=noise, max_iter=rounds)
        np.testing.assert_allclose(found.coef * norms, x, atol=1e-8 * np.abs(x).max())
        assert found.residual_norm == pytest.approx(noise, rel=1e-10)


def test_the_secular_equation_with_graded_singular_values():
    rng = np.random.default_rng(3)
    for _ in range(50):
        squares, sizes = 10.0 ** rng.uniform(-20, 0, 12), 10.0 ** rng.uniform(-6, 0, 12)
        room = np.linalg.norm(sizes) * 10.0 ** rng.uniform(-4, -0.01)
        mu = regularisation(squares, sizes, room)
        assert np.linalg.norm(sizes * mu / (squares + mu)) == pytest.approx(room, rel=1e-9)


def test_a_bound_just_out_of_reach_is_met_as_well_as_can_be():
    rng = np.random.default_rng(4)
    B, y = normal(rng, 10, 4), normal(rng, 10)
    x, distance = weighted_fit(B, np.ones(4), y, 0.0)
    np.testing.assert_allclose(x, np.linalg.lstsq(B, y, rcond=None)[0])
    assert distance == pytest.approx(np.linalg.norm(y - B @ x))


def test_scales_do_not_matter():
    A, y, _, noise = planted(5, 20, 40, 4, noise=0.1)
    plain = focuss(A, y, residual=noise)
    columns = 10.0 ** np.random.default_rng(5).uniform(-3, 3, 40)
    scaled = focuss(A * columns, 1e4 * y, residual=1e4 * noise)
    np.testing.assert_array_equal(plain.support, scaled.support)
    np.testing.assert_allclose(scaled.coef * columns / 1e4, plain.coef, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("store", [sparse.csc_array, aslinearoperator])
def test_other_designs(store):
    A, y, _, noise = planted(6, 20, 40, 4, noise=0.1)
    dense, other = focuss(A, y, residual=noise), focuss(store(A), y, residual=noise)
    np.testing.assert_allclose(other.coef, dense.coef, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
def test_single_precision(kind):
    A, y, x, _ = planted(7, 40, 60, 4, complex if kind is np.complex64 else float)
    found = focuss(A.astype(kind), y.astype(kind), residual=1e-4 * np.linalg.norm(y))
    assert found.coef.dtype == kind
    np.testing.assert_allclose(found.coef, x, atol=2e-3 * np.abs(x).max())
    assert found.check(A.astype(kind), y.astype(kind)).ok


@KINDS
def test_the_path_drops_from_all_columns(kind):
    A, y, _, noise = planted(8, 20, 40, 4, kind, noise=0.1)
    found = focuss(A, y, residual=noise, include=[3], exclude=[5])
    assert set(found.path.start) == set(range(40)) - {5}
    assert {step.action for step in found.path} == {"drop"}
    dropped = {step.column for step in found.path}
    assert set(found.path.start) - dropped == set(found.support)
    initial = found.path.initial
    assert np.linalg.norm(y - A @ initial.coef) == pytest.approx(noise, rel=1e-8)
    for size in found.path.sizes:
        model = found.path.at(size)
        assert model.support.size == size
        rss = np.linalg.norm(y - A @ model.coef) ** 2
        assert model.squared_residual == pytest.approx(rss, rel=1e-6)


@KINDS
def test_included_and_excluded_columns(kind):
    A, y, x, noise = planted(9, 20, 40, 4, kind, noise=0.1)
    spare = [j for j in range(40) if x[j] == 0]
    found = focuss(A, y, residual=noise, include=spare[:2], exclude=spare[2:4])
    assert set(spare[:2]) <= set(found.support)
    assert not set(spare[2:4]) & set(found.support)
    assert found.residual_norm == pytest.approx(noise, rel=1e-8)
    r = y - A @ found.coef
    assert np.abs(A[:, spare[:2]].conj().T @ r).max() < 1e-10 * np.linalg.norm(y)


def test_debiasing_refits():
    A, y, _, noise = planted(10, 20, 40, 4, noise=0.1)
    plain, refitted = focuss(A, y, residual=noise), focuss(A, y, residual=noise, debias=True)
    np.testing.assert_array_equal(plain.support, refitted.support)
    assert not plain.least_squares
    assert refitted.least_squares
    assert refitted.residual_norm < plain.residual_norm
    assert refitted.check(A, y).ok


def test_a_loose_bound_and_a_target_of_zeros_need_nothing():
    A, y, _, _ = planted(11, 20, 40, 4)
    assert focuss(A, y, residual=np.linalg.norm(y)).support.size == 0
    assert focuss(A, y, residual=np.inf).stop is Stop.RESIDUAL
    assert focuss(A, 0 * y).stop is Stop.ZERO_TARGET


def test_a_tall_design_and_columns_of_zeros():
    rng = np.random.default_rng(12)
    A = normal(rng, 30, 10)
    A[:, 4] = 0
    y = A[:, [1, 7]] @ np.array([1.0, -2.0])
    found = focuss(A, y)
    assert list(found.support) == [1, 7]


def test_an_infeasible_bound_names_the_distance():
    rng = np.random.default_rng(13)
    A, y = normal(rng, 20, 8), 5 * normal(rng, 20)
    d = np.linalg.norm(y - A @ np.linalg.lstsq(A, y, rcond=None)[0])
    for bound in (0.0, 0.5 * d):
        with pytest.raises(ValueError, match=f"range of A is {d:.10g}; allow a residual"):
            focuss(A, y, residual=bound)
    assert focuss(A, y, residual=1.01 * d).residual_norm == pytest.approx(1.01 * d)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"p": -0.1}, "p must be at least 0 and below 2"),
        ({"p": 2.0}, "p must be at least 0 and below 2"),
        ({"p": np.nan}, "p must be a number"),
        ({"residual": -1.0}, "residual must be at least 0"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"include": [0], "exclude": [0]}, "both include and exclude"),
    ],
)
def test_bad_input(words, message):
    with pytest.raises(ValueError, match=message):
        focuss(np.eye(3), np.ones(3), **words)


@KINDS
def test_the_default_power_recovers_with_and_without_noise(kind):
    for seed in range(5):
        A, y, x, _ = planted(seed, 64, 128, 12, kind)
        np.testing.assert_allclose(focuss(A, y).coef, x, atol=1e-8 * np.abs(x).max())
        A, y, x, noise = planted(seed, 64, 128, 12, kind, noise=0.02)
        found = focuss(A, y, residual=noise)
        assert found.residual_norm == pytest.approx(noise, rel=1e-8)
        assert np.linalg.norm(found.coef - x) < 0.06 * np.linalg.norm(x)


def test_single_precision_is_pruned_at_its_own_rounding():
    A = normal(np.random.default_rng(14), 30, 10).astype(np.float32)
    y = A[:, [1, 7]] @ np.array([1.0, -2.0], np.float32)
    assert list(focuss(A, y).support) == [1, 7]


def test_copies_share_a_coefficient():
    A, y, _, _ = planted(15, 20, 30, 3)
    twice = focuss(np.hstack([A, -2 * A]), y)
    alone = focuss(A, y)
    np.testing.assert_allclose(twice.coef[:30], -2 * twice.coef[30:], atol=1e-8)
    np.testing.assert_allclose(2 * twice.coef[:30], alone.coef, atol=1e-8)


@pytest.mark.parametrize("p", [0.0, 0.8])
def test_what_is_included_leaves_fewer_directions_in_single_precision_too(p):
    rng = np.random.default_rng(16)
    A, y = normal(rng, 24, 48).astype(np.float32), normal(rng, 24).astype(np.float32)
    found = focuss(A, y, p=p, include=[1, 2])
    assert {1, 2} <= set(found.support)
    assert found.support.size <= 24
    assert found.check(A, y).ok


@pytest.mark.parametrize("p", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("digits", [4, 8, 11])
def test_a_bound_stays_met_where_columns_nearly_agree(p, digits):
    """Weights may leave fewer directions than there were: no round gives up the bound for it."""
    rng = np.random.default_rng(digits)
    for seed in range(10):
        A = normal(rng, 6, 2)[:, rng.integers(2, size=6)] + 10.0**-digits * normal(rng, 6, 6)
        y = normal(rng, 6)
        for bound in (1e-9, 1e-3, 0.3):
            found = focuss(A, y, p=p, residual=bound * np.linalg.norm(y), max_iter=1 + 5 * seed)
            size = np.abs(found.coef * np.linalg.norm(A, axis=0)).sum()
            norm = np.linalg.norm(y - A @ found.coef)
            assert norm <= bound * np.linalg.norm(y) + 1e-13 * (np.linalg.norm(y) + size)


def test_a_bound_is_refused_by_its_last_digits():
    rng = np.random.default_rng(17)
    A, y = normal(rng, 12, 5), normal(rng, 12)
    distance = np.linalg.norm(y - A @ np.linalg.lstsq(A, y, rcond=None)[0])
    assert focuss(A, y, residual=distance).residual_norm == pytest.approx(distance, rel=1e-12)
    with pytest.raises(ValueError, match="No x has"):
        focuss(A, y, residual=distance * (1 - 1e-11))


def test_columns_that_depend_on_the_included_ones_are_none():
    """What projecting these out leaves of them is rounding error, which fits nothing."""
    y = np.random.default_rng(0).standard_normal(17)
    least = float(np.linalg.norm(y - y.mean()))
    with pytest.raises(ValueError, match="No x has"):
        focuss(np.ones((17, 28)), y, residual=0.0, include=[15, 5, 11])
    found = focuss(np.ones((17, 28)), y, residual=1.1 * least, include=[15, 5, 11])
    assert found.residual_norm == pytest.approx(least)
    assert found.check(np.ones((17, 28)), y).ok


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("residual", [1e-112, 1e-160, 1e-200, 1e-320])
def test_bounds_whose_squares_underflow(n, residual):
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((n, 8)), np.arange(1.0, n + 1)
    assert focuss(A, y, residual=residual).residual_norm < 1e-13
