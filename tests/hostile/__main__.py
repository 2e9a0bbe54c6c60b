"""``python -m tests.hostile --cases 10000 --seed 0``: how many hostile cases fail, and which."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from rich.console import Console
from rich.progress import track

import tests.hostile.families  # noqa: F401  (enters them)
from tests.hostile.campaign import FAMILIES, Case, cases, objection
from tests.hostile.workers import outcomes


def command() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="other cases (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--family", nargs="+", choices=list(FAMILIES), help="these only")
    parser.add_argument("--number", type=int, help="one case alone, of one family, here")
    return parser


def again(case: Case) -> str:
    """The command that repeats a case."""
    return f"--family {case.family} --seed {case.seed} --number {case.number}"


def main() -> int:
    parser = command()
    args = parser.parse_args()
    if args.number is not None:
        if not args.family or len(args.family) != 1:
            parser.error("--number needs one --family")
        return one(Case(args.family[0], args.seed, args.number))
    todo = cases(args.seed, args.cases, args.family)
    run, failed = Counter[str](), Counter[str]()
    bar = Console(stderr=True)
    for case, failure in track(
        outcomes(todo, args.jobs), "cases", args.cases, console=bar, disable=not bar.is_terminal
    ):
        run[case.family] += 1
        if failure is not None:
            failed[case.family] += 1
            print(f"{again(case)}\n  {failure}\n  {', '.join(case.recipe)}", flush=True)
    for name, count in run.items():
        print(f"{name:<16}{count:>8} cases{failed[name]:>6} failed")
    print(f"{'all':<16}{run.total():>8} cases{failed.total():>6} failed, seed {args.seed}")
    return 1 if failed else 0


def one(case: Case) -> int:
    """A case by itself, with the traceback of what is wrong with it."""
    failure = objection(case)
    print(", ".join(case.recipe))
    if failure is not None:
        raise failure
    return 0


if __name__ == "__main__":
    sys.exit(main())
