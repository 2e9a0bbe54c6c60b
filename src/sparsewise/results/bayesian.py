"""The result of Sparse Bayesian Learning: a solution with prior, posterior and evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import count
from sparsewise.design.base import square_sums
from sparsewise.errors import InputError
from sparsewise.problem.problem import Problem, problem_of, product
from sparsewise.results.check import BayesianCheck
from sparsewise.results.path import Path
from sparsewise.results.solution import UncertainSolution
from sparsewise.results.stop import Stop

MINOR = 1e-4
"""Fraction of ‖y‖²: features that explain less are as small as systematic errors."""

LOOKS = 64
"""Models of a path that a check looks at, and columns that it reads at a time."""


def log_evidence(
    log_sigma: float, rows: float, log_det: float, fit: float, is_complex: bool, targets: int = 1
) -> float:
    """The log marginal likelihood, eq. 1.3 of the paper with its ½ and constants.

    -½ (ν log 2πσ² + log|C/σ²| + y*C⁻¹y) for real data, and -(ν log πσ² + log|C/σ²| + y*C⁻¹y)
    for circular complex data; C = σ²I + A Γ A*. For several targets, which share C/σ², it is the
    sum of these (Wipf and Rao 2007).

    Parameters
    ----------
    log_sigma : float
        log σ, averaged over targets.
    rows : float
        ν, the dimension of y.
    log_det : float
        log|C/σ²|.
    fit : float
        y*C⁻¹y, averaged over targets.
    is_complex : bool
        Whether the data are complex.
    targets : int
        The number of targets.
    """
    if log_sigma == -math.inf:
        return math.inf  # a target of zeros has no noise
    constant = math.log(math.pi if is_complex else 2 * math.pi) + 2 * log_sigma
    return -weight(is_complex) * targets * (rows * constant + log_det + fit)


def mean_log(sigmas: Array) -> float:
    """The mean of log σ over targets, without targets of zeros, which have no noise."""
    noisy = sigmas[sigmas > 0]
    return float(np.log(noisy).mean()) if noisy.size else -math.inf


def weight(is_complex: bool) -> float:
    """β: a complex number counts for two real ones."""
    return 1.0 if is_complex else 0.5


class InferredNoise(NamedTuple):
    """The rule for an inferred σ²: the best one for the model, for a unit target.

    With γ/σ² fixed, C/σ² doesn't depend on σ², and the log evidence is
    -β (ν log σ² + y*R y/σ²) up to a constant, with R = σ²C⁻¹. An inverse-gamma prior on σ² adds
    -(shape log σ² + scale/σ²).

    Attributes
    ----------
    least : float
        The smallest σ² allowed.
    shape, scale : float
        Parameters of the prior; 0 for none.
    may_fall : bool
        Whether a lower σ² counts as an improvement. If features cost less than log m, σ² would
        fall with every feature added to fit the noise. It is then that of a model whose features
        pay log m, and further features leave less than it.
    """

    least: float
    shape: float = 0.0
    scale: float = 0.0
    may_fall: bool = True

    def best(self, squares: float, rows: float, beta: float) -> float:
        """The σ² of greatest evidence; squares is y*R y, rows ν, and beta that of all targets."""
        peak = (beta * squares + self.scale) / (beta * rows + self.shape)
        return max(peak, self.least)

    def rise(self, noise: float, squares: float, rows: float, beta: float) -> float:
        """By how much the best σ² would raise log evidence and log prior above this one."""
        best = self.best(squares, rows, beta)
        if best < noise and not self.may_fall:
            return 0.0
        fit = (beta * squares + self.scale) * (1 / noise - 1 / best)
        return max(0.0, fit - (beta * rows + self.shape) * math.log(best / noise))

    def log_prior(self, noise: float) -> float:
        """The log prior density of log σ², up to a constant."""
        return -self.shape * math.log(noise) - self.scale / noise


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class BayesianSolution(UncertainSolution):
    """A sparse model with a Gaussian prior on each coefficient; ``coef`` is the posterior mean.

    The log evidence of every step on ``path`` is that at ``sigma``, the final one.

    Attributes
    ----------
    gamma : ndarray of shape (m,)
        Prior variance of each coefficient: 0 outside the support, infinite (a flat prior) for
        included columns. Several targets share γ/σ²; `gamma` is that of a target with noise
        `sigma`.
    log_evidence : float
        Log marginal likelihood of y given gamma and sigma, constants included; with flat priors,
        that of the part of y they don't explain. For several targets, the sum. Where sigma was
        inferred, it need not be the maximum over sigma (see `rmp`).
    price : float
        The rise of the log evidence required of each feature.
    min_increase : float
        Smaller rises of the log evidence were not pursued.
    excluded : ndarray of int
        Columns excluded from the model.
    inferred : InferredNoise or None
        The rule for sigma, if it was inferred.
    quiet : float
        Inferred noise below this fraction of the target can't be distinguished from rounding.
    minor : int
        How many features explain less than a ten-thousandth of the target each, if it is nearly
        exact and sigma was inferred: they may fit systematic errors.
    """

    gamma: Array
    log_evidence: float
    price: float
    min_increase: float
    excluded: Array
    inferred: InferredNoise | None = None
    quiet: float = 0.0
    minor: int = 0

    def _forgivable(self, data: Problem) -> float:
        """Errors far below the noise don't count."""
        return max(super()._forgivable(data), 0.1 * self.sigma / data.scale)

    def start_evidence(self, rows: float) -> float:
        """The log evidence of the model with flat priors alone; NaN for any other start."""
        # Prior variances of other starts aren't kept; squares of a tiny target underflow.
        if not np.isinf(self.gamma[list(self.path.start)]).all() or self.sigma**2 == 0:
            return math.nan
        squares = (math.sqrt(self.path.initial.loss) / self.sigma) ** 2
        is_complex = self.coef.dtype.kind == "c"
        log_sigma, targets = mean_log(self.each_sigma), int((self.each_sigma > 0).sum())
        return log_evidence(log_sigma, self._free_rows(rows), 0.0, squares, is_complex, targets)

    def is_noiseless(self, total: float, rows: float) -> bool:
        """Whether σ is at the level of rounding, the lower limit of inferred noise."""
        least = self.quiet * math.sqrt(total / self._free_rows(rows))
        return self.sigma <= 1.001 * least

    def _free_rows(self, rows: float) -> float:
        """The dimension that flat priors leave."""
        return rows - int(np.isinf(self.gamma).sum())

    def facts(self) -> Iterator[tuple[str, str]]:
        """The evidence."""
        yield "evidence", f"log evidence = {self.log_evidence:.6g}"
        if self.minor:
            which = f"{count(self.minor, 'feature')} of {self.support.size}"
            explain = "explains" if self.minor == 1 else "explain"
            yield (
                "caution",
                f"{which} {explain} less than {MINOR:.2%} of the target each: where it is nearly "
                "exact, such features may fit systematic errors; a noise floor of 3 % treats these "
                "as noise",
            )

    def check(self, A: Any, y: Any) -> BayesianCheck:
        """Recompute residual, posterior, evidence and its optimality from the data alone."""
        data = problem_of(A, y, self.coef)
        fit = self._check_fit(data)
        posterior_error = evidence_error = increase = by_noise = math.inf
        ok = False
        fitting = np.array_equal(np.flatnonzero(self.gamma), self.support)
        if fitting and self.sigma >= 0 and (self.gamma[self.support] > 0).all():  # NaN is neither
            again = _Recomputed(data, self)
            posterior_error = again.posterior_error
            same = self.log_evidence == again.log_evidence  # both may be infinite
            evidence_error = 0.0 if same else abs(again.log_evidence - self.log_evidence)
            increase, by_noise = again.possible_increase(), again.increase_by_noise()
            # Nearly dependent columns and small noise cost digits.
            eps = data.tolerances_in(self.coef.dtype).eps
            tolerance = 1e-2 * eps**0.5 * again.condition
            # Smaller rises are hidden by the rounding of the evidence itself.
            allowed = self.min_increase + tolerance + 64 * eps * abs(again.log_evidence)
            # Each γ may be that far from its optimum, and σ follows them.
            in_all = allowed * (1 + self.support.size) + again.blur
            settled = self.stop is Stop.EVIDENCE
            ok = (
                fit.ok
                and posterior_error <= tolerance
                and evidence_error <= tolerance * (1.0 + abs(again.log_evidence)) + again.blur
                and (not settled or (increase <= allowed and by_noise <= in_all))
            )
        return fit.extended(
            BayesianCheck,
            ok=ok,
            posterior_error=posterior_error,
            log_evidence_error=evidence_error,
            possible_increase=increase,
            increase_by_noise=by_noise,
            path_error=path_error(data, self.path),
        )


def path_error(data: Problem, path: Path) -> float:
    """By how much ‖r‖ told on the path differs at most from that of the coefficients.

    Relative to ‖y‖, of `LOOKS` models from the first to the last; NaN: some are out of range.
    """
    steps = np.unique(np.linspace(0, len(path), LOOKS).astype(int))
    try:
        columns, coefs = path.coefs_after(steps.tolist())
    except InputError:
        return math.nan
    each = coefs.reshape(columns.size, steps.size, len(data.Y))
    units = data.scale if data.scales is None else data.scales[:, 0]
    x = product(each, data.design.norms()[columns][:, None, None], divisor=units)
    rest = np.repeat(data.Y[None], steps.size, axis=0)
    for first in range(0, columns.size, LOOKS):
        part = slice(first, first + LOOKS)
        unit = data.design.unit_columns(columns[part])
        rest = rest - np.einsum("jst,nj->stn", x[part], unit, optimize=True)
    norms = np.sqrt(np.square(np.abs(rest)).sum(axis=(1, 2)))
    return float(np.abs(norms - path.residual_norms[steps] / data.scale).max())


class _Recomputed:
    """Posterior and evidence of a solution's gamma and sigma, by one QR of [A_S; D]."""

    def __init__(self, data: Problem, solution: BayesianSolution) -> None:
        self.data, self.solution = data, solution
        support = solution.support
        norms = data.design.norms()[support]
        with np.errstate(divide="ignore"):
            self.d = solution.sigma / (np.sqrt(solution.gamma[support]) * norms)
        unit = data.design.unit_columns(support)
        k, n = support.size, data.shape[0]
        Q, R = np.linalg.qr(np.vstack([unit, np.diag(self.d)]))
        self.Q, self.below = Q[:n], Q[n:]
        U = np.linalg.solve(R, np.eye(k)) if k else np.empty((0, 0))
        self.U, self.diagonal = U, square_sums(U.T)
        t = data.Y @ self.Q.conj()
        x = t @ U.T
        self.rest = data.Y - t @ self.Q.T
        self.rest_below = -self.d * x
        self.x = x
        below = np.vdot(self.rest_below, self.rest_below).real
        self.squares = float(np.vdot(self.rest, self.rest).real + below)  # y*R y
        self.rows = data.design.rows - int((self.d == 0).sum())
        self.weight = weight(data.is_complex) * data.targets
        self.condition = float(np.linalg.cond(R)) if k else 1.0
        self.noise = (solution.sigma / data.scale) ** 2
        # The effect of rounding in the residual on y*C⁻¹y.
        size = 1.0 + float(np.abs(x).sum(axis=1).max())
        shown = float(np.linalg.norm(self.rest)) * size * data.targets
        self.blur = 4 * data.tolerances.eps * shown / max(self.noise, 1e-300)
        self.posterior_error = self._posterior_error()
        self.log_evidence = self._log_evidence(R)

    def _posterior_error(self) -> float:
        """The largest relative error of means and covariances, of unit columns and targets."""
        support, stated = self.solution.support, self.solution.covariance
        if stated.shape != (support.size, support.size):
            return math.inf
        inverse = self.data.inverse_norms[support].astype(float)
        scaled = self.solution.sigma * inverse[:, None] * self.U
        covariance = scaled @ scaled.conj().T
        std = np.sqrt(np.diagonal(covariance).real)
        least = np.finfo(float).tiny
        errors = np.abs(covariance - stated) / np.maximum(np.outer(std, std), least)
        mean = self.data.unit_coef(self.solution.coef, support)
        spread = math.sqrt(self.noise * self.diagonal.max(initial=0.0))
        size = np.abs(self.x).max(initial=0.0) + spread
        off = np.abs(mean - self.x).max(initial=0.0) / max(size, least)
        return max(float(off), float(errors.max(initial=0.0)))

    def _log_evidence(self, R: Array) -> float:
        flat = self.d == 0
        log_det = 2 * float(np.log(np.abs(np.diagonal(R))).sum() - np.log(self.d[~flat]).sum())
        if flat.any():
            columns = self.data.design.columns(self.solution.support[flat])
            unit = columns * self.data.inverse_norms[self.solution.support[flat]]
            R_flat = np.linalg.qr(unit, mode="r")
            log_det -= 2 * float(np.log(np.abs(np.diagonal(R_flat))).sum())
        return log_evidence(
            mean_log(math.sqrt(self.noise) * self.data.noise_scales),
            self.rows,
            log_det,
            self.squares / self.noise if self.noise else 0.0,
            self.data.is_complex,
            self.data.targets,
        )

    def increase_by_noise(self) -> float:
        """The rise of the log evidence by another σ with γ/σ² fixed, if σ was inferred."""
        rule = self.solution.inferred
        if rule is None or not self.noise:
            return 0.0
        return rule.rise(self.noise, self.squares, self.rows, self.weight)

    def possible_increase(self) -> float:
        """The largest rise by adding, deleting or re-estimating one column."""
        if self.solution.sigma == 0.0:
            return 0.0
        beta, price = self.weight, self.solution.price
        u, own = self._active()
        off = np.maximum(1 / (own * np.maximum(u, 1)) - 1, -1 + 1e-16)
        by_update = np.where(u > 1, beta * (np.log1p(off) - off / (1 + off)), 0.0)
        by_deletion = price - beta * (u * (1 - own) + np.log(own))
        rises = [by_update, by_deletion]
        for u in self._inactive():
            rises.append(np.where(u > 1, beta * (u - 1 - np.log(np.maximum(u, 1))) - price, 0.0))
        return max(float(np.max(rise, initial=0.0)) for rise in rises)

    def _active(self) -> tuple[Array, Array]:
        """u = |q|²/s and 1/(1 + γ s) of the active columns with a proper prior."""
        loose = self.d > 0
        own = np.square(self.d[loose]) * self.diagonal[loose]
        share = np.maximum(1 - own, np.finfo(float).eps)
        u = square_sums(self.x[:, loose]) / (self.diagonal[loose] * share * self.noise)
        return u, own

    def _inactive(self) -> Iterator[Array]:
        """|q|²/s of the columns that could enter, block by block."""
        data = self.data
        tolerance = data.tolerances
        closed = np.zeros(data.shape[1], bool)
        closed[self.solution.support] = True
        closed[self.solution.excluded] = True
        open_columns = np.flatnonzero(~closed & (data.inverse_norms > 0))
        for first in range(0, open_columns.size, 64):
            columns = open_columns[first : first + 64]
            V = data.design.unit_columns(columns)
            below = np.zeros((self.d.size, columns.size), V.dtype)
            within = np.zeros_like(below)
            for _ in range(2):
                H = self.Q.conj().T @ V + self.below.conj().T @ below
                V = V - self.Q @ H
                below = below - self.below @ H
                within += H
            energy = square_sums(V) + square_sums(below)
            corr = self.rest @ V.conj() + self.rest_below @ below.conj()
            # Others are numerically dependent, or would leave coefficients no digits.
            size = self.diagonal.sum() + (1 + square_sums(self.U @ within)) / np.maximum(
                energy, tolerance.exact
            )
            usable = (energy > tolerance.exact) & (size <= tolerance.frail_at(self.noise))
            yield square_sums(corr)[usable] / (energy[usable] * self.noise)
