"""Measure sparsewise against its peers and print the ratios."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import table
from benchmarks.cases import CASES, COMPARISONS, Case
from benchmarks.measure import Measurement

README = Path(__file__).resolve().parent.parent / "README.md"


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, without the largest")
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
        help="rewrite the table in README.md (or FILE) between its markers",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    return parser.parse_args(words)


def chosen(names: Sequence[str] | None, quick: bool) -> list[Case]:
    """The cases to run: those named, else all, else (quick) all but the largest."""
    if names:
        return [case for case in CASES if case.name in names]
    return [case for case in CASES if case.in_quick or not quick]


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was asked for; a missed target is news, not an error."""
    wanted = parse(words)
    results: dict[str, dict[str, Measurement]] = {}
    for case in chosen(wanted.case, wanted.quick):
        rows = case.measure(case.quick_rounds if wanted.quick else case.rounds)
        results[case.name] = {row.contender: row for row in rows}
        print(table.case_text(case, rows), flush=True)
    found = table.outcomes(CASES, COMPARISONS, results)
    print(table.outcomes_text(found))
    print(f"\n{table.versions()}")
    if wanted.json:
        wanted.json.write_text(table.as_json(found, results), encoding="utf-8")
    if wanted.readme:
        try:
            table.rewrite_region(wanted.readme, table.markdown(found))
        except (OSError, ValueError) as error:
            print(f"README not rewritten: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
