"""The model under construction: what stepwise regression and Sparse Bayesian Learning share."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.factor import Factor
from sparsewise.engine.log import Callback, Log
from sparsewise.engine.look_ahead import LookAhead
from sparsewise.engine.scores import Scores
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.errors import InputError, Parameter
from sparsewise.problem.constraints import NO_CONSTRAINTS, Constraints
from sparsewise.problem.problem import DependentColumnsError, Problem
from sparsewise.results import Stop


class SparseModel:
    """Active columns, the score of every column, a log, and steps forward.

    `ActiveSet` and `Evidence` add the verbs of their algorithms. A verb looks for a
    callback that halts and for Ctrl-C (`Log.check_interrupt`) between steps, where factor and log
    agree; `solve` catches both.

    Parameters
    ----------
    problem : Problem
        Design, target and constraints.
    callback : callable, optional
        Called with each `Step`; returning True halts.
    room : int, optional
        How many columns the model is to have at most, where that is known.
    basis : bool
        Whether the start will be added to. Dropping alone needs no basis.
    damped : bool
        Whether each column has a damping of its own (see `Evidence`).
    """

    _noise = 0.0
    """σ² for a target of norm one, where it tells how a column that is added is damped."""

    def __init__(
        self,
        problem: Problem,
        *,
        callback: Callback | None = None,
        room: int | None = None,
        basis: bool = True,
        damped: bool = False,
    ) -> None:
        self.problem = problem
        self.log = Log(problem, callback)
        self._factor = Factor(problem, 16 if room is None else max(room, 1), damped)
        self._kernels = self._factor.kernels
        self._scores = Scores(self._factor)
        self._tolerance = self._factor.tolerance
        # Of a Bayesian model, the evidence says when to stop, however close the fit.
        self._nothing = -1.0 if damped else self._tolerance.exact
        self._look_ahead = LookAhead()
        self._measured_anew = False
        if problem.constraints is not NO_CONSTRAINTS:
            self._constrain(problem.constraints, room, basis)

    def _constrain(self, constraints: Constraints, room: int | None, basis: bool) -> None:
        """Begin with include and start, and close the columns of exclude."""
        locked, columns = len(constraints.locked), constraints.first
        if room is not None:
            self._fit_in("include", len(constraints.include), room - locked)
            if basis:  # otherwise columns go, and the rest may fit
                self._fit_in("start", len(columns) - locked, room - locked)
        self._scores.state[list(constraints.exclude)] = self._kernels.EXCLUDED
        if not columns:
            return
        damping = np.full(len(columns), self.problem.ridge**0.5)
        damping[:locked] = 0.0
        if not self._factor.load(columns, len(constraints.kept), basis, damping):
            raise self._cannot_start_from(columns)
        self._scores.state[columns] = self._kernels.ACTIVE
        self.log.begin(columns, self.rss, self._factor.coef(), self.df)

    @staticmethod
    def _fit_in(name: str, columns: int, room: int) -> None:
        """Refuse more columns than the model may have."""
        if columns > room:
            wrong = f"names {columns} columns, but ", Parameter("sparsity")
            raise InputError((*wrong, f" allows only {room}"), "raise it.", parameter=name)

    def _cannot_start_from(self, columns: list[int]) -> DependentColumnsError:
        """Which of these columns can't be in one model with those before them, and what to do."""
        factor = Factor(self.problem, len(columns))
        dependent = [j for j in columns if not factor.add([j])[0][0]]
        return DependentColumnsError(dependent, len(columns))

    # ------------------------------------------------------------------ what is there

    @property
    def size(self) -> int:
        """Number of active columns."""
        return self._factor.size

    @property
    def rss(self) -> float:
        """‖r‖², for y scaled to norm one; over all targets."""
        return self._factor.rss

    @property
    def objective(self) -> float:
        """What steps lower: ‖r‖², or with a ridge ‖r‖² + ridge ‖x‖² of unit columns."""
        return self._factor.objective

    @property
    def df(self) -> float:
        """Degrees of freedom: the trace of the hat matrix, of least squares the features."""
        return self._factor.df - len(self.problem.constraints.locked)

    @property
    def residual(self) -> Array:
        """r = y - A x, for y scaled to norm one; one target a row."""
        return self._factor.r

    @property
    def order(self) -> list[int]:
        """The active columns in the order in which they came."""
        return self._factor.columns.tolist()

    @property
    def support(self) -> frozenset[int]:
        """The active columns as a set."""
        return frozenset(self.order)

    @property
    def coef(self) -> dict[int, Array]:
        """Coefficients of each active column, one for each target (unit columns, unit target)."""
        return dict(zip(self.order, self._factor.coef().T, strict=True))

    def closed(self) -> Array:
        """Which columns can't be added."""
        return self._scores.state != self._kernels.OPEN

    def nothing_left(self) -> Stop:
        """Why no column can be added."""
        blocked = (self._scores.state == self._kernels.DEPENDENT).any()
        return Stop.DEPENDENT if blocked else Stop.EXHAUSTED

    def open_columns(self) -> Array:
        """The columns that can be added, ascending."""
        self._scores.sync()  # finds those that the columns in the model leave nothing of
        return np.flatnonzero(~self.closed())

    def remainders_of(self, columns: Array) -> Array:
        """These columns, scaled to unit norm, without what the model explains of them."""
        self.problem.passes.add()
        Q = self._factor.Q[: self.size].T
        B = self._factor.unit_columns(columns)
        return B - Q @ (Q.conj().T @ B) if self.size else B

    # ------------------------------------------------------------------ the result

    def solve(self, algorithm: str, steps: Callable[[], Stop], **more: Any) -> Any:
        """Take these steps until they end or somebody halts them: the solution.

        Should they be halted, that is the model as the last step left it.
        """
        return self.solution(algorithm, self.log.run(steps), **more)

    def solution(self, algorithm: str, stop: Stop, **more: Any) -> Any:
        """The model as it is, in the units of the data; a `Solution` or the `kind` asked for."""
        return self._told(algorithm, stop, self._factor.refitted(), **more)

    def _told(
        self, algorithm: str, stop: Stop, anew: tuple[Array, Array] | None, **more: Any
    ) -> Any:
        """The same, with coefficients and r that were made anew where the factor's won't do."""
        factor = self._factor
        if anew is None:
            x, rss = factor.coef(), factor.rss
        else:
            x, rss = anew[0], float(np.vdot(anew[1], anew[1]).real)
        return self.log.solution(algorithm, stop, factor.columns, x, rss, df=self.df, **more)

    def covariance(self, sigma: float) -> Array:
        """σ² U U*: that of the coefficients in the units of the data, columns ascending."""
        factor, k = self._factor, self.size
        double = np.result_type(factor.dtype, float)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            # Square roots first: the square of a coefficient's unit may be out of range.
            unit = sigma * self.problem.inverse_norms[factor.columns].astype(float)
            spread = (unit[:, None] * factor.U[:k, :k].T.astype(double))[np.argsort(factor.columns)]
            covariance = spread @ spread.conj().T
        if sigma and not in_range(covariance.diagonal().real):
            raise InputError(
                "The variances, squares of coefficients, are out of range", "scale A or y."
            )
        return _as_precise_as(covariance, factor.dtype)

    # ------------------------------------------------------------------ steps forward

    def _grow(self, stopping: StoppingCriterion, by_gain: bool, steps: int) -> Stop:
        """Add the best column again and again, at most `steps` times; why it ended."""
        stop: Stop | None = None
        self._measured_anew = False
        while steps > 0 and not stop:
            self.log.check_interrupt()
            stop = self.reason_not_to_grow(stopping)
            if not stop:
                self._scores.sync()
                most = 1 if self.log.callback else steps
                added, stop = self._advance(stopping, by_gain, most)
                steps -= added
        self.log.check_interrupt()
        return stop or Stop.MAX_ITER

    def reason_not_to_grow(self, stopping: StoppingCriterion) -> Stop | None:
        """The part of the stopping criterion that is met, if one is."""
        factor = self._factor
        if factor.size >= stopping.most or factor.size >= factor.capacity:
            return stopping.full
        return self.reason_not_to_exchange(stopping, factor.rss)

    def reason_not_to_exchange(
        self, stopping: StoppingCriterion, rss: float | None = None
    ) -> Stop | None:
        """The same without the number of features, for this ‖r‖² or one known better."""
        rss = self.rss if rss is None else rss
        if rss <= stopping.enough:
            return Stop.RESIDUAL
        if rss <= self._nothing:
            return Stop.EXACT_FIT
        return None

    def _advance(
        self, stopping: StoppingCriterion, by_gain: bool, steps: int
    ) -> tuple[int, Stop | None]:
        """Some steps forward, from all columns or from a checked guess."""
        factor, scores, tolerance = self._factor, self._scores, self._tolerance
        k = factor.size
        steps = min(steps, factor.make_room(k + 1) - k)
        small = self.problem.design.is_small
        if not small:
            steps = self._look_ahead.steps(steps)
        picks = np.empty(steps, np.int64)
        rss = np.empty(steps)
        X = np.empty((steps, len(factor.t), k + steps), factor.dtype)
        if k:
            X[0, :, :k] = factor.coef()
        limits = (
            float(stopping.most), stopping.enough, stopping.gain, self._nothing,
            tolerance.dependent, factor.frail, tolerance.tie, scores.faded,
            math.inf if self._measured_anew else tolerance.drift, self._noise,
            factor.ridge,
        )  # fmt: skip
        step = self._from_all if small else self._from_pool
        added, code, known = step((by_gain, steps, limits, picks, rss, X))
        scores.knows(k + known)
        # Energies just measured have all the digits there are until a column comes in: to measure
        # them again would only reopen what has turned out to be dependent.
        drifted = self._measured_anew or code == self._kernels.DRIFTED
        self._measured_anew = drifted and not added
        if added:
            factor.took(picks[:added], rss[added - 1])
            coefs = X if added == steps else X[:added].copy()
            self._added(picks[:added], rss[:added], coefs)
        return added, self._meaning(code, stopping)

    def _from_all(self, request: tuple[Any, ...]) -> tuple[int, int, int]:
        """Steps on all columns at once: small matrices only."""
        factor, scores, design = self._factor, self._scores, self.problem.design
        added, code, known = self._kernels.grow(
            design.as_contiguous(None, factor.dtype), self.problem.inverse_norms, True, scores.corr,
            scores.energy, scores.floor, scores.state, factor.Q, factor.U, factor.damping,
            factor.t, factor.r, factor.size, *request,
        )  # fmt: skip
        self.problem.passes.add(known)
        return added, code, known

    def _from_pool(self, request: tuple[Any, ...]) -> tuple[int, int, int]:
        """Guess the next steps from the columns of best scores, then check against all columns.

        One pass over A serves as many steps as the guess was right for; the steps are those of
        one pass a step.
        """
        kernels, factor, scores = self._kernels, self._factor, self._scores
        scale = self.problem.inverse_norms
        k = factor.size
        by_gain, steps, _, picks, *_ = request
        pool = self._pool(by_gain, steps)
        if pool.size == 0:
            return 0, kernels.NONE_LEFT, 0
        state = np.zeros(pool.size, np.int8)
        added, code, _ = kernels.grow(
            self.problem.design.as_contiguous(pool, factor.dtype), scale[pool], False,
            scores.corr[:, pool], scores.energy[pool], scores.floor[pool], state, factor.Q,
            factor.U, factor.damping, factor.t, factor.r, k, *request,
        )  # fmt: skip
        scores.state[pool[state == kernels.DEPENDENT]] = kernels.DEPENDENT
        if added == 0:  # of the pool, none could be added: there may be others
            return 0, kernels.MORE if code == kernels.NONE_LEFT else code, 0
        picks[:added] = pool[picks[:added]]
        # At the end nobody asks for the scores after the last pick: its pass can wait.
        at_end = code in (kernels.FITTED, kernels.EXACT, kernels.FULL)
        confirmed, known, stale = kernels.confirm(
            scores.project(k, k + added - at_end), scale, factor.t, k,
            picks[:added], scores.corr, scores.energy, scores.floor, scores.state, by_gain,
            self._tolerance.dependent, self._tolerance.tie, factor.ridge,
        )  # fmt: skip
        self._look_ahead.learn(added, confirmed)
        if confirmed < added:
            factor.retreat(k + confirmed, k + added)
        if stale:
            code = kernels.STALE
        elif confirmed < added or not at_end:
            code = kernels.MORE  # whatever the pool alone seemed to say
        return confirmed, code, known

    def _pool(self, by_gain: bool, steps: int) -> Array:
        """The columns from which the next `steps` steps are guessed, ascending."""
        best, scores = self._scores.best(by_gain)
        if best < 0 or steps == 1:
            return np.array([best] if best >= 0 else [], np.int64)
        width = min(4 * steps, scores.size)
        top = np.argpartition(scores, scores.size - width)[-width:]
        return np.unique(np.append(top[scores[top] >= 0], best))

    def _meaning(self, code: int, stopping: StoppingCriterion) -> Stop | None:
        """What a kernel's answer means; None: go on (the next sync mends the scores)."""
        kernels = self._kernels
        if code == kernels.FULL:
            return stopping.full
        if code == kernels.FITTED:
            return Stop.RESIDUAL
        if code == kernels.EXACT:
            return Stop.EXACT_FIT
        if code == kernels.SMALL:
            return stopping.small
        if code == kernels.NONE_LEFT:
            return self.nothing_left()
        if code == kernels.LOCKED:
            return Stop.EXHAUSTED
        if code in (kernels.STALE, kernels.DRIFTED):
            self._scores.distrust(everything=code == kernels.DRIFTED)
        return None

    def _added(self, columns: Array, rss: Array, coefs: Array) -> None:
        """Record that these columns came in, one after the other."""
        size = self._factor.size
        df = self._factor.dfs(size - columns.size)
        self.log.record("add", columns, rss, coefs, size, df=df)


def in_range(variances: Array) -> bool:
    """Whether they are finite and have all their digits: so have what lies between two of them."""
    least, most = variances.min(initial=1.0), variances.max(initial=1.0)
    return bool(sys.float_info.min <= least and most < math.inf)


def _as_precise_as(covariance: Array, dtype: np.dtype[Any]) -> Array:
    """A covariance in the precision of the data; in double where its squares need the range."""
    if covariance.dtype == dtype:
        return covariance
    with np.errstate(over="ignore", under="ignore"):
        told = covariance.astype(dtype)
    variances = np.diagonal(told).real
    fits = np.isfinite(told).all() and (variances >= np.finfo(dtype).tiny).all()
    return told if fits else covariance
