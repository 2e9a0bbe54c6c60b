"""The model under construction and its evidence: the verbs of Sparse Bayesian Learning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import square_sums
from sparsewise.engine.factor import Prior
from sparsewise.engine.log import Callback
from sparsewise.engine.sparse_model import SparseModel, in_range
from sparsewise.engine.stopping import StoppingCriterion
from sparsewise.errors import InputError
from sparsewise.problem.problem import Problem
from sparsewise.results import (
    MINOR,
    BayesianSolution,
    InferredNoise,
    Stop,
    log_evidence,
    mean_log,
    weight,
)
from sparsewise.tolerances import tolerances

STEPS = 256
"""Most revisions made in one compiled call."""

RETRACED = 64
"""Columns up to which a model is made again one by one, at a QR each."""

NEARLY_EXACT = 1e-2
"""Part of the target's variance: data of which less is noise are nearly exact."""

FAR = 1e6
"""Rises are added to a log evidence up to this size; a larger one is computed anew."""


class Evidence(SparseModel):
    """Active columns with prior variances γ, the score of every column, and the evidence.

    The active columns are damped by d_i² = σ²/γ_i. With R = σ² C⁻¹ the scores are
    corr = A*R y = σ² Q and energy_j = a_j*R a_j = σ² S_j, so that gain/σ² = |Q|²/S decides
    (Lemma 3.1), and the column of largest gain is the one to add (Lemma 3.2), as in stepwise
    regression.

    Parameters
    ----------
    problem : Problem
        Design, target and constraints; the columns of include have a flat prior.
    noise : float
        σ² for a target of norm one.
    price : float
        What a column must raise the log evidence by.
    min_increase : float
        Rises by re-estimation, of all targets together, that are not worth a step.
    callback : callable, optional
        Called with each `Step`; returning True halts.
    """

    def __init__(
        self,
        problem: Problem,
        noise: float,
        *,
        price: float = 0.0,
        min_increase: float = 1e-6,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(problem, callback=callback, damped=True)
        self.noise = noise
        self._excluded = np.array(sorted(problem.constraints.exclude), np.int64)
        self._complex = problem.is_complex
        self._weight = weight(self._complex) * problem.targets
        self._log_scale = mean_log(problem.noise_scales)
        self._flat = self.size
        self.rows = problem.design.rows - self._flat
        if self.rows <= 0:
            raise self._no_rows()
        self._flat_log_det, self._flat_rss = self._log_det(), self.rss
        self.price = price
        self.min_increase = min_increase
        self._enter = entrance(price / self._weight)
        self._measured: set[int] = set()  # what has lost its digits once
        self._left_out = False
        self.inferred: InferredNoise | None = None  # what σ² is to be, where it was inferred

    def _no_rows(self) -> InputError:
        """What to say where nothing tells the noise."""
        if self._flat:
            return InputError(
                f"names {self._flat} columns, as many as A has rows",
                "leave some out, or nothing tells the noise.",
                parameter="include",
            )
        return InputError(
            "The weights of the rows add up to one or less, so that nothing tells the noise",
            "they say how often each row counts: scale them to add up to the number of rows.",
        )

    # ------------------------------------------------------------------ what is there

    @property
    def noise(self) -> float:
        """σ² for a target of norm one. Changing it keeps γ/σ², and so all scores."""
        return self._noise

    @noise.setter
    def noise(self, value: float) -> None:
        self._noise, self._factor.frail = value, self._tolerance.frail_at(value)
        self._logged: float | None = None  # the log evidence as the last step left it

    @property
    def has_features(self) -> bool:
        """Whether any column is active but those of flat priors."""
        return self.size > self._flat

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise, in the units of the data."""
        return math.sqrt(self.noise) * self.problem.scale

    @property
    def sigmas(self) -> Array | None:
        """The same of each target, where there are several."""
        if self.problem.scales is None:
            return None
        return math.sqrt(self.noise) * self.problem.noise_scales

    @property
    def unexplained(self) -> float:
        """y*R y = σ² y*C⁻¹y = ‖r‖² + ‖D x‖²."""
        return self._factor.objective

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the data as they are; of several targets the sum."""
        if self._logged is None:
            self._logged = self._compute_evidence()
        return self._logged

    def _compute_evidence(self) -> float:
        d = self._factor.d
        log_det = self._log_det() - 2 * float(np.log(d[d > 0], dtype=float).sum())
        if not self.noise:
            return math.inf
        return log_evidence(
            0.5 * math.log(self.noise) + self._log_scale, self.rows, log_det - self._flat_log_det,
            self.unexplained / self.noise, self._complex, self.problem.targets,
        )  # fmt: skip

    @property
    def worth(self) -> float:
        """What is maximised: the log evidence less the price of the features."""
        return self.log_evidence - self.price * (self.size - self._flat)

    def rose_above(self, worth: float) -> bool:
        """Whether that has risen by more than rounding, computed anew."""
        self._logged = None
        return self.worth > worth + self._unsure

    @property
    def _unsure(self) -> float:
        """By how much two ways of computing the log evidence may differ."""
        return self._tolerance.tie * self.rows * self.problem.targets + self._rounding

    @property
    def _rounding(self) -> float:
        """What of a change in the log evidence may be rounding: of arithmetic, not of the data."""
        return 64 * tolerances(self.problem.dtype).eps * abs(self.log_evidence)

    @property
    def _enough(self) -> float:
        """The rise that is worth a re-estimation: what is but rounding is none."""
        # A rise has more digits than the evidence: of its rounding, a part is enough.
        return max(self.min_increase, self._rounding / 16)

    @property
    def slack(self) -> float:
        """What two ways to the same maximum may differ by."""
        return self.min_increase * (1 + self.size) + self._unsure

    def _log_det(self) -> float:
        """log|A_S*A_S + D²|."""
        k = self.size
        return -2 * float(np.linalg.slogdet(self._factor.U[:k, :k])[1]) if k else 0.0

    def factors(self) -> tuple[Array, Array]:
        """S_j = a_j*C⁻¹a_j and Q_j = a_j*C⁻¹y of every column (unit columns, unit target).

        Q has one row a target.
        """
        self._scores.sync()
        factor = self._factor
        energy, corr = self._scores.energy.copy(), self._scores.corr.copy()
        squared = np.square(factor.d)
        # The active ones from the posterior: S_i = (1 - Σ_ii/γ_i)/γ_i, Q_i = μ_i/γ_i.
        energy[factor.columns] = squared * (1 - squared * factor.diagonal())
        corr[:, factor.columns] = squared * factor.coef()
        return energy / self.noise, corr / self.noise

    @property
    def _stopping(self) -> StoppingCriterion:
        """When to stop adding: no gain exceeds σ² (or what the price makes of it)."""
        return StoppingCriterion(
            most=self.problem.shape[1],
            enough=-1.0,
            gain=self.noise * self._enter * (1 + self._tolerance.tie),
            loss=-1.0,
            ceiling=math.inf,
            full=Stop.EVIDENCE,
            small=Stop.EVIDENCE,
        )

    @property
    def _prior(self) -> Prior:
        """What kernels need to judge a column."""
        rounding = 64 * self._tolerance.eps  # far below what a column needs to come in
        stay = self._enter * (1 + rounding)
        return self.noise, stay, self.price, self._weight, rounding

    # ------------------------------------------------------------------ the verbs

    def acquire(self, steps: int) -> int:
        """Add the column of largest gain, with its best γ, while one exceeds σ²; how many."""
        before = self.size
        if not self.problem.is_zero:
            self._grow(self._stopping, True, steps)
        return self.size - before

    def revise(self, steps: int) -> int:
        """Delete the least relevant column, or else re-estimate the one that gains most; how many.

        A step costs O(k²); the scores of the others wait for the next acquisition.
        """
        taken = 0
        while taken < steps and self.size:
            self.log.check_interrupt()
            most = 1 if self.log.callback else min(steps - taken, STEPS)
            columns, rises, rss, X, code = self._factor.revise(most, self._enough, self._prior)
            if columns.size:
                self._scores.distrust(everything=True)
                self._scores.state[-1 - columns[columns < 0]] = self._kernels.OPEN
                self._revised(columns, rises, rss, X)
            taken += columns.size
            if code == self._kernels.SMALL:
                break
            if code == self._kernels.UNSURE:
                self._measure_anew(self._best_change(steepest=False)[0])
                taken += 1
        self.log.check_interrupt()
        return taken

    def ascend(self) -> bool:
        """Of all additions, deletions and re-estimations take the steepest; False: none is left."""
        scores = self._scores
        self.log.check_interrupt()
        if self.problem.is_zero:
            return False
        scores.sync()
        tie = self._tolerance.tie
        j, gains = scores.best(by_gain=True)
        u = float(gains[j]) / self.noise if j >= 0 else 0.0
        by_adding = self._addition(u) if u > self._enter * (1 + tie) else 0.0
        i, by_changing, goes = self._best_change(steepest=True)
        # Of a change and an addition that are equal but for rounding, the change is the sparser.
        enough = self._enough
        if by_adding * (1 - tie) > by_changing and by_adding > enough:
            return self.acquire(1) == 1 or self.ascend()  # what can't be added is out of the way
        if by_changing <= enough:  # what is irrelevant goes all the same
            i, by_changing, goes = self._best_change(steepest=False)
            if not goes and scores.shifts:  # it may end, but not on scores that have drifted
                scores.distrust(everything=True)
                return self.ascend()
            if not goes:
                return False
        if not goes and self._factor.is_unsure(i, self._prior):
            self._measure_anew(i)
        else:
            self._change(i, goes, by_changing)
        self.log.check_interrupt()
        return True

    def _best_change(self, steepest: bool) -> tuple[int, float, bool]:
        """The active position to change (-1: none), the rise that brings, and whether it goes."""
        factor = self._factor
        change: tuple[int, float, bool] = self._kernels.best_change_alone(
            factor.squares(), factor.diagonal(), factor.damping, self.size, factor.order,
            factor.locked, self._prior, self._tolerance.tie, steepest,
        )  # fmt: skip
        return change

    def _change(self, i: int, goes: bool, rise: float) -> None:
        """Delete or re-estimate the column at position i; the scores follow by one pass."""
        factor, scores = self._factor, self._scores
        j, epoch = int(factor.order[i]), factor.epoch
        direction, t, growth = factor.change(i, goes, self._prior)
        if factor.epoch == epoch:
            scores.shift(direction, t, growth)
        if goes:
            scores.reopen(np.array([j]))
        self._revised_one(j, goes, rise)

    def _measure_anew(self, i: int) -> None:
        """Give the column at position i its best γ from its projection, which keeps all digits.

        That is, it leaves, and comes back to where it was if it is worth it. If it depends on the
        others for all that can be told, or has to be measured again and again, it stays away for
        good: steps that rounding makes of such columns have no end.
        """
        factor, scores = self._factor, self._scores
        j = int(factor.order[i])
        factor.change(i, True, self._prior)
        corr, energy = factor.remainders(np.array([j]))
        worthy = bool(square_sums(corr)[0] > self._stopping.gain * energy[0])
        comes_back = worthy and j not in self._measured and self._add_back(j, corr, energy)
        if comes_back:
            factor.move_last_to(i)  # the path tells coefficients in the order of its columns
        scores.state[j] = self._kernels.ACTIVE if comes_back else self._kernels.OPEN
        if worthy and not comes_back:
            self._leave_out(j)
        self._measured.add(j)
        scores.distrust(everything=True)
        self._logged = None  # what it was worth before is not known
        self._revised_one(j, not comes_back, 0.0)

    def _add_back(self, j: int, corr: Array, energy: Array) -> bool:
        """Add a column of these scores with its best γ; False: it is not to be."""
        factor, stopping, tolerance = self._factor, self._stopping, self._tolerance
        k, one = factor.size, np.array([j])
        factor.make_room(k + 1)
        X, rss = np.empty((1, len(factor.t), k + 1), factor.dtype), np.empty(1)
        X[0, :, :k] = factor.coef()
        limits = (
            float(stopping.most), stopping.enough, stopping.gain, self._nothing,
            tolerance.dependent, factor.frail, tolerance.tie, 0.0, math.inf, self.noise,
            factor.ridge,
        )  # fmt: skip
        added, *_ = self._kernels.grow(
            self.problem.design.as_contiguous(one, factor.dtype), self.problem.inverse_norms[one],
            False, corr, energy, np.zeros_like(energy), np.zeros(1, np.int8), factor.Q, factor.U,
            factor.damping, factor.t, factor.r, k, True, 1, limits, np.empty(1, np.int64), rss, X,
        )  # fmt: skip
        if added:
            factor.took(one, rss[0])
        return bool(added)

    def restore(self, columns: Array, gamma: Array) -> None:
        """Begin with these columns and prior variances (unit columns, unit target), at once."""
        if columns.size:
            self._load(columns, gamma)
            x = self._factor.coef()
            self.log.record("start", self._factor.columns.copy(), [self.rss], [x], self.size)

    def retrace(self, columns: Array, gamma: Array) -> Stop:
        """The same one column after another, what explains most first: a path tells of each."""
        if not columns.size or columns.size > RETRACED:
            self.restore(columns, gamma)
            return Stop.EVIDENCE
        self._load(columns, gamma)
        columns, gamma = self.held()
        first = np.argsort(-self._factor.losses()[self._flat :], kind="stable")
        columns, gamma = columns[first], gamma[first]
        for size in range(1, columns.size + 1):
            self._scores.state[columns] = self._kernels.OPEN
            self._load(columns[:size], gamma[:size])
            x, evidence = self._factor.coef()[None], [self.log_evidence]
            self.log.record("add", columns[size - 1 : size], [self.rss], x, self.size, evidence)
            self.log.check_interrupt()
        return Stop.EVIDENCE

    def _load(self, columns: Array, gamma: Array) -> None:
        """Make a model of these columns, but for what leaves their coefficients no digits."""
        factor, scores = self._factor, self._scores
        flat = self.order[: self._flat]
        while True:
            damping = np.append(np.zeros(self._flat), np.sqrt(self.noise / gamma))
            factor.load([*flat, *columns], self._flat, damping=damping)
            spread = factor.diagonal()
            if spread.sum() <= factor.frail or not columns.size:
                break
            # Columns that say the same of y leave their coefficients no digits: one fewer.
            keep = np.arange(columns.size) != int(np.argmax(spread[self._flat :]))
            columns, gamma = columns[keep], gamma[keep]
        scores.state[columns] = self._kernels.ACTIVE
        scores.distrust(everything=True)
        self._logged = None

    def first_among(self, columns: Array, climb: Callable[[Evidence], Any]) -> None:
        """Climb with these columns alone; the others can be added again afterwards."""
        state, kernels = self._scores.state, self._kernels
        others = state == kernels.OPEN
        others[columns] = False
        state[others] = kernels.EXCLUDED
        climb(self)
        state[others] = kernels.OPEN
        self._scores.distrust(everything=True)

    def merge_copies(self) -> bool:
        """Leave to the first of equal columns the γ of all: C, and so the evidence, is the same.

        Whether there were any.
        """
        groups = self._copies()
        for first, *others in groups:
            for j in others:
                self._factor.merge(first, j)
                self._scores.state[j] = self._kernels.OPEN
                self._scores.distrust(everything=True)
                self._revised_one(j, goes=True, rise=0.0)
                self.log.check_interrupt()
        return bool(groups)

    def _copies(self) -> list[list[int]]:
        """Active columns that are equal, up to their scale and phase."""
        factor = self._factor
        squared = np.square(factor.d)
        energy = 1 / factor.diagonal() - squared
        # Next to a copy, what is left of a column is what the damping of the copy leaves.
        suspects = np.flatnonzero((squared > 0) & (energy <= 2 * squared.max(initial=0.0)))
        if suspects.size < 2:
            return []
        columns = np.sort(factor.order[suspects])
        B = factor.unit_columns(columns)
        inner = B.conj().T @ B
        near = np.triu(np.abs(inner) > 1 - self._tolerance.trust, 1)
        groups, seen = [], set[int]()
        for i in np.flatnonzero(near.any(axis=1)).tolist():
            others = np.flatnonzero(near[i])
            apart = B[:, others] - B[:, [i]] * (inner[i, others] / np.abs(inner[i, others]))
            copies = columns[others[square_sums(apart) <= self._tolerance.exact]].tolist()
            group = [j for j in (int(columns[i]), *copies) if j not in seen]
            if len(group) > 1:
                groups.append(group)
                seen.update(group)
        return groups

    def best_noise(self, rule: InferredNoise) -> float:
        """The σ² of greatest evidence with γ/σ² as it is: C/σ² doesn't depend on σ² then."""
        return rule.best(self.unexplained, self.rows, self._weight)

    def rise_by_noise(self, rule: InferredNoise) -> float:
        """By how much that one would raise the log evidence and the log prior of σ²."""
        return rule.rise(self.noise, self.unexplained, self.rows, self._weight)

    def held(self) -> tuple[Array, Array]:
        """The active columns but those of flat priors, and their γ: what `restore` takes."""
        d = self._factor.d[self._flat :].astype(float)
        return self._factor.columns[self._flat :].copy(), self.noise / np.square(d)

    def solve(
        self,
        algorithm: str,
        steps: Callable[[], Stop],
        *,
        extend: Callable[[], Stop] | None = None,
        **more: Any,
    ) -> Any:
        """Take these steps until they end or somebody halts them: the solution.

        Where prior variances have grown so far that no digits would be left of the coefficients, it
        is without the columns of which the data tell least; from there the same steps lead on, or
        those of `extend` where they would begin anew.
        """
        stop = self.log.run(steps)
        while not self.log.halted and self._leave_out_the_frailest():
            stop = self.log.run(extend or steps)
        if self._left_out and stop is Stop.EVIDENCE:
            stop = Stop.DEPENDENT
        return self.solution(algorithm, stop, **more)

    def _leave_out_the_frailest(self) -> bool:
        """Drop the column of largest posterior variance for good, where rounding shows; whether so.

        That is where the rounding of coefficients is no less than the noise (see `check`). Where
        this is close to rounding itself, nothing is certain to within it anyway.
        """
        factor, eps = self._factor, self._tolerance.eps
        if self.noise < eps**0.5:
            return False
        shown = 64 * eps * float(np.abs(factor.coef()).sum())
        if shown <= max(16 * eps**0.5, 0.1 * self.noise**0.5):
            return False
        loose = ~factor.locked[: self.size]
        if not loose.any():
            return False
        i = int(np.argmax(np.where(loose, factor.diagonal(), -1.0)))
        j = int(factor.order[i])
        self._change(i, True, 0.0)
        self._leave_out(j)
        self._logged = None
        return True

    def _leave_out(self, j: int) -> None:
        """Column j is not to come back."""
        self._scores.state[j] = self._kernels.EXCLUDED
        self._scores.distrust(everything=True)
        self._left_out = True

    # ------------------------------------------------------------------ the record

    def _addition(self, u: Any) -> Any:
        """The rise of log evidence less price by adding a column, its gain being u σ²."""
        return self._weight * (u - 1 - np.log(u)) - self.price

    def _added(self, columns: Array, rss: Array, coefs: Array) -> None:
        k = self.size
        new = np.arange(k - columns.size, k)
        # ρ² = energy + d² = energy u/(u - 1) and d² = energy/(u - 1): u = ρ²/d², and ρ = 1/U_kk.
        u = 1 / np.square(np.abs(self._factor.U[new, new]) * self._factor.damping[new])
        rises = self._addition(u) + self.price
        self.log.record("add", columns, rss, coefs, k, self._evidences(rises))

    def _evidences(self, rises: Array) -> Array:
        """The log evidence after each of the last steps: the rises add up."""
        # Where it has been far below, as with little noise, the digits of what follows are lost.
        if self._logged is not None and abs(self._logged) < FAR:
            evidences = self._logged + rises.cumsum()
        else:
            evidences = self._compute_evidence() - np.append(rises[:0:-1].cumsum()[::-1], 0.0)
        self._logged = float(evidences[-1])
        return evidences

    def _revised_one(self, j: int, goes: bool, rise: float) -> None:
        """Column j was deleted or re-estimated, and the model is as that left it."""
        column = np.array([-1 - j if goes else j])
        coef = self._factor.coef()[None]
        self._revised(column, np.array([rise]), np.array([self.rss]), coef)

    def _revised(self, columns: Array, rises: Array, rss: Array, X: Array) -> None:
        evidences = self._evidences(rises - self.price * (columns < 0))
        size = self.size + int((columns < 0).sum())
        for first, last in _runs(columns < 0):
            goes = bool(columns[first] < 0)
            size -= (last - first) * goes
            self.log.record(
                "drop" if goes else "update",
                -1 - columns[first:last] if goes else columns[first:last],
                np.maximum(rss[first:last], 0.0), X[first:last], size, evidences[first:last],
            )  # fmt: skip

    def solution(self, algorithm: str, stop: Stop, **more: Any) -> Any:
        """The model as it is, in the units of the data."""
        factor, problem = self._factor, self.problem
        if factor.size and 0 < self.noise < self._tolerance.eps:
            factor.make()  # below rounding, what many re-estimations have left of errors shows
        anew = factor.freshen()
        columns, k = factor.columns.copy(), factor.size
        d = factor.d.astype(float)
        roots = np.full(k, np.inf)
        gamma = np.zeros(problem.shape[1])
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            # Square roots first: the square of a coefficient's unit may be out of range.
            unit = self.sigma * problem.inverse_norms[columns].astype(float)
            np.divide(unit, d, out=roots, where=d > 0)
            prior = np.square(roots)
        gamma[columns] = prior
        if self.noise and not in_range(prior[d > 0]):
            raise InputError(
                "The prior variances, squares of coefficients, are out of range", "scale A or y."
            )
        return self._told(
            algorithm,
            stop,
            anew,
            least_squares=False,
            kind=BayesianSolution,
            gamma=gamma,
            sigma=self.sigma,
            sigmas=self.sigmas,
            log_evidence=self._compute_evidence(),
            covariance=self.covariance(self.sigma),
            price=self.price,
            min_increase=self.min_increase,
            excluded=self._excluded,
            inferred=self.inferred,
            quiet=problem.tolerances_in(np.dtype(np.float64)).quiet,
            minor=self._minor() if self.inferred else 0,
            **more,
        )

    def _minor(self) -> int:
        """How many features hardly explain anything of nearly exact data."""
        if self.noise * self.rows > NEARLY_EXACT * self._flat_rss:
            return 0
        return int((self._factor.losses()[self._flat :] < MINOR * self._flat_rss).sum())


def entrance(price: float) -> float:
    """The u > 1 at which u - 1 - log u is the price: 1 if there is none."""
    u = 1.0 + price + math.sqrt(2 * price)  # at least the solution, from where Newton descends
    if u == 1.0:
        return u
    for _ in range(60):
        step = (u - 1 - math.log(u) - price) / (1 - 1 / u)
        u -= step
        if abs(step) <= 1e-15 * u:
            break
    return u


def _runs(flags: Array) -> Iterator[tuple[int, int]]:
    """The stretches of equal flags."""
    edges = [0, *(np.flatnonzero(np.diff(flags)) + 1).tolist(), flags.size]
    return pairwise(edges)
