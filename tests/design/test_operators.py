"""Operators are foreign code: what they owe is asked for, in one sentence that names them."""

import numpy as np
import pytest

import sparsewise
from sparsewise import ALGORITHMS, InputError
from sparsewise.design import Centred, OperatorDesign, Weighted
from tests.problems import BY_COLUMNS, FAMILIES, words

GOOD = FAMILIES["tall"](0)


class Operator:
    """A matrix by its products, which go wrong after a while."""

    def __init__(self, A, wrong=None, after=0, only=None):
        self.A, self.wrong, self.after, self.only = A, wrong, after, only
        self.shape, self.dtype = A.shape, A.dtype
        self.calls = 0

    def _spoilt(self, values, name):
        self.calls += 1
        if self.wrong is None or self.calls <= self.after or self.only not in (None, name):
            return values
        return self.wrong(values)

    def matvec(self, x):
        return self._spoilt(self.A @ x, "matvec")

    def rmatvec(self, v):
        return self._spoilt(self.A.conj().T @ v, "rmatvec")


def one_nan(values):
    values = values.copy()
    values[0] = np.nan
    return values


def raises(values):
    raise ZeroDivisionError("of its own\nin two lines")


WRONG = {
    "NaN": one_nan,
    "infinity": lambda values: values + np.inf,
    "too few": lambda values: values[:-1],
    "a number": lambda values: 1.0,
    "nothing": lambda values: None,
    "complex": lambda values: values * 1j,
    "words": lambda values: np.array(["a"] * values.size),
    "raises": raises,
}


@pytest.mark.parametrize("name", BY_COLUMNS)
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("after", [0, 1, GOOD.A.shape[1] + 1, GOOD.A.shape[1] + 2])
def test_what_an_operator_owes(name, wrong, after):
    """At once, while it is measured, and in the middle of the work."""
    operator = Operator(GOOD.A, WRONG[wrong], after)
    call = words(name, GOOD)
    with np.errstate(invalid="ignore"):
        try:
            solution = ALGORITHMS[name](operator, GOOD.y, **call)
        except InputError as error:
            message = str(error)
            assert message.startswith("A is an operator whose ")
            assert "matvec" in message
            assert "\n" not in message
            assert message.endswith(".")
        else:
            assert operator.calls <= after  # it was done before
            assert np.isfinite(solution.coef).all()


@pytest.mark.parametrize("name", ["mp", "ompr", "srr", "gomp", "oblivious"])
@pytest.mark.parametrize("wrap", ["plain", "known norms", "weighted", "centred"])
def test_products_that_are_no_numbers(name, wrap):
    operator = Operator(GOOD.A, one_nan, 10**6, only="rmatvec")
    norms = np.linalg.norm(GOOD.A, axis=0) if wrap == "known norms" else None
    design, y = OperatorDesign(operator, norms=norms), GOOD.y
    if wrap == "weighted":
        design = Weighted(design, np.ones(len(y)))
    elif wrap == "centred":
        design, y = Centred(design), y[1:]
    design.norms()
    operator.after = operator.calls
    with pytest.raises(InputError, match="operator whose rmatvec returned NaN"):
        ALGORITHMS[name](design, y, **words(name, GOOD))


@pytest.mark.parametrize("lie", [0.0, -1.0, 2.0, 1.1])
def test_an_adjoint_that_is_none(lie):
    operator = Operator(GOOD.A, lambda values: lie * values, only="rmatvec")
    with pytest.raises(InputError, match="not the adjoint of its matvec"):
        sparsewise.omp(operator, GOOD.y, sparsity=3)


@pytest.mark.parametrize("factor", [1e-310, 1e-305, 1e-200, 1e200, 1e300])
def test_a_true_adjoint_of_any_size(factor):
    """Denormal columns have few digits, and are no lie."""
    A = GOOD.A.copy()
    A[:, ::2] *= factor
    truth = sparsewise.forward(A, GOOD.y, sparsity=2).support
    assert sparsewise.forward(Operator(A), GOOD.y, sparsity=2).support.tolist() == truth.tolist()


def test_an_adjoint_in_single_precision():
    """Some operators work in lower precision inside."""
    operator = Operator(GOOD.A, lambda values: values.astype(np.float32).astype(float))
    solution = sparsewise.forward(operator, GOOD.y, sparsity=2)
    truth = sparsewise.forward(GOOD.A, GOOD.y, sparsity=2)
    assert solution.support.tolist() == truth.support.tolist()


def test_an_operator_may_do_as_it_likes_with_its_vector():
    class Careless(Operator):
        def rmatvec(self, v):
            out = super().rmatvec(v)
            v[:] = np.nan
            return out

        def matvec(self, x):
            out = super().matvec(x)
            x[:] = np.nan
            return out

    for name in ("mp", "omp", "srr", "rmp"):
        mine = ALGORITHMS[name](Careless(GOOD.A), GOOD.y, **words(name, GOOD))
        plain = ALGORITHMS[name](Operator(GOOD.A), GOOD.y, **words(name, GOOD))
        np.testing.assert_array_equal(mine.coef, plain.coef)


@pytest.mark.parametrize("given", [np.float32, np.longdouble, np.float16])
def test_products_are_of_the_type_worked_in(given):
    A = GOOD.A.astype(given)
    design = OperatorDesign(Operator(A))
    assert design.matvec(np.ones(A.shape[1], design.dtype)).dtype == design.dtype
    assert design.rmatvec(np.ones(A.shape[0], design.dtype)).dtype == design.dtype
    assert sparsewise.sbl(Operator(A), GOOD.y, sigma=1.0).coef.dtype == design.dtype


@pytest.mark.parametrize("shape", [(40, 15), (300, 300)])
def test_every_column_is_made_once(shape):
    """A column of zeros is no reason to measure all of them again."""
    A = np.random.default_rng(0).standard_normal(shape)
    A[:, 3] = 0.0
    operator = Operator(A)
    design = OperatorDesign(operator)
    before = operator.calls
    np.testing.assert_allclose(design.norms(), np.linalg.norm(A, axis=0))
    assert operator.calls - before == shape[1]


@pytest.mark.parametrize("shape", [None, (3.5, 2), ("a", 2), (-1, 2)])
def test_a_shape_that_is_none(shape):
    operator = Operator(np.ones((3, 2)))
    operator.shape = shape
    with pytest.raises(InputError, match="is an operator of shape"):
        sparsewise.omp(operator, np.ones(3), sparsity=1)


# --- norms that are known, or not needed ----------------------------------------------------------

NORMS = np.linalg.norm(GOOD.A, axis=0)


def test_known_norms_save_all_those_products():
    A, y = wide(float)
    A /= np.linalg.norm(A, axis=0)
    operator = Operator(A)
    design = OperatorDesign(operator, norms=1.0)
    truth = sparsewise.forward(A, y, sparsity=3)
    assert operator.calls == 4  # the adjoint, and three columns
    found = sparsewise.forward(design, y, sparsity=3)
    assert found.support.tolist() == truth.support.tolist()
    assert operator.calls < 30
    each = sparsewise.forward(OperatorDesign(Operator(GOOD.A), norms=NORMS), GOOD.y, sparsity=3)
    assert each.support.tolist() == sparsewise.forward(GOOD.A, GOOD.y, sparsity=3).support.tolist()


@pytest.mark.parametrize(
    ("norms", "words"),
    [
        (np.ones(3), "one number for all columns or 8, one for each, not of shape (3,)"),
        (np.ones((8, 1)), "not of shape (8, 1)"),
        (np.nan, "must be finite and at least 0, but that of column 0 is nan"),
        (np.inf, "must be finite"),
        (-1.0, "at least 0, but that of column 0 is -1"),
        (np.r_[np.ones(7), -2.0], "that of column 7 is -2"),
        ("one", "must be real numbers"),
        (1j, "must be real numbers"),
        ([None] * 8, "must be real numbers"),
        (1.5, "claims that column 0 has the norm 1.5, but it has 1;"),
        (0.0, "has the norm 0, but it has at least"),
        (np.r_[np.ones(7), 3.0], "claims that column 7 has the norm 3, but it has 1;"),
    ],
)
def test_norms_that_are_none(norms, words):
    A = np.random.default_rng(0).standard_normal((20, 8))
    with pytest.raises(InputError) as caught:
        OperatorDesign(Operator(A / np.linalg.norm(A, axis=0)), norms=norms)
    message = str(caught.value)
    assert message.startswith("norms ")
    assert words in message
    assert "\n" not in message


def test_a_wrong_claim_is_found_when_its_column_is_made():
    A = np.random.default_rng(0).standard_normal((20, 8))
    A /= np.linalg.norm(A, axis=0)
    A[:, 2] *= 3
    claimed = np.ones(8)
    claimed[2] = 4.0  # more than it is: no product with the adjoint contradicts it
    design = OperatorDesign(Operator(A), norms=claimed)
    with pytest.raises(InputError, match="column 2 has the norm 4, but it has 3;"):
        sparsewise.forward(design, A[:, 2], sparsity=1)


def test_a_column_of_zeros_may_be_claimed():
    A = GOOD.A / NORMS
    A[:, 1] = 0
    claimed = np.ones(A.shape[1])
    claimed[1] = 0
    design = OperatorDesign(Operator(A), norms=claimed)
    assert 1 not in sparsewise.forward(design, GOOD.y, sparsity=A.shape[1] - 1).support


def wide(kind, spread=0.0, zero=False):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((30, 2500)).astype(kind)  # too large to be looked at as a whole
    if A.dtype.kind == "c":
        A += 1j * rng.standard_normal(A.shape)
    A *= (10 ** (spread * rng.uniform(-1, 1, 2500))).astype(A.real.dtype)
    A[:, 5] *= not zero
    chosen = A[:, [7, 70, 170]]
    y = chosen @ (np.array([1.0, -2.0, 3.0]) / np.linalg.norm(chosen, axis=0))
    return A, (y + 0.01 * rng.standard_normal(30)).astype(A.dtype)


WITHOUT_NORMS = {
    "ista": lambda top, size: {"penalty": 0.3 * top},
    "fista": lambda top, size: {"penalty": 0.3 * top},
    "bpdn": lambda top, size: {"residual": 0.5 * size},
    "bp": lambda top, size: {},
}


@pytest.mark.parametrize("name", WITHOUT_NORMS)
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize(("spread", "zero"), [(0.0, False), (2.0, True)])
def test_what_depends_on_no_norm_measures_none(name, kind, spread, zero):
    A, y = wide(kind, spread, zero)
    call = WITHOUT_NORMS[name](np.abs(A.conj().T @ y).max(), np.linalg.norm(y))
    operator = Operator(A)
    found = ALGORITHMS[name](operator, y, **call)
    if name != "bp" or kind != np.float32:  # it needs double precision, where A is in memory
        assert found.n_products == operator.calls
    told = OperatorDesign(operator, norms=np.linalg.norm(A, axis=0))
    assert found.n_products < 2 * ALGORITHMS[name](told, y, **call).n_products + 50
    assert found.coef.dtype == A.dtype
    assert found.coef[5] == 0 or not zero
    assert found.check(A, y).ok
    assert found.check(operator, y).ok
    truth = ALGORITHMS[name](A, y, **call)
    assert found.objective == pytest.approx(truth.objective, rel=1e-2)


@pytest.mark.parametrize("name", BY_COLUMNS)
@pytest.mark.parametrize("told", [False, True])
def test_every_product_is_counted(name, told):
    """Those that make single columns, too: for a guess of the next steps, say."""
    A = GOOD.A / np.linalg.norm(GOOD.A, axis=0)
    operator = Operator(A)
    design = OperatorDesign(operator, norms=1.0) if told else operator
    operator.calls = 0
    found = ALGORITHMS[name](design, GOOD.y, **words(name, GOOD))
    assert found.n_products == operator.calls > 0
    assert f"{found.n_products} products" in repr(found)
    assert ALGORITHMS[name](A, GOOD.y, **words(name, GOOD)).n_products == 0


def test_products_are_not_passes():
    """Forward steps look ahead: one pass serves several, for which it makes columns."""
    A, y = wide(float)
    A /= np.linalg.norm(A, axis=0)
    operator = Operator(A)
    design = OperatorDesign(operator, norms=1.0)
    operator.calls = 0
    found = sparsewise.forward(design, y, sparsity=3)
    assert found.n_products == operator.calls
    assert found.n_passes < 4 < found.n_products
    operator.calls = 0
    found = sparsewise.forward(design, y * (1 + 1j), sparsity=3)  # two products of real parts
    assert found.n_products == operator.calls


def test_the_answer_is_the_same_whether_norms_were_measured_before():
    A, y = wide(float, 1.0)
    design = OperatorDesign(Operator(A))
    before = sparsewise.bpdn(design, y, residual=0.5 * np.linalg.norm(y))
    design.norms()
    after = sparsewise.bpdn(design, y, residual=0.5 * np.linalg.norm(y))
    np.testing.assert_array_equal(before.coef, after.coef)
    assert after.n_products < before.n_products  # what was learnt of the norms is kept
    assert after.n_passes < before.n_passes
    assert design.in_rough_units().in_rough_units() is design.in_rough_units()


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_rough_norms_of_any_size(factor):
    A, _ = wide(float, 2.0, zero=True)
    exact = np.linalg.norm(A, axis=0)
    design = OperatorDesign(Operator(A * factor)).in_rough_units()
    rough = design.norms() / factor
    assert design.measured.rough
    assert (rough[exact == 0] == 0).all()
    ratios = rough[exact > 0] / exact[exact > 0]
    assert 0.1 < ratios.min() <= ratios.max() < 10


@pytest.mark.parametrize("wrap", [lambda d: Weighted(d, np.arange(1.0, 31)), Centred])
def test_wrappers_do_without_norms_too(wrap):
    A, y = wide(float)
    inner = Operator(A)
    design, dense = wrap(OperatorDesign(inner)), wrap(sparsewise.as_design(A))
    y = y[: design.shape[0]]
    penalty = 0.3 * np.abs(dense.rmatvec(y)).max()
    found = sparsewise.fista(design, y, penalty=penalty)
    assert found.n_products == inner.calls - 1 < 2500  # one was to try it
    np.testing.assert_allclose(
        found.coef, sparsewise.fista(dense, y, penalty=penalty).coef, atol=1e-4
    )


def cosines(n, m):
    """Rows 1 to n of the discrete cosine transform: equal entries have the product zero."""
    return np.cos(np.pi * np.outer(np.arange(1, n + 1), np.arange(m) + 0.5) / m)


ANNIHILATE = {
    "partial DCT": cosines(30, 64),
    "partial DFT": np.exp(-2j * np.pi * np.outer(np.arange(1, 40), np.arange(64)) / 64),
    "first derivative": np.eye(50, 51) - np.eye(50, 51, 1),
    "one row": np.where(np.arange(40) % 2, 1.0, -1.0)[None],
}


@pytest.mark.parametrize("name", ANNIHILATE)
def test_an_operator_may_map_constants_to_zero(name):
    """Both sides of ⟨A x, v⟩ = ⟨x, A* v⟩ are rounding errors there: no reason to refuse it."""
    A = ANNIHILATE[name]
    y = A[:, :3].sum(axis=1)
    np.testing.assert_allclose(A @ np.ones(A.shape[1]), 0, atol=1e-12)
    held = sparsewise.bpdn(Operator(A), y, residual=0.1)
    assert held.check(A, y).ok
    penalty = 0.1 * np.abs(A.conj().T @ y).max()
    assert sparsewise.fista(Operator(A), y, penalty=penalty).check(A, y).ok
    for lie in (0.0, -1.0, 2.0, 1e3, 1e-3):
        wrong = Operator(A, lambda values, lie=lie: lie * values, only="rmatvec")
        with pytest.raises(InputError, match="not the adjoint of its matvec"):
            sparsewise.bpdn(wrong, y, residual=0.1)
