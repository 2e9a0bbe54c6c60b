"""When rows are condensed into a triangle: the one place that decides.

A triangle of c columns takes n c² operations once, as many as c passes over n rows, and whatever
follows works on c rows. So data must be tall, and narrow where few passes would have done.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Limits(NamedTuple):
    """From which shape on condensing pays.

    Attributes
    ----------
    rows : int
        Rows for each column of the triangle, at least.
    spare : int
        Further rows, so that those of a triangle are fewer even if it is tiny.
    columns : float
        Columns of the triangle, at most; those of all targets but one count, too.
    entries : int
        Entries of the table, at least: below, calls are what costs.
    """

    rows: int
    spare: int = 0
    columns: float = math.inf
    entries: int = 0


SEARCH = Limits(rows=2, spare=3, columns=256)
"""A search makes hundreds of passes."""

LARGE_ARRAY = Limits(rows=4, columns=256)
"""An array that is too large for a copy about its means: a path makes as many passes."""

FOLDS = Limits(rows=32, columns=256, entries=1 << 18)
"""Folds of a table: it pays even for short paths."""

WORKERS = Limits(rows=4, columns=1024)
"""Dask collections, which cost more to read: one pass, after which further ones cost nothing."""

MORE_THAN_WORKERS_HOLD = WORKERS._replace(columns=8192)
"""Those that don't fit into the memory of the workers; the triangle takes half a gigabyte."""

UNREAD = Limits(rows=2, spare=3)
"""Rows of files, or of a kernel, that can't be kept: they would have to be read or made again."""


def pays(limits: Limits, n: float, m: int, targets: int = 1) -> bool:
    """Whether to condense n rows of m features; n may be NaN: nobody has counted them."""
    columns = m + targets - 1
    if n < limits.rows * columns + limits.spare or n * m < limits.entries:
        return False
    return columns <= limits.columns
