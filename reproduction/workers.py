"""Run units side by side, in processes of this machine or on the workers of a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path

from joblib import cpu_count, effective_n_jobs, wrap_non_picklable_objects

from reproduction import units as unit_files
from reproduction.declaration import Unit
from reproduction.measure import one_thread
from reproduction.tasks import Entries, Result, described, entries, perform
from reproduction.units import Record
from sparsewise._util.dask_cluster import connect
from sparsewise.errors import InputError

OnStart = Callable[[int, int], None]
OnUnit = Callable[[Unit, Record], None]
Numbered = Generator[tuple[int, Result], None, None]
Pool = Callable[[], AbstractContextManager[Executor]]

MOST_PER_CORE = 4
"""Processes for each core: more would only wait for each other."""

PATIENCE = 5.0
"""Seconds within which a Dask scheduler must answer."""

DEATHS = ("BrokenProcessPool", "KilledWorker")
"""What a unit ends with whose worker died: by its own fault, or by that of a neighbour."""


def run_units(
    units: Iterable[Unit],
    folder: Path,
    *,
    seed: int,
    jobs: int,
    dask: str | None = None,
    on_start: OnStart = lambda total, done: None,
    on_unit: OnUnit = lambda unit, record: None,
) -> list[Record]:
    """The records of all units, in their order; those that have a file are not repeated.

    Parameters
    ----------
    units : iterable of Unit
        What to run.
    folder : Path
        The folder of the units' files; each unit gets its own when it ends.
    seed : int
        Where random numbers start. They depend on it and on the cell alone.
    jobs : int
        Processes; -1 for as many as there are cores. No more than there are units, or four for each
        core, are started.
    dask : str, optional
        Address of a Dask scheduler, whose workers are used instead.
    on_start : callable
        Called once, before anything else, with the number of units and how many of them are done.
    on_unit : callable
        Called once for each unit: first with those that were done already, in their order, then
        with each that ends.
    """
    units = list(units)
    settings = [unit.settings(seed) for unit in units]
    loaded = [unit_files.load(folder, one) for one in settings]
    records = {i: record for i, record in enumerate(loaded) if record is not None}
    waiting = [i for i in range(len(units)) if i not in records]
    on_start(len(units), len(records))
    for i, record in records.items():
        on_unit(units[i], record)

    def keep(results: Iterable[tuple[int, Result]]) -> None:
        for i, result in results:
            records[i] = {"settings": settings[i], **result}
            unit_files.save(folder, records[i])
            on_unit(units[i], records[i])

    # Later cells are the harder ones: begun first, they don't keep the others waiting.
    together = [i for i in reversed(waiting) if not units[i].experiment.serial]
    calls = {i: partial(work, units[i], seed, entries(units[i])) for i in together}
    if dask is not None and together:
        with closing(_side_by_side(calls, partial(_cluster, dask), len(calls))) as results:
            keep(results)
    elif together and effective_n_jobs(jobs) > 1:
        # Two even for one unit: in this process it could end the run.
        many = max(2, processes(jobs, len(together)))
        with closing(_side_by_side(calls, partial(_processes, many), many)) as results:
            keep(results)
    else:
        keep((i, calls[i]()) for i in together)
    alone = [i for i in waiting if units[i].experiment.serial]
    keep((i, work(units[i], seed)) for i in alone)
    return [records[i] for i in range(len(units))]


def processes(jobs: int, units: int) -> int:
    """How many processes there are for so many units."""
    return max(1, min(effective_n_jobs(jobs), units, MOST_PER_CORE * cpu_count()))


def work(unit: Unit, seed: int, needed: Entries = ()) -> Result:
    """What a worker does."""
    with one_thread:
        return perform(unit, seed, needed)


def _side_by_side(calls: Mapping[int, Callable[[], Result]], pool: Pool, most: int) -> Numbered:
    """Numbers and results of calls as they end, `most` at a time, whatever becomes of the workers.

    When a worker dies, one of the calls under way is to blame: each of these is run by itself, and
    the others go on.
    """
    left, suspects = list(calls), []
    while left:
        with pool() as executor:
            for i, outcome in _until_broken(calls, left, executor, most):
                if isinstance(outcome, BaseException) and type(outcome).__name__ in DEATHS:
                    suspects.append(i)
                else:
                    yield i, _result(outcome)
    for suspect in suspects:
        with pool() as executor:
            for i, outcome in _until_broken(calls, [suspect], executor, 1):
                yield i, _result(outcome)


def _until_broken(
    calls: Mapping[int, Callable[[], Result]], left: list[int], executor: Executor, most: int
) -> Iterator[tuple[int, Result | BaseException]]:
    """Numbers with results or errors, until the pool breaks; `left` loses what was begun."""
    running: dict[Future[Result], int] = {}
    broken = False
    while running or (left and not broken):
        while left and not broken and len(running) < most:
            try:
                with _uninterrupted():
                    future = executor.submit(wrap_non_picklable_objects(calls[left[0]]))
                running[future] = left.pop(0)
            except BrokenProcessPool:
                broken = True
            except Exception as error:  # what can't be sent to a worker
                yield left.pop(0), error
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            try:
                outcome = future.exception() or future.result()
            except CancelledError:
                raise InputError(
                    "the Dask scheduler is gone; what is done is kept for --resume"
                ) from None
            broken = broken or isinstance(outcome, BrokenProcessPool)
            yield running.pop(future), outcome


def _result(outcome: Result | BaseException) -> Result:
    if isinstance(outcome, BaseException):
        return {"values": {}, "error": described(outcome), "seconds": 0.0}
    return outcome


# --- pools ----------------------------------------------------------------------------------------


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    """The workers of a Dask scheduler, those to come included."""
    with connect(address, PATIENCE) as client:
        yield client.get_executor(pure=False)


@contextmanager
def _processes(many: int) -> Iterator[Executor]:
    """Processes of this machine; none is left at the end, however that comes."""
    others: Sequence[object] = multiprocessing.active_children()
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(many, context, initializer=_end_with_parent)
    try:
        yield executor
    finally:
        for child in multiprocessing.active_children():
            if child not in others:
                child.terminate()
        executor.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """A parent that is killed can't stop its workers: they wait for its end themselves."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait_for_it() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_it, daemon=True).start()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keep Ctrl-C waiting; processes started meanwhile never see it, as their parent stops them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
