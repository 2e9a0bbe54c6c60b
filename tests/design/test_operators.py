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
        self.applied = 0

    def _spoilt(self, values, name):
        self.applied += 1
        if self.wrong is None or self.applied <= self.after or self.only not in (None, name):
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
            assert operator.applied <= after  # it was done before
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
    operator.after = operator.applied
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
    before = operator.applied
    np.testing.assert_allclose(design.norms(), np.linalg.norm(A, axis=0))
    assert operator.applied - before == shape[1]


@pytest.mark.parametrize("shape", [None, (3.5, 2), ("a", 2), (-1, 2)])
def test_a_shape_that_is_none(shape):
    operator = Operator(np.ones((3, 2)))
    operator.shape = shape
    with pytest.raises(InputError, match="is an operator of shape"):
        sparsewise.omp(operator, np.ones(3), sparsity=1)
