"""Codes of many signals, against SPAMS and scikit-learn.

``python -m reproduction.benchmarks.encode [ROUNDS]`` prints the tables of docs/encode.md: time a
signal and ratios, contenders taking turns in one run, least of all rounds. One thread for
everybody, by the processor's clock; only for two threads does the one on the wall count.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sparsewise as sw
from reproduction.measure import least_times
from reproduction.tables import markdown

ROUNDS = 9
Floats = NDArray[np.float64]


class Task(NamedTuple):
    """Unit columns, sparse signals in noise, and how many columns each is to have."""

    n: int
    m: int
    k: int
    signals: int

    @property
    def name(self) -> str:
        return f"{self.n}×{self.m}, k = {self.k}"

    def draw(self, seed: int = 0) -> tuple[Floats, Floats]:
        """A dictionary, and signals of k columns each with noise of a tenth of their size."""
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((self.n, self.m))
        A /= np.linalg.norm(A, axis=0)
        X = np.zeros((self.m, self.signals))
        for x in X.T:
            x[rng.choice(self.m, self.k, replace=False)] = rng.standard_normal(self.k)
        Y = A @ X
        noise = rng.standard_normal(Y.shape)
        Y += 0.1 * np.linalg.norm(Y, axis=0) * noise / np.linalg.norm(noise, axis=0)
        return A, Y


TASKS = [
    Task(64, 128, 16, 4000),
    Task(64, 256, 10, 4000),
    Task(64, 1024, 5, 4000),
    Task(200, 1000, 30, 2000),
]
FEW = 200
"""Signals for those who take long."""


def supports(coef: Any) -> list[tuple[int, ...]]:
    """The rows of each column, as sets."""
    ends = zip(coef.indptr, coef.indptr[1:], strict=False)
    return [tuple(sorted(coef.indices[first:last].tolist())) for first, last in ends]


# --- the tables

SPAMS = ["dictionary", "`forward`", "SPAMS `omp`", "ratio", "same supports"]


def against_spams(task: Task, rounds: int) -> list[str]:
    """µs a signal of `encode(algorithm="forward")` and of SPAMS's `omp`, which is the same."""
    import spams

    A, Y = task.draw()
    A_f, Y_f = np.asfortranarray(A), np.asfortranarray(Y)

    def ours() -> Any:
        return sw.encode(A, Y, algorithm="forward", sparsity=task.k)

    def theirs() -> Any:
        return spams.omp(Y_f, A_f, L=task.k, numThreads=1)

    one, other = least_times({"ours": ours, "theirs": theirs}, rounds, time.process_time).values()
    pairs = zip(supports(ours().coef), supports(theirs()), strict=True)
    same = np.mean([mine == yours for mine, yours in pairs])
    times = [f"{seconds / task.signals * 1e6:.1f} µs" for seconds in (one, other)]
    return [task.name, *times, f"{other / one:.2f}", f"{same:.2%}"]


THREADS = ["dictionary", "two threads", "their processor time"]


def by_two_threads(task: Task, rounds: int) -> list[str]:
    """How many times quicker than one they are, and what they take together."""
    A, Y = task.draw()

    def ours(n_jobs: int) -> Any:
        return sw.encode(A, Y, algorithm="forward", sparsity=task.k, n_jobs=n_jobs)

    calls = {"one": lambda: ours(1), "two": lambda: ours(2)}
    alone, both = least_times(calls, rounds, time.perf_counter).values()
    one, two = least_times(calls, rounds, time.process_time).values()
    return [task.name, f"{alone / both:.2f}×", f"{two / one:.2f}×"]


SKLEARN = [
    "dictionary",
    "`omp`",
    "`orthogonal_mp_gram`",
    "`sparse_encode`",
    "`rmp0` over `forward`",
]


def against_sklearn(task: Task, rounds: int) -> list[str]:
    """µs a signal of `omp` and how many times that scikit-learn takes; `rmp0` over `forward`."""
    from sklearn.decomposition import sparse_encode
    from sklearn.linear_model import orthogonal_mp_gram

    A, Y = task.draw()
    few = np.ascontiguousarray(Y[:, :FEW])
    G = A.T @ A
    delta = 0.1 * float(np.median(np.linalg.norm(Y, axis=0))) / task.n**0.5 * 2
    calls: dict[str, Callable[[], Any]] = {
        "omp": lambda: sw.encode(A, Y, sparsity=task.k),
        "gram": lambda: orthogonal_mp_gram(G, A.T @ few, n_nonzero_coefs=task.k),
        "encode": lambda: sparse_encode(few.T, A.T, algorithm="omp", n_nonzero_coefs=task.k),
        "rmp0": lambda: sw.encode(A, Y, algorithm="rmp0", delta=delta),
        "forward": lambda: sw.encode(A, Y, algorithm="forward", delta=delta),
    }
    least = least_times(calls, max(2, rounds // 3), time.process_time)
    each = least["omp"] / task.signals
    theirs = (f"{least[name] / FEW / each:.0f}×" for name in ("gram", "encode"))
    ratio = f"{least['rmp0'] / least['forward']:.2f}"
    return [task.name, f"{each * 1e6:.1f} µs", *theirs, ratio]


TABLES = ((SPAMS, against_spams), (SKLEARN, against_sklearn), (THREADS, by_two_threads))

if __name__ == "__main__":
    for head, row in TABLES:
        rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
        print(markdown([head, *(row(task, rounds) for task in TASKS)]) + "\n", flush=True)
