"""Many signals, one a column: read by blocks, checked, and scaled to norm one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import near_one, not_finite, square_sums
from sparsewise.design.choose import as_floats
from sparsewise.errors import InputError

SAFE = 1e-200, 1e200
"""Squares of norms that have neither overflowed nor lost digits to underflow."""


class Signals:
    """Many signals, one in each column of Y, read a block at a time.

    Parameters
    ----------
    Y : array-like of shape (n, T)
        An array, a memory map, or whatever else gives blocks of columns by ``Y[:, first:last]``.
    rows : int
        How many rows there are to be.
    """

    def __init__(self, Y: Any, rows: int) -> None:
        if hasattr(Y, "iloc") or not (hasattr(Y, "shape") and hasattr(Y, "dtype")):
            Y = np.asarray(Y)
        if np.dtype(Y.dtype).kind not in "biufc":
            Y = as_floats(Y, "Y")
        self._Y = Y
        shape = tuple(Y.shape)
        if len(shape) == 1:
            raise InputError(
                "must have two dimensions, one signal a column",
                "pass Y.reshape(-1, 1) for one signal.",
                parameter="Y",
            )
        if len(shape) != 2 or shape[0] != rows:
            wrong = f"must have shape ({rows}, T), one signal a column, not {shape}"
            if len(shape) == 2 and shape[1] == rows:
                raise InputError(wrong, "pass Y.T.", parameter="Y")
            raise InputError(f"{wrong}.", parameter="Y")
        self.count = int(shape[1])
        self.is_complex = np.dtype(Y.dtype).kind == "c"

    def block(self, first: int, last: int) -> Array:
        """Signals first..last as columns, in a floating-point type."""
        block = self._Y[:, first:last]
        return as_floats(block.toarray() if hasattr(block, "toarray") else block, "Y")

    def signal(self, t: int) -> Array:
        """One signal."""
        return self.block(t, t + 1)[:, 0]

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """All signals, so many at a time: first and last of each block."""
        for first in range(0, self.count, size):
            yield first, min(first + size, self.count)


def unit_signals(block: Array, first: int, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Signals scaled to norm one, one a row, and their norms; rows of zeros have norm 0.

    NaN and infinity are refused, with the number of the signal; `first` is that of the first.
    """
    rows = np.array(block.T, dtype, order="C")  # a copy, always: it is scaled in place
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = square_sums(rows.T)
    norms = np.sqrt(squares)
    safe = (squares > SAFE[0]) & (squares < SAFE[1])
    for s in np.flatnonzero(~safe).tolist():
        largest = np.abs(rows[s]).max()
        if not np.isfinite(largest):
            bad = np.flatnonzero(~np.isfinite(rows[s]))
            raise not_finite("Y", bad.size, f"row {bad[0]} of signal {first + s}")
        if largest > 0:
            rows[s], power = near_one(rows[s], largest)
            norm = np.linalg.norm(rows[s])
            with np.errstate(over="ignore"):
                norms[s] = np.ldexp(norm, power)
            rows[s] /= norm
        else:
            norms[s] = 0.0
    rows[safe] /= norms[safe, None]
    return rows, norms
