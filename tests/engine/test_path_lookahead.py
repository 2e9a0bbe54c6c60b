"""Bends guessed from a few columns are those of all columns, whatever the guess was."""

from __future__ import annotations

import numpy as np
import pytest

import sparsewise as sw
from sparsewise import plan
from sparsewise.engine.l1 import homotopy, path_lookahead
from tests.problems import normal


def data(seed, n=40, m=150, k=8):
    rng = np.random.default_rng(seed)
    A = normal(rng, n, m) + 0.5 * normal(rng, n, 1)
    return A, A[:, :k] @ rng.choice([-1.0, 1.0], k) + 0.05 * normal(rng, n), rng


def both(monkeypatch, call):
    """With one pass for each bend, and with guesses."""
    monkeypatch.setattr(plan, "OUT_OF_CACHE", 1 << 62)
    one_by_one = call()
    monkeypatch.setattr(plan, "OUT_OF_CACHE", 0)
    return one_by_one, call()


def same_path(found, expected):
    assert [step[:2] for step in found.path] == [step[:2] for step in expected.path]
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-10 * np.abs(expected.coef).max())


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("few", [0, 32])
@pytest.mark.parametrize("seed", range(3))
def test_the_path_is_that_of_all_columns(seed, width, few, monkeypatch):
    """Pools that are too narrow are found out, by halving or by looking at columns."""
    monkeypatch.setattr(path_lookahead, "POOL_WIDTH", width)
    monkeypatch.setattr(path_lookahead, "FEW", few)
    A, y, rng = data(seed)
    weights = rng.uniform(0.5, 2, A.shape[1])
    weights[[3, 90]] = 0, np.inf
    for parameters in ({}, {"weights": weights}):
        expected, found = both(monkeypatch, lambda p=parameters: sw.l1_path(A, y, **p))
        same_path(found, expected)
        np.testing.assert_allclose(found.penalties, expected.penalties, rtol=1e-9, atol=1e-12)
        assert found.check(A, y).ok


def test_a_bend_costs_less_than_a_pass(monkeypatch):
    A, y, _ = data(0, 120, 600, 20)
    expected, found = both(monkeypatch, lambda: sw.bpdn(A, y, residual=0.1))
    same_path(found, expected)
    assert 3 * found.n_passes < len(found.path)
    in_single = sw.bpdn(A.astype(np.float32), y.astype(np.float32), residual=0.1)
    assert in_single.coef.dtype == np.float32
    assert 3 * in_single.n_passes < len(found.path)


@pytest.mark.parametrize("seed", range(3))
def test_an_exact_fit_needs_no_care(seed, monkeypatch):
    """Errors of the factor are mended on the way as they are without guesses."""
    A, y, _ = data(seed, 60, 1200, 6)
    monkeypatch.setattr(homotopy.Factor, "make", None)
    expected, found = both(monkeypatch, lambda: sw.bp(A, y))
    same_path(found, expected)
    assert 2 * found.n_passes < len(found.path)
    assert found.check(A, y).ok


def test_weights_that_change(monkeypatch):
    A, y, _ = data(1)
    expected, found = both(monkeypatch, lambda: sw.bp_candes(A, y, residual=0.1))
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-9)


def test_a_guess_that_is_wrong_at_once_gives_way_to_a_single_bend(monkeypatch):
    A, y, _ = data(2)
    monkeypatch.setattr(path_lookahead.PathLookahead, "count_valid", lambda *_: 1)
    expected, found = both(monkeypatch, lambda: sw.bpdn(A, y, residual=0.3))
    same_path(found, expected)


def test_worn_factors_are_not_guessed_on(monkeypatch):
    """What made the factor anew stays the way it was: bend by bend."""
    A, y, _ = data(3)
    monkeypatch.setattr(homotopy, "GROWTH", 0.0)  # any factor counts as inaccurate
    expected, found = both(monkeypatch, lambda: sw.bpdn(A, y, residual=0.3))
    same_path(found, expected)
    assert found.check(A, y).ok
