"""Paths that meet every size, and the choice among the models on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import count
from sparsewise.algorithms import Algorithm, Family, backward, foba
from sparsewise.algorithms.forward_backward_path import forward_backward_path
from sparsewise.algorithms.forward_backward_path import forward_path as follow_forward
from sparsewise.criteria.base import Criterion, first_least
from sparsewise.criteria.early_stopping import ExtendTo
from sparsewise.errors import InputWarning, Parameter
from sparsewise.model_selection.data import Data
from sparsewise.problem.problem import DependentColumnsError
from sparsewise.results import Model, Path, Solution, Step, Stop

PathOf = Callable[[Data, int, ExtendTo | None], Solution]
"""A path with at most so many features, as far as it is worth following."""

FINAL = (Stop.ZERO_TARGET, Stop.INTERRUPTED)
"""Reasons that stand, whichever model is chosen."""


def most_features(data: Data, criterion: str = "", max_features: int | None = None) -> int:
    """How many features a path may have: all, or as many as `max_features`.

    Where all features would fit any target, half as many as rows; the RIC, which knows how few rows
    a model leaves, can be followed to the last of them.
    """
    most = data.candidates
    if data.saturates:
        rows = int(data.rows - data.intercept)
        most = min(most, rows - 1 if criterion == "ric" else rows // 2)
    if max_features is not None:
        most = min(most, max_features)
    return min(max(most, len(data.include)), *data.design.shape)


def forward_path(data: Data, most: int, extend_to: ExtendTo | None = None) -> Solution:
    """Add the best feature again and again."""
    return data.run(follow_forward, sparsity=most, extend_to=extend_to)


def backward_path(data: Data, most: int, extend_to: ExtendTo | None = None) -> Solution:
    """Drop the least feature again and again, from the full model."""
    return from_full(data, most, backward, extend_to, sparsity=len(data.include))


def both_path(data: Data, most: int, extend_to: ExtendTo | None = None) -> Solution:
    """Forward, then all the way back."""
    return data.run(forward_backward_path, sparsity=most, extend_to=extend_to)


def foba_path(data: Data, most: int, extend_to: ExtendTo | None = None) -> Solution:
    """Forward, and back after each step where that costs little."""
    if most <= len(data.include):
        return forward_path(data, most)
    return data.run(foba, delta=0.0, callback=_until(data, most, extend_to))


def _until(data: Data, most: int, extend_to: ExtendTo | None) -> Callable[[Step], bool]:
    """A callback that stops where `there` would."""
    if extend_to is None:
        return lambda step: step.size >= most
    fewest = len(data.include)
    first = forward_path(data, fewest)
    met = [(first.residual_norm**2, first.df, fewest)]
    wanted = extend_to(*np.array(met).T)

    def stop(step: Step) -> bool:
        nonlocal wanted
        met.append((step.loss, step.df, step.size))
        if step.size >= wanted:
            wanted = extend_to(*np.array(met).T)
        return step.size >= min(wanted, most)

    return stop


PATHS: dict[str, PathOf] = {
    "forward": forward_path,
    "backward": backward_path,
    "both": both_path,
    "foba": foba_path,
}
"""By direction, one run that meets models of every size as far as it goes."""


def has_choice(record: Algorithm) -> bool:
    """Whether an algorithm makes a path on which a criterion may choose."""
    return record.name in PATHS or (record.family is Family.STEPWISE and record.takes("criterion"))


def from_full(
    data: Data,
    most: int,
    algorithm: Callable[..., Solution],
    extend_to: ExtendTo | None = None,
    **parameters: Any,
) -> Solution:
    """Run from all features but those that depend on the ones before them, as R's ``lm`` does.

    Where all features would fit any target, or are more than `most`, from where the path forward
    ends.
    """
    if data.saturates or most < min(data.candidates, data.design.shape[0]):
        start = forward_path(data, most, extend_to).support
        return data.run(algorithm, start=start, **parameters)
    return from_columns(data, None, algorithm, **parameters)


def from_columns(
    data: Data,
    columns: Iterable[int] | None,
    algorithm: Callable[..., Solution],
    **parameters: Any,
) -> Solution:
    """Run from these features, None: all, but those that depend on the ones before them."""
    run = partial(data.run, algorithm, **parameters)
    try:
        return run(start=columns)
    except DependentColumnsError as error:
        dependent = set(error.columns)
        if dependent & set(data.include):
            raise
        some = range(data.design.shape[1]) if columns is None else columns
        return run(start=[j for j in some if j not in dependent])


def least(costs: Array, path: Path) -> int:
    """Steps to the model that costs least; of those equal but for rounding to the smallest."""
    order = np.argsort(path.dfs, kind="stable")
    return int(order[first_least(costs[order])])


def cheapest(criterion: Criterion, path: Path) -> int:
    """Steps to the model of least cost, by loss and degrees of freedom."""
    return least(criterion.cost(path.losses, path.dfs), path)


def chosen(solution: Solution, model: Model, stop: Stop = Stop.BEST) -> Solution:
    """The same run, with another of its models as the answer."""
    return replace(
        solution,
        support=model.support,
        coef=model.coef,
        residual_norm=model.loss**0.5,
        df=model.df,
        stop=solution.stop if solution.stop in FINAL else stop,
    )


def best_by_size(path: Path) -> dict[int, int]:
    """For each size met, the number of steps to the best model of it."""
    objectives, best = path.objectives, dict[int, int]()
    for steps, k in enumerate(path.n_columns.tolist()):
        if k not in best or objectives[steps] < objectives[best[k]]:
            best[k] = steps
    return best


def at_most(best: dict[int, int], k: int) -> int:
    """Steps to the best model of k features, or of the largest size below that was met."""
    sizes = [size for size in best if size <= k]
    return best[max(sizes) if sizes else min(best)]


def warn_if_still_better(data: Data, loss: float, size: int, criterion: str) -> None:
    """Say so if nothing but the end of the path has stopped a criterion at this model."""
    most = most_features(data, criterion)
    if data.saturates and size == most > len(data.include) and not data.is_exact(loss):
        bayesian = Parameter("SparseBayesRegressor")
        names = ("cv",) if criterion == "ric" else ("ric", "cv")
        others = [part for name in names for part in (Parameter("criterion", name), ", ")]
        warning = InputWarning(
            f"{criterion} was still improving at {count(most, 'feature')}, where the path ends "
            f"because the features could fit any target of {data.rows:g} rows: the choice is "
            "likely to fit noise",
            ("use ", *others, bayesian, ", or ", Parameter("sparsity"), "."),
        )
        data.warn(warning)
