"""Progress bars on the terminal for work that may take long.

Wrap such work in a context and report how much is done::

    with waiting("measuring columns", total=m) as wait:
        for ...:
            wait.update(1)

Nothing is shown unless the work takes longer than `PATIENCE`, runs in the main thread of the main
process, and stderr is a terminal. Then a line appears, and vanishes at the end. Nested work gets a
line below. ``SPARSEWISE_PROGRESS=0`` in the environment switches it off. Rich draws the lines:
without it (the extra ``cli``) nothing is shown.
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
"""Seconds before a line appears."""

OFTEN = 0.2
"""Seconds between two updates of the terminal."""

WIDTH = 80
"""Most characters of a line."""

SWITCH = "SPARSEWISE_PROGRESS"
"""The environment variable that switches it off."""

STDERR = threading.Lock()
"""Held while standard error is closed for a while, or copied: a closed one shows nothing."""

OFF = {"0", "no", "off", "false"}
"""Its values that do so."""


class Waiting:
    """Progress of work that may take long.

    Parameters
    ----------
    text : str
        What is being done.
    total : float, optional
        How much there is to do; None if unknown.
    unasked : bool
        Whether the line appears in time even without an `update`. This takes a thread.

    Attributes
    ----------
    done : float
        How much of it is done.
    line : int, optional
        Its line on the board, once there is one.
    over : bool
        Whether the work has ended: later updates are ignored.
    """

    __slots__ = ("_begun", "_here", "_next", "_timer", "done", "line", "over", "text", "total")

    def __init__(self, text: str, total: float | None = None, *, unasked: bool = False) -> None:
        self.text, self.total, self.done = text, total, 0.0
        self.line: TaskID | None = None
        self.over = False
        self._timer: threading.Timer | None = None
        self._begun = time.monotonic()
        self._next = self._begun + PATIENCE
        self._here = threading.current_thread() is threading.main_thread()
        if unasked and self._here and is_watched():
            self._timer = threading.Timer(PATIENCE, BOARD.show, [self])
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
        return unseen, ()  # work in another process is not shown there

    def update(self, more: float = 0, text: str | Callable[[], str] | None = None) -> None:
        """Report that so much more is done; a callable text is called only if shown."""
        self.done += more
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + OFTEN
        if self.over or not (self._here and is_watched()):
            self._next = math.inf
            return
        if text is not None:
            self.text = text if isinstance(text, str) else text()
        BOARD.show(self)

    @property
    def seconds(self) -> float:
        """Elapsed time."""
        return time.monotonic() - self._begun


def waiting(text: str, total: float | None = None, *, unasked: bool = False) -> Waiting:
    """Progress of work that may take long, as a context; see `Waiting`."""
    return Waiting(text, total, unasked=unasked)


class Counted:
    """A function whose calls are counted as progress.

    Parameters
    ----------
    function : callable
        The function.
    wait : Waiting
        Updated by 1 after each call.
    """

    def __init__(self, function: Callable[..., Any], wait: Waiting) -> None:
        self.function, self.wait = function, wait

    def __call__(self, *args: Any, **others: Any) -> Any:
        """Call the function and report one more call."""
        result = self.function(*args, **others)
        self.wait.update(1)
        return result


def is_watched() -> bool:
    """Whether stderr is a terminal and progress is not switched off."""
    if BOARD.hushed or is_worker():
        return False
    if BOARD.is_shown:  # Rich has replaced stderr, which may no longer say that it is a terminal
        return True
    if os.environ.get(SWITCH, "").strip().lower() in OFF or is_dumb():
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def is_dumb() -> bool:
    """Whether the terminal is said to understand no escape sequences."""
    return os.environ.get("TERM") in ("dumb", "")


def is_worker() -> bool:
    """Whether this is a worker process of another one."""
    module = sys.modules.get("multiprocessing.process")  # a worker has imported it
    return module is not None and module.parent_process() is not None


@contextmanager
def hushed() -> Iterator[None]:
    """Show no progress while something else uses the terminal."""
    before, BOARD.hushed = BOARD.hushed, True
    try:
        yield
    finally:
        BOARD.hushed = before


class Board:
    """The progress lines at the bottom of the terminal.

    Attributes
    ----------
    hushed : bool
        Whether something else uses the terminal, or it is gone.
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

    def show(self, wait: Waiting) -> None:
        """Update description and progress of a line; a new one comes below the others."""
        with self._drawing():
            if wait.over or self.hushed:  # updates of other threads may be late
                return
            bars = self._bars or self._begin()
            if wait.line is None:
                wait.line = bars.add_task(wait.text, total=wait.total, visible=False)
                # The clock starts when the work did.
                bars.tasks[-1].start_time = bars.get_time() - wait.seconds
            changes: Any = {"description": wait.text, "completed": wait.done, "visible": True}
            bars.update(wait.line, refresh=True, **changes)

    def remove(self, wait: Waiting) -> None:
        """Remove a line; with the last one, restore the terminal."""
        with self._drawing():
            wait.over = True
            if self._bars is None:
                return
            if wait.line is not None:
                self._bars.remove_task(wait.line)
                wait.line = None
            if not self._bars.tasks:  # or Ctrl-C came before the first
                self._bars = None
                self._ending.close()

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Lock the terminal; without it, or without Rich, carry on."""
        with self._lock:
            try:
                yield
            except (OSError, ValueError, ImportError):
                self.hushed, self._bars = True, None
                with suppress(OSError, ValueError):
                    self._ending.close()

    def _begin(self) -> Progress:
        """Start the display. Rich is imported only now, since that takes long."""
        from rich.console import Console
        from rich.progress import Progress

        stream = self._ending.enter_context(_own_stderr())
        console = Console(file=stream, highlight=False, markup=False, emoji=False)
        console.width = min(console.width, WIDTH)
        # Printed output goes above the lines, if stdout is the terminal.
        shared = bool(getattr(sys.stdout, "isatty", lambda: False)())
        self._bars = bars = Progress(
            *_columns(), console=console, transient=True, redirect_stdout=shared, expand=False
        )
        self._ending.callback(bars.stop)
        bars.start()
        return bars


BOARD = Board()
"""There is one terminal."""


def _columns() -> Iterator[Any]:
    """Description, bar, and time: remaining if the total is known, otherwise elapsed."""
    from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Time(ProgressColumn):
        """Percentage and remaining time, or elapsed time if the total is unknown."""

        def render(self, task: Task) -> Text:
            if not task.total or not task.completed:
                return Text(clock(task.elapsed or 0.0))
            left = (task.elapsed or 0.0) * max(task.total / task.completed - 1, 0.0)
            return Text(f"{min(task.percentage, 99):.0f}%, {clock(left)} left")

    yield TextColumn("{task.description}", markup=False)
    yield BarColumn(20)
    yield Time()


def clock(seconds: float) -> str:
    """Seconds as m:ss, or h:mm:ss."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def _own_stderr() -> Iterator[TextIO]:
    """A duplicate of stderr: the original is closed while Parquet files are read."""
    try:
        with STDERR:
            handle = os.dup(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):
        yield sys.stderr
        return
    with open(handle, "w", encoding=sys.stderr.encoding, errors="replace") as stream:
        yield stream


def unseen() -> Waiting:
    """Progress that is never shown."""
    wait = Waiting("")
    wait._next = math.inf
    return wait
