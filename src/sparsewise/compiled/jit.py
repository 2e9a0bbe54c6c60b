"""How functions are compiled: the only file that imports numba."""

from __future__ import annotations

from functools import partial

from numba import njit

# Sums may be reordered (that is what makes them quick), but NaN and infinity keep their meaning.
# Nobody calls these functions from C: wrappers for that would only take time to compile.
jit = partial(
    njit,
    cache=True,
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract", "nsz"},
    no_cfunc_wrapper=True,
)

# For functions that only other compiled functions call.
inner_jit = partial(jit, no_cpython_wrapper=True)

# For parts of a loop: a call would hand over dozens of arrays, field by field.
part_jit = partial(inner_jit, forceinline=True)


@jit
def abs2(z):
    """|z|²."""
    return z.real * z.real + z.imag * z.imag


@jit
def column_square(M, j):
    """Σ_i |M_ij|²."""
    square = 0.0
    for i in range(len(M)):
        square += abs2(M[i, j])
    return square
