"""Every function of the sampler on small problems; as Python, too (`make test`)."""

import math

import numpy as np
import pytest

from sparsewise.criteria.base import Sample
from sparsewise.criteria.model_prior import ModelPrior
from sparsewise.engine.bayes.model_posterior import Sampler, add_up
from sparsewise.kernels import load_model_posterior
from sparsewise.problem.problem import problem
from tests.kernels.tracing import idle
from tests.problems import normal, unit_columns

KERNELS = load_model_posterior()


def begun(kind, noise=None):
    rng = np.random.default_rng(0)
    A = normal(rng, 12, 6, kind=kind)
    y = A[:, :2].sum(axis=1) + normal(rng, 12, kind=kind)
    data = problem(A, y)
    sample = Sample.of(data, noise=noise)
    return (
        unit_columns(A),
        y / np.linalg.norm(y),
        Sampler(data, sample, ModelPrior((1, 2), 6), [[]]),
    )


def states(sampler, monkeypatch):
    """The chains after some flips."""
    monkeypatch.setattr(KERNELS, "REMAKE", 15)  # compiled code has it built in
    sampler.run(5, counts=False)
    sampler.run(40)
    for chain in sampler.chains:
        yield chain.state


@pytest.mark.parametrize("kind", [float, complex])
def test_the_state_is_that_of_its_model(kind, monkeypatch):
    A, y, sampler = begun(kind)
    for state in states(sampler, monkeypatch):
        S = state.order[: state.count[KERNELS.SIZE]]
        d2 = sampler.data.damping[state.count[KERNELS.AT]]
        B = A[:, S]
        inner = np.eye(12) - B @ np.linalg.solve(B.conj().T @ B + d2 * np.eye(len(S)), B.conj().T)
        assert state.at[KERNELS.LOSS] == pytest.approx((y.conj() @ inner @ y).real)
        np.testing.assert_allclose(state.corr[0], A.conj().T @ inner @ y, atol=1e-12)
        out = [j for j in range(6) if j not in S]
        energy = np.sum(A.conj() * (inner @ A), axis=0).real
        np.testing.assert_allclose(state.energy[out], energy[out], atol=1e-12)


@pytest.mark.parametrize("kind", [float, complex])
def test_every_function(kind):
    def run():
        for noise in (None, 0.05):
            _, _, sampler = begun(kind, noise)
            sampler.run(5, counts=False)
            sampler.run(120)
            figures, proved = add_up(sampler, 10_000)
            assert proved > 0.999
            found = sampler.inclusions.mean(axis=0)
            np.testing.assert_allclose(found, figures.inclusion / figures.mass, atol=0.25)

    assert not idle(KERNELS, run)


def as_python(part):
    return getattr(part, "py_func", part)


def test_exponentials_and_logarithms_as_vectors():
    """Against the library's own, on both sides of where the series give way to it."""
    x = np.concatenate([np.linspace(-40, 40, 33), [-400.0, 299.0]])
    expected = np.exp(np.clip(x, -300, 300))
    as_python(KERNELS.exponentials)(x)
    np.testing.assert_allclose(x, expected, rtol=1e-11, atol=1e-14)
    gain = np.array([0.0, 1e-9, 0.1, 0.29, 0.31, 0.9, 1 - 1e-6])
    value, weight = np.empty(7), np.ones(7)
    as_python(KERNELS.rising)(gain.copy(), value, weight, 1.0, 3.0, -2.0)
    left = np.maximum(1 - gain, 1e-14)
    np.testing.assert_allclose(value, [-2 - 3 * math.log(one) for one in left], rtol=1e-8)
    np.testing.assert_allclose(weight, left, rtol=1e-2)
