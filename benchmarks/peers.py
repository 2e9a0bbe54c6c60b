"""How each contender is called, and how its answer is read.

A contender is a function that takes a problem, imports what it needs, puts the data into the form
its library likes best (outside the timing) and returns a `Run`. A missing or failing library
raises here, which the caller turns into a row with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.problems import DELTA, Integers, Problem


@dataclass(frozen=True)
class Answer:
    """What a contender found: a support, its squared residual, and passes over A if it says so."""

    support: Integers
    squared_residual: float
    passes: int | None = None


@dataclass(frozen=True)
class Run:
    """`call` is what the clock sees; `answer` reads the result of a call, off the clock."""

    call: Callable[[], Any]
    answer: Callable[[Any], Answer | None]


Contender = Callable[[Problem], Run]


def refitted(problem: Problem, support: Any) -> Answer:
    """Squared residual of least squares on the support: peers get the benefit of the doubt."""
    support = np.unique(np.asarray(support, dtype=np.int64))
    columns = problem.A[:, support]
    x = np.linalg.lstsq(columns, problem.y, rcond=None)[0]
    residual = problem.y - columns @ x
    return Answer(support=support, squared_residual=float(residual @ residual))


# --- sparsewise: judged by the coefficients it returns, not by a refit


def as_returned(problem: Problem, solution: Any) -> Answer:
    """Squared residual of the coefficients as they came back."""
    residual = problem.y - problem.A[:, solution.support] @ solution.coef[solution.support]
    return Answer(
        support=np.asarray(solution.support),
        squared_residual=float(residual @ residual),
        passes=int(solution.n_passes),
    )


def forward(problem: Problem) -> Run:
    """Forward Regression of sparsewise, k steps."""
    from sparsewise import forward as solve

    return Run(
        call=lambda: solve(problem.A, problem.y, sparsity=problem.sparsity),
        answer=lambda solution: as_returned(problem, solution),
    )


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


def omp(problem: Problem) -> Run:
    """Orthogonal Matching Pursuit of sparsewise, k steps."""
    from sparsewise import omp as solve

    return Run(
        call=lambda: solve(problem.A, problem.y, sparsity=problem.sparsity),
        answer=lambda solution: as_returned(problem, solution),
    )


def rmp0(problem: Problem) -> Run:
    """RMP₀ of sparsewise until the support is stable: at least k additions, and the checks."""
    from sparsewise import rmp0 as solve

    return Run(
        call=lambda: solve(problem.A, problem.y, delta=DELTA),
        answer=lambda solution: as_returned(problem, solution),
    )


def backward_path(problem: Problem) -> Run:
    """Backward Regression of sparsewise from all columns down to one.

    Its first model is the least-squares fit on all columns: that is what is compared with lstsq.
    """
    from sparsewise import backward as solve

    m = problem.A.shape[1]

    def answer(solution: Any) -> Answer:
        if len(solution.path) != m - 1:
            raise RuntimeError(f"the path has {len(solution.path)} steps in place of {m - 1}")
        model = solution.path.at(m)
        residual = problem.y - problem.A @ model.coef
        return Answer(
            support=np.asarray(model.support),
            squared_residual=float(residual @ residual),
            passes=int(solution.n_passes),
        )

    return Run(call=lambda: solve(problem.A, problem.y, sparsity=1), answer=answer)


# --- yardsticks


def gemvs(problem: Problem) -> Run:
    """k products Aᵀv: what k steps cost that look at every column once, and do nothing else.

    All k are one call, so that the yardstick is as exposed to noise as what it is held against.
    """
    transposed = problem.A.T

    def call() -> None:
        for _ in range(problem.sparsity):
            transposed @ problem.y

    return Run(call=call, answer=lambda _: None)


def lstsq(problem: Problem) -> Run:
    """numpy.linalg.lstsq on all columns."""
    return Run(
        call=lambda: np.linalg.lstsq(problem.A, problem.y, rcond=None),
        answer=lambda _: refitted(problem, np.arange(problem.A.shape[1])),
    )


# --- peers


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


def sklearn_omp(problem: Problem) -> Run:
    """scikit-learn's orthogonal_mp, k steps; precompute=True is slower on one target."""
    from sklearn.linear_model import orthogonal_mp

    k = problem.sparsity
    return Run(
        call=lambda: orthogonal_mp(problem.A, problem.y, n_nonzero_coefs=k),
        answer=lambda coef: refitted(problem, np.flatnonzero(coef)),
    )


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
