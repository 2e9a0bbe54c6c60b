"""ISTA and FISTA against scikit-learn, the conic reference, and a naive loop."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.linear_model import Lasso as Sklearn

from sparsewise import OperatorDesign, l1_path, plan
from sparsewise.algorithms.fista import fista
from sparsewise.algorithms.ista import ista
from sparsewise.engine.l1.conic import solve_conic
from sparsewise.engine.l1.proximal import Lasso, soft
from sparsewise.engine.l1.weights import check_weights
from sparsewise.engine.l1.working_set import WorkingSet
from sparsewise.problem.problem import problem
from sparsewise.results import Stop
from tests.problems import normal
from tests.storages import pylops_operator

BOTH = pytest.mark.parametrize("method", [ista, fista])


def objective(A, y, x, penalty, weights=1.0) -> float:
    r = y - A @ x
    return np.vdot(r, r).real / 2 + penalty * np.sum(weights * np.abs(x))


def sample(seed, n, m, kind=float, shared=0.0):
    rng = np.random.default_rng([seed, n, m])
    A = normal(rng, n, m, kind=kind) + shared * normal(rng, n, 1, kind=kind)
    y = A[:, :4] @ normal(rng, 4, kind=kind) + 0.2 * normal(rng, n, kind=kind)
    return A, y, float(np.abs(A.conj().T @ y).max())


@BOTH
@pytest.mark.parametrize("part", [0.6, 0.2, 0.05])
@pytest.mark.parametrize(
    ("n", "m", "shared"), [(50, 20, 0), (40, 30, 1), (30, 90, 0), (30, 300, 0.5)]
)
def test_the_objective_is_that_of_scikit_learn(method, part, n, m, shared):
    A, y, highest = sample(0, n, m, shared=shared)
    penalty = part * highest
    found = method(A, y, penalty=penalty, tol=1e-7, max_iter=100_000)
    other = Sklearn(alpha=penalty / n, fit_intercept=False, tol=1e-13, max_iter=10**6).fit(A, y)
    expected = objective(A, y, other.coef_, penalty)
    assert found.stop is Stop.CONVERGED
    assert objective(A, y, found.coef, penalty) == pytest.approx(expected, rel=1e-6)
    assert objective(A, y, found.coef, penalty) >= expected * (1 - 1e-10)
    assert found.check(A, y).ok
    assert found.penalty == pytest.approx(penalty)


@BOTH
@pytest.mark.parametrize("kind", [float, complex])
def test_weights_free_and_barred_columns(method, kind):
    """At the penalty of the conic reference, the minimiser is the same."""
    pytest.importorskip("clarabel", reason="Clarabel is not installed")
    A, y, _ = sample(1, 25, 50, kind)
    w = np.random.default_rng(2).uniform(0.3, 3, 50)
    include, exclude = [7, 8], [0]
    data = problem(A, y, include=include, exclude=exclude)
    costs = check_weights(data, w)
    reference = solve_conic(data, costs, 0.4)
    penalty = reference.penalty * data.scale / costs.top
    found = method(
        A, y, penalty=penalty, weights=w, include=include, exclude=exclude, tol=1e-12,
        max_iter=100_000,
    )  # fmt: skip
    assert sorted(reference.columns) == list(found.support)
    expected = data.units.coef(reference.columns, reference.x)
    np.testing.assert_allclose(found.coef, expected, atol=1e-5 * np.abs(expected).max())
    assert found.check(A, y).ok
    r = y - A @ found.coef
    assert np.abs(A[:, include].conj().T @ r).max() < 1e-10 * np.linalg.norm(y) * 10


@BOTH
def test_complex_optimality(method):
    A, y, highest = sample(3, 20, 60, complex)
    penalty = 0.2 * highest
    found = method(A, y, penalty=penalty, tol=1e-12, max_iter=100_000)
    corr = A.conj().T @ (y - A @ found.coef)
    phases = found.coef[found.support] / np.abs(found.coef[found.support])
    np.testing.assert_allclose(corr[found.support], penalty * phases, rtol=1e-4)
    assert np.abs(corr).max() <= penalty * (1 + 1e-4)
    assert found.check(A, y).ok


@BOTH
@pytest.mark.parametrize("kind", [np.float32, np.complex64])
def test_single_precision_stays(method, kind):
    A, y, highest = sample(4, 30, 60, complex if kind is np.complex64 else float)
    A, y = A.astype(kind), y.astype(kind)
    found = method(A, y, penalty=0.3 * highest, max_iter=20_000)
    assert found.coef.dtype == kind
    assert found.stop is Stop.CONVERGED
    assert found.accuracy < 1e-2
    assert found.check(A, y).ok


@BOTH
@pytest.mark.parametrize(
    "store", [sparse.csc_array, sparse.csr_array, aslinearoperator, pylops_operator]
)
def test_other_designs(method, store):
    A, y, highest = sample(5, 30, 60)
    dense = method(A, y, penalty=0.3 * highest, tol=1e-9)
    other = method(store(A), y, penalty=0.3 * highest, tol=1e-9)
    np.testing.assert_allclose(other.coef, dense.coef, atol=1e-8)
    assert other.check(store(A), y).ok


def test_an_operator_is_never_made_dense():
    A, y, highest = sample(6, 30, 3000)
    A /= np.linalg.norm(A, axis=0)
    highest = float(np.abs(A.T @ y).max())
    seen = []

    class Watched:
        shape, dtype = A.shape, A.dtype

        def matvec(self, x):
            seen.append(int(np.count_nonzero(x)))
            return A @ x

        def rmatvec(self, v):
            seen.append(-1)
            return A.T @ v

    design = OperatorDesign(Watched(), norms=1.0)
    seen.clear()
    found = fista(design, y, penalty=0.3 * highest)
    assert found.n_products == len(seen)
    np.testing.assert_allclose(found.coef, fista(A, y, penalty=0.3 * highest).coef, atol=1e-5)
    assert len(seen) < 3000  # a dense copy alone would take as many products


@pytest.mark.parametrize("seed", range(4))
def test_momentum_pays(seed):
    A, y, highest = sample(seed, 40, 80, shared=1.0)
    slow = ista(A, y, penalty=0.1 * highest, max_iter=100_000)
    quick = fista(A, y, penalty=0.1 * highest)
    assert quick.n_passes < slow.n_passes / 3


@pytest.mark.parametrize("kind", [float, complex])
def test_ista_is_the_naive_loop_and_never_rises(kind):
    A, y, highest = sample(8, 20, 40, kind)
    unit, target = A / np.linalg.norm(A, axis=0), y / np.linalg.norm(y)
    data = problem(A, y)
    lasso = Lasso(data, check_weights(data, None), 0.1 * highest, 1e-9)
    cost = lasso.penalty * lasso.weights.unit
    x = np.zeros(40, kind)
    lasso.L = 1.01 * np.linalg.norm(unit, 2) ** 2
    before = np.inf
    for _ in range(50):
        lasso.converged()
        lasso.step()
        v = x + unit.conj().T @ (target - unit @ x) / lasso.L
        x = np.where(np.abs(v) > 0, v / np.abs(v), 0) * np.maximum(np.abs(v) - cost / lasso.L, 0)
        np.testing.assert_allclose(lasso.now.x, x, atol=1e-12)
        value = np.linalg.norm(target - unit @ x) ** 2 / 2 + cost @ np.abs(x)
        assert lasso.objective() == pytest.approx(value)
        assert value <= before * (1 + 1e-14)
        before = value


def test_the_objective_never_rises_with_the_step_found():
    A, y, highest = sample(9, 30, 60, shared=2.0)
    penalty = 0.05 * highest
    values = [
        objective(A, y, ista(A, y, penalty=penalty, max_iter=k).coef, penalty) for k in range(1, 25)
    ]
    assert np.all(np.diff(values) <= 1e-12 * values[0])


@BOTH
def test_from_the_highest_penalty_on_x_is_zero(method):
    A, y, highest = sample(10, 20, 40)
    found = method(A, y, penalty=highest * (1 + 1e-12))
    assert found.support.size == 0
    assert found.stop is Stop.CONVERGED
    assert found.n_passes <= 4  # norms, one product, and the check of the result
    assert found.check(A, y).ok
    assert method(A, y, penalty=0.99 * highest).support.size


@BOTH
def test_the_limit_on_iterations_is_told(method):
    A, y, highest = sample(11, 30, 60, shared=1.0)
    found = method(aslinearoperator(A), y, penalty=0.01 * highest, tol=1e-10, max_iter=5)
    assert found.stop is Stop.MAX_ITER
    assert found.accuracy > 1e-10
    assert found.check(A, y).ok


@pytest.mark.parametrize("kind", [float, np.float32])
@pytest.mark.parametrize("part", [0.5, 0.1, 0.02])
def test_small_problems_go_by_the_path(kind, part, monkeypatch):
    """With the same answer as without it, and the same proof."""
    A, y, highest = sample(20, 30, 60)
    A, y, w = A.astype(kind), y.astype(kind), np.linspace(0.5, 2, 60)
    words = {"penalty": part * highest, "weights": w, "exclude": [4]}
    by_path = fista(A, y, **words)
    monkeypatch.setattr(plan, "LASSO_BY_PATH", 0)
    by_steps = fista(A, y, **words)
    monkeypatch.setattr(Lasso, "finish", lambda self: False)
    for found in (by_path, by_steps, fista(A, y, **words)):
        assert found.stop is Stop.CONVERGED
        assert found.check(A, y).ok
        assert len(found.path) == 0
        np.testing.assert_allclose(found.coef, by_path.coef, atol=2e-2 * np.abs(y).max() * part)
    assert by_path.objective == pytest.approx(by_steps.objective, rel=1e-4)


@BOTH
def test_debiasing_refits(method):
    A, y, highest = sample(12, 40, 30)
    found = method(A, y, penalty=0.3 * highest, debias=True)
    fitted = np.linalg.lstsq(A[:, found.support], y, rcond=None)[0]
    np.testing.assert_allclose(found.coef[found.support], fitted)
    assert found.debiased
    assert found.least_squares
    assert found.check(A, y).ok


@BOTH
def test_scales(method):
    A, y, highest = sample(13, 20, 40)
    plain = method(A, y, penalty=0.2 * highest, tol=1e-9)
    scaled = method(1e3 * A, 1e-5 * y, penalty=0.2 * highest * 1e-2, tol=1e-9)
    np.testing.assert_allclose(1e8 * scaled.coef, plain.coef, atol=1e-10)
    assert scaled.n_passes == plain.n_passes


@BOTH
def test_a_target_of_zeros(method):
    found = method(np.eye(3), np.zeros(3), penalty=1.0)
    assert found.stop is Stop.ZERO_TARGET
    assert not found.coef.any()


@BOTH
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"penalty": 0.0}, "penalty must be a finite number greater than 0"),
        ({"penalty": -1.0}, "penalty must be"),
        ({"penalty": 1.0, "tol": 0.0}, "tol must be"),
        ({"penalty": 1.0, "max_iter": 0}, "max_iter must be at least 1"),
        ({"penalty": 1.0, "weights": [1.0]}, "weights must have shape"),
        ({"penalty": 1.0, "weights": [1.0, -1.0, 1.0]}, "at least 0"),
        ({"penalty": 1.0, "include": [1], "exclude": [1]}, "both include and exclude"),
        ({"penalty": 1.0, "include": [5]}, "include names column 5"),
    ],
)
def test_bad_input(method, words, message):
    with pytest.raises(ValueError, match=message):
        method(np.eye(3), np.ones(3), **words)


def test_soft_threshold():
    np.testing.assert_allclose(
        soft(np.array([3.0, -0.5, -2.0]), np.array([1.0, 1, np.inf])), [2, 0, 0]
    )
    z = np.array([3 + 4j, 0j, 0.1j])
    np.testing.assert_allclose(soft(z, np.ones(3)), [(3 + 4j) * 0.8, 0, 0])


@BOTH
@pytest.mark.parametrize(("n", "m", "shared"), [(50, 20, 0), (40, 30, 1), (30, 90, 0)])
def test_the_path_has_the_same_minimiser(method, n, m, shared):
    A, y, highest = sample(14, n, m, shared=shared)
    w = np.random.default_rng(14).uniform(0.5, 2, m)
    path = l1_path(A, y, weights=w)
    for part in (0.5, 0.1):
        penalty = part * highest
        exact = path.at_penalty(penalty)
        found = method(A, y, penalty=penalty, weights=w, tol=1e-11, max_iter=100_000)
        np.testing.assert_allclose(found.coef, exact.coef, atol=1e-4 * np.abs(exact.coef).max())
        best = objective(A, y, exact.coef, penalty, w)
        assert objective(A, y, found.coef, penalty, w) == pytest.approx(best, rel=1e-10)


# --- operators that lie, and scales --------------------------------------------------------------


class Odd:
    """An operator whose products can be tampered with."""

    def __init__(self, A, B=None, after=10**9, value=np.nan, adjoint=False):
        self.A, self.B, self.shape, self.dtype = A, A if B is None else B, A.shape, A.dtype
        self.left, self.value, self.adjoint = after, value, adjoint

    def _count(self, product):
        self.left -= 1
        return product if self.left >= 0 else np.full_like(product, self.value)

    def matvec(self, x):
        return self.A @ x if self.adjoint else self._count(self.A @ x)

    def rmatvec(self, v):
        product = self.B.conj().T @ v
        return self._count(product) if self.adjoint else product


@BOTH
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("after", [0, 1, 2, 5, 9])
def test_products_that_are_no_numbers_are_the_operators_fault(method, adjoint, value, after):
    A, y, highest = sample(15, 20, 40)
    measured = 0 if adjoint else 40  # its columns are made once to measure them
    odd = Odd(A, after=measured + 1 + after, value=value, adjoint=adjoint)
    with pytest.raises(ValueError, match=r"operator whose .* NaN or infini"):
        method(odd, y, penalty=0.01 * highest, max_iter=30)


@BOTH
@pytest.mark.parametrize("kind", [float, complex])
def test_an_adjoint_that_lies_is_told(method, kind):
    A, y, highest = sample(16, 20, 40, kind)
    rng = np.random.default_rng(0)
    others = [-A, 0 * A, 1e3 * A, 1e-3 * A, 1.01 * A, normal(rng, 20, 40, kind=kind)]
    if kind is complex:
        others.append(A.conj())
    for B in others:
        with pytest.raises(ValueError, match="rmatvec is not the adjoint of its matvec"):
            method(Odd(A, B), y, penalty=0.1 * highest)
    honest, plain = (method(B, y, penalty=0.1 * highest) for B in (Odd(A), A))
    np.testing.assert_allclose(honest.coef, plain.coef, atol=1e-5)  # each is within `tol`


@BOTH
@pytest.mark.parametrize("columns", [2.0**600, 2.0**-600, 1.0])
@pytest.mark.parametrize("target", [2.0**400, 2.0**-400, 1.0, 0.0])
def test_powers_of_two_do_not_matter(method, columns, target):
    A, y, highest = sample(17, 20, 40)
    plain = method(A, (target != 0) * y, penalty=0.2 * highest)
    penalty = 0.2 * highest * columns * (target or 1.0)
    scaled = method(columns * A, target * y, penalty=penalty)
    assert scaled.penalty == penalty
    assert scaled.stop is plain.stop
    same = scaled.coef * (columns / (target or 1.0))
    np.testing.assert_allclose(same, plain.coef, rtol=1e-9, atol=1e-12)
    assert scaled.check(columns * A, target * y).ok


@BOTH
def test_penalties_beyond_the_range_of_numbers(method):
    A, y, _ = sample(18, 20, 40)
    with pytest.raises(ValueError, match="penalty is too small beside A and y"):
        method(1e200 * A, 1e200 * y, penalty=1.0)
    found = method(1e-200 * A, 1e-200 * y, penalty=1e300)
    assert not found.coef.any()
    assert found.penalty == 1e300
    assert found.check(1e-200 * A, 1e-200 * y).ok
    coarse = method(A.astype(np.float32), y.astype(np.float32), penalty=1e60)
    assert not coarse.coef.any()


def test_weights_far_apart():
    """A column that costs next to nothing is not free, and one far beyond numbers is refused."""
    A, y, _ = sample(19, 20, 4)
    A = A[:, :3]
    data = problem(A * [1e150, 1.0, 1e-150], y)
    assert check_weights(data, None).penalised.all()
    coarse = problem((A * [1e25, 1.0, 1e-25]).astype(np.float32), y)
    weights = check_weights(coarse, None)
    assert (weights.unit.astype(np.float32) > 0).all()
    np.testing.assert_allclose(weights.unit * weights.top * coarse.design.norms(), weights.values)
    for factors, w in [
        ([1e-200, 1.0, 1.0], [1e200, 1.0, 1.0]),
        ([1e200, 1.0, 1.0], [1e-200, 1.0, 1.0]),
        ([1e200, 1.0, 1e-200], None),
    ]:
        with pytest.raises(ValueError, match="weights are beyond the floating-point range"):
            check_weights(problem(A * factors, y), w)
    subnormal = problem(A * [1.0, 1.0, 1e-310], y)
    assert check_weights(subnormal, None).excluded.tolist() == [False, False, True]
    for wrong in (["a", "b", "c"], [1j, 1, 1], [{}, 1, 1], np.ma.masked_all(3)):
        with pytest.raises(ValueError, match="weights"):
            check_weights(data, wrong)


@pytest.mark.parametrize("kind", [float, complex, np.float32])
def test_a_finish_needs_few_passes(kind):
    """To the digits that Newton's method gives, from a few iterations."""
    A, y, highest = sample(9, 60, 400, complex if kind is complex else float, shared=1.0)
    A, y = A.astype(kind), y.astype(kind)
    words = {"penalty": 0.05 * highest, "include": [3], "exclude": [7]}
    found, slow = fista(A, y, **words), fista(aslinearoperator(A), y, **words)
    assert found.stop is slow.stop is Stop.CONVERGED
    assert 2 * found.n_passes < slow.n_passes
    assert found.coef.dtype == A.dtype
    assert found.check(A, y).ok
    costs = np.where(np.arange(400) == 3, 0.0, 1.0)
    ours, theirs = (objective(A, y, one.coef, 0.05 * highest, costs) for one in (found, slow))
    assert ours == pytest.approx(theirs, rel=1e-5)


def test_a_finish_that_fails_changes_nothing(monkeypatch):
    A, y, highest = sample(10, 40, 90)
    with monkeypatch.context() as steps_alone:
        steps_alone.setattr(Lasso, "finish", lambda _: False)
        plain = fista(A, y, penalty=0.1 * highest)
    monkeypatch.setattr(WorkingSet, "minimise", lambda *_: False)
    found = fista(A, y, penalty=0.1 * highest)
    np.testing.assert_allclose(found.coef, plain.coef, atol=1e-12)


def test_columns_that_become_too_many_are_left_to_the_steps():
    A, y, highest = sample(11, 12, 400)
    found = fista(A, y, penalty=1e-3 * highest, tol=1e-4, max_iter=100_000)
    assert found.stop is Stop.CONVERGED
    assert found.check(A, y).ok
