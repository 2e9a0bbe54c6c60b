"""Forward paths with early stopping, and forward paths followed by full backward elimination."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from numpy.typing import ArrayLike

from sparsewise.criteria.early_stopping import ExtendTo
from sparsewise.engine.active_set import ActiveSet, begin
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.results import Path, Solution, Stop

ROOM = 128
"""Columns to allocate room for at first, if their number is not known."""


def forward_path(
    A: Any,
    y: ArrayLike,
    *,
    sparsity: int,
    extend_to: ExtendTo | None = None,
    by: Literal["gain", "corr"] = "gain",
    ridge: float = 0.0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> Solution:
    """`forward`, or by "corr" `omp`, to `sparsity` columns, or until `extend_to` says stop.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    sparsity : int
        Most features.
    extend_to : callable, optional
        Called with losses, degrees of freedom and sizes of the models so far: returns the size to
        go on to before the next call. One that is reached already ends the path.
    by : {"gain", "corr"}
        The score by which columns are chosen.
    ridge : float
        As for `sparsewise.forward`.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.

    Returns
    -------
    Solution
        The last model, with the path to it.
    """
    name = {"gain": "forward", "corr": "omp"}[by]
    active, stopping = _begin(
        name, A, y, sparsity, extend_to, ridge=ridge, include=include, exclude=exclude
    )
    return active.solve(name, lambda: extend(active, stopping, extend_to, by))


def forward_backward_path(
    A: Any,
    y: ArrayLike,
    *,
    sparsity: int,
    extend_to: ExtendTo | None = None,
    ridge: float = 0.0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> Solution:
    """`forward_path`, then `backward` until only the columns of include are left.

    The result is the path: ``path.at(k)`` is the better of two models of each size. (One round of
    RMP₀ for every δ at once: the backward stage drops by increasing loss.)

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,)
        The target.
    sparsity : int
        The largest model.
    extend_to : callable, optional
        As for `forward_path`.
    ridge : float
        As for `sparsewise.forward`.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.

    Returns
    -------
    Solution
        The last model, with the path forward and back.
    """
    name = "forward_backward_path"
    active, stopping = _begin(
        name, A, y, sparsity, extend_to, ridge=ridge, include=include, exclude=exclude
    )

    def steps() -> Stop:
        extend(active, stopping, extend_to)
        return active.shrink(stopping._replace(most=0))

    return active.solve(name, steps)


def _begin(
    name: str,
    A: Any,
    y: ArrayLike,
    sparsity: int,
    extend_to: ExtendTo | None,
    *,
    ridge: float,
    include: Iterable[int],
    exclude: Iterable[int],
) -> tuple[ActiveSet, StoppingCriterion]:
    """An active set with room for `sparsity` columns, or for fewer if the path may stop early."""
    included = list(include)
    room = sparsity if extend_to is None else min(sparsity, len(included) + ROOM)
    active, stopping = begin(
        name, A, y, sparsity=room, ridge=ridge, include=included, exclude=exclude
    )
    return active, stopping._replace(most=sparsity)


def extend(
    active: ActiveSet,
    stopping: StoppingCriterion,
    extend_to: ExtendTo | None,
    by: Literal["gain", "corr"] = "gain",
) -> Stop:
    """Add the best column while `extend_to` asks for more; return why that ended."""
    while extend_to is not None:
        path = Path(active.log.stretches, active.problem.units, float(not active.problem.is_zero))
        size = extend_to(path.losses, path.dfs, path.n_columns)
        if size <= active.size:
            return Stop.BEST
        if size >= stopping.most:
            break
        stop = active.grow(stopping._replace(most=size), by=by)
        if active.size < size:
            return stop
    return active.grow(stopping, by=by)
