"""Blocks, threads, and who takes the steps of which signal."""

import numpy as np
import pytest
import scipy.sparse

import sparsewise as sw
from sparsewise import plan
from sparsewise.design import as_design
from sparsewise.engine import encoding
from sparsewise.problem.signals import Signals
from tests.problems import normal, unit_columns


@pytest.fixture
def by_engine(monkeypatch):
    """The signals that are left to the function for one."""
    left: list[int] = []
    one = encoding.ByEngine.one

    def noted(self, y, t):
        left.append(t)
        return one(self, y, t)

    monkeypatch.setattr(encoding.ByEngine, "one", noted)
    return left


def same(codes, A, Y, name, **parameters):
    for t in range(Y.shape[1]):
        one = sw.ALGORITHMS[name](A, Y[:, t], **parameters)
        np.testing.assert_array_equal(codes.support(t), one.support)
        assert codes.stops[t] is one.stop
        found = codes.coef[:, [t]].toarray()[:, 0]
        np.testing.assert_allclose(found, one.coef, rtol=0, atol=1e-10 * np.abs(one.coef).max())
        np.testing.assert_allclose(
            codes.residual_norms[t], one.residual_norm, atol=1e-12 * np.linalg.norm(Y[:, t])
        )


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("name", ["omp", "forward"])
def test_noise_is_left_to_nobody_else(by_engine, name, kind):
    rng = np.random.default_rng(0)
    A, Y = normal(rng, 30, 60, kind=kind), normal(rng, 30, 60, kind=kind)
    codes = sw.encode(A, Y, algorithm=name, sparsity=10)
    assert not by_engine
    same(codes, A, Y, name, sparsity=10)


def test_exact_fits_are_told_by_the_residual_itself(by_engine):
    rng = np.random.default_rng(1)
    A = normal(rng, 40, 60)
    Y = A[:, [3, 7, 30]] @ normal(rng, 3, 50)
    for parameters in ({"sparsity": 3}, {"residual": 1e-8}):
        same(sw.encode(A, Y, **parameters), A, Y, "omp", **parameters)
    assert not by_engine


def test_single_precision_leaves_few(by_engine):
    rng = np.random.default_rng(2)
    A = normal(rng, 32, 64).astype(np.float32)
    Y = normal(rng, 32, 100).astype(np.float32)
    codes = sw.encode(A, Y, algorithm="forward", sparsity=6)
    assert codes.coef.dtype == np.float32
    assert len(by_engine) < 10
    for t in range(100):
        np.testing.assert_array_equal(codes.support(t), sw.forward(A, Y[:, t], sparsity=6).support)


@pytest.mark.parametrize("apart", [0.0, 1e-13, 1e-9, 1e-5])
@pytest.mark.parametrize("name", ["omp", "forward"])
def test_near_copies(apart, name):
    rng = np.random.default_rng(3)
    A = normal(rng, 20, 15)
    A = np.column_stack([A, A[:, ::-1] * 3.0 + apart * normal(rng, 20, 15)])
    Y = A[:, [2, 5, 8]] @ normal(rng, 3, 40) + 0.1 * normal(rng, 20, 40)
    same(sw.encode(A, Y, algorithm=name, sparsity=8), A, Y, name, sparsity=8)


def test_copies_are_known_beforehand(by_engine):
    rng = np.random.default_rng(4)
    A = normal(rng, 20, 10, kind=complex)
    A = np.column_stack([A, A * np.exp(2j), 0 * A[:, :1]])
    Y = normal(rng, 20, 40, kind=complex)
    same(sw.encode(A, Y, sparsity=6), A, Y, "omp", sparsity=6)
    assert not by_engine
    unit = unit_columns(A[:, :-1]).T
    found = encoding.copies(unit @ unit.conj().T, unit, np.finfo(float).eps)
    np.testing.assert_array_equal(found, np.arange(20) >= 10)


def test_scores_that_rounding_leaves_open_go_to_the_engine(by_engine):
    """Two columns whose scores differ by as much as a tie, give or take a rounding error."""
    Q = np.linalg.qr(normal(np.random.default_rng(5), 12, 12))[0]
    tie = as_design(Q).tolerances.tie
    y = Q[:, 0] * (1 - tie) ** 0.5 + Q[:, 1]
    Y = np.column_stack([y, Q[:, 0] + Q[:, 1], Q[:, 0] + 2 * Q[:, 1]])
    for name in ("omp", "forward", "gomp"):
        parameters = {"sparsity": 1, **({"batch": 1} if name == "gomp" else {})}
        same(sw.encode(Q, Y, algorithm=name, **parameters), Q, Y, name, **parameters)
    assert set(by_engine) == {0}  # equal scores are a tie, and different ones are none


def test_bounds_that_rounding_leaves_open_go_to_the_engine(by_engine):
    rng = np.random.default_rng(6)
    A, Y = normal(rng, 20, 30), normal(rng, 20, 20)
    bound = sw.omp(A, Y[:, 4], sparsity=3).residual_norm
    same(sw.encode(A, Y, residual=bound), A, Y, "omp", residual=bound)
    path = sw.forward(A, Y[:, 5], sparsity=4).path.losses
    delta = float(np.sqrt(path[-2] - path[-1]))
    for name in ("forward", "rmp0"):
        same(sw.encode(A, Y, algorithm=name, delta=delta), A, Y, name, delta=delta)
    assert {4, 5} <= set(by_engine)
    assert len(by_engine) < 10


@pytest.mark.parametrize("name", ["omp", "forward", "gomp"])
def test_dependent_columns_and_exhausted_ones(name):
    rng = np.random.default_rng(7)
    A = normal(rng, 12, 3) @ normal(rng, 3, 9)
    Y = normal(rng, 12, 15)
    more = {"batch": 2} if name == "gomp" else {}
    same(sw.encode(A, Y, algorithm=name, residual=0.0, **more), A, Y, name, residual=0.0, **more)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_columns_and_signals_of_any_scale(scale):
    rng = np.random.default_rng(8)
    A = normal(rng, 20, 30) * 10.0 ** rng.uniform(-150, 150, 30)
    Y = normal(rng, 20, 12) * scale
    Y[:, 3] *= 1e-40
    codes = sw.encode(A, Y, algorithm="forward", sparsity=4)
    for t in range(12):
        one = sw.forward(A, Y[:, t], sparsity=4)
        np.testing.assert_array_equal(codes.support(t), one.support)
        np.testing.assert_allclose(codes.coef[:, [t]].data, one.coef[one.support], rtol=1e-9)


@pytest.mark.parametrize("jobs", [1, 2, -1])
def test_threads_and_blocks_change_nothing(monkeypatch, jobs):
    rng = np.random.default_rng(9)
    A, Y = normal(rng, 16, 32), normal(rng, 16, 101)
    whole = sw.encode(A, Y, sparsity=4)
    monkeypatch.setattr(encoding, "BLOCK_BYTES", 1 << 13)
    parts = sw.encode(A, Y, sparsity=4, n_jobs=jobs)
    np.testing.assert_array_equal(parts.coef.indices, whole.coef.indices)
    np.testing.assert_allclose(parts.coef.data, whole.coef.data, rtol=1e-12)
    np.testing.assert_array_equal(parts.stops, whole.stops)


def test_whether_a_gram_matrix_pays(monkeypatch):
    A = np.eye(40, 64)

    def pays(held, signals):
        return encoding.is_by_gram(as_design(held), Signals(np.ones((40, signals)), 40), {})

    assert pays(A, 2)
    assert not pays(A, 1)
    assert pays(scipy.sparse.csc_array(A), 2)
    monkeypatch.setattr(plan, "GRAM_BYTES", 64 * 64 * 8 - 1)
    assert not pays(A, 2)


def test_without_a_gram_matrix(monkeypatch, by_engine):
    monkeypatch.setattr(plan, "GRAM_BYTES", 0)
    rng = np.random.default_rng(10)
    A, Y = normal(rng, 16, 32), normal(rng, 16, 20)
    same(sw.encode(A, Y, sparsity=4, n_jobs=2), A, Y, "omp", sparsity=4)
    assert len(by_engine) == 20


def remainders(A, y, columns):
    """A*r and energies of unit columns, with these columns taken out, in extended precision."""
    long = np.result_type(A, np.longdouble)
    B, r = A.astype(long), y.astype(long)
    B /= np.sqrt((np.abs(B) ** 2).sum(axis=0))
    r /= np.sqrt((np.abs(r) ** 2).sum())
    for j in columns:
        q = B[:, j] / np.sqrt((np.abs(B[:, j]) ** 2).sum())
        for _ in range(2):
            B = B - np.outer(q, q.conj() @ B)
            r = r - q * (q.conj() @ r)
    return B.conj().T @ r, (np.abs(B) ** 2).sum(axis=0)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no extended precision")
@pytest.mark.parametrize("apart", [1.0, 0.3, 0.1, 0.02])
def test_errors_are_well_within_their_bound(monkeypatch, apart):
    """Of columns that have ever more in common."""
    made = []
    work = encoding.ByGram._work
    monkeypatch.setattr(encoding.ByGram, "_work", lambda self: made.append(work(self)) or made[-1])
    rng = np.random.default_rng(11)
    worst = 0.0
    for _ in range(20):
        A = normal(rng, 24, 1) + apart * normal(rng, 24, 40)
        Y = normal(rng, 24, 2)
        codes = sw.encode(A, Y, algorithm="forward", sparsity=9)
        state, kernels = made[-1], encoding.load_gram_kernels()
        # The scores are those before the last column came.
        chosen = state.order[:9]
        np.testing.assert_array_equal(np.sort(chosen), codes.support(1))
        corr, energy = remainders(A, Y[:, 1], chosen[:8])
        others = np.setdiff1d(np.arange(40), chosen)
        error = max(
            np.abs(state.corr[0] - corr)[others].max(), np.abs(state.energy - energy)[others].max()
        )
        worst = max(worst, error / (kernels.EPS * state.at[kernels.PEAK]))
    assert worst < kernels.SHARE / 4
