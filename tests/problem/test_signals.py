"""Signals are read by blocks, whatever holds them, and scaled without harm."""

import numpy as np
import pytest
import scipy.sparse

from sparsewise import InputError
from sparsewise.problem.signals import Signals, unit_signals


def test_blocks_of_whatever_has_columns():
    Y = np.arange(12.0).reshape(3, 4)
    for held in (Y, Y.tolist(), Y.astype(int), np.asfortranarray(Y), scipy.sparse.csc_array(Y)):
        signals = Signals(held, 3)
        assert signals.count == 4
        np.testing.assert_array_equal(signals.block(1, 3), Y[:, 1:3])
        np.testing.assert_array_equal(signals.signal(2), Y[:, 2])
        assert list(signals.blocks(3)) == [(0, 3), (3, 4)]


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(3))
    np.testing.assert_array_equal(Signals(frame, 3).block(0, 2), np.eye(3)[:, :2])


@pytest.mark.parametrize("order", ["C", "F"])
def test_signals_stay_as_they_are(order):
    Y = np.array([[3.0, 0.0], [4.0, 0.0]], order=order)
    rows, norms = unit_signals(Y, 0, np.dtype(float))
    np.testing.assert_array_equal(Y, [[3.0, 0.0], [4.0, 0.0]])
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]])
    np.testing.assert_array_equal(norms, [5.0, 0.0])


@pytest.mark.parametrize("scale", [1e-320, 1e-250, 1e-120, 1e120, 1e300])
def test_any_scale(scale):
    Y = np.array([[3.0], [4.0]]) * scale
    rows, norms = unit_signals(Y, 0, np.dtype(float))
    np.testing.assert_allclose(np.linalg.norm(rows), 1.0)
    np.testing.assert_allclose(norms / scale, 5.0, rtol=1e-2 if scale < 1e-300 else 1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_signal_at_fault_is_named(bad):
    Y = np.ones((3, 5))
    Y[1, 4] = Y[2, 4] = bad
    with pytest.raises(InputError, match=r"Y has 2 NaN .* first at row 1 of signal 14"):
        unit_signals(Y, 10, np.dtype(float))


@pytest.mark.parametrize(
    ("Y", "words"),
    [
        (np.ones(3), r"pass Y.reshape\(-1, 1\)"),
        (np.ones((2, 3)), "pass Y.T"),
        (np.ones((2, 2)), r"shape \(3, T\), one signal a column, not \(2, 2\)"),
        (np.ones((3, 2, 2)), "one signal a column"),
        ([["a"], ["b"], ["c"]], "numbers"),
    ],
)
def test_what_is_no_table_of_signals(Y, words):
    with pytest.raises(InputError, match=words):
        Signals(Y, 3)
