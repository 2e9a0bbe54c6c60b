"""The kernel matrix in tiles against the same matrix held as a whole."""

import tracemalloc

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern

import sparsewise
from sparsewise.design import Centred, base
from sparsewise.design import kernel_matrix as kernel_module
from sparsewise.design.kernel_matrix import KernelDesign, evaluate
from sparsewise.errors import InputError
from sparsewise.estimators.kernel_functions import Stationary
from sparsewise.suffstats.triangle import condense_design
from tests.problems import normal
from tests.storages import reflected

KERNELS = {
    "matern32": Stationary("matern32", 1.5),
    "scikit-learn": Matern(nu=2.5) + DotProduct(),
    "function": lambda X, Y: np.cos(X[:, :1] - Y[:, 0]) + 3.0,
    "not symmetric": lambda X, Y: X[:, :1] * np.exp(Y[:, 1]),
    "whole numbers": lambda X, Y: 3 * (X[:, :1] > Y[:, 0]).astype(np.int64),
}
DTYPES = [np.float64, np.float32]


@pytest.fixture(params=["whole", "tiles", "single entries"])
def tiles(request, monkeypatch):
    """The size of a tile must not matter."""
    if request.param == "tiles":
        monkeypatch.setattr(base, "BLOCK_BYTES", 8 * 60)
        monkeypatch.setattr(kernel_module, "WIDEST", 4)
    elif request.param == "single entries":
        monkeypatch.setattr(base, "BLOCK_BYTES", 1)
        monkeypatch.setattr(kernel_module, "WIDEST", 1)


def points(dtype=np.float64, n=23, m=11):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)).astype(dtype)
    return X, X[np.sort(rng.choice(n, m, replace=False))]


def kernel_design(kernel, X, C, centred=True):
    """The kernel matrix in tiles, with the means taken away or not."""
    design = KernelDesign(kernel, X, C)
    return Centred(design) if centred else design


def whole(kernel, X, C, centred):
    K = np.asarray(kernel(X, C), np.float64)
    return reflected(K) if centred else K


def close(actual, expected, dtype):
    assert actual.shape == expected.shape
    size = float(np.abs(expected).max(initial=1e-300))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=500 * np.finfo(dtype).eps * size)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_against_the_whole_matrix(tiles, name, dtype, centred):
    kernel = KERNELS[name]
    X, C = points(dtype)
    design = kernel_design(kernel, X, C, centred=centred)
    K = whole(kernel, X, C, centred)
    rng = np.random.default_rng(1)
    eps = dtype  # that of the points: tiles of a double kernel of single points may differ by it
    assert design.shape == K.shape
    close(design.columns(slice(None)), K, eps)
    J = np.array([7, 0, 3])
    close(design.columns(J), K[:, J], eps)
    close(design.columns(J[:0]), K[:, :0], eps)
    close(design.column(5), K[:, 5], eps)
    for kind in (float, complex):
        x, V = normal(rng, 11, kind=kind), normal(rng, len(K), 4, kind=kind)
        x[[2, 8]] = 0
        close(design.matvec(x), K @ x, eps)
        close(design.rmatmat(V), K.T @ V, eps)
        close(design.rmatvec(V[:, 0]), K.T @ V[:, 0], eps)
        left, right = np.vdot(V[:, 0], design.matvec(x)), np.vdot(design.rmatvec(V[:, 0]), x)
        assert abs(left - right) <= 500 * np.finfo(eps).eps * np.linalg.norm(K)
    close(design.norms(), np.linalg.norm(K, axis=0), eps)
    close(design.stored().A, K, eps)


def test_the_type_is_the_kernels():
    X, C = points(np.float32)
    assert kernel_design(KERNELS["matern32"], X, C).dtype == np.float32
    assert kernel_design(KERNELS["whole numbers"], X, C).dtype == np.float64
    assert kernel_design(RBF(), *points()).dtype == np.float64


@pytest.mark.parametrize("fold", [1, 7, 512])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("name", KERNELS)
def test_condensed(name, centred, fold, monkeypatch):
    """All inner products are those of the whole matrix and the target."""
    monkeypatch.setattr(base, "FOLD", fold)
    X, C = points()
    y = np.sin(X[:, 0]) + X[:, 1]
    y = reflected(y) if centred else y
    tiles = kernel_design(KERNELS[name], X, C, centred=centred)
    design, z = condense_design(tiles, y)
    K = whole(KERNELS[name], X, C, centred)
    R = tiles.triangle()
    if centred:
        close(tiles.means, KERNELS[name](X, C).mean(axis=0), float)
    close(R.T @ R, K.T @ K, float)
    np.testing.assert_array_equal(R, np.triu(R))
    B = design.columns(slice(None))
    assert design.shape == (12, 11)
    assert design.rows == 23 - centred
    close(B.T @ B, K.T @ K, float)
    close(B.T @ z, K.T @ y, float)
    close(z @ z, y @ y, float)
    close(design.norms(), np.linalg.norm(K, axis=0), float)


def test_only_what_a_product_needs_is_computed():
    calls = []

    def kernel(X, Y):
        calls.append(len(X) * len(Y))
        return X @ Y.T

    design = kernel_design(kernel, *points())
    calls.clear()
    x = np.zeros(11)
    x[[3, 9]] = 1
    design.matvec(x)
    assert sum(calls) == 2 * 23


@pytest.mark.parametrize(
    ("length_scale", "dtype"), [(1e2, np.float32), (1e2, np.float64), (1e5, np.float64)]
)
def test_centring_of_nearly_constant_columns(length_scale, dtype):
    """All values are near 1: products of the centred matrix must agree with its columns."""
    X, C = points(dtype)
    design = kernel_design(Stationary("rbf", length_scale), X, C)
    K = design.columns(slice(None)).astype(np.float64)
    assert K.any(axis=0).all()
    V = np.random.default_rng(2).standard_normal((22, 3)).astype(dtype)
    # Values near 1 carry rounding errors of size eps, however small their differences are.
    error = 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(design.rmatmat(V), K.T @ V, rtol=0, atol=error)
    values = Stationary("rbf", length_scale)(X, C).astype(np.float64)
    np.testing.assert_allclose(K, reflected(values), rtol=0, atol=error)


def test_constant_columns_are_zero():
    """What rounding leaves of them must not become a feature."""
    X, C = points()
    design = kernel_design(lambda X, Y: 0.1 + np.zeros((len(X), len(Y))), X, C)
    assert not design.norms().any()
    assert not condense_design(design, np.arange(22.0) - 11)[0].norms().any()
    y = np.random.default_rng(3).standard_normal(22)
    assert sparsewise.forward(design, y, delta=1e-9).support.size == 0


@pytest.mark.parametrize("shape", [(30, 20), (300, 250)])
@pytest.mark.parametrize("algorithm", ["rmp", "rmp0", "foba", "forward", "omp"])
def test_algorithms_agree_with_the_whole_matrix(algorithm, shape, monkeypatch):
    monkeypatch.setattr(base, "BLOCK_BYTES", 1 << 14)
    X, C = points(n=shape[0], m=shape[1])
    y = reflected(np.sin(X[:, 0]) + X[:, 1])
    design = kernel_design(Stationary("matern12", 1.0), X, C)
    words = {"rmp": {}, "omp": {"sparsity": 5}}.get(algorithm, {"delta": 0.7})
    run = sparsewise.ALGORITHMS[algorithm]
    expected = run(design.stored(), y, **words)
    assert expected.support.size > 2
    for solution in (run(design, y, **words), run(*condense_design(design, y), **words)):
        np.testing.assert_array_equal(solution.support, expected.support)
        np.testing.assert_allclose(solution.coef, expected.coef, rtol=1e-7)
        assert solution.residual_norm == pytest.approx(expected.residual_norm)
        assert solution.check(design, y).ok  # from the data as they were


def test_memory_stays_far_below_the_matrix(monkeypatch):
    monkeypatch.setattr(base, "BLOCK_BYTES", 1 << 18)
    n, m, k = 4000, 400, 6
    X, C = points(n=n, m=m)
    y = reflected(np.sin(2 * X[:, 0]))
    kernel = Stationary("matern32", 1.0)
    small = kernel_design(kernel, X[:500], C)
    sparsewise.forward(small, y[:499], sparsity=k)  # compiles and imports what it needs
    design = kernel_design(kernel, X, C)
    tracemalloc.start()
    try:
        solution = sparsewise.forward(design, y, sparsity=k)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert solution.support.size == k
    assert peak < 8 * n * m / 2, f"{peak / 2**20:.1f} MiB"


# --- bad kernels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "error", "words"),
    [
        (lambda X, Y: Y @ X.T, ValueError, r"shape \(1, 2\) for 2 and 1 points"),
        (lambda X, Y: np.ones(len(X)), ValueError, r"must return one value for each pair"),
        (lambda X, Y: 1.0, ValueError, r"shape \(\)"),
        (lambda X, Y: np.full((len(X), len(Y)), np.nan), ValueError, "NaN or infinity, first for"),
        (lambda X, Y: np.full((len(X), len(Y)), np.inf), ValueError, "NaN or infinity, first for"),
        (lambda X, Y: 1j * np.ones((len(X), len(Y))), TypeError, "must return real numbers"),
        (lambda X, Y: np.full((len(X), len(Y)), "a"), TypeError, "must return real numbers"),
    ],
)
def test_a_bad_kernel_is_refused_at_once(kernel, error, words):
    with pytest.raises(error, match=words):
        KernelDesign(kernel, *points())


def test_nan_is_found_wherever_it_is(tiles):
    X, C = points()

    def kernel(X_, Y_):
        K = X_ @ Y_.T
        K[(X[17] == X_).all(axis=1)] = np.nan
        return K

    design = kernel_design(kernel, X, C)
    for product in (
        lambda: design.rmatvec(np.ones(22)),
        lambda: design.matvec(np.ones(11)),
        lambda: design.columns(np.array([4])),
        design.norms,
        design.stored,
    ):
        with pytest.raises(ValueError, match="row 17 of X"):
            product()


def test_large_values_are_not_infinite():
    X = np.ones((4, 1))
    assert np.isfinite(evaluate(lambda X, Y: np.full((len(X), len(Y)), 1e308), X, X)).all()


def test_what_a_kernel_raises_is_told_as_its_own():
    def broken(X, Y):
        raise ZeroDivisionError("of its own\nin two lines")

    X = np.arange(6.0)[:, None]
    with pytest.raises(InputError, match=r"^The kernel raised ZeroDivisionError \(of its own in"):
        KernelDesign(broken, X, X)
