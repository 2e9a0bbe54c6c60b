"""Every experiment that is declared here, and those that a file of your own declares."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path
from typing import Any

from reproduction import beyond, how_sure, paper, shared_support
from reproduction.declaration import Experiment
from sparsewise._util.text import look_up, printable
from sparsewise.errors import InputError

DECLARED = (
    paper.EXPERIMENTS | beyond.EXPERIMENTS | shared_support.EXPERIMENTS | how_sure.EXPERIMENTS
)
"""All of them by name."""

QUICK = paper.QUICK | beyond.QUICK | shared_support.QUICK | how_sure.QUICK
"""What is smaller in a quick look."""

GROUPS: dict[str, dict[str, Experiment]] = {
    "all": paper.EXPERIMENTS,
    "beyond": beyond.EXPERIMENTS,
    "how-sure": how_sure.EXPERIMENTS,
}
"""Names for several at once."""


def named(name: str) -> list[Experiment]:
    """The experiments of a name, of ``path/to/file.py``, or of ``module:NAME``."""
    if name.endswith(".py"):
        return _declared_in(_of_file(name), name)
    module, colon, variable = name.partition(":")
    if colon:
        known = _of_module(module)
        look_up([variable], known, f"name in {printable(module)}:")
        return _declared_in({variable: known[variable]}, name)
    look_up([name], [*DECLARED, *GROUPS], "experiment")
    return list(GROUPS[name].values()) if name in GROUPS else [DECLARED[name]]


def _of_file(path: str) -> dict[str, Any]:
    """The variables that a file defines. As no module they are sent to workers as a whole."""
    if not Path(path).is_file():
        raise InputError(f"there is no file {printable(path)}")
    return _run(path, lambda: runpy.run_path(path, run_name=Path(path).stem))


def _of_module(name: str) -> dict[str, Any]:
    return _run(name, lambda: vars(importlib.import_module(name)))


def _run(name: str, load: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = load()
    except Exception as error:
        raise InputError(
            printable(f"{name} can't be run: {type(error).__name__}: {error}")
        ) from error
    return found


def _declared_in(variables: dict[str, Any], name: str) -> list[Experiment]:
    found = {one.name: one for one in variables.values() if isinstance(one, Experiment)}
    if not found:
        raise InputError(f"{printable(name)} defines no Experiment")
    return list(found.values())


def is_among(experiment: Experiment, experiments: dict[str, Experiment]) -> bool:
    """Whether it is one of these, perhaps made smaller; a name alone does not tell."""
    declared = experiments.get(experiment.name)
    return (
        declared is not None
        and declared.title == experiment.title
        and all(one in declared.contenders for one in experiment.contenders)
    )
