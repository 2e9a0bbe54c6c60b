"""What an algorithm returns: the model, the way to it, and why it ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from sparsewise.design.base import Array, precision
from sparsewise.guarantees.certificate import Certificate, certify
from sparsewise.problem import Problem, Units, problem


class Stop(Enum):
    """Why an algorithm ended, with one sentence of advice."""

    SPARSITY = (
        "the number of features asked for is reached",
        "Raise sparsity for a closer fit, or look at path for the sizes below it.",
    )
    RESIDUAL = (
        "the residual bound is met",
        "Lower residual for a closer fit; a bound near the noise level guards against overfitting.",
    )
    DELTA = (
        "no further step is worth it at this delta",
        "Lower delta to keep more features, raise it to keep fewer.",
    )
    EXACT_FIT = (
        "the target is fitted to rounding error",
        "If the support is nearly as large as the number of rows, the fit is not a recovery.",
    )
    EXHAUSTED = (
        "no feature is left to add or drop",
        "Loosen include and exclude if the model should still change.",
    )
    DEPENDENT = (
        "every feature left depends linearly on the chosen ones",
        "More features can't lower the residual; remove duplicate columns if this is unexpected.",
    )
    STABLE = (
        "adding and dropping leave the support as it is",
        "Lower delta to keep more features, raise it to keep fewer.",
    )
    EVIDENCE = (
        "no single change raises the evidence enough",
        "Raise price to keep fewer features, lower it to keep more; sigma says what is noise.",
    )
    CRITERION = (
        "no single step lowers the criterion",
        "Begin elsewhere (start=None: with all features) to see if there is a better model yet.",
    )
    NO_IMPROVEMENT = (
        "no further step lowers the residual",
        "If the fit is not good enough, try another start or another algorithm.",
    )
    MAX_ITER = (
        "the limit on iterations is reached",
        "Raise max_iter if the residual was still falling.",
    )
    MAX_OUTER = (
        "the limit on rounds is reached",
        "Allow more rounds (max_outer=None, or a larger rounds) to go on until nothing changes.",
    )
    PENALTY = (
        "the penalty asked for is reached",
        "Lower penalty for a closer fit, raise it for fewer features.",
    )
    CONVERGED = (
        "the duality gap is as small as asked for",
        "Lower tol for a more accurate minimiser.",
    )
    SETTLED = (
        "another round of weights changes the coefficients too little",
        "Lower tol if the coefficients should settle further.",
    )
    BEST = (
        "the criterion is best at this size",
        "Compare other sizes on the path; another criterion weighs size and fit differently.",
    )
    PROVED = (
        "every other subset was looked at or ruled out",
        "Compare the sizes by a criterion: path.at(k) is the best subset of k features.",
    )
    TIME_LIMIT = (
        "the time is up",
        "Raise time_limit for a longer search; lower_bounds says what it may still find.",
    )
    INTERRUPTED = (
        "it was interrupted",
        "The model is the one met so far; run it again for the rest.",
    )
    CALLBACK = (
        "the callback asked to stop",
        "The model is the one met at that step.",
    )
    ZERO_TARGET = (
        "the target is zero",
        "Nothing is left to explain; check that y holds what it should.",
    )

    def __init__(self, reason: str, advice: str) -> None:
        self.reason = reason
        self.advice = advice

    def __str__(self) -> str:
        return self.reason


class Step(NamedTuple):
    """One step of an algorithm: what it did and where that led.

    An "update" gives a feature of a Bayesian model another prior variance; these models tell
    their log evidence, too.
    """

    action: Literal["add", "drop", "update"]
    column: int
    squared_residual: float
    size: int
    log_evidence: float = math.nan


class Model(NamedTuple):
    """A model met on the way."""

    support: Array
    coef: Array
    squared_residual: float


Action = Literal["start", "add", "drop", "update"]


class Stretch(NamedTuple):
    """Consecutive steps of one kind, as the engine hands them over (in its own units).

    ``coefs[i]`` belongs to the model after step i, in the order in which its columns came (and may
    be longer).
    """

    action: Action
    columns: Sequence[int] | Array
    squared_residuals: Sequence[float] | Array
    coefs: Sequence[Array] | Array
    log_evidences: Sequence[float] | Array | None = None

    def step(self, i: int, size: int, units: Units) -> Step:
        """Step i, which led to a model of this size, in the units of the data."""
        assert self.action != "start"
        squared = units.squared(self.squared_residuals[i])
        column = int(self.columns[i])
        if self.log_evidences is None:
            return Step(self.action, column, squared, size)
        return Step(self.action, column, squared, size, float(self.log_evidences[i]))


class Path(Sequence[Step]):
    """Every step, in order; behaves as a read-only list of `Step`.

    Parameters
    ----------
    stretches : list of Stretch
        The steps; the first may be the start.
    units : Units
        The way back to the units of the data.
    empty_rss : float
        ‖r‖² of the empty model, in the engine's units: 1, or 0 for a target of zeros.
    """

    def __init__(self, stretches: list[Stretch], units: Units, empty_rss: float) -> None:
        self._stretches = stretches
        self._units = units
        self._empty_rss = empty_rss
        self._steps: list[Step] | None = None

    @property
    def start(self) -> tuple[int, ...]:
        """The columns in the model before the first step."""
        first = self._stretches[:1]
        return tuple(map(int, first[0].columns)) if first and first[0].action == "start" else ()

    @property
    def initial(self) -> Model:
        """The model before the first step."""
        return self._model(list(self.start), self._first())

    @property
    def steps(self) -> list[Step]:
        """The steps as a list."""
        if self._steps is None:
            self._steps = [step for step, _, _ in self._replay() if step is not None]
        return self._steps

    @property
    def sizes(self) -> list[int]:
        """The model sizes met, ascending."""
        return sorted({len(order) for _, order, _ in self._replay()})

    @property
    def norms(self) -> Array:
        """‖a_j‖ of every column; 0 for one of zeros."""
        inverse = self._units.inverse_norms.astype(float)
        return np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)

    def models(self) -> list[Model]:
        """The model after each step."""
        return [self._model(order, met) for step, order, met in self._replay() if step is not None]

    def after(self, steps: int) -> Model:
        """The model after so many steps; 0: before the first."""
        for number, (_, order, met) in enumerate(self._replay()):
            if number == steps:
                return self._model(order, met)
        raise IndexError(f"The path has {len(self)} steps, not {steps}.")

    def coefs_after(self, steps: Sequence[int]) -> tuple[Array, Array]:
        """Columns, ascending, and their coefficients after so many steps, one column of them each.

        Only columns that are in one of these models: for a long path of very many columns, all
        `models` would be far too many zeros.
        """
        wanted = set(steps)
        found = {
            number: (np.array(order, np.int64), met[1][: len(order)])
            for number, (_, order, met) in enumerate(self._replay())
            if number in wanted
        }
        columns = np.unique(np.concatenate([order for order, _ in found.values()]))
        coefs = np.zeros((columns.size, len(steps)), self._units.dtype)
        for i, number in enumerate(steps):
            order, x = found[number]
            coefs[np.searchsorted(columns, order), i] = self._units.values(order, x)
        return columns, coefs

    def at(self, k: int) -> Model:
        """The best model with k features met on the way, with its coefficients."""
        best: tuple[float, list[int], Array] | None = None
        for _, order, (squared, coef) in self._replay():
            if len(order) == k and (best is None or squared < best[0]):
                best = (squared, list(order), coef)
        if best is None:
            raise ValueError(
                f"No model with {k} features was met; path.sizes lists those that were."
            )
        squared, order, x = best
        return self._model(order, (squared, x))

    def _model(self, order: list[int], met: tuple[float, Array]) -> Model:
        """Columns, squared residual and coefficients in the units of the data."""
        columns = np.array(order, dtype=np.int64)
        coef = self._units.coef(columns, met[1][: len(order)])
        return Model(np.sort(columns), coef, self._units.squared(met[0]))

    def _replay(self) -> Iterator[tuple[Step | None, list[int], tuple[float, Array]]]:
        """The first model, then each step, with columns after it and (squared residual, coefs)."""
        order = list(self.start)
        steps = self._stretches[1:] if order else self._stretches
        yield None, order, self._first()
        for stretch in steps:
            for i, column in enumerate(map(int, stretch.columns)):
                if stretch.action == "drop":
                    order.remove(column)
                elif column not in order:  # Matching Pursuit takes the same atom again and again
                    order.append(column)
                step = stretch.step(i, len(order), self._units)
                yield step, order, (float(stretch.squared_residuals[i]), stretch.coefs[i])

    def _first(self) -> tuple[float, Array]:
        """Squared residual and coefficients before the first step."""
        if self.start:
            first = self._stretches[0]
            return float(first.squared_residuals[0]), first.coefs[0]
        return self._empty_rss, np.empty(0)

    def __len__(self) -> int:
        return sum(len(s.columns) for s in self._stretches if s.action != "start")

    @overload
    def __getitem__(self, i: int) -> Step: ...
    @overload
    def __getitem__(self, i: slice) -> list[Step]: ...
    def __getitem__(self, i: int | slice) -> Step | list[Step]:
        return self.steps[i]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __repr__(self) -> str:
        if not len(self):
            return "Path(no steps)"
        words = {"add": "added", "drop": "dropped", "update": "updated"}
        actions: list[str] = [step.action for step in self.steps]
        counts = ((actions.count(action), word) for action, word in words.items())
        told = ", ".join(f"{n} {word}" for n, word in counts if n or word != "updated")
        return f"Path({told}; sizes {_ranges(self.sizes)})"


@dataclass(frozen=True)
class Check:
    """What `Solution.check` found when it recomputed a solution from the data alone.

    Attributes
    ----------
    ok : bool
        Whether everything below holds to the precision of the data.
    residual_norm : float
        ‖y - A coef‖, recomputed.
    residual_error : float
        Its difference from the stated one, relative to ‖y‖.
    normal_equations : float
        max over the support of |a_j* r| / (‖a_j‖ ‖y‖): zero for least squares.
    support_ok : bool
        The support is ascending, within range, and holds every non-zero coefficient.
    """

    ok: bool
    residual_norm: float
    residual_error: float
    normal_equations: float
    support_ok: bool

    def __repr__(self) -> str:
        verdict = "holds" if self.ok else "DOES NOT HOLD"
        return (
            f"Check: the solution {verdict} (residual {self.residual_norm:.6g}, off by "
            f"{self.residual_error:.1e}; normal equations {self.normal_equations:.1e}; "
            f"support {'consistent' if self.support_ok else 'inconsistent'})"
        )


@dataclass(frozen=True, repr=False, eq=False, init=False)
class Solution:
    """A sparse model and how it came about.

    Attributes
    ----------
    algorithm : str
        Name of the algorithm, as in ``sparsewise.ALGORITHMS``.
    support : ndarray of int
        The chosen columns, ascending.
    coef : ndarray of shape (m,)
        Coefficients, zero outside the support.
    residual_norm : float
        ‖y - A coef‖.
    path : Path
        Every step, and the best model of each size met.
    stop : Stop
        Why it ended, with advice.
    n_passes : int
        How many times A was read (an operator: applied).
    least_squares : bool
        Whether coef is the least-squares fit on the support.
    """

    algorithm: str
    support: Array
    coef: Array
    residual_norm: float
    path: Path
    stop: Stop
    n_passes: int
    least_squares: bool

    def __init__(self, **fields: Any) -> None:
        # The one a frozen dataclass has takes as long as a step of an algorithm.
        self.__dict__.update(fields)

    def check(self, A: Any, y: Any) -> Check:
        """Recompute residual, normal equations and support from the data alone."""
        return self._check_fit(problem(A, y))

    def certificate(self, A: Any, y: Any, **how: Any) -> Certificate:
        """Whether the support is the best subset of its size; `how` as for `certify`."""
        return certify(A, y, self.support, **how)

    def _check_fit(self, data: Problem) -> Check:
        coef, support = self.coef / data.scale, self.support
        residual = data.y - data.design.matvec(coef)
        norm = float(np.linalg.norm(residual))
        columns = data.design.unit_columns(support)
        normal = float(np.abs(columns.conj().T @ residual).max(initial=0.0))
        error = abs(norm - self.residual_norm / data.scale)
        support_ok = bool((np.diff(support) > 0).all() and not np.delete(coef, support).any())
        # The residual of even the exact coefficients shows their rounding errors.
        size = 1.0 + float(np.abs(coef * data.design.norms()).sum())
        tolerance = 1e-2 * float(precision(self.coef.dtype).eps) ** 0.5 * size
        ok = support_ok and error <= tolerance and (normal <= tolerance or not self.least_squares)
        return Check(ok, norm * data.scale, error, normal, support_ok)

    def __repr__(self) -> str:
        size = self.support.size
        return (
            f"Solution by {self.algorithm}: {size} feature{'' if size == 1 else 's'} "
            f"of {self.coef.size}, residual {self.residual_norm:.4g}\n"
            f"  coef     {_entries(self.support, self.coef)}\n"
            f"{self._more()}"
            f"  path     {len(self.path)} steps, {self.n_passes} passes over A\n"
            f"  stopped  {self.stop}\n"
            f"  advice   {self.stop.advice}"
        )

    def _more(self) -> str:
        """Further lines of the representation."""
        return ""


def _entries(support: Array, coef: Array, width: int = 68) -> str:
    """The first coefficients by column, as many as fit."""
    shown = ""
    for i, j in enumerate(support):
        entry = f"{', ' if i else ''}{j}: {coef[j]:.4g}"
        if len(shown) + len(entry) > width:
            return f"{{{shown}, … {support.size - i} more}}"
        shown += entry
    return f"{{{shown}}}"


def _ranges(sizes: list[int]) -> str:
    """[1, 2, 3, 7] as '1-3, 7'."""
    parts: list[list[int]] = []
    for size in sizes:
        if parts and size == parts[-1][-1] + 1:
            parts[-1].append(size)
        else:
            parts.append([size])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else f"{p[0]}" for p in parts)
