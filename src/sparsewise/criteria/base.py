"""What a model costs: a function of its loss and its degrees of freedom, and the inverse."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.errors import InputError
from sparsewise.problem.problem import Problem
from sparsewise.tolerances import tolerances

EXACT = tolerances(np.dtype(np.float64)).exact
"""In double precision, a smaller share of the target's squared norm is rounding error."""


@dataclass(frozen=True)
class Sample:
    """What a criterion has to know of the data.

    Parameters
    ----------
    rows : float
        n, the number of observations; a row of weight 2 counts twice.
    features : int
        m, how many there are to choose from.
    intercept : bool
        Whether the model has a constant, which takes one more degree of freedom.
    total : float
        TSS, the loss of the empty model: the squared norm of the (centred) target.
    variance : float, optional
        s², the residual variance with all features, for Mallows' Cp; None if there are too few
        rows.
    exact : float
        A loss of at most this share of the total is rounding error: the fit is exact.
    parts : int
        2 for complex data, whose numbers have two parts; else 1.
    targets : float
        How many independent targets share their features (`Problem.independent_targets`). The loss
        is the mean of theirs, and a criterion the mean of theirs.
    noise : float, optional
        σ² if it is known; else a criterion estimates it from the loss.
    """

    rows: float
    features: int
    intercept: bool = False
    total: float = 1.0
    variance: float | None = None
    exact: float = EXACT
    parts: int = 1
    targets: float = 1.0
    noise: float | None = None

    @classmethod
    def of(cls, data: Problem, **others: Any) -> Self:
        """That of a problem, less its excluded columns: a target of norm one, no intercept."""
        facts = {
            "rows": data.design.rows,
            "features": data.shape[1] - len(data.constraints.exclude),
            "exact": data.tolerances.exact,
            "parts": 2 if data.is_complex else 1,
            "targets": data.independent_targets,
        }
        return cls(**facts | others)

    def is_exact(self, loss: ArrayLike) -> Array:
        """Whether losses are rounding error."""
        return np.asarray(loss) <= self.exact * self.total

    def p(self, df: Any) -> Any:
        """Degrees of freedom with that of the intercept."""
        return df + self.intercept

    def left(self, df: Any) -> Any:
        """n - p: the degrees of freedom that a model leaves for the noise."""
        return self.rows - self.intercept - df

    def noise_variance(self, loss: float, df: float) -> float:
        """σ²: known, or loss/(n - p), its unbiased estimate by a model."""
        if self.noise is not None:
            return self.noise
        return max(loss, self.exact * self.total) / max(self.left(df), 1.0)


class Criterion(ABC):
    """What models cost: the less, the better.

    A model has a loss, which is ‖r‖² for least squares, and df degrees of freedom, which are as
    many as its columns unless these are shrunk. An intercept is counted besides, as the criterion
    sees fit. Both may be arrays.
    """

    largest: ClassVar[bool] = False
    """Whether the criterion is usually maximised: then its cost is the negative of its value."""

    @abstractmethod
    def cost(self, loss: ArrayLike, df: ArrayLike) -> Any:
        """The cost of models of these losses and degrees of freedom; ∞ where it is not defined."""

    @abstractmethod
    def max_loss(self, cost: float, df: float) -> float:
        """The largest loss at which a model costs no more than this; NaN if none is so small."""

    def value(self, loss: ArrayLike, df: ArrayLike) -> Any:
        """The criterion as the literature has it; NaN where it is not defined, for want of rows."""
        cost = self.cost(loss, df)
        return np.where(cost == np.inf, np.nan, -cost if self.largest else cost)[()]


class Terms(NamedTuple):
    """What a formula, weight·g(loss/unit) + penalty, is made of at some degrees of freedom.

    Attributes
    ----------
    weight, penalty : float or ndarray
        NaN where the criterion is not defined.
    unit : float
        What the loss is compared with.
    is_log : bool
        Whether g is the logarithm, as of a normal likelihood maximised over σ; else the identity.
    least : float
        The loss that an exact fit counts as.
    """

    weight: Any
    penalty: Any
    unit: float = 1.0
    is_log: bool = False
    least: float = 0.0


@dataclass(frozen=True)
class Formula(Criterion):
    """A criterion of a sample that is linear in the loss, or in its logarithm."""

    sample: Sample

    @abstractmethod
    def terms(self, df: Any) -> Terms:
        """The formula at these degrees of freedom."""

    def cost(self, loss: ArrayLike, df: ArrayLike) -> Any:
        """The cost of models of these losses and degrees of freedom; ∞ where it is not defined."""
        loss = np.asarray(loss, float)[()]
        with np.errstate(divide="ignore", invalid="ignore"):
            weight, penalty, unit, is_log, least = self.terms(np.asarray(df, float)[()])
            fit = np.divide(where(self.sample.is_exact(loss), least, loss), unit)
            cost = weight * (np.log(fit) if is_log else fit) + penalty
        return where(np.isnan(cost), np.inf, cost)

    def max_loss(self, cost: float, df: float) -> float:
        """The largest loss at which a model costs no more than this; NaN if none is so small."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weight, penalty, unit, is_log, _ = self.terms(df)
            fit = np.divide(cost - penalty, weight)
            loss = unit * float(np.exp(fit) if is_log else fit)
        return loss if loss >= 0 else math.nan


@dataclass(frozen=True)
class OwnCriterion(Criterion):
    """A function of loss and degrees of freedom that grows with the loss.

    Parameters
    ----------
    function : callable
        From a loss in the units of the data, and degrees of freedom, to a number.
    exact : float
        A loss of at most this is rounding error, and counts as none.
    to_units : callable
        From a loss as `cost` takes it to one in the units of the data.
    """

    function: Callable[[float, float], float]
    exact: float = 0.0
    to_units: Callable[[float], float] = float

    def cost(self, loss: ArrayLike, df: ArrayLike) -> Any:
        """What the function returns for each model."""
        return np.asarray(np.frompyfunc(self._cost, 2, 1)(loss, df), float)[()]

    def max_loss(self, cost: float, df: float) -> float:
        """The largest loss at which a model costs no more than this, by bisection of its log₂."""
        low, high = -400.0, 400.0
        if self._cost(2.0**low, df) > cost:
            return math.nan
        for _ in range(64):
            middle = (low + high) / 2
            low, high = (middle, high) if self._cost(2.0**middle, df) <= cost else (low, middle)
        return 2.0**low

    def _cost(self, loss: float, df: float) -> float:
        loss = self.to_units(0.0 if loss <= self.exact else float(loss))
        df = int(df) if float(df).is_integer() else float(df)
        value = self.function(loss, df)
        try:
            cost = float(value)
        except (TypeError, ValueError):
            cost = math.nan
        except OverflowError:
            cost = math.inf if value > 0 else -math.inf
        if math.isnan(cost):
            raise InputError(
                f"criterion({loss:.6g}, {df:g}) is not a number",
                "let it return infinity where a model is not to be chosen.",
            )
        return cost


def where(which: Any, these: Any, others: Any) -> Any:
    """np.where, which takes longer than all else in a formula where there is one model."""
    if isinstance(which, np.ndarray):
        return np.where(which, these, others)
    return these if which else others


def log_choices(m: int, k: Any) -> Any:
    """log (m choose k), in how many ways k of m columns can be chosen."""
    from scipy.special import gammaln  # here, as SciPy takes long to import

    return gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)


def first_least(costs: Sequence[float] | Array) -> int:
    """Where the least cost is; of those equal but for rounding the first. NaN is no cost."""
    costs = np.asarray(costs, float)
    costs = np.where(np.isnan(costs), np.inf, costs)
    least = float(costs.min())
    if not math.isfinite(least):
        return int(np.argmin(costs))
    # Against their spread, which neither units nor constants change.
    spread = float(costs[np.isfinite(costs)].max()) - least
    return int(np.argmax(costs <= least + 1e-9 * spread))
