"""Every ℓ1 function on matrices, targets, bounds and weights of every kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

import sparsewise as sw
from sparsewise.errors import InputError
from sparsewise.results import L1Path, L1Solution, Path, Reweighted, Solution
from tests.hostile.calls import Call, Words, data, length, some_columns
from tests.hostile.campaign import Case, family, fault, oracle
from tests.hostile.inputs import CONTAINERS, MATRICES, balanced
from tests.hostile.least_squares import LONG
from tests.hostile.minimisers import (
    Point,
    accurate,
    bound_is_met,
    gap_is_closed,
    long_quotient,
    models_of_the_path,
    optimal,
    optimal_penalised,
    points_of_the_path,
    rounds_are_true,
    same_answer,
    told_loss,
    told_residual,
    why_it_ended,
)
from tests.hostile.refusals import are_out_of_range, is_not_finite, one_sentence
from tests.hostile.solutions import own_check, well_formed

Array = NDArray[Any]

FUNCTIONS = ("bp", "bpdn", "l1_path", "bp_ard", "bp_candes", "fista", "ista", "focuss")
#: Those that only take real data.
REAL = ("l1_path",)
CONVERGED, MAX_ITER = sw.Stop.CONVERGED, sw.Stop.MAX_ITER
#: Matrices whose columns are told apart easily ...
APART = ("gaussian", "complex_gaussian", "orthonormal")
#: ... and those of which some nearly depend on others.
CLOSE = ("copies", "close_columns", "vandermonde", "hilbert", "rank_deficient", "decaying",
         "large_means")  # fmt: skip


class L1Call(Call):
    """One call of an ℓ1 function, and its weights as oracles need them."""

    rng: np.random.Generator
    kind: str

    def __call__(self, **more: Any) -> Any:
        return getattr(sw, self.algorithm)(self.held, self.y, **self.words | more)

    @property
    def bound(self) -> float | None:
        """The bound on ‖r‖."""
        if self.algorithm in ("bp", "focuss", "bpdn", "bp_ard", "bp_candes"):
            return float(self.words.get("residual", 0.0))
        return None

    @cached_property
    def exact_itemsize(self) -> int:
        return 4 if self.exact.eps > 1e-10 else 8

    @cached_property
    def costs(self) -> Array:
        """w in the units of the data, with what is included and excluded in it."""
        w = self.words.get("weights")
        w = np.ones(self.A.shape[1]) if w is None else np.array(w, float)
        w[self.columns("include")] = 0
        w[self.columns("exclude")] = np.inf
        w[self.exact.norms == 0] = np.inf
        return w

    @property
    def usable(self) -> Array:
        return np.isfinite(self.costs)

    def parts(self, given: Array) -> tuple[Array, Any]:
        """Weights of unit columns as parts of the largest (0 if barred), and that one."""
        exact = self.exact
        norms = np.ldexp(exact.norms, exact.powers)
        unit = np.where(np.isfinite(given), long_quotient(np.nan_to_num(given), norms), 0)
        top = unit.max(initial=LONG(0)) or LONG(1)
        return (unit / top).astype(float), top

    @cached_property
    def unit_weights(self) -> Array:
        return self.parts(self.costs)[0]

    @cached_property
    def top(self) -> Any:
        return self.parts(self.costs)[1]

    def weights_of(self, solution: L1Solution) -> tuple[Array, Array]:
        """The weights that a solution tells, for unit columns, and what may be chosen."""
        return self.parts(solution.weights)[0], np.isfinite(solution.weights)

    def unit_dual(self, solution: L1Solution) -> Array:
        top = self.parts(solution.weights)[1]
        dual = np.asarray(solution.dual)
        return dual.astype(np.clongdouble if dual.dtype.kind == "c" else LONG) / top

    def unit_penalty(self, solution: L1Solution) -> Any:
        """λ for unit columns, a unit target and weights of which the largest is 1."""
        return self.relative_penalty(solution.penalty, self.parts(solution.weights)[1])

    def relative_penalty(self, penalty: float, top: Any = None) -> Any:
        scale = np.ldexp(self.exact.norm, self.exact.power) or LONG(1)
        return LONG(penalty) * (self.top if top is None else top) / scale

    def dual_norm(self, solution: Any) -> float:
        """What a unit of residual is worth."""
        return float(np.sqrt(np.sum(np.abs(self.unit_dual(solution)) ** 2)))

    @property
    def benign(self) -> bool:
        """Whether nothing about it is degenerate, so that the minimiser is unique and stable."""
        w = self.unit_weights[self.usable & (self.unit_weights > 0)]
        even = w.size > 0 and w.min() > 1e-4
        bound = 1.0 if self.bound is None else self.exact.relative(self.bound)
        return self.kind in APART and even and not 0 < bound < 1e-6 and not self.exact.is_zero

    @property
    def doubt(self) -> float:
        return 1.0 if self.benign else 10.0


# --- draws ---------------------------------------------------------------------------------------


def some_weights(case: Case, A: Array) -> Array | None:
    """What coefficients cost: nothing unusual, norms, decades, nothing at all, everything."""
    rng, m = case.rng, A.shape[1]
    kind = case.choose("none", "none", "even", "norms", "decades", "some")
    case.note(weights=kind)
    if kind == "none":
        return None
    if kind == "norms":
        B, power = balanced(A)
        with np.errstate(over="ignore", under="ignore"):
            return np.ldexp(np.linalg.norm(B, axis=0), power).astype(float)
    w = rng.uniform(0.3, 3, m)
    if kind == "decades":
        w = 10.0 ** rng.uniform(-6, 6, m)
    elif kind == "some":
        w[rng.random(m) < 0.15] = 0
        w[rng.random(m) < 0.15] = np.inf
    return w


def words_for(case: Case, name: str, A: Array, y: Array) -> Words:
    """Words that a careful user might give."""
    m, norm = A.shape[1], length(y)
    drawn: Words = {}
    if name in ("bpdn", "bp_ard", "bp_candes", "l1_path", "focuss") and name != "bp":
        part = float(case.choose(0.0, 1e-12, 1e-9, 1e-6, 0.01, 0.1, 0.3, 0.9, 1.0, 2.0, 1e20))
        drawn["residual"] = part * norm
    if name in ("bp", "bpdn", "l1_path", "fista", "ista"):
        drawn["weights"] = some_weights(case, A)
    if name in ("fista", "ista", "l1_path") and (name != "l1_path" or case.chance(0.5)):
        B, power = balanced(A)
        z, shift = balanced(np.asarray(y, complex)[:, None])
        w = drawn.get("weights")
        with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
            corr = np.ldexp(np.abs(B.conj().T @ z[:, 0]), power + shift[0])
            corr = corr / (1.0 if w is None else w)
        corr = corr[np.isfinite(corr)]
        part = float(case.choose(1e-6, 1e-3, 0.05, 0.2, 0.2, 0.7, 1.0, 3.0))
        drawn["penalty"] = part * float(corr.max(initial=0.0)) or 1.0
    if name in ("fista", "ista"):
        drawn["max_iter"] = int(case.choose(1, 10, 100, 400))
        drawn["tol"] = float(case.choose(1e-3, 1e-6, 1e-12))
    if name == "focuss":
        drawn["p"] = float(case.choose(0.0, 0.5, 0.8, 1.0, 1.7))
        drawn["max_iter"] = int(case.choose(1, 10, 60))
    if name in ("bp_ard", "bp_candes"):
        drawn["max_outer"] = int(case.choose(0, 1, 3, 8))
    if name == "bp_ard" and case.chance(0.3):
        drawn["sigma"] = norm * float(case.choose(1e-12, 1e-3, 0.1, 10.0, 1e20))
    if name == "bp_candes" and case.chance(0.3):
        drawn["epsilon"] = float(case.choose(1e-9, 1e-2, 1.0, 1e6))
    if name != "l1_path" and case.chance(0.15):
        drawn["debias"] = True
    solid = np.flatnonzero(np.abs(A).max(axis=0) > 1e-290).tolist()
    if case.chance(0.25) and solid:
        chosen = some_columns(case, len(solid), 2)
        drawn["include"] = [solid[i] for i in chosen]
    if case.chance(0.2):
        barred = some_columns(case, m, m // 2)
        drawn["exclude"] = [j for j in barred if j not in drawn.get("include", ())]
    if name in ("bp", "bpdn", "bp_ard", "bp_candes") and case.chance(0.1):
        drawn["solver"] = "conic"
    return drawn


def a_call(case: Case, most: int = 16) -> L1Call | None:
    """A function on finite data of any kind, with words that make sense."""
    name = case.choose(*FUNCTIONS)
    real = tuple(kind for kind in MATRICES if kind != "complex_gaussian")
    case.note(algorithm=name)
    A, held, y = data(case, most=most, kinds=real if name in REAL else tuple(MATRICES))
    if name in REAL and np.iscomplexobj(y):
        y = y.real.copy()
    if not (np.isfinite(A).all() and np.isfinite(y).all()):
        return None  # of a type that can't hold them
    with np.errstate(over="ignore", under="ignore"):
        plain = A.astype(complex if A.dtype.kind == "c" else float)
    drawn = words_for(case, name, plain, y)
    case.note(**drawn)
    call = L1Call(name, A, held, y, drawn)
    call.rng, call.kind = case.rng, case.recipe[1].partition("=")[2].strip("'")
    return call


# --- refusals ------------------------------------------------------------------------------------


def is_out_of_reach(call: L1Call, found: re.Match[str]) -> bool:
    """Whether no coefficients that we can find come within the bound: a witness says they do."""
    exact, bound = call.exact, call.exact.relative(call.bound or 0.0)
    U = exact.U[:, call.usable]
    U, y = (
        U.astype(complex if U.dtype.kind == "c" else float),
        exact.y.astype(complex if exact.y.dtype.kind == "c" else float),
    )
    if not U.shape[1]:
        return bound < 1
    for rcond in (1e-12, 1e-9, 1e-6) if exact.eps < 1e-10 else (1e-3,):
        x = np.linalg.lstsq(U, y, rcond=rcond)[0]
        r = exact.y - exact.U[:, call.usable] @ x
        norm = float(np.sqrt(np.sum(np.abs(r) ** 2)))
        rounding = 1e-3 * exact.eps ** (2 / 3) if call.exact_itemsize == 8 else 1e-5
        if norm + rounding + exact.part * (1 + float(np.abs(x).sum())) <= bound:
            return False
        if bound == 0 and norm <= exact.eps and np.abs(x).sum() < 10:
            return False
    return True


def are_free_and_dependent(call: L1Call, found: re.Match[str]) -> bool:
    """Whether what costs nothing depends on itself, for all that its type can tell."""
    exact = call.exact
    free = np.flatnonzero(call.usable & (call.costs == 0))
    singular = np.linalg.svd(
        exact.U[:, free].astype(complex if exact.U.dtype.kind == "c" else float), compute_uv=False
    )
    return free.size > call.A.shape[0] or singular.min() <= 1e2 * (64 * exact.eps) ** 0.5


def weights_are_far(call: L1Call, found: re.Match[str]) -> bool:
    exact = call.exact
    usual = call.usable & (call.costs > 0)
    power = np.frexp(call.costs[usual])[1] - exact.powers[usual]
    return bool(power.max() > 1015 or power.max() - power.min() > 1015)


def hides_in_rounding(call: L1Call, found: re.Match[str]) -> bool:
    """Whether columns nearly depend on each other, or cost, or are bounded, as rounding would."""
    w = call.unit_weights[call.usable & (call.unit_weights > 0)]
    uneven = w.size > 0 and w.min() < 1e-4
    tight = call.bound is not None and 0 < call.exact.relative(call.bound) < 1e-6
    return call.kind in CLOSE or uneven or tight or call.exact.eps > 1e-10


def penalties_are_far(call: L1Call, found: re.Match[str]) -> bool:
    """Whether ‖a_j‖‖y‖/w_j may be out of range."""
    usual = call.usable & (call.costs > 0)
    power = np.frexp(call.costs[usual])[1] - call.exact.powers[usual]
    # The last bends may be sixty bits below the first.
    return bool(call.exact.power - power.min() > 1000 or call.exact.power - power.max() < -900)


def penalty_is_tiny(call: L1Call, found: re.Match[str]) -> bool:
    return bool(call.relative_penalty(call.words["penalty"]) < 1e-300)


REASONS: dict[str, Callable[[Any, re.Match[str]], bool]] = {
    r"^(A|y) has (\d+) NaN or infinite": is_not_finite,
    r"^No x has": is_out_of_reach,
    r"^The unpenalised columns .* dependent": are_free_and_dependent,
    r"weights are beyond the floating-point range": weights_are_far,
    r"^The penalties of the path are beyond": penalties_are_far,
    r"beyond the (range of|floating-point range)|out of range": are_out_of_range,
    r"^penalty is too small beside": penalty_is_tiny,
    r"^Clarabel ended with status": lambda call, found: not call.benign,
    r"^Columns are so nearly dependent, or their weights so different": hides_in_rounding,
    r"^The path of complex coefficients": lambda call, found: np.iscomplexobj(call.A),
    r"^penalty must be a finite": lambda call, found: not np.isfinite(call.words["penalty"]),
    r"^sigma must be a finite": lambda call, found: not 0 < call.words["sigma"] < np.inf,
}


@oracle
def refused_with_reason(call: L1Call, refusal: InputError) -> None:
    """What a refusal of sane words says of the data is true."""
    for pattern, holds in REASONS.items():
        if found := re.search(pattern, str(refusal)):
            assert holds(call, found), f"refused without need: {refusal}"
            return
    raise AssertionError(f"refused for no reason that we know: {refusal}")


# --- families ------------------------------------------------------------------------------------


def judge(call: L1Call, solution: Solution) -> None:
    """All that can be said of an answer, from the data alone."""
    well_formed(call, solution)
    told_residual(call, solution)
    bound_is_met(call, solution)
    why_it_ended(call, solution)
    models_of_the_path(call, solution)
    if isinstance(solution, L1Solution) and not call.words.get("debias"):
        optimal(call, solution)
        accurate(call, solution)
        if solution.bound is None and np.isfinite(solution.penalty):
            optimal_penalised(call, solution.coef, solution.penalty, solution.accuracy)
            gap_is_closed(call, solution)
    if isinstance(solution, L1Path):
        points_of_the_path(call, solution)
    if isinstance(solution, Reweighted):
        rounds_are_true(call, solution)
    # Of denormal numbers, and of coefficients beyond the digits of their sum, too little is left.
    point = Point(call, solution.coef)
    lost = call.exact.denormal_slack(point.S)
    if call.exact.power > -960 and lost < 1e-13 and point.rounding < 1e-6:
        own_check(call, solution)


@family("l1", share=2)
def l1(case: Case) -> None:
    call = a_call(case)
    if call is None:
        return
    try:
        judge(call, call())
    except InputError as refusal:
        one_sentence(refusal)
        refused_with_reason(call, refusal)


def times(values: Array, powers: Any) -> Array:
    """Times powers of two."""
    if values.dtype.kind == "c":
        return np.ldexp(values.real, powers) + 1j * np.ldexp(values.imag, powers)
    return np.ldexp(values, powers)


def rescaled(call: L1Call, case: Case) -> tuple[L1Call, str] | None:
    """The same call in other units: the target, or columns and weights, times powers of two.

    None where numbers get out of range, or lose digits.
    """
    words = dict(call.words)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if case.chance(0.5):
            power = int(case.choose(-300, -40, 3, 100, 300))
            y = times(np.asarray(call.y), power)
            for word in ("residual", "penalty", "sigma"):
                if word in words:
                    words[word] = float(np.ldexp(words[word], power))
                    if np.ldexp(words[word], -power) != call.words[word]:
                        return None
            kept = np.array_equal(times(y, -power), call.y)
            return (replace(call, y=y, words=words), f"y times 2^{power}") if kept else None
        powers = case.rng.integers(-60, 61, call.A.shape[1])
        A = times(call.A, powers)
        if call.algorithm in ("bp", "bpdn", "l1_path", "fista", "ista"):
            w = words.get("weights")
            words["weights"] = np.ldexp(np.ones(powers.size) if w is None else w, powers)
        kept = np.array_equal(times(A, -powers), call.A)
        return (replace(call, A=A, held=A, words=words), "columns times 2^k") if kept else None


def in_the_units_of(call: L1Call, other: L1Call, solution: Any) -> Any:
    """What was found in other units."""
    S = solution.support
    coef = np.zeros_like(solution.coef)
    x = other.exact.unit_coef(solution.coef, S)
    scale = np.ldexp(call.exact.norm, call.exact.power)
    with np.errstate(over="ignore", under="ignore"):
        back = x * (scale / np.ldexp(call.exact.norms[S], call.exact.powers[S]))
        coef[S] = back.astype(coef.dtype)
    return replace(solution, coef=coef)


@family("l1 again")
def l1_again(case: Case) -> None:
    """The same problem, held otherwise or in other units, has the same answer."""
    call = a_call(case, most=12)
    if call is None or call.A.dtype.char not in "dD" or call.exact.power < -900:
        return
    call.held = call.A
    if case.chance(0.5):
        how = case.choose("Fortran order", "strided", "csc_array", "csr_array", "LinearOperator")
        again = replace(call, held=CONTAINERS[how](call.A)), how
    else:
        again = rescaled(call, case)
    if again is None:
        return
    other, how = again
    other.rng, other.kind = call.rng, call.kind
    case.note(how=how)
    answers = []
    for one in (call, other):
        try:
            answers.append(one())
        except InputError as refusal:
            one_sentence(refusal)
            refused_with_reason(one, refusal)
    whole = other.exact.is_zero or float(other.exact.lost.sum()) < other.exact.eps
    if len(answers) == 2 and whole and np.array_equal(call.exact.norms > 0, other.exact.norms > 0):
        second = answers[1] if call.exact.is_zero else in_the_units_of(call, other, answers[1])
        same_answer(call, answers[0], second, how)


@family("l1 halted")
def l1_halted(case: Case) -> None:
    """Halted at any step, the answer is still the minimiser of a problem that it tells."""
    call = a_call(case, most=12)
    if call is None or call.algorithm in ("fista", "ista", "focuss"):
        return
    left = int(case.rng.integers(1, 15))
    case.note(halted_at=left)
    steps = iter(range(left - 1))
    call.words["callback"] = lambda step: next(steps, None) is None
    try:
        judge(call, call())
    except InputError as refusal:
        one_sentence(refusal)
        refused_with_reason(call, refusal)


def integers(case: Case, A: Array) -> Array:
    """A target of small integers, of ones, or one that the columns hardly reach."""
    kind = case.choose("integers", "integers", "ones", "last singular vector")
    case.note(target=kind)
    if kind == "last singular vector":
        return np.linalg.svd(A)[0][:, -1]
    if kind == "ones":
        return np.ones(len(A), A.dtype)
    y = case.rng.integers(-3, 4, len(A)).astype(A.dtype)
    return y + 1j * case.rng.integers(-3, 4, len(A)) if A.dtype.kind == "c" else y


@family("l1 hilbert")
def l1_hilbert(case: Case) -> None:
    """Columns 1/(i + j + 1): coefficients of ten digits, of which none may be told to be exact."""
    name, dtype = case.choose(*FUNCTIONS), case.choose("d", "d", "f", "D")
    dtype = "d" if name in REAL and dtype == "D" else dtype
    n, m = case.rng.integers(2, 30 if dtype != "D" else 12, 2)
    A = 1.0 / (1 + np.arange(n)[:, None] + np.arange(m))
    if dtype == "D":
        A = A * np.exp(0.25j * np.pi * case.rng.integers(0, 8, m))
    y = integers(case, A).astype(dtype)
    A = A.astype(dtype)
    if not y.any():
        return
    drawn = words_for(case, name, A.astype("D" if dtype == "D" else "d"), y)
    case.note(algorithm=name, shape=A.shape, dtype=dtype, **drawn)
    call = L1Call(name, A, A, y, drawn)
    call.rng, call.kind = case.rng, "hilbert"
    try:
        solution = call()
    except InputError as refusal:
        one_sentence(refusal)
        refused_with_reason(call, refusal)
        return
    judge(call, solution)
    if solution.stop is not sw.Stop.ROUNDING:
        own_check(call, solution)


def cosines(n: int, m: int) -> Array:
    return np.cos(np.pi * np.outer(np.arange(1, n + 1), np.arange(m) + 0.5) / m)


def waves(n: int, m: int) -> Array:
    return np.exp(-2j * np.pi * np.outer(np.arange(1, n + 1), np.arange(m)) / m)


def differences(n: int, m: int) -> Array:
    return np.eye(n, m) - np.eye(n, m, 1)


def alternating(n: int, m: int) -> Array:
    return np.where(np.arange(m) % 2, 1.0, -1.0) * np.arange(1.0, n + 1)[:, None]


@oracle
def wrong_adjoint_noticed(adjoint: str, solution: Solution) -> None:
    """Nothing is told of an operator whose adjoint is another matrix's."""
    raise AssertionError(f"{adjoint} made {solution.support} with {solution.coef}")


@family("l1 operators")
def l1_operators(case: Case) -> None:
    """Operators that map constants to zero: answered, if their adjoint is theirs."""
    name = case.choose("bp", "bpdn", "l1_path", "fista")
    make = case.choose(cosines, differences, alternating, *([] if name in REAL else [waves]))
    m = 2 * int(case.rng.integers(17, 33))
    n = m - 1 if make is differences else int(case.rng.integers(1, m))
    A = make(n, m) * case.choose(1.0, 1e-20, 1e20)
    few = case.rng.choice(m, 3, replace=False)
    y = A[:, few] @ case.rng.integers(1, 5, 3)
    if not np.abs(y).max() > 1e-12 * np.abs(A).max():
        return
    drawn = words_for(case, name, A, y)
    drawn = {word: value for word, value in drawn.items() if word in ("residual", "penalty")}
    other = case.choose("its own", "its own", "zero", "negative", "thrice", "random", "shuffled")
    B = {"zero": 0 * A, "negative": -A, "thrice": 3 * A, "its own": A,
         "random": case.rng.standard_normal(A.shape) * np.abs(A).max(),
         "shuffled": A[:, np.roll(np.arange(m), 5)]}[other]  # fmt: skip
    case.note(algorithm=name, matrix=make.__name__, shape=A.shape, adjoint=other, **drawn)
    held = LinearOperator(
        A.shape, matvec=lambda x: A @ x, rmatvec=lambda v: B.conj().T @ v, dtype=A.dtype
    )
    if name == "fista":
        drawn |= {"max_iter": 400, "tol": 1e-6}
    call = L1Call(name, A, held, y, drawn)
    call.rng, call.kind = case.rng, "copies" if make is alternating else "operator"
    try:
        solution = call()
    except InputError as refusal:
        one_sentence(refusal)
        if other == "its own":
            refused_with_reason(call, refusal)
        return
    if other == "its own" or np.array_equal(A, B):
        judge(call, solution)
    else:
        wrong_adjoint_noticed(other, solution)


# --- faults --------------------------------------------------------------------------------------


@fault(wrong_adjoint_noticed, family="l1 operators")
@contextmanager
def adjoints_are_not_compared():
    with (
        patch("sparsewise.design.base.ADJOINT_TOL", 1e300),
        patch("sparsewise.design.operator.ADJOINT_TOL", 1e300),
        patch("sparsewise.engine.l1.proximal.ADJOINT_TOL", 1e300),
    ):
        yield


@contextmanager
def tampered(change: Callable[..., Any]) -> Iterator[None]:
    """Every ℓ1 function returns what `change` makes of its answer, and of A and y."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda A, y, **words: change(original(A, y, **words), A, y)

    with patch.multiple(sw, **{name: wrapped(getattr(sw, name)) for name in FUNCTIONS}):
        yield


def moved(solution: Any, A: Any, y: Any, factor: float) -> Any:
    """Other coefficients, with the residual that they have."""
    coef = solution.coef * factor
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(y - sw.as_design(A).matvec(coef)))
    return replace(solution, coef=coef, residual_norm=norm if np.isfinite(norm) else 0.0)


def changed(kind: type, **values: Callable[[Any], Any]) -> AbstractContextManager[None]:
    """Answers of this kind with other values."""

    def change(solution: Any, A: Any, y: Any) -> Any:
        if not isinstance(solution, kind):
            return solution
        return replace(solution, **{name: value(solution) for name, value in values.items()})

    return tampered(change)


@fault(told_residual, family="l1")
def residuals_are_told_too_small():
    return changed(Solution, residual_norm=lambda s: 0.9 * s.residual_norm)


@fault(bound_is_met, family="l1")
def coefficients_stay_behind_the_bound():
    return tampered(lambda s, A, y: moved(s, A, y, 0.9))


@fault(why_it_ended, family="l1")
def every_target_is_told_to_be_zero():
    return changed(Solution, stop=lambda s: sw.Stop.ZERO_TARGET)


@fault(optimal, family="l1")
def dual_vectors_are_too_long():
    return changed(L1Solution, dual=lambda s: 1.01 * s.dual)


@fault(optimal_penalised, family="l1")
def coefficients_are_shrunk():
    return tampered(lambda s, A, y: moved(s, A, y, 0.9))


@fault(gap_is_closed, family="l1")
def iterations_that_were_cut_short_are_told_to_have_converged():
    return changed(L1Solution, stop=lambda s: CONVERGED if s.stop is MAX_ITER else s.stop)


@fault(accurate, family="l1")
def answers_are_told_to_be_coarse():
    return changed(L1Solution, accuracy=lambda s: 0.1)


@fault(points_of_the_path, family="l1")
def penalties_rise():
    return changed(L1Path, penalties=lambda s: s.penalties[::-1])


@fault(told_loss, family="l1")
def models_are_told_to_fit_better():
    honest = Path._model

    def flattered(self, order, met):
        model = honest(self, order, met)
        return model._replace(loss=0.9 * model.loss)

    return patch.object(Path, "_model", flattered)


@fault(rounds_are_true, family="l1")
def rounds_are_told_too_large():
    def larger(s):
        return (*s.rounds[:-1], s.rounds[-1]._replace(size=s.rounds[-1].size + 1))

    return changed(Reweighted, rounds=larger)


@fault(same_answer, family="l1 again")
def the_order_of_memory_matters():
    def elsewhere(s, A, y):
        plain = isinstance(A, np.ndarray) and A.flags.c_contiguous
        return s if plain else replace(s, coef=1.01 * s.coef)

    return tampered(elsewhere)


@fault(refused_with_reason, family="l1")
def bounds_are_called_out_of_reach():
    def refuse(s, A, y):
        raise InputError("No x has such a residual", "allow more.")

    return tampered(refuse)
