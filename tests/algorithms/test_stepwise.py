"""Stepwise regression by a criterion: against every single step tried by least squares."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsewise
from sparsewise import DependentColumnsError, Stop, stepwise
from sparsewise.criteria.information import BY_LOSS, Criteria
from sparsewise.engine.active_set import ActiveSet
from tests.data import searches, table
from tests.problems import FAMILIES, gaussian, normal

FULL_RANK = ["tall", "correlated tall", "complex tall", "square"]
WIDE = ["wide", "correlated wide", "complex wide", "complex correlated"]


def rss(A, y, S):
    """The squared residual of least squares on the columns S."""
    r = y - A[:, S] @ np.linalg.lstsq(A[:, S], y, rcond=None)[0]
    return float(np.vdot(r, r).real)


def criteria(A, y, **more):
    parts = 1 + np.iscomplexobj(A)
    return Criteria(*A.shape, False, float(np.vdot(y, y).real), parts=parts, **more)


def neighbours(A, S, include=(), exclude=()):
    """Every model one step away, the smaller ones first."""
    for j in S:
        if j not in include:
            yield "drop", j, [i for i in S if i != j]
    for j in range(A.shape[1]):
        if j not in S and j not in exclude:
            yield "add", j, [*S, j]


def naive(A, y, cost, start=(), include=(), exclude=()):
    """The steps of the search, each model fitted anew."""
    S, steps = [*include, *(j for j in start if j not in include)], []
    while True:
        tried = [
            (cost(rss(A, y, T), len(T)), action, j, T)
            for action, j, T in neighbours(A, S, include, exclude)
        ]
        best = min(tried, key=lambda one: one[0], default=None)
        if best is None or not best[0] < cost(rss(A, y, S), len(S)) - 1e-9:
            return steps, S
        steps.append(best[1:3])
        S = best[3]


def taken(solution):
    return [(step.action, step.column) for step in solution.path]


# --- against least squares from scratch ----------------------------------------------------------


@pytest.mark.parametrize("criterion", ["aic", "aicc", "bic", "ebic", "ric", "adjusted_r2"])
@pytest.mark.parametrize("family", FULL_RANK)
@pytest.mark.parametrize("start", ["empty", "full", "some"])
def test_every_step_is_the_best_of_all(criterion, family, start):
    """Also from sizes where aicc is not defined (square from full): see the next tests."""
    p = FAMILIES[family](1)
    if family == "square":
        p.y[:3] += 1.0
        start = "some" if start == "full" else start
        criterion = "aicc" if criterion != "ebic" else criterion
    first = {"empty": [], "full": list(range(p.A.shape[1])), "some": [1, 5, 0]}[start]
    solution = stepwise(p.A, p.y, criterion=criterion, start=None if start == "full" else first)
    steps, S = naive(p.A, p.y, criteria(p.A, p.y)[criterion].cost, first)
    assert taken(solution) == steps
    assert list(solution.support) == sorted(S)
    assert solution.path.start == tuple(first)
    assert solution.stop is Stop.CRITERION
    assert solution.check(p.A, p.y).ok


@pytest.mark.parametrize("criterion", ["aicc", "ebic", "ric"])
@pytest.mark.parametrize("family", WIDE)
@pytest.mark.parametrize("seed", range(3))
def test_more_columns_than_rows(criterion, family, seed):
    """The criteria that are made for it stop long before the fit is exact."""
    p = FAMILIES[family](seed)
    solution = stepwise(p.A, p.y, criterion=criterion)
    assert taken(solution) == naive(p.A, p.y, criteria(p.A, p.y)[criterion].cost)[0]
    assert solution.stop is Stop.CRITERION
    assert len(solution.support) < p.A.shape[0] - 2


@pytest.mark.parametrize("seed", range(5))
def test_mallows_cp(seed):
    """s² comes from all columns."""
    p = gaussian(seed, 30, 8, 3)
    full = rss(p.A, p.y, list(range(8)))
    cost = criteria(p.A, p.y, variance=full / 22)["cp"].cost
    for start in ((), None):
        solution = stepwise(p.A, p.y, criterion="cp", start=start)
        first = range(8) if start is None else ()
        assert taken(solution) == naive(p.A, p.y, cost, list(first))[0]


@pytest.mark.parametrize("seed", range(10))
def test_own_criterion(seed):
    """In the units of y, and of any shape that grows with the squared residual."""
    p = gaussian(seed, 25, 10, 4)
    scale = float(p.y @ p.y)

    def cost(squared, size):
        return math.sqrt(squared / scale) + 0.03 * size**1.1

    start = [2, 3, 5, 7]
    solution = stepwise(p.A, p.y, criterion=cost, start=start)
    assert taken(solution) == naive(p.A, p.y, cost, start)[0]


@given(st.integers(0, 10**6), st.sampled_from(BY_LOSS))
def test_no_single_step_lowers_the_criterion(seed, name):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 7))
    A = normal(rng, 12, m, kind=complex if seed % 3 == 0 else float)
    y = A[:, 0] + 2 * normal(rng, 12)
    start = [j for j in range(m) if rng.random() < 0.5]
    cost = criteria(A, y, variance=rss(A, y, list(range(m))) / (12 - m))[name].cost
    S = stepwise(A, y, criterion=name, start=start).support.tolist()
    here = cost(rss(A, y, S), len(S))
    assert here <= cost(rss(A, y, start), len(start)) + 1e-9
    for _, _, T in neighbours(A, S):
        assert cost(rss(A, y, T), len(T)) > here - 1e-6


@pytest.mark.parametrize("search", [s for s in searches() if s.direction == "both"], ids=str)
def test_models_of_r(search):
    """R's `step` on public tables: the same columns and coefficients, on centred data."""
    t = table(search.table)
    times = np.ones(len(t.y), int) if not search.weights else t.column(search.weights).astype(int)
    X, y = np.repeat(t.X, times, axis=0), np.repeat(t.y, times)
    if search.intercept:
        X, y = X - X.mean(axis=0), y - y.mean()
    cost = Criteria(len(y), X.shape[1], search.intercept, y @ y)[search.criterion].cost
    solution = stepwise(X, y, criterion=cost, start=None if search.start == "full" else ())
    expected = {name: b for name, b in search.coef.items() if name != "(Intercept)"}
    assert {t.features[j] for j in solution.support} == expected.keys()
    found = [solution.coef[t.features.index(name)] for name in expected]
    np.testing.assert_allclose(found, list(expected.values()), rtol=1e-8)


def test_mtcars():
    """The published anchors: AIC 61.31 from the full model, 62.66 from the empty one."""
    t = table("mtcars")
    X, y = t.X - t.X.mean(axis=0), t.y - t.y.mean()
    cost = Criteria(32, 10, True, y @ y)["aic"].cost
    for start, features, aic in [
        (None, ["am", "qsec", "wt"], 61.31),
        ((), ["cyl", "hp", "wt"], 62.66),
    ]:
        solution = stepwise(X, y, criterion=cost, start=start)
        assert sorted(t.features[j] for j in solution.support) == features
        assert round(cost(solution.residual_norm**2, 3), 2) == aic


# --- what must not matter ------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", BY_LOSS)
@pytest.mark.parametrize(("a", "b"), [(1e-3, 1e6), (1e150, 1e-150), (1e-150, 1e150), (1.0, 1e-170)])
def test_units(criterion, a, b):
    p = FAMILIES["tall"](2)
    rng = np.random.default_rng(0)
    d = a * 10.0 ** rng.uniform(-2, 2, p.A.shape[1])
    plain = stepwise(p.A, p.y, criterion=criterion)
    scaled = stepwise(p.A * d, b * p.y, criterion=criterion)
    assert taken(scaled) == taken(plain)
    np.testing.assert_allclose(scaled.coef * d / b, plain.coef, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("criterion", BY_LOSS)
def test_excluded_columns_might_as_well_not_be_there(criterion):
    """Also where a criterion counts the columns (ebic) or looks at all of them (cp)."""
    p = FAMILIES["tall"](4)
    gone = [0, 3, 7]
    kept = [j for j in range(p.A.shape[1]) if j not in gone]
    without = stepwise(p.A[:, kept], p.y, criterion=criterion)
    excluded = stepwise(p.A, p.y, criterion=criterion, exclude=iter(gone))
    assert excluded.support.tolist() == [kept[j] for j in without.support]
    every = stepwise(p.A, p.y, criterion=criterion, exclude=gone, start=None)
    assert not set(every.path.start) & set(gone)


def test_ebic_counts_what_there_is_to_choose_from():
    """A column worth 9 of 40 rows is one of 3, but not one of 300."""
    rng = np.random.default_rng(0)
    A = np.linalg.qr(normal(rng, 40, 3))[0]
    y = A @ [0.5, 0.0, 0.0]
    noise = normal(rng, 40, 1)[:, 0]
    noise -= A @ (A.T @ noise)
    y += noise / np.linalg.norm(noise)
    wide = np.column_stack([A, normal(rng, 40, 297)])
    wide[:, 3:] -= np.outer(y, y @ wide[:, 3:]) / (y @ y)  # worth nothing
    assert stepwise(A, y, criterion="ebic").support.tolist() == [0]
    assert stepwise(wide, y, criterion="ebic").support.tolist() == []
    assert stepwise(wide, y, criterion="ebic", exclude=range(3, 300)).support.tolist() == [0]


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
def test_single_precision(kind):
    p = gaussian(0, 60, 12, 4, kind=complex if kind is np.complex64 else float)
    solution = stepwise(p.A.astype(kind), p.y.astype(kind))
    assert solution.support.tolist() == stepwise(p.A, p.y).support.tolist()
    assert solution.coef.dtype == kind


# --- include, exclude, start ---------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["bic", "ric"])
@pytest.mark.parametrize("start", [(), None, [2, 8, 11]])
def test_include_and_exclude(start, criterion):
    p = FAMILIES["tall"](5)
    n, m = p.A.shape
    chosen = stepwise(p.A, p.y, criterion=criterion).support
    include = [j for j in range(p.A.shape[1]) if j not in chosen][:2]
    exclude = [int(chosen[0])]
    wishes = {"include": include, "exclude": exclude}
    solution = stepwise(p.A, p.y, criterion=criterion, start=start, **wishes)
    cost = Criteria(n, m - len(exclude), False, p.y @ p.y)[criterion].cost
    first = range(p.A.shape[1]) if start is None else start
    first = [j for j in first if j not in exclude]
    assert taken(solution) == naive(p.A, p.y, cost, first, **wishes)[0]
    assert set(include) <= set(solution.support)


def test_no_start_means_none():
    """start=None is the full model: not the same as no start."""
    p = FAMILIES["tall"](0)
    assert stepwise(p.A, p.y, start=None).path.start == tuple(range(p.A.shape[1]))
    assert stepwise(p.A, p.y).path.start == ()


# --- dependent columns and exact fits ------------------------------------------------------------


@pytest.mark.parametrize("family", ["duplicates", "rank deficient", "wide", "complex wide"])
def test_all_columns_must_be_independent(family):
    p = FAMILIES[family](0)
    with pytest.raises(DependentColumnsError) as caught:
        stepwise(p.A, p.y, start=None)
    kept = [j for j in range(p.A.shape[1]) if j not in caught.value.columns]
    rank = np.linalg.matrix_rank(p.A)
    assert np.linalg.matrix_rank(p.A[:, kept]) == len(kept) == rank


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [float, complex])
def test_copies_are_never_taken(seed, kind):
    p = gaussian(seed, 30, 8, 3, kind=kind)
    doubled = np.column_stack([p.A, 2 * p.A[:, ::-1], 0 * p.A[:, 0], p.A[:, 0] + p.A[:, 1]])
    solution = stepwise(doubled, p.y, criterion="aic")
    S = solution.support
    assert np.linalg.matrix_rank(doubled[:, S]) == len(S)
    plain = stepwise(p.A, p.y, criterion="aic").residual_norm
    assert solution.residual_norm <= plain * (1 + 1e-9)


def test_dependent_rest():
    """Nothing can be added, and what is there must stay."""
    A = np.column_stack([np.eye(3)[:, :2], np.ones(3) - np.eye(3)[2]])
    y = np.array([1.0, 2.0, 3.0])
    assert stepwise(A, y, include=[0, 1]).stop is Stop.DEPENDENT
    assert stepwise(A, y, include=[0], exclude=[1, 2]).stop is Stop.EXHAUSTED


@pytest.mark.parametrize("criterion", BY_LOSS)
@pytest.mark.parametrize("start", [(), None, [0, 1, 2, 3]])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_exact_fit(criterion, start, kind):
    """Of all exact fits the smallest one in sight, whatever the start."""
    rng = np.random.default_rng(3)
    A = normal(rng, 20, 9).astype(kind)
    y = A[:, [4, 6]] @ np.array([3.0, -2.0], kind)
    solution = stepwise(A, y, criterion=criterion, start=start)
    assert solution.support.tolist() == [4, 6]
    assert solution.stop is Stop.EXACT_FIT
    assert solution.residual_norm < 1e3 * np.finfo(kind).eps


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_saturated(criterion):
    """As many columns as rows: aic and bic know no bounds, and the reason says what happened."""
    p = gaussian(0, 8, 30, 3)
    solution = stepwise(p.A, p.y, criterion=criterion)
    assert solution.stop is Stop.EXACT_FIT
    assert len(solution.support) == 8
    assert "not a recovery" in solution.stop.advice


@pytest.mark.parametrize("start", [list(range(11)), None])
def test_start_without_enough_rows(start):
    """aicc of 12 rows is not defined beyond 9 columns; the least ones go first."""
    rng = np.random.default_rng(5)
    A = normal(rng, 12, 11)
    y = A[:, 0] + normal(rng, 12)
    solution = stepwise(A, y, criterion="aicc", start=start)
    losses = sparsewise.backward(A, y, sparsity=9)
    assert taken(solution)[:2] == taken(losses)
    assert len(solution.support) < 9
    cost = criteria(A, y)["aicc"].cost
    S = solution.support.tolist()
    assert all(
        cost(rss(A, y, T), len(T)) > cost(rss(A, y, S), len(S)) for _, _, T in neighbours(A, S)
    )


def test_nothing_is_defined():
    """Infinite everywhere: everything goes that may."""
    p = FAMILIES["tall"](0)
    solution = stepwise(p.A, p.y, criterion=lambda *_: math.inf, start=[1, 2, 3], include=[5])
    assert solution.support.tolist() == [5]
    assert solution.stop is Stop.CRITERION


def test_zero_target():
    A = np.eye(4)
    for start in ((), None):
        solution = stepwise(A, np.zeros(4), criterion="cp", start=start)
        assert solution.stop is Stop.ZERO_TARGET
        assert solution.support.size == 0


# --- rounding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cost",
    [lambda rss, size: 1.0, lambda rss, size: -size, lambda rss, size: 1e-300 * rss + size],
    ids=["constant", "the more the better", "the fewer the better"],
)
@pytest.mark.parametrize("start", [(), None])
def test_odd_criteria_come_to_an_end(cost, start):
    p = FAMILIES["correlated tall"](0)
    solution = stepwise(p.A, p.y, criterion=cost, start=start)
    assert len(solution.path) <= p.A.shape[1]
    assert solution.check(p.A, p.y).ok


def test_gains_of_rounding_size_are_none():
    """Columns orthogonal to the target lower its residual by rounding alone: not even for free."""
    rng = np.random.default_rng(8)
    Q = np.linalg.qr(normal(rng, 30, 12))[0]
    y = Q[:, 0] + 0.1 * np.linalg.qr(normal(rng, 30, 1) - Q @ (Q.T @ normal(rng, 30, 1)))[0][:, 0]
    y -= Q[:, 1:] @ (Q[:, 1:].T @ y)
    solution = stepwise(Q, y, criterion=lambda rss, size: rss)
    assert solution.support.tolist() == [0]


def test_falls_of_rounding_size_are_none():
    """A fall of 1e-12 of the squared residual is a tie, one of 1e-8 is not: to add and to drop."""
    A = np.eye(4)[:, :2]
    for share, taken_in in ((1e-12, False), (1e-8, True)):
        y = np.array([1.0, share**0.5, 1.0, 0.0])
        added = stepwise(A, y, criterion=lambda rss, size: rss, start=[0])
        assert (1 in added.support) == taken_in
        dropped = stepwise(
            A, np.array([1.0, 1e-9, 1.0, 0.0]), start=[0, 1],
            criterion=lambda rss, size, share=share: rss + share * size,
        )  # fmt: skip
        assert (1 not in dropped.support) == taken_in


def test_a_score_that_was_wrong_gets_a_second_look(monkeypatch):
    """A gain that isn't there is refused by the engine, and the round begins again."""
    p = FAMILIES["tall"](0)
    expected = stepwise(p.A, p.y)
    true_gains, calls = ActiveSet.gains, []

    def gains(active):
        calls.append(active.size)
        return true_gains(active) * (1e3 if len(calls) == 1 else 1.0)

    monkeypatch.setattr(ActiveSet, "gains", gains)
    again = stepwise(p.A, p.y, start=expected.support)
    assert again.support.tolist() == expected.support.tolist()
    assert len(again.path) == 0
    assert len(calls) == 2
    calls.clear()
    assert taken(stepwise(p.A, p.y)) == taken(expected)
    assert calls[:2] == [0, 0]


def test_scores_that_are_always_wrong_come_to_an_end(monkeypatch):
    """And a watcher is told of each model once."""
    p = FAMILIES["tall"](0)
    start = stepwise(p.A, p.y).support
    true_gains, rounds = ActiveSet.gains, []
    monkeypatch.setattr(ActiveSet, "gains", lambda active: 1e3 * true_gains(active))
    solution = stepwise(p.A, p.y, start=start, watch=rounds.append)
    assert solution.stop is Stop.CRITERION
    assert (len(solution.path), len(rounds)) == (0, 1)


@pytest.mark.parametrize("seed", range(6))
def test_long_searches_on_nearly_dependent_columns(seed):
    """There and back on columns of condition 1e6: each step as if fitted anew."""
    rng = np.random.default_rng(seed)
    A = normal(rng, 40, 4) @ normal(rng, 4, 20) + 1e-5 * normal(rng, 40, 20)
    y = A @ normal(rng, 20) + 1e-5 * normal(rng, 40)
    cost = criteria(A, y)["aic"].cost
    for start in ([], list(range(20))):
        solution = stepwise(A, y, criterion="aic", start=start)
        assert taken(solution) == naive(A, y, cost, start)[0]
        assert solution.check(A, y).ok


def test_equal_costs_go_to_the_smaller_model():
    """Of two steps that lead to the same cost the deletion is taken."""
    A, y = np.eye(3), np.array([1.0, 0.0, 2.0])
    costs = {0: 10.0, 1: 5.0, 2: 7.0, 3: 5.0}
    solution = stepwise(A, y, criterion=lambda rss, size: costs[size], start=[0, 1])
    assert taken(solution) == [("drop", 1)]


def test_ties_go_to_the_lowest_column():
    A, y = np.eye(4), np.array([1.0, 2.0, 2.0, 0.5])
    prices = [0.0, 3.0, 7.5, 12.0, 16.0]
    assert stepwise(A, y, criterion=lambda rss, size: rss + prices[size]).support.tolist() == [1]
    start = stepwise(A, y, criterion=lambda rss, size: rss + 4.1 * max(size, 1), start=[1, 2])
    assert taken(start) == [("drop", 1)]


# --- watch and callback --------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["bic", "cp", lambda rss, size: rss + 0.1 * size])
@pytest.mark.parametrize("kind", [float, complex])
def test_watch(criterion, kind):
    """One round for each model, with every step open to it, in the units of the data."""
    p = gaussian(3, 30, 7, 3, kind=kind)
    A, y = 1e3 * p.A, 1e-2 * p.y
    rounds = []
    solution = stepwise(A, y, criterion=criterion, watch=rounds.append, start=[6, 2], include=[4])
    plain = stepwise(A, y, criterion=criterion, start=[6, 2], include=[4])
    np.testing.assert_array_equal(solution.coef, plain.coef)
    variance = rss(A, y, list(range(7))) / 23
    cost = criterion if callable(criterion) else criteria(A, y, variance=variance)[criterion].cost
    assert len(rounds) == len(solution.path) + 1
    assert rounds[0].order == [4, 6, 2]
    S = set(rounds[0].order)
    for seen, step in zip(rounds, [*solution.path, None], strict=True):
        order = seen.order
        assert set(order) == S
        assert seen.rss == pytest.approx(rss(A, y, order))
        assert seen.cost == pytest.approx(cost(seen.rss, len(S)))
        assert seen.deletions.columns.tolist() == [j for j in order if j != 4]
        assert seen.additions.columns.tolist() == [j for j in range(7) if j not in order]
        for moves, sign in ((seen.deletions, 1), (seen.additions, -1)):
            models = [sorted(S ^ {int(j)}) for j in moves.columns]
            expected = [rss(A, y, T) for T in models]
            np.testing.assert_allclose(moves.rss, expected, rtol=1e-9)
            np.testing.assert_allclose(seen.rss + sign * moves.change, expected, rtol=1e-9)
            worth = [cost(r, len(T)) for r, T in zip(expected, models, strict=True)]
            np.testing.assert_allclose(moves.cost, worth, rtol=1e-8, atol=1e-9)
        least = min(*seen.deletions.cost, *seen.additions.cost)
        assert (least < seen.cost) == (step is not None)
        if step is not None:
            S ^= {step.column}
    assert sorted(S) == solution.support.tolist()


def test_watch_at_the_ends():
    """No columns to drop, none to add: empty arrays, and a model of cost -∞."""
    A, y = normal(np.random.default_rng(1), 3, 3), np.array([1.0, 2.0, 3.0])
    rounds = []
    stepwise(A, y, criterion="aic", watch=rounds.append)
    assert rounds[0].deletions.columns.size == rounds[0].deletions.cost.size == 0
    assert rounds[-1].additions.columns.size == 0
    assert rounds[-1].rss == 0
    assert rounds[-1].cost == -math.inf


def test_callback():
    p = FAMILIES["tall"](1)
    seen = []
    whole = stepwise(p.A, p.y, criterion="aic", start=[0, 1, 2], callback=seen.append)
    assert seen == list(whole.path)
    assert {"add", "drop"} == {step.action for step in seen}
    drop = next(i for i, step in enumerate(seen) if step.action == "drop")
    halted = stepwise(
        p.A, p.y, criterion="aic", start=[0, 1, 2], callback=lambda step: step.action == "drop"
    )
    assert list(halted.path) == seen[: drop + 1]
    assert halted.stop is Stop.CALLBACK


def test_passes():
    """Norms and the first scores, then one pass for each step."""
    p = gaussian(0, 200, 400, 8)
    solution = stepwise(p.A, p.y, criterion="ebic")
    assert len(solution.path) >= 3
    assert solution.n_passes <= len(solution.path) + 2


@pytest.mark.parametrize("criterion", BY_LOSS)
def test_criteria_count_the_measurements_a_design_stands_for(criterion):
    """Rows times √2 that stand for two each are the same as every row twice."""
    p = gaussian(4, 30, 8, 3)
    twice, once = [], []
    design = sparsewise.as_design(np.sqrt(2) * p.A)
    design.rows = 60
    repeated = np.vstack([p.A, p.A]), np.append(p.y, p.y)
    expected = stepwise(*repeated, criterion=criterion, watch=twice.append)
    solution = stepwise(design, np.sqrt(2) * p.y, criterion=criterion, watch=once.append)
    assert solution.support.tolist() == expected.support.tolist()
    assert len(solution.support) > 0
    assert [one.cost for one in once] == pytest.approx([one.cost for one in twice])


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["BIC", "loo", "", None, 3.0, ["aic"]])
def test_unknown_criteria(criterion):
    with pytest.raises(ValueError, match=r"^criterion must be one of aic, .*function.* not .+\.$"):
        stepwise(np.eye(3), np.ones(3), criterion=criterion)


def test_criterion_that_is_not_a_number():
    with pytest.raises(ValueError, match=r"^criterion\(3, 0\) is not a number; .*infinity.*\.$"):
        stepwise(np.eye(3), np.ones(3), criterion=lambda rss, size: math.nan)


@pytest.mark.parametrize("shape", [(6, 6), (6, 9)])
def test_cp_needs_rows(shape):
    A = normal(np.random.default_rng(0), *shape)
    with pytest.raises(ValueError, match=r"^cp needs .* 6 columns .* 6 rows; .*ric\.$"):
        stepwise(A, np.arange(1.0, 7.0), criterion="cp")
    few = stepwise(A, np.arange(1.0, 7.0), criterion="cp", exclude=range(3, shape[1]))
    assert set(few.support) <= {0, 1, 2}


def test_cp_with_dependent_columns():
    """s² is that of as many columns as are independent."""
    p = gaussian(1, 30, 6, 3)
    doubled = np.column_stack([p.A, p.A @ normal(np.random.default_rng(0), 6, 30)])
    cost = criteria(p.A, p.y, variance=rss(p.A, p.y, list(range(6))) / 24)["cp"].cost
    solution = stepwise(doubled, p.y, criterion="cp")
    _, expected = naive(doubled, p.y, cost)
    assert solution.support.tolist() == sorted(expected)
