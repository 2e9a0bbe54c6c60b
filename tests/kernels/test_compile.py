"""Where compiled code is kept, and what is said of the time it takes to make it."""

import gc
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import sparsewise
from sparsewise import kernels
from sparsewise._util import progress
from sparsewise.kernels import compile as jit
from tests.kernels.tracing import INTERPRETED

FIRST_CALL = """
import numpy as np
from sparsewise.kernels import kept_in, load_kernels
norms, inverse = np.empty(2), np.empty(2)
load_kernels().measure_columns(np.eye(2), norms, inverse)
print(kept_in())
"""


HIDINGS = {
    "nothing": "",
    "a method": "del numba.core.codegen.CPUCodeLibrary._optimize_final_module",
    "a class": "del numba.core.codegen.JITCodeLibrary",
    "a signature": "numba.core.compiler.Compiler.__init__ = lambda self, *others: None",
    "an option": "del numba.core.options.DefaultOptions.forceinline",
    "events": "numba.core.event.register = None",
    "a module": "del numba.core.options",
}

HIDDEN = """
import numba
{hide}
from sparsewise.kernels import COMPILATION
from sparsewise.kernels.compile import AS_EXPECTED, abs2
print(AS_EXPECTED)
{then}
"""

SOLVES = """
import numpy as np
import sparsewise as sw
A = np.random.default_rng(0).standard_normal((20, 12))
print(sw.forward(A, A[:, 3] - 2 * A[:, 7], sparsity=2).support, COMPILATION.waits, abs2(3.0))
"""


def run_without(hide, then=""):
    """What a process prints from which some of numba's internals are hidden."""
    env = {name: value for name, value in os.environ.items() if name != "SPARSEWISE_COMPILE"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", HIDDEN.format(hide=hide, then=then)],
        env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("hidden", HIDINGS)
def test_internals_of_numba_are_used_where_they_are_as_expected(hidden):
    assert run_without(HIDINGS[hidden]) == [str(hidden == "nothing")]


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_without_them_plain_njit_does(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert run_without(HIDINGS["a class"], SOLVES) == ["False", "[3 7] True 9.0"]


def first_call(installed, cache):
    """Call a compiled function of a copy of the package; where it says that it is kept."""
    env = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    paths = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"), str(cache))
    env |= {**paths, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", FIRST_CALL], env=env, capture_output=True, text=True,
        timeout=120, cwd=installed,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.fixture
def installed(tmp_path):
    """A copy of the package whose folder takes no compiled code: a file stands in its way.

    Permissions would not do: they mean nothing to root.
    """
    source = Path(sparsewise.__file__).parent
    folder = tmp_path / "installed"
    shutil.copytree(
        source, folder / "sparsewise", ignore=shutil.ignore_patterns("__pycache__", "data")
    )
    (folder / "sparsewise" / "kernels" / "__pycache__").touch()
    return folder


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_read_only_installation_keeps_its_code_with_the_user(installed, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    kept = Path(first_call(installed, cache))
    assert kept.is_relative_to(cache)
    assert list(kept.glob("stepwise.measure_columns*.nbc"))


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_without_any_folder_it_runs_all_the_same(installed, tmp_path):
    nowhere = tmp_path / "nowhere"
    nowhere.touch()
    assert first_call(installed, nowhere) == "None"


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_parts_are_not_for_python():
    """Numba itself would call what is not there, and end the process."""
    with pytest.raises(TypeError):
        jit.abs2(2.0)
    assert jit.alone(jit.abs2)(2.0) == 4.0


class Clock:
    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(jit, "monotonic", lambda: self.now)


def compiling(module="sparsewise.kernels.stepwise", cache_path="the cache"):
    """What numba tells of a function that is compiled."""
    function = SimpleNamespace(__module__=module)
    statistics = SimpleNamespace(cache_path=cache_path)
    dispatcher = SimpleNamespace(py_func=function, stats=statistics)
    return SimpleNamespace(data={"dispatcher": dispatcher})


class Terminal(io.StringIO):
    is_terminal = True

    def isatty(self):
        return self.is_terminal


@pytest.fixture
def terminal(monkeypatch):
    """Standard error as a terminal."""
    monkeypatch.setattr(kernels.COMPILATION, "announces", True)
    monkeypatch.delenv("TERM", raising=False)
    # pytest gives `sys` another one before the test begins
    stderr = Terminal()
    for module in (jit, progress):
        monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stderr, modules={}))
    return stderr


def pass_through(watch, clock, seconds, **described):
    """Compile a function, and a part of it once some seconds have passed."""
    whole, part = compiling(**described), compiling(**described)
    watch.on_start(whole)
    clock.now += seconds
    watch.on_start(part)
    watch.on_end(part)
    watch.on_end(whole)


def test_long_compiling_gets_one_line(terminal, monkeypatch):
    watch, clock = jit.Watch(), Clock(monkeypatch)
    pass_through(watch, clock, 0.7)
    assert terminal.getvalue() == ""
    pass_through(watch, clock, 0.7)  # of the same call
    pass_through(watch, clock, 2.0)
    assert terminal.getvalue().count("\n") == terminal.getvalue().count("the cache\n") == 1
    clock.now += 60
    pass_through(watch, clock, 2.0, cache_path=None)
    assert "NUMBA_CACHE_DIR" in terminal.getvalue()


def test_functions_of_others_are_none_of_our_business(terminal, monkeypatch):
    pass_through(jit.Watch(), Clock(monkeypatch), 5.0, module="theirs")
    assert terminal.getvalue() == ""


def test_pipes_and_commands_get_no_line(terminal, monkeypatch):
    watch, clock = jit.Watch(), Clock(monkeypatch)
    monkeypatch.setattr(kernels.COMPILATION, "announces", False)
    pass_through(watch, clock, 5.0)
    monkeypatch.setattr(kernels.COMPILATION, "announces", True)
    monkeypatch.setenv(progress.SWITCH, "0")
    clock.now += 60
    pass_through(watch, clock, 5.0)
    monkeypatch.delenv(progress.SWITCH)
    terminal.is_terminal = False
    clock.now += 60
    pass_through(watch, clock, 5.0)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_waits(collects):
    watch, whole, part = jit.Watch(), compiling(), compiling()
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        watch.on_start(whole)
        watch.on_start(part)
        watch.on_end(part)
        assert not gc.isenabled()
        watch.on_end(whole)
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()
