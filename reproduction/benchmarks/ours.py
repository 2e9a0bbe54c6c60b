"""How sparsewise is called: judged by the coefficients it returns, not by a refit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import sparsewise
from reproduction.benchmarks import answers
from reproduction.benchmarks.answers import Answer, Contender, Run, as_returned, fitted, predicted
from reproduction.benchmarks.problems import DELTA, PENALTY, SIGMA, Points, Problem, Table
from sparsewise import ALGORITHMS
from sparsewise.algorithms import Algorithm, Family

BATCH = 4  # columns that gomp takes at a time
DIABETES_FEATURES = 5
DIABETES_RESIDUAL = 1200.0  # about √(RSS) of five features

Judge = Callable[[Any, Any], Answer]  # what a solution of a problem is worth

# --- functions


def function(name: str, judge: Judge = as_returned, **parameters: Any) -> Contender:
    """A function of A and y; a parameter that can be called is one of the problem."""

    def contender(problem: Problem) -> Run:
        solve = getattr(sparsewise, name)
        given = {key: p(problem) if callable(p) else p for key, p in parameters.items()}
        if judge is not as_returned:
            _compile_homotopy()
        return Run(
            call=lambda: solve(problem.A, problem.y, **given),
            answer=lambda solution: judge(problem, solution),
        )

    return contender


def of_size(name: str, **parameters: Any) -> Contender:
    """As many columns as are behind the data."""
    return function(name, sparsity=lambda problem: problem.sparsity, **parameters)


def forward_prepared(problem: Problem) -> Run:
    """The same on a dictionary that is checked and measured once, as for many targets.

    SPAMS asks for as much: unit columns in Fortran order, made by the caller, off the clock.
    """
    run, design = of_size("forward")(problem), sparsewise.as_design(problem.A)
    k = problem.sparsity
    return replace(run, call=lambda: sparsewise.forward(design, problem.y, sparsity=k))


def down_to_one(name: str, judged_at: Callable[[Problem], int]) -> Contender:
    """From all columns down to one; judged by the model of one size on the path.

    That of all columns is the least-squares fit, which is what lstsq finds.
    """

    def judge(problem: Problem, solution: Any) -> Answer:
        m, size = problem.A.shape[1], judged_at(problem)
        if len(solution.path) != m - 1:
            raise RuntimeError(f"the path has {len(solution.path)} steps in place of {m - 1}")
        model = solution.path.at(size)
        found = replace(fitted(problem, model.coef, model.support), passes=solution.n_passes)
        return replace(found, recovered=None) if size == m else found

    return function(name, judge, sparsity=1)


def by_criterion(problem: Problem, solution: Any) -> Answer:
    """Judged by the BIC."""
    return answers.with_criterion(problem, as_returned(problem, solution))


def bayesian(name: str, **parameters: Any) -> Contender:
    """Sparse Bayesian Learning, judged by the evidence of its prior variances."""

    def judge(problem: Problem, found: Any) -> Answer:
        return answers.with_evidence(problem, as_returned(problem, found), found.gamma)

    return function(name, judge, **parameters)


# --- ℓ1


def bounded(name: str, bound: float = DELTA) -> Contender:
    """Σ|x|, or what comes close to counting, with ‖A x - y‖ <= bound."""

    def judge(problem: Problem, found: Any) -> Answer:
        answer = answers.within_bound(problem, found.coef, found.support, bound)
        return replace(answer, passes=int(found.n_passes))

    return function(name, judge, **({"residual": bound} if bound else {}))


def at_penalty(name: str) -> Contender:
    """½‖A x - y‖² + λ Σ|x|."""

    def judge(problem: Problem, found: Any) -> Answer:
        answer = answers.penalised(problem, found.coef, found.support)
        return replace(answer, passes=int(found.n_passes))

    return function(name, judge, penalty=PENALTY)


def where_the_bound_is(problem: Problem, path: Any) -> Answer:
    """A whole path, judged where its residual is the tolerance."""
    model = path.at_residual(DELTA)
    answer = answers.within_bound(problem, model.coef, model.support)
    return replace(answer, passes=int(path.n_passes))


def _compile_homotopy() -> None:
    """What takes longer to compile than the budget of a contender is compiled beforehand."""
    sparsewise.bpdn(np.eye(3), np.arange(3.0), residual=0.1)


# --- estimators, and the functions below them


def relevance_vector(points: Points) -> Run:
    """Relevance vector regression: noise inferred, an intercept."""
    make = sparsewise.RelevanceVectorRegressor
    return Run(
        call=lambda: make("rbf", length_scale=points.length_scale).fit(points.X, points.y),
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
    contender = function(name, truth_unknown, **parameters)
    return lambda table: contender(table.centred)


def truth_unknown(data: Problem, model: Any) -> Answer:
    """The answer for a table of which nobody knows the truth."""
    return replace(fitted(data, model.coef, model.support), recovered=None)


def bare_forward(table: Table) -> Run:
    """`forward` through all sizes, and the model of least RIC."""
    from sparsewise.criteria.information import Criteria

    data = table.centred
    n, m = data.A.shape

    def call() -> Any:
        path = sparsewise.forward(data.A, data.y, sparsity=m).path
        ric = Criteria(n, m, True, float(data.y @ data.y))["ric"]
        return path.at(int(np.argmin(ric.cost(path.losses, path.dfs))))

    return Run(call=call, answer=lambda model: truth_unknown(data, model))


def as_usual(algorithm: Algorithm) -> Contender:
    """An algorithm as it is called unless there is more to say."""
    if algorithm.family is Family.BAYESIAN:
        return bayesian(algorithm.name, sigma=SIGMA)
    if algorithm.family is Family.SEARCH:
        return function(algorithm.name)
    if algorithm.family is Family.L1:
        return (bounded if algorithm.takes("residual") else at_penalty)(algorithm.name)
    # Without a size: no additions of less than δ², no deletions of more.
    takes_size = algorithm.takes("sparsity")
    return of_size(algorithm.name) if takes_size else function(algorithm.name, delta=DELTA)


OURS: Mapping[str, Contender] = {
    **{name: as_usual(algorithm) for name, algorithm in ALGORITHMS.items()},
    "best_subset": of_size("best_subset"),
    "gomp": of_size("gomp", batch=BATCH),
    "mp": bounded("mp"),
    "forward, A prepared": forward_prepared,
    "stepwise": function("stepwise", by_criterion, criterion="bic"),
    "backward": down_to_one("backward", lambda problem: problem.A.shape[1]),
    "backward, path": down_to_one("backward", lambda problem: problem.sparsity),
    "lace, path": down_to_one("lace", lambda problem: problem.sparsity),
    "rmp, σ inferred": bayesian("rmp"),
    "sbl, MacKay": bayesian("sbl", sigma=SIGMA, updates="mackay"),
    "sbl, EM": bayesian("sbl", sigma=SIGMA, updates="em"),
    "sbl, convex": bayesian("sbl", sigma=SIGMA, updates="convex"),
    "bp": bounded("bp", 0.0),
    "l1_path": function("l1_path", where_the_bound_is),
    "l1_path, to λ": at_penalty("l1_path"),
    "RelevanceVectorRegressor": relevance_vector,
    'StepwiseRegressor("forward", criterion="cv")': estimator(
        "StepwiseRegressor", "forward", criterion="cv"
    ),
    "StepwiseRegressor()": estimator("StepwiseRegressor"),
    "SparseBayesRegressor()": estimator("SparseBayesRegressor"),
    "BasisPursuitRegressor(residual=…)": estimator(
        "BasisPursuitRegressor", residual=DIABETES_RESIDUAL
    ),
    'PursuitRegressor("omp", sparsity=5)': estimator(
        "PursuitRegressor", "omp", sparsity=DIABETES_FEATURES
    ),
    "bare forward and RIC": bare_forward,
    "bare rmp": bare("rmp", price=math.log(10)),
    "bare bpdn": bare("bpdn", residual=DIABETES_RESIDUAL),
    "bare omp": bare("omp", sparsity=DIABETES_FEATURES),
}
"""By the name that tables show; the word before a comma is the name of the function."""
