"""The common style of all figures: colours, axes, and labels that don't overlap."""

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
"""The colour-blind safe palette of Okabe and Ito (2008), without black and yellow."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)))
"""Dashes for colours that repeat."""

MUTED = "#8a8a8a"
FAINT = "#c9c9c9"

LONGEST_NAME = 26
"""Longer names are cut in the middle, since many begin alike and many end alike."""


def need_matplotlib() -> None:
    """Raise an error that says how to install matplotlib if it is missing."""
    try:
        import matplotlib.pyplot  # noqa: F401  (availability check)
    except ImportError:
        raise ImportError(
            "Figures need matplotlib; install it with: pip install 'sparsewise[plot]'"
        ) from None


def new_axes(width: float, height: float, panels: int = 1) -> Any:
    """The Axes of a new figure of this size in inches; of several panels, an array of them."""
    need_matplotlib()
    from matplotlib.pyplot import subplots

    return subplots(panels, 1, sharex=True, figsize=(width, height), layout="constrained")[1]


def colour(i: int) -> dict[str, Any]:
    """Colour and line style of the i-th of several lines."""
    turn, which = divmod(i, len(COLOURS))
    return {"color": COLOURS[which], "linestyle": DASHES[turn % len(DASHES)]}


def ink() -> str:
    """The text colour of the current matplotlib style."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def small() -> float:
    """The size of labels within a figure, in points."""
    from matplotlib import rcParams

    return 0.9 * float(rcParams["font.size"])


def short(name: str, most: int = LONGEST_NAME) -> str:
    """A name on one line, with its middle cut out if it is long."""
    name = printable(name)
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end].rstrip()}…{name[-end:].lstrip()}"


def calm(ax: Axes) -> None:
    """Hide the top and right spines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=small())


def whole_numbers(ax: Axes) -> None:
    """Put ticks of the x axis at integers only."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))


def mark_choice(ax: Axes, x: float, features: int, more: str = "") -> tuple[Line2D, Text]:
    """Draw a vertical line at the chosen model, with its size on top."""
    line = ax.axvline(x, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.1, zorder=1.5)
    line.set_clip_on(False)  # full width even at the edge
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


def spread_apart(targets: Array, gap: float, low: float = 0.0, high: float = 1.0) -> Array:
    """Positions in [low, high], at least `gap` apart, as close to the targets as possible.

    Least squares: with the gaps subtracted, positions must ascend, so that the closest ones are the
    isotonic regression of the targets. The gap shrinks if there are too many.
    """
    from scipy.optimize import isotonic_regression

    if targets.size == 0:
        return targets
    gap = min(gap, (high - low) / max(targets.size - 1, 1))
    order = np.argsort(targets, kind="stable")
    gaps = gap * np.arange(targets.size)
    ascending = isotonic_regression(targets[order] - gaps).x
    placed = np.empty_like(targets)
    placed[order] = np.clip(ascending, low, high - gaps[-1]) + gaps
    return placed


def label_ends(
    ax: Axes, ends: Array, names: Sequence[str], styles: Sequence[dict[str, Any]], side: str
) -> list[Text]:
    """Label lines at one side of the axes, each connected to its line's end, without overlap.

    The limits of the axes must be final: labels don't move with them.
    """
    from matplotlib.lines import Line2D

    low, high = ax.get_ylim()
    height = ax.bbox.height * 72 / ax.figure.dpi
    gap = 1.3 * small() / height
    heights = (np.asarray(ends, float) - low) / (high - low)
    places = spread_apart(heights, gap, gap / 2, 1 - gap / 2)
    edge, out = (1.0, 1.0) if side == "right" else (0.0, -1.0)
    texts = []
    for at, place, name, style in zip(heights, places, names, styles, strict=True):
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
    """Show a message in the middle of empty axes."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color=MUTED)
