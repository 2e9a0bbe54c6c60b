"""How the peers are called, but for those of ℓ1, and how their answers are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from reproduction.benchmarks.answers import (
    Answer,
    first,
    itself,
    peer,
    predicted,
    refitted,
    with_criterion,
    with_evidence,
    within_bound,
)  # fmt: skip
from reproduction.benchmarks.problems import DELTA, Points, Problem, Table
from reproduction.peers import ABESS_SCALE

Call = Callable[[], Any]

ARRAY, GEMVS, THOUSAND, LSTSQ = "the array", "k GEMVs", "1,000 GEMVs", "numpy lstsq"
YARDSTICKS = (ARRAY, GEMVS, THOUSAND, LSTSQ)

# --- yardsticks


def no_answer(problem: Problem, found: Any) -> None:
    """Nothing was solved."""


@peer(GEMVS, no_answer, itself)
def gemvs(problem: Problem, count: int | None = None) -> Call:
    """k products Aᵀv: what k steps cost that look at every column once, and do nothing else.

    All k are one call, so that the yardstick is as exposed to noise as what it is held against.
    """
    transposed = problem.A.T

    def call() -> None:
        for _ in range(count or problem.sparsity):
            transposed @ problem.y

    return call


@peer(THOUSAND, no_answer, itself)
def thousand_gemvs(problem: Problem) -> Call:
    """1,000 products Aᵀv, in one call, too."""
    return gemvs(problem, 1000)


def of_all_columns(problem: Problem, found: Any) -> Answer:
    """Nothing was chosen."""
    return replace(refitted(problem, np.arange(problem.A.shape[1])), recovered=None)


@peer(LSTSQ, of_all_columns, itself)
def lstsq(problem: Problem) -> Call:
    """numpy.linalg.lstsq on all columns."""
    return lambda: np.linalg.lstsq(problem.A, problem.y, rcond=None)


# --- greedy


@peer("SPAMS OMP", read=attrgetter("indices"))
def spams_omp(problem: Problem) -> Call:
    """SPAMS (C++), k steps. It is called OMP, but it scores like Forward Regression (ORMP)."""
    import spams

    if not problem.A.flags.f_contiguous:
        raise ValueError("SPAMS takes Fortran-ordered arrays only")
    target, k = np.asfortranarray(problem.y[:, None]), problem.sparsity
    return lambda: spams.omp(target, problem.A, L=k, eps=0.0, numThreads=1)


@peer("scikit-learn OMP")
def sklearn_omp(problem: Problem) -> Call:
    """scikit-learn's orthogonal_mp, k steps; precompute=True is slower on one target."""
    from sklearn.linear_model import orthogonal_mp

    return lambda: orthogonal_mp(problem.A, problem.y, n_nonzero_coefs=problem.sparsity)


@peer("fastcan", read=attrgetter("indices_"))
def fastcan(problem: Problem) -> Call:
    """FastCan, k steps by h-correlation; eta-cosine, its other method, refuses n < m + 1."""
    from fastcan import FastCan

    n, m = problem.A.shape
    k, eta = problem.sparsity, n >= m + 1
    return lambda: FastCan(k, eta=eta, verbose=0).fit(problem.A, problem.y)


def nonzero(model: Any) -> Any:
    """The columns that a fitted model has chosen."""
    return np.flatnonzero(model.coef_)


def _abess(problem: Problem, **words: Any) -> Call:
    """Best-subset splicing of abess.

    It stops at an absolute threshold, so that on a target of norm one it returns its starting
    guess, the k largest correlations. A target scaled up lets it do its work.
    """
    from abess.linear import LinearRegression

    target = ABESS_SCALE * problem.y
    return lambda: LinearRegression(fit_intercept=False, **words).fit(problem.A, target)


@peer("abess", read=nonzero)
def abess(problem: Problem) -> Call:
    """abess at support size k."""
    return _abess(problem, support_size=problem.sparsity)


def by_bic(problem: Problem, support: Any) -> Answer:
    """Judged by the BIC."""
    return with_criterion(problem, refitted(problem, support))


@peer("abess, by BIC", by_bic, nonzero)
def abess_bic(problem: Problem) -> Call:
    """abess with the support size chosen by the BIC."""
    return _abess(problem, support_size=range(problem.A.shape[1] + 1), ic_type="bic")


@peer("abess, told nothing", read=nonzero)
def abess_told_nothing(problem: Problem) -> Call:
    """abess as it comes, its own criterion choosing the support size."""
    return _abess(problem)


@peer("pysindy FROLS", read=lambda model: np.flatnonzero(model.history_[-1]))
def frols(problem: Problem) -> Call:
    """Forward Regression (FROLS) of pysindy.

    `max_iter=k` is the least that returns k features. The last model of its history is read:
    which one lands in `coef_` hangs on the smallest error reduction, not on the last step.
    """
    from pysindy.optimizers import FROLS

    target, k = problem.y[:, None], problem.sparsity
    return lambda: FROLS(max_iter=k, alpha=1e-12, unbias=False).fit(problem.A, target)


@peer("scikit-learn SelectKBest", read=lambda selector: selector.get_support(indices=True))
def sklearn_best(problem: Problem) -> Call:
    """scikit-learn's SelectKBest: the k features of largest correlation, as `oblivious` does."""
    from sklearn.feature_selection import SelectKBest, f_regression

    return lambda: SelectKBest(f_regression, k=problem.sparsity).fit(problem.A, problem.y)


@peer("PyLops MP", within_bound, first)
def pylops_mp(problem: Problem) -> Call:
    """Matching Pursuit of PyLops: its OMP without inner iterations."""
    from pylops import MatrixMult
    from pylops.optimization.sparsity import omp

    operator = MatrixMult(problem.A)
    return lambda: omp(operator, problem.y, niter_outer=10_000, niter_inner=0, sigma=DELTA)


def of_true_size(problem: Problem, model: Any) -> Answer:
    """The model of k columns, from a history whose first entry is overwritten."""
    supports = [np.flatnonzero(coef) for coef in model.history_[1:]]
    return refitted(problem, next(s for s in supports if s.size == problem.sparsity))


def _ssr(problem: Problem, criteria: str) -> Call:
    """Stepwise Sparse Regression of pysindy from all columns down to one, without its ridge."""
    from pysindy.optimizers import SSR

    words = {"alpha": 0.0, "max_iter": problem.A.shape[1] - 1, "unbias": False}
    target = problem.y[:, None]
    return lambda: SSR(criteria=criteria, **words).fit(problem.A, target)


@peer("pysindy SSR, by residual", of_true_size, itself)
def ssr_residual(problem: Problem) -> Call:
    """Drop the column that raises the residual least: Backward Regression."""
    return _ssr(problem, "model_residual")


@peer("pysindy SSR, by coefficient", of_true_size, itself)
def ssr_coefficient(problem: Problem) -> Call:
    """Drop the column of smallest coefficient; the columns have unit norm, so this is LACE."""
    return _ssr(problem, "coefficient_value")


# --- Sparse Bayesian Learning


def by_evidence(problem: Problem, model: Any) -> Answer:
    """Prior variances are judged at the noise that the others are told."""
    chosen = model.coef_ != 0
    gamma = np.divide(1.0, model.lambda_, where=chosen, out=np.zeros(chosen.size))
    return with_evidence(problem, refitted(problem, np.flatnonzero(chosen)), gamma)


@peer("scikit-learn ARDRegression", by_evidence, itself)
def sklearn_ard(problem: Problem) -> Call:
    """scikit-learn's ARDRegression as it comes, but without an intercept.

    It infers the noise, which it cannot be told; where it finds the same support as others, its
    evidence at their noise says little.
    """
    from sklearn.linear_model import ARDRegression

    return lambda: ARDRegression(fit_intercept=False).fit(problem.A, problem.y)


def by_prediction(points: Points, model: Any) -> Answer:
    """Judged by its errors."""
    return predicted(points, np.sort(model.relevance_), model.predict)


@peer("sklearn-rvm EMRVR", by_prediction, itself)
def emrvr(points: Points) -> Call:
    """EMRVR of sklearn-rvm as it comes: MacKay's updates of all prior variances and the noise.

    Its kernel is exp(-gamma ‖x - x'‖²). `fit` returns None, not the model, and overwrites
    parameters, so that each call needs a new one.
    """
    from sklearn_rvm import EMRVR

    def call() -> Any:
        model = EMRVR(kernel="rbf", gamma=0.5 / points.length_scale**2)
        model.fit(points.X, points.y)
        return model

    return call


# --- tables


def after_least_squares(table: Table, selector: Any) -> Answer:
    """Least squares on the features chosen, off the clock."""
    from sklearn.linear_model import LinearRegression

    chosen = selector.get_support(indices=True)
    model = LinearRegression().fit(table.X[:, chosen], table.y)
    return predicted(table, chosen, lambda X: model.predict(X[:, chosen]))


@peer("scikit-learn SequentialFeatureSelector", after_least_squares, itself)
def sfs(table: Table, count: Any = "auto") -> Call:
    """SequentialFeatureSelector: half of the features, which is what "auto" means.

    cv=5 means the same five blocks of rows as for us. Each candidate of each step is fitted in each
    fold: it chooses features by their errors there, where we choose the number of features only.
    """
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import LinearRegression

    words = {"n_features_to_select": count, "cv": 5, "n_jobs": 1}
    return lambda: SequentialFeatureSelector(LinearRegression(), **words).fit(table.X, table.y)


@peer("SequentialFeatureSelector, told the number", after_least_squares, itself)
def sfs_told(table: Table) -> Call:
    """Told the true number: easier than finding it, as we do."""
    assert table.truth is not None
    return sfs(table, table.truth.size)
