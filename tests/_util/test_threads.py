"""Threads that are kept share work, and keep nothing of it."""

import os
import subprocess
import sys
import threading
import weakref

import pytest

from sparsewise._util.threads import in_threads


def test_results_are_in_order_whoever_makes_them():
    barrier = threading.Barrier(3)
    names = set()

    def work(i):
        if i < 3:
            barrier.wait(10)  # so that three threads have one each
            names.add(threading.current_thread().name)
        return i * i

    assert in_threads(work, range(40), 3) == [i * i for i in range(40)]
    assert threading.current_thread().name in names
    assert len(names) == 3


def test_threads_are_kept():
    in_threads(abs, range(8), 3)
    before = threading.active_count()
    for _ in range(5):
        in_threads(abs, range(8), 3)
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_to_do(threads):
    assert in_threads(abs, [], threads) == []


def test_the_error_of_the_first_item_is_raised():
    barrier = threading.Barrier(2)
    done = []

    def work(i):
        if i < 2:
            barrier.wait(10)
            raise ValueError(i)
        done.append(i)

    with pytest.raises(ValueError, match="0"):
        in_threads(work, range(100), 2)
    assert not done


def test_ctrl_c_ends_it():
    def work(i):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(1000), 2)


def test_calls_may_be_nested():
    def work(i):
        return sum(in_threads(abs, range(i), 4))

    assert in_threads(work, range(200), 64) == [sum(range(i)) for i in range(200)]


class Data:
    def work(self, i):
        return i


def test_nothing_is_kept_of_the_data():
    data = Data()
    seen = weakref.ref(data)
    in_threads(data.work, range(8), 2)
    del data
    assert seen() is None


ENDS = """
import atexit, os, threading
from sparsewise._util.threads import in_threads
print(sum(in_threads(abs, range(9), 3)))
{then}
"""
AT_EXIT = "atexit.register(lambda: print(sum(in_threads(abs, range(9), 3))))"
IN_A_CHILD = """
child = os.fork()
print(sum(in_threads(abs, range(9), 3)), flush=True)
if child: assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("then", [AT_EXIT, IN_A_CHILD])
def test_processes_end_well(then):
    if "fork" in then and not hasattr(os, "fork"):
        pytest.skip("processes don't divide here")
    program = ENDS.format(then=then)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == {"36"}
