"""How time is taken and told, and that BLAS keeps to one thread."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from reproduction.measure import OneThread, duration, timed, versions


def test_the_first_solution_is_made_twice_so_that_compiling_does_not_count():
    calls = []
    timed(lambda: calls.append("again"), again=True)
    timed(lambda: calls.append("once"), again=False)
    assert calls == ["again", "again", "once"]


def most_threads():
    return max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")


def test_one_thread_until_the_last_is_done():
    """Several threads of a process run units at once on Dask, and end in any order."""
    one_thread = OneThread()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_thread:
            inside.set()
            leave.wait()

    with threadpool_limits(2):
        with one_thread:
            leave.set()
            first = threading.Thread(target=other)
            first.start()
            first.join()
            assert most_threads() == 1
        assert most_threads() == 2
        inside.clear()
        leave.clear()
        with one_thread:
            last = threading.Thread(target=other)
            last.start()
            inside.wait()
        assert most_threads() == 1
        leave.set()
        last.join()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0000123, "12.3 µs"),
        (0.5, "500 ms"),
        (0.9999, "1 s"),
        (12.34, "12.3 s"),
        (59.97, "1 min 0 s"),
        (185, "3 min 5 s"),
        (3840, "1 h 4 min"),
    ],
)
def test_times_for_people(seconds, text):
    assert duration(seconds) == text


def test_versions_of_packages():
    assert versions(["threadpoolctl", "no-such-package"]) == {
        "threadpoolctl": __import__("threadpoolctl").__version__,
        "no-such-package": "not installed",
    }
