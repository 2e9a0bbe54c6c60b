"""What is done in a cell, by name."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from sparsewise._util.text import printable
from sparsewise.algorithms import ALGORITHMS
from sparsewise.experiments.declaration import Unit
from sparsewise.experiments.draws import FAMILIES, SIGNALS
from sparsewise.experiments.kernel_regression import kernel_regression
from sparsewise.experiments.measure import Values
from sparsewise.experiments.recovery_bounds import bounds
from sparsewise.experiments.support_recovery import recovery

TASKS: dict[str, Callable[[Unit, int], Values]] = {
    "recovery": recovery,
    "kernel_regression": kernel_regression,
    "bounds": bounds,
}
"""Every kind of experiment."""

REGISTRIES: tuple[dict[str, Any], ...] = (TASKS, FAMILIES, SIGNALS, ALGORITHMS)
"""Where the words of a declaration are looked up."""

Entries = Sequence[dict[str, Any]]


def entries(unit: Unit) -> Entries:
    """What of the registries a unit needs: other processes don't know what was added in this."""
    experiment = unit.experiment
    names = (experiment.task, experiment.family, experiment.signal, unit.contender.algorithm)
    return [
        {name: known[name]} if name in known else {}
        for name, known in zip(names, REGISTRIES, strict=True)
    ]


def perform(unit: Unit, seed: int, needed: Entries = ()) -> dict[str, Any]:
    """Do a unit; whatever goes wrong is told, not raised."""
    for known, more in zip(REGISTRIES, needed, strict=False):
        known.update(more)
    start = time.perf_counter()
    try:
        values, error = _checked(TASKS[unit.experiment.task](unit, seed)), None
    except (Exception, SystemExit) as reason:
        values, error = {}, described(reason)
    return {"values": values, "error": error, "seconds": time.perf_counter() - start}


def described(error: BaseException) -> str:
    """An error as one line: where, what kind, and its own words."""
    notes = getattr(error, "__notes__", [])
    return printable(": ".join([*notes, type(error).__name__, str(error)]))


def _checked(values: Values) -> Values:
    for name, found in values.items():
        for i, value in enumerate(found):
            if not math.isfinite(value):
                raise ValueError(f'"{name}" of realisation {i} is {value}')
    if not any(values.values()):
        raise ValueError("nothing was done")
    if len({len(found) for found in values.values()}) > 1:
        raise ValueError("there is not one value of each kind for each realisation")
    return values
