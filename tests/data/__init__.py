"""Public tables, and what R's `step` makes of them (see README.md)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
NAMES = ("mtcars", "swiss", "airquality", "attitude", "stackloss", "longley", "state")


@dataclass(frozen=True)
class Table:
    """Features and a target, by name."""

    name: str
    X: np.ndarray
    y: np.ndarray
    features: list[str]
    target: str

    def column(self, feature: str) -> np.ndarray:
        return self.X[:, self.features.index(feature)]


@dataclass(frozen=True)
class Search:
    """One call of R's `step`: what was asked for, printed and found."""

    table: str
    start: str
    direction: str
    criterion: str
    intercept: bool
    weights: str | None
    trace: str
    coef: dict[str, float]
    std: dict[str, float]
    aic: float
    bic: float
    log_likelihood: float
    adjusted_r2: float

    def __str__(self) -> str:
        words = [self.table, "from", self.start, self.direction, self.criterion]
        words += [] if self.intercept else ["without intercept"]
        words += [f"weights {self.weights}"] if self.weights else []
        return " ".join(words)


@cache
def table(name: str) -> Table:
    """One of the tables."""
    with (HERE / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    values = np.array(rows, float)
    return Table(name, values[:, :-1], values[:, -1], names[:-1], names[-1])


@cache
def searches() -> list[Search]:
    """What R did on all tables but the odd one."""
    return [search for name in NAMES for search in searches_of(name)]


def searches_of(name: str) -> list[Search]:
    """What R did on one table."""
    return [_search(name, part) for part in _parts(name)]


def _parts(name: str) -> list[str]:
    return (HERE / f"{name}_step.txt").read_text(encoding="utf-8").split("=== ")[1:]


def _search(name: str, part: str) -> Search:
    asked, rest = part.split("\n", 1)
    words = asked.split()
    said = dict(zip(words[::2], words[1::2], strict=True))
    trace, found, criteria = rest.split("--- ")
    lines = [line.split(" ", 2) for line in found.splitlines()[1:]]
    aic, bic, log_likelihood, adjusted = map(float, criteria.splitlines()[1].split())
    return Search(
        name,
        said["start"],
        said["direction"],
        said["criterion"],
        said["intercept"] == "yes",
        None if said["weights"] == "none" else said["weights"],
        trace,
        {term.strip("`"): float(value) for value, _, term in lines},
        {term.strip("`"): float(std) for _, std, term in lines},
        aic,
        bic,
        log_likelihood,
        adjusted,
    )
