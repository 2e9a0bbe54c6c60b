"""What all linear estimators share: rows go in, a sparse model in their own units comes out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import validate_data

from sparsewise._typing import Array
from sparsewise._util.parameters import check_number
from sparsewise._util.text import listing
from sparsewise.algorithms import Algorithm
from sparsewise.criteria.information import BY_LOSS
from sparsewise.design.choose import is_dask_array
from sparsewise.errors import InputError, InputWarning, Parameter, TooFewRowsError
from sparsewise.estimators import uncertainty
from sparsewise.estimators.available import Available
from sparsewise.estimators.dask_inputs import same_features
from sparsewise.estimators.dtypes import check_real
from sparsewise.estimators.feature_names import Columns
from sparsewise.estimators.frames import Frame, as_frame
from sparsewise.estimators.inputs import ACCEPTED, BEGINS_ANEW, CONDENSED, read, take_in
from sparsewise.estimators.prediction import Predictor
from sparsewise.estimators.requirements import Inputs, Requirements
from sparsewise.estimators.state import (
    Fit,
    Fitted,
    FittedState,
    Waiting,
    check_fitted,
    reset_on_failure,
    rollback_on_error,
)
from sparsewise.estimators.target_kind import target_notes
from sparsewise.guarantees.certificate import SEARCH_SECONDS
from sparsewise.model_selection.data import Data, warn_outside
from sparsewise.problem.problem import DependentColumnsError
from sparsewise.results import Solution, Stop
from sparsewise.suffstats.dask_collections import is_dask

if TYPE_CHECKING:
    from sparsewise.summary import Summary

LIKE_LASSO = "l1"
"""The ``penalty`` by which scikit-learn's `SelectFromModel` knows models whose zeros count.

It keeps coefficients of at least 1e-5 of these, of others those above the mean.
"""


# scikit-learn ships no types: its base classes are Any to the checker.
@dataclass(kw_only=True, eq=False, repr=False)
class SparseLinearModel(SelectorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A linear model of few features; a selector of these, too.

    As a selector (`transform`, `get_support`, `get_feature_names_out`) it keeps what it has chosen,
    in a pipeline, say, and needs no `sklearn.feature_selection.SelectFromModel`: that looks at the
    size of coefficients, which depends on the units of features, and keeps those of at least 1e-5.
    With a `BasisPursuitRegressor`, whose `penalty` is a number, or for smaller coefficients, give
    it a threshold of 1e-300, say, to keep all that are not zero.

    Subclasses say how it is found (`_solve`). What `fit` finds is one record (`state.FittedState`),
    from which all attributes are read; it is forgotten at the next fit, and if that fails, nothing
    is left. Numbers have the precision of X, unless one is beyond its range.

    Several targets, y of shape (n, q), share their features. Each counts by its norm (about its
    mean), so that none drowns the others whatever its units: squared residuals, criteria and errors
    of cross-validation are weighted means over targets, and R² the mean of theirs.

    Attributes
    ----------
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
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "include": ["array-like", None],
        "exclude": ["array-like", None],
        "certify": ["boolean", Interval(Real, 0, None, closed="left")],
    }

    fit_intercept: bool = True
    include: Sequence[int | str] | None = None
    exclude: Sequence[int | str] | None = None
    certify: bool | float = False

    solution_ = Fitted()
    coef_ = Fitted()
    intercept_ = Fitted(rounded=True)
    noise_ = Fitted(rounded=True)
    covariance_ = Fitted(rounded=True)
    coef_std_ = Fitted(rounded=True)
    intercept_std_ = Fitted(rounded=True)
    means_ = Fitted(rounded=True)
    n_rows_ = Fitted()
    criteria_ = Fitted()
    certificate_ = Fitted()
    uncertified_ = Fitted()
    warnings_ = Fitted()
    target_names_ = Fitted()

    @classmethod
    def from_algorithm(cls, record: Algorithm, **parameters: Any) -> Self:
        """The estimator that runs an algorithm; here, by its name."""
        return cls(**{"algorithm": record.name, **parameters})

    @abstractmethod
    def _solve(self, data: Data, columns: Columns) -> Fit:
        """Find the model in the data."""

    def _requirements(self) -> Requirements:
        """What this estimator requires of its rows."""
        return Requirements(self.fit_intercept, self.include, self.exclude)

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Choose features and fit their coefficients.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, m), or rows in another form
            The features; a sparse matrix is centred implicitly and stays sparse. Dask arrays and
            data frames stay where they are: workers condense tall ones, and hold blocks of the
            columns of wide ones; y and `sample_weight` may be either. Or, without y and
            `sample_weight`, rows that need not all be there at once: a `sparsewise.Condensed`, or
            an iterable (a generator, say) of chunks ``(X, y)``, ``(X, y, sample_weight)`` or
            ``(X, y, sample_weight, fold)``, each of which is condensed as it comes. With
            ``criterion="cv"`` chunk i is in fold i modulo `cv` unless `fold` says another, for the
            chunk or for each of its rows.
        y : array-like or data frame of shape (n,), or (n, q)
            The target, or several that are to share their features, one a column.
        sample_weight : array-like of shape (n,), optional
            How often each row counts: 2 is the same as the row given twice, 0 as leaving it out.
            Weights that tell how precise rows are, as those of R's ``lm``, need a mean of 1.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> Self:
        with reset_on_failure(self):
            check_parameters(self)
            inputs = read(self, self._requirements(), X, y, sample_weight, groups)
            self._state_ = self._fitted(inputs)
        return self

    @Available
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        fold: Any = None,
    ) -> Self:
        """Take in some more rows, and fit all so far: what `fit` finds in them at once.

        They are condensed as they come (`sparsewise.Condensed`), so that a call takes as long as
        its own rows and a fit to m + 2 rows do, and memory (m + 2)² numbers (of q targets, q + 1 in
        place of 2). After a `fit` to chunks, or to what was condensed, they come on top of these; a
        fit to a table keeps no rows, and they begin anew. Rows that are too few for a model are
        kept, and fitted attributes come with later ones. A call that fails changes nothing.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, m)
            The features, the same in every call.
        y : array-like or data frame of shape (n,), or (n, q)
            The target, or several, the same in every call.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.
        fold : int, str or array-like of shape (n,), optional
            With ``criterion="cv"``, the fold of these rows, or of each of them. None: call i is
            fold i modulo `cv`; the rows of the first, while there are no others, are split as those
            of a table.

        Returns
        -------
        estimator
            The estimator itself.
        """
        with rollback_on_error(self):
            check_parameters(self)
            state, needs = vars(self).get("_state_"), self._requirements()
            rows, columns = take_in(self, needs, state, X, y, sample_weight, fold)
            begins_anew = isinstance(state, FittedState) and state.rows is None
            warnings = [InputWarning(*BEGINS_ANEW)] if begins_anew else []
            for warning in warnings:
                warn_outside(warning)
            try:
                data = needs.condensed(columns, rows)
                data.warnings[:0] = warnings
                self._state_ = self._fitted(Inputs(data, columns, rows, CONDENSED))
            except TooFewRowsError as error:
                if isinstance(state, FittedState) and not begins_anew:
                    raise
                waiting: Any = Waiting(rows, columns, str(error))
                self._state_ = waiting
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """The expected target of each row, and how far observations scatter about it.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Dask collection of shape (n, m)
            Rows with the features seen in `fit`.
        return_std : bool
            Whether to return standard deviations, too.

        Returns
        -------
        mean : ndarray of shape (n,), or (n, q) for several targets
            The expected targets; of a Dask collection a dask.array that nobody has computed.
        std : ndarray of the same shape
            Of a new observation, given that the right features were chosen: noise, and uncertainty
            of coefficients and intercept. Only if `return_std`.
        """
        check_fitted(self)
        state = self._state_
        if return_std and (state.noise_ is None or state.covariance_ is None):
            raise uncertainty.no_standard_deviations(state)
        chosen = state.solution_.support
        if is_dask(X):
            array = same_features(X, state.columns)
            predictor = Predictor.of(state, array.dtype)
            return predictor.expected_of_dask(array, chosen, return_std)
        check_real(X, "X", self._requirements().function)
        rows: Any = validate_data(self, X, reset=False, **ACCEPTED)
        mean, std = Predictor.of(state, rows.dtype).expected(rows, chosen, return_std)
        return (mean, std) if return_std else mean

    def transform(self, X: Any) -> Any:
        """The chosen features of these rows.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Dask collection of shape (n, m)
            Rows with the features seen in `fit`.

        Returns
        -------
        Array, data frame, sparse matrix or Dask collection of shape (n, k)
            As they are; of a Dask collection nothing is computed.
        """
        if not is_dask(X):
            return super().transform(X)
        check_fitted(self)
        same_features(X, self._state_.columns)
        chosen = self._state_.solution_.support
        return X[:, chosen] if is_dask_array(X) else X[[X.columns[j] for j in chosen]]

    def summary(self) -> Summary:
        """The model as a table: text where printed, HTML in a notebook."""
        from sparsewise.estimators.describe import describe
        from sparsewise.summary import Summary

        check_fitted(self)
        return Summary.of(describe(self))

    @property
    def path_(self) -> Frame:
        """Every step: what it did and where that led, column by column.

        Columns: step, action, feature, size, rss, r2; for least squares and basis pursuit, whose
        degrees of freedom are their features, the criteria (see `sparsewise.criteria.Criteria`;
        loo is the mean squared error of each row predicted without it, NaN where rows were
        condensed; cp takes the noise of all features, which but a `StepwiseRegressor` knows only if
        the path has met that model); log_evidence for Bayesian models, at the final σ in every
        step. A pandas or Polars frame if X was one (unknown numbers are null in Polars), otherwise
        a dict of arrays.
        """
        check_fitted(self)
        state = self._state_
        if state.path is None:
            state.path = as_frame(self._path_columns(), state.columns.frame)
        return state.path

    def _get_support_mask(self) -> Array:
        check_fitted(self)
        mask = np.zeros(self.n_features_in_, bool)
        mask[self._state_.solution_.support] = True
        return mask

    def __sklearn_is_fitted__(self) -> bool:
        return isinstance(vars(self).get("_state_"), FittedState)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = not self._requirements().single_target
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as in scikit-learn.

        Parameters
        ----------
        deep : bool
            Whether to add the parameters of parameters that are estimators; none of them is.

        Returns
        -------
        dict
            Parameters by name.
        """
        # Reading its own signature takes scikit-learn as long as we take for a small fit.
        kind: Any = type(self)
        return {name: getattr(self, name) for name in parameter_names(kind)}

    # ------------------------------------------------------------------ from data to a model

    def _fitted(self, inputs: Inputs) -> FittedState:
        """Solve, and gather all that there is to know of the model."""
        data = inputs.data
        try:
            fit = self._solve(data, inputs.columns)
            solution, reduced = fit.solution, data.reduced
            support, names = solution.support, inputs.columns.target_names
            means = reduced.means[support]
            intercept = reduced.level - means @ solution.coef[support]
            noise, covariance = uncertainty.noise_and_covariance(data, solution)
            stds = uncertainty.standard_deviations(data, support, noise, covariance)
            return FittedState(
                solution_=solution,
                columns=inputs.columns,
                has_intercept=data.intercept,
                coef_=np.ascontiguousarray(solution.coef.T),  # of several targets, one a row
                means_=means,
                level=reduced.level,
                intercept_=intercept if data.multi_target else float(intercept),
                noise_=noise,
                covariance_=covariance,
                coef_std_=stds[0],
                intercept_std_=stds[1],
                n_rows_=data.rows,
                criteria_=data.criteria(self._full_variance(data, solution)),
                losses=data.losses(solution),
                totals=data.totals,
                attributes={
                    **fit.attributes,
                    **({} if names is None else {"target_names_": names}),
                    **certified(data, solution, self.certify),
                },
                warnings_=tuple(data.warnings),
                rows=inputs.rows,
                note=inputs.note,
                loo=fit.loo,
                notes=(*fit.notes, *target_notes(data, inputs.columns)),
            )
        except DependentColumnsError as error:
            included = [inputs.columns.feature(j) for j in error.columns if j in data.include]
            raise indistinguishable(included) from error

    def _full_variance(self, data: Data, solution: Solution) -> float | None:
        """s², the residual variance with all features, if the path has met that model."""
        if not solution.least_squares or solution.ridge or data.saturates:
            return None
        path = solution.path
        met = path.losses[path.n_columns == data.candidates].tolist()
        if not met:
            return None
        left = data.rows - data.candidates - data.intercept
        return 0.0 if data.is_exact(min(met)) else min(met) / left

    def _path_columns(self) -> dict[str, Array]:
        """The columns of `path_`, by name."""
        return path_columns(self._state_)


@cache
def parameter_names(kind: Any) -> tuple[str, ...]:
    """The parameters of an estimator, by name, sorted as in scikit-learn."""
    return tuple(sorted(field.name for field in fields(kind) if field.init))


def check_parameters(estimator: Any) -> None:
    """Check types and ranges of the parameters, unless scikit-learn is configured not to."""
    if not get_config()["skip_parameter_validation"]:
        estimator._validate_params()


def certified(data: Data, solution: Solution, certify: bool | float) -> dict[str, Any]:
    """The certificate, or why there is none, if one is asked for and there is anything to tell."""
    is_whole = solution.stop is not Stop.INTERRUPTED
    if certify is False or not (solution.support.size and data.total > 0 and is_whole):
        return {}
    seconds = SEARCH_SECONDS if certify is True else check_number(certify, "certify")
    limits = {"swaps": True, "time_limit": seconds}
    try:
        return {"certificate_": data.run(solution.certificate, **limits)}
    except InputError as error:
        return {"uncertified_": str(error)}


def path_columns(state: FittedState) -> dict[str, Array]:
    """The columns of the path that all linear estimators have, by name."""
    solution, criteria = state.solution_, state.criteria_
    path, total = solution.path, criteria.total
    rss = np.where(criteria.is_exact(path.losses), 0.0, path.losses)
    features = (", ".join(map(state.columns.feature, step.columns)) for step in path)
    columns = {
        "step": np.arange(len(rss)),
        "action": np.array(["start", *(step.action for step in path)], object),
        "feature": np.array([None, *features], object),
        "size": path.n_columns,
        "rss": rss,
        "r2": 1 - np.minimum(rss / total, 1) if total > 0 else np.ones_like(rss),
    }
    if solution.counts_features:
        columns |= {name: np.asarray(criteria[name].value(rss, path.dfs)) for name in BY_LOSS}
    return columns


def indistinguishable(names: Iterable[str]) -> InputError:
    """Included features that can't be in one model with the other included ones."""
    wrong = f"{listing(names)} can't be told from the other included features (constant, or a "
    wrong += "combination of them): take out of "
    return InputError((wrong, Parameter("include"), " what says nothing new."))
