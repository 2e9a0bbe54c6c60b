"""Those who wait at a terminal see how far it has come; nobody else sees anything."""

import io
import itertools
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import Parallel, delayed

import sparsewise as sw
from sparsewise._util import progress
from sparsewise._util.progress import Counted, clock, hushed, unseen, waiting
from tests.terminals import read_until

POSIX = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")


class Terminal(io.StringIO):
    """Something that says it is one, and keeps what is written to it."""

    def isatty(self):
        return True

    @property
    def seen(self):
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())


@pytest.fixture
def terminal(monkeypatch):
    """A terminal whose user has no patience at all."""
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv(progress.SWITCH, raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "OFTEN", 0.0)
    # Not that of sys itself, which pytest has its own ideas of between fixtures and tests.
    streams = SimpleNamespace(stderr=stream, stdout=io.StringIO(), modules=sys.modules)
    monkeypatch.setattr(progress, "sys", streams)
    return stream


def work(words="measuring", total=4.0):
    with waiting(words, total) as wait:
        for _ in range(4):
            wait.update(1)


# --- when there is something to see ---------------------------------------------------------------


def test_what_is_done_is_seen_and_vanishes(terminal):
    work()
    assert re.search(r"measuring .*25%, 0:00 left", terminal.seen)
    assert progress.BOARD._bars is None
    # But for the cursor, which older releases of Rich leave a line below.
    assert re.search(r"\x1b\[2K\n?\x1b\[\?25h\r?$", terminal.getvalue())


def test_words_may_change_and_be_made_when_needed(terminal):
    with waiting("first") as wait:
        wait.update(text="second")
        wait.update(text=lambda: "third")
        wait.update()
    assert "second" in terminal.seen
    assert "third" in terminal.seen
    assert "%" not in terminal.seen


def test_what_is_done_inside_has_a_line_below(terminal):
    with waiting("outside") as wait:
        wait.update()
        work("inside")
        assert progress.BOARD._bars is not None
        wait.update()
    assert terminal.seen.index("outside") < terminal.seen.index("inside")
    assert progress.BOARD._bars is None


def test_a_line_comes_unasked(terminal, monkeypatch):
    with waiting("fitting", unasked=True):
        until = time.monotonic() + 30
        while "fitting" not in terminal.seen and time.monotonic() < until:
            time.sleep(0.01)
    assert "fitting" in terminal.seen
    monkeypatch.setattr(progress, "PATIENCE", 1e6)
    with waiting("patiently", unasked=True):
        pass
    assert "patiently" not in terminal.seen


def test_threads_tell_of_work_that_the_main_thread_waits_for(terminal):
    with waiting("squaring", 3) as wait:
        found = Parallel(n_jobs=2, prefer="threads")(
            delayed(Counted(pow, wait))(i, 2) for i in range(3)
        )
    assert found == [0, 1, 4]
    assert "squaring" in terminal.seen


def test_an_error_leaves_the_terminal_as_it_was(terminal):
    # What raises comes after what is told: that is the point.
    with pytest.raises(KeyboardInterrupt), waiting("working") as wait:  # noqa: PT012
        wait.update()
        raise KeyboardInterrupt
    assert progress.BOARD._bars is None


@pytest.mark.parametrize("after", [0, 3, 8, 12])
def test_a_terminal_that_is_gone_costs_no_answer(terminal, monkeypatch, after):
    monkeypatch.setattr(progress, "BOARD", progress.Board())
    written = itertools.count()

    def write(text):
        if next(written) >= after:
            raise OSError(5, "Input/output error")
        return len(text)

    monkeypatch.setattr(terminal, "write", write)
    stdout = sys.stdout
    for _ in range(2):
        work()
    assert progress.BOARD._bars is None
    assert progress.BOARD.hushed
    assert sys.stdout is stdout


def test_words_that_nobody_sees_are_not_made(terminal, monkeypatch):
    monkeypatch.setattr(progress.sys, "stderr", io.StringIO())
    with waiting("x") as wait:
        wait.update(1, lambda: 1 / 0)


def test_markup_is_text(terminal):
    work("column [red]a[/]")
    assert "column [red]a[/]" in terminal.seen


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (61.9, "1:01"), (3600, "1:00:00")])
def test_a_clock(seconds, shown):
    assert clock(seconds) == shown


# --- when there is not ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0", "off", "No", " false "])
def test_it_can_be_switched_off(terminal, monkeypatch, value):
    monkeypatch.setenv(progress.SWITCH, value)
    work()
    assert terminal.getvalue() == ""


def test_a_terminal_that_can_move_no_cursor(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    work()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("unasked", [False, True])
def test_nothing_is_written_to_anything_else(terminal, monkeypatch, unasked):
    file = io.StringIO()
    closed = io.StringIO()
    closed.close()
    for stream in (file, None, closed):
        monkeypatch.setattr(progress.sys, "stderr", stream)
        with waiting("x", unasked=unasked) as wait:
            wait.update()
    assert file.getvalue() == ""


def test_nothing_before_its_time(terminal, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 1e6)
    work()
    assert terminal.getvalue() == ""


def test_nothing_while_something_else_has_the_terminal(terminal):
    with hushed():
        work()
    assert terminal.getvalue() == ""


def test_nothing_from_other_threads(terminal):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""


def test_nothing_from_other_processes(terminal):
    with waiting("x", 4) as wait:
        again = pickle.loads(pickle.dumps(wait))
        again.update(1)
    unseen().update(1)
    assert terminal.getvalue() == ""
    assert not progress.is_worker()
    assert all(Parallel(n_jobs=2, backend="loky")(delayed(progress.is_worker)() for _ in range(2)))


def test_nothing_after_the_end(terminal):
    with waiting("x") as wait:
        pass
    wait.update(1)
    assert terminal.getvalue() == ""


# --- who tells ------------------------------------------------------------------------------------


class Operator:
    """A matrix by its products."""

    def __init__(self, A):
        self.A, self.shape, self.dtype = A, A.shape, A.dtype

    def matvec(self, x):
        return self.A @ x

    def rmatvec(self, v):
        return self.A.T @ v


def table(n=60, m=20):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, m))
    return A, A[:, :3].sum(axis=1) + 0.1 * rng.standard_normal(n)


def cross_validated(A, y):
    return sw.StepwiseRegressor(criterion="cv", cv=3).fit(A, y)


LONG = {
    "columns of an operator": lambda A, y: sw.omp(Operator(A), y, sparsity=2),
    "comparing all columns": lambda A, y: sw.certify(A, y, [0, 1]),
    "sizes proved": lambda A, y: sw.best_subset(A, y, sparsity=3),
    "searching: [1-9].* branches, gap": lambda A, y: sw.certify(A, A.sum(1), [0, 1], time_limit=9),
    "start 1 of at most": lambda A, y: sw.solve(A, y),
    "inferring the noise: σ = .* features?": lambda A, y: sw.rmp(A, y),
    "encoding 20 signals": lambda A, y: sw.encode(A, A, sparsity=2),
    "encoding 60 signals": lambda A, y: sw.encode(A.T, A.T, algorithm="srr", sparsity=2),
    "cross-validating": cross_validated,
    "cross-validating ": lambda A, y: sw.SparseRegressor(criterion="cv", cv=3).fit(A, y),
    "inferring the noise": lambda A, y: sw.RelevanceVectorRegressor().fit(A[:, :1], y),
}


@pytest.mark.parametrize("words", LONG)
def test_long_calls_are_told(terminal, words):
    LONG[words](*table())
    assert re.search(words, terminal.seen), terminal.seen
    assert progress.BOARD._bars is None


@pytest.mark.parametrize("words", LONG)
def test_and_written_nowhere_else(capfd, words):
    LONG[words](*table())
    assert capfd.readouterr() == ("", "")


# --- a real terminal ------------------------------------------------------------------------------

SLOW = """
import time
import numpy as np, sparsewise as sw
from sparsewise._util import progress

progress.PATIENCE = 0.1

class Slow:
    shape, dtype = (20, 4000), np.dtype(float)
    def matvec(self, x):
        time.sleep(0.002)
        return np.resize(x, 20) + x.sum()
    def rmatvec(self, v):
        out = np.full(4000, v.sum())
        out[:20] += v
        return out

sw.omp(Slow(), np.ones(20), sparsity=1)
"""


@POSIX
def test_ctrl_c_is_the_usual_one_and_the_cursor_is_back():
    ours, theirs = os.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "PYTHONPATH": os.pathsep.join(sys.path)}
    env.pop(progress.SWITCH, None)
    process = subprocess.Popen([sys.executable, "-c", SLOW], stderr=theirs, env=env)
    os.close(theirs)
    seen = read_until(ours, r"4,000 columns of an operator.*\d%, \d:\d\d left")
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # the other end is closed
        while more := os.read(ours, 2**16):
            seen += more.decode()
    process.wait(timeout=60)
    os.close(ours)
    assert "\nKeyboardInterrupt" in seen
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l")
    assert seen.count("Traceback") == 1
