"""What there is to know of each algorithm, said once: in its own file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from sparsewise.results import Solution

STOPPING = ("sparsity", "residual", "delta", "penalty", "criterion")
"""Parameters that decide where an algorithm ends, wherever they occur."""


class Family(Enum):
    """Algorithms of one kind: what they go by, and what they return."""

    PURSUIT = "add columns that are close to the residual"
    STEPWISE = "add and drop columns by what they are worth"
    ELIMINATION = "drop columns from the full model"
    EXCHANGE = "exchange columns of a model of fixed size"
    BAYESIAN = "maximise the evidence of prior variances"
    SEARCH = "search from several starts"
    L1 = "minimise a weighted sum of sizes of coefficients"


@dataclass(frozen=True)
class Algorithm:
    """An algorithm, and what a caller may want to know before calling it.

    Attributes
    ----------
    function : callable
        ``function(A, y, **parameters)`` returns a `result`.
    family : Family
        What kind of algorithm it is.
    good_for : str
        When to take it, in a few words.
    result : type
        What it returns: `Solution` or one of its subclasses.
    dense : bool
        Whether it needs A as a dense matrix.
    starts_full : bool
        Whether it begins with all columns, unless `start` says otherwise.
    least_squares : bool
        Whether its coefficients are the least-squares fit on the support.
    multi_target : bool
        Whether it takes targets of shape (n, q), and finds one support for all.
    meant_by : tuple of str
        Parameters that stand for this algorithm where none is named (at the command line, say);
        "nothing" for the one to take when none of these is given either.
    """

    function: Callable[..., Solution]
    family: Family
    good_for: str
    result: type[Solution] = Solution
    dense: bool = False
    starts_full: bool = False
    least_squares: bool = True
    multi_target: bool = True
    meant_by: tuple[str, ...] = ()

    def __call__(self, A: Any, y: Any, **parameters: Any) -> Any:
        """Call the function."""
        return self.function(A, y, **parameters)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What it takes besides A and y."""
        parameters = inspect.signature(self.function).parameters
        return {name: one for name, one in parameters.items() if name not in ("A", "y")}

    @property
    def stopping(self) -> tuple[str, ...]:
        """Its parameters that decide where it ends."""
        # The evidence alone ends a Bayesian algorithm, and that knows no scale but the noise.
        own = (*STOPPING, "sigma") if self.family is Family.BAYESIAN else STOPPING
        return tuple(name for name in own if name in self.parameters)

    @property
    def required(self) -> tuple[str, ...]:
        """Its parameters that have no default."""
        empty = inspect.Parameter.empty
        return tuple(name for name, one in self.parameters.items() if one.default is empty)

    @property
    def takes_callback(self) -> bool:
        """Whether it tells a callback of its steps."""
        return self.takes("callback")

    def takes(self, parameter: str) -> bool:
        """Whether it takes this parameter."""
        return parameter in self.parameters

    @property
    def headline(self) -> str:
        """What it does: the first sentence of its documentation."""
        paragraph = (inspect.getdoc(self.function) or "").split("\n\n")[0]
        return " ".join(paragraph.split()).split(". ")[0].rstrip(".")


ALGORITHMS: dict[str, Algorithm] = {}
"""Every algorithm by name."""

Function = TypeVar("Function", bound=Callable[..., Solution])


def algorithm(family: Family, good_for: str, **more: Any) -> Callable[[Function], Function]:
    """Enter a function into `ALGORITHMS`; what is said of it are the fields of `Algorithm`.

    Unless the algorithm says otherwise, a plain `Solution` is a least-squares fit, and several
    targets may share their support, but for ℓ1 norms.
    """
    plain = more.get("result", Solution) is Solution
    more = {"least_squares": plain, "multi_target": family is not Family.L1, **more}

    def enter(function: Function) -> Function:
        ALGORITHMS[function.__name__] = Algorithm(function, family, good_for, **more)
        return function

    return enter
