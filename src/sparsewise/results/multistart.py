"""What a search from several starts returns: a model, what each start came to, and the odds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import count
from sparsewise.criteria.base import Sample
from sparsewise.criteria.chance import chance
from sparsewise.criteria.ric import RIC
from sparsewise.design.base import scaled_norms, square_sums
from sparsewise.problem.problem import Problem, problem_of
from sparsewise.results.check import MultistartCheck
from sparsewise.results.solution import UncertainSolution
from sparsewise.results.stop import Stop
from sparsewise.subsets.exchanges import changes_of_one
from sparsewise.subsets.fit import Fit

CLOSE = 1e-6
"""Figures that differ by less, relatively, are the same to anybody who reads them."""

Figure = Callable[[float, float], float]
"""Of loss and degrees of freedom."""


class Start(NamedTuple):
    """What a start came to: the columns of its model, and its score (the lower the better)."""

    support: tuple[int, ...]
    score: float


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class MultistartSolution(UncertainSolution):
    """The best model that several starts came to; ``coef`` is least squares on its columns.

    ``sigma`` is given, or ‖r‖/√(n - k); ``covariance`` takes the columns as given: σ²(A_S*A_S)⁻¹.
    Several targets have a noise of their own each, ``sigmas``, unless it is given.

    Attributes
    ----------
    score : float
        What was minimised, for a target of norm one: RIC unless told otherwise.
    chance : float
        log₁₀ of a bound on the probability that as many columns fit a target of random direction
        as well: near 0 for a fit that means nothing.
    starts : tuple of Start
        What each start came to.
    goal : RIC
        The criterion: how a model's score comes from its loss and degrees of freedom.
    """

    score: float
    chance: float
    starts: tuple[Start, ...]
    goal: RIC

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
        if not self.support.size:
            return "no column was chosen"
        if self.chance > -1:
            return "as many columns may well fit as closely by chance"
        return f"as many columns fit as closely by chance at odds below 10^{self.chance:.3g}"

    def check(self, A: Any, y: Any) -> MultistartCheck:
        """Recompute residual, noise, score and chance, and that no single change helps."""
        data = problem_of(A, y, self.coef, self.ridge)
        data = data.constrained(include=self.include, exclude=self.exclude)
        plain, again = self._check_fit(data), _Recomputed(data, self)
        sigma, covariance = again.sigma_error(), again.covariance_error()
        score, odds = again.score_error(), again.chance_error()
        fall = again.possible_fall()
        settled = self.stop not in (Stop.CALLBACK, Stop.INTERRUPTED)
        support_ok = plain.support_ok and not again.fit.dependent
        exact = all(figure.holds for figure in (sigma, covariance, score, odds))
        return plain.extended(
            MultistartCheck,
            ok=plain.ok and support_ok and exact and (fall.holds or not settled),
            support_ok=support_ok,
            sigma_error=sigma.error,
            covariance_error=covariance.error,
            score_error=score.error,
            chance_error=odds.error,
            possible_fall=fall.error,
        )


class _Off(NamedTuple):
    """By how much something that was told is off, and what rounding excuses."""

    error: float
    slack: float

    @property
    def holds(self) -> bool:
        return self.error <= self.slack  # NaN is not


class _Recomputed:
    """What there is to tell of a support, by one QR of its columns.

    With a ridge that of the augmented problem: its first n rows are those of the data, so that
    r and the trace of the hat matrix are told by these.
    """

    def __init__(self, problem: Problem, told: MultistartSolution) -> None:
        data = problem.augmented
        self.data, self.told = data, told
        self.fit = Fit(data, told.support)
        rows = slice(problem.shape[0])
        self.r, self.df, self.share = self.fit.r, float(self.fit.size), 1.0
        if problem.ridge and self.fit.norm > 0:
            self.r, self.df = self.fit.r[:, rows], float(square_sums(self.fit.Q[rows]).sum())
            self.share = float(np.linalg.norm(self.r)) / self.fit.norm
        noise, exact = told.goal.sample.noise, self.fit.tolerance.exact
        self.sample = Sample.of(data, noise=noise, exact=exact)
        self.goal = replace(told.goal, sample=self.sample)
        self.chance = partial(chance, self.sample)
        nothing = data.is_zero and noise is None
        self.sigma = 0.0 if nothing else self._of_norm(self._sigma) * data.scale

    def sigma_error(self) -> _Off:
        """That of the noise, relative to it; the largest, if targets have one each."""
        unit = self.sigma or 1.0
        slack = self._slack(self._sigma) * self.data.scale / unit
        off = _difference(self.told.sigma, self.sigma) / unit
        if self.told.sigmas is not None:
            each = each_sigma(self.data, self.sample, self.r, self.df)
            # What rounding leaves open of a residual of all is more in one of a few.
            slack *= len(each)
            unlike = np.abs(self.told.sigmas - each) / np.where(each > 0, each, 1.0)
            off = max(off, float(unlike.max(initial=0.0)))
        return _Off(off, CLOSE + slack)

    def score_error(self) -> _Off:
        """That of the score."""
        off = _difference(self.told.score, self._of_norm(self.goal.cost))
        return _Off(off, self._allowed(self.goal.cost))

    def chance_error(self) -> _Off:
        """That of log₁₀ of the odds."""
        if self.data.is_zero:
            return _Off(abs(self.told.chance), 0.0)
        off = _difference(self.told.chance, self._of_norm(self.chance))
        return _Off(off, self._allowed(self.chance))

    def covariance_error(self) -> _Off:
        """The largest of its entries, relative to the standard deviations they belong to."""
        k, told = self.fit.size, self.told.covariance
        if told.shape != (k, k) or self.fit.dependent:
            return _Off(math.inf, 0.0)
        if not k or not self.sigma:
            return _Off(float(np.abs(told).max(initial=0.0)), 0.0)
        unit = self.data.design.norms()[self.fit.columns] / self.sigma
        U = self.fit.U
        std = np.sqrt(square_sums(U.conj().T))
        off = np.abs((unit[:, None] * told) * unit - U @ U.conj().T) / np.outer(std, std)
        slack = max(CLOSE, self.fit.tolerance.eps**0.5) + 2 * self.sigma_error().slack
        digits = 64 * self.fit.tolerance.eps * (1 + float(std.sum()))
        return _Off(float(off.max()), slack + digits)

    def possible_fall(self) -> _Off:
        """By how much adding, dropping or exchanging a single column surely lowers the score."""
        score = self._of_norm(self.goal.cost)
        falls = [0.0]
        for change in changes_of_one(self.fit):
            norm = math.sqrt(max(change.loss, 0.0)) + self.fit.rounding
            lower = self.goal.cost(norm**2, len(change.columns))
            falls += [score - lower] if lower < score else []
        return _Off(max(falls), self._allowed(self.goal.cost))

    def _allowed(self, figure: Figure) -> float:
        """By how much a figure may be off: digits that nobody reads, and the rounding of ‖r‖."""
        return CLOSE * (1 + abs(self._of_norm(figure))) + self._slack(figure)

    def _sigma(self, loss: float, df: float) -> float:
        return math.sqrt(self.sample.noise_variance(loss * self.share**2, self.df))

    def _of_norm(self, figure: Figure, off: float = 0.0) -> float:
        """A figure of loss and df, were ‖r‖ off by so much."""
        return float(figure(max(self.fit.norm + off, 0.0) ** 2, self.fit.size))

    def _slack(self, figure: Figure) -> float:
        """By how much rounding errors of ‖r‖ may change a figure."""
        low, high = (self._of_norm(figure, sign * self.fit.rounding) for sign in (-1, 1))
        return _difference(low, high)


def each_sigma(data: Problem, sample: Sample, R: Array, df: float) -> Array:
    """σ of each target: known, or what a model of these df leaves, the rows of R.

    Each is compared with its own norm: what is rounding of all targets may be much of a small one.
    """
    if sample.noise is not None or data.is_zero:
        return math.sqrt(sample.noise or 0.0) * data.noise_scales
    assert data.scales is not None
    norms = scaled_norms(data.Y.T)
    parts = scaled_norms(R.T) / np.where(norms > 0, norms, 1.0)
    each = [math.sqrt(sample.noise_variance(float(part * part), df)) for part in parts]
    return np.asarray(each * norms * data.scales[:, 0])


def _difference(one: float, other: float) -> float:
    return 0.0 if one == other else abs(one - other)  # both may be infinite
