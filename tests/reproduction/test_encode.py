"""The tables of docs/encode.md come from what they say they do."""

import os
from unittest import mock

import numpy as np
import pytest

with mock.patch.dict(os.environ):  # importing it sets the number of threads
    from reproduction.benchmarks import encode

SMALL = encode.Task(16, 32, 3, 250)


def test_signals_are_of_the_sizes_that_are_told():
    A, Y = SMALL.draw()
    assert (A.shape, Y.shape) == ((16, 32), (16, 250))
    np.testing.assert_allclose(np.linalg.norm(A, axis=0), 1.0)
    np.testing.assert_array_equal(Y, SMALL.draw()[1])
    assert SMALL.name == "16×32, k = 3"


@pytest.mark.parametrize("row", [encode.against_sklearn, encode.by_two_threads])
def test_a_row_has_as_many_cells_as_its_header(row):
    [head] = [head for head, other in encode.TABLES if other == row]
    assert len(row(SMALL, 2)) == len(head)


def test_spams():
    pytest.importorskip("spams", reason="SPAMS is not installed")
    assert encode.against_spams(SMALL, 2)[-1] == "100.00%"
