"""Figures by what an algorithm is told: a line for each contender, a panel for each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from reproduction import goals
from reproduction.beyond import FALSE_FEATURES, GROUPS, SOLVE
from reproduction.catalogue import DECLARED
from reproduction.declaration import Experiment, Number
from reproduction.paper import PAPER
from reproduction.style import OURS, RING, darker, paper_legend, pretty, safe
from reproduction.tables import Row, succeeded
from reproduction.units import Record

BY_GROUP = dict(zip(GROUPS, ("#0072b2", "#00805c", "#5aa98c", "#555555"), strict=True))
"""Colours by what contenders are told; `solve` has its own."""

BEHIND = "#fbe4ec"
"""The band behind the line of `solve`."""


def draw_rates(experiment: Experiment, results: list[Row], records: list[Record]) -> Figure | None:
    """How often the support is recovered, with intervals; the paper's values as rings."""
    rows = succeeded(results, "rate")
    if not rows:
        return None
    figure, panels = _panels(experiment, goals.heads(experiment))
    lines = _lines(experiment)
    printed = PAPER.get(experiment.draws, {})
    sizes = DECLARED[experiment.draws].grid["k"] if printed else ()
    for row in rows:
        ax, label = panels[goals.place(experiment, row)], row["algorithm"]
        _dot(ax, lines[label], label, row["rate"], (row["low"], row["high"]))
        if label in printed and row["k"] in sizes:
            ax.plot(printed[label][sizes.index(row["k"])], lines[label], "o", **RING)
    for ax in panels.values():
        ax.set(xlim=(-0.04, 1.04), xticks=(0, 0.5, 1))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:g}"))
    figure.supxlabel("supports recovered", fontsize="medium")
    if printed:
        paper_legend(figure)
    return figure


def draw_false_features(
    experiment: Experiment, results: list[Row], records: list[Record]
) -> Figure | None:
    """How many features come in where there are none; dashed is the most that is aimed at."""
    found = goals.false_features(records)
    if not found:
        return None
    figure, panels = _panels(experiment, goals.sizes(experiment))
    lines = _lines(experiment)
    for label, cells in found.items():
        for where, many in cells.items():
            interval = max(many.mean - 2 * many.error, 0.0), many.mean + 2 * many.error
            _dot(panels[where], lines[label], label, many.mean, interval)
    for where, most in FALSE_FEATURES.items():
        if where in panels:
            panels[where].axvline(most, color=OURS, linewidth=1, linestyle=(0, (4, 3)))
    for ax in panels.values():
        ax.set_xscale("symlog", linthresh=1, linscale=0.8)
        ax.set(xlim=(-0.12, 300), xticks=(0, 1, 10, 100))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda many, _: f"{many:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    figure.supxlabel("false features a fit", fontsize="medium")
    return figure


def _dot(ax: Axes, line: float, label: str, value: float, interval: tuple[float, float]) -> None:
    colour = _colour(label)
    ax.plot(interval, [line, line], color=colour, linewidth=2.2, alpha=0.6)
    ax.plot(value, line, "o", color=colour, markersize=5.5)


def _panels(
    experiment: Experiment, heads: Mapping[tuple[Number, ...], str]
) -> tuple[Figure, dict[tuple[Number, ...], Axes]]:
    """Panels under their heads, with names at the left, under what they are told."""
    lines = _lines(experiment)
    bottom = max(lines.values())
    figure = Figure(figsize=(3.2 + 1.9 * len(heads), 1.6 + 0.27 * bottom), layout="constrained")
    axes = figure.subplots(1, len(heads), sharey=True, squeeze=False)[0]
    for ax, head in zip(axes, heads.values(), strict=True):
        ax.set_title(head)
        ax.set_ylim(bottom + 0.7, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        if SOLVE.label in lines:
            middle = lines[SOLVE.label]
            ax.axhspan(middle - 0.5, middle + 0.5, color=BEHIND, linewidth=0, zorder=0)
    _name(axes[0], lines)
    figure.suptitle(safe(experiment.title), x=0.01, ha="left", fontweight="bold")
    return figure, dict(zip(heads, axes, strict=True))


def _name(ax: Axes, lines: dict[str, float]) -> None:
    """Write names at the left, and above each group what it is told."""
    ax.set_yticks(list(lines.values()), [pretty(label) for label in lines])
    for tick, label in zip(ax.get_yticklabels(), lines, strict=True):
        tick.set_color(darker(_colour(label)))
        tick.set_fontweight("bold" if label == SOLVE.label else "normal")
    for told, labels in _groups(lines).items():
        above = min(lines[label] for label in labels) - 0.9
        ax.annotate(
            f"told {told}", (0, above), (-4, 0), xycoords=ax.get_yaxis_transform(),
            textcoords="offset points", ha="right", va="center", style="italic", size="small",
        )  # fmt: skip


def _lines(experiment: Experiment) -> dict[str, float]:
    """The height of each contender's line, with room above each group."""
    groups = _groups([one.label for one in experiment.contenders])
    order = [label for labels in groups.values() for label in ("", *labels)]
    return {label: float(i) for i, label in enumerate(order) if label}


def _groups(present: Sequence[str] | dict[str, float]) -> dict[str, list[str]]:
    """Those who are present, by what they are told."""
    labels = {
        told: [one.label for one in group if one.label in present] for told, group in GROUPS.items()
    }
    return {told: mine for told, mine in labels.items() if mine}


def _colour(label: str) -> str:
    if label == SOLVE.label:
        return OURS
    told = next(told for told, group in GROUPS.items() if label in [one.label for one in group])
    return BY_GROUP[told]
