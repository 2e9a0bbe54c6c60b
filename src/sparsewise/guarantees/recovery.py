"""Noise bounds under which forward and backward algorithms recover (sections 4.2 and 4.3)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.parameters import check_number, check_positive, check_tolerance, check_whole
from sparsewise.design import Design, as_design
from sparsewise.design.unit_columns import precise_unit_columns
from sparsewise.guarantees.dictionary import babel_or_zero

MOST_COLUMNS = 1 << 53
"""Above this, floats can't represent all integers; no matrix has as many columns."""


class ForwardBound(NamedTuple):
    """The largest ‖ε‖ under which recovery is guaranteed; 0 if there is no guarantee.

    Attributes
    ----------
    bound : float
        By Thm. 4.4.
    older : float
        By the earlier bound that Thm. 4.4 improves on, lower by a factor of up to √2.
    """

    bound: float
    older: float


class BackwardBound(NamedTuple):
    """The largest ‖ε‖ under which recovery is guaranteed; 0 if there is no guarantee.

    Attributes
    ----------
    bound : float
        By Thm. 4.6, from the smallest singular value.
    by_babel : float
        By Cor. 4.7, from the Babel function: never larger.
    """

    bound: float
    by_babel: float


def forward_noise_bound(A: Any, k: int, min_abs: float = 1.0) -> ForwardBound:
    """The noise under which OMP and Forward Regression recover any k-sparse x (Thm. 4.4).

    If ‖ε‖ < (1 - 2μ₁(k)) / √(2(1 + μ₁(k))) · min|x_i|, both find the support of x from
    y = A x + ε in k steps. (The paper allows equality, where there can be a tie.) There is no
    guarantee unless μ₁(k) < 1/2, which is needed even without noise.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The dictionary; columns are scaled to unit norm first.
    k : int
        Number of non-zero coefficients.
    min_abs : float
        The smallest of them, for unit columns: |x_i| ‖a_i‖ in the units of A.

    Returns
    -------
    ForwardBound
        ``older`` is (1 - 2μ₁(k))/2 · min|x_i|, of Bruckstein et al. (2009) and Cai and Wang (2011).
    """
    least = check_positive(min_abs, "min_abs")
    mu = _babel_at(as_design(A), k)
    margin = max(1 - 2 * mu, 0.0) * least
    return ForwardBound(margin / math.sqrt(2 * (1 + mu)), margin / 2)


class RecoveryProbability(NamedTuple):
    """Lower bounds on the probability that OMP and Forward Regression recover the support.

    Attributes
    ----------
    bound : float
        erf(δ/√2)^m, proved in docs/guarantees.md; for complex noise (1 - e^(-δ²))^m.
    theorem, theorem_simple : float
        The two bounds of Thm. 4.5 as printed, for comparison only: they exceed the true probability
        for k >= 2 (see `recovery_probability`).
    older : float
        1 - 2m e^(-δ²/2)/δ, of Ben-Haim et al. (2010) and Cai and Wang (2011).
    """

    bound: float
    theorem: float
    theorem_simple: float
    older: float


def forward_recovery_probability(
    A: Any, k: int, min_abs: float, sigma: float
) -> RecoveryProbability:
    """The probability with which OMP and Forward Regression recover under Gaussian noise.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The dictionary; columns are scaled to unit norm first.
    k : int
        Number of non-zero coefficients.
    min_abs : float
        The smallest of them, for unit columns: |x_i| ‖a_i‖ in the units of A.
    sigma : float
        Standard deviation of the noise in each row, E|ε_i|² = σ²; with a complex A the noise is
        complex and circular.

    Returns
    -------
    RecoveryProbability
        The result of `recovery_probability` with μ₁(k) and μ₁(2k) of A.
    """
    design = as_design(A)
    m = design.shape[1]
    least, noise = check_positive(min_abs, "min_abs"), check_positive(sigma, "sigma")
    count = check_whole(k, "k", 1, m)
    mu = babel_or_zero(design, 2 * count)
    at_k, at_2k = float(mu[min(count, mu.size) - 1]), float(mu[-1])
    delta = (0.5 - at_k) * least / noise
    return recovery_probability(m, count, delta, at_k, at_2k, circular=design.dtype.kind == "c")


def recovery_probability(
    m: int,
    k: int,
    delta: float,
    mu_k: float = 0.0,
    mu_2k: float = 0.0,
    *,
    circular: bool = False,
) -> RecoveryProbability:
    """The probability of recovery from m, k, δ and the Babel function of a dictionary.

    With δ = (1/2 - μ₁(k)) min|x_i| / σ, recovery is certain if no |a_j*ε| reaches δσ, which
    has a probability of at least erf(δ/√2)^m by Šidák's inequality.

    Thm. 4.5 claims more: that at most ⌈m/k⌉ ((1 + κ₁)/(1 - μ₁(2k)))^(k/2)
    (1 - erf(δ/√(2κ₁)))^k and, for μ₁(2k) < 1/2, ⌈m/k⌉ (4/(√π δ) e^(-δ²/6))^k fail, with
    κ₁ = (1 + μ₁(2k))/(1 - μ₁(k)). The power k belongs to the event that all k inner
    products of a group are large, but recovery can fail when one of them is. With orthonormal
    columns, m = 16, k = 8 and δ = 2, the first bound claims fewer failures than one in a billion;
    in fact one run in six fails.

    Parameters
    ----------
    m : int
        Number of columns.
    k : int
        Number of non-zero coefficients.
    delta : float
        δ; there is no guarantee unless it is positive.
    mu_k, mu_2k : float
        μ₁(k) and μ₁(2k); 0 for orthonormal columns.
    circular : bool
        Whether the noise is complex and circular.
    """
    m = check_whole(m, "m", 1, MOST_COLUMNS)
    k = check_whole(k, "k", 1, m)
    check_tolerance(mu_k, "mu_k")
    check_tolerance(mu_2k, "mu_2k")
    if not check_number(delta, "delta") > 0:
        return RecoveryProbability(0.0, 0.0, 0.0, 0.0)
    from scipy.special import erfc, log_ndtr

    # log(1 - erf(z/√2)) = log 2 + log Φ(-z), accurate in the far tail.
    def log_tail(z: float) -> float:
        return math.log(2) + float(log_ndtr(-z))

    groups = math.log(math.ceil(m / k))
    theorem = simple = 0.0
    if max(mu_k, mu_2k) < 1:
        kappa = (1 + mu_2k) / (1 - mu_k)
        stretch = k / 2 * math.log((1 + kappa) / (1 - mu_2k))
        theorem = _survival(groups + stretch + k * log_tail(delta / math.sqrt(kappa)))
    log_delta, square = math.log(delta), delta * delta
    if mu_2k < 0.5:
        each = math.log(4 / math.sqrt(math.pi)) - log_delta - square / 6
        simple = _survival(groups + k * each)
    older = _survival(math.log(2 * m) - log_delta - square / 2)
    tail = math.exp(-square) if circular else float(erfc(delta / math.sqrt(2)))
    bound = math.exp(m * math.log1p(-tail)) if tail < 1 else 0.0
    return RecoveryProbability(bound, theorem, simple, older)


def orthonormal_recovery_probability(m: int, k: int, delta: float) -> float:
    """The exact probability for orthonormal columns and equal coefficients 2δσ.

    OMP and Forward Regression recover if all |x_i + ε_i| on the support exceed the largest |ε_j|
    outside: ∫ P(|2δ + z| > u)^k dP(max |z_j| <= u), over m - k independent normal z_j.
    """
    m = check_whole(m, "m", 1, MOST_COLUMNS)
    k = check_whole(k, "k", 1, m)
    if k == m:
        return 1.0
    from scipy.special import erf, ndtr

    # Probabilities that the largest |z_j| lies between neighbouring points of a fine grid.
    u = np.linspace(0, 2 * delta + 10, 4001)
    steps = np.diff(erf(u / math.sqrt(2)) ** (m - k))
    middle = (u[1:] + u[:-1]) / 2
    above = ndtr(2 * delta - middle) + ndtr(-2 * delta - middle)
    return float(steps @ above**k)


def backward_noise_bound(A: Any, min_abs: float = 1.0) -> BackwardBound:
    """The noise under which Backward Regression recovers any sparse x (Thm. 4.6).

    If A has full column rank and ‖ε‖ < s/√(2(2 - s²)) · min|x_i|, s being the smallest singular
    value of A with unit columns, dropping columns one by one until k are left finds the support of
    every k-sparse x from y = A x + ε, whatever k.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        All columns that Backward Regression starts from; scaled to unit norm first.
    min_abs : float
        The smallest non-zero coefficient, for unit columns: |x_i| ‖a_i‖ in the units of A.

    Returns
    -------
    BackwardBound
        ``by_babel`` is √((1 - μ₁)/(2(1 + μ₁))) · min|x_i| with μ₁ = μ₁(m - 1): 1 - μ₁ is a lower
        bound of s².
    """
    design = as_design(A)
    least = check_positive(min_abs, "min_abs")
    m = design.shape[1]
    mu = float(babel_or_zero(design, m)[-1])
    smallest, _ = extreme_singular_values(design)
    if not design.inverse_norms().all():
        mu = 1.0  # a column of zeros is dependent, though its inner products are 0
    bound = separation(smallest**2)
    # Sums of rounded inner products may fall short of 1 where columns are dependent.
    by_babel = min(separation(1 - mu), bound)
    return BackwardBound(least * bound, least * by_babel)


def separation(squared: float) -> float:
    """s/√(2(2 - s²)), the factor of Thm. 4.6, for s² in [0, 1]; 0 below."""
    squared = min(squared, 1.0)
    return math.sqrt(squared / (2 * (2 - squared))) if squared > 0 else 0.0


def extreme_singular_values(design: Design, columns: Array | None = None) -> tuple[float, float]:
    """The smallest and the largest singular value of unit columns: all of A, or these.

    The smallest is 0 if there are more columns than rows, or it is rounding error.
    """
    J = np.arange(design.shape[1]) if columns is None else columns
    m = J.size
    R = np.linalg.qr(precise_unit_columns(design, J), mode="r")
    values = np.linalg.svd(R, compute_uv=False)
    smallest, largest = float(values[-1]), float(values[0])
    rounding = design.tolerances.eps * m * largest
    return max(smallest - rounding, 0.0) if len(R) == m else 0.0, largest + rounding


def _babel_at(design: Design, k: int) -> float:
    """μ₁(k), or μ₁(m - 1) if k = m."""
    count = check_whole(k, "k", 1, design.shape[1])
    return float(babel_or_zero(design, count)[-1])


def _survival(log_failure: float) -> float:
    """1 - exp(log_failure), at least 0."""
    return -math.expm1(log_failure) if log_failure < 0 else 0.0
