"""From records to a tidy table: one row for each cell and contender."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from sparsewise.experiments.journal import Record

Z = 1.959963984540054
"""The 97.5 % point of the normal distribution."""

COLUMNS: dict[str, type[pl.DataType]] = {
    "experiment": pl.String,
    "algorithm": pl.String,
    "trials": pl.Int64,
    "successes": pl.Int64,
    "rate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "seconds": pl.Float64,
    "total_seconds": pl.Float64,
    "error_message": pl.String,
    "seed": pl.Int64,
}
"""What every table of results has, whatever was run; quantities and averages come besides."""


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for a probability."""
    if trials == 0:
        return 0.0, 1.0
    rate, square = successes / trials, Z * Z / trials
    middle = (rate + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def tidy(records: Sequence[Record]) -> pl.DataFrame:
    """One row for each record: its cell, contender, what was found on average, time and error."""
    rows = [_row(record) for record in records]
    found = pl.DataFrame(rows, infer_schema_length=None)
    # The columns that others rely on are there even if all units failed, or there were none.
    return found.with_columns(
        found[name].cast(kind) if name in found.columns else pl.lit(None, kind).alias(name)
        for name, kind in COLUMNS.items()
    )


def values(records: Sequence[Record]) -> pl.DataFrame:
    """One row for each realisation."""
    frames = []
    for record in records:
        if record["values"]:
            many = _trials(record)
            where = {name: [value] * many for name, value in _where(record).items()}
            frames.append(pl.DataFrame(where | {"realization": range(many)} | record["values"]))
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def _where(record: Record) -> dict[str, Any]:
    settings = record["settings"]
    names = {"experiment": settings["experiment"], "algorithm": settings["contender"]}
    return names | settings["cell"]


def _trials(record: Record) -> int:
    return max((len(found) for found in record["values"].values()), default=0)


def _row(record: Record) -> dict[str, Any]:
    row = {**_where(record), "trials": _trials(record)}
    found = record["values"]
    if "success" in found:
        successes = int(sum(found["success"]))
        low, high = wilson(successes, row["trials"])
        rate = successes / row["trials"] if row["trials"] else None
        row |= {"successes": successes, "rate": rate, "low": low, "high": high}
    for name, many in found.items():
        if name not in ("success", "seconds"):
            row[name] = float(np.mean(many)) if many else None
    if seconds := found.get("seconds"):
        row |= {"seconds": float(np.median(seconds)), "total_seconds": float(np.sum(seconds))}
    return row | {"error_message": record["error"], "seed": record["settings"]["seed"]}
