"""The noise of a sum of kernels: all γ and σ² updated at once, set right by shuffled targets.

Kernels at neighbouring points are near-copies, and several of them share what one column alone
would explain. A price for each, which elsewhere keeps σ from falling to zero
(`noise_inference.py`), keeps them out, and what they would have explained is taken for noise.
Tipping (2001) re-estimates γ and σ² together, at no price: smooth kernels can't follow noise, so
that σ stays where it belongs. Rough ones can. Each is nearly a column for its own point, and σ
falls far below the noise.

How far can be seen: the entries of y in random order, with random signs, are noise of a known
size. Where the updates see a share ρ of that alone, they see about as much of the noise in y, and
σ̂/ρ is what they should have seen. Smooth kernels have ρ close to 1. With rough ones the updates
begin from far above, where columns are pruned before σ has fallen: ρ is larger then, and the same,
give or take a tenth, for every target.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import Design
from sparsewise.engine.bayes.evidence import Evidence
from sparsewise.engine.bayes.joint_updates import Relevant, posterior, relevant
from sparsewise.problem.problem import Problem, problem
from sparsewise.results import InferredNoise, Stop

BELOW, LEVEL, ABOVE = 0.1, 1.0, 10.0
"""σ² at first, as parts of the target's variance: of smooth kernels, to tell, and of rough ones."""

SETTLED = 1e-3
"""A change of γ by less than this part of the largest moves σ by far less than its error."""

SHUFFLES = 4
"""Shuffled targets; two where kernels are smooth."""

SMOOTH, PLAIN = 0.8, 0.97
"""The share of noise that kernels see at least that can't follow it; and that leaves no doubt."""

ALIKE = 0.6
"""Where two starts come to σ of one target that differ by more, the lower has followed noise."""

LARGE = 1e4
"""γ at first, in case that kernels are so smooth that they need large weights to make anything."""

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
    smooth : bool
        Whether kernels can't follow noise, so that the updates see it as it is.
    """

    noise: float
    columns: Array
    gamma: Array
    smooth: bool = True


def infer_kernel_noise(design: Design, y: Array, rng: np.random.RandomState) -> Inferred:
    """σ² by Tipping's updates of all columns, over the share of it that they see; what is relevant.

    An update costs O(m min(n, m)²), m being the columns not yet pruned.
    """
    data, rows = problem(design, y), design.rows
    columns = np.flatnonzero(data.inverse_norms)
    if data.is_zero or not columns.size:
        return Inferred(0.0 if data.is_zero else 1 / rows, columns[:0], np.empty(0))
    B, target, shuffled = _in_few_rows(data, columns, rng)
    update = partial(relevant, rows=rows, check_interrupt=_go_on, settled=SETTLED)

    def free(z: Array, first: float, gamma: float = 1.0) -> Relevant:
        return update(B, z, np.full(columns.size, gamma), first / rows, held=False)

    def worth(left: Relevant) -> float:
        return posterior(B[:, left.columns], target, left.gamma, _within(left.noise, data)).worth

    left = free(target, BELOW)
    shares = [free(z, BELOW).noise * rows for z in shuffled[:2]]
    if min(shares) > PLAIN**2:
        smooth, daring = True, free(target, BELOW, LARGE)
        # By more than it is worth which column one is: the same model comes in many guises.
        better = worth(daring) - worth(left) > np.log(columns.size)
        if better and daring.noise > ALIKE**2 * left.noise:
            left = daring
    else:
        alike = left.noise > ALIKE**2 * free(target, LEVEL).noise
        smooth = alike and min(shares) > SMOOTH**2
    if not smooth:
        left = free(target, ABOVE)
        shares = [free(z, ABOVE).noise * rows for z in shuffled]
    share = np.exp(np.mean(np.log(np.clip(shares, data.tolerances_in(B.dtype).exact, 1.0))))
    noise = _within(left.noise / share, data)
    kept = left.columns
    if kept.size:
        left = update(B[:, kept], target, left.gamma, noise, held=True)
    return Inferred(noise, columns[kept[left.columns]], left.gamma, smooth)


def follow(data: Problem, inferred: Inferred, climb: Callable[[Evidence], Stop]) -> Inferred:
    """The same for all columns of a problem, where it was inferred from some of them.

    σ² is too large then by what these could not explain. As others come in it falls, γ and σ² being
    raised to the evidence's maximum in turn. Where kernels follow noise, too, that would lead to
    zero, and σ² stays.
    """
    evidence = Evidence(data, inferred.noise)

    def in_turn() -> Stop:
        evidence.restore(inferred.columns, inferred.gamma)
        climb(evidence)
        while inferred.smooth:
            noise = _within(evidence.best_noise(InferredNoise(0.0)), data)
            if noise > STEADY * evidence.noise:
                break
            evidence.noise = noise
            climb(evidence)
        return Stop.EVIDENCE

    prior = evidence.solve("noise", in_turn, extend=lambda: climb(evidence))
    S = prior.support
    gamma = np.square(np.sqrt(prior.gamma[S]) * (data.design.norms()[S] / data.scale))
    return inferred._replace(noise=evidence.noise, columns=S, gamma=gamma)


def _within(noise: float, data: Problem) -> float:
    """σ² of no more than y has, and not so little that it is rounding."""
    rows = data.design.rows
    return max(min(float(noise), 1 / rows), data.tolerances.quiet**2 / rows)


def _in_few_rows(
    data: Problem, columns: Array, rng: np.random.RandomState
) -> tuple[Array, Array, Array]:
    """Unit columns, the target and shuffled ones, in the rows of their triangle if that has fewer.

    Each target has a column of its own. All that is asked of them are inner products.
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
    return B, Z[:, :1], Z.T[1:, :, None]


def _shuffled(y: Array, rng: np.random.RandomState) -> Array:
    """The entries of y in random order, with random signs: noise of the same size."""
    return np.asarray(rng.permutation(y) * rng.choice([-1.0, 1.0], y.size))


def _go_on() -> None:
    """Nobody is asked whether to: updates take no longer than a stage of the algorithm."""
