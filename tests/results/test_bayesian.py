"""The check of a Bayesian solution looks at its path, too."""

from dataclasses import replace

import numpy as np
import pytest

import sparsewise
from sparsewise.results.path import Path
from tests.problems import FAMILIES, hilbert


@pytest.mark.parametrize("name", ["rmp", "fast_sbl"])
@pytest.mark.parametrize("size", [(12, 20), (15, 30), (20, 12)])
def test_models_on_the_path_are_those_of_their_coefficients(name, size):
    """A column that leaves to be measured, and comes back, has its place in the path again."""
    A, y = hilbert(*size), np.ones(size[0])
    solution = getattr(sparsewise, name)(A, y, sigma=1e-5)
    for model in solution.path.models():
        residual = np.linalg.norm(y - A @ model.coef)
        assert residual == pytest.approx(model.loss**0.5, rel=0, abs=1e-8)
    check = solution.check(A, y)
    assert check.ok
    assert check.path_error < 1e-8


@pytest.mark.parametrize("several", [False, True])
def test_path_error_tells_of_models_that_are_others(several):
    p = FAMILIES["complex wide"](0)
    y = np.column_stack([p.y, 1e9 * p.y[::-1]]) if several else p.y
    solution = sparsewise.rmp(p.A, y)
    check = solution.check(p.A, y)
    assert check.path_error < 1e-12
    *first, last = solution.path._stretches
    other = last._replace(coefs=0.5 * np.array(last.coefs))
    path = Path([*first, other], solution.path._units, 1.0)
    check = replace(solution, path=path).check(p.A, y)
    assert check.path_error > 1e-3
    assert f"models on the path off by {check.path_error:.1e}" in repr(check)
