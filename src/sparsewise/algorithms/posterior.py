"""How sure a choice is: the posterior over all subsets of columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise import plan
from sparsewise._util.parameters import check_count, check_positive, check_whole
from sparsewise._util.progress import waiting
from sparsewise.algorithms.solve import solve
from sparsewise.criteria.base import Sample
from sparsewise.criteria.model_prior import ModelPrior
from sparsewise.engine.bayes.model_posterior import (
    BURN_IN,
    FIRST,
    Sampler,
    add_up,
    model_posterior,
    sampled,
)
from sparsewise.engine.bayes.noise import relative_noise
from sparsewise.engine.halting import interrupted
from sparsewise.engine.search.multistart import condense_problem
from sparsewise.errors import InputError, InputWarning
from sparsewise.problem.problem import Problem, problem
from sparsewise.problem.targets import Targets
from sparsewise.results import ModelPosterior

STARTS = 4
"""Starts of the search whose models chains begin from."""

DISAGREE = 0.1
"""A standard error of an inclusion probability that is worth a warning."""


def posterior(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sigma: float | None = None,
    size_prior: float | None = None,
    tol: float = 0.01,
    max_iter: int | None = None,
    max_models: int = plan.MODELS_ADDED_UP,
    seed: int = 0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> ModelPosterior:
    """The posterior probability that each column is in the model, over all subsets of columns.

    Coefficients of the columns in the model have a normal prior of a common scale, which has a
    half-Cauchy prior; the number of columns is beta-binomial BB(1, β), and the noise is integrated
    out (see `sparsewise.criteria.model_prior`). Of few columns all models are added up, but for
    branches of the tree of models whose sum is proved to be negligible (``proved`` says what share
    of the posterior was seen at least). Of more columns models are sampled, by the tempered Gibbs
    sampler of Zanella and Roberts (2019), in four chains: two from the models that `solve` finds,
    two from the empty model. How far the chains differ is the error that is stated.

    There is no intercept: centre A and y for one (estimators do). Copies of a column are never in a
    model together.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share their columns.
    sigma : float, optional
        Standard deviation of the noise, if it is known.
    size_prior : float, optional
        β; √m by default, with which probabilities are calibrated over many kinds of tables. 1 lets
        all sizes be equally probable, m expects one column.
    tol : float
        Sampling ends when no standard error of an inclusion probability is larger.
    max_iter : int, optional
        Most models to be sampled by each chain; by default as many as take some seconds.
    max_models : int
        Most models to be added up, where there are at most 30 columns; 0: they are sampled.
    seed : int
        The same seed, the same answer.
    include, exclude : iterable of int
        Columns that are in every model, and in none.

    Returns
    -------
    ModelPosterior
        Inclusion probabilities, averaged coefficients, the most probable models, and sets of
        columns that stand for each other (`credible_sets`).

    References
    ----------
    G. Zanella and G. Roberts, "Scalable importance tempering and Bayesian variable selection",
    Journal of the Royal Statistical Society B 81, 2019.

    Examples
    --------
    >>> import numpy as np, sparsewise as sw
    >>> A = np.random.default_rng(0).standard_normal((50, 12))
    >>> y = A[:, [3, 7]] @ [2.0, -1.0] + np.random.default_rng(1).standard_normal(50)
    >>> sw.posterior(A, y).support
    array([3, 7])
    """
    check_positive(tol, "tol")
    seed, most = check_whole(seed, "seed", 0), check_count(max_iter, "max_iter", 1)
    all_models = check_whole(max_models, "max_models", 0)
    data = problem(A, y, multi_target=True, include=include, exclude=exclude)
    noise = None if sigma is None else relative_noise(sigma, data)
    sample = Sample.of(data, noise=noise)
    _check_rows(data, sample)
    free = sample.features - len(data.constraints.include)
    beta = max(free, 1) ** 0.5 if size_prior is None else check_positive(size_prior, "size_prior")
    prior = ModelPrior((1.0, beta), free)
    starts = _starts(data, sigma, seed)
    few = condense_problem(data)
    sampler = Sampler(few, sample, prior, starts, seed=seed)
    most = plan.most_flips(data.shape[1]) if most is None else most
    with waiting("sampling models", 4 * most) as wait:
        sampler.run(BURN_IN, counts=False)
        flips = 0
        while not flips or (flips < most and sampler.error > tol and not interrupted()):
            more = min(max(flips, FIRST), most - flips)
            sampler.run(more)
            flips += more
            wait.update(4 * more)
            if flips == more and plan.adds_up_models(free) and not sampler.include:
                exact = add_up(sampler, all_models)
                if exact:
                    return model_posterior(sampler, prior, *exact, sigma)
    if sampler.error > DISAGREE:
        warnings.warn(
            f"Chains disagree on a column by a standard error of {sampler.error:.2f}: the "
            "probabilities of such columns are rough. Raise max_iter.",
            InputWarning,
            stacklevel=2,
        )
    return model_posterior(sampler, prior, sampled(sampler), 0.0, sigma)


def _check_rows(data: Problem, sample: Sample) -> None:
    """Refuse data that leave nothing to be unsure of, or too little to tell."""
    if data.is_zero:
        raise InputError("is zero", "there is nothing to explain.", parameter="y")
    if sample.noise is None and sample.rows < 3:
        raise InputError(
            f"There are {sample.rows:g} rows, too few to tell the noise from", "give sigma."
        )


def _starts(data: Problem, sigma: float | None, seed: int) -> list[list[int]]:
    """The empty model and the best that a search finds, in turns."""
    constraints = data.constraints
    found = solve(
        data.design, data.own_targets, sigma=None if sigma is None else sigma / data.scale,
        effort=STARTS, seed=seed, include=constraints.include, exclude=constraints.exclude,
    )  # fmt: skip
    tolerance = data.tolerances.exact
    if sigma is None and np.square(found.residual_norm) <= tolerance:
        raise InputError(
            "is fitted exactly: the posterior of a model without noise is one model",
            "take solve's answer, or give sigma.",
            parameter="y",
        )
    return [[], found.support.tolist()]
