"""The door to the compiled functions: numba is loaded by the first solve, not by the import."""

from __future__ import annotations

from functools import cache
from types import ModuleType


@cache
def load_kernels() -> ModuleType:
    """What the engine is made of."""
    from sparsewise import kernels

    return kernels


@cache
def load_leaps() -> ModuleType:
    """The search for the best subsets."""
    from sparsewise import leaps

    return leaps
