"""Data of which only sums are left: what the rows say, in half of the digits."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import PredefinedSplit

import sparsewise as sw
from sparsewise.algorithms import ALGORITHMS
from sparsewise.criteria.information import BY_LOSS
from sparsewise.errors import InputError
from sparsewise.model_selection.choice import forward_path
from sparsewise.model_selection.condensed_data import CondensedData
from tests.estimators import conftest as settings
from tests.estimators.conftest import WITHOUT_FOLDS, assert_same, make, over
from tests.problems import FAMILIES, L1, WORDS, Problem, normal

SQRT_EPS = 2.0**-26


def from_rows(X, y, weights=None, *, means=True, dtype=None) -> sw.Condensed:
    """The sums of rows, and the rows that they stand for."""
    w = np.ones(len(X)) if weights is None else weights
    n, Z = w.sum(), w[:, None] * X
    G, Xty, yty = X.conj().T @ Z, Z.conj().T @ y, np.vdot(y, w * y).real
    known = {"X_mean": Z.sum(axis=0) / n, "y_mean": (w @ y) / n} if means else {}
    if dtype is not None:
        G, Xty = G.astype(dtype), Xty.astype(dtype)
    return sw.from_gram(G, Xty, yty, n, **known)


def words(name: str, p: Problem) -> dict:
    if name in WORDS:
        own = {"effort": 2} if name == "solve" else WORDS[name](p)
        return own | ({"min_increase": 1e-10} if "sigma" in own else {})
    if name in ("ista", "fista"):
        return {"penalty": 0.5 * float(np.abs(p.A.conj().T @ p.y).max()), "tol": 1e-8}
    least = np.linalg.norm(p.y - p.A @ np.linalg.lstsq(p.A, p.y, rcond=None)[0])
    bound = 1.2 * max(float(least), p.delta)
    return {"residual": bound}


CALLS = [*WORDS, *(name for name in L1 if name != "bp")]
TALL = ["tall", "correlated tall", "orthonormal", "complex tall"]


@pytest.mark.parametrize("family", TALL)
@pytest.mark.parametrize("name", CALLS)
def test_algorithms_find_in_sums_what_they_find_in_rows(name, family):
    p = FAMILIES[family](3)
    found = ALGORITHMS[name](p.A, p.y, **words(name, p))
    A, y = from_rows(p.A, p.y).system(intercept=False)
    again = ALGORITHMS[name](A, y, **words(name, p))
    assert again.support.tolist() == found.support.tolist()
    close = 1e-5 if name in ("ista", "fista", "sbl", "fast_sbl", "rmp") else 1e-9
    size = np.abs(found.coef).max()
    np.testing.assert_allclose(again.coef, found.coef, rtol=0, atol=close * size)
    assert math.isclose(again.residual_norm, found.residual_norm, rel_tol=max(close, 1e-7))
    assert again.check(A, y).ok


def table(seed=0, n=300, m=12, kind=float):
    """Columns of many scales, away from zero; a target of three of them, and weights."""
    rng = np.random.default_rng(seed)
    X = (normal(rng, n, m, kind=kind) + rng.uniform(-3, 3, m)) * 10.0 ** rng.uniform(-3, 3, m)
    coef = np.zeros(m)
    coef[[1, 4, 9]] = np.array([2.0, -1.0, 1.5]) / X.std(axis=0)[[1, 4, 9]]
    return X, 5 + X @ coef + 0.3 * normal(rng, n, kind=kind), rng.uniform(0.2, 3, n)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", [float, complex])
def test_sums_with_weights_and_an_intercept_are_those_of_the_rows(intercept, weighted, kind):
    X, y, w = table(kind=kind)
    w = w if weighted else None
    rows = sw.Condensed().update(X, y, w)
    sums = from_rows(X, y, w)
    assert math.isclose(sums.n_rows, rows.n_rows)
    assert (sums.n_features, sums.dtype, sums.folds) == (rows.n_features, rows.dtype, [])
    np.testing.assert_allclose(sums.total.means, rows.total.means, rtol=1e-12)
    A, y = sums.system(intercept)
    of_rows = rows.system(intercept)
    assert math.isclose(A.rows, of_rows[0].rows)
    assert A.shape[1] == of_rows[0].shape[1]
    for name in ("forward", "solve"):
        found = ALGORITHMS[name](*of_rows, **({"sparsity": 5} if name == "forward" else {}))
        again = ALGORITHMS[name](A, y, **({"sparsity": 5} if name == "forward" else {}))
        assert again.support.tolist() == found.support.tolist()
        np.testing.assert_allclose(again.coef, found.coef, rtol=1e-8)
        assert math.isclose(again.residual_norm, found.residual_norm, rel_tol=1e-8)
        assert again.check(A, y).ok
    # The same certificate, and the same reasons for it.
    certified, of_all = (sw.certify(*data, [1, 4, 9], time_limit=5) for data in ((A, y), of_rows))
    assert certified.status == of_all.status


CAREFUL = ["forward", "omp", "backward", "rmp0", "foba", "stepwise", "srr", "solve"]


@pytest.mark.parametrize("condition", [1e3, 1e4, 1e5, 1e6, 1e8, 1e12])
@pytest.mark.parametrize("name", CAREFUL)
@pytest.mark.parametrize("kind", [float, complex])
def test_coefficients_of_close_columns_have_half_of_the_digits_or_are_not_told(
    name, condition, kind
):
    """Whatever is returned is the fit of its columns to the rows, which QR knows."""
    rng = np.random.default_rng(7)
    U, V = np.linalg.qr(normal(rng, 200, 8, kind=kind))[0], np.linalg.qr(normal(rng, 8, 8))[0]
    A = (U * np.geomspace(1, 1 / condition, 8)) @ V
    y = A @ normal(rng, 8) + 1e-3 * normal(rng, 200, kind=kind)
    p = Problem("close", A, y, 8, 1e-6)
    how = {"delta": 1e-6} if name in ("rmp0", "foba") else {"sparsity": 8}
    how = {"stepwise": {"criterion": "aic"}, "solve": {}}.get(name, how)
    design, target = from_rows(p.A, p.y).system(intercept=False)
    try:
        found = ALGORITHMS[name](design, target, **how)
    except sw.DependentColumnsError:
        assert condition > 1e3
        return
    unit = A[:, found.support] / np.linalg.norm(A[:, found.support], axis=0)
    x, *_ = np.linalg.lstsq(unit, y, rcond=None)
    told = found.coef[found.support] * np.linalg.norm(A[:, found.support], axis=0)
    size = max(float(np.abs(x).max(initial=0.0)), float(np.linalg.norm(y)))
    np.testing.assert_allclose(told, x, rtol=0, atol=1e-6 * size)
    assert found.check(design, target).ok
    if condition == 1e3 and name not in ("solve", "stepwise"):
        assert found.support.size == 8


@pytest.mark.parametrize("apart", [0.0, 1e-9, 1e-6])
def test_near_copies_count_as_one(apart):
    X, y, _ = table()
    X[:, 6] = -3 * X[:, 1] * (1 + apart * np.cos(np.arange(len(X))))
    A, target = from_rows(X, y).system()
    assert sw.forward(A, target, sparsity=12).support.size == 11
    with pytest.raises(sw.DependentColumnsError):
        sw.backward(A, target, sparsity=3)
    assert sw.solve(A, target).support.tolist() == [1, 4, 9]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [float, complex])
def test_exact_fits_are_exact_to_the_digits_of_sums(intercept, kind):
    X, _, w = table(kind=kind)
    y = intercept * 3.0 + X[:, [2, 5]] @ (1 / X.std(axis=0)[[2, 5]])
    A, target = from_rows(X, y, w).system(intercept)
    found = sw.forward(A, target, residual=0.0)
    assert found.stop is sw.Stop.EXACT_FIT
    assert found.support.tolist() == [2, 5]
    assert found.residual_norm <= 1e-6 * np.linalg.norm(target)
    assert sw.solve(A, target).support.tolist() == [2, 5]
    assert sw.rmp(A, target).support.tolist() == [2, 5]
    basic = sw.bp(A, target)
    assert basic.check(A, target).ok


def test_criteria_are_those_of_the_rows():
    X, y, w = table()
    full = CondensedData(
        condensed=sw.Condensed().update(X, y, w), intercept=True, include=[], exclude=[]
    )
    sums = replace(full, condensed=from_rows(X, y, w))
    path, again = (forward_path(data, 8).path for data in (full, sums))
    assert [step.column for step in again] == [step.column for step in path]
    for name in BY_LOSS:
        of_all, of_sums = (
            data.criteria(0.5)[name].value(path.losses, path.dfs) for data in (full, sums)
        )
        np.testing.assert_allclose(of_sums, of_all, rtol=1e-9, atol=1e-9, err_msg=name)
    assert sums.is_exact(1e-13 * sums.total)
    assert not full.is_exact(1e-13 * full.total)


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((20, 35)), rng.standard_normal(20)
    for intercept in (True, False):
        A, target = from_rows(X, y).system(intercept)
        of_rows = sw.Condensed().update(X, y).system(intercept)
        assert sw.forward(A, target, sparsity=8).support.tolist() == (
            sw.forward(*of_rows, sparsity=8).support.tolist()
        )
        assert sw.forward(A, target, residual=0.0).stop is sw.Stop.EXACT_FIT
        assert sw.bp(A, target).support.size <= 20


def test_constant_columns_are_zero_and_offsets_cost_what_is_said():
    X, y, w = table()
    X[:, 3] = 1e3
    X[:, 7] = 1e7 * X[:, 7].std() + X[:, 7]  # varies by a ten-millionth
    X[:, 0] = 1e3 * X[:, 0].std() + X[:, 0]
    sums = from_rows(X, y, w)
    A, _ = sums.system(intercept=True)
    assert (A.norms() == 0).tolist() == [j in (3, 7) for j in range(12)]
    assert 5e2 * SQRT_EPS < A.error < 2e3 * SQRT_EPS
    plain, _ = sums.system(intercept=False)
    assert (plain.norms() > 0).all()
    assert math.isclose(plain.error, SQRT_EPS, rel_tol=1e-6)


@pytest.mark.parametrize("power", [-140, -60, 60, 140])
def test_any_scale(power):
    X, y, w = table()
    found = sw.forward(*from_rows(X, y, w).system(), sparsity=3)
    s = 10.0**power
    scaled = sw.forward(*from_rows(s * X, y / s, w).system(), sparsity=3)
    assert scaled.support.tolist() == found.support.tolist()
    np.testing.assert_allclose(scaled.coef * s * s, found.coef, rtol=1e-9)


def test_single_precision_has_few_digits_and_says_so():
    X, y, _ = table()
    sums = from_rows(X, y, means=False, dtype=np.float32)
    assert sums.dtype == np.float32
    A, target = sums.system(intercept=False)
    assert (A.dtype, target.dtype) == (np.float32, np.float32)
    assert A.tolerances.eps >= np.sqrt(np.finfo(np.float32).eps) * 0.999
    found, of_rows = sw.forward(A, target, sparsity=3), sw.forward(X, y, sparsity=3)
    assert found.coef.dtype == np.float32
    assert found.support.tolist() == of_rows.support.tolist()
    np.testing.assert_allclose(found.coef, of_rows.coef, rtol=1e-3)
    assert found.check(A, target).ok


def test_triangles_add_up_and_errors_with_them(tmp_path):
    X, y, w = table()
    parts = from_rows(X[:100], y[:100], w[:100]), sw.Condensed().update(X[100:], y[100:], w[100:])
    whole = sw.Condensed().update(X, y, w).system()
    expected = sw.forward(*whole, sparsity=4)
    for merged in (parts[0] + parts[1], parts[1] + parts[0]):
        A, target = merged.system()
        found = sw.forward(A, target, sparsity=4)
        assert found.support.tolist() == expected.support.tolist()
        np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-9)
        # No better than that of the sums, of which it has a third of the rows.
        assert 0.3 * SQRT_EPS < A.error < parts[0].system()[0].error
        merged.save(tmp_path / "sums")
        for again in (sw.Condensed.load(tmp_path / "sums"), pickle.loads(pickle.dumps(merged))):
            B, same = again.system()
            assert A.error == B.error
            np.testing.assert_array_equal(same, target)
    more = from_rows(X[:100], y[:100], w[:100]).update(X[100:], y[100:], w[100:])
    assert math.isclose(more.system()[0].error, A.error, rel_tol=1e-6)


def test_without_means_there_is_no_intercept(tmp_path):
    X, y, w = table()
    sums = from_rows(X, y, w, means=False)
    A, target = sums.system(intercept=False)
    expected = sw.forward(*sw.Condensed().update(X, y, w).system(False), sparsity=4)
    assert sw.forward(A, target, sparsity=4).support.tolist() == expected.support.tolist()
    sums.save(tmp_path / "sums")
    merged = sums + sw.Condensed().update(X, y), sw.Condensed().update(X, y) + sums
    for unknown in (sums, sw.Condensed.load(tmp_path / "sums"), *merged):
        with pytest.raises(InputError, match=r"means of these rows are not known.*fit_intercept"):
            unknown.system()
    twice = sw.forward(*sw.Condensed().update(X, y, w).update(X, y).system(False), sparsity=4)
    for each in merged:
        found = sw.forward(*each.system(intercept=False), sparsity=4)
        np.testing.assert_allclose(found.coef, twice.coef, rtol=1e-9)


def test_names_of_a_frame():
    pandas = pytest.importorskip("pandas")
    X, y, _ = table(m=3 + 7)
    names = [f"x{j}" for j in range(10)]
    G = pandas.DataFrame(X.T @ X, columns=names, index=names)
    assert sw.from_gram(G, X.T @ y, y @ y, 300).feature_names == names


def test_one_column_of_zeros_and_a_target_of_zeros():
    X, y, _ = table()
    X[:, 2] = 0.0
    A, target = from_rows(X, 0 * y).system()
    assert not target.any()
    assert sw.forward(A, target, sparsity=2).support.size == 0
    zero = sw.from_gram(np.zeros((2, 2)), [0, 0], 4.0, 4, X_mean=[0, 0], y_mean=0)
    assert sw.forward(*zero.system(), sparsity=1).support.size == 0


def test_sums_that_are_rounded_more_than_numbers_are_known_less_well():
    """Negative eigenvalues show by how much they are off."""
    X, y, _ = table(n=10)  # of fewer rows than columns
    A, _ = from_rows(X, y, means=False).system(intercept=False)
    X = X / np.linalg.norm(X, axis=0)
    rounded, _ = sw.from_gram(np.round(X.T @ X, 11), X.T @ y, y @ y, 10).system(intercept=False)
    assert A.error < 5 * SQRT_EPS
    assert 1e-7 < rounded.error < 1e-5


def test_sums_in_other_clothes():
    X, y, _ = table()
    sums = X.T @ X, X.T @ y, y @ y, 300
    design, target = sw.from_gram(*sums).system(intercept=False)
    for other in (
        sw.from_gram(csr_array(sums[0]), *sums[1:]),
        sw.from_gram(sums[0].tolist(), sums[1].tolist(), complex(sums[2]), np.int64(300)),
        sw.from_gram(sums[0].astype(">f8"), sums[1].astype(object), np.array(sums[2]), 300.0),
    ):
        A, z = other.system(intercept=False)
        assert A.dtype == np.float64
        np.testing.assert_array_equal(A.columns(slice(None)), design.columns(slice(None)))
        np.testing.assert_array_equal(z, target)


def test_offsets_that_leave_no_digits_are_refused():
    X, y, w = table()
    X[:, 5] += 5e5 * X[:, 5].std()
    with pytest.raises(InputError, match=r"^Column 5 is known to 0\.0\d+ of its length only"):
        from_rows(X, y, w).system()
    with pytest.raises(InputError, match=r"^The target is known to"):
        from_rows(table()[0], y + 5e5 * y.std(), w).system()


GOOD = {"G": [[2.0, 1.0], [1.0, 2.0]], "Xty": [1.0, 0.5], "yty": 3.0, "n": 9}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"G": [[1.0, 2.0]]}, r"G must be square, but its shape is \(1, 2\)\."),
        ({"G": []}, r"G must be square"),
        (
            {"G": [[2.0, 1.0], [0.0, 2.0]]},
            r"G must be symmetric .* \(0, 1\) and \(1, 0\) are 1 and",
        ),
        ({"G": [[2.0, 1j], [1j, 2.0]]}, "Hermitian"),
        ({"G": [[2.0, 3.0], [3.0, 2.0]]}, r"G is no matrix of inner products.* is -0\.5"),
        (
            {"G": [[2.0, np.nan], [1.0, 2.0]]},
            r"G has 1 entry NaN or infinite, the first at row 0, column 1; sum",
        ),
        ({"G": [[-2.0, 1.0], [1.0, 2.0]]}, r"G has -2 on its diagonal, column 0"),
        ({"G": [[0.0, 1.0], [1.0, 2.0]]}, r"G has 0 on its diagonal, column 0, and inner products"),
        ({"G": [[1e-300, 0.0], [0.0, 2.0]], "Xty": [0, 0]}, "too small for its digits; scale"),
        ({"G": "many"}, "G "),
        ({"G": np.eye(2, dtype=np.float16)}, "G has too few digits in half precision: use double"),
        ({"Xty": [1.0, 2.0, 3.0]}, r"Xty must have shape \(2,\), one entry per column of G"),
        ({"Xty": [1.0, np.inf]}, r"Xty has 1 entry NaN or infinite, the first at row 1;"),
        ({"Xty": [3.0, 0.0]}, "G does not go with Xty and yty: one of them is of other rows"),
        ({"yty": -1.0}, r"yty has -1: that is no sum of squares"),
        ({"yty": 0.0}, r"yty has 0, and inner products besides"),
        ({"yty": np.nan}, r"yty must be finite, not nan; sum"),
        ({"yty": 3.0 + 1j}, "yty must be a sum of squares, a real number"),
        ({"yty": [3.0]}, r"yty must be a number, but its shape is \(1,\)"),
        ({"n": 0}, "n must be a number of rows, at least 1, not 0"),
        ({"n": math.nan}, "n must"),
        ({"n": math.inf}, "n must"),
        ({"X_mean": [0.1, 0.1]}, "y_mean is missing: an intercept needs all means"),
        ({"y_mean": 0.1}, "X_mean is missing"),
        ({"X_mean": [0.1], "y_mean": 0.1}, r"X_mean must have shape \(2,\)"),
        ({"X_mean": [0.1, 9.0], "y_mean": 0.1}, r"X_mean and n don't belong to G\[1, 1\]"),
        ({"X_mean": [0.1, 0.1], "y_mean": -1.0}, "y_mean and n don't belong to yty, which is 3"),
        ({"X_mean": [0.4, -0.4], "y_mean": 0.1}, "G is no matrix of inner products"),
        ({"X_mean": [2**0.5 / 3, 0.0], "y_mean": 0.1}, "G is no matrix of inner products"),
        ({"X_mean": [0.0, 0.0], "y_mean": 3**-0.5}, "G does not go with Xty and yty"),
    ],
)
def test_what_is_no_sum_is_refused_in_one_sentence(change, sentence):
    with pytest.raises(InputError) as told:
        sw.from_gram(**(GOOD | change))
    assert re.search(sentence, str(told.value))
    assert "\n" not in str(told.value)
    assert str(told.value).endswith(".")


# --- several targets ------------------------------------------------------------------------------


def of_targets(X, Y, w, *, squares=False, means=True):
    Z, n = w[:, None] * X, w.sum()
    yty = Y.conj().T @ (w[:, None] * Y)
    known = {"X_mean": Z.sum(axis=0) / n, "y_mean": w @ Y / n} if means else {}
    yty = yty.diagonal().real if squares else yty
    return sw.from_gram(X.conj().T @ Z, Z.conj().T @ Y, yty, n, **known)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("squares", [False, True])
def test_sums_of_several_targets(kind, intercept, squares):
    rng = np.random.default_rng(4)
    X, w = normal(rng, 300, 9, kind=kind) + 1, rng.uniform(0.5, 2, 300)
    noise = normal(rng, 300, 3, kind=kind) + normal(rng, 300, 1, kind=kind)  # in part shared
    Y = X[:, [2, 5]] @ normal(rng, 2, 3, kind=kind) + 3 + 0.5 * noise
    sums, rows = of_targets(X, Y, w, squares=squares), sw.Condensed().update(X, Y, w)
    assert sums.n_targets == 3
    (A, B), (D, E) = sums.system(intercept), rows.system(intercept)
    np.testing.assert_allclose(A.A.conj().T @ B, D.A.conj().T @ E, rtol=1e-10, atol=1e-9)
    inner, known = B.conj().T @ B, E.conj().T @ E
    np.testing.assert_allclose(inner.diagonal(), known.diagonal())
    if squares and intercept:  # what the features leave of the targets is uncorrelated
        rest = inner - B.conj().T @ A.A @ np.linalg.pinv(A.A) @ B
        assert np.abs(rest - np.diag(rest.diagonal())).max() < 1e-9 * np.abs(rest).max()
    elif not squares:
        np.testing.assert_allclose(inner, known)
    for run in (sw.rmp, lambda *data: sw.forward(*data, sparsity=4)):
        one, other = run(A, B), run(D, E)
        assert one.support.tolist() == other.support.tolist()
        np.testing.assert_allclose(one.coef, other.coef, rtol=1e-6, atol=1e-9)


SEVERAL = GOOD | {"Xty": [[1.0, 0.2], [0.5, 0.1]], "yty": [[3.0, 1.0], [1.0, 4.0]]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"Xty": np.ones((3, 2))}, r"Xty must have shape \(2, 2\), one row per column of G"),
        ({"Xty": np.ones((2, 0))}, "Xty has no columns, and so no targets"),
        ({"yty": 3.0}, r"yty must have shape \(2,\), one entry per target, but its shape is \(\)"),
        ({"yty": np.eye(3)}, r"yty must have shape \(2, 2\), one row per target"),
        ({"yty": [3.0, 1j]}, "yty must be sums of squares, real numbers"),
        ({"yty": [3.0, -1.0]}, "yty has -1 for target 1: that is no sum of squares"),
        ({"yty": [[3.0, 1.0], [0.5, 4.0]]}, r"yty must be symmetric .* \(0, 1\) and \(1, 0\)"),
        ({"yty": [[3.0, 9.0], [9.0, 4.0]]}, "G does not go with Xty and yty"),
        ({"yty": [3.0, 0.001]}, "G does not go with Xty and yty"),
        (
            {"X_mean": [0.1, 0.1], "y_mean": 0.1},
            r"y_mean must have shape \(2,\), one entry per tar",
        ),
        (
            {"X_mean": [0.1, 0.1], "y_mean": [0.1, 2.0]},
            "y_mean and n don't belong to that of target 1 in yty, which is 4:",
        ),
    ],
)
def test_what_are_no_sums_of_targets_is_refused(change, sentence):
    assert sw.from_gram(**SEVERAL).n_targets == 2
    with pytest.raises(InputError) as told:
        sw.from_gram(**(SEVERAL | change))
    assert re.search(sentence, str(told.value))
    assert str(told.value).endswith(".")


def test_a_target_far_from_zero_is_named():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    Y[:, 1] += 5e5
    with pytest.raises(InputError, match=r"^The target 1 is known to"):
        of_targets(X, Y, np.ones(50)).system()


# --- estimators ----------------------------------------------------------------------------------

CONDENSABLE = [name for name in WITHOUT_FOLDS if "loo" not in name]


@over(CONDENSABLE)
def test_estimators_find_in_sums_what_they_find_in_rows(name):
    X, y = settings.table(n=80)
    w = np.random.default_rng(1).uniform(0.5, 1.5, 80)
    model = make(name).fit(from_rows(X, y, w))
    # FOCUSS lets coefficients go once they can't be told from zero, of which sums tell less.
    apart = ("path rss", "path r2") if name == "focuss" else ()
    left_out = ("path loo", *apart)
    assert_same(model, make(name).fit(X, y, w), X, rtol=1e-6, leave_out=left_out)
    assert "condensed" in str(model.summary())


def test_estimators_on_single_precision_and_without_means():
    X, y = settings.table(n=80)
    sums = from_rows(X - X.mean(axis=0), y - y.mean(), means=False, dtype=np.float32)
    with pytest.raises(InputError, match="fit_intercept=False"):
        make("forward").fit(sums)
    for name in ("forward", "rmp", "search", "omp"):
        model = make(name, fit_intercept=False).fit(sums)
        of_rows = make(name).fit(X, y)
        assert model.coef_.dtype == np.float32
        assert model.get_support().tolist() == of_rows.get_support().tolist()
        np.testing.assert_allclose(model.coef_, of_rows.coef_, rtol=2e-3)


def test_sums_of_each_fold_are_cross_validated():
    X, y = settings.table(n=90)
    folds = np.arange(90) % 3
    sums = [from_rows(X[folds == i], y[folds == i]).as_fold(i) for i in range(3)]
    for name in ("cv", "search, cv"):
        model = make(name, cv=3).fit(sums[0] + sums[1] + sums[2])
        of_rows = make(name, cv=PredefinedSplit(folds)).fit(X, y)
        assert_same(model, of_rows, X, rtol=1e-6, leave_out=("path loo",))
