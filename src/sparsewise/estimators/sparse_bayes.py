"""Sparse Bayesian Learning as an estimator: no threshold to set."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sparsewise._typing import Array
from sparsewise._util.parameters import check_number
from sparsewise.algorithms import ALGORITHMS, Family
from sparsewise.algorithms.sbl import UPDATES
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.base import LIKE_LASSO, SparseLinearModel
from sparsewise.estimators.feature_names import Columns
from sparsewise.estimators.requirements import Requirements
from sparsewise.estimators.state import Fit, in_precision
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.residual_variance import check_rows

BAYESIAN = {name: one for name, one in ALGORITHMS.items() if one.family is Family.BAYESIAN}


@dataclass(eq=False, repr=False)
class SparseBayesRegressor(SparseLinearModel):
    """Sparse Bayesian Learning: coefficients have normal priors, most of variance zero.

    The model is y = b + X β + e with β_j ~ N(0, γ_j), noise e of standard deviation σ and a flat
    prior on b; γ, and σ if it is not given, maximise the evidence. `coef_` is the posterior mean,
    `covariance_` the posterior covariance.

    Parameters
    ----------
    algorithm : {"rmp", "fast_sbl", "sbl"}
        "rmp", Relevance Matching Pursuit, adds features by stages and is the quickest; "fast_sbl"
        always takes the steepest single step; "sbl" changes all γ at once, which needs X as a dense
        matrix and many more operations.
    updates : {"em", "mackay", "convex"}, optional
        The rule by which "sbl" does so: EM (also for None), MacKay's or the convex-bound updates.
    sigma : float, optional
        Standard deviation of the noise, in the units of y. None: it is found from the data. Of
        several targets, the root mean square: their noise is in proportion to their norms.
    price : float, optional
        What a feature must raise the log evidence by. None: log m, as for one chosen among m; 0
        takes any that raises it, every third of worthless ones among them.
    noise_prior : (shape, scale), optional
        Inverse-gamma prior on σ², where σ is inferred.
    noise_floor : float
        Least σ where it is inferred, as a part of the standard deviation of y: 0.03 takes what
        explains less than 3 % of it for noise. For nearly exact data with errors that are no white
        noise: those of derivatives by differences are smooth, and ever more features fit them.
    fit_intercept : bool
        Whether the model has a constant.
    include, exclude : list of str or int, optional
        Features that must (with a flat prior), and must not, be in the model, by name or column.
    certify : bool or float
        Whether to ask if no other features, as many, fit better, and for how many seconds (True: 1)
        an exact search may try to tell where a bound doesn't.

    Attributes
    ----------
    sigma_ : float, or ndarray of shape (q,)
        Standard deviation of the noise, given or inferred; `noise_` is the same.
    gamma_ : ndarray of shape (m,)
        Prior variances: zero for features that were not chosen, infinite for `include`. Several
        targets share γ/σ²; these are those of one whose σ is the root mean square of `sigma_`.
    price_ : float
        What each feature had to raise the log evidence by.
    log_evidence_ : float
        Log marginal likelihood, of what the intercept and flat priors leave.
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
    >>> from sparsewise import SparseBayesRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SparseBayesRegressor().fit(X, y)
    >>> model.get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's3', 's5']
    >>> mean, std = model.predict(X, return_std=True)
    """

    penalty: ClassVar[str] = LIKE_LASSO
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseLinearModel._parameter_constraints,
        "algorithm": [StrOptions(set(BAYESIAN))],
        "updates": [StrOptions(set(UPDATES)), None],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "price": [Interval(Real, 0, None, closed="left"), None],
        "noise_prior": ["array-like", None],
        "noise_floor": [Interval(Real, 0, 1, closed="left")],
    }

    algorithm: str = "rmp"
    _: KW_ONLY
    updates: str | None = None
    sigma: float | None = None
    price: float | None = None
    noise_prior: tuple[float, float] | None = None
    noise_floor: float = 0.0

    def _requirements(self) -> Requirements:
        return super()._requirements().for_algorithm(self.algorithm)

    def _solve(self, data: Data, columns: Columns) -> Fit:
        run = BAYESIAN[self.algorithm]
        parameters: dict[str, Any] = {
            "sigma": None if self.sigma is None else check_number(self.sigma, "sigma"),
            "price": uniform_price(data)
            if self.price is None
            else check_number(self.price, "price"),
            "noise_prior": self.noise_prior,
            "noise_floor": self.noise_floor,
        }
        if self.updates is not None:
            if not run.takes("updates"):
                able = ", ".join(name for name, one in BAYESIAN.items() if one.takes("updates"))
                raise InputError(
                    ("belongs to ", Parameter("algorithm", able), f", not to {self.algorithm}."),
                    parameter="updates",
                )
            parameters["updates"] = self.updates
        check_rows(data)
        return Fit(data.run(run, **parameters))

    def _path_columns(self) -> dict[str, Array]:
        state = self._state_
        first = state.solution_.start_evidence(state.n_rows_ - state.has_intercept)
        evidences = [first, *(step.log_evidence for step in state.solution_.path)]
        return super()._path_columns() | {"log_evidence": np.array(evidences, float)}

    @property
    def sigma_(self) -> Any:
        """Standard deviation of the noise."""
        return self.noise_

    @property
    def gamma_(self) -> Array:
        """Prior variances."""
        return np.asarray(in_precision(self.coef_.dtype, self.solution_.gamma))

    @property
    def price_(self) -> float:
        """What each feature had to raise the log evidence by."""
        return float(self.solution_.price)

    @property
    def log_evidence_(self) -> float:
        """Log marginal likelihood."""
        return float(self.solution_.log_evidence)


def uniform_price(data: Data) -> float:
    """The price of having been chosen among m features, log m; a single one pays as one of two.

    The Bayesian criterion alone lets in every third feature of pure noise.
    """
    return math.log(max(data.candidates, 2))
