"""Every compiled function, and the door to it: numba is loaded by the first solve.

Arrays in, arrays out, no objects but named tuples of arrays. Everything is C-ordered: one
compilation per type.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

NOTICES = True
"""Whether to say on a terminal that compiling takes time; the command line has a bar for that."""


@cache
def load_kernels() -> ModuleType:
    """What the engine of stepwise algorithms is made of."""
    from sparsewise.compiled import stepwise

    return stepwise


@cache
def load_homotopy() -> ModuleType:
    """What follows the path of ℓ1-penalised least squares."""
    from sparsewise.compiled import homotopy

    return homotopy


@cache
def load_leaps() -> ModuleType:
    """The search for the best subsets."""
    from sparsewise.compiled import leaps

    return leaps


@cache
def load_encoders() -> ModuleType:
    """What codes many signals."""
    from sparsewise.compiled import encode

    return encode


@cache
def load_products() -> ModuleType:
    """Steps forward on inner products of columns."""
    from sparsewise.compiled import products

    return products


def kept_in() -> str | None:
    """The folder in which compiled code is kept; None: there is none that can be written to."""
    statistics = getattr(load_kernels().grow, "stats", None)  # plain Python has none
    return None if statistics is None else statistics.cache_path
