"""Intervals; what the tables of a run hold is tested with the run."""

import numpy as np
import pytest
from scipy.stats import binomtest

from reproduction.tables import wilson


@pytest.mark.parametrize(("successes", "trials"), [(0, 16), (1, 16), (8, 16), (830, 1024), (7, 7)])
def test_wilson(successes, trials):
    expected = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(wilson(successes, trials), expected, atol=1e-12)


def test_without_trials_nothing_is_known():
    assert wilson(0, 0) == (0.0, 1.0)
