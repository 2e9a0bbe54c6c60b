"""Codes: what they say of themselves, and what a check finds."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

import sparsewise as sw
from sparsewise import Stop
from tests.problems import normal


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return normal(rng, 12, 20), normal(rng, 12, 30)


def test_what_is_there(data):
    A, Y = data
    codes = sw.encode(A, Y, sparsity=3)
    assert isinstance(codes.coef, scipy.sparse.csc_array)
    assert codes.coef.shape == (20, 30)
    assert codes.coef.has_sorted_indices
    assert len(codes) == 30
    np.testing.assert_array_equal(codes.sizes, 3)
    assert (codes.stops == Stop.SPARSITY).all()
    R = Y - codes.reconstruct(A)
    np.testing.assert_allclose(codes.residual_norms, np.linalg.norm(R, axis=0))
    np.testing.assert_array_equal(codes.support(4), np.flatnonzero(codes.coef[:, [4]].toarray()))


@pytest.mark.parametrize("storage", [np.asarray, scipy.sparse.csr_array, sw.as_design])
def test_reconstruct_from_any_design(data, storage):
    A, Y = data
    codes = sw.encode(A, Y, sparsity=3)
    np.testing.assert_allclose(codes.reconstruct(storage(A)), A @ codes.coef.toarray())
    assert codes.check(storage(A), Y).ok


def test_check_finds_what_is_wrong(data):
    A, Y = data
    codes = sw.encode(A, Y, sparsity=3)
    assert codes.check(A, Y).ok
    assert "all 30 codes hold" in repr(codes.check(A, Y))
    norms = codes.residual_norms.copy()
    norms[7] *= 1.01
    found = replace(codes, residual_norms=norms).check(A, Y)
    assert not found.ok
    assert np.flatnonzero(~found.holds).tolist() == [7]
    assert "1 of 30 codes DO NOT HOLD, the first of signal 7" in repr(found)
    coef = codes.coef.copy()
    coef.data[0] += 1e-3
    assert not replace(codes, coef=coef).check(A, Y).holds[0]


def test_check_of_what_is_no_least_squares(data):
    A, Y = data
    codes = sw.encode(A, Y, algorithm="bpdn", residual=1.0)
    assert not codes.least_squares
    assert codes.check(A, Y).ok


def hilbert(n, m, dtype):
    """Columns that are nearly dependent."""
    return (1 / (np.arange(n)[:, None] + np.arange(m) + 1)).astype(dtype)


CHECKED = {
    "bp": {},
    "bpdn": {"residual": 1e-3},
    "focuss": {"residual": 0.1},
    "forward": {"residual": 0.0},
    "rmp": {"sigma": 1e-5},
    "sbl": {"sigma": 1e-2},
    "solve": {"effort": 1},
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CHECKED)
def test_check_is_that_of_the_function(name, dtype):
    """Of codes that are optimal, or have the residual that is stated, and of others."""
    A, Y = hilbert(6, 11, dtype), np.random.default_rng(0).integers(-3, 4, (6, 16)).astype(dtype)
    codes = sw.encode(A, Y, algorithm=name, **CHECKED[name])
    alone = [sw.ALGORITHMS[name](A, y, **CHECKED[name]) for y in Y.T]
    wanted = [one.check(A, y).ok for one, y in zip(alone, Y.T, strict=True)]
    assert codes.check(A, Y).holds.tolist() == wanted
    norms = codes.residual_norms + 0.1 * np.linalg.norm(Y, axis=0)
    assert not replace(codes, residual_norms=norms).check(A, Y).holds.any()


def test_proofs_hold_no_coefficients(data):
    A, Y = data
    assert sw.encode(A, Y, sparsity=3).proofs == ()
    codes = sw.encode(A, Y, algorithm="bpdn", residual=1.0)
    assert len(codes.proofs) == 30
    assert not any(proof.coef.size or len(proof.path) for proof in codes.proofs)
    alone = sw.bpdn(A, Y[:, 4], residual=1.0)
    np.testing.assert_array_equal(codes.proofs[4].dual, alone.dual)


def test_check_with_a_ridge(data):
    A, Y = data
    codes = sw.encode(A, Y, algorithm="forward", sparsity=3, ridge=0.1)
    assert codes.ridge == 0.1
    assert codes.check(A, Y).ok
    assert codes.check(A, Y).normal_equations.max() < 1e-14
    assert not replace(codes, ridge=0.0).check(A, Y).holds.any()


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e150])
def test_check_at_any_scale(data, scale):
    A, Y = data
    units = 10.0 ** np.random.default_rng(1).uniform(-100, 100, 20)
    codes = sw.encode(A * units, Y * scale, sparsity=3)
    assert codes.check(A * units, Y * scale).ok


def test_check_of_other_data(data):
    A, Y = data
    codes = sw.encode(A, Y, sparsity=3)
    assert not codes.check(A, Y[:, ::-1]).ok
    with pytest.raises(sw.InputError, match="29 signals, but there are 30 codes"):
        codes.check(A, Y[:, :-1])
    with pytest.raises(sw.InputError, match="19 columns, but the codes are of 20"):
        codes.reconstruct(A[:, :-1])


def test_words(data):
    A, Y = data
    Y[:, 3] = 0
    told = repr(sw.encode(A, Y, sparsity=3)).splitlines()
    assert told[0] == "Codes by omp: 30 signals, 20 atoms"
    assert told[1].split() == ["atoms", "2.9", "a", "signal", "(0", "to", "3)"]
    assert told[2].startswith("  residual  ")
    assert told[3] == f"  stopped   29: {Stop.SPARSITY}"
    assert told[4].strip() == f"1: {Stop.ZERO_TARGET}"
    assert repr(sw.encode(A, Y[:, :0], sparsity=3)) == "Codes by omp: 0 signals, 20 atoms"
