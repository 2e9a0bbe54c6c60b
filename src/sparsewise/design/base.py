"""The contract between a stored matrix and everything above it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsewise.compiled import load_kernels

Array = NDArray[Any]

SMALL = 1 << 16
"""A with at most this many entries is copied and looked at as a whole."""

BLOCK_BYTES = 4 << 20
"""Work on parts of A is done in blocks of about this size, so that no copy of A ever exists."""


class Measured(NamedTuple):
    """The norms of all columns.

    Attributes
    ----------
    norms : ndarray of shape (m,)
        ‖a_j‖, float64.
    inverse : ndarray of shape (m,)
        1 / ‖a_j‖ in A's precision; 0 for a column of zeros.
    extreme : bool
        Whether some column may be zero, or so large or small that its square is out of range.
    """

    norms: Array
    inverse: Array
    extreme: bool


class Design(ABC):
    """An n x m matrix A, reached by columns and by products, checked once.

    Attributes
    ----------
    shape : tuple of int
        ``(n, m)``: rows (measurements) and columns (features, atoms).
    dtype : numpy.dtype
        float32, float64, complex64 or complex128.
    rows : float
        How many measurements there are to tell the noise from: n, unless the mean of each column
        was taken away, many rows were condensed into few, or rows count by weights.
    applied : bool
        Whether A is an operator, to be applied for every vector and every column; products with
        what is stored take one pass over it for several vectors, and columns are just there.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    rows: float
    applied: bool = False

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        if len(shape) != 2:
            raise ValueError(f"A must have two dimensions (rows, columns), not {len(shape)}.")
        if 0 in shape:
            raise ValueError(f"A is empty: its shape is {shape}; give at least one row and column.")
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype = dtype
        self.rows = self.shape[0]
        self._measured: Measured | None = None
        self._whole: Array | None = None

    def column(self, j: int) -> Array:
        """Column j as a vector of length n."""
        return self.columns(np.array([j]))[:, 0]

    @abstractmethod
    def columns(self, J: Array | slice) -> Array:
        """The columns J, side by side: n x len(J)."""

    def unit_columns(self, J: Array | slice) -> Array:
        """The columns J scaled to unit norm; a column of zeros stays one."""
        return self.columns(J) * self.inverse_norms()[J]

    @abstractmethod
    def matvec(self, x: Array) -> Array:
        """A x."""

    def rmatvec(self, v: Array) -> Array:
        """A* v, with A* the conjugate transpose."""
        return self.rmatmat(v[:, None])[:, 0]

    @abstractmethod
    def rmatmat(self, V: Array) -> Array:
        """A* V for the columns of V at once: m x s, in one pass over A."""

    @abstractmethod
    def _square_sums(self) -> Array:
        """Σ_i |a_ij|² for every j, in A's precision; may overflow, underflow or be NaN."""

    def _blocks(self) -> Iterator[tuple[int, Array]]:
        """A as contiguous dense blocks of columns, each with the index of its first column."""
        n, m = self.shape
        width = max(1, BLOCK_BYTES // (n * self.dtype.itemsize))
        for first in range(0, m, width):
            block = self.columns(slice(first, min(first + width, m)))
            yield first, np.ascontiguousarray(block, self.dtype)

    def sq_norms(self) -> Array:
        """‖a_j‖² for every column j (float64)."""
        return np.square(self.norms())

    def norms(self) -> Array:
        """‖a_j‖ for every column j (float64); refuses NaN and infinity. Kept for later calls."""
        return self.measured.norms

    def inverse_norms(self) -> Array:
        """1 / ‖a_j‖ in A's precision; 0 for a column of zeros. Kept for later calls.

        A column below the smallest normal number counts as zero.
        """
        return self.measured.inverse

    @property
    def measured(self) -> Measured:
        """Norms and their inverses, made when first asked for.

        Set as a whole: threads that share a design may measure it twice, but never see half of it.
        """
        if self._measured is None:
            self._measured = self._measure()
        return self._measured

    @property
    def is_measured(self) -> bool:
        """Whether the norms are known."""
        return self._measured is not None

    @property
    def is_small(self) -> bool:
        """Whether A is small enough to be looked at as a whole."""
        return self.shape[0] * self.shape[1] <= SMALL

    def _measure(self) -> Measured:
        """Norms and their inverses, in one pass; carefully where squares may be out of range."""
        norms, inverse, least, together = self._quick_norms()
        low, high = _safe_squares(self.dtype.char)
        if low < least and together < high:  # a NaN fails this, too
            return Measured(norms, inverse, extreme=False)
        return self._with_norms(self._scaled_norms())

    def _with_norms(self, norms: Array) -> Measured:
        """What follows from norms that may be zero, or of any size."""
        real = precision(self.dtype)
        inverse = np.zeros(self.shape[1], real.dtype)
        large = norms > 4 * float(real.tiny)
        np.divide(1.0, norms, out=inverse, where=large, casting="same_kind")
        return Measured(norms, inverse, extreme=True)

    def _quick_norms(self) -> tuple[Array, Array, float, float]:
        """Norms and inverses by plain squares, the least of these and their sum."""
        real = precision(self.dtype).dtype
        if self.is_small:
            norms = np.empty(self.shape[1])
            inverse = np.empty(self.shape[1], real)
            W = self.laid_out(None, self.dtype)
            return norms, inverse, *load_kernels().measure_columns(W, norms, inverse)
        sums = self._square_sums()
        norms = np.sqrt(sums.astype(np.float64, copy=False))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            inverse = (1.0 / norms).astype(real, copy=False)
        return norms, inverse, float(sums.min()), float(sums.sum())

    def laid_out(self, J: Array | None, dtype: np.dtype[Any]) -> Array:
        """The columns J, C-ordered and aligned, as compiled loops are quickest with.

        None: all of them, for an A that is small; these are kept for later calls.
        """
        if J is None and self._whole is not None and self._whole.dtype == dtype:
            return self._whole
        block = _aligned(self.columns(slice(None) if J is None else J), dtype)
        if J is None:
            self._whole = block
        return block

    def _scaled_norms(self) -> Array:
        """Norms of columns divided by their largest entry first: right at every scale."""
        norms = np.empty(self.shape[1])
        for first, block in self._blocks():
            size = np.abs(block).max(axis=0).astype(np.float64)
            if not np.isfinite(size).all():
                raise ValueError(self._not_finite())
            unit = np.where(size > 0, size, 1.0)
            norms[first : first + size.size] = size * np.linalg.norm(block / unit, axis=0)
        return norms

    def _not_finite(self) -> str:
        count, where = 0, ""
        for first, block in self._blocks():
            rows, columns = np.nonzero(~np.isfinite(block))
            if rows.size and not where:
                at = np.lexsort((rows, columns))[0]
                where = f"row {rows[at]}, column {first + columns[at]}"
            count += rows.size
        return not_finite("A", count, where)


def not_finite(name: str, count: int, where: str) -> str:
    """What to say of NaN and infinity."""
    entries, them = ("entry", "it") if count == 1 else ("entries", "them")
    return (
        f"{name} has {count} NaN or infinite {entries}, the first at {where}; "
        f"drop or fill {them} first."
    )


FLOATS = "fdFD"
"""The types we work in, by NumPy's characters: single, double, and their complex pairs."""


def working_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """The type itself if we work in it, else the nearest in which we do; in native byte order."""
    if dtype.char in FLOATS:
        return dtype.newbyteorder("=")
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype.kind == "f":
        return np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    raise TypeError(f"{name} must hold numbers, but its type is {dtype}; convert it first.")


ALIGNMENT = 64
"""Bytes; vector loads that straddle two cache lines take half as long again."""


def _aligned(values: Array, dtype: np.dtype[Any]) -> Array:
    """A C-ordered copy that starts on a cache line."""
    room = np.empty(values.size * dtype.itemsize + ALIGNMENT, np.uint8)
    address: int = room.__array_interface__["data"][0]
    copy = np.ndarray(values.shape, dtype, room, -address % ALIGNMENT)
    copy[...] = values
    return copy


def square_sums(A: Array) -> Array:
    """Σ_i |a_ij|² for every column j.

    einsum goes along the memory whatever the order, copies nothing and ignores overflow.
    """
    if A.dtype.kind == "c":
        return square_sums(A.real) + square_sums(A.imag)
    return np.asarray(np.einsum("ij,ij->j", A, A))


def precision(dtype: np.dtype[Any]) -> np.finfo[Any]:
    """The limits of a floating-point type."""
    return _precision(dtype.char)


@cache
def _precision(char: str) -> np.finfo[Any]:
    return np.finfo(char)


@cache
def _safe_squares(char: str) -> tuple[float, float]:
    """Below the first a square has lost digits to underflow; above the second it may overflow."""
    real = _precision(char)
    return float(real.tiny) / float(real.eps) ** 2, float(real.max) * float(real.eps)
