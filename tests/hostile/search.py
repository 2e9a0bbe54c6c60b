"""Search from several starts: what it says of noise, score, chance and starts, and that it is done.

All from least squares in extended precision: the score of the answer, that of every model next to
it, and the odds by a sum of positive terms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparsewise import ALGORITHMS, Stop
from sparsewise.algorithms.solve import EFFORT
from sparsewise.errors import InputError
from sparsewise.results import MultistartSolution, Start
from tests.hostile.algorithms import judge
from tests.hostile.calls import SEARCHES, Call, a_call
from tests.hostile.campaign import Case, family, oracle
from tests.hostile.least_squares import LONG, Fit, lengths, long
from tests.hostile.refusals import justified, one_sentence
from tests.hostile.solutions import (
    DOUBT,
    EXACT,
    LOOKS,
    MODELS,
    candidates,
    data_untouched,
    well_formed,
    worst_on_path,
)

#: Figures are told to so many digits at least, relative to their size.
CLOSE = 1e-5
#: Where columns tell their coefficients worse than this, single changes are not judged.
WELL_TOLD = 1e5


class Goal:
    """The score as it is documented: (n - k) log ‖r‖² + k·charge, or ‖r‖²/σ² + k·charge."""

    def __init__(self, call: Call) -> None:
        self.exact = call.exact
        self.n, m = call.A.shape
        self.m = m - len(call.columns("exclude"))
        self.parts = 2 if call.dtype.kind == "c" else 1
        criterion = str(call.words.get("criterion", "ric"))
        charges = {
            "ric": 2 * math.log(max(self.m, 2)),
            "bic": self.parts * math.log(max(self.n, 2)),
            "aic": 2.0 * self.parts,
        }
        self.charge = charges[criterion]
        sigma = call.words.get("sigma")
        self.sigma = None if sigma is None else call.exact.relative(sigma)
        self.level = EXACT * call.exact.eps

    def score(self, norm: float, k: int) -> float:
        norm = max(norm, self.level)
        if self.sigma is not None:
            return self.parts * (norm / self.sigma) ** 2 + k * self.charge
        left = self.n - k
        return self.parts * left * 2 * math.log(norm) + k * self.charge if left > 0 else math.inf

    def noise(self, norm: float, k: int) -> float:
        if self.sigma is not None:
            return self.sigma
        return max(norm, self.level) / math.sqrt(max(self.n - k, 1))

    def chance(self, norm: float, k: int) -> float:
        left = self.n - k
        if k == 0 or left <= 0:
            return 0.0
        odds = log_odds(min(max(norm, self.level), 1.0) ** 2, self.parts * left / 2,
                        self.parts * k / 2)  # fmt: skip
        return min((math.log(math.comb(self.m, k)) + odds) / math.log(10), 0.0)

    def around(self, figure: Any, call: Call, fit: Fit) -> tuple[float, float]:
        """A figure of a fit, and what rounding errors of ‖r‖ make of it."""
        slack = fit.residual_slack + self.exact.denormal_slack(fit.S)
        slack += min(fit.residual_slack * call.worst, CLOSE * self.exact.eps**0.5)
        low, here, high = (
            figure(max(fit.norm + off, 0.0), len(fit.S)) for off in (-slack, 0.0, slack)
        )
        off = 0.0 if low == high else abs(high - low)
        return here, off + (CLOSE * (1 + abs(here)) if math.isfinite(here) else 0.0)


def log_odds(x: float, a: float, b: float) -> float:
    """log I_x(a, b) by its series, all of whose terms are positive; by SciPy where x is large."""
    from scipy.special import betainc, betaln

    if x > 0.5:
        return math.log(float(betainc(a, b, x)))
    total = term = 1.0
    j = 0
    while term > 1e-17 * total:
        term *= (a + b + j) / (a + 1 + j) * x
        total += term
        j += 1
    return a * math.log(x) + b * math.log1p(-x) + math.log(total / a) - float(betaln(a, b))


def agrees(told: float, value: float, slack: float) -> bool:
    return told == value or abs(told - value) <= slack


@oracle
def noise_of_search(call: Call, solution: MultistartSolution) -> None:
    """sigma is as given, or ‖r‖/√(n - k); that of each target, too."""
    if call.exact.is_zero:
        assert solution.sigma == (call.words.get("sigma") or 0.0), f"sigma {solution.sigma}"
        return
    goal = Goal(call)
    told = call.exact.relative(solution.sigma)
    fit = call.exact.fit(solution.support.tolist())
    value, slack = goal.around(goal.noise, call, fit)
    slack = CLOSE * value + (slack if goal.sigma is None else 0.0)
    assert agrees(told, value, slack), f"sigma {told:.9g}·‖y‖, not {value:.9g}"
    if solution.sigmas is None or goal.sigma is not None:
        return
    for t in np.flatnonzero(call.exact.heard):
        # Rounding is that of the target itself, however large the others are.
        own = float(lengths(call.exact.y[:, [t]])[0])
        left = float(lengths(fit.r[:, [t]])[0]) / own
        rounding = fit.part * (1 + float(np.abs(fit.x[:, t]).sum()) / own) * (1 + call.worst)
        told = float(LONG(solution.sigmas[t]) / call.exact.each[t]) / own
        value, high = (goal.noise(left + off, len(fit.S)) for off in (0.0, rounding))
        slack = CLOSE * value + 2 * (high - value)
        assert agrees(told, value, slack), f"sigma {told:.9g}·‖y‖ of target {t}, not {value:.9g}"


@oracle
def covariance_of_search(call: Call, solution: MultistartSolution) -> None:
    """covariance is σ² (A_S*A_S)⁻¹ with that sigma."""
    S, stated = solution.support.tolist(), solution.covariance
    assert stated.shape == (len(S), len(S)), f"covariance of shape {stated.shape}"
    assert np.isfinite(stated).all(), "the covariance is not finite"
    assert solution.std.shape == solution.coef.shape
    if not S or not solution.sigma:
        assert not stated.any(), "a covariance without noise"
        return
    fit, exact = call.exact.fit(S), call.exact
    covariance = fit.inverse @ fit.inverse.conj().T
    std = np.sqrt(np.diagonal(covariance).real)
    norms = np.ldexp(exact.norms[S], exact.powers[S]) / LONG(solution.sigma)
    off = float(np.max(np.abs(long(stated) * norms[:, None] * norms - covariance)
                       / np.outer(std, std)))  # fmt: skip
    enough = 4 * fit.part * fit.condition + min(fit.part * call.worst, exact.eps**0.25)
    assert off <= enough, f"the covariance is off by {off:.3g}, {off / enough:.3g} times enough"


@oracle
def score_of_search(call: Call, solution: MultistartSolution) -> None:
    """score is what it says of these columns; no start, nor the least model there is, has less."""
    if call.exact.is_zero:
        return
    goal, exact = Goal(call), call.exact
    value, slack = goal.around(goal.score, call, exact.fit(solution.support.tolist()))
    assert agrees(solution.score, value, slack), f"score {solution.score:.9g}, not {value:.9g}"
    least, doubt = goal.around(goal.score, call, exact.fit(call.columns("include")))
    assert solution.score <= least + slack + doubt, (
        f"score {solution.score:.9g}; with no more than it must have it is {least:.9g}"
    )
    for start in solution.starts:
        assert solution.score <= start.score + slack, f"{start} is better than the answer"


@oracle
def chance_of_search(call: Call, solution: MultistartSolution) -> None:
    """chance is log₁₀ of C(m, k) I_ρ((n - k)/2, k/2), and no more than 0."""
    assert solution.chance <= 0, f"chance {solution.chance}"
    if call.exact.is_zero:
        return
    goal = Goal(call)
    value, slack = goal.around(goal.chance, call, call.exact.fit(solution.support.tolist()))
    assert agrees(solution.chance, value, slack), f"chance {solution.chance:.9g}, not {value:.9g}"


@oracle
def starts_of_search(call: Call, solution: MultistartSolution) -> None:
    """Each start is a model that is allowed, with its own score; there are no more than asked."""
    goal = Goal(call)
    assert len(solution.starts) <= call.words.get("effort", EFFORT)
    answer = tuple(solution.support.tolist())
    assert solution.times_found == sum(start.support == answer for start in solution.starts)
    for support in dict.fromkeys(start.support for start in solution.starts[:LOOKS]):
        assert list(support) == sorted({*support}), f"{support} is not ascending"
        assert {*support} >= {*call.columns("include")}, f"{support} lacks some of include"
        assert not {*support} & {*call.columns("exclude")}, f"{support} has some of exclude"
        told = next(start.score for start in solution.starts if start.support == support)
        value, slack = goal.around(goal.score, call, call.exact.fit(support))
        assert agrees(told, value, slack), f"start {support} has {told:.9g}, not {value:.9g}"


@oracle
def end_of_search(call: Call, solution: MultistartSolution) -> None:
    """The answer is plain, or all starts are used up; and the odds are told as they are."""
    stop, used = solution.stop, len(solution.starts) == call.words.get("effort", EFFORT)
    told = f"{stop.name}: {solution.times_found} of {len(solution.starts)}, {solution.chance:.3g}"
    if stop is Stop.FOUND_AGAIN:
        assert solution.times_found > 1, told
        assert solution.chance < -2, told
    elif stop in (Stop.EFFORT, Stop.BY_CHANCE):
        assert used, told
        assert (stop is Stop.BY_CHANCE) == (solution.chance > -2), told
    elif stop is Stop.NOTHING_FOUND:
        assert used, told
        assert {*solution.support.tolist()} == {*call.columns("include")}, told
    else:
        halted = Stop.CALLBACK, Stop.INTERRUPTED
        assert stop in (*halted, Stop.ZERO_TARGET, Stop.EXACT_FIT, Stop.EXHAUSTED), told


@oracle
def no_single_change(call: Call, solution: MultistartSolution) -> None:
    """No addition, deletion or exchange of one column lowers the score, rounding apart."""
    exact, S = call.exact, solution.support.tolist()
    goal, fit = Goal(call), exact.fit(S)
    if exact.is_zero or solution.stop is Stop.CALLBACK or fit.condition > WELL_TOLD:
        return
    here, slack = goal.around(goal.score, call, fit)
    loose = [j for j in S if j not in call.columns("include")]
    some = loose[:: 1 + len(loose) // MODELS]  # extended precision is slow
    for T in (S, *([j for j in S if j != i] for i in some)):
        less = exact.fit(T)
        models = [(less.norm, len(T))] + [
            (max(less.norm**2 - root**2, 0.0) ** 0.5, len(T) + 1) for root in sure_gains(call, less)
        ]
        for norm, k in models:
            lower = goal.score(norm + less.residual_slack, k)
            assert lower >= here - slack, (
                f"{S} scores {here:.9g}; {k} columns next to it {lower:.9g}"
            )


def sure_gains(call: Call, fit: Fit) -> list[float]:
    """√gain at least of each column that can surely be added."""
    gains = fit.gains(call.exact.U)
    can = gains.frailty < 1 / (DOUBT**2 * call.exact.eps)
    roots = np.maximum(gains.root - gains.slack, 0.0)
    return [float(roots[j]) for j in candidates(call, fit.S) if can[j]]


@oracle
def told_starts(solution: MultistartSolution, told: list[Start], asked: int | None) -> None:
    """The callback is told every start as it is; when it asks to stop, that is all."""
    assert tuple(told) == solution.starts, f"{told} were told, {solution.starts} are stated"
    if asked is not None and len(told) >= asked and solution.stop is not Stop.ZERO_TARGET:
        assert solution.stop is Stop.CALLBACK, f"{solution.stop} is told of a stop asked for"
        assert len(told) == asked, f"{len(told)} starts where {asked} were enough"


@oracle
def same_seed_same_answer(one: MultistartSolution, other: MultistartSolution) -> None:
    """Whatever came before: the same call has the same answer to the last bit."""
    assert np.array_equal(one.coef, other.coef), f"{one.support} became {other.support}"
    assert one.starts == other.starts, "other starts"
    assert (one.score, one.chance, one.sigma) == (other.score, other.chance, other.sigma)


@family("search", share=2)
def search(case: Case) -> None:
    call = a_call(case, multi_target=False, names=SEARCHES, large=0.005, most=16)
    quiet = np.errstate() if call.is_finite else np.errstate(all="ignore")  # their own products
    told: list[Start] = []
    asked = int(case.rng.integers(1, 4)) if case.chance(0.1) else None
    case.note(asked=asked)

    def listen(start: Start) -> bool:
        told.append(start)
        return len(told) == asked

    if asked is not None or case.chance(0.1):
        call.words["callback"] = listen
    before = call.A.tobytes(), call.y.tobytes()
    try:
        with quiet:
            solution = call()
        data_untouched(before, call.A, call.y)
        well_formed(call, solution)
        call.worst = worst_on_path(call, solution)
        for figure in (
            noise_of_search, covariance_of_search, score_of_search, chance_of_search,
            starts_of_search, end_of_search, no_single_change,
        ):  # fmt: skip
            figure(call, solution)
        judge(call, solution)
    except InputError as refusal:
        one_sentence(refusal)
        justified(call, refusal)
        return
    if "callback" in call.words:
        told_starts(solution, told, asked)
    elif case.chance(0.1):
        same_seed_same_answer(solution, call())


@oracle
def as_good_as_others(A: Any, y: Any, solution: MultistartSolution, others: dict[str, Any]) -> None:
    """No other model has a lower score."""
    n, m = A.shape
    parts = 2 if np.iscomplexobj(A) else 1

    def score(support: Any) -> float:
        left = np.linalg.norm(y - A[:, support] @ np.linalg.lstsq(A[:, support], y)[0])
        share = max(float(left / np.linalg.norm(y)), EXACT * np.finfo(float).eps)
        return parts * (n - len(support)) * 2 * math.log(share) + len(support) * 2 * math.log(m)

    answer = score(solution.support)
    for name, support in others.items():
        other = score(support)
        assert answer <= other + CLOSE * (1 + abs(other)), (
            f"{solution.stop.name} at {answer:.6g}, {name} has {other:.6g}"
        )


@family("planted")
def planted(case: Case) -> None:
    """Columns of which some make up the target, few enough that they can be found."""
    rng = case.rng
    n, m = int(rng.integers(20, 65)), int(rng.integers(20, 129))
    kind = case.choose("alike", "decaying", "normal")
    level, is_complex = case.choose(0.0, 1e-3, 0.05), case.chance(0.2)
    is_easy = kind != "alike" and level < 0.05  # large ones stand out, and little hides the others
    k = int(rng.integers(1, n // 3 if is_easy else n // 4))
    case.note(shape=(n, m), k=k, kind=kind, level=level, is_complex=is_complex)

    def normal(*shape: int) -> Any:
        numbers = rng.standard_normal(shape)
        return numbers + 1j * rng.standard_normal(shape) if is_complex else numbers

    A = normal(n, m)
    truth = np.sort(rng.choice(m, k, replace=False))
    sizes = {"alike": np.ones(k), "decaying": 0.85 ** np.arange(k), "normal": normal(k)}[kind]
    y = A[:, truth] @ (rng.choice([-1.0, 1.0], k) * sizes)
    e = normal(n)
    y = y + level * np.linalg.norm(y) / np.linalg.norm(e) * e
    others = {
        name: ALGORITHMS[name](A, y, sparsity=k).support for name in ("srr", "forward", "omp")
    }
    solution = ALGORITHMS["solve"](A, y)
    if solution.stop is Stop.FOUND_AGAIN:  # otherwise it says that it may have missed the best
        others["the planted model"] = truth
    as_good_as_others(A, y, solution, others)
