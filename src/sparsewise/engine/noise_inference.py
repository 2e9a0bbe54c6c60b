"""The noise: given, or inferred from the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.engine.evidence import Evidence
from sparsewise.engine.log import Callback
from sparsewise.problem import Problem, check_positive, check_tolerance, problem
from sparsewise.results import weight
from sparsewise.tolerances import tolerances

Climb = Callable[[Evidence], Any]

NoisePrior = tuple[float, float]

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
    if price == math.inf:
        raise ValueError("price must be finite; at an infinite one no model has any feature.")
    min_increase = check_positive(min_increase, "min_increase")
    prior = _check_prior(noise_prior, data)
    include, exclude = list(include), list(exclude)

    def empty(noise: float, price: float, callback: Callback | None = None) -> Evidence:
        return Evidence(
            data,
            noise,
            price=price,
            min_increase=min_increase,
            include=include,
            exclude=exclude,
            callback=callback,
        )

    if sigma is not None:
        return empty(_relative(sigma, data), price, callback)
    if data.is_zero:
        evidence = empty(1.0, price, callback)
        evidence.noise = 0.0
        return evidence
    # A feature is one of m: its share of the prior makes that much of a difference.
    cautious = max(price, math.log(max(data.shape[1], 2)))
    return empty(infer_noise(lambda noise: empty(noise, cautious), climb, prior), price, callback)


def infer_noise(begin: Callable[[float], Evidence], climb: Climb, prior: NoisePrior) -> float:
    """The σ² of greatest evidence, each feature paying its price; for a target of norm one.

    The evidence alone has no useful maximum in σ² where m >= n: features that fit the noise cost
    it little, σ falls, more of them are let in, and so on to zero. With a price of log m for
    each feature, as a uniform prior on which of the m it is would have it, they don't come in.
    The maximum is sought from above, a factor of two in σ at a time, because the evidence of a
    model that has missed most features rises as σ does, too; then each in turn, γ and σ², until
    σ² no longer changes.
    """
    evidence = begin(1.0)
    steep = 2 * weight(evidence.problem.y.dtype.kind == "c") * evidence.rows
    floor = _least_noise(evidence)
    noise = best = max(evidence.best_noise(*prior), floor)
    highest, size = -math.inf, 0
    while True:
        evidence.noise = noise
        climb(evidence)
        here = _worth(evidence, prior)
        evidence.noise = max(evidence.best_noise(*prior), floor)
        at_best = _worth(evidence, prior)
        if at_best > highest:
            highest, best, size = at_best, evidence.noise, evidence.size
        # A model that follows σ by more features and is much the worse for it fits noise; one
        # that is left behind by far will not follow any more.
        overfits = here < highest - steep and evidence.size > size
        left_behind = evidence.noise > FAR_BEHIND * noise
        if noise <= floor or overfits or left_behind or evidence.log.halted:
            break
        noise = max(noise / 4, floor)
    return _refine(evidence, best, climb, prior, floor)


def _worth(evidence: Evidence, prior: NoisePrior) -> float:
    """Log evidence less price, and the log density of log σ² by the prior but for a constant."""
    shape, scale = prior
    return evidence.worth - shape * math.log(evidence.noise) - scale / evidence.noise


def _refine(
    evidence: Evidence, noise: float, climb: Climb, prior: NoisePrior, floor: float
) -> float:
    """γ and σ² in turn from a good model."""
    for _ in range(50):
        evidence.noise = noise
        climb(evidence)
        last, noise = noise, max(evidence.best_noise(*prior), floor)
        if abs(math.log(noise / last)) < 1e-4 or evidence.log.halted:
            break
    return noise


def _least_noise(evidence: Evidence) -> float:
    """Below this σ², rounding is all that is left of the noise."""
    return tolerances(evidence.problem.y.dtype).quiet ** 2 / evidence.rows


def _relative(sigma: float, data: Problem) -> float:
    """σ² for a target of norm one."""
    ratio = check_positive(sigma, "sigma") / data.scale
    if not 1e-100 < ratio < 1e100:
        raise ValueError(
            f"sigma is {ratio:.1g} times the norm of y, out of all proportion; check its units, "
            "or use rmp0, the limit of no noise."
        )
    return ratio * ratio


def _check_prior(prior: NoisePrior | None, data: Problem) -> NoisePrior:
    """Shape and scale of the inverse-gamma prior, for a target of norm one."""
    if prior is None:
        return 0.0, 0.0
    try:
        shape, scale = np.asarray(prior, float).tolist()
    except (TypeError, ValueError):
        raise ValueError(
            f"noise_prior must be two numbers, shape and scale of an inverse-gamma distribution of "
            f"sigma², not {prior!r}."
        ) from None
    for value in (shape, scale):
        if not 0 <= value < math.inf:
            raise ValueError(f"noise_prior must hold finite numbers of at least 0, not {prior!r}.")
    return shape, scale / data.scale / data.scale
