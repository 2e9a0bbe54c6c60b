"""Files that are read by the workers of a Dask cluster: surveys and triangles travel, no rows.

Every worker must see the files, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from operator import add
from typing import Any

from sparsewise._util.dask_cluster import Cluster
from sparsewise.io.tables import stored_files as stored_
from sparsewise.io.tables.condensing import Folds, condense_chunks
from sparsewise.io.tables.imputing import Narrowing
from sparsewise.io.tables.layout import Layout
from sparsewise.io.tables.parsing import FloatArray
from sparsewise.io.tables.profile import Survey, Wanted, look
from sparsewise.io.tables.stored_files import File, Stored, Tell, TypedFile, changed
from sparsewise.io.tables.stream import Stream, medians_by_reading, surveyed_pieces
from sparsewise.suffstats.condensed import Condensed

PARTS_PER_THREAD = 4
"""So many parts each, at least, that all threads end at about the same time."""

LARGEST_PART = 2 * stored_.READ
"""Bytes of numbers in a part: a worker that is lost loses no more."""


@dataclass(frozen=True, kw_only=True)
class FarStream(Stream):
    """How the rows of files become numbers, on workers.

    Attributes
    ----------
    cluster : Cluster
        The workers.
    parts : tuple of File
        The files, or some rows of them, in order.
    before : tuple of int
        How many rows that count come before each part.
    """

    cluster: Cluster
    parts: tuple[File, ...]
    before: tuple[int, ...]

    @property
    def condenses(self) -> bool:
        """Whether triangles are much smaller than the rows."""
        return self.is_tall

    def condensed(self, folds: int | None = None, tell: Tell | None = None) -> Condensed:
        """Gather all rows in triangles: each part where it is read, then two and two."""
        task = partial(_condense_part, self.layout, self.equal_folds(folds))
        rows: Condensed = _sum(
            self.cluster, _asked(self.cluster, task, self.parts, tell, self.before)
        )
        if rows.count != self.counted_rows:
            raise changed(self.label)
        return rows


def scan_far(
    cluster: Cluster,
    stored: Stored,
    target: str | Sequence[str] | None = None,
    *,
    tell: Tell | None = None,
    **names: Any,
) -> FarStream:
    """Have all rows of a table looked at by workers; parameters as for `scan`."""
    choice = stored.choice(target, **names)
    parts = tuple(_parts(stored, cluster.threads))
    task = partial(_surveyed, choice.wanted)
    surveys: list[Survey] = cluster.results(_asked(cluster, task, parts, tell))

    def counted(state: Narrowing, tell: Tell) -> FloatArray:
        task = partial(_counted, choice.wanted, state)
        counts: FloatArray = _sum(cluster, _asked(cluster, task, parts, tell))
        return counts

    find = partial(medians_by_reading, counted, stored.size)
    layout = choice.layout(sum(surveys, Survey()), stored.label, stored.several, find)
    before = tuple(accumulate((one.counted for one in surveys), initial=0))[:-1]
    return FarStream(**vars(layout), stored=stored, cluster=cluster, parts=parts, before=before)


def _parts(stored: Stored, threads: int) -> Iterator[File]:
    """Cut Parquet and Arrow files into parts of equal rows; a text is read as a whole."""
    most = min(LARGEST_PART, stored.size // (PARTS_PER_THREAD * threads))
    for file in stored.files:
        if not isinstance(file, TypedFile):
            yield file
            continue
        length = max(1, most // (8 * len(file.columns)))
        for start in range(file.start, max(file.end, file.start + 1), length):
            yield replace(file, start=start, end=min(start + length, file.end))


def _asked(
    cluster: Cluster,
    task: Callable[..., Any],
    parts: Sequence[File],
    tell: Tell | None,
    *others: Sequence[Any],
) -> list[Any]:
    """Ask for a task on every part; what is done is told."""
    futures = cluster.ask(task, list(parts), *map(list, others))
    if tell is not None:
        for future, part in zip(futures, parts, strict=True):
            future.add_done_callback(lambda done, size=part.size: tell(size))
    return futures


def _sum(cluster: Cluster, parts: list[Any]) -> Any:
    """Return the sum of what workers hold: two and two, where they are."""
    while len(parts) > 1:
        pairs = parts[: len(parts) // 2 * 2]
        parts = [*cluster.ask(add, pairs[::2], pairs[1::2]), *parts[len(pairs) :]]
    [total] = cluster.results(parts)
    return total


# Tasks.


def _surveyed(wanted: Wanted, part: File) -> Survey:
    return surveyed_pieces(part.pieces(wanted.names), wanted)


def _counted(wanted: Wanted, state: Narrowing, part: File) -> FloatArray:
    return state.counted(look(piece, wanted) for piece in part.pieces(wanted.names))


def _condense_part(layout: Layout, folds: Folds | None, part: File, before: int) -> Condensed:
    stream = Stream(**vars(layout), stored=Stored(part.label, (part,)))
    return condense_chunks(layout, stream.chunks(whole=False), folds, before)
