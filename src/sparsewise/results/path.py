"""Every step of an algorithm, and the models met on the way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from sparsewise._typing import Array
from sparsewise.errors import InputError
from sparsewise.problem.problem import Units
from sparsewise.results.step import Action, Step


class Model(NamedTuple):
    """A model on a path: its columns, all coefficients, loss (‖r‖²) and degrees of freedom."""

    support: Array
    coef: Array
    loss: float
    df: float

    @property
    def squared_residual(self) -> float:
        """‖r‖²: the loss of least squares."""
        return self.loss


class Stretch(NamedTuple):
    """Consecutive steps of one kind, as the engine hands them over (in its own units).

    An entry of ``columns`` is the column of a step, or a tuple of several. ``coefs[i]`` belongs to
    the model after step i, in the order in which its columns came (and may be longer); of several
    targets, one a row. ``df`` are degrees of freedom; None: as many as columns.
    """

    action: Action
    columns: Sequence[int | tuple[int, ...]] | Array
    losses: Sequence[float] | Array
    coefs: Sequence[Array] | Array
    log_evidences: Sequence[float] | Array | None = None
    df: Sequence[float] | Array | None = None

    def step(self, i: int, size: int, units: Units) -> Step:
        """Step i, which led to a model of this size, in the units of the data."""
        assert self.action != "start"
        loss, df = units.squared(self.losses[i]), self.df_after(i, size)
        evidence = math.nan if self.log_evidences is None else float(self.log_evidences[i])
        return Step(self.action, self.columns_of(i), loss, size, df, evidence)

    def df_after(self, i: int, size: int) -> float:
        """The degrees of freedom after step i, which led to a model of this size."""
        return float(size if self.df is None else self.df[i])

    def columns_of(self, i: int) -> tuple[int, ...]:
        """The columns of step i."""
        columns: Any = self.columns[i]
        return tuple(map(int, columns)) if isinstance(columns, tuple) else (int(columns),)


class _Met(NamedTuple):
    """A model on a path, in the units of the engine."""

    loss: float
    coef: Array
    df: float


class Path(Sequence[Step]):
    """Every step, in order; behaves as a read-only list of `Step`.

    The log evidence along the path of a Bayesian solution is that at its final σ: where σ was
    inferred, the path is the one taken once it was known. Its models are not refitted: where
    columns are nearly dependent, their coefficients have fewer digits than the answer
    (`BayesianCheck.path_error`).

    Parameters
    ----------
    stretches : list of Stretch
        The steps; the first may be the start.
    units : Units
        The way back to the units of the data.
    empty_loss : float
        That of the empty model, in the engine's units: 1, or 0 for a target of zeros.
    ridge : float
        What a squared coefficient of a unit column costs: the best model of a size is that of
        least ‖r‖² + ridge ‖x‖².
    """

    def __init__(
        self, stretches: list[Stretch], units: Units, empty_loss: float, ridge: float = 0.0
    ) -> None:
        self._stretches = stretches
        self._units = units
        self._empty_loss = empty_loss
        self._ridge = ridge
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
            self._steps = [
                stretch.step(i, len(order), self._units) for stretch, i, order in self._changes()
            ]
        return self._steps

    @property
    def sizes(self) -> list[int]:
        """The model sizes met, ascending."""
        return sorted({len(order) for order, _ in self._replay()})

    @property
    def losses(self) -> Array:
        """What is left unexplained (‖r‖²) at the start and after each step."""
        first = self._units.squared(self._first().loss)
        return np.array([first, *[step.loss for step in self.steps]])

    @property
    def objectives(self) -> Array:
        """What the steps lowered, at the start and after each: the losses, with the ridge term."""
        if not self._ridge:
            return self.losses
        met = ((met, len(order)) for order, met in self._replay())
        return np.array([self._units.squared(self._objective(*each)) for each in met])

    @property
    def dfs(self) -> Array:
        """Degrees of freedom at the start and after each step."""
        return np.array([self._first().df, *[step.df for step in self.steps]])

    @property
    def n_columns(self) -> Array:
        """The number of columns at the start and after each step; `sizes` are those met."""
        return np.array([len(self.start), *[step.size for step in self.steps]])

    @property
    def residual_norms(self) -> Array:
        """‖r‖ at the start and after each step: in range where its square may not be."""
        losses = np.array([met.loss for _, met in self._replay()])
        return np.sqrt(np.maximum(losses, 0.0)) * self._units.scale

    @property
    def norms(self) -> Array:
        """‖a_j‖ of every column; 0 for one of zeros."""
        inverse = self._units.inverse_norms.astype(float)
        return np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)

    def models(self) -> list[Model]:
        """The model after each step."""
        return [self._model(order, met) for order, met in self._replay()][1:]

    def after(self, steps: int) -> Model:
        """The model after so many steps; 0: before the first."""
        for number, (order, met) in enumerate(self._replay()):
            if number == steps:
                return self._model(order, met)
        raise IndexError(f"The path has {len(self)} steps, not {steps}.")

    def coefs_after(self, steps: Sequence[int]) -> tuple[Array, Array]:
        """Columns, ascending, and their coefficients after so many steps, one column of them each.

        Those of several targets are along a third axis.
        Only columns that are in one of these models: for a long path of very many columns, all
        `models` would be far too many zeros.
        """
        wanted = set(steps)
        found = {
            number: (np.array(order, np.int64), met.coef[..., : len(order)])
            for number, (order, met) in enumerate(self._replay())
            if number in wanted
        }
        columns = np.unique(np.concatenate([order for order, _ in found.values()]))
        coefs = np.zeros((columns.size, len(steps), *self._units.each), self._units.dtype)
        for i, number in enumerate(steps):
            order, x = found[number]
            coefs[np.searchsorted(columns, order), i] = self._units.values(order, x)
        return columns, coefs

    def at(self, k: int) -> Model:
        """The best model with k features met on the way, with its coefficients."""
        best: tuple[list[int], _Met] | None = None
        least = np.inf
        for order, met in self._replay():
            if len(order) == k and (best is None or self._objective(met, k) < least):
                best, least = (list(order), met), self._objective(met, k)
        if best is None:
            raise InputError(
                f"No model with {k} features was met", "path.sizes lists those that were."
            )
        return self._model(*best)

    def _objective(self, met: _Met, k: int) -> float:
        """What the steps lowered: the loss, and the ridge term of k coefficients."""
        if not self._ridge:
            return met.loss
        return met.loss + self._ridge * float(np.sum(np.square(np.abs(met.coef[..., :k]))))

    def _model(self, order: list[int], met: _Met) -> Model:
        """Columns, loss and coefficients in the units of the data."""
        columns = np.array(order, dtype=np.int64)
        coef = self._units.coef(columns, met.coef[..., : len(order)])
        return Model(np.sort(columns), coef, self._units.squared(met.loss), met.df)

    def _replay(self) -> Iterator[tuple[list[int], _Met]]:
        """The columns of the first model and of that after each step, and what it is."""
        yield list(self.start), self._first()
        for stretch, i, order in self._changes():
            df = stretch.df_after(i, len(order))
            yield order, _Met(float(stretch.losses[i]), stretch.coefs[i], df)

    def _changes(self) -> Iterator[tuple[Stretch, int, list[int]]]:
        """Each step, as a place in its stretch, with the columns after it."""
        order = list(self.start)
        steps = self._stretches[1:] if order else self._stretches
        for stretch in steps:
            for i in range(len(stretch.columns)):
                for column in stretch.columns_of(i):
                    if stretch.action == "drop":
                        order.remove(column)
                    elif column not in order:  # Matching Pursuit takes an atom again and again
                        order.append(column)
                yield stretch, i, order

    def _first(self) -> _Met:
        """Loss, coefficients and degrees of freedom before the first step."""
        if self.start:
            first = self._stretches[0]
            return _Met(float(first.losses[0]), first.coefs[0], first.df_after(0, len(self.start)))
        return _Met(self._empty_loss, np.empty((*self._units.each, 0)), 0.0)

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


def _ranges(sizes: list[int]) -> str:
    """[1, 2, 3, 7] as '1-3, 7'."""
    parts: list[list[int]] = []
    for size in sizes:
        if parts and size == parts[-1][-1] + 1:
            parts[-1].append(size)
        else:
            parts.append([size])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else f"{p[0]}" for p in parts)
