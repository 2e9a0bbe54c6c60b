"""The ways in which `StepwiseRegressor` chooses a model: by delta, by size, or by a criterion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsewise._util.parameters import check_number
from sparsewise.algorithms import backward, foba, forward, rmp0, stepwise
from sparsewise.algorithms.stepwise import stepwise_within
from sparsewise.criteria.base import Formula
from sparsewise.criteria.early_stopping import ExtendTo, as_far_as, early_stopping
from sparsewise.criteria.information import BY_LOSS, GCV
from sparsewise.errors import InputError, Parameter, TooFewRowsError, Words
from sparsewise.estimators.feature_names import Columns
from sparsewise.estimators.leave_one_out_errors import LeaveOneOutErrors
from sparsewise.estimators.r_trace import Trace
from sparsewise.estimators.state import Fit
from sparsewise.model_selection import choice
from sparsewise.model_selection.cross_validation import cross_validate
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.leave_one_out import leave_one_out
from sparsewise.model_selection.residual_variance import residual_variance
from sparsewise.results import Solution, Stop

if TYPE_CHECKING:
    from sparsewise.estimators.stepwise import StepwiseRegressor


@dataclass(frozen=True)
class StepwiseSearch:
    """One fit of a `StepwiseRegressor`.

    Parameters
    ----------
    model : StepwiseRegressor
        The parameters.
    data : Data
        The rows.
    columns : Columns
        The names of the features.
    """

    model: StepwiseRegressor
    data: Data
    columns: Columns

    def fit(self) -> Fit:
        """The model of choice, what chose it, and where it began if that was not as asked for."""
        return self._chosen()._replace(notes=tuple(self._start_notes()))

    def _start_notes(self) -> Iterator[Words]:
        if self.model.direction != "both" or start_of(self.model) != "full":
            return
        if self.data.saturates:
            by_delta = "the forward choice of half as many features as rows"
            other = "the choice of ", Parameter("direction", "backward")
            yield (
                "all features would fit any target of so few rows, and no single step leads away "
                "from that: the search began with ",
                *((by_delta,) if self.model.delta is not None else other),
            )

    def _chosen(self) -> Fit:
        model, data = self.model, self.data
        loo = LeaveOneOutErrors(data=data.kept())
        delta = bic_delta(data) if model.delta == "bic" else model.delta
        attributes: dict[str, Any] = {"delta_": delta}
        if delta is not None:
            threshold: Any = delta
            return Fit(self._by_delta(check_number(threshold, "delta")), attributes, loo)
        if model.sparsity is not None:
            size = int(model.sparsity)
            is_backward = model.direction == "backward"
            most = max(size, choice.most_features(data)) if is_backward else size
            return Fit(self._by_size(size, most, Stop.SPARSITY), attributes, loo)
        most = choice.most_features(data, model.criterion, self._max_features())
        if model.criterion == "cv":
            return self._by_folds(most, attributes, loo)
        if model.criterion == "loo":
            return self._by_leave_one_out(most, attributes)
        by_steps = model.direction == "both"
        return Fit(self._like_r(most) if by_steps else self._along_path(most), attributes, loo)

    # ------------------------------------------------------------------ ways to choose

    def _by_delta(self, delta: float) -> Solution:
        most, direction = choice.most_features(self.data), self.model.direction
        if direction == "backward":
            return choice.from_full(self.data, most, backward, delta=delta)
        if direction == "both":
            return self._begin(most, rmp0, delta=delta)
        algorithm: Any = forward if direction == "forward" else foba
        return self.data.run(algorithm, delta=delta)

    def _by_size(
        self, size: int, most: int, stop: Stop, extend_to: ExtendTo | None = None
    ) -> Solution:
        """The best model of this size, on a path of at most `most`."""
        fewest = len(self.data.include)
        most = min(max(most, fewest), *self.data.design.shape)
        run = self._path(most, extend_to)
        steps = choice.at_most(choice.best_by_size(run.path), max(size, fewest))
        return choice.chosen(run, run.path.after(steps), stop)

    def _by_folds(self, most: int, attributes: dict[str, Any], loo: LeaveOneOutErrors) -> Fit:
        """As many features as predict the folds best."""
        model, path = self.model, choice.PATHS[self.model.direction]
        errors = cross_validate(
            self.data, path, model.cv, model.one_standard_error, model.n_jobs, model.max_features
        )
        extend_to = as_far_as(errors.followed, most)
        solution = self._by_size(errors.chosen, most, Stop.BEST, extend_to)
        return Fit(solution, {**attributes, "cv_errors_": errors}, loo)

    def _along_path(self, most: int) -> Solution:
        """One path to the end; the model of least cost on it."""
        criterion = self._criterion()
        run = self._path(most, self._extend_to(criterion, most))
        return self._after(run, choice.cheapest(criterion, run.path))

    def _by_leave_one_out(self, most: int, attributes: dict[str, Any]) -> Fit:
        """One path, to where generalised cross-validation ends it; the least error on it."""
        run = self._path(most, self._extend_to(GCV(self.data.criteria()), most))
        errors = leave_one_out(self.data, run.path)
        best = choice.least(errors, run.path)
        attributes = {**attributes, "loo_": float(errors[best])}
        return Fit(self._after(run, best), attributes, LeaveOneOutErrors(errors))

    def _after(self, run: Solution, steps: int) -> Solution:
        """The model after so many steps; with a warning if the end of the path has chosen it."""
        model = run.path.after(steps)
        choice.warn_if_still_better(self.data, model.loss, model.support.size, self.model.criterion)
        return choice.chosen(run, model)

    def _like_r(self, most: int) -> Solution:
        """Add or drop whichever lowers the criterion most, as ``step`` of R."""
        criterion, data, model = self._criterion(), self.data, self.model
        targets = self.columns.targets(len(data.totals)) if data.multi_target else None
        target = targets or self.columns.target
        trace = Trace(model.criterion, target, self.columns.feature, model.fit_intercept)

        def bounded(loss: float, df: float) -> float:
            return float(criterion.cost(loss, df)) if df <= most else np.inf

        parameters = {"criterion": bounded, "watch": trace if model.verbose else None}
        # With a ridge, more features than `most` may have as few degrees of freedom.
        steps = partial(stepwise_within, most=most) if data.ridge else stepwise
        if start_of(model) == "full" and data.saturates:
            # From a model that fits any target, single steps lead nowhere.
            path = choice.backward_path(data, most, self._extend_to(criterion, most)).path
            columns = path.after(choice.cheapest(criterion, path)).support.tolist()
            run = choice.from_columns(data, columns, steps, **parameters)
        else:
            run = self._begin(most, steps, **parameters)
        loss, size = run.residual_norm**2, run.support.size
        choice.warn_if_still_better(data, loss, size, model.criterion)
        return run

    # ------------------------------------------------------------------ what these need

    def _path(self, most: int, extend_to: ExtendTo | None) -> Solution:
        """The path in the direction that is asked for."""
        return choice.PATHS[self.model.direction](self.data, most, extend_to)

    def _begin(self, most: int, algorithm: Callable[..., Solution], **parameters: Any) -> Solution:
        """Run an algorithm from the features that `start` asks for."""
        start = start_of(self.model)
        if start == "full":
            return choice.from_full(self.data, most, algorithm, **parameters)
        features: Any = self.model.start if start == "listed" else ()
        columns = self.columns.numbers(features, "start")
        return choice.from_columns(self.data, columns, algorithm, **parameters)

    def _criterion(self) -> Formula:
        """The criterion of loss and degrees of freedom."""
        variance = None
        if self.model.criterion == "cp" and (variance := residual_variance(self.data)) is None:
            others = Parameter("criterion", "ric"), " or ", Parameter("criterion", "cv")
            raise TooFewRowsError(
                f"cp needs more rows than features to tell the noise, but {self.data.rows:g} rows "
                f"have {self.data.candidates} features",
                ("use ", *others, "."),
            )
        return self.data.criteria(variance)[self.model.criterion]

    def _extend_to(self, criterion: Formula, most: int) -> ExtendTo | None:
        """How far a path is worth following, unless `max_features` says so."""
        is_free = self.model.max_features is None
        return early_stopping(criterion, most) if is_free else None

    def _max_features(self) -> int | None:
        """The most features of a path, if that is asked for; those of include are among them."""
        most, included = self.model.max_features, len(self.data.include)
        if most is not None and most < included:
            wrong = f"allows {most}, but ", Parameter("include"), f" names {included}: raise it."
            raise InputError(wrong, parameter="max_features")
        return most


def bic_delta(data: Data) -> float:
    """δ with δ² = s² log n, the price of a feature in the BIC.

    With the noise variance known, BIC = ‖r‖²/s² + k log n (Schwarz 1978).
    """
    variance = residual_variance(data)
    if variance is None:
        wrong = f"{data.rows:g} rows can't tell the noise of {data.candidates} features: give "
        other = Parameter("SparseBayesRegressor")
        raise TooFewRowsError((wrong, Parameter("delta"), ", or use ", other, "."))
    return math.sqrt(variance * math.log(data.rows))


def start_of(model: StepwiseRegressor) -> str:
    """Where to begin: auto, full, empty, or with the features listed."""
    if model.start is None:
        return "full"
    return model.start if isinstance(model.start, str) else "listed"


def check_combination(model: StepwiseRegressor) -> None:
    """Refuse parameters that exclude each other."""
    stops = ("sparsity", "delta", "max_features")
    given = [Parameter(name) for name in stops if getattr(model, name) is not None]
    if len(given) > 1:
        raise InputError((given[0], " and ", given[1], " both say when to stop: give one of them."))
    is_backward = model.direction == "backward"
    begins, other = ("full", "forward") if is_backward else ("empty", "backward")
    start = start_of(model)
    if model.direction != "both" and start not in ("auto", begins):
        instead = f' use "{other}" or "both".' if start in ("empty", "full") else ' use "both".'
        asked = Parameter("start", None if start == "listed" else start)
        raise InputError(
            (Parameter("direction", model.direction), f" begins with the {begins} model"),
            ("with ", asked, instead),
        )
    by_path = model.sparsity is not None or model.criterion not in BY_LOSS
    if model.direction == "both" and by_path and model.delta is None and start != "auto":
        chosen = None if model.sparsity is not None else model.criterion
        by = Parameter("criterion", chosen) if chosen else Parameter("sparsity")
        raise InputError(
            "has no say where all sizes are compared, on a path forward and all the way back",
            ("leave it out, or choose by BIC, say, not by ", by, "."),
            parameter="start",
        )
