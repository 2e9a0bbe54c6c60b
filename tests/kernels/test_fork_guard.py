"""A fork while another thread imports or compiles: the copy works, or says why it can't."""

import os
import subprocess
import sys

import pytest

from tests.kernels.tracing import INTERPRETED

pytestmark = [
    pytest.mark.skipif(INTERPRETED, reason="nothing is compiled"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes don't divide here"),
]

FORKS = """
import logging, os, sys, threading, time
import numpy as np
from sparsewise.kernels import fork_guard, load_kernels
{setting}
begun, took = threading.Event(), time.monotonic
def call():
    return load_kernels().measure_columns(np.eye(2), np.empty(2), np.empty(2))
def hold():
{holds}
thread = threading.Thread(target=hold)
thread.start()
assert begun.wait(60)
first = took()
if os.fork():
    waited = took() - first
    _, status = os.wait()
    thread.join()
    print(status, waited > 0.2, call())
else:
    try:
        print(call(), flush=True)
    except RuntimeError as error:
        print(type(error).__name__, error, flush=True)
    os._exit(0)
"""

COMPILES = """
    from numba.core.compiler_lock import global_compiler_lock
    load_kernels()
    with global_compiler_lock:
        begun.set()
        time.sleep(0.5)
        logging.getLogger("of its own").debug("compiling asks for the lock of logging, too")
"""

IMPORTS = """
    begun.set()
    call()
"""


def run(holds, setting=""):
    """What a process and its copy print, of which the first holds a lock in another thread."""
    script = FORKS.format(holds=holds, setting=setting)
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "SPARSEWISE_COMPILE": "first"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_copy_compiles_once_the_other_thread_has():
    assert run(COMPILES) == ["(1.0, 2.0)", "0 True (1.0, 2.0)"]


def test_a_copy_made_while_numba_is_imported():
    child, parent = run(IMPORTS)
    assert child == "(1.0, 2.0)"
    assert parent.startswith("0 ")


def test_a_copy_that_could_not_wait_says_so():
    child, parent = run(COMPILES, "fork_guard.LONGEST = 0.01")
    assert child.startswith("ForkError This process is a copy (fork), made while another thread")
    assert child.endswith('or start processes by "spawn".')
    assert parent == "0 False (1.0, 2.0)"


def test_a_copy_that_could_not_wait_calls_what_is_compiled():
    child, _ = run(COMPILES.replace("load_kernels()", "call()"), "fork_guard.LONGEST = 0.01")
    assert child == "(1.0, 2.0)"
