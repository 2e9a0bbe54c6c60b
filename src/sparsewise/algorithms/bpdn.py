"""Basis Pursuit Denoising: the smallest ℓ1 norm within a bound on the residual."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.conic import solve_conic
from sparsewise.engine.homotopy import Homotopy
from sparsewise.engine.log import Callback, Log
from sparsewise.engine.minimiser import l1_solution, out_of_reach
from sparsewise.engine.weights import check_weights
from sparsewise.problem import Problem, check_number, check_tolerance, problem
from sparsewise.results import L1Solution, Stop

Solver = Literal["auto", "homotopy", "conic"]


@algorithm(Family.L1, "the lasso, told by its residual", result=L1Solution)
def bpdn(
    A: Any,
    y: ArrayLike,
    *,
    residual: float,
    weights: ArrayLike | None = None,
    debias: bool = False,
    solver: Solver = "auto",
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> L1Solution:
    """min Σ w_j |x_j| subject to ‖A x - y‖ <= residual (Chen, Donoho and Saunders 1998).

    The minimiser of ½‖A x - y‖² + λ Σ w_j |x_j| is followed from the λ at which it is zero down to
    the one at which ‖r‖ meets the bound, from bend to bend, with one pass over A each. The answer
    is exact but for rounding, and exactly sparse. (Rounding is that of the data: where columns
    agree to three digits, or weights differ by decades, float32 is too coarse; pass float64.)

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    residual : float
        The bound on ‖A x - y‖; 0 is basis pursuit.
    weights : array-like of shape (m,), optional
        w, all 1 by default. They refer to the columns as they are: with ``weights`` their norms,
        units don't matter. 0: a column that costs nothing; infinity: one that is barred.
    debias : bool
        Whether to refit the chosen columns by least squares.
    solver : {"auto", "homotopy", "conic"}
        "homotopy" is what is said above, for real data; "conic" hands a second-order cone program
        to Clarabel (extra ``conic``), for complex data, too. "auto" chooses by the data.
    include, exclude : iterable of int
        Columns that cost nothing, and that are barred.
    callback : callable, optional
        Called with every `Step` of the path; returning True stops.

    Returns
    -------
    L1Solution
        With the dual vector that proves optimality.
    """
    return minimise("bpdn", A, y, residual, weights, debias, solver, include, exclude, callback)


def minimise(
    algorithm: str,
    A: Any,
    y: ArrayLike,
    residual: float,
    weights: ArrayLike | None,
    debias: bool,
    solver: Solver,
    include: Iterable[int],
    exclude: Iterable[int],
    callback: Callback | None,
) -> L1Solution:
    """What `bp` and `bpdn` share."""
    data, bound = problem(A, y), check_bound(residual)
    cost = check_weights(data, weights, include, exclude)
    log = Log(data, callback)
    if choose_solver(solver, data) == "conic":
        found = solve_conic(data, cost, bound / data.scale)
        stop = Stop.RESIDUAL if bound else Stop.EXACT_FIT
        return l1_solution(log, algorithm, stop, cost, found, bound, debias)
    path = Homotopy(log, cost)
    stop = reach(path, bound)
    return l1_solution(log, algorithm, stop, cost, path.minimiser(), bound, debias)


def check_bound(value: float, name: str = "residual") -> float:
    """A number of at least 0; None is none."""
    bound = check_tolerance(check_number(value, name), name)
    assert bound is not None
    return bound


def reach(path: Homotopy, bound: float) -> Stop:
    """Go to the λ at which ‖r‖ is the bound, in the units of the data."""
    scale = path.data.scale
    squared = (bound / scale) ** 2
    if path.squared_residual <= squared and not path.begun:
        path.rest()
        return Stop.RESIDUAL
    if path.begun and abs(path.squared_residual - squared) <= 1e-12 * squared:
        return Stop.RESIDUAL
    if bound == 0.0:
        stop = path.shrink()
    elif path.squared_residual > squared:
        stop = path.shrink(squared)
    else:
        stop = path.grow(squared)
    if stop is Stop.EXHAUSTED:
        distance = path.least_squared_residual**0.5
        if distance > bound / scale and not path.fits_exactly:
            raise out_of_reach(path.data, bound / scale, distance)
        stop = Stop.EXACT_FIT
    return stop


def choose_solver(solver: Solver, data: Problem) -> str:
    """The solver to use on these data."""
    is_complex = data.y.dtype.kind == "c"
    if solver not in ("auto", "homotopy", "conic"):
        raise ValueError(f'solver must be "auto", "homotopy" or "conic", not {solver!r}.')
    if solver == "homotopy" and is_complex:
        raise ValueError(
            'The path of complex coefficients is not made of lines; use solver="conic" for them.'
        )
    return "conic" if solver == "conic" or is_complex else "homotopy"
