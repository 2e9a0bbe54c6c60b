"""Methods that an estimator has with some parameters only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparsewise.errors import InputError


class UnavailableError(InputError, AttributeError):
    """What an estimator with these parameters can't do: it has no such method, says `hasattr`."""


class Available:
    """A method, unless an attribute holds the error that says why not.

    As scikit-learn's `available_if`, but the reason is the error itself.

    Parameters
    ----------
    method : callable
        The method.
    unless : str
        The name of the attribute: an `UnavailableError`, or None.
    """

    def __init__(self, method: Callable[..., Any], unless: str) -> None:
        self.method, self.unless = method, unless
        self.__doc__ = method.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self.method
        if (why_not := getattr(estimator, self.unless)) is not None:
            raise why_not
        return self.method.__get__(estimator, owner)
