"""Basis pursuit as an estimator."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from sparsewise._util.parameters import check_number
from sparsewise.algorithms import ALGORITHMS, Algorithm, Family, bpdn, forward, l1_path
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.base import SparseLinearModel
from sparsewise.estimators.feature_names import Columns
from sparsewise.estimators.requirements import Requirements
from sparsewise.estimators.state import Fit, Fitted
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.residual_variance import inferred_variance
from sparsewise.results import L1Solution

L1 = {name: one for name, one in ALGORITHMS.items() if one.family is Family.L1}
PROXIMAL = {name: one for name, one in L1.items() if one.takes("penalty")}
"""Solvers that go by a penalty, by their names."""


def own_weights(record: Algorithm) -> str | None:
    """The name of the weights that an algorithm makes itself; None if they are given to it."""
    return None if record.takes("weights") else record.name.removeprefix("bp_")


REWEIGHTED = {weights: one for one in L1.values() if (weights := own_weights(one))}
"""Algorithms that make their own weights, by what these are called."""


@dataclass(eq=False, repr=False)
class BasisPursuitRegressor(SparseLinearModel):
    """The smallest ℓ1 norm, Σ|β_j|, that leaves a residual of given size.

    Parameters
    ----------
    weights : {"candes", "ard", "focuss"} or array-like of shape (m,), optional
        None: every coefficient costs the same. "candes" and "ard" solve again and again with
        weights made of the last solution, 1/(|β| + ε) or those of automatic relevance
        determination; "focuss" minimises Σ|β|^0.8 by weighted minimum norms: fewer features for
        the same residual. An array gives what each coefficient costs: 0 nothing, infinity bars it.
    residual : float, optional
        The bound on the norm of the residual, Σ w r² under the root, in the units of y; 0 is an
        exact fit. None, and no `penalty` either: s √n, as large as the noise of n rows (the
        discrepancy principle, Morozov 1966), s² being the residual variance with all features or,
        for too few rows, that inferred by Sparse Bayesian Learning.
    penalty : float, optional
        λ of ½‖r‖² + λ Σ|β_j| (the lasso), in place of a bound.
    sigma : float, optional
        Standard deviation of the noise, in the units of y, in place of a bound: that is σ √n then.
    debias : bool
        Whether to refit the chosen features by least squares. Coefficients are shrunk otherwise,
        and have no standard errors.
    fit_intercept : bool
        Whether the model has a constant.
    include, exclude : list of str or int, optional
        Features whose coefficients cost nothing, and that must not be in the model, by name or
        column.
    certify : bool or float
        Whether to ask if no other features, as many, fit better, and for how many seconds (True: 1)
        an exact search may try to tell where a bound doesn't.
    standardize : bool
        Whether a coefficient costs as one of a feature of unit norm would, so that units don't
        matter. ("candes", "ard" and "focuss" do so in any case.) `coef_` is in the features' own
        units either way.
    solver : {"auto", "homotopy", "conic", "ista", "fista"}
        "homotopy" is exact, and what "auto" stands for; "conic" is Clarabel (extra ``conic``);
        "ista" and "fista" are for a `penalty`, by products with X alone.

    Attributes
    ----------
    residual_ : float or None
        The bound used; None with a penalty.
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
    >>> from sparsewise import BasisPursuitRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> BasisPursuitRegressor("ard").fit(X, y).get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's3', 's5']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseLinearModel._parameter_constraints,
        "weights": [StrOptions(set(REWEIGHTED)), "array-like", None],
        "residual": [Interval(Real, 0, None, closed="left"), None],
        "penalty": [Interval(Real, 0, None, closed="left"), None],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "debias": ["boolean"],
        "standardize": ["boolean"],
        "solver": [StrOptions({"auto", "homotopy", "conic", *PROXIMAL})],
    }

    weights: str | ArrayLike | None = None
    _: KW_ONLY
    residual: float | None = None
    penalty: float | None = None
    sigma: float | None = None
    debias: bool = False
    standardize: bool = True
    solver: str = "auto"

    @classmethod
    def from_algorithm(cls, record: Algorithm, **parameters: Any) -> Self:
        """Weights and solver by the algorithm's name; an exact fit where it takes no bound."""
        if not (record.takes("residual") or record.takes("penalty")):
            parameters["residual"] = 0.0
        solver = record.name if record.takes("penalty") else "auto"
        return cls(own_weights(record), solver=solver, **parameters)

    residual_ = Fitted()

    def _requirements(self) -> Requirements:
        single = not all(one.multi_target for one in L1.values())
        who = f"{type(self).__name__} takes" if single else ""
        return super()._requirements()._replace(single_target=who, function=bpdn.__name__)

    def _solve(self, data: Data, columns: Columns) -> Fit:
        self._check_parameters()
        if self.penalty is not None:
            return Fit(self._penalised(data), {"residual_": None})
        bound = self._bound(data)
        parameters: dict[str, Any] = {"residual": bound, "debias": self.debias}
        is_name = isinstance(self.weights, str)
        algorithm = REWEIGHTED[str(self.weights)] if is_name else L1[bpdn.__name__]
        if algorithm.takes("weights"):
            parameters["weights"] = self._costs(data)
        if algorithm.takes("solver"):
            parameters["solver"] = self._exact_solver()
        if algorithm.takes("sigma") and bound:
            parameters["sigma"] = bound / math.sqrt(data.rows)  # the noise of each row
        return Fit(data.run(algorithm, **parameters), {"residual_": bound})

    def _penalised(self, data: Data) -> L1Solution:
        penalty = check_number(self.penalty or 0.0, "penalty")
        parameters = {"penalty": penalty, "weights": self._costs(data)}
        if self.solver in PROXIMAL:
            solution: L1Solution = data.run(PROXIMAL[self.solver], debias=self.debias, **parameters)
            return solution
        if self.solver == "conic":
            conic = Parameter("solver", "conic")
            raise InputError((conic, " takes a bound on the residual, not a penalty."))
        path = data.run(l1_path, **parameters)
        return refitted(data, path) if self.debias else path

    def _bound(self, data: Data) -> float:
        if self.residual is not None:
            return check_number(self.residual, "residual")
        if self.sigma is not None:
            return check_number(self.sigma, "sigma") * math.sqrt(data.rows)
        return math.sqrt(inferred_variance(data) * data.rows)

    def _costs(self, data: Data) -> ArrayLike | None:
        """What each coefficient costs, for the features as they are."""
        norms = data.design.norms() if self.standardize else None
        if self.weights is None or isinstance(self.weights, str):
            return norms
        try:
            costs = np.asarray(self.weights, float)
        except (TypeError, ValueError):
            raise InputError(
                "must be numbers, one for each feature.", parameter="weights"
            ) from None
        if costs.shape != (data.n_features,):
            raise InputError(
                f"must hold one number for each of {data.n_features} features, but their shape is "
                f"{costs.shape}.",
                parameter="weights",
            )
        if (bad := np.flatnonzero(~(costs >= 0))).size:
            raise InputError(
                f"must be at least 0, but weights[{bad[0]}] is {costs[bad[0]]:g}",
                "infinity bars a feature.",
                parameter="weights",
            )
        return costs if norms is None else np.where(np.isinf(costs), costs, costs * norms)

    def _exact_solver(self) -> Any:
        if self.solver in PROXIMAL:
            raise InputError((Parameter("solver", self.solver), " takes a penalty, not a bound."))
        return self.solver

    def _check_parameters(self) -> None:
        own = Parameter("weights", self.weights) if isinstance(self.weights, str) else None
        if own and not REWEIGHTED[own.value].takes("solver") and self.solver != "auto":
            solver = Parameter("solver", self.solver)
            raise InputError((own, " solves in its own way: leave out ", solver, "."))
        if own and self.penalty is not None:
            raise InputError((own, " take a residual, not a penalty."))
        stops = ("sigma", "residual", "penalty")
        given = [Parameter(name) for name in stops if getattr(self, name) is not None]
        if len(given) > 1:
            say = "tell the noise" if self.penalty is None else "say how close to fit"
            raise InputError((given[0], " and ", given[-1], f" both {say}: give one of them."))


def refitted(data: Data, solution: L1Solution) -> L1Solution:
    """The same features, with the coefficients of least squares."""
    k = solution.support.size
    fit = forward(data.design, data.target, sparsity=k, include=solution.support)
    return replace(
        solution,
        coef=fit.coef,
        residual_norm=fit.residual_norm,
        least_squares=True,
        debiased=True,
    )
