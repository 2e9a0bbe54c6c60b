"""The clock, one thread for everybody, and the versions of packages."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  (its BLAS must be there to be limited)
from threadpoolctl import threadpool_limits

from sparsewise.kernels import compile_first

Found = TypeVar("Found")


def timed(
    solve: Callable[[], Found], again: bool, clock: Callable[[], float] = time.perf_counter
) -> tuple[Found, float]:
    """The solution, and how long it took; `again`: not counting what the first call compiles."""
    if again:
        solve()
    start = clock()
    solution = solve()
    return solution, clock() - start


def best(
    call: Callable[[], Any], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds of a call, the least of some rounds."""
    return min(least_times({"": call}, rounds, clock, warm_up=False).values())


def least_times(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int,
    clock: Callable[[], float],
    *,
    warm_up: bool = True,
) -> dict[str, float]:
    """The least time of each call, taking turns; the first round doesn't count with `warm_up`."""
    least = dict.fromkeys(calls, math.inf)
    for round_ in range(rounds + warm_up):
        for name, call in calls.items():
            start = clock()
            call()
            if round_ or not warm_up:
                least[name] = min(least[name], clock() - start)
    return least


@contextmanager
def noted(where: str) -> Iterator[None]:
    """Whatever goes wrong here says where it was."""
    try:
        yield
    except Exception as error:
        error.add_note(where)
        raise


class OneThread:
    """One thread for BLAS: units side by side share the cores already, and sums keep their order.

    For the same reason they wait for the compiler. The limit is for a whole process. Where several
    threads of it run units, as on Dask, it holds until the last of them is done.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running = 0

    def __enter__(self) -> None:
        compile_first()
        with self._lock:
            # Some libraries keep a number for each thread: all of them set it.
            limits = threadpool_limits(1)
            if self._running == 0:
                self._limits = limits
            self._running += 1

    def __exit__(self, *reason: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self._limits.restore_original_limits()


one_thread = OneThread()


def duration(seconds: float) -> str:
    """A time for people: "12 ms", "3.4 s", "2 min 5 s", "1 h 4 min"."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


MISSING = "not installed"


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of packages by name."""
    return {package: _version(package) for package in packages}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return MISSING
