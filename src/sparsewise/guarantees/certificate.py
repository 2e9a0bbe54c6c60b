"""Is this subset the best of its size? A certificate for the output of any algorithm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.design.base import Array, square_sums
from sparsewise.design.unit_columns import is_dependent, projections, unit_factor
from sparsewise.guarantees.dictionary import inner_products, largest_sums
from sparsewise.guarantees.recovery import extreme_singular_values
from sparsewise.guarantees.search import Search, can_search
from sparsewise.parameters import check_columns, check_tolerance
from sparsewise.problem import Problem, problem
from sparsewise.tolerances import tolerances


class HasSupport(Protocol):
    """What an algorithm returns, as far as it matters here."""

    @property
    def support(self) -> Array:
        """The chosen columns."""


class Swap(NamedTuple):
    """An exchange of one column for another, and by how much ‖r‖² falls."""

    out: int
    into: int
    fall: float


@dataclass(frozen=True, repr=False)
class Certificate:
    """What can be said of a subset: the best of its size, beaten by another, or unknown.

    Attributes
    ----------
    status : {"optimal", "unknown", "beaten"}
        "optimal": no subset of at most as many columns fits better (with ``proof="bound"``, none
        fits as well). "beaten": `better` fits better.
    columns : tuple of int
        The subset.
    residual_norm : float
        ‖r‖ of the least-squares fit.
    bound : float
        The subset is certified if ‖r‖ is below this; infinite where nothing depends on it, all
        other subsets having been looked at.
    exchanged : int
        The number of columns exchanged for others for which the bound is lowest; 0 where fewer
        of these columns fit as well, or there are no others.
    singular_value : float
        For that number, a lower bound of the smallest singular value of the subset together with
        as many other (unit) columns.
    source : str
        What that comes from.
    min_abs : float
        The smallest coefficient, for unit columns.
    proof : {"bound", "search"} or None
        How it was certified; "search" for a beaten subset says that `better` is the best.
    better : tuple of int or None
        A subset of the same size that fits better, where one was found.
    swap : Swap or None
        The best exchange of one column for another, where it was looked for and there is one.
    swap_optimal : bool or None
        Whether no exchange of one column lowers ‖r‖; None where it was not looked for.
    """

    status: Literal["optimal", "unknown", "beaten"]
    columns: tuple[int, ...]
    residual_norm: float
    bound: float
    exchanged: int
    singular_value: float
    source: str
    min_abs: float
    proof: Literal["bound", "search"] | None = None
    better: tuple[int, ...] | None = None
    swap: Swap | None = None
    swap_optimal: bool | None = None

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def margin(self) -> float:
        """bound / ‖r‖: above 1 for a subset that the bound certifies."""
        return self.bound / self.residual_norm if self.residual_norm > 0 else math.inf

    def sentence(self, names: Sequence[str] | None = None) -> str:
        """The verdict in one plain sentence, with the columns by name if names are given."""
        if self.status == "optimal":
            how = " (every other was ruled out)" if self.proof == "search" else ""
            return f"certified best subset of {self.size}{how}"
        if self.better is not None:
            fits = "fits best" if self.proof == "search" else "fits better"
            return f"not the best subset of {self.size}: {self._change(names)} {fits}"
        if self.exchanged == 0:
            why = "fewer of these columns fit as well"
        elif self.bound == 0:
            why = "for all the bounds can tell, other columns may stand in for these"
        else:
            why = f"residual is {1 / self.margin:.2g}× the bound"
        swaps = "; no exchange of one column for another fits better" if self.swap_optimal else ""
        return f"not certified: {why}{swaps}"

    def _change(self, names: Sequence[str] | None) -> str:
        """What leads from the subset to the better one."""
        assert self.better is not None

        def listed(columns: set[int]) -> str:
            return ", ".join(str(j) if names is None else names[j] for j in sorted(columns))

        ours, theirs = set(self.columns), set(self.better)
        return f"{listed(theirs - ours)} in place of {listed(ours - theirs)}"

    def __str__(self) -> str:
        return self.sentence()

    def __repr__(self) -> str:
        lines = [
            f"Certificate: {self}",
            f"  residual        {self.residual_norm:.4g}",
            f"  smallest coef   {self.min_abs:.4g} (unit columns)",
        ]
        if math.isfinite(self.bound):
            lines[1] += f"; certain below {self.bound:.4g}"
            lines.append(
                f"  singular value  at least {self.singular_value:.4g} with {self.exchanged} "
                f"exchanged, by {self.source}"
            )
        return "\n".join(lines)


def certify(
    A: Any,
    y: ArrayLike,
    solution: HasSupport | Iterable[int],
    *,
    swaps: bool = False,
    time_limit: float | None = 0.0,
) -> Certificate:
    """Whether the support of a solution is the best subset of its size.

    Let the columns be unit, S the support with k columns, x its least-squares coefficients and r
    its residual. For an exchange of d columns for others let X be the sum of the d smallest |x_i|²,
    s a lower bound on the singular values of S with any d others, and Λ an upper bound on the
    squared singular values of any d others. If for every d up to k

        ‖r‖ < √X · s / (2 - s/√Λ),

    S is the unique best subset of at most k columns (docs/guarantees.md has the proof). This is
    more than the s/√(2(2 - s²)) · min|x_i| of Thm. 4.6, and min|x_i| for orthonormal columns, where
    no more is possible. s² is the best of

    - the square of the smallest singular value of A, where it has full column rank;
    - 1 - μ₁(k + d - 1), by the Babel function;
    - the lesser eigenvalue of [[λ, -β], [-β, 1 - μ']], with λ the least eigenvalue of A_S*A_S, μ'
      the Babel function at d - 1 of the columns outside S, and β² the largest sum of d inner
      products of a column of S with others, times the largest of an outside column with all of S.

    It costs O(n m²), in blocks of columns.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns there are to choose from.
    y : array-like of shape (n,)
        The target.
    solution : Solution or iterable of int
        What an algorithm returned, or the columns of your own choice.
    swaps : bool
        Whether to look at every exchange of one column for another, too: two passes over A. Where
        none fits better, the bound need only hold for exchanges of two columns and more.
    time_limit : float or None
        Where the bound does not decide and A has at most 200 columns: seconds to search all
        subsets of this size by leaps and bounds (see `best_subset`); None for as long as it takes.

    Returns
    -------
    Certificate
        The verdict, the figures behind it, and as text one plain sentence.
    """
    data = problem(A, y)
    seconds = check_tolerance(time_limit, "time_limit")
    support: Any = getattr(solution, "support", solution)
    columns = np.array(sorted(check_columns(support, data.shape[1], "solution")), np.int64)
    fit = _Fit(data, columns)
    swap, settled = exchanges_of_one(fit) if swaps and not fit.redundant else (None, False)
    bound = _lowest_bound(fit, settled)
    certain = fit.norm * (1 + 1e-9) + fit.rounding < bound.value * (1 - 1e-9)
    proof: Literal["bound", "search"] | None = "bound" if certain else None
    better = None if swap is None else _exchanged(columns, swap)
    if not certain and not fit.redundant and seconds != 0.0 and can_search(data):
        search = Search(data, columns.size, incumbent=columns)
        if better is not None:
            search.offer(np.array(better))
        proof = "search" if search.run(seconds) else None
        better = search.subset(columns.size) if search.improved else None
    return Certificate(
        status="beaten" if better else "optimal" if proof else "unknown",
        columns=tuple(columns.tolist()),
        residual_norm=fit.norm * data.scale,
        bound=bound.value * data.scale,
        exchanged=bound.exchanged,
        singular_value=bound.singular_value,
        source=bound.source,
        min_abs=fit.min_abs * data.scale,
        proof=proof,
        better=better,
        swap=None if swap is None else swap._replace(fall=swap.fall * data.scale**2),
        swap_optimal=swap is None if swaps and not fit.redundant else None,
    )


class _Fit:
    """Least squares on a support, for unit columns and a unit target, in double precision.

    `redundant`: fewer of its columns fit as well, for all that the data can tell.
    """

    def __init__(self, data: Problem, columns: Array) -> None:
        self.data, self.columns, self.size = data, columns, columns.size
        y = data.y.astype(np.result_type(data.y.dtype, np.float64), copy=False)
        self.Q, self.R = unit_factor(data.design, columns)
        dependent = is_dependent(self.R, data.design)
        if dependent:
            self.x = np.linalg.lstsq(self.Q @ self.R, y, rcond=None)[0]
            self.r = y - self.Q @ (self.R @ self.x)
        else:
            self.U = np.linalg.solve(self.R, np.eye(self.size))
            self.x = self.U @ (self.Q.conj().T @ y)
            self.r = y - self.Q @ (self.Q.conj().T @ y)
            self.r -= self.Q @ (self.Q.conj().T @ self.r)
        self.norm = float(np.linalg.norm(self.r))
        self.tolerance = tolerances(data.y.dtype)
        # The data have rounding errors of their own.
        self.rounding = 64 * self.tolerance.eps * (1 + float(np.abs(self.x).sum()))
        self.min_abs = float(np.abs(self.x).min()) if self.size and not dependent else 0.0
        self.redundant = self.size > 0 and self.min_abs <= self.rounding


# --- the bound ------------------------------------------------------------------------------------


class _Bound(NamedTuple):
    """The lowest bound on ‖r‖ over the numbers of columns exchanged, and where it comes from."""

    value: float
    exchanged: int
    singular_value: float
    source: str


def _lowest_bound(fit: _Fit, one_is_settled: bool) -> _Bound:
    """The bound of `certify` for each number of columns exchanged, the lowest of them.

    Exchanges of one column may have been looked at one by one.
    """
    if fit.redundant:
        return _Bound(0.0, 0, 0.0, "a column that is not needed")
    most = min(fit.size, fit.data.shape[1] - fit.size)
    if most == 0:
        return _Bound(math.inf, 0, 1.0, "want of other columns")
    smallest_x = np.cumsum(np.sort(np.square(np.abs(fit.x))))
    squared, sources, above = _singular_values(fit, most)
    bounds = [
        math.sqrt(X * room_to_tell(s, L))
        for X, s, L in zip(smallest_x[:most], squared, above, strict=True)
    ]
    if one_is_settled:
        bounds[0] = math.inf
    at = int(np.argmin(bounds))
    singular_value = math.sqrt(max(squared[at], 0.0))
    return _Bound(bounds[at], at + 1, singular_value, sources[at])


def room_to_tell(squared: float, above: float) -> float:
    """(s / (2 - s/√Λ))², given s² and Λ; 0 unless s² > 0."""
    if squared <= 0:
        return 0.0
    return squared / (2 - math.sqrt(min(squared / above, 1.0))) ** 2


def _singular_values(fit: _Fit, most: int) -> tuple[Array, list[str], Array]:
    """For 1, …, `most` exchanged columns: lower bounds s², their names, and upper bounds Λ."""
    design = fit.data.design
    candidates = {}
    above = np.full(most, np.inf)
    if design.shape[1] <= design.shape[0]:
        smallest, largest = extreme_singular_values(design)
        candidates["the singular values of A"] = np.full(most, smallest**2)
        above[:] = largest**2
    together, outside = _babel_sums(fit, most)
    rounding = 8 * fit.tolerance.eps * (fit.size + most)
    candidates["the Babel function"] = 1 - together - rounding
    candidates["the Babel function around the support"] = _around(fit, outside) - rounding
    names, values = list(candidates), np.array(list(candidates.values()))
    best = np.argmax(values, axis=0)
    above = np.minimum(above, 1 + outside + rounding)
    return values.max(axis=0), [names[i] for i in best], np.maximum(above, 1.0)


def _babel_sums(fit: _Fit, most: int) -> tuple[Array, Array]:
    """μ₁(k), …, μ₁(k + most - 1), and μ₁(0), …, μ₁(most - 1) of the columns outside the support.

    Once the last of both are 1 or more, nothing can be told of a wide A: the rest is not looked at.
    """
    k, (n, m) = fit.size, fit.data.shape
    inside = np.zeros(m, bool)
    inside[fit.columns] = True
    together, outside = np.zeros(most), np.zeros(most)
    for block, inner in inner_products(fit.data.design):
        sums = largest_sums(inner, k + most - 1)[k - 1 :]
        together = np.maximum(together, sums.max(axis=1))
        free = ~inside[block]
        if most > 1 and free.any():
            sums = largest_sums(inner[~inside][:, free], most - 1)
            outside[1:] = np.maximum(outside[1:], sums.max(axis=1))
        if m > n and outside[-1] >= 1:
            return np.full(most, np.inf), np.full(most, np.inf)
    return together, outside


def _around(fit: _Fit, outside: Array) -> Array:
    """The lesser eigenvalue of [[λ, -β], [-β, 1 - μ']] for each number of exchanged columns."""
    most = outside.size
    across = np.abs(projections(fit.data.design, fit.Q @ fit.R))
    across = np.delete(across, fit.columns, axis=0)
    by_rows = largest_sums(across, most).max(axis=1)
    by_columns = float(across.sum(axis=1).max())
    own = 1 / float(np.linalg.norm(fit.U, 2)) ** 2
    others = 1 - outside
    return (own + others - np.hypot(own - others, 2 * np.sqrt(by_rows * by_columns))) / 2


# --- exchanges of one column ----------------------------------------------------------------------


def exchanges_of_one(fit: _Fit) -> tuple[Swap | None, bool]:
    """The exchange that lowers ‖r‖² most, if any does; and whether all of them clearly raise it.

    Let q_i be the direction that only column i of the support spans, t_i = q_i*y, p = a_j*q_i,
    and c = a_j*r, e the squared distance of a_j from the span. Without i, they are c + p t_i and
    e + |p|²: with j in place of i, ‖r‖² falls by

        |c + p t_i|²/(e + |p|²) - |t_i|² = (|c|² + 2 Re(c̄ p t_i) - |t_i|² e) / (e + |p|²),

    which is free of cancellation in this form.
    """
    tolerance, others = fit.tolerance, fit.data.inverse_norms > 0
    others[fit.columns] = False
    if not fit.size or not others.any():
        return None, True
    if fit.norm**2 <= tolerance.exact:
        return None, False
    corr, energy, P = _measured(fit)
    length = np.sqrt(square_sums(fit.U.conj().T))
    best: Swap | None = None
    all_raise = True
    for i, leaving in enumerate(fit.columns.tolist()):
        p, t = P @ (fit.U[i].conj() / length[i]), fit.x[i] / length[i]
        gained, lost = np.square(np.abs(corr)), np.square(np.abs(t)) * energy
        cross = 2 * (corr.conj() * p * t).real
        left = energy + np.square(np.abs(p))
        fall = gained + cross - lost
        unsure = tolerance.tie * (gained + np.abs(cross) + lost) + 16 * tolerance.eps * (
            fit.norm * (np.abs(corr) + np.abs(p * t)) + np.square(np.abs(t)) * np.sqrt(energy)
        )
        can = others & (left > tolerance.dependent)
        # What hardly differs from the rest of the support could fit anything: nothing is settled.
        all_raise &= bool(np.all(fall[can] < -unsure[can])) and not np.any(others & ~can)
        fall = np.divide(fall, left, out=np.full(left.size, -1.0), where=can & (fall > unsure))
        j = int(np.argmax(fall))
        if fall[j] > 0 and (best is None or fall[j] > best.fall):
            best = Swap(leaving, j, float(fall[j]))
    return best, all_raise


def _measured(fit: _Fit) -> tuple[Array, Array, Array]:
    """a_j*r, the squared distance from the span of the support, and a_j*Q for every column.

    Columns near the span, of which 1 - ‖a_j*Q‖² leaves few digits, are measured by themselves.
    """
    design = fit.data.design
    corr = projections(design, fit.r[:, None])[:, 0]
    P = projections(design, fit.Q)
    energy = np.maximum(1 - square_sums(P.conj().T), 0)
    energy[fit.data.inverse_norms == 0] = 0
    near = np.flatnonzero(energy < fit.tolerance.eps**0.25)
    near = near[~np.isin(near, fit.columns) & (fit.data.inverse_norms[near] > 0)]
    for part in np.array_split(near, max(1, near.size // 256)):
        rest = design.unit_columns(part)
        for _ in range(2):
            rest = rest - fit.Q @ (fit.Q.conj().T @ rest)
        energy[part] = square_sums(rest)
        corr[part] = rest.conj().T @ fit.r
    return corr, energy, P


def _exchanged(columns: Array, swap: Swap) -> tuple[int, ...]:
    """The columns after an exchange, ascending."""
    return tuple(sorted({*columns.tolist(), swap.into} - {swap.out}))
