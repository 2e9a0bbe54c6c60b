"""The report on a run: report.md, report.html and figures, in words and beside the paper."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from sparsewise.experiments.claims import (
    SIZES,
    Claim,
    boston_claims,
    bounds_claims,
    errors_at,
    growths,
    mean_and_error,
    phase_claims,
    timing_claims,
    transitions,
)
from sparsewise.experiments.comparison import (
    Compared,
    compared,
    declared_in_paper,
    succeeded,
    words,
)
from sparsewise.experiments.conduct import PACKAGES, Outcome
from sparsewise.experiments.declaration import Experiment
from sparsewise.experiments.document import (
    Heading,
    Image,
    Items,
    Paragraph,
    Part,
    Table,
    plain,
    to_html,
    to_markdown,
)
from sparsewise.experiments.journal import unwritable, write_result
from sparsewise.experiments.paper import EXPERIMENTS
from sparsewise.wording import count

NO_FIGURES = (
    "There are no figures, because matplotlib is missing: `pip install 'sparsewise[plot]'` brings "
    "it, and the same command with `--resume` draws them without running anything again."
)
MOST_COLUMNS = 12
MOST_FAILURES = 40
NOTHING = "–"


def write_report(outcome: Outcome) -> None:
    """Write report.md, report.html and the folder figures into the folder of a run.

    Without matplotlib the report has no figures and says how to get them.
    """
    try:
        images = _draw(outcome)
    except OSError as error:
        raise unwritable(outcome.folder / "figures", error) from None
    parts: list[Part] = [Heading(1, _title(outcome)), *_summary(outcome)]
    if images is None:
        parts.append(Paragraph(NO_FIGURES, note=True))
    for experiment in outcome.experiments:
        parts += _section(outcome, experiment, (images or {}).get(experiment.name, []))
    parts += [*_failures(outcome), *_settings(outcome)]
    write_result(outcome.folder / "report.md", to_markdown(parts).encode())
    write_result(outcome.folder / "report.html", to_html(parts, _title(outcome)).encode())


def _draw(outcome: Outcome) -> dict[str, list[Image]] | None:
    """All figures, written to the disk; None without matplotlib."""
    try:
        from sparsewise.experiments import figures
    except ImportError:
        return None
    folder = outcome.folder / "figures"
    folder.mkdir(exist_ok=True)
    images: dict[str, list[Image]] = {}
    for experiment in outcome.experiments:
        results, values = _own_rows(outcome, experiment)
        for picture in figures.pictures(experiment, results, values):
            figures.save(picture, folder)
            image = Image(folder, picture.name, picture.caption)
            images.setdefault(experiment.name, []).append(image)
    return images


def _own_rows(outcome: Outcome, experiment: Experiment) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of an experiment in both tables; a run of nothing has tables without columns."""
    return _of(outcome.results, experiment.name), _of(outcome.values, experiment.name)


def _of(table: pl.DataFrame, name: str) -> pl.DataFrame:
    return table.filter(pl.col("experiment") == name) if "experiment" in table.columns else table


# --- beginning and end ----------------------------------------------------------------------------


def _title(outcome: Outcome) -> str:
    if all(declared_in_paper(one) for one in outcome.experiments):
        return "Sparse Bayesian Learning via Stepwise Regression, reproduced"
    return plain(outcome.experiments[0].title)


def _summary(outcome: Outcome) -> list[Part]:
    parts: list[Part] = []
    if any(declared_in_paper(one) for one in outcome.experiments):
        parts.append(
            Paragraph(
                "The experiments of S. Ament and C. Gomes (ICML 2021), run anew and set beside the "
                "paper's numbers."
            )
        )
    if len(outcome.experiments) > 1:
        lines = [f"{plain(one.title)}. {_verdict(outcome, one)}" for one in outcome.experiments]
        parts.append(Items(lines))
    failed = len(_failed(outcome.results))
    took = f"All of it took {duration(outcome.facts['seconds'])}"
    if failed:
        took += f"; **{count(failed, 'unit')} failed**, see below"
    return [*parts, Paragraph(f"{took}.")]


def headlines(outcome: Outcome) -> list[str]:
    """Each experiment in one line."""
    verdicts = (_verdict(outcome, one).replace("**", "") for one in outcome.experiments)
    return [f"{one.name}: {v}" for one, v in zip(outcome.experiments, verdicts, strict=True)]


def _verdict(outcome: Outcome, experiment: Experiment) -> str:
    """An experiment in one sentence."""
    results, values = _own_rows(outcome, experiment)
    if results.is_empty():
        return "Nothing was run."
    if not declared_in_paper(experiment):
        return f"{count(len(experiment.cells()), 'cell')}."
    if experiment.name in ("table1", "table2"):
        return words(compared(results, experiment.name))[0]
    claims = _claims(experiment.name, results, values)
    told = [claim for claim in claims if claim.agrees is not None]
    if not told:
        return "Too little was run to compare it with the paper."
    if experiment.name == "bounds":
        held = "holds" if told[0].agrees else "does not hold"
        return f"Thm. 4.5 as printed {held} against what is achieved."
    found = Counter(_word(claim) for claim in told)
    verbs = {"Agrees": "agree", "Agrees in part": "agree in part", "Differs": "differ"}
    said = ", ".join(
        f"{found[word]} {word.lower() if found[word] == 1 else verb}"
        for word, verb in verbs.items()
        if found[word]
    )
    few = " (a smaller run)" if _smaller(experiment) else ""
    return f"Of {count(len(told), 'statement')} in the paper, {said}{few}."


def _claims(name: str, results: pl.DataFrame, values: pl.DataFrame) -> list[Claim]:
    if name == "timing":
        return timing_claims(results)
    if name == "phase":
        return phase_claims(results)
    if name == "boston":
        return boston_claims(values)
    return bounds_claims(values) if name == "bounds" else []


def _settings(outcome: Outcome) -> list[Part]:
    """Seed, sizes, versions, and what took how long."""
    rows = []
    for experiment in outcome.experiments:
        results, _ = _own_rows(outcome, experiment)
        rows.append(
            [
                plain(experiment.name),
                str(len(experiment.cells())),
                str(len(experiment.contenders)),
                f"{experiment.realizations:,}",
                _spent(outcome, experiment, results),
            ]
        )
    facts = outcome.facts
    jobs = facts.get("jobs")
    many = (
        "as many processes as cores"
        if jobs == -1
        else count(int(jobs or 1), "process", "processes")
    )
    versions = ", ".join(
        f"{name} {facts[name]}" for name in ("python", "sparsewise", *PACKAGES) if name in facts
    )
    return [
        Heading(2, "Settings and time"),
        Table(["experiment", "cells", "algorithms", "realisations", "time"], rows),
        Items(
            [
                f"In all: {duration(facts['seconds'])} by the clock, {many}, "
                f"{count(int(facts.get('cores') or 1), 'core')}. The times in the "
                "table are added up over all processes.",
                f"Seed {facts['seed']}: the same seed gives the same numbers, whatever the number "
                "of processes; times differ.",
                f"Versions: {plain(versions)}.",
                "All numbers: `results.csv` and `results.parquet` (a row for each cell and "
                "algorithm), `values.parquet` (a row for each realisation).",
            ]
        ),
    ]


def _spent(outcome: Outcome, experiment: Experiment, results: pl.DataFrame) -> str:
    """What all units took together."""
    known = outcome.facts.get("work_seconds", {}).get(experiment.name)
    if known is None and "total_seconds" in results.columns:
        known = results["total_seconds"].sum()
    return duration(known) if known else NOTHING


def _failed(results: pl.DataFrame) -> list[dict[str, Any]]:
    if "error_message" not in results.columns:
        return []
    return results.filter(pl.col("error_message").is_not_null()).to_dicts()


def _failures(outcome: Outcome) -> list[Part]:
    failed = _failed(outcome.results)
    if not failed:
        return []
    grids = {one.name: list(one.grid) for one in outcome.experiments}
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in failed:
        cell = ", ".join(f"{name} = {row[name]:g}" for name in grids.get(row["experiment"], []))
        alike.setdefault((row["experiment"], row["algorithm"], row["error_message"]), []).append(
            cell
        )
    rows = [
        [plain(experiment), plain(algorithm), _some(cells), plain(error)]
        for (experiment, algorithm, error), cells in itertools.islice(alike.items(), MOST_FAILURES)
    ]
    more = len(alike) - len(rows)
    parts: list[Part] = [
        Heading(2, "What failed"),
        Paragraph("These are left out of everything above; `--resume` tries them again."),
        Table(["experiment", "algorithm", "cells", "error"], rows, words=True),
    ]
    return [*parts, Paragraph(f"And {more} more, in `results.csv`.")] if more else parts


def _some(cells: Sequence[str]) -> str:
    """The first few cells, and how many more there are."""
    more = f" … and {len(cells) - 3} more" if len(cells) > 3 else ""
    return "; ".join(cells[:3]) + more


# --- experiments ----------------------------------------------------------------------------------


def _section(outcome: Outcome, experiment: Experiment, images: Sequence[Image]) -> list[Part]:
    results, values = _own_rows(outcome, experiment)
    several = len(outcome.experiments) > 1 or declared_in_paper(experiment)
    parts: list[Part] = [Heading(2, plain(experiment.title) if several else "Results")]
    if results.is_empty():
        return [*parts, Paragraph("None of the algorithms chosen takes part in this experiment.")]
    if not declared_in_paper(experiment):
        return [*parts, *_own(experiment, results), *images, *_not_drawn(experiment, len(images))]
    if smaller := _smaller(experiment):
        parts.append(Paragraph(smaller, note=True))
    if experiment.name in ("table1", "table2"):
        return [*parts, *_table(experiment, results, images)]
    parts += images
    if experiment.name == "timing":
        parts += _timing(results)
    elif experiment.name == "phase":
        parts += _phase(results)
    elif experiment.name == "boston":
        parts += _boston(values)
    elif experiment.name == "bounds":
        parts.append(Paragraph(BOUNDS_WORDS))
    return [*parts, *_claim_parts(_claims(experiment.name, results, values))]


def _smaller(experiment: Experiment) -> str:
    """What a quick look leaves out."""
    whole = EXPERIMENTS[experiment.name]
    said = []
    if experiment.realizations < whole.realizations:
        drawn = count(experiment.realizations, "realisation")
        said.append(f"{drawn} in place of {whole.realizations:,}")
    cells, all_cells = len(experiment.cells()), len(whole.cells())
    if cells < all_cells:
        said.append(f"{count(cells, 'cell')} in place of {all_cells}")
    if not said:
        return ""
    return (
        f"Smaller than the whole experiment: {' and '.join(said)}. Intervals are wide, and what "
        "agrees or differs here may do so by chance."
    )


def _table(experiment: Experiment, results: pl.DataFrame, images: Sequence[Image]) -> list[Part]:
    cells = {(cell.label, cell.k): cell for cell in compared(results, experiment.name)}
    sizes = [int(k) for k in experiment.grid["k"]]
    header = ["algorithm"]
    for k in sizes:
        header += [f"k = {k}", "paper"]
    rows = []
    for contender in experiment.contenders:
        row = [plain(contender.label)]
        for k in sizes:
            row += _pair(cells.get((contender.label, k)))
        rows.append(row)
    return [
        Paragraph(
            "How often the support is recovered, with the 95 % interval of Wilson, and the paper's "
            "value. A cell agrees if the two differ by no more than the joint 95 % interval of two "
            "proportions (1,024 realisations in the paper) and the paper's rounding, 0.005, "
            "explain; **≠** marks one that does not."
        ),
        Table(header, rows),
        Items(words(list(cells.values()))),
        *images,
    ]


def _pair(cell: Compared | None) -> list[str]:
    if cell is None:
        return [NOTHING, NOTHING]
    low, high = cell.interval
    here = f"{cell.rate:.3f} ({low:.3f}–{high:.3f})"
    return [here if cell.agrees else f"**≠ {here}**", f"{cell.paper:.2f}"]


def _timing(results: pl.DataFrame) -> list[Part]:
    found = growths(results)
    sizes = sorted({m for growth in found for m in growth.sizes})
    rows = []
    for growth in found:
        at = dict(zip(growth.sizes, growth.seconds, strict=True))
        rows.append(
            [
                plain(growth.label),
                *(duration(at[m]) if m in at else NOTHING for m in sizes),
                NOTHING if growth.fit is None else growth.fit.words,
                NOTHING if growth.last is None else f"{growth.last:.2f}",
            ]
        )
    fewest = min((row["trials"] for row in succeeded(results, "seconds")), default=0)
    said = (
        f"Median times of {count(fewest, 'run')} for each m. The exponent is that of m, fitted by "
        "least squares to the logarithms, ± its standard error; fixed costs make it small where m "
        "is small, so that the last column, between the two largest m, tells more of how time "
        "grows."
    )
    header = ["algorithm", *(f"m = {m}" for m in sizes), "exponent", "at the end"]
    return [Paragraph(said), Table(header, rows)]


def _phase(results: pl.DataFrame) -> list[Part]:
    found = transitions(results)
    ratios = sorted({ratio for one in found for ratio in one.sampling})
    shown = ratios if len(ratios) <= MOST_COLUMNS else ratios[::2]
    rows = []
    for one in found:
        at = dict(zip(one.sampling, one.sparsity, strict=True))
        rows.append([plain(one.label), *(f"{at[r]:.2f}" if r in at else NOTHING for r in shown)])
    return [
        Paragraph("The sparsity ratio k/n at which half of all supports are recovered:"),
        Table(["algorithm", *(f"n/m = {ratio:g}" for ratio in shown)], rows),
    ]


def _boston(values: pl.DataFrame) -> list[Part]:
    curves = errors_at(values, SIZES)
    rows = []
    for label, many in curves.items():
        mean, error = mean_and_error(many)
        pairs = zip(mean.tolist(), error.tolist(), strict=True)
        cells = (NOTHING if math.isnan(m) else f"{m:.2f} ± {e:.2f}" for m, e in pairs)
        rows.append([plain(label), *cells])
    splits = max((len(many) for many in curves.values()), default=0)
    shown = [i for i in range(len(SIZES)) if any(row[1 + i] != NOTHING for row in rows)]
    header = ["algorithm", *(str(SIZES[i]) for i in shown)]
    rows = [[row[0], *(row[1 + i] for i in shown)] for row in rows]
    return [
        Paragraph(BOSTON_WORDS, note=True),
        Paragraph(
            "Test RMSE (thousands of dollars) of models with so many features: mean over "
            f"{count(splits, 'split')} ± standard error, errors interpolated between the models "
            f"that different δ led to. {NOTHING}: fewer than 9 in 10 splits have models on both "
            "sides. The splits share their 506 rows, so that the standard errors say how well the "
            "splits are averaged, not how other data would come out. Errors of two algorithms are "
            "compared split by split, which tells smaller differences than the table shows."
        ),
        Table(header, rows),
    ]


BOSTON_WORDS = (
    "The data are Harrison and Rubinfeld's (1978), by way of UCI and mlxtend; their column B is a "
    "function of the share of Black residents, built on the assumption that segregation raises "
    "prices, so use them for nothing but this comparison: see "
    "`sparsewise/experiments/data/README.md`."
)

BOUNDS_WORDS = (
    "**Thm. 4.5 (percn) does not hold as printed for k >= 2.** It bounds the probability of "
    "failure by a k-th power, the probability that all k inner products of a group of columns with "
    "the noise are large; recovery can fail as soon as one is. With orthonormal columns what is "
    "achieved is known, and it is below the printed bound. The black line, erf(δ/√2)^m, is proved "
    "for every k, and still above the older bound: see `docs/guarantees.md`."
)


def _claim_parts(claims: Iterable[Claim]) -> list[Part]:
    lines = [f"**{_word(claim)}.** The paper: {claim.paper} Here: {claim.here}" for claim in claims]
    return [Heading(3, "What the paper says of it"), Items(lines)] if lines else []


def _word(claim: Claim) -> str:
    if claim.agrees is None:
        return "Can't be told"
    if claim.agrees:
        return "Agrees"
    return "Agrees in part" if claim.partly else "Differs"


def _own(experiment: Experiment, results: pl.DataFrame) -> list[Part]:
    """Rates with intervals by the axis that varies; without one, or with more, means."""
    rows = succeeded(results, "rate")
    varying = [name for name, many in experiment.grid.items() if len(set(many)) > 1]
    fixed = ", ".join(
        f"{name} = {many[0]:g}" for name, many in experiment.grid.items() if name not in varying
    )
    said = (
        f"Matrices: {plain(experiment.family)}; coefficients: {plain(experiment.signal)}; "
        f"{experiment.realizations:,} realisations a cell" + (f"; {fixed}." if fixed else ".")
    )
    parts: list[Part] = [Paragraph(said)]
    if experiment.realizations < 100:
        parts.append(Paragraph("With few realisations the intervals are wide.", note=True))
    if not rows:
        return [*parts, Paragraph("Nothing was run to its end.")]
    if len(varying) == 1 and len(experiment.grid[varying[0]]) <= MOST_COLUMNS:
        return [*parts, *_own_by(experiment, rows, varying[0])]
    return [*parts, *_own_means(experiment, rows)]


def _not_drawn(experiment: Experiment, drawn: int) -> list[Part]:
    """What is said where there would be too many figures."""
    *others, _, _ = sorted(len(set(many)) for many in [*experiment.grid.values(), (0,), (0,)])
    wanted = math.prod(others)
    if drawn == 0 or wanted <= drawn:
        return []
    return [Paragraph(f"Drawn are {drawn} of {wanted} figures; `results.csv` has everything.")]


def _own_by(experiment: Experiment, rows: Sequence[dict[str, Any]], axis: str) -> list[Part]:
    values = sorted(set(experiment.grid[axis]))
    at = {(row["algorithm"], row[axis]): row for row in rows}
    body = [
        [plain(one.label), *(_rate(at.get((one.label, value))) for value in values)]
        for one in experiment.contenders
    ]
    return [
        Paragraph("How often the support is recovered, with the 95 % interval of Wilson:"),
        Table(["algorithm", *(f"{axis} = {value:g}" for value in values)], body),
    ]


def _own_means(experiment: Experiment, rows: Sequence[dict[str, Any]]) -> list[Part]:
    body = []
    for one in experiment.contenders:
        mine = [row for row in rows if row["algorithm"] == one.label]
        if mine:
            rate = sum(row["successes"] for row in mine) / sum(row["trials"] for row in mine)
            seconds = sorted(row["seconds"] for row in mine)[len(mine) // 2]
            single = _rate(mine[0]) if len(mine) == 1 else f"{rate:.3f}"
            body.append([plain(one.label), str(len(mine)), single, duration(seconds)])
    return [
        Paragraph("How often the support is recovered, over all cells, and the median time:"),
        Table(["algorithm", "cells", "recovered", "time"], body),
    ]


def _rate(row: dict[str, Any] | None) -> str:
    return NOTHING if row is None else f"{row['rate']:.3f} ({row['low']:.3f}–{row['high']:.3f})"


def duration(seconds: float) -> str:
    """A time for people: "12 ms", "3.4 s", "2 min 5 s", "1 h 4 min"."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
