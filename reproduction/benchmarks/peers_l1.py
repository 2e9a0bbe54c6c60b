"""How the peers of ℓ1 are called: Σ|x| with ‖A x - y‖ <= DELTA or = 0, or with a penalty."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from reproduction.benchmarks.answers import (
    NEGLIGIBLE,
    Answer,
    first,
    itself,
    peer,
    penalised,
    within_bound,
)  # fmt: skip
from reproduction.benchmarks.peers import Call
from reproduction.benchmarks.problems import DELTA, PENALTY, Floats, Problem

SCALED_UP = 1e6


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


@peer("Clarabel", within_bound, itself)
def clarabel(problem: Problem) -> Call:
    """Clarabel (Rust), an interior-point method, as it comes."""
    return Cone(problem).clarabel


def of_a_cone(problem: Problem, found: Any) -> Answer:
    """The first half of the variables."""
    return within_bound(problem, found["x"][: problem.A.shape[1]])


@peer("ECOS", of_a_cone, itself)
def ecos(problem: Problem) -> Call:
    """ECOS (C), the interior-point method of the paper's experiments, as it comes."""
    import ecos as library

    cone = Cone(problem)
    n, m = problem.A.shape
    sizes = {"l": 2 * m, "q": [n + 1]}
    return lambda: library.solve(cone.cost(), cone.G, cone.h, sizes, verbose=False)


@peer("spgl1", within_bound, first)
def spgl1(problem: Problem) -> Call:
    """SPGL1, spectral projected gradients along the Pareto curve.

    As it comes it exceeds the bound by up to 0.3 %. With tolerances of 1e-6 (in place of 1e-4), and
    iterations enough for them, that is 0.01 %.
    """
    from spgl1 import spg_bpdn

    words = {"opt_tol": 1e-6, "dec_tol": 1e-6, "iter_lim": 100_000}
    return lambda: spg_bpdn(problem.A, problem.y, DELTA, **words)


Rule = Callable[[Any, Floats, Floats], Floats]  # problem, coefficients and weights to new weights


def _rounds_on_clarabel(problem: Problem, rule: Rule) -> Call:
    """Rounds with weights from the last one, each from scratch; they end as ours do."""
    from sparsewise.problem.problem import problem as prepared

    cone = Cone(problem)

    def call() -> Floats:
        data = prepared(problem.A, problem.y)
        weights = np.ones(cone.shape[1])
        x = cone.clarabel(weights)
        for _ in range(8):
            chosen = np.where(np.abs(x) > NEGLIGIBLE * np.abs(x).max(), x, 0.0)
            weights = rule(data, chosen / data.scale, weights)
            before, x = x, cone.clarabel(weights / weights.max())
            if np.abs(x - before).max() <= 1e-4 * np.abs(before).max():
                break
        return x

    return call


@peer("the same rounds on Clarabel", within_bound, itself)
def clarabel_ard(problem: Problem) -> Call:
    """The rounds of BP ARD by Clarabel."""
    from sparsewise.engine.l1.reweighting import relevance_weights

    def rule(data: Any, x: Floats, weights: Floats) -> Floats:
        return relevance_weights(data, x, weights, DELTA / data.scale)

    return _rounds_on_clarabel(problem, rule)


@peer("Candès' rounds on Clarabel", within_bound, itself)
def clarabel_candes(problem: Problem) -> Call:
    """The rounds of Candès' reweighting by Clarabel."""
    from sparsewise.engine.l1.reweighting import usual_epsilon

    def rule(data: Any, x: Floats, weights: Floats) -> Floats:
        size = np.abs(x) / np.abs(x).max()
        return 1 / (size + usual_epsilon(data.design, size))

    return _rounds_on_clarabel(problem, rule)


def where_the_bound_is(problem: Problem, found: tuple[Any, ...]) -> Answer:
    """The point of a piecewise linear path, one column a bend, where ‖A x - y‖ is DELTA."""
    path = found[2] / SCALED_UP
    residuals = problem.y[:, None] - problem.A @ path
    last = int(np.argmax(np.linalg.norm(residuals, axis=0) <= DELTA))
    r, step = residuals[:, last - 1], residuals[:, last] - residuals[:, last - 1]
    a, b, c = step @ step, r @ step, r @ r - DELTA**2
    share = c / (np.sqrt(b**2 - a * c) - b)
    return within_bound(problem, path[:, last - 1] + share * (path[:, last] - path[:, last - 1]))


@peer("scikit-learn lars_path", where_the_bound_is, itself)
def lars_path(problem: Problem) -> Call:
    """scikit-learn's lars_path of the lasso, with all its bends.

    It takes λ below 1.2e-7 n for zero, whatever the size of the target, and leaves up to half of
    the bends out. A target scaled up lets it come to the end.
    """
    from sklearn.linear_model import lars_path as solve

    target = SCALED_UP * problem.y
    return lambda: solve(problem.A, target, method="lasso", max_iter=1_000_000)


def dense(coef: Any) -> Floats:
    """A sparse column as a vector."""
    return coef.toarray().ravel()


def _spams_lasso(problem: Problem, **words: Any) -> Call:
    import spams

    target = np.asfortranarray(problem.y[:, None])
    return lambda: spams.lasso(target, problem.A, numThreads=1, **words)


@peer("SPAMS lasso", within_bound, dense)
def spams_lars(problem: Problem) -> Call:
    """SPAMS's lasso (C++) in its mode of a bound on ‖A x - y‖²: a homotopy, as ours.

    It computes AᵀA first, as it does by default; its other way is no quicker, and less exact.
    """
    return _spams_lasso(problem, lambda1=DELTA**2, mode=1)


# --- Σ|x| with A x = y


def exact(problem: Problem, x: Floats) -> Answer:
    """The residual is to be zero."""
    return within_bound(problem, x, bound=0.0)


@peer("HiGHS", exact, lambda found: np.subtract(*np.split(found.x, 2)))
def highs(problem: Problem) -> Call:
    """HiGHS (C++) by scipy: x = u - v, u and v not negative, a linear programme."""
    from scipy.optimize import linprog

    twice, cost = np.hstack([problem.A, -problem.A]), np.ones(2 * problem.A.shape[1])
    return lambda: linprog(cost, A_eq=twice, b_eq=problem.y, method="highs")


@peer("spgl1, A x = y", exact, first)
def spgl1_bp(problem: Problem) -> Call:
    """SPGL1 without a residual, with tolerances of 1e-6."""
    from spgl1 import spg_bp

    words = {"opt_tol": 1e-6, "bp_tol": 1e-6, "iter_lim": 100_000}
    return lambda: spg_bp(problem.A, problem.y, **words)


# --- ½‖A x - y‖² + λ Σ|x|


@peer("scikit-learn Lasso", penalised, attrgetter("coef_"))
def sklearn_lasso(problem: Problem) -> Call:
    """scikit-learn's Lasso, coordinate descent, to a gap of 1e-6 ‖y‖²; its alpha is λ/n."""
    from sklearn.linear_model import Lasso

    alpha = PENALTY / problem.y.size
    words = {"fit_intercept": False, "tol": 1e-6, "max_iter": 100_000}
    return lambda: Lasso(alpha=alpha, **words).fit(problem.A, problem.y)


@peer("SPAMS lasso, penalty", penalised, dense)
def spams_penalised(problem: Problem) -> Call:
    """SPAMS's lasso with a penalty."""
    return _spams_lasso(problem, lambda1=PENALTY, mode=2)


def _pylops(problem: Problem, name: str) -> Call:
    """PyLops, until x moves by less than 1e-5; its objective is twice ours."""
    from pylops import MatrixMult
    from pylops.optimization import sparsity

    solve, operator = getattr(sparsity, name), MatrixMult(problem.A)
    return lambda: solve(operator, problem.y, niter=10_000, eps=2 * PENALTY, tol=1e-5)


@peer("PyLops ISTA", penalised, first)
def pylops_ista(problem: Problem) -> Call:
    """ISTA of PyLops."""
    return _pylops(problem, "ista")


@peer("PyLops FISTA", penalised, first)
def pylops_fista(problem: Problem) -> Call:
    """FISTA of PyLops."""
    return _pylops(problem, "fista")
