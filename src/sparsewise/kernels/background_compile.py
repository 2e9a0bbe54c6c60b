"""First calls: run by the interpreter, while the same functions are compiled in the background.

Compiling takes seconds, where the interpreter takes a fraction of one for a table of a few thousand
entries. So the first small problems of a process don't wait, unless their code is kept already; a
thread compiles what they called, and keeps it. Whatever comes later waits for that thread: which
problem is run how depends on what is kept, and never on the time things take.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from sparsewise._util.progress import PATIENCE
from sparsewise.kernels.compile import (
    NotCompiledError,
    announce,
    call_if_compiled,
    compile_in_background,
)

PAUSE = 2.0
"""Seconds that a process has to end in without anything being compiled."""

Job = tuple[Any, tuple[Any, ...]]
"""A function, and the types of its arguments."""


class BackgroundCompiler:
    """A thread that compiles one function after another, as long as there are any.

    It begins after a pause, or when somebody waits for it: a script that makes a call and ends
    would have nothing of it but longer to wait.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[Job] = deque()
        self._known: set[Job] = set()
        self._thread: threading.Thread | None = None
        self._is_awaited = threading.Event()

    @property
    def has_begun(self) -> bool:
        """Whether anything was ever found missing."""
        return bool(self._known)

    def add(self, kernel: Any, types: tuple[Any, ...]) -> None:
        """Compile this function for arguments of these types, too."""
        job = kernel, types
        with self._lock:
            if job in self._known:
                return
            self._known.add(job)
            self._queue.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        self._is_awaited.wait(PAUSE)
        while job := self._next():
            compile_in_background(*job)

    def _next(self) -> Job | None:
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            self._thread = None
            return None

    def wait(self) -> None:
        """Wait until everything is compiled; a terminal says what for."""
        self._is_awaited.set()
        if thread := self._thread:
            thread.join(PATIENCE)
            if thread.is_alive():
                announce(self._kept_in())
                thread.join()

    def _kept_in(self) -> str | None:
        return next(iter(self._known))[0].stats.cache_path

    def stop(self) -> None:
        """Finish the function at hand and leave the others: a process ends, or divides."""
        with self._lock:
            self._queue.clear()
        self.wait()


def start() -> BackgroundCompiler:
    """A thread for this process, which ends well."""
    background = BackgroundCompiler()
    # A thread that is within LLVM can neither be ended nor copied.
    atexit.register(background.stop)
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(before=background.stop)
    return background


class Interpretable:
    """The functions of a module, interpreted unless they are compiled already.

    Parameters
    ----------
    module : module
        Their own.
    background : BackgroundCompiler
        Whom to ask for those that are not.
    """

    def __init__(self, module: ModuleType, background: BackgroundCompiler) -> None:
        self._module, self._background = module, background

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if hasattr(value, "py_func"):
            value = interpretable(value, self._background)
        setattr(self, name, value)
        return value


def interpretable(kernel: Any, background: BackgroundCompiler) -> Callable[..., Any]:
    """A function that is called before there was time to compile it."""
    plain = interpreted(kernel)

    def call(*args: Any) -> Any:
        if not background.has_begun:
            try:
                return call_if_compiled(kernel, args)
            except NotCompiledError as missing:
                types = missing.types
        else:
            types = tuple(map(kernel.typeof_pyval, args))
        background.add(kernel, types)
        with np.errstate(all="ignore"):  # as in compiled code
            return as_numbers(plain(*args))

    return call


def as_numbers(result: Any) -> Any:
    """What a function returns, with Python's numbers for NumPy's, as compiled ones return them."""
    if isinstance(result, tuple):
        return tuple(map(as_numbers, result))
    return result.item() if isinstance(result, np.generic) else result


@cache
def interpreted(kernel: Any) -> FunctionType:
    """A compiled function as Python runs it, and those it calls."""
    function = kernel.py_func
    return FunctionType(function.__code__, _names_around(function), function.__name__)


_NAMES: dict[int, dict[str, Any]] = {}


def _names_around(function: FunctionType) -> dict[str, Any]:
    """What the names in a function mean when it is interpreted: functions of Python."""
    module = function.__globals__
    if id(module) not in _NAMES:
        names = _NAMES[id(module)] = dict(module)
        for name, value in module.items():
            if hasattr(value, "py_func"):
                names[name] = interpreted(value)
    return _NAMES[id(module)]
