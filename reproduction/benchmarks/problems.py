"""The problems that the contenders solve: y = A x + e with a known sparse x; functions; tables.

Every column of A is centred and has unit norm, and e is centred, too. Peers that centre their
data (fastcan) or ask for unit columns (SPAMS) then solve the very same problem as the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reproduction.generators import SIGNALS, chain, decaying_factor, noise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Order = Literal["F", "C"]

NOISE = 5e-3  # norm of e, as in the paper's tables (half of delta)
DELTA = 1e-2  # the tolerance that goes with it
SIGMA = 1e-2  # and the noise that Sparse Bayesian Learning is told
PENALTY = 1e-2  # and the λ of ½‖A x - y‖² + λ Σ|x|


@dataclass(frozen=True)
class Problem:
    """A design, a target and the support that made it."""

    A: Floats
    y: Floats
    truth: Integers

    @property
    def sparsity(self) -> int:
        """Number of columns behind y, and of steps that every contender is asked for."""
        return self.truth.size


def gaussian(n: int, m: int, k: int, *, order: Order = "F", seed: int = 0) -> Problem:
    """Independent standard normal entries: the paper's uncorrelated features."""
    rng = np.random.default_rng(seed)
    rows = np.empty((m, n))
    rng.standard_normal(out=rows)
    return _problem(rows, k, order=order, rng=rng)


def circular(n: int, m: int, k: int, *, seed: int = 0) -> Problem:
    """The same with complex entries, coefficients and noise of any phase."""
    rng = np.random.default_rng(seed)
    A, e = (rng.standard_normal((n, p, 2)) @ np.array([1, 1j]) for p in (m, 1))
    A /= np.linalg.norm(A, axis=0)
    truth = np.sort(rng.choice(m, size=k, replace=False))
    y = A[:, truth] @ np.exp(2j * np.pi * rng.random(k)) + NOISE * e[:, 0] / np.linalg.norm(e)
    return Problem(A=A, y=y, truth=truth)


def decaying(n: int, m: int, k: int, *, order: Order = "F", seed: int = 0) -> Problem:
    """U diag(1/p²) V, U (n×n) and V (n×m) standard normal: the paper's correlated features."""
    rng = np.random.default_rng(seed)
    left = decaying_factor(rng, n)
    return _problem(rng.standard_normal((m, n)) @ left.T, k, order=order, rng=rng)


def autoregressive(
    n: int, m: int, k: int, *, rho: float = 0.95, order: Order = "F", seed: int = 0
) -> Problem:
    """Neighbouring columns have correlation rho: a_j = rho a_{j-1} + sqrt(1 - rho²) e_j."""
    rng = np.random.default_rng(seed)
    rows = chain(rng.standard_normal((m, n)).T, rho).T
    return _problem(rows, k, order=order, rng=rng)


def loud(n: int, m: int, k: int, *, seed: int = 0) -> Problem:
    """Neighbours of correlation 0.6, and noise as large as the signal: subsets are hard to tell."""
    quiet = autoregressive(n, m, k, rho=0.6, seed=seed)
    size = float(np.linalg.norm(quiet.y))
    e = noise(np.random.default_rng(seed + 1), n, size, centred=True)
    return Problem(A=quiet.A, y=quiet.y + e, truth=quiet.truth)


def _problem(rows: Floats, k: int, *, order: Order, rng: np.random.Generator) -> Problem:
    """Finish a problem from the columns of A, given as rows, which are overwritten.

    Row by row and in place: a large A must not be copied on the way, or the memory that its
    making took would hide what a contender takes.
    """
    m, n = rows.shape
    for j in range(m):
        rows[j] -= rows[j].mean()
        rows[j] /= np.linalg.norm(rows[j])
    truth = np.sort(rng.choice(m, size=k, replace=False))
    e = noise(rng, n, NOISE, centred=True)
    y = SIGNALS["signs"](rng, k) @ rows[truth] + e
    A = rows.T if order == "F" else np.ascontiguousarray(rows.T)
    return Problem(A=A, y=y, truth=truth)


# --- functions of a few variables, for kernels


@dataclass(frozen=True)
class Points:
    """Points to learn from and points to test on, with the same noise, and the kernel to use."""

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats
    length_scale: float = 1.0  # of a squared exponential kernel


def friedman_1(X: Floats) -> Floats:
    """Friedman's first function, of five variables between 0 and 1."""
    sine = 10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return sine + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def friedman(n: int, *, seed: int = 0) -> Points:
    """Friedman's first function, noise of standard deviation 1.

    Without the five variables that do nothing: one length scale for all has no use for them.
    """
    rng = np.random.default_rng(seed)
    return _points(friedman_1, rng.random((2 * n, 5)), sigma=1.0, length_scale=1.0, rng=rng)


def ripple(n: int, *, seed: int = 0) -> Points:
    """sin(ρ)/ρ, ρ the distance from the middle of a square of side 16, noise 0.1."""

    def function(X: Floats) -> Floats:
        return np.sinc(np.hypot(X[:, 0], X[:, 1]) / np.pi)

    rng = np.random.default_rng(seed)
    X = rng.uniform(-8.0, 8.0, (2 * n, 2))
    return _points(function, X, sigma=0.1, length_scale=2.0, rng=rng)


def _points(
    function: Callable[[Floats], Floats],
    X: Floats,
    *,
    sigma: float,
    length_scale: float,
    rng: np.random.Generator,
) -> Points:
    """The first half of X to learn from, the second to test on."""
    y = function(X) + sigma * rng.standard_normal(len(X))
    n = len(X) // 2
    return Points(X[:n], y[:n], X[n:], y[n:], length_scale)


# --- tables, for estimators with an intercept


@dataclass(frozen=True)
class Table:
    """Rows to learn from; rows to test on and the features behind y, where these are known."""

    X: Floats
    y: Floats
    X_test: Floats | None = None
    y_test: Floats | None = None
    truth: Integers | None = None

    @property
    def centred(self) -> Problem:
        """The same without means: what is left to a function that knows no intercept."""
        A = np.asfortranarray(self.X - self.X.mean(axis=0))
        none = np.zeros(0, np.int64) if self.truth is None else self.truth
        return Problem(A=A, y=self.y - self.y.mean(), truth=none)


def survey(n: int, m: int, k: int, *, seed: int = 0) -> Table:
    """Neighbouring features of correlation 0.5, k of them with coefficients ±1; R² about a half."""
    rng = np.random.default_rng(seed)
    X = chain(rng.standard_normal((2 * n, m)), 0.5)
    truth = np.sort(rng.choice(m, size=k, replace=False))
    signal = X[:, truth] @ SIGNALS["signs"](rng, k)
    y = 10.0 + signal + np.sqrt(k) * rng.standard_normal(2 * n)
    return Table(X[:n], y[:n], X[n:], y[n:], truth)


def diabetes(*, seed: int = 0) -> Table:
    """The 442 patients of scikit-learn (Efron et al. 2004); there is but one such table."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return Table(X, y)
