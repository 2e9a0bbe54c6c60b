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
    "any table: there is nothing to be set",
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
    for complex data), and γ is to maximise the evidence p(y | γ, σ), most γ_j being zero. Columns
    are added by arg max |⟨φ̃, r⟩| until none exceeds σ, each with its best γ; then those at or
    below σ are deleted, and γ is re-estimated where that raises the evidence most. Each step
    raises it. As σ → 0 this is `rmp0` with δ → 0 (section 3.3 of the paper).

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that are to share their columns: see `Targets`.
    sigma : float, optional
        Standard deviation of the noise. None: inferred together with a model, each feature paying
        log m for having been chosen among m (otherwise σ would fall to zero for m >= n). A search
        from a few starts finds where to begin (see `solve`); from there γ and σ² are re-estimated
        in turn, and what is returned is worth no less than the best model met, or the empty one.
        Steps of that search don't count.
    min_increase : float
        A prior variance is re-estimated if that raises the log evidence by more than this. The
        default costs a third more time than the 1e-2 of the paper, and ends at a maximum: there
        the evidence was lower by up to 25, and supports were missed.
    price : float
        What a feature must raise the log evidence by to be in the model. 0 is the paper;
        log m stands for a uniform prior on which of m features it is, and gives sparser models.
    noise_prior : (shape, scale), optional
        Inverse-gamma prior on σ², where σ is inferred: as if 2·shape more rows had been seen
        with a sum of squares of 2·scale.
    noise_floor : float
        Least σ where it is inferred, as a part of the target's size: 0.03 takes what explains less
        than 3 % of it for noise. For nearly exact data with errors that are no white noise (of
        derivatives by differences, say, they are smooth), which ever more features fit.
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
        ``log_evidence``.
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
    """Algorithm 1 from wherever the model is; the reason for which it ended."""
    left = sys.maxsize if steps is None else steps
    merged = False
    for _ in up_to(max_outer, "max_outer"):
        before = evidence.worth
        left -= evidence.acquire(left)
        # A long stage may go in circles of rounding: each round tells whether it gets anywhere.
        left -= evidence.revise(min(left, 100 + 100 * evidence.size))
        if left == 0:
            return Stop.MAX_ITER
        if evidence.rose_above(before):
            merged = False
            continue
        copies = evidence.merge_copies()
        if merged or not copies:  # a merged column may gain, but its copies come back only once
            return Stop.EVIDENCE
        merged = True
    return Stop.MAX_OUTER
