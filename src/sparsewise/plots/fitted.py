"""What a fitted estimator has to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.errors import InputError, Parameter
from sparsewise.results import Model, Stop

if TYPE_CHECKING:
    from sparsewise.estimators.base import SparseLinearModel
    from sparsewise.summary import Description

SAME = 1e-5
"""Models whose coefficients differ by less than this share of the largest look the same."""


def fitted(estimator: Any, caller: str) -> tuple[SparseLinearModel, Description]:
    """The estimator, or the last of a pipeline, once it has been fitted; and its description."""
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
    """The standard deviation of each feature; without intercept, its root mean square."""
    return model.solution_.path.norms / np.sqrt(model.n_rows_)


def target_spreads(model: SparseLinearModel) -> Array | None:
    """The same of each target, where there are several; one that doesn't vary counts as one."""
    if model.coef_.ndim == 1:
        return None
    found = np.sqrt(model._state_.totals / model.n_rows_)
    return np.asarray(np.where(found > 0, found, 1.0))


class Met(NamedTuple):
    """Models met on the way, and which of them was chosen.

    Where the choice lies between two steps (basis pursuit) or was refitted, it comes last.
    """

    models: list[Model]
    chosen: int


def met(model: SparseLinearModel) -> Met:
    """The models of a path."""
    solution = model.solution_
    path = solution.path
    models = [path.initial, *path.models()]
    chosen = Model(solution.support, solution.coef, float(solution.residual_norm) ** 2)
    scale = spreads(model)
    turns = range(len(models))
    # An algorithm ends where its choice is; a choice among the sizes of a path is met there first.
    for i in turns if solution.stop is Stop.BEST else reversed(turns):
        if _same(models[i], chosen, scale):
            return Met(models, i)
    return Met([*models, chosen], len(models))


def _same(a: Model, b: Model, scale: Array) -> bool:
    if not np.array_equal(a.support, b.support):
        return False
    # Of several targets each by itself.
    difference = np.abs((a.coef - b.coef).T * scale).max(axis=-1, initial=0.0)
    return bool(np.all(difference <= SAME * np.abs(b.coef.T * scale).max(axis=-1, initial=0.0)))


def path_penalties(model: SparseLinearModel, models: Sequence[Model]) -> Array | None:
    """The penalties λ of the models of an ℓ1 path, the last of which is the solution; else None.

    Between two bends Σ w|x| is linear in λ and ‖r‖² in λ², both with the same factor but for the
    sign, so that

        λ + λ' = (‖r‖² - ‖r'‖²) / (Σ w|x'| - Σ w|x|)

    and the penalty of the solution tells those of all models before it.
    """
    solution: Any = model.solution_
    end = getattr(solution, "penalty", None)
    if end is None or not np.isfinite(end) or not len(solution.path):
        return None
    if getattr(model, "debias", False):
        return None
    if isinstance(getattr(model, "weights", None), str):  # each round has a path of its own
        return None
    sums = np.array([np.abs(one.coef) @ solution.weights for one in models])
    squares = np.array([one.squared_residual for one in models])
    found = np.full(len(models), float(end))
    for i in reversed(range(len(models) - 1)):
        rise = sums[i + 1] - sums[i]
        moves = rise > SAME**2 * sums[-1]
        found[i] = (squares[i] - squares[i + 1]) / rise - found[i + 1] if moves else found[i + 1]
    descends = bool((np.diff(found) <= SAME * found[0]).all())  # as on a path of ℓ1 norms
    return found if descends else None


def coefficient_label(units: str, intercept: bool, multi_target: bool = False) -> str:
    """What an axis of coefficients shows."""
    if units == "own":
        return "coefficient, per unit of the feature"
    spread = "standard deviation" if intercept else "root mean square"
    if multi_target:
        return f"coefficient × {spread} of the feature / that of the target"
    return f"coefficient × {spread} of the feature"


def check_units(units: str, known: Array | None) -> None:
    """Raise an error for units there aren't."""
    if units not in ("norm", "own"):
        raise InputError(f'must be "norm" or "own", not {units!r}.', parameter="units")
    if units == "norm" and known is None:
        raise InputError(
            (Parameter("units", "norm"), " needs the spreads of the features"),
            ("use ", Parameter("units", "own"), "."),
        )
