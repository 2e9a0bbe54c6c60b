"""Oracles of Sparse Bayesian Learning: posterior and evidence of the variances that are told.

With d_i² = σ²/γ_i the posterior mean is the least-squares solution of [A_S; D] x = [y; 0], and its
covariance σ² R⁻¹R⁻*, R being the triangle of that matrix: all in extended precision.
"""

from __future__ import annotations

import math

import numpy as np

from sparsewise import BayesianSolution, Stop
from tests.hostile.calls import Call
from tests.hostile.campaign import oracle
from tests.hostile.least_squares import LONG, Fit, long, sizes
from tests.hostile.solutions import candidates

#: Where columns tell their coefficients worse than this, the evidence is not judged.
WELL_TOLD = 1e5
#: Noise below this part of the target is not judged by its evidence either.
AUDIBLE = 1e-5


def is_judged(call: Call, fit: Fit) -> bool:
    return fit.condition < WELL_TOLD and not call.exact.is_zero


def damped(call: Call, solution: BayesianSolution) -> tuple[Fit, np.ndarray]:
    """The least-squares problem of the posterior mean, and d."""
    exact, S = call.exact, solution.support.tolist()
    norms = np.ldexp(exact.norms[S], exact.powers[S])
    with np.errstate(divide="ignore"):
        d = LONG(solution.sigma) / (np.sqrt(solution.gamma[S].astype(LONG)) * norms)
    return exact.fit(S, d), d


def noises(call: Call, sigma: float) -> np.ndarray:
    """Standard deviation of the noise of each target, where it is σ in all of them together."""
    exact = call.exact
    if exact.y.ndim == 1:
        return np.array([LONG(sigma)])
    count = max(np.count_nonzero(exact.heard), 1)
    scale = np.ldexp(exact.norm, exact.power)
    return exact.heard * exact.each * (LONG(sigma) / (scale or 1)) / np.sqrt(LONG(count))


@oracle
def proper_prior(call: Call, solution: BayesianSolution) -> None:
    """Variances and noise are numbers; infinite for included columns, zero off the support."""
    gamma, S = solution.gamma, solution.support
    m, k = call.A.shape[1], solution.support.size
    assert gamma.shape == (m,), f"gamma of shape {gamma.shape}"
    assert not np.isnan(gamma).any(), f"gamma {gamma}"
    assert (gamma >= 0).all(), f"gamma {gamma}"
    assert np.array_equal(np.flatnonzero(gamma), S), "gamma is not zero just off the support"
    assert set(np.flatnonzero(np.isinf(gamma))) == set(call.columns("include")) & set(S.tolist())
    assert np.isfinite(solution.sigma), f"sigma {solution.sigma}"
    assert solution.sigma >= 0, f"sigma {solution.sigma}"
    given = call.words.get("sigma")
    assert given is None or abs(solution.sigma - given) <= 1e-12 * given + 1e-322, "another sigma"
    if solution.sigmas is not None:
        assert solution.sigmas.shape == call.y.shape[1:], f"sigmas {solution.sigmas}"
        off = np.abs(solution.sigmas.astype(LONG) - noises(call, solution.sigma))
        enough = 1e-12 * solution.sigmas + 1e-322
        assert (off <= enough).all() or call.exact.is_zero, f"sigmas {solution.sigmas}"
        assert solution.std.shape == solution.coef.shape, f"std of shape {solution.std.shape}"
        assert np.isfinite(solution.std).all(), "a standard deviation is not finite"
    assert solution.covariance.shape == (k, k), f"covariance of shape {solution.covariance.shape}"
    assert np.isfinite(solution.covariance).all(), "the covariance is not finite"
    assert not math.isnan(solution.log_evidence), "the log evidence is not a number"


@oracle
def posterior(call: Call, solution: BayesianSolution) -> None:
    """Mean and covariance are those of gamma and sigma."""
    exact, S = call.exact, solution.support.tolist()
    fit, _ = damped(call, solution)
    if not is_judged(call, fit) or not S:
        return
    off = sizes(exact.unit_coef(solution.coef, S) - fit.x).astype(float)
    slack = fit.coef_slack + exact.lost[S].astype(float)
    worst = int(np.argmax(off / slack))
    assert off[worst] <= slack[worst], (
        f"the mean of column {S[worst]} is off by {off[worst]:.3g}, "
        f"{off[worst] / slack[worst]:.3g} times enough"
    )
    covariance = fit.inverse @ fit.inverse.conj().T
    std = np.sqrt(np.diagonal(covariance).real)
    norms = np.ldexp(exact.norms[S], exact.powers[S]) / LONG(solution.sigma)
    stated = long(solution.covariance) * norms[:, None] * norms
    error = float(np.max(np.abs(stated - covariance) / np.outer(std, std)))
    enough = 2 * fit.part * fit.condition
    assert error <= enough, (
        f"the covariance is off by {error:.3g}, {error / enough:.3g} times enough"
    )


@oracle
def evidence(call: Call, solution: BayesianSolution) -> None:
    """The log evidence is that of gamma and sigma, and no single column would raise it further."""
    exact, S = call.exact, solution.support.tolist()
    fit, d = damped(call, solution)
    noise = exact.relative(solution.sigma)
    if not is_judged(call, fit) or noise < AUDIBLE or abs(exact.power) > 950:
        return
    is_complex = call.dtype.kind == "c"
    heard = exact.heard
    beta = (1.0 if is_complex else 0.5) * np.count_nonzero(heard)
    flat = [j for j, one in zip(S, d, strict=True) if one == 0]
    log_det = 2 * float(np.sum(np.log(np.abs(np.diagonal(fit.R)))) - np.sum(np.log(d[d > 0])))
    if flat:
        log_det -= 2 * float(np.sum(np.log(np.abs(np.diagonal(exact.fit(flat).R)))))
    rows = call.A.shape[0] - len(flat)
    constant = math.log(math.pi if is_complex else 2 * math.pi)
    constant += 2 * float(np.mean(np.log(noises(call, solution.sigma)[heard])))
    quadratic = (fit.norm / noise) ** 2
    value = -beta * (rows * constant + log_det + quadratic)
    rounding = 2 * fit.part * (fit.condition + fit.size * fit.norm / noise**2)
    rounding = rounding * np.count_nonzero(heard) + fit.part * abs(value)
    off = abs(value - solution.log_evidence)
    assert off <= rounding, f"log evidence {solution.log_evidence:.9g}, not {value:.9g}"
    if solution.stop is Stop.EVIDENCE:
        rise = possible_rise(call, solution, fit, noise, beta)
        enough = solution.min_increase + 1e-6 + rounding
        assert rise <= enough, f"a column more raises the log evidence by {rise:.3g}"


def possible_rise(
    call: Call, solution: BayesianSolution, fit: Fit, noise: float, beta: float
) -> float:
    """What the best column that is not in the model would add to log evidence less price."""
    gains = fit.gains(call.exact.U)
    root = np.maximum(gains.root - gains.slack, 0.0) / noise
    free = [j for j in candidates(call, fit.S) if gains.energy[j] > 1e-10]
    u = np.square(root[free])
    rises = np.where(u > 1, beta * (u - 1 - np.log(np.maximum(u, 1))) - solution.price, 0.0)
    return float(rises.max(initial=0.0))
