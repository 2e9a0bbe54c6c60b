"""One call of an algorithm: data, container and words that make sense for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsewise import Targets, as_design
from sparsewise.algorithms import ALGORITHMS, Family
from sparsewise.algorithms.registry import Algorithm
from sparsewise.criteria.information import BY_LOSS
from tests.hostile.campaign import Case
from tests.hostile.inputs import (
    ARRAYS,
    CONTAINERS,
    TARGETS,
    balanced,
    container,
    matrix,
    target,
    typed,
    working_type,
)
from tests.hostile.least_squares import Exact, lengths

Array = NDArray[Any]
Words = dict[str, Any]

#: Algorithms that choose columns, each an entry of the registry: ℓ1 is another matter.
BY_COLUMNS = {name: one for name, one in ALGORITHMS.items() if one.family is not Family.L1}
LEAST_SQUARES = [name for name, one in BY_COLUMNS.items() if one.least_squares]
BAYESIAN = [name for name, one in BY_COLUMNS.items() if one.family is Family.BAYESIAN]
SEARCHES = [name for name, one in BY_COLUMNS.items() if one.family is Family.SEARCH]
#: Algorithms whose path is what they did, step by step.
BY_STEPS = [name for name in BY_COLUMNS if name not in SEARCHES]


@dataclass
class Call:
    """An algorithm, a matrix and how it is held, a target, and words."""

    algorithm: str
    A: Array  # as it was drawn, in its own type
    held: Any
    y: Any
    words: Words
    worst: float = 1.0  # how badly the models met on the way tell their coefficients
    given: Any = None  # the target as it is held; None: as it is
    weights: Any = None  # of several targets, columns of y

    def __call__(self, **more: Any) -> Any:
        return self.record(self.held, self.target, **self.words | more)

    @property
    def target(self) -> Any:
        """y as the library gets it."""
        y = self.y if self.given is None else self.given
        return y if self.weights is None else Targets(y, weights=self.weights)

    @property
    def record(self) -> Algorithm:
        return BY_COLUMNS[self.algorithm]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type that the coefficients are owed."""
        kind = working_type(self.A, self.held)
        return np.result_type(kind, np.complex64) if np.iscomplexobj(self.y) else kind

    @cached_property
    def truth(self) -> Array:
        """A as the type that is worked in holds it."""
        with np.errstate(over="ignore", under="ignore"):
            return self.A.astype(working_type(self.A, self.held))

    @cached_property
    def exact(self) -> Exact:
        y = np.asarray(self.y)
        return Exact(self.truth, y.astype(complex if y.dtype.kind == "c" else float), self.weights)

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.truth).all() and np.isfinite(self.y).all())

    def columns(self, word: str) -> list[int]:
        """The columns that include, exclude or start names."""
        named = self.words.get(word, ())
        return [] if named is None else list(dict.fromkeys(map(int, named)))

    @property
    def first(self) -> list[int]:
        """The columns that the model begins with, if it has any choice."""
        forced, barred = self.columns("include"), self.columns("exclude")
        everything = range(self.A.shape[1])
        start = self.words.get("start", None if self.record.starts_full else ())
        begun = (everything if self.record.takes("start") else ()) if start is None else start
        return [*forced, *(j for j in dict.fromkeys(begun) if j not in {*forced, *barred})]


def length(y: Array) -> float:
    """‖y‖ without overflow, the root mean square of several targets; 1 for zeros."""
    targets = np.asarray(y, complex).reshape(len(y), -1)
    z, power = balanced(targets[:, targets.any(axis=0)])
    top = int(power.max(initial=-(10**9)))
    norms = np.ldexp(lengths(z), np.maximum(power - top, -1000))
    return float(np.ldexp(np.sqrt(np.mean(norms**2)), top)) if norms.size else 1.0


def some_columns(case: Case, m: int, most: int) -> list[int]:
    count = int(case.rng.integers(0, max(min(m, most), 0) + 1))
    return case.rng.choice(m, count, replace=False).tolist()


def criterion(case: Case, y: Array) -> Any:
    """One by name, or ‖r‖² + δ² size."""
    norm = 0.2 * length(y)
    price = norm * norm
    if case.chance(0.3) and 0 < price < 1e300:
        return lambda rss, size: rss + price * size
    return case.choose(*BY_LOSS)


def by_charge(case: Case) -> str:
    """One of a search, by name."""
    return case.choose("ric", "ric", "bic", "aic")


def words(case: Case, name: str, A: Array, y: Array) -> Words:
    """Words that a careful user might give."""
    record, (n, m) = BY_COLUMNS[name], A.shape
    norm, least = length(y), min(A.shape)
    part = float(case.choose(0.0, 1e-12, 1e-6, 0.01, 0.3, 0.9, 2.0))
    drawn: Words = {}
    for word in case.rng.permutation([w for w in record.stopping if w not in record.required]):
        if drawn and case.chance(0.7):
            continue  # one is enough, as a rule
        drawn[str(word)] = None
    for word in record.required:
        drawn[word] = None
    values: Words = {
        "sparsity": lambda: int(case.rng.integers(0, least + 1)),
        "residual": lambda: part * norm,
        "delta": lambda: float(case.choose(0.0, 1e-9, 0.05, 0.3, 1.5)) * norm,
        "criterion": lambda: by_charge(case) if name in SEARCHES else criterion(case, y),
        "batch": lambda: int(case.choose(1, 2, 3, 7)),
        "sigma": lambda: case.choose(None, 1e-3, 0.05, 0.05, 0.3, 2.0),
    }
    for word in drawn:
        drawn[word] = values[word]()
    if drawn.get("sigma") is not None:
        drawn["sigma"] *= norm
    options: Words = {
        "max_iter": lambda: int(case.choose(1, 3, 20)),
        "max_outer": lambda: int(case.choose(1, 2)),
        "nu": lambda: float(case.choose(0.0, 0.3, 0.9)),
        "step": lambda: float(case.choose(0.3, 2.0)),
        "price": lambda: float(case.choose(0.5, 3.0)),
        "min_increase": lambda: float(case.choose(1e-5, 0.1)),
        "noise_prior": lambda: (1.0, min(0.01 * norm * norm, 1e300)),
        "updates": lambda: case.choose("em", "mackay", "convex"),
    }
    if name in SEARCHES:
        options["sigma"] = lambda: norm * float(case.choose(1e-6, 1e-3, 0.05, 0.3, 2.0))
        options["effort"] = lambda: int(case.choose(1, 2, 3, 8))
        options["seed"] = lambda: int(case.choose(1, 7, 2**40))
    for word, draw in options.items():
        if record.takes(word) and case.chance(0.3 if name in SEARCHES else 0.15):
            drawn[word] = draw()
    if name == "mp" and "max_iter" not in drawn:
        drawn["max_iter"] = 100
    if record.takes("include") and case.chance(0.2):
        drawn["include"] = some_columns(case, m, min(2, drawn.get("sparsity", 2) or 0))
    if record.takes("exclude") and case.chance(0.2):
        barred = some_columns(case, m, m // 2)
        drawn["exclude"] = [j for j in barred if j not in drawn.get("include", ())]
    if record.takes("start") and case.chance(0.9 if record.starts_full and m > n else 0.3):
        drawn["start"] = some_columns(case, m, min(n, drawn.get("sparsity") or n))
    return drawn


def targets(case: Case, A: Array) -> Array:
    """Several targets for A, each of a kind and in units of its own."""
    q = case.choose(1, 2, 2, 3, 5, 40)
    case.note(targets=q)
    return np.column_stack([target(case, A) for _ in range(q)])


def data(case: Case, *, multi_target: bool = False, **how: Any) -> tuple[Array, Any, Array]:
    """A matrix as drawn, as it is held, and a target; or several, where they are taken."""
    A = matrix(case, **how)
    y = targets(case, A) if multi_target and case.chance(0.25) else target(case, A)
    if case.chance(0.2):
        A = typed(case, A)
    if case.chance(0.1):
        y = typed(case, y)
    held = container(case, A) if case.chance(0.5) else A
    same = working_type(A, held) == working_type(A, A)
    if case.chance(0.1) and same and np.isfinite(A).all():
        case.note(design=True)
        held = as_design(held)
    return A, held, y


def a_call(
    case: Case, *, names: Sequence[str] = BY_STEPS, multi_target: bool = True, **how: Any
) -> Call:
    """One of these algorithms on data of any kind, with words that make sense."""
    name = case.choose(*names)
    case.note(algorithm=name)
    if name == "sbl":
        how["large"] = 0.0  # which takes it seconds, as it says
    A, held, y = data(case, multi_target=multi_target and BY_COLUMNS[name].multi_target, **how)
    drawn = words(case, name, A, y)
    case.note(**drawn)
    call = Call(name, A, held, y, drawn)
    if y.ndim > 1 and case.chance(0.2):
        call.weights = weights(case, y)
        case.note(weights=call.weights)
    if case.chance(0.2):
        ways = TARGETS if y.ndim == 1 else {kind: CONTAINERS[kind] for kind in ARRAYS}
        kind = case.choose(*ways)
        case.note(target_as=kind)
        call.given = ways[kind](y)
    return call


def weights(case: Case, y: Array) -> Array | None:
    """Weights of targets, none of which is lost among the others; None where there are no such."""
    norms = np.array([length(one) for one in y.T])
    if np.isfinite(norms).all() and norms.max() < 1e6 * norms.min() and case.chance(0.5):
        return np.ones(norms.size)
    with np.errstate(over="ignore"):
        balance = 10.0 ** case.rng.uniform(-2, 2, norms.size) / norms
    return balance if np.isfinite(balance).all() and balance.all() else None
