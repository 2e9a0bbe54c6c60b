"""Where Dask tasks run: on the workers of a scheduler, or in threads of this process.

Both have the same methods: `hold` persists the parts of a collection, `ask` submits a function of
held parts, and `results` waits for the values. When a worker is lost, Dask recomputes held parts
and pending results from its graph.
"""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import cycle
from typing import Any

from sparsewise._util.text import count, printable
from sparsewise.errors import ClusterError, InputError

PATIENCE = 60.0
"""Seconds to wait for new workers when all of them are gone."""

SHARED = 1 << 20
"""Bytes from which workers pass a shared value on to each other."""

STAYS = "split-shuffle"
"""A key prefix of tasks that Dask assumes to be quick and never moves to another worker. Under
another name, an idle worker would fetch whole blocks of data for the next product with them."""

SPILL = 0.7
"""Fraction of its memory that a Dask worker fills before it spills to disk."""


class Threads:
    """Dask without a distributed scheduler: threads of this process, or as configured.

    Attributes
    ----------
    name : str
        What to call the workers in a message.
    threads : int
        How many tasks run at the same time.
    memory, largest : float
        Bytes that all of them, and the largest of them, can hold; infinite if unknown.
    """

    def __init__(self) -> None:
        from dask.system import CPU_COUNT

        self.name = "threads of this process"
        self.threads: int = CPU_COUNT
        self.memory = self.largest = _available() / 2

    def hold(self, parts: Sequence[Any], make: Callable[..., Any], size: int) -> list[Any]:
        """Persist make(part) for every part (`Delayed`) of a collection of `size` bytes.

        In memory if there is room; otherwise parts are recomputed in every pass.
        """
        import dask

        made = [dask.delayed(make, pure=False)(part) for part in parts]
        return list(dask.compute(*made)) if size <= self.memory else made

    def compute(self, parts: Iterable[Any]) -> list[Any]:
        """Submit the parts (`Delayed`) of a collection; `results` fetches them."""
        return list(parts)

    def share(self, value: Any) -> Any:
        """A value that several tasks take as an argument."""
        return value

    def ask(
        self, function: Callable[..., Any], *arguments: Sequence[Any], stay: bool = False
    ) -> list[Any]:
        """Map a function over held parts, answers or plain values; `results` fetches the values.

        With `stay`, tasks run where the largest arguments are, even if another worker is idle.
        """
        import dask

        return list(map(dask.delayed(function, pure=False), *arguments))

    def results(self, answers: Iterable[Any]) -> list[Any]:
        """Wait for the values of answers and fetch them."""
        import dask

        return list(dask.compute(*answers))


class Cluster:
    """The workers of a Dask scheduler; attributes and methods as of `Threads`.

    Parameters
    ----------
    client : distributed.Client
        The connection to it.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        info = self._worker_info() or self._first_workers()
        self._slots = [at for at, worker in info.items() for _ in range(worker["nthreads"])]
        self.threads = len(self._slots)
        limits = [worker["memory_limit"] or math.inf for worker in info.values()]
        self.memory, self.largest = SPILL * sum(limits), SPILL * max(limits)
        self.name = count(len(info), "Dask worker")

    def hold(self, parts: Sequence[Any], make: Callable[..., Any], size: int) -> list[Any]:
        """On the workers in turn, wherever they were computed."""
        if size > self.memory:
            raise ClusterError(
                f"The data take {size / 2**30:.3g} GiB, but {self.name} can hold "
                f"{self.memory / 2**30:.3g} GiB",
                "give them more memory, or start more of them.",
            )
        where = cycle(self._slots)
        with self._explained():
            return [
                self.client.submit(
                    make, part, workers=[next(where)], allow_other_workers=True, pure=False
                )
                for part in self.client.compute(list(parts))
            ]

    def compute(self, parts: Iterable[Any]) -> list[Any]:
        """Start computing on the workers."""
        with self._explained():
            return list(self.client.compute(list(parts)))

    def share(self, value: Any) -> Any:
        """A large value becomes a task that returns it: the scheduler sends it to one worker only.

        Scattered data would be lost with their worker, but a task is repeated.
        """
        if getattr(value, "nbytes", 0) < SHARED:
            return value
        return self.ask(_itself, [value])[0]

    def ask(
        self, function: Callable[..., Any], *arguments: Sequence[Any], stay: bool = False
    ) -> list[Any]:
        """One task per item, run where its arguments are; all submitted in one message."""
        import dask

        # Tasks with a list of allowed workers, even of all, go to where their data are. Dask takes
        # many small tasks without one for root tasks, and spreads them evenly.
        where: dict[str, Any] = {}
        if stay:
            addresses = list(dict.fromkeys(self._slots))
            where = {"workers": addresses, "allow_other_workers": True, "key": STAYS}
        # Arguments are no larger than needed: no warning.
        quiet = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"})
        with self._explained(), quiet:
            return list(self.client.map(function, *arguments, pure=False, **where))

    def results(self, answers: Iterable[Any]) -> list[Any]:
        """Wait for the values and fetch them, directly from the workers if possible."""
        from distributed import wait

        futures = list(answers)
        with self._explained():
            while True:
                try:
                    wait(futures, timeout=PATIENCE)
                    break
                except TimeoutError:
                    if not self._worker_info():
                        raise ClusterError(
                            "All workers of the Dask cluster are gone", "start others."
                        ) from None
            direct = self.client.direct_to_workers is not False
            return list(self.client.gather(futures, direct=direct))

    def _first_workers(self) -> dict[str, Any]:
        """The workers that an adaptive cluster starts once there is a task."""
        from distributed import wait

        try:
            wait(self.ask(_itself, [None]), timeout=PATIENCE)
        except TimeoutError:
            raise ClusterError("The Dask cluster has no workers", "start some.") from None
        return self._worker_info()

    def _worker_info(self) -> dict[str, Any]:
        """The workers as the scheduler knows them."""
        try:
            return dict(self.client.scheduler_info(n_workers=-1)["workers"])
        except TypeError:  # before 2025 it took no arguments and returned all workers
            return dict(self.client.scheduler_info()["workers"])

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of the cluster into a `ClusterError`; those of a task stay as they are."""
        try:
            yield
        except Exception as error:
            raise self._cause(error) from error

    def _cause(self, error: Exception) -> Exception:
        """A `ClusterError` if the cluster failed; otherwise the error of the task."""
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
                "The Dask cluster has lost data that it can't recompute",
                "repeat the fit: data from files or tasks survive the loss of a worker, scattered "
                "data do not.",
            )
        return error

    def _is_there(self) -> bool:
        """Whether the scheduler answers."""
        try:
            return self.client.status == "running" and self._worker_info() is not None
        except Exception:
            return False


Workers = Threads | Cluster
"""Where tasks run."""


def workers() -> Workers:
    """The workers that Dask itself would use now."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    return Threads() if client is None else Cluster(client)


def _itself(value: Any) -> Any:
    return value


def connect(address: str, patience: float = 5.0) -> Any:
    """A client of the scheduler at this address, which must answer within `patience` seconds."""
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
    """Check that something answers: without a scheduler, a client waits long or can't be closed."""
    from distributed.comm import get_address_host_port, parse_address

    scheme, _ = parse_address(address)
    if scheme == "inproc":
        return
    where = get_address_host_port(address)
    if scheme == "tcp":
        with socket.create_connection(where, patience) as connection:
            # A scheduler sends first; other services wait for the client.
            if not connection.recv(1):
                raise ConnectionError("it hung up")


def _available() -> float:
    """Bytes of available memory on this machine."""
    try:
        from psutil import virtual_memory
    except ImportError:  # it comes with distributed
        return math.inf
    return float(virtual_memory().available)
