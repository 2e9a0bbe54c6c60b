"""Residuals, or observed targets, against predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.errors import InputError
from sparsewise.plots import style
from sparsewise.plots.fitted import fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

KINDS = ("residual_vs_predicted", "actual_vs_predicted")
"""The y axis, named as in scikit-learn's `PredictionErrorDisplay`."""

MOST = 10_000
"""Most points: of more rows, every second, third, ... is drawn."""


@dataclass(kw_only=True, eq=False, repr=False)
class ResidualDisplay:
    """Residuals, or observed targets, against predicted ones.

    Each of several targets has its own colour. Usually created by `from_estimator`.

    Parameters
    ----------
    y_true : array-like of shape (n,), or (n, q)
        Observed targets.
    y_pred : array-like of the same shape
        Predicted ones.
    target_names : sequence of str, optional
        Names of several targets.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    line_ : Line2D
        The line of perfect prediction.
    scatter_ : PathCollection, or list of them
        The points; one item for each of several targets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsewise import ResidualDisplay, SparseRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = ResidualDisplay.from_estimator(SparseRegressor().fit(X, y), X, y)
    >>> display.figure_.savefig("residuals.png")  # doctest: +SKIP
    """

    y_true: ArrayLike
    y_pred: ArrayLike
    target_names: Sequence[str] | None = None
    line_: Line2D = field(init=False)
    scatter_: PathCollection | list[PathCollection] = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        kind: str = KINDS[0],
        ax: Axes | None = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the residuals of a fitted estimator on these rows.

        Parameters
        ----------
        estimator : estimator
            A fitted linear estimator of sparsewise, or a pipeline that ends with one.
        X, y : as for `fit`
            The rows: those of the fit or, better, new ones.
        kind, ax, scatter_kwargs, line_kwargs
            As for `plot`.

        Returns
        -------
        ResidualDisplay
        """
        model, _ = fitted(estimator, cls.__name__)
        expected = np.asarray(estimator.predict(X))
        observed = np.asarray(y, float)
        if observed.size != expected.size:
            wrong = f"has shape {observed.shape}, but predictions of X have {expected.shape}."
            raise InputError(wrong, parameter="y")
        names = None if expected.ndim == 1 else model._state_.columns.targets(expected.shape[1])
        display = cls(y_true=observed.reshape(expected.shape), y_pred=expected, target_names=names)
        return display.plot(ax, kind=kind, scatter_kwargs=scatter_kwargs, line_kwargs=line_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: str = KINDS[0],
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        kind : {"residual_vs_predicted", "actual_vs_predicted"}
            Whether to draw residuals (observed - predicted) or observed targets.
        scatter_kwargs, line_kwargs : dict, optional
            Keyword arguments of ``Axes.scatter`` and of the line of perfect prediction.

        Returns
        -------
        ResidualDisplay
        """
        if kind not in KINDS:
            raise InputError(f"must be one of {', '.join(KINDS)}, not {kind!r}.", parameter="kind")
        ax = style.new_axes(6, 4.5) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        expected, observed = np.asarray(self.y_pred, float), np.asarray(self.y_true, float)
        heights = observed - expected if kind == KINDS[0] else observed
        if not expected.size:
            raise InputError("has no rows.", parameter="y_true")
        every = -(-len(expected) // MOST)
        expected, heights = expected[::every], heights[::every]
        look = {"s": 14, "linewidths": 0, "alpha": 0.7, **(scatter_kwargs or {})}
        pairs = zip(np.atleast_2d(expected.T), np.atleast_2d(heights.T), strict=True)
        drawn = [
            ax.scatter(x, z, **{"color": style.colour(t)["color"], **look})
            for t, (x, z) in enumerate(pairs)
        ]
        self.scatter_ = drawn if expected.ndim > 1 else drawn[0]
        line = {"color": style.MUTED, "linewidth": 1.1, "zorder": 0.5, **(line_kwargs or {})}
        middle = float(expected.mean())  # a line through 0 would stretch the axes
        slope = 0 if kind == KINDS[0] else 1
        self.line_ = ax.axline((middle, slope * middle), slope=slope, **line)
        if self.target_names is not None:
            ax.legend(drawn, [style.short(name) for name in self.target_names], frameon=False)
        style.calm(ax)
        ax.set_xlabel("predicted")
        ax.set_ylabel("observed - predicted" if kind == KINDS[0] else "observed")
        return self
