"""How sparsewise is called: judged by the coefficients it returns, not by a refit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import sparsewise
from reproduction.benchmarks.answers import (
    Answer,
    Contender,
    Run,
    as_returned,
    fitted,
    penalised,
    predicted,
    with_criterion,
    with_evidence,
    within_bound,
)
from reproduction.benchmarks.problems import DELTA, PENALTY, SIGMA, Points, Problem, Table
from sparsewise import ALGORITHMS
from sparsewise.algorithms import Algorithm, Family

BATCH = 4  # columns that gomp takes at a time
DIABETES_FEATURES = 5
DIABETES_RESIDUAL = 1200.0  # about √(RSS) of five features


def of_size(name: str, **parameters: Any) -> Contender:
    """As many columns as are behind the data."""

    def contender(problem: Problem) -> Run:
        solve = getattr(sparsewise, name)
        return Run(
            call=lambda: solve(problem.A, problem.y, sparsity=problem.sparsity, **parameters),
            answer=lambda solution: as_returned(problem, solution),
        )

    return contender


def to_delta(name: str) -> Contender:
    """No additions of less than δ², no deletions of more: at least k additions, and the checks."""

    def contender(problem: Problem) -> Run:
        solve = getattr(sparsewise, name)
        return Run(
            call=lambda: solve(problem.A, problem.y, delta=DELTA),
            answer=lambda solution: as_returned(problem, solution),
        )

    return contender


def told_nothing(name: str) -> Contender:
    """Neither size nor noise."""

    def contender(problem: Problem) -> Run:
        solve = getattr(sparsewise, name)
        return Run(
            call=lambda: solve(problem.A, problem.y),
            answer=lambda solution: as_returned(problem, solution),
        )

    return contender


def forward_prepared(problem: Problem) -> Run:
    """The same on a dictionary that is checked and measured once, as for many targets.

    SPAMS asks for as much: unit columns in Fortran order, made by the caller, off the clock.
    """
    from sparsewise import as_design
    from sparsewise import forward as solve

    design = as_design(problem.A)
    return Run(
        call=lambda: solve(design, problem.y, sparsity=problem.sparsity),
        answer=lambda solution: as_returned(problem, solution),
    )


def mp(problem: Problem) -> Run:
    """Matching Pursuit until ‖r‖ is the tolerance; judged by its own coefficients."""
    from sparsewise import mp as solve

    return Run(
        call=lambda: solve(problem.A, problem.y, residual=DELTA),
        answer=lambda solution: within_bound(problem, solution.coef, solution.support),
    )


def stepwise(problem: Problem) -> Run:
    """Add or drop what lowers the BIC, from nothing."""
    from sparsewise import stepwise as solve

    return Run(
        call=lambda: solve(problem.A, problem.y, criterion="bic"),
        answer=lambda solution: with_criterion(problem, as_returned(problem, solution)),
    )


def down_to_one(name: str, judged_at: Callable[[Problem], int]) -> Contender:
    """From all columns down to one; judged by the model of one size on the path.

    That of all columns is the least-squares fit, which is what lstsq finds.
    """

    def contender(problem: Problem) -> Run:
        solve = getattr(sparsewise, name)
        m, size = problem.A.shape[1], judged_at(problem)

        def answer(solution: Any) -> Answer:
            if len(solution.path) != m - 1:
                raise RuntimeError(f"the path has {len(solution.path)} steps in place of {m - 1}")
            model = solution.path.at(size)
            found = replace(fitted(problem, model.coef, model.support), passes=solution.n_passes)
            return replace(found, recovered=None) if size == m else found

        return Run(call=lambda: solve(problem.A, problem.y, sparsity=1), answer=answer)

    return contender


def bayesian(name: str, **parameters: Any) -> Contender:
    """Sparse Bayesian Learning, judged by the evidence of its prior variances."""

    def contender(problem: Problem) -> Run:
        solve = getattr(sparsewise, name)
        return Run(
            call=lambda: solve(problem.A, problem.y, **parameters),
            answer=lambda found: with_evidence(problem, as_returned(problem, found), found.gamma),
        )

    return contender


# --- ℓ1


def bounded(name: str, bound: float = DELTA) -> Contender:
    """Σ|x|, or what comes close to counting, with ‖A x - y‖ <= bound."""
    parameters = {"residual": bound} if bound else {}

    def contender(problem: Problem) -> Run:
        solve = getattr(sparsewise, name)
        _compile_homotopy()
        return Run(
            call=lambda: solve(problem.A, problem.y, **parameters),
            answer=lambda found: replace(
                within_bound(problem, found.coef, found.support, bound), passes=int(found.n_passes)
            ),
        )

    return contender


def at_penalty(name: str) -> Contender:
    """½‖A x - y‖² + λ Σ|x|."""

    def contender(problem: Problem) -> Run:
        solve = getattr(sparsewise, name)
        _compile_homotopy()
        return Run(
            call=lambda: solve(problem.A, problem.y, penalty=PENALTY),
            answer=lambda found: replace(
                penalised(problem, found.coef, found.support), passes=int(found.n_passes)
            ),
        )

    return contender


def l1_path(problem: Problem) -> Run:
    """The whole path; judged where its residual is the tolerance."""
    from sparsewise import l1_path as solve

    def answer(solution: Any) -> Answer:
        model = solution.at_residual(DELTA)
        passes = int(solution.n_passes)
        return replace(within_bound(problem, model.coef, model.support), passes=passes)

    _compile_homotopy()
    return Run(call=lambda: solve(problem.A, problem.y), answer=answer)


def _compile_homotopy() -> None:
    """What takes longer to compile than the budget of a contender is compiled beforehand."""
    from sparsewise import bpdn as solve

    solve(np.eye(3), np.arange(3.0), residual=0.1)


# --- estimators, and the functions below them


def relevance_vector(points: Points) -> Run:
    """Relevance vector regression: noise inferred, an intercept."""
    from sparsewise.estimators import RelevanceVectorRegressor

    return Run(
        call=lambda: RelevanceVectorRegressor("rbf", length_scale=points.length_scale).fit(
            points.X, points.y
        ),
        answer=lambda model: predicted(points, np.sort(model.relevance_), model.predict),
    )


def estimator(name: str, *given: Any, **parameters: Any) -> Contender:
    """An estimator made and fitted, as a user would."""

    def contender(table: Table) -> Run:
        make = getattr(sparsewise, name)
        _compile_homotopy()
        return Run(
            call=lambda: make(*given, **parameters).fit(table.X, table.y),
            answer=lambda model: predicted(table, model.get_support(indices=True), model.predict),
        )

    return contender


def bare(name: str, **parameters: Any) -> Contender:
    """The function that an estimator calls, on the table without means."""

    def contender(table: Table) -> Run:
        solve, data = getattr(sparsewise, name), table.centred
        _compile_homotopy()
        return Run(
            call=lambda: solve(data.A, data.y, **parameters),
            answer=lambda found: _untold(data, found),
        )

    return contender


def _untold(data: Problem, model: Any) -> Answer:
    """The answer for a table of which nobody knows the truth."""
    return replace(fitted(data, model.coef, model.support), recovered=None)


def bare_forward(table: Table) -> Run:
    """`forward` through all sizes, and the model of least BIC."""
    from sparsewise import forward
    from sparsewise.criteria.information import Criteria

    data = table.centred
    n, m = data.A.shape

    def call() -> Any:
        path = forward(data.A, data.y, sparsity=m).path
        ric = Criteria(n, m, True, float(data.y @ data.y))["ric"]
        return path.at(int(np.argmin(ric.cost(path.losses, path.dfs))))

    return Run(call=call, answer=lambda model: _untold(data, model))


PREPARED = "forward, A prepared"
BACKWARD_K = "backward, path"
LACE_K = "lace, path"
INFERRED = "rmp, σ inferred"
MACKAY = "sbl, MacKay"
EM = "sbl, EM"
CONVEX = "sbl, convex"
CHOSEN_BY_CV = 'StepwiseRegressor("forward", criterion="cv")'
TO_PENALTY = "l1_path, to λ"
RVR = "RelevanceVectorRegressor"
STEPWISE = "StepwiseRegressor()"
SPARSE_BAYES = "SparseBayesRegressor()"
BASIS_PURSUIT = "BasisPursuitRegressor(residual=…)"
PURSUIT = 'PursuitRegressor("omp", sparsity=5)'
BARE_FORWARD = "bare forward and RIC"
BARE_RMP = "bare rmp"
BARE_BPDN = "bare bpdn"
BARE_OMP = "bare omp"


def as_usual(algorithm: Algorithm) -> Contender:
    """An algorithm as it is called unless there is more to say."""
    if algorithm.family is Family.BAYESIAN:
        return bayesian(algorithm.name, sigma=SIGMA)
    if algorithm.family is Family.SEARCH:
        return told_nothing(algorithm.name)
    if algorithm.family is Family.L1:
        return (bounded if algorithm.takes("residual") else at_penalty)(algorithm.name)
    return (of_size if algorithm.takes("sparsity") else to_delta)(algorithm.name)


CONTENDERS: Mapping[str, Contender] = {
    **{name: as_usual(algorithm) for name, algorithm in ALGORITHMS.items()},
    "best_subset": of_size("best_subset"),
    "gomp": of_size("gomp", batch=BATCH),
    "mp": mp,
    PREPARED: forward_prepared,
    "stepwise": stepwise,
    "backward": down_to_one("backward", lambda problem: problem.A.shape[1]),
    BACKWARD_K: down_to_one("backward", lambda problem: problem.sparsity),
    LACE_K: down_to_one("lace", lambda problem: problem.sparsity),
    INFERRED: bayesian("rmp"),
    MACKAY: bayesian("sbl", sigma=SIGMA, updates="mackay"),
    EM: bayesian("sbl", sigma=SIGMA, updates="em"),
    CONVEX: bayesian("sbl", sigma=SIGMA, updates="convex"),
    "bp": bounded("bp", 0.0),
    "l1_path": l1_path,
    TO_PENALTY: at_penalty("l1_path"),
    RVR: relevance_vector,
    CHOSEN_BY_CV: estimator("StepwiseRegressor", "forward", criterion="cv"),
    STEPWISE: estimator("StepwiseRegressor"),
    SPARSE_BAYES: estimator("SparseBayesRegressor"),
    BASIS_PURSUIT: estimator("BasisPursuitRegressor", residual=DIABETES_RESIDUAL),
    PURSUIT: estimator("PursuitRegressor", "omp", sparsity=DIABETES_FEATURES),
    BARE_FORWARD: bare_forward,
    BARE_RMP: bare("rmp", price=math.log(10)),
    BARE_BPDN: bare("bpdn", residual=DIABETES_RESIDUAL),
    BARE_OMP: bare("omp", sparsity=DIABETES_FEATURES),
}
"""By the name that tables show; the word before a comma is the name of the function."""
