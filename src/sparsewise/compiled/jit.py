"""How functions are compiled: the only file that imports numba."""

from __future__ import annotations

from functools import partial

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class PartLibrary(JITCodeLibrary):
    """The code of a part, which is linked into its callers and optimised there, with theirs.

    On its own it would be optimised and turned into machine code that nobody calls, and so at
    every level of a nest of calls: that took most of the time of compiling.
    """

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalized = True

    def get_pointer_to_function(self, name):
        """Null, as there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        """What is told of the environment, for lack of machine code that could ask for it."""
        return self

    def set_env(self, name, env):
        """Forget it: only functions that raise or print need one."""


class PartCompiler(Compiler):
    """The usual one, with a library of that kind."""

    def __init__(self, typingctx, targetctx, library, *others):
        super().__init__(typingctx, targetctx, PartLibrary(targetctx.codegen(), "part"), *others)


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
part_jit = partial(jit, cache=False, no_cpython_wrapper=True, pipeline_class=PartCompiler)

# For parts of a loop: a call would hand over dozens of arrays, field by field.
loop_jit = partial(part_jit, forceinline=True)


def alone(part):
    """A part as Python can call it."""
    return jit(getattr(part, "py_func", part))


@part_jit
def abs2(z):
    """|z|²."""
    return z.real * z.real + z.imag * z.imag
