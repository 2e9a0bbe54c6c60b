"""The interface between a stored matrix and everything above it."""

from __future__ import annotations

import ctypes
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise._util.progress import unseen, waiting
from sparsewise.errors import InputError, InputTypeError
from sparsewise.kernels import load_kernels
from sparsewise.tolerances import Tolerances, tolerances

if TYPE_CHECKING:
    from sparsewise.design.dense import DenseDesign

BLOCK_BYTES = 4 << 20
"""A is processed in blocks of about this size, so that it is never copied as a whole."""

TILE_BYTES = 1 << 19
"""Blocks that are read several times have about this size, to stay in the cache."""

FOLD = 512
"""Rows folded into a triangle at once: enough for matrix products, few to store."""

NARROW = 256
"""Tables with fewer columns than this fold more rows at once, since calls dominate there."""

PANEL = 8
"""Columns reflected together are a multiple of this, to suit vector units."""

OPERATOR_COLUMNS = 16
"""Columns of an operator computed at once; progress is shown in between."""

PROBES = 16
"""Random vectors that estimate the norms of an operator's columns, to some 18 %."""

CHANCE_FACTOR = 3.0
"""The estimates are wrong by more than this factor a few times in a million columns."""

ADJOINT_TOL = 0.1
"""Relative difference of random products with A and its adjoint that is more than rounding."""

CONSTANT = 64
"""A column that varies by fewer units of rounding than this counts as constant."""


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
    rough : bool
        Whether norms are estimates (`Design.in_rough_units`).
    """

    norms: Array
    inverse: Array
    extreme: bool
    rough: bool = False


class AboutMeans(NamedTuple):
    """A real matrix centred at the weighted means of its columns.

    Attributes
    ----------
    design : Design
        The matrix, perhaps with a constant subtracted from each column: constant ones are zero.
    means : ndarray of shape (m,)
        The means of the columns.
    norms : ndarray of shape (m,)
        √(Σ_i w_i |a_ij - mean_j|²), free of cancellation.
    """

    design: Design
    means: Array
    norms: Array


class Design(ABC):
    """An n x m matrix A, accessed by columns and by products, and validated once.

    Cached values are assigned atomically: threads that share a design may compute one twice, but
    never see it half done.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : numpy.dtype
        float32, float64, complex64 or complex128.
    rows : float, optional
        How many measurements the rows stand for; None: one each.
    error : float
        Relative error of the entries where that is more than rounding; else 0.

    Attributes
    ----------
    shape : tuple of int
        ``(n, m)``: rows (measurements) and columns (features, atoms).
    dtype : numpy.dtype
        float32, float64, complex64 or complex128.
    rows : float
        The number of measurements from which noise is estimated: n, unless the columns were
        centred, rows were condensed, or rows have weights.
    error : float
        Relative error of the entries where that is more than rounding; else 0.
    is_operator : bool
        Whether A is an operator, applied once for every vector and every column. A stored matrix
        takes one pass for several vectors, and its columns are free.
    is_remote : bool
        Whether columns are held by other processes.
    dense : bool
        Whether A is an array in memory, which may be factorised as a whole.
    note : str
        Where A is stored, if not in this process.
    is_small : bool
        Whether A is handled as one array (`plan.is_small`).
    is_tall : bool
        Whether columns are few and long (`plan.is_tall`): inner products cost less than copies.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    rows: float
    error: float
    is_operator: bool = False
    is_remote: bool = False
    dense: bool = False
    note: str = ""
    _given_norms: Array | None = None  # norms given by the caller
    _by_probes: bool = False
    _approximate: Self | None = None

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        *,
        rows: float | None = None,
        error: float = 0.0,
    ) -> None:
        if len(shape) != 2:
            raise InputError(
                f"must have two dimensions (rows, columns), not {len(shape)}.", parameter="A"
            )
        if 0 in shape:
            raise InputError(
                f"is empty: its shape is {shape}",
                "give at least one row and column.",
                parameter="A",
            )
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype = dtype
        self.rows = self.shape[0] if rows is None else rows
        self.error = error
        self.is_small, self.is_tall = plan.is_small(self.shape), plan.is_tall(self.shape)
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

    def square_sums(self, weights: Array | None = None) -> Array:
        """Σ_i w_i |a_ij|² for every j, in A's precision; may overflow, underflow or be NaN."""
        return np.concatenate([square_sums(block, weights) for _, block in self._blocks()])

    def about_means(self, weights: Array | None) -> AboutMeans | None:
        """The centred matrix, if its storage can centre columns without computing them."""
        return None

    def row_block(self, rows: slice) -> Array:
        """Some rows of A."""
        first, last, _ = rows.indices(self.shape[0])
        unit = np.eye(self.shape[0], last - first, -first, self.dtype)
        return self.rmatmat(unit).conj().T

    def triangle(self, others: Array | None = None, *, first: Array | None = None) -> Array:
        """R of the QR of [first, A, others].

        Rows are folded into it a few at a time: n m² operations, and no array of A's size.
        """
        none = np.empty((self.shape[0], 0))
        left, right = none if first is None else first, none if others is None else others
        size = left.shape[1] + self.shape[1] + right.shape[1]
        R = np.zeros((size, size), np.result_type(self.dtype, left, right, np.float64), order="F")
        for start in range(0, self.shape[0], FOLD):
            rows = slice(start, start + FOLD)
            R = fold(R, np.column_stack([left[rows], self.row_block(rows), right[rows]]))
        return R

    def stored(self) -> DenseDesign:
        """The same matrix as an array in memory: each entry is computed once."""
        from sparsewise.design.dense import DenseDesign

        return DenseDesign(self._all_columns(), rows=self.rows, error=self.error)

    def _all_columns(self) -> Array:
        """A copy of A in memory."""
        A = np.empty(self.shape, self.dtype, order="F")
        for J in self._parts(TILE_BYTES):
            A[:, J] = self.columns(J)
        return A

    def _blocks(self) -> Iterator[tuple[int, Array]]:
        """A as contiguous dense blocks of columns, each with the index of its first column."""
        if self.is_small:
            yield 0, self.as_contiguous(None, self.dtype)
            return
        for J in self._parts(BLOCK_BYTES):
            yield J.start, np.ascontiguousarray(self.columns(J), self.dtype)

    def _parts(self, size: int) -> Iterator[slice]:
        """All columns in slices of about `size` bytes.

        An operator computes a few at a time and shows progress.
        """
        n, m = self.shape
        width = max(1, size // (n * self.dtype.itemsize))
        progress = unseen()
        if self.is_operator:
            width = min(width, OPERATOR_COLUMNS)
            progress = waiting(f"computing the {m:,} columns of an operator", m)
        with progress as wait:
            for first in range(0, m, width):
                yield slice(first, min(first + width, m))
                wait.update(width)

    def norms(self) -> Array:
        """‖a_j‖ for every column j (float64), cached; NaN and infinity raise an error."""
        return self.measured.norms

    def inverse_norms(self) -> Array:
        """1 / ‖a_j‖ in A's precision, cached; 0 for a column of zeros.

        A column below the smallest normal number counts as zero.
        """
        return self.measured.inverse

    @property
    def measured(self) -> Measured:
        """Norms and their inverses, computed on first use."""
        if self._measured is None:
            self._measured = self._measure()
        return self._measured

    @property
    def passes_to_measure(self) -> int:
        """How many passes over A measuring the norms would take: estimates compare A* with A."""
        if self._measured is not None:
            return 0
        return 2 if self._by_probes else 1

    def in_rough_units(self) -> Self:
        """The same matrix with estimated norms, if exact ones would take m products.

        For algorithms that need norms only as units. Whether norms were measured before makes no
        difference: the answer is the same to the last digit.
        """
        if not self.is_operator or self._given_norms is not None or self.shape[1] <= 2 * PROBES:
            return self
        if self._by_probes:
            return self
        if self._approximate is None:
            same = copy(self)
            same._measured, same._by_probes = None, True
            self._approximate = same
        return self._approximate

    def with_norms_of(self, other: Design) -> Self:
        """The same design with the norms of another one as its units."""
        self._measured = self._with_norms(other.norms())._replace(rough=other.measured.rough)
        return self

    def _measure_approximately(self) -> Measured:
        """Estimates of ‖a_j‖ by random vectors v with entries of mean 0 and variance 1.

        |a_j*v|² has the mean ‖a_j‖². If the estimates from `PROBES` vectors differ by no more than
        chance explains, all columns get one norm. A column of zeros is recognised as such.
        """
        rng = np.random.default_rng(0)
        V = rng.standard_normal((self.shape[0], PROBES)).astype(self.dtype)
        products = self.rmatmat(V)
        norms = scaled_norms(products.T) / math.sqrt(PROBES)
        if np.isnan(norms).any():
            raise self._not_finite()
        nonzero = norms > 0
        median = np.median(norms[nonzero]) if nonzero.any() else 1.0
        ratios = np.abs(np.log(norms[nonzero]) - math.log(median))
        if ratios.max(initial=0.0) < math.log(CHANCE_FACTOR):
            norms[nonzero] = median
        measured = self._with_norms(norms)._replace(rough=True)
        # A wrong adjoint may report zeros where there are none. Random x: many an operator maps
        # equal entries to zero, and both sides would be rounding errors.
        scales = np.where(measured.inverse > 0, measured.inverse, 1)
        x = (rng.standard_normal(scales.size) * scales).astype(self.dtype)
        forward, terms = V.T @ self.matvec(x), products.conj().T * x
        adjoint = terms.sum(axis=1)
        allowed = ADJOINT_TOL * np.linalg.norm([forward, adjoint])
        rounding = tolerances(self.dtype).drift * np.linalg.norm(terms)
        if np.linalg.norm(forward - adjoint) > allowed + rounding:
            raise not_adjoint()
        return measured

    @property
    def tolerances(self) -> Tolerances:
        """Tolerances that follow from rounding, or from the error of the entries."""
        return tolerances(self.dtype, self.error)

    def needs(self, dtype: np.dtype[Any]) -> frozenset[str]:
        """What a kernel must support that is to work on A, in this type: see `plan.Task`."""
        return plan.needs(
            single=dtype.char in "fF",
            extreme=self.measured.extreme,
            error=self.error,
            storage=self.in_place(dtype) is None,
            operator=self.is_operator,
            remote=self.is_remote,
        )

    def _measure(self) -> Measured:
        """Norms and their inverses in one pass; scaled where squares may overflow or underflow."""
        if self._by_probes:
            return self._measure_approximately()
        if self.is_operator and not self.is_small:  # columns cost far more than scaling
            return self._with_norms(self._scaled_norms())
        norms, inverse, least, together = self._quick_norms()
        low, high = safe_squares(self.dtype.char)
        if low < least and together < high:  # False for NaN
            return Measured(norms, inverse, extreme=False)
        return self._with_norms(self._scaled_norms())

    def _with_norms(self, norms: Array) -> Measured:
        """Norms, which may be zero or of any size, with their inverses."""
        real = precision(self.dtype)
        if (beyond := np.flatnonzero(norms > float(real.max))).size:
            raise InputError(
                f"has columns of norms beyond the range of {self.dtype}, first column {beyond[0]}",
                "divide them by a power of ten.",
                parameter="A",
            )
        inverse = np.zeros(self.shape[1], real.dtype)
        large = norms > 4 * float(real.tiny)
        np.divide(1.0, norms, out=inverse, where=large, casting="same_kind")
        low, high = safe_squares(self.dtype.char)
        with np.errstate(over="ignore", under="ignore"):
            squares = np.square(norms)
            moderate = low < squares.min() and squares.sum() < high
        return Measured(norms, inverse, extreme=not moderate)

    def _quick_norms(self) -> tuple[Array, Array, float, float]:
        """Norms and inverses by unscaled sums of squares, the smallest of these and their sum."""
        real = precision(self.dtype).dtype
        if (W := self._cached_array()) is not None:
            norms = np.empty(self.shape[1])
            inverse = np.empty(self.shape[1], real)
            return norms, inverse, *load_kernels(self.shape).measure_columns(W, norms, inverse)
        sums = self.square_sums()
        norms = np.sqrt(sums.astype(np.float64, copy=False))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            inverse = (1.0 / norms).astype(real, copy=False)
        return norms, inverse, float(sums.min()), float(sums.sum())

    def _cached_array(self) -> Array | None:
        """A as a C-ordered array, if a compiled loop over it is the fastest way to norms."""
        return self.as_contiguous(None, self.dtype) if self.is_small else None

    def as_contiguous(self, J: Array | None, dtype: np.dtype[Any]) -> Array:
        """The columns J as a C-ordered array, which compiled loops read fastest.

        None stands for all of them, for a small A; these are cached.
        """
        if J is not None:
            return _aligned(self.columns(J), dtype)
        block = self._whole  # another thread may set it to another type meanwhile
        if block is None or block.dtype != dtype:
            self._whole = block = self._as_whole(dtype)
        return block

    def _as_whole(self, dtype: np.dtype[Any]) -> Array:
        """All columns of a small A as a C-ordered array of this type."""
        every = self._all_columns() if self.is_operator else self.columns(slice(None))
        return _aligned(every, dtype)

    def in_place(self, dtype: np.dtype[Any]) -> tuple[Array, bool] | None:
        """A C-ordered view of A or its transpose, and whether it is the transpose.

        None if there is no contiguous array of this type.
        """
        return None

    def _scaled_norms(self) -> Array:
        """Norms of columns divided by their largest entry first: accurate at every scale."""
        norms = np.empty(self.shape[1])
        for first, block in self._blocks():
            part = scaled_norms(block)
            if np.isnan(part).any():
                raise self._not_finite()
            norms[first : first + part.size] = part
        return norms

    def faults(self) -> tuple[int, tuple[int, int] | None]:
        """The number of NaN or infinite entries, and row and column of the first one."""
        count, where = 0, None
        for first, block in self._blocks():
            rows, columns = np.nonzero(~np.isfinite(block))
            if rows.size and where is None:
                at = np.lexsort((rows, columns))[0]
                where = int(rows[at]), int(first + columns[at])
            count += rows.size
        return count, where

    def _not_finite(self) -> InputError:
        count, where = self.faults()
        return not_finite("A", count, where or ())


def scaled_norms(block: Array) -> Array:
    """Norms of columns divided by their largest entry first; NaN if any entry is not finite."""
    size = np.abs(block).max(axis=0).astype(np.float64)
    if not np.isfinite(size).all():
        return np.full(size.size, np.nan)
    moderate, power = near_one(block, size)
    with np.errstate(over="ignore", under="ignore"):
        norms = np.linalg.norm(moderate, axis=0).astype(np.float64)
        return np.asarray(np.ldexp(norms, power))


def near_one(values: Array, size: Any) -> tuple[Array, Any]:
    """Values of at most this size scaled by powers of two to about one, and the exponents.

    Exact except for underflow, unlike division, which may overflow inside for complex numbers.
    """
    _, power = np.frexp(size)
    half = -power // 2
    double = np.result_type(values, np.float64)
    with np.errstate(under="ignore"):
        return values.astype(double) * np.ldexp(1.0, half) * np.ldexp(1.0, -power - half), power


def not_finite(name: str, count: int, where: str | Iterable[int]) -> InputError:
    """The error for NaN or infinite entries, the first of them in this row, or row and column."""
    if not isinstance(where, str):
        where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), where, strict=False))
    entries, them = ("entry", "it") if count == 1 else ("entries", "them")
    return InputError(
        f"has {count} NaN or infinite {entries}, the first at {where}",
        f"drop or fill {them} first.",
        parameter=name,
    )


def not_adjoint() -> InputError:
    """The error for an operator whose products contradict each other."""
    return InputError(
        "is an operator whose rmatvec is not the adjoint of its matvec",
        "⟨A x, v⟩ must be ⟨x, A* v⟩ for all x and v.",
        parameter="A",
    )


FLOATS = "fdFD"
"""The supported types by NumPy's characters: single, double, and their complex pairs."""


def working_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """The type itself if supported, otherwise the nearest that is; in native byte order."""
    if dtype.char in FLOATS:
        return dtype.newbyteorder("=")
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype.kind == "f":
        return np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    raise InputTypeError(
        f"must hold numbers, but its type is {dtype}", "convert it first.", parameter=name
    )


ALIGNMENT = 64
"""Bytes; vector loads across two cache lines take half as long again."""


def _aligned(values: Array, dtype: np.dtype[Any]) -> Array:
    """A C-ordered copy that starts on a cache line."""
    room = np.empty(values.size * dtype.itemsize + ALIGNMENT, np.uint8)
    address = ctypes.addressof(ctypes.c_char.from_buffer(room.data))  # faster than room.ctypes
    copy = np.ndarray(values.shape, dtype, room, -address % ALIGNMENT)
    copy[...] = values
    return copy


def two_stage_mean(
    first: Array,
    mean_of_rest: Callable[[Array], Array],
    dtype: np.dtype[Any],
    where: Array | bool = True,
) -> tuple[Array, Array]:
    """The mean of each column as a number of this type and what is left of the mean.

    A first mean, rounded to the type of the entries, is taken from them, which is exact for those
    near it; the mean of the rest is small then, and has all its digits: large offsets cost none.

    Parameters
    ----------
    first : ndarray of shape (m,)
        The means in double precision, with their rounding.
    mean_of_rest : callable
        The means of the entries less the numbers that it is called with.
    dtype : numpy.dtype
        The type of the entries.
    where : ndarray of bool, optional
        The columns from which a first mean is taken; of others all is left.
    """
    mean = np.where(where, first, 0.0).astype(dtype)
    # What single precision has rounded away is known; doubles have rounded in the sums themselves.
    return mean, mean_of_rest(mean) if dtype.char in "dD" else first - mean


def constant_level(means: Array, dtype: np.dtype[Any]) -> Array:
    """Columns of entries of this type that vary by no more than this are constant."""
    return np.asarray(CONSTANT * float(precision(dtype).eps) * np.abs(means))


def tile_shape(X: Array) -> tuple[int, int]:
    """Rows and columns of a tile: whole rows or whole columns, in memory order."""
    n, m = X.shape
    if abs(X.strides[0]) < abs(X.strides[1]) or m <= 1:
        return n, max(1, TILE_BYTES // (n * X.itemsize))
    return max(1, TILE_BYTES // (m * X.itemsize)), m


def square_sums(A: Array, weights: Array | None = None) -> Array:
    """Σ_i w_i |a_ij|² for every column j.

    einsum follows memory order, copies nothing and ignores overflow. For contiguous columns, BLAS
    takes half the time.
    """
    if weights is None and A.flags.fnc:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.asarray(np.vecdot(A.T, A.T).real)
    if A.dtype.kind == "c":
        return square_sums(A.real, weights) + square_sums(A.imag, weights)
    if weights is not None:
        return np.asarray(np.einsum("i,ij,ij->j", weights.astype(A.dtype, copy=False), A, A))
    return np.asarray(np.einsum("ij,ij->j", A, A))


def fold(R: Array, B: Array) -> Array:
    """R of the QR of [R; B] for a triangular R; either argument may be overwritten.

    Both are best in Fortran order. B has any number of rows, and entries below R's diagonal are
    not touched. Squares of entries are never formed, but norms of columns must be in range.
    Reflections are blocked in panels: with p columns each, the work within panels grows as p m,
    that of applying them as m²/p, so p is about √m.
    """
    from scipy.linalg import get_lapack_funcs

    tpqrt: Any = get_lapack_funcs("tpqrt", (R,))
    panel = PANEL * math.ceil(math.sqrt(len(R)) / PANEL)
    below = np.asfortranarray(B, R.dtype)
    folded: Array = tpqrt(0, min(panel, len(R)), R, below, overwrite_a=1, overwrite_b=1)[0]
    return folded


def fold_rows(columns: int) -> int:
    """The number of rows of a table to fold at once."""
    return FOLD * max(1, NARROW // columns)


def precision(dtype: np.dtype[Any]) -> np.finfo[Any]:
    """The limits of a floating-point type."""
    return _precision(dtype.char)


@cache
def _precision(char: str) -> np.finfo[Any]:
    return np.finfo(char)


@cache
def safe_squares(char: str) -> tuple[float, float]:
    """The range of squares: below it digits are lost to underflow, above it sums may overflow."""
    real = _precision(char)
    return float(real.tiny) / float(real.eps) ** 2, float(real.max) * float(real.eps)
