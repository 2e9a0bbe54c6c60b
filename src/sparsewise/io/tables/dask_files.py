"""Files that are read by the workers of a Dask cluster: profiles and triangles travel, no rows.

Every worker must see the files, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any

from sparsewise._util.dask_cluster import Cluster
from sparsewise.io.tables import stored_files
from sparsewise.io.tables.stored_files import File, Report, Stored, TypedFile

PARTS_PER_THREAD = 4
"""So many parts each, at least, that all threads end at about the same time."""

LARGEST_PART = 2 * stored_files.READ
"""Bytes of numbers in a part: a worker that is lost loses no more."""


@dataclass(frozen=True, kw_only=True)
class DaskFiles(Stored):
    """A table in files that workers read.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    parts : tuple of Stored
        The files, or some rows of them, in order.
    """

    cluster: Cluster
    parts: tuple[Stored, ...]

    distributed = True

    @classmethod
    def on(cls, cluster: Cluster, stored: Stored) -> DaskFiles:
        """Let the workers of a cluster read the files of a table."""
        parts = (Stored(file.label, (file,)) for file in _parts(stored, cluster.threads))
        return cls(stored.label, stored.files, cluster=cluster, parts=tuple(parts))

    def each(
        self, task: Callable[..., Any], report: Report | None = None, *arguments: Sequence[Any]
    ) -> list[Any]:
        """Return the results of a task, one for each part."""
        return self.cluster.results(_submit(self.cluster, task, self.parts, report, *arguments))

    def total(
        self, task: Callable[..., Any], report: Report | None = None, *arguments: Sequence[Any]
    ) -> Any:
        """Return the sum of the results of a task: two and two, where they are."""
        futures = _submit(self.cluster, task, self.parts, report, *arguments)
        while len(futures) > 1:
            pairs = futures[: len(futures) // 2 * 2]
            sums = self.cluster.ask(add, pairs[::2], pairs[1::2])
            futures = [*sums, *futures[len(pairs) :]]
        [total] = self.cluster.results(futures)
        return total


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


def _submit(
    cluster: Cluster,
    task: Callable[..., Any],
    parts: Sequence[Stored],
    report: Report | None,
    *arguments: Sequence[Any],
) -> list[Any]:
    """Ask for a task on every part, and report the parts that are done."""
    futures = cluster.ask(task, list(parts), *map(list, arguments))
    if report is not None:
        for future, part in zip(futures, parts, strict=True):
            future.add_done_callback(lambda done, size=part.size: report(size))
    return futures
