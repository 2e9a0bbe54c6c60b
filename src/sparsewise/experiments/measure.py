"""What is kept of a unit, how its time is taken, and with which packages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from threading import Lock

import scipy.linalg  # noqa: F401  (its BLAS must be there to be limited)
from threadpoolctl import threadpool_limits

from sparsewise.kernels import compile_first
from sparsewise.results import Solution

Values = dict[str, list[float]]
"""What was found in each realisation, by name."""


def timed(solve: Callable[[], Solution], again: bool) -> tuple[Solution, float]:
    """The solution, and how long it took; `again`: not counting what the first call compiles."""
    if again:
        solve()
    start = time.perf_counter()
    solution = solve()
    return solution, time.perf_counter() - start


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
