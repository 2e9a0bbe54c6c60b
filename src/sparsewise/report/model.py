"""What there is to say of a fitted model, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsewise.report.shares import finite, rounded, share
from sparsewise.results import BayesianSolution
from sparsewise.selection.criteria import BY_RESIDUAL, EXACT, SHORT_NAMES, first_least
from sparsewise.tolerances import tolerances

if TYPE_CHECKING:
    from sparsewise.estimators.base import SparseRegressor
    from sparsewise.models import Source
    from sparsewise.results import Solution


# Inferred noise doesn't fall below this share of the target.
LEAST_NOISE = tolerances(np.dtype(np.float64)).quiet


@dataclass(frozen=True)
class Fit:
    """A model of a table, in the table's own units."""

    label: str
    target: str
    names: Sequence[str]
    rows: int
    method: str
    model: SparseRegressor
    encoding: Sequence[Source] = ()  # the columns that the features were made of
    dropped: int = 0  # rows left out for their missing values
    notes: Sequence[str] = ()
    weights: str | None = None  # the column of weights
    sigma_given: bool = False
    certificate: str | None = None  # whether the choice is the best of its size
    interrupted: bool = False

    @property
    def solution(self) -> Solution:
        """What the algorithm returned."""
        return self.model.solution_

    @property
    def bayesian(self) -> BayesianSolution | None:
        """The solution, if it has a posterior."""
        return self.solution if isinstance(self.solution, BayesianSolution) else None

    @property
    def total(self) -> float:
        """The squared norm of the (centred) target."""
        return self.model.criteria_.total

    @property
    def squared(self) -> float:
        """The squared residual, zero if that is rounding error."""
        return rounded(self.solution.residual_norm**2, self.total)

    @property
    def is_exact(self) -> bool:
        """Whether there is no noise to speak of: the evidence has no bound then."""
        if self.bayesian is None:
            return self.model.noise_ == 0
        if self.sigma_given:
            return False
        least = LEAST_NOISE * math.sqrt(self.total / self.free_rows(self.bayesian))
        return self.bayesian.sigma <= 1.001 * least

    @property
    def intercept(self) -> float | None:
        """The constant; zero where it is the rounding error of a difference."""
        if not self.model.fit_intercept:
            return None
        value = float(self.model.intercept_)
        shift = float(self.model.means_ @ self.model.coef_[self.solution.support])
        is_rounding = abs(value) <= math.sqrt(EXACT) * max(abs(value + shift), abs(shift))
        return 0.0 if is_rounding else value

    @property
    def deviations(self) -> list[float] | None:
        """Standard deviations of the intercept and the chosen coefficients, where known."""
        model = self.model
        if model.coef_std_ is None:
            return None
        first = [] if model.intercept_std_ is None else [float(model.intercept_std_)]
        known = [*first, *model.coef_std_[self.solution.support].tolist()]
        return [0.0] * len(known) if self.is_exact else known

    def free_rows(self, solution: BayesianSolution) -> float:
        """Return how many rows are left by the intercept and the features with a flat prior."""
        flat = int(np.isinf(solution.gamma).sum())
        return float(self.model.n_rows_) - flat - self.model.fit_intercept

    def criteria(self) -> dict[str, float]:
        """Return the criteria of a least-squares model, those that are defined."""
        if not self.solution.least_squares or self.total == 0:
            return {}
        size = self.solution.support.size
        values = {
            name: float(self.model.criteria_.values(name, self.squared, size))
            for name in BY_RESIDUAL
        }
        if hasattr(self.model, "loo_"):
            values["loo"] = self.model.loo_
        return {name: value for name, value in values.items() if not math.isnan(value)}

    def facts(self) -> dict[str, str | float | int | None]:
        """Return what a saved model tells of itself besides."""
        return {
            "table": self.label,
            "candidates": len(self.names),
            "criterion": criterion_of(self),
            "r2": share(self.squared, self.total),
            "stop": str(self.solution.stop),
        }

    def fields(self) -> dict[str, Any]:
        """Return all there is to know, ready for JSON: None for what is infinite or unknown."""
        model, support = self.model, self.solution.support
        deviations = self.deviations
        chosen = None if deviations is None else deviations[len(deviations) - support.size :]
        return {
            **self._opening(),
            "intercept": self.intercept,
            "intercept_std": deviations[0] if deviations and model.fit_intercept else None,
            "features": [
                {
                    "name": self.names[j],
                    "coef": float(model.coef_[j]),
                    "std": None if chosen is None else chosen[i],
                }
                for i, j in enumerate(support)
            ],
            "r2": share(self.squared, self.total),
            "rss": self.squared,
            "noise": model.noise_,
            "log_evidence": None if self.bayesian is None else finite(self.bayesian.log_evidence),
            "criterion": criterion_of(self),
            "criteria": {name: finite(value) for name, value in self.criteria().items()},
            "certificate": self.certificate,
            "stop": str(self.solution.stop),
            "advice": self.solution.stop.advice,
            "interrupted": self.interrupted,
            "notes": list(self.notes),
            "path": self._path_records(),
        }

    def path_fields(self) -> dict[str, Any]:
        """Return the path, ready for JSON, and the step that each criterion likes best."""
        return {
            **self._opening(),
            "best": best_steps(self),
            "notes": list(self.notes),
            "path": self._path_records(),
        }

    def _opening(self) -> dict[str, Any]:
        return {
            "table": self.label,
            "target": self.target,
            "method": self.method,
            "rows": self.rows,
            "dropped": self.dropped,
            "weight": float(self.model.n_rows_),
            "candidates": len(self.names),
        }

    def _path_records(self) -> list[dict[str, Any]]:
        return [
            {
                name: finite(value) if isinstance(value, float) else value
                for name, value in row.items()
            }
            for row in self.model.path_.to_dicts()
        ]


def best_steps(fit: Fit) -> dict[str, int]:
    """Return the step at which each criterion is best, of equal ones the first."""
    frame = fit.model.path_
    best = {}
    for name in (name for name in SHORT_NAMES if name in frame.columns):
        sign = -1.0 if name == "adjusted_r2" else 1.0
        costs = [math.inf if value is None else sign * value for value in frame[name]]
        if min(costs) < math.inf:
            best[name] = first_least(costs)
    return best


def criterion_of(fit: Fit) -> str | None:
    """Return the criterion that has chosen, if one has."""
    model = fit.model
    stops = [getattr(model, name, None) for name in ("delta", "sparsity")]
    return None if any(word is not None for word in stops) else getattr(model, "criterion", None)
