"""Tails of truncated normal and beta distributions, with all their digits far out.

Nothing is a difference of probabilities near one, nor a quotient of two that underflow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaln, erf, erfcx, log1p, ndtr, roots_laguerre

from sparsewise._typing import Array

ROOT2 = math.sqrt(2.0)

UNDERFLOW = 1e-290
"""Probabilities below this are computed by their logarithms."""

NODES = 16
"""Of Gauss-Laguerre quadrature: see `log_beta_cdf`."""

FARTHEST = 2.0**52
"""Standard deviations beyond which a limit of an interval counts as infinite: 1/eps."""


def normal_tail(t: float, down: float, up: float) -> float:
    """P(Z >= t | t - down <= Z <= t + up) for a standard normal Z; 1 where nothing else is left.

    The distances of t from the limits are given, rather than these: they may be much smaller.
    """
    low, high = t - down, t + up
    if high <= 0:
        return 1.0 - normal_tail(-t, up, down) if down > 0 or up > 0 else 1.0
    if low < 0:
        return _between(t, high) / (_between(low, t) + _between(t, high))
    # With sf(x) = exp(-x²/2) erfcx(x/√2)/2 squares are never subtracted.
    from_low = _log_ratio(low, t, down)
    to_high = _log_ratio(t, high, up)
    mass = -math.expm1(from_low + to_high)
    return math.exp(from_low) * ((0.0 - math.expm1(to_high)) / mass) if mass > 0 else 1.0


def _log_ratio(a: float, b: float, distance: float) -> float:
    """log of sf(b)/sf(a) for 0 <= a <= b = a + distance."""
    if distance == math.inf:
        return -math.inf
    ratio = math.log(float(erfcx(b / ROOT2)) / float(erfcx(a / ROOT2)))
    return min(ratio - distance * (a + b) / 2, 0.0)


def _between(a: float, b: float) -> float:
    """P(a <= Z <= b)."""
    if a > 0:
        return float(ndtr(-a) - ndtr(-b))
    if b < 0:
        return float(ndtr(b) - ndtr(a))
    return float(erf(b / ROOT2) - erf(a / ROOT2)) / 2


def normal_interval(t: float, down: float, up: float, level: float) -> tuple[float, float]:
    """Means of Z for which neither tail of t, given t - down <= Z <= t + up, is too small.

    A confidence interval with equal tails: the tail grows with the mean. A limit that lies farther
    away than `FARTHEST` is infinite; where t is at its limit but for rounding, both are.
    """
    alpha = (1 - level) / 2
    low, high = _mean_for(t, down, up, alpha, -1.0), _mean_for(t, down, up, 1 - alpha, 1.0)
    return (low, high) if low < high else (-math.inf, math.inf)


def _mean_for(t: float, down: float, up: float, tail: float, side: float) -> float:
    """The mean with P(Z >= t) = tail, sought on this side of t first."""

    def above(mean: float) -> float:
        return normal_tail(t - mean, down, up) - tail

    step, near = 1.0, t
    if above(near) * side > 0:  # the limit lies on the other side of t
        side = -side
    while above(t + side * step) * side < 0:
        near, step = t + side * step, 2 * step
        if step > FARTHEST:
            return side * math.inf
    return float(brentq(above, near, t + side * step, xtol=1e-12 * (1 + step)))


def log_beta_cdf(x: Array, a: float) -> Array:
    """log I_x(a, 1/2), where I_x may underflow.

    I_x B(a, 1/2) = x^a/a ∫ e^-v (1 - x e^(-v/a))^(-1/2) dv, v from 0 to infinity. Where I_x
    underflows, the nearest singularity is hundreds of units away, and Gauss-Laguerre quadrature is
    exact to rounding.
    """
    with np.errstate(divide="ignore"):
        plain = betainc(a, 0.5, x)
        out = np.log(plain)
        small = (plain < UNDERFLOW) & (x > 0)
        if small.any():
            v, weights = roots_laguerre(NODES)
            inside = 1 / np.sqrt(-np.expm1(np.log(x[small])[:, None] - v / a))
            out[small] = a * np.log(x[small]) - math.log(a) - betaln(a, 0.5)
            out[small] += np.log(inside @ weights)
    return np.asarray(out)


def log_arc_mass(low: Array, high: Array, df: int) -> Array:
    """log of the probabilities of arcs of a half circle, each between two half angles.

    The angle ψ from 0 to π/2 has a density proportional to sin(ψ)^(df-1), so that sin² ψ is
    Beta(df/2, 1/2), and cot ψ √df is |T| with df degrees of freedom. Arcs are given by tan(ψ/2).
    """
    sin_low, sin_high = _sine(low), _sine(high)
    cdf_low, cdf_high = (log_beta_cdf(s * s, df / 2) for s in (sin_low, sin_high))
    sf_low, sf_high = (betainc(0.5, df / 2, _cosine(w) ** 2) for w in (low, high))
    with np.errstate(divide="ignore", invalid="ignore"):
        by_cdf = cdf_high + np.log(-np.expm1(np.minimum(cdf_low - cdf_high, 0.0)))
        by_sf = np.log(np.maximum(sf_low - sf_high, 0.0))
    mass = np.where(sf_low < 0.5, by_sf, by_cdf)
    return np.where(high > low, mass, -np.inf)


def log_t_tail(w: float, df: int) -> float:
    """log P(|T| >= √df cot ψ), w = tan(ψ/2)."""
    return float(log_beta_cdf(np.array([_sine(w) ** 2]), df / 2)[0])


def _sine(w: Any) -> Any:
    return 2 * w / (1 + w * w)


def _cosine(w: Any) -> Any:
    return (1 - w) * (1 + w) / (1 + w * w)


def arc_tail(w: float, low: Array, high: Array, df: int) -> float:
    """P(ψ <= the angle of w | ψ in one of these arcs); 1 where nothing is left of these.

    Arcs are disjoint, and one of them has w in it, perhaps as an end.
    """
    whole = log_arc_mass(low, high, df)
    part = log_arc_mass(np.minimum(low, w), np.minimum(high, w), df)
    top = whole.max(initial=-np.inf)
    if top == -np.inf:
        return 1.0
    return float(min(np.exp(part - top).sum() / np.exp(whole - top).sum(), 1.0))


def log_of_rest(p: Array) -> Array:
    """-log(1 - p); infinite for p = 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(-log1p(-p))
