"""Words that no careful user would give: each is taken for what it says, or refused by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from sparsewise import Stop
from sparsewise.errors import InputError
from tests.hostile.algorithms import judge
from tests.hostile.calls import BY_COLUMNS, SEARCHES, Call, length, words
from tests.hostile.campaign import Case, family, oracle
from tests.hostile.inputs import matrix
from tests.hostile.refusals import REASONS, one_sentence

Verdict = Literal["answer", "refusal", "either"]
HUGE = 10**400
#: Python itself refuses to write this in digits.
UNSPEAKABLE = 10**5000


class Value(NamedTuple):
    """A hostile value, what is owed for it, and what it stands for if it is taken."""

    value: Any
    owed: Verdict
    meaning: Any = None

    @property
    def plain(self) -> Any:
        return self.value if self.meaning is None else self.meaning


def answer(value: Any, meaning: Any = None) -> Value:
    return Value(value, "answer", meaning)


def refusal(value: Any) -> Value:
    return Value(value, "refusal")


def either(value: Any, meaning: Any = None) -> Value:
    return Value(value, "either", meaning)


def not_numbers() -> list[Value]:
    """What is no number at all."""
    return [
        *map(refusal, ("abc", "", b"x", [], {}, object(), 1j, float("nan"), np.nan, [1.0, 2.0])),
        *map(refusal, (np.array([1.0, 2.0]), lambda: 1, np.datetime64("2020-01-01"), (), {1})),
    ]


def numbers(scale: float) -> list[Value]:
    """Numbers of at least 0, in unusual clothes and sizes; and negative ones."""
    return [
        *map(answer, (0, 0.0, -0.0, 1e-200, 1e-320, 1e150, 1e200, 1e308, 0.3 * scale, scale)),
        answer(np.float32(0.3), float(np.float32(0.3))), answer(np.array(0.3), 0.3),
        answer(np.int8(1), 1.0), answer(Fraction(1, 3), 1 / 3), answer(Decimal("0.3"), 0.3),
        answer(np.longdouble(0.3), 0.3), either(True, 1.0), either("3", 3.0), either([0.3], 0.3),
        either(np.array([0.3]), 0.3), either(0.3 + 0j, 0.3), either(HUGE, float("inf")),
        either(Fraction(HUGE), float("inf")), either(float("inf")), either(np.inf),
        *map(refusal, (-1, -1e-300, -float("inf"), -HUGE, -UNSPEAKABLE, np.float32(-2))),
    ]  # fmt: skip


def counts(most: int) -> list[Value]:
    """Whole numbers, in unusual clothes and sizes."""
    return [
        answer(1), answer(most), answer(np.int8(1), 1), answer(np.uint64(1), 1),
        answer(np.array(1), 1), either(0), either(True, 1), either(HUGE), either(UNSPEAKABLE),
        either(np.array([1]), 1), either(2**63), either(2**31), either(most + 1),
        *map(refusal, (-1, -HUGE, -UNSPEAKABLE, 1.5, np.float64(1), 1.0, "1", Fraction(3, 2))),
        refusal(float("inf")),
    ]  # fmt: skip


def columns(m: int) -> list[Value]:
    """Columns, in unusual clothes; and what are none."""
    mask = np.zeros(m, bool)
    return [
        *map(answer, ([], (), [0], [0, 0], range(1), {0}, [m - 1], np.array([], int), None)),
        answer(np.array([0], np.uint8), [0]), answer({0: "a"}, [0]), answer(iter([0]), [0]),
        answer((j for j in [0]), [0]), answer([np.int64(0)], [0]), answer(np.array([0, 0]), [0]),
        either(0, [0]), either(np.array(0), [0]), either([], []), either(np.array([]), []),
        *map(refusal, ([-1], [m], [HUGE], [UNSPEAKABLE], [2**63], [0.0], [True], mask, "0")),
        *map(refusal, ([float("nan")], ["a"], [0, m + 7], np.array([-1]), object(), 1.5, [0, 1j])),
        *map(refusal, ([[0], [0, 1]], np.array([[0]]), b"0", [Fraction(0)], [None], [[0]])),
    ]  # fmt: skip


def priors() -> list[Value]:
    return [
        *map(answer, ((0, 0), (1, 1), (0.5, 1e-300), [1, 1], np.array([1.0, 1.0]), None)),
        *map(either, ((1e308, 1e308), (1e-300, 1e300), ("1", "1"), (True, False), (0, 1e308))),
        *map(refusal, ((float("nan"), 1), (-1, 1), (1, -1), (1,), (1, 2, 3), "ab", 3, (HUGE, 1))),
        *map(refusal, ((float("inf"), 1), ([1], [2]), (None, 1), (1j, 1), object(), {})),
    ]


class Raised(Exception):  # noqa: N818  (by a callback, not by us)
    """What a user's own function raises."""


def raising(*_: Any) -> Any:
    raise Raised


def returning(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def criteria() -> list[Value]:
    return [
        *map(
            answer,
            ("aic", "bic", "ebic", "ric", "adjusted_r2", np.str_("aicc"), lambda r, k: r + k),
        ),
        *map(either, (returning(0.0), returning(float("inf")), returning(-float("inf")))),
        *map(either, (raising, returning(True), returning(np.float32(1)), returning(HUGE))),
        *map(refusal, (returning(float("nan")), "BIC", "", None, 3, [], object(), b"aic", ["aic"])),
        *map(refusal, (returning("a"), returning(None), returning(1j))),
    ]


def charges() -> list[Value]:
    """Criteria of a search."""
    return [
        *map(answer, ("ric", "bic", np.str_("aic"), 3, 0.5, np.float32(7))),
        *map(refusal, (-1, True, float("nan"), float("inf"))),
        *map(refusal, ("RIC", "", "cp", None, [], object(), b"ric", ["ric"], lambda r, k: r)),
    ]


def values(word: str, call: Call) -> list[Value]:
    """Hostile values of a word."""
    n, m = call.A.shape
    if word in ("include", "exclude", "start"):
        return columns(m)
    if word == "noise_prior":
        return priors()
    if word == "criterion":
        return charges() if call.algorithm in SEARCHES else criteria()
    if word == "effort":  # as many as are asked for are made
        few = [value for value in counts(3) if value.owed != "either"]
        return [*few, refusal(0), refusal(None), *not_numbers()]
    if word == "seed":
        return [*counts(3), refusal(None), *not_numbers()]
    if word == "updates":
        return [*map(answer, ("em", "mackay")), *map(refusal, ("EM", "", None, 3, [], {}, b"em"))]
    if word == "callback":
        return [
            *map(answer, (None, returning(None), returning(True), returning(np.bool_(True)))),
            *map(either, (returning("yes"), raising, returning([]))),
            *map(refusal, (3, "x", [])),
        ]
    if word == "watch":
        return [*map(answer, (None, returning(1))), either(raising), *map(refusal, (3, "x"))]
    if word in ("sparsity", "batch", "max_iter", "max_outer"):
        none = either(None) if word in call.record.required or word == "sparsity" else answer(None)
        return [*counts(min(n, m)), none, *not_numbers()]
    return [*numbers(length(call.y)), either(None), *not_numbers()]


#: Words that are numbers, but not every number of at least 0 will do.
NARROWER = ("nu", "step", "sigma", "price", "min_increase", "noise_floor")


def owed(word: str, value: Value) -> Verdict:
    """What is owed for a value of this word."""
    return "either" if word in NARROWER and value.owed == "answer" else value.owed


@oracle
def taken_or_named(word: str, verdict: Verdict, refused: InputError | None) -> None:
    """Good values are taken, bad ones are not, and a refusal names the word."""
    if refused is None:
        assert verdict != "refusal", f"{word} was taken"
        return
    assert verdict != "answer", f"{word} was refused: {refused}"
    assert word in str(refused), f"{word} is not named: {refused}"


@family("words", share=3)
def hostile_words(case: Case) -> None:
    name = case.choose(*BY_COLUMNS)
    case.note(algorithm=name)
    A = matrix(case, kinds=("gaussian", "complex_gaussian", "copies"), most=12)
    n, m = A.shape
    each = (case.choose(1, 2, 4),) if BY_COLUMNS[name].multi_target and case.chance(0.25) else ()
    few = (case.rng.random(m) < 0.3)[(..., *(None for _ in each))]
    y = A @ (case.rng.standard_normal((m, *each)) * few)
    y = y + 0.1 * length(y) * case.rng.standard_normal((n, *each))
    if length(y) < 1e-300:
        y = case.rng.standard_normal((n, *each))  # words in its units would be no numbers
    case.note(targets=each)
    call = Call(name, A, A, y, words(case, name, A, y))
    for constraint in ("include", "exclude", "start"):
        call.words.pop(constraint, None)
    if call.record.starts_full:
        call.words["start"] = list(range(min(A.shape) // 2))
    if "sparsity" in call.words:
        call.words["sparsity"] = max(call.words["sparsity"], 1)  # room for what is included
    word = case.choose(*call.record.parameters)
    value = case.choose(*values(word, call))
    case.note(**call.words | {word: value.value if is_short(value.value) else "unspeakable"})
    attempt(call, word, value)


def is_short(value: Any) -> bool:
    """Whether a value can be written down."""
    try:
        return len(repr(value)) > 0
    except ValueError:
        return False


def attempt(call: Call, word: str, value: Value) -> None:
    """Call with a hostile value, and judge what comes of it."""
    verdict = owed(word, value)
    try:
        solution = call(**{word: value.value})
    except Raised:
        return  # it is the user's own
    except InputError as refused:
        one_sentence(refused)
        if verdict != "refusal":
            call.words[word] = value.plain
        if not is_excused(call, refused):
            taken_or_named(word, verdict, refused)
        return
    taken_or_named(word, verdict, None)
    call.words[word] = value.plain
    if call.words[word] is None and word not in ("start", *call.record.stopping):
        del call.words[word]
    judge(call, solution)
    if solution.stop is Stop.CALLBACK:
        assert len(solution.starts if call.algorithm in SEARCHES else solution.path) <= 1


def is_excused(call: Call, refused: InputError) -> bool:
    """Whether the data give a reason of their own: columns can't be in one model, say."""
    if "told when to stop" in str(refused):
        return not any(call.words.get(word) is not None for word in call.record.stopping)
    for pattern, holds in REASONS.items():
        if found := re.search(pattern, str(refused)):
            return holds(call, found)
    return False
