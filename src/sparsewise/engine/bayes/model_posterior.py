"""The posterior over all subsets of columns: priors, inner products, and chains of a sampler.

Coefficients of the columns in a model have a slab N(0, σ²/d²) each, in units of unit columns:
damped columns, as in Sparse Bayesian Learning with one d² for all. The slab's scale τ = 1/(d √n),
in standard deviations of a coefficient of standardised columns, has a half-Cauchy prior; a model of
k of m columns has the prior of the beta-binomial distribution BB(1, β) on size; log σ² is flat, and
integrated out. Then

    p(S, d | y) ∝ prior(k) p(d) det(A_S*A_S/d² + I)^(-½) (y*(I + A_S A_S*/d²)⁻¹y)^(-n/2).

Copies of a column are never in a model together. The kernels do the rest on inner products, of
which a row is made when its column is first to come in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise.criteria.base import Sample
from sparsewise.kernels import load_model_posterior
from sparsewise.problem.problem import Problem

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

POINTS = 24
"""Values of d²."""

LIKELY = 0.01
"""Columns more probable than this are likely to come in soon."""

COPY = 64.0
"""Columns are copies if their inner product is within this many units of rounding of 1."""


class Prior(NamedTuple):
    """What is believed of models before the data.

    Attributes
    ----------
    size : tuple of float
        α and β of the beta-binomial distribution of the number of columns.
    """

    size: tuple[float, float]

    def log_models(self, columns: int, most: int) -> Array:
        """The logarithm of the prior of one model of 0, 1, …, `most` columns."""
        from scipy.special import betaln

        k, (alpha, beta) = np.arange(most + 1), self.size
        return np.asarray(betaln(k + alpha, columns - k + beta) - betaln(alpha, beta))


def damping_grid(measurements: float) -> tuple[Array, Array]:
    """Values of d² from wide slabs to narrow ones, and logarithms of their prior probabilities.

    1/d² = n τ², half-Cauchy of scale 1 in τ, at equal distances of log τ.
    """
    log_width = np.linspace(math.log(measurements * 1e4), math.log(0.1), POINTS)
    scale = np.exp(log_width / 2) / math.sqrt(measurements)
    density = np.log(scale) - np.log1p(np.square(scale))
    return np.exp(-log_width), density - np.logaddexp.reduce(density)


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
    prior : Prior
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
    """

    def __init__(
        self,
        problem: Problem,
        sample: Sample,
        prior: Prior,
        starts: Sequence[Sequence[int]],
        *,
        seed: int = 0,
        check_interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self._kernels = load_model_posterior()
        self.problem, self.sample, self.check_interrupt = problem, sample, check_interrupt
        self.include = sorted(problem.constraints.include)
        m = problem.shape[1]
        free = sample.features - len(self.include)
        most = min(free, plan.most_sampled(sample.rows))
        self.gram = GramRows(problem)
        self.most = most + len(self.include)
        grid, log_grid = damping_grid(sample.rows)
        b = problem.correlate_rows(problem.Y).astype(self.gram.rows.dtype)
        self.data = self._kernels.Data(
            self.gram.rows, self.gram.slot, b, self.gram.twin, prior.log_models(free, most),
            grid, log_grid, sample.parts * sample.targets / 2, float(sample.rows),
            float(sample.noise or 0.0), TEMPERING,
        )  # fmt: skip
        self.barred = np.zeros(m, bool)
        self.barred[list(problem.constraints.exclude)] = True
        self.barred |= problem.inverse_norms == 0
        self.chains = [
            self._begun(starts[c % len(starts)], np.random.default_rng([seed, c]))
            for c in range(CHAINS)
        ]

    def _begun(self, start: Sequence[int], rng: np.random.Generator) -> Any:
        """A chain at its first model."""
        kernels, q, m, room = self._kernels, len(self.data.b), self.problem.shape[1], self.most + 2
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
            self.gram.fetch(wanted)
        seen: set[int] = set()
        lowest = [j for j in first if not (self.gram.twin[j] in seen or seen.add(self.gram.twin[j]))]
        kernels.begin(self.data, one, np.array(lowest, np.int64))
        return _Chain(one, kept, rng, self._sums(0))

    def _sums(self, records: int) -> Any:
        q, m = self.data.b.shape
        return self._kernels.Sums(
            np.zeros(2), np.zeros(m), np.zeros((q, m), self.data.b.dtype), np.zeros((q, m)),
            np.zeros(self.most + 3), np.zeros(self.data.damping.size), np.zeros(1),
            np.empty(records * plan.RECORDED_SIZE, np.int32), np.empty(records, np.int64),
            np.empty(records), np.empty(records),
        )  # fmt: skip

    def run(self, flips: int, *, counts: bool = True) -> None:
        """So many more flips of each chain; only those that count add to the sums."""
        for i, chain in enumerate(self.chains):
            if counts:
                self.chains[i] = chain = chain._replace(sums=self._longer(chain, flips))
            uniforms = chain.rng.random((flips, 3))
            at = 0
            while at < flips:
                self.check_interrupt()
                stop = min(at + plan.sampled_at_once(self.problem.shape[1]), flips)
                at = self._kernels.sample(
                    self.data, chain.state, chain.kept, chain.sums, len(self.include),
                    uniforms[:stop], at, EVERY, counts,
                )  # fmt: skip
                wanted = int(chain.state.count[self._kernels.WANTED])
                if wanted >= 0:
                    self._bring(wanted, chain)

    def _bring(self, wanted: int, chain: Any) -> None:
        """Make the row that a chain wants, with those that it is likely to want next."""
        state = chain.state
        missing = np.flatnonzero((self.gram.slot < 0) & (state.probability > LIKELY))
        likely = missing[np.argsort(-state.flip[missing], kind="stable")[: plan.GRAM_AHEAD]]
        columns = np.array([wanted, *likely[likely != wanted]], np.int64)
        size = self._kernels.SIZE
        keep = sorted({int(j) for c in self.chains for j in c.state.order[: c.state.count[size]]})
        self.gram.fetch(columns, keep)

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


class _Chain(NamedTuple):
    """A chain, room for a copy of it, its random numbers and its sums."""

    state: Any
    kept: Any
    rng: np.random.Generator
    sums: Any
