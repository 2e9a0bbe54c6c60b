"""Rows of files as triangles: what is left of them, however many there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sparsewise.io.tables.layout import Chunk, Labels, Layout
from sparsewise.suffstats.condensed import Condensed


@dataclass(frozen=True)
class Folds:
    """As many folds of neighbouring rows, nearly equal: those of a table in memory.

    Parameters
    ----------
    number : int
        How many.
    rows : int
        Of a weight above 0, which alone are counted.
    """

    number: int
    rows: int

    def labels(self, chunk: Chunk, before: int) -> Labels:
        """Return the fold of each row, so many that count having come before."""
        counts = np.ones(len(chunk), bool) if chunk.weights is None else chunk.weights > 0
        place = before + np.cumsum(counts) - counts
        # The first n mod k folds have a row more.
        size, more = divmod(self.rows, self.number)
        ends = np.arange(1, self.number) * size + np.minimum(np.arange(1, self.number), more)
        return np.searchsorted(ends, place, side="right")


def condense_chunks(
    layout: Layout, chunks: Iterable[Chunk], folds: Folds | None = None, before: int = 0
) -> Condensed:
    """Gather rows in triangles, one for each fold.

    Parameters
    ----------
    layout : Layout
        How the rows became numbers.
    chunks : iterable of Chunk
        The rows.
    folds : Folds, optional
        The folds, if no column tells them.
    before : int
        How many rows that count come before these.
    """
    rows = Condensed()
    for chunk in chunks:
        labels = chunk.folds
        if labels is None and folds is not None:
            labels = folds.labels(chunk, before)
            before += int(len(chunk) if chunk.weights is None else (chunk.weights > 0).sum())
        rows.update(chunk.X, chunk.y, chunk.weights, fold=labels)
    if rows.n_features is not None:
        rows.feature_names = list(layout.names)
        rows.target_names = list(layout.targets) if rows.n_targets else None
    return rows
