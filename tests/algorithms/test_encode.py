"""`encode` takes the steps of the function for one signal, for every signal."""

import tracemalloc
import warnings
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import sparsewise as sw
from sparsewise import ALGORITHMS, InputError, Stop
from tests.problems import normal

ROOT = Path(__file__).parent.parent.parent

COMPARED = {
    "omp": [{"sparsity": 5}, {"residual": 1.5}, {"sparsity": 4, "residual": 0.5}],
    "forward": [{"sparsity": 5}, {"residual": 1.5}, {"delta": 0.8}, {"sparsity": 0}],
    "gomp": [{"sparsity": 5, "batch": 2}, {"residual": 1.5, "batch": 3}],
    "rmp0": [{"delta": 0.3}, {"delta": 0.02}],
}
EACH = [(name, parameters) for name, cases in COMPARED.items() for parameters in cases]


def assert_same(codes, A, Y, name, parameters, atol=1e-10):
    for t, y in enumerate(Y.T if isinstance(Y, np.ndarray) else Y):
        one = ALGORITHMS[name](A, y, **parameters)
        np.testing.assert_array_equal(codes.support(t), one.support)
        assert codes.stops[t] is one.stop
        found = codes.coef[:, [t]].toarray()[:, 0]
        np.testing.assert_allclose(found, one.coef, rtol=0, atol=atol * np.abs(one.coef).max())


@pytest.mark.parametrize("kind", [np.float64, np.complex128, np.float32, np.complex64])
@pytest.mark.parametrize(("name", "parameters"), EACH)
def test_against_one_at_a_time(name, parameters, kind):
    rng = np.random.default_rng(0)
    is_complex = complex if np.issubdtype(kind, np.complexfloating) else float
    A = normal(rng, 16, 30, kind=is_complex).astype(kind)
    Y = normal(rng, 16, 25, kind=is_complex).astype(kind)
    Y[:, :5] = A[:, [1, 4, 9]] @ normal(rng, 3, 5)
    Y[:, 5] = 0
    codes = sw.encode(A, Y, algorithm=name, **parameters)
    assert codes.coef.dtype == kind
    assert_same(codes, A, Y, name, parameters, 1e-10 if np.finfo(kind).eps < 1e-10 else 1e-3)
    assert codes.check(A, Y).ok


@given(st.integers(0, 10**6), st.sampled_from(EACH), st.sampled_from(["ties", "exact", "close"]))
def test_awkward_dictionaries(seed, case, family):
    name, parameters = case
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(6, 14)), int(rng.integers(6, 24))
    A = normal(rng, n, m)
    if family == "ties":
        A = rng.integers(-1, 2, (n, m)).astype(float)
    if family == "close":
        A = np.column_stack([A, A[:, :3] + 10.0 ** rng.uniform(-14, -1) * normal(rng, n, 3)])
    Y = A[:, rng.integers(0, m, 3)] @ rng.integers(-2, 3, (3, 6)).astype(float)
    if family != "exact":
        Y += rng.choice([0.0, 1e-9, 1e-2]) * normal(rng, n, 6)
    assert_same(sw.encode(A, Y, algorithm=name, **parameters), A, Y, name, parameters)


def test_complex_signals_of_real_columns():
    rng = np.random.default_rng(1)
    A, Y = normal(rng, 12, 20), normal(rng, 12, 9, kind=complex)
    codes = sw.encode(A, Y, sparsity=4)
    assert codes.coef.dtype == np.complex128
    assert_same(codes, A, Y, "omp", {"sparsity": 4})


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda Y: Y[:, ::-1]])
def test_the_layout_of_signals_changes_nothing(layout):
    """After eight columns of rank nine all gains are equal but for rounding, which then decides."""
    data = np.load(ROOT / "tests" / "data" / "rank_nine.npz")
    A, Y, delta = data["A"], layout(data["Y"]), float(data["delta"])
    codes = sw.encode(A, Y, algorithm="rmp0", delta=delta)
    assert_same(codes, A, Y, "rmp0", {"delta": delta})
    assert_same(codes, A, [*map(np.copy, Y.T)], "rmp0", {"delta": delta})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm(name):
    rng = np.random.default_rng(2)
    A, Y = normal(rng, 12, 12), normal(rng, 12, 3)
    record = ALGORITHMS[name]
    wanted = {"sparsity": 3, "residual": 2.0, "delta": 0.5, "penalty": 1.0, "batch": 2}
    chosen = next((one for one in wanted if one in record.stopping or one in record.required), None)
    parameters = {one: wanted[one] for one in {chosen, *record.required} - {None}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.InputWarning)
        codes = sw.encode(A, Y, algorithm=name, **parameters)
        assert_same(codes, A, Y, name, parameters)


def test_constraints_go_to_the_function():
    rng = np.random.default_rng(3)
    A, Y = normal(rng, 12, 20), normal(rng, 12, 9)
    more = {"sparsity": 4, "include": [3], "exclude": [5]}
    assert_same(sw.encode(A, Y, **more), A, Y, "omp", more)


@pytest.mark.parametrize("name", ["omp", "forward"])
def test_any_design(name, store):
    rng = np.random.default_rng(4)
    A, Y = normal(rng, 12, 20), normal(rng, 12, 9)
    held = store(A)
    codes = sw.encode(held, Y, algorithm=name, sparsity=4)
    for t in range(9):
        one = ALGORITHMS[name](held, Y[:, t], sparsity=4)
        np.testing.assert_array_equal(codes.support(t), one.support)


def test_stops_and_zeros():
    rng = np.random.default_rng(5)
    A = normal(rng, 12, 5)
    Y = np.column_stack([A[:, 2], np.zeros(12), normal(rng, 12)])
    codes = sw.encode(A, Y, residual=1e-6)
    assert codes.stops.tolist() == [Stop.RESIDUAL, Stop.ZERO_TARGET, Stop.EXHAUSTED]
    assert codes.sizes.tolist() == [1, 0, 5]
    assert codes.residual_norms[1] == 0
    assert codes.residual_norms[2] > 1e-6


@pytest.mark.parametrize("name", ["omp", "bpdn"])
def test_no_signals(name):
    codes = sw.encode(np.eye(4), np.empty((4, 0)), algorithm=name, residual=1.0)
    assert codes.coef.shape == (4, 0)
    assert codes.check(np.eye(4), np.empty((4, 0))).ok


def test_a_memory_map_is_read_by_blocks(tmp_path):
    n, signals = 64, 160_000
    Y = np.lib.format.open_memmap(tmp_path / "Y.npy", "w+", np.float32, (n, signals))
    rng = np.random.default_rng(6)
    for first in range(0, signals, 4000):
        Y[:, first : first + 4000] = rng.standard_normal((n, 4000))
    A = rng.standard_normal((n, 32))
    sw.encode(A, Y[:, :100], sparsity=1)
    tracemalloc.start()
    codes = sw.encode(A, np.load(tmp_path / "Y.npy", mmap_mode="r"), sparsity=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(codes) == signals
    assert peak < n * signals * 4 / 2  # half of what Y itself takes
    assert_same(sw.encode(A, Y[:, :5], sparsity=1), A, Y[:, :5], "omp", {"sparsity": 1}, 1e-6)


def test_signals_are_not_written_to():
    rng = np.random.default_rng(7)
    A, Y = normal(rng, 12, 20), np.asfortranarray(normal(rng, 12, 9))
    before = Y.copy()
    Y.flags.writeable = A.flags.writeable = False
    sw.encode(A, Y, sparsity=3)
    np.testing.assert_array_equal(Y, before)


BAD = [
    ({"Y": np.ones(12)}, "two dimensions"),
    ({"algorithm": "ompp", "sparsity": 2}, 'did you mean "omp"'),
    ({"algorithm": 3, "sparsity": 2}, "algorithm must be a name"),
    ({"delta": 0.1}, "omp does not take delta; it takes sparsity, residual, include"),
    ({"callback": print, "sparsity": 2}, "omp does not take callback"),
    ({"algorithm": "gomp", "sparsity": 2}, "gomp needs batch"),
    ({"algorithm": "rmp0"}, "rmp0 needs delta"),
    ({}, "omp must be told when to stop"),
    ({"sparsity": 13}, "sparsity must be between 0 and 12"),
    ({"sparsity": 2, "n_jobs": 0}, "n_jobs must not be 0"),
    ({"sparsity": 2, "n_jobs": 1.5}, "n_jobs must be a whole number"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_bad_words(given, words):
    rng = np.random.default_rng(8)
    A, Y = normal(rng, 12, 20), given.pop("Y", normal(rng, 12, 9)) if "Y" in given else None
    with pytest.raises(InputError, match=words):
        sw.encode(A, normal(rng, 12, 9) if Y is None else Y, **given)


@pytest.mark.parametrize("name", ["omp", "bpdn"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_signal_at_fault_is_named(name, jobs):
    rng = np.random.default_rng(9)
    A, Y = normal(rng, 12, 20), normal(rng, 12, 90)
    Y[3, 71] = np.nan
    with pytest.raises(InputError, match="row 3 of signal 71"):
        sw.encode(A, Y, algorithm=name, residual=1.0, n_jobs=jobs)
    A, Y = np.eye(3), np.ones((3, 5))
    A[:, 1] *= 1e-200
    Y[:, 4] *= 1e200
    with pytest.raises(InputError, match="Signal 4: The coefficients are beyond the range"):
        sw.encode(A, Y, sparsity=2, n_jobs=jobs)


# --- in place of scikit-learn


def test_in_place_of_sparse_encode():
    from sklearn.decomposition import sparse_encode

    rng = np.random.default_rng(10)
    D = normal(rng, 30, 16)
    D /= np.linalg.norm(D, axis=1)[:, None]
    X = normal(rng, 50, 16)
    theirs = sparse_encode(X, D, algorithm="omp", n_nonzero_coefs=4)
    np.testing.assert_allclose(sw.encode(D.T, X.T, sparsity=4).coef.T.toarray(), theirs, atol=1e-9)


def test_in_the_workflow_of_dictionary_learning():
    from sklearn.decomposition import MiniBatchDictionaryLearning

    rng = np.random.default_rng(11)
    X = normal(rng, 200, 4) @ normal(rng, 4, 9) + 0.1 * normal(rng, 200, 9)
    learner = MiniBatchDictionaryLearning(
        12, max_iter=3, random_state=0, transform_algorithm="omp", transform_n_nonzero_coefs=3
    ).fit(X)
    D = learner.components_
    codes = sw.encode(D.T, X.T, sparsity=3)
    np.testing.assert_allclose(codes.coef.T.toarray(), learner.transform(X), atol=1e-8)
    assert scipy.sparse.issparse(codes.coef)


def test_denoising(tmp_path, monkeypatch):
    """The example takes noise out of an image."""
    example = run_path(str(ROOT / "examples" / "denoise.py"))
    u, v = np.meshgrid(np.linspace(0, 1, 48), np.linspace(0, 1, 48))
    truth = 0.5 + 0.3 * np.sin(9 * u) * (v > 0.4)
    noisy = truth + 0.1 * np.random.default_rng(0).standard_normal(truth.shape)
    clean, codes = example["denoised"](noisy, 0.1, rounds=1)
    assert (codes.stops == Stop.RESIDUAL).all()
    assert example["decibels"](clean, truth) > example["decibels"](noisy, truth) + 6
