"""The noise: given, or inferred together with the model it belongs to.

The evidence has no useful maximum over σ² once m >= n: columns that fit noise cost it little, so σ
falls, more of them enter, and so on to zero. A uniform prior on *which* of the m columns a feature
is makes each cost log m, and with that price they stay out. Many local maxima remain, and one that
misses most features takes them for noise: so the search begins at the model of least RIC that a
few starts find (on large designs, at a forward path if that is clear), updates γ and σ² in turn,
and begins again from the empty model at the σ² found. The best of these, and of the empty model,
is kept. The algorithm then runs with the caller's own price; if that is lower, σ² may rise with
the evidence but not fall: σ² >= (‖r‖² + ‖D x‖²)/ν always (`InferredNoise`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise._util.parameters import (
    check_function,
    check_positive,
    check_tolerance,
)
from sparsewise._util.progress import Waiting, waiting
from sparsewise._util.text import count
from sparsewise.criteria.base import Sample
from sparsewise.criteria.ric import RIC, by_charge
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.bayes.evidence import Evidence
from sparsewise.engine.bayes.noise import (
    BEYOND,
    NoisePrior,
    check_floor,
    check_prior,
    relative_noise,
)
from sparsewise.engine.log import Callback
from sparsewise.engine.search.forward_screening import forward_screening
from sparsewise.engine.search.multistart import PLAIN, Found, Multistart, condense_problem
from sparsewise.errors import InputError
from sparsewise.problem.problem import problem
from sparsewise.problem.targets import Targets
from sparsewise.results import InferredNoise, Stop
from sparsewise.subsets.exchanges import changes_of_one
from sparsewise.subsets.fit import Fit

Climb = Callable[[Evidence], Any]

STARTS, IF_LARGE = 8, 2
"""Most starts of the search that the noise is inferred from: two do where they agree. On a large
design one costs as much as many passes over it."""

ROUNDS = 8
"""Most times that a way from the empty model leads to a better σ, from which it begins again."""

TURNS = 200
"""Most re-estimations of γ and σ² in turn: a few are usual, many where columns nearly agree."""


def begin(
    A: Any,
    y: ArrayLike | Targets,
    climb: Climb,
    *,
    sigma: float | None,
    price: float,
    min_increase: float,
    noise_prior: NoisePrior | None,
    noise_floor: float = 0.0,
    way: Climb | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> Evidence:
    """What every algorithm of Sparse Bayesian Learning begins with: a model on checked data.

    It is the empty one, unless σ is to be inferred and no way leads from there to a model as good
    as one that was met: then it is that. `climb` raises the evidence of a model as far as it goes,
    and so does `way`, the algorithm itself, from the empty one.
    """
    data = problem(A, y, multi_target=True, include=include, exclude=exclude)
    price = check_tolerance(price, "price") or 0.0
    if price > BEYOND:
        raise InputError(
            f"must be finite, and below {BEYOND:.0e}",
            "no model of so high a price has any feature.",
            parameter="price",
        )
    # The evidence is the sum over targets: so are the rises that are not worth a step.
    min_increase = check_positive(min_increase, "min_increase") * data.targets
    prior = check_prior(noise_prior, data)
    floor = check_floor(noise_floor)
    check_function(callback, "callback")
    empty = partial(Evidence, data, min_increase=min_increase)
    if sigma is not None:
        return empty(relative_noise(sigma, data), price=price, callback=callback)
    if data.is_zero:
        evidence = empty(1.0, price=price, callback=callback)
        evidence.noise = 0.0
        return evidence
    # A feature is one of m: its share of the prior makes that much of a difference. What targets
    # have in common, the evidence counts for each of them.
    counted = data.targets / data.independent_targets
    cautious = max(price, counted * math.log(max(data.shape[1], 2)))
    way = way or climb
    with waiting("inferring the noise", unasked=True) as wait:
        inference = NoiseInference(empty, climb, prior, floor, wait)
        inference.log.run(lambda: inference.run(price, cautious, way))
        return inference.beginning(price, way, callback)


class Met(NamedTuple):
    """A model met on the way: σ², its columns but for those of flat priors, and their γ."""

    noise: float
    columns: Array
    gamma: Array
    value: float

    def worth(self, price: float) -> float:
        """The log evidence, and prior of σ², less the price of its features."""
        return self.value - price * self.columns.size


class NoiseInference:
    """A maximum of the evidence in γ and σ² together, each feature paying its price.

    The price is log m unless the caller's is lower, and the search begins where `Multistart`,
    whose charge of 2 log m is that price, ends; why is at the top of this module.

    Parameters
    ----------
    empty : callable
        The model without features at some σ².
    climb : callable
        Raises the evidence of a model at its σ² as far as it goes.
    prior : (shape, scale)
        Of σ², for a target of norm one.
    floor : float
        Least σ, as a part of that of the empty model.
    wait : Waiting
        Told what was found so far.

    Attributes
    ----------
    best : Met
        The best model so far.
    """

    def __init__(
        self,
        empty: Callable[..., Evidence],
        climb: Climb,
        prior: NoisePrior,
        floor: float,
        wait: Waiting,
    ) -> None:
        self._empty, self._climb, self._wait = empty, climb, wait
        nothing = empty(1.0)
        self.log, self._data = nothing.log, nothing.problem
        self._loud = floor * floor * nothing.rss
        # Below this σ², rounding is all that is left of the noise.
        quiet = self._data.tolerances.quiet**2
        self._rule = InferredNoise(max(quiet, self._loud) / nothing.rows, *prior)
        self._from_empty = True
        nothing.noise = nothing.best_noise(self._rule)
        self.best = self._met(nothing)

    def run(self, price: float, cautious: float, way: Climb) -> Stop:
        """Infer σ² at the cautious price, then see where the algorithm leads at the caller's."""
        self._ascend(self._found(cautious), cautious, self._climb)
        if price < cautious or way is not self._climb:
            self._rule = self._rule._replace(may_fall=price >= cautious)
            self._ascend(self.best, price, way)
        return Stop.EVIDENCE

    def beginning(self, price: float, way: Climb, callback: Callback | None) -> Evidence:
        """Where the algorithm is to begin: at the best σ², from nothing if that leads there.

        If it doesn't, the columns of the best model come first, then all others; where not even
        that leads there, or no time is left, it begins with that model as it is.
        """
        best = self.best
        evidence = self._empty(best.noise, price=price, callback=callback)
        if self.log.halted:
            evidence.restore(best.columns, best.gamma)
        elif not self._from_empty:
            guided = self._guided(price, way)
            if not self._is_as_good(guided):
                evidence.log.run(lambda: evidence.retrace(best.columns, best.gamma))
            elif callback is None:
                evidence = guided
            else:
                evidence = self._guided(price, way, callback)
        evidence.inferred = self._rule
        return evidence

    def _guided(self, price: float, way: Climb, callback: Callback | None = None) -> Evidence:
        """The model that the columns of the best one, and then all, lead to."""
        evidence = self._empty(self.best.noise, price=price, callback=callback)

        def climb() -> Stop:
            evidence.first_among(self.best.columns, self._climb)
            way(evidence)
            return Stop.EVIDENCE

        evidence.log.run(climb)
        return evidence

    # ------------------------------------------------------------------ the search

    def _found(self, price: float) -> Met:
        """The model of least risk inflation, with the σ² it leaves and γ = |x|²."""
        data = self._data
        include = data.constraints.include
        sample = Sample.of(data, exact=max(data.tolerances.exact, self._loud))
        goal = RIC(sample, max(by_charge("ric", sample).charge, 2 * price / data.targets))
        search = Multistart(condense_problem(data), goal)
        large = not plan.updates_jointly(data.shape)
        found = straight_ahead(search) if large else None
        if found is None:
            search.run(IF_LARGE if large else STARTS, 0)
            found = search.best
        active = ActiveSet(data.constrained(include=include, start=found.support))
        columns = [j for j in found.support if j not in include]
        coef = active.coef
        gamma = np.array([np.vdot(coef[j], coef[j]).real for j in columns])
        noise = max(sample.noise_variance(found.rss, found.size), self._rule.least)
        gamma = gamma.astype(data.inverse_norms.dtype)
        return Met(noise, np.array(columns, np.int64), gamma, -math.inf)

    def _ascend(self, start: Met, price: float, way: Climb) -> None:
        """From this model, and from the empty one at the best σ² again and again."""
        evidence = self._empty(start.noise, price=price)
        evidence.restore(start.columns, start.gamma)
        self._settle(evidence)
        for _ in range(ROUNDS):
            evidence = self._empty(self.best.noise, price=price)
            way(evidence)
            self._from_empty = self._is_as_good(evidence)
            if evidence.rise_by_noise(self._rule) <= self._behind(evidence) + evidence.slack:
                return
            self._settle(evidence)

    def _settle(self, evidence: Evidence) -> None:
        """Climb, then γ of the columns and σ² in turn, until neither leads any further."""
        worth = -math.inf
        for _ in range(TURNS):
            before, slack = worth, evidence.slack
            self._climb(evidence)
            self._in_turn(evidence)
            met = self._met(evidence)
            worth = met.worth(evidence.price)
            if worth > self.best.worth(evidence.price):
                self.best = met
            self._wait.update(text=self._so_far)
            if worth - before <= slack:
                return

    def _so_far(self) -> str:
        sigma = math.sqrt(self.best.noise) * self._data.scale
        return f"inferring the noise: σ = {sigma:.3g}, {count(self.best.columns.size, 'feature')}"

    def _in_turn(self, evidence: Evidence) -> None:
        """γ and σ²: no column comes in meanwhile, so that no pass over A is needed."""
        for _ in range(TURNS):
            if evidence.rise_by_noise(self._rule) <= 0.1 * evidence.min_increase:
                return
            evidence.noise = evidence.best_noise(self._rule)
            evidence.revise(20 + 20 * evidence.size)

    def _is_as_good(self, evidence: Evidence) -> bool:
        """Whether a model is worth as much as the best one, its σ² being the best for it, too."""
        slack = evidence.slack
        return self._behind(evidence) <= slack and evidence.rise_by_noise(self._rule) <= slack

    def _behind(self, evidence: Evidence) -> float:
        """By how much it is worth less than the best one."""
        price = evidence.price
        return self.best.worth(price) - self._met(evidence).worth(price)

    def _met(self, evidence: Evidence) -> Met:
        value = evidence.log_evidence + self._rule.log_prior(evidence.noise)
        return Met(evidence.noise, *evidence.held(), value)


def straight_ahead(search: Multistart) -> Found | None:
    """The best model on the way forward, if it is plain; else it takes more than passes to find.

    That is, if it is no accident, and no other column more, less or instead makes it better. Hard
    problems, where forward steps go wrong, leave columns that others better.
    """
    criterion = search.criterion
    way = forward_screening(
        search.model(search.include), criterion, search.stopping(most=search.most)
    )
    support = sorted(way.order[: way.best])
    fit = Fit(search.problem, np.array(support, np.int64))
    rss = fit.norm**2
    found = Found(float(criterion.cost(rss, way.best)), tuple(support), rss)
    if search.chance_of(found) > PLAIN:
        return None
    changes = changes_of_one(fit)
    if any(criterion.cost(one.loss, len(one.columns)) < found.cost for one in changes):
        return None
    return found
