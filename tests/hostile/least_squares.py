"""Least squares from scratch in extended precision, and what rounding may make of it.

All of it in unit columns and a unit target, as the theory is: a backward stable method solves a
problem whose columns and target are off by a few `part`s of their length, and so its answer may be
off by what such a perturbation does to the exact one (first order, Wedin 1973). With x, r the exact
solution and residual on some columns, and h_i the length of row i of their pseudo-inverse:

    x_i          part h_i (1 + |x|₁ + Σ_k h_k ‖r‖)
    U x          part (1 + |x|₁ + Σ_k h_k ‖r‖)
    ‖r‖          part (1 + |x|₁), rounding of x included
    √gain_j      part (1 + |x|₁ + (1 + |w_j|₁) √gain_j) / √energy_j, w_j: column j on the others

None of these grows with the coefficients that the library tells: garbage excuses nothing. Several
targets are columns of y, brought to unit norm together, and |x_i| is then the length of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.hostile.inputs import balanced

Array = NDArray[Any]

LONG = np.longdouble
#: Units of rounding: a method of some dozen steps makes a few of them at each.
PART = 256


def long(A: Array) -> Array:
    """The same numbers in extended precision."""
    return A.astype(np.clongdouble if A.dtype.kind == "c" else LONG)


def lengths(A: Array) -> Array:
    """The norms of the columns (of balanced numbers)."""
    return np.sqrt(np.sum(A.real * A.real + A.imag * A.imag, axis=0))


def sizes(rows: Array) -> Array:
    """|·| of numbers, or of rows of them: one for each target."""
    return np.abs(rows) if rows.ndim == 1 else lengths(rows.T)


def norm(v: Array) -> Array:
    """The length of a vector, or of all targets together (of balanced numbers)."""
    return lengths(v.reshape(-1, 1))[0]


class Gains(NamedTuple):
    """What each column adds to a fit: √gain and its error, energy, and Σh² with the column."""

    root: Array
    slack: Array
    energy: Array
    frailty: Array


class Fit:
    """Least squares on some columns U_S x, perhaps damped: rows diag(d) stand below U_S."""

    def __init__(self, U: Array, y: Array, S: Sequence[int], part: float, d: Array | None) -> None:
        self.S, self.part = list(S), part
        n, k = len(y), len(self.S)
        V = np.vstack([U[:, self.S], np.diag(np.zeros(k) if d is None else d)])
        self.Q, self.R = orthonormalised(V)
        target = np.concatenate([y, np.zeros((k, *y.shape[1:]), y.dtype)])
        self.inverse = inverse_of(self.R)
        t = self.Q.conj().T @ target
        rest = target - self.Q @ t
        more = self.Q.conj().T @ rest  # once more, so that r is orthogonal to every digit
        self.rest = rest - self.Q @ more
        self.x = self.inverse @ (t + more)
        self.r = y - U[:, self.S] @ self.x
        self.norm = float(norm(self.rest))
        self.h = np.sqrt(np.sum(np.abs(self.inverse) ** 2, axis=1)).astype(float)
        self.size = 1 + float(sizes(self.x).sum())
        #: How well the columns tell their coefficients: 1 is best.
        self.condition = 1 + float(self.h.sum())
        self._rows = n

    @property
    def residual_slack(self) -> float:
        return self.part * self.size

    @property
    def fitted_slack(self) -> float:
        return self.part * (self.size + self.condition * self.norm)

    @property
    def coef_slack(self) -> Array:
        return self.h * self.fitted_slack

    def gains(self, U: Array) -> Gains:
        """Of every column of U, given the columns of this fit."""
        padded = np.vstack([U, np.zeros((len(self.S), U.shape[1]), U.dtype)])
        W = self.Q.conj().T @ padded
        D = padded - self.Q @ W
        more = self.Q.conj().T @ D
        D = D - self.Q @ more
        w = self.inverse @ (W + more)
        energy = np.square(lengths(D))
        length = np.sqrt(np.maximum(energy, 1e-40))
        root = sizes(D.conj().T @ self.rest) / length
        slack = self.part * (self.size + (1 + np.abs(w).sum(axis=0)) * root) / length
        more = (1 + np.sum(np.abs(w) ** 2, axis=0)) / np.square(length)
        frailty = np.sum(np.square(self.h)) + more
        return Gains(*(a.astype(float) for a in (root, slack, energy, frailty)))

    def losses(self) -> tuple[Array, Array]:
        """√ of what dropping each column costs, and the errors of that."""
        h = np.maximum(self.h, 1e-300)
        root = sizes(self.x).astype(float) / h
        # Column i has 1/h_i² of energy beside the others, and |w|₁ of them is at most Σ h/h_i ...
        slack = self.part * h * (self.size + (1 + self.h.sum() / h) * root)
        return root, slack


def orthonormalised(V: Array) -> tuple[Array, Array]:
    """Q and R by Gram-Schmidt, each column twice; a dependent one has a zero column in Q."""
    k = V.shape[1]
    Q, R = V.copy(), np.zeros((k, k), V.dtype)
    for j in range(k):
        before = lengths(Q[:, j : j + 1])[0]
        for _ in range(2):
            w = Q[:, :j].conj().T @ Q[:, j]
            Q[:, j] -= Q[:, :j] @ w
            R[:j, j] += w
        length = lengths(Q[:, j : j + 1])[0]
        if length <= 1e-17 * before:  # rounding, or nothing at all
            Q[:, j], R[j, j] = 0, 0
        else:
            Q[:, j] /= length
            R[j, j] = length
    return Q, R


def inverse_of(R: Array) -> Array:
    """R⁻¹ of a triangle; zero in the rows and columns of a zero on its diagonal."""
    k = len(R)
    inverse = np.zeros_like(R)
    for j in range(k):
        if R[j, j] == 0:
            continue
        inverse[j, j] = 1 / R[j, j]
        inverse[:j, j] = -(inverse[:j, :j] @ R[:j, j]) / R[j, j]
    return inverse


class Exact:
    """A matrix and a target in unit columns and a unit target, in extended precision.

    Parameters
    ----------
    A, y : ndarray
        The data; A in the type that the library works in. y may have several targets for columns.
    weights : ndarray, optional
        What their residuals are multiplied by; 1/‖y_t‖ unless given.

    Attributes
    ----------
    norm, power
        The unit of residuals is norm·2^power: ‖y‖, or the root mean square of the units that equal
        noise has in several targets.
    each : ndarray
        What each target is divided by (one target: that unit).
    """

    def __init__(self, A: Array, y: Array, weights: Array | None = None) -> None:
        limits = np.finfo(A.dtype)
        B, self.powers = balanced(A)
        B = long(B)
        # A column below the smallest normal number counts as zero.
        none = np.ldexp(lengths(B), self.powers) <= 4 * LONG(limits.tiny)
        B[:, none] = 0
        self.norms = lengths(B)
        self.U = B / np.where(self.norms > 0, self.norms, 1)
        z, powers = balanced(y if y.ndim > 1 else y[:, None])
        norms = np.ldexp(lengths(long(z)), powers)
        self.is_zero = not norms.any()
        self.heard = norms > 0
        self.each, scale = units(norms, weights) if y.ndim > 1 else (norms, norms[0])
        self.each = np.where(self.heard, self.each, 1)
        self.norm, self.power = np.frexp(scale)
        self.power = int(self.power)
        self.y = (np.ldexp(LONG(1), powers) / self.each * long(z)).reshape(y.shape)
        self.eps = float(limits.eps)
        self.part = PART * self.eps
        # Numbers below the smallest normal one have lost digits: so much of ‖a_j‖/‖y‖ each.
        step = np.ldexp(LONG(1), limits.minexp - limits.nmant)
        quietest = LONG(1) if self.is_zero else self.each[self.heard].min()
        self.lost = np.ldexp(self.norms, self.powers) * (step / quietest) * (not self.is_zero)

    def fit(self, S: Sequence[int], d: Array | None = None) -> Fit:
        """Least squares on these columns."""
        return Fit(self.U, self.y, S, self.part, d)

    def denormal_slack(self, S: Sequence[int]) -> float:
        """What is left of a residual where coefficients, or it itself, have lost their digits."""
        own = 0.0 if self.is_zero else float(np.ldexp(LONG(1), -1074 - self.power) / self.norm)
        return float(self.lost[list(S)].sum()) + 2 * own

    def relative(self, value: float) -> float:
        """A number in the units of y, for a unit target."""
        if self.is_zero:
            return float(value)
        mantissa, exponent = np.frexp(LONG(value))
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(mantissa / self.norm, exponent - self.power))

    def unit_coef(self, coef: Array, S: Sequence[int]) -> Array:
        """The coefficients of these columns, for unit columns and a unit target."""
        values = long(np.asarray(coef)[list(S)])
        norms = np.ldexp(self.norms[list(S)], self.powers[list(S)])
        rows = (values.T * norms).T.reshape(norms.size, self.each.size)
        return (rows / self.each).reshape(values.shape)

    def residual(self, coef: Array, S: Sequence[int]) -> float:
        """‖y - A x‖ of these coefficients, for a unit target."""
        r = self.y - self.U[:, list(S)] @ self.unit_coef(coef, S)
        return float(norm(r))


def units(norms: Array, weights: Array | None) -> tuple[Array, Array]:
    """What each target is divided by to have unit norm together, and the unit of residuals."""
    heard = norms > 0
    w = np.divide(1, norms, out=np.ones_like(norms), where=heard)
    w = w if weights is None else weights.astype(LONG)
    each = np.sqrt(np.sum(np.square(w * norms))) / w
    count = max(np.count_nonzero(heard), 1)
    return each, np.sqrt(np.sum(np.square(each[heard]))) / count
