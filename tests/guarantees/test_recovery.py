"""The theorems on recovery, put to the test right below their bounds, and the figures behind them.

Each random problem lies just inside a bound: noise of 0.999 of what is allowed, in random
directions and in directions that an adversary looks for.
"""

import math
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
import scipy.linalg

import sparsewise
from sparsewise import (
    babel,
    backward_noise_bound,
    forward_noise_bound,
    forward_recovery_probability,
    recovery_probability,
)
from tests.problems import normal
from tests.references import guarantees as reference
from tests.test_bad_input import refused

GREEDY = {"omp": sparsewise.omp, "forward": sparsewise.forward}
SEEDS = range(6)
KINDS = pytest.mark.parametrize("kind", [float, complex])


def phases(rng: np.random.Generator, count: int, kind: type) -> np.ndarray:
    """Random signs, or numbers of modulus one."""
    z = normal(rng, count, kind=kind)
    return z / np.abs(z)


# --- dictionaries of low coherence ----------------------------------------------------------------


def orthonormal(rng, kind):
    n = int(rng.integers(4, 16))
    return np.linalg.qr(normal(rng, n, n, kind=kind))[0]


def perturbed(rng, kind):
    Q = orthonormal(rng, kind)
    return Q + 10 ** rng.uniform(-3, -0.9) * normal(rng, *Q.shape, kind=kind)


def two_bases(rng, kind):
    n = int(rng.choice([16, 32, 64]))
    other = scipy.linalg.hadamard(n) if kind is float else scipy.linalg.dft(n)
    return np.hstack([np.eye(n), other])[:, rng.permutation(2 * n)[: n + 5]]


def gaussian(rng, kind):
    return normal(rng, int(rng.integers(200, 500)), int(rng.integers(6, 12)), kind=kind)


def of_equal_angles(rng, kind):
    """The least columns that a support and a rival need, all as close as the bound allows."""
    m = int(rng.integers(2, 7))
    most = 0.5 / (m - 1)
    inner = rng.uniform(0.2, 1.0) * most * phases(rng, m * m, kind).reshape(m, m)
    upper = np.triu(inner, 1)
    return np.linalg.cholesky(np.eye(m) + upper + upper.conj().T).conj().T


DICTIONARIES = {
    family.__name__: family
    for family in (orthonormal, perturbed, two_bases, gaussian, of_equal_angles)
}


class Case(NamedTuple):
    """Unit columns, the same columns at other scales, a support S and coefficients on it."""

    U: np.ndarray
    A: np.ndarray
    S: np.ndarray
    x: np.ndarray

    @property
    def target(self) -> np.ndarray:
        """What there is without noise."""
        return self.U[:, self.S] @ self.x

    @property
    def least(self) -> float:
        return float(np.abs(self.x).min())

    def recovered_by(self, algorithm, noise: np.ndarray) -> bool:
        solution = algorithm(self.A, self.target + noise, sparsity=self.S.size)
        return solution.support.tolist() == self.S.tolist()


def case(rng: np.random.Generator, U: np.ndarray, k: int) -> Case:
    """Coefficients that are all small, or of all sizes; often in the phases that help a rival."""
    m = U.shape[1]
    kind = complex if np.iscomplexobj(U) else float
    S = np.sort(rng.permutation(m)[:k])
    x = phases(rng, k, kind)
    if k < m and rng.random() < 0.6:
        inner = U[:, S].conj().T @ U[:, rng.choice(reference.others(m, S))]
        x = np.where(np.abs(inner) > 1e-12, inner / np.maximum(np.abs(inner), 1e-12), x)
    if rng.random() < 0.5:
        x = x * np.append(1.0, rng.uniform(1, 10 ** rng.uniform(0, 2), k - 1))[rng.permutation(k)]
    scales = 10 ** rng.uniform(-2, 2, m) * phases(rng, m, kind)
    return Case(U, U * scales, S, x * 10 ** rng.uniform(-3, 3))


def greedy_case(rng: np.random.Generator, family, kind: type, most: int = 4) -> Case:
    """A case to which the theorems on forward algorithms apply: μ₁(k) < 1/2."""
    U = reference.unit_columns(family(rng, kind))
    mu = babel(U, min(most, U.shape[1] - 1))
    good = int(np.sum(mu < 0.5 * (1 - 1e-6)))
    if good == 0:
        return greedy_case(rng, family, kind, most)
    return case(rng, U, int(rng.integers(1, good + 1)))


def determined_case(rng: np.random.Generator, kind: type) -> Case:
    """A case to which the theorem on Backward Regression applies: independent columns."""
    if rng.random() < 0.4:
        U = of_equal_angles(rng, kind)
    else:
        m = int(rng.integers(2, 9))
        n = m + int(rng.integers(0, 6))
        U = np.eye(n, m) + 10 ** rng.uniform(-4, 1) * normal(rng, n, m, kind=kind)
    U = reference.unit_columns(U)
    return case(rng, U, int(rng.integers(1, U.shape[1])))


# --- noise that misleads --------------------------------------------------------------------------


class Duel(NamedTuple):
    """One step: the directions along which the residual is compared, of both sides.

    The step goes astray if |⟨rival, y⟩| exceeds |⟨right, y⟩|.
    """

    rival: np.ndarray
    right: np.ndarray

    def lead(self, y: np.ndarray) -> float:
        return float(np.abs(np.vdot(self.rival, y)) - np.abs(np.vdot(self.right, y)))

    def worst_direction(self, y: np.ndarray) -> np.ndarray:
        """Where to push y to raise the lead fastest."""
        towards, away = np.vdot(self.rival, y), np.vdot(self.right, y)
        g = self.rival * np.exp(1j * np.angle(towards)) - self.right * np.exp(1j * np.angle(away))
        g = g if np.iscomplexobj(y) else g.real
        return g / np.linalg.norm(g)


def beside(A: np.ndarray, columns: list[int]) -> np.ndarray:
    """What is left of all columns outside the span of these."""
    Q = np.linalg.qr(A[:, columns])[0]
    return A - Q @ (Q.conj().T @ A)


def greedy_duels(name: str):
    """The duels of a forward algorithm on its way through S: best column of each side."""

    def duels(p: Case, y: np.ndarray) -> list[Duel]:
        found = []
        S, outside = p.S.tolist(), reference.others(p.U.shape[1], p.S)
        inside = []
        for _ in S:
            B = beside(p.U, inside)
            if name == "forward":
                B[:, inside] = 0
                B = reference.unit_columns(B)
            scores = np.abs(B.conj().T @ y)
            left = [i for i in S if i not in inside]
            best = max(left, key=scores.__getitem__)
            if outside:
                rival = max(outside, key=scores.__getitem__)
                found.append(Duel(B[:, rival], B[:, best]))
            inside.append(best)
        return found

    return duels


def backward_duels(p: Case, y: np.ndarray) -> list[Duel]:
    """The duels of Backward Regression: a column of S must not be the cheapest to drop."""
    found = []
    S, rest = p.S.tolist(), reference.others(p.U.shape[1], p.S)
    while rest:
        columns = S + rest
        Q = reference.unit_columns(np.linalg.pinv(p.U[:, columns]).conj().T)
        costs = np.abs(Q.conj().T @ y)
        right, drop = int(np.argmin(costs[: len(S)])), len(S) + int(np.argmin(costs[len(S) :]))
        found.append(Duel(Q[:, drop], Q[:, right]))
        rest.remove(columns[drop])
    return found


DUELS = {"omp": greedy_duels("omp"), "forward": greedy_duels("forward"), "backward": backward_duels}


def adversary(p: Case, radius: float, duels, rng: np.random.Generator, tries: int, nudges: int):
    """Noise of this norm that brings a wrong column as close to a win as can be found.

    From noise of random size on, each step's duel in turn is pushed the way in which its lead
    grows fastest, a few times; what came closest is nudged at random. Return the noise and the
    lead of the wrong column (relative to the smallest coefficient).
    """
    kind = complex if np.iscomplexobj(p.U) else float
    n = p.U.shape[0]

    def lead(noise):
        y = p.target + noise
        return max(duel.lead(y) for duel in duels(p, y))

    def sphere(v):
        return radius * v / np.linalg.norm(v)

    best = sphere(normal(rng, n, kind=kind))
    highest = lead(best)
    steps = len(duels(p, p.target))
    for turn in range(tries):
        noise = rng.uniform() ** 4 * sphere(normal(rng, n, kind=kind))
        for _ in range(4):
            y = p.target + noise
            noise = radius * duels(p, y)[-1 - turn % steps].worst_direction(y)
            if (reached := lead(noise)) > highest:
                best, highest = noise, reached
    size = 0.3
    for _ in range(nudges):
        noise = sphere(best / radius + size * normal(rng, n, kind=kind) / math.sqrt(n))
        if (reached := lead(noise)) > highest:
            best, highest = noise, reached
        else:
            size *= 0.8
    return best, highest / p.least


def directions(p: Case, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Unit vectors: at random, and from a column of S to one outside in every sign."""
    m = p.U.shape[1]
    kind = complex if np.iscomplexobj(p.U) else float
    found = [normal(rng, p.U.shape[0], kind=kind) for _ in range(count)]
    for _ in range(count if p.S.size < m else 0):
        i, j = rng.integers(p.S.size), rng.choice(reference.others(m, p.S))
        toward = p.x[i] / abs(p.x[i]) * p.U[:, p.S[i]]
        found += [phase * p.U[:, j] - toward for phase in phases(rng, 2, kind)]
    return [v / np.linalg.norm(v) for v in found]


# --- forward algorithms: Thm. 4.4 -----------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("family", DICTIONARIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_noise_below_the_bound_never_misleads_a_forward_algorithm(seed, family, kind):
    rng = np.random.default_rng([seed, 1])
    for _ in range(20):
        p = greedy_case(rng, DICTIONARIES[family], kind)
        radius = 0.999 * forward_noise_bound(p.A, p.S.size, p.least).bound
        assert radius > 0
        for direction in directions(p, rng, 2):
            for algorithm in GREEDY.values():
                assert p.recovered_by(algorithm, radius * direction)


@KINDS
@pytest.mark.parametrize("name", GREEDY)
@pytest.mark.parametrize("family", DICTIONARIES)
@pytest.mark.parametrize("seed", range(2))
def test_no_adversary_misleads_a_forward_algorithm(seed, family, name, kind):
    rng = np.random.default_rng([seed, 2])
    for _ in range(8):
        p = greedy_case(rng, DICTIONARIES[family], kind)
        radius = 0.999 * forward_noise_bound(p.A, p.S.size, p.least).bound
        noise, lead = adversary(p, radius, DUELS[name], rng, tries=6, nudges=10)
        assert lead < 0 or p.S.size == p.U.shape[1]
        assert p.recovered_by(GREEDY[name], noise)


@KINDS
@pytest.mark.parametrize("name", GREEDY)
def test_the_adversary_finds_the_way_past_the_bound(name, kind):
    """With orthonormal columns no better bound is possible: it succeeds at 1.001 of it."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        U = orthonormal(rng, kind)
        p = case(rng, U, int(rng.integers(1, 4)))
        radius = 1.001 * forward_noise_bound(p.A, p.S.size, p.least).bound
        i, outside = int(np.argmin(np.abs(p.x))), reference.others(U.shape[1], p.S)
        sign = p.x[i] / abs(p.x[i])
        noise = radius * (U[:, outside[0]] - sign * U[:, p.S[i]]) / math.sqrt(2)
        assert not p.recovered_by(GREEDY[name], noise)
        _, lead = adversary(p, radius, DUELS[name], rng, tries=12, nudges=10)
        assert lead > 0


def test_noise_at_the_bound_can_tie():
    """The paper allows equality; with orthonormal columns both then have the same score."""
    noise = np.array([0.5, -0.5])
    assert np.linalg.norm(noise) <= forward_noise_bound(np.eye(2), 1).bound * (1 + 1e-15)
    for algorithm in GREEDY.values():
        assert algorithm(np.eye(2), np.array([0.0, 1.0]) + noise, sparsity=1).support == [0]


def test_forward_bounds_in_figures():
    rng = np.random.default_rng(4)
    promised = 0
    for _ in range(60):
        m = int(rng.integers(2, 12))
        A = np.eye(m + 1, m) + rng.uniform(0, 0.3) * normal(rng, m + 1, m)
        k, least = int(rng.integers(1, m + 1)), 10 ** rng.uniform(-3, 3)
        bound, older = forward_noise_bound(A, k, least)
        mu = babel(A, min(k, m - 1))[-1]
        assert bound >= older >= 0
        if mu >= 0.5:
            assert bound == older == 0
        else:
            promised += 1
            assert bound == pytest.approx((1 - 2 * mu) / math.sqrt(2 * (1 + mu)) * least)
            assert bound / older == pytest.approx(math.sqrt(2 / (1 + mu)))
    assert 10 < promised < 50


def test_forward_bound_of_one_column_and_of_orthonormal_columns():
    assert forward_noise_bound(np.ones((3, 1)), 1, 2.0) == pytest.approx((math.sqrt(2), 1))
    assert forward_noise_bound(np.eye(5), 5) == pytest.approx((math.sqrt(0.5), 0.5))
    assert forward_noise_bound(np.ones((3, 2)), 1) == (0, 0)


# --- Gaussian noise: Thm. 4.5 ---------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("family", DICTIONARIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_small_inner_products_with_the_noise_never_mislead(seed, family, kind):
    """What the probability is that of: recovery is certain while all |a_j*ε| stay below δσ."""
    rng = np.random.default_rng([seed, 5])
    for _ in range(6):
        p = greedy_case(rng, DICTIONARIES[family], kind)
        limit = 0.999 * (0.5 - babel(p.U, min(p.S.size, p.U.shape[1] - 1))[-1]) * p.least
        found = directions(p, rng, 2)
        for name in GREEDY:  # from where an adversary would push, too
            found.append(adversary(p, limit, DUELS[name], rng, tries=2, nudges=0)[0])
        if p.U.shape[0] == p.U.shape[1]:  # all inner products at the limit, at random and as below
            corners = phases(rng, 2 * p.U.shape[1], kind).reshape(2, -1)
            corners[:, p.S] = -p.x / np.abs(p.x)
            found += list(np.linalg.solve(p.U.conj().T, corners.T).T)
        for noise in found:
            noise = noise * limit / np.abs(p.U.conj().T @ noise).max()
            for algorithm in GREEDY.values():
                assert p.recovered_by(algorithm, noise)


@KINDS
@pytest.mark.parametrize("name", GREEDY)
@pytest.mark.parametrize("family", ["orthonormal", "perturbed", "of_equal_angles"])
def test_recovery_is_at_least_as_probable_as_promised(family, name, kind):
    rng = np.random.default_rng([6, len(family)])
    runs, delta = 500, 1.7
    p = greedy_case(rng, DICTIONARIES[family], kind)
    p = p._replace(x=p.x / np.abs(p.x))  # all small: the hardest to tell
    k, m = p.S.size, p.U.shape[1]
    sigma = (0.5 - babel(p.U, min(k, m - 1))[-1]) * p.least / delta
    promise = forward_recovery_probability(p.A, k, p.least, sigma).bound
    tail = math.exp(-(delta**2)) if kind is complex else math.erfc(delta / math.sqrt(2))
    assert promise == pytest.approx((1 - tail) ** m)
    # Complex noise has half of its variance in each part.
    scale = sigma / math.sqrt(2) if kind is complex else sigma
    noises = scale * normal(rng, runs, p.U.shape[0], kind=kind)
    recovered = sum(p.recovered_by(GREEDY[name], noise) for noise in noises)
    assert recovered / runs > promise - 4 * math.sqrt(promise * (1 - promise) / runs)


@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize(("m", "k", "delta"), [(16, 8, 2.0), (16, 2, 1.0), (6, 1, 1.5), (40, 5, 3)])
def test_orthonormal_columns_in_simulation(m, k, delta, circular):
    """Forward algorithms then pick the k largest |a_j*y|: thousands of runs at a time."""
    rng = np.random.default_rng(7)
    runs, sigma = 20000, 0.5 / delta
    noise = sigma * normal(rng, runs, m, kind=complex if circular else float)
    inner = (noise / math.sqrt(2) if circular else noise) + np.where(np.arange(m) < k, 1.0, 0.0)
    rate = np.mean(np.abs(inner[:, :k]).min(axis=1) > np.abs(inner[:, k:]).max(axis=1))
    promise = recovery_probability(m, k, delta, circular=circular).bound
    assert rate > promise - 4 * math.sqrt(promise * (1 - promise) / runs)
    for y in inner[:20]:
        by_size = np.sort(np.argsort(np.abs(y))[m - k :]).tolist()
        for algorithm in GREEDY.values():
            assert algorithm(np.eye(m), y, sparsity=k).support.tolist() == by_size


@pytest.mark.parametrize("name", GREEDY)
def test_the_printed_theorem_promises_too_much(name):
    """Orthonormal, m = 16, k = 8, δ = 2: every sixth run fails, and `bound` allows that."""
    m, k, delta, runs = 16, 8, 2.0, 1000
    figures = recovery_probability(m, k, delta)
    assert figures.theorem > 1 - 1e-9
    rng = np.random.default_rng(8)
    y = 0.5 / delta * normal(rng, runs, m) + np.where(np.arange(m) < k, 1.0, 0.0)
    wanted = list(range(k))
    failed = sum(GREEDY[name](np.eye(m), v, sparsity=k).support.tolist() != wanted for v in y)
    assert 0.12 < failed / runs < 0.2
    assert failed / runs < 1 - figures.bound
    assert forward_recovery_probability(np.eye(m), k, 1.0, 0.25) == pytest.approx(figures)


def printed(m, k, delta, mu_k, mu_2k, circular=False):
    """The formulas with fifty digits, between 0 and 1."""
    with mpmath.workdps(50):
        mp = mpmath.mpf
        m, k, delta, mu_k, mu_2k = mp(m), mp(k), mp(delta), mp(mu_k), mp(mu_2k)
        kappa = (1 + mu_2k) / (1 - mu_k)
        d = mpmath.ceil(m / k)
        tail = mpmath.erfc(delta / mpmath.sqrt(2 * kappa))
        theorem = 1 - d * ((1 + kappa) / (1 - mu_2k)) ** (k / 2) * tail**k
        gauss = mpmath.exp(-(delta**2) / 6)
        simple = 1 - d * (4 / (mpmath.sqrt(mpmath.pi) * delta) * gauss) ** k
        older = 1 - 2 * m * mpmath.exp(-(delta**2) / 2) / delta
        one = 1 - mpmath.exp(-(delta**2)) if circular else mpmath.erf(delta / mpmath.sqrt(2))
        figures = one**m, theorem, simple if mu_2k < 0.5 else mp(0), older
        return [float(max(figure, 0)) for figure in figures]


@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize(("mu_k", "mu_2k"), [(0, 0), (0.1, 0.2), (0.3, 0.49), (0.45, 0.8)])
@pytest.mark.parametrize("m", [1, 2, 16, 1000, 10**6])
def test_probabilities_are_the_printed_formulas(m, mu_k, mu_2k, circular):
    for k in sorted({1, 2, min(m, 7), min(m, 10**4)} & set(range(1, m + 1))):
        for delta in (1e-3, 0.1, 0.9, 1.7, 2.5, 4, 5.5, 7, 9, 15, 40):
            figures = recovery_probability(m, k, delta, mu_k, mu_2k, circular=circular)
            expected = printed(m, k, delta, mu_k, mu_2k, circular)
            assert figures == pytest.approx(expected, rel=1e-9, abs=1e-12)
            assert all(0 <= figure <= 1 for figure in figures)


@pytest.mark.parametrize("k", [1, 3, 100])
def test_probabilities_rise_with_delta(k):
    figures = [recovery_probability(300, k, d, 0.2, 0.3) for d in np.geomspace(0.01, 40, 200)]
    assert np.all(np.diff(figures, axis=0) >= 0)
    np.testing.assert_array_equal(figures[0], 0)
    np.testing.assert_array_equal(figures[-1], 1)


@pytest.mark.parametrize("delta", [0.0, -1.0, -math.inf])
def test_nothing_is_promised_without_room(delta):
    assert recovery_probability(16, 4, delta) == (0, 0, 0, 0)


@pytest.mark.parametrize("delta", [1e-300, 1e-9, 1e9, 1e200, math.inf])
def test_extreme_rooms(delta):
    assert recovery_probability(16, 4, delta) == pytest.approx((float(delta > 1),) * 4, abs=1e-100)


def test_the_figures_of_a_dictionary_are_those_of_its_babel_function():
    A = np.hstack([np.eye(64), scipy.linalg.hadamard(64)])
    for k, scale in ((1, 1.0), (2, 30.0), (3, 1e-5)):
        expected = recovery_probability(128, k, (0.5 - k / 8) * 20, k / 8, k / 4)
        assert forward_recovery_probability(A * scale, k, 2.0, 0.1) == pytest.approx(expected)
    assert forward_recovery_probability(A, 4, 1.0, 1e-3) == (0, 0, 0, 0)
    complex_noise = forward_recovery_probability(A.astype(complex), 1, 2.0, 0.2)
    assert complex_noise.bound == pytest.approx((1 - math.exp(-(3.75**2))) ** 128)


# --- Backward Regression: Thm. 4.6 and Cor. 4.7 ---------------------------------------------------


@KINDS
@pytest.mark.parametrize("seed", SEEDS)
def test_noise_below_the_bound_never_misleads_backward_regression(seed, kind):
    rng = np.random.default_rng([seed, 10])
    for _ in range(60):
        p = determined_case(rng, kind)
        radius = 0.999 * backward_noise_bound(p.A, p.least).bound
        assert radius > 0
        for direction in directions(p, rng, 2):
            assert p.recovered_by(sparsewise.backward, radius * direction)


@KINDS
@pytest.mark.parametrize("seed", SEEDS)
def test_no_adversary_misleads_backward_regression(seed, kind):
    rng = np.random.default_rng([seed, 11])
    for _ in range(20):
        p = determined_case(rng, kind)
        radius = 0.999 * backward_noise_bound(p.A, p.least).bound
        noise, lead = adversary(p, radius, backward_duels, rng, tries=6, nudges=10)
        assert lead < 0
        assert p.recovered_by(sparsewise.backward, noise)


@KINDS
def test_the_adversary_finds_the_way_past_the_backward_bound(kind):
    rng = np.random.default_rng(12)
    for _ in range(20):
        U = orthonormal(rng, kind)
        p = case(rng, U, U.shape[1] - 1)
        radius = 1.001 * backward_noise_bound(p.A, p.least).bound
        noise, lead = adversary(p, radius, backward_duels, rng, tries=12, nudges=10)
        assert lead > 0
        assert not p.recovered_by(sparsewise.backward, noise)


@KINDS
@pytest.mark.parametrize("dtype", ["double", "single"])
def test_backward_bounds_in_figures(kind, dtype):
    rng = np.random.default_rng(13)
    promised = 0
    for _ in range(60):
        p = determined_case(rng, kind)
        low = np.complex64 if kind is complex else np.float32
        A = p.A if dtype == "double" else p.A.astype(low)
        eps = float(np.finfo(A.dtype).eps)
        least, m = 10 ** rng.uniform(-3, 3), A.shape[1]
        bound, by_babel = backward_noise_bound(A, least)
        s = np.linalg.svd(reference.unit_columns(A), compute_uv=False)[-1]
        expected = s / math.sqrt(2 * (2 - s * s)) * least
        assert bound == pytest.approx(expected, abs=8 * eps * m * least)
        assert bound <= expected * (1 + 1e-12)  # rounding never makes it promise more
        mu = babel(A, m - 1)[-1]
        if mu < 1:
            promised += 1
            assert by_babel == pytest.approx(math.sqrt((1 - mu) / (2 * (1 + mu))) * least)
            assert (by_babel / least) ** 2 <= (bound / least) ** 2 + 8 * eps * m
        else:
            assert by_babel == 0
    assert promised > 10


@KINDS
def test_scaling_columns_leaves_the_bounds(kind):
    rng = np.random.default_rng(14)
    A = np.eye(9, 6) + 0.05 * normal(rng, 9, 6, kind=kind)
    scaled = A * (10 ** rng.uniform(-100, 100, 6) * phases(rng, 6, kind))
    assert backward_noise_bound(scaled, 3.0) == pytest.approx(backward_noise_bound(A, 3.0))
    assert forward_noise_bound(scaled, 2, 3.0) == pytest.approx(forward_noise_bound(A, 2, 3.0))
    assert forward_noise_bound(A, 2).bound > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_backward_regression_is_promised_nothing_without_full_column_rank(dtype):
    rng = np.random.default_rng(15)
    wide, square, copies = normal(rng, 5, 6), normal(rng, 6, 6), normal(rng, 8, 4)
    square[:, 2] = square[:, 0] - 0.5 * square[:, 5]
    copies[:, 3] = -2 * copies[:, 1]
    for A in (wide, square, copies):
        assert backward_noise_bound(A.astype(dtype)) == (0, 0)


def test_backward_regression_is_promised_nothing_with_a_column_of_zeros():
    """Orthogonal to all others though it is."""
    assert backward_noise_bound(np.diag([1.0, 1.0, 0.0])) == (0, 0)
    assert backward_noise_bound(np.zeros((3, 1))) == (0, 0)


def test_backward_bound_of_orthonormal_columns():
    half = math.sqrt(0.5)
    assert backward_noise_bound(np.eye(5)) == pytest.approx((half, half))
    assert backward_noise_bound(np.ones((3, 1)), 2.0) == pytest.approx((2 * half, 2 * half))


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 9, -1, 1.5, None])
def test_bad_number_of_coefficients(k):
    with refused("k must be"):
        forward_noise_bound(np.eye(8), k)
    with refused("k must be"):
        forward_recovery_probability(np.eye(8), k, 1.0, 0.1)
    with refused("k must be"):
        recovery_probability(8, k, 1.0)


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "much"])
def test_bad_coefficients_and_noise(value):
    with refused("min_abs must be"):
        forward_noise_bound(np.eye(4), 1, value)
    with refused("min_abs must be"):
        backward_noise_bound(np.eye(4), value)
    with refused("min_abs must be"):
        forward_recovery_probability(np.eye(4), 1, value, 1.0)
    with refused("sigma must be"):
        forward_recovery_probability(np.eye(4), 1, 1.0, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", math.nan), ("delta", "much"), ("mu_k", -0.1), ("mu_2k", math.nan), ("mu_k", "low")],
)
def test_bad_figures_of_a_dictionary(name, value):
    words = {"delta": 2.0, "mu_k": 0.1, "mu_2k": 0.2} | {name: value}
    with refused(name):
        recovery_probability(16, 4, **words)


@pytest.mark.parametrize(("mu_k", "mu_2k"), [(1.0, 1.5), (1.0, 0.5), (2.0, 0.5)])
def test_a_babel_function_of_one_or_more_voids_the_theorem(mu_k, mu_2k):
    assert recovery_probability(16, 4, 2.0, mu_k, mu_2k).theorem == 0


def test_dependent_columns_bear_nothing_by_inner_products_either():
    """Rounded, the inner product of a column and its multiple is a little below 1."""
    for seed in range(40):
        a = np.random.default_rng(seed).standard_normal(8)
        A = np.column_stack([a, a / 3])
        bound = sparsewise.backward_noise_bound(A)
        assert bound.by_babel <= bound.bound


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    "bound",
    [
        lambda A: forward_noise_bound(A, 1),
        lambda A: forward_recovery_probability(A, 1, 1.0, 0.1),
        backward_noise_bound,
    ],
)
def test_a_single_column_that_is_not_a_number(bound, bad):
    with refused("A"):
        bound(np.array([[bad], [1.0]]))
