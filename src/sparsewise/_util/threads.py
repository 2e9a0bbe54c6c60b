"""Threads that are kept from call to call: starting some takes as long as thousands of steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Generic, TypeVar

MOST = 64
"""Threads that are kept at most, besides those that call."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Kept:
    """The threads: as many as a call has asked for, so far."""

    executor: ThreadPoolExecutor | None = None
    size = 0

    def forget(self) -> None:
        """In a process that was forked the threads are gone."""
        self.executor, self.size = None, 0

    def submit(self, call: Callable[[], None], times: int) -> Iterator[Future[None]]:
        """Let so many threads make this call, as far as there are any."""
        times = min(times, MOST)
        if times > self.size:
            if self.executor:
                self.executor.shutdown(wait=False)  # those at work end when they have done it
            self.executor, self.size = ThreadPoolExecutor(times, "sparsewise"), times
        executor = self.executor
        if executor is None:
            return
        try:
            for _ in range(times):
                yield executor.submit(call)
        except RuntimeError:  # the interpreter is about to end, or there can be no more threads
            return


_KEPT = _Kept()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_KEPT.forget)


class _Turns(Generic[Item, Result]):
    """Items of which each thread takes the next that nobody has; none after an error."""

    def __init__(self, work: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self.work, self.items = work, items
        self.numbers = count()  # no two threads get the same
        self.results: dict[int, Result] = {}
        self.errors: dict[int, BaseException] = {}

    def take(self) -> None:
        """Do what is left to do, as long as there is some."""
        while not self.errors and (i := next(self.numbers)) < len(self.items):
            try:
                self.results[i] = self.work(self.items[i])
            except BaseException as error:
                self.errors[i] = error


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """work(item) of all items, by so many threads; the one that calls is among them.

    Of several errors that of the first item is raised. Then, and on Ctrl-C, no further item is
    begun. Items that nobody else takes are left to the caller, so that calls may be nested.
    """
    turns = _Turns(work, items)
    helpers = list(_KEPT.submit(turns.take, min(threads, len(items)) - 1))
    turns.take()
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    results, errors = turns.results, turns.errors
    vars(turns).clear()  # threads may hold on to it until they are asked again
    if errors:
        raise errors[min(errors)]
    return [results[i] for i in range(len(items))]
