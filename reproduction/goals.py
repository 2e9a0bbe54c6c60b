"""What is to be reached, by `solve`, told nothing, and by several targets; whether it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any, NamedTuple

from reproduction.beyond import FALSE_FEATURES, RATES, SOLVE
from reproduction.claims import Claim, transitions
from reproduction.declaration import Experiment, Number
from reproduction.paper import ALL
from reproduction.tables import Row, succeeded
from reproduction.units import Record

NINE = tuple(one.label for one in ALL)
SYMBOLS = {"noise": "‖ε‖"}

SCATTER = 0.02
"""Of the k/n at which half are recovered: with 64 draws a cell, less may be chance."""

# --- cells ----------------------------------------------------------------------------------------


def place(experiment: Experiment, row: Mapping[str, Any]) -> tuple[Number, ...]:
    """Where a row of results belongs: the values of what varies."""
    return tuple(row[name] for name in experiment.varying())


def heads(experiment: Experiment) -> dict[tuple[Number, ...], str]:
    """What is written above each cell, by its place."""
    varying = experiment.varying()
    return {
        place(experiment, cell.quantities): ", ".join(
            f"{SYMBOLS.get(name, name)} = {cell[name]:g}" for name in varying
        )
        for cell in experiment.cells()
    }


def sizes(experiment: Experiment) -> dict[tuple[Number, ...], str]:
    """The same by rows and columns."""
    return {(cell["n"], cell["m"]): f"{cell['n']}×{cell['m']}" for cell in experiment.cells()}


# --- shares of supports ---------------------------------------------------------------------------


def rate_claims(experiment: Experiment, results: Iterable[Row]) -> list[Claim]:
    """At least so many supports, and no fewer than the best of the paper's algorithms."""
    found: dict[Any, dict[str, dict[str, Any]]] = {}
    for row in succeeded(results, "rate"):
        found.setdefault(place(experiment, row), {})[row["algorithm"]] = row
    named = heads(experiment)
    claims = []
    for value, least in RATES[experiment.name].items():
        mine = next((by.get(SOLVE.label) for at, by in found.items() if value in at), None)
        if mine is not None:
            where = named[place(experiment, mine)]
            here = f"{mine['rate']:.3f} ({mine['low']:.3f}–{mine['high']:.3f})."
            reached = mine["rate"] >= least
            claims.append(Claim(f"at least {least:.2f} of supports at {where}.", reached, here))
    return claims + _paper_claim({named[at]: by for at, by in found.items()})


def _paper_claim(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[Claim]:
    """In no cell does the best of the nine, told the noise, recover more."""
    behind, said = [], []
    for head, by in found.items():
        nine = {label: by[label]["rate"] for label in NINE if label in by}
        if SOLVE.label not in by or not nine:
            continue
        best, mine = max(nine, key=nine.__getitem__), by[SOLVE.label]["rate"]
        said.append(f"{mine:.3f} and {nine[best]:.3f} ({best}) at {head}")
        behind += [head] if nine[best] > mine else []
    if not said:
        return []
    aim = "as many supports as the best of the paper's algorithms, which are told the noise."
    here = f"{SOLVE.label} and the best of them: {'; '.join(said)}."
    return [Claim(aim, not behind, here, partly=len(behind) < len(said))]


# --- false features -------------------------------------------------------------------------------


class FalseFeatures(NamedTuple):
    """How many features come in on pure noise: mean, its standard error, and how often drawn."""

    mean: float
    error: float
    draws: int

    @property
    def text(self) -> str:
        """Mean ± standard error, with as many digits as that tells."""
        digits = 1 if self.mean >= 10 else 2 if self.mean >= 1 else 3
        return f"{self.mean:.{digits}f} ± {self.error:.{digits}f}"


def false_features(records: Iterable[Record]) -> dict[str, dict[tuple[int, int], FalseFeatures]]:
    """For each contender: by rows and columns."""
    found: dict[str, dict[tuple[int, int], FalseFeatures]] = {}
    for record in records:
        cell, size = record["settings"]["cell"], record["values"].get("size")
        if size and {"n", "m"} <= cell.keys():
            deviation = stdev(size) if len(size) > 1 else 0.0
            one = FalseFeatures(fmean(size), deviation / math.sqrt(len(size)), len(size))
            found.setdefault(record["settings"]["contender"], {})[cell["n"], cell["m"]] = one
    return found


def false_claims(records: Iterable[Record]) -> list[Claim]:
    """At most so many false features a fit."""
    mine = false_features(records).get(SOLVE.label, {})
    return [
        Claim(
            f"at most {most} false features a fit on pure noise of {n}×{m}.",
            mine[n, m].mean <= most,
            f"{mine[n, m].text}.",
        )
        for (n, m), most in FALSE_FEATURES.items()
        if (n, m) in mine
    ]


# --- phase transitions ----------------------------------------------------------------------------


def transition_claims(results: Iterable[Row]) -> list[Claim]:
    """Half of all supports are recovered at larger k/n than by anybody else, whatever n/m."""
    lines = {one.label: dict(zip(one.sampling, one.sparsity, strict=True))
             for one in transitions(results)}  # fmt: skip
    mine = lines.pop(SOLVE.label, {})
    ahead = {
        ratio: at - max(other[ratio] for other in lines.values() if ratio in other)
        for ratio, at in mine.items()
        if any(ratio in other for other in lines.values())
    }
    if not ahead:
        return []
    behind = [f"{ratio:g}" for ratio, gap in ahead.items() if gap < -SCATTER]
    mean = sum(ahead.values()) / len(ahead)
    here = f"Half of the supports are recovered up to a k/n that is larger by {mean:.2f} on average"
    where = f"at n/m = {', '.join(behind)}" if behind else "at no n/m"
    here += f", and smaller by more than {SCATTER}, which could be chance, {where}."
    aim = "the largest k/n at which half of all supports are recovered, at every n/m."
    return [Claim(aim, not behind, here, partly=len(behind) < len(ahead))]


# --- several targets ------------------------------------------------------------------------------


def mean_rates(results: Iterable[Row]) -> dict[str, dict[int, float]]:
    """For each contender and number of targets: the share of supports, the mean over all k."""
    found: dict[str, dict[int, list[float]]] = {}
    for row in succeeded(results, "rate"):
        found.setdefault(row["algorithm"], {}).setdefault(row["targets"], []).append(row["rate"])
    return {
        label: {q: fmean(rates) for q, rates in sorted(by.items())} for label, by in found.items()
    }


def shared_claims(results: Iterable[Row]) -> list[Claim]:
    """With every further target more supports are recovered, by each contender."""
    claims = []
    for label, by in mean_rates(results).items():
        if len(by) > 1:
            rises = [more > less for less, more in pairwise(by.values())]
            here = "; ".join(f"{rate:.3f} with {q}" for q, rate in by.items())
            aim = f"the more targets, the more supports are recovered by {label}, over all k."
            claims.append(Claim(aim, all(rises), f"{here}.", partly=any(rises)))
    return claims
