"""``sparsewise reproduce`` and ``sparsewise run``: experiments, from declaration to report."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsewise._util.text import count, look_up, printable
from sparsewise.cli.options import Command, at_least
from sparsewise.cli.spelling import OPTIONS
from sparsewise.errors import InputError
from sparsewise.experiments.catalogue import DECLARED, GROUPS, named

if TYPE_CHECKING:
    from sparsewise.experiments.conduct import Outcome
    from sparsewise.experiments.declaration import Experiment

OPTIONS.update(jobs="--jobs", resume="--resume", folder="--out")


def add(command: Command) -> None:
    """Add both commands."""
    parser = command(
        "reproduce",
        help="reproduce the tables and figures of the paper, and go beyond them",
        description="Reproduce the tables and figures of Ament and Gomes (2021), and write a "
        "report that shows them beside the paper's; or show what solve, told nothing, recovers on "
        "the same draws.",
        epilog="table1 and table2 have recovery probabilities, phase is Fig. 2, timing Fig. 3, "
        "bounds Fig. 1, boston Fig. 4; all is all of these in one report. beyond has solve beside "
        "the paper's algorithms and those of scikit-learn and abess, on tables 1 and 2 (k = 28, "
        "too), with more noise, on pure noise, and on the phase transition. shared-support has "
        "recovery by how many targets share their columns. The "
        "folder then has report.html, report.md, figures, results.parquet (a row for each cell and "
        "algorithm) and values.parquet (for each realisation).",
    )
    names = [*DECLARED, *GROUPS]
    parser.add_argument("name", metavar="NAME", help=f"{', '.join(names[:-1])} or {names[-1]}")
    parser.set_defaults(run=reproduce)
    _add_options(parser)
    parser = command(
        "run",
        help="run an experiment of your own",
        description="Run an experiment of your own, declared in a YAML file, and write a report.",
        epilog="docs/experiments.md tells what the file may hold; examples/density.yml is one.",
    )
    parser.add_argument("spec", metavar="SPEC", help="the YAML file")
    parser.set_defaults(run=run)
    _add_options(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what")
    what.add_argument("--quick", action="store_true", help="a small version, for a first look")
    what.add_argument("--realizations", type=at_least(1), metavar="R", help="draws of each cell")
    what.add_argument(
        "--algorithms", metavar="NAMES", help="only these, as the tables call them, by commas"
    )
    what.add_argument(
        "--seed", type=at_least(0), default=0, metavar="S", help="where draws start (default: 0)"
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


def reproduce(args: argparse.Namespace) -> int:
    """Run ``sparsewise reproduce``."""
    look_up([args.name], [*DECLARED, *GROUPS], "experiment")
    return _conduct(named(args.name), args.name, args)


def run(args: argparse.Namespace) -> int:
    """Run ``sparsewise run``."""
    from sparsewise.experiments.specification import read_specification

    experiment = read_specification(args.spec)
    return _conduct([experiment], experiment.name, args)


def _conduct(experiments: Sequence[Experiment], name: str, args: argparse.Namespace) -> int:
    """Run experiments as the options say, and write the report."""
    from sparsewise._util.progress import hushed
    from sparsewise.experiments.conduct import attended, conduct
    from sparsewise.experiments.write_up import write_report

    if args.dask is not None:
        _quieten_dask()
    folder = Path(args.out or f"sparsewise-{name}")
    wanted, left_out = attended(list(_adapted(experiments, args)))
    for reason in left_out:
        print(printable(reason))
    try:
        with hushed(), _progress() as (begin, advance):
            outcome = conduct(
                wanted,
                folder,
                seed=args.seed,
                jobs=args.jobs,
                resume=args.resume,
                dask=args.dask,
                on_start=begin,
                on_unit=advance,
            )
    except KeyboardInterrupt:
        print(
            f"sparsewise: interrupted; what is done is kept in {printable(str(folder))}, and "
            "--resume goes on",
            file=sys.stderr,
        )
        return 130
    for headline in write_report(outcome):
        print(printable(headline))
    return _tell(outcome)


def _quieten_dask() -> None:
    """What Dask has to say of its own troubles, at length, we say in one line."""
    with suppress(ImportError):
        import distributed as distributed  # which sets the levels of its loggers, one by one
    for name in ("distributed", "tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _adapted(experiments: Sequence[Experiment], args: argparse.Namespace) -> Iterator[Experiment]:
    from sparsewise.experiments.conduct import adapted, check_algorithms
    from sparsewise.io.tables.names import split_names

    algorithms = None if args.algorithms is None else split_names(args.algorithms)
    if algorithms is not None:
        if not algorithms:
            raise InputError("--algorithms names none")
        check_algorithms(experiments, algorithms)
    for experiment in experiments:
        yield adapted(
            experiment, quick=args.quick, realizations=args.realizations, algorithms=algorithms
        )


def _tell(outcome: Outcome) -> int:
    """Say where the results are, and how many cells failed."""
    failed = outcome.failed.height
    print(f"report: {printable(str(outcome.folder / 'report.html'))}")
    if failed:
        print(f"{count(failed, 'cell')} failed: the report has the errors, --resume tries again")
    return 1 if failed else 0


@contextmanager
def _progress() -> Iterator[tuple[Any, Any]]:
    """A bar with the time left, on a terminal; what is called as the work goes on."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from sparsewise.summary.terminal import Page

    page = Page(sys.stderr)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=page,
        transient=True,
        disable=not page.is_terminal,
    )
    task = bar.add_task("running", start=False)
    already = [0]

    def begin(total: int, done: int) -> None:
        already[0] = done
        bar.update(task, total=total, completed=done)
        bar.start_task(task)

    def advance(unit: Any, record: Any) -> None:
        if already[0]:  # of an earlier run, counted at once
            already[0] -= 1
            return
        bar.update(task, advance=1, description=unit.experiment.name)

    # Where there is no terminal, older releases of rich end with an empty line.
    with bar if page.is_terminal else nullcontext():
        yield begin, advance
