"""Relevance vector regression told nothing of the noise, on the problems of Tipping (2001).

``python -m reproduction.benchmarks.kernels [DRAWS [PROBLEM ...]]`` prints the table of
docs/kernels.md: error on unseen points, number of relevance vectors and noise found, of his updates
as they stand and of `RelevanceVectorRegressor` without a noise, and with the true one; the same
draws for all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduction.benchmarks.problems import Points, friedman_1
from reproduction.tables import markdown
from reproduction.tasks import boston
from sparsewise.estimators import RelevanceVectorRegressor

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """A problem, a kernel, and what Tipping's Table 1 says of it."""

    name: str
    draw: Callable[[int], Points]
    kernel: dict[str, Any]
    squared: bool  # whether errors are mean squares, or their roots
    sigma: float | None = None  # the true one
    published: str = ""


# --- the problems


def sinc(seed: int, *, uniform: bool = False) -> Points:
    """sin(x)/x at 100 points of [-10, 10]; tested against the function itself."""
    rng = np.random.default_rng(seed)
    X, X_test = (np.linspace(-10, 10, n)[:, None] for n in (100, 1000))
    noise = rng.uniform(-0.1, 0.1, 100) if uniform else 0.1 * rng.standard_normal(100)
    truth = [np.sinc(points[:, 0] / np.pi) for points in (X, X_test)]
    return Points(X, truth[0] + noise, X_test, truth[1])


def friedman(seed: int) -> Points:
    """Friedman's first function, 240 points, five of ten inputs do nothing; tested against it."""
    rng = np.random.default_rng(seed)
    X, X_test = rng.random((240, 10)), rng.random((1000, 10))
    return Points(X, friedman_1(X) + rng.standard_normal(240), X_test, friedman_1(X_test))


def housing(seed: int) -> Points:
    """481 tracts of Boston, features standardised; the other 25 are predicted."""
    X, y = boston()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:481], order[481:]
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    return Points(X[train], y[train], X[test], y[test])


def spline(X: Floats, Z: Floats) -> Floats:
    """The linear spline kernel of one variable."""
    x, z = X[:, :1], Z[:, 0]
    least, both = np.minimum(x, z), x * z
    return np.asarray(1 + both + both * least - (x + z) / 2 * least**2 + least**3 / 3)


def _gaussian(length_scale: float | str) -> dict[str, Any]:
    return {"kernel": "rbf", "length_scale": length_scale}


TASKS = [
    Task("sinc", sinc, {"kernel": spline}, False, 0.1, ".0326, 6.7"),
    Task(
        "sinc-uniform", lambda seed: sinc(seed, uniform=True), {"kernel": spline}, False,
        0.2 / 12**0.5, ".0187, 7.0",
    ),
    Task("friedman", friedman, _gaussian(1.0), True, 1.0, "2.80, 59.4"),
    Task("friedman-median", friedman, _gaussian("median"), True, 1.0),
    Task("friedman-default", friedman, {}, True, 1.0),
    Task("boston", housing, _gaussian(3.0), True, None, "7.46, 39.0"),
    Task("boston-median", housing, _gaussian("median"), True),
    Task("boston-default", housing, {}, True),
]  # fmt: skip


# --- who takes part


class Figures(NamedTuple):
    """What comes of one draw."""

    error: float
    vectors: float
    sigma: float


def tipping(A: Floats, y: Floats, *, most: int = 500, prune: float = 1e9) -> tuple[Floats, float]:
    """His updates (2001, eqs. 16 and 18) of all hyperparameters, as they stand: weights and σ.

    α_i ← (1 - α_i Σ_ii)/μ_i² and σ² ← ‖r‖²/(n - Σ(1 - α_i Σ_ii)), until log α settles.
    """
    n, m = A.shape
    keep, alpha, noise = np.arange(m), np.full(m, 1 / m), 0.1 * float(np.var(y))
    mean = np.zeros(m)
    for _ in range(most):
        B = A[:, keep]
        L = np.linalg.cholesky(B.T @ B / noise + np.diag(alpha))
        W = np.linalg.inv(L)
        mean = W.T @ (W @ (B.T @ y)) / noise
        well = np.clip(1 - alpha * np.square(W).sum(axis=0), 1e-12, 1.0)
        noise = float(np.square(y - B @ mean).sum() / (n - well.sum()))
        before, alpha = alpha, well / np.maximum(np.square(mean), 1e-300)
        stays = alpha < prune
        change = np.abs(np.log(alpha[stays] / before[stays])).max(initial=0.0)
        keep, alpha, mean = keep[stays], alpha[stays], mean[stays]
        if stays.all() and change < 1e-3:
            break
    weights = np.zeros(m)
    weights[keep] = mean
    return weights, noise**0.5


def by_the_book(draw: Points, task: Task) -> Figures:
    """Tipping's updates, with the kernel that the estimator uses, and a column for the bias."""
    # What it fits with this noise is of no interest, but it knows the kernel.
    kernel = RelevanceVectorRegressor(**task.kernel, sigma=1.0).fit(draw.X, draw.y).kernel_

    def design(points: Floats) -> Floats:
        return np.column_stack([np.ones(len(points)), kernel(points, draw.X)])

    weights, sigma = tipping(design(draw.X), draw.y)
    return _judged(draw, task, design(draw.X_test) @ weights, np.count_nonzero(weights[1:]), sigma)


def estimator(draw: Points, task: Task, sigma: float | None = None) -> Figures:
    model = RelevanceVectorRegressor(**task.kernel, sigma=sigma).fit(draw.X, draw.y)
    predicted = np.asarray(model.predict(draw.X_test))
    return _judged(draw, task, predicted, model.relevance_.size, model.sigma_)


def _judged(draw: Points, task: Task, predicted: Floats, vectors: int, sigma: float) -> Figures:
    error = float(np.square(predicted - draw.y_test).mean())
    return Figures(error if task.squared else error**0.5, vectors, sigma)


# --- the table

HEAD = [
    *("problem, kernel", "Tipping's table: error, vectors", "his updates"),
    *("`RelevanceVectorRegressor`", "σ given"),
]


def row(task: Task, draws: int) -> list[str]:
    """Means over the draws: error, vectors, and the noise that was found."""

    def mean(contender: Callable[[Points], Figures]) -> str:
        error, vectors, sigma = np.mean([contender(draw) for draw in problems], axis=0)
        return f"{error:.3g}, {vectors:.1f}, σ̂ = {sigma:.3g}"

    problems = [task.draw(seed) for seed in range(draws)]
    cells = [mean(lambda draw: by_the_book(draw, task)), mean(lambda draw: estimator(draw, task))]
    cells.append(mean(lambda draw: estimator(draw, task, task.sigma)) if task.sigma else "")
    return [task.name, task.published, *cells]


if __name__ == "__main__":
    draws, names = int(sys.argv[1]) if sys.argv[1:] else 40, sys.argv[2:] or [t.name for t in TASKS]
    print(markdown([HEAD, *(row(task, draws) for task in TASKS if task.name in names)]))
