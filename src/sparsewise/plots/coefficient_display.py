"""Coefficients and how well they are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.design.base import Array
from sparsewise.plots import style
from sparsewise.plots.fitted import check_units, coefficient_label, fitted, spreads

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection

MOST = 40
"""More coefficients than this can't be read in one figure."""

INTERCEPT = "(intercept)"


@dataclass(kw_only=True, eq=False, repr=False)
class CoefficientDisplay:
    """The chosen coefficients, largest first, with bars of two standard deviations.

    Best made by `from_estimator`.

    Parameters
    ----------
    coefs : array-like of shape (k,)
        Coefficients of the chosen features, in their own units.
    feature_names : sequence of str
        Names of these features.
    stds : array-like of shape (k,), optional
        Standard errors, or posterior standard deviations.
    spreads : array-like of shape (k,), optional
        Standard deviations of the features, by which coefficients compare.
    intercept : (float, float or None), optional
        The constant and its standard error, if the model has one.
    note : str
        What the bars are, or that there are none; below the axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    points_ : Line2D
        The coefficients.
    bars_ : LineCollection or None
        Two standard deviations to both sides, where they are known.
    shown_ : list of str
        Names of what is drawn, from above.
    """

    coefs: ArrayLike
    feature_names: Sequence[str]
    stds: ArrayLike | None = None
    spreads: ArrayLike | None = None
    intercept: tuple[float, float | None] | None = None
    note: str = "± 2 standard errors"

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
        style.need_matplotlib()
        model, description = fitted(estimator, cls.__name__)
        # An exact fit tells nothing of errors.
        title, constant = description.std_title, description.intercept
        what = "posterior sd" if model.solution_.posterior is not None else "standard errors"
        display = cls(
            coefs=[one.value for one in description.features],
            feature_names=[one.name for one in description.features],
            stds=[one.std or 0.0 for one in description.features] if title else None,
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
            target, so that features compare. "own": as it is.
        intercept : bool
            Whether to draw the intercept, too.
        most : int
            At most so many, the largest.
        bar_kwargs : dict, optional
            Words for ``Axes.errorbar``.

        Returns
        -------
        CoefficientDisplay
        """
        style.need_matplotlib()
        check_units(units, None if self.spreads is None else np.asarray(self.spreads))
        names, values, stds = self._rows(units, intercept)
        order = np.argsort(-np.abs(values), kind="stable")[:most]
        self.shown_ = [names[i] for i in order]
        if ax is None:
            ax = style.new_axes(6.4, 1.4 + 0.25 * max(len(order), 4))
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax, values[order], None if stds is None else stds[order], bar_kwargs or {})
        if not len(order):
            return self
        label = coefficient_label(units, self.intercept is not None)
        left_out = f" ({len(order)} largest of {len(names)})" if len(order) < len(names) else ""
        ax.set_xlabel(f"{label}{left_out}\n{self.note}", fontsize=style.small())
        return self

    def _rows(self, units: str, intercept: bool) -> tuple[list[str], Array, Array | None]:
        """Names, values and standard deviations of all there is to draw."""
        factors = 1.0 if units == "own" else np.asarray(self.spreads, float)
        names = list(self.feature_names)
        values = np.asarray(self.coefs, float) * factors
        stds = None if self.stds is None else np.asarray(self.stds, float) * factors
        if intercept and self.intercept is not None:
            value, std = self.intercept
            names, values = [INTERCEPT, *names], np.concatenate([[value], values])
            stds = None if stds is None or std is None else np.concatenate([[std], stds])
        return names, values, stds

    def _draw(
        self, ax: Axes, values: Array, stds: Array | None, bar_kwargs: dict[str, Any]
    ) -> None:
        places = np.arange(values.size)
        look: dict[str, Any] = {
            "fmt": "o",
            "color": style.COLOURS[0],
            "markersize": 5.5,
            "elinewidth": 1.8,
            "zorder": 2.5,
        }
        drawn = ax.errorbar(
            values, places, xerr=None if stds is None else 2 * stds, **{**look, **bar_kwargs}
        )
        self.points_ = drawn.lines[0]
        self.bars_: LineCollection | None = drawn.lines[2][0] if drawn.lines[2] else None
        style.calm(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        if not values.size:
            style.nothing_to_draw(ax, "no feature was chosen")
            return
        ax.axvline(0, color=style.MUTED, linewidth=1.0, zorder=1)
        ax.set_yticks(places, [style.short(name) for name in self.shown_], parse_math=False)
        ax.set_ylim(values.size - 0.4, -0.6)
        ax.grid(axis="y", color=style.FAINT, linewidth=0.5, alpha=0.5)
        ax.set_axisbelow(True)
