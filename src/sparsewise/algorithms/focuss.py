"""FOCUSS: focal underdetermined system solver (Gorodnitsky and Rao, 1997)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_number, check_positive, check_whole
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.l1.basis_pursuit import check_bound
from sparsewise.engine.l1.l1_solution import OutOfReachError
from sparsewise.engine.l1.minimum_norm import RemainingColumns, weighted_fit
from sparsewise.engine.l1.weights import check_weights
from sparsewise.errors import InputError
from sparsewise.problem.problem import problem
from sparsewise.results import Solution, Stop


@algorithm(Family.L1, "signals with few sources", dense=True, least_squares=False)
def focuss(
    A: Any,
    y: ArrayLike,
    *,
    residual: float = 0.0,
    p: float = 0.8,
    tol: float = 1e-6,
    max_iter: int = 1000,
    debias: bool = False,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> Solution:
    """Iterate weighted minimum-norm solutions, x ← W (A W)⁺ y with W = diag(|x|^(1 - p/2)).

    Each round lowers Σ|x_j|^p (Σ log|x_j| for p = 0) for unit columns, starting from the
    minimum-norm solution. With a bound on the residual, the regularised
    W (W A*A W + μI)⁻¹ W A* y replaces the pseudo-inverse, with the μ for which ‖A x - y‖ =
    residual. A coefficient that has fallen to the rounding error of the largest is dropped.
    Iterations end when no remaining coefficient changes by more than `tol` of its size. Copies of a
    column share its coefficient, whatever p. Needs A as a dense matrix; a round costs O(n²k) for k
    remaining columns (O(nk²) once these are fewer than n).

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    residual : float
        The bound on ‖A x - y‖; 0 asks for an exact fit.
    p : float
        The power, at least 0 and below 2. Solutions are sparse for p <= 1. At 1 they approach those
        of `bp`, but slowly; the smaller p, the earlier columns are dropped, and the more often
        wrongly. 0.8 recovers well.
    tol : float
        The largest relative change of a coefficient that counts as converged.
    max_iter : int
        Most rounds.
    debias : bool
        Refit least squares on the support.
    include : iterable of int
        Columns that must be in the model; they are not penalised.
    exclude : iterable of int
        Columns that must not be in the model.

    Returns
    -------
    Solution
        ``path`` starts from all columns and drops them as their coefficients vanish.
    """
    power = check_number(p, "p")
    if not 0 <= power < 2:
        raise InputError(f"must be at least 0 and below 2, not {p}.", parameter="p")
    change, most = check_positive(tol, "tol"), check_whole(max_iter, "max_iter", 1)
    data = problem(A, y, include=include, exclude=exclude)
    bound = check_bound(residual) / data.scale
    model = RemainingColumns(data, check_weights(data, None))

    def rounds() -> Stop:
        if not model.are_needed(bound):
            return Stop.RESIDUAL
        x, distance = weighted_fit(model.B, np.ones(model.columns.size), model.y, bound, model.eps)
        if not model.meets(bound, distance, x):
            raise OutOfReachError(data, bound, distance)
        model.start(x)
        for _ in range(most):
            model.log.check_interrupt()
            alive = model.alive()
            w = np.abs(model.x[alive]) ** (1 - power / 2)
            x, distance = weighted_fit(model.B[:, alive], w, model.y, bound, model.eps)
            if not model.meets(bound, distance, x):
                return Stop.RESIDUAL  # rounding hides any sparser solution
            model.drop(np.flatnonzero(~alive))
            if model.update(x, change) and alive.all():
                return Stop.SETTLED
        return Stop.MAX_ITER

    return model.solution("focuss", model.log.run(rounds), debias)
