"""The engine against least squares from scratch, over thousands of random steps."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import sparsewise
from sparsewise import plan
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.stopping import stopping_criterion
from sparsewise.problem.problem import problem
from tests.kernels.tracing import INTERPRETED


def gaussian(rng, n, m, dtype=np.float64):
    A = rng.standard_normal((n, m))
    if np.dtype(dtype).kind == "c":
        A = A + 1j * rng.standard_normal((n, m))
    return A.astype(dtype)


def coherent(rng, n, m, dtype=np.float64):
    """The paper's correlated family: singular values fall as 1/p²."""
    U, V = gaussian(rng, n, n, dtype), gaussian(rng, n, m, dtype)
    return (U / np.arange(1, n + 1) ** 2) @ V


def nearly_equal(rng, n, m, dtype=np.float64):
    """Columns that differ from one another by one part in ten thousand."""
    return (gaussian(rng, n, 1, dtype) + 1e-4 * gaussian(rng, n, m, dtype)).astype(dtype)


# Rounding errors have grown by then in compiled code; as plain Python, which is slow, indices are
# checked, and hundreds of steps meet them all.
STEPS = 500 if INTERPRETED else 3000

FAMILIES = {"gaussian": gaussian, "coherent": coherent, "nearly equal": nearly_equal}


def from_scratch(A, y, support):
    """‖r‖², gains of the columns outside, losses of the columns inside, coefficients."""
    A = A / np.linalg.norm(A, axis=0)
    y = y / np.linalg.norm(y)
    S = list(support)
    Q, R = np.linalg.qr(A[:, S])
    r, V = y.copy(), A.copy()
    for _ in range(3):
        r -= Q @ (Q.conj().T @ r)
        V -= Q @ (Q.conj().T @ V)
    energy = (np.abs(V) ** 2).sum(axis=0)
    energy[S] = 1.0
    gains = np.abs(V.conj().T @ r) ** 2 / energy
    gains[S] = -1.0
    x = np.linalg.lstsq(A[:, S], y, rcond=None)[0]
    inverse = np.linalg.solve(R, np.eye(len(S))) if S else R
    losses = np.abs(x) ** 2 / (np.abs(inverse) ** 2).sum(axis=1)
    return np.vdot(r, r).real, gains, losses, x, energy


def compare(active, A, y, rtol, case=""):
    rss, gains, losses, x, energy = from_scratch(A, y, active.order)
    # A column closer than this to the span has no digits beyond rtol in any arithmetic like ours.
    sharp = energy > (np.finfo(A.dtype).eps / rtol) ** 2 * 64
    found = active.gains()
    both = sharp & (found >= 0)
    assert both.sum() >= 1, case
    scale = gains[both].max()
    np.testing.assert_allclose(found[both], gains[both], rtol=rtol, atol=rtol * scale, err_msg=case)
    np.testing.assert_allclose(active.rss, rss, rtol=rtol, err_msg=case)
    np.testing.assert_allclose(
        active.losses(), losses, rtol=rtol, atol=rtol * losses.max(initial=0), err_msg=case
    )
    values = np.array(list(active.coef.values())).reshape(-1)
    size = np.abs(x).max(initial=0)
    np.testing.assert_allclose(values, x, rtol=rtol, atol=rtol * size, err_msg=case)


def wander(active, rng, most, steps):
    """Random additions and deletions, single and several at once; yields after each stretch."""
    m = active.problem.shape[1]
    done = 0
    while done < steps:
        add = active.size == 0 or (active.size < most and rng.random() < 0.55)
        if add:
            candidates = [j for j in rng.permutation(m)[:8] if j not in active.support]
            done += len(active.add(candidates[: rng.integers(1, 4)]))
        else:
            count = min(active.size, rng.integers(1, 4))
            active.drop([int(j) for j in rng.permutation(active.order)[:count]])
            done += count
        yield done


@pytest.mark.parametrize("pooled", [False, True], ids=["whole", "pool"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_scores_after_thousands_of_steps(family, dtype, pooled, monkeypatch):
    if pooled:
        monkeypatch.setattr(plan, "SMALL", 0)
    rng = np.random.default_rng(7)
    n, m = 40, 60
    A = FAMILIES[family](rng, n, m, dtype)
    y = gaussian(rng, n, 1, dtype)[:, 0]
    active = ActiveSet(problem(A, y))
    for done in wander(active, rng, 20, STEPS):
        if done % 50 < 2:
            compare(active, A, y, 1e-8, f"after {done} steps")
            active.grow(stopping_criterion(None, active.problem, sparsity=25), steps=2)
            compare(active, A, y, 1e-8, f"after growing at {done} steps")
            active.shrink(stopping_criterion(None, active.problem, sparsity=15))
            compare(active, A, y, 1e-8, f"after shrinking at {done} steps")


def test_float32_keeps_its_digits():
    rng = np.random.default_rng(3)
    A = gaussian(rng, 40, 60, np.float32)
    y = gaussian(rng, 40, 1, np.float32)[:, 0]
    active = ActiveSet(problem(A, y))
    for done in wander(active, rng, 20, 2000):
        if done % 50 < 2:
            compare(active, A, y, 2e-3, f"after {done} steps")


@pytest.mark.parametrize("family", FAMILIES)
def test_guessing_ahead_changes_nothing(family, monkeypatch):
    """Steps guessed from a pool and checked are those of one pass a step."""
    rng = np.random.default_rng(5)
    A = FAMILIES[family](rng, 50, 400)
    y = gaussian(rng, 50, 1)[:, 0]
    whole = ActiveSet(problem(A, y))
    stopping = stopping_criterion(None, whole.problem, sparsity=30)
    whole.grow(stopping)
    monkeypatch.setattr(plan, "SMALL", 0)
    guessed = ActiveSet(problem(A, y))
    guessed.grow(stopping)
    single = ActiveSet(problem(A, y), callback=lambda step: None)
    single.grow(stopping)
    assert whole.order == guessed.order == single.order
    if family == "gaussian":
        assert guessed.problem.passes.count < single.problem.passes.count


def test_one_pass_an_addition():
    rng = np.random.default_rng(1)
    A = gaussian(rng, 100, 900)
    active = ActiveSet(problem(A, A[:, :30].sum(axis=1)), callback=lambda step: None)
    before = active.problem.passes.count
    active.grow(stopping_criterion(None, active.problem, sparsity=10))
    # One for corr, and one for each addition but the last, whose scores nobody has asked for.
    assert active.problem.passes.count - before == 10


def test_deletions_share_one_block_pass():
    rng = np.random.default_rng(1)
    A = gaussian(rng, 100, 900)
    active = ActiveSet(problem(A, gaussian(rng, 100, 1)[:, 0]))
    active.grow(stopping_criterion(None, active.problem, sparsity=40))
    active.gains()
    before = active.problem.passes.count
    active.shrink(stopping_criterion(None, active.problem, sparsity=25))
    assert active.problem.passes.count == before
    active.gains()
    assert active.problem.passes.count == before + 1


def test_backward_makes_no_basis():
    rng = np.random.default_rng(1)
    A = gaussian(rng, 60, 30)
    y = gaussian(rng, 60, 1)[:, 0]
    active = ActiveSet(problem(A, y, start=range(30)), basis=False)
    active.shrink(stopping_criterion(None, active.problem, sparsity=12))
    assert active._factor._Q is None
    compare(active, A, y, 1e-10)  # asking for the gains makes it


def test_drift_is_detected_and_mended():
    """Spoil the scores on purpose: the next step must notice and measure anew."""
    rng = np.random.default_rng(2)
    A = gaussian(rng, 50, 80)
    y = gaussian(rng, 50, 1)[:, 0]
    active = ActiveSet(problem(A, y))
    active.grow(stopping_criterion(None, active.problem, sparsity=8))
    active.gains()
    active._scores.energy *= 1.01
    active.grow(stopping_criterion(None, active.problem, sparsity=9))
    compare(active, A, y, 1e-10)


def test_residual_far_below_the_target():
    """y = A x exactly but for one part in 1e10: the last digits still choose the right columns."""
    rng = np.random.default_rng(4)
    A = gaussian(rng, 60, 90)
    y = A[:, :5] @ np.ones(5) + 1e-9 * (A[:, 50] + 0.5 * A[:, 51])
    active = ActiveSet(problem(A, y))
    active.grow(stopping_criterion(None, active.problem, sparsity=7))
    assert active.support == {0, 1, 2, 3, 4, 50, 51}


def test_columns_return_after_a_deletion():
    """A duplicate is dependent while its twin is in the model, and can come in when it is gone."""
    rng = np.random.default_rng(6)
    A = gaussian(rng, 30, 10)
    A[:, 7] = A[:, 2]
    y = 3 * A[:, 2] + gaussian(rng, 30, 1)[:, 0]
    active = ActiveSet(problem(A, y))
    active.grow(stopping_criterion(None, active.problem, sparsity=3))
    assert 2 in active.support
    assert active.gains()[7] < 0
    active.drop([2])
    gains = active.gains()
    assert gains[7] == pytest.approx(gains[2], rel=1e-12)
    assert active.add([7]) == [7]
    assert active.gains()[2] < 0


def test_deletions_keep_their_digits_after_bad_conditioning():
    """U is as large as 1e5 at first; what is left at the end is right to all but a few digits."""
    rng = np.random.default_rng(8)
    A = np.hstack([gaussian(rng, 80, 10), nearly_equal(rng, 80, 20) * 1.0])
    A[:, 10:] = A[:, 10:11] + 1e-5 * gaussian(rng, 80, 20)
    y = gaussian(rng, 80, 1)[:, 0]
    active = ActiveSet(problem(A, y, start=range(30)))
    active.shrink(stopping_criterion(None, active.problem, sparsity=8))
    compare(active, A, y, 1e-9)


@pytest.mark.parametrize(("shape", "most"), [((64, 128), 115), ((1000, 50), 123)])
def test_a_small_problem_takes_few_calls(shape, most):
    """Of a small problem, calls of Python functions are what costs: they are counted, not timed."""
    rng = np.random.default_rng(0)
    A, y = gaussian(rng, *shape), rng.standard_normal(shape[0])
    home, calls = Path(sparsewise.__file__).parent, []

    def note(frame, event, _):
        room = Path(frame.f_code.co_filename)
        if event == "call" and room.is_relative_to(home) and room.parent.name != "kernels":
            calls.append(frame.f_code.co_qualname)

    sparsewise.forward(A, y, sparsity=10)
    sys.setprofile(note)
    try:
        sparsewise.forward(A, y, sparsity=10)
    finally:
        sys.setprofile(None)
    assert len(calls) <= most, calls
