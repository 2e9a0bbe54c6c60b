"""Every algorithm once more, naively: each score from least squares from scratch.

Slow, and meant to be obviously right. All scores refer to columns of unit norm, u_j = a_j/|a_j|,
and a target of unit norm, so that every tolerance of the contract is a plain number here. Several
targets are the columns of one of unit norm, each with its weight; a score is then the length of the
row that holds those of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.stats import chi2

from sparsewise import Targets

EPS = float(np.finfo(float).eps)
TIE = EPS ** (2 / 3)  # scores this close, relatively, are tied: the lowest column index wins
DEPENDENT = 64 * EPS  # a column with at most this much energy can't be added
EXACT = 64 * EPS  # a residual this small, relative to the target, is zero
Columns = Iterable[int]


@dataclass(frozen=True)
class Answer:
    support: list[int]
    coef: np.ndarray


def norm(v: np.ndarray) -> float:
    """The Euclidean norm, safe from under- and overflow."""
    biggest = float(np.max(np.abs(v), initial=0.0))
    return biggest * float(np.linalg.norm(v / biggest)) if biggest > 0 else 0.0


def sizes(rows: np.ndarray) -> np.ndarray:
    """The length of each row: the absolute value where it is but a number."""
    return np.abs(rows) if rows.ndim == 1 else np.linalg.norm(rows, axis=1)


def units(y) -> tuple[np.ndarray, float]:
    """What to divide each target by to make them one of unit norm, and the unit of tolerances.

    Targets count by w_t = 1/‖y_t‖ unless told otherwise; those of zeros don't. Noise that is equal
    in all of them after that division has a root mean square of this unit before it.
    """
    if np.ndim(getattr(y, "Y", y)) == 1:
        return np.float64(norm(y) or 1.0), norm(y)
    Y = y.Y if isinstance(y, Targets) else y
    norms = np.array([norm(target) for target in np.asarray(Y).T])
    some = norms > 0
    weights = getattr(y, "weights", None)
    weights = 1 / norms[some] if weights is None else np.asarray(weights)[some]
    each = np.ones(len(norms))
    each[some] = np.linalg.norm(weights * norms[some]) / weights
    return each, norm(each[some]) / max(np.count_nonzero(some), 1)


def largest(scores: np.ndarray, allowed: Columns, zero: float = EXACT) -> int | None:
    """The lowest allowed index whose score is tied with the largest; up to `zero` all are tied."""
    allowed = list(allowed)
    if not allowed:
        return None
    best = max(scores[j] for j in allowed)
    return min(j for j in allowed if scores[j] >= best * (1 - TIE) or best <= zero)


def smallest(scores: np.ndarray, allowed: Columns, zero: float = EXACT) -> int | None:
    """The lowest allowed index whose score is tied with the smallest; up to `zero` all are tied."""
    allowed = list(allowed)
    if not allowed:
        return None
    best = min(scores[j] for j in allowed)
    return min(j for j in allowed if scores[j] <= max(best * (1 + TIE), zero))


class Unit:
    """The problem with unit columns and a unit target; S is a list of columns everywhere."""

    def __init__(self, A, y, include: Columns = (), exclude: Columns = ()):
        A = np.asarray(A) * 1.0
        self.norms = np.array([norm(a) for a in A.T])
        self.U = A / np.where(self.norms > 0, self.norms, 1.0)
        self.units, self.scale = units(y)
        self.y = np.asarray(getattr(y, "Y", y)) / self.units
        self.include = list(include)
        self.exclude = set(exclude)

    def begin(self, start: Columns = ()) -> list[int]:
        """What is in the model before the first step."""
        return sorted({*start, *self.include})

    def relative(self, tolerance: float | None) -> float:
        """A tolerance (delta or residual) for the unit target; none given never stops anything."""
        return 0.0 if tolerance is None else tolerance / self.scale

    def outside(self, S: Sequence[int], columns=slice(None)) -> np.ndarray:
        """(I - P_S) U for these columns of U, by least squares."""
        V, W = self.U[:, S], self.U[:, columns]
        return W - V @ np.linalg.lstsq(V, W, rcond=None)[0]

    def x(self, S: Sequence[int]) -> np.ndarray:
        """Least-squares coefficients of y on U_S, as a vector of length m, or one a target."""
        shape = (self.U.shape[1], *self.y.shape[1:])
        full = np.zeros(shape, dtype=np.result_type(self.U, self.y))
        full[S] = np.linalg.lstsq(self.U[:, S], self.y, rcond=None)[0]
        return full

    def residual(self, S: Sequence[int]) -> np.ndarray:
        return self.y - self.U @ self.x(S)

    def error(self, S: Sequence[int]) -> float:
        return float(np.linalg.norm(self.residual(S)))

    def corr(self, S: Sequence[int]) -> np.ndarray:
        return self.U.conj().T @ self.residual(S)

    def energy(self, S: Sequence[int]) -> np.ndarray:
        return np.sum(np.abs(self.outside(S)) ** 2, axis=0)

    def addable(self, S: Sequence[int]) -> list[int]:
        free = self.energy(S) > DEPENDENT
        return [j for j in np.flatnonzero(free) if j not in S and j not in self.exclude]

    def gain(self, S: Sequence[int]) -> np.ndarray:
        """The fall of the squared residual for each column that can be added; 0 for the others."""
        gains = np.zeros(self.U.shape[1])
        D, r = self.outside(S), self.residual(S)
        for j in self.addable(S):
            gains[j] = np.linalg.norm(D[:, j].conj() @ r) ** 2 / np.linalg.norm(D[:, j]) ** 2
        return gains

    def loss(self, S: Sequence[int]) -> np.ndarray:
        """The growth of the squared residual for each column that can be dropped; else infinite."""
        losses = np.full(self.U.shape[1], np.inf)
        for j in self.droppable(S):
            d = self.outside([i for i in S if i != j], [j])[:, 0]
            losses[j] = np.linalg.norm(d.conj() @ self.y) ** 2 / np.linalg.norm(d) ** 2
        return losses

    def droppable(self, S: Sequence[int]) -> list[int]:
        return [j for j in S if j not in self.include]

    def fits(self, S: Sequence[int], residual: float | None) -> bool:
        return self.error(S) <= max(self.relative(residual), EXACT)

    def grown(self, S: Sequence[int], scores: np.ndarray, count: int) -> list[int]:
        """S with the `count` columns of largest score, each independent of those before it."""
        T = list(S)
        while len(T) < len(S) + count and (j := largest(scores, self.addable(T))) is not None:
            T.append(j)
        return T

    def filled(self, S: Sequence[int], k: int) -> list[int]:
        """S, filled up to k columns by the largest correlations with y."""
        return self.grown(S, sizes(self.corr([])), k - len(S))

    def answer(self, S: Columns, x: np.ndarray | None = None) -> Answer:
        S = sorted(int(j) for j in S)
        x = self.x(S) if x is None else x
        coef = x * self.units
        coef[S] = (coef[S].T / self.norms[S]).T
        return Answer(S, coef)

    def distance(self, coef: np.ndarray) -> float:
        """‖y - A coef‖ in the unit of tolerances; of several targets their weighted mean."""
        x = (coef.T * self.norms).T / self.units
        return norm(self.y - self.U @ x) * self.scale


def oblivious(A, y, *, sparsity, include=(), exclude=()):
    u = Unit(A, y, include, exclude)
    return u.answer(u.filled(u.begin(), sparsity))


def mp(A, y, *, residual=None, sparsity=None, max_iter=10_000, include=(), exclude=(), start=()):
    u = Unit(A, y, include, exclude)
    S = u.begin(start)
    x = u.x(S)
    candidates = [j for j in np.flatnonzero(u.norms) if j not in u.exclude]
    for _ in range(max_iter):
        r = u.y - u.U @ x
        corr = u.U.conj().T @ r
        j = largest(np.abs(corr), candidates)
        if norm(r) <= max(u.relative(residual), EXACT) or j is None or np.abs(corr[j]) <= EXACT:
            break
        if j not in S:
            if len(S) == sparsity:
                break
            S.append(j)
        x[j] += corr[j]
    return u.answer(S, x)


def omp(A, y, **words):
    return gomp(A, y, batch=1, **words)


def gomp(A, y, *, batch, sparsity=None, residual=None, include=(), exclude=(), start=()):
    u = Unit(A, y, include, exclude)
    S = u.begin(start)
    most = min(A.shape) if sparsity is None else sparsity
    while len(S) < most and not u.fits(S, residual):
        corr = sizes(u.corr(S))
        T = u.grown(S, corr, min(batch, most - len(S)))
        if len(T) == len(S) or max(corr[T[len(S) :]]) <= EXACT:
            break
        S = T
    return u.answer(S)


def grow(u: Unit, S, delta=None, sparsity=None, residual=None) -> list[int]:
    """Add the best gain until one of the words says stop."""
    S = list(S)
    while (sparsity is None or len(S) < sparsity) and not u.fits(S, residual):
        gains = u.gain(S)
        j = largest(gains, u.addable(S), zero=EXACT**2)
        if j is None or gains[j] <= max(u.relative(delta), EXACT) ** 2:
            break
        S.append(j)
    return S


def forward(A, y, *, sparsity=None, residual=None, delta=None, include=(), exclude=(), start=()):
    u = Unit(A, y, include, exclude)
    return u.answer(grow(u, u.begin(start), delta, sparsity, residual))


def shrink(u: Unit, S, choose: Callable, delta=None, sparsity=None, residual=None) -> list[int]:
    """Drop the chosen column while there are too many, then while every given tolerance allows."""
    S = list(S)
    while (j := choose(u, S)) is not None:
        rest = [i for i in S if i != j]
        tolerant = delta is not None or residual is not None
        tolerant &= delta is None or u.loss(S)[j] <= max(u.relative(delta), EXACT) ** 2
        tolerant &= residual is None or u.fits(rest, residual)
        if not tolerant and (sparsity is None or len(S) <= sparsity):
            break
        S = rest
    return S


def least_loss(u: Unit, S) -> int | None:
    return smallest(u.loss(S), u.droppable(S), zero=EXACT**2)


def least_coefficient(u: Unit, S) -> int | None:
    return smallest(sizes(u.x(S)), u.droppable(S))


def backward(A, y, *, sparsity=None, residual=None, delta=None, start=None, include=(), exclude=()):
    u = Unit(A, y, include, exclude)
    everything = [j for j in range(A.shape[1]) if j not in u.exclude]
    S = u.begin(everything if start is None else start)
    return u.answer(shrink(u, S, least_loss, delta, sparsity, residual))


def lace(A, y, *, sparsity=None, residual=None, delta=None, start=None, include=(), exclude=()):
    u = Unit(A, y, include, exclude)
    everything = [j for j in range(A.shape[1]) if j not in u.exclude]
    S = u.begin(everything if start is None else start)
    return u.answer(shrink(u, S, least_coefficient, delta, sparsity, residual))


def rmp0(A, y, *, delta, max_outer=None, include=(), exclude=(), start=()):
    u = Unit(A, y, include, exclude)
    S, rounds = u.begin(start), 0
    while max_outer is None or rounds < max_outer:
        before = set(S)
        S = shrink(u, grow(u, S, delta), least_loss, delta)
        rounds += 1
        if set(S) == before:
            break
    return u.answer(S)


def foba(A, y, *, delta, nu=0.5, include=(), exclude=(), start=()):
    u = Unit(A, y, include, exclude)
    S = u.begin(start)
    recorded: dict[int, float] = {}  # the gain of the step that led to each size
    while True:
        T = grow(u, S, delta, sparsity=len(S) + 1)
        if len(T) == len(S):
            return u.answer(S)
        recorded[len(T)] = u.gain(S)[T[-1]]
        S = T
        while (j := least_loss(u, S)) is not None:
            if u.loss(S)[j] > nu * recorded.get(len(S), -1.0):
                break
            S = [i for i in S if i != j]


# Of q independent targets those of all, over q: what the choice costs is paid once.
CRITERIA: dict[str, Callable] = {
    "aic": lambda rss, k, n, m, q: n * np.log(rss) + 2 * k,
    "aicc": lambda rss, k, n, m, q: (
        n * np.log(rss) + 2 * k + 2 * (k + 1) * (k + 2) / (n - k - 2) if k < n - 2 else np.inf
    ),
    "bic": lambda rss, k, n, m, q: n * np.log(rss) + np.log(n) * k,
    "ebic": lambda rss, k, n, m, q: n * np.log(rss) + np.log(n) * k + 2 * np.log(comb(m, k)) / q,
    "adjusted_r2": lambda rss, k, n, m, q: rss / (n - k) if k < n else np.inf,
}


def ric(rss, k, n, m, parts, q) -> float:
    """A complex number is two measurements; an exact fit has just the squared error of rounding.

    A column of noise gains χ² of as many degrees of freedom as q targets have parts: it is charged
    what that exceeds as rarely as for one target it exceeds 2 log m.
    """
    left = np.log(max(rss, EXACT**2))
    charge = 2 * np.log(max(m, 2))
    if q != 1:
        charge = chi2.isf(chi2.sf(charge, parts), parts * q) / q
    return parts * (n - k) * left + k * charge if k < n else np.inf


def independent(Y: np.ndarray) -> float:
    """How many orthogonal targets of equal size are as far from being one (of unit norm in all)."""
    squares = np.linalg.svd(Y.reshape(len(Y), -1), compute_uv=False) ** 2
    return max(squares.sum() ** 2 / (squares**2).sum(), 1.0)


def stepwise(A, y, *, criterion, include=(), exclude=(), start=()):
    """Every single step is tried; a criterion by name is that of a target of norm one."""
    u = Unit(A, y, include, exclude)
    n, m = A.shape[0], A.shape[1] - len(u.exclude)
    parts = 2 if np.iscomplexobj(u.U) or np.iscomplexobj(u.y) else 1
    q = 1.0 if u.y[0].size == 1 else independent(u.y)

    def cost(S) -> float:
        error = u.error(S)
        if callable(criterion):
            return criterion((error * u.scale) ** 2, len(S))
        with np.errstate(divide="ignore"):
            squared = np.float64(0.0 if error <= EXACT else error**2)
            if criterion == "ric":
                return ric(squared, len(S), n, m, parts, q)
            return CRITERIA[criterion](squared, len(S), n, m, q)

    S = u.begin(start)
    while True:
        i = least_loss(u, S)
        j = largest(u.gain(S), u.addable(S), zero=EXACT**2)
        fewer, more = [c for c in S if c != i], [*S, j]
        down = np.inf if i is None else cost(fewer)
        up = np.inf if j is None else cost(more)
        here = cost(S)
        enough = here - 1e-9 * (abs(here) if np.isfinite(here) else 0.0)
        undefined = i is not None and here == np.inf == min(up, down)
        needless = i is not None and down <= here and u.error(fewer) <= EXACT
        if not (min(up, down) < enough or undefined or needless):
            return u.answer(S)
        S = fewer if down <= up else more


def improve(u: Unit, S, step: Callable, residual=None, max_iter=None) -> list[int]:
    """Repeat a step from model to model of the same size while the residual falls."""
    rounds = 0
    while (max_iter is None or rounds < max_iter) and not u.fits(S, residual):
        T = step(S)
        if T is None or u.error(T) ** 2 >= u.error(S) ** 2 * (1 - TIE):
            break
        S, rounds = T, rounds + 1
    return S


def srr(A, y, *, sparsity, residual=None, max_iter=None, include=(), exclude=(), start=()):
    u = Unit(A, y, include, exclude)

    def swap(S):
        j = largest(u.gain(S), u.addable(S), zero=EXACT**2)
        return None if j is None else shrink(u, [*S, j], least_loss, sparsity=sparsity)

    S = u.filled(u.begin(start), sparsity)
    S = improve(u, S, swap, residual, max_iter)
    if not len(start) and not u.fits(S, residual):
        ahead = grow(u, u.begin(), sparsity=sparsity)
        if u.error(ahead) ** 2 < u.error(S) ** 2 * (1 - TIE):
            S = improve(u, ahead, swap, residual, max_iter)
    return u.answer(S)


def ompr(
    A, y, *, sparsity, residual=None, step=1.0, max_iter=None, include=(), exclude=(), start=()
):
    u = Unit(A, y, include, exclude)

    def swap(S):
        corr = u.corr(S)
        j = largest(sizes(corr), u.addable(S))
        if j is None:
            return None
        z = u.x(S)
        z[j] = step * corr[j]
        i = smallest(sizes(z), u.droppable([*S, j]))
        return None if i == j else [c for c in [*S, j] if c != i]

    S = u.filled(u.begin(start), sparsity)
    return u.answer(improve(u, S, swap, residual, max_iter))


def subspace_pursuit(
    A, y, *, sparsity, residual=None, max_iter=None, include=(), exclude=(), start=()
):
    u = Unit(A, y, include, exclude)

    def exchange(S):
        T = u.grown(S, sizes(u.corr(S)), sparsity)
        size = sizes(u.x(T))
        kept = list(u.include)
        while len(kept) < min(sparsity, len(T)):
            kept.append(largest(size, [j for j in T if j not in kept]))
        return kept

    S = u.filled(u.begin(start), sparsity)
    return u.answer(improve(u, S, exchange, residual, max_iter))


REFERENCES: dict[str, Callable[..., Answer]] = {
    function.__name__: function
    for function in (
        oblivious,
        mp,
        omp,
        gomp,
        forward,
        backward,
        lace,
        rmp0,
        foba,
        stepwise,
        srr,
        ompr,
        subspace_pursuit,
    )
}
