"""First calls don't wait for the compiler, and are the same calls."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sparsewise as sw
from sparsewise import kernels
from sparsewise.kernels import background_compile as background
from sparsewise.kernels import compile as jit
from sparsewise.kernels import stepwise
from sparsewise.problem.problem import problem as prepare
from tests.kernels.tracing import INTERPRETED

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")


class Kernel:
    """A function that takes as long to compile as a test wants."""

    stats = SimpleNamespace(cache_path="the cache")

    def __init__(self, held=False):
        self.compiled = []
        self.begun, self.may_end = threading.Event(), threading.Event()
        if not held:
            self.may_end.set()

    def compile(self, types):
        self.begun.set()
        assert self.may_end.wait(60)
        self.compiled.append(types)


def test_each_kernel_is_compiled_once_for_its_types():
    compiling, kernel, other = background.BackgroundCompiler(), Kernel(), Kernel()
    assert not compiling.has_begun
    for types in (("a",), ("b",), ("a",)):
        compiling.add(kernel, types)
    compiling.add(other, ("a",))
    compiling.wait()
    assert compiling.has_begun
    assert (kernel.compiled, other.compiled) == ([("a",), ("b",)], [("a",)])
    compiling.add(kernel, ("c",))  # the thread has ended: there is another one
    compiling.wait()
    assert kernel.compiled[-1] == ("c",)


def test_who_stops_waits_for_one_kernel_alone(monkeypatch):
    monkeypatch.setattr(background, "PAUSE", 0.0)
    compiling, kernel, other = background.BackgroundCompiler(), Kernel(held=True), Kernel()
    compiling.add(kernel, ())
    compiling.add(other, ())
    assert kernel.begun.wait(60)
    threading.Timer(0.1, kernel.may_end.set).start()
    compiling.stop()
    assert (kernel.compiled, other.compiled) == ([()], [])


def test_who_stops_soon_waits_for_nothing(monkeypatch):
    monkeypatch.setattr(background, "PAUSE", 3600.0)
    compiling, kernel = background.BackgroundCompiler(), Kernel()
    compiling.add(kernel, ())
    compiling.stop()
    assert kernel.compiled == []


def test_those_who_wait_are_told(monkeypatch):
    told = []
    monkeypatch.setattr(background, "PATIENCE", 0.01)
    monkeypatch.setattr(background, "announce", told.append)
    compiling, kernel = background.BackgroundCompiler(), Kernel(held=True)
    compiling.add(kernel, ())
    threading.Timer(0.3, kernel.may_end.set).start()
    compiling.wait()
    compiling.wait()  # no longer
    assert (kernel.compiled, told) == ([()], ["the cache"])


class Never(background.BackgroundCompiler):
    """Nothing is ever kernels."""

    def __init__(self):
        super().__init__()
        self.asked = []

    has_begun = True

    def add(self, kernel, types):
        self.asked.append(kernel.py_func.__name__)


@pytest.fixture
def first(monkeypatch):
    """The first call of a process that has nothing compiled."""
    compilation = kernels.Compilation()
    compilation.background = Never()
    monkeypatch.setattr(kernels, "COMPILATION", compilation)
    return compilation


def problem(kind, rows=30, columns=40):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((rows, columns)).astype(kind)
    if np.dtype(kind).kind == "c":
        A += 1j * rng.standard_normal(A.shape).astype(kind)
    return A, (A[:, :4] @ np.arange(1, 5) + 0.1 * rng.standard_normal(rows)).astype(kind)


CALLS = {
    "forward": lambda A, y: sw.forward(A, y, sparsity=6),
    "backward": lambda A, y: sw.backward(A[:, :20], y, sparsity=6),
    "rmp": lambda A, y: sw.rmp(A, y, sigma=0.1),
    "fast_sbl": lambda A, y: sw.fast_sbl(A, y, sigma=0.1),
    "bpdn": lambda A, y: sw.bpdn(A, y, residual=1.0),
}


@pytest.mark.parametrize("kind", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", CALLS)
def test_interpreted_calls_are_the_same_calls(name, kind, first):
    A, y = problem(kind)
    early = CALLS[name](A, y)
    assert "measure_columns" in first.background.asked
    assert not first.waits
    kernels.compile_first()
    usual = CALLS[name](A, y)
    np.testing.assert_array_equal(early.support, usual.support)
    assert early.coef.dtype == usual.coef.dtype
    rounding = 1e3 * np.finfo(kind).eps
    np.testing.assert_allclose(early.coef, usual.coef, rtol=rounding, atol=rounding)


def test_the_second_of_two_calls_waits(first):
    A, y = problem(float, 80, 100)
    sw.forward(A, y, sparsity=3)
    asked = len(first.background.asked)
    assert asked
    assert not first.waits
    sw.forward(A, y, sparsity=3)
    assert first.waits
    assert len(first.background.asked) == asked


def test_so_does_a_first_one_that_is_large(first):
    A, y = problem(float, 150, 120)
    sw.forward(A, y, sparsity=3)
    assert first.waits
    assert first.background.asked == []


def test_so_do_many_signals(first):
    """Or the first of them would have other digits than the rest."""
    A, y = problem(float)
    sw.encode(A, y[:, None], algorithm="srr", sparsity=2)
    assert first.waits
    assert first.background is None or first.background.asked == []


def test_what_is_there_is_called():
    compiling = background.BackgroundCompiler()
    W, norms, inverse = np.eye(3), np.empty(3), np.empty(3)
    stepwise.measure_columns(W, norms, inverse)
    early = background.Interpretable(stepwise, compiling)
    assert early.measure_columns(2 * W, norms, inverse) == (4.0, 12.0)
    assert early.OPEN == stepwise.OPEN
    assert not compiling.has_begun
    whole = W.astype(np.int16)  # compiled for these by nobody
    assert early.measure_columns(whole, norms, inverse) == (1.0, 3.0)
    compiling.wait()
    types = stepwise.measure_columns.typeof_pyval(whole)
    assert any(each.args[0] == types for each in stepwise.measure_columns.nopython_signatures)


def test_a_missing_kernel_is_not_compiled():
    alone = jit.plain_jit(jit.abs2.py_func)
    with pytest.raises(jit.NotCompiledError) as missing:
        jit.call_if_compiled(alone, (2.0,))
    assert [str(one) for one in missing.value.types] == ["float64"]
    assert not alone.signatures
    assert alone(2.0) == 4.0
    assert jit.call_if_compiled(alone, (3.0,)) == 9.0


FIRST_CALL = """
import numpy as np
from sparsewise.kernels import compile_first, load_kernels
def call():
    norms, inverse = np.empty(2), np.empty(2)
    return load_kernels().measure_columns(np.eye(2), norms, inverse)
print(call())
{then}
print(call())
"""


@pytest.mark.parametrize("then", ["", "compile_first()", "import os\nif os.fork(): os.wait()"])
def test_processes_end_well(then, tmp_path):
    if "fork" in then and not hasattr(os, "fork"):
        pytest.skip("processes don't divide here")
    env = {name: value for name, value in os.environ.items() if name != "SPARSEWISE_COMPILE"}
    env["NUMBA_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST_CALL.format(then=then)], env=env,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.splitlines()) == {"(1.0, 2.0)"}
    kept = list(Path(tmp_path).rglob("stepwise.measure_columns*.nbc"))
    assert bool(kept) == (then == "compile_first()")


@pytest.mark.parametrize(
    ("shapes", "waiting"),
    [
        ([(64, 128), (64, 128)], [False, True]),
        ([(100, 200), (51, 50), (51, 50)], [False, False, True]),  # one of them within the first
        ([(101, 200)], [True]),
        ([(20, 10)] * 5, [False] * 4 + [True]),
        ([(442, 10), (10**6, 10**6), (2, 2)], [False, True, True]),
    ],
)
def test_which_problems_wait(first, shapes, waiting):
    waits = []
    for shape in shapes:
        first.begin(*shape)
        waits.append(first.waits)
    assert waits == waiting


def test_a_problem_counts_once_and_only_when_it_is_solved(first):
    data = prepare(*problem(float))
    assert first.budget == kernels.BUDGET
    data.begin()
    left = first.budget
    assert left == kernels.BUDGET - kernels.LEAST_WORK
    data.in_rows_of(data.design, data.Y).begin()
    data.begin()
    assert first.budget == left
