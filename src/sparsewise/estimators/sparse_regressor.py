"""The estimator to begin with: nothing has to be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from sparsewise._typing import Array
from sparsewise._util.parameters import check_number
from sparsewise._util.text import count
from sparsewise.algorithms import Algorithm, solve
from sparsewise.algorithms.solve import EFFORT
from sparsewise.criteria.ric import CHARGES
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.base import LIKE_LASSO
from sparsewise.estimators.cross_validated import CrossValidatedModel
from sparsewise.estimators.feature_names import Columns
from sparsewise.estimators.requirements import Requirements
from sparsewise.estimators.state import Fit
from sparsewise.model_selection.cv_penalty import cross_validate_charges
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.residual_variance import check_rows
from sparsewise.model_selection.shrinkage import shrunk
from sparsewise.results import MultistartSolution, Start

CRITERIA = (*CHARGES, "cv")
"""What can say what a feature costs."""

IN_FOLDS = 4
"""Starts in each fold, at most: the best charge does not hang on the last digit of a search."""


@dataclass(eq=False, repr=False)
class SparseRegressor(CrossValidatedModel):
    """The few features that matter, and what they tell: nothing has to be set.

    The features are those of the model of least

        (n - k) log ‖r‖² + k·charge      (‖r‖²/σ² + k·charge, the noise σ being given)

    that `sparsewise.solve` comes to from several starts: k features, squared residual ‖r‖², n rows.
    The coefficients are posterior means: each has a prior N(0, γ_j) whose γ_j maximises the
    evidence, given the features and the noise, so that what is plain stays as least squares has it
    and what is uncertain is shrunk, by 1 - 1/t² at t standard errors if features are orthogonal.
    On new rows that predicts better than least squares, whatever the criterion.

    Parameters
    ----------
    criterion : {"ric", "bic", "aic", "cv"}
        What a feature is charged: "ric" 2 log m, for m features to choose from, of which the best
        of pure noise hardly ever pays as much (Foster and George 1994); "bic" log n and "aic" 2,
        which let in more: "aic" predicts best where rows are several times as many as features,
        and both fit noise where they are not; "cv" what predicts rows left out best, of these
        three and the geometric means between them.
    sigma : float, optional
        Standard deviation of the noise, in the units of y. None: it is found from the data. Of
        several targets, the root mean square: their noise is in proportion to their norms.
    effort : int
        Most starts of the search; it ends sooner where the answer is plain.
    debias : bool
        Whether coefficients are those of least squares.
    ridge : float
        Shrink the coefficients: minimise ‖r‖² + ridge ‖z‖², z the coefficients of features scaled
        to unit norm (about their means, if there is an intercept, which is not shrunk). A pure
        number: 1 halves the coefficient of a feature that is alone. The charge is then on top of
        this sum in place of ‖r‖², and coefficients are those of the ridge fit: no posterior means,
        which would shrink them twice. Noise, unless given, and covariance are those that
        `StepwiseRegressor` tells of a ridge fit. Excludes `debias`.
    cv : int, splitter or iterable
        The folds of ``criterion="cv"``, as anywhere in scikit-learn; a number where rows come in
        chunks, or are those of a tall Dask collection.
    one_standard_error : bool
        Whether cross-validation takes the largest charge within one standard error of the best.
    n_jobs : int, optional
        Folds at a time, as in joblib.
    random_state : int, RandomState or None
        Other starts. None is 0, so that the same data have the same answer.
    callback : callable, optional
        Called with what each `Start` came to; returning True ends the search with the best so far.
    verbose : bool
        Whether to print what each start came to.
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
        Standard deviation of the noise, given or that of the least-squares residual; `noise_` is
        the same.
    charge_ : float
        What a feature was charged.
    chance_ : float
        log₁₀ of a bound on the probability that as many features fit pure noise as closely: near 0
        for a fit that means nothing.
    starts_ : tuple of Start
        What each start came to, best first: its features (by column), and its score.
    cv_errors_ : ChargeErrors
        By charge, with ``criterion="cv"``.
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
    >>> from sparsewise import SparseRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SparseRegressor().fit(X, y)
    >>> model.get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's1', 's2', 's5']
    >>> mean, std = model.predict(X, return_std=True)
    """

    penalty: ClassVar[str] = LIKE_LASSO
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CrossValidatedModel._parameter_constraints,
        "criterion": [StrOptions(set(CRITERIA))],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "effort": [Interval(Integral, 1, None, closed="left")],
        "debias": ["boolean"],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "cv": ["cv_object"],
        "one_standard_error": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    criterion: str = "ric"
    _: KW_ONLY
    sigma: float | None = None
    effort: int = EFFORT
    debias: bool = False
    ridge: float = 0.0
    cv: Any = 5
    one_standard_error: bool = True
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    callback: Callable[[Start], bool | None] | None = None
    verbose: bool = False

    @classmethod
    def from_algorithm(cls, record: Algorithm, **parameters: Any) -> Self:
        """The estimator that searches; a seed is a random state."""
        if "seed" in parameters:
            parameters["random_state"] = parameters.pop("seed")
        if "cv" in parameters:
            parameters["criterion"] = "cv"
        criterion = parameters.get("criterion", CRITERIA[0])
        if criterion not in CRITERIA:
            known = ", ".join(CRITERIA)
            raise InputError(f"{record.name} chooses by {known}, not by {criterion}.")
        return cls(**parameters)

    def _requirements(self) -> Requirements:
        return super()._requirements()._replace(ridge=self.ridge)

    def _solve(self, data: Data, columns: Columns) -> Fit:
        if data.ridge and self.debias:
            wrong = "shrinks coefficients, which ", Parameter("debias", True), " is to undo"
            raise InputError(wrong, "give one of them.", parameter="ridge")
        check_rows(data)
        charge: Any = self.criterion
        seed, attributes = self._seed(), {}
        if self.criterion == "cv":
            few = min(self.effort, IN_FOLDS)
            errors = cross_validate_charges(
                data,
                lambda fold, charge: self._search(fold, charge, effort=few, seed=seed),
                self.cv,
                self.one_standard_error,
                self.n_jobs,
            )
            charge, attributes = errors.chosen, {"cv_errors_": errors}
        watch = None if self.callback is None and not self.verbose else self._report
        solution = self._search(data, charge, effort=self.effort, seed=seed, callback=watch)
        return Fit(solution, attributes)

    def _search(self, data: Data, charge: str | float, **how: Any) -> MultistartSolution:
        """The model at this charge."""
        sigma = None if self.sigma is None else check_number(self.sigma, "sigma")
        solution: MultistartSolution = data.run(solve, criterion=charge, sigma=sigma, **how)
        if sigma is None and data.is_exact(solution.residual_norm**2):
            sigmas = None if solution.sigmas is None else np.zeros_like(solution.sigmas)
            covariance = np.zeros_like(solution.covariance)
            return replace(solution, sigma=0.0, sigmas=sigmas, covariance=covariance)
        return solution if self.debias or data.ridge else shrunk(data, solution)

    def _seed(self) -> int:
        """A number for the search."""
        state = self.random_state
        if state is None or isinstance(state, Integral):
            return int(state or 0)
        return int(check_random_state(state).randint(2**31 - 1))

    def _report(self, start: Start) -> bool | None:
        if self.verbose:
            size = count(len(start.support), "feature")
            print(f"start: score {start.score:.6g}, {size}", flush=True)
        return None if self.callback is None else self.callback(start)

    def _path_columns(self) -> dict[str, Array]:
        columns, solution = super()._path_columns(), self.solution_
        objective = solution.path.objectives if solution.ridge else columns["rss"]
        share = np.minimum(objective / (self.criteria_.total or 1.0), 1.0)
        return columns | {"score": solution.goal.cost(share, columns["size"])}

    @property
    def sigma_(self) -> Any:
        """Standard deviation of the noise."""
        return self.noise_

    @property
    def charge_(self) -> float:
        """What a feature was charged."""
        return float(self.solution_.goal.charge)

    @property
    def chance_(self) -> float:
        """log₁₀ of the odds that as many features fit pure noise as closely."""
        return float(self.solution_.chance)

    @property
    def starts_(self) -> tuple[Start, ...]:
        """What each start came to, best first."""
        return tuple(sorted(self.solution_.starts, key=lambda start: start.score))
