"""Sparse Bayesian Learning once more, naively: everything from the dense n×n covariance of y.

Slow, and meant to be obviously right. `dense` works in double precision, `precise` with as many
digits as asked for; both take data in any units, and gamma = inf for a column with a flat prior.
The algorithms at the end work on unit columns and a unit target, as the library does. Several
targets, the columns of y, are independent given gamma and sigma, and have these in common: the
evidence is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import mpmath
import numpy as np
from scipy.optimize import brentq

from tests.references.stepwise import (
    DEPENDENT,
    EPS,
    REFERENCES,
    TIE,
    Answer,
    Columns,
    Unit,
    largest,
    sizes,
    smallest,
)


@dataclass(frozen=True)
class Posterior:
    """What follows from gamma and sigma, with P = C⁻¹ less what the flat priors explain."""

    S: np.ndarray  # a_j* P a_j
    Q: np.ndarray  # a_j* P y, of shape (m,) or (m, q)
    log_evidence: float
    mean: np.ndarray  # of the active coefficients, ascending by column; (k,) or (k, q)
    covariance: np.ndarray
    quadratic: float  # y* P y, the sum over targets


def is_complex(A, y) -> bool:
    return np.iscomplexobj(A) or np.iscomplexobj(y)


def dense(A, y, gamma, sigma) -> Posterior:
    """C = σ² I + A Γ A*; with X the columns of flat prior, the density of y's part beside X.

    log p = -½ [ν log 2π + log|C| + log|X*C⁻¹X| - log|X*X| + y*P y], ν = n - rank X; complex
    (circular) data: the same without the ½, and π in place of 2π.
    """
    A, y = np.asarray(A) * 1.0, np.asarray(y) * 1.0
    n = len(y)
    gamma = np.asarray(gamma, dtype=float)
    flat, active = np.flatnonzero(np.isinf(gamma)), np.flatnonzero(gamma)
    weights = np.where(np.isinf(gamma), 0.0, gamma)
    X = A[:, flat]
    C = sigma**2 * np.eye(n) + (A * weights) @ A.conj().T
    inverse = np.linalg.inv(C)
    P, logdet = inverse, np.linalg.slogdet(C)[1]
    if flat.size:
        XX = X.conj().T @ inverse @ X
        P = inverse - inverse @ X @ np.linalg.solve(XX, X.conj().T @ inverse)
        logdet += np.linalg.slogdet(XX)[1] - np.linalg.slogdet(X.conj().T @ X)[1]
    quadratic = float(np.vdot(y, P @ y).real)
    V = A[:, active]
    with np.errstate(divide="ignore"):
        H = np.diag(1 / gamma[active]) + V.conj().T @ V / sigma**2
    covariance = np.linalg.inv(H)
    half, circle = (1.0, np.pi) if is_complex(A, y) else (0.5, 2 * np.pi)
    return Posterior(
        S=np.einsum("ij,ij->j", A.conj(), P @ A).real,
        Q=A.conj().T @ (P @ y),
        log_evidence=-half * (y[0].size * ((n - flat.size) * np.log(circle) + logdet) + quadratic),
        mean=covariance @ (V.conj().T @ y) / sigma**2,
        covariance=covariance,
        quadratic=quadratic,
    )


def precise(A, y, gamma, sigma, digits: int = 60, unit: bool = False) -> Posterior:
    """The same formulas in multiple precision, from the numbers exactly as they are given.

    With `unit`, columns and target are scaled to unit norm first, in that precision: gamma and
    sigma then refer to these.
    """
    with mpmath.workdps(digits):
        return _precise(A, y, gamma, sigma, unit)


def _precise(A, y, gamma, sigma, unit) -> Posterior:
    mp = mpmath.mp
    number = mp.mpc if is_complex(A, y) else mp.mpf
    rows = np.asarray(A)
    n, m = rows.shape
    columns = [mp.matrix([number(v) for v in rows[:, j].tolist()]) for j in range(m)]
    target = mp.matrix([number(v) for v in np.asarray(y).tolist()])
    if unit:
        target = target / mp.norm(target)
        columns = [a / mp.norm(a) if mp.norm(a) > 0 else a for a in columns]

    def gather(which):
        matrix = mp.matrix(n, len(which))
        for i, j in enumerate(which):
            matrix[:, i] = columns[j]
        return matrix

    gamma = np.asarray(gamma, dtype=float)
    flat, active = np.flatnonzero(np.isinf(gamma)), np.flatnonzero(gamma)
    proper = [j for j in active if j not in flat]
    sigma2 = mp.mpf(sigma) ** 2
    C = mp.eye(n) * sigma2
    if proper:
        V = gather(proper)
        C = C + V * mp.diag([mp.mpf(gamma[j]) for j in proper]) * V.H
    P = inverse = mp.inverse(C)
    logdet = mp.log(mp.re(mp.det(C)))
    if flat.size:
        X = gather(flat)
        XX = X.H * inverse * X
        P = inverse - inverse * X * mp.inverse(XX) * X.H * inverse
        logdet += mp.log(mp.re(mp.det(XX))) - mp.log(mp.re(mp.det(X.H * X)))
    solved = P * target
    quadratic = mp.re((target.H * solved)[0])
    V = gather(active)
    k = len(active)
    covariance, mean = mp.matrix(k, k), mp.matrix(k, 1)
    if k:
        H = V.H * V / sigma2
        for i, j in enumerate(active):
            H[i, i] += 0 if np.isinf(gamma[j]) else 1 / mp.mpf(gamma[j])
        covariance = mp.inverse(H)
        mean = covariance * (V.H * target) / sigma2
    half, circle = (mp.mpf(1), mp.pi) if number is mp.mpc else (mp.mpf(1) / 2, 2 * mp.pi)
    kind = complex if number is mp.mpc else float

    def plain(matrix):
        return np.array([kind(v) for v in matrix], dtype=kind)

    return Posterior(
        S=np.array([float(mp.re((a.H * P * a)[0])) for a in columns]),
        Q=np.array([kind((a.H * solved)[0]) for a in columns]),
        log_evidence=float(-half * ((n - flat.size) * mp.log(circle) + logdet + quadratic)),
        mean=plain(mean),
        covariance=plain(covariance).reshape(k, k),
        quadratic=float(quadratic),
    )


# --- what rounding may change --------------------------------------------------------------------


class Slack:
    """How far each number moves if every column and the target move by `part` of their length.

    First-order perturbation, in units of unit columns and a unit target. No algorithm that rounds
    its input can do better, so errors of this size are the problem's and not the algorithm's. With
    R = σ²C⁻¹, w_j the coefficients of column j regressed on the active ones (damped, like the mean
    μ), and energy_j = u_j*R u_j:

        u_j*R u_j    2 part (1 + |w_j|₁) ‖R u_j‖, where ‖R u‖² <= u*R u
        u_j*R y      part [(1 + |w_j|₁) ‖R y‖ + (1 + |μ|₁) ‖R u_j‖]
        y*R y        2 part (1 + |μ|₁) ‖R y‖
        log|C|       2 part Σ_i h_i, where h_i is the length of row i of the damped pseudo-inverse:
                     both tr(C⁻¹ dC) and the relative error of the covariance come to that
        μ_i          part [h_i (1 + |μ|₁) + Σ_k h_i h_k ‖R y‖]
    """

    def __init__(self, A, y, gamma, sigma, part: float):
        u = Unit(A, y)
        self.noise = sigma**2
        self.half = 1.0 if is_complex(A, y) else 0.5
        on = np.flatnonzero(gamma)
        V, k = u.U[:, on], len(on)
        damped = np.vstack([V, np.diag(sigma / np.sqrt(gamma[on]))])
        everything = np.vstack([np.column_stack([u.U, u.y]), np.zeros((k, len(gamma) + 1))])
        Q, R = np.linalg.qr(damped)
        inverse = np.linalg.inv(R) if k else R
        w = inverse @ (Q.conj().T @ everything)
        rest = everything - damped @ w
        length = np.linalg.norm(rest, axis=0)
        size = 1 + np.abs(w).sum(axis=0)
        rows = np.linalg.norm(inverse, axis=1)
        self.energy = 2 * part * size[:-1] * length[:-1]
        self.corr = part * (size[:-1] * length[-1] + size[-1] * length[:-1])
        self.unexplained = 2 * part * size[-1] * length[-1]
        self.log_det = 2 * part * rows.sum()
        self.covariance = 2 * part * rows.sum()  # relative to √(Σ_ii Σ_jj)
        self.mean = part * rows * (size[-1] + rows.sum() * length[-1])

    @property
    def log_evidence(self) -> float:
        return self.half * (self.log_det + self.unexplained / self.noise)


# --- one gamma at a time -------------------------------------------------------------------------


class Scores:
    """s and |q|² of every column, each from a covariance without that column; what follows.

    Of several targets |q|² is the mean.
    """

    def __init__(self, state: State):
        U, y, gamma, noise = state.unit.U, state.y, state.gamma, state.noise
        self.state, self.gamma = state, gamma.copy()
        self.s, self.q2 = np.zeros(len(gamma)), np.zeros(len(gamma))
        inactive = state.inactive
        self.s[inactive], self.q2[inactive] = factors(U, y, gamma, noise, inactive)
        for j in state.active:
            rest = np.where(np.arange(len(gamma)) == j, 0.0, gamma)
            self.s[[j]], self.q2[[j]] = factors(U, y, rest, noise, [j])

    @property
    def u(self) -> np.ndarray:
        """|<φ̃_j, r>|²/σ², with r and φ̃ of the model without column j; 0 for dependent columns."""
        independent = self.s * self.state.noise**2 > DEPENDENT
        return np.divide(self.q2, self.s, out=np.zeros_like(self.s), where=independent)

    @property
    def best(self) -> np.ndarray:
        """The gamma that maximises the evidence, given the others: equation (bestgamma)."""
        u = self.u
        return np.divide(u - 1, self.s, out=np.zeros_like(u), where=u > 1)

    def worth(self, gamma) -> np.ndarray:
        """l(γ): the log evidence with this gamma less that without the column."""
        g = np.where(np.isinf(gamma), 0.0, gamma)
        return self.state.beta * (self.q2 * g / (1 + g * self.s) - np.log1p(g * self.s))

    @property
    def rises(self) -> np.ndarray:
        """What the best change of each gamma brings, counting the price of a column."""
        price = self.state.price
        here = np.where(self.gamma > 0, self.worth(self.gamma) - price, 0.0)
        there = np.where(self.u > self.state.limit, self.worth(self.best) - price, 0.0)
        return there - here


def factors(U, y, gamma, sigma, columns) -> tuple[np.ndarray, np.ndarray]:
    """S and |Q|² of these columns, the mean over targets."""
    weights = np.where(np.isinf(gamma), 0.0, gamma)
    C = sigma**2 * np.eye(len(y)) + (U * weights) @ U.conj().T
    both = np.column_stack([U[:, columns], y])
    solved = np.linalg.solve(C, both)
    flat = np.flatnonzero(np.isinf(gamma))
    if flat.size:
        X = U[:, flat]
        CX = np.linalg.solve(C, X)
        solved -= CX @ np.linalg.solve(X.conj().T @ CX, CX.conj().T @ both)
    q = y[0].size
    S = np.sum(U[:, columns].conj() * solved[:, :-q], axis=0).real
    return S, mean_squares(U[:, columns].conj().T @ solved[:, -q:])


@dataclass
class State:
    """A problem with unit columns and a unit target, and the gammas of its columns.

    Several targets have a root mean square of one, and those of zeros are left out: they tell
    nothing.
    """

    A: np.ndarray
    target: np.ndarray
    sigma: float
    price: float = 0.0
    include: Columns = ()
    exclude: Columns = ()
    gamma: np.ndarray = field(init=False)
    steps: list[tuple[str, int]] = field(init=False, default_factory=list)

    def __post_init__(self):
        self.unit = Unit(self.A, self.target, self.include, self.exclude)
        self.y = self.unit.y
        if self.y.ndim > 1:
            self.y = self.y[:, self.y.any(axis=0)]
        self.targets = self.y[0].size
        self.y = self.y * self.targets**0.5
        self.beta = self.targets * (1.0 if is_complex(self.A, self.y) else 0.5)
        self.noise = self.sigma / self.unit.scale
        self.gamma = np.zeros(self.A.shape[1])
        self.gamma[self.unit.include] = np.inf
        self.limit = self._limit()

    def _limit(self) -> float:
        """What u = |q|²/s must exceed for a column to be worth its price."""
        if self.price == 0:
            return 1.0
        excess = self.price / self.beta
        return brentq(lambda u: u - 1 - np.log(u) - excess, 1.0, 10 + 2 * excess, xtol=1e-14)

    @property
    def free(self) -> list[int]:
        """The columns that may come and go."""
        closed = {*self.unit.include, *self.unit.exclude}
        return [int(j) for j in np.flatnonzero(self.unit.norms) if j not in closed]

    @property
    def active(self) -> list[int]:
        return [j for j in self.free if self.gamma[j] > 0]

    @property
    def inactive(self) -> list[int]:
        return [j for j in self.free if self.gamma[j] == 0]

    def possible_increase(self) -> float:
        """The largest rise that a change of one gamma can bring."""
        return max(Scores(self).rises[self.free], default=0.0)

    def step(self, action: str, j: int, scores: Scores) -> None:
        self.gamma[j] = 0.0 if action == "drop" else scores.best[j]
        self.steps.append((action, j))

    @property
    def worth(self) -> float:
        """What is maximised: the log evidence (of the unit problem) less the price of columns."""
        value = dense(self.unit.U, self.y, self.gamma, self.noise).log_evidence
        return value - self.price * len(self.active)

    def merge_copies(self) -> bool:
        """The first of equal columns takes the gammas of all: C is the same, the model smaller.

        Whether there were any.
        """
        before = len(self.steps)
        for j in self.active:
            copies = np.abs(self.unit.U.conj().T @ self.unit.U[:, j]) > 1 - 64 * EPS
            for i in self.active:
                if i > j and copies[i]:
                    self.gamma[j] += self.gamma[i]
                    self.gamma[i] = 0.0
                    self.steps.append(("drop", i))
        return len(self.steps) > before

    def answer(self) -> BayesAnswer:
        """Back to the units of the data."""
        u, on = self.unit, np.flatnonzero(self.gamma)
        plain = u.answer(on, self.mean())
        # The unit of each target of norm one; of those of zeros there is nothing to be told.
        some = u.y.any(axis=0)
        logs = np.log(np.atleast_1d(u.units / self.targets**0.5)[np.atleast_1d(some)])
        evidence = dense(u.U, self.y, self.gamma, self.noise).log_evidence
        rank = len(u.y) - len(u.include)
        return BayesAnswer(
            support=plain.support,
            coef=plain.coef,
            gamma=self.gamma * (u.scale / np.where(u.norms > 0, u.norms, 1.0)) ** 2,
            sigma=self.sigma,
            log_evidence=evidence - 2 * self.beta * rank * logs.mean(),
            steps=self.steps,
        )

    def mean(self) -> np.ndarray:
        """The posterior mean of all coefficients, of unit columns and a unit target."""
        u, on = self.unit, np.flatnonzero(self.gamma)
        x = u.x([])
        x[on] = dense(u.U, u.y, self.gamma, self.noise).mean
        return x


@dataclass(frozen=True)
class BayesAnswer(Answer):
    gamma: np.ndarray
    sigma: float
    log_evidence: float
    steps: list[tuple[str, int]]


class Budget:
    """Counts steps; a budget of None never ends."""

    def __init__(self, most: int | None):
        self.left = np.inf if most is None else most

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0


def acquire(state: State, budget: Budget) -> None:
    """Add the column of largest |<φ̃, r>| while it exceeds the threshold."""
    while state.inactive:
        scores = Scores(state)
        j = largest(scores.u, state.inactive, zero=0.0)
        if not scores.u[j] > state.limit * (1 + TIE) or not budget.spend():
            return
        state.step("add", j, scores)


def delete_and_update(state: State, min_increase: float, budget: Budget) -> None:
    """Delete the least column below the threshold, else make the best update; as long as any."""
    while state.active:
        scores = Scores(state)
        least = smallest(scores.u, state.active, zero=0.0)
        best = largest(scores.rises, state.active, zero=0.0)
        if scores.u[least] <= state.limit:
            action, j = "drop", least
        elif scores.rises[best] > min_increase:
            action, j = "update", best
        else:
            return
        if not budget.spend():
            return
        state.step(action, j, scores)


def rounds(state: State, min_increase: float, max_outer: int | None, budget: Budget) -> None:
    """The rounds of Algorithm 1 until one changes nothing; then copies are merged, and once more.

    A copy may come and go at a gain of rounding size: that is nothing.
    """
    done, merged = 0, False
    least = TIE * state.targets * (len(state.y) - len(state.unit.include))
    while max_outer is None or done < max_outer:
        before = state.worth
        acquire(state, budget)
        delete_and_update(state, min_increase, budget)
        done += 1
        if budget.left <= 0:
            return
        if state.worth > before + least:
            merged = False
            continue
        copies = state.merge_copies()
        if merged or not copies:
            return
        merged = True


def rmp(
    A, y, *, sigma, min_increase=1e-6, price=0.0, max_outer=None, max_iter=None, include=(),
    exclude=(),
):  # fmt: skip
    state = State(A, y, sigma, price, include, exclude)
    rounds(state, min_increase * state.targets, max_outer, Budget(max_iter))
    return state.answer()


def fast_sbl(A, y, *, sigma, min_increase=1e-6, price=0.0, max_iter=None, include=(), exclude=()):
    """Each step is the single change, of all columns, that raises the evidence most.

    A copy of an active column brings as much as a new gamma for that column: on near-ties active
    columns come first. Once no step rises by more than min_increase, what is worthless still goes,
    the least relevant first, as in Algorithm 1.
    """
    state = State(A, y, sigma, price, include, exclude)
    budget = Budget(max_iter)
    while state.free:
        scores = Scores(state)
        rises, u = scores.rises, scores.u
        worthless = [j for j in state.active if u[j] <= state.limit]
        j = largest(rises, state.free, zero=0.0)
        tied = [i for i in state.active if rises[i] >= rises[j] * (1 - TIE)]
        if tied:
            j = min(tied)
        if not rises[j] > min_increase * state.targets:
            if not worthless:
                if budget.spend() and state.merge_copies():
                    continue
                break
            j = smallest(u, worthless, zero=0.0)
        if not budget.spend():
            break
        action = "add" if state.gamma[j] == 0 else "drop" if j in worthless else "update"
        state.step(action, j, scores)
    return state.answer()


# --- all gammas at once --------------------------------------------------------------------------


def moments(U, y, gamma, sigma) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Posterior mean, posterior variance and a_j*C⁻¹a_j of every column, by the n×n form."""
    C = sigma**2 * np.eye(len(y)) + (U * gamma) @ U.conj().T
    inverse = np.linalg.inv(C)
    S = np.einsum("ij,ij->j", U.conj(), inverse @ U).real
    mean = (gamma * (U.conj().T @ (inverse @ y)).T).T
    return mean, gamma - gamma**2 * S, S


def mean_squares(values) -> np.ndarray:
    """|values|², the mean over targets: all that updates of a common gamma know of several."""
    return sizes(values) ** 2 / np.prod(values.shape[1:])


def em_update(U, y, gamma, sigma) -> np.ndarray:
    """γ = |μ|² + Σ_ii: each update raises the evidence."""
    mean, variance, _ = moments(U, y, gamma, sigma)
    return mean_squares(mean) + variance


def mackay_update(U, y, gamma, sigma) -> np.ndarray:
    """γ = |μ|² / (1 - Σ_ii/γ), MacKay's fixed point; 1 - Σ_ii/γ = γ a*C⁻¹a."""
    mean, _, S = moments(U, y, gamma, sigma)
    determined = gamma * S
    on = determined > 0
    return np.divide(mean_squares(mean), determined, out=np.zeros_like(gamma), where=on)


def convex_update(U, y, gamma, sigma) -> np.ndarray:
    """γ = |μ| / √(a*C⁻¹a), Wipf and Nagarajan's bound: each update raises the evidence."""
    mean, _, S = moments(U, y, gamma, sigma)
    size = np.sqrt(mean_squares(mean))
    return np.divide(size, np.sqrt(S), out=np.zeros_like(gamma), where=S > 0)


UPDATES: dict[str, Callable[..., np.ndarray]] = {
    "em": em_update,
    "mackay": mackay_update,
    "convex": convex_update,
}


def without_flat(U, y, include) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of columns and target in the complement of the columns with a flat prior."""
    if not include:
        return U, y
    X = U[:, include]
    basis = np.linalg.svd(X, full_matrices=True)[0][:, np.linalg.matrix_rank(X) :]
    return basis.conj().T @ U, basis.conj().T @ y


def sbl(
    A, y, *, sigma, updates="em", min_increase=1e-6, price=0.0, max_iter=None, include=(),
    exclude=(),
):  # fmt: skip
    """Many updates of all gammas from γ = 1, then what is left is polished by rounds of rmp."""
    state = State(A, y, sigma, price, include, exclude)
    U, target = without_flat(state.unit.U, state.y, state.unit.include)
    gamma = np.zeros(len(state.gamma))
    gamma[state.free] = 1.0
    for _ in range(300 if max_iter is None else max_iter):
        gamma = UPDATES[updates](U, target, gamma, state.noise)
        gamma[gamma < 1e-10] = 0.0
    gamma[state.unit.include] = np.inf
    state.gamma = gamma
    # Hundreds of gammas are still on their way to 0: these go first, each once.
    least = min_increase * state.targets
    delete_and_update(state, least, Budget(None))
    rounds(state, least, None, Budget(None))
    return state.answer()


BAYES_REFERENCES: dict[str, Callable[..., BayesAnswer]] = {
    "rmp": rmp,
    "fast_sbl": fast_sbl,
    "sbl": sbl,
}
ALL_REFERENCES: dict[str, Callable[..., Answer]] = {**REFERENCES, **BAYES_REFERENCES}
