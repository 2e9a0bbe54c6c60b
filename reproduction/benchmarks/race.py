"""The clock: contenders take turns, so that noise on the machine hits all of them alike.

It counts the processor time of this process: with everybody on one thread that is wall time, less
the time in which another process had the core.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reproduction.benchmarks.answers import Answer, Contender, Run
from reproduction.measure import one_thread

SAMPLE_SECONDS = 5e-3  # a sample repeats a quick call until it has lasted about this long
BUDGET_SECONDS = 10.0  # no further sample of a contender that has used this much
CHECK_SECONDS = 5.0  # nor further problems, beyond the timed ones, to judge its answers by
QUICK = 0.1  # part of both in a quick run


@dataclass(frozen=True)
class Measurement:
    """What one contender did in one case; `failure` says why there is nothing to show."""

    contender: str
    best: float | None = None  # seconds a problem
    samples: tuple[float, ...] = ()  # one per round
    answers: tuple[Answer, ...] = ()  # one per problem that was solved, the timed ones first
    memory: float | None = None  # peak beyond the data while it ran, as a part of the array's size
    failure: str | None = None

    @property
    def noise(self) -> float | None:
        """Median sample over best sample: 1.0 is a quiet machine."""
        return statistics.median(self.samples) / min(self.samples) if self.samples else None


@dataclass
class _Turn:
    """A contender under way."""

    runs: Sequence[Run]  # one per timed problem
    answers: tuple[Answer, ...]
    first: float
    seconds: list[float] = field(default_factory=list)
    spent: float = 0.0

    def repeats(self) -> int:
        quickest = min(self.seconds, default=self.first)
        return max(1, round(SAMPLE_SECONDS / max(quickest, 1e-9)))

    def sample(self) -> None:
        repeats = self.repeats()
        seconds = _time([run.call for run in self.runs], repeats)
        self.seconds.append(seconds)
        self.spent += seconds * repeats


def race(
    problems: Sequence[Any],
    contenders: Mapping[str, Contender],
    rounds: int,
    timed: int = 1,
    patience: float = 1.0,
) -> list[Measurement]:
    """Time all contenders on the first `timed` problems, best of `rounds` samples each.

    A sample takes all of these in turn. The first is a warm-up (compilation, caches, the
    answers) and is not counted, unless it alone has used up the contender's budget: then it is
    the one sample. The other problems are solved off the clock, for their answers. `patience`
    scales the budget of time and that for other problems.
    """
    turns: dict[str, _Turn] = {}
    failures: dict[str, str] = {}
    with one_thread:
        for name, contender in contenders.items():
            try:
                turns[name] = _warm_up(problems, contender, timed, patience)
            except Exception as error:  # a peer that cannot run is a row, not a crash
                failures[name] = reason(error)
        order = list(turns)
        shuffled = random.Random(0)
        gc.freeze()  # what is there stays: to look through it before each sample takes longer
        for _ in range(rounds):
            shuffled.shuffle(order)  # nobody always runs in the wake of the same neighbour
            for name in order:
                if name in failures or turns[name].spent >= patience * BUDGET_SECONDS:
                    continue
                try:
                    turns[name].sample()
                except Exception as error:
                    failures[name] = reason(error)
        gc.unfreeze()
    return [
        Measurement(contender=name, failure=failures[name])
        if name in failures
        else _measurement(name, turns[name])
        for name in contenders
    ]


def reason(error: Exception) -> str:
    """An error on one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _warm_up(problems: Sequence[Any], contender: Contender, timed: int, patience: float) -> _Turn:
    runs = [contender(problem) for problem in problems[:timed]]
    with one_thread:  # again: the contender may just have loaded a BLAS of its own
        start = time.process_time()
        results = [run.call() for run in runs]
        first = time.process_time() - start
        answers = [run.answer(result) for run, result in zip(runs, results, strict=True)]
        for problem in problems[timed:]:
            if time.process_time() - start > patience * CHECK_SECONDS + first:
                break
            other = contender(problem)
            answers.append(other.answer(other.call()))
    turn = _Turn(runs, tuple(answer for answer in answers if answer is not None), first)
    if first >= patience * BUDGET_SECONDS:
        turn.seconds.append(first)
        turn.spent = first
    return turn


def _time(calls: Sequence[Callable[[], Any]], repeats: int) -> float:
    """Seconds for all calls over `repeats` times in a row, without garbage collection as timeit."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(repeats):
            for call in calls:
                call()
        return (time.process_time() - start) / repeats
    finally:
        gc.enable()


def _measurement(name: str, turn: _Turn) -> Measurement:
    samples = tuple(seconds / len(turn.runs) for seconds in turn.seconds)
    return Measurement(contender=name, best=min(samples), samples=samples, answers=turn.answers)
