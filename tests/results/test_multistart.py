"""What a search returns: its check holds, and fails once anything that it tells is changed."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import aslinearoperator

import sparsewise as sw
from sparsewise.criteria.chance import chance
from tests.problems import FAMILIES, KNOWN, normal

TALL = next(p for p in KNOWN if p.name == "tall")


def noisy(kind=float, dtype=None):
    p = FAMILIES["complex tall" if kind is complex else "tall"](0)
    return p.A if dtype is None else p.A.astype(dtype), p.y


@pytest.fixture(params=["real", "complex", "single", "sigma", "include", "sparse", "operator"])
def told(request):
    A, y = noisy(complex if request.param == "complex" else float)
    words = {}
    if request.param == "sigma":
        words = {"sigma": 0.1 * float(np.linalg.norm(y))}
    elif request.param == "include":
        words = {"include": [0, 7], "exclude": [1]}
    held = {
        "single": lambda: A.astype(np.float32),
        "sparse": lambda: sparse.csr_array(A),
        "operator": lambda: aslinearoperator(A),
    }.get(request.param, lambda: A)()
    return held, y, sw.solve(held, y, **words)


def test_a_right_answer_holds(told):
    A, y, solution = told
    check = solution.check(A, y)
    assert check.ok, check
    assert isinstance(check, sw.MultistartCheck)
    single = solution.coef.dtype == np.float32
    for error in ("sigma_error", "covariance_error", "score_error", "chance_error"):
        assert getattr(check, error) < (1e-4 if single else 1e-9)
    assert check.possible_fall == 0
    assert "holds" in repr(check)
    assert "no addition, deletion or exchange of one column lowers the score" in repr(check)
    assert len(repr(check).splitlines()) <= 6


@pytest.mark.parametrize("field", ["sigma", "score", "chance", "residual_norm"])
@pytest.mark.parametrize("by", [1e-2, -1e-2])
def test_a_changed_figure_does_not(told, field, by):
    A, y, solution = told
    changed = getattr(solution, field) * (1 + by) + by * 1e-3
    check = replace(solution, **{field: changed}).check(A, y)
    assert not check.ok
    assert "DOES NOT HOLD" in repr(check)


@pytest.mark.parametrize("field", ["sigma", "score", "chance"])
def test_nor_one_that_is_no_number(told, field):
    A, y, solution = told
    assert not replace(solution, **{field: np.nan}).check(A, y).ok


def test_a_changed_coefficient_does_not_hold(told):
    A, y, solution = told
    coef = solution.coef.copy()
    coef[solution.support[0]] *= 1.01
    assert not replace(solution, coef=coef).check(A, y).ok


def test_a_changed_covariance_does_not_hold(told):
    A, y, solution = told
    for changed in (1.01 * solution.covariance, solution.covariance[:-1], np.eye(1) * np.nan):
        assert not replace(solution, covariance=changed).check(A, y).ok


def with_support(A, y, solution, support):
    """The same, least squares on other columns, and all figures as these have them."""
    support = np.array(sorted(support), np.int64)
    V = A[:, support]
    x = np.linalg.lstsq(V, y, rcond=None)[0]
    coef = np.zeros(A.shape[1], solution.coef.dtype)
    coef[support] = x
    norm, scale, goal = np.linalg.norm(y - V @ x), np.linalg.norm(y), solution.goal
    rss = (norm / scale) ** 2
    sigma = goal.sample.noise_variance(rss, support.size) ** 0.5 * scale
    return replace(
        solution, support=support, coef=coef, residual_norm=norm, sigma=sigma,
        covariance=sigma**2 * np.linalg.inv(V.conj().T @ V),
        score=goal.cost(rss, support.size), chance=chance(goal.sample, rss, support.size),
    )  # fmt: skip


@pytest.mark.parametrize("kind", [float, complex])
def test_another_model_does_not_hold_whatever_it_tells(kind):
    """All figures right, and still one column more, less or exchanged does better."""
    A, y = noisy(kind)
    solution = sw.solve(A, y)
    S = solution.support.tolist()
    others = [j for j in range(A.shape[1]) if j not in S]
    assert with_support(A, y, solution, S).check(A, y).ok
    for support in (S[1:], [*S, others[0]], [*S[1:], others[0]], []):
        check = with_support(A, y, solution, support).check(A, y)
        assert not check.ok
        assert check.possible_fall > 0.1
        assert max(check.sigma_error, check.score_error, check.chance_error) < 1e-8
        assert check.support_ok


def test_a_score_of_other_data_does_not_hold(told):
    """How many rows and columns there are is for the data to say."""
    A, y, solution = told
    goal, sample = solution.goal, solution.goal.sample
    for wrong in ({"rows": sample.rows + 5}, {"features": 10 * sample.features}):
        other = replace(sample, **wrong)
        changed = replace(goal, sample=other)
        rss = (solution.residual_norm / np.linalg.norm(y)) ** 2
        size = solution.support.size
        told_so = replace(
            solution, goal=changed, score=changed.cost(rss, size), chance=chance(other, rss, size),
            sigma=other.noise_variance(rss, size) ** 0.5 * float(np.linalg.norm(y)),
        )  # fmt: skip
        assert not told_so.check(A, y).ok


def test_other_data_do_not_hold(told):
    A, y, solution = told
    assert not solution.check(A, y[::-1].copy()).ok


def test_what_was_stopped_holds_though_there_is_more_to_find():
    """Not settled, and not said to be."""
    A, y = noisy()
    solution = sw.solve(A, y)
    S = solution.support.tolist()
    part = with_support(A, y, solution, S[1:])
    assert not part.check(A, y).ok
    assert replace(part, stop=sw.Stop.CALLBACK).check(A, y).ok
    assert replace(part, stop=sw.Stop.INTERRUPTED).check(A, y).ok


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("single", [False, True])
def test_every_answer_holds(family, single):
    for seed in range(3):
        p = FAMILIES[family](seed)
        A = p.A
        if single:
            A = A.astype(np.complex64 if np.iscomplexobj(A) else np.float32)
        check = sw.solve(A, p.y, effort=4).check(A, p.y)
        assert check.ok, check


def test_exact_fits_hold():
    rng = np.random.default_rng(0)
    for n, m, k in [(10, 20, 3), (4, 3, 3), (30, 60, 8), (5, 5, 5)]:
        A = normal(rng, n, m)
        y = A[:, :k].sum(axis=1)
        solution = sw.solve(A, y)
        assert solution.check(A, y).ok


def test_facts_are_told():
    solution = sw.solve(TALL.A, TALL.y)
    facts = dict(solution.facts())
    assert facts["starts"] == "2 of 2 starts came to this"
    assert facts["chance"].endswith(f"odds below 10^{solution.chance:.3g}")
    text = repr(solution)
    assert all(sentence in text for sentence in facts.values())
    assert f"σ = {solution.sigma:.4g}" in text
    nothing = sw.solve(TALL.A, TALL.y, sigma=100.0, effort=1)
    assert dict(nothing.facts())["chance"] == "no column was chosen"
    by_chance = replace(solution, chance=-0.5)
    assert "may well fit as closely by chance" in repr(by_chance)


def test_std_is_that_of_the_covariance():
    A, y = noisy(complex)
    solution = sw.solve(A, y)
    assert solution.posterior.sigma == solution.sigma
    np.testing.assert_array_equal(
        solution.std[solution.support] ** 2, np.sqrt(np.diag(solution.covariance).real) ** 2
    )


@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [(float, [1, 1e16]), (float, [1e16, 1]), (float, [1e-99, 1e99]), (np.float32, [1, 1e16])],
)
@pytest.mark.parametrize("kind", [float, complex])
def test_noise_of_a_target_that_others_drown(dtype, sizes, kind):
    """With equal weights the larger target decides, but the noise of each is its own."""
    rng = np.random.default_rng(0)
    A = normal(rng, 40, 10, kind=kind)
    Y = A[:, :2].sum(axis=1)[:, None] + 0.01 * normal(rng, 40, 2, kind=kind)
    A = A.astype(np.result_type(dtype, np.complex64) if kind is complex else dtype)
    targets = sw.Targets(Y * sizes, weights=[1.0, 1.0])
    solution = sw.solve(A, targets)
    assert solution.support.tolist() == [0, 1]
    U = A[:, :2].astype(kind)
    rest = Y - U @ np.linalg.lstsq(U, Y)[0]
    expected = np.linalg.norm(rest, axis=0) / 38**0.5 * sizes
    np.testing.assert_allclose(solution.sigmas, expected, rtol=1e-9 if dtype is float else 1e-4)
    assert solution.check(A, targets).ok
    for off in ([1.1, 1.0], [1.0, 1.1]):
        told = replace(solution, sigmas=solution.sigmas * off)
        assert not told.check(A, targets).ok
