"""The table of docs/kernels.md comes from what it says it does."""

import os
from unittest import mock

import numpy as np
import pytest

with mock.patch.dict(os.environ):  # importing it sets the number of threads
    from reproduction.benchmarks import kernels


@pytest.mark.parametrize("task", kernels.TASKS, ids=lambda task: task.name)
def test_draws_are_of_the_sizes_that_are_told(task):
    draw = task.draw(0)
    sizes = {"sinc": (100, 1000), "friedman": (240, 1000), "boston": (481, 25)}
    assert (len(draw.y), len(draw.y_test)) == sizes[task.name.split("-")[0]]
    np.testing.assert_array_equal(draw.y, task.draw(0).y)
    assert not np.array_equal(draw.y, task.draw(1).y)


def test_a_row_has_the_figures_of_everybody():
    cells = kernels.row(kernels.TASKS[0], 1)
    assert cells[:2] == ["sinc", ".0326, 6.7"]
    assert len(cells) == 5
    assert all("σ̂ = 0." in cell for cell in cells[2:])


def test_his_updates_find_a_few_columns_and_the_noise():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 30))
    y = A[:, [3, 17]] @ [2.0, -1.0] + 0.5 * rng.standard_normal(200)
    weights, sigma = kernels.tipping(A, y)
    assert np.abs(weights).argsort()[-2:].tolist() == [17, 3]
    assert np.count_nonzero(weights) < 20
    assert sigma == pytest.approx(0.5, rel=0.15)
