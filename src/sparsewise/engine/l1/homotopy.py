"""Homotopy: the exact solution path of ℓ1-penalised least squares as λ and the weights change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise.design import DenseDesign
from sparsewise.engine.factor import Factor
from sparsewise.engine.l1.l1_solution import (
    LostDigitsError,
    Minimiser,
    OutOfReachError,
    correlations,
    least_squares,
)
from sparsewise.engine.l1.path_lookahead import PathLookahead, residual
from sparsewise.engine.l1.weights import Weights
from sparsewise.engine.log import Log
from sparsewise.engine.look_ahead import LookAhead
from sparsewise.errors import InputError, Parameter
from sparsewise.kernels import load_homotopy
from sparsewise.problem.problem import Problem
from sparsewise.results import Stop

FIRST_ROOM = 64
"""Breakpoints to allocate room for at first; doubled each time."""

FIRST_LOOKAHEAD = 16
"""Breakpoints to predict at first: a wrong prediction costs only a pass or two."""

MAX_BREAKPOINTS = 200
"""More breakpoints than this per row and column mean that the path cycles."""

GROWTH = -1 / 4
"""Entries of U above this power of eps have cost a quarter of the digits: refactorise."""

PERTURBATION = 1e-2
"""Weights of inactive columns are raised by up to this fraction of √eps to break a cycle."""


def attempts(data: Problem) -> Iterator[tuple[Problem, bool]]:
    """The data and `careful` of each attempt: the next is made where the last one fails."""
    yield data, False
    if data.y.dtype == np.float32:
        data = in_double(data)
        yield data, False
    yield data, True


def in_double(data: Problem) -> Problem:
    """The same problem as a dense matrix in double precision."""
    A = data.design.columns(slice(None)).astype(np.float64)
    design = DenseDesign(A, rows=data.design.rows, error=data.design.error)
    if data.design.measured.rough:  # weights are in these units
        design = design.with_norms_of(data.design)
    inverse = design.inverse_norms()
    return data._replace(design=design, Y=data.Y.astype(np.float64), inverse_norms=inverse)


class Homotopy:
    """The minimiser of ½‖A x - y‖² + λ Σ w_j |x_j|, followed as λ and w change.

    The path starts at the λ at which the first column enters. `lower` and `raise_` change λ,
    `reweight` the weights, always along a line on which the minimiser is piecewise linear. The cost
    of a new problem is the number of breakpoints between it and the last one. Each method raises
    `Halted` when the callback or Ctrl-C asks to stop.

    Parameters
    ----------
    log : Log
        Records the steps.
    weights : Weights
        The penalty weight of each column.
    careful : bool
        Whether to refactorise at every breakpoint: slow, but accurate to rounding wherever the
        columns differ at all in this precision.
    data : Problem, optional
        The problem of the log in another precision.

    Attributes
    ----------
    penalty : float
        λ, for unit columns, a unit target and `Weights.unit`.
    started : bool
        Whether λ has left its first value.
    tolerance : Tolerances
        Rounding tolerances of this data type.
    breakpoints : list of float
        λ at each step of the log.
    """

    def __init__(
        self, log: Log, weights: Weights, careful: bool = False, data: Problem | None = None
    ) -> None:
        self.log = log
        self.data: Problem = log.problem if data is None else data
        self._factor = Factor(self.data, 32)
        self._kernels = load_homotopy()
        self._dtype = self.data.y.dtype
        self.tolerance = self._factor.tolerance
        n, m = self.data.shape
        self._sign, self._product = np.zeros((2, m), self._dtype)
        self._state = np.zeros(m, np.int8)
        self._vectors = np.zeros((3, n), self._dtype)
        self._scratch = np.zeros((5, 0), self._dtype)
        self._at, self._count = np.zeros(6), np.zeros(6, np.int64)
        self.breakpoints: list[float] = []
        self._recorded = 0  # model size after the last step of the log
        self._span = (0.0, 0.0)
        self.started, self._careful = False, careful
        self._duals: list[Array] = []  # ν along the path, if careful
        self._growth_limit = self._usual_growth
        self._look_ahead = LookAhead(FIRST_LOOKAHEAD)
        self._predicts = self._may_predict()
        self._initialise(weights)

    def _may_predict(self) -> bool:
        """Whether breakpoints are predicted, and checked several at a time."""
        design, dtype = self.data.design, self._dtype

        def needs() -> frozenset[str]:
            asked = plan.needs(l1=True, careful=self._careful, callback=self.log.callback)
            return asked | design.needs(dtype)

        task = plan.Task(design.shape, needs, itemsize=dtype.itemsize)
        return plan.kernel_for(task) is plan.PATH_LOOKAHEAD

    @property
    def _r(self) -> Array:
        """The residual of least squares on the active columns."""
        (r,) = self._factor.r
        return r

    def _initialise(self, weights: Weights) -> None:
        """Activate the unpenalised columns; λ is where the first of the others enters."""
        kernels, factor = self._kernels, self._factor
        self._set_weights(weights)
        free = [] if weights.all_penalised else weights.free.tolist()
        if not weights.all_penalised:
            self._state[weights.excluded] = kernels.BARRED
            self._state[free] = kernels.ACTIVE
        if free:
            if not factor.load(free, len(free), True):
                raise InputError(
                    ("The unpenalised columns (", Parameter("include"), ", or a weight of 0) "
                     "are linearly dependent"), "leave some of them out.",
                )  # fmt: skip
            self.log.record("start", free, [factor.rss], [factor.coef()], len(free))
            self._recorded = len(free)
        self._correlate(self._r)
        self._at[kernels.LENGTH] = factor.rss**0.5
        self._first_corr = np.abs(self._corr)
        if free and self.fits_exactly:  # the residual is rounding
            self._first_corr[:] = 0.0
        self.penalty = self.first_penalty

    def _set_weights(self, weights: Weights) -> None:
        self.weights = weights
        self._unit = weights.finite  # in double precision: weights may differ by decades

    def _correlate(self, r: Array) -> None:
        if self.data.design.measured.extreme and np.linalg.norm(r) > 1:  # a path that is lost
            corr = correlations(self.data, r)
        else:
            corr = self.data.correlate(r)
        self._corr = corr.astype(self._dtype, copy=False)

    # ------------------------------------------------------------------ state

    @property
    def first_penalty(self) -> float:
        """The λ above which no penalised column is active."""
        corr, unit = self._first_corr, self._unit
        if not self.weights.all_penalised:
            costs = unit > 0
            corr, unit = corr[costs], unit[costs]
        return float((corr / unit).max(initial=0.0))

    @property
    def size(self) -> int:
        """Number of active columns."""
        return self._factor.size

    @property
    def squared_residual(self) -> float:
        """‖r‖² for a target of norm one."""
        if not self.size:
            return self._factor.rss
        e = self._residual_coordinates(self._unit * self.penalty)
        return self._factor.rss + float(e @ e)

    @property
    def fits_exactly(self) -> bool:
        """Whether the least-squares residual of the active columns is rounding error."""
        return self._factor.rss <= self.tolerance.exact

    def minimiser(self, refined: bool = False) -> Minimiser:
        """The minimiser at the present λ and weights, with its dual vector.

        `refined`: both by iterative refinement, free of errors that the path has left in U and t.
        """
        factor, k = self._factor, self.size
        columns, accuracy = factor.columns.copy(), 1e2 * self.tolerance.quiet * PERTURBATION
        if math.isinf(self.penalty):
            return Minimiser(
                columns, factor.coef()[0], np.zeros_like(self._r), self.penalty, accuracy
            )
        e = self._residual_coordinates(self._unit)
        x = self._coef(factor.t[0, :k] - self.penalty * e)
        if refined and k:
            x, e = self._refined(x, e)
        keep = (x * self._sign[columns] > self._zero_threshold(x)) | factor.locked[:k]
        if not keep.all():
            columns, x = columns[keep], x[keep]
        if self.penalty == 0 and columns.size < k:
            x = least_squares(self.data, columns)
        dual = self._dual(e, columns)
        return Minimiser(
            columns, x.astype(self._dtype), dual.astype(self._dtype), self.penalty, accuracy
        )

    def _refined(self, x: Array, e: Array) -> tuple[Array, Array]:
        """x and e with A_Sᵀν = s w and A_S x = y - λν for ν = Q e + r_LS/λ, but for rounding."""
        factor, k, y = self._factor, self.size, self.data.y
        columns, Q, U = factor.columns, factor.Q[:k], factor.U[:k, :k]
        unit, limits = factor.unit_columns(columns), self._sign[columns] * self._unit[columns]
        rest = self._r / self.penalty if self.penalty else np.zeros_like(y)
        for _ in range(2):
            e = e + U @ (limits - (e @ Q + rest) @ unit)
            x = x + (Q @ (y - unit @ x - self.penalty * (e @ Q))) @ U
        return x, e

    def _zero_threshold(self, x: Array) -> Array | float:
        """Coefficients below this are zero up to rounding; at λ = 0 there may be such."""
        if self.penalty > 0:
            return 0.0
        least = self.tolerance.eps**0.75 * float(np.abs(x).max(initial=0.0))
        if not self.fits_exactly:
            return least
        return np.maximum(least, 8 * self.tolerance.eps * np.sqrt(self._factor.diagonal()))

    def _dual(self, e: Array, columns: Array) -> Array:
        """ν = r/λ = Q e + r_LS/λ; at λ = 0 its limit, if there is one.

        Once r is rounding error, so is the part of ν outside the span of the active columns. Any
        earlier ν of the path with |a_jᵀν| = w_j on these columns serves as well.
        """
        factor = self._factor
        if not self.penalty and self.fits_exactly and self._duals:
            limits = self._sign[columns] * self._unit[columns]
            unit, eps = factor.unit_columns(columns), self.tolerance.eps
            for dual in self._duals:
                error = np.abs(dual @ unit - limits).max(initial=0.0, where=limits != 0)
                if error <= 64 * eps * float(np.linalg.norm(dual)):
                    return dual
        dual = e @ factor.Q[: self.size]
        share = self.penalty or self._last_penalty(float(np.linalg.norm(e)))
        return dual + self._r / share if share > 0 else dual

    def _last_penalty(self, length: float) -> float:
        """A λ > 0 after the last breakpoint: there r/λ is dual feasible, as in the limit λ → 0.

        Where r does not tend to zero, r/λ has no limit: the smaller λ, the smaller the gap.
        """
        last = self.breakpoints[-1] if self.breakpoints else 0.0
        if self.fits_exactly or not length:
            return last
        return min(last, self._factor.rss**0.5 * self.tolerance.quiet / length)

    @property
    def _usual_growth(self) -> float:
        """The row sum of |U| above which the factor has lost too many digits."""
        return 0.0 if self._careful else self.tolerance.eps**GROWTH

    @property
    def _may_refactorise(self) -> bool:
        """Whether to refactorise; in single precision, starting again in double costs less.

        Unless there is a callback: the steps it has seen can't be taken back.
        """
        return self._dtype != np.float32 or self.log.callback is not None

    def _coef(self, coordinates: Array, refined: bool = False) -> Array:
        """x with A_S x = Q v, by iterative refinement if asked: U may be large where x is not."""
        factor, k = self._factor, coordinates.size
        Q, U = factor.Q[:k], factor.U[:k, :k]
        x = coordinates @ U
        if (refined or self._careful) and k:
            unit = factor.unit_columns(factor.columns[:k])
            for _ in range(2):
                x = x + (Q @ (coordinates @ Q - unit @ x)) @ U
        return np.asarray(x)

    def _residual_coordinates(self, weights: Array) -> Array:
        """Uᵀ(s ω): the residual's part in the span of the active columns."""
        k, columns = self.size, self._factor.columns
        return np.asarray(self._factor.U[:k, :k] @ (self._sign[columns] * weights[columns]))

    # ------------------------------------------------------------------ moving along the path

    def lower(self, bound: float | None = None, to: float = 0.0) -> Stop:
        """Lower λ until ‖r‖² is `bound`, or to the value `to`."""
        return self._move(0.0, self._unit, bound, to)

    def raise_(self, bound: float) -> Stop:
        """Raise λ until ‖r‖² is `bound`."""
        return self._move(2 * self.first_penalty + self.penalty, self._unit, bound)

    def reweight(self, weights: Weights) -> None:
        """Move to other weights (with the same unpenalised and excluded columns) at the same λ."""
        before = self._unit
        self._set_weights(weights)
        self._move(self.penalty, before, None)

    def reach(self, bound: float) -> Stop:
        """Move to the λ at which ‖r‖ meets the bound; infinite if x = 0 meets it."""
        squared, now = min(bound, 2.0) ** 2, self.squared_residual
        if squared <= self.tolerance.exact:  # below rounding
            squared = 0.0
        if now <= squared and not self.started:
            self.penalty = np.inf
            return Stop.RESIDUAL
        if self.started and abs(now - squared) <= 1e-12 * squared:
            return Stop.RESIDUAL
        if squared == 0.0:
            stop = self.lower()
        elif now > squared:
            stop = self.lower(squared)
        else:
            stop = self.raise_(squared)
        if stop is Stop.RESIDUAL:
            self._refine_penalty(squared)
            return stop
        if self.fits_exactly:
            return Stop.EXACT_FIT
        distance = self._factor.rss**0.5
        unsure = self.tolerance.exact**0.5 * (1 + float(np.abs(self._factor.coef()).sum()))
        if distance > bound + unsure:
            raise OutOfReachError(self.data, bound, distance)
        return Stop.RESIDUAL

    def _refine_penalty(self, squared: float) -> None:
        """Solve ‖r‖² = ‖r_LS‖² + λ²‖e‖² = bound for λ, free of errors accumulated on the path."""
        e = self._residual_coordinates(self._unit)
        length = float(e @ e)
        if length > 0:
            self.penalty = (max(squared - self._factor.rss, 0.0) / length) ** 0.5

    # ------------------------------------------------------------------ along one line

    def _move(self, to: float, before: Array, bound: float | None, least: float = 0.0) -> Stop:
        """Move from λ and the previous weights to λ = `to` and the new ones; not below `least`."""
        kernels, start = self._kernels, self.penalty
        self._weight = start * before
        self._delta = to * self._unit - self._weight
        self._at[kernels.LEFT] = self._at[kernels.FRESH] = 1.0
        self._at[kernels.LEAST] = least / start if least else 0.0
        self._count[kernels.STILL] = 0
        self._span = (start, to)
        self.started = True
        self._state[self._state == kernels.PARKED] = kernels.OPEN
        room = 2 if self.log.callback else FIRST_ROOM  # an exchange is two breakpoints
        code = kernels.END if not start else kernels.MORE
        while code not in (kernels.END, kernels.MET):
            code = self._follow(room, -1.0 if bound is None else bound)
            self.penalty = to + (start - to) * float(self._at[kernels.LEFT])
            if code == kernels.STALE:
                self._refresh()
                if not to:  # λ may fall by many decades: rescale the rest of the line to 1
                    start = self.penalty
                    self._span = (start, to)
                    self._at[kernels.LEFT] = self._at[kernels.FRESH] = 1.0
                    self._at[kernels.LEAST] = least / start if least else 0.0
            elif code == kernels.CYCLE:
                self._perturb()
            elif not self.log.callback:
                room *= 2
            self.log.check_interrupt()
        if code == kernels.END and least:
            self.penalty = min(least, self.penalty)  # to the last digit
        return Stop.RESIDUAL if code == kernels.MET else Stop.EXHAUSTED

    def _follow(self, room: int, bound: float) -> int:
        """Follow the line for as many breakpoints as there is room for; return the exit code.

        A small A takes one compiled call. Otherwise breakpoints are predicted, or the kernel
        returns for each product and column it needs.
        """
        self._check_progress()
        if self._predicts:
            steps = self._look_ahead.steps(room - 1)
            if steps > 1 and (code := self._predict(steps, bound)) is not None:
                return code
            room = 2
        kernels, factor, data, count = self._kernels, self._factor, self.data, self._count
        factor.make_room(min(factor.size + 1, factor.capacity))
        limits, state = self._limits(), self._kernel_state(room)
        small = data.design.is_small
        W = data.design.as_contiguous(None, self._dtype) if small else np.empty((0, 0), self._dtype)
        code = kernels.LOOK
        while True:
            code = kernels.follow(W, data.inverse_norms, state, code, bound, limits)
            if code == kernels.PRODUCT and not self.log.halted:
                state.b[:] = data.correlate(state.u)
            elif code == kernels.COLUMN:
                state.a[:] = factor.unit_column(int(count[kernels.PLACE]))
            elif code == kernels.WORN and self._may_refactorise:
                state, code = self._refactorised(state), kernels.LOOK
                limits = self._limits()
            else:
                break
        data.passes.add(int(count[kernels.PASSES]))
        if code == kernels.WORN:
            raise LostDigitsError
        self._commit(state)
        return int(code)

    def _predict(self, steps: int, bound: float) -> int | None:
        """Predict `steps` breakpoints and keep the valid ones; return the exit code.

        None if fewer than two of them are valid.
        """
        kernels, factor = self._kernels, self._factor
        factor.make_room(min(factor.size + steps + 1, factor.capacity))
        lookahead = PathLookahead(self.data, self._kernel_state(steps + 1), steps)
        new, code = lookahead.follow(steps + 1, bound, self._limits())
        valid = 0
        if code != kernels.WORN:
            r = residual(new)
            corr = self.data.correlate(r)
            valid = lookahead.count_valid(new, r, corr, self.tolerance.tie)
        self._look_ahead.learn(steps, min(valid, steps))
        if valid < 2:
            return None
        if valid <= new.count[kernels.BENDS]:
            new, code = lookahead.follow(valid, bound, self._limits())
            r = residual(new)
            corr = self.data.correlate(r)
        self._accept(lookahead, new, r, corr)
        return code

    def _accept(self, lookahead: PathLookahead, new: Any, r: Array, corr: Array) -> None:
        """Move to the end of the prediction, where r and c are these."""
        kernels, factor, pool = self._kernels, self._factor, lookahead.pool
        k, at = int(new.count[kernels.SIZE]), self._at
        way = 1 - new.at[kernels.LEFT] / at[kernels.LEFT]
        self._weight, self._delta = self._weight + way * self._delta, (1 - way) * self._delta
        self._weight[pool], self._delta[pool] = new.weight, new.delta
        self._sign[pool], self._state[pool] = new.sign, new.state
        if self._span[1] == 0.0:
            self._weight = -self._delta
        at[:], self._count[:], self._corr = new.at, new.count, corr.astype(self._dtype, copy=False)
        at[kernels.LENGTH] = np.linalg.norm(r)
        factor.Q[:], factor.U[:], factor.t[:], factor.r[:] = new.Q, new.U, new.t, new.r
        factor.order[:k], factor.locked[:k] = pool[new.order[:k]], new.locked[:k]
        done = int(new.count[kernels.BENDS])
        columns = new.columns[:done]
        named = np.where(columns >= 0, pool[columns], -1 - pool[-1 - columns])
        self._commit(new._replace(columns=named))

    def _commit(self, state: Any) -> None:
        """Take over the factor's new size and record the breakpoints passed."""
        kernels, count = self._kernels, self._count
        done = int(count[kernels.BENDS])
        columns = state.columns[:done]
        dropped = int(np.count_nonzero(columns < 0))
        self._factor.was_changed(int(count[kernels.SIZE]), float(self._at[kernels.RSS]), dropped)
        self._record(columns, state.left[:done], state.squares[:done], state.X[:done])

    def _check_progress(self) -> None:
        if len(self.breakpoints) > MAX_BREAKPOINTS * sum(self.data.shape):
            raise LostDigitsError

    def _record(self, columns: Array, left: Array, squares: Array, coefs: Array) -> None:
        """Log the steps, runs of one kind at once."""
        start, to = self._span
        self.breakpoints += (to + (start - to) * left).tolist()
        first = 0
        for comes, group in groupby((columns >= 0).tolist()):
            last = first + len(list(group))
            self._recorded += last - first if comes else first - last
            part = slice(first, last)
            named = columns[part] if comes else -1 - columns[part]
            self.log.record(
                "add" if comes else "drop", named, squares[part], coefs[part], self._recorded
            )
            first = last

    # ------------------------------------------------------------------ arguments of the kernels

    def _limits(self) -> tuple[float, ...]:
        tolerance = self.tolerance
        to_zero = self._span[1] == 0.0
        return (
            tolerance.exact if to_zero else -1.0, tolerance.exact, tolerance.eps**0.75,
            32 * tolerance.eps, float(2 * min(self.data.shape) + 20), tolerance.faded**0.5,
            self._growth_limit,
        )  # fmt: skip

    def _kernel_state(self, room: int) -> Any:
        """The kernel's state, with room to record this many breakpoints."""
        kernels, factor, count = self._kernels, self._factor, self._count
        count[kernels.SIZE], self._at[kernels.RSS] = factor.size, factor.rss
        count[kernels.BENDS] = count[kernels.PASSES] = 0
        count[kernels.GIVEN_UP] = kernels.NO_BEND
        needed = 2 * factor.room + 2  # for orthogonalising k columns
        if self._scratch.shape[1] < needed:
            self._scratch = np.zeros((5, needed), self._dtype)
        x, dx, e, g, h = self._scratch
        u, a, v = self._vectors
        return kernels.State(
            factor.Q, factor.U, factor.t, self._r[None], factor.order, factor.locked, x, dx, e, g,
            u, self._corr, self._weight, self._delta, self._sign, self._state, self._product, a, v,
            h, self._at, count, np.empty(room, np.int64), np.empty(room), np.empty(room),
            np.zeros((room, factor.room + 1), self._dtype),
        )  # fmt: skip

    # ------------------------------------------------------------------ numerical hygiene

    def _refresh(self) -> None:
        """Recompute c: it carries the rounding errors of when it was larger."""
        factor, kernels = self._factor, self._kernels
        _ = factor.Q
        factor.reorthogonalise()
        r = self._r + self._residual_coordinates(self._weight) @ factor.Q[: self.size]
        self._correlate(r)
        if self._careful and self._span[1] == 0.0:
            self._duals.append(r / (self._span[0] * float(self._at[kernels.LEFT])))
        self._at[kernels.FRESH] = self._at[kernels.LEFT]
        self._at[kernels.LENGTH] = np.linalg.norm(r)

    def _refactorised(self, state: Any) -> Any:
        """Recompute the factor and c, which large entries of U have cost digits.

        The last breakpoint is recorded again from the new factor. Where U stays large, the factor
        is recomputed at every breakpoint.
        """
        factor, kernels, count = self._factor, self._kernels, self._count
        k = factor.size = int(count[kernels.SIZE])
        factor.make()
        self._refresh()
        self._at[kernels.WEAR], self._at[kernels.RSS] = 0.0, factor.rss
        growth = float(np.abs(factor.U[:k, :k]).sum(axis=1).max(initial=0.0))
        self._growth_limit = self._usual_growth if growth <= self._usual_growth else 0.0
        if count[kernels.GIVEN_UP] != kernels.NO_BEND:
            last, given_up = int(count[kernels.BENDS]) - 1, int(count[kernels.GIVEN_UP])
            came = int(state.columns[last] >= 0)  # a column that has just entered is at zero
            v = (factor.t[0, :k] - self._residual_coordinates(self._weight))[: k - came]
            x = np.append(self._coef(v, refined=True), np.zeros(came))
            r = self.data.y - factor.unit_columns(factor.columns) @ x
            state.squares[last], state.X[last, :k] = r @ r, x
            if given_up >= 0:  # an exchange is two breakpoints: at the first, both are there
                state.squares[last - 1] = r @ r
                state.X[last - 1, : k + 1] = np.insert(x, given_up, 0.0)
            count[kernels.GIVEN_UP] = kernels.NO_BEND
        return state._replace(Q=factor.Q, U=factor.U, t=factor.t, r=self._r[None], corr=self._corr)

    @cached_property
    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def _perturb(self) -> None:
        """Break a cycle of tied columns by random increases of the inactive ones' weights."""
        inactive = self._state == self._kernels.OPEN
        size = PERTURBATION * self.tolerance.quiet
        factors = 1 + size * self._generator.random(np.count_nonzero(inactive)).astype(self._dtype)
        target = self._weight[inactive] + self._delta[inactive]
        self._weight[inactive] *= factors
        self._delta[inactive] = target * factors - self._weight[inactive]
        self._count[self._kernels.STILL] = 0
