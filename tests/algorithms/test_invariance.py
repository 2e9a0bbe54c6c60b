"""What must not change an answer, what must, and that every argument is honoured."""

from dataclasses import replace

import numpy as np
import pytest

import sparsewise
from sparsewise import ALGORITHMS, Stop
from tests.problems import (
    BAYES,
    BY_COLUMNS,
    BY_CRITERION,
    BY_DELTA,
    ELIMINATION,
    FAMILIES,
    FIXED_SIZE,
    FORWARD,
    KNOWN,
    LEAST_SQUARES,
    SEARCHES,
    SEVERAL,
    TAKES_START,
    Problem,
    as_complex,
    multi_target,
    normal,
    words,
)
from tests.references.stepwise import Unit

# A search tells its callback of starts, and its steps are those that led to the best of them.
BY_STEPS = [name for name in BY_COLUMNS if name not in SEARCHES]
FULL_RANK = ["tall", "correlated tall", "complex tall"]
TALL = next(p for p in KNOWN if p.name == "tall")
WIDE = FAMILIES["wide"](0)


def solve(name, p, **more):
    return ALGORITHMS[name](p.A, p.y, **words(name, p) | more)


@pytest.fixture(params=BY_COLUMNS)
def name(request):
    return request.param


@pytest.fixture(params=[*FULL_RANK, "tall, 3 targets", "complex tall, 2 targets"])
def p(request) -> Problem:
    family, _, shared = request.param.partition(", ")
    if not shared:
        return FAMILIES[family](3)
    if request.node.callspec.params.get("name", "forward") not in SEVERAL:
        pytest.skip("takes one target at a time")
    return multi_target(FAMILIES[family](3), int(shared[0]))


def same(solution, expected, factor=1.0):
    """The same support, and coefficients times a factor."""
    assert list(solution.support) == list(expected.support)
    on = expected.support
    factors = np.broadcast_to(factor, len(solution.coef))[on]
    np.testing.assert_allclose((solution.coef[on].T / factors).T, expected.coef[on], rtol=1e-7)
    assert solution.stop is expected.stop


# --- what must not matter ------------------------------------------------------------------------


@pytest.mark.parametrize("c", [-3.0, 1e-150, 1e150])
def test_scale_of_the_target(name, p, c):
    scaled = replace(p, y=c * p.y, delta=abs(c) * p.delta)
    same(solve(name, scaled), solve(name, p), c)


def test_phase_of_the_target(name, p):
    turn = np.exp(0.7j)
    call = words(name, p) if np.iscomplexobj(p.A) else as_complex(name, p)
    same(ALGORITHMS[name](p.A, turn * p.y, **call), solve(name, p), turn)


@pytest.mark.parametrize("decades", [2, 150])
def test_scale_of_the_columns(name, p, decades):
    rng = np.random.default_rng(4)
    d = 10.0 ** rng.uniform(-decades, decades, p.A.shape[1])
    d[::2] *= -1
    same(solve(name, replace(p, A=p.A * d)), solve(name, p), 1 / d)


@pytest.mark.parametrize(("a", "b"), [(1e150, 1e-150), (1e-150, 1e150), (1e-150, 1e-150)])
def test_far_scales_of_both(name, p, a, b):
    scaled = replace(p, A=a * p.A, y=b * p.y, delta=b * p.delta)
    if name in (*BAYES, *SEARCHES) and a != b:  # variances, squares of coefficients, are no numbers
        prior = "prior " if name in BAYES else ""
        with pytest.raises(ValueError, match=rf"^The {prior}variances.*range.*\.$"):
            solve(name, scaled)
        return
    solution = solve(name, scaled)
    same(solution, solve(name, p), b / a)
    assert solution.check(scaled.A, scaled.y).ok


@pytest.mark.parametrize(("a", "b"), [(1e70, 1e-70), (1e-70, 1e70), (1e-150, 1e-100)])
@pytest.mark.parametrize("name", BAYES)
def test_far_scales_of_variances(name, p, a, b):
    scaled = replace(p, A=a * p.A, y=b * p.y, delta=b * p.delta)
    solution, plain = solve(name, scaled), solve(name, p)
    same(solution, plain, b / a)
    assert solution.check(scaled.A, scaled.y).ok
    ratio = b / a
    np.testing.assert_allclose(solution.gamma / ratio / ratio, plain.gamma, rtol=1e-7)
    np.testing.assert_allclose(solution.covariance / ratio / ratio, plain.covariance, rtol=1e-7)


def in_single_precision(a, b):
    A = (a * TALL.A).astype(np.float32)
    return replace(TALL, A=A, y=b * TALL.y, delta=b * TALL.delta)


@pytest.mark.parametrize(("a", "b"), [(1e-30, 1e-3), (1e30, 1e3), (1e-20, 1e-20), (1e15, 1e15)])
def test_far_scales_in_single_precision(name, a, b):
    """Squares of these leave the range of float32; the answer does not."""
    scaled = in_single_precision(a, b)
    solution = solve(name, scaled)
    assert list(solution.support) == TALL.truth
    assert solution.check(scaled.A, scaled.y).ok


@pytest.mark.parametrize(("a", "b"), [(1e-30, 1e30), (1e30, 1e-30)])
def test_coefficients_beyond_single_precision(name, a, b):
    """Coefficients that float32 can't hold are refused in one sentence, never returned wrong."""
    with pytest.raises(ValueError, match=r"^The coefficients .*float32.*\.$"):
        solve(name, in_single_precision(a, b))


def test_order_of_the_columns(name, p):
    order = np.random.default_rng(5).permutation(p.A.shape[1])
    plain, permuted = solve(name, p), solve(name, replace(p, A=p.A[:, order]))
    assert sorted(order[permuted.support]) == list(plain.support)
    np.testing.assert_allclose(permuted.coef, plain.coef[order], rtol=1e-7, atol=1e-12)


def test_rotation_of_the_rows(name, p):
    kind = complex if np.iscomplexobj(p.A) else float
    n = len(p.y)
    Q = np.linalg.qr(normal(np.random.default_rng(6), n, n, kind=kind))[0]
    same(solve(name, replace(p, A=Q @ p.A, y=Q @ p.y)), solve(name, p))


def test_real_content_of_a_complex_type(name):
    p = FAMILIES["tall"](8)
    if name in SEARCHES:  # noise with two parts a row is told from fewer rows: a plainer case
        p = TALL
    real, typed = solve(name, p), ALGORITHMS[name](p.A + 0j, p.y + 0j, **as_complex(name, p))
    same(typed, real)
    assert not typed.coef.imag.any()
    assert typed.coef.dtype == np.complex128


def test_a_checked_design_is_as_good_as_the_array(name, p):
    design = sparsewise.as_design(p.A)
    call = words(name, p)
    first = ALGORITHMS[name](design, p.y, **call)
    second = ALGORITHMS[name](design, p.y, **call)
    for solution in (first, second):
        np.testing.assert_array_equal(solution.coef, solve(name, p).coef)
    assert second.n_passes <= first.n_passes


def test_repeated_calls_agree_to_the_last_bit(name, p):
    np.testing.assert_array_equal(solve(name, p).coef, solve(name, p).coef)


# --- ties and dependent columns ------------------------------------------------------------------


def test_lowest_index_wins_ties(name):
    """Identity twice: columns j and j + 4 are the same; the target ties several of them."""
    A = np.hstack([np.eye(4), -np.eye(4)])
    y = np.array([2.0, 3.0, 3.0, 0.5])
    more = {"start": [0, 1, 2, 3]} if name in ELIMINATION else {}
    if name in BAYES:  # 3 is hardly more than a sigma of 2.9
        more = {"min_increase": 1e-6}
    p = Problem("ties", A, y, sparsity=1, delta=2.9)
    expected = [1, 2] if name in (*BY_DELTA, *BY_CRITERION, *BAYES) else [1]
    if name in SEARCHES:  # every column is worth more than it is charged, but for the last
        more, expected = {"sigma": 0.5}, [0, 1, 2]
    if name in ELIMINATION:
        expected = [2]  # of two equal losses the lower index is the one that goes
    assert list(solve(name, p, **more).support) == expected


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", [*FORWARD, *FIXED_SIZE, *ELIMINATION])
def test_ties_but_for_rounding(name, seed):
    """Equal scores that rounding has made unequal are ties still."""
    A = np.linalg.qr(normal(np.random.default_rng(seed), 9, 6))[0]
    solution = solve(name, Problem("rounded ties", A, A.sum(axis=1), sparsity=3, delta=0.1))
    assert list(solution.support) == ([3, 4, 5] if name in ELIMINATION else [0, 1, 2])


@pytest.mark.parametrize("name", ELIMINATION)
def test_worthless_columns_go_in_order(name):
    """Losses that are zero but for rounding are all the same: the lowest index goes first."""
    p = FAMILIES["tall"](0)
    path = ALGORITHMS[name](p.A, p.A[:, 4] - p.A[:, 7], sparsity=2).path
    assert [step.column for step in path] == [j for j in range(p.A.shape[1]) if j not in (4, 7)]


def test_ties_of_subspace_pursuit():
    """Of all three columns, 1 and 2 have the same |x| (on unit columns): the lower one is kept."""
    A = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
    solution = sparsewise.subspace_pursuit(A, np.array([-1.0, -1.0, 0.0]), sparsity=2)
    assert list(solution.support) == [0, 1]


def test_ties_of_ompr():
    """Columns 0 and 1 and the candidate 2 have the same |z|: the lowest is the one that goes."""
    A = np.array([[-1.0, -1.0, 0.0], [-1.0, 1.0, -1.0], [0.0, 0.0, 1.0]])
    solution = sparsewise.ompr(A, np.array([1.0, 0.0, -1.0]), sparsity=2)
    assert list(solution.support) == [1, 2]


@pytest.mark.parametrize("family", ["duplicates", "rank deficient", "complex rank deficient"])
def test_supports_are_independent(name, family):
    p = FAMILIES[family](2)
    solution = solve(name, p)
    if name in LEAST_SQUARES:
        V = p.A[:, solution.support]
        assert np.linalg.matrix_rank(V, tol=1e-10) == len(solution.support)
    assert np.all(np.linalg.norm(p.A[:, solution.support], axis=0) > 0)


@pytest.mark.parametrize("name", ["omp", "gomp", "forward"])
def test_dependent_columns_end_growth(name):
    p = FAMILIES["rank deficient"](1)
    solution = solve(name, p, sparsity=12)
    assert len(solution.support) == np.linalg.matrix_rank(p.A) == 8
    assert solution.stop is Stop.DEPENDENT


def test_batches_of_one():
    """Generalised OMP with one column at a time is OMP, also where nothing can be gained."""
    for p in (WIDE, TALL, Problem("orthogonal", np.eye(4)[:, :2], np.eye(4)[3], 2, 0.1)):
        one = sparsewise.gomp(p.A, p.y, batch=1, sparsity=p.sparsity)
        assert list(one.support) == list(sparsewise.omp(p.A, p.y, sparsity=p.sparsity).support)


@pytest.mark.parametrize("name", ["omp", "forward"])
def test_running_out_of_columns(name):
    p = FAMILIES["tall"](1)
    m = p.A.shape[1]
    solution = ALGORITHMS[name](p.A, p.y, residual=0.0)
    assert len(solution.support) == m
    assert solution.stop is Stop.EXHAUSTED


# --- include, exclude, start ---------------------------------------------------------------------


def touched(solution):
    return {j for step in solution.path for j in step.columns} | set(solution.support)


def test_include(name, p):
    unwanted = next(j for j in range(p.A.shape[1]) if j not in solve(name, p).support)
    solution = solve(name, p, include=[unwanted])
    assert unwanted in solution.support
    assert all(unwanted not in step.columns for step in solution.path if step.action == "drop")


def test_exclude(name, p):
    banned = [int(j) for j in solve(name, p).support[:2]]
    assert not set(banned) & touched(solve(name, p, exclude=banned))


@pytest.mark.parametrize("name", TAKES_START)
def test_start_at_the_answer(name):
    """A warm start from the known answer stays there."""
    solution = solve(name, TALL, start=TALL.truth)
    assert list(solution.support) == TALL.truth
    assert sorted(solution.path.start) == TALL.truth


@pytest.mark.parametrize("name", TAKES_START)
def test_start_and_include_are_in_the_model_first(name):
    solution = solve(name, TALL, start=[5, 2], include=[9])
    if name not in FIXED_SIZE:  # these fill the start up to `sparsity`
        assert sorted(solution.path.start) == [2, 5, 9]
    assert 9 in solution.support


@pytest.mark.parametrize("kind", [list, tuple, set, np.array, iter])
def test_columns_in_any_container(name, kind):
    given = kind([9, 2])
    assert {2, 9} <= set(solve(name, TALL, include=given).support)


# --- stopping words ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*FORWARD, *FIXED_SIZE, *ELIMINATION])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_sparsity(name, p, k):
    solution = solve(name, p, sparsity=k)
    assert len(solution.support) == k
    expected = Stop.NO_IMPROVEMENT if name in FIXED_SIZE[1:] else Stop.SPARSITY
    assert solution.stop is expected


@pytest.mark.parametrize("name", FORWARD)
def test_residual(name, p):
    bound = 0.5 * p.size
    options = {"batch": 1} if name == "gomp" else {}
    solution = ALGORITHMS[name](p.A, p.y, residual=bound, **options)
    assert solution.stop is Stop.RESIDUAL
    before = [p.size**2, *(step.squared_residual for step in solution.path)][-2]
    assert solution.residual_norm <= bound < before**0.5


@pytest.mark.parametrize("name", ELIMINATION)
def test_residual_of_elimination(name, p):
    """As few columns as the bound allows, in the order of elimination."""
    bound = 0.8 * p.size
    solution = ALGORITHMS[name](p.A, p.y, residual=bound)
    assert solution.stop is Stop.RESIDUAL
    assert solution.residual_norm <= bound
    next_one = ALGORITHMS[name](p.A, p.y, sparsity=len(solution.support) - 1)
    assert next_one.residual_norm > bound


def test_residual_already_met(name, p):
    if name in (*FORWARD, "mp"):
        options = {"batch": 2} if name == "gomp" else {}
        solution = ALGORITHMS[name](p.A, p.y, residual=2 * p.size, **options)
        assert len(solution.support) == len(solution.path) == 0
        assert solution.stop is Stop.RESIDUAL
        assert solution.residual_norm == pytest.approx(p.size)


@pytest.mark.parametrize("name", ["forward", "backward", "rmp0"])
def test_delta(name, p):
    """No column outside is worth more than delta^2, no column inside is worth less."""
    solution = ALGORITHMS[name](p.A, p.y, delta=p.delta)
    u = Unit(p.A, p.y)
    S = list(solution.support)
    threshold = (p.delta / p.size) ** 2
    if name != "backward":
        assert u.gain(S).max() <= threshold
    if name != "forward":
        assert u.loss(S).min() > threshold
    assert solution.stop is (Stop.STABLE if name == "rmp0" else Stop.DELTA)


def test_first_word_met_stops_growth(p):
    """Several words: the first one met."""
    few = sparsewise.forward(p.A, p.y, sparsity=2, delta=0.0, residual=0.0)
    assert (len(few.support), few.stop) == (2, Stop.SPARSITY)
    none = sparsewise.forward(p.A, p.y, sparsity=2, delta=2 * p.size)
    assert (len(none.support), none.stop) == (0, Stop.DELTA)


def test_exact_fit_ends_growth():
    p = KNOWN[0]
    for name in ("omp", "forward"):
        solution = ALGORITHMS[name](p.A, p.y, sparsity=10)
        assert list(solution.support) == p.truth
        assert solution.stop is Stop.EXACT_FIT


def test_limits_on_iterations():
    p = FAMILIES["tall"](3)
    one = sparsewise.mp(p.A, p.y, sparsity=5, max_iter=1)
    assert (len(one.path), one.stop) == (1, Stop.MAX_ITER)
    once = sparsewise.rmp0(p.A, p.y, delta=p.delta, max_outer=1)
    assert once.stop is Stop.MAX_OUTER
    for name in FIXED_SIZE[1:]:
        start = [j for j in range(p.A.shape[1]) if j not in solve(name, p).support][: p.sparsity]
        assert solve(name, p, start=start, max_iter=1).stop is Stop.MAX_ITER


def test_matching_pursuit_reuses_atoms():
    """Not least squares: the same atoms come again, and the residual falls to the bound."""
    p = FAMILIES["correlated tall"](0)
    best = sparsewise.backward(p.A, p.y, sparsity=p.A.shape[1]).residual_norm
    solution = sparsewise.mp(p.A, p.y, residual=1.2 * best)
    assert solution.stop is Stop.RESIDUAL
    assert len(solution.path) > len(solution.support)
    assert not solution.least_squares
    assert solution.residual_norm <= 1.2 * best


# --- the target zero -----------------------------------------------------------------------------


def test_zero_target(name, p):
    solution = ALGORITHMS[name](p.A, 0 * p.y, **words(name, p))
    assert solution.support.size == len(solution.path) == 0
    assert not solution.coef.any()
    assert solution.residual_norm == 0
    assert solution.stop is Stop.ZERO_TARGET
    assert solution.check(p.A, 0 * p.y).ok


# --- callback ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_STEPS)
def test_callback_sees_every_step(name, p):
    seen = []
    solution = solve(name, p, callback=seen.append)
    assert seen == list(solution.path)
    assert len(seen) > 1
    # Sparse Bayesian Learning turns its basis after each step then, and not after many at once.
    rounding = 1e-12 * np.abs(solution.coef).max() if name in BAYES else 0.0
    np.testing.assert_allclose(solution.coef, solve(name, p).coef, rtol=0, atol=rounding)


@pytest.mark.parametrize("name", BY_STEPS)
def test_callback_stops(name, p):
    seen = []

    def stop_at_the_second(step):
        seen.append(step)
        return len(seen) == 2

    solution = solve(name, p, callback=stop_at_the_second)
    assert seen == list(solution.path)
    assert len(seen) == 2
    assert solution.stop is Stop.CALLBACK
    assert solution.check(p.A, p.y).ok
    whole = list(solve(name, p).path)[:2]
    if name in BAYES:  # the same but for rounding
        np.testing.assert_allclose([s[2:] for s in seen], [s[2:] for s in whole], rtol=1e-12)
        seen, whole = [s[:2] for s in seen], [s[:2] for s in whole]
    assert seen == whole


@pytest.mark.parametrize("name", BY_STEPS)
def test_halted_at_any_step_the_model_is_the_one_met_there(name):
    """Not one step further, whatever the algorithm was in the middle of."""
    seen = []
    solve(name, WIDE, callback=seen.append)
    for last in range(1, len(seen) + 1):
        halt = iter([False] * (last - 1) + [True])
        solution = solve(name, WIDE, callback=lambda step, halt=halt: next(halt))
        assert solution.stop is Stop.CALLBACK
        assert len(solution.path) == last
        assert solution.support.size == seen[last - 1].size
        assert solution.residual_norm**2 == pytest.approx(seen[last - 1].loss)


# --- the path ------------------------------------------------------------------------------------


def lstsq(p, S):
    S = sorted(S)
    u = Unit(p.A, p.y)
    coef = u.answer(S).coef
    return coef, u.distance(coef) ** 2


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_path_replays(name, p):
    """The steps lead from path.start to the support, each with its own squared residual."""
    solution = solve(name, p)
    S = set(solution.path.start)
    previous = lstsq(p, S)[1]
    for step in solution.path:
        if step.action == "add":
            assert not {*step.columns} & S
            S |= {*step.columns}
            assert step.squared_residual <= previous * (1 + 1e-12)
        else:
            assert step.action == "drop"
            S.remove(step.column)
            assert step.squared_residual >= previous * (1 - 1e-12)
        assert step.size == len(S)
        previous = lstsq(p, S)[1]
        assert step.squared_residual == pytest.approx(previous, rel=1e-8)
    assert sorted(S) == list(solution.support)
    assert solution.residual_norm**2 == pytest.approx(previous, rel=1e-8)


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_path_at(name, p):
    """The best model of each size met, with its coefficients."""
    path = solve(name, p).path
    met = {step.size for step in path}
    assert met <= set(path.sizes)
    assert path.sizes == sorted(set(path.sizes))
    for k in met:
        model = path.at(k)
        assert list(model.support) == sorted(set(model.support))
        assert len(model.support) == k
        coef, squared = lstsq(p, model.support)
        atol = 1e-8 * np.abs(coef).max()
        np.testing.assert_allclose(model.coef, coef, rtol=0, atol=atol)
        assert model.squared_residual == pytest.approx(squared, rel=1e-8)
        least = min(step.squared_residual for step in path if step.size == k)
        assert model.squared_residual <= least * (1 + 1e-12)
    with pytest.raises(ValueError, match=r"No model with 99 features .*\.$"):
        path.at(99)


@pytest.mark.parametrize("name", ["mp"])
def test_path_of_matching_pursuit(name, p):
    solution = ALGORITHMS[name](p.A, p.y, residual=0.8 * p.size)
    squared = [p.size**2, *(step.squared_residual for step in solution.path)]
    assert np.all(np.diff(squared) < 0)
    assert solution.residual_norm**2 == pytest.approx(squared[-1])
    last = solution.path.at(len(solution.support))
    np.testing.assert_allclose(last.coef, solution.coef, rtol=1e-12)


def test_path_at_prefixes_of_forward(p):
    """Forward regression is nested: path.at(k) is the answer for k."""
    path = sparsewise.forward(p.A, p.y, sparsity=6).path
    for k in range(1, 7):
        shorter = sparsewise.forward(p.A, p.y, sparsity=k)
        assert list(path.at(k).support) == list(shorter.support)
        np.testing.assert_allclose(path.at(k).coef, shorter.coef, rtol=1e-9, atol=1e-13)


# --- passes over A -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["omp", "forward"])
def test_one_pass_per_addition(name):
    """Norms, the first correlations, and at most one pass for each column."""
    k = 10
    solution = solve(name, WIDE, sparsity=k)
    assert 0 < solution.n_passes <= k + 2


def test_coefficients_of_rounding_size_are_tied():
    """Subspace Pursuit keeps the lowest of columns whose coefficients are zero but for rounding."""
    A = np.zeros((7, 8))
    A[3, 4] = A[4, 5] = 1
    A[[0, 4], 6] = 1
    A[[0, 1, 4], 7] = 1
    solution = sparsewise.subspace_pursuit(A, np.eye(7)[1], sparsity=3)
    assert list(solution.support) == [4, 6, 7]
