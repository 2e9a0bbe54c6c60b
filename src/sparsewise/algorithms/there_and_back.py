"""Forward, then all the way back: the better model of each size from two greedy paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.engine.active_set import begin
from sparsewise.results import Solution, Stop


def there_and_back(
    A: Any,
    y: ArrayLike,
    *,
    sparsity: int,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> Solution:
    """`forward` to `sparsity` columns, then `backward` until only those of include are left.

    What matters is the way: ``path.at(k)`` is the better of two models of each size. (One round
    of RMP₀ for every δ at once: the backward stage drops by increasing loss.)

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    sparsity : int
        Where to turn.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.

    Returns
    -------
    Solution
        The last model, and the path that led there and back.
    """
    active, stopping = begin(
        "there_and_back", A, y, sparsity=sparsity, include=include, exclude=exclude
    )

    def steps() -> Stop:
        active.grow(stopping)
        return active.shrink(stopping._replace(most=0))

    return active.solve("there_and_back", steps)
