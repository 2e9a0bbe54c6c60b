"""Tolerances belong to the data: entries that are off by more than rounding tell less."""

from __future__ import annotations

import numpy as np
import pytest

import sparsewise as sw
from sparsewise.algorithms import ALGORITHMS
from sparsewise.design import Centred, DenseDesign, Rows, Weighted
from sparsewise.engine.l1.homotopy import in_double
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.problem.problem import problem
from sparsewise.suffstats.triangle import condense_design
from sparsewise.tolerances import tolerances
from tests.problems import WORDS, Problem, normal

ERROR = 2.0**-26
"""√eps of double precision: what is left of squares that were rounded."""

DOUBLE = np.dtype(np.float64)


def test_the_larger_of_rounding_and_error_counts():
    assert tolerances(DOUBLE, 1e-20) == tolerances(DOUBLE)
    assert tolerances(np.dtype(np.float32), ERROR) == tolerances(np.dtype(np.float32))
    assert tolerances(np.dtype(np.complex128), ERROR).eps == ERROR
    assert tolerances(DOUBLE, ERROR).exact == (64 * ERROR) ** 2


def test_whatever_is_made_of_a_design_keeps_its_error():
    A = np.random.default_rng(0).standard_normal((30, 4))
    design, root = DenseDesign(A, error=ERROR), np.arange(1.0, 31.0)
    made = {
        "weighted": Weighted(design, root),
        "centred": Centred(design, root),
        "rows": Rows(design, np.arange(9)),
        "stored": Weighted(design, root).stored(),
        "condensed": condense_design(design, A[:, 0])[0],
        "double": in_double(problem(design, A[:, 0])).design,
    }
    assert {name: each.tolerances.eps for name, each in made.items()} == dict.fromkeys(made, ERROR)
    assert problem(design, A[:, 0]).tolerances == tolerances(DOUBLE, ERROR)


def near_copies(apart: float, kind: type = float) -> Problem:
    """Two columns that are nearly one, and a target that needs what they differ by."""
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(normal(rng, 40, 8, kind=kind))[0]
    A = Q[:, [0, 0, 1, 2, 3, 4]] + 0.0
    A[:, 1] += apart * Q[:, 5]
    y = A[:, 2] + 0.5 * Q[:, 5] + 0.3 * Q[:, 0] + 1e-3 * Q[:, 7]
    return Problem("near copies", A, y, 3, 0.05)


SEARCHING = [
    n for n in ALGORITHMS if n in WORDS and n not in ("oblivious", "mp", "backward", "lace")
]


@pytest.mark.parametrize("name", SEARCHING)
@pytest.mark.parametrize("kind", [float, complex])
def test_what_the_error_hides_is_not_told_apart(name, kind):
    """1e-4 apart, an energy of 1e-8, is plenty for double precision, but less than ERROR."""
    p = near_copies(1e-4, kind)
    sharp = ALGORITHMS[name](p.A, p.y, **WORDS[name](p))
    design = DenseDesign(p.A, error=ERROR)
    blurred = ALGORITHMS[name](design, p.y, **WORDS[name](p))
    assert np.abs(blurred.coef).max() < 2
    assert blurred.check(design, p.y).ok
    if name in ("forward", "foba", "rmp0", "stepwise", "solve", "srr"):
        assert {0, 1} <= set(sharp.support.tolist())
        assert not {0, 1} <= set(blurred.support.tolist())


BOUNDED = ("bp", "bpdn", "bp_candes", "bp_ard", "focuss")


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("apart", [1e-6, 1e-4])
def test_what_fits_by_the_error_alone_is_refused_or_holds(name, kind, apart):
    """A bound that can be met by coefficients of 1/apart: either an answer that holds, or none."""
    p, bound = near_copies(apart, kind), {} if name == "bp" else {"residual": 2e-3}
    design = DenseDesign(p.A, error=ERROR)
    try:
        found = ALGORITHMS[name](design, p.y, **bound)
    except sw.InputError:
        return
    assert apart > 1e-5
    assert found.check(design, p.y).ok


def test_dependent_columns_are_found_by_their_error():
    p = near_copies(1e-4)
    design = DenseDesign(p.A, error=ERROR)
    sw.backward(p.A, p.y, sparsity=3)
    with pytest.raises(sw.DependentColumnsError):
        sw.backward(design, p.y, sparsity=3)


def test_a_fit_is_exact_to_the_error():
    p = near_copies(0.5)
    y = p.A[:, [2, 3]] @ [1.0, 2.0] + 1e-8 * p.y
    assert sw.forward(p.A, y, residual=0).stop is not sw.Stop.EXACT_FIT
    found = sw.forward(DenseDesign(p.A, error=ERROR), y, residual=0)
    assert found.stop is sw.Stop.EXACT_FIT
    assert found.support.tolist() == [2, 3]
    data = TabularData(X=p.A, y=y, weights=None, intercept=False, include=[], exclude=[])
    assert not data.is_exact(1e-14 * data.total)
    vars(data)["reduced"] = data.reduced._replace(design=DenseDesign(p.A, error=ERROR))
    assert data.is_exact(1e-14 * data.total)


def test_ties_are_as_wide_as_the_error():
    A, y = np.eye(3), np.array([1.0, 1 + 1e-7, 0.1])
    assert sw.forward(A, y, sparsity=1).support.tolist() == [1]
    assert sw.forward(DenseDesign(A, error=ERROR), y, sparsity=1).support.tolist() == [0]
