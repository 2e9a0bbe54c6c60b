"""Operators that break their promises: the answer is right all the same, or they are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from sparsewise.errors import InputError
from tests.hostile.algorithms import judge
from tests.hostile.calls import BY_COLUMNS, Call, words
from tests.hostile.campaign import Case, family, oracle
from tests.hostile.inputs import complex_gaussian, gaussian
from tests.hostile.refusals import justified, one_sentence
from tests.hostile.solutions import well_formed

Array = NDArray[Any]


class Broken(Exception):  # noqa: N818  (of an operator, not of ours)
    """What an operator raises on its own."""


class Operator:
    """A, but for its products from some call on."""

    def __init__(self, A: Array, spoil: Callable[[Array], Any], which: str, after: int) -> None:
        self.shape, self.dtype = A.shape, A.dtype
        self._A, self._spoil, self._which, self._left = A, spoil, which, after
        self.made = 0

    def matvec(self, x: Array) -> Any:
        return self._product("matvec", self._A @ x)

    def rmatvec(self, v: Array) -> Any:
        return self._product("rmatvec", self._A.conj().T @ v)

    def _product(self, which: str, product: Array) -> Any:
        self.made += 1
        if self._which not in (which, "both"):
            return product
        self._left -= 1
        return product if self._left >= 0 else self._spoil(product)


def raise_error(product: Array) -> Any:
    raise Broken("the operator is out of order")


def with_one(value: float) -> Callable[[Array], Array]:
    """The product with one entry replaced."""

    def spoil(product: Array) -> Array:
        product = product.copy()
        product[len(product) // 2] = value
        return product

    return spoil


#: What spoils a product so that no answer is possible.
FATAL: dict[str, Callable[[Array], Any]] = {
    "NaN": with_one(np.nan),
    "infinity": with_one(np.inf),
    "minus infinity": with_one(-np.inf),
    "all NaN": lambda p: np.full_like(p, np.nan),
    "one entry more": lambda p: np.append(p, 0),
    "one entry less": lambda p: p[:-1],
    "a scalar": lambda p: 0.0,
    "nothing": lambda p: None,
    "words": lambda p: ["a"] * len(p),
    "objects": lambda p: np.array([object()] * len(p)),
    "a matrix": lambda p: np.outer(p, np.ones(2)),
    "error": raise_error,
}
#: What leaves it what it is.
HARMLESS: dict[str, Callable[[Array], Any]] = {
    "a list": lambda p: p.tolist(),
    "a column": lambda p: p[:, None],
    "a row": lambda p: p[None, :],
    "np.matrix": lambda p: p[:, None].view(np.matrix),
    "read-only": lambda p: np.frombuffer(p.tobytes(), p.dtype),
    "strided": lambda p: np.repeat(p, 2)[::2],
    "longdouble": lambda p: p.astype(np.result_type(p.dtype, np.longdouble)),
}


@oracle
def names_the_operator(refusal: InputError) -> None:
    """A refusal says that the operator is at fault."""
    assert "operator" in str(refusal) or str(refusal).startswith("A "), str(refusal)


@oracle
def products_counted(made: int, solution: Any) -> None:
    """Every product that was made is told."""
    assert solution.n_products == made, f"{solution.n_products} products told, {made} made"


@oracle
def broken_product_noticed(spoiled: str, solution: Any) -> None:
    """Nothing is told of products that are no numbers."""
    raise AssertionError(f"{spoiled} made {solution.support} with {solution.coef}")


def drawn(case: Case) -> tuple[str, Array, Array]:
    name = case.choose(*BY_COLUMNS)
    n, m = int(case.rng.integers(3, 13)), int(case.rng.integers(2, 13))
    A = (complex_gaussian if case.chance(0.3) else gaussian)(case.rng, n, m)
    y = A[:, : min(2, m)].sum(axis=1) + 0.1 * case.rng.standard_normal(n)
    case.note(algorithm=name, shape=A.shape)
    return name, A, y


@family("operators", share=1)
def operators(case: Case) -> None:
    name, A, y = drawn(case)
    drawn_words = words(case, name, A, y)
    kind = case.choose("fatal", "harmless", "no adjoint", "lie")
    which = case.choose("matvec", "rmatvec", "both")
    case.note(kind=kind, which=which, **drawn_words)
    if kind == "fatal":
        fatal(case, Call(name, A, A, y, drawn_words), which)
    elif kind == "harmless":
        spoil = case.choose(*HARMLESS)
        case.note(product=spoil)
        held = Operator(A, HARMLESS[spoil], which, 0)
        answer_or_refusal(Call(name, A, held, y, drawn_words), held)
    elif kind == "no adjoint":
        call = Call(name, A, LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=A.dtype), y,
                    drawn_words)  # fmt: skip
        refused(call)
    else:
        lie(case, Call(name, A, A, y, drawn_words))


def answer_or_refusal(call: Call, operator: Operator) -> None:
    try:
        solution = call()
    except InputError as refusal:
        one_sentence(refusal)
        justified(call, refusal)
        return
    products_counted(operator.made, solution)
    judge(call, solution)


def fatal(case: Case, call: Call, which: str) -> None:
    """Spoiled from the first product on, or from some later one, which may never come."""
    spoil = case.choose(*FATAL)
    after = int(case.choose(0, 0, 1, 3, 10))
    case.note(product=spoil, after=after)
    call.held = operator = Operator(call.A, FATAL[spoil], which, after)
    try:
        with np.errstate(all="ignore"):
            solution = call()
    except Broken:
        assert spoil == "error"
        return
    except InputError as refusal:
        one_sentence(refusal)
        if operator._left < 0:
            names_the_operator(refusal)
        return
    if operator._left < 0:
        broken_product_noticed(spoil, solution)
    call.held = call.A
    judge(call, solution)


def refused(call: Call) -> None:
    try:
        solution = call()
    except InputError as refusal:
        one_sentence(refusal)
        names_the_operator(refusal)
    else:
        broken_product_noticed("no adjoint", solution)


def lie(case: Case, call: Call) -> None:
    """An adjoint that is another matrix's, in part or as a whole: noticed, or survived."""
    other = case.choose("zero", "negative", "random", "scaled", "one entry", "unconjugated")
    case.note(adjoint=other)
    A = call.A
    B = A.conj().T.copy()
    if other == "zero":
        B[:] = 0
    elif other == "negative":
        B = -B
    elif other == "random":
        B = case.rng.standard_normal(B.shape)
    elif other == "scaled":
        B = 1e3 * B
    elif other == "one entry":
        B[0, 0] += 1
    else:
        B = A.T.copy()
    call.held = LinearOperator(
        A.shape, matvec=lambda x: A @ x, rmatvec=lambda v: B @ v, dtype=A.dtype
    )
    try:
        solution = call()
    except InputError as refusal:
        one_sentence(refusal)
    else:
        well_formed(call, solution)
