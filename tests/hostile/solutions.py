"""Oracles of a model of chosen columns: what it is, how it came about, and why it ended."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsewise import Solution, Stop
from sparsewise.algorithms import Family
from tests.hostile.calls import Call
from tests.hostile.campaign import oracle
from tests.hostile.least_squares import LONG, Exact, Fit, sizes
from tests.references.stepwise import CRITERIA, independent, ric

Array = NDArray[Any]

#: Columns are dependent for the library once Σh² is 1/eps; it may be so at a part of that.
DOUBT = 100
#: Errors of a residual below this part of √eps are not worth a fresh QR, where columns are close.
FINE = 1e-2
#: ‖r‖ of so many units of rounding is an exact fit.
EXACT = 64
#: Extended precision is slow: nobody looks for the condition of more columns than this.
MANY = 64
#: A cost beyond this is infinite.
HUGE = int(np.finfo(float).max)
#: Why a search ends; whether it does for that reason, `end_of_search` says.
ENDS_OF_SEARCH = Stop.FOUND_AGAIN, Stop.EFFORT, Stop.BY_CHANCE, Stop.NOTHING_FOUND
#: So many steps, and so many models, of a path are judged: of models, the first and the last.
LOOKS, MODELS = 8, 16


@oracle
def well_formed(call: Call, solution: Solution) -> None:
    """Support and coefficients are what their names say, and keep to include, exclude, sparsity."""
    m = call.A.shape[1]
    support, coef = solution.support, solution.coef
    assert support.dtype.kind == "i", f"support of type {support.dtype}"
    assert support.ndim == 1, f"support of shape {support.shape}"
    assert (np.diff(support) > 0).all(), f"support {support} is not ascending"
    assert ((support >= 0) & (support < m)).all(), f"support {support} beyond {m} columns"
    assert coef.shape == (m, *call.y.shape[1:]), f"coef of shape {coef.shape}"
    assert coef.dtype == call.dtype, f"coef is {coef.dtype}, not {call.dtype}"
    assert np.isfinite(coef).all(), f"coef {coef}"
    assert not np.delete(coef, support, axis=0).any(), "a coefficient off the support"
    residual = solution.residual_norm
    assert np.isfinite(residual), f"residual_norm {residual}"
    assert residual >= 0, f"residual_norm {residual}"
    chosen = set(support.tolist())
    missing = set(call.columns("include")) - chosen
    assert not missing or call.exact.is_zero, f"{missing} of include are not in it"
    assert not chosen & set(call.columns("exclude")), "an excluded column is in it"
    most = call.words.get("sparsity")
    halted = solution.stop is Stop.CALLBACK  # perhaps in the middle of an exchange
    assert halted or most is None or len(chosen) <= max(most, len(call.first)), (
        f"more than {most} columns"
    )
    assert solution.n_passes >= 0


@oracle
def readable(solution: Solution) -> None:
    """What it says of itself can be read, and travels to other processes."""
    for one in (solution, solution.path):
        assert isinstance(repr(one), str)
    assert "nan" not in repr(solution).lower(), repr(solution)
    copy = pickle.loads(pickle.dumps(solution))
    assert np.array_equal(copy.coef, solution.coef), "a pickled solution has other coefficients"
    assert list(map(str, copy.path)) == list(map(str, solution.path)), "… or another path"
    sizes = solution.path.sizes
    for k in sizes[:LOOKS]:
        model = solution.path.at(k)
        assert model.support.size == k, f"path.at({k}) has {model.support.size} columns"


@oracle
def data_untouched(before: tuple[bytes, bytes], A: Array, y: Array) -> None:
    """Nobody writes into the data."""
    assert (A.tobytes(), y.tobytes()) == before, "the data are not what they were"


@oracle
def stated_residual(call: Call, solution: Solution) -> None:
    """residual_norm is ‖y - A coef‖, up to the rounding of what it should be."""
    exact, S = call.exact, solution.support.tolist()
    stated = exact.relative(solution.residual_norm)
    true = exact.residual(solution.coef, S)
    off = abs(stated - true)
    slack = slack_of_residual(call, exact.fit(S))
    assert off <= slack, f"told {stated:.6g}, is {true:.6g} (off by {off / slack:.3g} times enough)"


def slack_of_residual(call: Call, fit: Fit) -> float:
    slack = fit.residual_slack + call.exact.denormal_slack(fit.S) + left_by_path(call, fit)
    # Matching Pursuit rounds at each of its moves, and moves by no more than the target each time.
    if call.algorithm == "mp":
        return slack + fit.part * (1 + min(call.words.get("max_iter", 10_000), 10_000)) ** 0.5
    return slack


def left_by_path(call: Call, fit: Fit) -> float:
    """Errors that closer columns, met on the way, may have left: too small for a fresh QR."""
    return min(fit.residual_slack * call.worst, FINE * call.exact.eps**0.5)


def worst_on_path(call: Call, solution: Solution) -> float:
    """How badly the worst of the models met tells its coefficients."""
    S = list(solution.path.start)
    if len(S) > MANY:
        return np.inf
    worst = call.exact.fit(S).condition
    for step in solution.path[:MODELS]:
        S = after(S, step)
        worst = max(worst, call.exact.fit(S).condition)
    return worst


@oracle
def least_squares(call: Call, coef: Array, S: list[int], ridge: float = 0.0) -> None:
    """coef is as close to the least-squares fit as a backward stable method comes."""
    exact = call.exact
    fit = exact.fit(S, np.full(len(S), LONG(ridge) ** 0.5) if ridge else None)
    off = exact.U[:, S] @ (exact.unit_coef(coef, S) - fit.x)
    error = float(np.sqrt(np.sum(np.abs(off) ** 2)))
    slack = fit.fitted_slack + exact.denormal_slack(S) + left_by_path(call, fit)
    assert error <= slack, (
        f"A coef is {error:.3g}·‖y‖ from the fit, {error / slack:.3g} times enough; "
        f"residual {exact.residual(coef, S):.6g}, not {fit.norm:.6g}"
    )


def in_range(call: Call) -> bool:
    """Whether squares in the units of y can be told."""
    power = call.exact.power
    return call.exact.is_zero or abs(power) < 450


@oracle
def path_models(call: Call, solution: Solution) -> None:
    """Each model on the way has the residual that is told of it; the last one is the answer.

    Models on the way are not refitted: they carry the errors of the worst columns met before.
    """
    exact = call.exact
    models = solution.path.models()
    chosen = set(models[-1].support.tolist()) if models else set(solution.path.start)
    assert chosen == set(solution.support.tolist()), "the path ends at another model"
    if not in_range(call):
        return
    worst = exact.fit(solution.path.start).condition
    for model in (*models[:MODELS], *models[MODELS:][-MODELS:]):
        S = model.support.tolist()
        assert not np.delete(model.coef, S, axis=0).any(), "a coefficient off a model's support"
        fit = exact.fit(S)
        worst = max(worst, fit.condition)
        stated = exact.relative(model.loss**0.5)
        true = exact.residual(model.coef, S)
        slack = slack_of_residual(call, fit) * worst
        assert abs(stated - true) <= slack, (
            f"model {S} is told to have {stated:.6g}, has {true:.6g} "
            f"({abs(stated - true) / slack:.3g} times enough)"
        )
        if solution.least_squares:
            off = abs(true - fit.norm)
            assert off <= slack, f"model {S} has {true:.6g}, {fit.norm:.6g} is least"


@oracle
def monotone_path(call: Call, solution: Solution) -> None:
    """What is left falls with columns that come, and grows with columns that go."""
    if not in_range(call):
        return
    before = solution.path.initial.loss**0.5
    scale = float(np.ldexp(float(call.exact.norm), call.exact.power)) if before else 1.0
    for step in solution.path:
        after = step.loss**0.5
        change = (after - before) / scale
        # The loss is of the order of its rounding squared: its root is good to the root of that.
        slack = 16 * call.exact.part
        if step.action == "add":
            assert change <= slack, f"adding {step.columns} raised ‖r‖ by {change:.3g}·‖y‖"
        elif step.action == "drop":
            assert change >= -slack, f"dropping {step.columns} lowered ‖r‖ by {-change:.3g}·‖y‖"
        before = after


# --- greed ---------------------------------------------------------------------------------------

BY_GAIN = ("forward", "rmp0", "foba", "stepwise")
BY_CORR = ("omp",)
BY_LOSS = ("backward", "rmp0", "foba", "stepwise")
BY_COEF = ("lace",)


@oracle
def greedy_steps(call: Call, solution: Solution) -> None:
    """Every step is the best of its kind, up to rounding, by least squares from scratch."""
    exact, name = call.exact, call.algorithm
    S = list(solution.path.start)
    barred = set(call.columns("exclude"))
    forced = set(call.columns("include"))
    for step in solution.path[:LOOKS]:
        fit = exact.fit(S)
        if step.action == "add" and name in (*BY_GAIN, *BY_CORR):
            scores, slack, usable = additions(exact, fit, by_gain=name in BY_GAIN)
            free = [j for j in range(len(scores)) if j not in {*S, *barred}]
            usable = [j for j in free if usable[j]]
            best = max((scores[j] - slack[j] for j in usable), default=0.0)
            (j,) = step.columns
            assert j in free, f"{j} can't be added to {S}"
            assert scores[j] + slack[j] >= best * (1 - 1e-9), (
                f"{j} was added to {S} for {scores[j]:.9g}; there is {best:.9g}"
            )
        elif step.action == "drop" and name in (*BY_LOSS, *BY_COEF):
            scores, slack = deletions(fit, by_loss=name in BY_LOSS)
            loose = [i for i, j in enumerate(S) if j not in forced]
            least = min(scores[i] + slack[i] for i in loose)
            i = S.index(step.columns[0])
            assert i in loose, f"{S[i]} was to be kept"
            assert scores[i] - slack[i] <= least * (1 + 1e-9), (
                f"{S[i]} of {S} was dropped for {scores[i]:.9g}; there is {least:.9g}"
            )
        S = after(S, step)


@oracle
def closest_columns(call: Call, solution: Solution) -> None:
    """Columns that come in groups by correlation are those closest to what was left before.

    oblivious takes all at once, gomp so many at a time; Matching Pursuit moves along one.
    """
    exact, barred = call.exact, set(call.columns("exclude"))
    S, r, rounding = list(solution.path.start), None, exact.part
    added = [step.columns[0] for step in solution.path]
    count = {"oblivious": len(added), "gomp": call.words.get("batch", 1), "mp": 1}[call.algorithm]
    for first in range(0, min(len(added), LOOKS), max(count, 1)):
        group = added[first : first + count]
        fit = exact.fit([] if call.algorithm == "oblivious" else S)
        if call.algorithm != "mp" or r is None:
            r, rounding = fit.r, fit.residual_slack + left_by_path(call, fit)
        corr = sizes(exact.U.conj().T @ r).astype(float)
        if call.algorithm == "mp":
            free = [j for j in range(corr.size) if j not in barred]
            r = r - exact.U[:, group[0]] * (exact.U[:, group[0]].conj() @ r)
        else:
            rest = exact.fit([*S, *group]).gains(exact.U).frailty < 1 / (DOUBT * exact.eps)
            free = [j for j in range(corr.size) if rest[j] and j not in {*S, *group, *barred}]
        best = max((corr[j] for j in free), default=0.0)
        least = min(corr[j] for j in group)
        assert least * (1 + 1e-9) + 2 * rounding >= best, (
            f"{group} came to {S}, one of them for {least:.9g}; there is {best:.9g}"
        )
        S = [*S, *(j for j in group if j not in S)]


def after(S: list[int], step: Any) -> list[int]:
    """The columns after a step."""
    if step.action == "drop":
        return [j for j in S if j not in step.columns]
    return [*S, *(j for j in step.columns if j not in S)]


def additions(exact: Exact, fit: Fit, *, by_gain: bool) -> tuple[Array, Array, Array]:
    """Score, its error, and whether a column can surely be added: √gain, or |u_j* r|."""
    gains = fit.gains(exact.U)
    usable = gains.frailty < 1 / (DOUBT * exact.eps)
    if by_gain:
        return gains.root, gains.slack, usable
    corr = sizes(exact.U.conj().T @ fit.r).astype(float)
    return corr, np.full(corr.size, fit.residual_slack), usable


def deletions(fit: Fit, *, by_loss: bool) -> tuple[Array, Array]:
    """Score and its error of each column: √loss, or |x_i|."""
    if by_loss:
        return fit.losses()
    return sizes(fit.x).astype(float), fit.coef_slack


@oracle
def never_below_start(call: Call, solution: Solution) -> None:
    """An exchange is made only if it helps: no model of this size met on the way fits better."""
    if call.record.family is not Family.EXCHANGE or solution.stop is Stop.CALLBACK:
        return
    most = call.words.get("sparsity")
    if most is None or solution.support.size > most:
        return  # begun with more: exchanges come by models of that size
    exact, S = call.exact, solution.support.tolist()
    norm = exact.fit(S).norm
    met = [m.support.tolist() for m in solution.path.models() if m.support.size == len(S)]
    if len(call.first) == len(S):
        met.append(call.first)
    for T in met[:MODELS]:
        other = exact.fit(T)
        assert norm <= other.norm * (1 + 1e-9) + other.residual_slack, (
            f"{S} leaves {norm:.9g}; {T} was met and leaves {other.norm:.9g}"
        )


# --- why it ended --------------------------------------------------------------------------------


@oracle
def reason_holds(call: Call, solution: Solution) -> None:
    """The reason told for the end is true of the data."""
    exact, stop, words = call.exact, solution.stop, call.words
    S = solution.support.tolist()
    told = f"{stop.name} is told of {S}"
    if exact.is_zero:
        assert stop is Stop.ZERO_TARGET, told
        return
    assert stop is not Stop.ZERO_TARGET, told
    true = exact.residual(solution.coef, S)
    fit = exact.fit(S)
    rounding = slack_of_residual(call, fit)
    if stop is Stop.SPARSITY:
        enough = call.record.starts_full and len(S) <= words["sparsity"]
        enough |= len(call.first) >= words["sparsity"]
        assert len(S) == words["sparsity"] or enough, told
    elif stop is Stop.RESIDUAL:
        bound = exact.relative(words["residual"])
        assert true <= bound * (1 + 1e-12) + rounding, f"{told}: {true:.6g} > {bound:.6g}"
    elif stop is Stop.EXACT_FIT:
        assert true <= EXACT * exact.eps + rounding, f"{told}: residual {true:.3g}"
    elif stop is Stop.EXHAUSTED:
        everything = len(S) + len(set(call.columns("exclude")) - set(S))
        kept = not set(S) - set(call.columns("include"))
        full = len(S) == min(call.A.shape) or everything == call.A.shape[1]
        assert full or kept or nothing_left(call, fit), told
    elif stop is Stop.DEPENDENT:
        assert nothing_left(call, fit), told
    elif stop in (Stop.DELTA, Stop.STABLE):
        delta = exact.relative(words["delta"])
        if call.algorithm == "lace":
            assert no_cheap_coefficient(call, fit, delta), f"{told}: the smallest is worth less"
        elif call.record.starts_full:
            assert no_cheap_column(call, fit, delta), f"{told}: a column is worth less"
        else:
            assert no_gain(call, fit, delta), f"{told}: a column gains more"
        if stop is Stop.STABLE:
            assert no_cheap_column(call, fit, delta), f"{told}: a column is worth less"
    elif stop is Stop.NO_IMPROVEMENT and call.algorithm in ("forward", "omp", "gomp", "mp"):
        corr = sizes(exact.U.conj().T @ fit.r) if call.algorithm != "mp" else None
        if corr is not None:
            free = candidates(call, S)
            best = max((float(corr[j]) for j in free), default=0.0)
            gain = call.algorithm == "forward"
            assert gain or best <= EXACT * exact.eps + rounding, f"{told}: {best:.3g} is left"
            assert not gain or no_gain(call, fit, EXACT * exact.eps), f"{told}: more can be gained"
    elif stop is Stop.NO_IMPROVEMENT and call.record.starts_full:
        bound = exact.relative(words["residual"])
        assert true >= bound * (1 - 1e-12) - rounding, f"{told}: the bound is met"
    elif stop is Stop.CRITERION:
        assert no_cheaper_model(call, fit), f"{told}: one step leads to a cheaper model"
    elif stop is Stop.MAX_ITER:
        assert words.get("max_iter") is not None or call.algorithm == "sbl", told
    elif stop is Stop.MAX_OUTER:
        assert words.get("max_outer") is not None, told
    elif stop is Stop.CALLBACK:
        assert words.get("callback") is not None, told
    else:
        allowed = dict.fromkeys(("rmp", "fast_sbl", "sbl"), Stop.EVIDENCE)
        allowed |= dict.fromkeys(("srr", "ompr", "subspace_pursuit"), Stop.NO_IMPROVEMENT)
        searched = call.record.family is Family.SEARCH and stop in ENDS_OF_SEARCH
        assert searched or stop is allowed.get(call.algorithm), told


def candidates(call: Call, S: list[int]) -> list[int]:
    """Columns that could be added."""
    closed = {*S, *call.columns("exclude")}
    return [j for j in range(call.A.shape[1]) if j not in closed]


def nothing_left(call: Call, fit: Fit) -> bool:
    """Whether every column that could be added depends on the chosen ones, or may."""
    frailty = fit.gains(call.exact.U).frailty
    return all(frailty[j] >= 1 / (DOUBT * call.exact.eps) for j in candidates(call, fit.S))


def no_gain(call: Call, fit: Fit, delta: float) -> bool:
    """Whether no column lowers ‖r‖² by more than δ², rounding apart."""
    exact, gains = call.exact, fit.gains(call.exact.U)
    level = max(delta, EXACT * exact.eps) * (1 + 1e-9)
    if len(fit.S) == min(call.A.shape):
        return True
    return all(
        gains.root[j] - gains.slack[j] <= level
        for j in candidates(call, fit.S)
        if gains.frailty[j] < 1 / (DOUBT * exact.eps)
    )


def no_cheap_column(call: Call, fit: Fit, delta: float) -> bool:
    """Whether no column can be dropped for δ², rounding apart."""
    root, slack = fit.losses()
    forced = call.columns("include")
    level = max(delta, EXACT * call.exact.eps) * (1 - 1e-9)
    loose = [i for i, j in enumerate(fit.S) if j not in forced]
    return all(root[i] + slack[i] >= level for i in loose)


def no_cheap_coefficient(call: Call, fit: Fit, delta: float) -> bool:
    """Whether the column of smallest coefficient can't be dropped for δ², rounding apart."""
    root, slack = fit.losses()
    forced = call.columns("include")
    level = max(delta, EXACT * call.exact.eps) * (1 - 1e-9)
    x, doubt = sizes(fit.x).astype(float), fit.coef_slack
    loose = [i for i, j in enumerate(fit.S) if j not in forced]
    least = min((x[i] + doubt[i] for i in loose), default=0.0) * (1 + 1e-9)
    smallest = [i for i in loose if x[i] - doubt[i] <= least]
    return not loose or any(root[i] + slack[i] >= level for i in smallest)


def no_cheaper_model(call: Call, fit: Fit) -> bool:
    """Whether no column more or less makes the criterion smaller, rounding apart."""
    n, m = call.A.shape
    m -= len(call.columns("exclude"))
    criterion = call.words.get("criterion", "ric")
    parts = 2 if np.iscomplexobj(call.A) or np.iscomplexobj(call.y) else 1
    targets = call.exact.y.astype(complex)
    q = 1.0 if targets[0].size == 1 else independent(targets)

    def cost(root: float, size: int) -> float:
        squared = 0.0 if root <= EXACT * call.exact.eps else root * root
        if callable(criterion):
            norm = norm_of(call)
            value = criterion(squared * norm * norm, size)
            return float("inf") if isinstance(value, int) and value > HUGE else float(value)
        if str(criterion) == "ric":
            return -np.inf if squared == 0 else float(ric(squared, size, n, m, parts, q))
        with np.errstate(divide="ignore"):
            return float(CRITERIA[str(criterion)](np.float64(squared), size, n, m, q))

    if str(criterion) == "cp" or not in_range(call) or fit.norm <= EXACT * call.exact.eps:
        return True  # a full model's variance, and infinities, are another matter
    here, k = cost(fit.norm, len(fit.S)), len(fit.S)
    gains = fit.gains(call.exact.U)
    usable = gains.frailty < 1 / (DOUBT * call.exact.eps)
    roots = [max(gains.root[j] - gains.slack[j], 0.0) for j in candidates(call, fit.S) if usable[j]]
    losses, slack = fit.losses()
    loose = [i for i, j in enumerate(fit.S) if j not in call.columns("include")]
    costs = [cost(max(fit.norm**2 - root**2, 0.0) ** 0.5, k + 1) for root in roots if k < min(n, m)]
    costs += [cost((fit.norm**2 + (losses[i] + slack[i]) ** 2) ** 0.5, k - 1) for i in loose]
    close = 1e-6 * (1 + abs(here)) if np.isfinite(here) else 0.0
    best = min(costs, default=np.inf)
    # A fit to rounding error costs -∞: whether it is one is the library's to say.
    return best >= here - close or best == -np.inf


# --- its own check -------------------------------------------------------------------------------


@oracle
def told_steps(solution: Solution, steps: list[Any], asked: int | None) -> None:
    """The callback is told every step of the path as it is; when it asks to stop, that is all."""
    assert len(steps) == len(solution.path), f"{len(steps)} steps told, {len(solution.path)} made"
    for told, made in zip(steps, solution.path, strict=True):
        assert told[:2] == made[:2], f"told {told}, made {made}"
        assert told.size == made.size, f"told {told}, made {made}"
        assert told.loss == made.loss, f"told {told}, made {made}"
    if asked is not None and len(steps) >= asked and solution.stop is not Stop.ZERO_TARGET:
        assert solution.stop is Stop.CALLBACK, f"{solution.stop} is told of a stop asked for"
        assert len(steps) == asked, f"{len(steps)} steps where {asked} were enough"


@oracle
def own_check(call: Call, solution: Solution) -> None:
    """A right answer passes its own check, and one that was tampered with does not."""
    from dataclasses import replace

    check = solution.check(call.held, call.target)
    assert check.ok, f"a right answer does not hold: {check}"
    if call.exact.is_zero or not solution.support.size:
        return
    tampered = solution.coef.copy()
    worst = solution.support[np.argmax(sizes(call.exact.unit_coef(tampered, solution.support)))]
    tampered[worst] = 0
    moved = float(sizes(call.exact.unit_coef(solution.coef, [worst]))[0])
    if moved > 1e-2:
        broken = replace(solution, coef=tampered)
        assert not broken.check(call.held, call.target).ok, f"it holds without coefficient {worst}"
    told = replace(solution, residual_norm=solution.residual_norm + 0.01 * norm_of(call))
    assert not told.check(call.held, call.target).ok, "it holds with another residual"


def norm_of(call: Call) -> float:
    return float(np.ldexp(float(call.exact.norm), call.exact.power))
