"""What all figures share: colours, axes, names, and labels that keep apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import count, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Those of Okabe and Ito (2008), told apart by the colour-blind, too; without black and yellow."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)))
"""A colour that comes again is drawn in another way."""

MUTED = "#8a8a8a"
FAINT = "#c9c9c9"

LONGEST_NAME = 26
"""Longer names are cut in the middle: they often begin, and often end, alike."""


def need_matplotlib() -> None:
    """Raise an error with the way out if there is no matplotlib."""
    try:
        import matplotlib.pyplot  # noqa: F401  (only to see whether it is there)
    except ImportError:
        raise ImportError(
            "Figures need matplotlib; install it with: pip install 'sparsewise[plot]'"
        ) from None


def new_axes(width: float, height: float) -> Axes:
    """A figure of so many inches with one pair of axes."""
    need_matplotlib()
    from matplotlib.pyplot import subplots

    return subplots(figsize=(width, height), layout="constrained")[1]


def colour(i: int) -> dict[str, Any]:
    """How to draw the i-th of several lines."""
    turn, which = divmod(i, len(COLOURS))
    return {"color": COLOURS[which], "linestyle": DASHES[turn % len(DASHES)]}


def ink() -> str:
    """The colour of text, light on a dark style."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def small() -> float:
    """The size of labels within a figure, in points."""
    from matplotlib import rcParams

    return 0.9 * float(rcParams["font.size"])


def short(name: str, most: int = LONGEST_NAME) -> str:
    """A name on one line, its middle left out where it is long."""
    name = printable(name)
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end].rstrip()}…{name[-end:].lstrip()}"


def calm(ax: Axes) -> None:
    """Two spines are enough."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=small())


def whole_numbers(ax: Axes) -> None:
    """Ticks of the x axis at whole numbers alone."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))


def mark_choice(ax: Axes, x: float, features: int, more: str = "") -> tuple[Line2D, Text]:
    """A line where the chosen model is, and its size on top."""
    line = ax.axvline(x, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.1, zorder=1.5)
    line.set_clip_on(False)  # at the edge, too, it has its whole width
    low, high = ax.get_xlim()
    share = (x - low) / (high - low) if high != low else 0.5
    side = "left" if share < 0.15 else "right" if share > 0.85 else "center"
    text = ax.annotate(
        f"chosen: {count(features, 'feature') if features else 'no features'}{more}",
        (x, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 4),
        textcoords="offset points",
        ha=side,
        va="bottom",
        color=ink(),
        fontsize=small(),
    )
    return line, text


def spread_apart(wanted: Array, gap: float, low: float = 0.0, high: float = 1.0) -> Array:
    """Places between two ends, at least `gap` apart, as near to those wanted as that allows.

    Least squares: with the gaps taken away, the places must ascend, and what is nearest to the
    wanted ones then is their isotonic regression. Too many for the gap are set closer.
    """
    from scipy.optimize import isotonic_regression

    if wanted.size == 0:
        return wanted
    gap = min(gap, (high - low) / max(wanted.size - 1, 1))
    order = np.argsort(wanted, kind="stable")
    gaps = gap * np.arange(wanted.size)
    ascending = isotonic_regression(wanted[order] - gaps).x
    placed = np.empty_like(wanted)
    placed[order] = np.clip(ascending, low, high - gaps[-1]) + gaps
    return placed


def label_ends(
    ax: Axes, ends: Array, names: Sequence[str], styles: Sequence[dict[str, Any]], side: str
) -> list[Text]:
    """Names beside the axes, each led to from where its line ends, none over another.

    Limits of the axes must be as they will be: labels don't move with them.
    """
    from matplotlib.lines import Line2D

    low, high = ax.get_ylim()
    height = ax.bbox.height * 72 / ax.figure.dpi
    gap = 1.3 * small() / height
    wanted = (np.asarray(ends, float) - low) / (high - low)
    places = spread_apart(wanted, gap, gap / 2, 1 - gap / 2)
    edge, out = (1.0, 1.0) if side == "right" else (0.0, -1.0)
    texts = []
    for at, place, name, style in zip(wanted, places, names, styles, strict=True):
        ax.add_artist(
            Line2D(
                [edge + 0.005 * out, edge + 0.025 * out, edge + 0.032 * out],
                [at, place, place],
                transform=ax.transAxes,
                color=style["color"],
                linewidth=1.1,
                clip_on=False,
            )
        )
        texts.append(
            ax.text(
                edge + 0.04 * out,
                place,
                short(name),
                transform=ax.transAxes,
                ha="left" if side == "right" else "right",
                va="center_baseline",
                color=ink(),
                fontsize=small(),
                parse_math=False,
            )
        )
    return texts


def nothing_to_draw(ax: Axes, why: str) -> None:
    """A word in the middle of empty axes."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color=MUTED)
