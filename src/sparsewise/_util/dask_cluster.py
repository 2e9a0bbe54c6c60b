"""Where the tasks of Dask collections run: the workers of a scheduler, or threads of this process.

Both are reached by the same three verbs: `hold` what a collection's parts are made of, `ask` for a
function of something held, and wait for `results`. What is held is made anew by Dask from its graph
when a worker is lost; so are answers that were under way.
"""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from itertools import cycle
from typing import Any, Protocol

from sparsewise._util.text import count, printable
from sparsewise.errors import ClusterError, InputError

PATIENCE = 60.0
"""Seconds to wait for workers when all of them have gone: others may be started in their place."""

SHARED = 1 << 20
"""Bytes from which on workers hand each other what all of them need."""

STAYS = "split-shuffle"
"""How tasks are called that Dask takes to be quick, and never moves to another worker: by other
names an idle worker would fetch whole blocks of data for the next product with them."""

SPILL = 0.7
"""The part of its memory that a Dask worker fills before it writes to disk what it holds."""


class Workers(Protocol):
    """Who computes.

    Attributes
    ----------
    name : str
        Who they are, for a sentence.
    threads : int
        How many tasks run at the same time.
    memory, largest : float
        Bytes that can be held by all, and by one of them; infinite if nobody knows.
    """

    name: str
    threads: int
    memory: float
    largest: float

    def hold(self, parts: Sequence[Any], make: Callable[..., Any], size: int) -> list[Any]:
        """make(part) for every part (`Delayed`) of a collection of so many bytes, kept there."""

    def compute(self, parts: Iterable[Any]) -> list[Any]:
        """The parts (`Delayed`) of a collection: to be had by `results`."""

    def share(self, value: Any) -> Any:
        """A value that several tasks are to be asked with."""

    def ask(
        self, function: Callable[..., Any], *arguments: Sequence[Any], stay: bool = False
    ) -> list[Any]:
        """As `map` does, with things held, answers, or plain values: to be had by `results`.

        `stay`: where the largest of these are, even if somebody else has nothing to do.
        """

    def results(self, answers: Iterable[Any]) -> list[Any]:
        """The values of answers, here."""


def workers() -> Workers:
    """Those that Dask itself would use now."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    return Threads() if client is None else Cluster(client)


class Threads:
    """Dask without a scheduler of its own: threads of this process, or what it is configured to."""

    def __init__(self) -> None:
        from dask.system import CPU_COUNT

        self.name = "threads of this process"
        self.threads: int = CPU_COUNT
        self.memory = self.largest = _available() / 2

    def hold(self, parts: Sequence[Any], make: Callable[..., Any], size: int) -> list[Any]:
        """In this process's memory; what has no room there is read anew in every pass."""
        import dask

        made = [dask.delayed(make, pure=False)(part) for part in parts]
        return list(dask.compute(*made)) if size <= self.memory else made

    def compute(self, parts: Iterable[Any]) -> list[Any]:
        """As they are."""
        return list(parts)

    def share(self, value: Any) -> Any:
        """As it is."""
        return value

    def ask(
        self, function: Callable[..., Any], *arguments: Sequence[Any], stay: bool = False
    ) -> list[Any]:
        """A task for each."""
        import dask

        return list(map(dask.delayed(function, pure=False), *arguments))

    def results(self, answers: Iterable[Any]) -> list[Any]:
        """Compute them."""
        import dask

        return list(dask.compute(*answers))


class Cluster:
    """The workers of a Dask scheduler.

    Parameters
    ----------
    client : distributed.Client
        The connection to it.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        known = self._known() or self._awaited()
        self._slots = [at for at, worker in known.items() for _ in range(worker["nthreads"])]
        self.threads = len(self._slots)
        limits = [worker["memory_limit"] or math.inf for worker in known.values()]
        self.memory, self.largest = SPILL * sum(limits), SPILL * max(limits)
        self.name = count(len(known), "Dask worker")

    def hold(self, parts: Sequence[Any], make: Callable[..., Any], size: int) -> list[Any]:
        """On the workers, in turn, wherever they were computed."""
        if size > self.memory:
            raise ClusterError(
                f"The data take {size / 2**30:.3g} GiB, but {self.name} can hold "
                f"{self.memory / 2**30:.3g} GiB",
                "give them more memory, or start more of them.",
            )
        where = cycle(self._slots)
        try:
            return [
                self.client.submit(
                    make, part, workers=[next(where)], allow_other_workers=True, pure=False
                )
                for part in self.client.compute(list(parts))
            ]
        except Exception as error:
            raise self._explained(error) from error

    def compute(self, parts: Iterable[Any]) -> list[Any]:
        """On the workers, from now on."""
        try:
            return list(self.client.compute(list(parts)))
        except Exception as error:
            raise self._explained(error) from error

    def share(self, value: Any) -> Any:
        """As a task that returns it, if it is large: the scheduler sends it to one worker only.

        Data that are scattered would be lost with the workers that have them; a task is repeated.
        """
        if getattr(value, "nbytes", 0) < SHARED:
            return value
        return self.ask(_itself, [value])[0]

    def ask(
        self, function: Callable[..., Any], *arguments: Sequence[Any], stay: bool = False
    ) -> list[Any]:
        """A task for each, which goes to where what it needs is held; all in one message."""
        import dask

        # Tasks that say where they may run, though that be anywhere, go to where their data are;
        # of others, many small ones, Dask thinks that they need none, and spreads them evenly.
        where: dict[str, Any] = {}
        if stay:
            there = list(dict.fromkeys(self._slots))
            where = {"workers": there, "allow_other_workers": True, "key": STAYS}
        try:
            # Values are as large as they have to be: no reason to warn anybody.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
                return list(self.client.map(function, *arguments, pure=False, **where))
        except Exception as error:
            raise self._explained(error) from error

    def results(self, answers: Iterable[Any]) -> list[Any]:
        """Wait for them and fetch them, from the workers themselves if these can be reached."""
        from distributed import wait

        futures = list(answers)
        try:
            while True:
                try:
                    wait(futures, timeout=PATIENCE)
                    break
                except TimeoutError:
                    if not self._known():
                        raise ClusterError(
                            "All workers of the Dask cluster are gone", "start others."
                        ) from None
            direct = self.client.direct_to_workers is not False
            return list(self.client.gather(futures, direct=direct))
        except (Exception, CancelledError) as error:
            raise self._explained(error) from error

    def _awaited(self) -> dict[str, Any]:
        """Those that come once there is something to do, as in a cluster that adapts itself."""
        from distributed import wait

        try:
            wait(self.ask(_itself, [None]), timeout=PATIENCE)
        except TimeoutError:
            raise ClusterError("The Dask cluster has no workers", "start some.") from None
        return self._known()

    def _known(self) -> dict[str, Any]:
        """The workers as the scheduler knows them."""
        try:
            return dict(self.client.scheduler_info(n_workers=-1)["workers"])
        except TypeError:  # before 2025 it took no arguments, and told of all of them
            return dict(self.client.scheduler_info()["workers"])

    def _explained(self, error: BaseException) -> BaseException:
        """What went wrong, if that is the cluster; otherwise the error of a task."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            return ClusterError(
                "Dask workers died again and again over the same task",
                "give them more memory, or see their logs.",
            )
        if not self._is_there():
            return ClusterError("The Dask scheduler is gone", "start it again and repeat the fit.")
        if isinstance(error, CancelledError):
            return ClusterError(
                "The Dask cluster has lost data that it can't make anew",
                "repeat the fit: what comes from files or tasks outlives a worker, what was "
                "scattered does not.",
            )
        return error

    def _is_there(self) -> bool:
        """Whether the scheduler answers."""
        try:
            return self.client.status == "running" and self._known() is not None
        except Exception:
            return False


def _itself(value: Any) -> Any:
    return value


def connect(address: str, patience: float = 5.0) -> Any:
    """A client of the scheduler at this address, which must answer within so many seconds."""
    try:
        from dask.distributed import Client
    except ImportError:
        needs = "needs the package distributed: pip install 'sparsewise[dask]'"
        raise InputError(needs, parameter="dask") from None
    try:
        _probe(address, patience)
        return Client(address, timeout=patience)
    except Exception as error:
        raise InputError(
            f"there is no Dask scheduler at {printable(address)}: {printable(str(error))}"
        ) from None


def _probe(address: str, patience: float) -> None:
    """Whether somebody is there: a client that meets none waits long, or can't be got rid of."""
    from distributed.comm import get_address_host_port, parse_address

    scheme, _ = parse_address(address)
    if scheme == "inproc":
        return
    where = get_address_host_port(address)
    if scheme == "tcp":
        with socket.create_connection(where, patience) as connection:
            # Here the scheduler speaks first; other services wait for us.
            if not connection.recv(1):
                raise ConnectionError("it hung up")


def _available() -> float:
    """Bytes of memory that this machine has to spare."""
    try:
        from psutil import virtual_memory
    except ImportError:  # it comes with distributed
        return math.inf
    return float(virtual_memory().available)
