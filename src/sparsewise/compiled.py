"""The door to the compiled functions."""

from __future__ import annotations

from functools import cache
from types import ModuleType


@cache
def load_kernels() -> ModuleType:
    """The compiled functions; numba is loaded by the first solve, not by ``import sparsewise``."""
    from sparsewise import kernels

    return kernels
