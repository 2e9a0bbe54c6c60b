"""Ctrl-C and callbacks: how an algorithm is stopped between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_asked_to_stop = False


class Halted(Exception):  # noqa: N818  (no error: somebody has asked for it)
    """Raised by `Log.check_interrupt` where a run is to stop; caught by `Log.run` alone."""


def interrupted() -> bool:
    """Whether Ctrl-C was pressed in an `interruptible` stretch."""
    return _asked_to_stop


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end algorithms as a callback would: the answer is the model met so far.

    A second Ctrl-C ends the program as usual. Only in the main thread, where signals arrive, and
    not where they are to be ignored, as in the background.
    """
    global _asked_to_stop
    before = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or before in (signal.SIG_IGN, None):
        yield
        return

    def ask(number: int, frame: object) -> None:
        global _asked_to_stop
        _asked_to_stop = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _asked_to_stop = False
