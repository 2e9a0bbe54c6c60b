"""Tall Dask collections: condensed on the workers, with the same numbers as in memory."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import sparsewise as sw
from sparsewise.design.dask import DaskDesign
from sparsewise.errors import ClusterError
from sparsewise.suffstats.dask_collections import condense, folds_by_row, is_dask, is_tall

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

CHUNKS = {"rows": (500, 30), "columns": (3000, 7), "tiles": (700, 11), "few rows": (40, 30)}


@pytest.fixture(scope="module")
def tall():
    """Columns far from zero, some of which make the target."""
    rng = np.random.default_rng(11)
    A = rng.standard_normal((3000, 30)) + 10 * np.arange(30)
    return A, A[:, [2, 11, 29]] @ [1.0, -2.0, 0.5] + 3 + 0.1 * rng.standard_normal(3000)


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(12).integers(0, 3, 3000) / 2


def close(found, expected, tolerance=1e-9):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


def same(found, expected, tolerance=1e-9):
    np.testing.assert_array_equal(found.support, expected.support)
    close(found.coef, expected.coef, tolerance)
    assert found.residual_norm == pytest.approx(expected.residual_norm, rel=tolerance)


# --- functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_workers_find_what_memory_does(dask_client, tall, chunks):
    A, y = tall
    X = da.from_array(A, chunks=chunks)
    for target in (y, da.from_array(y, chunks=999)):
        found = sw.forward(X, target, sparsity=10)
        same(found, sw.forward(A, y, sparsity=10))
        assert found.n_passes == 1
    said = "1 pass over A\n  A        condensed into a triangle by 2 Dask workers, since 3000 × 30"
    assert said in repr(found)


@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16"])
def test_every_precision_is_kept(dask_client, tall, kind):
    A, y = (part.astype(kind) for part in tall)
    if kind[0] == "c":
        A = A + 1j * np.roll(A, 1, axis=0)
        y = A[:, [2, 11, 29]] @ np.array([1, -2j, 0.5 + 1j], kind) + y
    found = sw.forward(da.from_array(A.astype(kind), chunks=(500, 30)), y.astype(kind), sparsity=3)
    expected = sw.forward(A.astype(kind), y.astype(kind), sparsity=3)
    assert found.coef.dtype == expected.coef.dtype == np.dtype(kind)
    same(found, expected, 1e-9 if kind in ("f8", "c16") else 1e-3)


def test_without_a_cluster(tall):
    A, y = tall
    found = sw.stepwise(da.from_array(A, chunks=(500, 30)), y)
    same(found, sw.stepwise(A, y))
    assert "threads of this process" in found.note


def test_rows_of_unknown_number(dask_client, tall):
    """As a filter, or a data frame, leaves them."""
    A, y = tall
    X, target = da.from_array(A, chunks=(500, 30)), da.from_array(y, chunks=500)
    some = X[:, 0] > 0
    expected = sw.forward(A[A[:, 0] > 0], y[A[:, 0] > 0], sparsity=4)
    assert np.isnan(X[some].shape[0])
    same(sw.forward(X[some], target[some], sparsity=4), expected)
    same(sw.forward(X[some], target[some].compute(), sparsity=4), expected)
    wide = da.from_array(A.T[:, :400], chunks=(9, 100))
    rows = wide[:, 0] > 100
    kept = A.T[:, :400][A.T[:, 0] > 100]
    z = np.arange(len(kept)) % 3
    same(sw.forward(wide[rows], z, sparsity=2), sw.forward(kept, z, sparsity=2))


def test_chunks_without_rows(tall):
    A, y = tall
    X, late = da.from_array(A, chunks=(500, 30)), da.arange(3000, chunks=500) >= 1200
    found = sw.forward(X[late], da.from_array(y, chunks=500)[late], sparsity=4)
    same(found, sw.forward(A[1200:], y[1200:], sparsity=4))
    none = X[X[:, 0] > 1e9]
    with pytest.raises(sw.InputError, match=r"^A has no rows; give at least one"):
        sw.forward(none, none[:, 0], sparsity=1)
    with pytest.raises(sw.InputError, match=r"^There are no rows yet"):
        condense(none, none[:, 0]).system()


@pytest.mark.parametrize(
    ("n", "m", "tall"),
    [
        (4000, 1000, True),
        (3999, 1000, False),
        (10**7, 1025, False),
        (10**9, 1025, True),
        (10**9, 10_000, False),
        (1000, 10**6, False),
        (np.nan, 5, True),
    ],
)
def test_the_choice_is_made_by_shape(monkeypatch, n, m, tall):
    """Tall and narrow data condense; somewhat wider ones if they can't be held."""
    monkeypatch.setattr("sparsewise._util.dask_cluster._available", lambda: 1e12)
    size = 1000 if np.isnan(n) else n
    X = da.zeros((size, m), chunks=(min(size, 10**6), m))
    assert is_tall(X[X[:, 0] > 0] if np.isnan(n) else X) == tall


# --- several targets ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def targets(tall):
    A, y = tall
    rng = np.random.default_rng(13)
    return np.column_stack([y, 1e3 * A[:, 11] + rng.standard_normal(3000), y - 0.01 * A[:, 2]])


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_workers_find_one_support_for_targets(dask_client, tall, targets, chunks):
    A, _ = tall
    X = da.from_array(A, chunks=chunks)
    expected = sw.forward(A, targets, sparsity=5)
    for Y in (targets, da.from_array(targets, chunks=(999, 2))):
        found = sw.forward(X, Y, sparsity=5)
        same(found, expected)
        assert found.n_passes == 1
        assert found.check(X, Y).ok


def test_targets_of_wide_data(dask_client):
    rng = np.random.default_rng(14)
    A = rng.standard_normal((60, 400))
    Y = A[:, [3, 50, 399]] @ rng.standard_normal((3, 4)) + 0.1 * rng.standard_normal((60, 4))
    X = da.from_array(A, chunks=(25, 90))
    for run in (sw.rmp, sw.fast_sbl, lambda *data: sw.rmp0(*data, delta=0.5)):
        found, expected = run(X, da.from_array(Y, chunks=(20, 3))), run(A, Y)
        same(found, expected)
        assert "blocks of columns" in found.note


def test_targets_weighted_by_the_caller_stay_theirs(tall, targets):
    A, _ = tall
    X, own = da.from_array(A, chunks=(500, 30)), sw.Targets(targets, weights=[1.0, 1.0, 5.0])
    for _ in range(2):
        same(sw.forward(X, own, sparsity=3), sw.forward(A, own, sparsity=3))
    assert own.Y is targets


def test_best_subsets(tall, targets):
    A, y = tall
    X = da.from_array(A, chunks=(500, 30))
    for target in (y, targets):
        found, expected = (sw.best_subset(B, target, sparsity=3) for B in (X, A))
        assert found.proved
        for size in (1, 2, 3):
            one, other = (each.path.at(size) for each in (found, expected))
            np.testing.assert_array_equal(one.support, other.support)
            close(one.coef, other.coef)


def test_many_targets_make_data_less_tall():
    X = da.zeros((4000, 900), chunks=(1000, 900))
    assert is_tall(X)
    assert is_tall(X, np.empty((4000, 101)))
    assert not is_tall(X, np.empty((4000, 102)))


def test_frames_of_targets_keep_their_names(tall, targets):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    A, _ = tall
    X, Y = (
        dd.from_pandas(pd.DataFrame(values, columns=[f"{letter}{j}" for j in range(width)]), 4)
        for values, letter, width in ((A, "x", 30), (targets, "y", 3))
    )
    found = condense(X, Y)
    assert found.target_names == ["y0", "y1", "y2"]
    assert found.feature_names[-1] == "x29"
    same(sw.forward(X, Y, sparsity=4), sw.forward(A, targets, sparsity=4))


def test_bad_targets_are_told_with_row_and_column(tall, targets):
    A, _ = tall
    X, Y = da.from_array(A, chunks=(500, 30)), targets.copy()
    with pytest.raises(sw.InputError, match=r"^y must have shape \(3000,\) or \(3000, q\)"):
        sw.forward(X, Y[:9], sparsity=1)
    Y[1234, 1] = np.nan
    with pytest.raises(sw.InputError, match=r"^y has 1 NaN .* row 1234, column 1"):
        sw.forward(X, Y, sparsity=1)


# --- condense -------------------------------------------------------------------------------------


def test_condensed_rows_are_those_of_one_update(dask_client, tall, weights):
    A, y = tall
    folds = np.arange(3000) % 5
    expected = sw.Condensed().update(A, y, weights, fold=folds)
    for wrap in (lambda values: da.from_array(values, chunks=800), np.asarray):
        found = condense(da.from_array(A, chunks=(500, 17)), wrap(y), wrap(weights), wrap(folds))
        assert found.n_rows == expected.n_rows
        assert sorted(found.folds) == sorted(expected.folds)
        for intercept in (True, False):
            same(
                sw.forward(*found.system(intercept), sparsity=6),
                sw.forward(*expected.system(intercept), sparsity=6),
            )
    part = found.some([1, 3]).system()[0]
    close(part.norms(), expected.some([1, 3]).system()[0].norms())


def test_the_number_of_workers_does_not_matter(dask_cluster, tall):
    from distributed import Client

    A, y = tall
    X = da.from_array(A, chunks=(100, 30))
    with Client(dask_cluster):
        there = condense(X, y)
    with dask.config.set(scheduler="synchronous"):
        here = condense(X, y)
    np.testing.assert_array_equal(there.total.R, here.total.R)


def test_folds_are_those_of_a_table(tall):
    from sklearn.model_selection import KFold

    X = da.from_array(tall[0][:2999], chunks=(700, 30))
    labels = folds_by_row(X, 4).compute()
    for fold, (_, test) in enumerate(KFold(4).split(tall[0][:2999])):
        np.testing.assert_array_equal(np.flatnonzero(labels == fold), test)
    some = X[X[:, 0] > 0]  # nobody knows how many: chunk by chunk
    labels = folds_by_row(some, 3).compute()
    sizes = some.compute_chunk_sizes().chunks[0]
    np.testing.assert_array_equal(labels, np.repeat(np.arange(len(sizes)) % 3, sizes))
    assert condense(some, some[:, 2], fold=folds_by_row(some, 3)).folds == [0, 1, 2]


# --- data frames ----------------------------------------------------------------------------------


@pytest.fixture
def frame(tall):
    dataframe = pytest.importorskip("dask.dataframe", reason="dask.dataframe needs pyarrow")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(tall[0], columns=[f"x{j}" for j in range(30)])
    table["y"] = tall[1]
    return dataframe.from_pandas(table, npartitions=4)


def test_data_frames(dask_client, frame, tall, weights):
    A, y = tall
    X = frame.drop(columns="y")
    assert is_dask(X)
    assert is_dask(frame["y"])
    found = condense(X, frame["y"])
    assert found.feature_names == [f"x{j}" for j in range(30)]
    assert found.n_rows == 3000
    same(sw.forward(*found.system(), sparsity=3), sw.forward(
        *sw.Condensed().update(A, y).system(), sparsity=3
    ))  # fmt: skip
    weighted = condense(X, y, da.from_array(weights, chunks=1000))
    assert weighted.n_rows == weights.sum()
    whole = sw.forward(X, frame["y"], sparsity=3)
    same(whole, sw.forward(A, y, sparsity=3))
    assert "condensed into a triangle by 2 Dask workers, since 3000 × 30 is tall" in whole.note
    few = sw.forward(X.head(60, compute=False), y[:60], sparsity=3)
    same(few, sw.forward(A[:60], y[:60], sparsity=3))
    assert "since 60 × 30 has few columns" in few.note


def test_wide_data_frames(dask_client):
    dataframe = pytest.importorskip("dask.dataframe", reason="dask.dataframe needs pyarrow")
    pandas = pytest.importorskip("pandas")
    A = np.random.default_rng(15).standard_normal((40, 1100))
    y = A[:, 1000] - A[:, 7]
    frame = dataframe.from_pandas(pandas.DataFrame(A), npartitions=3)
    found = sw.forward(frame, y, sparsity=2)
    same(found, sw.forward(A, y, sparsity=2))
    assert "since 40 × 1100 is wide" in found.note
    assert isinstance(sw.as_design(frame), DaskDesign)


def test_numbers_of_other_kinds(dask_client, frame, tall):
    A, y = tall
    mixed = frame.assign(x2=frame.x2.astype("float32"), x4=frame.x4.round().astype("int64"))
    mixed = mixed.assign(x5=(frame.x5 > 50), x6=frame.x6.round().astype("Int64"))
    B = A.copy()
    B[:, 2], B[:, 4], B[:, 5] = A[:, 2].astype("f4"), A[:, 4].round(), A[:, 5] > 50
    B[:, 6] = A[:, 6].round()
    found = sw.forward(mixed.drop(columns="y"), mixed["y"], sparsity=5)
    same(found, sw.forward(B, y, sparsity=5))


@pytest.mark.parametrize("kind", ["category", "string", "datetime64[ns]"])
def test_columns_that_hold_no_numbers(frame, kind):
    odd = frame.assign(x3=frame.x3.astype("int64").astype(kind))
    expected = r'^X has a column that holds no numbers: "x3" is of type .*; leave it out, or turn'
    with pytest.raises(sw.InputError, match=expected):
        condense(odd.drop(columns="y"), odd["y"])


# --- estimators -----------------------------------------------------------------------------------

MODELS = {
    "stepwise": lambda: sw.StepwiseRegressor(),
    "folds": lambda: sw.StepwiseRegressor(criterion="cv"),
    "search": lambda: sw.SparseRegressor(),
    "bayes": lambda: sw.SparseBayesRegressor(),
    "pursuit": lambda: sw.PursuitRegressor(sparsity=3),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("is_wide", [False, True], ids=["tall", "wide"])
def test_estimators(dask_client, tall, make, is_wide):
    """Fitted on the workers, and predicting there."""
    A, y = tall
    if is_wide:
        A = np.random.default_rng(13).standard_normal((60, 1200)) + np.arange(1200) % 50
        y = A[:, [2, 300, 1100]] @ [1.0, -2.0, 0.5] + 0.1 * y[:60]
    X, target = da.from_array(A, chunks=(500, 400)), da.from_array(y, chunks=999)
    model, expected = make().fit(X, target), make().fit(A, y)
    close(model.coef_, expected.coef_)
    assert model.intercept_ == pytest.approx(expected.intercept_, rel=1e-9, abs=1e-9)
    np.testing.assert_array_equal(model.get_support(), expected.get_support())
    lazy = model.predict(X)
    assert is_dask(lazy)
    close(lazy.compute(), expected.predict(A))
    said = " ".join(str(model.summary()).split())
    assert ("blocks of columns on" if is_wide else "condensed into a triangle by") in said
    assert "2 Dask workers" in said


# --- what goes wrong ------------------------------------------------------------------------------


def test_a_worker_that_is_killed(dask_client, tall, tmp_path):
    """By one of the tasks, when it is first tried."""
    A, y = tall
    marker = tmp_path / "killed"

    def read(first):
        if first == 1500 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return A[first : first + 500]

    parts = [dask.delayed(read)(first) for first in range(0, 3000, 500)]
    X = da.concatenate([da.from_delayed(part, (500, 30), float) for part in parts])
    found = sw.forward(X, y, sparsity=5)
    assert marker.exists()
    same(found, sw.forward(A, y, sparsity=5))


def test_a_worker_that_is_killed_under_an_estimator(dask_client, monkeypatch):
    """Between two products, with what it held of the columns."""
    rng = np.random.default_rng(14)
    A = rng.standard_normal((60, 1200))
    y = A[:, [2, 300, 1100]] @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(60)
    product, products = DaskDesign.rmatmat, []

    def rmatmat(self, V):
        products.append(V)
        if len(products) == 8:
            os.kill(dask_client.run(os.getpid).popitem()[1], signal.SIGKILL)
        return product(self, V)

    monkeypatch.setattr(DaskDesign, "rmatmat", rmatmat)
    model = sw.StepwiseRegressor(criterion="cv").fit(da.from_array(A, chunks=(60, 400)), y)
    assert len(products) > 8
    close(model.coef_, sw.StepwiseRegressor(criterion="cv").fit(A, y).coef_)


def test_a_scheduler_that_goes_away(tall):
    from distributed import Client, LocalCluster

    A, y = tall
    usual = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with (
        LocalCluster(**usual, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster),
    ):

        def read(first):
            time.sleep(0.3)
            return A[first : first + 500]

        parts = [dask.delayed(read)(first) for first in range(0, 3000, 500)]
        X = da.concatenate([da.from_delayed(part, (500, 30), float) for part in parts])
        timer = threading.Timer(0.5, cluster.close)
        timer.start()
        with pytest.raises(ClusterError, match=r"^The Dask scheduler is gone; start it again"):
            sw.forward(X, y, sparsity=5)
        timer.join()


def test_chunks_that_do_not_fit_a_worker(dask_client):
    def never(*_):
        raise AssertionError("nothing may be computed")

    X = da.map_blocks(never, chunks=((10**6,) * 3, (200,)), dtype=float)
    expected = (
        r"^A chunk of rows takes 1\.49 GiB, but one of 2 Dask workers can hold 0\.7 GiB; rechunk"
    )
    with pytest.raises(ClusterError, match=expected):
        condense(X, da.map_blocks(never, chunks=((10**6,) * 3,), dtype=float))


def test_entries_that_are_no_numbers(dask_client, tall):
    A, y = (part.copy() for part in tall)
    A[2345, 6] = np.nan
    X = da.from_array(A, chunks=(500, 10))
    expected = r" has 1 NaN or infinite entry, the first at row 2345, column 6; drop or fill it"
    with pytest.raises(sw.InputError, match=f"^X{expected}"):
        condense(X, y)
    with pytest.raises(sw.InputError, match=f"^A{expected}"):
        sw.forward(X, y, sparsity=2)
    y[2345] = np.inf
    with pytest.raises(sw.InputError, match=r"^y has 1 NaN or infinite entry, the first at row 23"):
        condense(da.from_array(tall[0], chunks=(500, 30)), da.from_array(y, chunks=500))


@pytest.mark.parametrize("wrap", [np.asarray, da.asarray])
@pytest.mark.parametrize("name", ["y", "sample_weight", "fold"])
def test_rows_that_do_not_match(wrap, name, tall):
    given = {"y": tall[1]} | {name: wrap(np.ones(2999))}
    with pytest.raises(sw.InputError, match=rf"^{name} must have shape \(3000,\), one entry per"):
        condense(da.from_array(tall[0], chunks=(500, 30)), **given)


def test_what_a_source_raises_is_its_own(dask_client):
    def read():
        raise FileNotFoundError("no such file: part-7")

    X = da.from_delayed(dask.delayed(read)(), (100, 3), float)
    with pytest.raises(FileNotFoundError, match="part-7"):
        sw.forward(X, np.ones(100), sparsity=1)


# --- where arrays come from -----------------------------------------------------------------------


def test_memory_maps(dask_client, tall, tmp_path):
    """Every worker opens the file itself: nothing of it goes through the client."""
    A, y = tall
    np.save(tmp_path / "X.npy", A)
    file = np.load(tmp_path / "X.npy", mmap_mode="r")

    def rows(block_info=None):
        (first, last), _ = block_info[None]["array-location"]
        return np.load(tmp_path / "X.npy", mmap_mode="r")[first:last]

    chunks = da.core.normalize_chunks((500, 30), file.shape)
    X = da.map_blocks(rows, chunks=chunks, dtype=file.dtype)
    same(sw.forward(X, y, sparsity=5), sw.forward(A, y, sparsity=5))


def test_hdf5(dask_client, tall, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    A, y = tall
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["X"] = A
    with h5py.File(tmp_path / "data.h5") as file:
        X = da.from_array(file["X"], chunks=(500, 30))
        same(sw.forward(X, y, sparsity=5), sw.forward(A, y, sparsity=5))


def test_zarr(dask_client, tall, tmp_path):
    pytest.importorskip("zarr", reason="Zarr is not installed")
    A, y = tall
    da.from_array(A, chunks=(500, 30)).to_zarr(str(tmp_path / "X.zarr"))
    X = da.from_zarr(str(tmp_path / "X.zarr"))
    same(sw.forward(X, y, sparsity=5), sw.forward(A, y, sparsity=5))
    wide = da.from_array(A.T, chunks=(30, 400))
    wide.to_zarr(str(tmp_path / "wide.zarr"))
    found = sw.forward(da.from_zarr(str(tmp_path / "wide.zarr")), np.arange(30.0), sparsity=5)
    assert isinstance(sw.as_design(wide), DaskDesign)
    same(found, sw.forward(A.T, np.arange(30.0), sparsity=5))
