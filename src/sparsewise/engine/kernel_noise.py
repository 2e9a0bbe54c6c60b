"""The noise of a sum of kernels: all γ and σ² updated at once, set right by shuffled targets.

Kernels at neighbouring points are near-copies, and several of them share what one column alone
would explain. A price for each, which elsewhere keeps σ from falling to zero
(`noise_inference.py`), keeps them out, and what they would have explained is taken for noise.
Tipping (2001) re-estimates γ and σ² together, at no price: smooth kernels can't follow noise, so
that σ stays where it belongs. Rough ones can. Each is nearly a column for its own point, and σ
falls far below the noise.

How far can be seen: the entries of y in random order, with random signs, are noise of a known
size. Where the updates see a share ρ of that alone, they see about as much of the noise in y, and
σ̂/ρ is what they should have seen. Smooth kernels have ρ close to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sparsewise.design.base import Array, Design
from sparsewise.engine.evidence import Evidence
from sparsewise.engine.joint_updates import relevant
from sparsewise.problem import Problem, problem
from sparsewise.results import Stop
from sparsewise.tolerances import tolerances

FIRST = 0.1
"""σ² at first, as a part of the target's variance."""

SETTLED = 1e-3
"""A change of γ by less than this part of the largest moves σ by far less than its error."""

SHUFFLES = 4
"""Shuffled targets at most: where ρ is small, it scatters by a third from one to the next."""

PLAIN = 0.9
"""Two ρ above this leave no doubt: others are as close to 1."""

STEADY = 0.98
"""A σ² that falls no further than to this part of itself stays."""


class Inferred(NamedTuple):
    """What is known of the noise, and where to begin, for unit columns and a target of norm one.

    Attributes
    ----------
    noise : float
        σ².
    columns, gamma : ndarray of shape (k,)
        What is relevant at this σ², and the prior variances.
    share : float
        ρ², the share of a known noise that the updates see.
    """

    noise: float
    columns: Array
    gamma: Array
    share: float = 1.0


def infer_kernel_noise(design: Design, y: Array, rng: np.random.RandomState) -> Inferred:
    """σ² by Tipping's updates of all columns, over the share of it that they see; what is relevant.

    An update costs O(m min(n, m)²), m being the columns not yet pruned.
    """
    data, rows = problem(design, y), design.rows
    columns = np.flatnonzero(data.inverse_norms)
    if data.is_zero or not columns.size:
        return Inferred(0.0 if data.is_zero else 1 / rows, columns[:0], np.empty(0))
    B, target, shuffled = _in_few_rows(data, columns, rng)
    update = partial(relevant, rows=rows, heed=_go_on, settled=SETTLED)
    seen = partial(update, B, gamma=np.ones(columns.size), noise=FIRST / rows, held=False)
    free = seen(y=target)
    share = _mean_share(seen(y=z).noise * rows for z in shuffled)
    noise = _within(free.noise / share, data)
    left = update(B[:, free.columns], target, free.gamma, noise, held=True)
    return Inferred(noise, columns[free.columns[left.columns]], left.gamma, share)


def follow(data: Problem, inferred: Inferred, climb: Callable[[Evidence], Any]) -> Inferred:
    """The same for all columns of a problem, where it was inferred from some of them.

    σ² is too large then by what these could not explain. As others come in it falls, γ and σ² being
    raised to the evidence's maximum in turn. That leads back to zero where kernels follow noise,
    so that σ² stays where the updates see less than most of it.
    """
    evidence = Evidence(data, inferred.noise)

    def in_turn() -> Stop:
        evidence.restore(inferred.columns, inferred.gamma)
        climb(evidence)
        while inferred.share > PLAIN**2:
            noise = _within(evidence.best_noise(), data)
            if noise > STEADY * evidence.noise:
                break
            evidence.noise = noise
            climb(evidence)
        return Stop.EVIDENCE

    prior = evidence.solve("rmp", in_turn)
    S = prior.support
    gamma = np.square(np.sqrt(prior.gamma[S]) * (data.design.norms()[S] / data.scale))
    return inferred._replace(noise=evidence.noise, columns=S, gamma=gamma)


def _within(noise: float, data: Problem) -> float:
    """σ² of no more than y has, and not so little that it is rounding."""
    rows = data.design.rows
    return max(min(float(noise), 1 / rows), tolerances(data.y.dtype).quiet ** 2 / rows)


def _in_few_rows(
    data: Problem, columns: Array, rng: np.random.RandomState
) -> tuple[Array, Array, Array]:
    """Unit columns, the target and shuffled ones, in the rows of their triangle if that has fewer.

    All that is asked of them are inner products.
    """
    n, m = data.shape
    y = data.y.astype(np.float64, copy=False)
    Z = np.column_stack([y, *(_shuffled(y, rng) for _ in range(SHUFFLES))])
    if n > 2 * m:
        R = data.design.triangle(Z)
        A, Z = R[:, :m], R[:, m:]
    else:
        A = data.design.columns(slice(None))
    B = A[:, columns].astype(np.float64, copy=False) * data.inverse_norms[columns]
    return B, Z[:, 0], Z[:, 1:].T


def _shuffled(y: Array, rng: np.random.RandomState) -> Array:
    """The entries of y in random order, with random signs: noise of the same size."""
    return np.asarray(rng.permutation(y) * rng.choice([-1.0, 1.0], y.size))


def _mean_share(shares: Iterator[float]) -> float:
    """The geometric mean of shares ρ², each at most 1; of two if these are plain."""
    logs: list[float] = []
    for share in shares:
        logs.append(min(float(np.log(share)), 0.0))
        if len(logs) > 1 and min(logs) > 2 * np.log(PLAIN):
            break
    return float(np.exp(np.mean(logs)))


def _go_on() -> None:
    """Nobody is asked whether to: updates take no longer than a stage of the algorithm."""
