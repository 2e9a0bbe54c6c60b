"""What a search from several starts returns: a model, what each start came to, and the odds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsewise.guarantees.exchanges import exchanges_of_one, measured
from sparsewise.guarantees.fit import Fit
from sparsewise.problem import problem
from sparsewise.results.check import MultistartCheck
from sparsewise.results.solution import UncertainSolution
from sparsewise.selection.score import Score
from sparsewise.wording import count


class Start(NamedTuple):
    """What a start came to: the columns of its model, and its score (the lower the better)."""

    support: tuple[int, ...]
    score: float


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class MultistartSolution(UncertainSolution):
    """The best model that several starts came to; ``coef`` is least squares on its columns.

    ``sigma`` is given, or ‖r‖/√(n - k); ``covariance`` takes the columns as given: σ²(A_S*A_S)⁻¹.

    Attributes
    ----------
    score : float
        What was minimised, for a target of norm one: RIC unless told otherwise.
    chance : float
        log₁₀ of a bound on the probability that as many columns fit a target of random direction
        as well: near 0 for a fit that means nothing.
    starts : tuple of Start
        What each start came to.
    goal : Score
        How a model's score comes from its ‖r‖² and size.
    """

    score: float
    chance: float
    starts: tuple[Start, ...]
    goal: Score

    @property
    def counts_features(self) -> bool:
        """Those of the models on the path are their features, even if the last one is shrunk."""
        return True

    @property
    def times_found(self) -> int:
        """How many starts came to the model."""
        return sum(start.support == tuple(self.support.tolist()) for start in self.starts)

    def facts(self) -> Iterator[tuple[str, str]]:
        """How often it was found, and whether chance could have found it."""
        yield "starts", f"{self.times_found} of {count(len(self.starts), 'start')} came to this"
        yield "chance", self.odds()

    def odds(self) -> str:
        """What chance is told to be, in a few words."""
        if self.chance > -1:
            return "as many columns may well fit as closely by chance"
        return f"as many columns fit as closely by chance at odds below 10^{self.chance:.3g}"

    def check(self, A: Any, y: Any) -> MultistartCheck:
        """Recompute residual, noise and score from the data, and that no single change helps."""
        data = problem(A, y)
        fit = self._check_fit(data)
        again = Fit(data, self.support, self.include, self.exclude)
        rss = again.norm**2
        score = self.goal.cost(rss, again.size)
        fall = max(0.0, score - min(self._next_to(again, rss), default=math.inf))
        tolerance = 1e-6 * (1 + abs(score))
        ok = fit.ok and abs(score - self.score) <= tolerance and fall <= tolerance
        return MultistartCheck(
            ok=ok,
            residual_norm=fit.residual_norm,
            residual_error=fit.residual_error,
            normal_equations=fit.normal_equations,
            support_ok=fit.support_ok,
            score_error=abs(score - self.score),
            possible_fall=fall,
        )

    def _next_to(self, fit: Fit, rss: float) -> Iterator[float]:
        """The scores of the best addition, deletion and exchange of one column."""
        if rss <= self.goal.exact:
            return
        if fit.others.size:
            corr, energy, _ = measured(fit)
            can = energy > fit.tolerance.dependent
            gains = np.square(np.abs(corr[can])) / energy[can]
            yield self.goal.cost(rss - gains.max(initial=0.0), fit.size + 1)
        if fit.loose.any():
            losses = np.square(np.abs(fit.x)) / np.square(np.linalg.norm(fit.U, axis=1))
            yield self.goal.cost(rss + losses[fit.loose].min(), fit.size - 1)
            swap = exchanges_of_one(fit).best
            yield self.goal.cost(rss - (swap.fall if swap else 0.0), fit.size)
