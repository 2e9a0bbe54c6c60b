"""The report on a run: report.md, report.html and figures, beside the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproduction import beyond, document
from reproduction.catalogue import DECLARED, is_among
from reproduction.comparison import declared_in_paper
from reproduction.declaration import Experiment, equations
from reproduction.document import TEXTS, Part, heading, items, note, paragraph, plain, table
from reproduction.measure import MISSING, duration
from reproduction.run import PACKAGES, Outcome
from reproduction.section_parts import NOTHING, Section
from reproduction.sections import section
from reproduction.units import unwritable, write
from sparsewise._util.text import count

MOST_FAILURES = 40


def write_report(outcome: Outcome) -> list[str]:
    """Write report.md, report.html and the folder figures into the folder of a run.

    Without matplotlib the report has no figures and says how to get them.

    Returns
    -------
    list of str
        Each experiment in one line.
    """
    try:
        images = _draw(outcome)
    except OSError as error:
        raise unwritable(outcome.folder / "figures", error) from None
    sections = {
        one.name: section(one, outcome.of(one.name), outcome.records_of(one.name))
        for one in outcome.experiments
    }
    parts = [heading(1, _title(outcome)), *_summary(outcome, sections)]
    if images is None:
        parts.append(note(TEXTS["no_figures"]))
    for one in outcome.experiments:
        multi_target = len(outcome.experiments) > 1 or is_among(one, DECLARED)
        parts.append(heading(2, plain(one.title) if multi_target else "Results"))
        drawn = (images or {}).get(one.name, [])
        before, after = sections[one.name].before, sections[one.name].after
        parts += [*before, *drawn, *after, *_not_drawn(one, len(drawn))]
    parts += [*_failures(outcome), *_settings(outcome)]
    write(outcome.folder / "report.md", document.to_markdown(parts))
    page = document.to_html(parts, _title(outcome))
    write(outcome.folder / "report.html", page)
    return [f"{name}: {one.headline.replace('**', '')}" for name, one in sections.items()]


# --- figures --------------------------------------------------------------------------------------


def _draw(outcome: Outcome) -> dict[str, list[Part]] | None:
    """All figures, written to the disk; None without matplotlib."""
    try:
        from reproduction import figures
    except ImportError:
        return None
    folder = outcome.folder / "figures"
    folder.mkdir(exist_ok=True)
    images: dict[str, list[Part]] = {}
    for one in outcome.experiments:
        for picture in figures.pictures(one, outcome.of(one.name), outcome.records_of(one.name)):
            figures.save(picture, folder)
            image = document.image(folder, picture.name, picture.caption)
            images.setdefault(one.name, []).append(image)
    return images


def _not_drawn(experiment: Experiment, drawn: int) -> list[Part]:
    """What is said where there would be too many figures."""
    *others, _, _ = sorted(len(set(many)) for many in [*experiment.grid.values(), (0,), (0,)])
    wanted = math.prod(others)
    if drawn == 0 or wanted <= drawn:
        return []
    return [paragraph(f"Drawn are {drawn} of {wanted} figures; `results.csv` has everything.")]


# --- beginning and end ----------------------------------------------------------------------------


def _title(outcome: Outcome) -> str:
    if all(declared_in_paper(one) for one in outcome.experiments):
        return "Sparse Bayesian Learning via Stepwise Regression, reproduced"
    if all(_is_beyond(one) for one in outcome.experiments):
        return "Beyond the paper: solve, told nothing"
    return plain(outcome.experiments[0].title)


def _is_beyond(experiment: Experiment) -> bool:
    return is_among(experiment, beyond.EXPERIMENTS)


def _summary(outcome: Outcome, sections: dict[str, Section]) -> list[Part]:
    parts = []
    if any(declared_in_paper(one) for one in outcome.experiments):
        parts.append(paragraph(TEXTS["reproduced"]))
    if any(_is_beyond(one) for one in outcome.experiments):
        parts += [paragraph(TEXTS["beyond"]), paragraph(TEXTS["fairness"])]
    if len(outcome.experiments) > 1:
        heads = [(one.title, sections[one.name].headline) for one in outcome.experiments]
        parts.append(items([f"{plain(title)}. {headline}" for title, headline in heads]))
    took = f"All of it took {duration(outcome.facts['seconds'])}"
    if failed := len(outcome.failed):
        took += f"; **{count(failed, 'unit')} failed**, see below"
    return [*parts, paragraph(f"{took}.")]


def _settings(outcome: Outcome) -> list[Part]:
    """Seed, sizes, versions, and what took how long."""
    rows = []
    for one in outcome.experiments:
        sizes = f"{len(one.cells())}", f"{len(one.contenders)}", f"{one.realizations:,}"
        rows.append([plain(one.name), *sizes, _spent(outcome, one)])
    facts = outcome.facts
    jobs, cores = facts.get("jobs"), count(int(facts.get("cores") or 1), "core")
    processes = count(int(jobs or 1), "process", "processes")
    many = "as many processes as cores" if jobs == -1 else processes
    known = [
        name for name in ("python", "sparsewise", *PACKAGES) if facts.get(name, MISSING) != MISSING
    ]
    versions = ", ".join(f"{name} {facts[name]}" for name in known)
    said = [
        f"In all: {duration(facts['seconds'])} by the clock, {many}, {cores}. The times in the "
        "table are added up over all processes.",
        f"Seed {facts['seed']}: the same seed gives the same numbers, whatever the number of "
        "processes; times differ.",
        f"Versions: {plain(versions)}.",
        "All numbers: `results.csv` (a row for each cell and algorithm) and `values.csv` (a row "
        "for each realisation).",
    ]
    head = ["experiment", "cells", "algorithms", "realisations", "time"]
    return [heading(2, "Settings and time"), table(head, rows), items(said)]


def _spent(outcome: Outcome, experiment: Experiment) -> str:
    """What all units took together."""
    known = outcome.facts.get("work_seconds", {}).get(experiment.name)
    return duration(known) if known else NOTHING


def _failures(outcome: Outcome) -> list[Part]:
    grids = {one.name: one.grid for one in outcome.experiments}
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in outcome.failed:
        where = (row["experiment"], row["algorithm"], row["error_message"])
        cell = equations({name: row[name] for name in grids[row["experiment"]]})
        alike.setdefault(where, []).append(cell)
    rows = [
        [plain(experiment), plain(algorithm), _some(cells), plain(error)]
        for (experiment, algorithm, error), cells in alike.items()
    ]
    if not rows:
        return []
    parts = [
        heading(2, "What failed"),
        paragraph("These are left out of everything above; `--resume` tries them again."),
        table(["experiment", "algorithm", "cells", "error"], rows[:MOST_FAILURES], texts=None),
    ]
    more = len(rows) - MOST_FAILURES
    return [*parts, paragraph(f"And {more} more, in `results.csv`.")] if more > 0 else parts


def _some(cells: Sequence[str]) -> str:
    """The first few cells, and how many more there are."""
    more = f" … and {len(cells) - 3} more" if len(cells) > 3 else ""
    return "; ".join(cells[:3]) + more
