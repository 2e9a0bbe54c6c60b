"""Data as the algorithms take them: weighted, centred, with constraints as column numbers."""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np

from sparsewise._typing import Array
from sparsewise.criteria.information import Criteria
from sparsewise.design.base import Design
from sparsewise.design.unit_columns import unit_factor
from sparsewise.errors import InputError, InputWarning
from sparsewise.problem.preprocessing import Reduced
from sparsewise.problem.problem import problem
from sparsewise.problem.targets import independent_rows
from sparsewise.results import Solution

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Data(ABC):
    """Rows of a regression, and the constraints on a model of them.

    They are a table (`tabular_data.py`), or triangles that are left of one
    (`condensed_data.py`).

    Parameters
    ----------
    intercept : bool
        Whether the model has a constant.
    include, exclude : list of int
        Features that must, and must not, be in the model.
    ridge : float
        What algorithms are to add to ‖r‖² for coefficients of unit norm features: ridge ‖z‖².
    factors : list of (columns, R)
        CondensedData that `factor` has made, for `triangle` to look at.
    warnings : list of InputWarning
        What the user was warned of.
    """

    intercept: bool
    include: list[int]
    exclude: list[int]
    ridge: float = 0.0
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
    def squared_errors(self, columns: Array, coefs: Array, means: Array, level: Any) -> Array:
        """Σ w (y - level - (x - means)·coef)² over the rows, for each column of coefs.

        The features are the given columns. Of several targets there is a level each, their
        coefficients are along a third axis, and so are the sums along a second.
        """

    # ------------------------------------------------------------------ what follows

    @property
    def design(self) -> Design:
        """The features, as the algorithms see them."""
        return self.reduced.design

    @property
    def target(self) -> Array:
        """The target, as the algorithms see it: one number a row, or a column for each target."""
        return self.reduced.target

    @property
    def multi_target(self) -> bool:
        """Whether there are columns of targets, be it one."""
        return self.target.ndim == 2

    @property
    def targets(self) -> Array:
        """All targets in double precision, one a row."""
        target = np.asarray(self.target, np.float64)
        return target.T if self.multi_target else target[None]

    @cached_property
    def rows(self) -> float:
        """The sum of the weights."""
        return self.reduced.rows

    @cached_property
    def totals(self) -> Array:
        """The squared norm of each target, about its mean if there is an intercept."""
        return np.array([np.vdot(target, target) for target in self.targets])

    @cached_property
    def total(self) -> float:
        """The same of a single one; of several the mean, constant ones not counted.

        It is the unit of losses: see `mean_loss`.
        """
        some = self.totals[self.totals > 0]
        if some.size < 2:
            return float(some[0]) if some.size else 0.0
        largest = some.max()
        return float(largest * (some / largest).mean())

    def mean_loss(self, losses: Array) -> Array:
        """‖r‖² from those of all targets, which are along the last axis: Σ_t ‖r_t‖²/‖y_t‖².

        In such units that it is the mean where all ‖y_t‖ are equal: as algorithms weigh the targets
        (`sparsewise.problem.targets.Targets`), constant ones not at all.
        """
        some = self.totals > 0
        if np.count_nonzero(some) < 2:  # to the digit
            return np.asarray(losses[..., some].sum(axis=-1))
        return np.asarray((losses[..., some] / self.totals[some]).mean(axis=-1) * self.total)

    def losses(self, solution: Solution) -> Array:
        """The loss, ‖r‖², of each target."""
        if len(self.totals) == 1:
            return np.array([solution.residual_norm**2])
        data = problem(self.design, self.target, multi_target=True)
        x = data.unit_coef(solution.coef, solution.support)
        rest = data.Y - x.astype(data.dtype) @ self.design.unit_columns(solution.support).T
        assert data.scales is not None
        return np.asarray(np.square(np.linalg.norm(rest, axis=1) * data.scales[:, 0]))

    @cached_property
    def independent_targets(self) -> float:
        """How many independent targets tell as much (`Problem.independent_targets`)."""
        some = self.totals > 0
        if np.count_nonzero(some) < 2:
            return 1.0
        units = self.targets[some] / np.sqrt(self.totals[some, None] * np.count_nonzero(some))
        return independent_rows(units)

    def check_target(self) -> None:
        """Refuse a target whose square is out of range: nothing could be told of a fit to it."""
        tiny = np.finfo(np.float64).tiny
        for t, (total, target) in enumerate(zip(self.totals, self.targets, strict=True)):
            vanishes = total < tiny and target.any()
            if vanishes or math.isinf(total):
                size = "small" if vanishes else "large"
                where = f" in column {t}" if len(self.totals) > 1 else ""
                wrong = f"is too {size}{where}: its square is out of range; scale it."
                raise InputError(wrong, parameter="y")

    def warn(self, warning: InputWarning) -> None:
        """Warn the user, and keep it for whoever describes the model."""
        self.warnings.append(warning)
        warn_outside(warning)

    @property
    def candidates(self) -> int:
        """How many features there are to choose from."""
        return self.n_features - len(self.exclude)

    @property
    def saturates(self) -> bool:
        """Whether all features together fit any target."""
        return self.rows - self.intercept <= self.candidates

    def run(self, algorithm: Callable[..., Result], **parameters: Any) -> Result:
        """What an algorithm makes of the data, with ridge and constraints on the features.

        One that takes no ridge (a certificate, say, which has that of its model) runs without.
        """
        model: dict[str, Any] = {"include": self.include, "exclude": self.exclude}
        if self.ridge and "ridge" in inspect.signature(algorithm).parameters:
            model["ridge"] = self.ridge
        return algorithm(self.design, self.target, **parameters, **model)

    def criteria(self, variance: float | None = None) -> Criteria:
        """Criteria of models of these data."""
        return Criteria(
            self.rows,
            self.candidates,
            self.intercept,
            self.total,
            variance,
            self.design.tolerances.exact,
            targets=self.independent_targets,
        )

    def is_exact(self, loss: float) -> bool:
        """Whether a loss is rounding error."""
        return bool(self.criteria().is_exact(loss))

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


def warn_outside(warning: InputWarning) -> None:
    """Warn the user, at the line that called this package."""
    package, level = __name__.partition(".")[0], 1
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level + 1)
