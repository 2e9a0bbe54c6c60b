"""Least squares on chosen columns, and the verbs of every stepwise algorithm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise.design.base import BLOCK_BYTES, square_sums
from sparsewise.engine.factor import Dropped
from sparsewise.engine.log import Callback
from sparsewise.engine.sparse_model import SparseModel
from sparsewise.engine.stopping import StoppingCriterion, stopping_criterion
from sparsewise.kernels import load_gram_kernels
from sparsewise.problem.problem import problem
from sparsewise.problem.targets import Targets
from sparsewise.results import Stop

STURDY = 1e3
"""‖U‖² up to which inner products of columns leave all but three of the digits."""


class ActiveSet(SparseModel):
    """Active columns with their least-squares fit; add, drop, grow and shrink.

    With a ridge (`Problem.ridge`), least squares are penalised: ‖r‖² + ridge ‖x‖² for unit columns
    is what gains and losses are of. Parameters are those of `SparseModel`; columns have no damping
    but the ridge.
    """

    # ------------------------------------------------------------------ what is there

    def refitted(self) -> tuple[dict[int, Any], Array]:
        """Coefficients of each active column and r, as good as QR makes them: of one target."""
        factor = self._factor
        (x,), (r,) = factor.refitted() or (factor.coef(), factor.r)
        return dict(zip(self.order, x, strict=True)), r.copy()

    def loose_coef(self) -> dict[int, float]:
        """|x_i| of each active column that may be dropped (unit columns, unit target).

        0 where it is rounding, so that such columns are tied.
        """
        squares = self._factor.squares()
        squares[squares <= self._tolerance.exact] = 0.0
        return self._loose(np.sqrt(squares))

    def losses(self) -> Array:
        """The growth of the objective if each active column is dropped, in order."""
        return self._factor.losses()

    def loose_losses(self) -> dict[int, float]:
        """The same for each active column that may be dropped, in order."""
        return self._loose(self.losses())

    def _loose(self, values: Array) -> dict[int, float]:
        """Of values of the active columns those of columns that may be dropped."""
        free = ~self._factor.locked[: self.size]
        return dict(zip(self._factor.columns[free].tolist(), values[free].tolist(), strict=True))

    def gains(self) -> Array:
        """|corr|²/(energy + ridge), the fall of the objective for each column.

        -1 where it can't be added.
        """
        return self._scores.values(by_gain=True)

    def after_adding(self, columns: Array) -> tuple[Array, Array]:
        """‖r‖² and df if each of these columns that can be added came in alone.

        With a ridge, Σ = (A_S*A_S + D²)⁻¹ = U U*, w = Σ A_S*a_j and ρ² = energy + d², the
        coefficient of the new column is corr/ρ², the others fall by w corr/ρ², and the variances
        grow by |w|²/ρ².
        """
        gains, factor, k = self.gains()[columns], self._factor, self.size
        if not factor.is_damped:
            return self.rss - gains, np.full(columns.size, self.df + 1)
        w = factor.U[:k, :k].T @ (factor.Q[:k].conj() @ factor.unit_columns(columns))
        square = self._scores.energy[columns] + factor.ridge
        new, d2 = self._scores.corr[:, columns] / square, np.square(factor.d)
        x = factor.coef()[:, :, None] - w * new[:, None, :]
        penalty = np.einsum("k,qkj->j", d2, np.square(np.abs(x))) + factor.ridge * square_sums(new)
        df = self.df + 1 - (d2 @ np.square(np.abs(w)) + factor.ridge) / square
        return self.objective - gains - penalty, df

    def after_best_addition(self, gain: float) -> tuple[float, float]:
        """‖r‖² and df after the addition of this gain, the largest."""
        if not self._factor.is_damped:
            return self.rss - gain, self.df + 1
        best = np.array([next(self.ranking(self.gains()))])
        rss, df = self.after_adding(best)
        return float(rss[0]), float(df[0])

    def after_best_deletion(self, loss: float) -> tuple[float, float]:
        """‖r‖² and df after the deletion of this loss, the smallest."""
        if not self._factor.is_damped:
            return self.rss + loss, self.df - 1
        rss, df = self.after_dropping([self.least(self.loose_losses())])
        return float(rss[0]), float(df[0])

    def after_dropping(self, columns: Sequence[int]) -> tuple[Array, Array]:
        """‖r‖² and df if each of these active columns were dropped alone.

        With a ridge, the coefficients fall by x_i Σ_i/Σ_ii, and the variances by |Σ_i|²/Σ_ii.
        """
        factor, k = self._factor, self.size
        at = np.array([self.order.index(j) for j in columns], np.int64)
        losses = self.losses()[at]
        if not factor.is_damped:
            return self.rss + losses, np.full(at.size, self.df - 1)
        U = factor.U[:k, :k]
        S, d2 = (U.T @ U.conj())[:, at], np.square(factor.d)
        x = factor.coef()[:, :, None] - S * (factor.coef()[:, at] / factor.diagonal()[at])[:, None]
        x[:, at, np.arange(at.size)] = 0
        penalty = np.einsum("k,qkj->j", d2, np.square(np.abs(x)))
        df = self.df - 1 + d2 @ np.square(np.abs(S)) / factor.diagonal()[at]
        return self.objective + losses - penalty, df

    def replacements(self) -> Array:
        """The columns that may do better in place of one of the active ones; no others do.

        Let t² be the loss of an active column, c and e corr and energy of another, and p its part
        along what only the active one spans. The exchange lowers ‖r‖² by

            (|c|² + 2 Re(c̄ p t) - |t|² e) / (e + |p|²),     |p|² <= 1 - e,

        which is negative wherever |c| < |t| (1 - √(1 - e)). Of columns that the active ones hardly
        leave anything of, rounding has eaten c and e: any of them may do better.
        """
        losses = self.loose_losses().values()
        if not losses:
            return np.empty(0, np.int64)
        gains, energy = self.gains(), np.clip(self._scores.energy, 0.0, 1.0)
        apart = 1 - np.sqrt(1 - energy)
        corr = np.sqrt(np.maximum(gains, 0.0) * energy)
        needed = (1 - self._tolerance.tie) * np.sqrt(min(losses)) * apart - self._tolerance.eps
        near = self._scores.state == self._kernels.DEPENDENT
        return np.flatnonzero(near | ((gains >= 0) & (corr >= needed)))

    def correlations(self) -> Array:
        """|u_j* r|² for each column that can be added, -1 for the others."""
        return self._scores.values(by_gain=False)

    def ranking(self, scores: Array) -> Iterator[int]:
        """The columns of non-negative score, best first; near-ties by column."""
        order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores >= 0)]
        values = scores[order]
        if not (values[1:] >= values[:-1] * (1 - self._tolerance.tie)).any():
            yield from order.tolist()
            return
        first = 0
        while first < order.size:
            # A tie reaches as far down as its leader's value allows.
            level = values[first] * (1 - self._tolerance.tie)
            last = first + int(np.searchsorted(-values[first:], -level, side="right"))
            yield from np.sort(order[first:last]).tolist()
            first = last

    def least(self, sizes: dict[int, float]) -> int:
        """The column of smallest size; near-ties by column."""
        level = min(sizes.values()) * (1 + self._tolerance.tie)
        return min(j for j, size in sizes.items() if size <= level)

    def closest(self, r: Array) -> tuple[int, Any]:
        """The column closest to any vector r, active or not, with u_j* r; -1: all are barred."""
        inner = self.problem.correlate(r)
        state = self._scores.state
        barred = (state == self._kernels.EXCLUDED) | (state == self._kernels.NULL)
        size = np.where(barred, -1.0, np.abs(inner))
        j = int(np.argmax(size >= size.max() * (1 - self._tolerance.tie)))
        return (j, inner[j]) if not barred[j] else (-1, 0.0)

    def unit_column(self, j: int) -> Array:
        """Column j of A, scaled to unit norm."""
        return self._factor.unit_column(j)

    def fell_below(self, objective: float) -> bool:
        """Whether the objective is lower than it was by more than rounding."""
        return self.objective < objective * (1 - self._tolerance.tie)

    # ------------------------------------------------------------------ the verbs

    def grow(
        self,
        stopping: StoppingCriterion,
        *,
        by: Literal["gain", "corr"] = "gain",
        steps: int | None = None,
        solution_only: bool = False,
    ) -> Stop:
        """Add the best column again and again, at most `steps` times; say why it ended.

        `solution_only`: only the solution is needed afterwards, so that no basis is made.
        """
        # That kernel leaves no basis: it is not asked where one is needed.
        if solution_only and plan.LAZY_GRAM.takes(self._task(stopping, solution_only)):
            stop = self._grow_by_products(stopping, by == "gain")
            if stop:
                return stop
        return self._grow(stopping, by == "gain", self.problem.shape[1] if steps is None else steps)

    def _grow_by_products(self, stopping: StoppingCriterion, by_gain: bool) -> Stop | None:
        """Add columns to an empty model by their inner products; why it ended, if it is the end.

        None: there are steps left, for which these have too few digits, or cost too much.
        """
        if self.reason_not_to_grow(stopping):
            return None
        factor, scores, tolerance = self._factor, self._scores, self._tolerance
        in_place = self.problem.design.in_place(factor.dtype)
        assert in_place is not None  # the kernel supports no other storage
        self.log.check_interrupt()
        scores.sync()
        steps = stopping.most
        limits = (
            stopping.enough, stopping.gain, tolerance.tie, self._nothing, tolerance.dependent,
            tolerance.eps, tolerance.trust, STURDY,
        )  # fmt: skip
        picks, rss = np.empty(steps, np.int64), np.empty(steps)
        X = np.empty((steps, len(factor.t), steps), factor.dtype)
        added, code, passes = load_gram_kernels().grow_lazily(
            *in_place, self.problem.inverse_norms, scores.corr, np.empty(scores.energy.size),
            scores.state, factor.U, factor.t, factor.r, by_gain, limits, picks, rss, X,
        )  # fmt: skip
        self.problem.passes.add(passes)
        if added:
            factor.took_without_basis(picks[:added], rss[added - 1])
            scores.distrust(everything=True)
            coefs = X if added == steps else X[:added].copy()
            self._added(picks[:added], rss[:added], coefs)
        self.log.check_interrupt()
        return self.reason_not_to_exchange(stopping) or self._meaning(code, stopping)

    def _task(self, stopping: StoppingCriterion, solution_only: bool) -> plan.Task:
        """Steps forward until this criterion is met, as a task for a quick kernel."""
        problem, steps = self.problem, stopping.most

        def needs() -> frozenset[str]:
            return problem.design.needs(problem.dtype) | plan.needs(
                path=True,
                basis=not solution_only,
                start=self.size,
                open_ended=steps > self._factor.room,
                targets=len(problem.Y) > 1,
                callback=self.log.callback,
                ridge=problem.ridge,
                locked=problem.constraints.locked,
            )

        return plan.Task(problem.design.shape, needs, steps)

    def shrink(
        self,
        stopping: StoppingCriterion,
        *,
        by: Literal["loss", "coef"] = "loss",
        steps: int | None = None,
    ) -> Stop:
        """Drop what matters least again and again, at most `steps` times; say why it ended."""
        left = self.size if steps is None else steps
        limits = (float(stopping.most), stopping.loss, stopping.ceiling)
        stop: Stop | None = None
        while left > 0 and self.size > 0 and not stop:
            self.log.check_interrupt()
            self._scores.before_dropping()
            count = 1 if self.log.callback else min(left, self.size)
            dropped, code = self._factor.shrink(by == "loss", count, limits)
            self._dropped(dropped)
            left -= dropped.columns.size
            stop = self._meaning(code, stopping)
        self.log.check_interrupt()
        if stop is Stop.RESIDUAL and self.rss > stopping.ceiling:  # it was above from the start
            return Stop.NO_IMPROVEMENT
        return stop or (Stop.MAX_ITER if self.size else Stop.EXHAUSTED)

    def fill(self, stopping: StoppingCriterion) -> Stop:
        """Add the columns of largest correlation with y until there are enough; why it ended."""
        if not self.problem.is_zero and self.size < stopping.most:
            correlations = square_sums(self.problem.correlate_rows(self.problem.Y))
            correlations[self.closed()] = -1.0
            self.add(self.ranking(correlations), stopping.most - self.size)
            if self.size < stopping.most:
                return self.nothing_left()
        return stopping.full

    def add(
        self, columns: Iterable[int], count: int | None = None, *, again: bool = False
    ) -> list[int]:
        """Add these columns, or the first `count` of them that are independent.

        The scores wait: one block pass serves all of them. `again`: they have all been in a model
        with the present ones.
        """
        self._scores.before_adding()
        wanted = self._factor.capacity - self.size
        if count is not None:
            wanted = min(count, wanted)
        added: list[int] = []
        waiting = iter(columns)
        while batch := list(islice(waiting, self._at_once(wanted - len(added)))):
            self.log.check_interrupt()
            taken, rss, X = self._factor.add(batch, again)
            independent = np.array(batch)[taken]
            self._scores.state[batch] = self._kernels.DEPENDENT
            self._scores.state[independent] = self._kernels.ACTIVE
            added += independent.tolist()
            if independent.size:
                self._added(independent, rss, X)
        self.log.check_interrupt()
        return added

    def drop(self, columns: Iterable[int]) -> None:
        """Drop these columns."""
        self._scores.before_dropping()
        waiting = iter(columns)
        while batch := list(islice(waiting, self._at_once(self.size))):
            self.log.check_interrupt()
            self._dropped(self._factor.drop(batch))
        self.log.check_interrupt()

    def _at_once(self, wanted: int) -> int:
        """How many of so many columns to take at once: one if there is a callback."""
        most = 1 if self.log.callback else max(1, BLOCK_BYTES // (8 * self.problem.shape[0]))
        return max(0, min(wanted, most))

    def return_to(self, support: frozenset[int]) -> None:
        """These columns and no others."""
        self.drop([j for j in self.order if j not in support])
        self.add(sorted(support.difference(self.order)), again=True)

    def other(self) -> ActiveSet:
        """A second model of the same problem that holds no more than it must; nobody is told."""
        constraints = self.problem.constraints
        if constraints.start:
            constraints = constraints._replace(start=())
        return ActiveSet(self.problem._replace(constraints=constraints))

    def _dropped(self, dropped: Dropped) -> None:
        if dropped.columns.size:
            self._scores.reopen(dropped.columns)
            self.log.record("drop", *dropped[:3], self.size, df=dropped.df)


def begin(
    algorithm: str,
    A: Any,
    y: ArrayLike | Targets,
    *,
    include: Iterable[int] | None = (),
    exclude: Iterable[int] | None = (),
    start: Iterable[int] | None = (),
    locked: Iterable[int] = (),
    callback: Callback | None = None,
    basis: bool = True,
    multi_target: bool = True,
    ridge: float = 0.0,
    **taken: Any,
) -> tuple[ActiveSet, StoppingCriterion]:
    """What every algorithm begins with: an active set on checked data, and when to stop.

    `multi_target` says whether targets may share columns; ridge and constraints are those of
    `problem`; what else is given are its stopping parameters.
    """
    data = problem(
        A, y, multi_target=multi_target, ridge=ridge,
        include=include, exclude=exclude, start=start, locked=locked,
    )  # fmt: skip
    stopping = stopping_criterion(algorithm, data, **taken)
    active = ActiveSet(
        data,
        callback=callback,
        room=None if taken.get("sparsity") is None else stopping.most,
        basis=basis,
    )
    return active, stopping
