"""From the name of an algorithm to the estimator that stands behind it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparsewise._util.parameters import CHOICES, OWN
from sparsewise._util.text import look_up
from sparsewise.algorithms import ALGORITHMS, Algorithm, Family
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.base import SparseLinearModel
from sparsewise.estimators.basis_pursuit import BasisPursuitRegressor
from sparsewise.estimators.pursuit import PursuitRegressor
from sparsewise.estimators.sparse_bayes import SparseBayesRegressor
from sparsewise.estimators.sparse_regressor import SparseRegressor
from sparsewise.estimators.stepwise import StepwiseRegressor
from sparsewise.model_selection.choice import has_choice

STOPS = ("sparsity", "residual", "delta")
"""What ends a path, so that there is nothing to choose."""

BY_FAMILY: dict[Family, type[SparseLinearModel]] = {
    Family.BAYESIAN: SparseBayesRegressor,
    Family.L1: BasisPursuitRegressor,
    Family.SEARCH: SparseRegressor,
}

ADDED = {Family.SEARCH: ("debias", "criterion", "cv")}
"""Parameters that the estimators of a family have besides those of the algorithm."""


def for_algorithm(name: str, **parameters: Any) -> SparseLinearModel:
    """The estimator that runs an algorithm, not fitted yet.

    Parameters
    ----------
    name : str
        One of `sparsewise.ALGORITHMS`.
    **parameters
        Those that `parameters_of` lists, and any others of the estimator (fit_intercept, include,
        exclude, certify, …); None is the same as leaving one out.

    Returns
    -------
    SparseLinearModel
        A `SparseRegressor`, `SparseBayesRegressor` or `BasisPursuitRegressor` for algorithms of
        their families. A `StepwiseRegressor` for one that makes a path on which a criterion or
        delta chooses, a `PursuitRegressor` for all others, and where sparsity or residual are
        given.

    Examples
    --------
    >>> from sparsewise.estimators import for_algorithm
    >>> for_algorithm("forward", criterion="aic")
    StepwiseRegressor(criterion='aic')
    >>> for_algorithm("forward", sparsity=3)
    PursuitRegressor(algorithm='forward', sparsity=3)
    """
    look_up([name], ALGORITHMS, "algorithm")
    record = ALGORITHMS[name]
    given = {word: value for word, value in parameters.items() if value is not None}
    _check(record, given)
    return _estimator(record, given).from_algorithm(record, **given)


def parameters_of(name: str) -> dict[str, bool]:
    """The parameters of an algorithm that `for_algorithm` takes, and whether it needs them."""
    record = ALGORITHMS[name]
    added = CHOICES if has_choice(record) else ADDED.get(record.family, ())
    own = {word: word == "penalty" for word in OWN if record.takes(word)}
    return own | dict.fromkeys(added, False)


def _estimator(record: Algorithm, given: dict[str, Any]) -> type[SparseLinearModel]:
    if record.family in BY_FAMILY:
        return BY_FAMILY[record.family]
    makes_path = record.family is Family.STEPWISE or has_choice(record)
    ends = given.keys() & {"sparsity", "residual"}
    return StepwiseRegressor if makes_path and not ends else PursuitRegressor


def _check(record: Algorithm, given: dict[str, Any]) -> None:
    """Refuse parameters that the algorithm does not take, or that don't go together."""
    takes = parameters_of(record.name)
    for word in given:
        if word in (*OWN, *CHOICES) and word not in takes:
            wrong = (f"{record.name} does not take ", Parameter(word))
            raise InputError(wrong, ("it takes ", *_listed(takes), "."))
    if missing := [word for word, needed in takes.items() if needed and word not in given]:
        raise InputError((f"{record.name} needs ", *_listed(missing), "."))
    if "cv" in given and given.get("criterion", "cv") != "cv":
        raise InputError(
            f"chooses by folds, not by {given['criterion']}: give one of them.", parameter="cv"
        )
    stops, chooses = ([word for word in words if word in given] for words in (STOPS, CHOICES))
    if stops and chooses:
        both = _listed([*stops, *chooses])
        raise InputError((*both, " both say when to stop: give one of them."))


def _listed(names: Iterable[str]) -> list[Parameter | str]:
    """Parameters with commas between them."""
    return [part for name in names for part in (", ", Parameter(name))][1:]
