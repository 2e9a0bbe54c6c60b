"""How contenders look in figures: colours, markers, names with their subscripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from reproduction.beyond import SOLVE
from reproduction.declaration import Experiment
from reproduction.paper import ALL

COLOURS = (
    *("#999999", "#222222", "#e69f00", "#56b4e9", "#0072b2"),
    *("#cc79a7", "#d55e00", "#7fcdb0", "#00805c"),
)
MARKERS = "v^soPDX<>"

OURS = "#c2185b"
"""The colour of `solve`."""

LOOKS = {one.label: pair for one, pair in zip(ALL, zip(COLOURS, MARKERS, strict=True), strict=True)}
LOOKS[SOLVE.label] = OURS, "*"
"""Colour (after Okabe and Ito, for all kinds of sight) and marker, the same in every figure."""

SPARE_COLOURS = (
    *("#0072b2", "#d55e00", "#00805c", "#cc79a7"),
    *("#e69f00", "#222222", "#56b4e9", "#999999"),
)
SPARE = tuple(zip(SPARE_COLOURS, "osD^vPX<", strict=True))
"""For contenders that have no looks of their own."""

HERE: Any = {"color": "#444444", "markersize": 5.5, "linewidth": 2.2}
RING: Any = {
    "markersize": 10.5,
    "markerfacecolor": "none",
    "markeredgecolor": "#333333",
    "markeredgewidth": 1.1,
    "zorder": 5,
}


def paper_legend(figure: Figure) -> None:
    """What dots and rings are."""
    handles = [
        Line2D([], [], label="here, 95 % interval", marker="o", **HERE),
        Line2D([], [], label="paper", marker="o", linestyle="", **RING),
    ]
    figure.legend(handles=handles, loc="upper right", ncols=2, fontsize="small")


def look(experiment: Experiment, label: str) -> tuple[str, str]:
    """Colour and marker of a contender: its own if it has them, else those that are left."""
    if label in LOOKS:
        return LOOKS[label]
    known = {LOOKS[one.label][0] for one in experiment.contenders if one.label in LOOKS}
    others = [one.label for one in experiment.contenders if one.label not in LOOKS]
    spare = [pair for pair in SPARE if pair[0] not in known] or list(SPARE)
    place = others.index(label)
    colour = spare[place % len(spare)][0]
    # When colours begin anew, markers don't.
    return colour, spare[(place + place // len(spare)) % len(spare)][1]


def pretty(label: str) -> str:
    """A label with its subscripts set, and nothing else taken for a formula."""
    return safe(label).replace("RMP₀", "RMP$_0$").replace("RMP_σ", r"RMP$_\sigma$")


def safe(text: str) -> str:
    """Text that nothing is taken for a formula in."""
    return text.replace("$", r"\$")


def darker(colour: str) -> tuple[float, float, float]:
    """For writing: light colours are hard to read."""
    red, green, blue = to_rgb(colour)
    return 0.8 * red, 0.8 * green, 0.8 * blue


# --- dots with intervals, a line for each contender -----------------------------------------------


def dot_panels(
    title: str, heads: Sequence[str], colours: Mapping[str, str], lines: Mapping[str, float],
    width: tuple[float, float], height: tuple[float, float],
) -> tuple[Figure, list[Axes]]:  # fmt: skip
    """Panels under their heads, with the names of contenders at the left, at these heights.

    `width` and `height` are those of the frame and of each panel, or line.
    """
    bottom = max(lines.values())
    size = width[0] + width[1] * len(heads), height[0] + height[1] * bottom
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(1, len(heads), sharey=True, squeeze=False)[0])
    for ax, head in zip(axes, heads, strict=True):
        ax.set_title(head)
        ax.set_ylim(bottom + 0.65, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[0].set_yticks(list(lines.values()), [pretty(label) for label in lines])
    for tick, label in zip(axes[0].get_yticklabels(), lines, strict=True):
        tick.set_color(darker(colours[label]))
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    return figure, axes


def dot(ax: Axes, line: float, colour: str, value: float, interval: tuple[float, float]) -> None:
    """A value with its interval."""
    ax.plot(interval, [line, line], color=colour, linewidth=2.2, alpha=0.6)
    ax.plot(value, line, "o", color=colour, markersize=5.5)


def show_rates(figure: Figure, axes: Iterable[Axes], *, paper: bool) -> None:
    """Axes from none to all supports, and what rings mean."""
    for ax in axes:
        ax.set(xlim=(-0.04, 1.04), xticks=(0, 0.5, 1))
    figure.supxlabel("supports recovered", fontsize="medium")
    if paper:
        paper_legend(figure)
