"""A problem is checked once, and what is wrong with it is data."""

import pickle

import numpy as np
import pytest

from sparsewise import backward
from sparsewise._util.parameters import check_columns, check_number, check_positive, check_whole
from sparsewise.errors import InputError, InputTypeError
from sparsewise.problem.problem import DependentColumnsError, problem


def test_dependent_columns_as_data():
    A = np.ones((3, 2))
    with pytest.raises(DependentColumnsError, match="start from fewer columns") as caught:
        backward(A, np.arange(3.0), sparsity=1)
    error = caught.value
    assert isinstance(error, InputError)
    assert (error.columns, error.wanted) == ([1], 2)
    again = pickle.loads(pickle.dumps(error))
    assert (again.columns, str(again)) == (error.columns, str(error))
    spelled = error.sentence(lambda part: f"--{part.name}")
    assert "(--start= with the support of forward, say)" in spelled


@pytest.mark.parametrize(
    ("call", "kind", "parameter", "sentence"),
    [
        (lambda: check_whole(7, "sparsity", 0, 5), InputError, "sparsity", "must be between 0 and"),
        (lambda: check_whole(1.5, "k", 0), InputTypeError, "k", "must be a whole number, not 1.5"),
        (lambda: check_number("a", "tol"), InputTypeError, "tol", "must be a number, not 'a'"),
        (lambda: check_positive(0, "sigma"), InputError, "sigma", "greater than 0, not 0"),
        (lambda: check_columns([9], 3, "start"), InputError, "start", "but A has columns 0 to 2"),
        (lambda: problem(np.eye(3), np.ones((3, 1))), InputError, "y", r"pass y.ravel\(\)\."),
        (lambda: problem(np.eye(3), np.ones(2)), InputError, "y", r"not \(2,\)\."),
        (
            lambda: problem(np.full((2, 2), np.nan), np.ones(2)),
            InputError,
            "A",
            "4 NaN or infinite",
        ),
    ],
)
def test_what_is_wrong_is_data(call, kind, parameter, sentence):
    with pytest.raises(kind, match=sentence) as caught:
        call()
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(f"{parameter} ")
