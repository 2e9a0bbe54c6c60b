"""Selection frequencies of stability selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.errors import InputError
from sparsewise.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D

MOST = 30
"""More features than this can't be read in one figure."""


@dataclass(kw_only=True, eq=False, repr=False)
class StabilityDisplay:
    """How often each feature was selected, most often first, with the threshold.

    Usually created by `from_estimator`.

    Parameters
    ----------
    frequencies : array-like of shape (p,)
        The share of halves in which each feature was selected.
    threshold : float
        The share from which on a feature is taken.
    feature_names : sequence of str, optional
        Their names.
    note : str
        Text below the axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    bars_ : BarContainer
        The frequencies.
    line_ : Line2D
        The threshold.
    shown_ : list of str
        Names of the features drawn, from the top.
    """

    frequencies: ArrayLike
    threshold: float
    feature_names: Sequence[str] | None = None
    note: str = ""
    bars_: BarContainer = field(init=False)
    line_: Line2D = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        most: int = MOST,
        ax: Axes | None = None,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the frequencies of a fitted `StabilitySelection`.

        Parameters
        ----------
        estimator : StabilitySelection
            It must be fitted.
        most, ax, bar_kwargs
            As for `plot`.

        Returns
        -------
        StabilityDisplay
        """
        style.need_matplotlib()
        from sklearn.utils.validation import check_is_fitted

        from sparsewise.inference import StabilitySelection

        if not isinstance(estimator, StabilitySelection):
            raise InputError(
                f"{cls.__name__} draws a StabilitySelection, not {type(estimator).__name__}."
            )
        check_is_fitted(estimator)
        p, bound = estimator.n_features_in_, estimator.error_bound_
        names = getattr(estimator, "feature_names_in_", None)
        expected = bound.worst_case if estimator.bound == "worst-case" else bound.r_concave
        display = cls(
            frequencies=estimator.selection_frequencies_,
            threshold=estimator.threshold_,
            feature_names=[f"x{j}" for j in range(p)] if names is None else names.tolist(),
            note=f"at most {expected:.2g} of {p} features taken by chance on average "
            f"({estimator.bound} bound)",
        )
        return display.plot(ax, most=most, bar_kwargs=bar_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        most: int = MOST,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the frequencies.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        most : int
            Draw at most this many features, those selected most often.
        bar_kwargs : dict, optional
            Keyword arguments of ``Axes.barh``.

        Returns
        -------
        StabilityDisplay
        """
        heights = np.asarray(self.frequencies, float)
        names = self.feature_names or [f"x{j}" for j in range(heights.size)]
        order = np.argsort(-heights, kind="stable")[:most]
        order = order[heights[order] > 0]
        self.shown_ = [names[j] for j in order]
        ax = style.new_axes(6.4, 1.6 + 0.25 * max(order.size, 4)) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        taken = heights[order] >= self.threshold
        look = {
            "color": np.where(taken, style.COLOURS[0], style.FAINT).tolist(),
            "height": 0.7,
            **(bar_kwargs or {}),
        }
        self.bars_ = ax.barh(np.arange(order.size), heights[order], **look)
        self.line_ = ax.axvline(
            self.threshold, color=style.MUTED, linestyle=(0, (4, 3)), linewidth=1.1
        )
        style.calm(ax)
        if not order.size:
            style.nothing_to_draw(ax, "no feature was selected")
            return self
        ax.set_title(
            f"taken from {self.threshold:.4g} on: {np.count_nonzero(heights >= self.threshold)} of "
            f"{heights.size} features",
            fontsize=style.small(),
            color=style.ink(),
        )
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.set_yticks(
            np.arange(order.size), [style.short(name) for name in self.shown_], parse_math=False
        )
        ax.set_ylim(order.size - 0.4, -0.6)
        ax.set_xlim(0, 1.02)
        more = np.count_nonzero(heights) > order.size
        left_out = f" ({order.size} most frequent)" if more else ""
        label = f"share of halves that select the feature{left_out}"
        ax.set_xlabel(f"{label}\n{self.note}".rstrip(), fontsize=style.small())
        return self
