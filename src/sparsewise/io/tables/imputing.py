"""What stands for a missing value: the median of a column, as often as rows count."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sparsewise._util.text import quoted
from sparsewise.errors import InputError, Parameter
from sparsewise.io.tables.names import as_argument
from sparsewise.io.tables.profile import ParsedRows

FloatArray = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

ROOM = 1 << 26
"""Bytes for what is counted while all rows are read once."""

MOST_BITS, FEWEST_BITS = 16, 8
"""By how many bits more a median is known after that."""


@dataclass(frozen=True)
class Narrowing:
    """What is known of medians after all rows were read a few times: their leading bits.

    As whole numbers of 64 bits, floating-point numbers keep their order.
    The median is between two values, the lower and the upper, which may be one: of each the same
    number of leading bits is known.

    Attributes
    ----------
    columns : tuple of str
        Those of numbers.
    weights : str, optional
        The column that says how often each row counts.
    booleans : frozenset of str
        Those that say true and false.
    leading : ndarray of shape (columns, 2)
        The bits that are known of the lower and the upper value.
    below : ndarray of shape (columns, 2)
        The weight of all values whose leading bits are lower.
    bits_known : int
        How many bits that is.
    half : ndarray of shape (columns, 1), optional
        Half of the weight of all values, once they were read.
    """

    columns: tuple[str, ...]
    weights: str | None
    booleans: frozenset[str]
    leading: Bits
    below: FloatArray
    bits_known: int = 0
    half: FloatArray | None = None

    @classmethod
    def begin(
        cls, columns: Collection[str], weights: str | None, booleans: Collection[str]
    ) -> Narrowing:
        """Nothing is known."""
        shape = len(columns), 2
        leading = np.zeros(shape, np.uint64)
        return cls(tuple(columns), weights, frozenset(booleans), leading, np.zeros(shape))

    @property
    def bits(self) -> int:
        """How many bits the next reading is to tell."""
        fitting = int(math.log2(max(ROOM / (16 * max(len(self.columns), 1)), 1)))
        return min(max(fitting, FEWEST_BITS), MOST_BITS, 64 - self.bits_known)

    @property
    def readings(self) -> int:
        """How often all rows are to be read."""
        return math.ceil((64 - self.bits_known) / max(self.bits, 1))

    def counted(self, pieces: Iterable[ParsedRows]) -> FloatArray:
        """Return the weight of values with the known bits, by the bits that follow.

        Those of some rows and of others add up.
        """
        counts = np.zeros((len(self.columns), 2, 1 << self.bits))
        for rows in pieces:
            often = np.ones(rows.profile.complete)
            if self.weights is not None:
                often = rows.numbers(self.weights, self.booleans).to_numpy()
            for i, name in enumerate(self.columns):
                values = rows.numbers(name, self.booleans).to_numpy()
                there = ~np.isnan(values) & (often > 0)
                self._count(counts[i], self.leading[i], _as_ordered(values[there]), often[there])
        return counts

    def _count(self, counts: FloatArray, leading: Bits, values: Bits, weights: FloatArray) -> None:
        known, following = np.uint64(self.bits_known), np.uint64(64 - self.bits)
        for count, bits in zip(counts, leading, strict=True):
            alike = np.ones(len(values), bool)
            if self.bits_known:  # a shift by all 64 bits is undefined
                alike = values >> np.uint64(64 - self.bits_known) == bits
            next_bits = values[alike] << known >> following
            count += np.bincount(next_bits.astype(np.int64), weights[alike], count.size)

    def narrowed(self, counts: FloatArray) -> Narrowing:
        """Return what is known with these counts of all rows."""
        half = self.half if self.half is not None else counts[:, :1].sum(axis=2) / 2
        for name, weight in zip(self.columns, half[:, 0], strict=True):
            if not weight > 0:
                wrong = f"column {quoted(name)} has no value that counts: leave it out with "
                raise InputError((wrong, Parameter("exclude", as_argument([name]))))
        until = self.below[:, :, None] + np.cumsum(counts, axis=2)
        # The lower value is the first that half of the weight is up to, the upper one the first
        # that more is up to.
        reached = np.stack([until[:, 0] >= half, until[:, 1] > half], axis=1)
        last = counts.shape[2] - 1 - np.argmax(counts[:, :, ::-1] > 0, axis=2)
        at = np.where(reached.any(axis=2), np.argmax(reached, axis=2), last)
        below = np.take_along_axis(until - counts, at[:, :, None], axis=2)[:, :, 0]
        leading = (self.leading << np.uint64(self.bits)) | at.astype(np.uint64)
        known = self.bits_known + self.bits
        return replace(self, leading=leading, below=below, bits_known=known, half=half)

    def medians(self) -> dict[str, float]:
        """Return the medians, once all bits are known."""
        middle = _from_ordered(self.leading) / 2
        return dict(zip(self.columns, middle.sum(axis=1).tolist(), strict=True))


def medians(state: Narrowing, count: Callable[[Narrowing], FloatArray]) -> dict[str, float]:
    """Return the median of each column, where `count` reads all rows for `Narrowing.counted`."""
    while state.columns and state.bits_known < 64:
        state = state.narrowed(count(state))
    return state.medians()


def _as_ordered(values: FloatArray) -> Bits:
    """Return whole numbers in the same order: the sign bit set, or all bits turned."""
    bits = (values + 0.0).view(np.uint64)  # there is but one zero
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def _from_ordered(keys: Bits) -> FloatArray:
    sign = np.uint64(1 << 63)
    return np.where(keys & sign, keys ^ sign, ~keys).view(np.float64)
