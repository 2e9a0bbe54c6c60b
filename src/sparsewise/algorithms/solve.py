"""No threshold: the model of least risk inflation that several starts come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import ArrayLike

from sparsewise.algorithms.registry import Family, algorithm
from sparsewise.engine.search.multistart import search
from sparsewise.problem.targets import Targets
from sparsewise.results import MultistartSolution, Start

EFFORT = 40
"""Default limit on starts: two suffice for a clear answer."""


@algorithm(
    Family.SEARCH,
    "anything: nothing has to be tuned",
    result=MultistartSolution,
    least_squares=True,
    meant_by=("nothing", "effort", "seed"),
)
def solve(
    A: Any,
    y: ArrayLike | Targets,
    *,
    sigma: float | None = None,
    criterion: str | float = "ric",
    effort: int = EFFORT,
    seed: int = 0,
    ridge: float = 0.0,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    callback: Callable[[Start], bool | None] | None = None,
) -> MultistartSolution:
    """The sparse model to take when in doubt: nothing to tune, and the odds of chance reported.

    Minimises the risk inflation criterion of Foster and George (1994), for ‖y‖ = 1

        (n - k) log ‖r‖² + 2 k log m      or, the noise being known,      ‖r‖²/σ² + 2 k log m.

    The best of m columns explains 2σ² log m of pure noise, so that few false columns enter. The
    factor n - k is the degrees of freedom left for the noise: without it, wide tables are fitted
    to the last digit. For exact data, the smallest support that fits them is best.

    Starts are of two kinds. Most let MacKay's updates change all prior variances, and the noise,
    together; they differ in the prior variances they begin with, and every other one holds the
    noise at 1 % of the target. One in five is a floating search: columns are added one by one, and
    dropped again where that makes the best model of its size. Every model on the way back from
    what a start leaves is looked at, then forward and backward steps and exchanges go on from the
    best one until no single change helps. The search ends when both kinds have been tried and
    chance does not explain the best model, which two starts have found (eight at odds of 10⁻⁸, two
    from 10⁻³² on), or after `effort` starts.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share a support (see `Targets`).
    sigma : float, optional
        Standard deviation of the noise, if it is known.
    criterion : {"ric", "bic", "aic"} or float
        The price of a column: 2 log m, log n or 2 (m and n at least 2), or this number; the higher,
        the fewer enter.
    effort : int
        Most starts.
    seed : int
        Seed of the random starts: the same seed gives the same answer.
    ridge : float
        Shrink coefficients: ‖r‖² + ridge ‖z‖² takes the place of ‖r‖², z the coefficients of unit
        columns (a pure number; see `Problem`). With σ known this is the ℓ0ℓ2 objective
        of Hazimeh and Mazumder (2020); at low signal to noise it predicts better.
    include, exclude : iterable of int
        Columns that must, and must not, be in the model.
    callback : callable, optional
        Called with each `Start`; returning True stops.

    Returns
    -------
    MultistartSolution
        Least squares on the chosen columns, with ``sigma``, ``std``, ``chance`` and ``starts``.

    References
    ----------
    D. P. Foster and E. I. George, "The risk inflation criterion for multiple regression", Annals
    of Statistics 22, 1994.

    P. Pudil, J. Novovičová and J. Kittler, "Floating search methods in feature selection", Pattern
    Recognition Letters 15, 1994.

    H. Hazimeh and R. Mazumder, "Fast best subset selection: coordinate descent and local
    combinatorial optimization algorithms", Operations Research 68, 2020.
    """
    return search(
        "solve", A, y, criterion=criterion, sigma=sigma, effort=effort,
        include=include, exclude=exclude, seed=seed, ridge=ridge, callback=callback,
    )  # fmt: skip
