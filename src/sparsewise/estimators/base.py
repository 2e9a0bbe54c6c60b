"""What all linear estimators share: a table goes in, a sparse model in its own units comes out."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    check_is_fitted,
    validate_data,
)

from sparsewise._typing import Array
from sparsewise._util.parameters import check_number
from sparsewise._util.predictive_std import shares, typical
from sparsewise._util.text import listing
from sparsewise.algorithms import ALGORITHMS, Algorithm
from sparsewise.criteria.information import BY_LOSS
from sparsewise.design.choose import is_dask_array
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.available import Available
from sparsewise.estimators.frames import Frame, as_frame, wanted_kind
from sparsewise.estimators.inputs import ACCEPTED, Intake
from sparsewise.estimators.prediction import Exact, Predictor
from sparsewise.estimators.state import in_precision, reset_on_failure, rollback_on_error
from sparsewise.model_selection.data import Data
from sparsewise.problem.problem import DependentColumnsError
from sparsewise.results import Solution, Stop
from sparsewise.results.solution import UncertainSolution
from sparsewise.suffstats.dask_collections import (
    by_rows,
    is_dask,
)

if TYPE_CHECKING:
    from sparsewise.summary import Summary

LIKE_LASSO = "l1"
"""The ``penalty`` by which scikit-learn's `SelectFromModel` knows models whose zeros count.

It keeps coefficients of at least 1e-5 of these, of others those above the mean.
"""

SEARCH_SECONDS = 1.0
"""What ``certify=True`` allows an exact search, where the bound does not decide."""


# scikit-learn ships no types: its base classes are Any to the checker.
@dataclass(kw_only=True, eq=False, repr=False)
class SparseLinearModel(SelectorMixin, RegressorMixin, Intake):  # type: ignore[misc]
    """A linear model of few features; a selector of these, too.

    As a selector (`transform`, `get_support`, `get_feature_names_out`) it keeps what it has chosen,
    in a pipeline, say, and needs no `sklearn.feature_selection.SelectFromModel`: that looks at the
    size of coefficients, which depends on the units of features, and keeps those of at least 1e-5.
    With a `BasisPursuitRegressor`, whose `penalty` is a number, or for smaller coefficients, give
    it a threshold of 1e-300, say, to keep all that are not zero.

    Subclasses say how it is found (`_solve`). What `fit` finds has a name that ends in an
    underscore, public or not, and is forgotten at the next one: if that fails, nothing is left. It
    has the precision of X, unless a number is beyond its range.

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
    path_ : data frame
        Every step: action, feature, size, RSS, and what the models are worth.
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

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Add the attributes that all have to the documentation of a subclass."""
        super().__init_subclass__(**kwargs)
        if cls.__doc__:
            common = (inspect.getdoc(SparseLinearModel) or "").partition("\n----------\n")[2]
            own = inspect.cleandoc(cls.__doc__)
            cls.__doc__ = own.replace("\n\nExamples\n", f"\n{common}\n\nExamples\n")

    @classmethod
    def from_algorithm(cls, record: Algorithm, **parameters: Any) -> Self:
        """The estimator that runs an algorithm; here, by its name."""
        return cls(**{"algorithm": record.name, **parameters})

    @abstractmethod
    def _solve(self, data: Data) -> Solution:
        """The model, with the features as columns."""

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

        Returns
        -------
        estimator
            The estimator itself.
        """
        with reset_on_failure(self):
            self._check_settings()
            self._fit(self._data(X, y, sample_weight))
        return self

    @partial(Available, unless="_needs_rows")
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
        fit to a table keeps no rows, and they begin anew. A call that fails changes nothing.

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
            self._check_settings()
            self._fit(self._more_data(X, y, sample_weight, fold))
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
        check_is_fitted(self)
        if return_std and (self.noise_ is None or self.covariance_ is None):
            raise self._no_std()
        if is_dask(X):
            return self._predict_afar(X, return_std)
        self._check_real(X)
        rows: Any = validate_data(self, X, reset=False, **ACCEPTED)
        chosen = self.solution_.support
        mean, std = self._predictor(rows.dtype).expected(rows, chosen, return_std)
        return (mean, std) if return_std else mean

    def _predict_afar(self, X: Any, return_std: bool) -> Any:
        """The same of a Dask collection, for Dask to compute when it is asked to."""
        array = self._alike(X)
        predictor, chosen = self._predictor(array.dtype), self.solution_.support
        wanted = [predictor.mean, predictor.std] if return_std else [predictor.mean]
        each = self.coef_.shape[:-1]
        lazy = [by_rows(one, array, chosen, predictor.dtype, each) for one in wanted]
        return tuple(lazy) if return_std else lazy[0]

    def _predictor(self, dtype: np.dtype[Any]) -> Predictor:
        """What predictions of rows in this precision are made of."""
        coef = self.solution_.coef[self.solution_.support].astype(np.float64)
        level = self.fit_intercept / self.n_rows_
        return Predictor(coef, self._exact_, level, np.result_type(dtype, self.coef_.dtype))

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
        check_is_fitted(self)
        self._alike(X)
        chosen = self.solution_.support
        return X[:, chosen] if is_dask_array(X) else X[[X.columns[j] for j in chosen]]

    def summary(self) -> Summary:
        """The model as a table: text where printed, HTML in a notebook."""
        from sparsewise.estimators.describe import describe
        from sparsewise.summary import Summary

        check_is_fitted(self)
        return Summary.of(describe(self))

    @property
    def path_(self) -> Frame:
        """Every step: what it did and where that led, as a data frame.

        Columns: step, action, feature, size, rss, r2; for least squares and basis pursuit, whose
        degrees of freedom are their features, the criteria (see `sparsewise.criteria.Criteria`;
        loo is the mean squared error of each row predicted without it, None where rows were
        condensed; cp takes the noise of all features, which but a `StepwiseRegressor` knows only if
        the path has met that model); log_evidence for Bayesian models, at the final σ in every
        step. A frame of the kind that `set_output` asks for; otherwise a pandas frame if X was one,
        else a Polars frame.
        """
        check_is_fitted(self)
        kind = wanted_kind(self) or self._frame
        if getattr(self, "_path_", (None,))[0] != kind:
            self._path_ = kind, as_frame(self._path_columns(), kind)
        return self._path_[1]

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, bool)
        mask[self.solution_.support] = True
        return mask

    def __getstate__(self) -> dict[str, Any]:
        # A copy or a pickle holds no table, and makes its own frame of the path.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_data_", "_path_")}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = self._one_target is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # Reading its own signature again takes scikit-learn as long as we take for a small fit.
        return super()._get_param_names()

    # ------------------------------------------------------------------ from data to a model

    def _check_settings(self) -> None:
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()

    def _fit(self, data: Data) -> None:
        """Solve, and set all fitted attributes."""
        try:
            self.solution_ = self._solve(data)
            self._keep(data)
            self.warnings_ = tuple(data.warnings)
        except DependentColumnsError as error:
            names = [self._name(j) for j in error.columns if j in data.include]
            raise indistinguishable(names) from error

    def _keep(self, data: Data) -> None:
        """Set all fitted attributes."""
        solution, support, reduced = self.solution_, self.solution_.support, data.reduced
        self.coef_ = np.ascontiguousarray(solution.coef.T)  # of several targets, one a row
        means, level = reduced.means[support], reduced.level
        intercept = level - means @ solution.coef[support]
        intercept = intercept if data.multi_target else float(intercept)
        noise, covariance = _noise_and_covariance(data, solution)
        self._exact_ = Exact(means, level, intercept, noise, covariance)
        self.n_rows_ = data.rows
        single = partial(in_precision, self.coef_.dtype)
        self.means_, self.intercept_ = single(means), single(intercept)
        self.noise_, self.covariance_ = single(noise), single(covariance)
        self.coef_std_, self.intercept_std_ = map(single, self._spread())
        self._losses_, self._totals_ = data.losses(solution), data.totals
        self.criteria_ = data.criteria(self._full_variance(data))
        is_whole = solution.stop is not Stop.INTERRUPTED
        if self.certify is not False and support.size and data.total > 0 and is_whole:
            seconds = (
                SEARCH_SECONDS if self.certify is True else check_number(self.certify, "certify")
            )
            self._certify(data, seconds)

    def _full_variance(self, data: Data) -> float | None:
        """s², the residual variance with all features, if the path has met that model."""
        if not self.solution_.least_squares or data.saturates:
            return None
        path = self.solution_.path
        met = path.losses[path.n_columns == data.candidates].tolist()
        if not met:
            return None
        left = data.rows - data.candidates - data.intercept
        return 0.0 if data.is_exact(min(met)) else min(met) / left

    def _certify(self, data: Data, seconds: float) -> None:
        try:
            self.certificate_ = self.solution_.certificate(
                data.design,
                data.target,
                swaps=True,
                time_limit=seconds,
                include=data.include,
                exclude=data.exclude,
            )
        except InputError as error:
            self.uncertified_ = str(error)

    def _spread(self) -> tuple[Any, Any]:
        """Standard deviations of the coefficients and the intercept, where they are known.

        The mean of the target and the coefficients are independent given the noise, and the
        intercept is their difference: σ²/n + x̄ᵀΣx̄.
        """
        means, _, _, noise, covariance = self._exact_
        if covariance is None or noise is None:
            return None, None
        of_coef = np.zeros(self.n_features_in_)
        of_coef[self.solution_.support] = np.sqrt(np.diagonal(covariance))
        shift = max(float(means @ covariance @ means), 0.0)
        of_intercept = math.sqrt(typical(noise) ** 2 / self.n_rows_ + shift)
        if not np.ndim(noise):
            return of_coef, of_intercept if self.fit_intercept else None
        of_each = shares(noise)
        return np.outer(of_each, of_coef), of_intercept * of_each if self.fit_intercept else None

    @property
    def _out_of_range(self) -> bool:
        """Whether standard deviations are unknown for their size alone."""
        has_some = self.solution_.least_squares or self.solution_.posterior is not None
        return has_some and self.noise_ is not None and self.covariance_ is None

    def _no_std(self) -> InputError:
        """Why there are no standard deviations."""
        if self._out_of_range:
            return InputError(f"There are no standard deviations: {OUT_OF_RANGE}.")
        if self.solution_.least_squares:
            return InputError(
                "There are no more rows than coefficients, so that nothing tells the noise: "
                "standard deviations need more rows, or fewer features."
            )
        wrong = "The coefficients are shrunk, and have no standard deviations: use "
        stepwise, bayesian = Parameter("StepwiseRegressor"), Parameter("SparseBayesRegressor")
        use = Parameter("debias", True), ", ", stepwise, " or ", bayesian, " for these."
        return InputError((wrong, *use))

    def _path_columns(self) -> dict[str, list[Any]]:
        """The columns of `path_`, by name."""
        path, total = self.solution_.path, self.criteria_.total
        rss = np.where(self.criteria_.is_exact(path.losses), 0.0, path.losses)
        columns: dict[str, list[Any]] = {
            "step": list(range(len(rss))),
            "action": ["start", *(step.action for step in path)],
            "feature": [None, *(", ".join(map(self._name, step.columns)) for step in path)],
            "size": path.n_columns.tolist(),
            "rss": rss.tolist(),
            "r2": (1 - np.minimum(rss / total, 1) if total > 0 else np.ones_like(rss)).tolist(),
        }
        if self.solution_.counts_features:
            for name in BY_LOSS:
                columns[name] = known(self.criteria_[name].value(rss, path.dfs))
        return columns


def alone(algorithm: str) -> str | None:
    """That an algorithm takes one target only, if it does: for `Intake._one_target`."""
    record = ALGORITHMS.get(algorithm)  # a wrong name is refused elsewhere
    return None if record is None or record.multi_target else f"{algorithm} takes"


def known(values: Iterable[float]) -> list[float | None]:
    """The values, None for NaN."""
    return [None if math.isnan(value) else float(value) for value in values]


def indistinguishable(names: Iterable[str]) -> InputError:
    """Included features that can't be in one model with the other included ones."""
    wrong = f"{listing(names)} can't be told from the other included features (constant, or a "
    wrong += "combination of them): take out of "
    return InputError((wrong, Parameter("include"), " what says nothing new."))


OUT_OF_RANGE = "their squares are too large or too small for numbers, so use other units"


def _noise_and_covariance(data: Data, solution: Solution) -> tuple[Any, Array | None]:
    """Standard deviation of the noise, covariance of the chosen coefficients; None if unknown.

    It is as good as unknown where units are such that their squares are no numbers. Several targets
    have a noise each, and the covariance is that of one with the typical noise.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        noise, covariance = _estimated(data, solution)
        if noise is None or covariance is None:
            return noise, None
        means, variances = data.reduced.means[solution.support], np.diagonal(covariance)
        is_told = np.isfinite(covariance).all() and np.isfinite(means @ covariance @ means)
        is_told &= not np.any(noise) or bool((variances >= np.finfo(covariance.dtype).tiny).all())
    return noise, covariance if is_told else None


def _estimated(data: Data, solution: Solution) -> tuple[Any, Array | None]:
    """Both from the posterior, or from the squared residuals."""
    if isinstance(solution, UncertainSolution):
        if not data.multi_target:
            return solution.posterior
        noise = solution.each_sigma.copy()
        return noise, solution.covariance * (typical(noise) / (solution.sigma or 1.0)) ** 2
    support = solution.support
    left = data.rows - support.size - data.intercept
    if left <= 0:
        return None, None
    exact = data.design.tolerances.exact
    noise = np.array(
        [
            0.0 if loss <= exact * total else math.sqrt(loss / left)
            for loss, total in zip(data.losses(solution), data.totals, strict=True)
        ]
    )
    covariance = _covariance(data, support, typical(noise)) if solution.least_squares else None
    return noise if data.multi_target else noise[0].item(), covariance


def _covariance(data: Data, support: Array, noise: float) -> Array:
    """σ² (A_S*A_S)⁻¹, by QR of unit columns."""
    columns, R = data.triangle(support)
    root = np.linalg.solve(R, np.eye(support.size)) * noise / data.design.norms()[columns, None]
    root = root[np.argsort(columns)]
    return np.asarray(root @ root.T)
