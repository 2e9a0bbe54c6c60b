"""Methods that an estimator has with some parameters only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparsewise.errors import InputError


class UnavailableError(InputError, AttributeError):
    """What an estimator with these parameters can't do: `hasattr` says that it has no method."""


class Available:
    """A method that works on condensed rows: there unless the estimator needs the rows themselves.

    As scikit-learn's `available_if`, but the reason is the error itself.

    Parameters
    ----------
    method : callable
        The method.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self.method
        if (error := estimator._requirements().needs_rows) is not None:
            raise error
        return self.method.__get__(estimator, owner)
