"""The evidence engine against the dense n×n formulas, with 60 digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sparsewise import plan
from sparsewise.engine.bayes.evidence import Evidence
from sparsewise.engine.scores import BLOCK
from sparsewise.problem.problem import problem
from sparsewise.results import InferredNoise, Stop
from tests.problems import correlated, gaussian
from tests.references.bayes import Scores, Slack, State, precise
from tests.references.stepwise import Unit

EPS = float(np.finfo(float).eps)
SIGMAS = [1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2]  # relative to the target

# Energies are kept by subtraction until half of their digits are gone, then measured anew: what
# is left is good to about eps^(1/2), relative to the energy itself.
RTOL = 1e-8
# Some dozens of roundings of every column, in place of one.
PART = 64 * EPS


def unit_gamma(active, A, y):
    """The prior variances for unit columns and a unit target."""
    u = Unit(A, y)
    return active.solution("rmp", Stop.EVIDENCE).gamma * (u.norms / u.scale) ** 2


def compare(active, A, y, sigma, rtol=RTOL, part=PART):
    """S, Q, evidence, mean and covariance against many digits; sigma relative to the target."""
    gamma = unit_gamma(active, A, y)
    exact = precise(A, y, gamma, sigma, unit=True)
    slack = Slack(A, y, gamma, sigma, part)
    S, (Q,) = active.factors()
    free = ~np.isinf(gamma)
    energy, corr = np.maximum(exact.S * sigma**2, 0.0), exact.Q * sigma**2
    unexplained = exact.quadratic * sigma**2
    # Of an active column S is (1 - Σ_ii/γ)/γ: where γ S is close to 0, a column that hardly
    # matters, it has lost the digits that Σ_ii and γ have in common.
    lost = np.where(gamma > 0, part / np.maximum(gamma * exact.S, part), 0.0)
    excess = np.abs(S * sigma**2 - energy) - (rtol + lost) * energy - slack.energy
    assert excess[free].max(initial=-1) <= 0
    excess = np.abs(Q * sigma**2 - corr) - rtol * np.sqrt(energy * unexplained) - slack.corr
    assert excess[free].max(initial=-1) <= 0

    scale = np.linalg.norm(y)
    shift = 2 * slack.half * active.rows * np.log(scale)
    tolerance = slack.log_evidence + rtol * (1 + slack.half * exact.quadratic) * 1e-2
    assert abs(active.log_evidence + shift - exact.log_evidence) <= tolerance

    solution = active.solution("rmp", Stop.EVIDENCE)
    width = (scale / np.linalg.norm(A, axis=0))[solution.support]
    error = np.abs(solution.coef[solution.support] / width - exact.mean)
    assert (error - rtol * 1e-2 * np.abs(exact.mean) - slack.mean).max(initial=-1) <= 0
    std = np.sqrt(np.diagonal(exact.covariance).real)
    error = np.abs(solution.covariance / np.outer(width, width) - exact.covariance)
    assert (error / np.outer(std, std)).max(initial=0) <= slack.covariance + rtol * 1e-2
    return exact


def evidence(A, y, sigma, *, include=(), exclude=(), **words):
    return Evidence(problem(A, y, include=include, exclude=exclude), sigma**2, **words)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("make", [gaussian, correlated])
@pytest.mark.parametrize("kind", [float, complex])
def test_stages(make, kind, sigma):
    """Additions, deletions and re-estimations, with noise from 1e-8 to 1e2 of the target."""
    p = make(3, 10, 16, 5, kind=kind)
    active = evidence(p.A, p.y, sigma, min_increase=1e-6)
    compare(active, p.A, p.y, sigma)
    for _ in range(2):
        active.acquire(4)
        compare(active, p.A, p.y, sigma)
        active.revise(7)
        compare(active, p.A, p.y, sigma)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("make", [gaussian, correlated])
def test_steepest_steps(make, sigma):
    p = make(4, 12, 20, 5)
    active = evidence(p.A, p.y, sigma, min_increase=1e-6)
    for step in range(12):
        active.ascend()
        if step % 4 == 3:
            compare(active, p.A, p.y, sigma)


@pytest.mark.parametrize("sigma", [1e-6, 1e-2])
@pytest.mark.parametrize("kind", [float, complex])
def test_flat_priors(kind, sigma):
    p = gaussian(5, 12, 18, 4, kind=kind)
    active = evidence(p.A, p.y, sigma, min_increase=1e-6, include=[3, 11])
    compare(active, p.A, p.y, sigma)
    active.acquire(4)
    compare(active, p.A, p.y, sigma)
    active.revise(9)
    compare(active, p.A, p.y, sigma)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("make", [gaussian, correlated])
def test_gammas_over_many_orders(make, kind):
    """From 1e-14 to 1e6 in one model."""
    p = make(6, 14, 20, 5, kind=kind)
    for sigma in (1e-5, 1e-1):
        active = evidence(p.A, p.y, sigma)
        active.restore(np.arange(0, 20, 2), 10.0 ** np.linspace(-14, 6, 10))
        compare(active, p.A, p.y, sigma)


@pytest.mark.parametrize("kind", [float, complex])
def test_more_columns_than_rows(kind):
    """With noise no column is dependent: a model may have more columns than rows."""
    p = gaussian(7, 6, 15, 3, kind=kind)
    active = evidence(p.A, p.y, 0.1)
    active.restore(np.arange(12), np.linspace(0.1, 2.0, 12))
    compare(active, p.A, p.y, 0.1)
    active.revise(3)
    compare(active, p.A, p.y, 0.1)


def test_duplicates_keep_their_digits():
    """Column 9 is column 2 once more: S and Q are those of a column that is in the model."""
    p = gaussian(8, 12, 16, 4)
    A = p.A.copy()
    A[:, 9] = -3 * A[:, 2]
    y = p.y + 5 * A[:, 2]
    for sigma in (1e-4, 1e-2):
        active = evidence(A, y, sigma)
        active.acquire(6)
        assert 2 in active.support
        compare(active, A, y, sigma)
        S, (Q,) = active.factors()
        assert S[9] == pytest.approx(S[2], rel=1e-7)
        assert Q[9] == pytest.approx(-Q[2], rel=1e-6)


@pytest.mark.parametrize("pooled", [False, True], ids=["whole", "pool"])
@pytest.mark.parametrize("make", [gaussian, correlated])
@pytest.mark.parametrize("kind", [float, complex])
def test_hundreds_of_steps(make, kind, pooled, monkeypatch):
    """Errors do not grow with the number of steps: another noise each time unsettles the rest."""
    if pooled:
        monkeypatch.setattr(plan, "SMALL", 0)
    p = make(9, 14, 24, 5, kind=kind)
    active = evidence(p.A, p.y, 1e-3, min_increase=1e-6)
    added = revised = 0
    for i in range(40):
        sigma = 10.0 ** -(1 + i % 4)
        active.noise = sigma**2
        added += active.acquire(6)
        revised += active.revise(25)
    assert added > 40
    assert revised > 400
    compare(active, p.A, p.y, sigma)


def test_another_noise_keeps_the_ratio():
    """Changing σ² keeps γ/σ²: scores and factor stay, evidence and gamma follow."""
    p = gaussian(2, 14, 20, 4)
    active = evidence(p.A, p.y, 0.1)
    active.acquire(5)
    before = unit_gamma(active, p.A, p.y)
    active.noise = 0.04
    np.testing.assert_allclose(unit_gamma(active, p.A, p.y), 4 * before, rtol=1e-12)
    compare(active, p.A, p.y, 0.2)


@pytest.mark.parametrize("kind", [float, complex])
def test_best_noise(kind):
    """It maximises the evidence over σ² while γ/σ² stays; with a prior, the sum with its log."""
    p = gaussian(2, 14, 20, 4, kind=kind)
    active = evidence(p.A, p.y, 0.1)
    active.acquire(5)
    for shape, scale in [(0.0, 0.0), (3.0, 0.2), (1e6, 1e6 * 0.3**2)]:

        def value(log_noise, shape=shape, scale=scale):
            active.noise = np.exp(log_noise)
            return active.log_evidence - shape * log_noise - scale * np.exp(-log_noise)

        best = active.best_noise(InferredNoise(0.0, shape, scale))
        found = minimize_scalar(lambda x: -value(x), bracket=np.log([best / 9, best * 7]))
        assert np.exp(found.x) == pytest.approx(best, rel=1e-5)
    assert best == pytest.approx(0.09, rel=1e-4)


# --- the lemmas ----------------------------------------------------------------------------------


@st.composite
def states(draw):
    """A random problem, real or complex, some columns active with gammas of any size."""
    seed = draw(st.integers(0, 10**6))
    kind = draw(st.sampled_from([float, complex]))
    make = draw(st.sampled_from([gaussian, correlated]))
    p = make(seed, 8, 10, 3, kind=kind)
    sigma = 10.0 ** draw(st.floats(-1.5, 0.5))
    k = draw(st.integers(0, 5))
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.choice(10, k, replace=False))
    return p, sigma, columns, 10.0 ** rng.uniform(-4, 1, k)


def engine_and_dense(p, sigma, columns, gamma):
    active = evidence(p.A, p.y, sigma)
    active.restore(columns, gamma)
    state = State(p.A, p.y, sigma * float(np.linalg.norm(p.y)))
    state.gamma[columns] = gamma
    return active, state


LARGEST = 5  # decimal exponent: beyond this gamma a search in double precision sees noise


def best_by_search(state, j):
    """max over γ_j of the dense evidence, numerically, and where; less the evidence at γ_j = 0."""

    def value(gamma):
        changed = state.gamma.copy()
        changed[j] = gamma
        u = state.unit
        C = state.noise**2 * np.eye(len(u.y)) + (u.U * changed) @ u.U.conj().T
        fit = np.vdot(u.y, np.linalg.solve(C, u.y)).real
        return -state.beta * (np.linalg.slogdet(C)[1] + fit)

    grid = np.linspace(-9, LARGEST, 57)
    values = [value(10.0**x) for x in grid]
    i = int(np.clip(np.argmax(values), 1, len(grid) - 2))
    found = minimize_scalar(
        lambda x: -value(10.0**x), bounds=(grid[i - 1], grid[i + 1]), method="bounded"
    )
    return -found.fun - value(0.0), 10.0**found.x


@given(case=states())
@settings(max_examples=25)
def test_lemma_selection_and_deletion(case):
    """The optimum of γ_i is above 0 if and only if |<φ̃_i, r_{A∖i}>| > σ.

    The engine's S and Q with column i taken out, s = S/(1 - γ S) and q = Q/(1 - γ S), against a
    search for the maximum of the dense evidence.
    """
    active, state = engine_and_dense(*case)
    S, (Q,) = active.factors()
    left = 1 - state.gamma * S
    u = np.abs(Q) ** 2 / (S * left)
    for j in range(10):
        expected = (u[j] - 1) * left[j] / S[j]
        if abs(u[j] - 1) < 1e-3 or expected > 10 ** (LARGEST - 1):
            continue  # too close, or too far, for a search to tell
        rise, gamma = best_by_search(state, j)
        assert (u[j] > 1) == (rise > 1e-8), (j, u[j], rise)
        if u[j] > 1.01:
            assert gamma == pytest.approx(expected, rel=1e-2)
            worth = state.beta * (u[j] - 1 - np.log(u[j]))
            assert rise == pytest.approx(worth, rel=1e-6, abs=1e-9)


@given(case=states())
@settings(max_examples=40)
def test_lemma_rmp(case):
    """arg max Δ_add = arg max |<φ̃, r>|; and it is the column the engine adds, with that rise."""
    active, state = engine_and_dense(*case)
    inactive = state.inactive
    rises = np.array([best_by_search(state, j)[0] if j in inactive else -1.0 for j in range(10)])
    S, (Q,) = active.factors()
    size = np.where(state.gamma > 0, -1.0, np.abs(Q) / np.sqrt(S))
    ahead = np.sort(size)[-2:]
    too_far = (size**2 - 1) / S > 10 ** (LARGEST - 1)
    if ahead[1] < 1.01 or ahead[0] > 0.999 * ahead[1] or too_far.any():
        return  # nothing to add, or nothing that a search can tell
    assert np.argmax(rises) == np.argmax(size)
    before = active.log_evidence
    assert active.acquire(1) == 1
    assert active.order[-1] == np.argmax(rises)
    assert active.log_evidence - before == pytest.approx(rises.max(), rel=1e-6)


@given(case=states())
@settings(max_examples=40)
def test_scores_without_a_column(case):
    """u and the rise of every single change, from S and Q, and from covariances made anew."""
    active, state = engine_and_dense(*case)
    S, (Q,) = active.factors()
    scores = Scores(state)
    left = 1 - state.gamma * S
    np.testing.assert_allclose(S / left, scores.s, rtol=1e-7)
    np.testing.assert_allclose(
        np.abs(Q / left) ** 2, scores.q2, rtol=1e-6, atol=1e-9 * scores.q2.max()
    )


# --- what a step costs ---------------------------------------------------------------------------


def test_one_pass_an_addition():
    p = gaussian(1, 100, 900, 30)
    active = Evidence(problem(p.A, p.y), 1e-4, callback=lambda step: None)
    before = active.problem.passes.count
    assert active.acquire(10) == 10
    assert active.problem.passes.count - before == 11  # one for corr, and one for each


def test_deletions_and_updates_share_one_block_pass():
    p = gaussian(1, 100, 900, 30)
    active = Evidence(problem(p.A, p.y), 1e-4, min_increase=1e-6)
    active.acquire(40)
    before = active.problem.passes.count
    assert active.revise(30) == 30
    assert active.problem.passes.count == before
    active.factors()
    # One block at a time for the energies, and one pass for corr.
    assert active.problem.passes.count <= before + 1 + -(-active.size // BLOCK)
