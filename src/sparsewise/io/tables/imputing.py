"""What stands for a missing value: the median of a column, as often as rows count."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from sparsewise._util.text import quoted
from sparsewise.errors import InputError, Parameter
from sparsewise.io.tables.names import as_argument
from sparsewise.io.tables.parsing import ParsedRows

FloatArray = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

ROOM = 1 << 26
"""Bytes for what is counted while all rows are read once."""

MOST_BITS, FEWEST_BITS = 16, 8
"""By how many bits more a median is known after that."""


Count = Callable[[Bits, int, int], FloatArray]
"""From leading bits, their number and that of bits to follow, to weights: `counted` of all rows."""


def medians(columns: Sequence[str], count: Count) -> dict[str, float]:
    """Return the median of each column, where `count` reads all rows.

    As whole numbers of 64 bits, floating-point numbers keep their order. The median is between two
    values, the lower and the upper, which may be one. Every reading tells some more of their
    leading bits, and the weight of all values below.
    """
    if not columns:
        return {}
    leading, below = np.zeros((len(columns), 2), np.uint64), np.zeros((len(columns), 2))
    known, half = 0, None
    while known < 64:
        bits = min(_bits_at_once(columns), 64 - known)
        counts = count(leading, known, bits)
        if half is None:
            half = counts[:, :1].sum(axis=2) / 2
            _check_weight(columns, half[:, 0])
        until = below[:, :, None] + np.cumsum(counts, axis=2)
        # The lower value is the first that half of the weight is up to, the upper one the first
        # that more is up to.
        reached = np.stack([until[:, 0] >= half, until[:, 1] > half], axis=1)
        last = counts.shape[2] - 1 - np.argmax(counts[:, :, ::-1] > 0, axis=2)
        at = np.where(reached.any(axis=2), np.argmax(reached, axis=2), last)
        below = np.take_along_axis(until - counts, at[:, :, None], axis=2)[:, :, 0]
        leading = (leading << np.uint64(bits)) | at.astype(np.uint64)
        known += bits
    middle = _from_ordered(leading) / 2
    return dict(zip(columns, middle.sum(axis=1).tolist(), strict=True))


def _bits_at_once(columns: Sequence[str]) -> int:
    """How many bits a reading tells."""
    fitting = int(math.log2(max(ROOM / (16 * max(len(columns), 1)), 1)))
    return min(max(fitting, FEWEST_BITS), MOST_BITS)


def readings(columns: Sequence[str]) -> int:
    """How often all rows are to be read."""
    return math.ceil(64 / _bits_at_once(columns))


def _check_weight(columns: Sequence[str], weights: FloatArray) -> None:
    for name, weight in zip(columns, weights, strict=True):
        if not weight > 0:
            wrong = f"column {quoted(name)} has no value that counts: leave it out with "
            raise InputError((wrong, Parameter("exclude", as_argument([name]))))


def counted(
    pieces: Iterable[ParsedRows],
    columns: Sequence[str],
    weights: str | None,
    leading: Bits,
    known: int,
    bits: int,
) -> FloatArray:
    """Return the weight of values with these leading bits, by the bits that follow.

    Those of some rows and of others add up.

    Parameters
    ----------
    pieces : iterable of ParsedRows
        The rows.
    columns : sequence of str
        Columns of numbers.
    weights : str, optional
        The column that says how often each row counts.
    leading : ndarray of shape (columns, 2)
        The bits that are known of the lower and the upper value.
    known, bits : int
        How many bits that is, and how many follow.
    """
    counts = np.zeros((len(columns), 2, 1 << bits))
    for rows in pieces:
        often = np.ones(rows.profile.complete)
        if weights is not None:
            often = rows.values(weights).to_numpy()
        for name, both, two in zip(columns, leading, counts, strict=True):
            numbers = rows.values(name).to_numpy()
            there = ~np.isnan(numbers) & (often > 0)
            values, weight = _as_ordered(numbers[there]), often[there]
            for start, count in zip(both, two, strict=True):
                alike = np.ones(len(values), bool)
                if known:  # a shift by all 64 bits is undefined
                    alike = values >> np.uint64(64 - known) == start
                following = values[alike] << np.uint64(known) >> np.uint64(64 - bits)
                count += np.bincount(following.astype(np.int64), weight[alike], count.size)
    return counts


def _as_ordered(values: FloatArray) -> Bits:
    """Return whole numbers in the same order: the sign bit set, or all bits turned."""
    bits = (values + 0.0).view(np.uint64)  # there is but one zero
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def _from_ordered(keys: Bits) -> FloatArray:
    sign = np.uint64(1 << 63)
    return np.where(keys & sign, keys ^ sign, ~keys).view(np.float64)
