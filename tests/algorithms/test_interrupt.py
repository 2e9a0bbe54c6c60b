"""Ctrl-C in an interruptible stretch ends an algorithm with the model met so far."""

import signal
import sys

import numpy as np
import pytest

import sparsewise as sw
from sparsewise.engine.halting import interrupted, interruptible

RNG = np.random.default_rng(0)
A = RNG.standard_normal((400, 600))  # beyond what is stepped through in one compiled call
Y = A[:, :50] @ RNG.standard_normal(50) + 0.1 * RNG.standard_normal(400)


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Also where the tests run in the background, and signals are ignored from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class PressedAfter:
    """A design's product that a person interrupts at the n-th call."""

    def __init__(self, calls: int) -> None:
        self.left = calls
        self.design = sw.as_design(A)
        self._product = self.design.rmatmat
        self.design.rmatmat = self.rmatmat

    def rmatmat(self, V: np.ndarray) -> np.ndarray:
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return self._product(V)


@pytest.mark.parametrize(
    "run",
    [
        lambda D: sw.forward(D, Y, sparsity=300),
        lambda D: sw.omp(D, Y, sparsity=300),
        lambda D: sw.rmp0(D, Y, delta=0.01),
        lambda D: sw.foba(D, Y, delta=0.01),
        lambda D: sw.rmp(D, Y, sigma=0.01),
        lambda D: sw.rmp(D, Y),
        lambda D: sw.fast_sbl(D, Y, sigma=0.1),
        lambda D: sw.mp(D, Y, residual=1e-9),
        lambda D: sw.stepwise(D, Y),
        lambda D: sw.solve(D, Y),
    ],
)
def test_the_model_met_so_far_is_the_answer(run):
    whole = run(sw.as_design(A))
    with interruptible():
        part = run(PressedAfter(4).design)
        assert interrupted()
    assert not interrupted()
    assert part.stop is sw.Stop.INTERRUPTED
    assert len(part.path) < len(whole.path)
    norm = np.linalg.norm(Y - A @ part.coef)
    assert norm == pytest.approx(part.residual_norm, rel=1e-8)


@pytest.mark.parametrize("run", [sw.ista, sw.fista])
def test_so_is_the_point_reached(run):
    with interruptible():
        part = run(PressedAfter(4).design, Y, penalty=1e-3)
    assert part.stop is sw.Stop.INTERRUPTED
    assert np.linalg.norm(Y - A @ part.coef) == pytest.approx(part.residual_norm, rel=1e-8)


@pytest.mark.parametrize("run", [sw.focuss, sw.sbl])
def test_rounds_of_all_columns_end(run, monkeypatch):
    """Their rounds are told from the least-squares problems they solve."""
    if run is sw.sbl:
        module, name = sys.modules["sparsewise.engine.bayes.joint_updates"], "posterior"
    else:
        module, name = sys.modules[run.__module__], "weighted_fit"
    solve, calls = getattr(module, name), []

    def pressed(*args):
        calls.append(1)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return solve(*args)

    monkeypatch.setattr(module, name, pressed)
    words = {"sigma": 0.1} if run is sw.sbl else {"residual": 1.0}
    with interruptible():
        assert run(A, Y, **words).stop is sw.Stop.INTERRUPTED
    assert len(calls) <= 3


def test_a_second_interrupt_is_the_usual_one():
    def press(step: sw.Step) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), interruptible():
        sw.forward(A, Y, sparsity=10, callback=press)
    assert not interrupted()


def test_elsewhere_an_interrupt_is_the_usual_one():
    with pytest.raises(KeyboardInterrupt):
        sw.gomp(PressedAfter(3).design, Y, sparsity=100, batch=2)


def test_in_the_background_it_is_not_heard():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible():
        found = sw.gomp(PressedAfter(3).design, Y, sparsity=20, batch=2)
        assert found.support.size == 20
        assert not interrupted()


def test_signals_are_left_alone_afterwards():
    before = signal.getsignal(signal.SIGINT)
    with interruptible():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
