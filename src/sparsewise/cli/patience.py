"""A word to those who wait."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0
"""Seconds that nobody needs an explanation for."""


@contextmanager
def patience(words: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal, after a second, what is going on and for how long.

    It gives a function that takes other words for it.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from sparsewise.description.terminal import Page

    page = Page(sys.stderr)
    if not page.is_terminal:
        yield lambda words: None
        return
    # How much there is to do is not known: the bar only shows that it goes on.
    columns = (TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
    progress = Progress(*columns, console=page, transient=True)
    task = progress.add_task(words, total=None)
    start = threading.Timer(PATIENCE, progress.start)
    start.daemon = True
    start.start()
    try:
        yield lambda words: progress.update(task, description=words)
    finally:
        start.cancel()
        start.join()
        progress.stop()
