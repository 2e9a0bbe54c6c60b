"""The posterior over all subsets of columns: inner products, chains of a sampler, and their sums.

Prior and posterior are those of `criteria/model_prior.py`: columns of a model are damped, as in
Sparse Bayesian Learning with one d² for all. Copies of a column are never in a model together. The
kernels work on inner products, of which a row is made when its column is first to come in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise.criteria.base import Sample
from sparsewise.criteria.model_prior import ModelPrior, damping_grid, log_posterior
from sparsewise.kernels import load_model_posterior
from sparsewise.problem.problem import Problem
from sparsewise.results.model_posterior import CHECKED, FLOOR, ModelPosterior

TEMPERING = 1.0
"""κ: how often, on average, chains try columns that have little to say for themselves."""

CHAINS = 4
"""How many chains are compared."""

BURN_IN = 500
"""Flips at the beginning of each chain that don't count."""

FIRST = 1000
"""Flips of each chain before they are first compared; each further stretch doubles them."""

EVERY = 10
"""Flips between two steps of d²."""

UNSEEN = 1e-3
"""The share of the posterior that may be left out where models are added up."""

GROWTH = 2
"""A threshold of a tenth brings more than this many times the models seen so far."""

LIKELY = 0.01
"""Columns more probable than this are likely to come in soon."""

COPY = 64.0
"""Columns are copies if their inner product is within this many units of rounding of 1."""


class GramRows:
    """Rows of the Gram matrix of unit columns, made when they are needed.

    Parameters
    ----------
    problem : Problem
        Whose columns they are of.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        m = problem.shape[1]
        self.is_whole = plan.makes_whole_gram(m)
        slots = m if self.is_whole else plan.gram_slots(m)
        dtype = np.complex128 if problem.is_complex else np.float64
        self.rows = np.empty((slots, m), dtype)
        self.slot = np.full(m, -1)
        self.twin = np.arange(m)
        self._used = 0
        if self.is_whole:
            self.fetch(np.arange(m))

    def fetch(self, columns: Array, keep: Sequence[int] = ()) -> None:
        """Make the rows of these columns; where there is no room, only those of `keep` stay."""
        if self._used + columns.size > len(self.rows):
            kept = self.rows[self.slot[list(keep)]]
            needed = len(kept) + columns.size
            if needed > len(self.rows):  # what is in use has to stay, whatever it takes
                self.rows = np.empty((needed, self.rows.shape[1]), self.rows.dtype)
            self.slot[:] = -1
            self.slot[list(keep)] = np.arange(len(kept))
            self.rows[: len(kept)] = kept
            self._used = len(kept)
        for part in np.array_split(columns, -(-columns.size // plan.GRAM_COLUMNS)):
            self._make(part)

    def _make(self, columns: Array) -> None:
        problem = self.problem
        unit = problem.unit_columns(columns)
        made = problem.rmatmat(unit) * problem.inverse_norms[:, None]
        places = self._used + np.arange(columns.size)
        self.rows[places] = made.conj().T
        self.slot[columns], self._used = places, self._used + columns.size
        eps = problem.tolerances.eps
        for j, place in zip(columns, places, strict=True):
            same = np.abs(self.rows[place]) > 1 - COPY * eps
            self.twin[same] = self.twin[same].min(initial=j)


class Sampler:
    """Chains over the models of a problem, compared with each other.

    Parameters
    ----------
    problem : Problem
        Design, target and constraints.
    sample : Sample
        Rows, noise and targets.
    prior : ModelPrior
        What is believed of models before the data.
    starts : list of list of int
        The columns that chains begin with, in turns.
    seed : int
        The same seed, the same chains.
    check_interrupt : callable
        Called between stretches.

    Attributes
    ----------
    chains : list
        The chains, each with its sums.
    samples : int
        How many models these are sums over.
    """

    def __init__(
        self,
        problem: Problem,
        sample: Sample,
        prior: ModelPrior,
        starts: Sequence[Sequence[int]],
        *,
        seed: int = 0,
        check_interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self.kernels = load_model_posterior()
        self.problem, self.sample, self.check_interrupt = problem, sample, check_interrupt
        self.include = sorted(problem.constraints.include)
        m = problem.shape[1]
        free = sample.features - len(self.include)
        most = min(free, plan.MOST_SAMPLED)
        self.gram = GramRows(problem)
        self.most = most + len(self.include)
        grid, log_grid = damping_grid(sample.rows)
        log_prior = prior.log_models(np.arange(most + 1))
        b = problem.correlate_rows(problem.Y).astype(self.gram.rows.dtype)
        self.data = self.kernels.Data(
            self.gram.rows, self.gram.slot, b, self.gram.twin, log_prior, grid, log_grid,
            sample.parts * sample.targets / 2, float(sample.rows),
            float(sample.noise or 0.0), TEMPERING,
        )  # fmt: skip
        self.barred = np.zeros(m, bool)
        self.barred[list(problem.constraints.exclude)] = True
        self.barred |= problem.inverse_norms == 0
        self.samples = 0
        self.chains = [
            self._begun(starts[c % len(starts)], np.random.default_rng([seed, c]))
            for c in range(CHAINS)
        ]

    def _begun(self, start: Sequence[int], rng: np.random.Generator) -> Any:
        """A chain at its first model."""
        kernels, q, m, room = self.kernels, len(self.data.b), self.problem.shape[1], self.most + 2
        dtype = self.data.b.dtype

        def chain() -> Any:
            return kernels.Chain(
                np.zeros((room, room), dtype), np.zeros((q, room), dtype), np.empty((q, m), dtype),
                np.empty(m), np.empty(room, np.int64), np.full(m, -1), np.zeros(m, np.int64),
                np.zeros(m, np.int64), np.empty(m), np.empty(m), np.empty((q, m), dtype),
                np.empty(m), np.empty(m, dtype), np.empty(room, dtype), np.zeros(3),
                np.zeros(6, np.int64),
            )  # fmt: skip

        one, kept = chain(), chain()
        one.state[self.barred] = kernels.BARRED
        one.state[self.include] = kernels.LOCKED
        one.count[kernels.WANTED] = -1
        one.count[kernels.AT] = int(np.argmin(np.abs(np.log(self.data.damping * self.sample.rows))))
        first = [*self.include]
        for j in start:
            if j not in first and not self.barred[j] and len(first) < self.most:
                first.append(int(j))
        wanted = np.array([j for j in first if self.gram.slot[j] < 0], np.int64)
        if wanted.size:
            self._fetch(wanted, [j for j in first if self.gram.slot[j] >= 0])
        lowest = {int(self.gram.twin[j]): j for j in reversed(first)}  # of copies the first
        columns = np.array([j for j in first if j in lowest.values()], np.int64)
        kernels.begin(self.data, one, columns)
        return _Chain(one, kept, rng, self._sums(0))

    def _sums(self, records: int) -> Any:
        q, m = self.data.b.shape
        return self.kernels.Sums(
            np.zeros(2), np.zeros(m), np.zeros((q, m), self.data.b.dtype), np.zeros((q, m)),
            np.zeros(self.most + 3), np.zeros(self.data.damping.size), np.zeros(1),
            np.empty(records * plan.RECORDED_SIZE, np.int32), np.empty(records, np.int64),
            np.empty(records), np.empty(records),
        )  # fmt: skip

    def run(self, flips: int, *, counts: bool = True) -> None:
        """So many more flips of each chain; only those that count add to the sums."""
        self.samples += counts * flips * len(self.chains)
        for i, chain in enumerate(self.chains):
            if counts:
                self.chains[i] = chain = chain._replace(sums=self._longer(chain, flips))
            uniforms = chain.rng.random((flips, 3))
            at = 0
            while at < flips:
                self.check_interrupt()
                stop = min(at + plan.sampled_at_once(self.problem.shape[1]), flips)
                at = self.kernels.sample(
                    self.data, chain.state, chain.kept, chain.sums, len(self.include),
                    uniforms[:stop], at, EVERY, counts,
                )  # fmt: skip
                wanted = int(chain.state.count[self.kernels.WANTED])
                if wanted >= 0:
                    self._bring(wanted, chain)

    def _bring(self, wanted: int, chain: Any) -> None:
        """Make the row that a chain wants, with those that it is likely to want next."""
        state = chain.state
        missing = np.flatnonzero((self.gram.slot < 0) & (state.probability > LIKELY))
        likely = missing[np.argsort(-state.flip[missing], kind="stable")[: plan.GRAM_AHEAD]]
        columns = np.array([wanted, *likely[likely != wanted]], np.int64)
        size = self.kernels.SIZE
        keep = sorted({int(j) for c in self.chains for j in c.state.order[: c.state.count[size]]})
        self._fetch(columns, keep)

    def _fetch(self, columns: Array, keep: Sequence[int]) -> None:
        """Make these rows, where kernels find them."""
        self.gram.fetch(columns, keep)
        self.data = self.data._replace(rows=self.gram.rows)

    def _longer(self, chain: Any, flips: int) -> Any:
        """The same sums with room to record so many more models."""
        sums, size = chain.sums, plan.RECORDED_SIZE * flips
        return sums._replace(
            columns=np.concatenate([sums.columns, np.empty(size, np.int32)]),
            ends=np.concatenate([sums.ends, np.empty(flips, np.int64)]),
            weights=np.concatenate([sums.weights, np.empty(flips)]),
            log_posterior=np.concatenate([sums.log_posterior, np.empty(flips)]),
        )

    @property
    def inclusions(self) -> Array:
        """Inclusion probabilities by each chain, a row each."""
        return np.array([c.sums.inclusion / c.sums.weight[0] for c in self.chains])

    @property
    def error(self) -> float:
        """The largest standard error of an inclusion probability, by the spread between chains."""
        each = self.inclusions.std(axis=0, ddof=1) / np.sqrt(len(self.chains))
        return float(each.max(initial=0.0))


class _Chain(NamedTuple):
    """A chain, room for a copy of it, its random numbers and its sums."""

    state: Any
    kept: Any
    rng: np.random.Generator
    sums: Any

    def recorded(self, name: str) -> Array:
        """What was recorded of the models met: of each, or of each of their columns."""
        models, columns = self.state.count[4:6]  # RECORDED and WRITTEN
        return np.asarray(getattr(self.sums, name)[: columns if name == "columns" else models])


# --- from sums to a result ------------------------------------------------------------------------


class Figures(NamedTuple):
    """Sums over models, whoever made them, in units of unit columns and targets of norm one.

    Attributes
    ----------
    mass : float
        The sum of all weights.
    inclusion, mean, square, sizes : arrays
        Weighted sums, as in the kernels.
    noise : float
        The sum of σ².
    models : dict of tuple of int to float
        The weight of each model met.
    """

    mass: float
    inclusion: Array
    mean: Array
    square: Array
    sizes: Array
    noise: float
    models: dict[tuple[int, ...], float]


def models_of(columns: Array, ends: Array, weights: Array) -> dict[tuple[int, ...], float]:
    """The weight of each model in a record."""
    models: dict[tuple[int, ...], float] = {}
    first, entries = 0, columns.tolist()
    for end, weight in zip(ends.tolist(), weights.tolist(), strict=True):
        support = tuple(sorted(entries[first:end]))
        models[support] = models.get(support, 0.0) + weight
        first = end
    return models


def add_up(sampler: Sampler, most: int) -> tuple[Figures, float] | None:
    """The sum over all models, and the share of the posterior that it is proved to hold.

    Branches of little mass are bounded. What counts as little shrinks until all of them together
    are less than `UNSEEN`. None: that took more than `most` models.
    """
    kernels, data = sampler.kernels, sampler.data
    order = np.argsort(-sampler.inclusions.mean(axis=0), kind="stable")
    order = order[~sampler.barred[order]]
    places = sampler.gram.slot[order]
    G = np.ascontiguousarray(sampler.gram.rows[np.ix_(places, order)])
    place = np.empty(sampler.barred.size, np.int64)
    place[order] = np.arange(order.size)
    twin = place[sampler.gram.twin[order]]
    ordered = data._replace(b=np.ascontiguousarray(data.b[:, order]), twin=twin)
    reference = max(float(chain.recorded("log_posterior").max()) for chain in sampler.chains)
    q, m = ordered.b.shape
    seen, threshold = 0, 1e-4
    while GROWTH * seen < most:
        total = kernels.Total(
            np.zeros(2), np.zeros(m), np.zeros((q, m), data.b.dtype), np.zeros((q, m)),
            np.zeros(m + 2), np.zeros(data.damping.size), np.zeros(1),
            np.empty(most * plan.RECORDED_SIZE, np.int32), np.empty(most, np.int64),
            np.empty(most), np.zeros(3, np.int64),
        )  # fmt: skip
        sampler.check_interrupt()
        done = kernels.add_up(ordered, G, reference, threshold, most - seen, total)
        seen += int(total.count[2])
        mass, lost = total.mass
        if done and lost <= UNSEEN * (mass + lost):
            return _in_order(total, order, sampler.problem.shape[1]), float(mass / (mass + lost))
        threshold /= 10
    return None


def _in_order(total: Any, order: Array, m: int) -> Figures:
    """Sums over columns in the order of the search as those of all columns."""

    def spread(values: Array) -> Array:
        out = np.zeros((*values.shape[:-1], m), values.dtype)
        out[..., order] = values
        return out

    recorded, written, _ = total.count
    return Figures(
        float(total.mass[0]), spread(total.inclusion), spread(total.mean), spread(total.square),
        total.sizes, float(total.noise[0]),
        models_of(order[total.columns[:written]], total.ends[:recorded], total.weights[:recorded]),
    )  # fmt: skip


def sampled(sampler: Sampler) -> Figures:
    """The sums of all chains."""
    sums = [chain.sums for chain in sampler.chains]
    models: dict[tuple[int, ...], float] = {}
    for chain in sampler.chains:
        met = models_of(*(chain.recorded(name) for name in ("columns", "ends", "weights")))
        for support, weight in met.items():
            models[support] = models.get(support, 0.0) + weight
    inclusion, mean, square, sizes = (
        np.sum([getattr(one, name) for one in sums], axis=0)
        for name in ("inclusion", "mean", "square", "sizes")
    )
    mass, noise = (
        sum(float(getattr(one, name)[0]) for one in sums) for name in ("weight", "noise")
    )
    return Figures(mass, inclusion, mean, square, sizes, noise, models)


def model_posterior(
    sampler: Sampler, prior: ModelPrior, figures: Figures, proved: float, sigma: float | None
) -> ModelPosterior:
    """The result in the units of the data."""
    data = sampler.problem
    units, mass, every = data.units, figures.mass, np.arange(data.shape[1])
    inclusion = np.clip(figures.inclusion / mass, 0.0, 1.0)
    inclusions = sampler.inclusions
    error = inclusions.std(axis=0, ddof=1) / np.sqrt(len(inclusions))
    if proved:
        inclusions, error = inclusion[None], np.full(inclusion.shape, 1.0 - proved)
    mean = figures.mean / mass
    variance = np.maximum(figures.square / mass - np.square(np.abs(mean)), 0.0)
    ranked = sorted(figures.models.items(), key=lambda item: (-item[1], item[0]))
    supports = tuple(support for support, _ in ranked)
    shares = np.array([weight for _, weight in ranked]) / mass
    candidates = np.flatnonzero(inclusion > FLOOR)
    return ModelPosterior(
        inclusion=inclusion,
        inclusion_error=error,
        coef=units.coef(every, mean),
        coef_std=units.coef(every, np.sqrt(variance)).real,
        sigma=float(np.sqrt(figures.noise / mass)) * data.scale if sigma is None else sigma,
        sigma_given=sigma,
        sizes=figures.sizes / mass,
        supports=supports,
        weights=shares,
        log_posteriors=np.array([_log_posterior(sampler, prior, S) for S in supports[:CHECKED]]),
        proved=proved,
        n_samples=sampler.samples,
        chain_inclusion=inclusions,
        prior=prior,
        include=tuple(sampler.include),
        exclude=tuple(sorted(data.constraints.exclude)),
        candidates=candidates,
        correlations=inner_products(data, candidates),
    )


def inner_products(problem: Problem, columns: Array) -> Array:
    """A_S*A_S of unit columns, in double precision."""
    unit = problem.unit_columns(columns)
    unit = unit.astype(np.complex128 if problem.is_complex else np.float64)
    return np.asarray(unit.conj().T @ unit)


def _log_posterior(sampler: Sampler, prior: ModelPrior, support: tuple[int, ...]) -> float:
    """Of a model, by the eigenvalues of its Gram matrix."""
    S = np.array(support, np.int64)
    values, vectors = np.linalg.eigh(inner_products(sampler.problem, S))
    values = np.maximum(values, np.finfo(float).tiny)
    inner = np.square(np.abs(sampler.data.b[:, S] @ vectors.conj())).sum(axis=0)
    free = len(support) - len(sampler.include)
    return float(prior.log_models(free)) + log_posterior(values, inner / values, sampler.sample)
