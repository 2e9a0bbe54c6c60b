"""The triangular factor of a table's rows, which has the inner products of its columns.

Algorithms use a table through inner products of its columns alone, and these are those of the
triangle R of its QR decomposition,

    [1  Z - 1 c*] √w = Q R,        R of as many rows as columns,

which is computed chunk by chunk, in any order, and from the triangles of parts: two of them
stacked have the R of all their rows (Golub and Van Loan, section 5.1). The Gram matrix would take
half the operations, and keep half the digits.

The shift c, about the mean of the first rows, also preserves digits: a column far from zero that
varies little keeps its variation. Another shift changes only the first row of R, so that triangles
with different shifts can be merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import CONSTANT, Design, fold, fold_rows, not_finite, precision
from sparsewise.design.dense import DenseDesign
from sparsewise.errors import InputError, Parameter

FAR = 256
"""A column whose size is 2 to more than this, or to less than minus this, is scaled by a power of
two, lest squares be out of range."""

FARTHEST = 1000
"""The largest of these powers: two to it, or to minus it, is in range."""

REAL, INTEGER = ("f8",), ("i8", "i4")
ARRAYS = {
    "R": ("f8", "c16"),
    "shift": ("f8", "c16"),
    "powers": INTEGER,
    "size": REAL,
    "error": REAL,
    "has_means": ("b1",),
    "eps": REAL,
    "weight": (*REAL, *INTEGER),
    "count": INTEGER,
}
"""The types of a saved triangle's arrays."""

COARSE = 2.0**-8
"""Columns that are known no better than to this tell nothing of how they belong together."""


@dataclass(kw_only=True, eq=False)
class Triangle:
    """R of the QR of [1, Z - 1 c*] with rows times √w, for rows Z that came in chunks.

    `Triangle.empty` begins with no rows, `update` takes them in, and triangles add up.

    Attributes
    ----------
    R : ndarray of shape (min(rows, 1 + columns), 1 + columns)
        Upper triangular (trapezoidal while rows are few), in double precision; column j + 1 is
        that of Z_j times 2 to -powers_j.
    shift : ndarray of shape (columns,)
        c.
    powers : ndarray of int of shape (columns,)
        Zero but for columns whose squares would be out of range.
    size : ndarray of shape (columns,)
        A bound on |z - c|, reached unless triangles with other shifts were merged.
    eps : float
        Of the precision that entries had: what tells a constant column from others.
    error : ndarray of shape (columns,)
        By how much the length of each column may be off, where it was made of a square; else 0.
    has_means : bool
        Whether the first column of R tells means, or there is nothing to tell them from.
    weight : float
        Σ w.
    count : int
        How many rows there were.
    """

    R: Array
    shift: Array
    powers: Array
    size: Array
    error: Array
    has_means: bool = True
    eps: float = 0.0
    weight: float = 0.0
    count: int = 0

    @classmethod
    def empty(cls, columns: int) -> Self:
        """That of no rows, of so many columns."""
        shift, size, error = np.zeros((3, columns))
        powers = np.zeros(columns, np.int64)
        return cls(R=np.empty((0, 1 + columns)), shift=shift, powers=powers, size=size, error=error)

    @property
    def columns(self) -> int:
        """How many columns Z has."""
        return self.shift.size

    def to_arrays(self) -> dict[str, Array]:
        """All that is known, by name: `from_arrays` makes the same triangle of it."""
        return {one.name: np.asarray(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], columns: int) -> Self:
        """The triangle of so many columns with these arrays; ValueError or KeyError: it is none."""
        known: dict[str, Any] = {}
        for name, types in ARRAYS.items():
            array = arrays[name]
            each = (columns,) if name in ("shift", "powers", "size", "error") else ()
            shape = (min(len(array), 1 + columns), 1 + columns) if name == "R" else each
            if array.shape != shape or array.dtype.str[1:] not in types:
                raise ValueError(f"{name} is of shape {array.shape} and type {array.dtype}")
            if name != "error" and not np.isfinite(array).all():
                raise ValueError(f"{name} is not finite")
            known[name] = array if array.ndim else array.item()
        triangle = cls(**known)
        if not triangle.weight >= 0 or bool(triangle.count > 0) != bool(len(triangle.R)):
            raise ValueError(f"{triangle.count} rows make {len(triangle.R)} of R")
        if (np.abs(triangle.powers) > FARTHEST).any():
            raise ValueError("powers are out of range")
        return triangle

    def update(
        self, parts: list[Design], weights: Array | None = None, at: Array | None = None
    ) -> None:
        """Take in rows of Z, whose columns are those of several designs side by side.

        Parameters
        ----------
        parts : list of Design
            The columns of Z.
        weights : ndarray, optional
            Of all its rows, greater than zero for those that are taken in; None: one each.
        at : ndarray of int, optional
            The rows; None: all, for which any design will do.
        """
        n = parts[0].shape[0] if at is None else at.size
        at_once = fold_rows(1 + self.columns)
        for start in range(0, n, at_once):
            stop = min(start + at_once, n)
            rows: Any = slice(start, stop) if at is None else at[start:stop]
            block = self._block(parts, rows)
            if weights is not None:
                block *= np.sqrt(weights[rows, None])
                self.weight += float(weights[rows].sum())
            self._take(block)
            self.count += len(block)
        self.weight += n if weights is None else 0.0
        self.eps = max(self.eps, *(float(precision(part.dtype).eps) for part in parts))

    def __add__(self, other: Triangle) -> Triangle:
        """The triangle of the rows of both."""
        if not self.count or not other.count:
            return other.copy() if other.count else self.copy()
        merged, added = self.copy(), other._shifted(self.shift)
        merged.fit_powers(added.size)
        added._rescale(merged.powers)
        merged._take(np.asfortranarray(added.R))
        merged.eps = max(self.eps, other.eps)
        merged.error = np.hypot(self.error, other.error)
        merged.has_means = self.has_means and other.has_means
        merged.weight, merged.count = self.weight + other.weight, self.count + other.count
        return merged

    def copy(self) -> Triangle:
        """The same, to be changed."""
        return replace(self, R=self.R.copy())  # other arrays are replaced, never written to

    @property
    def means(self) -> Array:
        """The weighted means of the columns of Z."""
        left = self.R[0, 1:] / self.R[0, 0]
        return np.asarray(self.shift + np.ldexp(1.0, self.powers) * left)

    def centred(self) -> Array:
        """What the means leave: a matrix whose columns have the inner products of Z - means.

        Constant columns are exactly zero.
        """
        if not self.has_means:
            raise InputError(
                "The means of these rows are not known, so that no intercept can be taken out",
                ("give them with their Gram matrix, or fit without an intercept (",
                 Parameter("fit_intercept", False), ")."),
            )  # fmt: skip
        R = self.R[1:, 1:] * np.ldexp(1.0, self.powers)
        means = self.means
        varies = self.size + np.abs(means - self.shift) > CONSTANT * self.eps * np.abs(means)
        if self.error.any():
            varies &= DenseDesign(R).norms() > CONSTANT**0.5 * self.error if len(R) else False
        return np.asarray(R * varies)

    def plain(self) -> Array:
        """A matrix whose columns have the inner products of those of Z itself."""
        R = self.R[:, 1:] * np.ldexp(1.0, self.powers)
        R[:1] += self.R[:1, :1] * self.shift
        return R

    def error_of(self, matrix: Array, targets: int = 1) -> float:
        """By how much columns of a matrix with these inner products may be off, relatively.

        So many of them, the last, are targets.
        """
        if not self.error.any():
            return 0.0
        norms = DenseDesign(matrix).norms()
        off = np.divide(self.error, norms, out=np.zeros(norms.size), where=norms > 0)
        j = int(np.argmax(off))
        if off[j] > COARSE:
            first = off.size - targets
            which = f"Column {j}" if j < first else "The target"
            which += f" {j - first}" if j >= first and targets > 1 else ""
            wrong = f"{which} is known to {off[j]:.2g} of its length only, as sums of squares go"
            advice = "sum in double precision, about numbers near the means, without constants."
            raise InputError(wrong, advice)
        return float(off[j])

    def squared_norms(self, constants: Array, coefs: Array) -> Array:
        """Σ w |b + z·a|² over all rows, for each b of `constants` and column a of `coefs`."""
        first = constants + self.shift @ coefs
        rest = np.ldexp(1.0, self.powers)[:, None] * coefs
        return np.asarray(np.square(np.abs(self.R @ np.vstack([first, rest]))).sum(axis=0))

    # ------------------------------------------------------------------ how it is made

    def _block(self, parts: list[Design], rows: Any) -> Array:
        """These rows of [1, Z - 1 c*], scaled; those that come first say by how much."""
        pieces = [part.row_block(rows) for part in parts]
        dtype = np.result_type(self.R.dtype, *pieces)
        block = np.empty((len(pieces[0]), 1 + self.columns), dtype, order="F")
        block[:, 0], Z = 1.0, block[:, 1:]
        np.concatenate(pieces, axis=1, out=Z)
        if not self.count:
            self.shift = _middle(Z)
        with np.errstate(over="ignore", invalid="ignore"):
            Z -= self.shift
        size = np.abs(Z).max(axis=0)
        if not np.isfinite(size).all():
            raise _out_of_range(pieces, rows)
        self.fit_powers(size)
        if self.powers.any():
            Z *= np.ldexp(1.0, -self.powers)
        return block

    def _take(self, block: Array) -> None:
        """Put rows below the triangle, and make it one again."""
        if len(self.R) < self.R.shape[1]:
            self.R = np.asarray(np.linalg.qr(np.vstack([self.R, block]), mode="r"))
        else:
            R = np.asfortranarray(self.R, np.result_type(self.R, block))
            self.R = fold(R, block)

    def _shifted(self, shift: Array) -> Triangle:
        """The same rows with another shift: the first row of R tells all of it."""
        other, by = self.copy(), self.shift - shift
        other.R = other.R.astype(np.result_type(other.R, by), copy=False)
        other.shift = shift
        other.fit_powers(self.size + np.abs(by))
        other.R[0, 1:] += other.R[0, 0] * by * np.ldexp(1.0, -other.powers)
        return other

    def fit_powers(self, size: Array) -> None:
        """Hold columns, which are of at least this size, in powers of two that suit it."""
        self.size = np.maximum(self.size, size)
        suited = np.clip(np.frexp(self.size)[1], -FARTHEST, FARTHEST) * (self.size > 0)
        self._rescale(np.where(np.abs(suited - self.powers) > FAR, suited, self.powers))

    def _rescale(self, powers: Array) -> None:
        """Hold columns in other powers of two; exact but for underflow."""
        if np.array_equal(powers, self.powers):
            return
        self.R[:, 1:] *= np.ldexp(1.0, self.powers - powers)
        self.powers = powers


def condense_design(design: Design, Y: Array) -> tuple[DenseDesign, Array]:
    """The triangle of QR of a matrix and a target, or q of them, the rows of Y, in their place.

    That is m + 1, or m + q, rows in place of n. Algorithms see A and y through inner products
    alone, and these are the same: they can't tell the difference. The triangle is in double
    precision; entries that were rounded to single precision are no more precise there.
    """
    R, m = design.triangle(np.atleast_2d(Y).T), design.shape[1]
    targets = R[:, m:].T.reshape(*Y.shape[:-1], len(R)).copy()
    eps = design.tolerances.eps
    error = eps if eps > np.finfo(R.dtype).eps else 0.0
    return DenseDesign(R[:, :m], rows=design.rows, error=error), targets


def number_of_rows(weight: float) -> float:
    """Σ w: an int if it is one but for rounding, as 2e-16 of a row tells nothing."""
    nearest = round(weight)
    return nearest if abs(weight - nearest) <= 1e-12 * weight else weight


def _middle(Z: Array) -> Array:
    """About the mean of each column, zero where sums are out of range; constants are exact."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle: Any = Z.mean(axis=0)
    middle = np.where(np.isfinite(middle), middle, 0.0)
    return np.where(np.equal(Z, Z[0]).all(axis=0), Z[0], middle)


def _out_of_range(pieces: list[Array], rows: Any) -> InputError:
    """What to say of entries that are no numbers, or too large to be told apart."""
    for name, piece in zip(("X", "y"), pieces, strict=False):
        at, columns = np.nonzero(~np.isfinite(piece))
        if at.size:
            row = rows.start + at[0] if isinstance(rows, slice) else rows[at[0]]
            single = name == "y" and piece.shape[1] == 1
            return not_finite(name, at.size, (row,) if single else (row, columns[0]))
    return InputError("X or y is so large that differences are out of range", "divide it by ten.")
