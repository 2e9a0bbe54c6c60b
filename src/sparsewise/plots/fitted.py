"""The data that displays take from a fitted estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.errors import InputError, Parameter
from sparsewise.plots.style import need_matplotlib
from sparsewise.results import Model, Stop

if TYPE_CHECKING:
    from sparsewise.estimators.base import SparseLinearModel
    from sparsewise.summary import Description

SAME = 1e-5
"""Models whose coefficients differ by less than this, relative to the largest, are equal."""


def fitted(estimator: Any, caller: str) -> tuple[SparseLinearModel, Description]:
    """The fitted estimator, or the last step of a pipeline, and its description."""
    need_matplotlib()
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    from sparsewise.estimators.base import SparseLinearModel
    from sparsewise.estimators.describe import describe

    if isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    if not isinstance(estimator, SparseLinearModel):
        hint = "; pass its best_estimator_" if hasattr(estimator, "best_estimator_") else ""
        raise InputError(
            f"{caller} draws the linear estimators of sparsewise, not "
            f"{type(estimator).__name__}{hint}."
        )
    check_is_fitted(estimator)
    return estimator, describe(estimator)


def spreads(model: SparseLinearModel) -> Array:
    """The standard deviation of each feature; without an intercept, its root mean square."""
    return model.solution_.path.norms / np.sqrt(model.n_rows_)


def target_spreads(model: SparseLinearModel) -> Array | None:
    """The same for each of several targets, or None; 1 for a constant target."""
    if model.coef_.ndim == 1:
        return None
    stds = np.sqrt(model._state_.totals / model.n_rows_)
    return np.asarray(np.where(stds > 0, stds, 1.0))


def met(model: SparseLinearModel) -> tuple[list[Model], int]:
    """The models of an estimator's path, and which of them was chosen.

    If the chosen model lies between two steps (basis pursuit) or was refitted, it comes last.
    """
    solution = model.solution_
    path = solution.path
    models = [path.initial, *path.models()]
    loss = float(solution.residual_norm) ** 2
    chosen = Model(solution.support, solution.coef, loss, solution.df)
    scale = spreads(model)
    turns = range(len(models))
    # An algorithm ends at its result; a choice among the sizes of a path is its first occurrence.
    for i in turns if solution.stop is Stop.BEST else reversed(turns):
        if _same(models[i], chosen, scale):
            return models, i
    return [*models, chosen], len(models)


def _same(a: Model, b: Model, scale: Array) -> bool:
    if not np.array_equal(a.support, b.support):
        return False
    # For several targets, each by itself.
    difference = np.abs((a.coef - b.coef).T * scale).max(axis=-1, initial=0.0)
    return bool(np.all(difference <= SAME * np.abs(b.coef.T * scale).max(axis=-1, initial=0.0)))


def path_penalties(model: SparseLinearModel, models: Sequence[Model]) -> Array | None:
    """The penalties λ of the models of an ℓ1 path that ends with the solution; None for others.

    Between two breakpoints Σ w|x| is linear in λ and ‖r‖² in λ², with the same factor up to sign,
    so that

        λ + λ' = (‖r‖² - ‖r'‖²) / (Σ w|x'| - Σ w|x|)

    and the penalty of the solution determines those of all models before it.
    """
    solution: Any = model.solution_
    end = getattr(solution, "penalty", None)
    if end is None or not np.isfinite(end) or not len(solution.path):
        return None
    by_rounds = isinstance(getattr(model, "weights", None), str)  # each has its own path
    if by_rounds or getattr(model, "debias", False):
        return None
    sums = np.array([np.abs(each.coef) @ solution.weights for each in models])
    squares = np.array([one.squared_residual for one in models])
    penalties = np.full(len(models), float(end))
    for i in reversed(range(len(models) - 1)):
        rise = sums[i + 1] - sums[i]
        penalties[i] = penalties[i + 1]
        if rise > SAME**2 * sums[-1]:
            penalties[i] = (squares[i] - squares[i + 1]) / rise - penalties[i]
    descends = bool((np.diff(penalties) <= SAME * penalties[0]).all())  # as on an ℓ1 path
    return penalties if descends else None


def coefficient_label(units: str, intercept: bool, multi_target: bool = False) -> str:
    """The label of an axis of coefficients."""
    if units == "own":
        return "coefficient, per unit of the feature"
    spread = "standard deviation" if intercept else "root mean square"
    if multi_target:
        return f"coefficient × {spread} of the feature / that of the target"
    return f"coefficient × {spread} of the feature"


def check_units(units: str, known: Array | None) -> None:
    """Raise an error for unknown units, or units without the data they need."""
    if units not in ("norm", "own"):
        raise InputError(f'must be "norm" or "own", not {units!r}.', parameter="units")
    if units == "norm" and known is None:
        raise InputError(
            (Parameter("units", "norm"), " needs the spreads of the features"),
            ("use ", Parameter("units", "own"), "."),
        )
