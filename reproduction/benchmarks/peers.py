"""How the peers are called, but for those of ℓ1, and how their answers are read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.benchmarks.answers import (
    Answer,
    Run,
    peer,
    predicted,
    refitted,
    with_criterion,
    with_evidence,
    within_bound,
)
from reproduction.benchmarks.problems import DELTA, Points, Problem, Table

# --- yardsticks


@peer("k GEMVs")
def gemvs(problem: Problem) -> Run:
    """k products Aᵀv: what k steps cost that look at every column once, and do nothing else.

    All k are one call, so that the yardstick is as exposed to noise as what it is held against.
    """
    return _gemvs(problem, problem.sparsity)


@peer("1,000 GEMVs")
def thousand_gemvs(problem: Problem) -> Run:
    """1,000 products Aᵀv, in one call, too."""
    return _gemvs(problem, 1000)


def _gemvs(problem: Problem, count: int) -> Run:
    transposed = problem.A.T

    def call() -> None:
        for _ in range(count):
            transposed @ problem.y

    return Run(call=call, answer=lambda _: None)


@peer("numpy lstsq")
def lstsq(problem: Problem) -> Run:
    """numpy.linalg.lstsq on all columns."""
    return Run(
        call=lambda: np.linalg.lstsq(problem.A, problem.y, rcond=None),
        answer=lambda _: replace(
            refitted(problem, np.arange(problem.A.shape[1])),
            recovered=None,  # nothing was chosen
        ),
    )


# --- greedy


@peer("SPAMS OMP")
def spams_omp(problem: Problem) -> Run:
    """SPAMS (C++), k steps. It is called OMP, but it scores like Forward Regression (ORMP)."""
    import spams

    if not problem.A.flags.f_contiguous:
        raise ValueError("SPAMS takes Fortran-ordered arrays only")
    target = np.asfortranarray(problem.y[:, None])
    k = problem.sparsity
    return Run(
        call=lambda: spams.omp(target, problem.A, L=k, eps=0.0, numThreads=1),
        answer=lambda coef: refitted(problem, coef.indices),
    )


@peer("scikit-learn OMP")
def sklearn_omp(problem: Problem) -> Run:
    """scikit-learn's orthogonal_mp, k steps; precompute=True is slower on one target."""
    from sklearn.linear_model import orthogonal_mp

    k = problem.sparsity
    return Run(
        call=lambda: orthogonal_mp(problem.A, problem.y, n_nonzero_coefs=k),
        answer=lambda coef: refitted(problem, np.flatnonzero(coef)),
    )


@peer("fastcan")
def fastcan(problem: Problem) -> Run:
    """FastCan, k steps by h-correlation; eta-cosine, its other method, refuses n < m + 1."""
    from fastcan import FastCan

    n, m = problem.A.shape
    k = problem.sparsity
    eta = n >= m + 1
    return Run(
        call=lambda: FastCan(k, eta=eta, verbose=0).fit(problem.A, problem.y),
        answer=lambda selector: refitted(problem, selector.indices_),
    )


@peer("abess")
def abess(problem: Problem) -> Run:
    """Best-subset splicing of abess at support size k.

    Its splicing stops at an absolute threshold, so that on a target of norm one it returns its
    starting guess, the k largest correlations. A target scaled up lets it do its work.
    """
    from abess.linear import LinearRegression

    target = 1e3 * problem.y
    k = problem.sparsity
    return Run(
        call=lambda: LinearRegression(support_size=k, fit_intercept=False).fit(problem.A, target),
        answer=lambda model: refitted(problem, np.flatnonzero(model.coef_)),
    )


@peer("pysindy FROLS")
def frols(problem: Problem) -> Run:
    """Forward Regression (FROLS) of pysindy.

    `max_iter=k` is the least that returns k features. The last model of its history is read:
    which one lands in `coef_` hangs on the smallest error reduction, not on the last step.
    """
    from pysindy.optimizers import FROLS

    target = problem.y[:, None]
    k = problem.sparsity
    return Run(
        call=lambda: FROLS(max_iter=k, alpha=1e-12, unbias=False).fit(problem.A, target),
        answer=lambda model: refitted(problem, np.flatnonzero(model.history_[-1])),
    )


@peer("scikit-learn SelectKBest")
def sklearn_best(problem: Problem) -> Run:
    """scikit-learn's SelectKBest: the k features of largest correlation, as `oblivious` does."""
    from sklearn.feature_selection import SelectKBest, f_regression

    k = problem.sparsity
    return Run(
        call=lambda: SelectKBest(f_regression, k=k).fit(problem.A, problem.y),
        answer=lambda selector: refitted(problem, selector.get_support(indices=True)),
    )


@peer("PyLops MP")
def pylops_mp(problem: Problem) -> Run:
    """Matching Pursuit of PyLops: its OMP without inner iterations."""
    from pylops import MatrixMult
    from pylops.optimization.sparsity import omp

    operator = MatrixMult(problem.A)
    words = {"niter_outer": 10_000, "niter_inner": 0, "sigma": DELTA}
    return Run(
        call=lambda: omp(operator, problem.y, **words),
        answer=lambda found: within_bound(problem, found[0]),
    )


@peer("abess, by BIC")
def abess_bic(problem: Problem) -> Run:
    """abess with the support size chosen by the BIC, too; scaled up as above."""
    from abess.linear import LinearRegression

    target = 1e3 * problem.y
    sizes = range(problem.A.shape[1] + 1)
    words = {"support_size": sizes, "ic_type": "bic", "fit_intercept": False}

    def answer(model: Any) -> Answer:
        return with_criterion(problem, refitted(problem, np.flatnonzero(model.coef_)))

    return Run(call=lambda: LinearRegression(**words).fit(problem.A, target), answer=answer)


@peer("abess, told nothing")
def abess_told_nothing(problem: Problem) -> Run:
    """abess as it comes, its own criterion choosing the support size; scaled up as above."""
    from abess.linear import LinearRegression

    target = 1e3 * problem.y
    return Run(
        call=lambda: LinearRegression(fit_intercept=False).fit(problem.A, target),
        answer=lambda model: refitted(problem, np.flatnonzero(model.coef_)),
    )


def _ssr(problem: Problem, criteria: str) -> Run:
    """Stepwise Sparse Regression of pysindy from all columns down to one, without its ridge.

    The models are read from its history, whose first entry it overwrites.
    """
    from pysindy.optimizers import SSR

    m, target = problem.A.shape[1], problem.y[:, None]
    words = {"alpha": 0.0, "max_iter": m - 1, "criteria": criteria, "unbias": False}

    def answer(model: Any) -> Answer:
        supports = [np.flatnonzero(coef) for coef in model.history_[1:]]
        return refitted(problem, next(s for s in supports if s.size == problem.sparsity))

    return Run(call=lambda: SSR(**words).fit(problem.A, target), answer=answer)


@peer("pysindy SSR, by residual")
def ssr_residual(problem: Problem) -> Run:
    """Drop the column that raises the residual least: Backward Regression."""
    return _ssr(problem, "model_residual")


@peer("pysindy SSR, by coefficient")
def ssr_coefficient(problem: Problem) -> Run:
    """Drop the column of smallest coefficient; the columns have unit norm, so this is LACE."""
    return _ssr(problem, "coefficient_value")


# --- Sparse Bayesian Learning


@peer("scikit-learn ARDRegression")
def sklearn_ard(problem: Problem) -> Run:
    """scikit-learn's ARDRegression as it comes, but without an intercept.

    It infers the noise, which it cannot be told. Its prior variances are judged at the noise
    that the others are told; where it finds the same support, that says little.
    """
    from sklearn.linear_model import ARDRegression

    def answer(model: Any) -> Answer:
        chosen = model.coef_ != 0
        gamma = np.divide(1.0, model.lambda_, where=chosen, out=np.zeros(chosen.size))
        return with_evidence(problem, refitted(problem, np.flatnonzero(chosen)), gamma)

    return Run(
        call=lambda: ARDRegression(fit_intercept=False).fit(problem.A, problem.y), answer=answer
    )


@peer("sklearn-rvm EMRVR")
def emrvr(points: Points) -> Run:
    """EMRVR of sklearn-rvm as it comes: MacKay's updates of all prior variances and the noise.

    Its kernel is exp(-gamma ‖x - x'‖²). `fit` returns None, not the model, and overwrites
    parameters, so that each call needs a new one.
    """
    from sklearn_rvm import EMRVR

    def call() -> Any:
        model = EMRVR(kernel="rbf", gamma=0.5 / points.length_scale**2)
        model.fit(points.X, points.y)
        return model

    return Run(
        call=call, answer=lambda model: predicted(points, np.sort(model.relevance_), model.predict)
    )


# --- tables


def _sfs(table: Table, count: Any) -> Run:
    """SequentialFeatureSelector, then least squares on its choice, off the clock.

    cv=5 means the same five blocks of rows as for us. Each candidate of each step is fitted in each
    fold: it chooses features by their errors there, where we choose the number of features only.
    """
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import LinearRegression

    def call() -> Any:
        selector = SequentialFeatureSelector(
            LinearRegression(), n_features_to_select=count, cv=5, n_jobs=1
        )
        return selector.fit(table.X, table.y)

    def answer(selector: Any) -> Answer:
        chosen = selector.get_support(indices=True)
        model = LinearRegression().fit(table.X[:, chosen], table.y)
        return predicted(table, chosen, lambda X: model.predict(X[:, chosen]))

    return Run(call=call, answer=answer)


@peer("scikit-learn SequentialFeatureSelector")
def sfs_as_it_comes(table: Table) -> Run:
    """Half of the features, which is what "auto" means without a tolerance."""
    return _sfs(table, "auto")


@peer("SequentialFeatureSelector, told the number")
def sfs_told(table: Table) -> Run:
    """Told the true number: easier than finding it, as we do."""
    assert table.truth is not None
    return _sfs(table, table.truth.size)


ARRAY = "the array"
GEMVS = "k GEMVs"
THOUSAND = "1,000 GEMVs"
LSTSQ = "numpy lstsq"

YARDSTICKS = (ARRAY, GEMVS, THOUSAND, LSTSQ)
