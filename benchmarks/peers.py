"""How each contender is called, and how its answer is read.

A contender is a function that takes a problem, imports what it needs, puts the data into the form
its library likes best (outside the timing) and returns a `Run`. A missing or failing library
raises here, which the caller turns into a row with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.problems import DELTA, SIGMA, Floats, Integers, Points, Problem

SCALED_UP = 1e6
NEGLIGIBLE = 1e-6  # part of the largest coefficient that an interior point means as zero


@dataclass(frozen=True)
class Answer:
    """What a contender found: a support, what it is worth, and passes over A if it says so."""

    support: Integers
    squared_residual: float
    passes: int | None = None
    recovered: bool | None = None  # whether the support is the one behind the data
    log_evidence: float | None = None
    test_error: float | None = None  # mean square, on points not learnt from
    objective: float | None = None  # Σ|x|
    excess: float | None = None  # by how much ‖A x - y‖ exceeds its bound, relatively


@dataclass(frozen=True)
class Run:
    """`call` is what the clock sees; `answer` reads the result of a call, off the clock."""

    call: Callable[[], Any]
    answer: Callable[[Any], Answer | None]


Contender = Callable[[Any], Run]  # takes a problem, or points


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


def within_bound(problem: Problem, x: Floats, support: Any = None) -> Answer:
    """The answer of one who minimises Σ|x| with ‖A x - y‖ <= DELTA, judged by its x as it is.

    An interior point is nowhere zero: what is below 1e-6 of the largest is no part of the support,
    unless that is known.
    """
    if support is None:
        support = np.flatnonzero(np.abs(x) > NEGLIGIBLE * np.abs(x).max())
    residual = problem.y - problem.A @ x
    squared = float(residual @ residual)
    return Answer(
        support=np.asarray(support),
        squared_residual=squared,
        recovered=np.array_equal(support, problem.truth),
        objective=float(np.abs(x).sum()),
        excess=squared**0.5 / DELTA - 1,
    )


# --- sparsewise: judged by the coefficients it returns, not by a refit


def as_returned(problem: Problem, solution: Any) -> Answer:
    """Squared residual of the coefficients as they came back."""
    residual = problem.y - problem.A[:, solution.support] @ solution.coef[solution.support]
    return Answer(
        support=np.asarray(solution.support),
        squared_residual=float(residual @ residual),
        passes=int(solution.n_passes),
        recovered=np.array_equal(solution.support, problem.truth),
    )


def forward(problem: Problem) -> Run:
    """Forward Regression of sparsewise, k steps."""
    from sparsewise import forward as solve

    return Run(
        call=lambda: solve(problem.A, problem.y, sparsity=problem.sparsity),
        answer=lambda solution: as_returned(problem, solution),
    )


def best_subset(problem: Problem) -> Run:
    """The best subsets of sizes 1, …, k of sparsewise, proved."""
    from sparsewise import best_subset as solve

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


def _bayesian(problem: Problem, solve: Callable[..., Any], **words: Any) -> Run:
    """A function of Sparse Bayesian Learning, judged by the evidence of its prior variances."""

    def answer(solution: Any) -> Answer:
        return with_evidence(problem, as_returned(problem, solution), solution.gamma)

    return Run(call=lambda: solve(problem.A, problem.y, **words), answer=answer)


def rmp(problem: Problem) -> Run:
    """RMP_σ of sparsewise."""
    from sparsewise import rmp as solve

    return _bayesian(problem, solve, sigma=SIGMA)


def rmp_noise_inferred(problem: Problem) -> Run:
    """RMP_σ of sparsewise without a word about the noise."""
    from sparsewise import rmp as solve

    return _bayesian(problem, solve)


def fast_sbl(problem: Problem) -> Run:
    """Steepest coordinate ascent of the evidence, by sparsewise."""
    from sparsewise import fast_sbl as solve

    return _bayesian(problem, solve, sigma=SIGMA)


def sbl_mackay(problem: Problem) -> Run:
    """MacKay's fixed point for all columns at once, by sparsewise."""
    from sparsewise import sbl as solve

    return _bayesian(problem, solve, sigma=SIGMA, updates="mackay")


def _compile_homotopy() -> None:
    """What takes longer to compile than the budget of a contender is compiled beforehand."""
    from sparsewise import bpdn as solve

    solve(np.eye(3), np.arange(3.0), residual=0.1)


def bpdn(problem: Problem) -> Run:
    """Basis Pursuit Denoising of sparsewise, with the tolerance as its bound."""
    from sparsewise import bpdn as solve

    _compile_homotopy()
    return Run(
        call=lambda: solve(problem.A, problem.y, residual=DELTA),
        answer=lambda solution: _of_solution(problem, solution),
    )


def bp_ard(problem: Problem) -> Run:
    """BP ARD of sparsewise."""
    from sparsewise import bp_ard as solve

    _compile_homotopy()
    return Run(
        call=lambda: solve(problem.A, problem.y, residual=DELTA),
        answer=lambda solution: _of_solution(problem, solution),
    )


def _of_solution(problem: Problem, solution: Any) -> Answer:
    answer = within_bound(problem, solution.coef, solution.support)
    return replace(answer, passes=int(solution.n_passes))


def l1_path(problem: Problem) -> Run:
    """The whole path of sparsewise; judged where its residual is the tolerance."""
    from sparsewise import l1_path as solve

    def answer(solution: Any) -> Answer:
        model = solution.at_residual(DELTA)
        passes = int(solution.n_passes)
        return replace(within_bound(problem, model.coef, model.support), passes=passes)

    _compile_homotopy()
    return Run(call=lambda: solve(problem.A, problem.y), answer=answer)


def relevance_vector(points: Points) -> Run:
    """Relevance vector regression of sparsewise: noise inferred, an intercept."""
    from sparsewise.estimators import RelevanceVectorRegressor

    return Run(
        call=lambda: RelevanceVectorRegressor("rbf", length_scale=points.length_scale).fit(
            points.X, points.y
        ),
        answer=lambda model: _predicted(points, model),
    )


def _predicted(points: Points, model: Any) -> Answer:
    """What a relevance vector machine makes of the points it has learnt from, and of the others."""
    return Answer(
        support=np.sort(model.relevance_),
        squared_residual=float(np.square(points.y - model.predict(points.X)).sum()),
        test_error=float(np.square(points.y_test - model.predict(points.X_test)).mean()),
    )


# --- yardsticks


def gemvs(problem: Problem) -> Run:
    """k products Aᵀv: what k steps cost that look at every column once, and do nothing else.

    All k are one call, so that the yardstick is as exposed to noise as what it is held against.
    """
    return _gemvs(problem, problem.sparsity)


def thousand_gemvs(problem: Problem) -> Run:
    """1,000 products Aᵀv, in one call, too."""
    return _gemvs(problem, 1000)


def _gemvs(problem: Problem, count: int) -> Run:
    transposed = problem.A.T

    def call() -> None:
        for _ in range(count):
            transposed @ problem.y

    return Run(call=call, answer=lambda _: None)


def lstsq(problem: Problem) -> Run:
    """numpy.linalg.lstsq on all columns."""
    return Run(
        call=lambda: np.linalg.lstsq(problem.A, problem.y, rcond=None),
        answer=lambda _: replace(
            refitted(problem, np.arange(problem.A.shape[1])),
            recovered=None,  # nothing was chosen
        ),
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

    return Run(call=call, answer=lambda model: _predicted(points, model))


# --- peers that minimise Σ|x| with ‖A x - y‖ <= DELTA


class Cone:
    """min wᵀt  s.t.  |x_j| <= t_j,  ‖A x - y‖ <= DELTA, as G z + s = h with s in a cone.

    With x split into two parts in place of t, A would be there twice, and the solvers take twice
    as long.
    """

    def __init__(self, problem: Problem) -> None:
        from scipy import sparse

        n, m = problem.A.shape
        one, nothing = sparse.identity(m), sparse.csc_array((n, m))
        rows = [
            sparse.hstack([one, -one]),
            sparse.hstack([-one, -one]),
            sparse.csc_array((1, 2 * m)),
            sparse.hstack([sparse.csc_array(problem.A), nothing]),
        ]
        self.G = sparse.csc_matrix(sparse.vstack(rows))
        self.h = np.concatenate([np.zeros(2 * m), [DELTA], problem.y])
        self.shape = n, m

    def cost(self, weights: Floats | None = None) -> Floats:
        """The linear objective."""
        m = self.shape[1]
        return np.concatenate([np.zeros(m), np.ones(m) if weights is None else weights])

    def clarabel(self, weights: Floats | None = None) -> Floats:
        """The minimiser by Clarabel as it comes, but on one thread."""
        import clarabel
        from scipy.sparse import csc_matrix

        n, m = self.shape
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        cones = [clarabel.NonnegativeConeT(2 * m), clarabel.SecondOrderConeT(n + 1)]
        none = csc_matrix((2 * m, 2 * m))
        solver = clarabel.DefaultSolver(none, self.cost(weights), self.G, self.h, cones, settings)
        return np.array(solver.solve().x[:m])


def clarabel(problem: Problem) -> Run:
    """Clarabel (Rust), an interior-point method, as it comes."""
    cone = Cone(problem)
    return Run(call=cone.clarabel, answer=lambda x: within_bound(problem, x))


def ecos(problem: Problem) -> Run:
    """ECOS (C), the interior-point method of the paper's experiments, as it comes."""
    import ecos as library

    cone = Cone(problem)
    n, m = problem.A.shape
    sizes = {"l": 2 * m, "q": [n + 1]}
    return Run(
        call=lambda: library.solve(cone.cost(), cone.G, cone.h, sizes, verbose=False),
        answer=lambda found: within_bound(problem, found["x"][:m]),
    )


def spgl1(problem: Problem) -> Run:
    """SPGL1, spectral projected gradients along the Pareto curve.

    As it comes it exceeds the bound by up to 0.3 %. With tolerances of 1e-6 (in place of 1e-4), and
    iterations enough for them, that is 0.01 %.
    """
    from spgl1 import spg_bpdn

    words = {"opt_tol": 1e-6, "dec_tol": 1e-6, "iter_lim": 100_000}
    return Run(
        call=lambda: spg_bpdn(problem.A, problem.y, DELTA, **words),
        answer=lambda found: within_bound(problem, found[0]),
    )


def clarabel_ard(problem: Problem) -> Run:
    """The rounds of BP ARD, with the same weights and end, each from scratch by Clarabel."""
    from sparsewise.algorithms.bp_ard import relevance_weights
    from sparsewise.problem import problem as prepared

    cone = Cone(problem)

    def call() -> Floats:
        data = prepared(problem.A, problem.y)
        weights = np.ones(cone.shape[1])
        x = cone.clarabel(weights)
        for _ in range(8):
            chosen = np.where(np.abs(x) > NEGLIGIBLE * np.abs(x).max(), x, 0.0)
            weights = relevance_weights(data, chosen / data.scale, weights, DELTA / data.scale)
            before, x = x, cone.clarabel(weights / weights.max())
            if np.abs(x - before).max() <= 1e-4 * np.abs(before).max():
                break
        return x

    return Run(call=call, answer=lambda x: within_bound(problem, x))


def lars_path(problem: Problem) -> Run:
    """scikit-learn's lars_path of the lasso, with all its bends.

    It takes λ below 1.2e-7 n for zero, whatever the size of the target, and leaves up to half of
    the bends out. A target scaled up lets it come to the end.
    """
    from sklearn.linear_model import lars_path as solve

    target = SCALED_UP * problem.y

    def answer(found: tuple[Any, ...]) -> Answer:
        return within_bound(problem, _at_bound(problem, found[2] / SCALED_UP))

    return Run(
        call=lambda: solve(problem.A, target, method="lasso", max_iter=1_000_000), answer=answer
    )


def _at_bound(problem: Problem, path: Floats) -> Floats:
    """The point of a piecewise linear path, one column a bend, where ‖A x - y‖ is DELTA."""
    residuals = problem.y[:, None] - problem.A @ path
    last = int(np.argmax(np.linalg.norm(residuals, axis=0) <= DELTA))
    r, step = residuals[:, last - 1], residuals[:, last] - residuals[:, last - 1]
    a, b, c = step @ step, r @ step, r @ r - DELTA**2
    share = c / (np.sqrt(b**2 - a * c) - b)
    return path[:, last - 1] + share * (path[:, last] - path[:, last - 1])
