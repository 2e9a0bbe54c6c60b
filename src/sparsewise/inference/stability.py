"""Stability selection with complementary pairs (Shah and Samworth 2013), of any selection."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from sparsewise._typing import Array
from sparsewise.errors import InputError, InputTypeError, InputWarning, Parameter
from sparsewise.inference.error_bounds import ErrorBound, error_bound, least_count

FEWEST_ROWS = 4
"""Two in each half."""


# scikit-learn ships no types: its base classes are Any to the checker.
@dataclass(eq=False, repr=False)
class StabilitySelection(SelectorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Features that a selection takes again and again, from halves of the rows.

    Rows are split in two halves at random, `n_pairs` times, and features are selected from each
    half. Those that were selected in a share of at least `threshold_` of all halves are taken.
    Whatever the selection, few features come in by chance: if q of p features are selected in a
    half, then of those that are no likelier to be selected than the average feature, with a
    chance of at most q/p in a half, the expected number taken is at most ``error_bound_``. Noise
    features are among these, if the selection is better than drawing lots.

    Parameters
    ----------
    estimator : estimator or callable
        The selection. An estimator that has, once fitted, ``get_support()``, or else ``coef_``
        whose entries are zero for what isn't selected, or ``support_``; a pipeline that ends with
        one; or a function of X and y that returns the selected columns, a mask of them, or
        something with a ``support``, such as ``lambda X, y: sw.forward(X, y, sparsity=5)``.
    n_pairs : int
        Pairs of halves, B. With more, frequencies have less chance in them.
    threshold : float, optional
        Share of the halves from which on a feature is taken: above 1/2, at most 1. By default the
        smallest for which the bound is at most `expected_false`.
    expected_false : float
        Features that may come in by chance, on average; where a threshold is given, it has no
        effect.
    max_features : int, optional
        q: most features of a half. Of more, those of the largest coefficients, each times the
        spread of its feature, are kept. By default there is no limit, and q is the mean over the
        halves.
    bound : {"r-concave", "worst-case"}
        Which bound chooses the threshold. "worst-case", q²/((2τ - 1) p), assumes nothing.
        "r-concave" is far lower, and holds if the frequency of such a feature has an r-concave
        distribution: one with a single peak, and tails that fall off regularly. Shah and Samworth
        find it so in all their simulations.
    n_jobs : int, optional
        Halves at a time, as in joblib.
    random_state : int, RandomState instance or None
        Draws the halves, and seeds the estimator in each: the same seed gives the same answer,
        whatever `n_jobs`.

    Attributes
    ----------
    selection_frequencies_ : ndarray of shape (p,)
        The share of halves in which each feature was selected.
    threshold_ : float
        The share from which on a feature is taken.
    n_selected_ : float
        q: `max_features`, or the mean number of features of a half.
    error_bound_ : ErrorBound
        ``worst_case`` and ``r_concave``: bounds on the expected number of features that are
        taken by chance.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsewise import StabilitySelection, StepwiseRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> stable = StabilitySelection(StepwiseRegressor(), max_features=4, random_state=0)
    >>> stable.fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's5']

    References
    ----------
    R. D. Shah and R. J. Samworth, "Variable selection with error control: another look at
    stability selection", JRSS B 75, 2013.

    N. Meinshausen and P. Bühlmann, "Stability selection", JRSS B 72, 2010.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), callable],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0.5, 1, closed="right"), None],
        "expected_false": [Interval(Real, 0, None, closed="neither")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "bound": [StrOptions({"r-concave", "worst-case"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    estimator: Any
    _: KW_ONLY
    n_pairs: int = 50
    threshold: float | None = None
    expected_false: float = 1.0
    max_features: int | None = None
    bound: str = "r-concave"
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Select features from halves of the rows, and count.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, p)
            The features.
        y : array-like of shape (n,), or (n, q) if the estimator takes several targets
            The target.

        Returns
        -------
        StabilitySelection
            The estimator itself.
        """
        self._validate_params()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", multi_output=True, ensure_min_samples=FEWEST_ROWS
        )
        n, p = X.shape
        rng = check_random_state(self.random_state)
        half = n // 2
        halves: list[Array] = []
        for _ in range(self.n_pairs):
            shuffled = rng.permutation(n)
            halves += [np.sort(shuffled[:half]), np.sort(shuffled[half : 2 * half])]
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(halves)).tolist()
        run = delayed(_selected)
        # What takes time lets other threads run; processes would copy X.
        chosen: list[Array] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            run(self.estimator, X, y, rows, seed, self.max_features)
            for rows, seed in zip(halves, seeds, strict=True)
        )
        counts = np.bincount(np.concatenate(chosen), minlength=p)
        self.selection_frequencies_ = counts / len(halves)
        mean = counts.sum() / len(halves)
        self.n_selected_ = float(mean if self.max_features is None else self.max_features)
        least = self._least_count(p)
        self.threshold_ = least / len(halves)
        self.error_bound_ = error_bound(self.n_selected_, p, least, self.n_pairs)
        return self

    def _least_count(self, features: int) -> int:
        """In how many halves a feature must be selected to be taken."""
        pairs = self.n_pairs
        if self.threshold is not None:
            return max(least_count(self.threshold, pairs), pairs + 1)
        low, high = pairs + 1, 2 * pairs
        if (least := self._bound_at(high, features)) > self.expected_false:
            warnings.warn(
                InputWarning(
                    (
                        f"With {self.n_selected_:.4g} of {features} features selected in a half, "
                        f"up to {least:.2g} are expected to come in by chance, though only those "
                        "selected in all halves are taken",
                    ),
                    ("lower ", Parameter("max_features"), "."),
                ),
                stacklevel=3,
            )
            return high
        while low < high:  # the bound falls with the threshold
            middle = (low + high) // 2
            if self._bound_at(middle, features) <= self.expected_false:
                high = middle
            else:
                low = middle + 1
        return low

    def _bound_at(self, least: int, features: int) -> float:
        bounds: ErrorBound = error_bound(self.n_selected_, features, least, self.n_pairs)
        return bounds.worst_case if self.bound == "worst-case" else bounds.r_concave

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.selection_frequencies_ >= self.threshold_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if hasattr(self.estimator, "fit"):
            inner = get_tags(self.estimator)
            tags.input_tags.sparse = inner.input_tags.sparse
            tags.target_tags.multi_output = inner.target_tags.multi_output
        return tags


def _selected(estimator: Any, X: Any, y: Array, rows: Array, seed: int, most: int | None) -> Array:
    """The columns that are selected from these rows, at most so many."""
    X, y, features = X[rows], y[rows], X.shape[1]
    if hasattr(estimator, "fit"):
        fitted = _seeded(clone(estimator), seed).fit(X, y)
        if isinstance(fitted, Pipeline):  # coefficients are of what its last step is given
            X, fitted = fitted[:-1].transform(X) if len(fitted) > 1 else X, fitted[-1]
        columns, coef = _of_estimator(fitted)
    else:
        columns, coef = _of_function(estimator, X, y)
    columns = _as_columns(columns, features)
    if most is None or columns.size <= most:
        return columns
    if coef is None:
        raise InputError(
            (
                f"selected {columns.size} features of a half, without coefficients to tell which "
                "of them to keep by ",
                Parameter("max_features", most),
            ),
            "let it select fewer.",
            parameter="estimator",
        )
    sizes = np.sqrt(np.square(np.abs(np.atleast_2d(coef)[:, columns])).sum(axis=0))
    order = np.argsort(-sizes * _spreads(X)[columns], kind="stable")
    return columns[order[:most]]


def _seeded(estimator: Any, seed: int) -> Any:
    """The estimator with all random states that it has set."""
    names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**dict.fromkeys(names, seed))


def _of_estimator(fitted: Any) -> tuple[Any, Array | None]:
    """What a fitted estimator has selected, and its coefficients if it has any."""
    coef = getattr(fitted, "coef_", None)
    if coef is not None:  # scikit-learn's `sparsify` makes it a sparse matrix
        coef = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)
    if hasattr(fitted, "get_support"):
        return fitted.get_support(), coef
    if coef is not None:
        return (np.atleast_2d(coef) != 0).any(axis=0), coef
    if hasattr(fitted, "support_"):
        return fitted.support_, None
    raise InputTypeError(
        f"must select features, but {type(fitted).__name__} has neither get_support(), coef_ nor "
        "support_ once fitted.",
        parameter="estimator",
    )


def _of_function(function: Callable[[Any, Array], Any], X: Any, y: Array) -> tuple[Any, Any]:
    """What a function has selected, and its coefficients if it tells any."""
    answer = function(X, y)
    if hasattr(answer, "support"):
        coef = getattr(answer, "coef", None)
        return answer.support, None if coef is None else np.asarray(coef).T
    return answer, None


def _as_columns(selected: Any, features: int) -> Array:
    """A mask, or column numbers, as column numbers without repeats."""
    values = np.asarray(selected)
    if values.dtype == bool and values.shape == (features,):
        return np.flatnonzero(values)
    if values.size == 0:
        return np.empty(0, np.int64)
    whole = values.ndim == 1 and values.dtype.kind in "iu"
    if whole and 0 <= values.min() <= values.max() < features:
        return np.unique(values)
    raise InputTypeError(
        f"must select by column numbers below {features}, or by a mask of that length, not "
        f"by {values.dtype} values of shape {values.shape}.",
        parameter="estimator",
    )


def _spreads(X: Any) -> Array:
    """The standard deviation of each column."""
    is_sparse: bool = issparse(X)
    if not is_sparse:
        return np.asarray(np.std(X, axis=0))
    means, squares = (np.asarray(part.mean(axis=0)).ravel() for part in (X, X.multiply(X)))
    return np.sqrt(np.maximum(squares - means * means, 0.0))
