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
class Gathered:
    """All rows so far.

    Parameters
    ----------
    rows : Condensed
        The rows.
    in_folds : int
        How many chunks were put into folds by their number, in place of labels.
    """

    rows: Condensed = field(default_factory=Condensed)
    in_folds: int = 0

    def __add__(self, more: Condensed) -> Gathered:
        """With rows that have been condensed already."""
        return Gathered(self.rows + more, self.in_folds)

    def with_chunk(
        self, X: Any, y: Array, weights: Any = None, fold: Any = None, folds: int | None = None
    ) -> Gathered:
        """With some more rows; this one stays as it is.

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
            return Gathered(self.rows.copy().update(X, y, weights, fold=fold), self.in_folds)
        if self.rows.folds and not self.in_folds:
            raise InputError(
                "was given for the rows so far", "give it for these, too.", parameter="fold"
            )
        number = max(self.in_folds, int(self.rows.count > 0))
        rows = self.rows.as_fold(0) if number == 1 else self.rows.copy()
        fold = number % folds if number else split(weights, len(y), folds)
        taken = rows.update(X, y, weights, fold=fold)
        return Gathered(taken, number + 1) if taken.count > self.rows.count else self

    def _check_fold(self, fold: Any) -> None:
        if fold is not None and self.in_folds:
            wrong = "was not given for the rows so far, which are in folds by chunk"
            raise InputError(wrong, "give it every time, or never.", parameter="fold")


def split(weights: Any, n: int, folds: int) -> Array:
    """The fold of each row: as many as there are in each, in one piece; rows of weight 0 in any."""
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


def whole(chunk: Any) -> tuple[Any, ...]:
    """A chunk with all its parts, None for those that are not given."""
    if not isinstance(chunk, (tuple, list)):
        raise InputTypeError(f"it must be {CHUNK}, not of type {type(chunk).__name__}.")
    if not 2 <= len(chunk) <= 4:
        raise InputTypeError(f"it must be {CHUNK}, but has {count(len(chunk), 'part')}.")
    return (*chunk, *[None] * (4 - len(chunk)))


@contextmanager
def in_chunk(number: int) -> Iterator[None]:
    """Say of what is wrong in which chunk it is."""
    try:
        yield
    except InputError as error:
        raise type(error)((f"Chunk {number} (the first is 0): ", *error.words)) from error


@contextmanager
def as_input_error() -> Iterator[None]:
    """Have what scikit-learn's checks find raised as an error of ours, in one sentence."""
    try:
        yield
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(" ".join(str(error).split())) from error


def no_parts(given: dict[str, Any], of: str) -> None:
    """Refuse what is given beside rows that have it already."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"belongs to {of}", "leave it out.", parameter=name)
