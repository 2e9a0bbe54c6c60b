"""Contenders side by side, and the verdict on what was to be reached."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import truediv
from typing import Any

import numpy as np

from reproduction.benchmarks.answers import Answer
from reproduction.benchmarks.cases import Case, Comparison
from reproduction.benchmarks.peers import ARRAY
from reproduction.benchmarks.race import Measurement

AS_GOOD = 1 + 1e-6  # squared residuals, errors, or objectives, this close in ratio are the same
SAME_EVIDENCE = 1e-2  # rises of the log evidence that sparsewise leaves, unless told otherwise
SAME_CRITERION = 1e-6

Results = Mapping[str, Mapping[str, Measurement]]  # case name -> contender name -> figures


@dataclass(frozen=True)
class Outcome:
    """A comparison with its figures; `ratio` is None where one side could not be measured."""

    comparison: Comparison
    case: Case
    ratio: float | None = None  # of the bests, or of the peaks of memory
    extra: float | None = None  # difference of the bests, in seconds
    paired_ratio: float | None = None  # median over the rounds: far from `ratio` means noise
    problems: int = 0  # solved by both
    same_supports: int = 0  # how many of these with the same support
    recovered: tuple[int, int] | None = None  # of these, the support behind the data found
    residual_ratio: float | None = None  # of the sums of squared residuals over these
    evidence_gain: float | None = None  # mean of the differences in log evidence over these
    error_ratio: float | None = None  # of the sums of test errors over these
    objective_ratio: float | None = None  # the largest of the ratios of Σ|x| over these
    excess: tuple[float, float] | None = None  # the largest over these, of the bound on ‖r‖
    criterion_gain: float | None = None  # mean of the differences in BIC over these
    memory: tuple[float | None, float | None] = (None, None)  # peaks, as parts of the array
    failure: str | None = None

    @property
    def figure(self) -> float | None:
        """What the bound bounds."""
        return self.extra if self.comparison.measured == "extra time" else self.ratio

    @property
    def verdict(self) -> str:
        """Whether the bound was kept, and by answers as good."""
        if self.comparison.bound is None:
            return ""
        if self.figure is None:
            return "not measured"
        bound = self.comparison.bound
        kept = self.figure < bound if self.comparison.strict else self.figure <= bound
        if kept and not self.as_good:
            return "reached in time, worse answer"
        return "reached" if kept else "missed"

    @property
    def as_good(self) -> bool:
        """Whether our answers are no worse by what this comparison judges them by."""
        judged = self.comparison.judged
        if self.problems == 0:
            return True
        if judged in ("residual", "evidence") and self.same_supports == self.problems:
            return True  # what is left is rounding, or where the iterations end
        if judged == "evidence":
            return self.evidence_gain is not None and self.evidence_gain >= -SAME_EVIDENCE
        if judged == "recovery":
            return self.recovered is not None and self.recovered[0] >= self.recovered[1]
        if judged == "error":
            return self.error_ratio is not None and self.error_ratio <= AS_GOOD
        if judged == "criterion":
            return self.criterion_gain is not None and self.criterion_gain <= SAME_CRITERION
        if judged == "objective":
            if self.objective_ratio is None:
                return False
            excess = self.excess[0] if self.excess else 0.0
            return self.objective_ratio <= AS_GOOD and 1 + excess <= AS_GOOD
        return self.residual_ratio is None or self.residual_ratio <= AS_GOOD

    @property
    def answers(self) -> str:
        """Our answers beside theirs, as a reader would say it."""
        judged = self.comparison.judged
        if judged == "evidence" and self.evidence_gain is not None:
            gain = 0.0 if abs(self.evidence_gain) < SAME_EVIDENCE else self.evidence_gain
            same = "same log evidence" if gain == 0.0 else f"log evidence {gain:+.2f}"
            return f"{same}; {self._found}" if self.recovered and any(self.recovered) else same
        if judged == "recovery" and self.recovered:
            return self._found
        if judged == "error" and self.error_ratio is not None:
            return f"test error {self.error_ratio:.3f}"
        if judged == "criterion" and self.criterion_gain is not None:
            same = abs(self.criterion_gain) <= SAME_CRITERION
            return "same BIC" if same else f"BIC {self.criterion_gain:+.2f}"
        if judged == "objective" and self.objective_ratio is not None:
            return self._objective(self.objective_ratio)
        if self.problems and self.same_supports == self.problems:
            return "same support"
        return "" if self.residual_ratio is None else f"squared residual {self.residual_ratio:.3g}"

    def _objective(self, ratio: float) -> str:
        what = "ℓ1 norm" if self.excess else "objective"
        off = ratio - 1
        size = f"no larger {what}" if off <= AS_GOOD - 1 else f"{what} larger by {off:.0e}"
        if not self.excess:
            return size
        ours, theirs = (f"{e:.0e}" if e > 1e-9 else "0" for e in self.excess)
        return f"{size}; bound exceeded by {ours} : {theirs}"

    @property
    def _found(self) -> str:
        ours, theirs = self.recovered or (0, 0)
        return f"support found {ours} : {theirs} of {self.problems}"


def compare(comparison: Comparison, case: Case, results: Mapping[str, Measurement]) -> Outcome:
    """Put two contenders of one case side by side, on the problems that both have solved."""
    ours = results[comparison.ours]
    if comparison.against == ARRAY:
        why = ours.failure or (None if ours.memory is not None else "its memory was not measured")
        return Outcome(comparison, case, ratio=ours.memory, failure=why)
    other = results[comparison.against]
    memory = (ours.memory, other.memory)
    if ours.best is None or other.best is None:
        return Outcome(comparison, case, memory=memory, failure=ours.failure or other.failure)
    rounds = [a / b for a, b in zip(ours.samples, other.samples, strict=False)]
    pairs = list(zip(ours.answers, other.answers, strict=False))
    return Outcome(
        comparison,
        case,
        ratio=ours.best / other.best,
        extra=ours.best - other.best,
        paired_ratio=statistics.median(rounds) if rounds else None,
        problems=len(pairs),
        same_supports=sum(np.array_equal(a.support, b.support) for a, b in pairs),
        memory=memory,
        **_side_by_side(pairs),
    )


def _side_by_side(pairs: Sequence[tuple[Answer, Answer]]) -> dict[str, Any]:
    """What our answers and theirs are worth, as far as both sides can say."""

    def both(name: str) -> tuple[list[Any], list[Any]] | None:
        values = [(getattr(a, name), getattr(b, name)) for a, b in pairs]
        if not values or any(None in pair for pair in values):
            return None
        return [a for a, _ in values], [b for _, b in values]

    values = {figure: both(name) for figure, (name, _) in FIGURES.items()}
    return {figure: FIGURES[figure][1](*pair) for figure, pair in values.items() if pair}


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return sum(ours) / sum(theirs)


def _gain(ours: list[float], theirs: list[float]) -> float:
    return statistics.mean(ours) - statistics.mean(theirs)


FIGURES: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "residual_ratio": ("squared_residual", _ratio),
    "recovered": ("recovered", lambda ours, theirs: (sum(ours), sum(theirs))),
    "evidence_gain": ("log_evidence", _gain),
    "error_ratio": ("test_error", _ratio),
    "objective_ratio": ("objective", lambda ours, theirs: max(map(truediv, ours, theirs))),
    "criterion_gain": ("criterion", _gain),
    "excess": ("excess", lambda ours, theirs: (max(ours), max(theirs))),
}
"""What answers are compared by: an attribute of theirs, and how those of two sides become one."""


def outcomes(
    cases: Iterable[Case], comparisons: Sequence[Comparison], results: Results
) -> list[Outcome]:
    """All comparisons of what was measured, in the order in which they were declared."""
    known = {case.name: case for case in cases}

    def is_measured(c: Comparison) -> bool:
        rows = results.get(c.case, {})
        return c.ours in rows and (c.against in rows or c.against == ARRAY)

    return [compare(c, known[c.case], results[c.case]) for c in comparisons if is_measured(c)]
