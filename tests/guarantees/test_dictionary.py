"""Coherence, Babel function and exact recovery against their definitions, and Tropp's theorem."""

import tracemalloc

import numpy as np
import pytest
import scipy.fft
import scipy.linalg

import sparsewise
from sparsewise import babel, coherence, exact_recovery
from tests.problems import normal
from tests.references import guarantees as reference
from tests.test_bad_input import refused


def phases(rng: np.random.Generator, count: int, kind: type = float) -> np.ndarray:
    """Random signs, or numbers of modulus one."""
    z = normal(rng, count, kind=kind)
    return z / np.abs(z)


def correlated(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    return normal(rng, n, m) + 3 * normal(rng, n, 1)


def with_copies(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """A copy, a negated and rescaled copy and a column of zeros."""
    A = normal(rng, n, m)
    A[:, 3], A[:, 4], A[:, 1] = A[:, 0], -2 * A[:, 2], 0
    return A


MATRICES = {
    "tall": lambda rng: normal(rng, 12, 7),
    "wide": lambda rng: normal(rng, 4, 8),
    "complex": lambda rng: normal(rng, 9, 7, kind=complex),
    "complex wide": lambda rng: normal(rng, 3, 8, kind=complex),
    "single": lambda rng: normal(rng, 9, 7).astype(np.float32),
    "single complex": lambda rng: normal(rng, 9, 7, kind=complex).astype(np.complex64),
    "integers": lambda rng: rng.integers(-3, 4, (9, 7)),
    "correlated": lambda rng: correlated(rng, 9, 7),
    "orthonormal": lambda rng: np.linalg.qr(normal(rng, 8, 8))[0],
    "copies": lambda rng: with_copies(rng, 9, 7),
    "only zeros": lambda rng: np.zeros((4, 5)),
    "one row": lambda rng: normal(rng, 1, 5),
    "two columns": lambda rng: normal(rng, 6, 2),
}


@pytest.fixture(params=[(name, seed) for name in MATRICES for seed in (0, 1)], ids=str)
def A(request):
    name, seed = request.param
    return MATRICES[name](np.random.default_rng([seed, len(name)]))


def rounding(A) -> float:
    """What rounding may do to a figure of this matrix."""
    return 64 * float(np.finfo(A.dtype if A.dtype.kind in "fc" else float).eps)


# --- against the definitions ----------------------------------------------------------------------


def test_coherence_is_the_largest_inner_product(A):
    assert coherence(A) == pytest.approx(reference.coherence(A), abs=rounding(A))
    assert 0 <= coherence(A) <= 1


def test_babel_is_the_largest_sum_of_inner_products(A):
    m = A.shape[1]
    values = babel(A, m - 1)
    expected = [reference.babel(A, k) for k in range(1, m)]
    assert values.shape == (m - 1,)
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, expected, rtol=0, atol=rounding(A) * m)


def test_laws_of_babel(A):
    values = babel(A, A.shape[1] - 1)
    k = np.arange(1, values.size + 1)
    assert values[0] == coherence(A)
    assert np.all(np.diff(values) >= 0)
    assert np.all(values <= k * values[0] * (1 + 1e-12))
    for few in range(1, values.size):
        np.testing.assert_array_equal(babel(A, few), values[:few])


def test_exact_recovery_is_that_of_the_pseudoinverse(A):
    rng = np.random.default_rng(3)
    m = A.shape[1]
    for size in range(m):
        S = rng.permutation(m)[:size]
        value, holds = exact_recovery(A, S)
        assert value == pytest.approx(reference.exact_recovery(A, S), rel=1e4 * rounding(A))
        assert holds == (value < 1)


def test_one_column():
    A = np.ones((3, 1))
    assert coherence(A) == 0
    assert exact_recovery(A, [0]) == (0, True)
    assert exact_recovery(A, []) == (0, True)


@pytest.mark.parametrize("kind", [float, complex])
def test_every_storage_gives_the_same(store, kind):
    A = 2 * np.eye(12, 8) + 0.2 * normal(np.random.default_rng(5), 12, 8, kind=kind)
    stored, close = store(A), {"rel": 100 * store.eps, "abs": 100 * store.eps}
    assert coherence(stored) == pytest.approx(coherence(A), **close)
    assert babel(stored, 7) == pytest.approx(babel(A, 7), **close)
    assert exact_recovery(stored, [5, 0, 2])[0] == pytest.approx(
        exact_recovery(A, [5, 0, 2])[0], **close
    )
    bounds = sparsewise.forward_noise_bound(A, 1)
    assert bounds.bound > 0
    assert sparsewise.forward_noise_bound(stored, 1) == pytest.approx(bounds, **close)
    assert sparsewise.backward_noise_bound(stored) == pytest.approx(
        sparsewise.backward_noise_bound(A), **close
    )


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("decades", [0, 3, 100])
def test_scaling_columns_changes_nothing(kind, decades):
    rng = np.random.default_rng(decades)
    A = normal(rng, 10, 8, kind=kind)
    scaled = A * (10.0 ** rng.uniform(-decades, decades, 8) * phases(rng, 8, kind))
    assert coherence(scaled) == pytest.approx(coherence(A), rel=1e-12)
    np.testing.assert_allclose(babel(scaled, 7), babel(A, 7), rtol=1e-12)
    S = [1, 6, 3]
    assert exact_recovery(scaled, S)[0] == pytest.approx(exact_recovery(A, S)[0], rel=1e-12)


def test_order_and_repeats_in_a_support_change_nothing():
    A = normal(np.random.default_rng(6), 10, 8)
    value = exact_recovery(A, [1, 6, 3]).value
    assert exact_recovery(A, [6, 3, 6, 1]).value == pytest.approx(value, rel=1e-12)
    assert exact_recovery(A, np.array([3, 1, 6], np.uint8)).value == pytest.approx(value, rel=1e-12)
    assert exact_recovery(A, iter([3, 1, 6])).value == pytest.approx(value, rel=1e-12)


# --- closed forms ---------------------------------------------------------------------------------


def icosahedron() -> np.ndarray:
    """The six diagonals of the icosahedron: equal angles, cosine 1/√5."""
    golden = (1 + 5**0.5) / 2
    half = np.array([[0, 1, golden], [0, 1, -golden]])
    return np.concatenate([np.roll(half, shift, axis=1) for shift in range(3)]).T


def simplex(n: int) -> np.ndarray:
    """n + 1 unit vectors in n dimensions with inner products -1/n."""
    centred = np.eye(n + 1) - 1 / (n + 1)
    return scipy.linalg.orth(centred).T @ centred


@pytest.mark.parametrize(
    ("frame", "mu"), [(icosahedron(), 5**-0.5), (simplex(2), 0.5), (simplex(7), 1 / 7)]
)
def test_equiangular_frames(frame, mu):
    m = frame.shape[1]
    assert coherence(frame) == pytest.approx(mu, rel=1e-12)
    np.testing.assert_allclose(babel(frame, m - 1), mu * np.arange(1, m), rtol=1e-12)


@pytest.mark.parametrize("n", [2, 16, 64])
@pytest.mark.parametrize("transform", [scipy.linalg.hadamard, scipy.linalg.dft])
def test_identity_beside_hadamard_or_fourier(transform, n):
    """Every column meets n others, each with 1/√n."""
    A = np.hstack([np.eye(n), transform(n)])
    assert coherence(A) == pytest.approx(n**-0.5, rel=1e-12)
    expected = np.minimum(np.arange(1, 2 * n), n) / n**0.5
    np.testing.assert_allclose(babel(A, 2 * n - 1), expected, rtol=1e-10)


def test_identity_beside_cosines():
    n = 32
    A = np.hstack([np.eye(n), scipy.fft.dct(np.eye(n), norm="ortho", axis=0)])
    assert coherence(A) == pytest.approx((2 / n) ** 0.5 * np.cos(np.pi / (2 * n)), rel=1e-12)


def test_exact_recovery_in_closed_form():
    """One column at angles to two orthonormal ones: the sum of its two cosines."""
    A = np.array([[1.0, 0, 0.6], [0, 1, -0.5], [0, 0, 3]])
    length = np.linalg.norm(A[:, 2])
    assert exact_recovery(A, [0, 1]).value == pytest.approx(1.1 / length)
    assert exact_recovery(A[:2], [0, 1]).value == pytest.approx(1.1 / np.hypot(0.6, 0.5))
    assert not exact_recovery(A[:2], [0, 1]).holds


# --- large matrices -------------------------------------------------------------------------------


def test_babel_of_a_wide_matrix_never_holds_all_inner_products():
    m = 4000
    A = normal(np.random.default_rng(8), 20, m)
    tracemalloc.start()
    try:
        values = babel(A, 5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < m * m * 8 / 4
    U = reference.unit_columns(A)
    highest = np.zeros(5)
    for j in range(m):
        inner = np.abs(U.T @ U[:, j])
        inner[j] = 0
        highest = np.maximum(highest, np.cumsum(np.sort(inner)[:-6:-1]))
    np.testing.assert_allclose(values, highest, rtol=1e-12)


@pytest.mark.parametrize("kind", [float, complex])
def test_babel_across_blocks(monkeypatch, kind):
    """Blocks of 16 columns, of which the last is not full."""
    monkeypatch.setattr("sparsewise.guarantees.dictionary.BLOCK_BYTES", 1)
    A = normal(np.random.default_rng(9), 6, 37, kind=kind)
    U = reference.unit_columns(A)
    inner = np.abs(U.conj().T @ U) - np.eye(37)
    expected = np.cumsum(-np.sort(-inner, axis=0), axis=0).max(axis=1)[:-1]
    np.testing.assert_allclose(babel(A, 36), expected, rtol=1e-12)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 8, -1, 1.5, "2", None])
def test_bad_number_of_columns(k):
    A = np.eye(8)
    with refused("k must be"):
        babel(A, k)


def test_no_other_column_to_sum_over():
    with refused():
        babel(np.ones((3, 1)), 1)


@pytest.mark.parametrize("support", [[8], [-1], [0.5], ["a"], [[0, 1]], np.ones(8, bool)])
def test_bad_support(support):
    with refused("support"):
        exact_recovery(np.eye(8), support)


def test_not_a_number():
    A = np.eye(4)
    A[2, 1] = np.nan
    for figure in (coherence, lambda A: babel(A, 2), lambda A: exact_recovery(A, [0])):
        with refused("A"):
            figure(A)
    with refused("A"):  # with nothing to compare it with
        coherence(A[:, 1:2])


# --- dependent supports ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_a_dependent_support_has_no_exact_recovery(dtype):
    rng = np.random.default_rng(10)
    A = normal(rng, 6, 9)
    A[:, 4] = 0.3 * A[:, 0] - 2 * A[:, 2]  # depends on two others
    A[:, 5] = 0
    A[:, 7] = -3 * A[:, 6]
    A = A.astype(dtype)
    for S in ([0, 4, 2], [5], [1, 5], [6, 7], [0, 1, 2, 3, 6, 8, 4], range(8)):
        assert exact_recovery(A, S) == (np.inf, False)
    assert np.isfinite(exact_recovery(A, [0, 4]).value)


def test_a_dependent_support_of_all_columns_has_no_exact_recovery():
    assert exact_recovery(np.ones((3, 2)), [0, 1]) == (np.inf, False)
    assert exact_recovery(np.zeros((3, 1)), [0]) == (np.inf, False)


# --- Tropp's theorem ------------------------------------------------------------------------------

GREEDY = [sparsewise.omp, sparsewise.forward]


def dictionary(rng: np.random.Generator, kind: type) -> tuple[np.ndarray, np.ndarray]:
    """Unit columns and a support for which the condition may well hold or fail."""
    n, m, k = rng.integers(8, 30), rng.integers(8, 24), rng.integers(2, 5)
    A = reference.unit_columns(normal(rng, n, m, kind=kind))
    return A, np.sort(rng.permutation(m)[:k])


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", range(6))
def test_exact_recovery_recovers_whatever_the_coefficients(seed, kind):
    rng = np.random.default_rng([seed, 11])
    held = 0
    for _ in range(60):
        A, S = dictionary(rng, kind)
        if not exact_recovery(A, S).holds:
            continue
        held += 1
        for spread in (0, 1, 5):
            x = phases(rng, S.size, kind) * 10 ** rng.uniform(-spread, 0, S.size)
            for algorithm in GREEDY:
                assert algorithm(A, A[:, S] @ x, sparsity=S.size).support.tolist() == S.tolist()
    assert held > 5


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", range(6))
def test_without_exact_recovery_some_coefficients_mislead(seed, kind):
    """y with equal inner products with all of S, of the phases of A_S⁺ a_j: a_j meets it more.

    a_j* y = (A_S⁺ a_j)* z = ‖A_S⁺ a_j‖₁ > 1, while |a_i* y| = |z_i| = 1 on S.
    """
    rng = np.random.default_rng([seed, 12])
    failed = 0
    for _ in range(60):
        A, S = dictionary(rng, kind)
        value, holds = exact_recovery(A, S)
        if holds:
            continue
        failed += 1
        outside = reference.others(A.shape[1], S)
        inverse = np.linalg.pinv(A[:, S])
        weights = inverse @ A[:, outside]
        worst = weights[:, np.abs(weights).sum(axis=0).argmax()]
        y = inverse.conj().T @ (worst / np.abs(worst))
        np.testing.assert_allclose(np.abs(A[:, S].conj().T @ y), 1)
        assert np.abs(A.conj().T @ y).max() == pytest.approx(value)
        for algorithm in GREEDY:
            assert algorithm(A, y, sparsity=1).support[0] not in S
    assert failed > 5


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", range(4))
def test_a_babel_function_below_one_half_is_enough(seed, kind):
    rng = np.random.default_rng([seed, 13])
    below = 0
    for _ in range(100):
        m = int(rng.integers(3, 12))
        k = int(rng.integers(1, min(m, 5)))
        basis = np.linalg.qr(normal(rng, m + 2, m, kind=kind))[0]
        A = basis + rng.uniform(0, 0.15) * normal(rng, m + 2, m, kind=kind)
        mu = np.append(0.0, babel(A, k))
        value, holds = exact_recovery(A, rng.permutation(m)[:k])
        if mu[k] < 0.5:
            below += 1
            assert holds
        if mu[k - 1] < 1:  # Tropp's estimate
            assert value <= mu[k] / (1 - mu[k - 1]) * (1 + 1e-12)
    assert below > 10


def test_an_operator_with_a_broken_adjoint_is_refused():
    from scipy.sparse.linalg import LinearOperator

    A = np.random.default_rng(0).standard_normal((10, 6))
    broken = LinearOperator(
        A.shape, matvec=lambda x: A @ x, rmatvec=lambda v: np.full(6, np.nan), dtype=float
    )
    calls = [
        lambda: sparsewise.coherence(broken),
        lambda: sparsewise.babel(broken, 2),
        lambda: sparsewise.exact_recovery(broken, [0, 1]),
        lambda: sparsewise.backward_noise_bound(broken),
        lambda: sparsewise.certify(broken, A[:, 0] + A[:, 3], [0, 1]),
    ]
    for call in calls:
        with pytest.raises(sparsewise.InputError, match="operator whose rmatvec returned NaN"):
            call()
