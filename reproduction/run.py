"""From declarations to a folder of results: run, keep, tabulate."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reproduction import tables, units
from reproduction.catalogue import QUICK
from reproduction.declaration import Experiment
from reproduction.generators import FAMILIES, SIGNALS
from reproduction.measure import versions
from reproduction.peers import absent
from reproduction.tables import Row
from reproduction.tasks import TASKS
from reproduction.units import Record
from reproduction.workers import OnStart, OnUnit, processes, run_units
from sparsewise._util.text import look_up, printable
from sparsewise.errors import InputError
from sparsewise.version import __version__

PACKAGES = ("numpy", "scipy", "numba", "joblib", "scikit-learn", "abess")
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Outcome:
    """What a run has left behind.

    Attributes
    ----------
    folder : Path
        Where the files are.
    experiments : list of Experiment
        What was run.
    records : list of dict
        What is known of each unit: settings, values of all realisations, error, seconds.
    facts : dict
        Seconds in all and for each experiment, processes, seed, versions.
    results : list of dict
        One row for each cell and contender.
    """

    folder: Path
    experiments: list[Experiment]
    records: list[Record]
    facts: dict[str, Any]
    results: list[Row] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", tables.summarised(self.records))

    def of(self, experiment: str) -> list[Row]:
        """The results of one experiment."""
        return [row for row in self.results if row["experiment"] == experiment]

    def records_of(self, experiment: str) -> list[Record]:
        """The records of one experiment that have values."""
        mine = (one for one in self.records if one["settings"]["experiment"] == experiment)
        return [record for record in mine if record["values"]]

    @property
    def failed(self) -> list[Row]:
        """The results that have an error message instead of values."""
        return tables.succeeded(self.results, "error_message")


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


def run(
    experiments: Sequence[Experiment],
    folder: str | Path,
    *,
    seed: int = 0,
    jobs: int = -1,
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
    done = _make(folder, resume)
    every = [unit for experiment in experiments for unit in experiment.units()]
    facts = _facts(seed, processes(jobs, len(every)), dask)
    before, started = _seconds_before(folder) if resume else 0.0, time.perf_counter()

    def write_facts() -> None:
        """After every unit, so that the time of a part that is killed counts, too."""
        facts["seconds"] = before + time.perf_counter() - started
        units.write(folder / "run.json", json.dumps(facts, indent=2))

    def ended(unit: Any, record: Record) -> None:
        facts["work_seconds"].setdefault(unit.experiment.name, 0.0)
        facts["work_seconds"][unit.experiment.name] += record["seconds"]
        write_facts()
        on_unit(unit, record)

    records = run_units(
        every, done, seed=seed, jobs=jobs, dask=dask, on_start=on_start, on_unit=ended
    )
    write_facts()
    outcome = Outcome(folder, list(experiments), records, facts)
    units.write(folder / "results.csv", tables.as_csv(outcome.results))
    units.write(folder / "values.csv", tables.as_csv(list(tables.realizations(records))))
    return outcome


def _check(experiments: Sequence[Experiment], seed: int, jobs: int) -> None:
    """Refuse what no unit could be run with."""
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"seed must be a whole number from 0 to {LARGEST_SEED}, not {seed}")
    if jobs == 0:
        raise InputError("jobs must be 1 or more, or -1 for as many as there are cores, not 0")
    for experiment in experiments:
        if (draws := experiment.realizations) < 1:
            raise InputError(f"{experiment.name} needs at least 1 realisation, not {draws}")
        look_up([experiment.task], TASKS, "task")
        look_up([experiment.family], FAMILIES, "family")
        look_up([experiment.signal], SIGNALS, "signal")


def _make(folder: Path, resume: bool) -> Path:
    """The folder of the units' files, made unless it is there."""
    done = folder / "units"
    try:
        done.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error  # none of a null byte in the name
        raise InputError(f"can't make the folder {printable(str(folder))}: {reason}") from None
    if not resume and any(done.glob("*.json")):
        held = f"{printable(str(folder))} holds a run already"
        raise InputError(f"{held}: go on with it by --resume, or choose another folder by --out")
    return done


def _seconds_before(folder: Path) -> float:
    try:
        seconds = float(json.loads((folder / "run.json").read_bytes())["seconds"])
    except (*units.UNREADABLE, OverflowError):
        return 0.0
    # Nothing took longer than there have been computers to tell the time: the file is damaged.
    return seconds if 0 <= seconds <= time.time() else 0.0


def _facts(seed: int, jobs: int, dask: str | None) -> dict[str, Any]:
    return {
        "seconds": 0.0,
        "work_seconds": {},
        "seed": seed,
        "jobs": jobs,
        "dask": dask,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sparsewise": __version__,
        **versions(PACKAGES),
    }
