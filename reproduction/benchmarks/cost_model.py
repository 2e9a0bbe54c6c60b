"""What regression on many workers costs, from a few numbers of the machines: docs/scale.md.

Tall data are condensed where they lie, and triangles go up a tree. Wide data stay where they are,
and every pass sends vectors down and products up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

NUMBER = 8  # bytes
TOGETHER = 8  # triangles that one task merges


@dataclass(frozen=True)
class Machine:
    """Workers of one core each, and what lies between them and the client."""

    fold: float  # flop/s of a worker that condenses rows
    merge: float  # flop/s of one that makes one triangle of two
    product: float  # flop/s of products A*V
    memory: float  # bytes/s at which a worker goes through what it holds
    link: float  # bytes/s between worker and client, or two workers, packing included
    task: float  # seconds of the scheduler for each task
    trip: float  # seconds until the answer to the smallest question is there
    step: float = 0.0  # seconds of the client for each number of A*V


@dataclass(frozen=True)
class Cost:
    """Seconds, by what they go into."""

    work: float  # of the workers, side by side
    travel: float  # on the way between them and the client
    tasks: float  # of the scheduler
    client: float = 0.0

    @property
    def seconds(self) -> float:
        return self.work + self.travel + self.tasks + self.client


def tall(machine: Machine, n: float, m: int, workers: int, blocks: float) -> Cost:
    """Rows to one triangle: 2 n m² flop, and triangles of m² numbers up a tree.

    Each worker merges the triangles of its blocks of rows; those of the workers are merged in
    rounds, `TOGETHER` at a time. What is done with the last one costs no further pass.
    """
    columns = m + 2
    triangle = NUMBER * columns**2
    rounds = math.ceil(round(math.log(workers, TOGETHER), 9))
    merges = max(blocks / workers - 1, 0) + rounds * (min(workers, TOGETHER) - 1)
    flop = 2 * n * columns**2 / workers
    moved = 1 + rounds * (min(workers, TOGETHER) - 1)
    return Cost(
        work=flop / machine.fold + merges * 2 * columns**3 / machine.merge,
        travel=moved * triangle / machine.link + (1 + rounds) * machine.trip,
        tasks=blocks * (1 + 1 / TOGETHER) * machine.task,
    )


@dataclass(frozen=True)
class Asked:
    """What a run asks of A."""

    passes: int
    products: int  # A*v, in all passes together
    columns: int  # fetched one by one
    width: int = 1  # products of a typical pass


def wide(machine: Machine, n: int, m: float, workers: int, asked: Asked) -> Cost:
    """Steps forward on blocks of columns, one a worker.

    Each pass reads n m numbers and multiplies them by some vectors of V at once, which go down to
    every worker; m numbers a vector come up.
    """
    numbers = n * m / workers
    read = asked.passes * NUMBER * numbers / machine.memory
    multiply = 2 * numbers * asked.products / machine.product
    up = NUMBER * (m * asked.products + n * asked.columns) / machine.link
    down = NUMBER * n * asked.products * workers / machine.link
    return Cost(
        work=max(read, multiply),
        travel=up + down + 2 * asked.passes * machine.trip,
        tasks=2 * asked.passes * workers * machine.task,
        client=m * asked.products * machine.step,
    )
