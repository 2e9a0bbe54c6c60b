"""Bad input as data: the parameter, what is wrong with it, and what to do.

Whoever finds the fault says it once, at the bottom. How a parameter is spelled is for those who
show the sentence: Python says ``sparsity`` and ``criterion="cv"``, the command line ``--sparsity``
and ``--criterion cv``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple


class Parameter(NamedTuple):
    """A parameter within a sentence, perhaps with a value it may be given."""

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
    """A clause, in somebody's spelling."""
    return "".join(part if isinstance(part, str) else spelling(part) for part in _parts(words))


def _parts(words: Words) -> tuple[Part, ...]:
    return (words,) if isinstance(words, str) else words


class Message(Exception):  # noqa: N818  (an error or a warning)
    """One sentence for the user: a subject, what is wrong with it, and what to do.

    Attributes
    ----------
    parameter : str or None
        The parameter at fault: the subject of the sentence.
    wrong : str or tuple
        What is wrong with it; a whole clause where there is no parameter.
    advice : str or tuple
        What to do.
    """

    def __init__(self, wrong: Words, advice: Words = "", *, parameter: str | None = None) -> None:
        self.wrong, self.advice, self.parameter = wrong, advice, parameter
        super().__init__(self.sentence())

    def __reduce__(self) -> tuple[Any, ...]:
        # The arguments of an exception are its text; what it is made of has to travel, too.
        return partial(type(self), parameter=self.parameter), (self.wrong, self.advice)

    @property
    def words(self) -> tuple[Part, ...]:
        """The sentence, to be spelled."""
        subject = () if self.parameter is None else (Parameter(self.parameter), " ")
        advice = ("; ", *_parts(self.advice)) if self.advice else ()
        return (*subject, *_parts(self.wrong), *advice)

    def sentence(self, spelling: Spelling = in_python) -> str:
        """The sentence, in somebody's spelling."""
        text = spelled(self.words, spelling)
        # It may quote what a user or a file has given, and none of that should control a terminal.
        return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


class InputError(Message, ValueError):
    """The input can't be used; as text, the sentence in the spelling of Python.

    Parameters
    ----------
    wrong : str or tuple
        What is wrong: with the parameter, or a whole clause.
    advice : str or tuple
        What to do about it.
    parameter : str, optional
        The parameter at fault.
    """


class InputTypeError(InputError, TypeError):
    """The input is of a kind that can't be used."""


class ClusterError(Message, RuntimeError):
    """The machines that were to compute can't, or are gone; parameters as for `InputError`."""


class InputWarning(Message, UserWarning):
    """The input can be used, but there is something to know; parameters as for `InputError`."""
