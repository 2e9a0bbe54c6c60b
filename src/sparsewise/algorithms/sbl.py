"""Sparse Bayesian Learning with all features at once: EM, MacKay's and the convex-bound updates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_count
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.algorithms.rmp import match_relevance
from sparsewise.engine.bayes.evidence import Evidence
from sparsewise.engine.bayes.joint_updates import (
    UPDATES as UPDATES,  # for front ends
)
from sparsewise.engine.bayes.joint_updates import Updates, update_all
from sparsewise.engine.bayes.noise import NoisePrior
from sparsewise.engine.bayes.noise_inference import begin
from sparsewise.engine.log import Callback
from sparsewise.errors import InputError
from sparsewise.problem.targets import Targets
from sparsewise.results import BayesianSolution, Stop


@algorithm(
    Family.BAYESIAN,
    "small tables, and comparison with other programs",
    result=BayesianSolution,
    dense=True,
    meant_by=("updates",),
)
def sbl(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sigma: float | None = None,
    updates: Updates = "em",
    min_increase: float = 1e-6,
    price: float = 0.0,
    noise_prior: NoisePrior | None = None,
    noise_floor: float = 0.0,
    max_iter: int | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> BayesianSolution:
    """Sparse Bayesian Learning with all features at once, pruned as it goes, then polished.

    The model and its evidence are those of `rmp`. All γ_j start at one (unit columns, unit
    target) and change together, with μ and Σ the posterior mean and covariance:

    - "em": γ = |μ|² + Σ_jj (Tipping 2001), reliable but slow;
    - "mackay": γ = |μ|² / (1 - Σ_jj/γ) (MacKay 1992), 5 to 10 times faster, best for
      uncorrelated features;
    - "convex": γ = |μ| / (a_j*C⁻¹a_j)^½ (Wipf and Nagarajan 2008), by a convex bound of log|C|.

    Such updates never reach zero exactly. The stages of `rmp` finish the work: they delete the
    features that the evidence does not support, and end at a maximum of it. Needs A as a dense
    matrix; an update costs O(m·min(n, m)²), m being the columns not yet pruned.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    sigma : float, optional
        Standard deviation of the noise. None: inferred as in `rmp`.
    updates : {"em", "mackay", "convex"}
        The rule by which γ changes.
    min_increase : float
        The final stages re-estimate what raises the log evidence by more than this. The updates
        end when one raises it by less than 0.001 (complex data: 0.002), or a tenth of this.
    price : float
        What a feature must raise the log evidence by to be in the model.
    noise_prior : (shape, scale), optional
        Inverse-gamma prior on σ², if σ is inferred.
    noise_floor : float
        Smallest σ if inferred, relative to the target's size (see `rmp`).
    max_iter : int, optional
        Most updates of all γ; None: 2,000.
    include : iterable of int
        Columns that must be in the model; their coefficients have a flat prior.
    exclude : iterable of int
        Columns that must not be in the model.
    callback : callable, optional
        Called with every `Step` of the final stages; returning True stops.

    Returns
    -------
    BayesianSolution
        Posterior mean as ``coef``, with ``gamma``, ``sigma``, ``covariance`` and
        ``log_evidence``; ``path`` starts from the columns that were left after the updates.
    """
    if updates not in list(UPDATES):  # a list, since the value may not be hashable
        raise InputError(
            f"must be one of {', '.join(UPDATES)}, not {updates!r}.", parameter="updates"
        )
    most = check_count(max_iter, "max_iter", 0)
    most = 2000 if most is None else most
    evidence = begin(
        A, y, match_relevance, way=lambda one: update_and_polish(one, updates, most), sigma=sigma,
        price=price, min_increase=min_increase, noise_prior=noise_prior, noise_floor=noise_floor,
        include=include, exclude=exclude, callback=callback,
    )  # fmt: skip
    return evidence.solve(
        "sbl",
        lambda: update_and_polish(evidence, updates, most),
        extend=lambda: match_relevance(evidence),
    )


def update_and_polish(evidence: Evidence, updates: Updates, most: int) -> Stop:
    """Update all variances together, unless there is a model already, then one at a time."""
    if not (evidence.problem.is_zero or evidence.has_features):
        update_all(evidence, updates, most)
        evidence.merge_copies()  # copies have shared a γ until now: the first one takes it
    return match_relevance(evidence)
