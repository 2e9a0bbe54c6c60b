"""Steps on inner products against those of the engine; as Python, too (`make test`)."""

import numpy as np
import pytest

from sparsewise import ALGORITHMS, encode, plan
from sparsewise.engine.active_set import ActiveSet
from sparsewise.kernels import load_gram_kernels
from sparsewise.results import Stop
from tests.kernels.tracing import idle
from tests.problems import gaussian, normal

CASES = [
    ("omp", {"sparsity": 5}),
    ("omp", {"residual": 0.7}),
    ("forward", {"sparsity": 4}),
    ("gomp", {"sparsity": 5, "batch": 2}),
    ("rmp0", {"delta": 0.5}),
]


@pytest.fixture
def at_every_size(monkeypatch):
    """Steps forward of one model are taken by inner products, however small it is."""
    monkeypatch.setattr(plan, "TALL", 0)
    monkeypatch.setattr(plan, "LONG", 0)


def by_basis(name, A, y, **parameters):
    """The same with a callback that does nothing: step by step."""
    return ALGORITHMS[name](A, y, callback=lambda _: None, **parameters)


def check(name, A, y, **parameters):
    """Both ways lead through the same models, to rounding."""
    found = ALGORITHMS[name](A, y, **parameters)
    expected = by_basis(name, A, y, **parameters)
    assert [step.columns for step in found.path] == [step.columns for step in expected.path]
    assert found.stop == expected.stop
    np.testing.assert_allclose(found.path.losses, expected.path.losses, rtol=1e-9, atol=1e-14)
    norms = np.linalg.norm(A, axis=0)
    for one, other in zip(found.path.models(), expected.path.models(), strict=True):
        np.testing.assert_allclose(one.coef.T * norms, other.coef.T * norms, atol=1e-11)
    np.testing.assert_allclose(found.coef.T * norms, expected.coef.T * norms, atol=1e-11)
    rounding = 1e-14 * np.linalg.norm(y)
    assert found.residual_norm == pytest.approx(expected.residual_norm, rel=1e-9, abs=rounding)
    assert found.check(A, y).ok
    return found


def steps_of_one_model(kind):
    p = gaussian(0, 23, 13, 4, kind=kind)
    rng = np.random.default_rng(1)
    y = p.y + 0.1 * normal(rng, 23, kind=kind)
    for A in (np.ascontiguousarray(p.A), np.asfortranarray(p.A)):
        for name in ("forward", "omp"):
            assert check(name, A, y, sparsity=9).support.size == 9
            check(name, A, np.column_stack([y, normal(rng, 23, kind=kind)]), sparsity=6)
        check("forward", A, y, sparsity=13, exclude=[2])
        check("forward", A, y, sparsity=6, delta=0.3)


@pytest.mark.usefixtures("at_every_size")
@pytest.mark.parametrize("kind", [float, complex])
def test_every_function(kind):
    rng = np.random.default_rng(0)
    A = normal(rng, 24, 40, kind=kind)
    # As many columns as lead a way forward astray: there is something to drop.
    X = normal(rng, 40, 16, kind=kind)
    X[np.argsort(rng.random(X.shape), axis=0) >= 8] = 0
    Y = A @ X + 0.01 * normal(rng, 24, 16, kind=kind)
    Y[:, 6] = A[:, 5] - 2 * A[:, 6]  # fitted exactly
    # Ties: of a signal that is the sum of two orthogonal columns of the same norm.
    Q = np.linalg.qr(normal(rng, 10, 10, kind=kind))[0]

    def run():
        for name, parameters in CASES:
            for B, Z in ((A, Y), (Q, Q[:, [2, 5]] @ np.ones((2, 3)))):
                codes = encode(B, Z, algorithm=name, **parameters)
                for t in range(Z.shape[1]):
                    one = ALGORITHMS[name](B, Z[:, t], **parameters)
                    np.testing.assert_array_equal(codes.support(t), one.support)
                    assert codes.stops[t] is one.stop

        steps_of_one_model(kind)

    assert not idle(load_gram_kernels(), run)


def has_basis(active):
    return active._factor._Q is not None


@pytest.mark.usefixtures("at_every_size")
def test_no_basis_is_made_unless_digits_are_short(monkeypatch):
    made = []
    solution = ActiveSet.solution

    def told(self, *words, **more):
        made.append(has_basis(self))
        return solution(self, *words, **more)

    monkeypatch.setattr(ActiveSet, "solution", told)
    p = gaussian(3, 40, 10, 3)
    check("forward", p.A, p.y, sparsity=3)
    assert made == [False, True]
    # Two columns that are nearly the same, and both have to come in.
    A = p.A.copy()
    A[:, 5] = A[:, 0] + 1e-6 * A[:, 5]
    made.clear()
    y = p.y + normal(np.random.default_rng(4), 40)
    found = ALGORITHMS["forward"](A, y, sparsity=10)
    expected = by_basis("forward", A, y, sparsity=10)
    assert [step.columns for step in found.path] == [step.columns for step in expected.path]
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-8)
    assert made == [True, True]


@pytest.mark.usefixtures("at_every_size")
def test_ties_go_to_the_lowest_column():
    rng = np.random.default_rng(0)
    A = normal(rng, 40, 6)
    A = np.column_stack([A, A[:, ::-1], -A])
    found = check("forward", A, A[:, :6] @ np.arange(1.0, 7.0), sparsity=6)
    assert found.support.tolist() == list(range(6))
    assert found.stop is Stop.EXACT_FIT


@pytest.mark.usefixtures("at_every_size")
def test_exact_fits_and_bounds_are_judged_by_the_residual():
    p = gaussian(5, 40, 10, 3)
    exact = p.A[:, :3] @ [1.0, -2.0, 3.0]
    assert check("forward", p.A, exact, sparsity=8).stop is Stop.EXACT_FIT
    y = exact + 1e-3 * normal(np.random.default_rng(2), 40)
    for residual in (1e-12, 1e-4, 0.02, 0.5):
        check("forward", p.A, y, sparsity=8, residual=residual)
        check("omp", p.A, y, sparsity=8, residual=residual)


@pytest.mark.usefixtures("at_every_size")
@pytest.mark.parametrize("power", [10, 60])
def test_columns_of_zeros_and_of_any_scale(power):
    p = gaussian(7, 40, 10, 3)
    A = p.A * 10.0 ** (power * np.arange(-5, 5))
    A[:, 4] = 0
    with np.errstate(all="ignore"):  # uncompiled, squares would warn that they are out of range
        found = ALGORITHMS["forward"](A, p.y, sparsity=9)
        expected = by_basis("forward", A, p.y, sparsity=9)
    np.testing.assert_array_equal(found.support, expected.support)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-9)
    check("forward", p.A * 10.0 ** np.arange(-5, 5), p.y, sparsity=9)


@pytest.mark.usefixtures("at_every_size")
def test_what_cannot_be_written_to_is_not_compiled_anew():
    p = gaussian(9, 40, 10, 3)
    kernel = load_gram_kernels().grow_lazily
    ALGORITHMS["forward"](np.ascontiguousarray(p.A), p.y, sparsity=3)
    before = len(getattr(kernel, "signatures", ()))
    A = np.ascontiguousarray(p.A)
    A.flags.writeable = False
    ALGORITHMS["forward"](A, p.y, sparsity=3)
    assert len(getattr(kernel, "signatures", ())) == before
