"""Forward steps and their selection event, from scratch: every inequality is a row of a matrix."""

import math

import numpy as np
from scipy.special import erfc


def unit_remainders(A, chosen):
    """Unit columns without what the chosen ones explain; zeros where nothing is left."""
    unit = A / np.linalg.norm(A, axis=0)
    Q = np.linalg.qr(unit[:, chosen])[0] if chosen else np.zeros((len(A), 0))
    Z = unit - Q @ (Q.T @ unit)
    Z -= Q @ (Q.T @ Z)
    norms = np.linalg.norm(Z, axis=0)
    gone = norms < 1e-7
    gone[chosen] = True
    return np.where(gone, 0.0, Z / np.where(gone, 1.0, norms))


def forward_path(A, y, steps):
    """Columns and signs of each step, and the rows g of the event g·y >= 0 up to each step."""
    chosen, signs, rows, events = [], [], [], []
    for _ in range(steps):
        Z = unit_remainders(A, chosen)
        corr = Z.T @ y
        j = int(np.argmax(np.abs(corr)))
        sign = math.copysign(1.0, corr[j])
        others = [i for i in range(A.shape[1]) if i != j and Z[:, i].any()]
        rows += [sign * Z[:, j] - s * Z[:, i] for i in others for s in (1, -1)] + [sign * Z[:, j]]
        chosen.append(j)
        signs.append(sign)
        events.append(np.array(rows))
    return chosen, signs, events


def takes_path(A, Y, chosen, signs):
    """For each column of Y whether forward steps choose these columns with these signs."""
    same = np.ones(Y.shape[1], bool)
    for k, (j, sign) in enumerate(zip(chosen, signs, strict=True)):
        corr = unit_remainders(A, chosen[:k]).T @ Y
        same &= (np.argmax(np.abs(corr), axis=0) == j) & (np.sign(corr[j]) == sign)
    return same


def direction(A, chosen, signs):
    """The unit vector that the last step adds, times its sign."""
    return signs[-1] * unit_remainders(A, chosen[:-1])[:, chosen[-1]]


def limits(G, y, u):
    """Between which values u·y may be, the rest of y being as it is: the polyhedral lemma."""
    slope, rest = G @ u, G @ (y - u * (u @ y))
    low = max((-r / s for r, s in zip(rest, slope, strict=True) if s > 1e-12), default=-math.inf)
    high = min((-r / s for r, s in zip(rest, slope, strict=True) if s < -1e-12), default=math.inf)
    return low, high


def normal_p_value(low, t, high):
    """P(Z >= t | low <= Z <= high)."""
    above = [float(erfc(x / math.sqrt(2))) for x in (low, t, high)]
    return (above[1] - above[2]) / (above[0] - above[2])


def circle(A, y, chosen, u):
    """P y, the norm of y - P y, and its direction outside u: P is of the model before u."""
    before = A[:, chosen[:-1]]
    fit = before @ np.linalg.lstsq(before, y, rcond=None)[0] if chosen[:-1] else 0 * y
    rest = y - fit
    outside = rest - u * (u @ rest)
    return fit, np.linalg.norm(rest), outside / np.linalg.norm(outside)


def t_p_value(G, y, u, fit, rho, v, df, points=10_001):
    """P(ψ <= ψ of y) on the part of the circle where G y >= 0: by grids, each within the last."""
    at = math.acos(min(u @ y / rho, 1.0))
    first, last = 0.0, math.pi / 2
    for _ in range(3):
        psi, step = np.linspace(first, last, points, retstep=True)
        inside = np.ones(points, bool)
        for g in G:
            inside &= g @ fit + rho * (g @ u * np.cos(psi) + g @ v * np.sin(psi)) >= 0
        where = np.append(psi[inside], at)
        first, last = max(where.min() - step, 0.0), min(where.max() + step, math.pi / 2)
    mass = np.where(inside, np.sin(psi) ** (df - 1), 0.0)
    return mass[psi <= at].sum() / mass.sum()
