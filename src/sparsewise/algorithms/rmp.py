"""Relevance Matching Pursuit: RMP_σ (Algorithm 1)."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise._util.parameters import check_count
from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.bayes.evidence import Evidence
from sparsewise.engine.bayes.noise import NoisePrior
from sparsewise.engine.bayes.noise_inference import begin
from sparsewise.engine.log import Callback
from sparsewise.engine.stopping import up_to
from sparsewise.problem.targets import Targets
from sparsewise.results import BayesianSolution, Stop


@algorithm(
    Family.BAYESIAN,
    "any table: there is nothing to tune",
    result=BayesianSolution,
    meant_by=("price",),
)
def rmp(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sigma: float | None = None,
    min_increase: float = 1e-6,
    price: float = 0.0,
    noise_prior: NoisePrior | None = None,
    noise_floor: float = 0.0,
    max_outer: int | None = None,
    max_iter: int | None = None,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callback | None = None,
) -> BayesianSolution:
    """Sparse Bayesian Learning by matching pursuit: add, then delete or re-estimate; until stable.

    The model is y = A x + e with x_j ~ N(0, γ_j) and e ~ N(0, σ²I) (circular complex normal
    for complex data). γ maximises the evidence p(y | γ, σ), with most γ_j zero. Columns are added
    by arg max |⟨φ̃, r⟩| until none exceeds σ, each with its best γ; then those at or below σ are
    deleted, and γ is re-estimated where that raises the evidence most. Every step raises the
    evidence. As σ → 0 this is `rmp0` with δ → 0 (section 3.3 of the paper).

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    sigma : float, optional
        Standard deviation of the noise. None: inferred together with a model in which each feature
        pays log m for having been chosen among m (otherwise σ would fall to zero for m >= n). A
        search from a few starts finds the initial model (see `solve`); from there γ and σ² are
        re-estimated in turn, and the result is no worse than the best model met, or the empty one.
        Steps of that search don't count.
    min_increase : float
        A prior variance is re-estimated if that raises the log evidence by more than this. The
        default takes a third more time than the paper's 1e-2, but ends at a maximum: with 1e-2
        the evidence was lower by up to 25, and supports were missed.
    price : float
        What a feature must raise the log evidence by to be in the model. 0 is the paper;
        log m stands for a uniform prior on which of m features it is, and gives sparser models.
    noise_prior : (shape, scale), optional
        Inverse-gamma prior on σ², if σ is inferred: equivalent to 2·shape more rows with a sum of
        squares of 2·scale.
    noise_floor : float
        Smallest σ if inferred, relative to the target's size: with 0.03, anything below 3 % of it
        counts as noise. For nearly exact data whose errors are not white (those of derivatives by
        differences are smooth, say), so that ever more features fit them.
    max_outer : int, optional
        Most rounds; None: until stable.
    max_iter : int, optional
        Most steps in all; None: no limit.
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
        ``log_evidence``. An inferred ``sigma`` is no smaller than at a price of log m: at a lower
        price, ``log_evidence`` need not be the maximum over σ, which may be at zero.
    """
    steps = check_count(max_iter, "max_iter", 1)
    evidence = begin(
        A, y, match_relevance, sigma=sigma, price=price, min_increase=min_increase,
        noise_prior=noise_prior, noise_floor=noise_floor, include=include, exclude=exclude,
        callback=callback,
    )  # fmt: skip
    return evidence.solve("rmp", lambda: match_relevance(evidence, max_outer, steps))


def match_relevance(
    evidence: Evidence, max_outer: int | None = None, steps: int | None = None
) -> Stop:
    """Algorithm 1 from the current model; return why it ended."""
    left = sys.maxsize if steps is None else steps
    merged = False
    for _ in up_to(max_outer, "max_outer"):
        before = evidence.worth
        left -= evidence.acquire(left)
        # Rounding may cause a cycle in a long stage: check for progress after each round.
        left -= evidence.revise(min(left, 100 + 100 * evidence.size))
        if left == 0:
            return Stop.MAX_ITER
        if evidence.rose_above(before):
            merged = False
            continue
        copies = evidence.merge_copies()
        if merged or not copies:  # a merged column may gain, but its copies return only once
            return Stop.EVIDENCE
        merged = True
    return Stop.MAX_OUTER
