"""Sparse Bayesian Learning against dense formulas, many digits, the paper's lemmas and theorem."""

from __future__ import annotations

import dataclasses
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsewise
from sparsewise import ALGORITHMS, Stop
from tests.problems import (
    BAYES,
    FAMILIES,
    KNOWN,
    correlated,
    gaussian,
    normal,
    unit_columns,
    variants,
    words,
)
from tests.references.bayes import UPDATES, Slack, State, dense, precise
from tests.references.stepwise import Unit

EPS = float(np.finfo(float).eps)
TALL = next(p for p in KNOWN if p.name == "tall")


@pytest.fixture(params=BAYES)
def name(request):
    return request.param


def solve(name, p, **more):
    return ALGORITHMS[name](p.A, p.y, **words(name, p) | more)


def state_of(solution, A, y, exclude=()):
    """The dense twin of a solution: its gammas for unit columns and a unit target."""
    flat = [int(j) for j in np.flatnonzero(np.isinf(solution.gamma))]
    state = State(A, y, solution.sigma, solution.price, flat, exclude)
    norms = np.where(state.unit.norms > 0, state.unit.norms, 1.0)
    state.gamma = solution.gamma * (norms / state.unit.scale) ** 2
    return state


def holds(solution, A, y, rtol=1e-8):
    """Everything a solution says, from its gamma and sigma by the n×n formulas."""
    posterior = dense(A, y, solution.gamma, solution.sigma)
    support = list(solution.support)
    assert support == list(np.flatnonzero(solution.gamma))
    assert solution.log_evidence == pytest.approx(posterior.log_evidence, rel=rtol, abs=rtol)
    std = np.sqrt(np.diagonal(posterior.covariance).real)
    size = np.abs(posterior.mean) + std
    assert (np.abs(solution.coef[support] - posterior.mean) <= rtol * size.max(initial=1)).all()
    assert not np.delete(solution.coef, support).any()
    assert solution.covariance.shape == (len(support), len(support))
    error = np.abs(solution.covariance - posterior.covariance)
    assert (error <= rtol * np.outer(std, std)).all()
    np.testing.assert_allclose(solution.std[support], std, rtol=rtol)
    assert not np.delete(solution.std, support).any()
    assert solution.std.shape == solution.gamma.shape == (A.shape[1],)
    residual = np.linalg.norm(y - A @ solution.coef)
    assert solution.residual_norm == pytest.approx(residual, rel=rtol, abs=1e-12)
    return posterior


# --- the numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_solution_says(name, family):
    """Evidence, mean, covariance and optimality of every call, by the dense formulas."""
    p = FAMILIES[family](1)
    for label, call in variants(name, p).items():
        solution = ALGORITHMS[name](p.A, p.y, **call)
        try:
            # The copies of "duplicates" are as ill-conditioned as columns can be.
            holds(solution, p.A, p.y, rtol=1e-7 if family == "duplicates" else 1e-8)
            check = solution.check(p.A, p.y)
            assert check.ok
            assert check.log_evidence_error < 1e-8
            assert check.posterior_error < 1e-8
            state = state_of(solution, p.A, p.y, call.get("exclude", ()))
            increase = state.possible_increase()
            assert check.possible_increase == pytest.approx(increase, rel=1e-5, abs=1e-9)
            if solution.stop is Stop.EVIDENCE:
                assert increase <= solution.min_increase
            else:
                assert label in ("few steps", "one round")
        except AssertionError as error:
            error.add_note(f"{name} on {p.name}, {label}: {call}")
            raise


def test_fields(name):
    p = FAMILIES["wide"](0)
    solution = solve(name, p, price=0.5, min_increase=3e-3, include=[4, 7], exclude=[1])
    assert isinstance(solution, sparsewise.BayesianSolution)
    assert isinstance(solution.check(p.A, p.y), sparsewise.BayesianCheck)
    assert (solution.price, solution.min_increase) == (0.5, 3e-3)
    assert solution.sigma == pytest.approx(p.delta, rel=1e-14)
    assert isinstance(solution.sigma, float)
    assert isinstance(solution.log_evidence, float)
    assert np.isinf(solution.gamma[[4, 7]]).all()
    assert np.isfinite(np.delete(solution.gamma, [4, 7])).all()
    assert (np.delete(solution.gamma, solution.support) == 0).all()
    assert not solution.least_squares
    for shown in (f"{solution.sigma:.4g}", f"{solution.log_evidence:.6g}"):
        assert shown in repr(solution)
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.gamma = None


def test_covariance_is_in_the_order_of_the_support(name):
    """Columns of very different lengths: entry i belongs to support[i]."""
    p = next(p for p in KNOWN if p.name == "badly scaled")
    solution = solve(name, p)
    lengths = np.linalg.norm(p.A[:, p.truth], axis=0)
    # Nearly orthogonal columns: each variance is close to σ²/‖a‖².
    np.testing.assert_allclose(solution.std[p.truth] * lengths, p.delta, rtol=0.2)
    np.testing.assert_array_equal(np.sqrt(np.diagonal(solution.covariance)), solution.std[p.truth])


SIGMAS = [1e-8, 1e-6, 1e-4, 1e-2, 0.3, 1e2]


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("make", [gaussian, correlated])
@pytest.mark.parametrize("kind", [float, complex])
def test_many_digits(name, make, kind, sigma):
    """Noise from 1e-8 to 1e2 of the target: mean, covariance and evidence are those of 60 digits.

    Up to what a few dozen roundings of the data themselves would change (`Slack`), and 1e-10.
    """
    p = make(3, 10, 14, 4, kind=kind)
    scale = float(np.linalg.norm(p.y))
    solution = ALGORITHMS[name](p.A, p.y, sigma=sigma * scale)
    exact = precise(p.A, p.y, solution.gamma, solution.sigma)
    on = solution.support
    width = scale / np.linalg.norm(p.A, axis=0)
    slack = Slack(p.A, p.y, solution.gamma / width**2, sigma, 64 * EPS)
    # Evidences of this size: half of y*C⁻¹y and of log|C| each.
    size = abs(exact.log_evidence) + exact.quadratic + len(p.y) * abs(np.log(sigma))
    assert abs(solution.log_evidence - exact.log_evidence) <= 1e-10 * size + slack.log_evidence
    error = np.abs(solution.coef[on] - exact.mean) / width[on]
    assert (error <= 1e-10 * np.abs(exact.mean / width[on]) + slack.mean).all()
    std = np.sqrt(np.diagonal(exact.covariance).real)
    error = np.abs(solution.covariance - exact.covariance) / np.outer(std, std)
    assert error.max(initial=0.0) <= 1e-10 + slack.covariance
    check = solution.check(p.A, p.y)
    assert check.ok
    assert solution.stop is Stop.EVIDENCE


@pytest.mark.parametrize("kind", [float, complex])
def test_large_and_small_gammas(name, kind):
    """Coefficients from 1e-5 to 1e2, per unit column: variances over fourteen orders."""
    rng = np.random.default_rng(5)
    A = unit_columns(normal(rng, 20, 50, kind=kind))
    x = np.zeros(50)
    x[[3, 14, 25, 36, 47]] = 10.0 ** np.array([2, 0, -2, -3, -5])
    y = A @ x
    solution = ALGORITHMS[name](A, y, sigma=1e-6)
    assert list(solution.support) == [3, 14, 25, 36, 47]
    np.testing.assert_allclose(solution.coef, x, rtol=0.1)
    gamma = solution.gamma[solution.support]
    assert gamma.max() / gamma.min() > 1e13
    exact = precise(A, y, solution.gamma, solution.sigma)
    assert solution.log_evidence == pytest.approx(exact.log_evidence, abs=1e-4)
    error = np.abs(solution.coef[solution.support] - exact.mean)
    assert (error <= 1e-10 + 1e-9 * np.abs(exact.mean)).all()
    assert solution.check(A, y).ok


def test_single_precision(name):
    """float32 in, float32 out; evidence and posterior good to its digits."""
    for p in (TALL, next(p for p in KNOWN if p.name == "tall complex")):
        kind = np.complex64 if np.iscomplexobj(p.A) else np.float32
        solution = ALGORITHMS[name](p.A.astype(kind), p.y, **words(name, p))
        double = solve(name, p)
        assert list(solution.support) == p.truth
        assert solution.coef.dtype == kind
        assert solution.log_evidence == pytest.approx(double.log_evidence, rel=1e-3)
        np.testing.assert_allclose(solution.gamma, double.gamma, rtol=0.3)
        np.testing.assert_allclose(solution.std, double.std, rtol=1e-3)


def test_single_precision_with_near_copies(name):
    """Equal within rounding is not transitive: a ~ c and b ~ c, but not a ~ b.

    The evidence is -1e6, which leaves no digits for a rise of 1e-5; it must end all the same.
    """
    for seed in range(16):
        rng = np.random.default_rng([seed, 8])
        A = normal(rng, 9, 1, kind=complex) + 1e-6 * normal(rng, 9, 26, kind=complex)
        A, y = A.astype(np.complex64), normal(rng, 9, kind=complex)
        assert ends(name, A, y, sigma=4e-3, min_increase=1e-5).check(A, y).ok


def ends(name, A, y, stops=(Stop.EVIDENCE,), **call):
    """The solution, which takes less than 20,000 steps; an endless run would be a poor failure."""
    steps = []

    def count(step):
        steps.append(step)
        return len(steps) > 20_000

    solution = ALGORITHMS[name](A, y, callback=count, **call)
    assert solution.stop in stops
    return solution


# --- the path ------------------------------------------------------------------------------------


@pytest.mark.parametrize("price", [0.0, 0.7])
@pytest.mark.parametrize("family", ["wide", "correlated wide", "complex wide", "duplicates"])
def test_each_step_raises_the_evidence(name, family, price):
    """log_evidence - price·size rises with every step, sizes follow the actions."""
    for seed in range(3):
        p = FAMILIES[family](seed)
        path = solve(name, p, price=price, min_increase=1e-4).path
        S = list(path.start)
        values = []
        for step in path:
            if step.action == "add":
                assert step.column not in S
                S.append(step.column)
            elif step.action == "drop":
                S.remove(step.column)
            else:
                assert step.action == "update"
                assert step.column in S
            assert step.size == len(S)
            values.append(step.log_evidence - price * step.size)
        # A copy left to the first of its kind changes nothing: no fall, and no rise.
        assert np.diff(values).min(initial=1) > (-1e-12 if family == "duplicates" else 0)
        if name != "sbl":
            assert path.start == ()
            empty = dense(p.A, p.y, np.zeros(p.A.shape[1]), p.delta).log_evidence
            assert not values or values[0] > empty


@pytest.mark.parametrize("family", ["tall", "wide", "complex wide"])
def test_every_model_on_the_way(name, family):
    """Halted after step t, the model is the dense one, and the path says so at t."""
    p = FAMILIES[family](2)
    call = {"min_increase": 1e-4, "include": [5]}
    whole = solve(name, p, **call)
    assert len(whole.path) >= 6
    for t in sorted({1, 2, 3, len(whole.path) // 2, len(whole.path) - 1}):
        seen = []

        def halt(step, seen=seen, t=t):
            seen.append(step)
            return len(seen) == t

        solution = solve(name, p, callback=halt, **call)
        assert solution.stop is Stop.CALLBACK
        assert len(solution.path) == t
        holds(solution, p.A, p.y)
        assert solution.check(p.A, p.y).ok
        last, same = solution.path[-1], whole.path[t - 1]
        assert last.log_evidence == pytest.approx(solution.log_evidence, rel=1e-9, abs=1e-9)
        assert last[:2] == same[:2]
        assert same.log_evidence == pytest.approx(solution.log_evidence, rel=1e-9, abs=1e-9)
        squared = solution.residual_norm**2
        assert same.squared_residual == pytest.approx(squared, rel=1e-8)
        assert last.squared_residual == pytest.approx(squared, rel=1e-8)


@pytest.mark.parametrize("sigma", [1e-8, 1e-3])
@pytest.mark.parametrize("kind", [float, complex])
def test_the_last_step_knows_the_evidence(name, kind, sigma):
    """Rises of 1e15 and of 1e-2 in one path: the sum must not drift away from what it sums to."""
    p = gaussian(4, 24, 48, 5, kind=kind)
    solution = ALGORITHMS[name](p.A, p.y, sigma=sigma * np.linalg.norm(p.y))
    last = solution.path[-1].log_evidence
    assert last == pytest.approx(solution.log_evidence, rel=1e-6, abs=1e-6)


def test_path_at(name):
    """Coefficients of models met on the way are posterior means: those of the halted run."""
    p = FAMILIES["wide"](4)
    whole = solve(name, p, min_increase=1e-3)
    last = whole.path.at(len(whole.support))
    assert list(last.support) == list(whole.support)
    halted = solve(name, p, min_increase=1e-3, callback=lambda step: True)
    (step,) = halted.path
    model = halted.path.at(step.size)
    assert list(model.support) == list(halted.support)
    np.testing.assert_allclose(model.coef, halted.coef, rtol=1e-12)
    assert model.squared_residual == pytest.approx(halted.residual_norm**2, rel=1e-10)


# --- the optimum and its check -------------------------------------------------------------------


@pytest.mark.parametrize("min_increase", [1.0, 1e-2, 1e-4, 1e-7])
def test_no_single_gamma_can_raise_it(name, min_increase):
    for family in ("tall", "wide", "correlated wide", "complex correlated"):
        p = FAMILIES[family](5)
        solution = solve(name, p, min_increase=min_increase)
        increase = state_of(solution, p.A, p.y).possible_increase()
        assert 0 <= increase <= min_increase
        check = solution.check(p.A, p.y)
        assert check.ok
        assert check.possible_increase <= min_increase


@pytest.mark.parametrize("name", ["rmp", "fast_sbl"])
def test_finer_is_higher(name):
    p = FAMILIES["correlated wide"](6)
    evidences = [solve(name, p, min_increase=e).log_evidence for e in (1.0, 1e-2, 1e-4, 1e-8)]
    assert np.diff(evidences).min() >= 0
    assert evidences[-1] > evidences[0]


@pytest.mark.parametrize("price", [0.0, 0.5, 2.0, 20.0])
def test_price(name, price):
    """Each column in the model is worth more than its price, each outside is not."""
    p = FAMILIES["wide"](2)
    solution = solve(name, p, price=price, min_increase=1e-6)
    assert solution.check(p.A, p.y).ok
    for j in range(p.A.shape[1]):
        gamma = solution.gamma.copy()
        gamma[j] = 0.0
        without = dense(p.A, p.y, gamma, solution.sigma).log_evidence
        if j in solution.support:
            assert solution.log_evidence - without > price
    assert state_of(solution, p.A, p.y).possible_increase() <= 1e-6
    cheaper = solve(name, p, price=0.0, min_increase=1e-6)
    assert len(solution.support) <= len(cheaper.support)


def tampered(solution, p, **changes):
    return dataclasses.replace(solution, **changes).check(p.A, p.y)


@pytest.mark.parametrize("p", [TALL, FAMILIES["complex wide"](0)], ids=["real", "complex"])
def test_check_finds_tampering(name, p):
    # The complex problem has noise enough to be fitted by other models, too.
    solution = solve(name, p)
    assert tampered(solution, p).ok
    gamma, covariance, coef = solution.gamma, solution.covariance, solution.coef
    first = solution.support[0]
    other = next(j for j in range(len(coef)) if j not in solution.support)

    def changed(array, where, factor):
        array = array.copy()
        array[where] *= factor
        return array

    assert not tampered(solution, p, gamma=changed(gamma, first, 1.01)).ok
    assert not tampered(solution, p, sigma=1.001 * solution.sigma).ok
    check = tampered(solution, p, log_evidence=solution.log_evidence + 1e-4)
    assert not check.ok
    assert check.log_evidence_error == pytest.approx(1e-4, rel=1e-3)
    check = tampered(solution, p, covariance=changed(covariance, (0, 0), 1.001))
    assert not check.ok
    assert check.posterior_error == pytest.approx(1e-3, rel=1e-2)
    assert not tampered(solution, p, covariance=covariance[1:, 1:]).ok
    assert not tampered(solution, p, coef=changed(coef, first, 1.001)).ok
    assert not tampered(solution, p, support=solution.support[1:]).ok
    assert not tampered(solution, p, support=np.sort([*solution.support, other])).ok
    outside = gamma.copy()
    outside[other] = gamma[first]
    assert not tampered(solution, p, gamma=outside).ok
    assert not tampered(solution, p, gamma=np.zeros_like(gamma)).ok
    nothing = np.full_like(gamma, np.nan)
    assert not tampered(solution, p, gamma=nothing).ok
    assert not tampered(solution, p, log_evidence=np.nan).ok


def test_check_finds_what_is_no_optimum(name):
    """All consistent with its gamma, but another gamma would be better: only that is wrong."""
    p = FAMILIES["wide"](3)
    solution = solve(name, p, min_increase=50.0 if name != "sbl" else 1e-2)
    if name == "sbl":
        dropped = solve(name, p, exclude=[int(solution.support[0])])
        check = tampered(dropped, p, excluded=np.array([], dtype=np.int64))
    else:
        check = tampered(solution, p, min_increase=1e-6)
    assert not check.ok
    assert check.possible_increase > 1e-2
    assert check.log_evidence_error < 1e-8
    assert check.posterior_error < 1e-8
    assert check.residual_error < 1e-10


# --- the noiseless limit -------------------------------------------------------------------------


def first_stage(path):
    """The additions before anything else."""
    columns = []
    for step in path:
        if step.action != "add":
            break
        columns.append(step.column)
    return columns


@pytest.mark.parametrize("sigma", [1e-7, 1e-8])
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("make", [gaussian, correlated])
def test_without_noise_it_takes_the_steps_of_rmp0(make, kind, sigma):
    """The theorem of section 3.3: additions of RMP_σ are those of RMP₀ as σ → 0."""
    for seed in range(4):
        p = make(seed, 20, 40, 4, kind=kind)
        delta = sigma * np.linalg.norm(p.y)
        bayes = first_stage(sparsewise.rmp(p.A, p.y, sigma=delta).path)
        stepwise = first_stage(sparsewise.rmp0(p.A, p.y, delta=delta).path)
        # The target has noise: only as many columns as rows fit it, and the last of these may be
        # any, since each spans the one direction that is left.
        assert min(len(bayes), len(stepwise)) >= 19
        assert bayes[:19] == stepwise[:19]


@pytest.mark.parametrize("kind", [float, complex])
def test_without_noise_it_ends_where_rmp0_does(kind):
    for seed in range(6):
        rng = np.random.default_rng([seed, 77])
        A = unit_columns(normal(rng, 40, 80, kind=kind))
        truth = np.sort(rng.choice(80, 8, replace=False))
        y = A[:, truth] @ rng.choice([-1.0, 1.0], 8)
        bayes = sparsewise.rmp(A, y, sigma=1e-7)
        stepwise = sparsewise.rmp0(A, y, delta=1e-7)
        assert list(bayes.support) == list(stepwise.support) == list(truth)
        np.testing.assert_allclose(bayes.coef, stepwise.coef, atol=1e-6)


# --- the noise is inferred -----------------------------------------------------------------------


def simulated(seed, n, m, k, kind=float, sigma=0.1):
    """±1 weights on unit columns and white noise of standard deviation sigma/√n per row."""
    rng = np.random.default_rng([seed, n, m, k])
    A = unit_columns(normal(rng, n, m, kind=kind))
    truth = np.sort(rng.choice(m, k, replace=False))
    level = sigma / n**0.5
    noise = normal(rng, n, kind=kind) * (level / (2**0.5 if kind is complex else 1.0))
    y = A[:, truth] @ rng.choice([-1.0, 1.0], k) + noise
    return A, y, truth, level


SHAPES = [
    (100, 20, 5, float),
    (64, 128, 8, float),
    (64, 128, 16, float),
    (64, 128, 8, complex),
    (64, 128, 16, complex),
    (40, 200, 5, float),
]


@pytest.mark.parametrize(("n", "m", "k", "kind"), SHAPES)
def test_inferred_noise_is_that_of_the_data(n, m, k, kind):
    """Median of σ̂/σ within 10 % for n >= 4k."""
    ratios = []
    for seed in range(40):
        A, y, _, sigma = simulated(seed, n, m, k, kind)
        ratios.append(sparsewise.rmp(A, y).sigma / sigma)
    assert abs(np.median(ratios) - 1) < 0.1
    assert min(ratios) > 0.3  # none has collapsed


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize(("n", "m"), [(30, 30), (20, 60), (40, 80), (10, 200)])
def test_pure_noise_does_not_vanish(name, n, m, kind):
    """Nothing but noise, as many columns as rows or more: σ stays, and so does the residual."""
    for seed in range(3):
        rng = np.random.default_rng([seed, n, m])
        A, y = normal(rng, n, m, kind=kind), normal(rng, n, kind=kind)
        sigma = 2**0.5 if kind is complex else 1.0
        solution = ALGORITHMS[name](A, y)
        assert 0.5 < solution.sigma / sigma < 1.5
        assert solution.residual_norm > 0.3 * np.linalg.norm(y)
        assert solution.check(A, y).ok
        # One of m columns fits the noise best; that it is one of m is what the price is for.
        assert len(ALGORITHMS[name](A, y, price=np.log(m)).support) <= 2


def test_all_find_the_same_noise():
    A, y, truth, _ = simulated(3, 64, 128, 8)
    found = [ALGORITHMS[name](A, y) for name in BAYES]
    for solution in found:
        assert solution.sigma == pytest.approx(found[0].sigma, rel=1e-9)
        assert set(truth) <= set(solution.support)
        holds(solution, A, y)
        assert solution.check(A, y).ok


def test_then_it_is_a_run_with_that_noise(name):
    """path and callback tell of the run at the σ that was found, and only of that."""
    A, y, _, _ = simulated(4, 64, 128, 8)
    seen = []
    solution = ALGORITHMS[name](A, y, callback=seen.append)
    again = ALGORITHMS[name](A, y, sigma=solution.sigma)
    assert list(solution.support) == list(again.support)
    np.testing.assert_allclose(solution.coef, again.coef, rtol=0, atol=1e-9)
    steps = [step[:2] for step in again.path]
    assert [step[:2] for step in seen] == steps
    assert [step[:2] for step in solution.path] == steps


@pytest.mark.parametrize("kind", [float, complex])
def test_units_do_not_matter(name, kind):
    """y times c: σ and coef times c. Columns times d: only their coefficients and gammas care."""
    A, y, _, _ = simulated(5, 40, 60, 5, kind)
    plain = ALGORITHMS[name](A, y)
    d = 10.0 ** np.random.default_rng(1).uniform(-3, 3, 60)
    c = 1e4
    scaled = ALGORITHMS[name](A * d, c * y)
    assert list(scaled.support) == list(plain.support)
    assert scaled.sigma == pytest.approx(c * plain.sigma, rel=1e-6)
    on = plain.support
    np.testing.assert_allclose(scaled.coef[on], plain.coef[on] * c / d[on], rtol=1e-6)
    np.testing.assert_allclose(scaled.gamma[on], plain.gamma[on] * (c / d[on]) ** 2, rtol=1e-6)
    np.testing.assert_allclose(scaled.std[on], plain.std[on] * c / d[on], rtol=1e-6)
    half = 1.0 if kind is complex else 0.5
    expected = plain.log_evidence - 2 * half * 40 * np.log(c)
    assert scaled.log_evidence == pytest.approx(expected, rel=1e-6)


@given(
    seed=st.integers(0, 10**6), power=st.floats(-100, 100), kind=st.sampled_from([float, complex])
)
@settings(max_examples=15)
def test_any_unit_of_the_target(seed, power, kind):
    A, y, _, _ = simulated(seed, 20, 30, 3, kind)
    plain, scaled = sparsewise.rmp(A, y), sparsewise.rmp(A, y * 10.0**power)
    assert list(scaled.support) == list(plain.support)
    assert scaled.sigma / 10.0**power == pytest.approx(plain.sigma, rel=1e-6)


@pytest.mark.parametrize("kind", [float, complex])
def test_a_strong_prior_sets_the_noise(name, kind):
    """Shape → ∞ with scale/shape = s²: σ = s, in the units of y."""
    A, y, _, sigma = simulated(6, 50, 60, 5, kind)
    for s in (0.3 * sigma, 3 * sigma):
        solution = ALGORITHMS[name](A, y, noise_prior=(1e9, 1e9 * s**2))
        assert solution.sigma == pytest.approx(s, rel=1e-3)
        in_other_units = ALGORITHMS[name](A, 1e3 * y, noise_prior=(1e9, 1e9 * (1e3 * s) ** 2))
        assert in_other_units.sigma == pytest.approx(1e3 * s, rel=1e-3)


@pytest.mark.parametrize("prior", [None, (20.0, 1.0), (5.0, 0.001)])
def test_inferred_noise_is_stationary(prior):
    """σ² = (y*R y + 2 scale)/(ν + 2 shape) with R = σ²C⁻¹, at the price it was inferred with."""
    A, y, truth, _ = simulated(7, 60, 80, 6, sigma=0.4)
    solution = sparsewise.rmp(A, y, noise_prior=prior, price=np.log(80), min_increase=1e-6)
    assert list(solution.support) == list(truth)
    posterior = dense(A, y, solution.gamma, solution.sigma)
    shape, scale = prior or (0.0, 0.0)
    squares = solution.sigma**2 * posterior.quadratic
    expected = (squares + 2 * scale) / (60 + 2 * shape)
    assert solution.sigma**2 == pytest.approx(expected, rel=1e-3)


def test_a_prior_pulls(name):
    A, y, _, _ = simulated(8, 50, 60, 5)
    free = ALGORITHMS[name](A, y).sigma
    up = ALGORITHMS[name](A, y, noise_prior=(20, 20 * (2 * free) ** 2)).sigma
    down = ALGORITHMS[name](A, y, noise_prior=(20, 20 * (free / 2) ** 2)).sigma
    assert free / 2 < down < free < up < 2 * free
    given_one = ALGORITHMS[name](A, y, sigma=0.1, noise_prior=(20, 1.0))
    assert given_one.sigma == pytest.approx(0.1, rel=1e-14)  # it has nothing to say then


def test_exact_data(name):
    """No noise at all, and σ to be inferred: the true columns, and a finite answer."""
    rng = np.random.default_rng(11)
    A = unit_columns(normal(rng, 40, 60))
    y = A[:, [3, 30]] @ [2.0, -1.0]
    solution = ALGORITHMS[name](A, y)
    assert list(solution.support) == [3, 30]
    np.testing.assert_allclose(solution.coef[[3, 30]], [2.0, -1.0], rtol=1e-5)
    assert 0 < solution.sigma < 1e-4
    assert np.isfinite(solution.log_evidence)
    assert solution.check(A, y).ok


# --- the target zero -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("include", [[], [2, 5]])
def test_zero_target(name, kind, include):
    p = gaussian(0, 12, 20, 3, kind=kind)
    y = 0 * p.y
    inferred = ALGORITHMS[name](p.A, y, include=include)
    assert inferred.stop is Stop.ZERO_TARGET
    assert inferred.sigma == 0.0
    assert inferred.log_evidence == np.inf
    given_one = ALGORITHMS[name](p.A, y, sigma=0.5, include=include)
    assert given_one.stop is Stop.ZERO_TARGET
    assert given_one.sigma == 0.5
    exact = dense(p.A, y, np.where(np.isin(np.arange(20), include), np.inf, 0.0), 0.5)
    assert given_one.log_evidence == pytest.approx(exact.log_evidence, rel=1e-12)
    for solution in (inferred, given_one):
        assert len(solution.path) == 0
        assert not solution.coef.any()
        assert set(solution.support) <= set(include)
        assert np.isfinite(solution.covariance).all()
        assert not np.delete(solution.gamma, solution.support).any()
        assert solution.check(p.A, y).ok
        assert repr(solution)


# --- flat priors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [None, 0.3])
@pytest.mark.parametrize("kind", [float, complex])
def test_including_a_constant_is_centring(name, kind, sigma):
    """Coefficients, gammas and evidence are those of centred columns and a centred target."""
    rng = np.random.default_rng(13)
    n, m = 40, 30
    A = normal(rng, n, m, kind=kind) + 3.0
    y = A[:, 4] - 2 * A[:, 9] + 10.0 + 0.3 * normal(rng, n, kind=kind)
    with_constant = np.column_stack([A, np.ones(n)])
    both = ALGORITHMS[name](with_constant, y, include=[m], sigma=sigma)
    sigma = both.sigma
    centred_A, centred_y = A - A.mean(axis=0), y - y.mean()
    centred = ALGORITHMS[name](centred_A, centred_y, sigma=sigma)
    assert np.isinf(both.gamma[m])
    assert list(both.support) == [*centred.support, m]
    size = np.abs(centred.coef).max()
    # All gammas of sbl start at one for columns of unit norm, centred or not: two ways to one end.
    near = 1e-3 if name == "sbl" else 1e-8
    np.testing.assert_allclose(both.coef[:m], centred.coef, rtol=0, atol=near * size)
    np.testing.assert_allclose(both.gamma[:m], centred.gamma, rtol=100 * near)
    np.testing.assert_allclose(both.std[:m], centred.std, rtol=10 * near)
    # The centred data have one dimension more, along the constant, where there is only noise.
    half, circle = (1.0, np.pi) if kind is complex else (0.5, 2 * np.pi)
    expected = centred.log_evidence + half * np.log(circle * sigma**2)
    assert both.log_evidence == pytest.approx(expected, abs=10 * near)
    # The intercept is the mean of what the others leave.
    assert both.coef[m] == pytest.approx((y - A @ both.coef[:m]).mean(), rel=1e-8)
    holds(both, with_constant, y, rtol=1e-7)


def test_inferred_noise_beside_a_constant(name):
    """An intercept of a thousand changes nothing about the noise."""
    A, y, _, _ = simulated(9, 60, 40, 4)
    constant = np.column_stack([A, np.ones(60)])
    near = ALGORITHMS[name](constant, y, include=[40])
    far = ALGORITHMS[name](constant, y + 1000.0, include=[40])
    assert far.sigma == pytest.approx(near.sigma, rel=1e-4)
    assert list(far.support) == list(near.support)
    assert far.check(constant, y + 1000.0).ok


# --- copies, zeros, dependence -------------------------------------------------------------------


@pytest.mark.parametrize("sigma", ["given", None])
@pytest.mark.parametrize("kind", [float, complex])
def test_copies_and_zeros(name, kind, sigma):
    """Copies of every column, some turned and stretched, and zeros: the model of the plain ones."""
    for seed in range(3):
        A, y, truth, level = simulated(seed, 30, 20, 3, kind)
        factor = -3.0 if kind is float else 2j
        doubled = np.column_stack([A, factor * A, np.zeros((30, 3)), A])
        noise = level if sigma else None
        solution = ALGORITHMS[name](doubled, y, sigma=noise)
        assert np.isfinite(solution.coef).all()
        assert np.isfinite(solution.gamma).all()
        assert np.isfinite(solution.covariance).all()
        assert not solution.gamma[40:43].any()
        check = solution.check(doubled, y)
        assert check.ok
        kinds = [int(j) % 20 if j < 40 else int(j) - 43 for j in solution.support]
        assert set(truth) <= set(kinds)
        assert len(set(kinds)) == len(kinds)
        # Copies lead to other steps, and min_increase lets these end a little apart.
        plain = ALGORITHMS[name](A, y, sigma=solution.sigma)
        assert solution.log_evidence == pytest.approx(plain.log_evidence, abs=0.2)
        fit = np.abs(doubled @ solution.coef - A @ plain.coef).max()
        assert fit < 0.05 * np.linalg.norm(y)


def test_no_call_after_the_last(name):
    """Who has said stop is not called again, though copies are still merged."""
    A, y, _, _ = simulated(1, 30, 20, 6)
    doubled = np.column_stack([A, -A, 2 * A])
    for most in (1, 4, 9, 16):
        seen = []

        def halt(step, seen=seen, most=most):
            seen.append(step)
            return len(seen) == most

        solution = ALGORITHMS[name](doubled, y, sigma=0.02, callback=halt)
        assert len(seen) <= most
        if len(seen) == most:
            assert solution.stop is Stop.CALLBACK
        holds(solution, doubled, y, rtol=1e-6)


@pytest.mark.parametrize("price", [0.0, 1.0])
def test_copies_are_merged(name, price):
    """One of each kind at most; the sizes of the path follow."""
    for seed in range(4):
        A, y, _, _ = simulated(seed, 30, 12, 6, sigma=1.0)
        doubled = np.column_stack([A, -A, 2 * A])
        solution = ALGORITHMS[name](doubled, y, sigma=0.1, price=price, min_increase=1e-4)
        kinds = solution.support % 12
        assert len(set(kinds)) == len(kinds)
        assert solution.check(doubled, y).ok
        assert solution.path[-1].size == len(solution.support) if len(solution.path) else True
        if name == "sbl" and price:  # copies share what the price is compared with: other paths
            continue
        plain = ALGORITHMS[name](A, y, sigma=0.1, price=price, min_increase=1e-4)
        assert solution.log_evidence == pytest.approx(plain.log_evidence, abs=0.02)


@pytest.mark.parametrize("sigma", [0.1, None])
def test_copies_of_included_columns(name, sigma):
    """A flat prior leaves nothing of a copy, nor of a combination: they never come in."""
    A, y, _, _ = simulated(2, 30, 20, 3)
    A = A.copy()
    A[:, 7] = 2 * A[:, 3]
    A[:, 8] = A[:, 3] + 2 * A[:, 5]
    solution = ALGORITHMS[name](A, y, sigma=sigma, include=[3, 5])
    assert not set(solution.support) & {7, 8}
    assert np.isfinite(solution.coef).all()
    check = solution.check(A, y)
    assert check.ok
    assert check.possible_increase <= solution.min_increase


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("apart", [0.0, 1e-16, 1e-14, 1e-11])
def test_it_ends_where_the_evidence_has_no_digits(name, kind, apart):
    """A target that nothing explains at σ = 1e-7: the evidence is -1e14, and its rounding 0.02.

    Near-copies offer rises of that size for ever; they are no rises.
    """
    for seed in range(6):
        rng = np.random.default_rng([seed, 9])
        A = np.repeat(normal(rng, 9, 6, kind=kind), 4, axis=1)
        A = A + apart * normal(rng, 9, 24, kind=kind)
        y = normal(rng, 9, kind=kind)
        # Where copies differ by more than rounding, but by less than the data can tell, their
        # coefficients are of size 1/apart, and nothing is certain to within a sigma of 1e-7.
        stops = (Stop.EVIDENCE, Stop.DEPENDENT) if apart > 1e-15 else (Stop.EVIDENCE,)
        check = ends(name, A, y, stops, sigma=1e-7, min_increase=1e-3).check(A, y)
        assert check.ok or apart > 1e-15
        assert np.isfinite(check.possible_increase)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("sigma", [1e-6, 1e-7, 1e-8])
@pytest.mark.parametrize("apart", [1e-9, 1e-11, 1e-13])
def test_no_step_falls_below_the_empty_model(name, kind, apart, sigma):
    """What is left of columns so close is rounding; a γ made of that would leave no number.

    A column re-estimated from a difference without digits, or to a γ that leaves its coefficient
    none, took the evidence down to -1e119, or to NaN.
    """
    not_held = 0
    for seed in (1, 5, 9, 11, 25, 29):
        rng = np.random.default_rng([seed, 9])
        n = (9, 9, 20)[seed % 3]
        A = np.repeat(normal(rng, n, 6, kind=kind), 4, axis=1)
        A = A + apart * normal(rng, n, 24, kind=kind)
        y = normal(rng, n, kind=kind)
        solution = ends(name, A, y, tuple(Stop), sigma=sigma, min_increase=1e-3)
        empty = solution.start_evidence(n) if name != "sbl" else -(np.linalg.norm(y / sigma) ** 2)
        assert all(step.log_evidence >= empty for step in solution.path)
        assert solution.log_evidence >= empty
        assert len(solution.path) < 500
        not_held += not solution.check(A, y).ok
    assert not_held <= 2 or sigma == 1e-8  # rounding in y is no less than that


@st.composite
def hard_cases(draw):
    """Copies, near-copies, coherent columns, small integers; any noise, price and precision."""
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from([float, complex]))
    n, m = draw(st.integers(2, 24)), draw(st.integers(1, 30))
    family = draw(st.sampled_from(["copies", "near copies", "coherent", "integers"]))
    A = normal(rng, n, m, kind=kind)
    if family == "copies":
        A = np.column_stack([A, -2 * A, A])[:, rng.permutation(3 * m)]
    elif family == "near copies":
        A = A[:, :1] + 10.0 ** rng.uniform(-8, -2) * A
    elif family == "coherent":
        A = (normal(rng, n, n, kind=kind) / np.arange(1, n + 1) ** 2) @ A
    else:
        A = np.round(A)
        A[0] += 1.0
    m = A.shape[1]
    y = normal(rng, n, kind=kind)
    if draw(st.booleans()):
        k = min(n, m, 4)
        x = normal(rng, k, kind=kind)
        y = A[:, rng.permutation(m)[:k]] @ x + 10.0 ** rng.uniform(-9, 0) * y
    exponent = draw(st.floats(-7, 2))
    if draw(st.integers(0, 3)) == 0:
        A = A.astype(np.complex64 if kind is complex else np.float32)
        exponent = max(exponent, -3.5)
    call = {
        "sigma": draw(st.sampled_from([None, 10.0**exponent * float(np.linalg.norm(y))])),
        "min_increase": 10.0 ** draw(st.floats(-5, 0)),
        "price": draw(st.sampled_from([0.0, 0.3, 3.0])),
    }
    return A, y, call


@pytest.mark.parametrize("name", BAYES)
@given(case=hard_cases())
def test_hard_cases_end_at_an_optimum(name, case):
    A, y, call = case
    if name == "sbl":
        call = call | {"updates": "mackay"}
    solution = ends(name, A, y, **call)
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(solution.covariance).all()
    assert np.isfinite(solution.log_evidence)
    assert solution.check(A, y).ok


# --- sbl -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("updates", UPDATES)
@pytest.mark.parametrize("p", KNOWN, ids=lambda p: p.name)
def test_updates_find_the_known_answer(updates, p):
    solution = sparsewise.sbl(p.A, p.y, sigma=p.delta, updates=updates)
    assert list(solution.support) == p.truth
    holds(solution, p.A, p.y)


@pytest.mark.parametrize("updates", UPDATES)
@pytest.mark.parametrize("family", ["tall", "square", "complex tall", "correlated tall"])
def test_as_high_as_a_long_run_of_em(updates, family):
    """Few columns: one maximum, and the evidence is that of a thousand naive EM updates."""
    p = FAMILIES[family](0)
    u = Unit(p.A, p.y)
    gamma = np.ones(p.A.shape[1])
    for _ in range(1000):
        gamma = UPDATES["em"](u.U, u.y, gamma, p.delta / u.scale)
    long_run = dense(p.A, p.y, gamma * (u.scale / u.norms) ** 2, p.delta).log_evidence
    solution = sparsewise.sbl(p.A, p.y, sigma=p.delta, updates=updates, min_increase=1e-5)
    assert solution.log_evidence > long_run - 1e-3
    assert state_of(solution, p.A, p.y).possible_increase() <= 1e-5


@pytest.mark.parametrize("shape", [(8, 20), (20, 8)])
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("sigma", [1e-6, 1e-2, 1.0])
def test_one_update_of_all_gammas(shape, kind, sigma):
    """The smaller of the n×n and m×m forms gives the plain formula's gammas."""
    module = import_module("sparsewise.engine.bayes.joint_updates")
    rng = np.random.default_rng(3)
    U = unit_columns(normal(rng, *shape, kind=kind))
    y = normal(rng, shape[0], kind=kind)
    y /= np.linalg.norm(y)
    gamma = 10.0 ** rng.uniform(-3, 1, shape[1])
    squared, share, worth = module.posterior(U, y[:, None], gamma, sigma**2)
    exact = precise(U, y, gamma, sigma)
    np.testing.assert_allclose(share, gamma * exact.S, rtol=1e-9)
    size = np.abs(exact.mean) ** 2
    np.testing.assert_allclose(squared, size, rtol=1e-8, atol=1e-10 * size.max())
    circle = np.log(np.pi if kind is complex else 2 * np.pi)
    half = 1.0 if kind is complex else 0.5
    expected = exact.log_evidence + half * shape[0] * circle
    assert worth == pytest.approx(expected, rel=1e-9)
    assert set(module.UPDATES) == set(UPDATES)
    if sigma > 1e-3:  # below, the plain formulas have lost their digits
        for updates, rule in module.UPDATES.items():
            plain = UPDATES[updates](U, y, gamma, sigma)
            found = rule(gamma, squared, share)
            np.testing.assert_allclose(found, plain, rtol=1e-6, atol=1e-9 * plain.max())


def test_limited_updates():
    """max_iter limits the updates of all gammas; the polish ends at an optimum all the same."""
    p = FAMILIES["wide"](1)
    few = sparsewise.sbl(p.A, p.y, sigma=p.delta, max_iter=1)
    many = sparsewise.sbl(p.A, p.y, sigma=p.delta)
    assert len(few.path.start) > len(many.support)
    for solution in (few, many):
        assert solution.stop is Stop.EVIDENCE
        assert solution.check(p.A, p.y).ok


def test_all_at_once_recovers_more_than_one_at_a_time():
    """64×128 with 20 columns of ±1: where the stepwise algorithms find a third of the supports."""
    found = {"rmp": 0, "sbl": 0}
    for seed in range(12):
        rng = np.random.default_rng([seed, 2021])
        A = unit_columns(rng.standard_normal((64, 128)))
        truth = np.sort(rng.choice(128, 20, replace=False))
        e = rng.standard_normal(64)
        y = A[:, truth] @ rng.choice([-1.0, 1.0], 20) + 5e-3 * e / np.linalg.norm(e)
        found["rmp"] += np.array_equal(sparsewise.rmp(A, y, sigma=1e-2).support, truth)
        solution = sparsewise.sbl(A, y, sigma=1e-2, updates="mackay")
        found["sbl"] += np.array_equal(solution.support, truth)
    assert found["rmp"] <= 8
    assert found["sbl"] >= 10


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rmp", "fast_sbl"])
def test_limits_on_steps(name):
    p = FAMILIES["wide"](0)
    whole = solve(name, p)
    assert whole.stop is Stop.EVIDENCE
    for most in (1, 2, 4):
        solution = solve(name, p, max_iter=most)
        assert solution.stop is Stop.MAX_ITER
        assert [s[:2] for s in solution.path] == [s[:2] for s in whole.path][:most]
        holds(solution, p.A, p.y)
        assert solution.check(p.A, p.y).ok


def test_limit_on_rounds():
    p = FAMILIES["correlated wide"](3)
    once = solve("rmp", p, max_outer=1, min_increase=1e-4)
    assert once.stop is Stop.MAX_OUTER
    whole = list(solve("rmp", p, min_increase=1e-4).path)
    assert [s[:2] for s in once.path] == [s[:2] for s in whole[: len(once.path)]]
    # One round: once it has dropped or updated, it adds no more.
    actions = [step.action for step in once.path]
    assert "add" not in actions[len(first_stage(once.path)) :]


def test_a_noise_out_of_all_proportion(name):
    """The square of such a ratio would leave the range of numbers: one sentence, no warning."""
    p = FAMILIES["tall"](0)
    for sigma in (1e-250, 1e250):
        with pytest.raises(ValueError, match=r"^sigma [^\n]*\.$"):
            ALGORITHMS[name](p.A, p.y, sigma=sigma)


def test_more_noise_than_target(name, capfd):
    """σ far above ‖y‖: nothing is worth a column, and nothing is said about it."""
    p = FAMILIES["tall"](0)
    solution = solve(name, p, sigma=1e3 * float(np.linalg.norm(p.y)))
    assert solution.support.size == 0
    assert solution.covariance.shape == (0, 0)
    assert capfd.readouterr().out == ""  # as LAPACK does about matrices of no size
    holds(solution, p.A, p.y)
    assert solution.check(p.A, p.y).ok


@pytest.mark.parametrize("rows", [([1, 0, 0], [1, 1, 1]), ([1, 0, 0, 1], [1, 1, 1, 1])])
def test_a_variance_that_is_but_rounding_is_none(name, rows):
    """Column 0 is worth exactly nothing at the σ of an empty model: u = 1 but for rounding."""
    A, y = np.array(rows, float), np.array([1.0, 0.0])
    solution = ALGORITHMS[name](A, y)
    assert solution.check(A, y)
    assert solution.support.size == 0
