"""How functions are compiled: the only file that imports numba."""

from __future__ import annotations

import ctypes
import gc
import math
import sys
import threading
from functools import partial
from inspect import signature
from operator import attrgetter
from time import monotonic
from typing import Any

import numpy.ma  # noqa: F401  (numba would import it within a call, where no lock is held)
from numba import core, njit

from sparsewise import kernels
from sparsewise._util.progress import PATIENCE, is_watched
from sparsewise.kernels.fork_guard import GUARD

NOT_KEPT = "there is no folder to keep it in: NUMBA_CACHE_DIR may name one"

INTERNALS = {
    "codegen.JITCodeLibrary": "codegen name",
    "codegen.JITCodeLibrary._optimize_final_module": "self",
    "codegen.JITCodeLibrary._finalize_final_module": "self",
    "codegen.JITCodeLibrary._ensure_finalized": "self",
    "codegen.JITCodeLibrary.get_pointer_to_function": "self name",
    "codegen.JITCodeLibrary.codegen.fget": "self",
    "codegen.JITCPUCodegen.set_env": "self env_name env",
    "compiler_lock.global_compiler_lock.acquire": "",
    "compiler.Compiler": "typingctx targetctx library args return_type flags locals",
    "dispatcher.Dispatcher.compile": "self sig",
    "dispatcher.Dispatcher.typeof_pyval": "self val",
    "event.register": "kind listener",
    "event.Listener.on_start": "self event",
    "event.Listener.on_end": "self event",
    "options.DefaultOptions.no_cfunc_wrapper.apply": "x",
    "options.DefaultOptions.no_cpython_wrapper.apply": "x",
    "options.DefaultOptions.forceinline.apply": "x",
}
"""Functions of numba that are overridden or called here and not public, with their arguments."""


def is_as_expected():
    """Whether these functions are there, and take these arguments.

    Otherwise everything is compiled by plain `njit`: that takes longer, and all calls wait for it.
    """
    try:
        lock = core.compiler_lock.global_compiler_lock._lock
        return isinstance(lock, type(threading.RLock())) and all(
            list(signature(attrgetter(name)(core)).parameters) == arguments.split()
            for name, arguments in INTERNALS.items()
        )
    except (AttributeError, TypeError, ValueError):
        return False


AS_EXPECTED = is_as_expected()
JITCodeLibrary: Any = core.codegen.JITCodeLibrary if AS_EXPECTED else object
Compiler: Any = core.compiler.Compiler if AS_EXPECTED else object
Listener: Any = core.event.Listener if AS_EXPECTED else object


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
        """The address that Python calls: a part is not for Python, and a TypeError is raised."""
        self._ensure_finalized()
        return ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value

    @property
    def codegen(self):
        """The receiver of the environment, for lack of machine code that could ask for it."""
        return self

    def set_env(self, name, env):
        """Forget it: only functions that raise or print need one."""


class PartCompiler(Compiler):
    """The usual one, with a library of that kind."""

    def __init__(self, typingctx, targetctx, library, *others):
        super().__init__(typingctx, targetctx, PartLibrary(targetctx.codegen(), "part"), *others)


class NotCompiledError(Exception):
    """A function that would have to be compiled first, for arguments of these types."""

    @property
    def types(self):
        """Those of the arguments."""
        return self.args[0]


class _Mode(threading.local):
    """Whether this thread compiles nothing, or in the background."""

    loads_only = False
    in_background = False


_mode = _Mode()


def call_if_compiled(kernel, args):
    """Call a function whose code is there, or kept; raise `NotCompiledError` if it is not."""
    _mode.loads_only = True
    try:
        return kernel(*args)
    finally:
        _mode.loads_only = False


def compile_in_background(kernel, types):
    """Compile a function for arguments of these types, in a thread that nobody waits for."""
    _mode.in_background = True
    kernel.compile(types)


class Watch(Listener):
    """Follow what is compiled: a line appears on a terminal once that has taken a second.

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
        if not ours or _mode.in_background:
            return
        if not self._open:
            self._collects = gc.isenabled()
            gc.disable()
            if now - self._ended > PATIENCE:  # another call
                self._began, self._said = now, False
        self._open.append(dispatcher)
        if now - self._began > PATIENCE and not self._said:
            self._said = True
            announce(self._open[0].stats.cache_path)

    def on_end(self, event):
        """It was."""
        if self._open and self._open[-1] is event.data["dispatcher"]:
            self._open.pop()
            self._ended = monotonic()
            if not self._open and self._collects:
                gc.enable()


def announce(cache_path):
    """Say on a terminal what a call is waiting for."""
    if kernels.COMPILATION.announces and is_watched():
        kept = f"once: it is kept in {cache_path}" if cache_path else f"as {NOT_KEPT}"
        print(f"sparsewise is compiling, a few seconds, {kept}", file=sys.stderr, flush=True)


class CutOff(Listener):
    """Whoever asks for numba's lock where nobody will release it gets an error."""

    def on_start(self, event):
        """The lock is asked for."""
        GUARD.check()

    def on_end(self, event):
        """It was released."""


if AS_EXPECTED:
    core.event.register("numba:compile", Watch())
    core.event.register("numba:compiler_lock", CutOff())
    GUARD.add(core.compiler_lock.global_compiler_lock._lock)


# Sums may be reordered (that is what makes them quick), but NaN and infinity keep their meaning.
plain_jit = partial(njit, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
if AS_EXPECTED:
    # Nobody calls these functions from C: wrappers for that would only take time to compile.
    plain_jit = partial(plain_jit, no_cfunc_wrapper=True)


def jit(function):
    """Compile it when it is called for the first time, and keep it if there is a place for it.

    That is NUMBA_CACHE_DIR, the folder of this package, or the cache of the user.
    """
    try:
        return plain_jit(function, cache=True)
    except RuntimeError:  # nowhere may files be written
        return plain_jit(function)


# For functions that only other compiled functions call, and for parts of a loop: a call of these
# would hand over dozens of arrays, field by field.
part_jit = loop_jit = plain_jit
if AS_EXPECTED:
    part_jit = partial(plain_jit, no_cpython_wrapper=True, pipeline_class=PartCompiler)
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
