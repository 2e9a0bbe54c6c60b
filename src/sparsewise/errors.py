"""Errors and warnings as data: the parameter, what is wrong with it, and what to do.

The code that detects bad input raises one of these. How parameters are spelled is decided where the
message is shown: Python writes ``sparsity`` and ``criterion="cv"``, the command line ``--sparsity``
and ``--criterion cv``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A parameter within a message, perhaps with a value."""

    name: str
    value: Any = None


Part = str | Parameter
Words = str | tuple[Part, ...]
"""A clause: plain text, or text with parameters in it."""

Spelling = Callable[[Parameter], str]


def in_python(parameter: Parameter) -> str:
    """A parameter as a keyword argument."""
    name, value = parameter
    if value is None:
        return name
    return f'{name}="{value}"' if isinstance(value, str) else f"{name}={value!r}"


def spelled(words: Words, spelling: Spelling = in_python) -> str:
    """The text of a clause, with parameters in the given spelling."""
    return "".join(part if isinstance(part, str) else spelling(part) for part in _parts(words))


def _parts(words: Words) -> tuple[Part, ...]:
    return (words,) if isinstance(words, str) else words


class Message(Exception):  # noqa: N818  (an error or a warning)
    """A message to the user: the parameter, what is wrong with it, and what to do.

    Attributes
    ----------
    parameter : str or None
        The parameter at fault: the subject of the message.
    wrong : str or tuple
        What is wrong with it; a whole clause where there is no parameter.
    advice : str or tuple
        What to do.
    """

    def __init__(self, wrong: Words, advice: Words = "", *, parameter: str | None = None) -> None:
        self.wrong, self.advice, self.parameter = wrong, advice, parameter
        super().__init__(self.sentence())

    def __reduce__(self) -> tuple[Any, ...]:
        # By default only the text would be pickled, not its parts.
        return partial(type(self), parameter=self.parameter), (self.wrong, self.advice)

    @property
    def words(self) -> tuple[Part, ...]:
        """The parts of the message."""
        subject = () if self.parameter is None else (Parameter(self.parameter), " ")
        advice = ("; ", *_parts(self.advice)) if self.advice else ()
        return (*subject, *_parts(self.wrong), *advice)

    def sentence(self, spelling: Spelling = in_python) -> str:
        """The text of the message, with parameters in the given spelling."""
        text = spelled(self.words, spelling)
        # It may quote user input or a file, which must not control the terminal.
        return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


class InputError(Message, ValueError):
    """The input can't be used; ``str`` of it is the message in Python's spelling.

    Parameters
    ----------
    wrong : str or tuple
        What is wrong with the parameter; without one, a whole clause.
    advice : str or tuple
        What to do about it.
    parameter : str, optional
        The parameter at fault.
    """


class InputTypeError(InputError, TypeError):
    """The input is of a type that can't be used."""


class TooFewRowsError(InputError):
    """There are too few rows for what is asked for: more of them would do."""


class ClusterError(Message, RuntimeError):
    """The Dask cluster failed or is gone; parameters as for `InputError`."""


class ForkError(Message, RuntimeError):
    """A forked process lacks what it would need; parameters as for `InputError`."""


class InputWarning(Message, UserWarning):
    """The input can be used, but deserves attention; parameters as for `InputError`."""
