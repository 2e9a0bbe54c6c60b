"""A table whose rows are never all in memory: looked at once, then read again as numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from sparsewise._util.progress import waiting
from sparsewise._util.text import count
from sparsewise.errors import InputError
from sparsewise.io.model import Source
from sparsewise.io.tables import stored_files as stored_
from sparsewise.io.tables.condensing import Folds, condense_chunks
from sparsewise.io.tables.imputing import Narrowing, narrowed_medians
from sparsewise.io.tables.layout import Chunk, Layout, Table
from sparsewise.io.tables.parsing import FloatArray
from sparsewise.io.tables.profile import Looked, Survey, Wanted, look
from sparsewise.io.tables.reading import RawTable
from sparsewise.io.tables.schema import Needed
from sparsewise.io.tables.stored_files import Stored, Tell, changed
from sparsewise.suffstats import policy
from sparsewise.suffstats.condensed import Condensed

CHUNK = 2**25
"""Bytes of numbers that are handed out together."""


@dataclass(frozen=True, kw_only=True)
class Stream(Layout):
    """How the rows of files become numbers, some at a time."""

    stored: Stored

    @property
    def layout(self) -> Layout:
        """How rows become numbers, whatever files they are in."""
        return Layout(**{one.name: getattr(self, one.name) for one in fields(Layout)})

    @property
    def is_tall(self) -> bool:
        """Whether triangles are much smaller than the rows."""
        return policy.pays(policy.UNREAD, self.rows, len(self.names), len(self.targets))

    @property
    def condenses(self) -> bool:
        """Whether triangles are much smaller than the rows, and these too large for memory."""
        return self.is_tall and self.bytes > stored_.IN_MEMORY

    def equal_folds(self, number: int | None) -> Folds | None:
        """Return so many folds of neighbouring rows, unless a column tells them."""
        if number is None or self.fold is not None:
            return None
        if number > self.counted_rows:
            rows = count(self.counted_rows, "row")
            raise InputError(f"asks for more folds than {rows}", "ask for fewer.", parameter="cv")
        return Folds(number, self.counted_rows)

    def condensed(self, folds: int | None = None, tell: Tell | None = None) -> Condensed:
        """Gather all rows in triangles.

        Parameters
        ----------
        folds : int, optional
            How many folds of neighbouring rows, if no column tells them.
        tell : callable, optional
            Is told how much was read.
        """
        return condense_chunks(self, self.chunks(tell), self.equal_folds(folds))

    def chunks(self, tell: Tell | None = None, whole: bool = True) -> Iterator[Chunk]:
        """Yield all rows as numbers, some after the other.

        Parameters
        ----------
        tell : callable, optional
            Is told how much was read.
        whole : bool
            Whether these must be as many as were looked at.
        """
        least = max(1, CHUNK // (8 * (len(self.names) + len(self.targets))))
        return _joined(self._pieces(tell, whole), least)

    def _pieces(self, tell: Tell | None, whole: bool) -> Iterator[Chunk]:
        rows = 0
        for looked in self.looked(tell):
            rows += looked.survey.kept
            yield self._chunk(looked)
        if whole and rows != self.rows:
            raise changed(self.label)

    def _chunk(self, looked: Looked) -> Chunk:
        try:
            return self.chunk(looked)
        except pl.exceptions.PolarsError:  # a level that was not there before
            raise changed(self.label) from None

    def looked(self, tell: Tell | None = None) -> Iterator[Looked]:
        """Yield some rows after the other, as cells."""
        pieces = self.stored.pieces(self.wanted.names, tell)
        return (look(piece, self.wanted) for piece in pieces)

    def gathered(self, tell: Tell | None = None) -> Table:
        """Return all rows in memory after all."""
        return Table.gathered(self.layout, self.looked(tell))


def scan(
    stored: Stored,
    target: str | Sequence[str] | None = None,
    *,
    tell: Tell | None = None,
    **names: Any,
) -> Stream:
    """Look at all rows of a table, and decide how they become numbers.

    Parameters
    ----------
    stored : Stored
        The files.
    target : str or sequence of str, optional
        The column to be explained, or several.
    tell : callable, optional
        Is told how much was read.
    **names
        What is chosen by name, as for `select`.
    """
    choice = stored.choice(target, **names)
    wanted = choice.wanted
    survey = surveyed_pieces(stored.pieces(wanted.names, tell), wanted)

    def counted(state: Narrowing, tell: Tell) -> FloatArray:
        return state.counted(look(piece, wanted) for piece in stored.pieces(wanted.names, tell))

    find = partial(medians_by_reading, counted, stored.size)
    return Stream(**vars(choice.layout(survey, stored.label, stored.several, find)), stored=stored)


def medians_by_reading(
    counted: Callable[[Narrowing, Tell], FloatArray],
    size: int,
    columns: Collection[str],
    weights: str | None,
    truths: Collection[str],
) -> dict[str, float]:
    """Return the median of each column, of rows that are never all in memory.

    Parameters
    ----------
    counted : callable
        Reads all rows for `Narrowing.counted`, and tells how much was read.
    size : int
        How much there is to read.
    columns, weights, truths
        As for `medians`.
    """
    readings = Narrowing.begin(columns, weights, truths).readings
    with waiting("finding medians", readings * size, unasked=True) as wait:
        return narrowed_medians(lambda state: counted(state, wait.update), columns, weights, truths)


def predicted(
    stored: Stored,
    encoding: Sequence[Source],
    names: Sequence[str],
    tell: Tell | None = None,
    missing: str = "error",
) -> Iterator[FloatArray]:
    """Make the features of a table as `encode` does, some rows after the other.

    All rows are looked at first: what can't be used is refused before anything is made of it.
    """
    needed = Needed(tuple(encoding), tuple(names), missing == "blank")
    stored.check_needed(needed)
    pieces = stored.pieces(needed.wanted.names, tell)
    survey = surveyed_pieces(pieces, needed.wanted)
    layout = needed.layout(survey, stored.label, stored.several)
    for piece in stored.pieces(layout.wanted.names, tell):
        looked = look(piece, layout.wanted)
        yield layout.all_features(looked) if needed.blank else layout.features(looked)


def surveyed_pieces(pieces: Iterable[RawTable], wanted: Wanted) -> Survey:
    """Look at all rows, and keep none of them."""
    return sum((look(piece, wanted).survey for piece in pieces), Survey())


def _joined(chunks: Iterable[Chunk], least: int) -> Iterator[Chunk]:
    """Yield so many rows at once, or more, but for the last ones."""
    some: list[Chunk] = []
    for chunk in chunks:
        some.append(chunk)
        if sum(map(len, some)) >= least:
            yield _stacked(some)
            some = []
    if any(map(len, some)):
        yield _stacked(some)


def _stacked(chunks: Sequence[Chunk]) -> Chunk:
    """Return rows below each other."""
    if len(chunks) == 1:
        return chunks[0]
    X, y, weights, folds = zip(*chunks, strict=True)
    return Chunk(
        np.concatenate(X),
        np.concatenate(y),
        None if weights[0] is None else np.concatenate(weights),
        None if folds[0] is None else np.concatenate(folds),
    )
