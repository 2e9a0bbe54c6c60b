"""Columns that nearly agree: what is told is what the data say, in whatever order they came."""

import numpy as np
import pytest

import sparsewise
from sparsewise import ALGORITHMS, Stop
from tests.kernels.tracing import INTERPRETED
from tests.problems import LEAST_SQUARES, normal

CALLS = {
    "oblivious": {"sparsity": 25},
    "gomp": {"sparsity": 25, "batch": 5},
    "subspace_pursuit": {"sparsity": 18},
    "ompr": {"sparsity": 18},
    "srr": {"sparsity": 18},
    "omp": {"sparsity": 25},
    "forward": {"sparsity": 25},
    "rmp0": {"delta": 1e-6},
    "foba": {"delta": 1e-6},
}


def vandermonde(seed):
    """Powers of some numbers, and a target that they don't have much to do with."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(40, 60)), 36
    x = np.linspace(rng.uniform(-1, 1), rng.uniform(1, 3), n)
    return np.vander(x, m, increasing=True), 1000 * rng.standard_normal(n)


def close_columns(seed, digits=6):
    """Columns that agree to so many digits."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(12, 40)), int(rng.integers(8, 30))
    A = normal(rng, n, 1) + 10.0**-digits * normal(rng, n, m)
    return A, normal(rng, n) + A[:, 0]


def distance_from_fit(A, y, coef, support):
    """‖A coef - fit‖/‖y‖, the fit by orthogonal triangles in extended precision."""
    U = (A[:, support] / np.linalg.norm(A[:, support], axis=0)).astype(np.longdouble)
    basis = []
    for u in U.T:
        for _ in range(2):
            for q in basis:
                u = u - q * (q @ u)
        basis.append(u / np.sqrt(u @ u))
    fit = sum(q * (q @ y) for q in basis)
    return float(np.linalg.norm((A.astype(np.longdouble) @ coef - fit).astype(float))) / float(
        np.linalg.norm(y)
    )


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seed", range(8))
def test_the_residual_told_is_the_residual(name, seed):
    """The last model and every model on the way: no condition makes a fit of rounding errors."""
    for A, y in (vandermonde(seed), close_columns(seed), close_columns(seed, digits=7)):
        call = dict(CALLS[name])
        if "sparsity" in call:
            call["sparsity"] = min(call["sparsity"], *A.shape)
        solution = ALGORITHMS[name](A, y, **call)
        length = np.linalg.norm(y)
        true = np.linalg.norm(y - A @ solution.coef)
        assert abs(true - solution.residual_norm) <= 1e-8 * length
        assert solution.check(A, y).ok
        for model in solution.path.models():
            true = np.linalg.norm(y - A @ model.coef)
            assert abs(true - model.loss**0.5) <= 1e-6 * length
        if name in LEAST_SQUARES:
            support = solution.support
            assert distance_from_fit(A, y, solution.coef, support) <= 1e-7


def test_no_size_of_coefficients_excuses_a_wrong_residual():
    """A check that forgives errors for the size of the coefficients forgives everything."""
    A = np.column_stack([np.ones(9), np.ones(9) + 1e-6 * np.arange(9.0)])
    y = np.cos(np.arange(9.0))
    solution = sparsewise.mp(A, y, sparsity=2, start=[0, 1], max_iter=1)
    assert solution.check(A, y).ok
    for size in (1.0, 1e5, 1e10, 1e15):
        coef = size * np.array([1.0, -1.0])
        told = np.linalg.norm(y - A @ coef) + 0.01 * np.linalg.norm(y)
        object.__setattr__(solution, "coef", coef)
        object.__setattr__(solution, "residual_norm", float(told))
        assert not solution.check(A, y).ok


@pytest.mark.parametrize("seed", range(30))
def test_what_an_algorithm_returns_can_be_begun_with(seed):
    """Whether columns are dependent does not depend on their order."""
    A, y = close_columns(seed)
    k = min(A.shape) - 1
    support = sparsewise.forward(A, y, sparsity=k).support
    for name in ("backward", "srr", "ompr", "subspace_pursuit", "omp"):
        for start in (support, support[::-1]):
            solution = ALGORITHMS[name](A, y, sparsity=k, start=start)
            assert solution.check(A, y).ok


@pytest.mark.parametrize("name", ["rmp", "fast_sbl", "sbl"])
def test_a_posterior_has_digits(name):
    """Where prior variances grow without bound, columns are left out rather than digits."""
    for n, m, sigma in ((14, 21, 1e-3), (18, 19, 5e-3)):
        A = 1 / (1 + np.arange(n)[:, None] + np.arange(m))
        y = normal(np.random.default_rng(n), n)
        solution = ALGORITHMS[name](A, y, sigma=sigma * np.linalg.norm(y))
        true = np.linalg.norm(y - A @ solution.coef)
        assert abs(true - solution.residual_norm) <= 0.1 * solution.sigma
        assert solution.check(A, y).ok


def test_backward_from_above_its_bound():
    """A bound that the start does not meet is not told as met."""
    for name in ("backward", "lace"):
        solution = ALGORITHMS[name](np.eye(3)[:, :2], np.ones(3), residual=1e-9)
        assert solution.stop is Stop.NO_IMPROVEMENT


@pytest.mark.parametrize("name", ["fast_sbl", "rmp", "forward", "rmp0", "gomp", "srr"])
def test_a_long_matrix_of_powers_ends(name):
    """Guess after guess turns out to be dependent: each is out of the way until a step is made."""
    x = np.linspace(0, 1.5 ** (25 / 1100), 60)
    A = np.vander(x, 1100, increasing=True)
    y = A[:, [3, 40, 700]] @ np.array([1.0, -2.0, 1.5])
    calls = {"rmp0": {"delta": 1e-6}, "gomp": {"sparsity": 30, "batch": 4}}
    few = {"sparsity": 12} if name in ("forward", "srr") else {}
    steps = []

    def count(step):
        steps.append(step)
        return len(steps) > 5000

    solution = ALGORITHMS[name](A, y, callback=count, **calls.get(name, few))
    assert solution.stop is not Stop.CALLBACK
    assert solution.check(A, y).ok


# Enough for rounding errors to grow in compiled code; plain Python, which is slow, does the same.
LARGE = 10 if INTERPRETED else 30
SINGLE = {
    "forward": {"sparsity": LARGE},
    "omp": {"sparsity": LARGE},
    "rmp0": {"delta": 0.1},
    "foba": {"delta": 0.1},
    # Hundreds of re-estimations make the factor anew, however well it holds.
    "rmp": {"sigma": 0.1, "min_increase": 1e-2},
    "fast_sbl": {"sigma": 0.1, "min_increase": 1e-2},
}


def left_in_span(A, y, solution):
    """What the columns could still take out of the residual, in roundings of the coefficients."""
    S = solution.support
    norms, size = np.linalg.norm(A[:, S].astype(complex), axis=0), np.linalg.norm(y.astype(complex))
    x = solution.coef[S] * norms / size
    W, r = A[:, S] / norms, y / size - A[:, S] / norms @ x
    if not solution.least_squares:  # below the columns stands what damps them
        d = solution.sigma / np.sqrt(solution.gamma[S]) / norms
        W, r = np.vstack([W, np.diag(d)]), np.append(r, -d * x)
    left = np.linalg.norm(np.linalg.qr(W)[0].conj().T @ r)
    return left / (np.finfo(solution.coef.dtype).eps * (1 + np.abs(x).sum()))


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_ordinary_fits_in_single_precision_need_no_qr(name, dtype, monkeypatch):
    rng, kind = np.random.default_rng(3), complex if dtype is np.complex64 else float
    n, m = 7 * LARGE, 10 * LARGE
    A, x = normal(rng, n, m, kind=kind), np.zeros(m)
    x[:LARGE] = rng.choice([-1.0, 1.0], LARGE)
    A, y = A.astype(dtype), (A @ x + 0.1 * normal(rng, n, kind=kind)).astype(dtype)
    with monkeypatch.context() as without:
        without.delattr(np.linalg, "qr")
        solution = getattr(sparsewise, name)(A, y, **SINGLE[name])
    assert solution.support.size >= LARGE
    assert left_in_span(A, y, solution) < 1


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("seed", range(2, 4) if INTERPRETED else range(5))
def test_fits_in_single_precision_are_as_good_as_those_of_qr(name, dtype, seed):
    """From hardly to strongly correlated columns, of a refit or not."""
    rng, kind = np.random.default_rng(seed), complex if dtype is np.complex64 else float
    common = normal(rng, 60, 12, kind=kind)[:, rng.integers(0, 12, 50)]
    A = common + normal(rng, 60, 50, kind=kind) * 10.0 ** -rng.uniform(0, seed, 50)
    A, y = A.astype(dtype), (A @ normal(rng, 50) + normal(rng, 60, kind=kind)).astype(dtype)
    solution = getattr(sparsewise, name)(A, y, **SINGLE[name])
    assert left_in_span(A, y, solution) < 2
    assert solution.check(A, y).ok
