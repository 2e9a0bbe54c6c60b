"""Dask with one worker process and with two, against one machine's memory and the cost model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import sparsewise as sw
from reproduction.benchmarks.chunk_peers import table
from reproduction.benchmarks.cost_model import NUMBER, Asked, Cost, Machine, tall, wide
from reproduction.benchmarks.memory import resident
from reproduction.measure import best, duration
from reproduction.tables import markdown
from sparsewise.design import DenseDesign

WORKERS = (1, 2)
STEPS = 100  # of forward regression
ROWS = 1000  # of wide data
BLOCK = 25_000  # rows of a block of tall data
BLOCK_BYTES = 256e6  # of one where they are many
PART = 5_000  # columns of a chunk of wide data
TASKS = 200  # that do nothing, to see how long that takes


class Run(NamedTuple):
    """What so many workers took.

    `busy` is the processor time of the client and of the busiest worker: what would be left of
    `seconds` if nobody had to wait, and nothing else ran on the machine. `client` is the memory of
    the client beyond what it had, in bytes.
    """

    seconds: float
    busy: float
    client: float


class Case(NamedTuple):
    """A regression on Dask, how long it takes in memory, and what the model says of it."""

    title: str
    alone: float
    run: Callable[[Any], Run]
    cost: Callable[[Machine, int], Cost]


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Worker processes of one thread each, and a client; the scheduler is in this process."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
        ) as local,
        Client(local) as client,
    ):
        yield client


def normal_block(seed: int, n: int, m: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, m))


def tall_array(n: int, m: int) -> tuple[Any, Any]:
    """Random rows and a target, made by the workers block by block."""
    import dask
    import dask.array as da

    blocks = [
        da.from_delayed(dask.delayed(normal_block)(i, BLOCK, m), (BLOCK, m), float)
        for i in range(n // BLOCK)
    ]
    X = da.concatenate(blocks)
    return X, X[:, :5].sum(axis=1) + da.random.default_rng(0).standard_normal(n, chunks=BLOCK)


def wide_array(m: int) -> Any:
    """Random columns, made by the workers block by block."""
    import dask
    import dask.array as da

    parts = [
        da.from_delayed(dask.delayed(normal_block)(i, ROWS, PART), (ROWS, PART), float)
        for i in range(m // PART)
    ]
    return da.concatenate(parts, axis=1)


def wide_matrix(m: int) -> np.ndarray:
    """The same, here."""
    A = np.empty((ROWS, m))
    for i in range(m // PART):
        A[:, i * PART : (i + 1) * PART] = normal_block(i, ROWS, PART)
    return A


def wide_target() -> np.ndarray:
    """Of 150 of the first columns, and noise."""
    rng = np.random.default_rng(99)
    coef = rng.standard_normal(150)
    return np.asarray(normal_block(0, ROWS, PART)[:, :150] @ coef + rng.standard_normal(ROWS))


def tall_case(n: int, m: int, rounds: int) -> Case:
    """A stepwise regression on rows that the workers hold."""
    from distributed import wait

    def run(client: Any) -> Run:
        X, y = client.persist(list(tall_array(n, m)))
        wait([X, y])
        return watched(client, lambda: sw.StepwiseRegressor().fit(X, y), rounds)

    data, blocks = table(BLOCK, m), n // BLOCK

    def fit_here() -> None:
        rows = sw.Condensed()
        for _ in range(blocks):
            rows = rows.update(data.X, data.y)
        sw.StepwiseRegressor().fit(rows)

    alone = best(fit_here, rounds)
    return Case(f"tall, {n:,}×{m}", alone, run, lambda by, w: tall(by, n, m, w, blocks))


def wide_case(m: int, rounds: int) -> tuple[Case, Asked, float]:
    """Forward regression on columns that the workers hold; what it asks of A, its own seconds."""
    design, y = Watched(wide_matrix(m)), wide_target()
    first = sw.forward(design, y, sparsity=STEPS)
    asked, expected = design.asked(first.n_passes), first.support.tolist()
    alone = best(lambda: sw.forward(design, y, sparsity=STEPS), rounds)
    start, design.seconds = time.process_time(), 0.0
    sw.forward(design, y, sparsity=STEPS)
    own = time.process_time() - start - design.seconds

    def run(client: Any) -> Run:
        held = sw.as_design(wide_array(m))
        if sw.forward(held, y, sparsity=STEPS).support.tolist() != expected:
            raise RuntimeError("Dask took other columns than memory did.")
        return watched(client, lambda: sw.forward(held, y, sparsity=STEPS), rounds)

    title = f"wide, {ROWS}×{m:,}, {STEPS} steps"
    return Case(title, alone, run, lambda by, w: wide(by, ROWS, m, w, asked)), asked, own


def watched(client: Any, call: Callable[[], Any], rounds: int) -> Run:
    """Time and memory of a call, which has compiled and imported what it needs."""
    call()
    took = []
    for _ in range(rounds):
        own, theirs = time.process_time(), client.run(time.process_time)
        start = time.perf_counter()
        call()
        seconds = time.perf_counter() - start
        busiest = max(now - theirs[w] for w, now in client.run(time.process_time).items())
        took.append((seconds, time.process_time() - own + busiest))
    return Run(*map(min, zip(*took, strict=True)), resident(call))


class Watched(DenseDesign):
    """A dense matrix that notes what is asked of it."""

    def __init__(self, A: np.ndarray) -> None:
        super().__init__(A)
        self.widths: list[int] = []
        self.fetched, self.seconds = 0, 0.0

    def rmatmat(self, V: np.ndarray) -> np.ndarray:
        self.widths.append(V.shape[1])
        start = time.process_time()
        product = super().rmatmat(V)
        self.seconds += time.process_time() - start
        return product

    def asked(self, passes: int) -> Asked:
        """All of it; the width is that of the pass in which a product is, on average."""
        widths = np.array(self.widths)
        width = round(np.square(widths).sum() / widths.sum())
        return Asked(passes, int(widths.sum()), self.fetched, width)

    def columns(self, J: Any) -> np.ndarray:
        chosen = super().columns(J)
        self.fetched += chosen.shape[1]
        return chosen


def machine(client: Any, m: int, asked: Asked, step: float) -> Machine:
    """The numbers of the model, each measured on its own; none comes from what it is to predict."""
    data = table(BLOCK, m)
    update = best(lambda: sw.Condensed().update(data.X, data.y), 3, time.process_time)
    half = sw.Condensed().update(data.X[:5000], data.y[:5000])
    merge = best(lambda: half + half, 5, time.process_time)
    A = normal_block(0, ROWS, 10 * PART)
    design, V = DenseDesign(A), normal_block(1, ROWS, asked.width)
    product = best(lambda: design.rmatmat(V), 3, time.process_time)
    read = best(lambda: design.rmatmat(V[:, :1]), 3, time.process_time)
    far = client.submit(normal_block, 0, ROWS, PART, pure=False)
    far.result()
    link = best(lambda: client.gather(far, direct=False), 3)
    trip = best(lambda: client.submit(int, pure=False).result(), TASKS // 10)
    many = best(lambda: client.gather(client.map(int, range(TASKS), pure=False)), 3)
    return Machine(
        fold=2 * BLOCK * (m + 2) ** 2 / update,
        merge=2 * (m + 2) ** 3 / merge,
        product=2 * A.size * V.shape[1] / product,
        memory=A.nbytes / read,
        link=NUMBER * ROWS * PART / link,
        task=many / TASKS,
        trip=trip,
        step=step,
    )


class Sizes(NamedTuple):
    """Of the data: rows and columns of the tall, columns of the wide ones; and how often to run."""

    tall: tuple[int, int]
    wide: Sequence[int]
    rounds: int


def on_dask(sizes: Sizes) -> tuple[str, str, str, Machine]:
    """Tables: one worker and two, what the model says of them and of many; its numbers."""
    several = [wide_case(m, sizes.rounds) for m in sizes.wide]
    cases = [tall_case(*sizes.tall, sizes.rounds), *(case for case, _, _ in several)]
    _, asked, own = several[0]
    runs: dict[tuple[str, int], list[Run]] = {}
    for workers in WORKERS * 2:  # in turns, lest a busy minute hit one of them alone
        with cluster(workers) as client:
            if not runs:
                numbers = machine(
                    client, sizes.tall[1], asked, own / (sizes.wide[0] * asked.products)
                )
            for case in cases:
                runs.setdefault((case.title, workers), []).append(case.run(client))
    least = {key: Run(*map(min, zip(*several, strict=True))) for key, several in runs.items()}
    return (
        dask_page(cases, least),
        model_page(cases, least, numbers),
        plan_page(numbers, asked),
        numbers,
    )


def dask_page(cases: list[Case], runs: dict[tuple[str, int], Run]) -> str:
    """A row for each shape of data."""
    rows = [
        ["", "in memory", "one worker", "two workers", "two against one", "one against memory",
         "by processor time", "client's memory"],
    ]  # fmt: skip
    for case in cases:
        one, two = (runs[case.title, workers] for workers in WORKERS)
        rows.append(
            [
                case.title,
                *map(duration, (case.alone, one.seconds, two.seconds)),
                f"{one.seconds / two.seconds:.2f}×",
                f"{one.seconds / case.alone:.2f}×",
                f"{one.busy / two.busy:.2f}×, {one.busy / case.alone:.2f}×",
                f"{max(one.client, two.client) / 2**20:.0f} MiB",
            ]
        )
    return markdown(rows)


def parts(cost: Cost) -> list[str]:
    """Seconds by what they go into, and together."""
    several = (cost.work, cost.travel, cost.tasks, cost.client, cost.seconds)
    return [duration(value) if value else "0" for value in several]


def model_page(cases: list[Case], runs: dict[tuple[str, int], Run], numbers: Machine) -> str:
    """Predicted and measured."""
    rows = [
        ["", "workers", "work", "travel", "tasks", "client", "predicted", "measured", "ratio",
         "processor time"],
    ]  # fmt: skip
    for case in cases:
        for workers in WORKERS:
            cost, run = case.cost(numbers, workers), runs[case.title, workers]
            found = (duration(run.seconds), f"{run.seconds / cost.seconds:.2f}", duration(run.busy))
            rows.append([case.title, f"{workers}", *parts(cost), *found])
    return markdown(rows)


NETWORK = 1.25e9
"""Bytes/s of ten gigabits: what lies between machines."""


def plan_page(numbers: Machine, asked: Asked) -> str:
    """What the model says of a hundred workers."""
    far = replace(numbers, link=min(numbers.link, NETWORK))
    many, billion, ten_million = 100, 10**9, 10**7
    blocks = billion * 1000 * NUMBER / BLOCK_BYTES
    costs = {
        "tall, 10⁹×1000": tall(far, billion, 1000, many, blocks),
        f"wide, 10⁵×10⁷, {STEPS} steps": wide(far, 10**5, ten_million, many, asked),
    }
    rows = [["", "workers", "work", "travel", "tasks", "client", "predicted"]]
    rows += [[title, f"{many}", *parts(cost)] for title, cost in costs.items()]
    return markdown(rows)
