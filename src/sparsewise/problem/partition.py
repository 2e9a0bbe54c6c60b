"""Which columns come and go together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Partition(NamedTuple):
    """Groups of columns of which all are in a model, or none; other columns are alone.

    The columns of a factor, say, or the lags of one signal. Today every column is alone
    (``Partition()``): constraints know of groups, steps do not yet.

    Attributes
    ----------
    groups : tuple of tuple of int
        Disjoint, each ascending.
    """

    groups: tuple[tuple[int, ...], ...] = ()

    def group(self, j: int) -> tuple[int, ...]:
        """The columns that come and go with column j, with j itself."""
        return next((group for group in self.groups if j in group), (j,))

    def whole(self, columns: Iterable[int]) -> tuple[int, ...]:
        """These columns and all that come with them, in the order in which they are named."""
        if not self.groups:
            return tuple(columns)
        return tuple(dict.fromkeys(i for j in columns for i in self.group(j)))
