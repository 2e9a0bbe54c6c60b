"""Targets that least squares takes as they are, though they call for another loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import listing
from sparsewise.errors import Words
from sparsewise.estimators.feature_names import Columns
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.tabular_data import TabularData

FEW = 10
"""Fewer rows don't tell what kind of target it is."""

SMALL = 10
"""Counts up to this are small: their scatter depends on their mean, and that is near zero."""

ROUNDING = 1e-9
"""By how much the variance of a 0/1 target, of rows that are gone, may be off, as a part of it."""

MEANING = {
    "two values": "a linear probability model, whose predictions may lie beyond these",
    "small counts": "a linear model of counts, whose predictions may be negative",
}


def target_notes(data: Data, columns: Columns) -> Iterator[Words]:
    """What a linear model of a 0/1 target, or of small counts, means."""
    if data.count < FEW:
        return
    kinds = _kinds(data)
    names = columns.targets(len(kinds))
    for kind, meaning in MEANING.items():
        some = [name for name, own in zip(names, kinds, strict=True) if own == kind]
        if some:
            hold = "the target holds" if len(kinds) == 1 else f"{listing(some)} hold"
            rest = "standard errors take the noise to be the same in all rows"
            yield f"{hold} {kind} alone: this is {meaning}; {rest}"


def _kinds(data: Data) -> list[str]:
    """What kind of whole numbers each target holds; empty: others."""
    if isinstance(data, TabularData):
        return [_kind(y) for y in np.atleast_2d(data.y.T)]
    if not data.intercept:
        return [""] * len(data.totals)
    shares, totals = np.ravel(data.reduced.level), data.totals
    expected = data.rows * shares * (1 - shares)  # n p (1 - p)
    is_binary = (expected > 0) & (np.abs(totals - expected) <= ROUNDING * expected)
    return ["two values" if binary else "" for binary in is_binary]


def _kind(y: Array) -> str:
    if y[0] % 1 or (y % 1).any():
        return ""
    low, high = y.min(), y.max()
    if low == high:
        return ""
    if ((y == low) | (y == high)).all():
        return "two values"
    return "small counts" if low >= 0 and high <= SMALL else ""
