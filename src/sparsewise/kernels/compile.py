"""How functions are compiled: the only file that imports numba."""

from __future__ import annotations

import ctypes
import gc
import math
import sys
import threading
from functools import partial
from time import monotonic

from numba import njit
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from sparsewise import kernels
from sparsewise._util.progress import PATIENCE, is_watched

NOT_KEPT = "there is no folder to keep it in: NUMBA_CACHE_DIR may name one"


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
        """Where Python is sent that calls a part all the same: to a TypeError."""
        self._ensure_finalized()
        return ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value

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


class NotCompiledError(Exception):
    """What would have to be compiled first; its argument: the types of arguments."""

    @property
    def types(self):
        """Those of the arguments."""
        return self.args[0]


class _Mode(threading.local):
    """Whether this thread compiles nothing, or beside another one that does not wait."""

    loads_only = False
    beside = False


_mode = _Mode()


def call_if_compiled(kernel, args):
    """Call a function whose code is there, or kept; raise `NotCompiledError` if it is not."""
    _mode.loads_only = True
    try:
        return kernel(*args)
    finally:
        _mode.loads_only = False


def compile_beside(kernel, types):
    """Compile a function for arguments of these types, in a thread that nobody waits for."""
    _mode.beside = True
    kernel.compile(types)


class Watch(event.Listener):
    """What goes on while functions are compiled: a line on a terminal once that has taken a second.

    Functions that are compiled on the way to another count as part of it. Garbage waits for the
    end: to look for it meanwhile takes a tenth of the time.
    """

    def __init__(self):
        self._open = []
        self._began = self._ended = -math.inf
        self._said = self._collects = False

    def on_start(self, event):
        """A function is about to be compiled."""
        dispatcher, now = event.data["dispatcher"], monotonic()
        if _mode.loads_only:
            raise NotCompiledError(event.data["args"])
        ours = str(dispatcher.py_func.__module__).startswith("sparsewise.")
        if not ours or _mode.beside:
            return
        if not self._open:
            self._collects = gc.isenabled()
            gc.disable()
            if now - self._ended > PATIENCE:  # another call
                self._began, self._said = now, False
        self._open.append(dispatcher)
        if now - self._began > PATIENCE and not self._said:
            self._said = True
            say(self._open[0].stats.cache_path)

    def on_end(self, event):
        """It was."""
        if self._open and self._open[-1] is event.data["dispatcher"]:
            self._open.pop()
            self._ended = monotonic()
            if not self._open and self._collects:
                gc.enable()


def say(cache_path):
    """Tell those who wait at a terminal what for."""
    if kernels.NOTICES and is_watched():
        kept = f"once: it is kept in {cache_path}" if cache_path else f"as {NOT_KEPT}"
        print(f"sparsewise is compiling, a few seconds, {kept}", file=sys.stderr, flush=True)


event.register("numba:compile", Watch())


# Sums may be reordered (that is what makes them quick), but NaN and infinity keep their meaning.
# Nobody calls these functions from C: wrappers for that would only take time to compile.
plain_jit = partial(
    njit,
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract", "nsz"},
    no_cfunc_wrapper=True,
)


def jit(function):
    """Compile it when it is called for the first time, and keep it if there is a place for it.

    That is NUMBA_CACHE_DIR, the folder of this package, or the cache of the user.
    """
    try:
        return plain_jit(function, cache=True)
    except RuntimeError:  # nowhere may files be written
        return plain_jit(function)


# For functions that only other compiled functions call.
part_jit = partial(plain_jit, no_cpython_wrapper=True, pipeline_class=PartCompiler)

# For parts of a loop: a call would hand over dozens of arrays, field by field.
loop_jit = partial(part_jit, forceinline=True)


def alone(part):
    """A part as Python can call it."""
    return jit(getattr(part, "py_func", part))


@part_jit
def abs2(z):
    """|z|²."""
    return z.real * z.real + z.imag * z.imag


@part_jit
def column_square(M, j):
    """Σ_i |M_ij|²."""
    square = 0.0
    for i in range(len(M)):
        square += abs2(M[i, j])
    return square
