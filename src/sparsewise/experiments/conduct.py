"""From declarations to a folder of results: run, keep, tabulate."""

from __future__ import annotations

import io
import json
import os
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from sparsewise._util.files import as_csv
from sparsewise._util.text import look_up, printable
from sparsewise.errors import InputError
from sparsewise.experiments.catalogue import QUICK
from sparsewise.experiments.declaration import Experiment
from sparsewise.experiments.draws import FAMILIES, SIGNALS
from sparsewise.experiments.journal import OUT, RESUME, Journal, Record, alone, write_result
from sparsewise.experiments.measure import versions
from sparsewise.experiments.peers import absent
from sparsewise.experiments.runner import OnStart, OnUnit, processes, run_units
from sparsewise.experiments.tabulate import tidy, values
from sparsewise.experiments.tasks import TASKS
from sparsewise.version import __version__

JOURNAL, FACTS = "journal.jsonl", "run.json"
PACKAGES = ("numpy", "scipy", "numba", "polars", "joblib", "scikit-learn", "abess")
MOST_SEED = 2**63 - 1


class Outcome(NamedTuple):
    """What a run has left behind.

    Attributes
    ----------
    folder : Path
        Where the files are.
    experiments : list of Experiment
        What was run.
    results : DataFrame
        One row for each cell and contender.
    values : DataFrame
        One row for each realisation.
    facts : dict
        Seconds in all and for each experiment, processes, seed, versions.
    """

    folder: Path
    experiments: list[Experiment]
    results: pl.DataFrame
    values: pl.DataFrame
    facts: dict[str, Any]

    def of(self, experiment: str) -> pl.DataFrame:
        """The results of one experiment."""
        return self.results.filter(pl.col("experiment") == experiment)

    def values_of(self, experiment: str) -> pl.DataFrame:
        """The values of one experiment; none, without columns, if nothing was run to its end."""
        if self.values.is_empty():
            return self.values
        return self.values.filter(pl.col("experiment") == experiment)

    @property
    def failed(self) -> pl.DataFrame:
        """The results that are none: what has an error message."""
        return self.results.drop_nulls("error_message")


def adapted(
    experiment: Experiment,
    *,
    quick: bool = False,
    realizations: int | None = None,
    algorithms: Sequence[str] | None = None,
) -> Experiment:
    """An experiment made smaller, drawn more or less often, or with some contenders alone."""
    if quick:
        smaller = QUICK.get(experiment.name, {"realizations": min(16, experiment.realizations)})
        experiment = replace(experiment, **smaller)
    if realizations is not None:
        experiment = replace(experiment, realizations=realizations)
    if algorithms is not None:
        experiment = experiment.only(list(algorithms))
    return experiment


def check_algorithms(experiments: Sequence[Experiment], algorithms: Sequence[str]) -> None:
    """Refuse a name that no experiment has."""
    known = {one.label for experiment in experiments for one in experiment.contenders}
    look_up(algorithms, sorted(known), "algorithm")


def attended(experiments: Sequence[Experiment]) -> tuple[list[Experiment], list[str]]:
    """The experiments without contenders whose packages are missing; and who these are, and why.

    Experiments that nobody is left for are none; if there are no others, that is an error.
    """
    everybody = {one.label: one for each in experiments for one in each.contenders}
    reasons = {label: reason for label, one in everybody.items() if (reason := absent(one))}
    present = [label for label in everybody if label not in reasons]
    wanted = [one for each in experiments if (one := each.only(present)).contenders]
    if reasons and not wanted:
        raise InputError(" and ".join(reasons.values()))
    return wanted, list(reasons.values())


def conduct(
    experiments: Sequence[Experiment],
    folder: str | Path,
    *,
    seed: int = 0,
    jobs: int | None = -1,
    resume: bool = False,
    dask: str | None = None,
    on_start: OnStart = lambda total, done: None,
    on_unit: OnUnit = lambda unit, record: None,
) -> Outcome:
    """Run experiments, keep every unit as it ends, and write the tables.

    Parameters
    ----------
    experiments : sequence of Experiment
        What to run.
    folder : str or Path
        Where results go. It may hold a run already only with `resume`.
    seed, jobs, dask, on_start, on_unit
        As for `run_units`.
    resume : bool
        Whether to go on with the run in the folder: what is done is not repeated, what failed is
        tried again.
    """
    folder = Path(folder)
    _check(experiments, seed, jobs)
    _make(folder)
    with alone(folder):
        journal = Journal(_path(folder, resume))
        units = [unit for experiment in experiments for unit in experiment.units()]
        clock = _Clock(journal.path, resume, _facts(seed, processes(jobs, len(units)), dask))
        clock.write()
        records = run_units(
            units, journal, seed=seed, jobs=jobs, dask=dask, on_start=on_start, on_unit=on_unit
        )
        facts = clock.write(work_seconds=_work(records))
        results, every = tidy(records), values(records)
        _write(folder / "results.parquet", results.write_parquet)
        write_result(folder / "results.csv", as_csv(results).encode())
        _write(folder / "values.parquet", every.write_parquet)
    return Outcome(folder, list(experiments), results, every, facts)


def _check(experiments: Sequence[Experiment], seed: int, jobs: int | None) -> None:
    """Refuse what no unit could be run with."""
    if not 0 <= seed <= MOST_SEED:
        wrong = f"must be a whole number from 0 to {MOST_SEED}, not {seed}"
        raise InputError(wrong, parameter="seed")
    if jobs == 0:
        wrong = "must be 1 or more, or -1 for as many as there are cores, not 0"
        raise InputError(wrong, parameter="jobs")
    for experiment in experiments:
        if (draws := experiment.realizations) < 1:
            raise InputError(f"{experiment.name} needs at least 1 realisation, not {draws}")
        look_up([experiment.task], TASKS, "task")
        look_up([experiment.family], FAMILIES, "family")
        look_up([experiment.signal], SIGNALS, "signal")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error  # none of a null byte in the name
        raise InputError(f"can't make the folder {printable(str(folder))}: {reason}") from None


def _path(folder: Path, resume: bool) -> Path:
    """The journal of a folder that may be written to."""
    path = folder / JOURNAL
    if not resume and path.exists() and path.stat().st_size > 0:
        held = f"{printable(str(folder))} holds a run already: go on with it by "
        raise InputError((held, RESUME, ", or choose another ", OUT))
    return path


class _Clock:
    """How long the run has taken, stops between its parts left out.

    It is written down when a part begins and when it ends. A part that was stopped ended with its
    last unit, when the journal was last written to.
    """

    def __init__(self, journal: Path, resume: bool, facts: dict[str, Any]) -> None:
        self._path = journal.with_name(FACTS)
        self._before = _seconds_before(self._path, journal) if resume else 0.0
        self._started = time.perf_counter()
        self._facts = facts

    def write(self, **more: Any) -> dict[str, Any]:
        """Write the facts down, with the time as it is now."""
        seconds = self._before + time.perf_counter() - self._started
        facts = {"seconds": seconds, **self._facts, **more}
        write_result(self._path, json.dumps(facts, indent=2).encode())
        return facts


def _seconds_before(path: Path, journal: Path) -> float:
    try:
        since = journal.stat().st_mtime - path.stat().st_mtime
        seconds = float(json.loads(path.read_bytes())["seconds"]) + max(0.0, since)
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return 0.0
    # Nothing took longer than there have been computers to tell the time: the file is damaged.
    return seconds if 0 <= seconds <= time.time() else 0.0


def _work(records: Sequence[Record]) -> dict[str, float]:
    """Seconds of all processes together, by experiment."""
    work: defaultdict[str, float] = defaultdict(float)
    for record in records:
        work[record["settings"]["experiment"]] += record.get("seconds", 0.0)
    return dict(work)


def _facts(seed: int, jobs: int, dask: str | None) -> dict[str, Any]:
    return {
        "seed": seed,
        "jobs": jobs,
        "dask": dask,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sparsewise": __version__,
        **versions(PACKAGES),
    }


def _write(path: Path, write: Callable[[io.BytesIO], Any]) -> None:
    buffer = io.BytesIO()
    write(buffer)
    write_result(path, buffer.getvalue())
