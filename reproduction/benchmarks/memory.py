"""Peak extra memory of one contender, in a process of its own.

Two views, of which the larger counts: the growth of the resident set (all that the process
touches) and what tracemalloc sees (numpy reports its arrays to it, and a resident set can hide
reuse of freed memory). Needs the /proc of Linux.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.benchmarks.problems import Problem, gaussian
from reproduction.measure import one_thread

LONGEST = 600.0  # seconds for a child
TWICE = 3.0  # who took longer than this is not run again for tracemalloc

# What is freed goes back to the system at once, so that a resident set hides less.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


def peak(case: str, contender: str) -> float:
    """Run a contender on the problem of a case in a fresh process.

    Returns its peak beyond the data, as a part of the size of the array.
    """
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    child = subprocess.run(
        [sys.executable, "-m", "reproduction.benchmarks.memory", case, contender],
        env={**os.environ, **ALLOCATOR, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=LONGEST,
    )
    if child.returncode != 0:
        raise RuntimeError((child.stderr.strip().splitlines() or ["the child failed"])[-1])
    figures: dict[str, float] = json.loads(child.stdout.splitlines()[-1])
    return max(figures["resident"], figures["traced"]) / figures["array"]


def figures(case: str, contender: str) -> dict[str, float]:
    """Peak growth over the state in which the data have just been put in place, in bytes."""
    from reproduction.benchmarks.cases import CASES, CONTENDERS

    make = next(one.make for one in CASES if one.name == case)
    begin = CONTENDERS[contender]
    begin(gaussian(64, 128, 16)).call()  # compilation and imports are not what is measured
    _touch_workspace()
    problem: Problem = make(seed=0)
    run = begin(problem)
    start = time.process_time()
    grown = resident(run.call)
    quick = time.process_time() - start <= TWICE
    traced = _traced(run.call) if quick else 0.0
    return {"resident": grown, "traced": traced, "array": problem.A.nbytes}


def _touch_workspace() -> None:
    """Fill the buffers that each BLAS keeps for products: some MiB, whatever the problem."""
    from scipy.linalg.blas import dgemm

    square = np.ones((1000, 1000))
    square @ square
    dgemm(1.0, square.T, square.T)


def resident(call: Callable[[], Any]) -> float:
    """Peak growth of the resident set while this runs, in bytes."""
    _settle()
    before = _status("VmRSS")
    call()
    return max(_status("VmHWM") - before, 0.0)


def _traced(call: Callable[[], Any]) -> float:
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(most)


def _settle() -> None:
    """Give freed memory back, and set VmHWM back to VmRSS: what was made before hides nothing."""
    gc.collect()
    with suppress(AttributeError, OSError):  # not glibc: what is freed stays where it is
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def _status(field: str) -> float:
    """A line of /proc/self/status, in bytes; VmHWM is the peak of VmRSS."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024.0 * float(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}")


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("contender")
    wanted = parser.parse_args()
    with one_thread:
        print("\n" + json.dumps(figures(wanted.case, wanted.contender)))


if __name__ == "__main__":
    main()
