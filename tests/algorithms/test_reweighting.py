"""Candès' and ARD's reweighting against naive loops on Clarabel, and what they recover."""

from __future__ import annotations

import numpy as np
import pytest

import sparsewise as sw
from sparsewise.results import Reweighted, Stop
from tests.references import l1 as reference

BOTH = {"bp_candes": sw.bp_candes, "bp_ard": sw.bp_ard}


@pytest.fixture(params=BOTH)
def name(request):
    return request.param


def planted(seed, n=24, m=48, k=6, noise=0.02):
    """±1 on k unit columns, and noise of this norm."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, m))
    A /= np.linalg.norm(A, axis=0)
    x = np.zeros(m)
    x[rng.permutation(m)[:k]] = rng.choice([-1.0, 1.0], k)
    e = rng.standard_normal(n)
    return A, A @ x + noise * e / np.linalg.norm(e), x


def naive_rule(name, y, bound, **words):
    if name == "bp_candes":
        return reference.candes_rule(words.get("epsilon"))
    return reference.ard_rule(words.get("sigma", bound) / np.linalg.norm(y))


def from_scratch(name, A, y, bound, rounds, tol):
    """The same rounds, each by `bpdn` from the beginning."""
    norms, size = np.linalg.norm(A, axis=0), np.linalg.norm(y)
    w, rule = np.ones(A.shape[1]), naive_rule(name, y, bound)
    x = sw.bpdn(A, y, residual=bound, weights=norms).coef * norms
    for _ in range(rounds):
        w = rule(A / norms, x / size, w)
        before, x = x, sw.bpdn(A, y, residual=bound, weights=w * norms).coef * norms
        if np.abs(x - before).max() <= tol * np.abs(before).max():
            break
    return x / norms


# --- against the naive loop ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("shape", [(24, 48, 6), (20, 60, 9), (40, 20, 5), (20, 20, 5)])
def test_same_as_the_naive_loop(name, shape, seed):
    n, m, k = shape
    A, y, _ = planted([seed, n, m], n, m, k)
    bound = 0.05
    if n > m:  # the bound must be within reach
        bound += reference.distance(A, y)
    found = BOTH[name](A, y, residual=bound)
    x, solved = reference.reweight(A, y, bound, naive_rule(name, y, bound), rounds=8, tol=1e-4)
    assert isinstance(found, Reweighted)
    assert found.support.tolist() == np.flatnonzero(x).tolist()
    np.testing.assert_allclose(found.coef, x, atol=1e-5 * np.abs(x).max())
    assert len(found.rounds) == solved
    assert found.stop is (Stop.SETTLED if solved < 9 else found.stop)
    assert found.check(A, y).ok
    assert found.residual_norm == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("words", [{"epsilon": 0.1}, {"epsilon": 1e-2}])
def test_epsilon(words):
    A, y, _ = planted(3)
    found = sw.bp_candes(A, y, residual=0.05, **words)
    x, _ = reference.reweight(A, y, 0.05, naive_rule("bp_candes", y, 0.05, **words), 8, 1e-4)
    np.testing.assert_allclose(found.coef, x, atol=1e-5)


@pytest.mark.parametrize("sigma", [0.01, 0.3])
def test_sigma(sigma):
    A, y, _ = planted(3)
    found = sw.bp_ard(A, y, residual=0.05, sigma=sigma)
    x, _ = reference.reweight(A, y, 0.05, naive_rule("bp_ard", y, 0.05, sigma=sigma), 8, 1e-4)
    np.testing.assert_allclose(found.coef, x, atol=1e-5)
    default = sw.bp_ard(A, y, residual=0.05)
    np.testing.assert_array_equal(default.coef, sw.bp_ard(A, y, residual=0.05, sigma=0.05).coef)


@pytest.mark.parametrize("seed", range(10))
def test_warm_and_cold_start_agree(name, seed):
    A, y, _ = planted(seed, 30, 60, 10)
    warm = BOTH[name](A, y, residual=0.05)
    cold = from_scratch(name, A, y, 0.05, 8, 1e-4)
    assert warm.support.tolist() == np.flatnonzero(cold).tolist()
    np.testing.assert_allclose(warm.coef, cold, atol=1e-8)


# --- rounds --------------------------------------------------------------------------------------


def test_no_round_is_bpdn(name):
    A, y, _ = planted(0)
    A = A * np.random.default_rng(0).uniform(0.1, 10, A.shape[1])
    found = BOTH[name](A, y, residual=0.05, max_outer=0)
    plain = sw.bpdn(A, y, residual=0.05, weights=np.linalg.norm(A, axis=0))
    np.testing.assert_allclose(found.coef, plain.coef, rtol=1e-10)
    assert len(found.rounds) == 1
    assert found.rounds[0].change == np.inf
    assert found.objective == pytest.approx(plain.objective, rel=1e-10)


def test_rounds_are_told(name):
    A, y, _ = planted(1, k=9)
    norms = np.linalg.norm(A, axis=0)
    whole = BOTH[name](A, y, residual=0.05, max_outer=4, tol=1e-12)
    before = None
    for count in range(5):
        part = BOTH[name](A, y, residual=0.05, max_outer=count, tol=1e-12)
        told = part.rounds[-1]
        assert told.size == part.support.size == whole.rounds[count].size
        assert told.objective == pytest.approx(part.objective, rel=1e-9)
        assert told.objective == pytest.approx(whole.rounds[count].objective, rel=1e-9)
        if before is not None:
            change = np.abs((part.coef - before) * norms).max() / np.abs(before * norms).max()
            assert told.change == pytest.approx(change, rel=1e-6, abs=1e-12)
        before = part.coef
    assert f"{len(whole.rounds)}, with" in repr(whole)


def test_tolerance_ends_the_rounds(name):
    A, y, _ = planted(2)
    loose, tight = (BOTH[name](A, y, residual=0.05, tol=tol, max_outer=30) for tol in (0.5, 1e-9))
    assert loose.stop is Stop.SETTLED
    assert len(loose.rounds) < len(tight.rounds)
    assert loose.rounds[-1].change <= 0.5
    assert all(told.change > 1e-9 for told in tight.rounds[:-1])
    short = BOTH[name](A, y, residual=0.05, tol=1e-15, max_outer=1)
    assert len(short.rounds) == 2
    assert short.stop is Stop.MAX_OUTER


def test_an_exact_fit(name):
    A, y, x = planted(4, noise=0.0)
    found = BOTH[name](A, y, residual=0)
    np.testing.assert_allclose(found.coef, x, atol=1e-6)
    np.testing.assert_allclose(A @ found.coef, y, atol=1e-10)
    assert found.check(A, y).ok


def test_nothing_to_explain(name):
    A, y, _ = planted(5)
    loose = BOTH[name](A, y, residual=2 * np.linalg.norm(y))
    assert not loose.coef.any()
    assert len(loose.rounds) == 1
    assert loose.check(A, y).ok
    zero = BOTH[name](A, 0 * y, residual=1)
    assert zero.stop is Stop.ZERO_TARGET
    assert zero.check(A, 0 * y).ok


# --- what does not matter, and words -------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_units_do_not_matter(name, seed):
    rng = np.random.default_rng(seed)
    A, y, _ = planted(seed, k=8)
    factors, unit = 10.0 ** rng.uniform(-6, 6, A.shape[1]), 10.0 ** rng.uniform(-6, 6)
    plain = BOTH[name](A, y, residual=0.05)
    other = BOTH[name](A * factors, unit * y, residual=unit * 0.05)
    assert other.support.tolist() == plain.support.tolist()
    np.testing.assert_allclose(other.coef * factors / unit, plain.coef, rtol=1e-6)
    assert other.check(A * factors, unit * y).ok


def test_both_solvers_agree(name):
    A, y, _ = planted(6)
    path, cone = (BOTH[name](A, y, residual=0.05, solver=s) for s in ("homotopy", "conic"))
    assert path.support.tolist() == cone.support.tolist()
    np.testing.assert_allclose(path.coef, cone.coef, atol=1e-7)
    assert len(path.rounds) == len(cone.rounds)


def test_complex_data(name):
    A, y, _ = planted(6)
    real = BOTH[name](A, y, residual=0.05)
    found = BOTH[name](1j * A, y, residual=0.05)
    assert found.coef.dtype == np.complex128
    np.testing.assert_allclose(found.coef, -1j * real.coef, atol=1e-6)
    rng = np.random.default_rng(0)
    B = A + 1j * rng.standard_normal(A.shape)
    x = np.zeros(A.shape[1], complex)
    x[[3, 17, 40]] = [1j, -1.0, 1 + 1j]
    recovered = BOTH[name](B, B @ x, residual=1e-3)
    assert recovered.support.tolist() == [3, 17, 40]
    np.testing.assert_allclose(recovered.coef, x, atol=1e-3)
    assert recovered.check(B, B @ x).ok
    with pytest.raises(ValueError, match='use solver="conic"'):
        BOTH[name](1j * A, y, residual=0.05, solver="homotopy")


def test_words(name):
    A, y, x = planted(7)
    true = np.flatnonzero(x)
    other = int(np.flatnonzero(x == 0)[0])
    found = BOTH[name](A, y, residual=0.3, include=[other], exclude=[true[0]])
    assert other in found.support
    assert true[0] not in found.support
    assert found.weights[other] == 0
    assert np.isinf(found.weights[true[0]])
    assert found.check(A, y).ok
    refitted = BOTH[name](A, y, residual=0.05, debias=True)
    S = refitted.support
    np.testing.assert_allclose(
        refitted.coef[S], np.linalg.lstsq(A[:, S], y, rcond=None)[0], rtol=1e-9
    )
    seen = []
    stopped = BOTH[name](A, y, residual=0.05, callback=lambda s: seen.append(s) or len(seen) == 3)
    assert stopped.stop is Stop.CALLBACK
    assert len(seen) == 3


def test_copies_of_columns(name):
    A, y, x = planted(8)
    twice = np.hstack([A, -A])
    found = BOTH[name](twice, y, residual=0.05)
    both = found.coef[:48] - found.coef[48:]
    np.testing.assert_array_equal(np.flatnonzero(np.abs(both) > 0.1), np.flatnonzero(x))
    assert found.check(twice, y).ok


@pytest.mark.parametrize("shape", [(12, 1), (12, 2), (6, 4), (3, 8)])
def test_small_problems(name, shape):
    """Weights that stay as they are leave a residual that meets its bound but for rounding."""
    for seed in range(20):
        rng = np.random.default_rng([seed, *shape])
        A = rng.integers(-2, 3, shape).astype(float)
        A[0] = 1.0
        y = A @ rng.choice([-1.0, 1.0], shape[1]) + 0.5
        d = reference.distance(A, y)
        bound = float(np.hypot(d, 0.1 * np.linalg.norm(y)))
        found = BOTH[name](A, y, residual=bound)
        assert found.check(A, y).ok
        assert found.residual_norm <= bound * (1 + 1e-10)


def test_zero_columns(name):
    A, y, _ = planted(11)
    plain = BOTH[name](A, y, residual=0.05)
    wider = np.insert(A, [0, 5, 48], 0.0, axis=1)
    found = BOTH[name](wider, y, residual=0.05)
    np.testing.assert_allclose(np.delete(found.coef, [0, 6, 50]), plain.coef, atol=1e-8)
    assert not found.coef[[0, 6, 50]].any()
    assert found.check(wider, y).ok


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"max_outer": -1}, "max_outer must be at least 0"),
        ({"tol": 0}, "tol must be a finite number greater than 0"),
        ({"residual": -1}, "residual must be at least 0"),
        ({"solver": "lp"}, "solver must be"),
    ],
)
def test_bad_words(name, words, message):
    A, y, _ = planted(9)
    with pytest.raises(ValueError, match=message):
        BOTH[name](A, y, **{"residual": 0.05} | words)


def test_own_bad_words():
    A, y, _ = planted(9)
    with pytest.raises(ValueError, match="epsilon must be a finite number greater than 0"):
        sw.bp_candes(A, y, residual=0.05, epsilon=0)
    with pytest.raises(ValueError, match="sigma must be a finite number greater than 0"):
        sw.bp_ard(A, y, residual=0.05, sigma=-1)


def test_infeasible_bound(name):
    A, y, _ = planted(10, 40, 10, 3, noise=1.0)
    with pytest.raises(ValueError, match="distance of y from the range of A"):
        BOTH[name](A, y, residual=0.5 * reference.distance(A, y))


# --- recovery ------------------------------------------------------------------------------------


def recovery_rate(call, k, seeds=40):
    """How often entries above 1e-3 are the true support: n = 64, m = 128, ‖ε‖ = 5e-3."""
    hits = 0
    for seed in range(seeds):
        A, y, x = planted([seed, k], 64, 128, k, noise=5e-3)
        coef = call(A, y, residual=1e-2).coef
        hits += np.array_equal(np.flatnonzero(np.abs(coef) > 1e-3), np.flatnonzero(x))
    return hits / seeds


def test_reweighting_recovers_sixteen_columns():
    assert recovery_rate(sw.bp_ard, 16) >= 0.9


def test_basis_pursuit_recovers_fewer():
    assert 0.02 <= recovery_rate(sw.bpdn, 12) <= 0.5
    assert recovery_rate(sw.bp_ard, 12) == 1.0
    assert recovery_rate(sw.bp_candes, 12) >= 0.9


@pytest.mark.parametrize("algorithm", [sw.bp_ard, sw.bp_candes])
def test_where_everything_is_free_there_is_nothing_to_weigh(algorithm):
    rng = np.random.default_rng(3)
    A, y = rng.standard_normal((40, 6)), rng.standard_normal(40)
    x = np.linalg.lstsq(A, y, rcond=None)[0]
    solution = algorithm(A, y, residual=10.0, include=range(6))
    np.testing.assert_allclose(solution.coef, x, rtol=1e-9)


# --- what is included, and what is met on the way ------------------------------------------------


@pytest.mark.parametrize("solver", ["homotopy", "conic"])
def test_where_nothing_is_paid_for_no_weights_are_needed(name, solver):
    """Included columns alone meet the bound: least squares on them, after one round."""
    found = BOTH[name](np.eye(3)[:, :2], [2.0, 0, 0], residual=0.1, include=[0], solver=solver)
    np.testing.assert_array_equal(found.coef, [2.0, 0.0])
    assert found.stop is Stop.RESIDUAL
    assert len(found.rounds) == 1
    assert found.check(np.eye(3)[:, :2], [2.0, 0, 0]).ok


@pytest.mark.parametrize("seed", range(5))
def test_the_rest_is_weighed_beside_what_is_included(name, seed):
    A, y, _ = planted(seed, 24, 12, 4, noise=0.3)
    include = [0, 1, 2]
    alone = np.linalg.norm(y - A[:, include] @ np.linalg.lstsq(A[:, include], y, rcond=None)[0])
    bounds = np.array([1 + 1e-9, 1, 1 - 1e-12, 1 - 1e-6]) * alone
    for bound in [*bounds, 0.5 * (alone + reference.distance(A, y))]:
        found = BOTH[name](A, y, residual=bound, include=include)
        assert np.isfinite(found.coef).all()
        assert np.linalg.norm(y - A @ found.coef) <= bound + 1e-12
        assert found.check(A, y).ok


def test_an_estimator_predicts_with_what_is_included():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.standard_normal((30, 5))
        y = X[:, 0] + 0.1 * rng.standard_normal(30)
        for algorithm in ("candes", "ard"):
            fitted = sw.BasisPursuitRegressor(algorithm, include=[0]).fit(X, y)
            assert np.isfinite(fitted.predict(X)).all()


@pytest.mark.parametrize("residual", [0, 0.05])
@pytest.mark.parametrize("include", [[], [3]])
def test_models_on_the_path_have_their_residuals(name, residual, include):
    A, y, _ = planted(4, 12, 30, 8, noise=0.0)
    found = BOTH[name](A, y, residual=residual, include=include)
    assert len(found.rounds) > 1
    models = [found.path.initial, *found.path.models()]
    assert len(models) > 8
    for model in models:
        assert model.loss == pytest.approx(np.linalg.norm(y - A @ model.coef) ** 2, abs=1e-9)
        assert set(np.flatnonzero(model.coef)) <= set(model.support)


@pytest.mark.parametrize("residual", [0, 0.05])
def test_a_halted_round_gives_way_to_the_one_before(name, residual):
    """Between two problems, coefficients solve neither."""
    A, y, _ = planted(1, k=9)
    whole = []
    full = BOTH[name](A, y, residual=residual, tol=1e-12, callback=whole.append)
    for most in range(0, len(whole), 3):
        steps = []
        halted = BOTH[name](
            A, y, residual=residual, tol=1e-12,
            callback=lambda step, steps=steps, most=most: steps.append(step) or len(steps) > most,
        )  # fmt: skip
        assert halted.stop is Stop.CALLBACK
        assert len(steps) <= most + 1
        norm = np.linalg.norm(y - A @ halted.coef)
        assert halted.residual_norm == pytest.approx(norm, abs=1e-12)
        assert halted.check(A, y).ok
        if len(halted.rounds) == 1 and halted.residual_norm > residual + 1e-9:
            assert halted.bound == pytest.approx(norm)
            continue  # within the first round there is none before: the model met on its path
        assert halted.rounds == full.rounds[: len(halted.rounds)]
        same = BOTH[name](A, y, residual=residual, tol=1e-12, max_outer=len(halted.rounds) - 1)
        np.testing.assert_array_equal(halted.coef, same.coef)
        np.testing.assert_array_equal(halted.weights, same.weights)


def test_relevance_weights_of_columns_that_agree():
    """Weights are √(a_j*C⁻¹a_j), to rounding, however nearly columns depend on each other."""
    from sparsewise.engine.l1.reweighting import relevance_weights
    from sparsewise.problem.problem import problem

    rng = np.random.default_rng(0)
    for digits in (2, 6, 10, 14):
        A = rng.standard_normal((12, 1)) + 10.0**-digits * rng.standard_normal((12, 9))
        A /= np.linalg.norm(A, axis=0)
        x = rng.standard_normal(9) * (np.arange(9) % 2)
        data, before = problem(A, A.sum(axis=1)), rng.uniform(0.5, 2, 9)
        for sigma in (0.3, 1e-3):
            found = relevance_weights(data, x, before, sigma)
            expected = reference.ard_rule(sigma)(A, x, before)
            np.testing.assert_allclose(found, expected, rtol=1e-6 / sigma, atol=2e-8 / sigma)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("value", [5e-324, 1e-50, 1e-9, 1.0, 1e200])
def test_parameters_beyond_rounding_are_those_of_rounding(kind, value):
    A, y, _ = planted(13, 20, 40, 5)
    A, y = A.astype(kind), y.astype(kind)
    for found in (
        sw.bp_candes(A, y, residual=0.3, epsilon=value),
        sw.bp_ard(A, y, residual=0.3, sigma=value),
    ):
        assert np.isfinite(found.coef).all()
        assert np.isfinite(found.weights).all()
        assert found.check(A, y).ok


def test_weights_of_columns_near_the_largest_number():
    A, y, _ = planted(14, 20, 40, 5)
    factors = np.where(np.arange(40) % 3, 1.0, 1e306)
    for algorithm in BOTH.values():
        found, plain = algorithm(A * factors, y, residual=0.3), algorithm(A, y, residual=0.3)
        assert np.isfinite(found.weights).all()
        np.testing.assert_allclose(found.coef * factors, plain.coef, atol=1e-9)
