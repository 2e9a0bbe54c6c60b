"""Parameters as the command line spells them: ``--sparsity``, ``--criterion cv``."""

from __future__ import annotations

from sparsewise._util.parameters import CHOICES, OWN
from sparsewise.errors import Message, Parameter, in_python

METHOD_OPTIONS = (*OWN, *CHOICES)
"""Options that are parameters of a method."""

TABLE_OPTIONS = ("target", "features", "include", "exclude", "categorical", "weights")
"""Options that choose the columns of a table."""

FILE_OPTIONS = ("encoding", "delimiter", "decimal", "sheet")
"""Options that say how a file is read."""

OTHERS = ("drop_missing", "impute", "missing", "time_limit", "seed", "start", "dask")

OPTIONS = {
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (*METHOD_OPTIONS, *TABLE_OPTIONS, *FILE_OPTIONS, *OTHERS)
    },
    "sample_weight": "--weights",
    "fold": "--fold-column",
    "algorithm": "--method",
}
"""The options of parameters of functions and estimators."""

COMMANDS = {
    "StepwiseRegressor": "--method forward",
    "SparseBayesRegressor": "--method rmp",
    "certify=True": "sparsewise certify",
    "start=None: with all features": "--start all or --start none",
}
"""What else Python advises, and the command line's equivalent."""


def as_option(parameter: Parameter) -> str:
    """A parameter as an option; one that the command line lacks as in Python."""
    name, value = parameter
    python = in_python(parameter)
    if python in COMMANDS:
        return COMMANDS[python]
    if name not in OPTIONS:
        return python
    return OPTIONS[name] if value is None or value is True else f"{OPTIONS[name]} {value}"


def sentence(message: Message) -> str:
    """A message as one line: without the full stop."""
    return message.sentence(as_option).rstrip(".")
