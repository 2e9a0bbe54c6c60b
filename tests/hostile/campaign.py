"""A campaign: families of hostile cases, oracles that judge them, faults that prove the oracles.

A *family* draws one case from its random numbers, calls the library and hands what comes out to
its oracles. An *oracle* recomputes what it can from the data alone; what it asserts is the claim.
A *fault* breaks the library on purpose, so that the oracle it is for must object: an oracle that
can't fail judges nothing.
"""

from __future__ import annotations

import functools
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from sparsewise.errors import InputError

Call = TypeVar("Call", bound=Callable)


class Failure(AssertionError):  # noqa: N818  (of the library, not of a program)
    """What an oracle objects to."""

    def __init__(self, oracle: str, objection: str) -> None:
        super().__init__(f"{oracle}: {objection}")
        self.oracle = oracle


@dataclass
class Case:
    """One case: its random numbers, and the recipe that it turned out to be."""

    family: str
    seed: int
    number: int
    recipe: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # The family counts by its letters: a new family leaves the cases of all others alone.
        self.rng = np.random.default_rng([self.seed, *self.family.encode(), self.number])

    def note(self, **facts: object) -> None:
        """Say what was drawn; it is shown should the case fail."""
        self.recipe += [f"{name}={value!r}"[:200] for name, value in facts.items()]

    def choose(self, *choices):
        """One of these."""
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return bool(self.rng.random() < probability)


class Family(NamedTuple):
    """A kind of cases, and its share among all families."""

    name: str
    run: Callable[[Case], None]
    share: int


class Fault(NamedTuple):
    """A library broken on purpose, the oracle that must notice it, and cases that show it."""

    name: str
    oracle: str
    family: str
    broken: Callable[[], AbstractContextManager[object]]


FAMILIES: dict[str, Family] = {}
ORACLES: dict[str, Callable] = {}
FAULTS: list[Fault] = []


def family(name: str, *, share: int = 1) -> Callable[[Callable[[Case], None]], Callable]:
    """Enter a family of cases."""

    def enter(run: Callable[[Case], None]) -> Callable[[Case], None]:
        assert name not in FAMILIES, f"there are two families {name}"
        FAMILIES[name] = Family(name, run, share)
        return run

    return enter


def oracle(judge: Call) -> Call:
    """Enter an oracle: a function whose assertions are its claims."""

    @functools.wraps(judge)
    def judged(*args, **kwargs):
        try:
            return judge(*args, **kwargs)
        except Failure:
            raise  # of an oracle within this one
        except AssertionError as objection:
            raise Failure(judge.__name__, str(objection)) from objection

    assert judge.__name__ not in ORACLES, f"two oracles are called {judge.__name__}"
    ORACLES[judge.__name__] = judged
    return judged  # type: ignore[return-value]


def fault(judge: Callable, *, family: str) -> Callable[[Callable], Callable]:
    """Enter a fault for an oracle, which cases of this family must show."""

    def enter(broken: Callable[[], AbstractContextManager[object]]) -> Callable:
        FAULTS.append(Fault(broken.__name__, judge.__name__, family, broken))
        return broken

    return enter


def objection(case: Case) -> Failure | None:
    """What is wrong with a case, if anything is: an oracle's word, another error, a warning.

    Bad input may be refused in one sentence, and a family catches what may be; whatever else gets
    out is a failure.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            FAMILIES[case.family].run(case)
    except Failure as failure:
        return failure
    except InputError as refusal:
        return Failure("no_sudden_refusal", str(refusal))
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{where.filename.rpartition('/')[2]}:{where.lineno}"
        return Failure("no_other_error", f"{type(error).__name__}: {error} ({place})")
    return None


def cases(seed: int, count: int, only: list[str] | None = None) -> Iterator[Case]:
    """So many cases, the families in turn, each by its share."""
    turn = [f.name for f in FAMILIES.values() if not only or f.name in only for _ in range(f.share)]
    numbers = dict.fromkeys(turn, 0)
    for i in range(count):
        name = turn[i % len(turn)]
        yield Case(name, seed, numbers[name])
        numbers[name] += 1
