"""From records to rows: one for each cell and contender; and these as files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, median
from typing import Any

from reproduction.units import Record
from sparsewise._util.text import printable

Row = dict[str, Any]

Z = 1.959963984540054
"""The 97.5 % point of the normal distribution."""

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001  (full width)
"""How a text begins that a spreadsheet would compute."""


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for a probability."""
    if trials == 0:
        return 0.0, 1.0
    rate, square = successes / trials, Z * Z / trials
    middle = (rate + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def summarised(records: Iterable[Record]) -> list[Row]:
    """One row for each record: its cell, contender, what was found on average, time and error."""
    return [_row(record) for record in records]


def succeeded(rows: Iterable[Row], *needed: str) -> list[Row]:
    """The rows that have these values; units that failed have none."""
    return [row for row in rows if all(row.get(name) is not None for name in needed)]


def by(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Rows by what they have in common, in their order."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def realizations(records: Iterable[Record]) -> Iterator[Row]:
    """One row for each realisation."""
    for record in records:
        where = _where(record)
        for i, values in enumerate(zip(*record["values"].values(), strict=True)):
            found = zip(record["values"], values, strict=True)
            yield where | {"realization": i} | dict(found)


def as_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV: None is empty, no text is a formula or controls a terminal."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    table = csv.DictWriter(text, names, lineterminator="\n")
    table.writeheader()
    for row in rows:
        table.writerow({name: _harmless(value) for name, value in row.items()})
    return text.getvalue()


def markdown(rows: Iterable[Sequence[str]]) -> str:
    """A table whose first row is its head."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * (head.count(" | ") + 1), *body])


def _harmless(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _where(record: Record) -> Row:
    settings = record["settings"]
    names = {"experiment": settings["experiment"], "algorithm": settings["contender"]}
    return names | settings["cell"]


def _row(record: Record) -> Row:
    found = record["values"]
    trials = max(map(len, found.values()), default=0)
    row = {**_where(record), "trials": trials}
    if "success" in found:
        successes = int(sum(found["success"]))
        low, high = wilson(successes, trials)
        rate = successes / trials
        row |= {"successes": successes, "rate": rate, "low": low, "high": high}
    row |= {name: fmean(many) for name, many in found.items() if name not in ("success", "seconds")}
    if seconds := found.get("seconds"):
        row |= {"seconds": median(seconds), "total_seconds": sum(seconds)}
    return row | {"error_message": record["error"], "seed": record["settings"]["seed"]}
