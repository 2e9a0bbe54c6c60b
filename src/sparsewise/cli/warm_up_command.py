"""``sparsewise warm-up [TYPE ...]``: compile ahead of time what first calls would wait for.

For images of containers, and for those who would rather wait once. It calls the algorithms on data
just large enough, so that everything is compiled for the types that users' calls have.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from sparsewise import algorithms
from sparsewise._typing import Array
from sparsewise._util.text import look_up
from sparsewise.cli.options import Command
from sparsewise.kernels import compile_first, kept_in

TYPES = ("float64", "float32", "complex128", "complex64")

SIZE = 300
"""Rows and columns of a matrix too large to be looked at as a whole."""

TALL = 16
"""How often the rows of a narrow matrix are repeated for one whose inner products pay."""

NOT_KEPT = (
    "It could not be kept, as neither the folder of the package nor the cache of the user can be "
    "written to: let NUMBA_CACHE_DIR name a folder that can."
)


def add(command: Command) -> None:
    """Add the command."""
    parser = command(
        "warm-up",
        help="compile ahead of time what first calls would wait for",
        description="Compile ahead of time what first calls would wait for, as in the image of a "
        "container; say where it is kept, and how long it took.",
    )
    parser.add_argument(
        "types",
        nargs="*",
        metavar="TYPE",
        help="of entries: float64 (the default), float32, complex128, complex64",
    )
    parser.set_defaults(run=run, needs_extra=False)


def run(args: argparse.Namespace) -> None:
    """Run ``sparsewise warm-up``."""
    warm_up(args.types or TYPES[:1], partial(print, flush=True))


def warm_up(types: Sequence[str], report: Callable[[str], object]) -> None:
    """Compile what the algorithms need for entries of these types, and report each call."""
    look_up(types, TYPES, "type of entries")
    compile_first()
    start = perf_counter()
    for name in types:
        for what, run in _calls(np.dtype(name)):
            before = perf_counter()
            run()
            report(f"{name:10s}  {what:24s}  {perf_counter() - before:4.1f} s")
    took, where = f"Compiled in {perf_counter() - start:.1f} s", kept_in()
    report(f"{took}, and kept in {where}" if where else f"{took}. {NOT_KEPT}")


def _calls(dtype: np.dtype[Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Give what there is to compile, and a call that needs it."""
    A, y = _problem(dtype)
    small, narrow = A[:, :20], A[:, :8]
    tall = np.tile(narrow, (TALL, 1))
    yield "steps forward", lambda: algorithms.forward(small, y, sparsity=3)
    yield "steps forward, large", lambda: algorithms.forward(A, y, delta=1.0)
    yield "inner products", lambda: algorithms.forward(tall, np.tile(y, TALL), sparsity=3)
    yield "steps back", lambda: algorithms.backward(narrow, y, sparsity=2)
    yield "exchanges", lambda: algorithms.srr(A, y, sparsity=3)
    yield "exchanges of several", lambda: algorithms.subspace_pursuit(small, y, sparsity=3)
    yield "starts of a search", lambda: algorithms.solve(small, y)
    yield "prior variances", lambda: algorithms.rmp(small, y, sigma=0.1)
    yield "prior variances, large", lambda: algorithms.fast_sbl(A, y, sigma=0.1)
    yield "codes", lambda: algorithms.encode(small, y[:, None], sparsity=3)
    yield "best subsets", lambda: algorithms.best_subset(narrow, y, sparsity=3)
    yield "posterior over models", lambda: algorithms.posterior(narrow, y, max_iter=1)
    if dtype.kind == "f":  # for complex data, basis pursuit is nothing that we compile
        yield "paths of basis pursuit", lambda: algorithms.bpdn(small, y, residual=10.0)
        yield "the lasso, large", lambda: algorithms.fista(A, y, penalty=10.0)


def _problem(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Make a matrix, and a target that a few of its columns nearly are."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((SIZE, SIZE)).astype(dtype)
    if dtype.kind == "c":
        A = A + dtype.type(1j) * rng.standard_normal(A.shape).astype(dtype)
    y = A[:, :4] @ np.arange(1, 5) + 0.1 * rng.standard_normal(SIZE)
    return A, y.astype(dtype)
