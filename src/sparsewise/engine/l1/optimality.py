"""Optimality conditions of an ℓ1 minimiser, checked from the data alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.homotopy import Homotopy
from sparsewise.engine.l1.l1_solution import LostDigitsError, Minimiser, correlations
from sparsewise.engine.l1.weights import Weights
from sparsewise.kernels import load_homotopy
from sparsewise.problem.problem import Problem
from sparsewise.results.l1 import DUAL_ROUNDING, GAP_ROUNDING, ROUNDING, off_support

DEVIATION = 1e-9
"""Relative violation of the optimality conditions above which a more careful solve follows."""

UNSURE = 1 / 2
"""In units of eps, and of Σ|x|: by how much rounding x moves y - A x."""

POOR = 1e-3
"""The worst accuracy at which a point still counts as a minimiser."""

POOR_DIGITS = 3000.0
"""The same in units of √eps, for single precision: there any digit may be all that there is."""

SPARE = 3 / 4
"""Part of the rounding errors that a check allows: its own may be others."""


class Verdict(NamedTuple):
    """What the data say of a minimiser.

    Attributes
    ----------
    holds : bool
        Whether the optimality conditions hold up to rounding.
    error : float
        How far they may be violated, as `L1Solution.check` measures it.
    fits : bool
        Whether ‖r‖ is within its bound, or rounding error where there is none.
    """

    holds: bool
    error: float
    fits: bool


class Judged(NamedTuple):
    """A minimiser, and what the data say of it.

    Attributes
    ----------
    minimiser : Minimiser
        Its accuracy is as poor as the conditions are violated.
    r : ndarray
        y - A x.
    holds : bool
        Whether nothing but rounding violates them: if not, a more careful solve may help.
    is_sound : bool
        Whether they are violated by no more than any answer may.
    fits : bool
        Whether ‖r‖ is within its bound, or rounding error where there is none.
    """

    minimiser: Minimiser
    r: Array
    holds: bool
    is_sound: bool
    fits: bool

    def checked(self, halted: bool = False) -> Minimiser:
        """The minimiser; raises `LostDigitsError` if it is none.

        Where a run was halted, that is the stop reason: no other says that rounding spoilt it.
        """
        if not (self.is_sound if halted else self.is_usable):
            raise LostDigitsError
        return self.minimiser

    @property
    def is_usable(self) -> bool:
        """Whether it counts as a minimiser, if perhaps a poor one."""
        eps = float(np.finfo(self.r.dtype).eps)
        return self.minimiser.accuracy <= max(POOR, POOR_DIGITS * eps**0.5)


def judged(
    path: Homotopy, data: Problem, weights: Weights, bound: float | None, halted: bool = False
) -> Judged:
    """The minimiser where the path is, refined if the data ask for it.

    Where it was halted, it is the minimiser within its own ‖r‖.
    """
    best: Judged | None = None
    for refined in (False, True):
        minimiser = path.minimiser(refined).rounded(data)
        r = minimiser.residual(data)
        within = max(bound or 0.0, float(np.linalg.norm(r))) if halted else bound
        holds, error, fits = judge(data, weights, minimiser, r, within)
        is_sound = error <= minimiser.accuracy
        if not is_sound:
            minimiser = minimiser._replace(accuracy=4 * error)
        holds = holds and is_sound
        if best is None or minimiser.accuracy <= best.minimiser.accuracy:
            best = Judged(minimiser, r, holds, is_sound, fits)
        if holds and (fits or within is None):
            break
    assert best is not None
    return best


def is_within(length: float, size: float, bound: float, eps: float) -> bool:
    """Whether ‖r‖ meets the bound up to rounding, in all but a quarter of the digits of y.

    The size is 1 + Σ|x|: rounding errors of A x grow with it.
    """
    return length <= bound * (1 + DEVIATION) + min(64 * eps * size, eps**0.75)


def judge(
    data: Problem, weights: Weights, minimiser: Minimiser, r: Array, bound: float | None
) -> Verdict:
    """Whether ‖r‖ <= bound, r = λν, |a_jᵀν| <= w_j and a_jᵀν = w_j sign(x_j) on S.

    For real data, unit columns and a unit target, with r = y - A x. An infinite λ needs only the
    bound; at λ = 0, r is orthogonal to all columns, or zero. Without a bound, λ is what was asked
    for, and violations are relative to the λ at which x is zero. One pass over A, or two.
    """
    eps = data.tolerances.eps
    deviation = max(DEVIATION, 1e2 * eps)
    nu, penalty = minimiser.dual, minimiser.penalty
    is_zero = math.isinf(penalty)  # x = 0 meets the bound
    data.begin()
    length, aside, size, cost, product, dual, beyond = load_homotopy().conditions(
        np.zeros(weights.unit.size, nu.dtype) if is_zero else correlations(data, nu),
        weights.unit, minimiser.columns, minimiser.x, data.y, r, nu, 0.0 if is_zero else penalty,
        SPARE * DUAL_ROUNDING * eps,
    )  # fmt: skip
    size += 1.0
    too_long = 0.0 if bound is None else max(length - bound, 0.0)
    holds = bound is None or too_long <= bound * deviation + ROUNDING * eps * size
    error = too_long + UNSURE * eps * size
    fits = is_within(length, size, bound or 0.0, eps)
    if is_zero:
        return Verdict(holds, error, fits)
    if penalty == 0:
        aside = 0.0
        if length > ROUNDING * eps * size:
            aside = _largest(data, weights, r)
    holds = holds and aside <= deviation * length + ROUNDING * eps * size
    allowed = SPARE * GAP_ROUNDING * eps
    if bound is not None:
        lower = product - bound * dual
        gap = abs(cost - lower) - allowed * (size + bound) * dual
        largest = max(cost, abs(lower))
        gap = gap / largest if largest > 0 else 0.0
    else:
        inner, squares = penalty * product, (penalty * dual) ** 2
        if penalty == 0:  # r itself has to prove it
            theta = off_support(data.unit_columns(minimiser.columns), r)
            beyond = max(_largest(data, weights, theta) - SPARE * DUAL_ROUNDING * eps * length, 0.0)
            inner, squares = float(data.y @ theta), float(theta @ theta)
        gap = abs(length * length + squares + 2 * (penalty * cost - inner))
        gap -= 2 * allowed * squares**0.5 * size
        beyond *= (penalty or 1.0) / (_largest(data, weights, data.y) or 1.0)
    holds = holds and beyond <= deviation and gap <= deviation
    return Verdict(holds, max(error, aside if penalty > 0 else 0.0, beyond, gap), fits)


def _largest(data: Problem, weights: Weights, v: Array) -> float:
    """The largest |a_jᵀv| of a column that is not excluded."""
    return float(np.abs(data.correlate(v)).max(where=~weights.excluded, initial=0.0))


def is_reachable(data: Problem, weights: Weights, bound: float) -> bool:
    """Whether some x has ‖A x - y‖ <= bound up to rounding, by least squares on all columns."""
    unit = data.unit_columns(np.flatnonzero(~weights.excluded))
    x = np.linalg.lstsq(unit, data.y, rcond=None)[0]
    rest = float(np.linalg.norm(data.y - unit @ x))
    eps = data.tolerances.eps
    return rest <= bound + 16 * ROUNDING * eps * (1 + float(np.abs(x).sum()))
