"""Several targets with one support: fits, exchanges, certificates, against all there are."""

import math
from dataclasses import asdict
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsewise as sw
from sparsewise import InputError, Targets, best_subset
from sparsewise.problem.problem import problem
from sparsewise.subsets.exchanges import (
    _falls,
    changes_of_one,
    exchanges_of_one,
    lowest_of_equals,
)
from sparsewise.subsets.fit import Fit
from sparsewise.subsets.leaps_and_bounds import Search
from tests.guarantees.test_certificate import DESIGNS, is_best, nearly_orthonormal
from tests.problems import duplicated, gaussian, normal
from tests.subsets.enumeration import bases, doubled, residual_norm

certify = partial(sw.certify, time_limit=0.0)
"""The bound, and exchanges, alone, unless a test says otherwise."""

CHARS = "dDfF"
EYE = np.eye(8)


def weighted(Y, weights=None):
    """The targets as they count: w_t y_t, of norm one together."""
    Y = doubled(Y)
    norms = np.linalg.norm(Y, axis=0)
    factors = 1 / np.where(norms > 0, norms, 1) if weights is None else np.asarray(weights, float)
    return Y * factors / np.linalg.norm(Y * factors)


def rss(A, W, columns):
    """Σ_t‖r_t‖² by least squares on these columns."""
    V = doubled(A)[:, list(columns)]
    R = W - V @ np.linalg.lstsq(V, W, rcond=None)[0] if len(V.T) else W
    return float(np.linalg.norm(R) ** 2)


def subsets(m, k, include=(), exclude=()):
    free = [j for j in range(m) if j not in {*include, *exclude}]
    return [tuple(sorted([*include, *T])) for T in combinations(free, k - len(include))]


def ranked(A, W, k, include=(), exclude=()):
    """All subsets of k columns with their ‖r‖², the best first."""
    found = [(rss(A, W, T), T) for T in subsets(np.shape(A)[1], k, include, exclude)]
    return sorted(found)


def multi_target(seed, n, m, q, char="d", noise=0.5):
    """A, Y of q targets that share three columns, of scales that differ by decades."""
    rng = np.random.default_rng([seed, n, m, q])
    kind = complex if char in "DF" else float
    A = normal(rng, n, m, kind=kind)
    x = np.zeros((m, q), A.dtype)
    x[rng.choice(m, 3, replace=False)] = normal(rng, 3, q, kind=kind)
    Y = (A @ x + noise * normal(rng, n, q, kind=kind)) * 10.0 ** rng.uniform(-3, 3, q)
    return A.astype(char), Y.astype(char)


def fit(A, Y, columns, **constraints):
    return Fit(problem(A, Y, multi_target=True, **constraints), np.array(columns, np.int64))


def rtol(char):
    return 1e-9 if char in "dD" else 3e-5


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("columns", [[], [2], [0, 3, 5]])
def test_a_fit_has_one_target_a_row(columns, char):
    A, Y = multi_target(0, 12, 7, 4, char)
    found, W = fit(A, Y, columns), weighted(Y)
    unit = doubled(A) / np.linalg.norm(A, axis=0)
    X = np.linalg.lstsq(unit[:, columns], W, rcond=None)[0] if columns else np.zeros((0, 4))
    np.testing.assert_allclose(found.x, X.T, atol=rtol(char))
    np.testing.assert_allclose(found.r, (W - unit[:, columns] @ X).T, atol=rtol(char))
    sizes = np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(found.squares, sizes**2, atol=rtol(char))
    assert found.norm == pytest.approx(math.sqrt(rss(A, W, columns)), rel=rtol(char))
    assert found.min_abs == pytest.approx(sizes.min(initial=np.inf) if columns else 0.0, rel=1e-4)
    assert not found.dependent


def test_a_dependent_support_is_fitted_all_the_same():
    A, Y = multi_target(1, 9, 5, 3)
    A[:, 4] = A[:, 0] - A[:, 1]
    found = fit(A, Y, [0, 1, 4])
    assert found.dependent
    assert (found.x.shape, found.r.shape) == ((3, 3), (3, 9))
    assert found.norm == pytest.approx(math.sqrt(rss(A, weighted(Y), [0, 1])))
    assert not list(changes_of_one(found))


def test_a_column_is_needed_if_one_target_needs_it():
    Y = np.column_stack([EYE[:, 0] + EYE[:, 7], EYE[:, 1] + EYE[:, 6]])
    assert not fit(EYE[:, :5], Y, [0, 1]).redundant
    assert fit(EYE[:, :5], Y, [0, 1, 2]).redundant
    assert not fit(EYE[:, :5], Y, [0, 1, 2], include=[2]).redundant


# --- exchanges ------------------------------------------------------------------------------------


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("seed", range(4))
def test_each_change_is_the_best_of_its_kind(seed, char):
    A, Y = multi_target(seed, 9, 12, 3, char, noise=2.0)
    W = weighted(Y)
    S, include, exclude = [1, 4, 7], [4], [0, 11]
    others = [j for j in range(12) if j not in {*S, *exclude}]
    added = min(rss(A, W, [*S, j]) for j in others)
    dropped = min(rss(A, W, [j for j in S if j != i]) for i in (1, 7))
    exchanged = min(rss(A, W, [*(s for s in S if s != i), j]) for i in (1, 7) for j in others)
    told = {
        len(one.columns): one
        for one in changes_of_one(fit(A, Y, S, include=include, exclude=exclude))
    }
    assert told[4].loss == pytest.approx(added, rel=rtol(char))
    assert told[2].loss == pytest.approx(dropped, rel=rtol(char))
    if exchanged < rss(A, W, S):
        assert told[3].loss == pytest.approx(exchanged, rel=rtol(char))
    else:
        assert 3 not in told
    for one in told.values():
        assert one.loss == pytest.approx(rss(A, W, one.columns), rel=rtol(char))
        assert 4 in one.columns
        assert not {0, 11} & {*one.columns}


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from("dD"))
def test_the_fall_of_every_exchange(seed, q, char):
    A, Y = multi_target(seed, 8, 7, q, char)
    W, S = weighted(Y), [0, 2, 5]
    found = fit(A, Y, S)
    before = rss(A, W, S)
    for leaving, falls, unsure, can in _falls(found):
        assert can.all()
        for (j, i), fall in np.ndenumerate(falls):
            after = rss(A, W, {*S, found.others[j]} - {leaving[i]})
            # As many digits as the residual of the better columns have.
            assert fall == pytest.approx(before - after, rel=1e-7, abs=1e-11)
            assert unsure[j, i] < 1e-8


@pytest.mark.parametrize("char", "dD")
@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-9])
def test_small_falls_keep_their_digits_beside_large_residuals(tiny, char):
    """Column 2 in place of 1 takes tiny² from each target's ‖r‖² of 1, with opposite signs."""
    turn = np.linalg.qr(normal(np.random.default_rng(0), 8, 8, kind=complex))[0].astype("D")
    Q = turn if char == "D" else np.linalg.qr(turn.real)[0]
    A = np.column_stack([Q[:, 0], Q[:, 1], 0.6 * Q[:, 1] + 0.8 * Q[:, 2]])
    signs = np.array([1.0, -1.0, 1.0])
    Y = Q[:, [7]] + tiny * (Q[:, [1]] + Q[:, [2]]) * signs
    ((_, falls, _, _),) = _falls(fit(A, Y, [0, 1], include=[0]))
    total = np.linalg.norm(Y) ** 2 / 3
    assert falls[0, 0] == pytest.approx(tiny**2 * (1.4**2 - 1) / total, rel=1e-6)
    swap = exchanges_of_one(fit(A, Y, [0, 1], include=[0])).best
    if tiny > 1e-7:  # rounding of ‖r‖
        assert swap[:2] == (1, 2)


def test_falls_of_targets_that_cancel_are_not_certain():
    """What one target gains the other loses: equal, for all that rounding can tell."""
    A = np.column_stack([EYE[:, 0] + EYE[:, 2], EYE[:, 1] + EYE[:, 2]])
    Y = np.column_stack([EYE[:, 0] + EYE[:, 5], EYE[:, 1] + EYE[:, 6]])
    found = exchanges_of_one(fit(A, Y, [0]))
    assert found.best is None
    assert not found.settled
    assert [swap[:2] for swap in found.ties] == [(0, 1)]
    assert lowest_of_equals(fit(A, Y, [1])) == (0,)


def test_ties_go_to_the_lowest_columns():
    Y = np.ones((6, 2)) * [1.0, 1e6]
    assert lowest_of_equals(fit(np.eye(6), Y, [3, 4, 5], include=[4])) == (0, 1, 4)
    first, *_ = changes_of_one(fit(np.eye(6), Y, []))
    assert first.columns == (0,)


# --- certificates ---------------------------------------------------------------------------------


def random_problem(seed, design, char):
    """A, Y and a subset, with a residual about as large as the bound."""
    rng = np.random.default_rng([seed, len(design)])
    kind = complex if char in "DF" else float
    A = DESIGNS[design](rng, kind).astype(char)
    (n, m), q = A.shape, int(rng.integers(1, 5))
    k = int(rng.integers(1, 4 if m < 12 else 3))
    S = np.sort(rng.choice(m, k, replace=False))
    unit = doubled(A) / np.linalg.norm(A, axis=0)
    clean = unit[:, S] @ (normal(rng, k, q, kind=kind) + 2 * rng.choice([-1, 1], (k, q)))
    c = certify(A, clean.astype(char), S)
    noise = normal(rng, n, q, kind=kind)
    if rng.random() < 0.5:  # in the direction of a column, in some targets
        noise = unit[:, [rng.integers(m)]] * rng.choice([0, 1, -1], q) + 0.05 * noise
    noise /= np.linalg.norm(noise)
    norms = np.linalg.norm(clean, axis=0)
    relative = c.bound / math.sqrt(np.square(norms).mean()) or 0.3
    # Targets count by their norms: so does the noise.
    Y = clean + rng.uniform(0.3, 1.5) * relative * math.sqrt(q) * norms * noise
    return A, Y.astype(char), S


@pytest.mark.parametrize("swaps", [False, True])
@pytest.mark.parametrize("design", DESIGNS)
def test_what_the_bound_certifies_is_the_unique_best(design, swaps):
    seen = []
    for seed in range(60):
        A, Y, S = random_problem(seed, design, CHARS[seed % 4])
        W = weighted(Y)
        c = certify(A, Y, S, swaps=swaps)
        seen.append((c.status, c.proof))
        if c.proof == "bound":
            assert is_best(A, W, c.columns), seed
        elif c.status == "beaten":
            assert rss(A, W, c.better) < rss(A, W, c.columns)
        scale = math.sqrt(np.square(np.linalg.norm(doubled(Y), axis=0)).mean())
        assert c.residual_norm == pytest.approx(scale * residual_norm(A, W, S), rel=1e-4)
        assert math.isfinite(c.min_abs)
    if design not in ("wide", "correlated"):  # or nothing was tested
        assert seen.count(("optimal", "bound")) > 5
        assert len(set(seen)) > 1


@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(DESIGNS)),
    st.sampled_from(CHARS),
    st.booleans(),
    st.sampled_from([0.0, None]),
)
def test_no_certificate_is_refuted(seed, design, char, swaps, limit):
    A, Y, S = random_problem(seed, design, char)
    W, c = weighted(Y), certify(A, Y, S, swaps=swaps, time_limit=limit)
    (least, _), slack = ranked(A, W, len(S))[0], rtol(char)
    ours = rss(A, W, S)
    if c.status == "optimal":
        assert ours <= least + slack
    elif c.status == "beaten":
        assert rss(A, W, c.better) < ours
        if c.proof == "search":
            assert rss(A, W, c.better) <= least + slack
    if c.swap_optimal is not None:
        swapped = {T: rss(A, W, T) for T in subsets(A.shape[1], len(S)) if len({*T} - {*S}) == 1}
        lowest = min(swapped.values(), default=np.inf)
        assert (lowest >= ours - slack) if c.swap_optimal else (lowest < ours + slack)
    for T in c.ties:
        assert rss(A, W, T) == pytest.approx(ours, abs=slack)


def worst_residual(A, S, X, size, kind):
    """R ⟂ A_S of this norm by which another subset fits A_S X + R best, and how much better.

    ‖P_T (V + R)‖² is convex: steps of R along its gradient, scaled back, only raise it.
    """
    m, V = A.shape[1], A[:, S] @ X
    away = np.eye(len(A)) - bases(A, np.array([S]))[0] @ bases(A, np.array([S]))[0].conj().T
    sets = np.array([T for T in combinations(range(m), len(S)) if tuple(S) != T])
    Q = bases(A, sets)
    P = Q @ Q.conj().transpose(0, 2, 1)
    R = away @ P @ (V + normal(np.random.default_rng(0), *V.shape, kind=kind))
    for _ in range(60):
        R = size * R / np.maximum(np.linalg.norm(R, axis=(1, 2), keepdims=True), 1e-300)
        fitted = P @ (V + R)
        last, R = R, away @ fitted
    gains = np.linalg.norm(fitted, axis=(1, 2)) ** 2 - np.linalg.norm(V) ** 2
    return gains.max(), last[gains.argmax()]


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("q", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_worst_residual_below_the_bound_fails(seed, q, kind):
    rng = np.random.default_rng([seed, q])
    A = nearly_orthonormal(rng, 8, 7, [0.0, 0.1, 0.2, 0.3][seed % 4], kind)
    S = sorted(rng.choice(7, 1 + seed % 3, replace=False).tolist())
    X = normal(rng, len(S), q, kind=kind) + 2
    in_units = Targets(A[:, S] @ X, weights=np.ones(q))
    bound = certify(A, in_units, S).bound * math.sqrt(q)  # a mean over targets
    assert bound > 0
    gain, R = worst_residual(A, S, X, 0.999 * bound, kind)
    assert gain < 0
    c = certify(A, Targets(A[:, S] @ X + R, weights=np.ones(q)), S)
    assert (c.status, c.proof) == ("optimal", "bound")
    assert c.margin == pytest.approx(1 / 0.999)
    if seed % 4 == 0:  # orthonormal columns bear exactly the smallest coefficient
        assert bound == pytest.approx(np.linalg.norm(X, axis=1).min())
        assert worst_residual(A, S, X, 1.001 * bound, kind)[0] > 0


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("limit", [0.0, None])
def test_one_target_of_shape_n_1_is_one_target(limit, char):
    for seed in range(8):
        A, Y = multi_target(seed, 12, 8, 1, char)
        S = [0, 3, 5]
        flat, column = (certify(A, y, S, swaps=True, time_limit=limit) for y in (Y[:, 0], Y))
        assert asdict(flat) == asdict(column)


@pytest.mark.parametrize("char", CHARS)
def test_copies_of_a_target_are_one_target(char):
    for seed in range(8):
        A, Y = multi_target(seed, 12, 8, 1, char)
        copies = Y * np.array([1, 1, -1, 2], A.real.dtype)
        one, all_of_them = (
            certify(A, Z, [0, 3, 5], swaps=True, time_limit=None) for Z in (Y, copies[:, :3])
        )
        for name in ("status", "proof", "better", "ties", "exchanged", "source"):
            assert getattr(one, name) == getattr(all_of_them, name)
        for name in ("residual_norm", "bound", "min_abs"):
            ours, theirs = getattr(one, name), getattr(all_of_them, name)
            assert theirs == pytest.approx(ours, rel=rtol(char))
        scaled = certify(A, copies, [0, 3, 5], swaps=True, time_limit=None)
        assert (scaled.status, scaled.better) == (one.status, one.better)


def test_scales_of_targets_do_not_matter():
    A, Y = multi_target(3, 12, 8, 3)
    plain = certify(A, Y, [0, 1, 2], swaps=True, time_limit=None)
    for scales in ([1e6, 1e-6, 1], [1e-150, 1e150, 1], [-3, 1, 1]):
        c = certify(A, Y * scales, [0, 1, 2], swaps=True, time_limit=None)
        for name in ("status", "proof", "better", "ties", "exchanged", "source"):
            assert getattr(c, name) == getattr(plain, name)
        assert c.margin == pytest.approx(plain.margin)
        assert c.swap[:2] == plain.swap[:2]


def test_weights_decide():
    """Each target has a column of its own; one can be had."""
    A, Y = np.eye(4), np.eye(4)[:, :2] + 0.1
    for weights, column in (([2, 1], 0), ([1, 2], 1)):
        c = certify(A, Targets(Y, weights=weights), [column], swaps=True)
        assert c.status == "optimal"
        c = certify(A, Targets(Y, weights=weights), [1 - column], swaps=True)
        assert c.better == (column,)
    c = certify(A, Y, [0], swaps=True, time_limit=None)
    assert (c.status, c.ties) == ("optimal", ((1,),))


@pytest.mark.parametrize("limit", [0.0, None])
def test_targets_of_zeros_do_not_matter(limit):
    A, Y = multi_target(5, 12, 8, 2)
    padded = np.insert(Y, [0, 2], 0.0, axis=1)
    plain, more = (certify(A, Z, [0, 3], swaps=True, time_limit=limit) for Z in (Y, padded))
    assert (plain.status, plain.better) == (more.status, more.better)
    assert more.residual_norm == pytest.approx(plain.residual_norm)
    nothing = certify(A, np.zeros((12, 3)), [0, 3], swaps=True, time_limit=limit)
    assert (nothing.residual_norm, nothing.proof) in ((0, None), (0, "search"))
    assert nothing.status != "beaten"


def test_a_solution_can_be_certified():
    A, Y = multi_target(0, 20, 8, 3, noise=0.01)
    found = best_subset(A, Y, sparsity=3)
    c = found.certificate(A, Y, swaps=True, time_limit=None)
    assert c.status == "optimal"
    assert c.residual_norm == pytest.approx(found.residual_norm)


def test_targets_of_other_lengths_are_refused():
    with pytest.raises(InputError, match=r"y must have shape \(3,\) or \(3, q\)"):
        certify(np.eye(3), np.ones((4, 2)), [0])


# --- the search -----------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [2, 5, 30])
@pytest.mark.parametrize("n", [6, 9, 20])
@pytest.mark.parametrize("kind", [float, complex])
def test_at_any_time_the_bounds_hold_and_only_rise(n, q, kind):
    most = 4
    A, Y = multi_target(1, n, 9, q, "D" if kind is complex else "d", noise=3.0)
    W = weighted(Y)
    truth = np.array([ranked(A, W, k)[0][0] for k in range(1, most + 1)])
    search, before = Search(problem(A, Y, multi_target=True), most), np.zeros(most)
    for nodes in (0, 1, 1, 2, 3, 5, 8, 10**6):
        search._advance(nodes)
        bounds = search.lower_bounds()
        assert np.all(bounds <= truth + 1e-9)
        assert np.all(bounds >= before - 1e-9)
        for k in range(1, most + 1):
            assert search.lowest()[k - 1] == pytest.approx(rss(A, W, search.subset(k)), rel=1e-9)
        before = bounds
    assert search.done
    np.testing.assert_allclose(bounds, truth, atol=1e-9)
    assert search._t.shape == (min(q, 9), 9)  # of more targets than columns, what matters


@pytest.mark.parametrize("seed", range(4))
def test_an_incumbent_is_beaten_or_confirmed(seed):
    A, Y = multi_target(seed, 12, 9, 3, noise=2.0)
    (_, truth), *_, (_, worst) = ranked(A, weighted(Y), 3)
    for incumbent in (truth, worst):
        search = Search(problem(A, Y, multi_target=True), 3, incumbent=np.array(incumbent))
        assert search.run(None)
        assert search.improved == (incumbent != truth)
        assert search.subset(3) == truth


def test_all_ties_are_found():
    p = duplicated(3, 12, 10, 3)
    Y = np.column_stack([p.y, gaussian(4, 12, 10, 3).y])
    (least, truth), *rest = ranked(p.A, weighted(Y), 3)
    tied = tuple(sorted(T for value, T in rest if value < least + 1e-12))
    assert tied
    assert certify(p.A, Y, truth, time_limit=None).ties == tied
