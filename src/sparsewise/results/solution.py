"""What an algorithm returns: the model, the way to it, and why it ended."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import count
from sparsewise.guarantees.certificate import Certificate, certify
from sparsewise.problem.problem import Problem, problem_of
from sparsewise.results.check import Check
from sparsewise.results.path import Path
from sparsewise.results.stop import Stop


class Posterior(NamedTuple):
    """The noise's standard deviation, and the covariance of the chosen coefficients."""

    sigma: float
    covariance: Array


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Solution:
    """A sparse model and how it came about.

    Attributes
    ----------
    algorithm : str
        Name of the algorithm, as in ``sparsewise.ALGORITHMS``.
    support : ndarray of int
        The chosen columns, ascending.
    coef : ndarray of shape (m,), or (m, q) for targets of shape (n, q)
        Coefficients, zero outside the support.
    residual_norm : float
        ‖y - A coef‖; of several targets, their root mean square, weighted as `Targets` says.
    path : Path
        Every step, and the best model of each size met.
    stop : Stop
        Why it ended, with advice.
    n_passes : int
        How many times A was read from end to end.
    n_products : int
        How many products with A or its adjoint were made, if A is an operator, those that make
        single columns among them; 0 for a matrix that is stored.
    least_squares : bool
        Whether coef is the least-squares fit on the support, with the ridge if there is one.
    df : float
        Degrees of freedom: the trace of the hat matrix, which is the number of features unless
        coefficients are shrunk.
    ridge : float
        What a squared coefficient costs, for columns of unit norm: coef minimises
        ‖r‖² + ridge Σ ‖a_j‖² |x_j|² on the support.
    include, exclude : tuple of int
        Columns that had to be, and must not be, in the model.
    locked : tuple of int
        Columns that are in every model but are no features, such as the constant of an intercept:
        they have coefficients, and are not in the support.
    note : str
        What there is to say of where A was, if it was not here.
    """

    algorithm: str
    support: Array
    coef: Array
    residual_norm: float
    path: Path
    stop: Stop
    n_passes: int
    n_products: int = 0
    least_squares: bool
    df: float = math.nan
    ridge: float = 0.0
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    locked: tuple[int, ...] = ()
    note: str = ""

    @property
    def rows_of_coef(self) -> Array:
        """The coefficients with one row a column of A, of one target, too."""
        return self.coef.reshape(len(self.coef), -1)

    @property
    def posterior(self) -> Posterior | None:
        """What is known of the coefficients besides their values, if the algorithm tells it."""
        return None

    @property
    def counts_features(self) -> bool:
        """Whether degrees of freedom are known, so that criteria of loss and df apply."""
        return self.least_squares

    @property
    def ending(self) -> str:
        """What leads from the last step of the path to the model, if anything does."""
        return ""

    def start_evidence(self, rows: float) -> float:
        """The log evidence before the first step, of so many rows; NaN where there is none."""
        return math.nan

    def is_noiseless(self, total: float, rows: float) -> bool:
        """Whether inferred noise is as small as it may get, so that the evidence has no bound."""
        return False

    def facts(self) -> Iterator[tuple[str, str]]:
        """What it has to say of itself besides: pairs of a label and a sentence."""
        return iter(())

    def check(self, A: Any, y: Any) -> Check:
        """Recompute residual, normal equations and support from the data alone."""
        return self._check_fit(problem_of(A, y, self.coef, self.ridge))

    def certificate(self, A: Any, y: Any, **how: Any) -> Certificate:
        """Whether the support is the best subset of its size; `how` as for `certify`.

        That is, the best of those that have the columns of `include` and none of `exclude`.
        """
        return certify(A, y, self, **how)

    def _check_fit(self, data: Problem) -> Check:
        support = self.support
        fitted = np.append(support, np.array(self.locked, np.int64))
        stray = np.setdiff1d(np.flatnonzero(self.rows_of_coef.any(axis=1)), fitted)
        columns = np.append(fitted, stray)
        # Of unit columns and a unit target: neither data nor coefficients need be of moderate size.
        x = data.unit_coef(self.coef, columns)
        unit = data.design.unit_columns(columns)
        residual = data.Y - x.astype(data.dtype) @ unit.T
        norm = float(np.linalg.norm(residual))
        inner = residual @ unit[:, : fitted.size].conj()
        inner[:, : support.size] -= self.ridge * x[:, : support.size]
        normal = float(np.abs(inner).max(initial=0.0))
        error = abs(norm - self.residual_norm / data.scale)
        support_ok = bool((np.diff(support) > 0).all() and not stray.size)
        # The residual of even the exact coefficients shows their rounding errors; an answer that
        # has no more than these is none.
        eps = data.tolerances_in(self.coef.dtype).eps
        size = 1.0 + float(np.abs(x).sum(axis=1).max())
        tolerance = min(max(1e-2 * eps**0.5, 64 * eps * size), self._forgivable(data))
        ok = support_ok and error <= tolerance and (normal <= tolerance or not self.least_squares)
        scales = np.array([data.scale]) if data.scales is None else data.scales[:, 0]
        each = np.linalg.norm(residual, axis=1).astype(float) * scales
        return Check(ok, norm * data.scale, error, normal, support_ok, each)

    def _forgivable(self, data: Problem) -> float:
        """An error of the residual, relative to ‖y‖, that no size of coefficients excuses."""
        return 16 * data.tolerances_in(self.coef.dtype).eps ** 0.5

    @property
    def _shared(self) -> str:
        """How many targets share the support, if several do."""
        return "" if self.coef.ndim == 1 else f" for {count(self.coef.shape[1], 'target')}"

    @property
    def _noise(self) -> str:
        """The standard deviation of the noise, of each target, if it is known."""
        return ""

    @property
    def _reading(self) -> str:
        """How often A was read, and applied."""
        passes = f"{count(self.n_passes, 'pass', 'passes')} over A"
        return f"{passes}, {count(self.n_products, 'product')}" if self.n_products else passes

    def __repr__(self) -> str:
        size = self.support.size
        noise = self._noise and f"  noise    σ = {self._noise}\n"
        where = self.note and f"  A        {self.note}\n"
        facts = "".join(f"  {label:<8} {sentence}\n" for label, sentence in self.facts())
        return (
            f"Solution by {self.algorithm}: {size} feature{'' if size == 1 else 's'} "
            f"of {len(self.coef)}{self._shared}, residual {self.residual_norm:.4g}\n"
            f"  coef     {_entries(self.support, self.coef)}\n"
            f"{noise}{facts}"
            f"  path     {len(self.path)} steps, {self._reading}\n"
            f"{where}"
            f"  stopped  {self.stop}\n"
            f"  advice   {self.stop.advice}"
        )


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class UncertainSolution(Solution):
    """A solution that knows the noise, and with it how sure its coefficients are.

    Attributes
    ----------
    sigma : float
        Standard deviation of the noise, given or inferred; of several targets, the root of their
        mean square, weighted as `Targets` says.
    covariance : ndarray of shape (k, k)
        That of ``coef[support]``, in the precision of the data; of several targets, that of one
        whose noise is `sigma`.
    sigmas : ndarray of shape (q,), or None
        Standard deviation of the noise of each target, where there are several.
    """

    sigma: float
    covariance: Array
    sigmas: Array | None = None

    @property
    def each_sigma(self) -> Array:
        """`sigmas`; of a single target `sigma`, to the digit."""
        if self.sigmas is None or self.sigmas.size == 1:
            return np.array([self.sigma])
        return self.sigmas

    @property
    def std(self) -> Array:
        """Standard deviation of each coefficient; 0 outside the support."""
        deviations = np.sqrt(np.diagonal(self.covariance).real)
        if self.sigmas is not None:
            shares = self.each_sigma / (self.sigma or 1.0)
            deviations = (deviations[:, None] * shares).astype(deviations.dtype)
        std = np.zeros(self.coef.shape, deviations.dtype)
        std[self.support] = deviations
        return std

    @property
    def _noise(self) -> str:
        shown = ", ".join(f"{sigma:.4g}" for sigma in self.each_sigma[:8])
        return f"{shown}, …" if self.each_sigma.size > 8 else shown

    @property
    def posterior(self) -> Posterior:
        """The noise, which is taken as given, and the covariance that follows."""
        return Posterior(float(self.sigma), self.covariance)


def _entries(support: Array, coef: Array, width: int = 68) -> str:
    """The first coefficients by column, as many as fit."""
    shown = ""
    for i, j in enumerate(support):
        values = " ".join(f"{value:.4g}" for value in np.atleast_1d(coef[j]))
        entry = f"{', ' if i else ''}{j}: {values if coef.ndim == 1 else f'[{values}]'}"
        if len(shown) + len(entry) > width:
            return f"{{{shown}{', ' if i else ''}… {support.size - i} more}}"
        shown += entry
    return f"{{{shown}}}"
