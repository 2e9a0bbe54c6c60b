"""The whole path of ℓ1-penalised least squares."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.engine.l1.basis_pursuit import check_bound, choose_solver
from sparsewise.engine.l1.l1_solution import data_penalty, l1_solution
from sparsewise.engine.l1.trusted_path import trusted_path
from sparsewise.engine.l1.weights import check_weights
from sparsewise.engine.log import Callback, Log
from sparsewise.errors import InputError
from sparsewise.problem.problem import problem
from sparsewise.results import L1Path, Stop


def l1_path(
    A: Any,
    y: ArrayLike,
    *,
    penalty: float = 0.0,
    residual: float = 0.0,
    weights: ArrayLike | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> L1Path:
    """The minimisers of ½‖A x - y‖² + λ Σ w_j |x_j| for every λ: the path of the lasso.

    x is piecewise linear in λ. The path is followed from the λ at which x = 0, from breakpoint to
    breakpoint (in a large A, one pass serves several), down to λ = `penalty` or ‖r‖ = `residual`,
    whichever comes first (by default to the end: least squares or an exact fit).

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from; real.
    y : array-like of shape (n,)
        The target.
    penalty : float
        The smallest λ of interest.
    residual : float
        The smallest ‖r‖ of interest.
    weights, include, exclude, callback
        As for `bpdn`.

    Returns
    -------
    L1Path
        The whole path: ``path.at_penalty(λ)`` and ``path.at_residual(ρ)`` are exact models between
        breakpoints. As a solution, the end of the path.
    """
    data = problem(A, y, approximate_norms=True, include=include, exclude=exclude)
    lowest, bound = check_bound(penalty, "penalty"), check_bound(residual)
    choose_solver("homotopy", data)
    cost = check_weights(data, weights)
    log = Log(data, callback)
    squared = min(bound / data.scale, 2.0) ** 2 if bound else None
    least = min(lowest / data.scale * cost.top, sys.float_info.max)
    path, stop, found = trusted_path(log, cost, squared, least)
    first = path.first_penalty
    if stop is Stop.EXHAUSTED and path.penalty <= least and lowest:
        stop = Stop.PENALTY
    elif stop is Stop.EXHAUSTED and path.fits_exactly:
        stop = Stop.EXACT_FIT if found.fits else Stop.ROUNDING
    # All columns that enter at the first λ do so at x = 0: one point for all of them.
    below = first * (1 - 16 * path.tolerance.eps)
    points = [first, *(value for value in path.breakpoints if value < below)]
    units = np.array([*(points if path.penalty < first else []), path.penalty])
    penalties = np.array([data_penalty(value, cost, data) for value in units.tolist()])
    if not np.isfinite(penalties).all() or ((penalties < sys.float_info.min) & (units > 0)).any():
        raise InputError(
            "The penalties of the path are beyond the floating-point range",
            "scale A, y or the weights.",
        )
    if stop is Stop.PENALTY:  # not λ there and back between units
        penalties[-1] = min(lowest, penalties[-2:][0])
    solution = l1_solution(
        log, "l1_path", stop, cost, found.minimiser, None, False, kind=L1Path, r=found.r,
        penalties=penalties,
    )  # fmt: skip
    return replace(solution, penalty=float(penalties[-1]))
