"""Which method the options ask for, read from the records of the algorithms."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from sparsewise._util.text import look_up
from sparsewise.algorithms import ALGORITHMS, Algorithm, Family
from sparsewise.cli.spelling import METHOD_OPTIONS
from sparsewise.errors import InputError, Parameter
from sparsewise.model_selection.choice import PATHS, has_choice

PRECEDENCE = (
    "effort",
    "seed",
    "batch",
    "penalty",
    "sparsity",
    "residual",
    "criterion",
    "cv",
    "max_features",
    "delta",
    "updates",
    "price",
)
"""Of options that stand for a method, the first that is given decides; others change none."""


def meant_by(option: str) -> str:
    """Return the method that an option stands for where none is named."""
    return next(name for name, record in ALGORITHMS.items() if option in record.meant_by)


DEFAULTS = {option: meant_by(option) for option in PRECEDENCE}
DEFAULT = meant_by("nothing")
"""What needs no threshold, for those who give no option either."""


def given_parameters(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of a method that the arguments set."""
    values = {name: getattr(args, name) for name in METHOD_OPTIONS}
    parameters = {name: value for name, value in values.items() if value is not None}
    if args.fold_column is None:
        return parameters
    if "cv" in parameters:
        raise InputError(("and ", Parameter("fold"), " both tell folds: give one."), parameter="cv")
    if parameters.setdefault("criterion", "cv") != "cv":
        criterion = Parameter("criterion", parameters["criterion"])
        raise InputError(("tells folds, for which ", criterion, " has no use."), parameter="fold")
    return parameters


def choose(method: str | None, parameters: dict[str, Any]) -> str:
    """Return the method by its full name: the one that is named, or that the options mean."""
    if method is None:
        return next((meant for name, meant in DEFAULTS.items() if name in parameters), DEFAULT)
    name = method.replace("-", "_")
    look_up([name], ALGORITHMS, "method")
    return name


def check_targets(method: str, targets: Sequence[str]) -> None:
    """Raise an error for several targets where a method takes one."""
    if len(targets) > 1 and not ALGORITHMS[method].multi_target:
        raise InputError(
            f"names {len(targets)} columns, but method {method} takes one",
            f"fit them one by one, or by a method that finds features for all, such as {DEFAULT}.",
            parameter="target",
        )


def check_names(parameters: dict[str, Any]) -> None:
    """Raise an error for a criterion or a rule of updates that there is not."""
    from sparsewise.algorithms.sbl import UPDATES
    from sparsewise.estimators import sparse_regressor, stepwise

    criteria = dict.fromkeys((*stepwise.CRITERIA, *sparse_regressor.CRITERIA))
    for name, choices, kind in (("criterion", criteria, "criterion"), ("updates", UPDATES, "rule")):
        if name in parameters:
            look_up([parameters[name]], choices, kind)


def beginning(method: str, parameters: dict[str, Any], start: str | None) -> str | list[str]:
    """Return where a method begins: auto, full, empty, or the names of features."""
    record = ALGORITHMS[method]
    if start is None:
        # As step of R, which begins with the model it is given; folds and rows left out take paths.
        by_path = "cv" in parameters or parameters.get("criterion") in ("loo", "cv")
        like_r = begins_anywhere(record) and record.takes("criterion") and not by_path
        return "full" if like_r else "auto"
    if not begins_anywhere(record):
        raise InputError(f"belongs to {starters()}, not to {method}.", parameter="start")
    from sparsewise.io.tables import split_names

    return {"all": "full", "none": "empty"}.get(start) or split_names(start)


@cache
def family(which: Family) -> str:
    """Return the methods of a family, as they are written here."""
    return _names(lambda record: record.family is which)


@cache
def takers(parameter: str, *which: Family) -> str:
    """Return the methods that take a parameter, of some families or of all."""
    return _names(lambda record: record.takes(parameter) and record.family in (which or Family))


@cache
def choosers() -> str:
    """Return the methods that make a path on which a criterion may choose."""
    return _names(has_choice)


def begins_anywhere(record: Algorithm) -> bool:
    """Whether an algorithm adds and drops from wherever it begins."""
    return record.family is Family.STEPWISE and record.name not in PATHS


@cache
def starters() -> str:
    """Return the methods that can begin with any features."""
    return _names(begins_anywhere)


def _names(is_listed: Callable[[Algorithm], bool]) -> str:
    names = (name for name, record in ALGORITHMS.items() if is_listed(record))
    return ", ".join(name.replace("_", "-") for name in names)
