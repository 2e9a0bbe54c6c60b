"""Oracles of ℓ1 problems: feasibility, duality and the optimality conditions, from the data alone.

All of it in extended precision, for unit columns and a unit target. The weights of unit columns are
w_j/‖a_j‖, taken as parts of the largest. For any ν,

    Σ w_j|z_j|  >=  Re y*ν - bound ‖ν‖ - Σ_j max(|u_j*ν| - w_j, 0) |z_j|     if ‖U z - y‖ <= bound,

so that a ν which exceeds no weight proves what it is told to. The library says how well it solved a
problem (`accuracy`): that is the claim which is judged, and for data without near dependence the
accuracy itself is. Rounding excuses `part` (1 + |x|₁) of a residual, and what that is worth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsewise import Stop
from sparsewise.results import L1Path, L1Solution, Model, Reweighted, Solution
from tests.hostile.campaign import oracle
from tests.hostile.least_squares import LONG, lengths

Array = NDArray[Any]

#: Of problems without near dependence, in double and in single precision.
ACCURATE = {8: 1e-6, 4: 2e-2}
#: An exact fit loses a quarter of the digits at most, but for so many units.
EXACT = 8
#: On the way to an end that rounding spoils, minimisers are so accurate at least.
SPOILT = 1e-3
#: So many models of a path, and so many points between its bends, are judged.
MODELS, POINTS = 12, 3


class Point:
    """Coefficients of a call, for unit columns and a unit target: what they fit, and cost."""

    def __init__(self, call: Any, coef: Array) -> None:
        exact = call.exact
        self.S = np.flatnonzero(coef)
        self.x = exact.unit_coef(coef, self.S)
        self.size = float(np.abs(self.x).sum())
        self.r = exact.y - exact.U[:, self.S] @ self.x
        self.norm = float(lengths(self.r[:, None])[0])
        self.rounding = exact.part * (1 + self.size) + exact.denormal_slack(self.S)
        self.cost = float(np.sum(call.unit_weights[self.S] * np.abs(self.x)))


def length(v: Array) -> float:
    return float(lengths(v[:, None])[0])


@oracle
def told_residual(call: Any, solution: Solution) -> None:
    """residual_norm is ‖y - A coef‖."""
    point, told = Point(call, solution.coef), call.exact.relative(solution.residual_norm)
    off = abs(told - point.norm)
    assert off <= point.rounding, f"told {told:.6g}, is {point.norm:.6g}"


@oracle
def bound_is_met(call: Any, solution: Solution) -> None:
    """Where a bound on the residual is told to be met, it is."""
    if call.bound is None or call.words.get("debias"):
        return
    if solution.stop in (Stop.CALLBACK, Stop.INTERRUPTED):
        return
    point, bound = Point(call, solution.coef), call.exact.relative(call.bound)
    allowed = bound * (1 + 1e-12) + point.rounding
    if solution.stop is Stop.ROUNDING:
        allowed += getattr(solution, "accuracy", 0.0)
    assert point.norm <= allowed, (
        f"{solution.stop.name}: residual {point.norm:.6g} > {bound:.6g} ‖y‖"
    )


@oracle
def why_it_ended(call: Any, solution: Solution) -> None:
    """The reason told for the end is true of the data."""
    stop, exact = solution.stop, call.exact
    assert (stop is Stop.ZERO_TARGET) == exact.is_zero, f"{stop.name} is told"
    if exact.is_zero:
        assert not solution.coef.any(), "zeros are explained by something"
        return
    point = Point(call, solution.coef)
    if stop is Stop.EXACT_FIT and not call.words.get("debias"):
        allowed = min(64 * exact.eps + point.rounding, EXACT * exact.eps**0.75)
        assert point.norm <= allowed + exact.denormal_slack(point.S), f"exact: {point.norm:.3g}"
    if stop is Stop.ROUNDING:
        # The path of complex coefficients ends a little before λ = 0, whatever its columns are.
        plain = call.benign and exact.eps < 1e-10 and solution.coef.dtype.kind != "c"
        assert not plain, "rounding hides nothing"
    if stop is Stop.PENALTY:
        assert solution.penalty <= call.words["penalty"] * (1 + 1e-9)
    if stop is Stop.MAX_OUTER:
        assert len(solution.rounds) == 1 + call.words.get("max_outer", 8)


@oracle
def optimal(call: Any, solution: L1Solution) -> None:
    """The dual vector proves the minimiser of Σ w_j|x_j| under its bound, as well as is told.

    Where λ > 0 it is the residual's direction.
    """
    exact, point = call.exact, Point(call, solution.coef)
    if exact.is_zero or solution.bound is None:
        return
    w, usable = call.weights_of(solution)
    cost = float(np.sum(w[point.S] * np.abs(point.x)))
    nu = call.unit_dual(solution)
    reach = np.where(usable, np.abs(exact.U.conj().T @ nu), 0).astype(float)
    bound = exact.relative(solution.bound)
    norm = length(nu)
    accuracy = max(solution.accuracy, 100 * exact.eps)
    excess = reach - w - exact.part * norm - accuracy * np.where(w > 0, w, 1.0) - 1e-300
    worst = int(np.argmax(excess))
    assert excess[worst] <= 0, f"|a*ν| exceeds the weight of {worst} by {excess[worst]:.3g}"
    proved = float(np.vdot(exact.y, nu).real) - (bound * norm if norm > 0 else 0.0)
    slack = accuracy * max(cost, abs(proved)) + norm * (point.rounding + exact.part)
    slack += 1e-300 * (1 + point.size)  # no smaller weights are told apart
    assert abs(cost - proved) <= slack, f"costs {cost:.9g}, but {proved:.9g} is proved"
    if 0 < solution.penalty < np.inf:
        penalty = call.unit_penalty(solution)
        off = length(point.r - penalty * nu)
        # A gap of ‖r‖‖ν‖ - Re r*ν is an angle of its root.
        angle = (2 * bound * slack / norm) ** 0.5 if norm > 0 else 0.0
        angle += solution.accuracy if solution.stop is Stop.ROUNDING else 0.0
        assert off <= 2 * angle + point.rounding, f"r and λν differ by {off:.3g}"


@oracle
def optimal_penalised(
    call: Any, coef: Array, penalty: float, accuracy: float, *, where: str = "the end"
) -> None:
    """½‖r‖² + λ Σ w_j|x_j| is least: |a_j*r| <= λ w_j, and a_j*r = λ w_j x_j/|x_j| on the support.

    As a duality gap, and for each column, relative to the λ at which x is zero.
    """
    exact, point = call.exact, Point(call, coef)
    if exact.is_zero:
        return
    w, usable = call.unit_weights, call.usable
    free = usable & (w == 0)
    reach = np.where(usable, np.abs(exact.U.conj().T @ point.r), 0).astype(float)
    start = np.abs(exact.U.conj().T @ exact.y).astype(float)
    limit = np.minimum(call.relative_penalty(penalty) * w, 1e300).astype(float)
    highest = max(float(start.max()), 1e-30)
    allowed = accuracy * highest + point.rounding
    excess = reach - limit
    worst = int(np.argmax(np.where(usable, excess, -np.inf)))
    assert excess[worst] <= allowed, f"{where}: |a*r| exceeds λ w of {worst} by {excess[worst]:.3g}"
    cost = float(np.sum(limit[point.S] * np.abs(point.x)))
    gap = point.norm**2 + cost - float(np.vdot(exact.y, point.r).real)
    slack = accuracy + point.rounding * (1 + point.size * (1 if free.any() else highest))
    assert abs(gap) <= slack, f"{where}: the gap is {gap:.3g}"


@oracle
def gap_is_closed(call: Any, solution: L1Solution) -> None:
    """Where the duality gap is told to be small, it is.

    For θ = λν with |a_j*θ| <= λ w_j, the objective is at least Re y*θ - ‖θ‖²/2.
    """
    exact, point = call.exact, Point(call, solution.coef)
    if solution.stop is not Stop.CONVERGED or call.words.get("debias") or exact.is_zero:
        return
    penalty = call.relative_penalty(solution.penalty)
    limit = penalty * call.unit_weights
    theta = call.unit_dual(solution) * penalty
    if not theta.any():  # its units are out of range: the residual serves as well
        corr = np.abs(exact.U.conj().T @ point.r)[call.usable]
        theta = point.r * min(1, *(limit[call.usable][corr > 0] / corr[corr > 0]).tolist(), 1)
    norm = length(theta)
    reach = np.abs(exact.U.conj().T @ theta)
    excess = np.where(call.usable, reach - limit, -1)
    assert excess.max(initial=-1.0) <= exact.part * (1 + norm), (
        f"λν exceeds λw by {excess.max():.3g}"
    )
    primal = point.norm**2 / 2 + float(np.sum(limit[point.S] * np.abs(point.x)))
    gap = primal - (float(np.vdot(exact.y, theta).real) - norm**2 / 2)
    tol = max(call.words["tol"], 100 * exact.eps)
    slack = tol * primal * (1 + 1e-6) + 4 * point.rounding
    assert gap <= slack, f"the gap is {gap:.3g} of {primal:.3g}, not {tol:.3g}"


@oracle
def accurate(call: Any, solution: L1Solution) -> None:
    """Where no columns nearly depend on each other, the answer is told to be accurate."""
    if call.benign and call.algorithm not in ("ista", "fista"):
        limit = ACCURATE[call.exact_itemsize]
        assert solution.accuracy <= limit, f"accuracy {solution.accuracy:.3g}"


@oracle
def points_of_the_path(call: Any, solution: L1Path) -> None:
    """Every bend, and every point between two, is a minimiser at its λ; λ falls."""
    penalties = solution.penalties
    assert (np.diff(penalties) <= 0).all(), "λ rises"
    assert len(penalties) == len(solution.points), "λ and models are not as many"
    if call.exact.is_zero or not np.isfinite(penalties).all():
        return
    if solution.stop is Stop.PENALTY:
        solution.at_penalty(call.words["penalty"])  # the path leads as far as was asked
    # Where rounding ended the path, what is told is the accuracy of its end.
    accuracy = max(solution.accuracy, SPOILT if solution.stop is Stop.ROUNDING else 0.0)
    looks = np.unique(np.linspace(0, len(penalties) - 1, MODELS).astype(int))
    for i in looks:
        model = solution.points[i]
        optimal_penalised(call, model.coef, penalties[i], 16 * accuracy, where=f"bend {i}")
        told_loss(call, model, accuracy, f"bend {i}")
    between = call.rng.uniform(size=POINTS) * (len(penalties) - 1)
    for place in between:
        i = int(place)
        if i + 1 < len(penalties) and penalties[i] > penalties[i + 1]:
            at = penalties[i] + (place - i) * (penalties[i + 1] - penalties[i])
            model = solution.at_penalty(float(at))
            optimal_penalised(call, model.coef, at, 16 * accuracy, where=f"λ = {at:.6g}")
            told_loss(call, model, accuracy, f"λ = {at:.6g}")
            assert model.coef.dtype == call.dtype, f"coef is {model.coef.dtype} between bends"


@oracle
def told_loss(call: Any, model: Model, accuracy: float, where: str) -> None:
    """A model on the way has the residual that is told of it."""
    if abs(call.exact.power) >= 450:
        return  # squares in the units of y can't be told
    point = Point(call, model.coef)
    assert set(point.S.tolist()) <= set(model.support.tolist()), f"{where}: off the support"
    told = call.exact.relative(max(model.loss, 0.0) ** 0.5)
    slack = accuracy + 16 * point.rounding
    assert abs(told - point.norm) <= slack, f"{where}: told {told:.6g}, is {point.norm:.6g}"


def models_of_the_path(call: Any, solution: Solution) -> None:
    """Each model on the way has its residual, whatever the rounds before it were."""
    models = [solution.path.initial, *solution.path.models()]
    looks = np.unique(np.linspace(0, len(models) - 1, MODELS).astype(int))
    accuracy = getattr(solution, "accuracy", 0.0)
    if solution.stop is Stop.ROUNDING:
        accuracy = max(accuracy, SPOILT)
    if call.algorithm == "focuss":  # what is dropped is rounding error of the largest coefficient
        accuracy = call.exact.eps ** (2 / 3) * (1 + Point(call, models[0].coef).size)
    for i in looks:
        told_loss(call, models[i], accuracy, f"model {i} of {len(models)}")


@oracle
def rounds_are_true(call: Any, solution: Reweighted) -> None:
    """The last round told is the one returned, and only what it says happened."""
    last = solution.rounds[-1]
    assert last.size == solution.support.size, f"{last.size} features are told"
    assert np.isclose(last.objective, solution.objective, rtol=1e-6), "another objective is told"
    assert np.isinf(solution.rounds[0].change)
    changes = [one.change for one in solution.rounds[1:]]
    assert np.isfinite(changes).all(), f"changes {changes}"
    assert all(one.size <= call.A.shape[1] for one in solution.rounds)


@oracle
def same_answer(call: Any, solution: Solution, other: Solution, how: str) -> None:
    """Neither how A is held nor powers of two change what is found.

    Costs and residuals are compared; coefficients, too, where they are unique.
    """
    one, two = Point(call, solution.coef), Point(call, other.coef)
    accuracy = max(getattr(s, "accuracy", 1e-6) for s in (solution, other))
    accuracy = max(accuracy, 100 * call.exact.eps)
    convex = call.algorithm in ("bp", "bpdn", "l1_path")
    if convex and solution.stop is other.stop:
        rounding = one.rounding + two.rounding
        slack = 4 * accuracy * max(one.cost, two.cost, 1e-300) * call.doubt
        # A residual that rounding has moved by so much is worth λ⁻¹ of it.
        reach = call.dual_norm(solution)
        off = abs(one.cost - two.cost)
        assert off <= slack + reach * rounding, f"{how}: costs {one.cost:.9g} and {two.cost:.9g}"
    if call.benign:
        size = float(np.abs(one.x).max(initial=0.0)) or 1.0
        apart = np.zeros(call.A.shape[1], np.result_type(one.x, two.x))
        apart[one.S] += one.x
        apart[two.S] -= two.x
        limit = 1e-5 if call.exact_itemsize == 8 else 5e-2
        if call.algorithm in ("fista", "ista"):  # steps end at a gap, and it curves with ‖A d‖²
            limit = max(limit, 4 * accuracy**0.5)
        worst = float(np.abs(apart).max()) / size
        assert worst <= limit * call.doubt, f"{how}: coefficients differ by {worst:.3g}"


def long_quotient(w: Array, norms: Array) -> Array:
    """w_j/‖a_j‖ in a range that holds it."""
    return np.asarray(w, LONG) / np.where(norms > 0, norms, 1)
