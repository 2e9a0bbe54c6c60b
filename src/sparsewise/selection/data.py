"""Data as the algorithms take them: weighted, centred, with constraints as column numbers."""

from __future__ import annotations

import math
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np

from sparsewise.design.base import Array, Design
from sparsewise.design.unit_columns import unit_factor
from sparsewise.errors import InputError, InputWarning
from sparsewise.selection.criteria import Criteria
from sparsewise.selection.reduction import Reduced

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Data(ABC):
    """Rows of a regression, and the constraints on a model of them.

    They are a table (`selection/table.py`), or triangles that are left of one
    (`selection/triangles.py`).

    Parameters
    ----------
    intercept : bool
        Whether the model has a constant.
    include, exclude : list of int
        Features that must, and must not, be in the model.
    factors : list of (columns, R)
        Triangles that `factor` has made, for `triangle` to look at.
    warnings : list of InputWarning
        What the user was warned of.
    """

    intercept: bool
    include: list[int]
    exclude: list[int]
    factors: list[tuple[Array, Array]] = field(default_factory=list, compare=False, repr=False)
    warnings: list[InputWarning] = field(default_factory=list, compare=False, repr=False)

    # ------------------------------------------------------------------ what the rows are

    @property
    @abstractmethod
    def reduced(self) -> Reduced:
        """The problem without weights and intercept."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features there are."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many rows there are, whatever they weigh."""

    @property
    @abstractmethod
    def weight(self) -> float:
        """The sum of their weights."""

    @property
    @abstractmethod
    def is_weighted(self) -> bool:
        """Whether some rows count more than others."""

    @abstractmethod
    def kept(self) -> Self:
        """The same, for later, whatever becomes of the user's arrays but X itself."""

    @abstractmethod
    def splits(self, cv: Any) -> list[tuple[Any, Any]]:
        """Rows to learn from and rows to predict, fold by fold, as `part` takes them."""

    @abstractmethod
    def part(self, rows: Any) -> Self:
        """Some of the rows."""

    @abstractmethod
    def count_of(self, rows: Any) -> int:
        """How many these are."""

    @abstractmethod
    def squared_errors(self, columns: Array, coefs: Array, means: Array, level: float) -> Array:
        """Σ w (y - level - (x - means)·coef)² over the rows, for each column of coefs.

        The features are the given columns.
        """

    # ------------------------------------------------------------------ what follows

    @property
    def design(self) -> Design:
        """The features, as the algorithms see them."""
        return self.reduced.design

    @property
    def target(self) -> Array:
        """The target, as the algorithms see it."""
        return self.reduced.target

    @cached_property
    def rows(self) -> float:
        """The sum of the weights."""
        return self.reduced.rows

    @cached_property
    def total(self) -> float:
        """The squared norm of the target, about its mean if there is an intercept."""
        target = np.asarray(self.target, np.float64)
        return float(np.vdot(target, target))

    def check_target(self) -> None:
        """Refuse a target whose square is out of range: nothing could be told of a fit to it."""
        vanishes = self.total < np.finfo(np.float64).tiny and self.target.any()
        if vanishes or math.isinf(self.total):
            size = "small" if vanishes else "large"
            raise InputError(f"is too {size}: its square is out of range; scale it.", parameter="y")

    def warn(self, warning: InputWarning) -> None:
        """Warn the user, and keep it for whoever describes the model."""
        self.warnings.append(warning)
        warnings.warn(warning, stacklevel=_level_outside())

    @property
    def candidates(self) -> int:
        """How many features there are to choose from."""
        return self.n_features - len(self.exclude)

    @property
    def saturates(self) -> bool:
        """Whether all features together fit any target."""
        return self.rows - self.intercept <= self.candidates

    def run(self, algorithm: Callable[..., Found], **parameters: Any) -> Found:
        """What an algorithm makes of the data, with the constraints on the features."""
        constraints = {"include": self.include, "exclude": self.exclude}
        return algorithm(self.design, self.target, **parameters, **constraints)

    def criteria(self, variance: float | None = None) -> Criteria:
        """Criteria of models of these data."""
        exact = self.design.tolerances.exact
        return Criteria(self.rows, self.candidates, self.intercept, self.total, variance, exact)

    def is_exact(self, rss: float) -> bool:
        """Whether a squared residual is but rounding error."""
        return bool(self.criteria().is_exact(rss))

    def factor(self, columns: Array) -> tuple[Array, Array]:
        """Q and R of these as unit columns: each adds a direction to an orthonormal basis."""
        Q, R = unit_factor(self.design, columns)
        self.factors.append((columns, R))
        return Q, R

    def triangle(self, support: Array) -> tuple[Array, Array]:
        """The same columns, perhaps in another order, and R of the QR of these as unit columns."""
        k, wanted = support.size, set(support.tolist())
        for columns, R in self.factors:
            if wanted == set(columns[:k].tolist()):
                return columns[:k], R[:k, :k]
        return support, unit_factor(self.design, support)[1]


def _level_outside() -> int:
    """The stack level, seen from the caller, of the line that called this package."""
    package, level = __name__.partition(".")[0], 1
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
