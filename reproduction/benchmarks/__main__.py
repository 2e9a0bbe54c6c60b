"""Measure sparsewise against its peers and print the ratios."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from reproduction.benchmarks import figure, memory, pages, table
from reproduction.benchmarks.cases import CASES, COMPARISONS, CONTENDERS, Case
from reproduction.benchmarks.outcomes import Outcome, outcomes
from reproduction.benchmarks.peers import YARDSTICKS
from reproduction.benchmarks.race import QUICK, Measurement, race, reason
from reproduction.document import rewrite

README = Path(__file__).resolve().parents[2] / "README.md"


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="few rounds, nothing large or slow, no memory"
    )
    parser.add_argument(
        "--case",
        action="append",
        choices=[case.name for case in CASES],
        help="only this case (may be given again)",
    )
    parser.add_argument(
        "--readme",
        nargs="?",
        type=Path,
        const=README,
        metavar="FILE",
        help="rewrite the headlines in README.md (or FILE) between its markers, and "
        "benchmarks.md and its figure in docs beside it",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    return parser.parse_args(words)


def chosen(names: Sequence[str] | None, quick: bool) -> list[Case]:
    """The cases to run: those named, else all, else (quick) all but the largest."""
    if names:
        return [case for case in CASES if case.name in names]
    return [case for case in CASES if case.in_quick or not quick]


def measure(case: Case, quick: bool) -> list[Measurement]:
    """Time and memory of all contenders; whatever fails is told in their rows."""
    names = [name for name in case.contenders if not (quick and name in case.slow)]
    contenders = {name: CONTENDERS[name] for name in names}
    rounds, patience = (case.quick_rounds, QUICK) if quick else (case.rounds, 1.0)
    try:
        problems = [case.make(seed=seed) for seed in range(case.problems)]
        rows = race(problems, contenders, rounds, case.on_clock, patience)
    except Exception as error:
        return [Measurement(contender=name, failure=reason(error)) for name in contenders]
    return [_with_memory(case, row) for row in rows] if case.memory and not quick else rows


def _with_memory(case: Case, row: Measurement) -> Measurement:
    if row.contender in YARDSTICKS or row.failure:
        return row
    try:
        return replace(row, memory=memory.peak(case.name, row.contender))
    except Exception as error:
        print(f"memory of {row.contender} not measured: {reason(error)}", file=sys.stderr)
        return row


def write(readme: Path, found: Sequence[Outcome]) -> None:
    """The headlines of the README, the page of all comparisons, and the figure of both."""
    rewrite(readme, {"benchmarks": pages.readme(found)})
    folder = readme.parent / "docs"
    folder.mkdir(exist_ok=True)
    (folder / "benchmarks.md").write_text(pages.page(found), encoding="utf-8")
    for suffix, colours in (("", figure.LIGHT), ("-dark", figure.DARK)):
        picture = figure.svg(found, colours)
        (folder / f"benchmarks{suffix}.svg").write_text(picture, encoding="utf-8")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was asked for; a missed target is news, not an error."""
    wanted = parse(words)
    start = time.monotonic()
    results: dict[str, dict[str, Measurement]] = {}
    for case in chosen(wanted.case, wanted.quick):
        begun = time.monotonic()
        rows = measure(case, wanted.quick)
        results[case.name] = {row.contender: row for row in rows}
        print(table.case_text(case, rows))
        print(f"  in {time.monotonic() - begun:.0f} s", flush=True)
    found = outcomes(CASES, COMPARISONS, results)
    print(table.outcomes_text(found))
    print(f"\n{table.versions()}")
    print(f"{(time.monotonic() - start) / 60:.1f} minutes")
    if wanted.json:
        wanted.json.write_text(table.as_json(found, results), encoding="utf-8")
    if wanted.readme:
        try:
            write(wanted.readme, found)
        except (OSError, ValueError) as error:
            print(f"README not rewritten: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
