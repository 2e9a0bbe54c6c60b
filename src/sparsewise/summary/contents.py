"""A fitted model as data: numbers, and sentences under their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sparsewise._typing import Array
from sparsewise._util.text import count, printable
from sparsewise.errors import Spelling, Words, in_python, spelled
from sparsewise.results import Stop
from sparsewise.summary.r2 import finite, r_squared

Fact = tuple[str, Words]
"""A label, and what there is to say; parameters in it are spelled by whoever shows it."""

NOTE = "note"
"""The label of what the user was warned of."""


class Coefficient(NamedTuple):
    """A feature, its coefficient, and the standard deviation of that, where it is known.

    Of several targets both are tuples, with an entry for each.
    """

    name: str
    value: Any
    std: Any

    @property
    def values(self) -> tuple[float, ...]:
        """The coefficient of each target."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def stds(self) -> tuple[float, ...]:
        """Their standard deviations, where they are to be shown."""
        return self.std if isinstance(self.std, tuple) else (self.std or 0.0,)


class Response(NamedTuple):
    """One of several targets: its name, what is explained of it, and its noise."""

    name: str
    r2: float | None
    loss: float
    noise: float | None


class PathRow(NamedTuple):
    """The start of a path, a step of it, or what follows the last (which has no number)."""

    number: int | None
    action: str
    features: tuple[str, ...]
    size: int
    loss: float
    r2: float | None
    log_evidence: float | None


class ValidationCurve(NamedTuple):
    """Cross-validation by size: mean squared errors, their standard errors, and the rule."""

    sizes: Array
    mean: Array
    std: Array
    one_standard_error: bool


@dataclass(frozen=True)
class Description:
    """All there is to say of a fitted model.

    Attributes
    ----------
    target : str
        What is explained.
    targets : tuple of Response
        What is explained of each, where there are several; else empty.
    candidates : int
        How many features there were.
    intercept : Coefficient or None
        The constant, if the model has one.
    features : tuple of Coefficient
        The chosen features.
    std_title : str
        What the standard deviations are called; empty where there are none to be shown.
    r2, loss : float or None, float
        The share of the target that is explained, and the squared residual; of several targets, the
        mean of the shares, and the weighted mean of the residuals.
    noise : float or None
        Its standard deviation, where it is known; of several targets, the root mean square.
    log_evidence, price : float or None, float
        Of a Bayesian model, and what a feature had to raise it by.
    criterion : str or None
        The criterion that has chosen, if one has.
    criteria : mapping of str to float
        The criteria of a least-squares model.
    validation_curve : ValidationCurve or None
        What cross-validation told, if it has chosen.
    facts : tuple of Fact
        What is said in sentences.
    stop : Stop
        Why the algorithm ended, with advice.
    path : tuple of PathRow
        The way to the model.
    passes : int
        How many times the table was read.
    """

    target: str
    candidates: int
    intercept: Coefficient | None
    features: tuple[Coefficient, ...]
    std_title: str
    r2: float | None
    loss: float
    noise: float | None
    log_evidence: float | None
    price: float
    criterion: str | None
    criteria: Mapping[str, float]
    validation_curve: ValidationCurve | None
    facts: tuple[Fact, ...]
    stop: Stop
    path: tuple[PathRow, ...]
    passes: int
    targets: tuple[Response, ...] = ()

    @property
    def title(self) -> str:
        """What is explained by how much."""
        mean = "mean " if len(self.targets) > 1 else ""
        share = "" if self.r2 is None else f", {mean}R² = {r_squared(self.r2)}"
        chosen = f"{len(self.features)} of {count(self.candidates, 'feature')}"
        return f"{printable(self.target)} explained by {chosen}{share}"

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The constant, if there is one, and the chosen features."""
        return self.features if self.intercept is None else (self.intercept, *self.features)

    def sentences(self, spelling: Spelling = in_python) -> list[tuple[str, str]]:
        """The facts, in somebody's spelling."""
        return [(label, spelled(words, spelling)) for label, words in self.facts]

    def fields(self, spelling: Spelling = in_python) -> dict[str, Any]:
        """The model, ready for JSON: None for what is infinite or unknown."""
        constant = self.intercept
        multi_target = {"targets": [one._asdict() for one in self.targets]} if self.targets else {}
        return multi_target | {
            "intercept": None if constant is None else constant.value,
            "intercept_std": None if constant is None else constant.std,
            "features": [
                {"name": name, "coef": value, "std": std} for name, value, std in self.features
            ],
            "r2": self.r2,
            "rss": self.loss,
            "noise": self.noise,
            "log_evidence": None if self.log_evidence is None else finite(self.log_evidence),
            "criterion": self.criterion,
            "criteria": {name: finite(value) for name, value in self.criteria.items()},
            "certificate": dict(self.sentences(spelling)).get("subset"),
            "notes": [words for label, words in self.sentences(spelling) if label == NOTE],
            "stop": str(self.stop),
            "advice": self.stop.advised(spelling),
        }
