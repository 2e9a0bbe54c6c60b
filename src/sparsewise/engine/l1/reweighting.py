"""Iteratively reweighted ℓ1 minimisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.parameters import check_positive, check_whole
from sparsewise.design.base import Design, square_sums
from sparsewise.engine.l1.basis_pursuit import BasisPursuit
from sparsewise.engine.l1.l1_solution import Minimiser, l1_solution
from sparsewise.engine.l1.weights import Weights
from sparsewise.problem.problem import Problem
from sparsewise.results import Reweighted, Round, Stop
from sparsewise.tolerances import tolerances

INNER = 8
"""Fixed-point iterations of the relevance weights between two ℓ1 problems."""

DAMPED = 1e2
"""Above this d_j², 1 - d_j² [M⁻¹]_jj has lost more than two of sixteen digits."""

Rule = Callable[[Array, Array], Array]
"""From the coefficients of unit columns and their weights to new weights."""


class Reweighting(NamedTuple):
    """The last finished round, the rounds before it, and why iterations ended.

    Attributes
    ----------
    stop : Stop
        Why it ended.
    weights : Weights
        The weights of the last finished round.
    minimiser : Minimiser
        Its minimiser.
    r : ndarray, optional
        Its residual, if known.
    rounds : tuple of Round
        Size, objective and change of each round.
    """

    stop: Stop
    weights: Weights
    minimiser: Minimiser
    r: Array | None
    rounds: tuple[Round, ...]

    def ended(self, stop: Stop) -> Reweighting:
        """The same, ended for this reason, unless rounding errors spoil the last round."""
        return self if self.stop is Stop.ROUNDING else self._replace(stop=stop)

    def solution(self, algorithm: str, pursuit: BasisPursuit, debias: bool) -> Reweighted:
        """The last finished round in the units of the data."""
        return l1_solution(
            pursuit.log, algorithm, self.stop, self.weights, self.minimiser, pursuit.bound, debias,
            kind=Reweighted, r=self.r, rounds=self.rounds,
        )  # fmt: skip


def reweighted(
    pursuit: BasisPursuit, weights: Weights, rule: Rule, max_outer: int, tol: float
) -> Reweighting:
    """Minimise with these weights, then with those that the rule computes from each minimiser.

    Ends when no coefficient of a unit column moves by more than `tol` times the largest, after
    `max_outer` rounds besides the first, or when all penalised coefficients are zero: no weights
    can lower an objective of zero. A round that is halted solves neither the old problem nor the
    new one, so the round before it is returned.
    """
    most, small = check_whole(max_outer, "max_outer", 0), check_positive(tol, "tol")
    data, before = pursuit.data, np.zeros(0)
    last: Reweighting | None = None
    for _ in range(most + 1):
        if last is not None:
            weights = weights.with_unit(rule(before, weights.finite * weights.top), data)
        stop = pursuit.run(weights)
        if last is not None and pursuit.log.halted:
            return last._replace(stop=stop)
        minimiser = pursuit.result()
        x = minimiser.coef(data)
        change = float(np.abs(x - before).max() / np.abs(before).max()) if last else math.inf
        this = Round(minimiser.columns.size, minimiser.cost(weights, data), change)
        rounds = (*last.rounds, this) if last else (this,)
        before, last = x, Reweighting(stop, weights, minimiser, pursuit.r, rounds)
        if pursuit.log.halted or not x[weights.penalised].any():
            return last
        if change <= small:
            return last.ended(Stop.SETTLED)
    assert last is not None
    return last.ended(Stop.MAX_OUTER)


def relevance_weights(data: Problem, x: Array, weights: Array, sigma: float) -> Array:
    """√(a_j* C⁻¹ a_j) of all unit columns, after INNER iterations from these weights.

    With S the support, d_j² = σ²/γ_j, P = A_S*A and M = A_S*A_S + D² = R*R, it is the root of
    (1 - ‖R⁻*P_j‖²)/σ²; for j in S also of (1 - d_j² [M⁻¹]_jj)/γ_j. The latter keeps its digits
    where γ_j is large (`DAMPED`), and the iterations need no other: Γ is zero off the support.
    """
    from scipy.linalg import get_lapack_funcs

    eps = data.tolerances.eps
    S = np.flatnonzero(x)
    unit = data.unit_columns(S)
    P = (data.rmatmat(unit) * data.inverse_norms[:, None]).conj().T
    P = P.astype(np.result_type(P.dtype, np.float64), copy=False)
    gram, unit = P[:, S], unit.astype(P.dtype, copy=False)
    routines: Any = get_lapack_funcs(("potrf", "trtri", "trtrs"), (P,))
    factor, invert, solve = routines
    close = tolerances(P.dtype).quiet ** 0.5

    def root(squares: Array) -> Array:
        """R by Cholesky, or by QR of A_S stacked on D where columns are nearly dependent."""
        R, failed = factor(gram + np.diag(squares))
        if failed or R.diagonal().real.min() < close:
            R = np.linalg.qr(np.vstack([unit, np.diag(np.sqrt(squares) + eps)]), mode="r")
        return np.asarray(R)

    size, own = np.abs(x[S]).astype(np.float64), np.asarray(weights[S], np.float64)
    for _ in range(INNER):
        squares = np.minimum(sigma**2 * own / size, 1 / eps)  # zero for unpenalised columns
        R = root(squares)
        inverse = square_sums(invert(R)[0].conj().T)
        own = squares * np.maximum(1 - squares * inverse, 1e-12)
        if squares.max() > DAMPED:
            left = np.maximum(1 - square_sums(solve(R, gram, trans=2)[0]), eps)
            own = np.where(squares > DAMPED, left, own)
        own = np.sqrt(own) / sigma
    left = 1 - square_sums(solve(R, P, trans=2)[0])
    new = np.sqrt(np.maximum(left, eps)) / sigma
    new[S] = own
    return new


def usual_epsilon(design: Design, size: Array) -> float:
    """The i-th largest of the relative sizes, i = n/(4 log(m/n)), but at least 1e-3."""
    n, m = design.rows, design.shape[1]
    i = round(n / (4 * math.log(m / n))) if m > n else m
    i = min(max(i, 1), size.size)
    return max(float(np.partition(size, -i)[-i]), 1e-3)
