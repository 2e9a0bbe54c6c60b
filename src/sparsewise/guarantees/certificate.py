"""Certificates that a subset is the best of its size, for the output of any algorithm.

`certify` sees a design, a target and a list of columns, never an algorithm: it refits by QR, bounds
singular values from blocks of inner products (never an m×m array) and compares. Exchanges of one
column follow from the score update: dropping i and adding j changes corr and energy by one
direction each, in a form without cancellation. The exact search (`kernels/leaps.py`) holds a stack
of triangles, one for each node from the root, so that going down costs O(m²) and going up nothing.
Whatever a search or an exchange finds is refitted before it is reported. Several targets are rows
of x, r and t; the bounds are those of I ⊗ A, whose singular values are A's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise._util.parameters import check_columns, check_tolerance
from sparsewise._util.text import shortened
from sparsewise.design.unit_columns import projections
from sparsewise.errors import InputError
from sparsewise.guarantees.dictionary import inner_products, largest_sums
from sparsewise.guarantees.recovery import extreme_singular_values
from sparsewise.problem.problem import problem
from sparsewise.problem.targets import Targets
from sparsewise.subsets.exchanges import Exchanges, Swap, exchanges_of_one
from sparsewise.subsets.fit import Fit
from sparsewise.subsets.leaps_and_bounds import Search, can_search

Proof = Literal["bound", "search"]

SEARCH_SECONDS = 1.0
"""What an exact search is allowed where the bound does not decide, unless told otherwise."""

DOUBT = "nearly dependent columns may make a better subset"


class HasSupport(Protocol):
    """Anything with a support, such as the result of an algorithm."""

    @property
    def support(self) -> Array:
        """The chosen columns."""


@dataclass(frozen=True, repr=False)
class Certificate:
    """Whether a subset is the best of its size, beaten by another, or neither is proved.

    Subsets that lack a column of `include` or have one of `exclude` don't count. For several
    targets with one support, ‖r‖ is the root mean square over targets, weighted as in `Targets`,
    and so is the size of a coefficient.

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
        The subset is certified if ‖r‖ is below this; infinite if all other subsets were examined.
    exchanged : int
        The number of exchanged columns at which the bound is lowest; 0 if fewer of these columns
        fit as well, or there are no others.
    singular_value : float
        A lower bound of the smallest singular value of the subset together with that many other
        (unit) columns.
    source : str
        The origin of that bound.
    min_abs : float
        The smallest coefficient, for unit columns.
    proof : {"bound", "search"} or None
        How it was certified; "search" for a beaten subset says that `better` is the best.
    better : tuple of int or None
        A subset of the same size that fits better, if one was found.
    swap : Swap or None
        The best exchange of one column for another, if exchanges were tried and one helps.
    swap_optimal : bool or None
        Whether no exchange of one column lowers ‖r‖; None if exchanges were not tried.
    ties : tuple of tuple of int
        Other subsets of the same size that fit equally well up to rounding: for a subset certified
        by search all of them (the first 64), otherwise those that exchange one column, if
        exchanges were tried.
    include, exclude : tuple of int
        The columns that each subset must have, and must not have.
    reason : str
        Why rounding leaves the question open after a finished search.
    ridge : float
        That of the solution: subsets are compared by ‖r‖² + ridge ‖z‖² (see `certify`).
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
    ties: tuple[tuple[int, ...], ...] = ()
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    reason: str = ""
    ridge: float = 0.0

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
        by = " at this ridge" if self.ridge else ""
        subset = f"best subset of {self.size}{self._constraints(names)}{by}"
        if self.status == "optimal":
            if self.ties:
                return f"certified {subset}: no other fits better; {self._as_good(names)}"
            how = " (every other was ruled out)" if self.proof == "search" else ""
            return f"certified {subset}{how}"
        if self.better is not None:
            fits = "fits best" if self.proof == "search" else "fits better"
            return f"not the {subset}: {self._change(self.better, names)} {fits}"
        if self.reason:
            why = self.reason
        elif self.exchanged == 0:
            why = "fewer of these columns fit as well"
        elif self.bound == 0:
            why = "the bounds can't rule out other columns in place of these"
        else:
            why = f"residual is {1 / self.margin:.2g}× the bound"
        swaps = "; no exchange of one column for another fits better" if self.swap_optimal else ""
        ties = f"; {self._as_good(names)}" if self.ties else ""
        return f"not certified: {why}{swaps}{ties}"

    def _constraints(self, names: Sequence[str] | None) -> str:
        """The constraints on all subsets, if any."""
        text = f" of those that contain {_listed(self.include, names)}" if self.include else ""
        if self.exclude:
            text += f"{',' if text else ' of those'} without {_listed(self.exclude, names)}"
        return text

    def _as_good(self, names: Sequence[str] | None) -> str:
        """The subsets that fit as well."""
        changes = [self._change(columns, names) for columns in self.ties]
        more = f"; and {len(changes) - 8} more" if len(changes) > 8 else ""
        return f"these fit as well: {'; '.join(changes[:8])}{more}"

    def _change(self, columns: Iterable[int], names: Sequence[str] | None) -> str:
        """The exchange that leads from the subset to another one."""
        ours, theirs = set(self.columns), set(columns)
        return f"{_listed(theirs - ours, names)} in place of {_listed(ours - theirs, names)}"

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


def _listed(columns: Iterable[int], names: Sequence[str] | None) -> str:
    return shortened([str(j) if names is None else names[j] for j in sorted(columns)])


def certify(
    A: Any,
    y: ArrayLike | Targets,
    solution: HasSupport | Iterable[int],
    *,
    swaps: bool = False,
    time_limit: float | None = SEARCH_SECONDS,
    include: Iterable[int] | None = None,
    exclude: Iterable[int] | None = None,
) -> Certificate:
    """Whether the support of a solution is the best subset of its size.

    With `include` or `exclude`, the best of the subsets that satisfy them.

    Let the columns be unit, S the support with k columns, x its least-squares coefficients and r
    its residual. For an exchange of d columns for others let X be the sum of the d smallest |x_i|²,
    s a lower bound on the singular values of S with any d others, and Λ an upper bound on the
    squared singular values of any d others. If for every d up to k

        ‖r‖ < √X · s / (2 - s/√Λ),

    S is the unique best subset of at most k columns (docs/guarantees.md has the proof). This is
    more than the s/√(2(2 - s²)) · min|x_i| of Thm. 4.6; for orthonormal columns it is min|x_i|,
    which is sharp. All of this holds for several targets with one support, with ‖r‖² and |x_i|²
    summed over them. s² is the best of

    - the square of the smallest singular value of A, if it has full column rank;
    - 1 - μ₁(k + d - 1), by the Babel function;
    - the lesser eigenvalue of [[λ, -β], [-β, 1 - μ']], with λ the least eigenvalue of A_S*A_S, μ'
      the Babel function at d - 1 of the columns outside S, and β² the largest sum of d inner
      products of a column of S with others, times the largest of an outside column with all of S.

    Of a solution with a ridge, all this is of the least-squares problem that ‖r‖² + ridge ‖z‖² is
    on [A; √ridge I], unit columns: its support is the best by this objective, the root of which
    takes the place of ‖r‖.

    It costs O(n m²), in blocks of columns.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from.
    y : array-like of shape (n,) or (n, q), or Targets
        The target, or several that share the support, as the algorithm got them.
    solution : Solution or iterable of int
        The result of an algorithm, or any list of columns.
    swaps : bool
        Whether to try every exchange of one column for another as well: two passes over A. If none
        fits better, the bound need only hold for exchanges of two or more columns.
    time_limit : float or None
        If the bound does not decide and A has at most 200 columns: seconds to search all subsets of
        this size by leaps and bounds (see `best_subset`); 0 for no search, None for no limit.
    include, exclude : iterable of int, optional
        Columns that every subset must, and must not, have; None takes those of the solution.

    Returns
    -------
    Certificate
        The verdict and the figures behind it; ``str`` of it is one sentence.
    """
    ridge = getattr(solution, "ridge", 0.0)
    data = problem(
        A, y, multi_target=True, ridge=ridge,
        include=getattr(solution, "include", ()) if include is None else include,
        exclude=getattr(solution, "exclude", ()) if exclude is None else exclude,
    ).augmented  # fmt: skip
    included, excluded = data.constraints.include, data.constraints.exclude
    seconds = check_tolerance(time_limit, "time_limit")
    support: Any = getattr(solution, "support", solution)
    columns = np.array(sorted(check_columns(support, data.shape[1], "solution")), np.int64)
    _check_choice(set(columns.tolist()), included, excluded)
    fit = Fit(data, columns)
    exchanges = exchanges_of_one(fit) if swaps and not fit.redundant else None
    bound = _lowest_bound(fit, exchanges is not None and exchanges.settled)
    verdict = _Verdict() if exchanges is None else _by_exchanges(fit, exchanges)
    if fit.norm * (1 + 1e-9) + fit.rounding < bound.value * (1 - 1e-9):
        verdict = _Verdict("bound")
    elif not fit.redundant and seconds != 0.0 and can_search(data):
        search = Search(data, fit.size, incumbent=columns)
        if verdict.better is not None:
            search.offer(np.array(verdict.better))
        verdict = _by_search(fit, search, search.run(seconds), verdict)
    swap = exchanges and exchanges.best
    return Certificate(
        status="beaten" if verdict.better else "optimal" if verdict.proof else "unknown",
        columns=tuple(columns.tolist()),
        residual_norm=fit.norm * data.scale,
        bound=bound.value * data.scale,
        exchanged=bound.exchanged,
        singular_value=bound.singular_value,
        source=bound.source,
        min_abs=fit.min_abs * data.scale,
        proof=verdict.proof,
        better=verdict.better,
        swap=swap and swap._replace(fall=data.units.squared(swap.fall)),
        swap_optimal=exchanges and exchanges.best is None,
        ties=verdict.ties,
        include=tuple(sorted(included)),
        exclude=tuple(sorted(excluded)),
        reason=verdict.reason,
        ridge=ridge,
    )


def _check_choice(columns: set[int], include: Iterable[int], exclude: Iterable[int]) -> None:
    """Raise an error if the subset violates the constraints."""
    if missing := sorted({*include} - columns):
        raise InputError(
            f"names column {missing[0]}, which is not in the subset to certify",
            "add it to the subset, or leave it out of both.",
            parameter="include",
        )
    if present := sorted({*exclude} & columns):
        raise InputError(
            f"names column {present[0]}, which is in the subset to certify",
            "take it out of one of them.",
            parameter="exclude",
        )


# --- the verdict ----------------------------------------------------------------------------------


class _Verdict(NamedTuple):
    """The proof, better or tied subsets, and the reason if the question stays open."""

    proof: Proof | None = None
    better: tuple[int, ...] | None = None
    ties: tuple[tuple[int, ...], ...] = ()
    reason: str = ""


def _by_exchanges(fit: Fit, exchanges: Exchanges) -> _Verdict:
    """The verdict of exchanging one column: a better subset, or ties, if there are any."""
    best, ties = exchanges.best, sorted(swap.columns_after(fit.columns) for swap in exchanges.ties)
    return _Verdict(better=best and best.columns_after(fit.columns), ties=tuple(ties))


def _by_search(fit: Fit, search: Search, done: bool, before: _Verdict) -> _Verdict:
    """The verdict of the search; candidates for a better subset are refitted from the data."""
    ours = tuple(fit.columns.tolist())
    judged = {columns: fit.against(columns) for columns in search.contenders() if columns != ours}
    better = [columns for columns, verdict in judged.items() if verdict > 0]
    if before.better is not None:
        better.append(before.better)
    reason = DOUBT if done and search.in_doubt().any() else ""
    proof: Proof | None = "search" if done and not reason else None
    if better:
        return _Verdict(proof, _best(fit, better), reason=reason)
    as_good = {columns for columns, verdict in judged.items() if verdict == 0}
    return _Verdict(proof, ties=tuple(sorted({*as_good, *before.ties})), reason=reason)


def _best(fit: Fit, subsets: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The subset that fits best; ties go to the lowest columns."""
    best = None
    for columns in sorted(set(subsets)):
        if best is None or best.against(columns) > 0:
            best = fit.with_columns(columns)
    assert best is not None
    return tuple(best.columns.tolist())


# --- the bound ------------------------------------------------------------------------------------


class _Bound(NamedTuple):
    """The lowest bound on ‖r‖ over the numbers of columns exchanged, and where it comes from."""

    value: float
    exchanged: int
    singular_value: float
    source: str


def _lowest_bound(fit: Fit, one_is_settled: bool) -> _Bound:
    """The lowest of the bounds of `certify` over the number of exchanged columns.

    Exchanges of one column don't count if each was examined.
    """
    if fit.redundant:
        return _Bound(0.0, 0, 0.0, "a redundant column")
    most = min(int(fit.loose.sum()), fit.others.size)
    if most == 0:
        return _Bound(math.inf, 0, 1.0, "the absence of other columns")
    smallest_x = np.cumsum(np.sort(fit.squares[fit.loose]))
    squared, sources, above = _singular_values(fit, most)
    bounds = [
        math.sqrt(X * squared_margin(s, L))
        for X, s, L in zip(smallest_x[:most], squared, above, strict=True)
    ]
    if one_is_settled:
        bounds[0] = math.inf
    at = int(np.argmin(bounds))
    singular_value = math.sqrt(max(squared[at], 0.0))
    return _Bound(bounds[at], at + 1, singular_value, sources[at])


def squared_margin(squared: float, above: float) -> float:
    """(s / (2 - s/√Λ))², given s² and Λ; 0 unless s² > 0."""
    if squared <= 0:
        return 0.0
    return squared / (2 - math.sqrt(min(squared / above, 1.0))) ** 2


def _singular_values(fit: Fit, most: int) -> tuple[Array, list[str], Array]:
    """For 1, …, `most` exchanged columns: lower bounds s², their names, and upper bounds Λ."""
    design = fit.data.design
    candidates = {}
    above = np.full(most, np.inf)
    together = np.union1d(fit.columns, fit.others)
    if together.size <= design.shape[0]:
        smallest, largest = extreme_singular_values(design, together)
        candidates["the singular values of A"] = np.full(most, smallest**2)
        above[:] = largest**2
    with_support, outside = _babel_sums(fit, most)
    rounding = 8 * fit.tolerance.eps * (fit.size + most)
    candidates["the Babel function"] = 1 - with_support - rounding
    candidates["the Babel function around the support"] = _around(fit, outside) - rounding
    names, values = list(candidates), np.array(list(candidates.values()))
    best = np.argmax(values, axis=0)
    above = np.minimum(above, 1 + outside + rounding)
    return values.max(axis=0), [names[i] for i in best], np.maximum(above, 1.0)


def _babel_sums(fit: Fit, most: int) -> tuple[Array, Array]:
    """μ₁(k), …, μ₁(k + most - 1), and μ₁(0), …, μ₁(most - 1) of the columns outside the support.

    For a wide A nothing can be proved once the last of both is 1 or more: the rest is skipped.
    """
    k, (n, m) = fit.size, fit.data.shape
    outer = np.zeros(m, bool)
    outer[fit.others] = True
    usable = outer.copy()
    usable[fit.columns] = True
    together, outside = np.zeros(most), np.zeros(most)
    for block, inner in inner_products(fit.data.design):
        if usable[block].any():
            sums = largest_sums(_part(inner, usable, usable[block]), k + most - 1)[k - 1 :]
            together = np.maximum(together, sums.max(axis=1))
        if most > 1 and outer[block].any():
            sums = largest_sums(_part(inner, outer, outer[block]), most - 1)
            outside[1:] = np.maximum(outside[1:], sums.max(axis=1))
        if usable.sum() > n and outside[-1] >= 1:
            return np.full(most, np.inf), np.full(most, np.inf)
    return together, outside


def _part(inner: Array, rows: Array, columns: Array) -> Array:
    """The selected rows and columns, without a copy if that is all of them."""
    inner = inner if rows.all() else inner[rows]
    return inner if columns.all() else inner[:, columns]


def _around(fit: Fit, outside: Array) -> Array:
    """The smaller eigenvalue of [[λ, -β], [-β, 1 - μ']] for each number of exchanged columns."""
    most = outside.size
    across = np.abs(projections(fit.data.design, fit.Q @ fit.R)[fit.others])
    by_rows = largest_sums(across, most).max(axis=1)
    by_columns = float(across.sum(axis=1).max())
    own = 1 / float(np.linalg.norm(fit.U, 2)) ** 2
    others = 1 - outside
    return (own + others - np.hypot(own - others, 2 * np.sqrt(by_rows * by_columns))) / 2
