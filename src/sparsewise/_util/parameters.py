"""Validation of user parameters: numbers, counts, lists of columns."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from numbers import Number

import numpy as np

from sparsewise.errors import InputError, InputTypeError

OWN = (
    "sparsity", "residual", "delta", "penalty", "batch", "sigma", "price", "updates", "debias",
    "effort", "seed", "ridge",
)  # fmt: skip
"""Parameters that only some algorithms have."""

LONGEST = 60
"""Most characters of a value in a message."""

CHOICES = ("criterion", "cv", "max_features")
"""Parameters of estimators that choose a model on a path."""


def check_columns(columns: Iterable[int] | None, m: int, name: str, matrix: str = "A") -> list[int]:
    """Column numbers of a matrix as a list without repeats, in their original order."""
    if columns is None or (isinstance(columns, (tuple, list)) and not columns):
        return []
    try:
        values = np.atleast_1d(columns if isinstance(columns, np.ndarray) else list(columns))
    except (TypeError, ValueError):
        raise InputTypeError(
            f"must be a flat list of column numbers, not {shown(columns)}.", parameter=name
        ) from None
    if values.size == 0:
        return []
    if values.dtype.kind not in "iu":
        raise InputTypeError(
            f"must list column numbers (integers), not {values.dtype} values.", parameter=name
        )
    if values.ndim != 1:
        raise InputTypeError(
            f"must be a flat list of column numbers, not {values.ndim}-dimensional.",
            parameter=name,
        )
    outside = values[(values < 0) | (values >= m)]
    if outside.size:
        raise InputError(
            f"names column {outside[0]}, but {matrix} has columns 0 to {m - 1}.", parameter=name
        )
    return list(dict.fromkeys(map(int, values)))


def check_tolerance(value: float | None, name: str) -> float | None:
    """A non-negative number, perhaps infinite, or None."""
    if value is None:
        return None
    number = check_number(value, name)
    if not number >= 0:
        raise InputError(f"must be at least 0, not {shown(value)}.", parameter=name)
    return number


def check_number(value: float, name: str) -> float:
    """A number, perhaps infinite."""
    try:
        if type(value) is not float and np.ndim(value):
            raise TypeError
        number = float(value)
    except OverflowError:
        raise InputError("is too large to be a floating-point number.", parameter=name) from None
    except (TypeError, ValueError):
        raise InputTypeError(f"must be a number, not {shown(value)}.", parameter=name) from None
    if math.isnan(number):
        raise InputError("must be a number, not NaN.", parameter=name)
    return number


def check_positive(value: float, name: str) -> float:
    """A finite number greater than 0."""
    number = check_number(value, name)
    if not 0 < number < math.inf:
        raise InputError(
            f"must be a finite number greater than 0, not {shown(value)}.", parameter=name
        )
    return number


def check_count(value: int | None, name: str, low: int, high: float = math.inf) -> int | None:
    """A whole number between low and high, or None."""
    return None if value is None else check_whole(value, name, low, high)


def check_whole(value: int, name: str, low: int, high: float = math.inf) -> int:
    """A whole number between low and high."""
    try:
        number = int(operator.index(value))  # of True it is True
    except TypeError:
        raise InputTypeError(
            f"must be a whole number, not {shown(value)}.", parameter=name
        ) from None
    if not low <= number <= high:
        bounds = f"at least {low}" if high == math.inf else f"between {low} and {high}"
        raise InputError(f"must be {bounds}, not {shown(number)}.", parameter=name)
    return number


def check_function(value: object, name: str) -> None:
    """Raise an error unless the value is callable or None."""
    if value is not None and not callable(value):
        raise InputTypeError(f"must be a function, not {shown(value)}.", parameter=name)


def shown(value: object) -> str:
    """A value as text for a message: one line, shortened if long."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return f"a number of {int(math.log10(abs(value))) + 1} digits"
    text = " ".join((str(value) if isinstance(value, Number) else repr(value)).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
