"""What those who wait at a terminal are shown: how far it has come, and that it goes on.

Whoever does work that may take long says so::

    with waiting("measuring columns", total=m) as wait:
        for ...:
            wait.tell(1)

Nothing happens unless it takes longer than `PATIENCE`, in the main thread of the main process,
with stderr a terminal: then a line appears there, and vanishes at the end. What is done inside
has a line below. ``SPARSEWISE_PROGRESS=0`` in the environment switches it off. Rich draws the
lines: without it (the extra ``cli``) nothing is shown.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds that nobody needs an explanation for."""

OFTEN = 0.2
"""Seconds between two changes of what is said."""

WIDTH = 80
"""Most columns that a line takes."""

SWITCH = "SPARSEWISE_PROGRESS"
"""The variable of the environment that switches it off."""

STDERR = threading.Lock()
"""Held while standard error is closed for a while, or copied: a closed one shows nothing."""

OFF = {"0", "no", "off", "false"}
"""What it may be set to for that."""


class Waiting:
    """Work that may take long, and how much of it is done.

    Parameters
    ----------
    words : str
        What is being done.
    total : float, optional
        How much there is to do; None: nobody knows.
    unasked : bool
        Whether the line appears in time even if nothing is told. This takes a thread.

    Attributes
    ----------
    done : float
        How much of it is done.
    line : int, optional
        Its line on the board, once there is one.
    over : bool
        Whether it has come to its end: what is told later is nobody's business.
    """

    __slots__ = ("_begun", "_here", "_next", "_timer", "done", "line", "over", "total", "words")

    def __init__(self, words: str, total: float | None = None, *, unasked: bool = False) -> None:
        self.words, self.total, self.done = words, total, 0.0
        self.line: TaskID | None = None
        self.over = False
        self._timer: threading.Timer | None = None
        self._begun = time.monotonic()
        self._next = self._begun + PATIENCE
        self._here = threading.current_thread() is threading.main_thread()
        if unasked and self._here and is_watched():
            self._timer = threading.Timer(PATIENCE, BOARD.add, [self])
            self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        BOARD.remove(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return unseen, ()  # what another process does is not shown there

    def tell(self, more: float = 0, words: str | Callable[[], str] | None = None) -> None:
        """So much more is done; in other words, which are made only if somebody sees them."""
        self.done += more
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + OFTEN
        if self.over or not (self._here and is_watched()):
            self._next = math.inf
            return
        if words is not None:
            self.words = words if isinstance(words, str) else words()
        if self.line is not None:
            BOARD.change(self)
        else:
            BOARD.add(self)

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._begun


def waiting(words: str, total: float | None = None, *, unasked: bool = False) -> Waiting:
    """Work that may take long, as a context; see `Waiting`."""
    return Waiting(words, total, unasked=unasked)


class Counted:
    """A function that tells of each call that one more is done.

    Parameters
    ----------
    function : callable
        What is called.
    wait : Waiting
        What is told.
    """

    def __init__(self, function: Callable[..., Any], wait: Waiting) -> None:
        self.function, self.wait = function, wait

    def __call__(self, *args: Any, **others: Any) -> Any:
        """Call it, and tell."""
        result = self.function(*args, **others)
        self.wait.tell(1)
        return result


def is_watched() -> bool:
    """Whether there is a terminal, and nobody has switched this off."""
    if BOARD.hushed or is_worker():
        return False
    if BOARD.is_shown:  # and Rich in place of stderr, which may not say that it is a terminal
        return True
    if os.environ.get(SWITCH, "").strip().lower() in OFF or os.environ.get("TERM") == "dumb":
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def is_worker() -> bool:
    """Whether another process has started this one for a part of its work."""
    module = sys.modules.get("multiprocessing.process")  # which a worker has imported
    return module is not None and module.parent_process() is not None


@contextmanager
def hushed() -> Iterator[None]:
    """Show nothing meanwhile: something else has the terminal."""
    before, BOARD.hushed = BOARD.hushed, True
    try:
        yield
    finally:
        BOARD.hushed = before


class Board:
    """The lines at the foot of the terminal: there while somebody waits for something.

    Attributes
    ----------
    hushed : bool
        Whether something else has the terminal, or it is gone.
    """

    def __init__(self) -> None:
        self.hushed = False
        self._lock = threading.Lock()
        self._bars: Progress | None = None
        self._ending = ExitStack()

    @property
    def is_shown(self) -> bool:
        """Whether there are any lines."""
        return self._bars is not None

    def add(self, wait: Waiting) -> None:
        """A line for this, below the others."""
        with self._drawing():
            if wait.over or wait.line is not None:  # threads may tell at once, or too late
                return
            if self._bars is None:
                self._begin()
            assert self._bars is not None
            wait.line = self._bars.add_task(wait.words, total=wait.total, visible=False)
            # As old as the work itself.
            self._bars.tasks[-1].start_time = self._bars.get_time() - wait.seconds
            self._bars.update(wait.line, completed=wait.done, visible=True, refresh=True)

    def change(self, wait: Waiting) -> None:
        """What is said of it, and how much is done."""
        with self._drawing():
            if self._bars is not None and wait.line is not None:
                changes: Any = {"description": wait.words, "completed": wait.done}
                self._bars.update(wait.line, refresh=True, **changes)

    def remove(self, wait: Waiting) -> None:
        """Take a line away; with the last one all is as it was."""
        with self._drawing():
            wait.over = True
            if self._bars is None:
                return
            if wait.line is not None:
                self._bars.remove_task(wait.line)
                wait.line = None
            if not self._bars.tasks:  # or Ctrl-C came before there were any
                self._bars = None
                self._ending.close()

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """One thread at a time; without a terminal, or without Rich, the work goes on."""
        with self._lock:
            try:
                yield
            except (OSError, ValueError, ImportError):
                self.hushed, self._bars = True, None
                with suppress(OSError, ValueError):
                    self._ending.close()

    def _begin(self) -> None:
        """Bars at the foot of the terminal; Rich takes too long to import for less."""
        from rich.console import Console
        from rich.progress import Progress

        stream = self._ending.enter_context(_own_stderr())
        console = Console(file=stream, highlight=False, markup=False, emoji=False)
        console.width = min(console.width, WIDTH)
        # What others print goes above the lines, if it goes to the terminal at all.
        shared = bool(getattr(sys.stdout, "isatty", lambda: False)())
        self._bars = bars = Progress(
            *_columns(), console=console, transient=True, redirect_stdout=shared, expand=False
        )
        self._ending.callback(bars.stop)
        bars.start()


BOARD = Board()
"""There is one terminal."""


def _columns() -> Iterator[Any]:
    """Words, a bar, and the time: left, where it is known how much there is to do."""
    from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Time(ProgressColumn):
        """How much is done, and the time left at that pace; else the time it has taken."""

        def render(self, task: Task) -> Text:
            if not task.total or not task.completed:
                return Text(clock(task.elapsed or 0.0))
            left = (task.elapsed or 0.0) * max(task.total / task.completed - 1, 0.0)
            return Text(f"{min(task.percentage, 99):.0f}%, {clock(left)} left")

    yield TextColumn("{task.description}", markup=False)
    yield BarColumn(20)
    yield Time()


def clock(seconds: float) -> str:
    """Minutes and seconds; hours, if need be."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def _own_stderr() -> Iterator[TextIO]:
    """Give another way to the terminal: the usual one is closed while Parquet is read."""
    try:
        with STDERR:
            handle = os.dup(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):
        yield sys.stderr
        return
    with open(handle, "w", encoding=sys.stderr.encoding, errors="replace") as stream:
        yield stream


def unseen() -> Waiting:
    """Work that nobody waits for, or not here."""
    wait = Waiting("")
    wait._next = math.inf
    return wait
