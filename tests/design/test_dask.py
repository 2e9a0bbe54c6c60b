"""Wide Dask arrays: blocks of columns stay on the workers; the same numbers as in memory."""

import os
import signal
import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sparse

import sparsewise as sw
from sparsewise._util.dask_cluster import workers
from sparsewise.design import Centred, Weighted, as_design
from sparsewise.errors import ClusterError
from tests.problems import normal

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

CHUNKS = {"columns": (80, 700), "rows": (13, 2500), "tiles": (30, 999), "one": (80, 2500)}
KINDS = ["f4", "f8", "c8", "c16"]


@pytest.fixture(scope="module")
def wide():
    """More columns than a small matrix has, some of which make the target."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((80, 2500))
    return A, A[:, ::300] @ rng.standard_normal(9) + 0.1 * rng.standard_normal(80)


def same(found, expected, tolerance=1e-9, *, passes=True):
    np.testing.assert_array_equal(found.support, expected.support)
    scale = np.abs(expected.coef).max()
    np.testing.assert_allclose(found.coef, expected.coef, rtol=tolerance, atol=tolerance * scale)
    if passes:  # inner products of columns, by which forward and omp go in memory, take others
        assert found.n_passes == expected.n_passes
    assert found.stop == expected.stop


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_workers_find_what_memory_does(dask_client, wide, chunks):
    A, y = wide
    found = sw.forward(da.from_array(A, chunks=chunks), y, sparsity=30)
    same(found, sw.forward(A, y, sparsity=30), passes=False)
    assert "blocks of columns on 2 Dask workers, since 80 × 2500 is wide" in repr(found)


@pytest.mark.parametrize("kind", KINDS)
def test_every_precision_is_kept(dask_client, kind):
    rng = np.random.default_rng(6)
    A = normal(rng, 60, 1500, kind=complex if kind[0] == "c" else float).astype(kind)
    y = A[:, [3, 800, 1400]] @ np.array([1.0, -2.0, 1.5], A.real.dtype)
    y += 0.1 * normal(rng, 60, kind=complex if kind[0] == "c" else float).astype(kind)
    found = sw.omp(da.from_array(A, chunks=(60, 400)), y, sparsity=8)
    assert found.coef.dtype == np.dtype(kind)
    double = kind in ("f8", "c16")
    same(found, sw.omp(A, y, sparsity=8), 1e-9 if double else 1e-4, passes=not double)


@pytest.mark.parametrize("name", ["rmp0", "foba", "rmp", "bpdn", "fista", "stepwise"])
def test_algorithms_that_go_back_and_forth(dask_client, wide, name):
    A, y = wide
    more = {"rmp0": {"delta": 1.0}, "foba": {"delta": 1.0}, "rmp": {"sigma": 0.1}}
    more |= {"bpdn": {"residual": 2.0}, "fista": {"penalty": 20.0, "max_iter": 30}}
    more |= {"stepwise": {"start": [], "criterion": "bic"}}
    run = getattr(sw, name)
    X = da.from_array(A, chunks=(40, 1000))
    same(run(X, y, **more[name]), run(A, y, **more[name]))


def test_a_target_that_is_a_dask_array(dask_client, wide):
    A, y = wide
    found = sw.forward(da.from_array(A, chunks=500), da.from_array(y, chunks=30), sparsity=5)
    same(found, sw.forward(A, y, sparsity=5), passes=False)


def test_integers_are_promoted(dask_client):
    A = np.random.default_rng(7).integers(-3, 4, (40, 2000))
    y = A[:, 100] - 2.0 * A[:, 1900]
    same(sw.forward(da.from_array(A, chunks=500), y, sparsity=2), sw.forward(A, y, sparsity=2))


@pytest.mark.parametrize("kind", ["csc_array", "csr_matrix"])
def test_blocks_that_are_sparse(wide, kind):
    A = np.where(np.abs(wide[0]) > 1, wide[0], 0.0)
    X = da.from_array(A, chunks=(80 if kind == "csc_array" else 30, 700))
    X = X.map_blocks(getattr(sparse, kind))
    same(sw.forward(X, wide[1], sparsity=5), sw.forward(A, wide[1], sparsity=5))


def test_entries_that_are_masked(wide):
    X = da.from_array(np.ma.masked_greater(wide[0], 4.0), chunks=(80, 2500))
    with pytest.raises(sw.InputError, match=r"^A has \d+ masked entries; fill or drop them first"):
        sw.forward(X, wide[1], sparsity=5)


def test_weights_and_means(dask_client, wide):
    """What centring and weights make of it, with offsets that would cost most digits."""
    A, y = wide
    far = A + 1e7 * np.arange(2500)
    weights = np.random.default_rng(8).random(80)
    V = np.random.default_rng(9).standard_normal((79, 3))
    X = da.from_array(far, chunks=(80, 700))
    for w in (None, weights):
        here, there = Centred(as_design(far), w), Centred(as_design(X), w)
        np.testing.assert_allclose(there.rmatmat(V), here.rmatmat(V), atol=1e-9)
        np.testing.assert_allclose(there.norms(), here.norms(), rtol=1e-12)
        np.testing.assert_allclose(there.means, here.means, rtol=1e-15)
        J = np.array([2400, 0, 1300])
        np.testing.assert_allclose(there.columns(J), here.columns(J), atol=1e-9)
    root = np.sqrt(weights)
    same(
        sw.forward(Weighted(as_design(X), root), y, sparsity=4),
        sw.forward(Weighted(as_design(far), root), y, sparsity=4),
    )


def test_without_a_cluster(wide):
    A, y = wide
    found = sw.forward(da.from_array(A, chunks=(30, 999)), y, sparsity=10)
    same(found, sw.forward(A, y, sparsity=10), passes=False)
    assert "threads of this process" in found.note


def test_what_does_not_fit_here_is_read_in_every_pass(monkeypatch, wide):
    A, y = wide
    reads = []

    def read(first):
        reads.append(first)
        return A[:, first : first + 500]

    def source():
        parts = [dask.delayed(read)(first) for first in range(0, 2500, 500)]
        return da.concatenate([da.from_delayed(part, (80, 500), A.dtype) for part in parts], axis=1)

    once = sw.forward(source(), y, sparsity=10)
    assert len(reads) == 5
    monkeypatch.setattr("sparsewise._util.dask_cluster._available", lambda: 1.0)
    again = sw.forward(source(), y, sparsity=10)
    assert len(reads) > 10
    same(again, once)


# --- what travels ---------------------------------------------------------------------------------


def test_the_client_never_has_much_of_the_data(dask_client):
    """Peak memory of the client, of which 160 MB on the workers are no part."""
    X = da.random.default_rng(0).standard_normal((1000, 20_000), chunks=(1000, 5000))
    y = X[:, ::2000].sum(axis=1).compute()
    design = as_design(X)
    sw.forward(design, y, sparsity=2)  # compiles
    tracemalloc.start()
    try:
        found = sw.forward(design, y, sparsity=30)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert set(range(0, 20_000, 2000)) <= set(found.support.tolist())
    assert peak < X.nbytes / 5


def test_vectors_that_are_large_travel_once(dask_client, monkeypatch):
    """And Dask has nothing to warn of: the graph is as large as it has to be."""
    rng = np.random.default_rng(10)
    A = rng.standard_normal((50_000, 20))
    design, V = as_design(da.from_array(A, chunks=(50_000, 10))), rng.standard_normal((50_000, 40))
    blocks = design.held.blocks
    sent = []
    ask = type(design.held.by).ask

    def spy(*words, **how):
        sent.append(words[1].__name__)
        return ask(*words, **how)

    monkeypatch.setattr(type(design.held.by), "ask", spy)
    np.testing.assert_allclose(design.rmatmat(V), A.T @ V, atol=1e-9)
    assert sent == ["_itself", "_call"]
    assert len(blocks) == 2
    sent.clear()
    design.rmatmat(V[:, :1])
    assert sent == ["_call"]


def test_blocks_stay_where_they_are(dask_client):
    """However often they are asked, and whoever is idle: they never travel."""
    rng = np.random.default_rng(11)
    design = as_design(da.from_array(rng.standard_normal((100, 4000)), chunks=(100, 500)))
    blocks = design.held.blocks
    pytest.importorskip("distributed").wait(blocks)
    before = dask_client.who_has(blocks)
    assert len({at for places in before.values() for at in places}) == 2
    for _ in range(60):
        design.rmatvec(rng.standard_normal(100))
    assert dask_client.who_has(blocks) == before


# --- what goes wrong ------------------------------------------------------------------------------


def test_a_worker_that_is_killed(dask_client, wide):
    """In the middle of a fit: what it held is made anew, and the answer is the same."""
    A, y = wide
    killed = []

    def kill(step):
        if step.size == 3 and not killed:
            killed.append(dask_client.run(os.getpid).popitem()[1])
            os.kill(killed[0], signal.SIGKILL)

    X = da.from_array(A, chunks=(80, 700))
    found = sw.forward(X, y, sparsity=6, callback=kill)
    assert killed
    same(found, sw.forward(A, y, sparsity=6, callback=lambda step: None))


def test_data_that_are_lost(dask_client):
    """As those that were scattered, with the worker that had them; Dask cancels what needs them."""
    by = workers()
    answers = by.ask(time.sleep, [1.0])
    dask_client.cancel(answers)
    with pytest.raises(
        ClusterError, match=r"^The Dask cluster has lost data that it can't recompute"
    ):
        by.results(answers)


@pytest.mark.parametrize("steps", [1, 4])
def test_a_scheduler_that_goes_away(wide, steps):
    from distributed import Client, LocalCluster

    A, y = wide
    usual = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with (
        LocalCluster(**usual, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster),
        pytest.raises(ClusterError, match=r"^The Dask scheduler is gone; start it again"),
    ):
        sw.forward(
            da.from_array(A, chunks=(80, 700)),
            y,
            sparsity=9,
            callback=lambda step: cluster.close() if step.size == steps else None,
        )


def test_workers_that_all_go_away(monkeypatch, wide):
    from distributed import Client, LocalCluster

    A, y = wide
    monkeypatch.setattr("sparsewise._util.dask_cluster.PATIENCE", 0.5)
    usual = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with (
        LocalCluster(**usual, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster),
    ):
        (worker,) = cluster.workers.values()
        X = da.from_array(A, chunks=(80, 700))
        with pytest.raises(ClusterError, match=r"^All workers of the Dask cluster are gone; start"):
            sw.forward(X, y, sparsity=9, callback=lambda step: cluster.sync(worker.close) and None)
        with pytest.raises(ClusterError, match=r"^The Dask cluster has no workers; start some"):
            sw.forward(X, y, sparsity=9)


def test_workers_that_come_when_there_is_work(wide):
    from distributed import Client, LocalCluster

    A, y = wide
    usual = {"n_workers": 0, "threads_per_worker": 2, "processes": False}
    with (
        LocalCluster(**usual, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster),
    ):
        cluster.adapt(minimum=0, maximum=1, interval="50ms")
        found = sw.forward(da.from_array(A, chunks=(80, 700)), y, sparsity=5)
        same(found, sw.forward(A, y, sparsity=5), passes=False)
        assert "1 Dask worker," in found.note


def test_data_that_do_not_fit_the_workers(dask_client):
    def never(*_):
        raise AssertionError("nothing may be computed")

    X = da.map_blocks(never, chunks=((1000,), (100_000,) * 10), dtype=float)
    with pytest.raises(ClusterError, match=r"^The data take 7\.45 GiB, but 2 Dask workers can"):
        sw.forward(X, np.ones(1000), sparsity=3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_that_are_no_numbers(dask_client, wide, bad):
    A, y = wide[0].copy(), wide[1]
    A[70, 2100] = A[3, 2200] = bad
    expected = r"^A has 2 NaN or infinite entries, the first at row 70, column 2100; drop or fill"
    with pytest.raises(sw.InputError, match=expected):
        sw.forward(da.from_array(A, chunks=(30, 600)), y, sparsity=3)
    y = y.copy()
    y[7] = bad
    with pytest.raises(sw.InputError, match=r"^y has 1 NaN or infinite entry, the first at row 7"):
        sw.forward(da.from_array(wide[0]), da.from_array(y), sparsity=3)


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_columns_of_any_scale(dask_client, wide, scale):
    A, y = wide[0].copy(), wide[1]
    A[:, 300] *= scale
    same(sw.forward(da.from_array(A, chunks=700), y, sparsity=9), sw.forward(A, y, sparsity=9))


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (lambda: da.ones(5), "must have two dimensions"),
        (lambda: da.ones((5, 0)), "is empty"),
        (lambda: da.from_array(np.array([["a", "b"]])), "must hold numbers"),
    ],
)
def test_what_is_no_matrix(array, told):
    with pytest.raises(sw.InputError, match=told):
        sw.forward(array(), np.ones(5), sparsity=1)
