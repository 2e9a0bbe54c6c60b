"""Stepwise regression with the number of features chosen by a criterion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise._util.parameters import check_number
from sparsewise._util.text import printable
from sparsewise.algorithms import Algorithm, backward, foba, forward, rmp0, stepwise
from sparsewise.criteria.base import Formula
from sparsewise.criteria.early_stopping import ExtendTo, as_far_as, early_stopping
from sparsewise.criteria.information import BY_LOSS, GCV
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.available import UnavailableError
from sparsewise.estimators.base import LIKE_LASSO, known
from sparsewise.estimators.by_folds import ByFolds
from sparsewise.estimators.chunks import number_of_folds
from sparsewise.estimators.r_trace import Trace
from sparsewise.model_selection import choice
from sparsewise.model_selection.cross_validation import CVErrors, cross_validate
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.leave_one_out import NEEDS_ROWS, leave_one_out
from sparsewise.model_selection.residual_variance import residual_variance
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.results import Solution, Stop

CRITERIA = (*BY_LOSS, "loo", "cv")
"""What can choose the number of features."""


@dataclass(eq=False, repr=False)
class StepwiseRegressor(ByFolds):
    """Least squares on few features, added and dropped one at a time.

    By default the risk inflation criterion chooses, since it needs to know nothing of the shape of
    the table: on pure noise it takes 0.2 to 0.3 features, whether 50×500, 64×128, 200×20 or
    200×600. Where features are more than rows, BIC takes half as many as there are rows (24 of 500,
    with R² = .998), and so may EBIC (49 of 500, where 10 are true and 100 rows are there; RIC 10.4
    on average). Where rows are plenty, BIC lets in more, and may predict better for it: ten-fold
    R² is .490 by RIC and .489 by BIC for the diabetes data (442×10), .467 and .502 with products
    (442×65); on new rows .471 and .477 for 200×20 with 8 effects, but .367 and -.725 for 200×500
    with 10.

    A path that would take more than about a second (2³⁰ products) ends where nothing speaks for a
    better model further on: it goes on to twice as many features as its best model has, and 100
    more, and from there on only while the criterion would fall below its least value if every
    further feature explained as large a share of what is left as the best of the last 100 steps
    did. Hundreds of features that explain the target nearly without noise, each a little, may lie
    beyond: `max_features` follows the path as far as one likes. Where all features together would
    fit any target, it has half as many features as rows, at most; with RIC, for which that is no
    danger, all rows but one.

    The frame of the path is made when `path_` is first read, with the leave-one-out error of every
    model on it, unless rows were condensed. Until then the estimator refers to the X of the fit;
    copies and pickles never do.

    Parameters
    ----------
    direction : {"forward", "backward", "both", "foba"}
        "forward" adds the feature that lowers the residual most, "backward" drops the one that
        raises it least: each makes one path, on which the criterion chooses. "both" adds or drops
        whichever lowers the criterion most, until nothing does, as ``step`` of R; where the
        criterion can't be told step by step ("loo", "cv", `sparsity`), it goes forward, then all
        the way back, and has the better of two models of each size. "foba" drops after each step
        forward what costs at most half of what that gained.
    criterion : {"ric", "aic", "aicc", "bic", "ebic", "cp", "adjusted_r2", "loo", "cv"}
        What chooses among the models (see `sparsewise.criteria.Criteria`): "loo" the error of rows
        left out one at a time, in closed form; "cv" that of folds. Formulas in the size alone let
        in noise where features are many; "ric", "ebic" and "cv" know how many there were, and "ric"
        and "cv" how few rows a large model leaves to tell the noise from.
    sparsity : int, optional
        At most so many features, in place of a criterion.
    delta : float or "bic", optional
        In place of a criterion: add while the squared residual falls by more than δ², drop while it
        grows by at most δ²; in the units of y. With direction "both" this is RMP₀+. "bic" is the
        price of a feature in the BIC: δ² = s² log n, s² the residual variance with all features.
    max_features : int, optional
        Follow the path on which a criterion chooses to so many features and no further: "backward"
        and "full" begin with the forward choice of so many where there are more. None: as far as it
        is worth it.
    start : {"auto", "empty", "full"}, list of str or int, or None
        Where direction "both" begins: with these features, by name or column, "empty" with none,
        "full" or None with all, as in `sparsewise.stepwise`. Features that depend on those before
        them are left out; where there are more features than rows, "full" is the choice of
        "backward" (with `delta`, that of half as many features as rows by "forward"). "auto":
        "full" for direction "backward", "empty" for all others.
    cv : int, splitter or iterable
        The folds of ``criterion="cv"``, as anywhere in scikit-learn; a number where rows come in
        chunks, or are those of a tall Dask collection.
    one_standard_error : bool
        Whether cross-validation takes the smallest model within one standard error of the best.
    fit_intercept : bool
        Whether the model has a constant.
    include, exclude : list of str or int, optional
        Features that must, and must not, be in the model, by name or column.
    certify : bool or float
        Whether to ask if no other features, as many, fit better, and for how many seconds (True: 1)
        an exact search may try to tell where a bound doesn't.
    n_jobs : int, optional
        Folds at a time, as in joblib.
    verbose : bool
        Whether to print what is considered at each step, as ``step`` of R (direction "both"), or
        the steps.

    Attributes
    ----------
    delta_ : float or None
        The δ used; None where something else has chosen.
    cv_errors_ : CVErrors
        By size, with ``criterion="cv"``.
    loo_ : float
        The mean squared error of rows left out, of the choice, with ``criterion="loo"``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsewise import StepwiseRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> StepwiseRegressor().fit(X, y).get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's1', 's2', 's5']

    References
    ----------
    D. P. Foster and E. I. George, "The risk inflation criterion for multiple regression", Annals
    of Statistics 22, 1994.
    """

    penalty: ClassVar[str] = LIKE_LASSO
    _function = stepwise.__name__
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ByFolds._parameter_constraints,
        "direction": [StrOptions(set(choice.PATHS))],
        "criterion": [StrOptions(set(CRITERIA))],
        "sparsity": [Interval(Integral, 0, None, closed="left"), None],
        "delta": [Interval(Real, 0, None, closed="left"), StrOptions({"bic"}), None],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
        "start": [StrOptions({"auto", "empty", "full"}), "array-like", None],
        "cv": ["cv_object"],
        "one_standard_error": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    direction: str = "forward"
    _: KW_ONLY
    criterion: str = "ric"
    sparsity: int | None = None
    delta: float | str | None = None
    max_features: int | None = None
    start: str | Sequence[int | str] | None = "auto"
    cv: Any = 5
    one_standard_error: bool = True
    n_jobs: int | None = None
    verbose: bool = False

    @classmethod
    def from_algorithm(cls, record: Algorithm, **parameters: Any) -> Self:
        """The direction of an algorithm's own name, otherwise both.

        An algorithm for both that goes by delta has that of the BIC, unless another is given.
        """
        direction = record.name if record.name in choice.PATHS else "both"
        if direction == "both" and record.takes("delta"):
            parameters = {"delta": "bic", **parameters}
        if "cv" in parameters:
            parameters["criterion"] = "cv"
        return cls(direction, **parameters)

    def _solve(self, data: Data) -> Solution:
        self._check_parameters()
        self.delta_ = self._bic_delta(data) if self.delta == "bic" else self.delta
        if self.delta_ is not None:
            delta: Any = self.delta_
            return self._by_delta(data, choice.most_features(data), check_number(delta, "delta"))
        if self.sparsity is not None:
            size = int(self.sparsity)
            is_backward = self.direction == "backward"
            most = max(size, choice.most_features(data)) if is_backward else size
            return self._by_size(data, size, most, Stop.SPARSITY)
        most = choice.most_features(data, self.criterion, self._max_features(data))
        if self.criterion == "cv":
            return self._by_folds(data, most)
        if self.direction == "both" and self.criterion in BY_LOSS:
            return self._like_r(data, most)
        return self._along_path(data, most)

    @property
    def _chooses_by(self) -> str | None:
        """The criterion, unless something else says when to stop."""
        return self.criterion if self.sparsity is None and self.delta is None else None

    @property
    def _folds(self) -> int | None:
        return number_of_folds(self.cv) if self._chooses_by == "cv" else None

    @property
    def _needs_rows(self) -> InputError | None:
        return UnavailableError(*NEEDS_ROWS) if self._chooses_by == "loo" else None

    # ------------------------------------------------------------------ ways to choose

    def _by_delta(self, data: Data, most: int, delta: float) -> Solution:
        if self.direction == "backward":
            return choice.from_full(data, most, backward, delta=delta)
        if self.direction == "both":
            return self._begin(data, most, rmp0, delta=delta)
        algorithm: Any = forward if self.direction == "forward" else foba
        return data.run(algorithm, delta=delta)

    def _by_size(
        self, data: Data, size: int, most: int, stop: Stop, extend_to: ExtendTo | None = None
    ) -> Solution:
        """The best model of this size, on a path of at most `most`."""
        fewest = len(data.include)
        most = min(max(most, fewest), *data.design.shape)
        run = choice.PATHS[self.direction](data, most, extend_to)
        steps = choice.at_most(choice.best_by_size(run.path), max(size, fewest))
        return choice.chosen(run, run.path.after(steps), stop)

    def _by_folds(self, data: Data, most: int) -> Solution:
        """As many features as predict the folds best."""
        path = choice.PATHS[self.direction]
        self.cv_errors_: CVErrors = cross_validate(
            data, path, self.cv, self.one_standard_error, self.n_jobs, self.max_features
        )
        chosen, followed = self.cv_errors_.chosen, self.cv_errors_.followed
        return self._by_size(data, chosen, most, Stop.BEST, as_far_as(followed, most))

    def _along_path(self, data: Data, most: int) -> Solution:
        """One path to the end; the model of least cost on it."""
        criterion = self._criterion(data)
        run = choice.PATHS[self.direction](data, most, self._outlook(criterion, most))
        if self.criterion == "loo":
            self._loo_ = leave_one_out(data, run.path)
            best = choice.least(self._loo_, run.path)
            self.loo_ = float(self._loo_[best])
        else:
            best = choice.cheapest(criterion, run.path)
        model = run.path.after(best)
        choice.warn_if_still_better(data, model.loss, model.support.size, self.criterion)
        return choice.chosen(run, model)

    def _like_r(self, data: Data, most: int) -> Solution:
        """Add or drop whichever lowers the criterion."""
        criterion = self._criterion(data)
        names = self._targets(len(data.totals)) if data.multi_target else self._target
        trace = Trace(self.criterion, names, self._name, self.fit_intercept)

        def bounded(loss: float, df: float) -> float:
            return float(criterion.cost(loss, df)) if df <= most else np.inf

        watch = trace if self.verbose else None
        if self._start() == "full" and data.saturates:
            columns = self._on_the_way_back(data, most, criterion)
            run = choice.from_columns(data, columns, stepwise, criterion=bounded, watch=watch)
        else:
            run = self._begin(data, most, stepwise, criterion=bounded, watch=watch)
        loss, size = run.residual_norm**2, run.support.size
        choice.warn_if_still_better(data, loss, size, self.criterion)
        return run

    def _on_the_way_back(self, data: Data, most: int, criterion: Formula) -> list[int]:
        """What "backward" would choose: single steps lead nowhere from what fits any target."""
        path = choice.backward_path(data, most, self._outlook(criterion, most)).path
        return path.after(choice.cheapest(criterion, path)).support.tolist()

    def _begin(
        self,
        data: Data,
        most: int,
        algorithm: Callable[..., Solution],
        **parameters: Any,
    ) -> Solution:
        start = self._start()
        if start == "full":
            return choice.from_full(data, most, algorithm, **parameters)
        columns = self._columns("start") if start == "listed" else []
        return choice.from_columns(data, columns, algorithm, **parameters)

    def _start(self) -> str:
        """Where to begin: auto, full, empty, or with the features listed."""
        if self.start is None:
            return "full"
        return self.start if isinstance(self.start, str) else "listed"

    # ------------------------------------------------------------------ what these need

    def _check_parameters(self) -> None:
        stops = [
            name for name in ("sparsity", "delta", "max_features") if vars(self)[name] is not None
        ]
        if len(stops) > 1:
            both = Parameter(stops[0]), " and ", Parameter(stops[1])
            raise InputError((*both, " both say when to stop: give one of them."))
        is_backward = self.direction == "backward"
        begins, other = ("full", "forward") if is_backward else ("empty", "backward")
        start = self._start()
        if self.direction != "both" and start not in ("auto", begins):
            instead = f' use "{other}" or "both".' if start in ("empty", "full") else ' use "both".'
            given = Parameter("start", None if start == "listed" else start)
            raise InputError(
                (Parameter("direction", self.direction), f" begins with the {begins} model"),
                ("with ", given, instead),
            )
        by_path = self.sparsity is not None or self.criterion not in BY_LOSS
        if self.direction == "both" and by_path and self.delta is None and start != "auto":
            chosen = None if self.sparsity is not None else self.criterion
            by = Parameter("criterion", chosen) if chosen else Parameter("sparsity")
            raise InputError(
                "has no say where all sizes are compared, on a path forward and all the way back",
                ("leave it out, or choose by BIC, say, not by ", by, "."),
                parameter="start",
            )

    def _max_features(self, data: Data) -> int | None:
        """The most features of a path, if that was asked for: those of include are among them."""
        most, included = self.max_features, len(data.include)
        if most is not None and most < included:
            wrong = f"allows {most}, but ", Parameter("include"), f" names {included}: raise it."
            raise InputError(wrong, parameter="max_features")
        return most

    def _criterion(self, data: Data) -> Formula:
        """The criterion of loss and degrees of freedom; for "loo" one that is close to it."""
        if self.criterion == "loo":
            return GCV(data.criteria())
        return data.criteria(self._variance(data))[self.criterion]

    def _outlook(self, criterion: Formula, most: int) -> ExtendTo | None:
        """How far a path is worth following; to `max_features`, if that is given."""
        return early_stopping(criterion, most) if self.max_features is None else None

    def _bic_delta(self, data: Data) -> float:
        """δ with δ² = s² log n, the price of a feature in the BIC.

        With the noise variance known, BIC = ‖r‖²/s² + k log n (Schwarz 1978).
        """
        variance = residual_variance(data)
        if variance is None:
            wrong = f"{data.rows:g} rows can't tell the noise of {data.candidates} features: give "
            other = Parameter("SparseBayesRegressor")
            raise InputError((wrong, Parameter("delta"), ", or use ", other, "."))
        return math.sqrt(variance * math.log(data.rows))

    def _variance(self, data: Data) -> float | None:
        """What Mallows' Cp compares with."""
        if self.criterion != "cp":
            return None
        variance = residual_variance(data)
        if variance is None:
            others = Parameter("criterion", "ric"), " or ", Parameter("criterion", "cv")
            raise InputError(
                f"cp needs more rows than features to tell the noise, but {data.rows:g} rows have "
                f"{data.candidates} features",
                ("use ", *others, "."),
            )
        return variance

    def _full_variance(self, data: Data) -> float | None:
        met = super()._full_variance(data)
        # Others may do without until the path is asked for, if it takes long.
        shape = data.design.shape[0], data.candidates
        now = self.criterion in ("cp", "loo") or plan.factorises_at_once(shape)
        return residual_variance(data) if met is None and now else met

    # ------------------------------------------------------------------ the path

    def _keep(self, data: Data) -> None:
        super()._keep(data)
        if not hasattr(self, "_loo_"):
            self._data_ = data.kept()
        if self.verbose and self.solution_.algorithm != stepwise.__name__:  # which prints its own
            print("\n".join(self._steps()), flush=True)

    def _steps(self) -> Iterator[str]:
        """The path as text, a line for each step."""
        columns = super()._path_columns()
        columns |= self._cv_columns(columns["size"])
        if hasattr(self, "_loo_"):
            columns["loo"] = known(self._loo_)
        names = [printable(name or "") for name in columns["feature"]]
        width = max(map(len, names))
        what = self.criterion if self.criterion in columns else "bic"
        for i, name in enumerate(names):
            value = "-" if columns[what][i] is None else f"{columns[what][i]:.6g}"
            yield (
                f"{columns['action'][i]:<5}  {name:<{width}}  {columns['size'][i]:>4}  "
                f"rss = {columns['rss'][i]:<10.6g}  {what} = {value}"
            )

    def _path_columns(self) -> dict[str, list[Any]]:
        loo = known(self._leave_one_out())
        columns = super()._path_columns()
        return columns | {"loo": loo} | self._cv_columns(columns["size"])

    def _cv_columns(self, sizes: list[int]) -> dict[str, list[float | None]]:
        """The error of folds left out, and its standard error, for models of these sizes."""
        errors: CVErrors | None = getattr(self, "cv_errors_", None)
        if errors is None:
            return {}
        at = {int(size): i for i, size in enumerate(errors.sizes)}
        where = [at.get(size) for size in sizes]
        return {
            name: [None if i is None else float(values[i]) for i in where]
            for name, values in (("cv", errors.mean), ("cv_std", errors.std))
        }

    def _leave_one_out(self) -> Array:
        """The leave-one-out error of every model on the path; NaN if X was changed, or condensed.

        What else takes the whole table, and no fit needs, is made with it: s² of Mallows' Cp.
        """
        if not hasattr(self, "_loo_"):
            path = self.solution_.path
            unknown = np.full(1 + len(path), np.nan)
            data = self._data_
            usable = isinstance(data, TabularData) and data.is_finite()
            self._loo_ = leave_one_out(data, path) if usable else unknown
            is_same = np.isfinite(self._loo_).any() or not isinstance(data, TabularData)
            if self.criteria_.variance is None and is_same:
                variance = residual_variance(data)
                self.criteria_ = replace(self.criteria_, variance=variance)
            del self._data_
        return self._loo_

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_data_"):
            self._leave_one_out()
        return super().__getstate__()
