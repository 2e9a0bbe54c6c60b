"""The noise: given, or inferred from the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.engine.evidence import Evidence
from sparsewise.engine.log import Callback
from sparsewise.engine.noise import BEYOND, NoisePrior, check_prior, relative_noise
from sparsewise.errors import InputError
from sparsewise.parameters import (
    check_constraints,
    check_function,
    check_positive,
    check_tolerance,
)
from sparsewise.problem import problem
from sparsewise.results import Stop, weight
from sparsewise.tolerances import tolerances

Climb = Callable[[Evidence], Any]

FAR_BEHIND = 256.0
"""A σ sixteen times as large as it is held to be: no feature has explained the difference."""


def begin(
    A: Any,
    y: ArrayLike,
    climb: Climb,
    *,
    sigma: float | None,
    price: float,
    min_increase: float,
    noise_prior: NoisePrior | None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> Evidence:
    """What every algorithm of Sparse Bayesian Learning begins with: an empty model on checked data.

    Where sigma is None, the noise is inferred first, by `climb`, which raises the evidence of a
    model as far as it goes.
    """
    data = problem(A, y)
    price = check_tolerance(price, "price") or 0.0
    if price > BEYOND:
        raise InputError(
            f"must be finite, and below {BEYOND:.0e}",
            "no model of so high a price has any feature.",
            parameter="price",
        )
    min_increase = check_positive(min_increase, "min_increase")
    prior = check_prior(noise_prior, data)
    check_function(callback, "callback")
    include, exclude = check_constraints(include, exclude, data.shape[1])
    empty = partial(Evidence, data, min_increase=min_increase, include=include, exclude=exclude)
    if sigma is not None:
        return empty(relative_noise(sigma, data), price=price, callback=callback)
    if data.is_zero:
        evidence = empty(1.0, price=price, callback=callback)
        evidence.noise = 0.0
        return evidence
    # A feature is one of m: its share of the prior makes that much of a difference.
    cautious = max(price, math.log(max(data.shape[1], 2)))
    noise = infer_noise(empty(1.0, price=cautious), climb, prior)
    return empty(noise, price=price, callback=callback)


def infer_noise(evidence: Evidence, climb: Climb, prior: NoisePrior) -> float:
    """The σ² of greatest evidence, each feature paying its price; for a target of norm one.

    Halted, it is the best so far.
    """
    search = _Search(evidence, climb, prior)
    evidence.log.run(search.run)
    return search.noise


class _Search:
    """The maximum of the evidence in σ² and γ, each feature paying its price.

    The evidence alone has no useful maximum in σ² where m >= n: features that fit the noise cost
    it little, σ falls, more of them are let in, and so on to zero. With a price of log m for
    each feature, as a uniform prior on which of the m it is would have it, they don't come in.
    The maximum is sought from above, a factor of two in σ at a time, because the evidence of a
    model that has missed most features rises as σ does, too; then each in turn, γ and σ², until
    σ² no longer changes.

    Attributes
    ----------
    noise : float
        The best σ² so far.
    """

    def __init__(self, evidence: Evidence, climb: Climb, prior: NoisePrior) -> None:
        self._evidence, self._climb, self._prior = evidence, climb, prior
        # Below this σ², rounding is all that is left of the noise.
        self._floor = tolerances(evidence.problem.y.dtype).quiet ** 2 / evidence.rows
        self.noise = self._best_noise()

    def run(self) -> Stop:
        """Search from above, then refine."""
        self._descend()
        self._refine()
        return Stop.EVIDENCE

    def _descend(self) -> None:
        """Half the σ again and again, the model following, until that is the worse for it."""
        evidence, noise = self._evidence, self.noise
        steep = 2 * weight(evidence.problem.y.dtype.kind == "c") * evidence.rows
        highest, size = -math.inf, 0
        while True:
            here = self._worth_at(noise)
            evidence.noise = self._best_noise()
            at_best = self._worth()
            if at_best > highest:
                highest, self.noise, size = at_best, evidence.noise, evidence.size
            # A model that follows σ by more features and is much the worse for it fits noise; one
            # that is left behind by far will not follow any more.
            overfits = here < highest - steep and evidence.size > size
            left_behind = evidence.noise > FAR_BEHIND * noise
            if noise <= self._floor or overfits or left_behind:
                return
            noise = max(noise / 4, self._floor)

    def _refine(self) -> None:
        """γ and σ² in turn from a good model."""
        for _ in range(50):
            self._worth_at(self.noise)
            last, self.noise = self.noise, self._best_noise()
            if abs(math.log(self.noise / last)) < 1e-4:
                return

    def _best_noise(self) -> float:
        return max(self._evidence.best_noise(*self._prior), self._floor)

    def _worth_at(self, noise: float) -> float:
        """What the model is worth once it has climbed as far as it goes at this σ²."""
        self._evidence.noise = noise
        self._climb(self._evidence)
        return self._worth()

    def _worth(self) -> float:
        """Log evidence less price, and the log prior of log σ² but for a constant."""
        (shape, scale), noise = self._prior, self._evidence.noise
        return self._evidence.worth - shape * math.log(noise) - scale / noise
