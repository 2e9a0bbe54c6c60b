"""What may not change an answer: units, order, storage, precision; on data without ties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sparsewise.errors import InputError
from tests.hostile.calls import BAYESIAN, BY_COLUMNS, BY_STEPS, Call, length, words
from tests.hostile.campaign import Case, family, oracle
from tests.hostile.inputs import CONTAINERS, complex_gaussian, gaussian
from tests.hostile.refusals import justified

#: Words in the units of y.
IN_UNITS = ("residual", "delta", "sigma")


def generic(case: Case, name: str) -> Call:
    """A call on Gaussian data, where no two scores are close."""
    n = int(case.rng.integers(6, 25))
    m = int(case.rng.integers(2, 25))
    A = (complex_gaussian if case.chance(0.3) else gaussian)(case.rng, n, m)
    few = A[:, : min(3, m)].sum(axis=1)
    if BY_COLUMNS[name].multi_target and case.chance(0.3):
        few = A[:, : min(3, m)] @ case.rng.standard_normal((min(3, m), case.choose(2, 3, 6)))
    size = length(few)
    y = few + 0.3 * size / n**0.5 * case.rng.standard_normal(few.shape)
    drawn = words(case, name, A, y)
    case.note(algorithm=name, shape=A.shape, targets=y.shape[1:])
    if callable(drawn.get("criterion")):
        drawn["criterion"] = "bic"
    if drawn.get("noise_prior") is not None:
        del drawn["noise_prior"]
    if drawn.get("sigma", 1) is None:
        drawn["sigma"] = 0.2 * length(y)  # inferring it is another matter
    for word in IN_UNITS:  # not at the level of rounding
        if drawn.get(word) is not None:
            drawn[word] = max(drawn[word], 1e-3 * length(y))
    case.note(**drawn)
    return Call(name, A, A, y, drawn)


@oracle
def same_support(first: Any, second: Any, what: str) -> None:
    """The same columns are chosen."""
    assert np.array_equal(first, second), f"{what}: {first} became {second}"


@oracle
def same_coef(first: np.ndarray, second: np.ndarray, tolerance: float, what: str) -> None:
    """The coefficients agree to the digits that both have."""
    size = float(np.abs(first).max(initial=0.0))
    off = float(np.abs(first - second).max(initial=0.0))
    assert off <= tolerance * size, f"{what}: coefficients differ by {off / size:.3g}"


@family("invariances", share=1)
def invariances(case: Case) -> None:
    change = case.choose(units, columns_units, order, storage, single, again, forward, targets)
    call = generic(case, "srr" if change is forward else case.choose(*BY_STEPS))
    case.note(change=change.__name__)
    try:
        solution = call()
    except InputError as refusal:
        justified(call, refusal)
        return
    # Where as many columns are met as there are rows, the last ones all fit alike.
    if max(solution.path.sizes) < call.A.shape[0]:
        change(case, call, solution)


def again(case: Case, call: Call, solution: Any) -> None:
    """The same call once more: the same to the last bit, and so from the support it found."""
    other = call()
    same_support(solution.support, other.support, "the same call")
    same_coef(solution.coef, other.coef, 0.0, "the same call")
    if call.algorithm in ("forward", "omp", "gomp") and solution.support.size:
        restarted = call(start=solution.support)
        same_support(solution.support, restarted.support, "started from the answer")
        same_coef(solution.coef, restarted.coef, 1e-10, "started from the answer")


def forward(case: Case, call: Call, solution: Any) -> None:
    """Stepwise Regression with Replacement fits no worse than steps forward alone."""
    if call.columns("start") or call.words.get("max_iter") is not None:
        return
    words = {w: call.words[w] for w in ("include", "exclude") if w in call.words}
    S, exact = list(words.get("include", [])), call.exact
    barred = {*words.get("exclude", [])}
    while len(S) < solution.support.size:
        root = exact.fit(S).gains(exact.U).root
        S.append(max((j for j in range(root.size) if j not in {*S, *barred}), key=root.__getitem__))
    no_worse_than_forward(exact.relative(solution.residual_norm), exact.fit(S).norm, call)


@oracle
def no_worse_than_forward(norm: float, forward: float, call: Call) -> None:
    """Exchanges begin where steps forward lead, if nothing else is better."""
    bound = call.words.get("residual")
    if bound is None or norm > call.exact.relative(bound):
        assert norm <= forward * (1 + 1e-9) + 1e-12, f"{norm:.9g} is left; forward: {forward:.9g}"


def units(case: Case, call: Call, solution: Any) -> None:
    """A and y times powers of two, words along with y: the same to the last bit."""
    a, b = (int(p) for p in case.rng.integers(-300, 301, 2))
    y = np.ldexp(call.y.real, b) + (1j * np.ldexp(call.y.imag, b) if is_complex(call.y) else 0)
    scaled = {w: v if w not in IN_UNITS else float(np.ldexp(v, b)) for w, v in call.words.items()}
    A = call.A * 2.0**a
    if call.algorithm in BAYESIAN and abs(b - a) > 400:
        return  # variances, squares of coefficients, would be out of range
    other = replace(call, A=A, held=A, y=y, words=scaled)()
    same_support(solution.support, other.support, f"A·2^{a}, y·2^{b}")
    expected = solution.coef * 2.0 ** (b - a)
    same_coef(expected, other.coef, 1e-10, f"A·2^{a}, y·2^{b}")


def targets(case: Case, call: Call, solution: Any) -> None:
    """Several targets in another order, one of them in other units, and one of zeros among them."""
    if call.y.ndim == 1:
        return
    where = case.rng.permutation(call.y.shape[1])
    y = np.insert(call.y[:, where], 0, 0.0, axis=1)
    power = int(case.choose(-300, -9, 9, 300))
    y[:, 1] *= 2.0**power
    ratio = length(y) / length(call.y)
    scaled = {w: v if w not in IN_UNITS else v * ratio for w, v in call.words.items()}
    other = replace(call, y=y, words=scaled)()
    what = f"targets in another order, one times 2^{power}"
    same_support(solution.support, other.support, what)
    expected = solution.coef[:, where]
    expected[:, 0] *= 2.0**power
    assert not other.coef[:, 0].any(), "a target of zeros has coefficients"
    for one, again in zip(expected.T, other.coef[:, 1:].T, strict=True):
        same_coef(one, again, 1e-8, what)


def is_complex(y: np.ndarray) -> bool:
    return bool(np.iscomplexobj(y))


def columns_units(case: Case, call: Call, solution: Any) -> None:
    """Single columns times powers of two."""
    powers = case.rng.integers(-100, 101, call.A.shape[1])
    A = call.A * 2.0**powers
    other = replace(call, A=A, held=A)()
    same_support(solution.support, other.support, "columns in other units")
    again = (other.coef.T * 2.0**powers).T
    same_coef(solution.coef, again, 1e-10, "columns in other units")


def order(case: Case, call: Call, solution: Any) -> None:
    """Columns in another order."""
    m = call.A.shape[1]
    where = case.rng.permutation(m)  # new column i is old column where[i]
    place = np.argsort(where)
    moved = dict(call.words)
    for word in ("include", "exclude", "start"):
        if moved.get(word) is not None:
            moved[word] = [int(place[j]) for j in moved[word]]
    A = call.A[:, where]
    other = replace(call, A=A, held=A, words=moved)()
    same_support(np.sort(place[solution.support]), other.support, "columns in another order")
    same_coef(solution.coef[where], other.coef, 1e-8, "columns in another order")


def storage(case: Case, call: Call, solution: Any) -> None:
    """The same numbers in another container."""
    container = case.choose(*CONTAINERS)
    case.note(container=container)
    other = replace(call, held=CONTAINERS[container](call.A))()
    same_support(solution.support, other.support, container)
    same_coef(solution.coef, other.coef, 1e-8, container)


def single(case: Case, call: Call, solution: Any) -> None:
    """Single precision: the same columns unless steps were close, and coefficients near."""
    A = call.A.astype(np.complex64 if is_complex(call.A) else np.float32)
    other = replace(call, A=A, held=A)()
    assert other.coef.dtype in (np.float32, np.complex64)
    if np.array_equal(solution.support, other.support):
        same_coef(solution.coef, other.coef, 1e-2, "single precision")
    else:  # scores that agree to half of its digits are tied in single precision
        scale = length(call.y)
        off = abs(solution.residual_norm - other.residual_norm) / scale
        assert off < 0.2, f"single precision: residual off by {off:.3g}"
