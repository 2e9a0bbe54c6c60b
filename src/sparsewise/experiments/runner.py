"""Run units side by side, keep what is done, go on where it was left."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from itertools import islice
from typing import Any

from joblib import Parallel, cpu_count, delayed, effective_n_jobs, parallel_config

from sparsewise._util.dask_cluster import connect
from sparsewise._util.text import printable
from sparsewise.errors import InputError
from sparsewise.experiments.declaration import Unit
from sparsewise.experiments.journal import RESUME, Journal, Record
from sparsewise.experiments.measure import one_thread
from sparsewise.experiments.tasks import Entries, described, entries, perform

Outcome = dict[str, Any]
"""What `perform` returns for a unit: values, error, seconds."""

OnStart = Callable[[int, int], None]
OnUnit = Callable[[Unit, Record], None]

Numbered = Generator[tuple[int, Outcome], None, None]

MOST_PER_CORE = 4
"""Processes for each core: more would only wait for each other."""

PATIENCE = 5.0
"""Seconds within which a Dask scheduler must answer."""


def run_units(
    units: Iterable[Unit],
    journal: Journal,
    *,
    seed: int,
    jobs: int | None,
    dask: str | None = None,
    on_start: OnStart = lambda total, done: None,
    on_unit: OnUnit = lambda unit, record: None,
) -> list[Record]:
    """The records of all units, in their order; those in the journal are not repeated.

    Parameters
    ----------
    units : iterable of Unit
        What is to be done.
    journal : Journal
        What has been done; each unit is added when it ends.
    seed : int
        Where random numbers start. They depend on it and on the cell alone.
    jobs : int or None
        Processes; -1 for as many as there are cores. No more than there are units, or four for each
        core, are started. None: whatever `joblib.parallel_config` says, which is how other backends
        of joblib, Ray for instance, take over.
    dask : str, optional
        Address of a Dask scheduler, whose workers are used instead.
    on_start : callable
        Called once, before anything else, with the number of units and how many of them are done.
    on_unit : callable
        Called once for each unit: first with those that were done already, in their order, then
        with each that ends.
    """
    units = list(units)
    records = {i: done for i, u in enumerate(units) if (done := journal.find(u.settings(seed)))}
    waiting = [i for i in range(len(units)) if i not in records]
    on_start(len(units), len(records))
    for i, record in records.items():
        on_unit(units[i], record)

    def keep(outcomes: Numbered) -> None:
        # Closing stops what is still running, should we be stopped ourselves.
        with closing(outcomes):
            for i, outcome in outcomes:
                records[i] = {"settings": units[i].settings(seed), **outcome}
                journal.add(records[i])
                on_unit(units[i], records[i])

    def call(i: int) -> Any:
        # Only processes that are our own children can tell whether we live.
        parent = None if jobs is None else os.getpid()
        return delayed(_numbered)(i, units[i], seed, entries(units[i]), parent)

    # Later cells are the harder ones: begun first, they don't keep the others waiting.
    together = [i for i in reversed(waiting) if not units[i].experiment.serial]
    if dask is not None and together:
        keep(_on_dask(dask, units, together, seed))
    elif together:
        with _workers(jobs, len(together)):
            keep(_side_by_side(together, call))
    alone = [i for i in waiting if units[i].experiment.serial]
    keep((i, _worked(units[i], seed)) for i in alone)
    return [records[i] for i in range(len(units))]


def processes(jobs: int | None, units: int) -> int:
    """How many processes there are for so many units."""
    wanted = effective_n_jobs(jobs)
    return wanted if jobs is None else max(1, min(wanted, units, MOST_PER_CORE * cpu_count()))


def _workers(jobs: int | None, units: int) -> AbstractContextManager[Any]:
    if jobs is None:
        return nullcontext()
    if effective_n_jobs(jobs) == 1:
        return parallel_config("sequential")
    # Two even for one unit, as joblib would run it in this process, which it may kill.
    many = max(2, processes(jobs, units))
    return parallel_config("loky", n_jobs=many, inner_max_num_threads=1)


def _worked(unit: Unit, seed: int, needed: Entries = ()) -> Outcome:
    with one_thread:
        return perform(unit, seed, needed)


def _failed(error: BaseException, seconds: float) -> Outcome:
    return {"values": {}, "error": described(error), "seconds": seconds}


# --- joblib ---------------------------------------------------------------------------------------


def _side_by_side(order: Iterable[int], call: Callable[[int], Any]) -> Numbered:
    """Numbers and outcomes of units as they end, whatever becomes of the workers.

    `call` makes what joblib is to run of a unit's number.
    """
    left = dict.fromkeys(order)
    while left:
        sent: list[int] = []
        try:
            with closing(_parallel(left, call, sent)) as outcomes:
                for i, outcome in outcomes:
                    del left[i]
                    yield i, outcome
        except Exception:
            # A worker died, and all are gone. One of the units that were sent is to blame: each is
            # tried by itself, then the others go on.
            suspects = [i for i in sent if i in left]
            if not suspects:
                raise
            for i in suspects:
                del left[i]
                yield i, _by_itself(call(i))


def _parallel(order: Iterable[int], call: Callable[[int], Any], sent: list[int]) -> Numbered:
    """As `_side_by_side`, as long as no worker dies; `sent` is filled with what is begun."""

    def calls() -> Iterator[Any]:
        for i in tuple(order):
            sent.append(i)
            yield call(i)

    try:
        parallel = Parallel(return_as="generator_unordered", batch_size=1)
    except ValueError:
        # This backend tells all at the end: it gets a piece at a time, so that little can be lost.
        todo, size = calls(), effective_n_jobs()
        while piece := list(islice(todo, size)):
            yield from Parallel(batch_size=1)(piece)
    else:
        outcomes = parallel(calls())
        try:
            for outcome in outcomes:  # noqa: UP028  (which would close them without our say)
                yield outcome
        finally:
            with warnings.catch_warnings():
                # That units were begun in vain is no news to whoever stops a run.
                warnings.simplefilter("ignore")
                outcomes.close()


def _by_itself(call: Any) -> Outcome:
    """The outcome of a unit that may kill its worker."""
    start = time.perf_counter()
    try:
        # Never in this process, which it would take along.
        [(_, outcome)] = Parallel(n_jobs=max(2, effective_n_jobs()))([call])
    except Exception as error:
        return _failed(error, time.perf_counter() - start)
    return outcome


def _numbered(
    i: int, unit: Unit, seed: int, needed: Entries, parent: int | None
) -> tuple[int, Outcome]:
    """What a worker does; `parent` is the process to end with, if any."""
    if parent not in (None, os.getpid(), *_watched):
        # Ctrl-C reaches all processes of a terminal; what it means for this one is up to `parent`.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_end_with, args=[parent], daemon=True).start()
        _watched.add(parent)
    return i, _worked(unit, seed, needed)


_watched: set[int | None] = set()


def _end_with(parent: int) -> None:
    """Wait for the end of another process, which may be killed and have no say in ours."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


# --- Dask -----------------------------------------------------------------------------------------
# joblib has a backend for it, which waits for ever for a unit that killed its worker (joblib 1.6).


def _on_dask(address: str, units: Sequence[Unit], order: Iterable[int], seed: int) -> Numbered:
    """As `_side_by_side`, on the workers of a Dask scheduler, those to come included."""
    with connect(address, PATIENCE) as client:
        from dask.distributed import KilledWorker, as_completed

        def outcomes(several: Iterable[int]) -> Iterator[tuple[int, Any]]:
            numbers = {
                client.submit(_worked, units[i], seed, entries(units[i]), pure=False): i
                for i in several
            }
            for future in as_completed(list(numbers)):
                if future.status == "cancelled":
                    raise InputError(
                        f"the Dask scheduler at {printable(address)} is gone",
                        ("what is done is kept for ", RESUME),
                    )
                failed = future.status == "error"
                yield numbers.pop(future), future.exception() if failed else future.result()

        suspects: list[int] = []
        for i, outcome in outcomes(order):
            if isinstance(outcome, KilledWorker):
                # It or another one on the same worker is to blame.
                suspects.append(i)
            else:
                yield i, _settled(outcome)
        for suspect in suspects:
            for i, outcome in outcomes([suspect]):
                yield i, _settled(outcome)


def _settled(outcome: Any) -> Outcome:
    return _failed(outcome, 0.0) if isinstance(outcome, BaseException) else outcome
