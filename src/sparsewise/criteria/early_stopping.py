"""How far past its best model a path goes: until nothing speaks for a better one further on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise.criteria.base import Criterion, Formula, first_least

AHEAD = 100
"""Features that a path goes on for past twice as many as the best model on it has, at least."""

AHEAD_IN_SCREENING = 16
"""The same where the path only has to show which columns might matter."""

ExtendTo = Callable[[Array, Array, Array], int]
"""From loss, df and size of all models on a path so far to the size to extend it to, if any."""


def worth(best: int, ahead: int | None = None) -> int:
    """How many features a path should have for a model of `best` features to be its best."""
    return 2 * best + (AHEAD if ahead is None else ahead)


def effortless(rows: float, features: int) -> int:
    """How many features a path may have that takes so little that nothing is cut; 100 or more.

    The same for a row of weight 2 as for one given twice.
    """
    return max(AHEAD, plan.effortless_steps(rows, features))


def as_far_as(size: int, most: int) -> ExtendTo | None:
    """So many features of at most `most`; None where that is all."""
    return (lambda losses, dfs, sizes: size) if size < most else None


def early_stopping(criterion: Formula, most: int) -> ExtendTo | None:
    """The `EarlyStopping` of a path of at most so many features; None where it would not be cut."""
    least = effortless(criterion.sample.rows, criterion.sample.features)
    return EarlyStopping(criterion, least, most) if most > least else None


@dataclass(frozen=True)
class EarlyStopping:
    """How far a path is worth following by a criterion.

    It goes on to twice as many features as its best model has, and 100 more. From there on it
    needs a reason: that the criterion would fall below its least value so far, should every further
    feature explain as large a share of what is left as the best of the last 100 steps did,

        min_j  cost(loss (1 - ρ)^j, df + j)  <  least cost so far,      ρ = max (loss - loss')/loss

    (with j df/k for j where the k features so far take df degrees of freedom rather than k).

    No bound holds for all data, since gains need not decrease: features may be of use together of
    which none is by itself. Where hundreds of features explain the target nearly without noise,
    the first of them look like noise, each explaining little, until they are nearly all there. So
    nothing is cut that takes no time, and a path goes further where the user says how far.

    Parameters
    ----------
    criterion : Criterion
        What models cost.
    least, most : int
        The path has as many features, and no more, in any case.
    """

    criterion: Criterion
    least: int
    most: int

    def __call__(self, losses: Array, dfs: Array, sizes: Array) -> int:
        """The size to extend a path with these models to; not above its last: it is long enough."""
        costs, size = self.criterion.cost(losses, dfs), int(sizes[-1])
        wanted = max(worth(int(sizes[first_least(costs)])), self.least)
        if wanted <= size and self._may_improve(losses, dfs[-1], size, float(costs.min())):
            wanted = size + AHEAD
        return min(wanted, self.most)

    def _may_improve(self, losses: Array, df: float, size: int, least: float) -> bool:
        """Whether steps as good as the best one lately would lead to a better model."""
        recent = losses[-AHEAD - 1 :]
        if not recent.all():
            return False
        left = float((recent[1:] / recent[:-1]).min())  # 1 - ρ
        more = np.arange(1, self.most - size + 1)
        costs = self.criterion.cost(losses[-1] * left**more, df + more * (df / max(size, 1)))
        return bool(costs.size) and float(costs.min()) < least
