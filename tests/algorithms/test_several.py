"""Several targets that share their columns: what must not matter, what must, what is refused."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsewise
from sparsewise import ALGORITHMS, InputError, Stop, Targets, as_design
from sparsewise.problem.problem import problem
from tests.problems import (
    BAYES,
    BY_DELTA,
    ELIMINATION,
    FAMILIES,
    FIXED_SIZE,
    FORWARD,
    KNOWN,
    L1,
    LEAST_SQUARES,
    SEARCHES,
    SEVERAL,
    TAKES_START,
    Problem,
    gaussian,
    multi_target,
    normal,
    words,
)
from tests.references.stepwise import Unit
from tests.storages import single

# Its steps are those that led to the best of several starts.
BY_STEPS = [name for name in SEVERAL if name not in SEARCHES]
ALONE = [name for name, record in ALGORITHMS.items() if not record.multi_target]
REGULAR = ["tall", "wide", "correlated tall", "orthonormal", "complex tall", "complex wide"]
TALL = multi_target(next(p for p in KNOWN if p.name == "tall"), 3)


@pytest.fixture(params=SEVERAL, scope="module")
def name(request):
    return request.param


seeds = st.integers(0, 10**6)
few = settings(max_examples=12)


def shared(family, seed, q) -> Problem:
    return multi_target(FAMILIES[family](seed), q)


problems = st.builds(shared, st.sampled_from(REGULAR), seeds, st.integers(2, 5))


def solve(name, p, **more):
    return ALGORITHMS[name](p.A, p.y, **words(name, p) | more)


def retold(p: Problem, y) -> Problem:
    """The same with other targets, and tolerances as large in their units."""
    return replace(p, y=y, delta=p.delta / Unit(p.A, p.y).scale * Unit(p.A, y).scale)


def same(solution, expected, coef=None, rtol=1e-7):
    """The same support, stop and coefficients, these relative to each target's largest."""
    coef = expected.coef if coef is None else coef
    assert list(solution.support) == list(expected.support)
    assert solution.stop is expected.stop
    assert solution.coef.shape == coef.shape
    assert np.all(np.abs(solution.coef - coef) <= rtol * np.abs(coef).max(axis=0))


def steps(solution):
    return [(step.action, step.columns) for step in solution.path]


# --- one target, and copies of one ---------------------------------------------------------------


@few
@given(family=st.sampled_from(sorted(FAMILIES)), seed=seeds, in_single=st.booleans())
def test_one_column_is_one_target(name, family, seed, in_single):
    """To the last digit, but for the shape."""
    p = FAMILIES[family](seed)
    if in_single:
        p = replace(p, A=single(p.A), y=single(p.y))
    call = words(name, p)
    one = ALGORITHMS[name](p.A, p.y, **call)
    column = ALGORITHMS[name](p.A, p.y[:, None], **call)
    assert column.coef.shape == (p.A.shape[1], 1)
    assert column.coef.dtype == one.coef.dtype
    np.testing.assert_array_equal(column.coef[:, 0], one.coef)
    np.testing.assert_array_equal(column.support, one.support)
    assert list(column.path) == list(one.path)
    assert (column.residual_norm, column.stop) == (one.residual_norm, one.stop)
    assert column.n_passes == one.n_passes
    if name in BAYES:
        for field in ("gamma", "sigma", "covariance", "log_evidence"):
            np.testing.assert_array_equal(getattr(column, field), getattr(one, field))
        np.testing.assert_array_equal(column.std[:, 0], one.std)
        assert list(column.sigmas) == [one.sigma]


@few
@given(family=st.sampled_from(REGULAR), seed=seeds, q=st.integers(2, 6))
def test_copies_take_the_steps_of_one(name, family, seed, q):
    """Tolerances are those of one, too; the evidence is that of q."""
    p = FAMILIES[family](seed)
    one = solve(name, p)
    all_of_them = solve(name, replace(p, y=np.repeat(p.y[:, None], q, axis=1)))
    same(all_of_them, one, np.repeat(one.coef[:, None], q, axis=1))
    assert steps(all_of_them) == steps(one)
    assert all_of_them.residual_norm == pytest.approx(one.residual_norm, rel=1e-9)
    if name in BAYES:
        assert all_of_them.log_evidence == pytest.approx(q * one.log_evidence, rel=1e-9)
        np.testing.assert_allclose(all_of_them.gamma, one.gamma, rtol=1e-6)
        np.testing.assert_allclose(all_of_them.sigmas, one.sigma)


# --- what must not matter ------------------------------------------------------------------------


@few
@given(p=problems, seed=seeds)
def test_order_of_the_targets(name, p, seed):
    order = np.random.default_rng(seed).permutation(p.y.shape[1])
    plain = solve(name, p)
    same(solve(name, replace(p, y=p.y[:, order])), plain, plain.coef[:, order])


@few
@given(p=problems, which=st.integers(0, 9), power=st.sampled_from([-100, -8, 8, 100]))
def test_units_of_a_target(name, p, which, power):
    """Nothing but its own coefficients change, however large or small it gets."""
    factors = np.ones(p.y.shape[1])
    factors[which % p.y.shape[1]] = -(10.0**power)
    plain = solve(name, p)
    far = retold(p, p.y * factors)
    solution = solve(name, far)
    same(solution, plain, plain.coef * factors)
    assert solution.check(far.A, far.y).ok


@few
@given(p=problems)
def test_phases_of_targets(name, p):
    turns = np.exp(1j * np.arange(p.y.shape[1]))
    if not np.iscomplexobj(p.A):  # the evidence of complex data weighs twice as much
        p = replace(p, A=p.A + 0j)
    plain = solve(name, replace(p, y=p.y + 0j))
    same(solve(name, replace(p, y=p.y * turns)), plain, plain.coef * turns)


@few
@given(p=problems, seed=seeds)
def test_mixtures_of_the_targets(name, p, seed):
    """Where all count in the same units, any orthonormal basis of their span has one support."""
    q = p.y.shape[1]
    kind = complex if np.iscomplexobj(p.y) else float
    W = np.linalg.qr(normal(np.random.default_rng(seed), q, q, kind=kind))[0]
    Y = p.y / np.linalg.norm(p.y, axis=0)
    plain = solve(name, retold(p, Targets(Y, weights=np.ones(q))))
    mixed = solve(name, retold(p, Targets(Y @ W, weights=np.ones(q))))
    assert list(mixed.support) == list(plain.support)
    assert mixed.stop is plain.stop
    scale = np.abs(plain.coef).max()
    np.testing.assert_allclose(mixed.coef, plain.coef @ W, rtol=0, atol=1e-6 * scale)
    assert mixed.residual_norm == pytest.approx(plain.residual_norm, rel=1e-6)


@few
@given(p=problems, where=st.integers(0, 5))
def test_a_target_of_zeros(name, p, where):
    """It needs no column, and takes no part."""
    where = min(where, p.y.shape[1])
    plain = solve(name, p)
    more = replace(p, y=np.insert(p.y, where, 0.0, axis=1))
    solution = solve(name, more)
    same(solution, plain, np.insert(plain.coef, where, 0.0, axis=1))
    assert solution.residual_norm == pytest.approx(plain.residual_norm, rel=1e-9)
    assert solution.check(more.A, more.y).ok
    assert solution.check(more.A, more.y).residual_norms[where] == 0.0
    if name in BAYES:
        assert solution.log_evidence == pytest.approx(plain.log_evidence, rel=1e-9)
        assert solution.sigmas[where] == 0.0
        assert not solution.std[:, where].any()


def test_nothing_but_zeros(name):
    p = shared("complex tall", 0, 3)
    solution = solve(name, replace(p, y=0 * p.y))
    assert solution.support.size == len(solution.path) == solution.residual_norm == 0
    assert solution.coef.shape == (p.A.shape[1], 3)
    assert solution.stop is Stop.ZERO_TARGET
    assert solution.check(p.A, 0 * p.y).ok


def test_weights_have_ratios_only(name):
    p = shared("wide", 1, 3)
    weights = 1 / np.linalg.norm(p.y, axis=0)
    plain = solve(name, p)
    for factor in (1.0, 1e-3, 1e150):
        same(solve(name, replace(p, y=Targets(p.y, weights=factor * weights))), plain)


@pytest.mark.parametrize("loud", [0, 1])
@pytest.mark.parametrize("name", [*FORWARD, *ELIMINATION, *FIXED_SIZE])
def test_a_target_that_hardly_counts_keeps_its_coefficients(name, loud):
    """The others decide on the columns."""
    p = shared("complex tall", 3, 2)
    weights = np.full(2, 1e-100)
    weights[loud] = 1e100
    solution = solve(name, replace(p, y=Targets(p.y, weights=weights)))
    assert list(solution.support) == list(solve(name, replace(p, y=p.y[:, loud])).support)
    coef = Unit(p.A, p.y).answer(solution.support).coef
    assert np.all(np.abs(solution.coef - coef) <= 1e-9 * np.abs(coef).max(axis=0))
    inaudible = Targets(p.y, weights=weights**2)
    coef[:, 1 - loud] = 0.0
    same(solve(name, replace(p, y=inaudible)), solution, coef)


def test_targets_at_the_ends_of_the_range(name):
    """Coefficients that are numbers are told; a norm that is none is refused in a sentence."""
    A, E = np.eye(12)[:, :5], np.eye(12)
    call = words(name, Problem("far", A, E[:, :2], sparsity=2, delta=1e-3))
    call |= {key: 1e305 for key in ("delta", "sigma") if call.get(key)}
    Y = np.column_stack([1e308 * E[0], 3e-300 * E[1]])
    if name not in (*BAYES, *SEARCHES, "stepwise"):  # whose squares of coefficients are no numbers
        solution = ALGORITHMS[name](A, Y, **call)
        assert list(solution.support) == [0, 1]
        np.testing.assert_allclose(solution.coef[[0, 1]], [[1e308, 0], [0, 3e-300]])
        assert solution.check(A, Y).ok
    with pytest.raises(InputError, match=r"^y has .*beyond the range of.*\.$"):
        ALGORITHMS[name](A, 1.7e308 * E[:, :2], **call)


# --- what must matter ----------------------------------------------------------------------------


def loud_and_quiet():
    """Two targets of one column each, a million times as large the one as the other."""
    A = np.eye(12)[:, :8]
    Y = np.zeros((12, 2))
    Y[2, 0], Y[[4, 5], 1] = 1e6, [3e-1, 4e-1]
    return A, Y + 1e-9


@pytest.mark.parametrize("name", ["oblivious", *FORWARD, *ELIMINATION, "srr"])
def test_no_target_drowns_another(name):
    A, Y = loud_and_quiet()
    call = words(name, Problem("loud", A, Y, sparsity=2, delta=1.0))
    assert list(ALGORITHMS[name](A, Y, **call).support) == [2, 5]
    in_its_units = Targets(Y, weights=[1.0, 1.0])
    loudest = ALGORITHMS[name](A, in_its_units, **call | {"sparsity": 1})
    assert list(loudest.support) == [2]
    favoured = Targets(Y, weights=[1e-6, 1e3])
    assert list(ALGORITHMS[name](A, favoured, **call).support) == [4, 5]


def test_targets_tell_of_columns_that_none_of_them_could(name):
    """Each of eight alone is mostly noise."""
    rng = np.random.default_rng(0)
    A, truth = rng.standard_normal((40, 60)), [5, 22, 41]
    Y = A[:, truth] @ rng.standard_normal((3, 8)) + 1.2 * rng.standard_normal((40, 8))
    p = Problem("noisy", A, Y, sparsity=3, delta=0.0)
    p = replace(p, delta=0.35 * p.size)
    more = {"start": [*truth, *range(6, 20)]} if name in ELIMINATION else {}
    if name in BAYES:  # a feature that fits the noise costs the evidence little
        more = {"sigma": 1.2, "price": 4 * np.log(60)}
    assert list(solve(name, p, **more).support) == truth


@pytest.mark.parametrize("name", FORWARD)
def test_the_bound_on_residuals_is_on_their_mean(name):
    p = shared("tall", 4, 3)
    solution = solve(name, p, sparsity=None, residual=0.6 * p.size)
    assert solution.stop is Stop.RESIDUAL
    relative = np.linalg.norm(p.y - p.A @ solution.coef, axis=0) / np.linalg.norm(p.y, axis=0)
    mean = np.sqrt(np.mean(relative**2))
    assert mean <= 0.6
    assert solution.residual_norm == pytest.approx(mean * p.size)


@pytest.mark.parametrize("name", [*BY_DELTA, "forward", "backward"])
def test_delta_is_what_a_column_must_be_worth_on_average(name):
    p = shared("complex tall", 2, 3)
    solution = ALGORITHMS[name](p.A, p.y, delta=p.delta)
    u = Unit(p.A, p.y)
    if name in ("rmp0", "forward"):
        assert u.gain(list(solution.support)).max() <= (p.delta / p.size) ** 2
    if name in ("rmp0", "backward"):
        assert u.loss(list(solution.support)).min() > (p.delta / p.size) ** 2


@pytest.mark.parametrize("name", BAYES)
def test_sigmas_are_those_of_targets(name):
    """Noise of each target in its own units, which is found again from its residual."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((200, 30))
    levels = np.array([1e-3, 1.0, 1e3])
    X = rng.standard_normal((4, 3)) * levels
    Y = A[:, :4] @ X + 0.1 * levels * rng.standard_normal((200, 3))
    sigma = 0.1 * np.sqrt(np.mean(levels**2))
    solution = ALGORITHMS[name](A, Y, sigma=sigma)
    assert set(range(4)) <= set(solution.support)
    norms = np.linalg.norm(Y, axis=0)
    np.testing.assert_allclose(solution.sigmas / norms, sigma / np.sqrt(np.mean(norms**2)))
    assert solution.sigma == pytest.approx(sigma)
    expected = solution.sigmas * np.sqrt(np.diag(solution.covariance))[:, None] / sigma
    np.testing.assert_allclose(solution.std[solution.support], expected)
    off = np.abs(solution.coef[:4] - X) / solution.std[:4]
    assert off.max() < 6


@pytest.mark.parametrize("name", BAYES)
@pytest.mark.parametrize("kind", ["tall", "tall complex"])
def test_inferred_noise(name, kind):
    """That of each target in its own units: a thousandth of it, as it was planted."""
    p = multi_target(next(one for one in KNOWN if one.name == kind), 4)
    price = 4 * np.log(p.A.shape[1])  # of all targets together, as the evidence is
    solution = ALGORITHMS[name](p.A, p.y, price=price)
    assert list(solution.support) == p.truth
    planted = 1e-3 * np.linalg.norm(p.y, axis=0) / len(p.y) ** 0.5
    np.testing.assert_allclose(solution.sigmas, planted, rtol=0.15)
    assert solution.check(p.A, p.y).ok
    one = ALGORITHMS[name](p.A, p.y[:, 0], price=price)
    copies = ALGORITHMS[name](p.A, p.y[:, [0, 0, 0]], price=3 * price)
    assert list(copies.support) == list(one.support) == p.truth
    assert copies.sigma == pytest.approx(one.sigma, rel=1e-3)


@pytest.mark.parametrize("family", ["tall", "complex tall", "correlated tall"])
def test_best_subsets_are_the_best_of_all(family):
    p = shared(family, 1, 3)
    A = p.A[:, :9]
    u = Unit(A, p.y)
    best = sparsewise.best_subset(A, p.y, sparsity=4)
    assert best.proved
    for k in range(1, 5):
        least = min(combinations(range(9), k), key=lambda S: u.error(list(S)))
        model = best.path.at(k)
        assert tuple(model.support) == least
        expected = u.answer(least).coef
        assert np.all(np.abs(model.coef - expected) <= 1e-9 * np.abs(expected).max(axis=0))


# --- what comes back -----------------------------------------------------------------------------


@few
@given(p=problems, which=st.integers(0, 9))
def test_a_check_holds_and_notices(name, p, which):
    solution = solve(name, p)
    check = solution.check(p.A, p.y)
    assert check.ok
    each = np.linalg.norm(p.y - p.A @ solution.coef, axis=0)
    np.testing.assert_allclose(check.residual_norms, each, atol=1e-12 * p.size)
    coef = solution.coef.copy()
    t = which % p.y.shape[1]
    coef[:, t] *= 1.001
    assert not replace(solution, coef=coef).check(p.A, p.y).ok
    worse = 1.001 * solution.residual_norm + 1e-3 * p.size
    assert not replace(solution, residual_norm=worse).check(p.A, p.y).ok
    assert not solution.check(p.A, np.roll(p.y, 1, axis=1)).ok
    stray = solution.coef.copy()
    outside = np.setdiff1d(np.arange(len(coef)), solution.support)
    if outside.size:
        stray[outside[0], t] = 1e-6 * np.abs(stray[:, t]).max()
        assert not replace(solution, coef=stray).check(p.A, p.y).support_ok
    if name in BAYES:
        assert not replace(solution, gamma=2 * solution.gamma).check(p.A, p.y).ok
        told = solution.log_evidence + 1.0
        assert not replace(solution, log_evidence=told).check(p.A, p.y).ok


def test_a_check_takes_the_targets_of_the_solution(name):
    solution = solve(name, TALL)
    for y in (TALL.y[:, 0], TALL.y[:, :1], TALL.y[:, :2]):
        with pytest.raises(InputError, match=r"^y has .* those of 3 targets; .*\.$"):
            solution.check(TALL.A, y)
    one = solve(name, replace(TALL, y=TALL.y[:, 0]))
    with pytest.raises(InputError, match=r"^y has 3 targets, .*\.$"):
        one.check(TALL.A, TALL.y)


@pytest.mark.parametrize("name", [name for name in LEAST_SQUARES if name in SEVERAL])
def test_models_on_the_path(name):
    p = shared("complex tall", 5, 3)
    path = solve(name, p).path
    u = Unit(p.A, p.y)
    assert path.initial.coef.shape == (p.A.shape[1], 3)
    for model in path.models():
        expected = u.answer(model.support).coef
        rounding = 1e-9 * np.abs(expected).max(axis=0)
        assert np.all(np.abs(model.coef - expected) <= rounding)
        assert model.squared_residual == pytest.approx(u.distance(expected) ** 2)
    for k in path.sizes:
        assert path.at(k).coef.shape == (p.A.shape[1], 3)
        assert len(path.at(k).support) == k
    last = [0, len(path)]
    columns, coefs = path.coefs_after(last)
    assert coefs.shape == (columns.size, 2, 3)
    np.testing.assert_array_equal(coefs[:, 1], path.after(len(path)).coef[columns])


@pytest.mark.parametrize("name", BY_STEPS)
def test_callbacks(name):
    p = shared("tall", 6, 4)
    seen = []
    plain = solve(name, p)
    same(solve(name, p, callback=seen.append), plain, rtol=1e-10)
    assert [(step.action, step.columns) for step in seen] == steps(plain)
    halted = solve(name, p, callback=lambda step: True)
    assert halted.stop is Stop.CALLBACK
    assert len(halted.path) == 1
    assert halted.check(p.A, p.y).ok


def test_what_is_shown(name):
    shown = repr(solve(name, TALL))
    assert "4 features of 24 for 3 targets" in shown
    assert "2: [" in shown


# --- constraints and starts ----------------------------------------------------------------------


@few
@given(p=problems, seed=seeds)
def test_include_and_exclude(name, p, seed):
    usable = np.random.default_rng(seed).permutation(p.A.shape[1])[:3]
    more = {"include": usable[:1], "exclude": usable[1:]}
    if name in ELIMINATION and "start" in words(name, p):
        more["start"] = [j for j in words(name, p)["start"][2:] if j not in usable[1:]]
    solution = solve(name, p, **more)
    assert usable[0] in solution.support
    assert not {*usable[1:]} & {*solution.support}
    assert solution.coef[usable[0]].all()
    assert solution.check(p.A, p.y).ok


@pytest.mark.parametrize("name", [name for name in TAKES_START if name in SEVERAL])
def test_start_at_the_answer(name):
    solution = solve(name, TALL, start=TALL.truth)
    assert list(solution.support) == sorted(solution.path.start) == TALL.truth


# --- storages ------------------------------------------------------------------------------------


def test_every_storage_of_the_columns(store, name):
    p = multi_target(KNOWN[2], 3) if "complex" in store.name else TALL
    solution = ALGORITHMS[name](store(p.A), p.y, **words(name, p))
    dense = solve(name, p)
    assert list(solution.support) == list(dense.support) == p.truth
    rounding = 1e4 * store.eps * np.abs(dense.coef).max(axis=0)
    assert np.all(np.abs(solution.coef - dense.coef) <= rounding)
    assert solution.check(store(p.A), p.y).ok


@pytest.mark.parametrize("kind", ["Fortran", "strided", "list", "mapped", "single", "big-endian"])
def test_every_storage_of_the_targets(name, kind, tmp_path):
    if kind == "mapped":
        np.save(tmp_path / "Y.npy", TALL.y)
    stored = {
        "Fortran": lambda: np.asfortranarray(TALL.y),
        "strided": lambda: np.repeat(TALL.y, 2, axis=1)[:, ::2],
        "list": TALL.y.tolist,
        "mapped": lambda: np.load(tmp_path / "Y.npy", mmap_mode="r"),
        "single": lambda: single(TALL.y),
        "big-endian": lambda: TALL.y.astype(">f8"),
    }[kind]()
    solution = ALGORITHMS[name](TALL.A, stored, **words(name, TALL))
    same(solution, solve(name, TALL), rtol=1e-4 if kind == "single" else 1e-12)
    assert solution.coef.dtype == np.float64


def test_integers_and_real_columns_of_complex_targets(name):
    A = np.eye(8)
    Y = np.zeros((8, 2), int)
    Y[[1, 4]] = [[5, 3], [-3, 4]]
    call = words(name, Problem("integers", A, Y * 1.0, sparsity=2, delta=1e-3))
    whole = ALGORITHMS[name](A, Y, **call)
    np.testing.assert_array_equal(whole.support, [1, 4])
    np.testing.assert_allclose(whole.coef, Y, rtol=1e-5)
    turned = ALGORITHMS[name](A, Y * np.array([1, 1j]), **call)
    np.testing.assert_allclose(turned.coef, Y * np.array([1, 1j]), rtol=1e-5)


def test_a_design_serves_any_number_of_targets(name):
    design = as_design(TALL.A)
    first = ALGORITHMS[name](design, TALL.y, **words(name, TALL))
    one = replace(TALL, y=TALL.y[:, 0])
    one = replace(one, delta=0.12 * one.size)
    between = ALGORITHMS[name](design, one.y, **words(name, one))
    again = ALGORITHMS[name](design, TALL.y, **words(name, TALL))
    np.testing.assert_array_equal(between.coef, solve(name, one).coef)
    np.testing.assert_array_equal(first.coef, again.coef)
    np.testing.assert_array_equal(first.coef, solve(name, TALL).coef)


def test_data_are_left_alone(name):
    p = shared("complex tall", 7, 3)
    A, Y = p.A.copy(), p.y.copy()
    solve(name, p)
    np.testing.assert_array_equal(A, p.A)
    np.testing.assert_array_equal(Y, p.y)


@pytest.mark.parametrize("name", ["omp", "forward"])
def test_targets_share_passes(name):
    """As many passes over A as for one target that takes the same steps."""
    p = gaussian(0, 24, 48, 6)
    one = solve(name, p)
    many = solve(name, replace(p, y=np.repeat(p.y[:, None], 10, axis=1)))
    assert many.n_passes == one.n_passes


# --- what is refused -----------------------------------------------------------------------------


def refused(name, y, match, A=TALL.A):
    with pytest.raises(InputError, match=match) as caught:
        ALGORITHMS[name](A, y, **words(name, TALL))
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(name, value):
    Y = TALL.y.copy()
    Y[[4, 9], 2] = value
    refused(name, Y, r"^y has 2 .*target 2, row 4")


def test_shapes(name):
    n = len(TALL.y)
    refused(name, TALL.y[:-1], rf"^y must have shape \({n},\) or \({n}, q\).* not \({n - 1}, 3\)")
    refused(name, TALL.y.T, r"^y must have shape .*pass y\.T\.$")
    refused(name, TALL.y[:, :0], r"^y has no columns")
    refused(name, TALL.y[:, :, None], r"^y must have shape")


@pytest.mark.parametrize(
    "weights", [[1.0, 2.0], [1.0, 0.0, 1.0], [1.0, -1.0, 1.0], [1, np.nan, 1], [1, np.inf, 1], 2.0]
)
def test_weights(name, weights):
    refused(name, Targets(TALL.y, weights=weights), r"^weights must be 3 positive numbers")


@pytest.mark.parametrize("weights", ["loud", [[1.0, 1.0, 1.0]], [1j, 1.0, 1.0], [None] * 3])
def test_weights_that_are_no_numbers(weights):
    refused("forward", Targets(TALL.y, weights=weights), r"^weights must be 3 positive numbers")


@pytest.mark.parametrize("name", ALONE)
def test_one_target_at_a_time(name):
    """Of the ℓ1 norm no sum over targets is taken, and Matching Pursuit returns to its columns."""
    assert set(ALONE) == {*L1, "mp"}
    call = dict.fromkeys(ALGORITHMS[name].required, 0.5)
    if name == "mp":
        call = {"residual": 0.5}
    sentence = r"^y must have shape \(150,\), .*; solve for its columns one by one, or use .*\.$"
    with pytest.raises(InputError, match=sentence):
        ALGORITHMS[name](TALL.A, TALL.y, **call)


def test_l1_path_takes_one_target():
    with pytest.raises(InputError, match=r"^y must have shape \(150,\)"):
        sparsewise.l1_path(TALL.A, TALL.y)


def test_units_of_the_problem():
    """Σ_t‖y_t‖² = 1, and q copies have the unit of one."""
    data = problem(TALL.A, TALL.y, multi_target=True)
    assert np.linalg.norm(data.Y) == pytest.approx(1.0)
    np.testing.assert_allclose(np.linalg.norm(data.Y, axis=1), 3**-0.5)
    np.testing.assert_allclose(data.Y.T * data.scales[:, 0], TALL.y)
    assert data.scale == pytest.approx(TALL.size)
    np.testing.assert_allclose(data.noise_scales, np.linalg.norm(TALL.y, axis=0))
    with pytest.raises(InputError):
        problem(TALL.A, TALL.y)
