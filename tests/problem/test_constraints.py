"""Constraints are checked in one place, and locked columns are no features."""

import numpy as np
import pytest

from sparsewise import InputError, as_design, backward, forward, rmp0
from sparsewise.algorithms.rmp0 import alternate
from sparsewise.design import Centred
from sparsewise.design.centred import Reflection
from sparsewise.engine.active_set import begin
from sparsewise.problem.constraints import NO_CONSTRAINTS, Constraints, check_constraints
from sparsewise.problem.partition import Partition
from sparsewise.problem.problem import problem


def test_nothing_asked_is_nothing_made():
    assert check_constraints(5) is NO_CONSTRAINTS
    assert check_constraints(5, include=[], exclude=None, start=np.array([])) is NO_CONSTRAINTS
    assert problem(np.eye(3), np.ones(3)).constraints is NO_CONSTRAINTS


def test_columns_are_taken_in_order_and_once():
    found = check_constraints(9, include=[4, 2, 4], exclude=iter([1]), start=[2, 0, 1], locked=[8])
    assert found == Constraints((4, 2), (1,), (2, 0, 1), (8,))
    assert found.kept == (8, 4, 2)
    assert found.first == [8, 4, 2, 0]


@pytest.mark.parametrize("name", ["include", "exclude", "start", "locked"])
def test_columns_that_are_not_there_are_refused(name):
    with pytest.raises(InputError, match=name):
        check_constraints(5, **{name: [5]})


@pytest.mark.parametrize("name", ["include", "locked"])
def test_no_column_is_in_every_model_and_in_none(name):
    with pytest.raises(InputError, match="Column 2 can't be in both"):
        check_constraints(5, **{name: [1, 2]}, exclude=[2])


def test_a_column_stands_for_its_group():
    partition = Partition(groups=((1, 4), (2, 3)))
    assert partition.group(4) == (1, 4)
    assert partition.group(0) == (0,)
    assert partition.whole([3, 0, 2]) == (2, 3, 0)
    found = check_constraints(6, include=[4], exclude=[2], partition=partition)
    assert found == Constraints((1, 4), (2, 3))
    with pytest.raises(InputError, match="Column 1, Column 4 can't be in both"):
        check_constraints(6, include=[4], exclude=[1], partition=partition)


# --- a constant as a locked column ----------------------------------------------------------------


def far_from_zero(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((40, 12)) + rng.uniform(-5, 5, 12)
    return A, A[:, [1, 5, 8]] @ [1.0, -2.0, 1.5] + 7 + 0.5 * rng.standard_normal(40)


def with_constant(name, A, y, ridge=0.0, **words):
    """The algorithm on [1, A] with the constant locked."""
    full = {"start": None, "basis": False} if name == "backward" else {}
    whole = np.column_stack([np.ones(len(A)), A])
    active, stopping = begin(name, whole, y, locked=[0], ridge=ridge, **full, **words)
    steps = {
        "forward": lambda: active.grow(stopping),
        "backward": lambda: active.shrink(stopping),
        "rmp0": lambda: alternate(active, stopping, None),
    }
    return whole, active.solve(name, steps[name])


CALLS = [(forward, {"sparsity": 3}), (backward, {"sparsity": 3}), (rmp0, {"delta": 2.0})]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("algorithm", "words"), CALLS, ids=lambda one: getattr(one, "__name__", "")
)
def test_a_locked_constant_is_the_centred_problem(algorithm, words, seed):
    A, y = far_from_zero(seed)
    centred = algorithm(A - A.mean(axis=0), y - y.mean(), **words)
    whole, locked = with_constant(algorithm.__name__, A, y, **words)
    np.testing.assert_array_equal(locked.support - 1, centred.support)
    np.testing.assert_allclose(locked.coef[1:], centred.coef, rtol=1e-9, atol=1e-12)
    assert locked.coef[0] == pytest.approx(y.mean() - A.mean(axis=0) @ centred.coef)
    assert locked.residual_norm == pytest.approx(centred.residual_norm)
    assert locked.df == centred.df
    assert locked.locked == (0,)
    assert locked.check(whole, y).ok
    assert [step.size for step in locked.path] == [step.size for step in centred.path]
    np.testing.assert_allclose(locked.path.losses, centred.path.losses, rtol=1e-9)
    assert locked.stop is centred.stop


@pytest.mark.parametrize(
    ("algorithm", "words"), CALLS, ids=lambda one: getattr(one, "__name__", "")
)
def test_a_ridge_does_not_shrink_it(algorithm, words):
    """With columns of mean zero the ridge is the same beside the constant and without it."""
    A, y = far_from_zero(4)
    A = A - A.mean(axis=0)
    centred = algorithm(A, y - y.mean(), ridge=0.4, **words)
    whole, locked = with_constant(algorithm.__name__, A, y, ridge=0.4, **words)
    np.testing.assert_array_equal(locked.support - 1, centred.support)
    np.testing.assert_allclose(locked.coef[1:], centred.coef, rtol=1e-9, atol=1e-12)
    assert locked.coef[0] == pytest.approx(y.mean())
    assert locked.df == pytest.approx(centred.df)
    assert locked.check(whole, y).ok


def test_it_takes_the_place_of_a_reflection():
    A, y = far_from_zero(5)
    reflected = forward(Centred(as_design(A)), Reflection(len(y)).column(y)[0], sparsity=3)
    _, locked = with_constant("forward", A, y, sparsity=3)
    np.testing.assert_allclose(locked.coef[1:], reflected.coef, rtol=1e-9, atol=1e-12)
