"""A process that divides while another thread compiles: the copy would wait for that thread.

The thread is not copied, but the locks that it holds are, and nobody would release them. So whoever
forks takes these locks first, which is to wait for the function at hand, and releases them in both
processes.
"""

from __future__ import annotations

# Its lock is taken at forks, too, and compiling asks for it: who has registered last comes first.
import logging  # noqa: F401
import os
import threading
from typing import Any

from sparsewise.errors import ForkError

LONGEST = 20.0
"""Seconds to wait for a lock: more than any function takes to compile."""


class _Held(threading.local):
    """Locks that this thread holds while it forks."""

    locks: tuple[Any, ...] = ()


class ForkGuard:
    """The locks of importing and compiling, none of which another thread holds when we fork.

    Attributes
    ----------
    importing : threading.RLock
        To be held while modules of kernels are imported, and numba with the first of them.
    is_cut_off : bool
        Whether this process is a copy in which a thread that is gone has kept a lock.
    """

    def __init__(self) -> None:
        self.importing = threading.RLock()
        self.is_cut_off = False
        self._locks: list[Any] = [self.importing]
        self._held = _Held()

    def add(self, lock: Any) -> None:
        """Take this lock, too, before each fork."""
        self._locks.append(lock)

    def check(self) -> None:
        """Raise an error where one would wait for ever."""
        if self.is_cut_off:
            raise ForkError(
                "This process is a copy (fork), made while another thread of the first one was "
                "compiling, and can't compile",
                'compile before that, by sparsewise warm-up say, or start processes by "spawn".',
            )

    def register(self) -> None:
        """Look after all forks of this process."""
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(
                before=self.before, after_in_parent=self.after, after_in_child=self.in_child
            )

    def before(self) -> None:
        """Take the locks, each of which may be a while in coming; an import may add to them."""
        for lock in self._locks:
            if lock.acquire(timeout=LONGEST):
                self._held.locks = (*self._held.locks, lock)

    def after(self) -> None:
        """Release them."""
        while self._held.locks:
            *others, lock = self._held.locks
            self._held.locks = tuple(others)
            lock.release()

    def in_child(self) -> None:
        """Release them, and see which are held by a thread that is gone."""
        self.after()
        for lock in self._locks:
            if lock.acquire(blocking=False):
                lock.release()
            else:
                self.is_cut_off = True


GUARD = ForkGuard()
GUARD.register()
