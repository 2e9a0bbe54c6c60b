"""Where a path ends: once nothing speaks for a better model further on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise.algorithms.forward_backward_path import ExtendTo
from sparsewise.criteria.information import first_least
from sparsewise.model_selection.data import Data

AHEAD = 100
"""Features that a path goes on for past twice as many as the best model on it has, at least."""

Costs = Callable[[Array | float, Array | int], Array]
"""What models of these squared residuals and sizes cost, the less the better."""


def worth(best: int) -> int:
    """How many features a path should have for a model of `best` features to be its best."""
    return 2 * best + AHEAD


def effortless(data: Data) -> int:
    """How many features a path may have that is not worth thinking about its end; 100 or more.

    The same for a row of weight 2 as for one given twice.
    """
    return max(AHEAD, plan.effortless_steps(data.rows, data.candidates))


def as_far_as(size: int, most: int) -> ExtendTo | None:
    """So many features of at most `most`; None where that is all."""
    return (lambda rss, sizes: size) if size < most else None


def early_stopping(data: Data, costs: Costs, most: int) -> ExtendTo | None:
    """The `EarlyStopping` of a path of at most so many features; None where it would not be cut."""
    least = effortless(data)
    return EarlyStopping(costs, least, most) if most > least else None


@dataclass(frozen=True)
class EarlyStopping:
    """How far a path is worth following by a criterion of squared residual and size.

    It goes on to twice as many features as its best model has, and 100 more. From there on it
    needs a reason: that the criterion would fall below its least value so far, should every further
    feature explain as large a share of what is left as the best of the last 100 steps did,

        min_j  cost(RSS (1 - ρ)^j, k + j)  <  least cost so far,      ρ = max (RSS - RSS')/RSS

    No bound holds for all data, since gains need not decrease: features may be of use together of
    which none is by itself. Where hundreds of features explain the target nearly without noise,
    the first of them look like noise, each explaining little, until they are nearly all there. So
    nothing is cut that takes no time, and what is to be followed further is, if one says how far.

    Parameters
    ----------
    costs : callable
        The criterion.
    least, most : int
        The path has as many features, and no more, in any case.
    """

    costs: Costs
    least: int
    most: int

    def __call__(self, rss: Array, size: Array) -> int:
        """The size that a path with these models so far is to be followed to, if it has not."""
        costs, here = self.costs(rss, size), int(size[-1])
        wanted = max(worth(int(size[first_least(costs)])), self.least)
        if wanted <= here and self._may_improve(rss, here, float(costs.min())):
            wanted = here + AHEAD
        return min(wanted, self.most)

    def _may_improve(self, rss: Array, here: int, least: float) -> bool:
        """Whether steps as good as the best one lately would lead to a better model."""
        recent = rss[-AHEAD - 1 :]
        if not recent.all():
            return False
        left = float((recent[1:] / recent[:-1]).min())  # 1 - ρ
        more = np.arange(1, self.most - here + 1)
        costs = self.costs(rss[-1] * left**more, here + more)
        return bool(costs.size) and float(costs.min()) < least


def generalised_cross_validation(data: Data) -> Costs:
    """RSS/(n - p)²: the leave-one-out error with all leverages at their mean, p/n.

    G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method for choosing a
    good ridge parameter", Technometrics 21, 1979.
    """

    def costs(rss: Array | float, size: Array | int) -> Array:
        left = data.rows - np.asarray(size) - data.intercept
        return np.where(left > 0, rss / np.square(np.maximum(left, 1)), np.inf)

    return costs
