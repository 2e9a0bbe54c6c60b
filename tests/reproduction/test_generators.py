import numpy as np
import pytest

from reproduction.declaration import Cell
from reproduction.generators import FAMILIES, SIGNALS, draw, generator
from tests.reproduction.small import small

CELL = Cell("small", {"n": 12, "m": 20, "k": 3, "noise": 5e-3, "delta": 1e-2})


def drawn(realization=0, seed=0, cell=CELL, **more):
    return draw(small(**more), cell, generator(cell, realization, seed))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("signal", SIGNALS)
def test_a_draw_is_a_problem_with_a_known_answer(family, signal):
    A, y, x = drawn(family=family, signal=signal)
    assert A.shape == (12, 20)
    np.testing.assert_allclose(np.linalg.norm(A, axis=0), 1)
    assert np.count_nonzero(x) == 3
    np.testing.assert_allclose(np.linalg.norm(y - A @ x), 5e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_more_rows_than_columns(family):
    A, _, _ = drawn(cell=Cell("small", {"n": 30, "m": 20, "k": 3}), family=family)
    assert A.shape == (30, 20)
    assert np.isfinite(A).all()


def test_without_noise_the_target_is_exact():
    A, y, x = drawn(cell=Cell("small", {"n": 12, "m": 20, "k": 3}))
    np.testing.assert_array_equal(y, A @ x)


@pytest.mark.parametrize("signal", SIGNALS)
def test_several_targets_share_their_places(signal):
    cell = Cell("small", CELL.quantities | {"targets": 5})
    A, y, x = drawn(cell=cell, signal=signal)
    assert (y.shape, x.shape) == ((12, 5), (20, 5))
    assert np.count_nonzero(x.any(axis=1)) == 3
    assert np.count_nonzero(x) == 15
    np.testing.assert_allclose(np.linalg.norm(y - A @ x, axis=0), 5e-3)
    assert np.linalg.matrix_rank(y - A @ x) == 5


def test_all_columns_may_be_chosen():
    assert np.count_nonzero(drawn(cell=Cell("small", {"n": 12, "m": 20, "k": 20})).x) == 20


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_draws_depend_on_seed_cell_and_realisation_alone():
    other = Cell("small", CELL.quantities | {"k": 4})
    assert same(drawn(3, 7), drawn(3, 7))
    assert same(drawn(3, 7), drawn(3, 7, realizations=1000, contenders=()))
    for different in (drawn(4, 7), drawn(3, 8), drawn(3, 7, cell=other)):
        assert not same(drawn(3, 7), different)


def test_singular_values_of_correlated_matrices_fall_off():
    cell = Cell("small", {"n": 64, "m": 128, "k": 3})
    for family, least in (("gaussian", 1e-2), ("correlated", 1e-6)):
        s = np.linalg.svd(drawn(cell=cell, family=family).A, compute_uv=False)
        assert least < s[-1] / s[0] < 100 * least


def test_neighbours_are_correlated():
    A = drawn(cell=Cell("small", {"n": 2000, "m": 20, "k": 3}), family="neighbours").A
    np.testing.assert_allclose(np.sum(A[:, 1:] * A[:, :-1], axis=0), 0.9, atol=0.03)
    np.testing.assert_allclose(np.sum(A[:, 2:] * A[:, :-2], axis=0), 0.81, atol=0.05)


def test_rows_of_cosines_are_orthogonal():
    A = np.random.default_rng(0)
    rows = FAMILIES["cosines"](A, 12, 20)
    gram = rows @ rows.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
