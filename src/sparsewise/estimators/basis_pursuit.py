"""Basis pursuit as an estimator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from sparsewise.algorithms import bp_ard, bp_candes, bpdn, fista, focuss, forward, ista, l1_path
from sparsewise.errors import InputError
from sparsewise.estimators.base import SparseRegressor
from sparsewise.results import L1Solution, Solution
from sparsewise.selection.data import Data
from sparsewise.selection.residual_variance import inferred_variance

REWEIGHTED = ("candes", "ard", "focuss")
PROXIMAL = ("ista", "fista")


class BasisPursuitRegressor(SparseRegressor):
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
    debias : bool
        Whether to refit the chosen features by least squares. Coefficients are shrunk otherwise,
        and have no standard errors.
    solver : {"auto", "homotopy", "conic", "ista", "fista"}
        "homotopy" is exact, and what "auto" stands for; "conic" is Clarabel (extra ``conic``);
        "ista" and "fista" are for a `penalty`, by products with X alone.
    fit_intercept : bool
        Whether the model has a constant.
    standardize : bool
        Whether a coefficient costs as one of a feature of unit norm would, so that units don't
        matter. ("candes", "ard" and "focuss" do so in any case.) `coef_` is in the features' own
        units either way.
    include, exclude : list of str or int, optional
        Features whose coefficients cost nothing, and that must not be in the model, by name or
        column.
    certify : bool or float
        Whether to ask if no other features, as many, fit better, and for how many seconds (True: 1)
        an exact search may try to tell where a bound doesn't.

    Attributes
    ----------
    coef_ : ndarray of shape (m,)
        Coefficients, zero for features that were not chosen.
    intercept_ : float
        The constant.
    residual_ : float or None
        The bound used.
    path_ : data frame
        Every step: action, feature, size, RSS and criteria.
    noise_ : float or None
        Standard deviation of the residual; None where no row is left to tell it.
    covariance_, coef_std_, intercept_std_
        As for `StepwiseRegressor` with ``debias=True``; None otherwise.
    solution_ : L1Solution
        What the algorithm returned, with the dual vector that proves it.
    certificate_ : Certificate
        With `certify`, if any feature was chosen.
    means_ : ndarray of shape (k,)
        Means of the chosen features.
    n_rows_ : float
        The sum of the weights.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsewise import BasisPursuitRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> BasisPursuitRegressor("ard").fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's3', 's5']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SparseRegressor._parameter_constraints,
        "weights": [StrOptions(set(REWEIGHTED)), "array-like", None],
        "residual": [Interval(Real, 0, None, closed="left"), None],
        "penalty": [Interval(Real, 0, None, closed="left"), None],
        "debias": ["boolean"],
        "solver": [StrOptions({"auto", "homotopy", "conic", *PROXIMAL})],
    }

    def __init__(
        self,
        weights: str | ArrayLike | None = None,
        *,
        residual: float | None = None,
        penalty: float | None = None,
        debias: bool = False,
        solver: str = "auto",
        fit_intercept: bool = True,
        standardize: bool = True,
        include: Sequence[int | str] | None = None,
        exclude: Sequence[int | str] | None = None,
        certify: bool | float = False,
    ) -> None:
        self.weights = weights
        self.residual = residual
        self.penalty = penalty
        self.debias = debias
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.include = include
        self.exclude = exclude
        self.certify = certify

    def _solve(self, data: Data) -> Solution:
        self._check_words()
        A, y = data.design, data.target
        self.residual_ = None if self.penalty is not None else self._bound(data)
        words: dict[str, Any] = {"debias": self.debias, **data.wishes}
        if self.penalty is not None:
            return self._penalised(data, float(self.penalty), words)
        words["residual"] = self.residual_
        if isinstance(self.weights, str):
            return self._reweighted(data, words)
        return bpdn(A, y, weights=self._costs(data), solver=self._exact_solver(), **words)

    def _reweighted(self, data: Data, words: dict[str, Any]) -> Solution:
        A, y = data.design, data.target
        if self.weights == "focuss":
            return focuss(A, y, **words)
        if self.weights == "candes":
            return bp_candes(A, y, solver=self._exact_solver(), **words)
        # The noise of each row.
        sigma = self.residual_ / math.sqrt(data.rows) if self.residual_ else None
        return bp_ard(A, y, sigma=sigma, solver=self._exact_solver(), **words)

    def _penalised(self, data: Data, penalty: float, words: dict[str, Any]) -> L1Solution:
        A, y, costs = data.design, data.target, self._costs(data)
        if self.solver in PROXIMAL:
            run = {"ista": ista, "fista": fista}[self.solver]
            return run(A, y, penalty=penalty, weights=costs, **words)
        if self.solver == "conic":
            raise InputError('solver="conic" takes a bound on the residual, not a penalty.')
        path = l1_path(A, y, penalty=penalty, weights=costs, **data.wishes)
        return refitted(data, path) if self.debias else path

    def _bound(self, data: Data) -> float:
        if self.residual is not None:
            return float(self.residual)
        return math.sqrt(inferred_variance(data) * data.rows)

    def _costs(self, data: Data) -> ArrayLike | None:
        """What each coefficient costs, for the features as they are."""
        norms = data.design.norms() if self.standardize else None
        if self.weights is None or isinstance(self.weights, str):
            return norms
        try:
            costs = np.asarray(self.weights, float)
        except (TypeError, ValueError):
            raise InputError("weights must be numbers, one for each feature.") from None
        if costs.shape != (data.X.shape[1],):
            raise InputError(
                f"weights must hold one number for each of {data.X.shape[1]} features, but their "
                f"shape is {costs.shape}."
            )
        if (bad := np.flatnonzero(~(costs >= 0))).size:
            raise InputError(
                f"weights must be at least 0, but weights[{bad[0]}] is {costs[bad[0]]:g}; infinity "
                "bars a feature."
            )
        return costs if norms is None else np.where(np.isinf(costs), costs, costs * norms)

    def _exact_solver(self) -> Any:
        if self.solver in PROXIMAL:
            raise InputError(f'solver="{self.solver}" takes a penalty, not a bound.')
        return self.solver

    def _check_words(self) -> None:
        if isinstance(self.weights, str) and self.weights == "focuss" and self.solver != "auto":
            raise InputError(
                f'weights="focuss" solves in its own way: leave out solver="{self.solver}".'
            )
        if self.penalty is None:
            return
        if self.residual is not None:
            raise InputError("residual and penalty both say how close to fit: give one of them.")
        if isinstance(self.weights, str):
            raise InputError(f'weights="{self.weights}" take a residual, not a penalty.')


def refitted(data: Data, solution: L1Solution) -> L1Solution:
    """The same features, with the coefficients of least squares."""
    k = solution.support.size
    fit = forward(data.design, data.target, sparsity=k, include=solution.support)
    changed = {"coef": fit.coef, "residual_norm": fit.residual_norm}
    flags = {"least_squares": True, "debiased": True}
    return type(solution)(**{**vars(solution), **changed, **flags})
