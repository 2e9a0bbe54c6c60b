"""Every compiled function, and the door to it: numba is loaded by the first solve.

Arrays in, arrays out, no objects but named tuples of arrays. Everything is C-ordered: one
compilation per type.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType


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
