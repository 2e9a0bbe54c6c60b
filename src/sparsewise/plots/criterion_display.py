"""Selection criteria against the number of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise._util.text import count, listing
from sparsewise.criteria.information import BY_LOSS, NAMES
from sparsewise.errors import InputError
from sparsewise.plots import style
from sparsewise.plots.fitted import fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from sparsewise.estimators.base import SparseLinearModel
    from sparsewise.summary import Description

TITLES = {
    **NAMES,
    "loo": "mean squared error,\neach row left out once",
    "cv": "mean squared error\nof folds left out",
    "log_evidence": "log evidence",
    "score": "score of the search",
}
LIKELIHOODS = ("aic", "aicc", "bic", "ebic", "ric")
"""Criteria on one scale, so that several of them share a panel."""

LARGEST_IS_BEST = ("adjusted_r2", "log_evidence")

BEYOND = 15
"""Sizes drawn beyond the chosen one; more if it has more features."""

BAD = 3.0
"""Values farther from the best than this many times the upper quartile are cut off."""


@dataclass(kw_only=True, eq=False, repr=False)
class CriterionDisplay:
    """Criteria against the number of features, with the choice marked.

    For each size, the best model of the path counts. Usually created by `from_estimator`.

    Parameters
    ----------
    sizes : array-like of int
        Numbers of features, ascending.
    criteria : dict of str to array-like
        Values by size; NaN where unknown.
    chosen : int
        The number of features chosen.
    errors : dict of str to array-like, optional
        Standard errors of these values.
    one_standard_error : bool
        Whether the choice is the smallest model within one standard error of the best.
    price : float
        The price of each feature, by which "log_evidence" has been lowered.
    exact : bool
        Whether the chosen model fits exactly up to rounding.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn; `ax_` is the first panel.
    axes_ : list of Axes
        All panels.
    lines_ : dict of str to Line2D
        The curve of each criterion.
    best_, chosen_ : dict of str to Line2D
        The point where each is best, and at the chosen size, if known.
    mark_ : Line2D
        The vertical line at the choice, in the first panel.
    level_ : Line2D or None
        One standard error above the best.
    """

    sizes: ArrayLike
    criteria: Mapping[str, ArrayLike]
    chosen: int
    errors: Mapping[str, ArrayLike] | None = None
    one_standard_error: bool = False
    price: float = 0.0
    exact: bool = False

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        criteria: str | Sequence[str] | None = None,
        *,
        whole: bool = False,
        ax: Axes | Sequence[Axes] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw criteria along the path of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted linear estimator of sparsewise, or a pipeline that ends with one.
        criteria : str or list of str, optional
            Columns of `path_`. None: the criterion the estimator chose by, or RIC if there was
            none. "log_evidence" is lowered by the price of the features, as for the choice.
        whole, ax, line_kwargs
            As for `plot`.

        Returns
        -------
        CriterionDisplay
        """
        model, description = fitted(estimator, cls.__name__)
        path = _columns(model)
        criteria = _default_criterion(description, path) if criteria is None else criteria
        names = [criteria] if isinstance(criteria, str) else list(criteria)
        _check_names(model, names, path)
        chosen, folds = len(description.features), description.validation_curve
        sizes = np.unique([*path["size"], chosen]).astype(int)
        values = {name: _by_size(model, description, name, path, sizes) for name in names}
        errors = {}
        if "cv" in names and folds is not None:
            errors["cv"] = _at(sizes, folds.sizes, folds.std)
        display = cls(
            sizes=sizes,
            criteria=values,
            chosen=chosen,
            errors=errors,
            one_standard_error=folds is not None and folds.one_standard_error,
            price=description.price,
            exact=description.loss == 0 and model.criteria_.total > 0,
        )
        return display.plot(ax, whole=whole, line_kwargs=line_kwargs)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        whole: bool = False,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the criteria.

        AIC, AICc, BIC, EBIC and RIC share a panel, each above its own minimum if there are several;
        any other has its own.

        Parameters
        ----------
        ax : matplotlib Axes or list of them, optional
            Where to draw, one for each panel; by default a new figure.
        whole : bool
            Whether to show every size and value; otherwise sizes far beyond the choice, and values
            far worse than the best, are cut off.
        line_kwargs : dict, optional
            Keyword arguments of ``Axes.plot``, for all curves.

        Returns
        -------
        CriterionDisplay
        """
        panels = _panels(self.criteria)
        self.axes_ = _axes(ax, len(panels))
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.lines_: dict[str, Line2D] = {}
        self.best_: dict[str, Line2D] = {}
        self.chosen_: dict[str, Line2D] = {}
        self.level_: Line2D | None = None
        for where, names in zip(self.axes_, panels, strict=True):
            self._panel(where, names, whole, line_kwargs or {})
        more = " (exact fit)" if self._exact() else ""
        marks = [style.mark_choice(where, self.chosen, self.chosen, more) for where in self.axes_]
        self.mark_ = marks[0][0]
        for _, text in marks[1:]:
            text.remove()
        self.axes_[-1].set_xlabel("number of features")
        return self

    def _exact(self) -> bool:
        """Whether the choice is known to be exact, or a criterion without bound there."""
        at = np.asarray(self.sizes) == self.chosen
        return self.exact or any(
            bool(np.isinf(np.asarray(v, float)[at]).any()) for v in self.criteria.values()
        )

    def _panel(self, ax: Axes, names: list[str], whole: bool, line_kwargs: dict[str, Any]) -> None:
        sizes = np.asarray(self.sizes)
        seen = sizes <= (sizes[-1] if whole else self._last())
        last = int(sizes[seen][-1])
        drawn = [
            self._curve(ax, name, i, len(names) > 1, last, line_kwargs)
            for i, name in enumerate(names)
        ]
        style.calm(ax)
        style.whole_numbers(ax)
        room = 0.03 * max(last - sizes[0], 1)
        ax.set_xlim(sizes[0] - room, last + room)
        near = [values[seen] for values in drawn]
        limits = None if whole else _zoom(near, names)
        ax.set_ylim(limits or _span(near, [self._std(name)[seen] for name in names]))
        if not any(np.isfinite(values).any() for values in near):
            style.nothing_to_draw(ax, "the fit is exact")
        elif len(names) > 1:
            titles = [TITLES[name] for name in names]
            ends = np.array([values[seen & np.isfinite(values)][-1] for values in drawn])
            ends = np.clip(ends, *ax.get_ylim())
            style.label_ends(
                ax, ends, titles, [style.colour(i) for i in range(len(names))], "right"
            )
            ax.set_ylabel("above its minimum")
        else:
            ax.set_ylabel(self._title(names[0]))

    def _last(self) -> int:
        """The largest size to show: some beyond the choice and the criteria's best sizes."""
        sizes = np.asarray(self.sizes)
        best = [
            sizes[_best_of(name, np.asarray(self.criteria[name], float))] for name in self.criteria
        ]
        return int(max(self.chosen, *best) + max(BEYOND, self.chosen))

    def _std(self, name: str) -> Array:
        """The standard errors of a criterion; zero if there are none."""
        std = (self.errors or {}).get(name)
        return np.zeros(len(np.asarray(self.sizes))) if std is None else np.asarray(std, float)

    def _curve(
        self, ax: Axes, name: str, i: int, shifted: bool, last: int, line_kwargs: dict[str, Any]
    ) -> Array:
        """Draw one criterion, with dots if they are not too many; return the values drawn."""
        sizes, values = np.asarray(self.sizes), np.asarray(self.criteria[name], float)
        best = _best_of(name, values)
        values = np.where(np.isfinite(values), values, np.nan)
        if shifted and np.isfinite(values).any():
            values = values - np.nanmin(values)
        look = {"linewidth": 1.8, **style.colour(i), "zorder": 2.2}
        dots = {"marker": "o", "markersize": 3.2} if np.sum(sizes <= last) <= 40 else {}
        self.lines_[name] = ax.plot(sizes, values, **{**look, **dots, **line_kwargs})[0]
        if self.errors and name in self.errors:
            self._uncertain(ax, values, self._std(name), best)
        if np.isfinite(values[best]):
            self._dots(ax, name, values, best, look["color"], shifted)
        return values

    def _uncertain(self, ax: Axes, values: Array, std: Array, best: int) -> None:
        """Draw a band of one standard error, and the level of one standard error above the best."""
        sizes = np.asarray(self.sizes)
        ax.fill_between(
            sizes,
            values - std,
            values + std,
            color=style.COLOURS[0],
            alpha=0.15,
            linewidth=0,
            zorder=1,
        )
        if self.one_standard_error:
            level = values[best] + std[best]
            self.level_ = ax.axhline(
                level, color=style.MUTED, linewidth=0.9, linestyle=":", zorder=1.5
            )

    def _dots(
        self, ax: Axes, name: str, values: Array, best: int, shade: Any, shifted: bool
    ) -> None:
        """Draw a ring at the best size and a dot at the chosen one."""
        sizes = np.asarray(self.sizes)
        ring = {"marker": "o", "markersize": 8, "linestyle": "none", "zorder": 3, "color": shade}
        ground = ax.get_facecolor()
        self.best_[name] = ax.plot(
            sizes[best], values[best], **{**ring, "markerfacecolor": ground, "markeredgewidth": 1.6}
        )[0]
        at = np.flatnonzero(sizes == self.chosen)
        if at.size and np.isfinite(values[at[0]]) and not (shifted and at[0] != best):
            self.chosen_[name] = ax.plot(sizes[at[0]], values[at[0]], **ring)[0]
        if sizes[best] != self.chosen and not shifted:
            word = "largest" if name in LARGEST_IS_BEST else "least"
            ax.annotate(
                f"{word}: {count(int(sizes[best]), 'feature')}",
                (sizes[best], values[best]),
                xytext=(0, 11 if name in LARGEST_IS_BEST else -11),
                textcoords="offset points",
                ha="center",
                va="bottom" if name in LARGEST_IS_BEST else "top",
                fontsize=style.small(),
                color=style.ink(),
            )

    def _title(self, name: str) -> str:
        if name == "log_evidence" and self.price:
            return f"log evidence − {self.price:.3g} per feature"
        return TITLES.get(name, name)


def _panels(names: Mapping[str, Any]) -> list[list[str]]:
    """Criteria by panel: those on one scale together, each of the others alone."""
    together = [name for name in names if name in LIKELIHOODS]
    apart = [[name] for name in names if name not in LIKELIHOODS]
    return ([together] if together else []) + apart


def _axes(ax: Axes | Sequence[Axes] | None, panels: int) -> list[Axes]:
    if ax is None:
        ax = style.new_axes(7, 4.5 if panels == 1 else 1.2 + 2.4 * panels, panels)
    axes: list[Axes] = np.ravel(np.asarray(ax, dtype=object)).tolist()
    if len(axes) != panels:
        raise InputError(
            f"These criteria take {count(panels, 'panel')}: pass as many axes, not {len(axes)}."
        )
    return axes


def _best_of(name: str, values: Array) -> int:
    """The index at which a criterion is best, perhaps infinite."""
    costs = -values if name in LARGEST_IS_BEST else values
    return int(np.argmin(np.where(np.isnan(costs), np.inf, costs)))


def _span(drawn: list[Array], stds: list[Array]) -> tuple[float, float]:
    """Limits of a y axis with all values and some room for text."""
    ends = [
        values + side * std for values, std in zip(drawn, stds, strict=True) for side in (-1, 1)
    ]
    finite = np.concatenate([values[np.isfinite(values)] for values in ends])
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = 0.12 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _zoom(drawn: list[Array], names: list[str]) -> tuple[float, float] | None:
    """Limits of a y axis that cut off values so bad that they would flatten the rest.

    None if there are no such values.
    """
    sign = -1.0 if names[0] in LARGEST_IS_BEST else 1.0
    finite = [sign * values[np.isfinite(values)] for values in drawn]
    above = np.concatenate([values - values.min(initial=np.inf) for values in finite])
    if not above.size:
        return None
    height = BAD * float(np.quantile(above, 0.75))
    if height == 0 or above.max() <= 1.5 * height:
        return None
    best = min(values.min() for values in finite if values.size)
    low, high = sign * (best - 0.12 * height), sign * (best + height)
    return min(low, high), max(low, high)


# --- data of an estimator -------------------------------------------------------------------------


def _default_criterion(description: Description, path: Mapping[str, Array]) -> str:
    """The criterion of the choice, or RIC if there was none."""
    if "score" in path:
        return "score"
    if description.log_evidence is not None:
        return "log_evidence"
    return description.criterion or "ric"


def _columns(model: SparseLinearModel) -> dict[str, Array]:
    """The numerical columns of the path by name."""
    path = model._path_columns()
    return {name: path[name].astype(float) for name in path if name in ("size", *TITLES)}


def _check_names(model: SparseLinearModel, names: list[str], path: dict[str, Array]) -> None:
    some = model.criteria_.total > 0
    unknown = {name for name, values in path.items() if some and np.isnan(values).all()}
    available = [name for name in path if name in TITLES and name not in unknown]
    if not available:
        raise InputError(
            f"The path of {model.solution_.algorithm} has no criteria, since its coefficients are "
            "not least-squares fits: draw it with PathDisplay."
        )
    if not names:
        raise InputError("names none", f"there are {listing(available)}.", parameter="criteria")
    if bad := [name for name in names if name not in available]:
        raise InputError(f"The path does not have {listing(bad)}; there are {listing(available)}.")


def _by_size(
    model: SparseLinearModel,
    description: Description,
    name: str,
    path: dict[str, Array],
    sizes: Array,
) -> Array:
    """The best value of each size on the path; at the chosen size, that of the chosen model."""
    if name == "cv" and description.validation_curve is not None:
        return _at(sizes, description.validation_curve.sizes, description.validation_curve.mean)
    values = path[name]
    if name == "log_evidence":
        values = values - description.price * path["size"]
    best = np.fmax if name in LARGEST_IS_BEST else np.fmin  # ignore NaN
    by_size = np.array([best.reduce(values[path["size"] == k], initial=np.nan) for k in sizes])
    size = len(description.features)
    if name in BY_LOSS:
        by_size[sizes == size] = model.criteria_[name].value(description.loss, model.solution_.df)
    elif description.log_evidence is not None:
        by_size[sizes == size] = description.log_evidence - description.price * size
    return by_size


def _at(sizes: Array, known: Array, values: Array) -> Array:
    """Values by size, NaN for unknown sizes."""
    by_size = dict(zip(known.tolist(), values.tolist(), strict=True))
    return np.array([by_size.get(int(size), np.nan) for size in sizes])
