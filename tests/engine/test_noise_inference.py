"""σ, model and evidence belong together: none is worth less than the best that was met."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import sparsewise
from sparsewise import ALGORITHMS, SparseBayesRegressor, Stop, plan
from sparsewise.engine.bayes import noise_inference as module
from sparsewise.engine.search.multistart import Multistart
from sparsewise.errors import InputError
from sparsewise.results import InferredNoise
from tests.kernels.tracing import INTERPRETED
from tests.problems import BAYES, normal, unit_columns

pytestmark = pytest.mark.skipif(
    INTERPRETED, reason="hundreds of fits, whose kernels test_evidence.py runs as plain Python"
)


@pytest.fixture(params=BAYES)
def name(request):
    return request.param


def drawn(seed, k, correlated=False, noise=5e-3):
    """64×128, unit columns, ±1 weights, noise of this norm: as in the paper."""
    rng = np.random.default_rng([seed, k])
    A = rng.standard_normal((64, 128))
    if correlated:
        A = (rng.standard_normal((64, 64)) / np.arange(1, 65) ** 2) @ rng.standard_normal((64, 128))
    A = unit_columns(A)
    truth = np.sort(rng.choice(128, k, replace=False))
    e = rng.standard_normal(64)
    return A, A[:, truth] @ rng.choice([-1.0, 1.0], k) + noise * e / np.linalg.norm(e), truth


def sinc(seed):
    """Where, the curve, and the curve with noise of 0.1."""
    x = np.linspace(0, 1, 100)
    curve = np.sinc((x - 0.5) * 20 / np.pi)
    return x, curve, curve + 0.1 * np.random.default_rng(seed).standard_normal(100)


def bumps(x):
    return np.exp(-(np.subtract.outer(x, x) ** 2) / (2 * 0.3**2))


def splines(x):
    least, inner, total = np.minimum.outer(x, x), np.outer(x, x), np.add.outer(x, x)
    return 1 + inner + inner * least - total / 2 * least**2 + least**3 / 3


def empty_evidence(y):
    """The log evidence of nothing but noise, at its best σ."""
    n, beta = len(y), 1.0 if y.dtype.kind == "c" else 0.5
    circle = np.pi if y.dtype.kind == "c" else 2 * np.pi
    return -beta * n * (np.log(circle * np.vdot(y, y).real / n) + 1)


def unexplained(solution, A, y):
    """σ² y*C⁻¹y: the least ‖y - A x‖² + Σ σ²|x_j|²/γ_j, by QR, which bears any γ."""
    S = solution.support
    D = np.diag(solution.sigma / np.sqrt(solution.gamma[S]))
    Q = np.linalg.qr(np.vstack([A[:, S], D]))[0]
    target = np.append(y, np.zeros(S.size))
    return np.linalg.norm(target - Q @ (Q.conj().T @ target)) ** 2


def belong_together(solution, A, y, price):
    """Worth at least as much as nothing, and σ the best for the model, from the data alone."""
    worth = solution.log_evidence - price * solution.support.size
    assert worth >= empty_evidence(y) - 1e-6
    check = solution.check(A, y)
    assert check.ok, check
    left = unexplained(solution, A, y) / len(y)
    assert left <= solution.sigma**2 * (1 + 1e-3)
    if price >= np.log(A.shape[1]):
        assert left == pytest.approx(solution.sigma**2, rel=1e-3)


# --- smooth dictionaries --------------------------------------------------------------------------


@pytest.mark.parametrize("dictionary", [bumps, splines])
def test_a_curve_in_smooth_columns(dictionary):
    """One column at σ = .103 with a residual of .318 was an answer once: worse than none."""
    errors = []
    for seed in range(4):
        x, curve, y = sinc(seed)
        model = SparseBayesRegressor().fit(dictionary(x), y)
        fitted = model.predict(dictionary(x))
        errors.append(np.sqrt(np.mean((fitted - curve) ** 2)))
        freedom = 100 - model.solution_.support.size - 1
        rms = np.sqrt(np.mean((fitted - y) ** 2))
        assert rms == pytest.approx(model.sigma_ * np.sqrt(freedom / 100), rel=0.08)
        assert model.sigma_ == pytest.approx(0.1, rel=0.25)
    assert np.mean(errors) < 0.045
    assert max(errors) < 0.07


@pytest.mark.parametrize("dictionary", [bumps, splines])
@pytest.mark.parametrize("price", [0.0, np.log(100)])
def test_of_smooth_columns_all_belongs_together(name, dictionary, price):
    x, _, y = sinc(1)
    A = dictionary(x)
    belong_together(ALGORITHMS[name](A, y, price=price), A, y, price)


# --- many features --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "more"), [("rmp", {}), ("fast_sbl", {}), ("sbl", {"updates": "mackay"})]
)
def test_twenty_features_are_not_taken_for_noise(name, more):
    """A third were found by a greedy search for σ."""
    found = 0
    for seed in range(10):
        A, y, truth = drawn(seed, 20)
        solution = ALGORITHMS[name](A, y, price=np.log(128), **more)
        found += list(solution.support) == list(truth)
        belong_together(solution, A, y, np.log(128))
    assert found >= 9


def test_path_and_callback_tell_the_same(name):
    """Where a way from the empty model leads nowhere, one over the columns found is told."""
    guided = 0
    for seed in range(4):
        A, y, truth = drawn(seed, 20)
        seen = []
        told = ALGORITHMS[name](A, y, price=np.log(128), callback=seen.append)
        silent = ALGORITHMS[name](A, y, price=np.log(128))
        assert list(told.support) == list(silent.support) == list(truth)
        assert [step[:2] for step in seen] == [step[:2] for step in told.path]
        assert [step[:2] for step in told.path] == [step[:2] for step in silent.path]
        np.testing.assert_allclose(told.coef, silent.coef, rtol=1e-9)
        again = ALGORITHMS[name](A, y, price=np.log(128), sigma=told.sigma)
        guided += again.log_evidence < told.log_evidence - 1
    assert guided or name == "sbl"  # which finds most of them itself, once it is told σ


def test_it_can_be_halted():
    A, y, _ = drawn(1, 20)
    steps = []
    solution = sparsewise.rmp(A, y, price=5.0, callback=lambda one: steps.append(one) or True)
    assert solution.stop is Stop.CALLBACK
    assert len(steps) == len(solution.path) == 1


# --- any data -------------------------------------------------------------------------------------


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from([float, complex]))
    n, m = draw(st.integers(3, 30)), draw(st.integers(1, 40))
    A = normal(rng, n, m, kind=kind)
    family = draw(st.sampled_from(["plain", "coherent", "smooth", "copies"]))
    if family == "coherent":
        A = (normal(rng, n, n, kind=kind) / np.arange(1, n + 1) ** 2) @ A
    elif family == "smooth":
        A = (
            np.exp(-(np.subtract.outer(np.linspace(0, 1, n), np.linspace(0, 1, m)) ** 2) / 0.02)
            + 0j
        )
        A = A if kind is complex else A.real
    elif family == "copies":
        A = np.column_stack([A, -2 * A])
    y = normal(rng, n, kind=kind)
    if draw(st.booleans()):
        y = A @ (normal(rng, A.shape[1]) * (rng.random(A.shape[1]) < 0.2)) + 0.1 * y
    return A, y, draw(st.sampled_from([0.0, 1.0, np.log(max(A.shape[1], 2))]))


@given(problem=problems(), name=st.sampled_from(BAYES))
@settings(max_examples=40)
def test_whatever_the_data_it_belongs_together(problem, name):
    A, y, price = problem
    if len(y) > 3:
        belong_together(ALGORITHMS[name](A, y, price=price), A, y, price)


# --- what σ is to be ------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.5])  # real, complex, and seven real targets
@pytest.mark.parametrize("rule", [InferredNoise(1e-9), InferredNoise(1e-9, 3.0, 0.2)])
def test_best_noise_and_rise(rule, beta):
    def value(noise, squares, rows):
        return -beta * (rows * np.log(noise) + squares / noise) + rule.log_prior(noise)

    for squares, rows in [(1.0, 10.0), (0.03, 50.0), (2.0, 3.5)]:
        best = rule.best(squares, rows, beta)
        found = minimize_scalar(
            lambda x, q=squares, n=rows: -value(np.exp(x), q, n),
            bracket=np.log([best / 9, best * 7]),
        )
        assert np.exp(found.x) == pytest.approx(best, rel=1e-5)
        for noise in (best / 3, best, 2 * best):
            rise = value(best, squares, rows) - value(noise, squares, rows)
            args = noise, squares, rows, beta
            assert rule.rise(*args) == pytest.approx(rise, abs=1e-9)
            held = rule._replace(may_fall=False).rise(*args)
            assert held == pytest.approx(rise if noise < best else 0.0, abs=1e-9)
    loud = rule._replace(least=4.0)
    assert loud.best(1.0, 10.0, beta) == 4.0
    assert loud.rise(4.0, 1.0, 10.0, beta) == 0.0


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_check_notices_another_sigma(name, factor):
    """That of an answer which says that its σ was inferred, and is not the best for its model."""
    A, y, _ = drawn(3, 8, noise=0.3)
    right = ALGORITHMS[name](A, y, price=np.log(128))
    assert right.check(A, y).increase_by_noise < 1e-4
    other = ALGORITHMS[name](A, y, price=np.log(128), sigma=factor * right.sigma)
    assert other.check(A, y).ok
    assert other.check(A, y).increase_by_noise == 0.0
    wrong = dataclasses.replace(other, inferred=right.inferred)
    check = wrong.check(A, y)
    assert not check.ok
    assert check.increase_by_noise > 1
    assert "another sigma by" in repr(check)
    # A lower σ is not looked for where features pay less than log m.
    cheap = dataclasses.replace(other, inferred=right.inferred._replace(may_fall=False))
    assert cheap.check(A, y).ok is (factor > 1)


# --- a floor --------------------------------------------------------------------------------------


def test_sigma_is_no_less_than_its_floor(name):
    A, y, truth = drawn(4, 6, noise=1e-3)
    size = np.linalg.norm(y) / 8
    free = ALGORITHMS[name](A, y, price=5.0)
    assert free.sigma < 1e-3 * size
    floored = ALGORITHMS[name](A, y, price=5.0, noise_floor=0.02)
    assert floored.sigma == pytest.approx(0.02 * size, rel=1e-9)
    assert list(floored.support) == list(truth)
    assert floored.check(A, y).ok
    scaled = ALGORITHMS[name](A, 1e3 * y, price=5.0, noise_floor=0.02)
    assert scaled.sigma == pytest.approx(1e3 * floored.sigma, rel=1e-9)
    low = ALGORITHMS[name](A, y, price=5.0, noise_floor=1e-6)
    assert low.sigma == pytest.approx(free.sigma, rel=1e-6)
    given_one = ALGORITHMS[name](A, y, sigma=1e-5, noise_floor=0.02)
    assert given_one.sigma == pytest.approx(1e-5, rel=1e-12)


@pytest.mark.parametrize("floor", [-0.1, 1.0, 3, np.nan, np.inf, "much"])
def test_a_floor_is_a_part(floor):
    with pytest.raises((InputError, TypeError), match="noise_floor"):
        sparsewise.rmp(np.eye(4), np.arange(4.0), noise_floor=floor)


# --- large designs --------------------------------------------------------------------------------


def test_large_designs_are_looked_at_by_passes_first(monkeypatch):
    """Where the way forward is plain no column is updated jointly, and σ is the same."""
    A, y, truth = drawn(5, 5)
    plain = sparsewise.rmp(A, y, price=5.0)
    with monkeypatch.context() as large:
        large.setattr(plan, "JOINTLY", 0)
        large.setattr(Multistart, "run", lambda *_: pytest.fail("it was plain"))
        ahead = sparsewise.rmp(A, y, price=5.0)
    assert list(plain.support) == list(ahead.support) == list(truth)
    assert ahead.sigma == pytest.approx(plain.sigma, rel=1e-4)


def test_where_it_is_not_plain_there_is_a_search(monkeypatch):
    monkeypatch.setattr(plan, "JOINTLY", 0)
    for seed in range(3):
        A, y, truth = drawn(seed, 20)
        assert list(sparsewise.rmp(A, y, price=np.log(128)).support) == list(truth)


# --- how far --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [8, 38, 47])
def test_it_ends_at_a_maximum(seed):
    """At a min_increase of 1e-2, the evidence is lower by 10 to 27, and the support another."""
    A, y, truth = drawn(seed, 5, correlated=True)
    here = sparsewise.fast_sbl(A, y, sigma=5e-3)
    assert list(here.support) == list(truth)
    far = sparsewise.fast_sbl(A, y, sigma=5e-3, min_increase=1e-9)
    assert here.log_evidence == pytest.approx(far.log_evidence, abs=1e-3)
    assert (
        sparsewise.fast_sbl(A, y, sigma=5e-3, min_increase=1e-2).log_evidence < far.log_evidence - 5
    )


# --- Ctrl-C ---------------------------------------------------------------------------------------


def test_interrupted_it_is_the_best_model_so_far(monkeypatch):
    """Whoever interrupts the inference has the best model met, not an empty one."""
    from sparsewise.engine import halting, log

    A, y, truth = drawn(2, 20)
    settle, asked = module.NoiseInference._settle, []

    def settle_once(self, evidence):
        settle(self, evidence)
        asked.append(True)
        raise halting.Halted

    monkeypatch.setattr(module.NoiseInference, "_settle", settle_once)
    monkeypatch.setattr(log, "interrupted", lambda: bool(asked))
    solution = sparsewise.rmp(A, y, price=np.log(128))
    assert solution.stop is Stop.INTERRUPTED
    assert list(solution.support) == list(truth)
    assert solution.check(A, y).ok
