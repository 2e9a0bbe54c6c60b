"""The matching-pursuit family as an estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from sparsewise._util.parameters import check_number
from sparsewise.algorithms import ALGORITHMS, Algorithm
from sparsewise.algorithms.forward_backward_path import forward_path
from sparsewise.criteria.early_stopping import early_stopping
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.base import LIKE_LASSO, SparseLinearModel
from sparsewise.estimators.feature_names import Columns
from sparsewise.estimators.requirements import Requirements
from sparsewise.estimators.state import Fit, Fitted
from sparsewise.model_selection import choice
from sparsewise.model_selection.data import Data

PURSUITS = {name: one for name, one in ALGORITHMS.items() if one.takes("sparsity")}
"""Algorithms that can be asked for so many features."""


@dataclass(eq=False, repr=False)
class PursuitRegressor(SparseLinearModel):
    """Greedy algorithms that are told how many features are wanted.

    Parameters
    ----------
    algorithm : str
        "omp" (Orthogonal Matching Pursuit) adds the feature closest to the residual and refits;
        "gomp" adds `batch` at a time; "mp" never refits; "oblivious" looks once; "forward" adds
        what lowers the residual most; "srr", "ompr" and "subspace_pursuit" exchange features of a
        model of fixed size; "backward" and "lace" drop features from the full model.
    sparsity : int, optional
        At most so many features. None, and no `residual` either: as many as the RIC chooses on the
        path of "omp".
    residual : float, optional
        Stop once the norm of the residual, Σ w r² under the root, is at most this; in the units of
        y. Not for "oblivious"; for the algorithms that exchange, besides `sparsity`.
    delta : float, optional
        For "forward", "backward" and "lace": add while the squared residual falls by more than δ²,
        drop while it grows by at most δ².
    batch : int
        Features that "gomp" adds at a time.
    ridge : float
        For "forward", "backward" and "srr": shrink the coefficients, as `StepwiseRegressor` does.
    fit_intercept : bool
        Whether the model has a constant.
    include, exclude : list of str or int, optional
        Features that must, and must not, be in the model, by name or column.
    certify : bool or float
        Whether to ask if no other features, as many, fit better, and for how many seconds (True: 1)
        an exact search may try to tell where a bound doesn't.

    Attributes
    ----------
    sparsity_ : int or None
        The most features: as asked for, or as the RIC chose; None where none of them set it.
    coef_ : ndarray of shape (m,), or (q, m)
        Coefficients, zero for features that were not chosen; of q targets a row for each.
    intercept_ : float, or ndarray of shape (q,)
        The constant.
    noise_ : float, ndarray of shape (q,), or None
        Standard deviation of the noise; None where no row is left to tell it.
    covariance_ : ndarray of shape (k, k) or None
        Of the chosen coefficients, given that these features are the right ones; None where they
        are shrunk, or the noise is not known. Of several targets, that of one whose noise is the
        root mean square of `noise_` (of those that have any): it is proportional to the variance of
        the noise.
    coef_std_, intercept_std_ : as coef_ and intercept_, or None
        Standard deviations of coefficients and intercept, with the same proviso.
    path_ : data frame, or dict of ndarray
        Every step: action, feature, size, RSS, and the criteria; a frame if X was one.
    criteria_ : Criteria
        The formulas, with the numbers of rows and features in place.
    solution_ : Solution
        What the algorithm returned: support, path, reason for stopping.
    certificate_ : Certificate
        With `certify`, if any feature was chosen.
    means_ : ndarray of shape (k,)
        Means of the chosen features.
    n_rows_ : float
        The sum of the weights.
    warnings_ : tuple of InputWarning
        What `fit` has warned of; `summary` says it, too.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    target_names_ : ndarray of str
        Names of the targets, where y was a data frame.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsewise import PursuitRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> PursuitRegressor("omp", sparsity=2).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 's5']
    """

    penalty: ClassVar[str] = LIKE_LASSO
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseLinearModel._parameter_constraints,
        "algorithm": [StrOptions(set(PURSUITS))],
        "sparsity": [Interval(Integral, 0, None, closed="left"), None],
        "residual": [Interval(Real, 0, None, closed="left"), None],
        "delta": [Interval(Real, 0, None, closed="left"), None],
        "batch": [Interval(Integral, 1, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="left")],
    }

    algorithm: str = "omp"
    _: KW_ONLY
    sparsity: int | None = None
    residual: float | None = None
    delta: float | None = None
    batch: int = 2
    ridge: float = 0.0

    sparsity_ = Fitted()

    def _requirements(self) -> Requirements:
        return super()._requirements().for_algorithm(self.algorithm)._replace(ridge=self.ridge)

    def _solve(self, data: Data, columns: Columns) -> Fit:
        run = PURSUITS[self.algorithm]
        if data.ridge and not run.takes("ridge"):
            raise _not_taken(run, "ridge")
        parameters = self._stops(data, run)
        sparsity = parameters.get("sparsity")
        if run.takes("batch"):
            parameters["batch"] = min(self.batch, *data.design.shape)
        if run.starts_full:
            most = max(choice.most_features(data), sparsity or 0)
            solution = choice.from_full(data, most, run, **parameters)
        else:
            solution = data.run(run.function, **parameters)
        return Fit(solution, {"sparsity_": sparsity})

    def _stops(self, data: Data, run: Algorithm) -> dict[str, Any]:
        """The parameters that end the algorithm."""
        stops: dict[str, Any] = {}
        if self.residual is not None:
            if not run.takes("residual"):
                wrong = f"{run.name} does not follow the residual: give "
                raise InputError((wrong, Parameter("sparsity"), ", or neither."))
            stops["residual"] = check_number(self.residual, "residual")
        if self.delta is not None:
            if not run.takes("delta"):
                raise _not_taken(run, "delta")
            stops["delta"] = check_number(self.delta, "delta")
        if self.sparsity is not None:
            stops["sparsity"] = min(self.sparsity, *data.design.shape)
        elif not stops or "sparsity" in run.required:
            stops["sparsity"] = usual_sparsity(data)
        return stops


def _not_taken(run: Algorithm, parameter: str) -> InputError:
    """That an algorithm does not take a parameter, and which do."""
    able = ", ".join(name for name, one in PURSUITS.items() if one.takes(parameter))
    return InputError((f"{run.name} does not take ", Parameter(parameter)), f"{able} do.")


def usual_sparsity(data: Data) -> int:
    """As many features as the RIC chooses on the path of Orthogonal Matching Pursuit."""
    most, ric = choice.most_features(data, "ric"), data.criteria()["ric"]
    path = data.run(
        forward_path, sparsity=most, extend_to=early_stopping(ric, most), by="corr"
    ).path
    model = path.after(choice.cheapest(ric, path))
    choice.warn_if_still_better(data, model.loss, model.support.size, "ric")
    return int(model.support.size)
