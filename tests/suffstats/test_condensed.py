"""Condensed: what all rows give, from a triangle of them."""

import copy
import hashlib
import io
import json
import pickle
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

import sparsewise as sw
from sparsewise import Condensed, InputError, certify
from sparsewise.algorithms import ALGORITHMS
from sparsewise.criteria.information import BY_LOSS
from sparsewise.design import DenseDesign
from sparsewise.model_selection.choice import forward_path
from sparsewise.model_selection.condensed_data import CondensedData
from sparsewise.model_selection.cross_validation import cross_validate
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.problem.preprocessing import reduce
from tests.problems import BY_COLUMNS, L1, Problem, normal, words

N, M = 400, 12


def rows(seed=0, kind=float, n=N, m=M):
    """A regression with offsets, and weights of which some are zero."""
    rng = np.random.default_rng(seed)
    X = normal(rng, n, m, kind=kind) * np.logspace(-1, 2, m) + np.linspace(-50, 50, m)
    x = np.zeros(m)
    x[[1, 4, 7]] = [3.0, -1.0, 0.5]
    y = 2 + X @ x + 0.3 * normal(rng, n, kind=kind)
    return X, y, rng.integers(0, 4, n).astype(float)


def in_chunks(X, y, w=None, cuts=(1, 30, 31, 250), **others):
    condensed = Condensed()
    for at in np.split(np.arange(len(y)), cuts):
        condensed.update(X[at], y[at], None if w is None else w[at], **others)
    return condensed


def both(intercept, weighted, kind=float):
    """The same problem from a triangle and from all rows."""
    X, y, w = rows(kind=kind)
    w = w if weighted else None
    if kind is complex:  # the reduction of a table is for real ones
        A, target = np.column_stack([X]), y
        if weighted:
            A, target = np.sqrt(w)[:, None] * X, np.sqrt(w) * y
        return in_chunks(X, y, w).system(False), (A, target)
    full = reduce(X, y, w, intercept)
    return in_chunks(X, y, w).system(intercept), (full.design, full.target)


L1_WORDS = {
    "ista": {"penalty": 5.0, "tol": 1e-12},
    "fista": {"penalty": 5.0, "tol": 1e-12},
    "focuss": {"residual": 40.0},
    "bp": {},
}


def call(name, design, target):
    p = Problem("", np.zeros((N, M)), target, 4, delta=8.0, support=np.arange(3))
    return words(name, p) if name in BY_COLUMNS else L1_WORDS.get(name, {"residual": 40.0})


@pytest.mark.parametrize("name", [*BY_COLUMNS, *L1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_every_algorithm_gives_what_all_rows_give(name, intercept, weighted):
    small, full = both(intercept, weighted)
    run = ALGORITHMS[name]
    if name == "bp":  # no x fits so many rows exactly, and a triangle knows
        for data in (small, full):
            with pytest.raises(InputError):
                run(*data)
        return
    one, other = run(*small, **call(name, *small)), run(*full, **call(name, *full))
    assert one.support.tolist() == other.support.tolist()
    size = np.abs(other.coef).max()
    tol = 1e-9
    np.testing.assert_allclose(one.coef, other.coef, rtol=tol, atol=tol * size)
    assert one.residual_norm == pytest.approx(other.residual_norm, rel=tol)
    assert one.check(*small).ok
    for fact in ("sigma", "log_evidence", "chance"):
        if hasattr(other, fact):
            assert getattr(one, fact) == pytest.approx(getattr(other, fact), rel=1e-9)
    if hasattr(other, "std"):
        np.testing.assert_allclose(one.std, other.std, rtol=1e-9)


@pytest.mark.parametrize("name", ["forward", "omp", "rmp0", "foba", "rmp", "solve"])
@pytest.mark.parametrize("weighted", [False, True])
def test_complex_rows(name, weighted):
    small, full = both(False, weighted, complex)
    one = ALGORITHMS[name](*small, **call(name, *small))
    other = ALGORITHMS[name](*full, **call(name, *full))
    assert one.support.tolist() == other.support.tolist()
    np.testing.assert_allclose(one.coef, other.coef, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_certificates_and_best_subsets(intercept):
    small, full = both(intercept, True)
    one, other = certify(*small, [1, 4, 7]), certify(*full, [1, 4, 7])
    assert str(one) == str(other)
    best, known = (sw.best_subset(*data, sparsity=3) for data in (small, full))
    assert best.proved
    for size in (1, 2, 3):
        assert best.path.at(size).support.tolist() == known.path.at(size).support.tolist()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_criteria_and_folds(intercept, weighted):
    """Cross-validation adds up all triangles but one."""
    X, y, w = rows()
    w = w if weighted else None
    labels = np.arange(N) % 5
    condensed = Condensed()
    for at in np.split(np.arange(N), [3, 100]):
        condensed.update(X[at], y[at], None if w is None else w[at], fold=labels[at])
    constraints = {"intercept": intercept, "include": [2], "exclude": [5]}
    triangles = CondensedData(condensed=condensed, **constraints)
    table = TabularData.of(X, y, w, **constraints)
    assert triangles.rows == table.rows
    assert triangles.is_weighted == table.is_weighted
    for name in BY_LOSS:
        one, other = (d.criteria(2.0)[name].value([50.0, 9.0], [1, 2]) for d in (triangles, table))
        np.testing.assert_allclose(one, other, rtol=1e-9)
    folds = [(np.flatnonzero(labels != k), np.flatnonzero(labels == k)) for k in condensed.folds]
    errors = cross_validate(triangles, forward_path, 5, True, None)
    known = cross_validate(table, forward_path, folds, True, None)
    np.testing.assert_allclose(errors.by_fold, known.by_fold, rtol=1e-9)
    assert errors.chosen == known.chosen


def test_rows_come_in_any_order_and_add_up():
    X, y, w = rows()
    whole = in_chunks(X, y, w, ())
    order = np.random.default_rng(1).permutation(N)
    parts = [Condensed().update(X[at], y[at], w[at]) for at in np.split(order, [5, 99, 300])]
    merged = (parts[0] + parts[1]) + (parts[2] + parts[3])
    for condensed in (in_chunks(X[order], y[order], w[order]), merged, Condensed() + merged):
        assert condensed.n_rows == whole.n_rows == w.sum()
        assert condensed.count == np.count_nonzero(w)
        one, other = (sw.forward(*c.system(), sparsity=5) for c in (condensed, whole))
        np.testing.assert_allclose(one.coef, other.coef, rtol=1e-10, atol=1e-12)


def test_storages_and_names():
    X, y, _ = rows()
    names = [f"f{j}" for j in range(M)]
    plain = in_chunks(X, y).system()
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        condensed = Condensed().update(frame[:100], y[:100]).update(frame[100:], y[100:])
        assert condensed.feature_names == names
        assert sw.forward(*condensed.system(), sparsity=3).support.tolist() == [1, 4, 7]
        with pytest.raises(InputError, match='"g0" for column 0, which was "f0"'):
            condensed.update(pd.DataFrame(X, columns=["g0", *names[1:]]), y)
        with pytest.raises(InputError, match="no names"):
            condensed.update(X, y)
    sparse = Condensed().update(csr_array(X), y, fold=np.arange(N) % 3)
    np.testing.assert_allclose(
        sw.forward(*sparse.system(), sparsity=5).coef, sw.forward(*plain, sparsity=5).coef
    )


def test_single_precision_stays_so():
    X, y, _ = rows()
    design, target = in_chunks(X.astype(np.float32), y.astype(np.float32)).system()
    assert design.dtype == target.dtype == np.float32
    assert sw.forward(design, target, sparsity=3).coef.dtype == np.float32
    mixed = in_chunks(X.astype(np.float32), y) + in_chunks(X, y)
    assert mixed.system()[0].dtype == np.float64


def test_fewer_rows_than_features():
    X, y, _ = rows(n=8, m=30)
    small, full = in_chunks(X, y, None, (1, 3)).system(), reduce(X, y, None, True)
    one, other = (sw.forward(*data, sparsity=4) for data in (small, full[:2]))
    assert one.support.tolist() == other.support.tolist()
    np.testing.assert_allclose(one.coef, other.coef, rtol=1e-9, atol=1e-12)
    assert small[0].shape == (7, 30)


def test_saved_and_read_back_exactly(tmp_path):
    X, y, w = rows()
    condensed = in_chunks(X, y, w, fold="a").update(X[:9], y[:9], fold=2)
    path = tmp_path / "rows.condensed"
    condensed.save(path)
    for twin in (Condensed.load(path), pickle.loads(pickle.dumps(condensed))):
        assert twin.folds == ["a", 2]
        assert twin.n_rows == condensed.n_rows
        for one, other in zip(twin.system(), condensed.system(), strict=True):
            np.testing.assert_array_equal(getattr(one, "A", one), getattr(other, "A", other))
        twin.update(X, y)
    assert Condensed.load(path).n_rows == condensed.n_rows


def test_an_empty_one_is_saved_too(tmp_path):
    Condensed().save(tmp_path / "none")
    assert Condensed.load(tmp_path / "none").n_features is None


def test_what_was_not_saved_is_refused(tmp_path):
    path = tmp_path / "rows"
    Condensed().update([[1.0], [2.0]], [1.0, 2.0]).save(path)
    good = path.read_bytes()
    for bad, why in (
        (b"", "not a Condensed"),
        (b"{}", "not a Condensed"),
        (good[:-1], "changed or cut off"),
        (good.replace(b"condensed 1", b"condensed 2"), "version 2"),
        (good.replace(b"condensed 1 ", b"condensed 1"), "version 1[0-9a-f]"),
        (b"sparsewise-condensed", "version"),
        (good[:200] + b"!" + good[201:], "changed or cut off"),
    ):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=why):
            Condensed.load(path)
    with pytest.raises(InputError, match="there is no file"):
        Condensed.load(tmp_path / "nothing")


def test_a_pickle_inside_is_not_executed(tmp_path):
    content = io.BytesIO()
    np.savez(content, header=np.array([{"labels": []}], object))
    _signed(tmp_path / "rows", content.getvalue())
    with pytest.raises(InputError, match="not a Condensed"):
        Condensed.load(tmp_path / "rows")


def _rewrite(arrays, **header):
    """Change what is known of the columns."""
    known = json.loads(arrays["header"].tobytes()) | header
    arrays["header"] = np.frombuffer(json.dumps(known).encode(), np.uint8)


def _signed(path, body):
    """A file whose checksum is right, whatever is in it."""
    digest = hashlib.sha256(body).hexdigest()
    path.write_bytes(f"sparsewise-condensed 1 {digest}\n".encode() + body)


def _npy(shape, dtype="<f8"):
    """The beginning of an array of this shape, and nothing of its entries."""
    content = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(content, header)
    return content.getvalue()


@pytest.mark.parametrize(
    ("method", "contents"),
    [
        (zipfile.ZIP_DEFLATED, [_npy((1 << 25,), "|u1") + bytes(1 << 25)]),
        (zipfile.ZIP_LZMA, [bytes(1 << 25)]),
        (zipfile.ZIP_STORED, [_npy((10**11,))]),
        (zipfile.ZIP_STORED, [_npy((10**30, 10**30))]),
        (zipfile.ZIP_STORED, [_npy((0, 10**30))]),
        (zipfile.ZIP_STORED, [_npy((-1,)) + bytes(8)]),
        (zipfile.ZIP_STORED, [_npy((1,), "|O") + bytes(8)]),
        (zipfile.ZIP_STORED, [b"no array"]),
        (zipfile.ZIP_STORED, [b""]),
        (zipfile.ZIP_STORED, []),
    ],
)
def test_a_forged_file_takes_no_more_memory_than_it_has_bytes(method, contents, tmp_path):
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", method) as file:
        for content in contents:
            file.writestr("header.npy", content)
    _signed(tmp_path / "rows", body.getvalue())
    del body, contents
    tracemalloc.start()
    with pytest.raises(InputError, match="not a Condensed"):
        Condensed.load(tmp_path / "rows")
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_entries_that_share_their_bytes(tmp_path):
    """A thousand names for the same array of a megabyte."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as file:
        file.writestr("0.npy", _npy((1 << 17,)) + bytes(1 << 20))
        for i in range(1000):
            twin = copy.copy(file.infolist()[0])
            twin.filename = twin.orig_filename = f"{i + 1}.npy"
            file.filelist.append(twin)
    _signed(tmp_path / "rows", body.getvalue())
    with pytest.raises(InputError, match="not a Condensed"):
        Condensed.load(tmp_path / "rows")


@pytest.mark.parametrize(
    "forge",
    [
        lambda arrays: arrays.pop("header"),
        lambda arrays: arrays.pop("0/R"),
        lambda arrays: arrays.update({"0/R": arrays["0/R"][:, 1:]}),
        lambda arrays: arrays.update({"0/shift": arrays["0/shift"][0]}),
        lambda arrays: arrays.update({"0/count": np.array([3])}),
        lambda arrays: arrays.update({"0/size": np.array(["1"] * 2)}),
        lambda arrays: arrays.update(header=np.frombuffer(b"[]", np.uint8)),
        lambda arrays: arrays.update(header=np.frombuffer(b"{}", np.uint8)),
        lambda arrays: arrays.update(header=np.frombuffer(b"\xff{", np.uint8)),
        lambda arrays: arrays.update(header=np.frombuffer(b"[" * 100_000, np.uint8)),
        lambda arrays: arrays.update({"0/R": arrays["0/R"][:0]}),
        lambda arrays: arrays.update({"0/R": np.vstack([arrays["0/R"]] * 3)}),
        lambda arrays: arrays.update({"0/R": arrays["0/R"].astype(np.float16)}),
        lambda arrays: arrays.update({"0/R": np.nan * arrays["0/R"]}),
        lambda arrays: arrays.update({"0/powers": arrays["0/powers"] + 10**6}),
        lambda arrays: arrays.update({"0/weight": np.array(-1.0)}),
        lambda arrays: _rewrite(arrays, n_features=10**11),
        lambda arrays: _rewrite(arrays, n_features=1.0),
        lambda arrays: _rewrite(arrays, n_features=None),
        lambda arrays: _rewrite(arrays, n_targets=-1),
        lambda arrays: _rewrite(arrays, n_targets=0),
        lambda arrays: _rewrite(arrays, target_names=[]),
        lambda arrays: _rewrite(arrays, feature_names=["a", "b"]),
        lambda arrays: _rewrite(arrays, feature_names="a"),
        lambda arrays: _rewrite(arrays, dtype="U5"),
        lambda arrays: _rewrite(arrays, dtype="O"),
        lambda arrays: _rewrite(arrays, dtype=[1]),
        lambda arrays: _rewrite(arrays, labels=[1.5]),
        lambda arrays: _rewrite(arrays, labels=[None, None]),
        lambda arrays: _rewrite(arrays, labels=[[]]),
    ],
)
def test_forged_arrays_are_refused(forge, tmp_path, monkeypatch):
    rows = Condensed().update([[1.0], [2.0]], [1.0, 2.0])
    arrays = rows.to_arrays()
    forge(arrays)
    monkeypatch.setattr(Condensed, "to_arrays", lambda _: arrays)
    rows.save(tmp_path / "rows")
    with pytest.raises(InputError, match="not a Condensed"):
        Condensed.load(tmp_path / "rows")


def test_from_arrays_and_back():
    X, y, w = rows()
    condensed = in_chunks(X, y, w, fold="a").update(X[:9], y[:9], fold=2)
    arrays = condensed.to_arrays()
    again = Condensed.from_arrays(arrays).to_arrays()
    assert list(again) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name], array)
        assert again[name].dtype == array.dtype


BAD = [
    (([[1.0, np.nan]], [1.0]), "row 0, column 1"),
    (([[1.0, 2.0]], [np.inf]), r"y has 1 NaN or infinite entry, the first at row 0"),
    (([[1.0, 2.0]], [1.0, 2.0]), r"y must have shape \(1,\)"),
    (([[1.0, 2.0, 3.0]], [1.0]), "X has 3 columns, but the rows so far have 2"),
    (([[1.0, 2.0]], [1.0], [-1.0]), "sample_weight must be numbers from 0 up"),
    (([[1.0, 2.0]], [1.0], [np.nan]), "sample_weight must be numbers from 0 up"),
    (([[1.0, 2.0]], [1.0], [1.0, 1.0]), r"sample_weight must have shape \(1,\)"),
]


@pytest.mark.parametrize(("chunk", "why"), BAD)
def test_bad_rows_are_refused_and_none_taken_in(chunk, why):
    condensed = Condensed().update([[1.0, 2.0], [3.0, 5.0]], [1.0, 2.0])
    with pytest.raises(InputError, match=why):
        condensed.update(*chunk)
    assert condensed.n_rows == 2
    np.testing.assert_allclose(condensed.system(False)[0].norms() ** 2, [10, 29])


@pytest.mark.parametrize(
    ("fold", "why"),
    [([1, 2], "one for each of 1 row"), (1.5, "whole number or a text"), (True, "whole number")],
)
def test_labels_of_folds(fold, why):
    with pytest.raises(InputError, match=why):
        Condensed().update([[1.0]], [1.0], fold=fold)


def test_a_chunk_of_weight_zero_is_none():
    condensed = Condensed().update([[1.0], [2.0]], [1.0, 3.0])
    condensed.update([[9.0]], [9.0], [0.0]).update([[9.0]], [9.0], [0.0], fold=[1])
    assert condensed.n_rows == 2
    assert condensed.folds == []


def test_nothing_to_work_with():
    with pytest.raises(InputError, match="There are no rows yet"):
        Condensed().system()
    with pytest.raises(InputError, match="needs at least 2"):
        Condensed().update([[1.0]], [1.0]).system()
    assert repr(Condensed()) == "Condensed()"
    assert "2 rows of 1 feature" in repr(Condensed().update([[1.0], [2.0]], [1.0, 3.0]))
    with pytest.raises(TypeError):
        Condensed() + 1


# --- several targets ------------------------------------------------------------------------------

SHARED = [name for name in BY_COLUMNS if ALGORITHMS[name].multi_target]


def targets(kind=float, q=3):
    """Rows whose targets share three features; their sizes differ by decades."""
    X, _, w = rows(kind=kind)
    rng = np.random.default_rng(5)
    B = np.zeros((M, q), kind)
    B[[1, 4, 7]] = normal(rng, 3, q, kind=kind)
    Y = 2 + X @ B + 0.3 * normal(rng, N, q, kind=kind)
    return X, Y * np.logspace(3, -3, q), w


def shared(weighted, intercept=False, kind=float):
    """The same problem of several targets from a triangle and from all rows."""
    X, Y, w = targets(kind)
    w = w if weighted else np.ones(N)
    root, total = np.sqrt(w)[:, None], w.sum()
    A, B = X - intercept * (w @ X) / total, Y - intercept * (w @ Y) / total
    full = DenseDesign(root * A, rows=total - intercept), root * B
    return in_chunks(X, Y, w).system(intercept), full


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize(("weighted", "intercept"), [(False, False), (True, True)])
def test_algorithms_find_one_support_for_targets_as_in_all_rows(name, weighted, intercept):
    small, full = shared(weighted, intercept)
    run, own = ALGORITHMS[name], call(name, *small)
    one, other = run(*small, **own), run(*full, **own)
    assert one.support.tolist() == other.support.tolist()
    assert one.coef.shape == (M, 3)
    np.testing.assert_allclose(one.coef / full[1].std(axis=0), other.coef / full[1].std(axis=0),
                               rtol=1e-9, atol=1e-9)  # fmt: skip
    assert one.residual_norm == pytest.approx(other.residual_norm, rel=1e-9)
    np.testing.assert_allclose(
        one.check(*small).residual_norms, other.check(*full).residual_norms, rtol=1e-9
    )
    for fact in ("sigma", "log_evidence", "chance"):
        if hasattr(other, fact):
            assert getattr(one, fact) == pytest.approx(getattr(other, fact), rel=1e-9)
    if hasattr(other, "std"):
        np.testing.assert_allclose(one.std, other.std, rtol=1e-9)


@pytest.mark.parametrize("name", ["forward", "rmp0", "rmp"])
def test_complex_targets(name):
    small, full = shared(True, kind=complex)
    own = {"sparsity": 3} if name == "forward" else call(name, *small)
    one, other = (ALGORITHMS[name](*data, **own) for data in (small, full))
    assert one.support.tolist() == other.support.tolist()
    size = np.abs(other.coef).max(axis=0)
    np.testing.assert_allclose(one.coef / size, other.coef / size, rtol=1e-9, atol=1e-12)


def test_one_column_of_targets_is_the_target_itself():
    X, y, w = rows()
    one, column = in_chunks(X, y, w), in_chunks(X, y[:, None], w)
    assert (one.n_targets, column.n_targets) == (None, 1)
    (A, target), (B, targets) = one.system(), column.system()
    np.testing.assert_array_equal(A.A, B.A)
    np.testing.assert_array_equal(target[:, None], targets)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_squared_errors_of_each_target(weighted, intercept):
    X, Y, w = targets()
    w = w if weighted else np.ones(N)
    data = CondensedData(condensed=in_chunks(X, Y, w), intercept=intercept, include=[], exclude=[])
    columns = np.array([1, 7])
    coefs = np.random.default_rng(0).standard_normal((2, 4, 3))
    means, level = data.reduced.means, data.reduced.level
    if intercept:
        np.testing.assert_allclose(means, w @ X / w.sum())
        np.testing.assert_allclose(level, w @ Y / w.sum())
    apart = (Y - level)[:, None, :] - np.einsum("nk,kst->nst", (X - means)[:, columns], coefs)
    errors = data.squared_errors(columns, coefs, means[columns], level)
    np.testing.assert_allclose(errors, np.einsum("n,nst->st", w, apart**2))
    for t in range(3):
        single = CondensedData(
            condensed=in_chunks(X, Y[:, t], w), intercept=intercept, include=[], exclude=[]
        )
        of_one = single.squared_errors(columns, coefs[..., t], means[columns], level[t])
        np.testing.assert_allclose(errors[:, t], of_one)


def test_targets_are_saved_and_read_back_exactly(tmp_path):
    X, Y, w = targets()
    names = ["a", "b", "c"]
    condensed = Condensed().update(X, pd.DataFrame(Y, columns=names), w, fold=np.arange(N) % 2)
    condensed.save(tmp_path / "rows")
    for twin in (Condensed.load(tmp_path / "rows"), pickle.loads(pickle.dumps(condensed))):
        assert (twin.n_targets, twin.target_names) == (3, names)
        for one, other in zip(twin.system(), condensed.system(), strict=True):
            np.testing.assert_array_equal(getattr(one, "A", one), getattr(other, "A", other))
    assert "12 features and 3 targets in 2 folds" in repr(condensed)


def test_targets_add_up():
    X, Y, w = targets()
    parts = [Condensed().update(X[at], Y[at], w[at]) for at in np.split(np.arange(N), [5, 99])]
    merged = parts[0] + (parts[1] + parts[2])
    one, other = (sw.forward(*c.system(), sparsity=5) for c in (merged, in_chunks(X, Y, w)))
    size = np.abs(other.coef).max(axis=0)
    np.testing.assert_allclose(one.coef / size, other.coef / size, rtol=1e-9, atol=1e-12)


PAIR = [[1.0, 2.0]]
BAD_TARGETS = [
    ([1.0], "y has a single target, but the rows so far have 2 target columns; give the same"),
    ([[1.0, 2.0, 3.0]], "y has 3 target columns, but the rows so far have 2 target columns"),
    ([[1.0, np.nan]], "y has 1 NaN or infinite entry, the first at row 0, column 1"),
    (
        [[1.0], [2.0]],
        r"y must have shape \(1,\) or \(1, q\), one row per row of X, not \(2, 1\); pass",
    ),
    ([[1.0, 2.0]] * 3, r"y must have shape \(1,\) or \(1, q\), .*, not \(3, 2\)\."),
    ([[]], "y has no columns, and so no targets"),
    ([[PAIR]], r"y must have shape \(1,\)"),
    (pd.DataFrame(PAIR), "y has names for its columns, unlike the rows so far; give the same tar"),
]


@pytest.mark.parametrize(("y", "why"), BAD_TARGETS)
def test_bad_targets_are_refused_and_none_taken_in(y, why):
    condensed = Condensed().update([[1.0, 2.0], [3.0, 5.0]], [[1.0, 2.0], [0.0, 3.0]])
    with pytest.raises(InputError, match=why):
        condensed.update(PAIR, y)
    assert condensed.n_rows == 2
    with pytest.raises(InputError, match="the rows so far have a single target"):
        Condensed().update(PAIR, [1.0]).update(PAIR, PAIR)
    one, other = (Condensed().update(PAIR, pd.DataFrame(PAIR, columns=[*n])) for n in ("ac", "bc"))
    with pytest.raises(InputError, match='y has "b" for column 0, which was "a" so far'):
        one + other
