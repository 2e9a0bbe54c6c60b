"""Every algorithm on every way of storing A: the known answer, whatever the storage."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sparsewise import ALGORITHMS
from tests.problems import BAYES, BY_COLUMNS, KNOWN, as_complex, words
from tests.storages import STORAGES

PROBLEMS = {p.name: p for p in KNOWN}


@cache
def dense_answer(name, problem):
    p = PROBLEMS[problem]
    return ALGORITHMS[name](p.A, p.y, **words(name, p))


@pytest.mark.parametrize("turn", range(2))
@pytest.mark.parametrize("name", BY_COLUMNS)
def test_known_answer(store, name, turn):
    """Two problems in turn: all meet each storage, and each algorithm, on several of the others."""
    place = list(STORAGES).index(store.name) + BY_COLUMNS.index(name)
    problem = list(PROBLEMS)[(place + 2 * turn) % len(PROBLEMS)]
    p = PROBLEMS[problem]
    retyped = "complex" in store.name and not np.iscomplexobj(p.A)
    call = as_complex(name, p) if retyped else words(name, p)
    solution = ALGORITHMS[name](store(p.A), p.y, **call)
    assert list(solution.support) == p.truth

    dense = dense_answer(name, problem)
    assert list(dense.support) == p.truth
    on = p.truth
    np.testing.assert_allclose(solution.coef[on], dense.coef[on], rtol=1e4 * store.eps)
    assert not np.any(np.delete(solution.coef, on))
    assert solution.check(store(p.A), p.y).ok
    assert np.finfo(solution.coef.dtype).eps == store.eps
    assert np.iscomplexobj(solution.coef) == (np.iscomplexobj(p.A) or "complex" in store.name)


@pytest.mark.parametrize("name", BY_COLUMNS)
@pytest.mark.parametrize("dtype", ["i8", "i2", "?"])
def test_integers_and_booleans(name, dtype):
    """Promoted: the answer is that of the same numbers as floats."""
    A = (np.random.default_rng(3).standard_normal((60, 8)) > 0).astype(dtype)
    y = A[:, [1, 5]] @ np.array([2.0, -3.0])
    p = type(KNOWN[0])("integers", A * 1.0, y, sparsity=2, delta=1e-3)
    call = words(name, p)
    expected = ALGORITHMS[name](p.A, y, **call)
    np.testing.assert_array_equal(ALGORITHMS[name](A, y, **call).coef, expected.coef)
    assert expected.coef.dtype == np.float64


@pytest.mark.parametrize("name", BY_COLUMNS)
def test_integer_target(name):
    p = PROBLEMS["orthonormal"]
    A = np.eye(8)
    y = np.array([0, 5, 0, 0, -3, 0, 0, 0])
    p = type(p)("integers", A, y * 1.0, sparsity=2, delta=0.1)
    solution = ALGORITHMS[name](A, y, **words(name, p))
    # Sparse Bayesian Learning shrinks by σ²/c² on orthonormal columns.
    shrinkage = 1 - (0.1 / np.where(y == 0, np.inf, y)) ** 2 if name in BAYES else 1.0
    np.testing.assert_allclose(solution.coef, y * shrinkage)


@pytest.mark.parametrize("name", BY_COLUMNS)
def test_complex_target_on_real_columns(name):
    p = PROBLEMS["tall"]
    y = p.y * (1 + 1j)
    louder = replace(p, delta=2**0.5 * p.delta)  # as the target is; only a sigma feels it
    call = as_complex(name, louder if name in BAYES else p)
    solution = ALGORITHMS[name](p.A, y, **call)
    real = ALGORITHMS[name](p.A, p.y, **words(name, p))
    assert list(solution.support) == p.truth
    assert solution.coef.dtype == np.complex128
    if name != "mp":
        np.testing.assert_allclose(solution.coef, real.coef * (1 + 1j), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", BY_COLUMNS)
def test_inputs_are_left_alone(name):
    p = PROBLEMS["tall complex"]
    A, y = p.A.copy(), p.y.copy()
    ALGORITHMS[name](A, y, **words(name, p))
    np.testing.assert_array_equal(A, p.A)
    np.testing.assert_array_equal(y, p.y)
