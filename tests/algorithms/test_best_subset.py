"""Best subsets against enumeration, and what is promised where time runs out."""

import inspect
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

import sparsewise
from sparsewise import Stop, Targets, best_subset, forward
from sparsewise.subsets.leaps_and_bounds import MOST_COLUMNS
from tests.problems import correlated, duplicated, gaussian, normal, orthonormal, rank_deficient
from tests.subsets.enumeration import RANK, best, residual_norm, unit


def with_zeros(seed):
    p = gaussian(seed, 20, 9, 3)
    p.A[:, [2, 7]] = 0
    return p


FAMILIES = {
    "tall": lambda seed: gaussian(seed, 30, 11, 4),
    "square": lambda seed: gaussian(seed, 9, 9, 4),
    "wide": lambda seed: gaussian(seed, 7, 11, 4),
    "correlated": lambda seed: correlated(seed, 14, 10, 4),
    "orthonormal": lambda seed: orthonormal(seed, 9, 4),
    "copies": lambda seed: duplicated(seed, 14, 10, 4),
    "zero columns": with_zeros,
    "rank deficient": lambda seed: rank_deficient(seed, 14, 11, 6),
    "complex tall": lambda seed: gaussian(seed, 20, 9, 4, kind=complex),
    "complex wide": lambda seed: gaussian(seed, 6, 9, 4, kind=complex),
    "complex rank deficient": lambda seed: rank_deficient(seed, 12, 9, 5, kind=complex),
}
MODULE = sys.modules[best_subset.__module__]  # which the function hides
SINGLE = ["tall", "wide", "complex tall", "orthonormal"]


def agrees(solution, A, y, *, include=(), exclude=(), rtol=1e-9):
    """Every size of a finished search is what enumeration finds; return the sizes."""
    total = float(np.linalg.norm(y)) ** 2
    sizes = [k for k in solution.path.sizes if k >= max(len(include), 1)]
    for k in sizes:
        model = solution.path.at(k)
        columns, norm, next_norm = best(A, y, k, include, exclude)
        assert model.squared_residual == pytest.approx(norm**2, rel=rtol, abs=rtol * total)
        if next_norm**2 > norm**2 * (1 + 10 * rtol) + 10 * rtol * total:  # no tie
            assert tuple(model.support) == columns
        assert {*include} <= {*model.support}
        assert not {*exclude} & {*model.support}
        assert solution.lower_bounds[k] == pytest.approx(model.squared_residual, rel=rtol / 10)
    assert list(solution.lower_bounds) == sizes
    assert solution.proved
    assert not any(solution.gaps.values())
    assert solution.check(A, y).ok
    return sizes


def rank(A):
    return int(np.linalg.matrix_rank(unit(A), tol=RANK[np.asarray(A).real.dtype]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", FAMILIES)
def test_every_size_against_enumeration(name, seed):
    p = FAMILIES[name](seed)
    most = rank(p.A)
    solution = best_subset(p.A, p.y, sparsity=most)
    assert agrees(solution, p.A, p.y) == list(range(1, most + 1))
    # As many columns as rows fit any target.
    assert solution.stop is (Stop.EXACT_FIT if most == len(p.y) else Stop.PROVED)
    assert solution.support.tolist() == solution.path.at(most).support.tolist()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SINGLE)
def test_single_precision(name, seed):
    p = FAMILIES[name](seed)
    A = p.A.astype(np.complex64 if np.iscomplexobj(p.A) else np.float32)
    y = p.y.astype(A.dtype)
    solution = best_subset(A, y, sparsity=5)
    assert agrees(solution, A, y, rtol=3e-6) == [1, 2, 3, 4, 5]
    assert solution.coef.dtype == A.dtype


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["tall", "wide", "correlated", "complex tall", "zero columns"])
def test_include_and_exclude(name, seed):
    p = FAMILIES[name](seed)
    rng = np.random.default_rng(seed)
    usable = np.flatnonzero(np.linalg.norm(p.A, axis=0))
    include, exclude = np.split(rng.permutation(usable)[:4], 2)
    solution = best_subset(p.A, p.y, sparsity=5, include=include, exclude=exclude)
    sizes = agrees(solution, p.A, p.y, include=include.tolist(), exclude=exclude.tolist())
    assert sizes == [2, 3, 4, 5]


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 9), st.sampled_from("fdFD"))
def test_small_problems(seed, n, m, char):
    rng = np.random.default_rng(seed)
    kind = complex if char in "FD" else float
    A, y = normal(rng, n, m, kind=kind).astype(char), normal(rng, n, kind=kind).astype(char)
    most = min(n, m)
    solution = best_subset(A, y, sparsity=most)
    if most == n:  # the last fit is exact: any columns do
        last = solution.path.sizes[-1]
        assert residual_norm(A, y, solution.path.at(last).support) <= 1e-3 * np.linalg.norm(y)
    rtol = 1e-9 if char in "dD" else 1e-4
    agrees(solution, A, y, rtol=rtol)


def test_columns_and_target_may_have_any_scale():
    p = FAMILIES["tall"](5)
    scales = 10.0 ** np.random.default_rng(0).uniform(-100, 100, p.A.shape[1])
    plain = best_subset(p.A, p.y, sparsity=6)
    scaled = best_subset(p.A * scales, 1e-90 * p.y, sparsity=6)
    for k in range(1, 7):
        ours, theirs = plain.path.at(k), scaled.path.at(k)
        assert ours.support.tolist() == theirs.support.tolist()
        assert theirs.squared_residual == pytest.approx(1e-180 * ours.squared_residual)
        assert scaled.lower_bounds[k] == pytest.approx(1e-180 * plain.lower_bounds[k])


def test_diabetes_of_efron_et_al():
    """The best subsets that Efron et al.'s readers know: bmi, s5, bp, s1, then sex and s3."""
    data = load_diabetes()
    y = data.target - data.target.mean()
    names = np.array(data.feature_names)
    solution = best_subset(data.data, y, sparsity=10)
    assert agrees(solution, data.data, y) == list(range(1, 11))
    assert [" ".join(names[solution.path.at(k).support]) for k in range(1, 6)] == [
        "bmi",
        "bmi s5",
        "bmi bp s5",
        "bmi bp s1 s5",
        "sex bmi bp s3 s5",
    ]
    assert solution.stop is Stop.PROVED


# --- several targets ------------------------------------------------------------------------------


def with_targets(p, q, char="d"):
    """The problem with q targets in place of one, of scales that differ by decades."""
    rng = np.random.default_rng([q, len(p.y)])
    kind = complex if char in "DF" else float
    shared = np.outer(p.y, normal(rng, q, kind=kind))
    own = normal(rng, len(p.y), q, kind=kind) * float(np.linalg.norm(p.y)) / 4
    Y = (shared + own) * 10.0 ** rng.uniform(-3, 3, q)
    return p.A.astype(char), Y.astype(char)


def agrees_on_all(solution, A, Y, rtol=1e-9, **constraints):
    """Every size against enumeration, targets of norm one; return the sizes."""
    norms = np.linalg.norm(Y, axis=0)
    scale = float(np.square(norms).mean())
    W = Y / norms / np.sqrt(len(norms))
    sizes = list(solution.lower_bounds)
    for k in sizes:
        model = solution.path.at(k)
        columns, norm, next_norm = best(A, W, k, **constraints)
        squared = model.squared_residual / scale
        assert squared == pytest.approx(norm**2, rel=rtol, abs=rtol)
        if next_norm**2 > norm**2 * (1 + 10 * rtol) + 10 * rtol:  # no tie
            assert tuple(model.support) == columns
        V = A[:, model.support]
        X = np.linalg.lstsq(V, Y, rcond=None)[0]
        found = model.coef[model.support]
        np.testing.assert_allclose(
            found / norms, X / norms, atol=1e3 * rtol * np.abs(X / norms).max()
        )
    assert solution.proved
    assert solution.coef.shape == (A.shape[1], len(norms))
    assert solution.check(A, Y).ok
    return sizes


@pytest.mark.parametrize("q", [1, 2, 5, 25])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_size_for_several_targets(name, q):
    p = FAMILIES[name](1)
    A, Y = with_targets(p, q, "D" if np.iscomplexobj(p.A) else "d")
    most = min(rank(A), 5)
    solution = best_subset(A, Y, sparsity=most)
    assert agrees_on_all(solution, A, Y) == list(range(1, most + 1))


@pytest.mark.parametrize("name", SINGLE)
def test_several_targets_in_single_precision(name):
    p = FAMILIES[name](2)
    A, Y = with_targets(p, 3, "F" if np.iscomplexobj(p.A) else "f")
    solution = best_subset(A, Y, sparsity=4)
    assert agrees_on_all(solution, A, Y, rtol=1e-5) == [1, 2, 3, 4]
    assert solution.coef.dtype == A.dtype


@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 8), st.integers(1, 9))
def test_small_problems_of_several_targets(seed, n, m, q):
    rng = np.random.default_rng(seed)
    kind = [float, complex][seed % 2]
    A, Y = normal(rng, n, m, kind=kind), normal(rng, n, q, kind=kind)
    solution = best_subset(A, Y, sparsity=min(n - 1, m))
    agrees_on_all(solution, A, Y)


@pytest.mark.parametrize("seed", range(3))
def test_include_and_exclude_for_several_targets(seed):
    A, Y = with_targets(FAMILIES["tall"](seed), 3)
    include, exclude = [2, 6], [0, 9]
    solution = best_subset(A, Y, sparsity=5, include=include, exclude=exclude)
    assert agrees_on_all(solution, A, Y, include=include, exclude=exclude) == [2, 3, 4, 5]


@pytest.mark.parametrize("char", "dDfF")
def test_one_target_of_shape_n_1_is_one_target(char):
    for seed in range(4):
        p = gaussian(seed, 14, 9, 3, kind=complex if char in "DF" else float)
        A, y = p.A.astype(char), p.y.astype(char)
        flat, column = (best_subset(A, z, sparsity=5) for z in (y, y[:, None]))
        assert flat.lower_bounds == column.lower_bounds
        assert flat.residual_norm == column.residual_norm
        for k in flat.path.sizes:
            np.testing.assert_array_equal(flat.path.at(k).coef, column.path.at(k).coef[:, 0])


def test_copies_of_a_target_are_one_target():
    for seed in range(4):
        p = FAMILIES["correlated"](seed)
        one = best_subset(p.A, p.y, sparsity=6)
        copies = best_subset(p.A, np.outer(p.y, [1, 1, 1]), sparsity=6)
        for k in one.path.sizes:
            ours, theirs = one.path.at(k), copies.path.at(k)
            np.testing.assert_array_equal(ours.support, theirs.support)
            assert theirs.squared_residual == pytest.approx(ours.squared_residual)
            np.testing.assert_allclose(theirs.coef, np.outer(ours.coef, np.ones(3)), rtol=1e-9)
        assert copies.lower_bounds == pytest.approx(one.lower_bounds)


def test_scales_of_targets_do_not_matter():
    A, Y = with_targets(FAMILIES["tall"](5), 3)
    scales = [1e6, 1e-6, -1e140]
    plain, scaled = best_subset(A, Y, sparsity=6), best_subset(A, Y * scales, sparsity=6)
    for k in range(1, 7):
        ours, theirs = plain.path.at(k), scaled.path.at(k)
        np.testing.assert_array_equal(ours.support, theirs.support)
        np.testing.assert_allclose(theirs.coef, ours.coef * scales, rtol=1e-8)
    assert scaled.gaps == plain.gaps


def test_weights_of_targets_decide():
    A, Y = np.eye(4), np.eye(4)[:, :2] + 0.1
    for weights, column in (([2, 1], 0), ([1, 2], 1), (None, 0)):
        assert best_subset(A, Targets(Y, weights), sparsity=1).support.tolist() == [column]


def test_equal_fits_of_all_targets_go_to_the_lowest_columns():
    found = best_subset(np.eye(6)[:, ::-1], np.ones((6, 3)), sparsity=3)
    assert found.support.tolist() == [0, 1, 2]
    A, Y = with_targets(FAMILIES["tall"](4), 2)
    doubled = best_subset(np.column_stack([A, -3 * A]), Y, sparsity=4)
    assert doubled.support.tolist() == best_subset(A, Y, sparsity=4).support.tolist()


def test_an_exact_fit_is_one_of_all_targets():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((10, 6))
    Y = np.column_stack([A[:, 0], A[:, :3] @ [1.0, 2.0, 3.0]])
    solution = best_subset(A, Y, sparsity=5)
    assert solution.stop is Stop.EXACT_FIT
    assert solution.support.tolist() == [0, 1, 2]


def test_targets_of_zeros_are_no_trouble():
    A, Y = with_targets(FAMILIES["tall"](3), 2)
    padded = best_subset(A, np.insert(Y, 1, 0.0, axis=1), sparsity=3)
    assert padded.support.tolist() == best_subset(A, Y, sparsity=3).support.tolist()
    assert not padded.coef[:, 1].any()
    assert best_subset(A, np.zeros((30, 2)), sparsity=3).stop is Stop.ZERO_TARGET


@pytest.mark.parametrize("seed", range(3))
def test_what_is_promised_out_of_time_holds_for_several_targets(seed):
    A, Y = with_targets(FAMILIES["tall"](seed), 4)
    early, proved = (best_subset(A, Y, sparsity=8, time_limit=limit) for limit in (0.0, None))
    for k in range(1, 9):
        least = proved.path.at(k).squared_residual
        assert early.lower_bounds[k] <= least * (1 + 1e-9)
        assert early.path.at(k).squared_residual >= least * (1 - 1e-9)


# --- out of time ----------------------------------------------------------------------------------


def hopeless(seed, kind=float):
    """Noise on noise: nothing can be ruled out early."""
    rng = np.random.default_rng(seed)
    return normal(rng, 80, 60, kind=kind), normal(rng, 80, kind=kind)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", range(3))
def test_out_of_time_it_is_no_worse_than_forward(seed, kind):
    A, y = hopeless(seed, kind)
    solution = best_subset(A, y, sparsity=20, time_limit=0.0)
    greedy = forward(A, y, sparsity=20)
    assert solution.stop is Stop.TIME_LIMIT
    assert not solution.proved
    assert list(solution.lower_bounds) == list(solution.gaps) == list(range(1, 21))
    for k in range(1, 21):
        found = solution.path.at(k).squared_residual
        assert found <= greedy.path.at(k).squared_residual * (1 + 1e-9)
        assert 0 <= solution.lower_bounds[k] <= found
        assert 0 <= solution.gaps[k] <= 1
        assert solution.gaps[k] == pytest.approx(1 - solution.lower_bounds[k] / found, abs=1e-12)
    assert np.all(np.diff(list(solution.lower_bounds.values())) <= 0)
    assert solution.check(A, y).ok
    assert "of 20 sizes; the squared residual of" in repr(solution)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_promised_out_of_time_holds(seed):
    """The same problem, once with no time and once to the end."""
    p = FAMILIES["tall"](seed)
    y = p.y + 2 * np.linalg.norm(p.y) * np.random.default_rng(seed).standard_normal(30) / 5
    early = best_subset(p.A, y, sparsity=8, time_limit=0.0)
    proved = best_subset(p.A, y, sparsity=8)
    for k in range(1, 9):
        least = proved.path.at(k).squared_residual
        assert early.lower_bounds[k] <= least * (1 + 1e-9)
        assert early.path.at(k).squared_residual >= least * (1 - 1e-9)


def test_it_ends_in_time_and_tells_how_far_it_got(monkeypatch):
    assert inspect.signature(best_subset).parameters["time_limit"].default == 10.0
    A, y = hopeless(0)
    monkeypatch.setattr(MODULE, "PATIENCE", 0.0)
    told = []
    solution = best_subset(A, y, sparsity=20, time_limit=0.2, callback=told.append)
    assert solution.stop is Stop.TIME_LIMIT
    assert "Raise time_limit for a longer search (None: to the end)" in solution.stop.advice
    seconds = [progress.seconds for progress in told]
    assert seconds == sorted(seconds)
    for progress in told:
        assert list(progress.gaps) == list(range(1, 21))
        assert all(0 <= gap <= 1 for gap in progress.gaps.values())
        assert str(progress).startswith("0 s: proved ")
        assert "of 20 sizes; the squared residual of " in str(progress)
    # Gaps only close.
    for before, after in pairwise([*(progress.gaps for progress in told), solution.gaps]):
        assert all(after[size] <= before[size] + 1e-12 for size in before)


def test_a_callback_stops_it(monkeypatch):
    A, y = hopeless(1)
    monkeypatch.setattr(MODULE, "PATIENCE", 0.0)
    told = []

    def stop(progress):
        told.append(progress)
        return len(told) == 2

    solution = best_subset(A, y, sparsity=20, time_limit=None, callback=stop)
    assert solution.stop is Stop.CALLBACK
    assert len(told) == 2
    assert not solution.proved
    assert solution.support.size == 20
    assert solution.check(A, y).ok


def test_reports_come_once_a_second():
    A, y = hopeless(2)
    told = []
    best_subset(A, y, sparsity=20, time_limit=0.3, callback=told.append)
    assert told == []


def test_plenty_of_time_is_as_good_as_no_limit():
    p = FAMILIES["tall"](0)
    solution = best_subset(p.A, p.y, sparsity=5, time_limit=600.0)
    assert solution.stop is Stop.PROVED
    agrees(solution, p.A, p.y)


# --- edges ----------------------------------------------------------------------------------------


def test_a_zero_target():
    A, _ = hopeless(0)
    solution = best_subset(A, np.zeros(80), sparsity=3)
    assert solution.support.size == 0
    assert solution.stop is Stop.ZERO_TARGET
    assert solution.lower_bounds == {}
    assert solution.proved


def test_one_column():
    solution = best_subset([[1.0], [2.0]], [2.0, 4.0], sparsity=1)
    assert solution.coef == pytest.approx([2.0])
    assert solution.stop is Stop.EXACT_FIT


def test_nothing_beyond_what_is_included():
    p = FAMILIES["tall"](0)
    solution = best_subset(p.A, p.y, sparsity=2, include=[3, 8])
    assert solution.support.tolist() == [3, 8]
    assert solution.residual_norm == pytest.approx(residual_norm(p.A, p.y, [3, 8]))


def test_columns_that_add_nothing_end_the_path():
    p = rank_deficient(1, 14, 9, 3)
    solution = best_subset(p.A, p.y, sparsity=9)
    assert solution.stop is Stop.DEPENDENT
    assert agrees(solution, p.A, p.y) == [1, 2, 3]


def test_only_zero_columns():
    solution = best_subset(np.zeros((4, 3)), np.ones(4), sparsity=2)
    assert solution.support.size == 0
    assert solution.residual_norm == pytest.approx(2.0)


def test_an_exact_fit_ends_the_path():
    """A third column lowers nothing; which one it were, among copies, would be chance."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((10, 4))
    A = np.column_stack([A, 2 * A[:, 0]])
    solution = best_subset(A, A[:, :2] @ [1.0, 2.0], sparsity=4)
    assert solution.stop is Stop.EXACT_FIT
    assert solution.path.sizes[-1] == 2


@pytest.mark.parametrize(("char", "apart"), [("f", 1e-3), ("d", 1e-7)])
def test_nearly_dependent_columns_never_make_it_worse_than_forward(char, apart):
    """Columns 1 and 2 fit best, but by coefficients that rounding errors swamp."""
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((8, 8)))[0]
    A = np.column_stack([Q[:, 0], Q[:, 1], Q[:, 1] + apart * Q[:, 2]]).astype(char)
    y = (Q[:, 1] + 0.1 * Q[:, 0] + 0.5 * Q[:, 2]).astype(char)
    greedy, solution = forward(A, y, sparsity=2), best_subset(A, y, sparsity=2)
    assert solution.residual_norm <= greedy.residual_norm * (1 + 1e-6)


def test_too_many_columns_are_refused():
    A = np.random.default_rng(0).standard_normal((5, MOST_COLUMNS + 1))
    with pytest.raises(ValueError, match=r"at most 200 columns, not 201; exclude some, or use"):
        best_subset(A, np.ones(5), sparsity=1)
    excluded = best_subset(A, np.ones(5), sparsity=1, exclude=[7])
    assert excluded.stop is Stop.PROVED
    _, norm, _ = best(A, np.ones(5), 1, exclude=[7])
    assert excluded.residual_norm == pytest.approx(norm)


@pytest.mark.parametrize("sparsity", [-1, 4])
def test_a_sparsity_out_of_range_is_refused(sparsity):
    with pytest.raises(ValueError, match=r"sparsity must be between \d and 3, not"):
        best_subset(np.eye(3), np.ones(3), sparsity=sparsity)


def test_other_words_out_of_range_are_refused():
    A, y = np.eye(3), np.ones(3)
    with pytest.raises(ValueError, match="time_limit must be at least 0"):
        best_subset(A, y, sparsity=1, time_limit=-1.0)
    with pytest.raises(TypeError, match="time_limit must be a number"):
        best_subset(A, y, sparsity=1, time_limit="soon")
    with pytest.raises(ValueError, match="names column 3, but A has columns 0 to 2"):
        best_subset(A, y, sparsity=1, exclude=[3])
    with pytest.raises(ValueError, match="include and exclude"):
        best_subset(A, y, sparsity=1, include=[1], exclude=[1])
    with pytest.raises(ValueError, match="include"):
        best_subset(A, y, sparsity=1, include=[0, 1])


def test_it_reads_well():
    p = FAMILIES["tall"](0)
    text = repr(best_subset(p.A, p.y, sparsity=3))
    assert text.startswith("Solution by best_subset: 3 features of 11, residual ")
    assert "  proved   the best subset of every size\n" in text
    assert "every other subset was looked at or ruled out" in text


def test_every_storage_gives_the_same_subsets(store):
    p = FAMILIES["tall"](2)
    plain, stored = (best_subset(A, p.y, sparsity=5) for A in (p.A, store(p.A)))
    for k in range(1, 6):
        ours, theirs = plain.path.at(k), stored.path.at(k)
        assert ours.support.tolist() == theirs.support.tolist()
        assert theirs.squared_residual == pytest.approx(ours.squared_residual, rel=100 * store.eps)


def test_it_is_offered_beside_the_algorithms():
    assert sparsewise.best_subset is best_subset
    assert issubclass(sparsewise.BestSubsets, sparsewise.Solution)
