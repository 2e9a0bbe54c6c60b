"""Rows that come in chunks: numbered, put into folds, and condensed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import count
from sparsewise.errors import InputError, InputTypeError
from sparsewise.suffstats.condensed import Condensed

CHUNK = "(X, y), (X, y, sample_weight) or (X, y, sample_weight, fold)"
"""What a chunk may be."""


@dataclass(frozen=True)
class AccumulatedRows:
    """All rows so far, condensed.

    Parameters
    ----------
    rows : Condensed
        The rows.
    numbered : int
        How many chunks were put into folds by their number, for want of labels.
    is_whole : bool
        Whether all weights are whole numbers, as far as they were seen.
    """

    rows: Condensed = field(default_factory=Condensed)
    numbered: int = 0
    is_whole: bool = True

    def with_chunk(
        self, X: Any, y: Array, weights: Any = None, fold: Any = None, folds: int | None = None
    ) -> AccumulatedRows:
        """These rows and some more, in a new object.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, m)
            The features.
        y : ndarray of shape (n,) or (n, q)
            The target, or several, one a column.
        weights : array-like of shape (n,), optional
            How often each row counts.
        fold : int, str or array-like of shape (n,), optional
            The fold of the rows, or of each.
        folds : int, optional
            How many folds there are to be where they are not given: chunk i goes into fold i modulo
            this. As long as there is one chunk only, that is split as a table would be.
        """
        if not len(y):
            return self
        if fold is not None or folds is None:
            self._check_fold(fold)
            return self._and(self.rows.copy().update(X, y, weights, fold=fold), 0, weights)
        if self.rows.folds and not self.numbered:
            raise InputError(
                "was given for the rows so far", "give it for these, too.", parameter="fold"
            )
        number = max(self.numbered, int(self.rows.count > 0))
        rows = self.rows.as_fold(0) if number == 1 else self.rows.copy()
        fold = number % folds if number else contiguous_folds(weights, len(y), folds)
        taken = rows.update(X, y, weights, fold=fold)
        if taken.count == self.rows.count:
            return self
        return self._and(taken, number + 1 - self.numbered, weights)

    def _and(self, rows: Condensed, numbered: int, weights: Any) -> AccumulatedRows:
        """These rows and some more, of which so many chunks have a number, with their weights."""
        is_whole = weights is None or are_whole(np.asarray(weights, np.float64))
        return AccumulatedRows(rows, self.numbered + numbered, self.is_whole and is_whole)

    def _check_fold(self, fold: Any) -> None:
        if fold is not None and self.numbered:
            wrong = "was not given for the rows so far, which are in folds by chunk"
            raise InputError(wrong, "give it every time, or never.", parameter="fold")


def are_whole(weights: Array) -> bool:
    """Whether all of them can be numbers of rows."""
    return not (weights % 1).any()


def contiguous_folds(weights: Any, n: int, folds: int) -> Array:
    """The fold of each row: contiguous blocks of equal size; rows of weight 0 are in any."""
    counts = np.ones(n, bool) if np.shape(weights) != (n,) else np.asarray(weights) != 0
    total = int(np.count_nonzero(counts))
    labels = np.zeros(n, np.int64)
    pieces = np.array_split(np.empty(total), max(min(folds, total), 1))
    labels[counts] = np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])
    return labels


def number_of_folds(cv: Any) -> int | None:
    """How many folds chunks go into; None if `cv` chooses rows."""
    if cv is None:  # as in scikit-learn
        return 5
    return int(cv) if isinstance(cv, Integral) else None


def are_chunks(X: Any, y: Any) -> bool:
    """Whether X stands for chunks of rows rather than for a table.

    A list may be either: it is one of chunks if there is no y and its entries aren't rows.
    """
    is_table = any(hasattr(X, name) for name in ("shape", "__array__", "__dataframe__"))
    if is_table or isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        return False
    if not isinstance(X, Sequence):
        return True
    return not X or _is_chunk(X[0]) if y is None else bool(X) and _holds_table(X[0])


def _is_chunk(entry: Any) -> bool:
    """Whether it is anything but a row of numbers."""
    return not isinstance(entry, (tuple, list)) or any(map(np.ndim, entry))


def _holds_table(entry: Any) -> bool:
    """Whether there is a table in it."""
    return isinstance(entry, tuple) and len(getattr(entry[0], "shape", ())) == 2


def chunk_parts(chunk: Any) -> tuple[Any, ...]:
    """A chunk with all its parts, None for those that are not given."""
    if not isinstance(chunk, (tuple, list)):
        raise InputTypeError(f"it must be {CHUNK}, not of type {type(chunk).__name__}.")
    if not 2 <= len(chunk) <= 4:
        raise InputTypeError(f"it must be {CHUNK}, but has {count(len(chunk), 'part')}.")
    return (*chunk, *[None] * (4 - len(chunk)))


@contextmanager
def naming_chunk(number: int) -> Iterator[None]:
    """Name the chunk in an error message."""
    try:
        yield
    except InputError as error:
        raise type(error)((f"Chunk {number} (the first is 0): ", *error.words)) from error


@contextmanager
def as_input_error() -> Iterator[None]:
    """Raise errors of scikit-learn's checks as an `InputError` of one sentence."""
    try:
        yield
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(" ".join(str(error).split())) from error


def refuse_parts(given: dict[str, Any], of: str) -> None:
    """Refuse arguments that the rows have already."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"belongs to {of}", "leave it out.", parameter=name)
