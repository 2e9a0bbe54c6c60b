"""Coefficient paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.errors import InputError, Parameter
from sparsewise.plots import style
from sparsewise.plots.fitted import (
    check_units,
    coefficient_label,
    fitted,
    met,
    path_penalties,
    spreads,
    target_spreads,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

FEW = 10
"""Up to this many features are all named; of more, those of the chosen model."""

MOST_NAMES = 12
"""Most coefficients of the chosen model, the largest, that get names and colours."""

BEYOND = 15
"""Steps drawn beyond the chosen model; more if it has more features."""


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay:
    """Coefficients against steps, or against the size of the model.

    For several targets, the root mean square of a feature's coefficients, each in units of the
    standard deviation of its target. Usually created by `from_estimator`.

    Parameters
    ----------
    coefs : array-like of shape (p, f)
        Coefficients, one row per model of the path and one column per feature on it.
    sizes : array-like of shape (p,)
        The number of features of each model.
    squared_residuals : array-like of shape (p,)
        Their squared residuals.
    chosen : int
        Which of the models was chosen.
    feature_names : sequence of str
        Names of the features.
    spreads : array-like of shape (f,), optional
        Standard deviations of the features, which make coefficients comparable.
    intercept : bool
        Whether the model has an intercept; `spreads` are root mean squares if not.
    multi_target : bool
        Whether `coefs` are root mean squares over several targets.
    penalties : array-like of shape (p,), optional
        The penalties λ of these models, descending, if this is an ℓ1 path.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    lines_ : list of Line2D
        One per feature, in order; nothing is drawn where a coefficient stays at zero.
    mark_ : Line2D or None
        The vertical line at the chosen model, if anything is drawn.
    labels_ : list of Text
        The names beside the lines.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsewise import PathDisplay, StepwiseRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = PathDisplay.from_estimator(StepwiseRegressor().fit(X, y), by="size")
    >>> display.figure_.savefig("path.png")  # doctest: +SKIP
    """

    coefs: ArrayLike
    sizes: ArrayLike
    squared_residuals: ArrayLike
    chosen: int
    feature_names: Sequence[str]
    spreads: ArrayLike | None = None
    intercept: bool = True
    multi_target: bool = False
    penalties: ArrayLike | None = None
    lines_: list[Line2D] = field(init=False)
    labels_: list[Text] = field(init=False)
    mark_: Line2D | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        by: str = "step",
        units: str = "norm",
        whole: bool = False,
        ax: Axes | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted linear estimator of sparsewise, or a pipeline that ends with one.
        by, units, whole, ax, line_kwargs
            As for `plot`.

        Returns
        -------
        PathDisplay
        """
        model, _ = fitted(estimator, cls.__name__)
        models, chosen = met(model)
        if not len(model.solution_.path) and len(models) > 1:
            raise InputError(
                f"{model.solution_.algorithm} kept no path with this solver: there is nothing to "
                f"draw but the coefficients; use CoefficientDisplay."
            )
        features = np.unique(np.concatenate([each.support for each in models]))
        coefs, units_of_targets = np.array([each.coef for each in models]), target_spreads(model)
        display = cls(
            coefs=_over_targets(coefs[:, features], units_of_targets),
            sizes=np.array([each.support.size for each in models]),
            squared_residuals=np.array([one.squared_residual for one in models]),
            chosen=chosen,
            feature_names=[model._state_.columns.feature(int(j)) for j in features],
            spreads=spreads(model)[features],
            intercept=model.fit_intercept,
            multi_target=units_of_targets is not None,
            penalties=path_penalties(model, models),
        )
        return display.plot(ax, by=by, units=units, whole=whole, line_kwargs=line_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        by: str = "step",
        units: str = "norm",
        whole: bool = False,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        by : {"step", "size", "penalty"}
            The x axis: "step", the steps of the algorithm; "size", the number of features, with the
            chosen model and for every other size the one of smallest residual; or "penalty", the λ
            of an ℓ1 path, in which coefficients are piecewise linear.
        units : {"norm", "own"}
            "norm": a coefficient times the standard deviation of its feature, in the units of the
            target, so that features are comparable. "own": the coefficient itself.
        whole : bool
            Whether to draw the path to its end, however far that is from the chosen model.
        line_kwargs : dict, optional
            Keyword arguments of ``Axes.plot``, for all lines.

        Returns
        -------
        PathDisplay
        """
        check_units(units, None if self.spreads is None else np.asarray(self.spreads))
        rows, x, at = self._points(by)
        if not whole:
            part = _near(np.asarray(self.sizes)[rows], at)
            rows, x, at = rows[part], x[part], at - part.start
        coefs = np.asarray(self.coefs, float)[rows]
        values = coefs if units == "own" else coefs * np.asarray(self.spreads, float)
        ax = style.new_axes(7, 4.5) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        if not values.any():
            self.lines_, self.labels_, self.mark_ = [], [], None
            style.calm(ax)
            style.nothing_to_draw(ax, "no feature on the path")
            return self
        self._draw(ax, x, values, at, line_kwargs or {})
        if by != "penalty":
            style.whole_numbers(ax)
        ax.set_xlabel({"size": "number of features", "penalty": "penalty λ"}.get(by, "step"))
        label = coefficient_label(units, self.intercept)
        ax.set_ylabel(f"{label},\nroot mean square over targets" if self.multi_target else label)
        return self

    def _points(self, by: str) -> tuple[Array, Array, int]:
        """Which models to draw, where on the x axis, and which of them was chosen."""
        sizes = np.asarray(self.sizes)
        if by == "step":
            steps = np.arange(sizes.size)
            return steps, steps, self.chosen
        if by == "penalty":
            if self.penalties is None:
                wrong = " is for paths of ℓ1 norms: those of a BasisPursuitRegressor, not refitted."
                raise InputError((Parameter("by", "penalty"), wrong))
            return np.arange(sizes.size), np.asarray(self.penalties, float), self.chosen
        if by != "size":
            wrong = f'must be "step", "size" or "penalty", not {by!r}.'
            raise InputError(wrong, parameter="by")
        residuals = np.array(self.squared_residuals, float)
        residuals[self.chosen] = -1.0  # before all others of its size
        order = np.lexsort((residuals, sizes))
        distinct, first = np.unique(sizes[order], return_index=True)
        rows = order[first]
        return rows, distinct, int(np.flatnonzero(rows == self.chosen)[0])

    def _draw(
        self, ax: Axes, x: Array, values: Array, at: int, line_kwargs: dict[str, Any]
    ) -> None:
        side = "left" if not values[-1].any() and values[0].any() else "right"
        ends = values[0 if side == "left" else -1]
        named = _named(values[at], ends)
        styles = {f: style.colour(i) for i, f in enumerate(named)}
        ax.axhline(0, color=style.FAINT, linewidth=0.8, zorder=0.5)
        self.lines_ = []
        for f in range(values.shape[1]):
            if f in styles:
                width = 2.0 if values[at, f] else 1.1  # chosen features stand out
                look = {"linewidth": width, "zorder": 2.2, **styles[f]}
            else:
                look = {"linewidth": 0.9, "zorder": 2.0, "color": style.FAINT}
            shown = np.where(_moves(values[:, f]), values[:, f], np.nan)
            label = {"label": f"_{self.feature_names[f]}"}
            self.lines_ += ax.plot(x, shown, **{**label, **look, **line_kwargs})
        style.calm(ax)
        ax.set_xlim(x[0] - (x.size == 1) * 0.5, x[-1] + (x.size == 1) * 0.5)
        ax.set_ylim(*ax.get_ylim())
        if side == "left":
            ax.yaxis.tick_right()
            ax.yaxis.set_label_position("right")
            ax.spines["right"].set_visible(True)
            ax.spines["left"].set_visible(False)
        names = [self.feature_names[f] for f in named]
        self.labels_ = style.label_ends(ax, ends[named], names, [styles[f] for f in named], side)
        chosen_size = int(np.asarray(self.sizes)[self.chosen])
        self.mark_, _ = style.mark_choice(ax, float(x[at]), chosen_size)


def _over_targets(coefs: Array, units: Array | None) -> Array:
    """The coefficients, or their root mean square over several targets."""
    if units is None:
        return coefs
    return np.asarray(np.sqrt(np.square(coefs / units).mean(axis=-1)))


def _named(chosen: Array, ends: Array) -> list[int]:
    """The features to name, largest first; if there are few, all that are left at the end."""
    size = np.abs(chosen)
    if size.size <= FEW:
        matters = (size > 0) | (ends != 0)
        size = np.maximum(size, np.abs(ends))
    else:
        matters = size > 0
    order = np.argsort(-size, kind="stable")
    return [int(f) for f in order if matters[f]][:MOST_NAMES]


def _moves(values: Array) -> Array:
    """Where a line is drawn: where it is not zero, and next to such points."""
    nonzero = values != 0
    near = nonzero.copy()
    near[1:] |= nonzero[:-1]
    near[:-1] |= nonzero[1:]
    return near


def _near(sizes: Array, chosen: int) -> slice:
    """The part from the chosen model to the sparse end of the path, and some steps beyond.

    A forward-backward path is cut at its largest model.
    """
    beyond = max(BEYOND, int(sizes[chosen]))
    first, last = 0, sizes.size - 1
    if sizes[first] == sizes[last] and last > 0:
        turn = int(np.argmax(sizes))
        first, last = (first, turn) if chosen <= turn else (turn, last)
    if sizes[first] <= sizes[last]:
        last = min(last, chosen + beyond)
    else:
        first = max(first, chosen - beyond)
    return slice(first, last + 1)
