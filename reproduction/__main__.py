"""Run experiments from declaration to report: ``python -m reproduction table1 --quick``."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from reproduction.catalogue import DECLARED, GROUPS, named
from reproduction.declaration import Experiment
from reproduction.measure import duration
from reproduction.report import write_report
from reproduction.run import Outcome, adapted, attended, check_algorithms, run
from sparsewise._util.progress import hushed
from sparsewise._util.text import count, printable
from sparsewise.errors import InputError

PROGRAM = "python -m reproduction"


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Reproduce the tables and figures of Ament and Gomes (2021) beside the "
        "paper's, show what solve recovers on the same draws without being told anything, or run "
        "experiments of your own; and write a report.",
        epilog="table1 and table2 have recovery probabilities, phase is Fig. 2, timing Fig. 3, "
        "bounds Fig. 1, boston Fig. 4; all is all of these in one report. beyond has solve beside "
        "the paper's algorithms and those of scikit-learn and abess, on tables 1 and 2 (k = 28, "
        "too), with more noise, on pure noise, and on the phase transition. shared-support has "
        "recovery by how many targets share their columns. how-sure has the calibration of "
        "posterior, beside R where it is installed. The folder then has report.html, "
        "report.md, figures, results.csv (a row for each cell and algorithm), values.csv (for each "
        "realisation) and units (a file for each that is done). docs/experiments.md says how to "
        "declare an experiment; examples/density.py is one.",
    )
    names = [*DECLARED, *GROUPS]
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help=f"{', '.join(names)}, a Python file, or module:NAME; several go into one report",
    )
    what = parser.add_argument_group("what")
    what.add_argument("--quick", action="store_true", help="a small version, for a first look")
    what.add_argument("--realizations", type=_at_least(1), metavar="R", help="draws of each cell")
    what.add_argument(
        "--algorithms", metavar="NAMES", help="only these, as the tables call them, by commas"
    )
    what.add_argument(
        "--seed", type=_at_least(0), default=0, metavar="S", help="where draws start (default: 0)"
    )
    how = parser.add_argument_group("how")
    how.add_argument(
        "--out", metavar="DIR", help="folder of the results (default: sparsewise-NAME)"
    )
    how.add_argument(
        "--resume", action="store_true", help="go on with the run in the folder; none is repeated"
    )
    how.add_argument(
        "--jobs", type=int, default=-1, metavar="J", help="processes (default: one for each core)"
    )
    how.add_argument("--dask", metavar="ADDRESS", help="use the workers of this Dask scheduler")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run experiments as the options say, write the report, and return the exit code."""
    args = parse(words)
    try:
        return _run(args)
    except InputError as error:
        return _complain(str(error), 2)


def _run(args: argparse.Namespace) -> int:
    experiments = list({one.name: one for name in args.names for one in named(name)}.values())
    if args.dask is not None:
        _quieten_dask()
    folder = Path(args.out or f"sparsewise-{_short(args.names, experiments)}")
    wanted, left_out = attended(_adapted(experiments, args))
    for reason in left_out:
        print(printable(reason))
    progress = Progress()
    try:
        with hushed():
            outcome = run(
                wanted,
                folder,
                seed=args.seed,
                jobs=args.jobs,
                resume=args.resume,
                dask=args.dask,
                on_start=progress.start,
                on_unit=progress.advance,
            )
    except KeyboardInterrupt:
        return _complain(
            f"interrupted; what is done is kept in {folder}, and --resume goes on", 130
        )
    finally:
        progress.clear()
    for headline in write_report(outcome):
        print(printable(headline))
    return _tell(outcome)


def _short(names: Sequence[str], experiments: Sequence[Experiment]) -> str:
    """What the folder is called after."""
    known = all(name in {*DECLARED, *GROUPS} for name in names)
    return "-".join(dict.fromkeys(names)) if known else experiments[0].name


def _adapted(experiments: Sequence[Experiment], args: argparse.Namespace) -> list[Experiment]:
    algorithms = None
    if args.algorithms is not None:
        algorithms = [name for one in args.algorithms.split(",") if (name := one.strip())]
        if not algorithms:
            raise InputError("--algorithms names none")
        check_algorithms(experiments, algorithms)
    smaller = {"quick": args.quick, "realizations": args.realizations, "algorithms": algorithms}
    return [adapted(one, **smaller) for one in experiments]


def _tell(outcome: Outcome) -> int:
    """Say where the results are, and how many cells failed."""
    failed = len(outcome.failed)
    print(f"report: {printable(str(outcome.folder / 'report.html'))}")
    if failed:
        print(f"{count(failed, 'cell')} failed: the report has the errors, --resume tries again")
    return 1 if failed else 0


def _complain(wrong: str, code: int) -> int:
    print(printable(f"{PROGRAM}: {wrong}"), file=sys.stderr)
    return code


def _at_least(least: int) -> Any:
    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {text}")
        return int(text)

    return number


def _quieten_dask() -> None:
    """What Dask has to say of its own troubles, at length, we say in one line."""
    with suppress(ImportError):
        import distributed as distributed  # which sets the levels of its loggers, one by one
    for name in ("distributed", "tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


class Progress:
    """A line with the time left, on a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._begun, self._total, self._done, self._new = time.monotonic(), 0, 0, 0

    def start(self, total: int, done: int) -> None:
        """Called before the first unit; those that were done already count at once."""
        self._total, self._done, self._new = total, 0, -done

    def advance(self, unit: Any, record: Any) -> None:
        """Called after each unit."""
        self._done, self._new = self._done + 1, self._new + 1
        left = ""
        if self._new > 0:
            each = (time.monotonic() - self._begun) / self._new
            left = f", {duration(each * (self._total - self._done))} left"
        self._write(f"{unit.experiment.name}: {self._done} of {self._total}{left}")

    def clear(self) -> None:
        """Leave an empty line."""
        self._write("")

    def _write(self, text: str) -> None:
        if self._shown:
            print(f"\r\x1b[K{printable(text)}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
