"""Sparse codes of many signals in one dictionary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import count
from sparsewise.design import Design, as_design
from sparsewise.design.base import BLOCK_BYTES, square_sums
from sparsewise.errors import InputError
from sparsewise.problem.problem import Units, product
from sparsewise.problem.signals import Signals, unit_signals
from sparsewise.results.path import Path
from sparsewise.results.solution import Solution
from sparsewise.results.stop import Stop
from sparsewise.tolerances import tolerances

if TYPE_CHECKING:
    from scipy.sparse import csc_array


NO_PATH = Path([], Units(1.0, None, np.empty(0), np.dtype(float), True), 0.0)
"""The path of a code: none is kept."""

ROUNDING = 8.0
"""Figures of many signals and of one differ by less than this, in units of eps Σ|x|."""


class CodesCheck(NamedTuple):
    """The result of `Codes.check`, which recomputes the codes from the data alone.

    Attributes
    ----------
    holds : ndarray of bool
        For each signal, whether the check of the function for one signal holds.
    residual_norms : ndarray
        ‖y - A x‖, recomputed.
    residual_errors : ndarray
        Their differences from the stated ones, relative to ‖y‖.
    normal_equations : ndarray
        For each signal, max over its atoms of |a_j* r| / (‖a_j‖ ‖y‖): zero for least squares. With
        a ridge, of |u_j* r - ridge z_j| / ‖y‖ for unit columns u_j and their coefficients z_j.
    """

    holds: Array
    residual_norms: Array
    residual_errors: Array
    normal_equations: Array

    @property
    def ok(self) -> bool:
        """Whether every code holds."""
        return bool(self.holds.all())

    def __repr__(self) -> str:
        error = self.residual_errors.max(initial=0.0)
        normal = self.normal_equations.max(initial=0.0)
        bad = np.flatnonzero(~self.holds)
        signals = count(self.holds.size, "code")
        verdict = f"all {signals} hold"
        if bad.size:
            verdict = f"{bad.size} of {signals} DO NOT HOLD, the first of signal {bad[0]}"
        return (
            f"Check: {verdict} (residuals off by at most {error:.1e}, normal equations "
            f"{normal:.1e})"
        )


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Codes:
    """Sparse codes of many signals: the result of `encode`.

    Attributes
    ----------
    algorithm : str
        Name of the algorithm, as in ``sparsewise.ALGORITHMS``.
    coef : scipy.sparse.csc_array of shape (m, T)
        The coefficients, one signal per column; its row indices are the supports, ascending.
    residual_norms : ndarray of shape (T,)
        ‖y - A x‖ of each signal.
    stops : ndarray of Stop, of shape (T,)
        Why each signal ended; ``stops == Stop.RESIDUAL`` marks those that met the residual bound.
    least_squares : bool
        Whether coefficients are the least-squares fit on their supports, with the ridge if any.
    ridge : float
        What a squared coefficient costs, for columns of unit norm.
    proofs : tuple of Solution
        What `check` needs of each signal besides (a dual vector, prior variances): its solution
        without coefficients and path. Empty where residuals and normal equations tell all.
    """

    algorithm: str
    coef: csc_array
    residual_norms: Array
    stops: Array
    least_squares: bool
    ridge: float = 0.0
    proofs: tuple[Solution, ...] = ()

    @property
    def sizes(self) -> Array:
        """The number of columns of each signal."""
        return np.diff(self.coef.indptr)

    def support(self, t: int) -> Array:
        """The columns of signal t, ascending."""
        return self.coef.indices[self.coef.indptr[t] : self.coef.indptr[t + 1]]

    def __len__(self) -> int:
        return self.residual_norms.size

    def reconstruct(self, A: Any) -> Array:
        """A coef: the signals as the codes represent them, an array of shape (n, T)."""
        design = self._fitting(as_design(A))
        used = np.unique(self.coef.indices)
        return np.asarray(design.columns(used) @ self.coef[used])

    def check(self, A: Any, Y: Any) -> CodesCheck:
        """Recompute residuals and normal equations from the data alone, a block at a time.

        A code holds if the solution of its signal does: what that is checked for besides, such as
        the duality gap of an ℓ1 norm, is looked at signal by signal.
        """
        design = self._fitting(as_design(A))
        signals = Signals(Y, design.shape[0])
        if signals.count != len(self):
            wrong = f"has {count(signals.count, 'signal')}, but there are {len(self)} codes."
            raise InputError(wrong, parameter="Y")
        used = np.unique(self.coef.indices)
        unit = design.unit_columns(used).astype(
            np.result_type(self.coef.dtype, np.float64), copy=False
        )
        size = max(1, BLOCK_BYTES // (8 * (design.shape[0] + used.size)))
        parts = [
            self._check_block(design, used, unit, signals, *ends) for ends in signals.blocks(size)
        ]
        none = np.empty(0)
        columns = zip(*parts, strict=True) if parts else [[none.astype(bool)], *[[none]] * 3]
        return CodesCheck(*map(np.concatenate, columns))

    def _check_block(
        self, design: Design, used: Array, unit: Array, signals: Signals, first: int, last: int
    ) -> CodesCheck:
        dtype = np.result_type(unit, np.complex128 if signals.is_complex else np.float64)
        Y, norms = unit_signals(signals.block(first, last), first, dtype)
        scale = np.where(norms > 0, norms, 1.0)
        coef = self.coef[:, first:last]
        which = np.repeat(np.arange(last - first), np.diff(coef.indptr))
        # For unit columns and a unit signal: data and coefficients may be of any size.
        x = product(coef.data, design.norms()[coef.indices], 1.0 / scale[which])
        place = np.searchsorted(used, coef.indices)
        X = np.zeros((used.size, last - first), x.dtype)
        X[place, which] = x
        R = Y.T - unit @ X
        lengths = np.sqrt(square_sums(R))
        errors = np.abs(lengths - self.residual_norms[first:last] / scale)
        inner = np.zeros(X.shape)
        inner[place, which] = np.abs(unit.conj().T @ R - self.ridge * X)[place, which]
        normal = inner.max(axis=0, initial=0.0)
        eps = tolerances(self.coef.dtype, design.error).eps
        sums = 1.0 + np.abs(X).sum(axis=0)
        tolerance = np.minimum(np.maximum(1e-2 * eps**0.5, 64 * eps * sums), 16 * eps**0.5)
        worst = np.maximum(errors, normal) if self.least_squares else errors
        holds = worst <= tolerance
        is_close = np.abs(worst - tolerance) <= ROUNDING * eps * sums
        for s in np.flatnonzero(is_close | bool(self.proofs)).tolist():
            y = signals.signal(first + s)
            holds[s] = self._solution(first + s).check(design, y).ok
        return CodesCheck(holds, lengths * scale, errors, normal)

    def _solution(self, t: int) -> Solution:
        """The code of signal t as the function for one signal returns it, without the path."""
        support, coef = self.support(t), np.zeros(self.coef.shape[0], self.coef.dtype)
        coef[support] = self.coef.data[self.coef.indptr[t] : self.coef.indptr[t + 1]]
        norm = float(self.residual_norms[t])
        if self.proofs:
            return replace(self.proofs[t], coef=coef, residual_norm=norm)
        return Solution(
            algorithm=self.algorithm,
            support=support,
            coef=coef,
            residual_norm=norm,
            path=NO_PATH,
            stop=self.stops[t],
            n_passes=0,
            least_squares=self.least_squares,
            ridge=self.ridge,
        )

    def _fitting(self, design: Design) -> Design:
        """The design, if its number of columns is that of the dictionary."""
        m = self.coef.shape[0]
        if design.shape[1] != m:
            wrong = f"has {count(design.shape[1], 'column')}, but the codes are of {m}."
            raise InputError(wrong, parameter="A")
        return design

    def __repr__(self) -> str:
        m, signals = self.coef.shape
        head = f"Codes by {self.algorithm}: {count(signals, 'signal')}, {count(m, 'atom')}"
        if not signals:
            return head
        sizes, norms = self.sizes, self.residual_norms
        return (
            f"{head}\n"
            f"  atoms     {sizes.mean():.4g} a signal ({sizes.min()} to {sizes.max()})\n"
            f"  residual  {np.median(norms):.4g} at the median "
            f"({norms.min():.4g} to {norms.max():.4g})\n"
            f"  stopped   {self._reasons()}"
        )

    def _reasons(self) -> str:
        """How many signals ended for each reason, the most frequent first."""
        counts = {stop: int((self.stops == stop).sum()) for stop in Stop}
        ranked = sorted((stop for stop in Stop if counts[stop]), key=lambda stop: -counts[stop])
        return "\n            ".join(f"{counts[stop]}: {stop}" for stop in ranked)


def as_proof(solution: Solution) -> Solution:
    """A solution without its coefficients, which codes have, and without its path."""
    return replace(solution, coef=np.empty(0, solution.coef.dtype), path=NO_PATH)
