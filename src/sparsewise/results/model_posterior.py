"""The posterior over models: how probable columns are, and which of them stand for each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise._util.parameters import check_whole, shown
from sparsewise._util.text import count
from sparsewise.criteria.base import Sample
from sparsewise.criteria.model_prior import ModelPrior, log_posterior
from sparsewise.errors import InputError
from sparsewise.problem.problem import Problem, problem_of
from sparsewise.problem.targets import Targets

if TYPE_CHECKING:
    from scipy.sparse import csc_array

FLOOR = 1e-3
"""Columns less probable than this are in no credible set."""

LEAD = 0.02
"""The most probable column of a credible set is at least this probable."""

LARGEST = 50
"""Most columns of a credible set: a larger one says too little."""

SLACK = 1e3
"""Log odds may be off by so many times √eps: rows times a logarithm loses some digits."""

CHECKED = 20
"""Models whose posterior is stated, and recomputed by `ModelPosterior.check`."""


class PosteriorModel(NamedTuple):
    """A model and its posterior probability.

    Attributes
    ----------
    support : ndarray of int
        Its columns, ascending.
    probability : float
        Its share of the posterior.
    """

    support: Array
    probability: float


class CredibleSet(NamedTuple):
    """Columns that stand for each other: with this probability at least one is in the model.

    Attributes
    ----------
    columns : tuple of int
        Ascending.
    probability : float
        That some of them is in the model.
    purity : float
        The smallest absolute correlation between two of them.
    """

    columns: tuple[int, ...]
    probability: float
    purity: float


class PosteriorCheck(NamedTuple):
    """The result of `ModelPosterior.check`.

    Attributes
    ----------
    ok : bool
        Whether the log posterior of each model is as stated, to the precision of the data.
    log_posterior_error : float
        The largest difference between two stated log odds and those recomputed from the data.
    odds_error : float
        How far the probabilities of the most probable models are at most from these odds: what
        sampling has left to chance.
    """

    ok: bool
    log_posterior_error: float
    odds_error: float


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ModelPosterior:
    """The posterior over all subsets of columns.

    Attributes
    ----------
    inclusion : ndarray of shape (m,)
        The posterior probability that each column is in the model.
    inclusion_error : ndarray of shape (m,)
        Standard errors of these, from the differences between chains; where models were added up,
        bounds that are proved.
    coef : ndarray of shape (m,), or (m, q)
        The posterior mean of each coefficient, 0 counted in where its column is out: predictions
        ``A @ coef`` average over all models.
    coef_std : ndarray of the same shape
        Posterior standard deviations of the coefficients.
    sigma : float
        Standard deviation of the noise: given, or the root of its posterior mean square.
    sigma_given : float or None
        σ if it was given.
    sizes : ndarray
        The posterior probability of models of 0, 1, 2, … columns.
    supports : tuple of tuple of int
        The models met, the most probable first.
    weights : ndarray
        Their shares of the posterior, as far as they were met.
    log_posteriors : ndarray
        Log posterior of the first few of them, but for a constant; d² is integrated out.
    proved : float
        The share of the posterior that is known to have been seen; 0 where models were sampled.
    n_samples : int
        How many models were sampled or added up, repetitions counted.
    chain_inclusion : ndarray of shape (chains, m)
        Inclusion probabilities by each chain; one row where models were added up.
    prior : ModelPrior
        What was believed before.
    include, exclude : tuple of int
        Columns that are in every model, and in none.
    candidates, correlations : ndarray
        The columns that are not improbable, and the inner products of these, scaled to unit norm.
    """

    inclusion: Array
    inclusion_error: Array
    coef: Array
    coef_std: Array
    sigma: float
    sigma_given: float | None
    sizes: Array
    supports: tuple[tuple[int, ...], ...]
    weights: Array
    log_posteriors: Array
    proved: float
    n_samples: int
    chain_inclusion: Array
    prior: ModelPrior
    include: tuple[int, ...]
    exclude: tuple[int, ...]
    candidates: Array
    correlations: Array

    @property
    def support(self) -> Array:
        """The columns more probable than not, ascending: the median probability model."""
        return np.flatnonzero(self.inclusion > 0.5)

    @property
    def agreement(self) -> float:
        """1 less the largest difference between two chains in the probability of a column."""
        return 1.0 - float(np.ptp(self.chain_inclusion, axis=0).max(initial=0.0))

    @property
    def models(self) -> list[PosteriorModel]:
        """The most probable models, at most a hundred."""
        pairs = zip(self.supports[:100], self.weights, strict=False)
        return [PosteriorModel(np.array(S, np.int64), float(p)) for S, p in pairs]

    def credible_sets(
        self, level: float = 0.95, purity: float = 0.5, size_prior: float | None = None
    ) -> list[CredibleSet]:
        """Disjoint sets of columns: with probability `level` at least one of a set is in the model.

        Each begins with the most probable column that is left, and takes in the one that is most
        often in models without any of the set, as long as all are correlated by `purity` at least.
        A set of one column names it; a larger one says that the data can't tell which it is.

        Parameters
        ----------
        level : float
            The probability that a set has to reach.
        purity : float
            The smallest absolute correlation within a set.
        size_prior : float, optional
            β of the beta-binomial prior BB(1, β) that models are weighed by; m by default, under
            which sets are known to hold what they promise.
        """
        for name, value in (("level", level), ("purity", purity)):
            if not 0 <= value <= 1:
                raise InputError(f"must be between 0 and 1, not {shown(value)}.", parameter=name)
        beta = float(self.prior.columns if size_prior is None else size_prior)
        weights = self._weights_by(self.prior._replace(size=(1.0, beta)))
        table = self._membership
        probabilities = weights @ table
        free = probabilities > FLOOR
        sets = []
        for lead in np.argsort(-probabilities, kind="stable"):
            if free[lead] and probabilities[lead] >= LEAD:
                members = self._grown(int(lead), free, table, weights, level, purity)
                if members:
                    free[members] = False
                    sets.append(self._set(members, table, weights))
        return sets

    def sample(self, count: int, seed: int = 0) -> Array:
        """So many models drawn from the posterior, a row each: True where a column is in."""
        number = check_whole(count, "count", 1)
        rng = np.random.default_rng(check_whole(seed, "seed", 0))
        drawn = np.zeros((number, self.inclusion.size), bool)
        for row, i in enumerate(rng.choice(self.weights.size, number, p=self._shares)):
            drawn[row, list(self.supports[i])] = True
        return drawn

    def check(self, A: Any, y: ArrayLike | Targets) -> PosteriorCheck:
        """Recompute the posterior of the most probable models from the data alone.

        By the singular values of their columns, at every d² of its prior.
        """
        data = problem_of(A, y, self.coef)
        noise = None if self.sigma_given is None else (self.sigma_given / data.scale) ** 2
        sample = Sample.of(data, noise=noise)
        recomputed = np.array([self._recomputed(S, data, sample) for S in self.supports[:CHECKED]])
        error = np.abs(
            np.subtract.outer(recomputed, recomputed)
            - np.subtract.outer(self.log_posteriors, self.log_posteriors)
        )
        largest = float(error.max(initial=0.0))
        odds = recomputed - recomputed.max()
        expected = np.exp(odds) / np.exp(odds).sum()
        found = self.weights[: odds.size] / self.weights[: odds.size].sum()
        off = float(np.abs(found - expected).max(initial=0.0))
        return PosteriorCheck(largest <= SLACK * data.tolerances.eps**0.5, largest, off)

    def _recomputed(self, support: tuple[int, ...], data: Problem, sample: Sample) -> float:
        """The log posterior of a model, by the singular values of its unit columns."""
        columns = data.unit_columns(np.array(support, np.int64))
        left, values, _ = np.linalg.svd(columns, full_matrices=False)
        shares = np.square(np.abs(data.Y @ left.conj())).sum(axis=0)
        prior = float(self.prior.log_models(len(support) - len(self.include)))
        return prior + log_posterior(np.square(values), shares, sample)

    # ------------------------------------------------------------------ credible sets

    @cached_property
    def _shares(self) -> Array:
        return np.asarray(self.weights / self.weights.sum())

    @cached_property
    def _membership(self) -> csc_array:
        """Which of the candidates are in each model met, a row each."""
        from scipy.sparse import csr_array

        ends = np.cumsum([0, *map(len, self.supports)])
        columns = np.fromiter(chain(*self.supports), np.int64, int(ends[-1]))
        shape = len(self.supports), self.inclusion.size
        return csr_array((np.ones(columns.size), columns, ends), shape=shape).tocsc()[
            :, self.candidates
        ]

    def _weights_by(self, prior: ModelPrior) -> Array:
        """Shares of the models met under another prior of size."""
        sizes = np.array([len(S) for S in self.supports]) - len(self.include)
        change = prior.log_models(sizes) - self.prior.log_models(sizes)
        weights = self._shares * np.exp(change - change.max())
        return np.asarray(weights / weights.sum())

    def _grown(
        self, lead: int, free: Array, table: csc_array, weights: Array, level: float, purity: float
    ) -> list[int]:
        """The set that begins with this candidate, if it reaches the level; else none."""
        related = np.abs(self.correlations) >= purity
        members, without = [lead], _without(table, lead, weights)
        suitable = free & related[lead]
        suitable[lead] = False
        while without.sum() > 1 - level:
            gains = np.where(suitable, without @ table, 0.0)
            best = int(np.argmax(gains))
            if gains[best] <= 0 or len(members) == LARGEST:
                return []
            members.append(best)
            without = _without(table, best, without)
            suitable &= related[best]
            suitable[best] = False
        for one in sorted(members, key=lambda i: _probability(table, [i], weights)):
            rest = [i for i in members if i != one]
            if rest and _probability(table, rest, weights) >= level:
                members = rest
        return members

    def _set(self, members: list[int], table: csc_array, weights: Array) -> CredibleSet:
        correlations = np.abs(self.correlations[np.ix_(members, members)])
        return CredibleSet(
            tuple(sorted(self.candidates[members].tolist())),
            _probability(table, members, weights),
            float(correlations.min(initial=1.0)),
        )

    def __repr__(self) -> str:
        likely = np.argsort(-self.inclusion, kind="stable")
        likely = likely[self.inclusion[likely] >= 0.1][:8]
        shown_columns = ", ".join(f"{j}: {self.inclusion[j]:.3f}" for j in likely) or "none"
        sets = [s for s in self.credible_sets() if len(s.columns) > 1]
        words = "; ".join(f"one of {set(s.columns)}, {s.probability:.2f}" for s in sets[:4])
        chains = count(len(self.chain_inclusion), "chain")
        how = f"{chains}, which agree to {1 - self.agreement:.3f}"
        if self.proved:
            how = f"{self.proved:.4%} of the posterior was seen"
        size = float(self.sizes @ np.arange(self.sizes.size))
        return (
            f"Posterior over models of {self.inclusion.size} columns: {size:.1f} columns expected\n"
            f"  inclusion  {shown_columns}\n"
            + (f"  sets       {words}\n" if words else "")
            + f"  noise      σ = {self.sigma:.4g}\n"
            f"  computed   {how}, {count(self.n_samples, 'model')}"
        )


def _without(table: csc_array, column: int, weights: Array) -> Array:
    """The weights of models that don't have this column."""
    rest = weights.copy()
    rest[table.indices[table.indptr[column] : table.indptr[column + 1]]] = 0.0
    return rest


def _probability(table: csc_array, columns: list[int], weights: Array) -> float:
    """That some of these columns is in the model."""
    rest = weights
    for column in columns:
        rest = _without(table, column, rest)
    return float(weights.sum() - rest.sum())
