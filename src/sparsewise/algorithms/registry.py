"""The registry of algorithms; each enters itself from its own file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sparsewise.design import Design
from sparsewise.results import Solution

STOPPING = ("sparsity", "residual", "delta", "penalty", "criterion")
"""Stopping parameters, wherever they occur."""


class Family(Enum):
    """The families of algorithms, with what they do."""

    PURSUIT = "add columns that are close to the residual"
    STEPWISE = "add and drop columns by what they are worth"
    ELIMINATION = "drop columns from the full model"
    EXCHANGE = "exchange columns of a model of fixed size"
    BAYESIAN = "maximise the evidence of prior variances"
    SEARCH = "search from several starts"
    L1 = "minimise a weighted sum of sizes of coefficients"


@dataclass(frozen=True)
class Algorithm:
    """An algorithm and its properties.

    Attributes
    ----------
    function : callable
        ``function(A, y, **parameters)`` returns a `result`.
    family : Family
        What kind of algorithm it is.
    good_for : str
        When to use it, in a few words.
    result : type
        The type it returns: `Solution` or one of its subclasses.
    dense : bool
        Whether it needs A as a dense matrix.
    starts_full : bool
        Whether it starts with all columns unless `start` is given.
    least_squares : bool
        Whether its coefficients are the least-squares fit on the support.
    multi_target : bool
        Whether it takes targets of shape (n, q) and finds one support for all.
    meant_by : tuple of str
        Parameters that imply this algorithm where none is named (at the command line, say);
        "nothing" marks the default.
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

    def check_parameters(self, design: Design, **parameters: Any) -> None:
        """Raise the error that any target would meet with these parameters.

        A target of zeros is solved at once, by checking the parameters alone.
        """
        self.function(design, np.zeros(design.shape[0], design.dtype), **parameters)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters besides A and y."""
        parameters = inspect.signature(self.function).parameters
        return {name: value for name, value in parameters.items() if name not in ("A", "y")}

    @property
    def stopping(self) -> tuple[str, ...]:
        """Its stopping parameters."""
        # A Bayesian algorithm stops by the evidence, whose only scale is the noise.
        own = (*STOPPING, "sigma") if self.family is Family.BAYESIAN else STOPPING
        return tuple(name for name in own if name in self.parameters)

    @property
    def required(self) -> tuple[str, ...]:
        """Its parameters that have no default."""
        empty = inspect.Parameter.empty
        return tuple(name for name, value in self.parameters.items() if value.default is empty)

    @property
    def takes_callback(self) -> bool:
        """Whether it takes a callback."""
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
    """Register a function in `ALGORITHMS`; the arguments are the fields of `Algorithm`.

    By default a plain `Solution` is a least-squares fit, and all algorithms but those of the ℓ1
    family accept several targets.
    """
    plain = more.get("result", Solution) is Solution
    more = {"least_squares": plain, "multi_target": family is not Family.L1, **more}

    def enter(function: Function) -> Function:
        ALGORITHMS[function.__name__] = Algorithm(function, family, good_for, **more)
        return function

    return enter
