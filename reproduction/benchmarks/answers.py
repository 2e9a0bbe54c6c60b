"""What a contender is, and how its answer is judged.

A contender is a function that takes a problem, imports what it needs, puts the data into the form
its library likes best (outside the timing) and returns a `Run`. A missing or failing library
raises here, which the caller turns into a row with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reproduction.benchmarks.problems import (
    DELTA,
    PENALTY,
    SIGMA,
    Floats,
    Integers,
    Points,
    Problem,
    Table,
)
from reproduction.tasks import support_above

NEGLIGIBLE = 1e-6  # part of the largest coefficient that an interior point means as zero


@dataclass(frozen=True)
class Answer:
    """What a contender found: a support, what it is worth, and passes over A if it says so."""

    support: Integers
    squared_residual: float
    passes: int | None = None
    recovered: bool | None = None  # whether the support is the one behind the data
    log_evidence: float | None = None
    test_error: float | None = None  # mean square, on rows not learnt from
    objective: float | None = None  # Σ|x|, or ½‖A x - y‖² + λ Σ|x| where λ is given
    excess: float | None = None  # by how much ‖A x - y‖ exceeds its bound, relatively
    criterion: float | None = None  # BIC


@dataclass(frozen=True)
class Run:
    """`call` is what the clock sees; `answer` reads the result of a call, off the clock."""

    call: Callable[[], Any]
    answer: Callable[[Any], Answer | None]


Contender = Callable[[Any], Run]  # takes a problem, points or a table

# --- least squares on a support


def as_returned(problem: Problem, solution: Any) -> Answer:
    """Squared residual of the coefficients of a `Solution`, as they came back."""
    residual = problem.y - problem.A[:, solution.support] @ solution.coef[solution.support]
    return Answer(
        support=np.asarray(solution.support),
        squared_residual=float(residual @ residual),
        passes=int(solution.n_passes),
        recovered=np.array_equal(solution.support, problem.truth),
    )


def refitted(problem: Problem, support: Any) -> Answer:
    """Squared residual of least squares on the support: peers get the benefit of the doubt."""
    support = np.unique(np.asarray(support, dtype=np.int64))
    columns = problem.A[:, support]
    x = np.linalg.lstsq(columns, problem.y, rcond=None)[0]
    residual = problem.y - columns @ x
    return Answer(
        support=support,
        squared_residual=float(residual @ residual),
        recovered=np.array_equal(support, problem.truth),
    )


def with_criterion(problem: Problem, answer: Answer) -> Answer:
    """The answer with its BIC, n log(RSS/n) + k log n."""
    n = problem.y.size
    fit = n * np.log(answer.squared_residual / n)
    return replace(answer, criterion=float(fit + answer.support.size * np.log(n)))


def with_evidence(problem: Problem, answer: Answer, gamma: Floats) -> Answer:
    """The answer with the log evidence of its prior variances, at the noise that was to be used.

    By the dense n×n formula for everybody, whatever a contender says of itself.
    """
    n = problem.y.size
    C = (problem.A * gamma) @ problem.A.T + SIGMA**2 * np.eye(n)
    L = np.linalg.cholesky(C)
    z = np.linalg.solve(L, problem.y)
    log_det = 2 * np.log(np.diagonal(L)).sum()
    log_evidence = -0.5 * (n * np.log(2 * np.pi) + log_det + z @ z)
    return replace(answer, log_evidence=float(log_evidence))


# --- coefficients as they are


def fitted(problem: Problem, x: Floats, support: Any = None) -> Answer:
    """The answer of one who minimises something of x, judged by its x as it is.

    An interior point is nowhere zero: what is below 1e-6 of the largest is no part of the support,
    unless that is known.
    """
    if support is None:
        support = support_above(NEGLIGIBLE * np.abs(x).max(), x)
    residual = problem.y - problem.A @ x
    return Answer(
        support=np.asarray(support),
        squared_residual=float(np.vdot(residual, residual).real),
        recovered=np.array_equal(support, problem.truth),
    )


def within_bound(problem: Problem, x: Floats, support: Any = None, bound: float = DELTA) -> Answer:
    """The answer of one who minimises Σ|x| with ‖A x - y‖ <= bound.

    The residual beyond the bound counts as a part of it; beyond zero, as a part of ‖y‖.
    """
    answer = fitted(problem, x, support)
    norm = answer.squared_residual**0.5
    return replace(
        answer,
        objective=float(np.abs(x).sum()),
        excess=norm / bound - 1 if bound else norm / float(np.linalg.norm(problem.y)),
    )


def penalised(problem: Problem, x: Floats, support: Any = None) -> Answer:
    """The answer of one who minimises ½‖A x - y‖² + λ Σ|x|."""
    answer = fitted(problem, x, support)
    cost = answer.squared_residual / 2 + PENALTY * float(np.abs(x).sum())
    return replace(answer, objective=cost)


# --- predictions


def predicted(data: Points | Table, support: Any, predict: Callable[[Floats], Floats]) -> Answer:
    """What a model makes of the rows it has learnt from, and of others if there are any."""
    known, support = isinstance(data, Table) and data.truth is not None, np.asarray(support)
    return Answer(
        support=support,
        squared_residual=float(np.square(data.y - predict(data.X)).sum()),
        recovered=np.array_equal(support, data.truth) if known else None,
        test_error=(
            None if data.X_test is None
            else float(np.square(data.y_test - predict(data.X_test)).mean())
        ),
    )  # fmt: skip


# --- other packages

PEERS: dict[str, Contender] = {}
"""Contenders of other packages, and yardsticks, by the names that tables show."""


def peer(
    name: str,
    judge: Callable[[Any, Any], Answer | None] = refitted,
    read: Callable[[Any], Any] = np.flatnonzero,
) -> Callable[[Any], Any]:
    """Enter a contender under this name.

    Decorates a function that takes a problem and returns the call. `judge` is given the problem
    and what `read` makes of the result of a call: as a rule, the support.
    """

    def enter(prepare: Callable[[Any], Callable[[], Any]]) -> Any:
        def contender(problem: Any) -> Run:
            return Run(prepare(problem), lambda found: judge(problem, read(found)))

        PEERS[name] = contender
        return prepare

    return enter


def itself(found: Any) -> Any:
    """The result of a call as it is."""
    return found


def first(found: Any) -> Any:
    """The first of several results."""
    return found[0]
