"""The dense formulas of Sparse Bayesian Learning, against densities, limits and more digits."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tests.problems import FAMILIES, correlated, gaussian, variants
from tests.references.bayes import (
    BAYES_REFERENCES,
    UPDATES,
    Scores,
    State,
    dense,
    moments,
    precise,
    without_flat,
)
from tests.references.stepwise import Unit

KINDS = [float, complex]


def setting(kind, seed=0, flat=False):
    """A small problem with some gammas of different sizes."""
    p = gaussian(seed, 9, 7, 3, kind=kind)
    gamma = np.array([0.0, 0.7, 0.0, 1e-3, 2.0, 0.0, 30.0])
    if flat:
        gamma[[0, 4]] = np.inf
    return p.A, p.y, gamma, 0.4


def normal_density(z, C):
    """log N(0, C) at z; circular complex: as real and imaginary parts, each with half of C."""
    if not np.iscomplexobj(C):
        return multivariate_normal(cov=C).logpdf(z)
    both = 0.5 * np.block([[C.real, -C.imag], [C.imag, C.real]])
    return multivariate_normal(cov=both).logpdf(np.concatenate([z.real, z.imag]))


@pytest.mark.parametrize("kind", KINDS)
def test_the_evidence_is_the_density_of_y(kind):
    A, y, gamma, sigma = setting(kind)
    C = sigma**2 * np.eye(9) + (A * gamma) @ A.conj().T
    expected = normal_density(y, C)
    assert dense(A, y, gamma, sigma).log_evidence == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_with_flat_priors_it_is_the_density_of_the_part_beside_them(kind):
    A, y, gamma, sigma = setting(kind, flat=True)
    B, z = without_flat(A, y, [0, 4])
    proper = np.where(np.isinf(gamma), 0.0, gamma)
    assert len(z) == 7
    assert np.abs(B[:, [0, 4]]).max() < 1e-14
    expected = normal_density(z, sigma**2 * np.eye(7) + (B * proper) @ B.conj().T)
    assert dense(A, y, gamma, sigma).log_evidence == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_flat_priors_are_the_limit_of_wide_ones(kind):
    A, y, gamma, sigma = setting(kind, flat=True)
    flat = dense(A, y, gamma, sigma)
    wide = precise(A, y, np.where(np.isinf(gamma), 1e12, gamma), sigma)
    np.testing.assert_allclose(flat.mean, wide.mean, rtol=1e-8)
    np.testing.assert_allclose(flat.covariance, wide.covariance, rtol=1e-8)
    free = [1, 2, 3, 5, 6]
    np.testing.assert_allclose(flat.S[free], wide.S[free], rtol=1e-8)
    np.testing.assert_allclose(flat.Q[free], wide.Q[free], rtol=1e-8)
    assert np.abs(flat.Q[[0, 4]]).max() < 1e-12


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_more_digits_agree(kind, flat):
    A, y, gamma, sigma = setting(kind, flat=flat)
    for few, many in zip(
        vars(dense(A, y, gamma, sigma)).values(),
        vars(precise(A, y, gamma, sigma)).values(),
        strict=True,
    ):
        np.testing.assert_allclose(few, many, rtol=1e-10, atol=1e-12 * np.abs(many).max())


@pytest.mark.parametrize("kind", KINDS)
def test_both_forms_of_the_posterior(kind):
    """The k×k form of mean and covariance, and the n×n one: Γ A*C⁻¹y and Γ - Γ A*C⁻¹A Γ."""
    A, y, gamma, sigma = setting(kind)
    on = np.flatnonzero(gamma)
    posterior = dense(A, y, gamma, sigma)
    mean, variance, S = moments(A, y, gamma, sigma)
    np.testing.assert_allclose(mean[on], posterior.mean, rtol=1e-10)
    np.testing.assert_allclose(variance[on], np.diag(posterior.covariance).real, rtol=1e-8)
    np.testing.assert_allclose(S, posterior.S, rtol=1e-12)


def test_precise_keeps_its_digits_where_double_has_none():
    """Twice the same column, a noise of 1e-9: S is known in closed form."""
    a = np.array([3.0, 4.0])
    gamma, sigma = np.array([2.0, 3.0]), 1e-9
    posterior = precise(np.column_stack([a, a]), np.array([1.0, -1.0]), gamma, sigma)
    expected = 25 / (sigma**2 + 25 * 5.0)
    np.testing.assert_allclose(posterior.S, expected, rtol=1e-15)
    np.testing.assert_allclose(posterior.Q, -1 / (sigma**2 + 125), rtol=1e-15)
    np.testing.assert_allclose(posterior.mean, gamma * -1 / (sigma**2 + 125), rtol=1e-14)


@pytest.mark.parametrize("include", [[], [1, 4]])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_differences_of_the_evidence(kind, include):
    p = gaussian(1, 12, 8, 3, kind=kind)
    state = State(p.A, p.y, p.delta, include=include)
    state.gamma[[2, 5, 7]] = 0.3, 1e-2, 2.0
    scores = Scores(state)

    def evidence(j, gamma):
        changed = state.gamma.copy()
        changed[j] = gamma
        return dense(state.unit.U, state.unit.y, changed, state.noise).log_evidence

    for j in state.free:
        for gamma in (scores.best[j], 0.1, 3.0):
            difference = evidence(j, gamma) - evidence(j, 0.0)
            values = np.full(8, gamma)
            assert scores.worth(values)[j] == pytest.approx(difference, rel=1e-8, abs=1e-10)
        around = scores.best[j] * np.array([0.9, 1.0, 1.1]) + [0.0, 0.0, 1e-3]
        assert np.argmax([evidence(j, gamma) for gamma in around]) < 2


@pytest.mark.parametrize("updates", UPDATES)
@pytest.mark.parametrize("family", ["tall", "correlated wide", "complex wide"])
def test_updates_of_all_gammas_find_stationary_points(updates, family):
    """Each raises the evidence (MacKay's: not always), and rests where every gamma is the best."""
    p = FAMILIES[family](0)
    u = Unit(p.A, p.y)
    sigma = p.delta / u.scale
    gamma = np.ones(p.A.shape[1])
    values = []
    for i in range(3000):
        if i < 50:
            values.append(dense(u.U, u.y, gamma, sigma).log_evidence)
        gamma = UPDATES[updates](u.U, u.y, gamma, sigma)
        gamma[gamma < 1e-12] = 0.0
    if updates != "mackay":
        assert np.diff(values).min() > -1e-9
    assert dense(u.U, u.y, gamma, sigma).log_evidence > values[0]
    state = State(p.A, p.y, p.delta)
    state.gamma = gamma
    settled = gamma > 1e-3
    assert settled.any()
    np.testing.assert_allclose(Scores(state).best[settled], gamma[settled], rtol=2e-3)
    # gamma = 0 is a fixed point of each update, so what was lost on the way may be missed.
    assert state.possible_increase() < 0.1


@pytest.mark.parametrize("name", BAYES_REFERENCES)
@pytest.mark.parametrize("family", FAMILIES)
def test_references_end_where_no_gamma_can_do_better(name, family):
    p = FAMILIES[family](0)
    for label, call in variants(name, p).items():
        if label in ("few steps", "one round"):
            continue
        found = BAYES_REFERENCES[name](p.A, p.y, **call)
        state = State(
            p.A, p.y, call["sigma"], call.get("price", 0.0), call.get("include", ()),
            call.get("exclude", ()),
        )  # fmt: skip
        norms = np.where(state.unit.norms > 0, state.unit.norms, 1.0)
        state.gamma = found.gamma * (norms / state.unit.scale) ** 2
        assert state.possible_increase() <= call.get("min_increase", 1e-6) * (1 + 1e-6)
        posterior = dense(p.A, p.y, found.gamma, found.sigma)
        assert found.log_evidence == pytest.approx(posterior.log_evidence, rel=1e-9)
        np.testing.assert_allclose(found.coef[found.support], posterior.mean, rtol=1e-7)


def test_the_price_of_a_column():
    """A dearer column must bring more; the limit on u is where it just pays."""
    p = correlated(0, 16, 40, 5)
    sizes = [
        len(BAYES_REFERENCES["rmp"](p.A, p.y, sigma=p.delta, price=c).support) for c in (0, 1, 9)
    ]
    assert sizes[0] > sizes[1] > sizes[2]
    for price in (0.0, 0.5, 4.0):
        u = State(p.A, p.y, p.delta, price).limit
        assert 0.5 * (u - 1 - np.log(u)) == pytest.approx(price, abs=1e-12)
