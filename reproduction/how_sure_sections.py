"""What there is to say of `how_sure`: reliability, sets, errors beside others."""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from reproduction.beyond import SOLVE
from reproduction.claims import Claim
from reproduction.declaration import Experiment
from reproduction.document import Part, paragraph, table
from reproduction.generators import DATA
from reproduction.how_sure import (
    BMS,
    NOTHING_TOLD,
    POSTERIOR,
    SETTINGS,
    SUSIE,
    TABLES,
    VALIDATED,
)
from reproduction.how_sure_tasks import BINS
from reproduction.measure import duration
from reproduction.section_parts import AIMS, NOTHING, Section, by_label, claimed, left_out
from reproduction.tables import Row, wilson
from reproduction.units import Record
from sparsewise._util.text import count

Totals = Mapping[str, float]


def total(records: Iterable[Record]) -> dict[str, float]:
    """The sum of each value over all realisations, and ``draws``, how many these are."""
    found: dict[str, float] = {"draws": 0.0}
    for record in records:
        found["draws"] += len(record["values"]["seconds"])
        for name, many in record["values"].items():
            found[name] = found.get(name, 0.0) + sum(many)
    return found


def of(records: Iterable[Record], label: str, **cell: float) -> list[Record]:
    """The records of a contender, in cells that have these values."""
    return [
        one
        for one in records
        if one["settings"]["contender"] == label
        and all(one["settings"]["cell"][name] == value for name, value in cell.items())
    ]


def share(part: float, whole: float) -> str:
    """A share for people, with the 95 % interval of Wilson."""
    if not whole:
        return NOTHING
    low, high = wilson(part, whole)
    return f"{part / whole:.3f} ({low:.3f}–{high:.3f})"


# --- inclusion probabilities ----------------------------------------------------------------------

WITHIN, FALSE_SHARE, NULL = 0.05, 0.12, 0.03
"""Aims: distance of a bin, share of false among the chosen, share of null tables with a choice."""

ENOUGH = 50
"""Columns that a bin must have to be judged."""

DESIGN_NAMES = ("independent", "neighbours 0.9", "blocks 0.99", "real columns")


def reliability(totals: Totals) -> list[tuple[float, float, int]]:
    """For each bin: mean probability, share of true columns, and how many columns; empty: zeros."""
    found = []
    for i in range(len(BINS) - 1):
        many = totals.get(f"columns_{i}", 0.0)
        sums = (totals.get(f"{name}_{i}", 0.0) for name in ("expected", "true"))
        expected, true = (one / max(many, 1.0) for one in sums)
        found.append((expected, true, int(many)))
    return found


def _inclusion(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """Reliability of probabilities by design; false shares, power and null tables."""
    designs = dict(enumerate(DESIGN_NAMES))
    of_all = of(records, POSTERIOR.label)
    bins = {"all": reliability(total(of_all))}
    bins |= {name: reliability(total(of(of_all, POSTERIOR.label, design=i)))
             for i, name in designs.items()}  # fmt: skip
    head = ["columns", *(f"{low:g} to {high:g}" for low, high in pairwise(BINS))]
    lines = [[name, *(_bin(*one) for one in found)] for name, found in bins.items()]
    parts = [
        paragraph(
            "Of the columns whose stated probability is in a bin: the mean probability, the share "
            "of them that are true, and how many they are."
        ),
        table(head, lines),
        paragraph(
            "The share of false columns among the chosen (probability above ½), the share of true "
            "columns that are chosen, and the share of tables without any true column where one "
            "is chosen, with 95 % intervals of Wilson:"
        ),
        _choices(experiment, records, designs),
    ]
    return claimed(experiment, parts, _inclusion_claims(bins, records), AIMS)


def _bin(expected: float, true: float, many: int) -> str:
    return f"{expected:.3f} → {true:.3f} ({many:,})" if many else NOTHING


def _choices(experiment: Experiment, records: list[Record], designs: Mapping[int, str]) -> Part:
    rows: dict[str, dict[Hashable, str]] = {}
    for one in experiment.contenders:
        cells: dict[str, dict[str, float]] = {"all": {}} | {
            d: {"design": i} for i, d in designs.items()
        }
        for name, cell in cells.items():
            mine = of(records, one.label, **cell)
            with_effects = total([r for r in mine if r["settings"]["cell"]["k"]])
            null = nulls(mine)
            rows[f"{one.label}, {name}"] = {
                "false": share(_false(with_effects), with_effects.get("chosen", 0.0)),
                "power": share(with_effects.get("hits", 0.0), with_effects.get("true", 0.0)),
                "null": share(*null),
                "time": duration(total(mine).get("seconds", 0.0) / max(total(mine)["draws"], 1)),
            }
    heads = {"false": "false share", "power": "power", "null": "null tables", "time": "mean time"}
    return by_label(rows, heads)


def _false(totals: Totals) -> float:
    return totals.get("chosen", 0.0) - totals.get("hits", 0.0)


def nulls(records: Iterable[Record]) -> tuple[int, int]:
    """Tables without a true column where some column is chosen, and all such tables."""
    chosen = [
        one for r in records if not r["settings"]["cell"]["k"] for one in r["values"]["chosen"]
    ]
    return sum(map(bool, chosen)), len(chosen)


def _inclusion_claims(
    bins: Mapping[str, Sequence[tuple[float, float, int]]], records: list[Record]
) -> list[Claim]:
    judged = [(name, *one) for name, found in bins.items() for one in found if one[2] >= ENOUGH]
    off = [f"{name}: {p:.2f} → {q:.2f}" for name, p, q, _ in judged if abs(p - q) > WITHIN]
    mine, solve = (
        total([r for r in of(records, label) if r["settings"]["cell"]["k"]])
        for label in (POSTERIOR.label, SOLVE.label)
    )
    stated = []
    if judged:
        here = "; ".join(off) or "all of them."
        aim = f"every bin of {ENOUGH} columns or more within {WITHIN:g}, for each design, too."
        stated.append(Claim(aim, not off, here, partly=len(off) < len(judged)))
    if mine.get("chosen"):
        false = _false(mine) / mine["chosen"]
        aim = f"at most {FALSE_SHARE:g} of the chosen are false."
        stated.append(Claim(aim, false <= FALSE_SHARE, f"{false:.3f}."))
    if mine.get("true") and solve.get("true"):
        powers = [one["hits"] / one["true"] for one in (mine, solve)]
        aim = "the power of `solve`, within 0.01."
        here = f"{powers[0]:.3f} and {powers[1]:.3f}."
        stated.append(Claim(aim, powers[0] >= powers[1] - 0.01, here))
    some, many = nulls(of(records, POSTERIOR.label))
    if many:
        aim = f"a choice in at most {NULL:g} of null tables."
        stated.append(Claim(aim, some <= NULL * many, f"{share(some, many)}."))
    return stated


# --- credible sets --------------------------------------------------------------------------------

COVERAGE = 0.95


def _credible_sets(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """Coverage, size and power by columns and correlation, beside SuSiE."""
    rows: dict[str, dict[Hashable, str]] = {}
    for one in experiment.contenders:
        cells: dict[str, dict[str, float]] = {"all": {}} | {
            f"m = {m}, ρ = {rho:g}": {"m": m, "rho": rho}
            for m in experiment.grid["m"] for rho in experiment.grid["rho"]
        }  # fmt: skip
        for name, cell in cells.items():
            found = total(of(records, one.label, **cell))
            rows[f"{one.label}, {name}"] = _set_cells(found)
    parts = [
        *left_out(experiment),
        paragraph(
            "Sets of level 0.95: how many of them, the share that hold a true column, how many "
            "columns they have, the share of true columns in sets, and the mean time of a table "
            "(processor time). Of SuSiE, ten effects and what else is its default."
        ),
        by_label(rows, SET_HEADS),
    ]
    return claimed(experiment, parts, _set_claims(records), AIMS)


SET_HEADS: dict[Hashable, str] = {
    "tables": "tables", "sets": "sets", "coverage": "coverage", "size": "columns",
    "power": "power", "time": "time", "warned": "warned",
}  # fmt: skip


def _set_cells(found: Totals) -> dict[Hashable, str]:
    draws, sets = found["draws"], found.get("sets", 0.0)
    return {
        "tables": f"{draws:,.0f}",
        "sets": f"{sets:,.0f}",
        "coverage": share(found.get("covered", 0.0), sets),
        "size": f"{found['columns'] / sets:.1f}" if sets else NOTHING,
        "power": share(found.get("hits", 0.0), found.get("true", 0.0)),
        "time": duration(found["seconds"] / draws) if draws else NOTHING,
        "warned": f"{found.get('warned', 0.0):g}",
    }


def _set_claims(records: list[Record]) -> list[Claim]:
    mine, theirs = (total(of(records, one.label)) for one in (POSTERIOR, SUSIE))
    stated = []
    if mine.get("sets"):
        covered = mine["covered"] / mine["sets"]
        here = f"{share(mine['covered'], mine['sets'])}."
        stated.append(Claim(f"coverage of {COVERAGE:g} or more.", covered >= COVERAGE, here))
    if mine.get("true") and theirs.get("true"):
        powers = [one["hits"] / one["true"] for one in (mine, theirs)]
        here = f"{powers[0]:.3f} and {powers[1]:.3f}."
        stated.append(Claim("at least SuSiE's power.", powers[0] >= powers[1], here))
        times = [one["seconds"] / one["draws"] for one in (mine, theirs)]
        here = f"{duration(times[0])} and {duration(times[1])} a table."
        stated.append(Claim("in its time.", times[0] <= times[1], here))
    return stated


def _fine_mapping(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """How many of the true effects are in sets, for each trait."""
    rows: dict[str, dict[Hashable, str]] = {}
    for one in experiment.contenders:
        for cell in experiment.cells():
            where = f"N{cell['region']}finemapping, trait {int(cell['trait']) + 1}"
            found = total(of(records, one.label, **cell.quantities))
            rows[f"{one.label}, {where}"] = _set_cells(found) | {
                "power": f"{found.get('hits', 0):g} of {found.get('true', 0):g}"
            }
    heads = {name: SET_HEADS[name] for name in ("sets", "size", "power", "time")}
    parts = [*left_out(experiment), by_label(rows, heads | {"power": "effects in sets"})]
    mine = total(of(records, POSTERIOR.label))
    stated = []
    if mine.get("true"):
        here = f"{mine['hits']:g} of {mine['true']:g}."
        enough = mine["hits"] >= 0.8 * mine["true"]
        stated.append(Claim("8 of 10 effects in sets.", enough, here))
    return claimed(experiment, parts, stated, AIMS)


# --- Hastie, Tibshirani and Tibshirani ------------------------------------------------------------

TEST_ERROR, TOLD_NOTHING = 1.165, 1.22
"""Aims of the mean relative test error: with validation rows, and without."""

Point = tuple[float, ...]


def published(experiment: Experiment) -> dict[str, dict[Point, tuple[float, float]]]:
    """Their errors and F₁ by method and setting, of the settings of an experiment."""
    wanted = {tuple(map(float, cell.quantities.values())) for cell in experiment.cells()}
    found: dict[str, dict[Point, tuple[float, float]]] = {}
    with (DATA / "htt.csv").open() as file:
        for row in csv.DictReader(file):
            point = tuple(float(row[name]) for name in ("setting", "beta", "rho", "snr"))
            for method in (name[:-3] for name in row if name.endswith(" F1")):
                if point in wanted:
                    pair = float(row[f"{method} error"]), float(row[f"{method} F1"])
                    found.setdefault(method, {})[point] = pair
    return found


def measured(records: Iterable[Record]) -> dict[str, dict[Point, tuple[float, float]]]:
    """The same of what was run: means over the realisations of each setting."""
    found: dict[str, dict[Point, tuple[float, float]]] = {}
    for record in records:
        settings, values = record["settings"], record["values"]
        point = tuple(map(float, settings["cell"].values()))
        pair = fmean(values["test_error"]), fmean(values["f1"])
        found.setdefault(settings["contender"], {})[point] = pair
    return found


def _best_subset(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """Mean relative test error and F₁, in all and by setting, beside the published ones."""
    here, theirs = measured(records), published(experiment)
    everybody = here | {f"{name} (published)": many for name, many in theirs.items()}
    named = {0: "all"} | {
        i: one[0] for i, one in SETTINGS.items() if i in experiment.grid["setting"]
    }
    rows: dict[str, dict[Hashable, str]] = {}
    for label, many in everybody.items():
        rows[label] = {}
        for i in named:
            pairs = [pair for point, pair in many.items() if i in (0, point[0])]
            if pairs:
                error, f1 = (fmean(values) for values in zip(*pairs, strict=True))
                rows[label][i] = f"{error:.3f}, {f1:.2f}"
    parts = [
        paragraph(
            "Mean relative test error and F₁ of the support, in all and by setting. Published "
            "results, means of 10 draws, were tuned on as many validation rows as there are "
            "training rows, and so are contenders that say so; the others have the training rows "
            "alone. With coefficients of kind 5 all are non-zero, which bounds F₁."
        ),
        by_label(rows, named),
    ]
    return claimed(experiment, parts, _best_subset_claims(here, named), AIMS)


def _best_subset_claims(
    found: Mapping[str, Mapping[Point, tuple[float, float]]], named: Mapping[int, str]
) -> list[Claim]:
    stated = []
    for aim, contenders, told in (
        (TEST_ERROR, VALIDATED, "with validation rows"),
        (TOLD_NOTHING, NOTHING_TOLD[:1], "with training rows alone"),
    ):
        label = contenders[0].label
        if label in found:
            error = fmean(pair[0] for pair in found[label].values())
            claim = f"a mean relative test error of at most {aim:g} {told}."
            stated.append(Claim(claim, error <= aim, f"{error:.3f}."))
    mine, lasso = (found.get(one.label, {}) for one in (NOTHING_TOLD[0], NOTHING_TOLD[-1]))
    if mine and lasso:
        said, behind = [], 0
        for i, name in named.items():
            both = [point for point in mine if point in lasso and i == point[0]]
            if both:
                errors = [fmean(one[point][0] for point in both) for one in (mine, lasso)]
                said.append(f"{name} {errors[0]:.3f} and {errors[1]:.3f}")
                behind += errors[0] >= errors[1]
        claim = "told nothing, below LassoCV on the same rows in every setting."
        stated.append(Claim(claim, not behind, f"{'; '.join(said)}.", partly=behind < len(said)))
    return stated


# --- R's BMS --------------------------------------------------------------------------------------


def _averaging(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """Largest errors of sampling and times, beside R's BMS."""
    rows: dict[str, dict[Hashable, str]] = {}
    columns: dict[Hashable, str] = {}
    means: dict[tuple[str, int], tuple[float, float]] = {}
    for i in map(int, experiment.grid["table"]):
        columns |= {(i, "error"): f"{TABLES[i]}: error", (i, "time"): "time"}
        for one in experiment.contenders:
            found = total(of(records, one.label, table=i))
            if found["draws"]:
                error, time = (found[name] / found["draws"] for name in ("error", "seconds"))
                means[one.label, i] = error, time
                cells = {(i, "error"): f"{error:.2g}", (i, "time"): duration(time)}
                rows.setdefault(one.label, {}).update(cells)
    parts = [
        *left_out(experiment),
        paragraph(
            "The largest error of an inclusion probability, against the sum over all models under "
            "the contender's own prior, and processor time; means of "
            f"{count(experiment.realizations, 'run')}."
        ),
        by_label(rows, columns),
    ]
    stated = []
    sampled = len(TABLES) - 1  # of Hald's four columns BMS adds up all models
    if (POSTERIOR.label, sampled) in means and (BMS.label, sampled) in means:
        mine, theirs = means[POSTERIOR.label, sampled], means[BMS.label, sampled]
        less = mine[0] <= theirs[0] and mine[1] <= theirs[1]
        here = f"{mine[0]:.2g} in {duration(mine[1])}, {theirs[0]:.2g} in {duration(theirs[1])}."
        claim = f"less error in less time than 60,000 steps of BMS ({TABLES[sampled]})."
        stated.append(Claim(claim, less, here))
    return claimed(experiment, parts, stated, AIMS)


KINDS: dict[str, Callable[[Experiment, list[Row], list[Record]], Section]] = {
    "inclusion": _inclusion,
    "credible_sets": _credible_sets,
    "fine_mapping": _fine_mapping,
    "best_subset": _best_subset,
    "averaging": _averaging,
}
"""How each of them is shown and judged."""
