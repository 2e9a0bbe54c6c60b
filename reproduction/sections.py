"""What there is to say of an experiment: a sentence, a table, and what the paper says of it.

One function for each kind of experiment; `KINDS` has them by the names that declarations use.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from reproduction import claims, comparison, goals, how_sure_sections
from reproduction.beyond import GROUPS
from reproduction.claims import SIZES
from reproduction.comparison import kind_of
from reproduction.declaration import Experiment, equations
from reproduction.document import TEXTS, Part, items, note, paragraph, plain
from reproduction.measure import duration
from reproduction.section_parts import (
    AIMS,
    NOTHING,
    THE_PAPER,
    Section,
    by_label,
    claim_parts,
    claimed,
    left_out,
    smaller,
)
from reproduction.tables import Row, succeeded
from reproduction.units import Record
from sparsewise._util.text import count

MOST_COLUMNS = 12


def section(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """Judge an experiment by its rows of the two tables of an `Outcome`."""
    if not results:
        none = paragraph("None of the algorithms chosen takes part in this experiment.")
        return Section("Nothing was run.", [none])
    found = KINDS[kind_of(experiment)](experiment, results, records)
    if said := smaller(experiment):
        return found._replace(before=[note(said), *found.before])
    return found


# --- the paper's ----------------------------------------------------------------------------------


def _table(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    cells = comparison.compared(results, experiment.name)
    rows: dict[str, dict[Hashable, str]] = {one.label: {} for one in experiment.contenders}
    for cell in cells:
        rows[cell.label] |= {cell.k: _here(cell), (cell.k, "paper"): f"{cell.paper:.2f}"}
    columns: dict[Hashable, str] = {}
    for k in experiment.grid["k"]:
        columns |= {k: f"k = {k}", (k, "paper"): "paper"}
    said = comparison.sentences(cells)
    parts = [
        paragraph(
            "How often the support is recovered, with the 95 % interval of Wilson, and the paper's "
            "value. A cell agrees if the two differ by no more than the joint 95 % interval of two "
            "proportions (1,024 realisations in the paper) and the paper's rounding, 0.005, "
            "explain; **≠** marks one that does not."
        ),
        by_label(rows, columns),
        items(said),
    ]
    return Section(said[0], before=parts)


def _here(cell: comparison.Compared) -> str:
    here = _rate(cell.rate, *cell.interval)
    return here if cell.agrees else f"**≠ {here}**"


def _timing(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    found = claims.growths(results)
    rows: dict[str, dict[Hashable, str]] = {}
    for one in found:
        rows[one.label] = {m: duration(s) for m, s in one.seconds.items()}
        if one.fit is not None:
            rows[one.label]["exponent"] = one.fit.text
        if one.last is not None:
            rows[one.label]["last"] = f"{one.last:.2f}"
    sizes = sorted({m for growth in found for m in growth.seconds})
    columns: dict[Hashable, str] = {m: f"m = {m}" for m in sizes}
    fewest = min((row["trials"] for row in succeeded(results, "seconds")), default=0)
    said = (
        f"Median times of {count(fewest, 'run')} for each m. The exponent is that of m, fitted by "
        "least squares to the logarithms, ± its standard error; fixed costs make it small where m "
        "is small, so that the last column, between the two largest m, tells more of how time "
        "grows."
    )
    table = by_label(rows, columns | {"exponent": "exponent", "last": "at the end"})
    return claimed(experiment, [paragraph(said), table], claims.timing_claims(results))


def _phase(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    return claimed(experiment, _transition_parts(results), claims.phase_claims(results))


def _transition_parts(results: list[Row]) -> list[Part]:
    """Where half of all supports are recovered."""
    found = claims.transitions(results)
    ratios = sorted({ratio for one in found for ratio in one.sampling})
    shown = ratios if len(ratios) <= MOST_COLUMNS else ratios[::2]
    rows = {
        one.label: {r: f"{at:.2f}" for r, at in zip(one.sampling, one.sparsity, strict=True)}
        for one in found
    }
    return [
        paragraph("The sparsity ratio k/n at which half of all supports are recovered:"),
        by_label(rows, {ratio: f"n/m = {ratio:g}" for ratio in shown}),
    ]


def _boston(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    curves = claims.errors_at(records, SIZES)
    rows = {
        label: {size: f"{m:.2f} ± {e:.2f}" for size, (m, e) in claims.by_size(many).items()}
        for label, many in curves.items()
    }
    splits = max((len(many) for many in curves.values()), default=0)
    shown = {size: str(size) for size in SIZES if any(size in cells for cells in rows.values())}
    parts = [
        note(TEXTS["boston"]),
        paragraph(
            "Test RMSE (thousands of dollars) of models with so many features: mean over "
            f"{count(splits, 'split')} ± standard error, errors interpolated between the models "
            f"that different δ led to. {NOTHING}: fewer than 9 in 10 splits have models on both "
            "sides. The splits share their 506 rows, so that the standard errors say how well the "
            "splits are averaged, not how other data would come out. Errors of two algorithms are "
            "compared split by split, which tells smaller differences than the table shows."
        ),
        by_label(rows, shown),
    ]
    return claimed(experiment, parts, claims.boston_claims(records))


def _bounds(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    stated = claims.bounds_claims(records)
    headline = THE_PAPER.undecided
    if stated:
        held = "holds" if stated[0].agrees else "does not hold"
        headline = f"Thm. 4.5 as printed {held} against what is achieved."
    return Section(headline, after=[paragraph(TEXTS["bounds"]), *claim_parts(stated)])


# --- beyond the paper -----------------------------------------------------------------------------


def _beyond(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """Rates of all, by what they are told, and how long a solution takes."""
    rates, times = _told(experiment), _told(experiment)
    for row in succeeded(results, "rate"):
        label, where = row["algorithm"], goals.place(experiment, row)
        rates[label] |= {"draws": f"{row['trials']:,}"}
        rates[label][where] = _rate(row["rate"], row["low"], row["high"])
        times[label][where] = duration(row["total_seconds"] / row["trials"])
    told: dict[Hashable, str] = {"told": "told"}
    cells = goals.heads(experiment)
    parts = [
        *left_out(experiment),
        paragraph("How often the support is recovered, with the 95 % interval of Wilson:"),
        by_label(rates, told | {"draws": "draws"} | cells, texts=2),
        paragraph("Mean time of a solution:"),
        by_label(times, told | cells, texts=2),
    ]
    stated = goals.rate_claims(experiment, results)
    return claimed(experiment, [], stated, AIMS)._replace(before=parts)


def _told(experiment: Experiment) -> dict[str, dict[Hashable, str]]:
    """A row for each contender, with what it is told."""
    told = {one.label: what for what, group in GROUPS.items() for one in group}
    return {one.label: {"told": told[one.label]} for one in experiment.contenders}


def _false_features(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """How many features come in where there are none."""
    rows = _told(experiment)
    for label, cells in goals.false_features(records).items():
        for where, many in cells.items():
            rows[label] |= {"draws": f"{many.draws:,}", where: many.text}
    columns: dict[Hashable, str] = {"told": "told", "draws": "draws"}
    parts = [
        paragraph(
            "The target is noise alone, independent of all columns: whatever is chosen is false. "
            "How many features a fit has, mean ± standard error, by rows × columns:"
        ),
        *left_out(experiment),
        by_label(rows, columns | goals.sizes(experiment), texts=2),
    ]
    stated = goals.false_claims(records)
    return claimed(experiment, [], stated, AIMS)._replace(before=parts)


def _beyond_phase(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    parts = _transition_parts(results)
    return claimed(experiment, parts, goals.transition_claims(results), AIMS)


def _shared_support(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """Rates by k, a line for each contender and number of goals."""
    rows: dict[str, dict[Hashable, str]] = {}
    for row in succeeded(results, "rate"):
        line = rows.setdefault(f"{row['algorithm']}, {count(row['targets'], 'target')}", {})
        line[row["k"]] = f"{row['rate']:.3f}"
    parts = [
        paragraph(
            f"How often the support is recovered, of {count(experiment.realizations, 'draw')} a "
            f"cell. All are told δ = 2‖ε‖, the norm of each target's noise being ‖ε‖ = "
            f"{experiment.grid['noise'][0]:g}: OMP bounds ‖r‖ by it, and the others have σ = δ."
        ),
        by_label(rows, {k: f"k = {k}" for k in experiment.grid["k"]}),
    ]
    return claimed(experiment, [], goals.shared_claims(results), AIMS)._replace(before=parts)


# --- one's own ------------------------------------------------------------------------------------


def _rates(experiment: Experiment, results: list[Row], records: list[Record]) -> Section:
    """Rates with intervals by the axis that varies; without one, or with more, means."""
    rows = succeeded(results, "rate")
    varying = experiment.varying()
    fixed = {name: many[0] for name, many in experiment.grid.items() if name not in varying}
    said = [
        f"Matrices: {plain(experiment.family)}",
        f"coefficients: {plain(experiment.signal)}",
        f"{experiment.realizations:,} realisations a cell",
        *([equations(fixed)] if fixed else []),
    ]
    parts = [paragraph("; ".join(said) + ".")]
    if experiment.realizations < 100:
        parts.append(note("With few realisations the intervals are wide."))
    if not rows:
        parts.append(paragraph("Nothing was run to its end."))
    elif len(varying) == 1 and len(experiment.grid[varying[0]]) <= MOST_COLUMNS:
        parts += _rates_by(experiment, rows, varying[0])
    else:
        parts += _mean_rates(experiment, rows)
    return Section(f"{count(len(experiment.cells()), 'cell')}.", before=parts)


def _rates_by(experiment: Experiment, rows: Sequence[dict[str, Any]], axis: str) -> list[Part]:
    found: dict[str, dict[float, str]] = {one.label: {} for one in experiment.contenders}
    for row in rows:
        found[row["algorithm"]][row[axis]] = _rate(row["rate"], row["low"], row["high"])
    heads = {value: f"{axis} = {value:g}" for value in sorted(set(experiment.grid[axis]))}
    return [
        paragraph("How often the support is recovered, with the 95 % interval of Wilson:"),
        by_label(found, heads),
    ]


def _mean_rates(experiment: Experiment, rows: Sequence[dict[str, Any]]) -> list[Part]:
    found = {}
    for one in experiment.contenders:
        mine = [row for row in rows if row["algorithm"] == one.label]
        if mine:
            successes, trials = (sum(row[name] for row in mine) for name in ("successes", "trials"))
            [rate, *others] = [_rate(row["rate"], row["low"], row["high"]) for row in mine]
            found[one.label] = {
                "cells": str(len(mine)),
                "recovered": f"{successes / trials:.3f}" if others else rate,
                "time": duration(sorted(row["seconds"] for row in mine)[len(mine) // 2]),
            }
    return [
        paragraph("How often the support is recovered, over all cells, and the median time:"),
        by_label(found, {name: name for name in ("cells", "recovered", "time")}),
    ]


def _rate(rate: float, low: float, high: float) -> str:
    return f"{rate:.3f} ({low:.3f}–{high:.3f})"


KINDS: dict[str, Callable[[Experiment, list[Row], list[Record]], Section]] = {
    "rates": _rates,
    "table": _table,
    "phase": _phase,
    "timing": _timing,
    "bounds": _bounds,
    "boston": _boston,
    "beyond": _beyond,
    "false_features": _false_features,
    "beyond_phase": _beyond_phase,
    "shared_support": _shared_support,
    **how_sure_sections.KINDS,
}
"""How each kind of experiment is shown and judged; `drawings.KINDS` has their figures."""
