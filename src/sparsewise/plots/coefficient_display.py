"""Coefficients with error bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.plots import style
from sparsewise.plots.fitted import (
    check_units,
    coefficient_label,
    fitted,
    spreads,
    target_spreads,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

MOST = 40
"""More coefficients than this can't be read in one figure."""

BESIDE = 0.7
"""Fraction of the space between two features that the points of several targets take."""

INTERCEPT = "(intercept)"


@dataclass(kw_only=True, eq=False, repr=False)
class CoefficientDisplay:
    """The chosen coefficients, largest first, with bars of two standard deviations.

    Each of several targets has its own colour. Usually created by `from_estimator`.

    Parameters
    ----------
    coefs : array-like of shape (k,), or (k, q) of several targets
        Coefficients of the chosen features, in their own units.
    feature_names : sequence of str
        Names of these features.
    stds : array-like of the same shape, optional
        Standard errors, or posterior standard deviations.
    spreads : array-like of shape (k,), optional
        Standard deviations of the features, which make coefficients comparable.
    intercept : (float, float or None), optional
        The intercept and its standard error, if the model has one; arrays for several targets.
    note : str
        Text below the axis: what the bars are, or that there are none.
    target_names : sequence of str, optional
        Names of several targets.
    target_spreads : array-like of shape (q,), optional
        Their standard deviations, which make coefficients of different targets comparable.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    points_ : Line2D, or list of them
        The coefficients; one item for each of several targets.
    bars_ : LineCollection or None, or list of them
        Two standard deviations to both sides, if known.
    shown_ : list of str
        Names of the coefficients drawn, from the top.
    """

    coefs: ArrayLike
    feature_names: Sequence[str]
    stds: ArrayLike | None = None
    spreads: ArrayLike | None = None
    intercept: tuple[Any, Any] | None = None
    note: str = "± 2 standard errors"
    target_names: Sequence[str] | None = None
    target_spreads: ArrayLike | None = None
    points_: Any = field(init=False)
    bars_: Any = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        units: str = "norm",
        intercept: bool = False,
        most: int = MOST,
        ax: Axes | None = None,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the coefficients of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted linear estimator of sparsewise, or a pipeline that ends with one.
        units, intercept, most, ax, bar_kwargs
            As for `plot`.

        Returns
        -------
        CoefficientDisplay
        """
        model, description = fitted(estimator, cls.__name__)
        # An exact fit has no standard errors.
        title, constant = description.std_title, description.intercept
        what = "posterior sd" if model.solution_.posterior is not None else "standard errors"
        shape = (len(description.features), *model.coef_.shape[:-1])
        stds = [feature.std or 0.0 for feature in description.features]
        display = cls(
            coefs=np.reshape([feature.value for feature in description.features], shape),
            feature_names=[feature.name for feature in description.features],
            stds=np.reshape(stds, shape) if title else None,
            target_names=[target.name for target in description.targets] or None,
            target_spreads=target_spreads(model),
            spreads=spreads(model)[model.solution_.support],
            intercept=constant and (constant.value, constant.std if title else None),
            note=(
                f"± 2 {what}, conditional on the selection" if title else "without standard errors"
            ),
        )
        return display.plot(ax, units=units, intercept=intercept, most=most, bar_kwargs=bar_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        units: str = "norm",
        intercept: bool = False,
        most: int = MOST,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the coefficients.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        units : {"norm", "own"}
            "norm": a coefficient times the standard deviation of its feature, in the units of the
            target, so that features are comparable; for several targets, divided by that of the
            target. "own": the coefficient itself.
        intercept : bool
            Whether to draw the intercept as well.
        most : int
            Draw at most this many, the largest.
        bar_kwargs : dict, optional
            Keyword arguments of ``Axes.errorbar``.

        Returns
        -------
        CoefficientDisplay
        """
        check_units(units, None if self.spreads is None else np.asarray(self.spreads))
        names, values, stds = self._rows(units, intercept)
        sizes = np.abs(values).max(axis=1, initial=0.0)
        order = np.argsort(-sizes, kind="stable")[:most]
        self.shown_ = [names[i] for i in order]
        if ax is None:
            lines = len(order) * (1 + 0.3 * (values.shape[1] - 1))
            ax = style.new_axes(6.4, 1.4 + 0.25 * max(lines, 4))
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax, values[order], None if stds is None else stds[order], bar_kwargs or {})
        if not len(order):
            return self
        label = coefficient_label(units, self.intercept is not None, values.shape[1] > 1)
        left_out = f" ({len(order)} largest of {len(names)})" if len(order) < len(names) else ""
        ax.set_xlabel(f"{label}{left_out}\n{self.note}", fontsize=style.small())
        return self

    def _rows(self, units: str, intercept: bool) -> tuple[list[str], Array, Array | None]:
        """Names, values and standard deviations of all coefficients, one target per column."""
        targets = np.shape(self.coefs)[1:] or (1,)
        factors: Any = 1.0 if units == "own" else np.asarray(self.spreads, float)[:, None]
        unit: Any = 1.0
        if units == "norm" and targets != (1,) and self.target_spreads is not None:
            unit = np.asarray(self.target_spreads, float)
        names = list(self.feature_names)

        def scaled(coefs: Any, constant: Any) -> Array:
            values = np.asarray(coefs, float).reshape(-1, *targets) * factors
            first = [] if not with_constant else [np.ravel(constant)]
            return np.vstack([*first, values]) / unit

        value, std = self.intercept or (None, None)
        with_constant = intercept and self.intercept is not None
        names = [INTERCEPT, *names] if with_constant else names
        has_stds = self.stds is not None and (std is not None or not with_constant)
        return names, scaled(self.coefs, value), scaled(self.stds, std) if has_stds else None

    def _draw(
        self, ax: Axes, values: Array, stds: Array | None, bar_kwargs: dict[str, Any]
    ) -> None:
        places, q = np.arange(len(values)), values.shape[1]
        points: list[Line2D] = []
        bars: list[LineCollection | None] = []
        for t in range(q):
            look: dict[str, Any] = {
                "fmt": "o",
                "color": style.COLOURS[t % len(style.COLOURS)],
                "markersize": 5.5 if q == 1 else 4.0,
                "elinewidth": 1.8 if q == 1 else 1.3,
                "zorder": 2.5,
            }
            heights = places + BESIDE * ((t + 0.5) / q - 0.5)
            xerr = None if stds is None else 2 * stds[:, t]
            drawn = ax.errorbar(values[:, t], heights, xerr=xerr, **{**look, **bar_kwargs})
            points.append(drawn.lines[0])
            bars.append(drawn.lines[2][0] if drawn.lines[2] else None)
        multi_target = self.target_names is not None
        self.points_, self.bars_ = (points, bars) if multi_target else (points[0], bars[0])
        style.calm(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        if not values.size:
            style.nothing_to_draw(ax, "no feature was chosen")
            return
        ax.axvline(0, color=style.MUTED, linewidth=1.0, zorder=1)
        ax.set_yticks(places, [style.short(name) for name in self.shown_], parse_math=False)
        ax.set_ylim(len(values) - 0.4, -0.6)
        self._name_colours(ax, points)
        ax.grid(axis="y", color=style.FAINT, linewidth=0.5, alpha=0.5)
        ax.set_axisbelow(True)

    def _name_colours(self, ax: Axes, points: list[Line2D]) -> None:
        """Add a legend of targets, if there are several but not too many for the colours."""
        if self.target_names is None or not 1 < len(points) <= len(style.COLOURS):
            return
        names = [style.short(name) for name in self.target_names]
        legend = ax.legend(points, names, frameon=False, fontsize=style.small())
        for text in legend.get_texts():
            text.set_parse_math(False)
