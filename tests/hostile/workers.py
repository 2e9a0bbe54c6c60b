"""Cases side by side, each with a deadline: a case that never ends is a failure, too."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from time import monotonic

from tests.hostile.campaign import Case, objection

#: Seconds. Cases take milliseconds; the first of a kind waits for its compilation, on busy cores.
DEADLINE = 120.0

Outcome = tuple[Case, str | None]


def serve(orders: Connection) -> None:
    """Judge cases until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    import tests.hostile.families  # noqa: F401  (enters them)

    while (order := orders.recv()) is not None:
        case = Case(*order)
        failure = objection(case)
        orders.send((case.recipe, None if failure is None else str(failure)))


class Worker:
    """A process that judges one case at a time."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.case: Case | None = None
        self.lost = False  # dead, or in a case that never ends

    def give(self, case: Case) -> None:
        self.line.send((case.family, case.seed, case.number))
        self.case, self.until = case, monotonic() + DEADLINE

    def late(self) -> bool:
        return self.case is not None and monotonic() > self.until

    def take(self) -> Outcome:
        """The outcome of its case; a process that died or hangs has failed it."""
        case, self.case = self.case, None
        assert case is not None
        if not self.line.poll():
            self.lost = True
            return case, f"no_hang: not done after {DEADLINE:.0f} s"
        try:
            case.recipe, failure = self.line.recv()
        except EOFError:
            self.lost = True
            self.process.join()
            return case, f"no_crash: the process ended with {self.process.exitcode}"
        return case, failure

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.line.close()


def outcomes(todo: Iterator[Case], jobs: int) -> Iterator[Outcome]:
    """Judge all of them, as they come."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the processes share the cores already
    workers = [Worker() for _ in range(jobs)]
    try:
        while True:
            for worker in workers:
                if worker.case is None and (case := next(todo, None)) is not None:
                    worker.give(case)
            busy = [worker for worker in workers if worker.case is not None]
            if not busy:
                return
            ready = wait([worker.line for worker in busy], timeout=1.0)
            for worker in busy:
                if worker.line in ready or worker.late():
                    yield worker.take()
                if worker.lost:
                    worker.end()
                    workers[workers.index(worker)] = Worker()
    finally:
        for worker in workers:
            worker.end()
