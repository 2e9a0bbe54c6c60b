"""Stepwise regression with the number of features chosen by a criterion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise._util.text import printable
from sparsewise.algorithms import Algorithm, stepwise
from sparsewise.criteria.information import BY_LOSS
from sparsewise.estimators.available import UnavailableError
from sparsewise.estimators.base import LIKE_LASSO, path_columns
from sparsewise.estimators.cross_validated import CrossValidatedModel
from sparsewise.estimators.feature_names import Columns
from sparsewise.estimators.requirements import Inputs, Requirements
from sparsewise.estimators.state import Fit, Fitted, FittedState
from sparsewise.estimators.stepwise_search import StepwiseSearch, check_combination
from sparsewise.model_selection import choice
from sparsewise.model_selection.cross_validation import CVErrors
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.leave_one_out import NEEDS_ROWS
from sparsewise.model_selection.residual_variance import residual_variance
from sparsewise.results import Solution

CRITERIA = (*BY_LOSS, "loo", "cv")
"""What can choose the number of features."""


@dataclass(eq=False, repr=False)
class StepwiseRegressor(CrossValidatedModel):
    """Least squares on few features, added and dropped one at a time.

    By default the risk inflation criterion chooses, since it needs to know nothing of the shape of
    the table: on pure noise it takes 0.2 to 0.3 features, whether 50×500, 64×128, 200×20 or
    200×600. Where features are more than rows, BIC takes half as many as there are rows (24 of 500,
    with R² = .998), and so may EBIC (49 of 500, where 10 are true and 100 rows are there; RIC 10.4
    on average). Where rows are plenty, BIC lets in more, and may predict better for it: ten-fold
    R² is .490 by RIC and .489 by BIC for the diabetes data (442×10), .467 and .502 with products
    (442×65); on new rows .471 and .477 for 200×20 with 8 effects, but .367 and -.725 for 200×500
    with 10.

    A path that would take more than about a second (2³⁰ products) ends where nothing speaks for a
    better model further on: it goes on to twice as many features as its best model has, and 100
    more, and from there on only while the criterion would fall below its least value if every
    further feature explained as large a share of what is left as the best of the last 100 steps
    did. Hundreds of features that explain the target nearly without noise, each a little, may lie
    beyond: `max_features` follows the path as far as one likes. Where all features together would
    fit any target, it has half as many features as rows, at most; with RIC, for which that is no
    danger, all rows but one.

    The path is made when `path_` is first read, with the leave-one-out error of every model on it,
    unless rows were condensed. Until then the estimator refers to the X of the fit. A pickle never
    does: read `path_` first for these errors to be in it.

    Parameters
    ----------
    direction : {"forward", "backward", "both", "foba"}
        "forward" adds the feature that lowers the residual most, "backward" drops the one that
        raises it least: each makes one path, on which the criterion chooses. "both" adds or drops
        whichever lowers the criterion most, until nothing does, as ``step`` of R; where the
        criterion can't be told step by step ("loo", "cv", `sparsity`), it goes forward, then all
        the way back, and has the better of two models of each size. "foba" drops after each step
        forward what costs at most half of what that gained.
    criterion : {"ric", "aic", "aicc", "bic", "ebic", "cp", "adjusted_r2", "loo", "cv"}
        What chooses among the models (see `sparsewise.criteria.Criteria`): "loo" the error of rows
        left out one at a time, in closed form; "cv" that of folds. Formulas in the size alone let
        in noise where features are many; "ric", "ebic" and "cv" know how many there were, and "ric"
        and "cv" how few rows a large model leaves to tell the noise from.
    sparsity : int, optional
        At most so many features, in place of a criterion.
    delta : float or "bic", optional
        In place of a criterion: add while the squared residual falls by more than δ², drop while it
        grows by at most δ²; in the units of y. With direction "both" this is RMP₀+. "bic" is the
        price of a feature in the BIC: δ² = s² log n, s² the residual variance with all features.
    max_features : int, optional
        Follow the path on which a criterion chooses to so many features and no further: "backward"
        and "full" begin with the forward choice of so many where there are more. None: as far as it
        is worth it.
    start : {"auto", "empty", "full"}, list of str or int, or None
        Where direction "both" begins: with these features, by name or column, "empty" with none,
        "full" or None with all, as in `sparsewise.stepwise`. Features that depend on those before
        them are left out; where there are more features than rows, "full" is the choice of
        "backward" (with `delta`, that of half as many features as rows by "forward"). "auto":
        "full" for direction "backward", "empty" for all others.
    ridge : float
        Shrink the coefficients: minimise ‖r‖² + ridge ‖z‖², z the coefficients of features scaled
        to unit norm (about their means, if there is an intercept, which is not shrunk). A pure
        number: 1 halves the coefficient of a feature that is alone. Criteria and `noise_` count
        the trace of the hat matrix in place of the features; `covariance_` is
        σ² M⁻¹ A*A M⁻¹ with M = A*A + ridge I, for chosen features A of unit norm: it tells the
        noise of the coefficients, not their bias.
    cv : int, splitter or iterable
        The folds of ``criterion="cv"``, as anywhere in scikit-learn; a number where rows come in
        chunks, or are those of a tall Dask collection.
    one_standard_error : bool
        Whether cross-validation takes the smallest model within one standard error of the best.
    fit_intercept : bool
        Whether the model has a constant.
    include, exclude : list of str or int, optional
        Features that must, and must not, be in the model, by name or column.
    certify : bool or float
        Whether to ask if no other features, as many, fit better, and for how many seconds (True: 1)
        an exact search may try to tell where a bound doesn't.
    n_jobs : int, optional
        Folds at a time, as in joblib.
    verbose : bool
        Whether to print what is considered at each step, as ``step`` of R (direction "both"), or
        the steps.

    Attributes
    ----------
    delta_ : float or None
        The δ used; None where something else has chosen.
    cv_errors_ : CVErrors
        By size, with ``criterion="cv"``.
    loo_ : float
        The mean squared error of rows left out, of the choice, with ``criterion="loo"``.
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
    >>> from sparsewise import StepwiseRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> StepwiseRegressor().fit(X, y).get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's1', 's2', 's5']

    References
    ----------
    D. P. Foster and E. I. George, "The risk inflation criterion for multiple regression", Annals
    of Statistics 22, 1994.
    """

    penalty: ClassVar[str] = LIKE_LASSO
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CrossValidatedModel._parameter_constraints,
        "direction": [StrOptions(set(choice.PATHS))],
        "criterion": [StrOptions(set(CRITERIA))],
        "sparsity": [Interval(Integral, 0, None, closed="left"), None],
        "delta": [Interval(Real, 0, None, closed="left"), StrOptions({"bic"}), None],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
        "start": [StrOptions({"auto", "empty", "full"}), "array-like", None],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "cv": ["cv_object"],
        "one_standard_error": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    direction: str = "forward"
    _: KW_ONLY
    criterion: str = "ric"
    sparsity: int | None = None
    delta: float | str | None = None
    max_features: int | None = None
    start: str | Sequence[int | str] | None = "auto"
    ridge: float = 0.0
    cv: Any = 5
    one_standard_error: bool = True
    n_jobs: int | None = None
    verbose: bool = False

    delta_ = Fitted()
    loo_ = Fitted()

    @classmethod
    def from_algorithm(cls, record: Algorithm, **parameters: Any) -> Self:
        """The direction of an algorithm's own name, otherwise both.

        An algorithm for both that goes by delta has that of the BIC, unless another is given.
        """
        direction = record.name if record.name in choice.PATHS else "both"
        if direction == "both" and record.takes("delta"):
            parameters = {"delta": "bic", **parameters}
        if "cv" in parameters:
            parameters["criterion"] = "cv"
        return cls(direction, **parameters)

    def _requirements(self) -> Requirements:
        error = UnavailableError(*NEEDS_ROWS) if self._rule == "loo" else None
        return (
            super()
            ._requirements()
            ._replace(ridge=self.ridge, needs_rows=error, function=stepwise.__name__)
        )

    @property
    def _rule(self) -> str:
        return self.criterion if self.sparsity is None and self.delta is None else ""

    def _solve(self, data: Data, columns: Columns) -> Fit:
        check_combination(self)
        return StepwiseSearch(self, data, columns).fit()

    def _fitted(self, inputs: Inputs) -> FittedState:
        state = super()._fitted(inputs)
        if self.verbose and state.solution_.algorithm != stepwise.__name__:  # which prints its own
            print("\n".join(step_lines(state, self.criterion)), flush=True)
        return state

    def _full_variance(self, data: Data, solution: Solution) -> float | None:
        met = super()._full_variance(data, solution)
        # Otherwise it is computed with the path, if it takes long.
        shape = data.design.shape[0], data.candidates
        now = self.criterion in ("cp", "loo") or plan.factorises_at_once(shape)
        return residual_variance(data) if met is None and now else met

    def _path_columns(self) -> dict[str, Array]:
        state = self._state_
        assert state.loo is not None
        errors = state.loo.along(state.solution_.path, state.criteria_.variance is None)
        if state.loo.variance is not None:
            state.criteria_ = replace(state.criteria_, variance=state.loo.variance)
        columns = super()._path_columns()
        return columns | {"loo": errors} | cv_columns(state, columns["size"])


def cv_columns(state: FittedState, sizes: Array) -> dict[str, Array]:
    """The error of folds left out, and its standard error, for models of these sizes."""
    errors: CVErrors | None = state.attributes.get("cv_errors_")
    if errors is None:
        return {}
    at = {int(size): i for i, size in enumerate(errors.sizes)}
    where = [at.get(size, -1) for size in sizes.tolist()]
    return {
        name: np.append(values, np.nan)[where]
        for name, values in (("cv", errors.mean), ("cv_std", errors.std))
    }


def step_lines(state: FittedState, criterion: str) -> Iterator[str]:
    """The path as text, a line for each step."""
    columns = path_columns(state)
    columns |= cv_columns(state, columns["size"])
    if state.loo is not None and state.loo.errors is not None:
        columns["loo"] = state.loo.errors
    names = [printable(name or "") for name in columns["feature"]]
    width = max(map(len, names))
    label = criterion if criterion in columns else "bic"
    for i, name in enumerate(names):
        value = "-" if np.isnan(columns[label][i]) else f"{columns[label][i]:.6g}"
        yield (
            f"{columns['action'][i]:<5}  {name:<{width}}  {columns['size'][i]:>4}  "
            f"rss = {columns['rss'][i]:<10.6g}  {label} = {value}"
        )
