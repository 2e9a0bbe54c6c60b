"""Experiments as data: what is drawn, who competes, and how it is judged."""

from __future__ import annotations

import itertools
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Number = float | int
Quantities = dict[str, Number]

DECIMAL = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
PRODUCT = re.compile(
    rf"\s*(?:(?P<factor>{DECIMAL})\s*\*\s*)?(?P<log>log\s+)?(?P<name>[a-z_]\w*)\s*", re.ASCII
)


@dataclass(frozen=True)
class Contender:
    """An algorithm with its parameters, under the name it has in tables and figures.

    Attributes
    ----------
    label : str
        Its name there.
    algorithm : str
        A key of `sparsewise.ALGORITHMS`, or of `reproduction.peers.PEERS`.
    parameters : mapping
        What it takes besides A and y. A string that names a quantity of the cell ("delta", "noise",
        "n", "m", "k"), perhaps with a factor in front ("0.5*delta") or its logarithm ("log m"),
        stands for its value.
    threshold : str or float
        Coefficients of at most this size don't count as found.
    most : int, optional
        Only so many realisations, the first, because more would take too long.
    """

    label: str
    algorithm: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    threshold: str | float = 0.0
    most: int | None = None

    def arguments(self, cell: Cell) -> dict[str, Any]:
        """The parameters, with the values of this cell in place."""
        return {name: resolved(value, cell) for name, value in self.parameters.items()}


@dataclass(frozen=True)
class Cell:
    """One point of an experiment, or of the one whose draws it takes: the values there."""

    experiment: str
    quantities: Quantities

    @property
    def name(self) -> str:
        """A name that tells the values."""
        return ",".join(f"{name}={value:g}" for name, value in self.quantities.items())

    @property
    def key(self) -> int:
        """A number that is the same on every machine; what the random draws start from."""
        return zlib.crc32(f"{self.experiment}/{self.name}".encode())

    def __getitem__(self, name: str) -> Number:
        return self.quantities[name]


@dataclass(frozen=True)
class Experiment:
    """A grid of cells, the contenders at each of them, and how often they are drawn.

    Attributes
    ----------
    name : str
        Short, for files.
    title : str
        For people.
    grid : mapping
        From each quantity to the values it takes; cells are their product. What is missing follows
        from the rest: n = sampling·m, k = ⌈sparsity·n⌉, delta = 2·noise.
    contenders : tuple of Contender
        Who competes.
    realizations : int
        How often each cell is drawn; every contender sees the same draws.
    task : str
        A key of `reproduction.tasks.TASKS`.
    family, signal : str
        Keys of `reproduction.generators.FAMILIES` and ``SIGNALS``: the matrix and the
        coefficients.
    serial : bool
        Whether cells are run one at a time, because their time is what is measured.
    kind : str
        A key of `reproduction.sections.KINDS`: how it is shown and judged. All but
        "rates" are for the experiments that the package declares.
    draws : str
        The experiment whose draws these are, in cells that both have; its own unless given.
    """

    name: str
    title: str
    grid: Mapping[str, tuple[Number, ...]]
    contenders: tuple[Contender, ...]
    realizations: int
    task: str = "recovery"
    family: str = "gaussian"
    signal: str = "signs"
    serial: bool = False
    kind: str = "rates"
    draws: str = ""

    def cells(self) -> list[Cell]:
        """All points of the grid."""
        values = itertools.product(*self.grid.values())
        drawn = self.draws or self.name
        return [Cell(drawn, complete(dict(zip(self.grid, v, strict=True)))) for v in values]

    def varying(self) -> list[str]:
        """The quantities that take several values."""
        return [name for name, many in self.grid.items() if len(set(many)) > 1]

    def units(self) -> Iterator[Unit]:
        """What there is to be done, piece by piece."""
        for cell, contender in itertools.product(self.cells(), self.contenders):
            yield Unit(self, cell, contender)

    def only(self, labels: list[str]) -> Experiment:
        """The same with these contenders alone."""
        chosen = tuple(one for one in self.contenders if one.label in labels)
        return replace(self, contenders=chosen)


@dataclass(frozen=True)
class Unit:
    """All realisations of one contender in one cell: done as a whole or not at all."""

    experiment: Experiment
    cell: Cell
    contender: Contender

    @property
    def realizations(self) -> int:
        """How often it is drawn."""
        most = self.contender.most
        return (
            self.experiment.realizations
            if most is None
            else min(self.experiment.realizations, most)
        )

    def settings(self, seed: int) -> dict[str, Any]:
        """All that its result depends on; equal settings, equal results."""
        experiment = self.experiment
        drawn = {"draws": experiment.draws} if experiment.draws else {}
        return {
            "experiment": experiment.name,
            "task": experiment.task,
            "family": experiment.family,
            "signal": experiment.signal,
            "cell": dict(self.cell.quantities),
            "contender": self.contender.label,
            "algorithm": self.contender.algorithm,
            "parameters": dict(self.contender.parameters),
            "threshold": self.contender.threshold,
            "realizations": self.realizations,
            "seed": seed,
            **drawn,
        }


def equations(quantities: Mapping[str, Number]) -> str:
    """Values of quantities for people: "n = 64, m = 128"."""
    return ", ".join(f"{name} = {value:g}" for name, value in quantities.items())


def complete(given: Quantities) -> Quantities:
    """The quantities given, and those that follow from them."""
    whole = dict(given)
    if "n" not in whole and {"sampling", "m"} <= whole.keys():
        whole["n"] = max(1, round(whole["sampling"] * whole["m"]))
    if "k" not in whole and {"sparsity", "n"} <= whole.keys():
        whole["k"] = math.ceil(whole["sparsity"] * whole["n"] - 1e-9)
    if "delta" not in whole and "noise" in whole:
        whole["delta"] = 2 * whole["noise"]
    return whole


def resolved(value: Any, cell: Cell) -> Any:
    """A value, or the quantity of the cell that it names, its logarithm, or a multiple."""
    match = PRODUCT.fullmatch(value) if isinstance(value, str) else None
    if match is None or match["name"] not in cell.quantities:
        return value
    quantity = cell[match["name"]]
    if match["log"]:
        quantity = math.log(quantity) if quantity > 0 else -math.inf
    return quantity if match["factor"] is None else float(match["factor"]) * quantity
