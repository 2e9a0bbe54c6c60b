"""A word to those who wait."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

PATIENCE = 1.0
"""Seconds that nobody needs an explanation for."""


@contextmanager
def patience(words: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal, after a second, what is going on and for how long.

    It gives a function that takes other words for it.
    """
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    # How much there is to do is not known: the bar only shows that it goes on.
    columns = (TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
    with _shown(words, columns, None) as update:
        yield lambda words: update(description=words)


@contextmanager
def progress(words: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show on a terminal, after a second, how much of the whole is done, and the time left.

    It gives a function that is told what was done since it was last called.
    """
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(20),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with _shown(words, columns, total) as update:
        yield lambda done: update(advance=done)


@contextmanager
def _shown(
    words: str, columns: Sequence[ProgressColumn], total: int | None
) -> Iterator[Callable[..., None]]:
    """Show a bar of these columns on a terminal, after a second; give a function to update it."""
    from rich.progress import Progress

    from sparsewise.description.terminal import Page

    with _own_stderr() as stream:
        page = Page(stream)
        if not page.is_terminal:
            yield lambda **changes: None
            return
        bar = Progress(*columns, console=page, transient=True)
        task = bar.add_task(words, total=total)
        start = threading.Timer(PATIENCE, bar.start)
        start.daemon = True
        start.start()
        try:
            yield lambda **changes: bar.update(task, **changes)
        finally:
            start.cancel()
            start.join()
            bar.stop()


@contextmanager
def _own_stderr() -> Iterator[TextIO]:
    """Give another way to the terminal: the usual one is closed while Parquet is read."""
    try:
        handle = os.dup(sys.stderr.fileno()) if sys.stderr.isatty() else None
    except (OSError, ValueError, AttributeError):
        handle = None
    if handle is None:
        yield sys.stderr
        return
    with open(handle, "w", encoding=sys.stderr.encoding, errors="replace") as stream:
        yield stream
