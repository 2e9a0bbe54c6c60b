"""Every compiled function, and the door to it: numba is loaded by the first solve.

Arrays in, arrays out, no objects but named tuples of arrays. Everything is C-ordered: one
compilation per type.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import Any

NOTICES = True
"""Whether to say on a terminal that compiling takes time; the command line has a bar for that."""


EARLY = 1_000_000
"""How much work the first problems may be together that don't wait for the compiler.

In products: n m min(n, m) for n rows and m columns. The interpreter does a million in a second.
"""

FIRST = 2 * EARLY
"""So much work may the very first of them be."""

LEAST = EARLY // 4
"""No problem counts for less: few are to be interpreted, however small they are."""

FEW = 12
"""Of how many columns the best subsets are found soon, even by the interpreter."""

_left = EARLY
_waits = os.environ.get("SPARSEWISE_COMPILE") == "first"


def begin(n: int, m: int) -> None:
    """Decide whether a problem of n rows and m columns, which comes next, is one that waits."""
    global _left
    if _waits:
        return
    work, is_first = max(n * m * min(n, m), LEAST), _left == EARLY
    if work > (FIRST if is_first else _left):
        compile_first()
    else:
        # Some calls have a second, smaller problem within.
        _left = max(_left - work, LEAST * is_first)


def compile_first() -> None:
    """Let all calls from now on wait for the compiler, so that all have the same digits."""
    global _waits
    _waits = True
    if beside := sys.modules.get(f"{__name__}.beside"):
        beside.COMPILING.wait()


@cache
def _load(name: str, waits: bool = True) -> Any:
    module = import_module(f"{__name__}.{name}")
    if waits:
        return module
    from sparsewise.kernels.background_compile import Early

    return Early(module)


def load_kernels() -> Any:
    """What the engine of stepwise algorithms is made of."""
    return _load("stepwise", _waits)


def load_homotopy() -> Any:
    """What follows the path of ℓ1-penalised least squares."""
    return _load("homotopy", _waits)


def load_leaps(columns: int = 0) -> Any:
    """The search for the best subsets of so many columns, which doubles in length with each."""
    return _load("leaps", _waits or columns > FEW)


def load_gram_kernels() -> Any:
    """Steps on inner products of columns: of many signals, or of one model."""
    return _load("gram_stepwise")


def kept_in() -> str | None:
    """The folder in which compiled code is kept; None: there is none that can be written to."""
    statistics = getattr(_load("stepwise").grow, "stats", None)  # plain Python has none
    return None if statistics is None else statistics.cache_path
