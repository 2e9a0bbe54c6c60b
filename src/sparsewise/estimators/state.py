"""What a fit leaves behind: all of it or nothing, in the precision of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def reset_on_failure(estimator: Any) -> Iterator[None]:
    """Forget an earlier fit, and what is left of this one should it fail: half a fit is none."""
    forget(estimator)
    try:
        yield
    except BaseException:
        forget(estimator)
        raise


@contextmanager
def rollback_on_error(estimator: Any) -> Iterator[None]:
    """Change an estimator; should that fail, all of it is as it was."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def forget(estimator: Any, but: Sequence[str] = ()) -> None:
    """Remove what a fit has left: its names end in an underscore."""
    for name in [name for name in vars(estimator) if name.endswith("_") and name not in but]:
        delattr(estimator, name)


def in_precision(dtype: np.dtype[Any], value: Any) -> Any:
    """A number or an array in this precision; as it is if that is double, None, or out of range."""
    if value is None or dtype == np.float64:
        return value
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.asarray(value).astype(dtype)
    fits = np.array_equal(np.isinf(rounded), np.isinf(value))
    if not fits or np.any((rounded == 0) != (np.asarray(value) == 0)):
        return value
    return rounded if isinstance(value, np.ndarray) else rounded[()]
