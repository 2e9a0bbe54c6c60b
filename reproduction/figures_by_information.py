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
from reproduction.style import OURS, RING, dot, dot_panels, safe, show_rates
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
        dot(ax, lines[label], _colour(label), row["rate"], (row["low"], row["high"]))
        if label in printed and row["k"] in sizes:
            ax.plot(printed[label][sizes.index(row["k"])], lines[label], "o", **RING)
    show_rates(figure, panels.values(), paper=bool(printed))
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
            dot(panels[where], lines[label], _colour(label), many.mean, interval)
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


def _panels(
    experiment: Experiment, heads: Mapping[tuple[Number, ...], str]
) -> tuple[Figure, dict[tuple[Number, ...], Axes]]:
    """Panels under their heads, with names at the left, under what they are told."""
    lines = _lines(experiment)
    colours = {label: _colour(label) for label in lines}
    title, size = safe(experiment.title), ((3.2, 1.9), (1.6, 0.27))
    figure, axes = dot_panels(title, list(heads.values()), colours, lines, *size)
    if SOLVE.label in lines:
        middle = lines[SOLVE.label]
        for ax in axes:
            ax.axhspan(middle - 0.5, middle + 0.5, color=BEHIND, linewidth=0, zorder=0)
        axes[0].get_yticklabels()[list(lines).index(SOLVE.label)].set_fontweight("bold")
    for told, labels in _groups(lines).items():
        above = min(lines[label] for label in labels) - 0.9
        axes[0].annotate(
            f"told {told}", (0, above), (-4, 0), xycoords=axes[0].get_yaxis_transform(),
            textcoords="offset points", ha="right", va="center", style="italic", size="small",
        )  # fmt: skip
    return figure, dict(zip(heads, axes, strict=True))


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
