"""Fast marginal likelihood maximisation (Tipping and Faul 2003), steepest ascent."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.algorithms.rmp import match_relevance
from sparsewise.engine.bayes.evidence import Evidence
from sparsewise.engine.bayes.noise import NoisePrior
from sparsewise.engine.bayes.noise_inference import begin
from sparsewise.engine.log import Callback
from sparsewise.engine.stopping import up_to
from sparsewise.problem.targets import Targets
from sparsewise.results import BayesianSolution, Stop


@algorithm(
    Family.BAYESIAN, "tables where the order of steps matters to rmp", result=BayesianSolution
)
def fast_sbl(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sigma: float | None = None,
    min_increase: float = 1e-6,
    price: float = 0.0,
    noise_prior: NoisePrior | None = None,
    noise_floor: float = 0.0,
    max_iter: int | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> BayesianSolution:
    """Sparse Bayesian Learning, one prior variance at a time: the one that gains most.

    The model and its evidence are those of `rmp`. Each step adds, deletes or re-estimates the
    column whose best γ raises the log evidence most, and costs one pass over A.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    sigma : float, optional
        Standard deviation of the noise. None: inferred as in `rmp`.
    min_increase : float
        Stop when no addition or re-estimation raises the log evidence by more than this.
    price : float
        What a feature must raise the log evidence by to be in the model.
    noise_prior : (shape, scale), optional
        Inverse-gamma prior on σ², if σ is inferred.
    noise_floor : float
        Smallest σ if inferred, relative to the target's size (see `rmp`).
    max_iter : int, optional
        Most steps; None: no limit.
    include : iterable of int
        Columns that must be in the model; their coefficients have a flat prior.
    exclude : iterable of int
        Columns that must not be in the model.
    callback : callable, optional
        Called with every `Step`; returning True stops.

    Returns
    -------
    BayesianSolution
        Posterior mean as ``coef``, with ``gamma``, ``sigma``, ``covariance`` and
        ``log_evidence``.

    References
    ----------
    M. E. Tipping, A. C. Faul: Fast marginal likelihood maximisation for sparse Bayesian models.
    AISTATS 2003.
    """
    steps = up_to(max_iter, "max_iter")
    evidence = begin(
        A, y, match_relevance, way=lambda one: climb(one, count()), sigma=sigma, price=price,
        min_increase=min_increase, noise_prior=noise_prior, noise_floor=noise_floor,
        include=include, exclude=exclude, callback=callback,
    )  # fmt: skip
    return evidence.solve("fast_sbl", lambda: climb(evidence, steps))


def climb(evidence: Evidence, steps: Iterable[int]) -> Stop:
    """Take the steepest steps up the evidence; return why they ended."""
    before = evidence.worth
    for step in steps:
        if step % 100 == 99:  # rounding may cause a cycle
            if not evidence.rose_above(before):
                return Stop.EVIDENCE
            before = evidence.worth
        if not (evidence.ascend() or evidence.merge_copies()):
            return Stop.EVIDENCE
    return Stop.MAX_ITER
