"""Peak extra memory of `forward`, in a process of its own: ``python -m benchmarks.memory``.

Two views: the growth of the resident set (all that the process touches) and what tracemalloc
sees (numpy reports its arrays to it, and a resident set can hide reuse of freed memory).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

from benchmarks import problems
from benchmarks.measure import Measurement, one_thread
from benchmarks.peers import as_returned, refitted

ARRAY = "the array"
RESIDENT = "forward, resident set"
TRACED = "forward, tracemalloc"


def measure_in_child(n: int, m: int, k: int) -> list[Measurement]:
    """Run this module in a fresh process and read its figures, in bytes."""
    root = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", str(n), str(m), str(k)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode != 0:
        reason = (child.stderr.strip().splitlines() or ["the child process failed"])[-1]
        return [Measurement(contender=name, failure=reason) for name in (RESIDENT, TRACED, ARRAY)]
    figures: dict[str, float] = json.loads(child.stdout)
    return [Measurement(contender=name, best=size) for name, size in figures.items()]


def peak_bytes(n: int, m: int, k: int) -> dict[str, float]:
    """Peak growth over the state in which the array has just been made, in bytes."""
    from sparsewise import forward

    small = problems.gaussian(64, 256, 16)
    forward(small.A, small.y, sparsity=16)  # compilation and imports are not what is measured
    problem = problems.gaussian(n, m, k)

    _forget_peak()
    before = _status("VmRSS")
    solution = forward(problem.A, problem.y, sparsity=k)
    resident = _status("VmHWM") - before

    tracemalloc.start()
    forward(problem.A, problem.y, sparsity=k)
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    ours = as_returned(problem, solution).squared_residual
    if ours > refitted(problem, problem.truth).squared_residual * (1 + 1e-6):
        raise RuntimeError("forward did not reach the residual of the true support")
    return {RESIDENT: resident, TRACED: traced, ARRAY: problem.A.nbytes}


def _status(field: str) -> float:
    """A line of /proc/self/status, in bytes; VmHWM is the peak of VmRSS."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024.0 * float(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}")


def _forget_peak() -> None:
    """Set VmHWM back to VmRSS, so that the making of the array does not hide a lower peak."""
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("n", "m", "k"):
        parser.add_argument(name, type=int)
    wanted = parser.parse_args()
    with one_thread():
        print(json.dumps(peak_bytes(wanted.n, wanted.m, wanted.k)))


if __name__ == "__main__":
    main()
