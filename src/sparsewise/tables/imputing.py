"""What stands for a missing value: the median of a column, as often as rows count."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from sparsewise.errors import InputError, Parameter
from sparsewise.tables.cells import FloatArray, numbers
from sparsewise.tables.names import as_argument
from sparsewise.tables.survey import Looked
from sparsewise.wording import quoted


def medians(
    looked: Sequence[Looked], columns: Collection[str], weights: str | None, truths: Collection[str]
) -> dict[str, float]:
    """Return the median of each column.

    Parameters
    ----------
    looked : sequence of Looked
        All rows.
    columns : collection of str
        Those of numbers.
    weights : str, optional
        The one that says how often each row counts.
    truths : collection of str
        Those that say true and false.
    """

    def told(name: str) -> FloatArray:
        parts = [numbers(one.cells[name], one.kept, name in truths) for one in looked]
        return np.concatenate(parts)

    often = None if weights is None else told(weights)
    return {name: _median(name, told(name), often) for name in columns}


def _median(name: str, values: FloatArray, weights: FloatArray | None) -> float:
    """Return the middle of the values that are there: half of the weight on either side."""
    weights = np.ones(values.size) if weights is None else weights
    there = ~np.isnan(values) & (weights > 0)
    if not there.any():
        wrong = f"column {quoted(name)} has no value that counts: leave it out with "
        raise InputError((wrong, Parameter("exclude", as_argument([name]))))
    order = np.argsort(values[there], kind="stable")
    ordered, until = values[there][order], np.cumsum(weights[there][order])
    half = until[-1] / 2
    low, high = (int(np.searchsorted(until, half, side)) for side in ("left", "right"))
    return float(ordered[low] / 2 + ordered[min(high, ordered.size - 1)] / 2)
