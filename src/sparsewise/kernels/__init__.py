"""Every compiled function, and the way to it: numba is loaded by the first solve.

Arrays in, arrays out, no objects but named tuples of arrays. Everything is C-ordered: one
compilation per type.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparsewise.kernels.fork_guard import GUARD

if TYPE_CHECKING:
    from sparsewise.kernels.background_compile import BackgroundCompiler

BUDGET = 1_000_000
"""Work that the first problems may be together which don't wait for the compiler.

In products: n m min(n, m) for n rows and m columns. The interpreter does a million in a second.
"""

FIRST_BUDGET = 2 * BUDGET
"""Work that the very first of them may be."""

LEAST_WORK = BUDGET // 4
"""No problem counts for less: few are interpreted, however small they are."""

FEW = 12
"""Columns of which the interpreter, too, finds the best subsets soon."""


class Compilation:
    """Which problems of this process wait for the compiler, and the thread that compiles meanwhile.

    The first small problems are interpreted while a thread compiles what they call; the first
    problem beyond them, and all that follow, wait for the compiler.

    Parameters
    ----------
    waits : bool
        Whether all problems wait.

    Attributes
    ----------
    waits : bool
        Whether all further problems wait, so that all have the same digits.
    budget : int
        Work that may still be interpreted.
    announces : bool
        Whether to say on a terminal that compiling takes time; the command line has a bar for that.
    background : BackgroundCompiler or None
        The thread; None before any problem was interpreted.
    """

    def __init__(self, waits: bool = False) -> None:
        self.waits, self.budget, self.announces = waits, BUDGET, True
        self.background: BackgroundCompiler | None = None
        self._modules: dict[tuple[str, bool], Any] = {}

    def admits(self, n: int, m: int) -> bool:
        """Whether a problem of n rows and m columns may be interpreted."""
        return _work(n, m) <= (FIRST_BUDGET if self.budget == BUDGET else self.budget)

    def begin(self, n: int, m: int) -> None:
        """Count a problem that is about to be solved, or let it wait if it is too large."""
        if self.waits:
            return
        if not self.admits(n, m):
            self.compile_first()
        else:
            # Some calls have a second, smaller problem within.
            is_first = self.budget == BUDGET
            self.budget = max(self.budget - _work(n, m), LEAST_WORK * is_first)

    def compile_first(self) -> None:
        """Let all calls from now on wait for the compiler, so that all have the same digits."""
        self.waits = True
        if self.background:
            self.background.wait()

    def load(self, name: str, waits: bool) -> Any:
        """A module of kernels: compiled when they are called, or interpreted until that is done."""
        if (name, waits) not in self._modules:
            GUARD.check()
            with GUARD.importing:
                module = import_module(f"{__name__}.{name}")
                self._modules[name, waits] = module if waits else self._interpretable(module)
        return self._modules[name, waits]

    def _interpretable(self, module: Any) -> Any:
        from sparsewise.kernels import background_compile, compile

        if not compile.AS_EXPECTED:  # what is compiled already can't be told from what is not
            self.waits = True
            return module
        if self.background is None:
            self.background = background_compile.start()
        return background_compile.Interpretable(module, self.background)


def _work(n: int, m: int) -> int:
    return max(n * m * min(n, m), LEAST_WORK)


COMPILATION = Compilation(os.environ.get("SPARSEWISE_COMPILE") == "first")


def compile_first() -> None:
    """Let all calls from now on wait for the compiler, so that all have the same digits."""
    COMPILATION.compile_first()


def load_kernels(shape: tuple[int, int] | None = None) -> Any:
    """The kernels of stepwise algorithms; of a problem of this shape that has not begun."""
    if shape and not COMPILATION.waits and not COMPILATION.admits(*shape):
        COMPILATION.compile_first()
    return COMPILATION.load("stepwise", COMPILATION.waits)


def load_homotopy() -> Any:
    """The kernels that follow the path of ℓ1-penalised least squares."""
    return COMPILATION.load("homotopy", COMPILATION.waits)


def load_leaps(columns: int = 0) -> Any:
    """The search for the best subsets of so many columns, which doubles in length with each."""
    return COMPILATION.load("leaps", COMPILATION.waits or columns > FEW)


def load_gram_kernels() -> Any:
    """Steps on inner products of columns: of many signals, or of one model."""
    return COMPILATION.load("gram_stepwise", True)


def load_model_posterior() -> Any:
    """The sampler of models, and the sum over all of them."""
    return COMPILATION.load("model_posterior", True)


def kept_in() -> str | None:
    """The folder in which compiled code is kept; None: there is none that can be written to."""
    statistics = getattr(COMPILATION.load("stepwise", True).grow, "stats", None)
    return getattr(statistics, "cache_path", None)  # plain Python has no statistics
