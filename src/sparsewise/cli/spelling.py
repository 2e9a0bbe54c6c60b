"""Parameters as the command line spells them: ``--sparsity``, ``--criterion cv``."""

from __future__ import annotations

from sparsewise._util.parameters import CHOICES, OWN
from sparsewise.errors import Either, Message, Parameter, in_python

METHOD_OPTIONS = (*OWN, *CHOICES)
"""Options that are parameters of a method."""

TABLE_OPTIONS = ("target", "features", "include", "exclude", "categorical", "weights")
FORM_OPTIONS = ("encoding", "delimiter", "decimal", "sheet")
"""Options that say what of a table is used, and how its file is read."""

OPTIONS = {
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (*METHOD_OPTIONS, *TABLE_OPTIONS, *FORM_OPTIONS)
    },
    "sample_weight": "--weights",
    "drop_missing": "--drop-missing",
    "impute": "--impute",
    "missing": "--missing",
    "fold": "--fold-column",
    "time_limit": "--time-limit",
    "seed": "--seed",
    "jobs": "--jobs",
    "algorithm": "--method",
    "start": "--start",
}
"""What the parameters of functions and estimators are called here."""


def as_option(part: Parameter | Either) -> str:
    """A parameter as an option; one that the command line lacks as in Python."""
    if isinstance(part, Either):
        return part.command_line
    if part.name not in OPTIONS:
        return in_python(part)
    flag = part.value is None or part.value is True
    return OPTIONS[part.name] if flag else f"{OPTIONS[part.name]} {part.value}"


def sentence(message: Message) -> str:
    """What is wrong, on a line of its own: without the full stop."""
    return message.sentence(as_option).rstrip(".")
