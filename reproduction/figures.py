"""Figures of experiments, as PNG and SVG; they need matplotlib (extra: plot)."""

from __future__ import annotations

import io
import itertools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from reproduction import units
from reproduction.beyond import SOLVE
from reproduction.claims import (
    bound_curves,
    errors_at,
    growths,
    mean_and_error,
    transitions,
)
from reproduction.comparison import compared, kind_of
from reproduction.declaration import Experiment, equations
from reproduction.document import TEXTS
from reproduction.figures_by_information import draw_false_features, draw_rates
from reproduction.paper import THEOREM
from reproduction.style import (
    MARKERS,
    RING,
    darker,
    dot,
    dot_panels,
    look,
    pretty,
    safe,
    show_rates,
)  # fmt: skip
from reproduction.tables import Row, by, succeeded
from reproduction.units import Record
from sparsewise._typing import Array
from sparsewise.plots.recovery_probability import draw_bounds

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "legend.frameon": False,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    # The same figure gives the same file.
    "svg.hashsalt": "sparsewise",
    "svg.fonttype": "path",
}

AXIS_LABELS = {
    "n": "rows n",
    "m": "columns m",
    "k": "non-zero coefficients k",
    "targets": "targets q",
    "noise": "norm of the noise ‖ε‖",
    "delta": "tolerance δ",
    "sampling": "sampling ratio n/m",
    "sparsity": "sparsity ratio k/n",
}

MOST_FIGURES = 6
"""An experiment with more than two axes is cut into at most so many figures."""


class Picture(NamedTuple):
    """A figure with its name (for files) and what it shows (for people who can't see it)."""

    name: str
    caption: str
    figure: Figure


def pictures(experiment: Experiment, results: list[Row], records: list[Record]) -> list[Picture]:
    """All figures of an experiment; none if nothing was run to its end.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    results, values : DataFrame
        Its rows of the two tables of an `Outcome`.
    """
    kind = kind_of(experiment)
    with rc_context(STYLE):
        if kind == "rates":
            return _rates(experiment, results)
        figure = KINDS[kind](experiment, results, records) if kind in KINDS else None
        return [] if figure is None else [Picture(experiment.name, TEXTS["captions"][kind], figure)]


def save(picture: Picture, folder: Path) -> None:
    """Write NAME.png, 200 dots an inch, and NAME.svg."""
    about = {"Date": None, "Creator": None, "Title": picture.caption}
    with rc_context(STYLE), warnings.catch_warnings():
        # A sign that the font lacks is a box, a name that is too long is cut: not worth a word.
        warnings.simplefilter("ignore")
        _save(picture, folder, "png", dpi=200, metadata={"Software": None})
        # What is laid out once needn't be laid out again.
        picture.figure.set_layout_engine("none")
        _save(picture, folder, "svg", metadata=about)


def _save(picture: Picture, folder: Path, kind: str, **options: Any) -> None:
    image = io.BytesIO()
    picture.figure.savefig(image, format=kind, **options)
    units.write(folder / f"{picture.name}.{kind}", image.getvalue())


# --- the paper's ----------------------------------------------------------------------------------


def _table(experiment: Experiment, results: list[Row], records: list[Record]) -> Figure | None:
    """One panel for each k, one line for each contender: dots, intervals, the paper's as rings."""
    cells = compared(results, experiment.name)
    if not cells:
        return None
    panels = {f"k = {k}": {"k": k} for k in sorted({cell.k for cell in cells})}
    paper = {(cell.label, f"k = {cell.k}"): cell.paper for cell in cells}
    return _dots(experiment, results, experiment.title, panels, paper)


def _phase(experiment: Experiment, results: list[Row], records: list[Record]) -> Figure | None:
    return _heat(experiment, results, "Support recovery, m = 128", "sampling", "sparsity")


def _timing(experiment: Experiment, results: list[Row], records: list[Record]) -> Figure | None:
    found = growths(results)
    if not found:
        return None
    figure, ax = _single(8.4, 5.6)
    ends: dict[str, tuple[float, float, str]] = {}
    for growth in found:
        colour, marker = look(experiment, growth.label)
        sizes, seconds = list(growth.seconds), list(growth.seconds.values())
        ax.plot(sizes, seconds, color=colour, marker=marker, linewidth=1.8)
        slope = "" if growth.fit is None else rf" $m^{{\,{growth.fit.slope:.1f}}}$"
        ends[growth.label] = (sizes[-1], seconds[-1], pretty(growth.label) + slope)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda m, _: f"{m:g}"))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda s, _: brief_seconds(s)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks(sorted({m for growth in found for m in growth.seconds}))
    ax.set(xlabel="columns m", ylabel="median time of a solution")
    ax.set_title("Time against size, n = m/2, k = m/4")
    _label_ends(experiment, ax, ends)
    return figure


def _bounds(experiment: Experiment, results: list[Row], records: list[Record]) -> Figure | None:
    curves = bound_curves(records)
    if not curves:
        return None
    kinds = {one.label: one.algorithm for one in experiment.contenders}
    printed, others = curves.pop(THEOREM.label, {}), {}
    for label, by_size in curves.items():
        # The others hardly depend on k: the largest tells most.
        k = max(by_size)
        same = all(np.allclose(by_size[k][1], curve[1]) for curve in by_size.values())
        name = f"{label}, {'any k' if same and len(by_size) > 1 else f'k = {k}'}"
        others[kinds[label]] = (name, by_size[k])
    figure, ax = _single(8.0, 5.0)
    draw_bounds(ax, THEOREM.label, printed, others)
    ax.set_title("Bounds for OMP and Forward Regression, m = 16, orthonormal columns")
    return figure


def _boston(experiment: Experiment, results: list[Row], records: list[Record]) -> Figure | None:
    sizes = np.geomspace(1, 256, 65)
    curves = {label: mean_and_error(many) for label, many in errors_at(records, sizes).items()}
    curves = {label: pair for label, pair in curves.items() if np.isfinite(pair[0]).any()}
    if not curves:
        return None
    figure, ax = _single(8.4, 5.4)
    for label, (mean, error) in curves.items():
        colour, _ = look(experiment, label)
        ax.fill_between(sizes, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.15, lw=0)
        ax.plot(sizes, mean, color=colour, linewidth=2, label=pretty(label))
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:g}"))
    ax.set(xlabel="features in the model", ylabel="test RMSE, thousands of dollars")
    ax.set_title("Kernel regression on the Boston housing data")
    # The lines end in one place: names beside them would have to be moved too far.
    ax.legend(loc="upper right")
    return figure


def _beyond_phase(
    experiment: Experiment, results: list[Row], records: list[Record]
) -> Figure | None:
    """Heat maps, and where there is room for one more, all lines in one."""
    figure = _heat(experiment, results, experiment.title, "sampling", "sparsity")
    for ax in [] if figure is None else figure.axes:
        if not ax.get_visible():
            ax.set_visible(True)
            _transition_lines(experiment, results, ax)
            break
    return figure


def _transition_lines(experiment: Experiment, results: list[Row], ax: Axes) -> None:
    for one in transitions(results):
        colour, _ = look(experiment, one.label)
        width = 2.6 if one.label == SOLVE.label else 1.6
        ax.plot(one.sampling, one.sparsity, color=colour, linewidth=width, label=pretty(one.label))
    ax.set(title="half recovered", xlabel=AXIS_LABELS["sampling"])
    ax.legend(fontsize="small")


def _shared_support(
    experiment: Experiment, results: list[Row], records: list[Record]
) -> Figure | None:
    """A panel for each contender, a line with its Wilson band for each number of targets."""
    found = {one.label: _of(results, one.label) for one in experiment.contenders}
    found = {label: rows for label, rows in found.items() if rows}
    if not found:
        return None
    figure = Figure(figsize=(1.4 + 3.1 * len(found), 4.2), layout="constrained")
    axes = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for ax, (label, rows) in zip(axes, found.items(), strict=True):
        rows.sort(key=lambda row: (row["targets"], row["k"]))
        for q, line in by(rows, lambda row: row["targets"]).items():
            place = experiment.grid["targets"].index(q)
            _band(ax, "k", line, SHADES[place], marker=MARKERS[place], label=f"{q}")
        ax.set(title=pretty(label), xlabel=AXIS_LABELS["k"], ylim=(-0.02, 1.02))
    axes[0].set_ylabel("supports recovered")
    axes[0].yaxis.set_major_formatter(PercentFormatter(1))
    axes[-1].legend(title="targets", loc="lower left", reverse=True)
    figure.suptitle(safe(experiment.title), x=0.01, ha="left", fontweight="bold")
    return figure


SHADES = ("#999999", "#56b4e9", "#0072b2", "#1b2a49")
"""The more targets, the darker."""

KINDS: dict[str, Callable[[Experiment, list[Row], list[Record]], Figure | None]] = {
    "table": _table,
    "phase": _phase,
    "timing": _timing,
    "bounds": _bounds,
    "boston": _boston,
    "beyond": draw_rates,
    "false_features": draw_false_features,
    "beyond_phase": _beyond_phase,
    "shared_support": _shared_support,
}
"""The figure of each kind of experiment that has one; `sections.KINDS` has the text."""


# --- one's own ------------------------------------------------------------------------------------


def _rates(experiment: Experiment, results: list[Row]) -> list[Picture]:
    """By as many axes as vary: dots, lines, or heat maps."""
    if experiment.task != "recovery" or not succeeded(results, "rate"):
        return []
    stem, title = file_name(experiment.name), safe(experiment.title)
    varying = sorted(experiment.varying(), key=lambda name: -len(experiment.grid[name]))
    if not varying:
        figure = _dots(experiment, results, title, {"": {}}, {})
        return [Picture(stem, "How often the support is recovered, with 95 % intervals.", figure)]
    if len(varying) == 1:
        return [_curves(experiment, results, varying[0], stem)]
    found = []
    x, y = sorted(varying[:2], key=list(experiment.grid).index, reverse=True)
    others = itertools.product(*(experiment.grid[name] for name in varying[2:]))
    for combination in itertools.islice(others, MOST_FIGURES):
        fixed = dict(zip(varying[2:], combination, strict=True))
        where = equations(fixed)
        shown = f"{title} ({where})" if where else title
        if heat := _heat(experiment, _at(results, fixed), shown, x, y):
            name = "-".join([stem, *(f"{name}{value:g}" for name, value in fixed.items())])
            at = f", at {where}" if where else ""
            caption = f"How often the support is recovered, by {x} and {y}{at}."
            found.append(Picture(name, caption, heat))
    return found


def _curves(experiment: Experiment, results: list[Row], axis: str, stem: str) -> Picture:
    """A line with its Wilson band for each contender."""
    figure, ax = _single(8.0, 5.0)
    ends = {}
    for contender in experiment.contenders:
        rows = sorted(_of(results, contender.label), key=lambda row: row[axis])
        if rows:
            colour, marker = look(experiment, contender.label)
            _band(ax, axis, rows, colour, marker=marker)
            ends[contender.label] = (rows[-1][axis], rows[-1]["rate"], pretty(contender.label))
    values = np.array(experiment.grid[axis], dtype=float)
    if values.min() > 0 and values.max() / values.min() >= 30:
        ax.set_xscale("log")
    ax.set(xlabel=AXIS_LABELS.get(axis, axis), ylabel="supports recovered", ylim=(-0.02, 1.02))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set_title(safe(experiment.title))
    _label_ends(experiment, ax, ends)
    caption = f"How often the support is recovered, by {axis}; bands are 95 % intervals."
    return Picture(stem, caption, figure)


# --- kinds of drawing -----------------------------------------------------------------------------


def _dots(
    experiment: Experiment,
    results: list[Row],
    title: str,
    panels: Mapping[str, Mapping[str, Any]],
    paper: Mapping[tuple[str, str], float],
) -> Figure:
    """Rates as dots with intervals, a line for each contender; the paper's values as rings."""
    lines = {one.label: float(i) for i, one in enumerate(experiment.contenders)}
    colours = {label: look(experiment, label)[0] for label in lines}
    figure, axes = dot_panels(title, list(panels), colours, lines, (2.6, 2.2), (1.86, 0.36))
    for ax, (head, where) in zip(axes, panels.items(), strict=True):
        for row in succeeded(_at(results, where), "rate"):
            label = row["algorithm"]
            dot(ax, lines[label], colours[label], row["rate"], (row["low"], row["high"]))
        for label in lines:
            if (label, head) in paper:
                ax.plot(paper[label, head], lines[label], "o", **RING)
    for tick in axes[0].get_yticklabels():
        tick.set_fontweight("bold")
    show_rates(figure, axes, paper=bool(paper))
    return figure


def _heat(experiment: Experiment, results: list[Row], title: str, x: str, y: str) -> Figure | None:
    """Heat maps side by side, one for each contender, with one colour bar."""
    rates = {one.label: _of(results, one.label) for one in experiment.contenders}
    labels = [label for label, rows in rates.items() if rows]
    if not labels:
        return None
    across = min(3, len(labels))
    down = math.ceil(len(labels) / across)
    figure = Figure(figsize=(1.6 + 3.2 * across, 0.9 + 3.1 * down), layout="constrained")
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    at = {name: sorted(set(experiment.grid[name])) for name in (x, y)}
    place = {name: _places(at[name]) for name in at}
    edges = [_edges(place[name]) for name in (x, y)]
    for ax in axes.flat[len(labels) :]:
        ax.set_visible(False)
    for ax, label in zip(axes.flat, labels, strict=False):
        grid = _grid(rates[label], x, y, at)
        mesh = ax.pcolormesh(*edges, grid, cmap="viridis", vmin=0, vmax=1)
        ax.grid(visible=False)
        _half_line(ax, place[x], place[y], grid)
        ax.set_title(pretty(label))
    _mark(axes[0, 0].xaxis, at[x], place[x])
    _mark(axes[0, 0].yaxis, at[y], place[y])
    for ax in axes[-1]:
        ax.set_xlabel(AXIS_LABELS.get(x, x))
    for row in axes:
        row[0].set_ylabel(AXIS_LABELS.get(y, y))
    bar = figure.colorbar(mesh, ax=axes, label="supports recovered", shrink=0.95, pad=0.015)
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1))
    bar.ax.axhline(0.5, color="white", linewidth=1.8)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    return figure


def _places(values: Sequence[float]) -> Array:
    """Where the cells of an axis are: at their values, or in a row if the values are uneven."""
    at = np.asarray(values, dtype=float)
    even = at.size < 3 or np.allclose(np.diff(at), at[1] - at[0])
    return at if even else np.arange(at.size, dtype=float)


def _mark(axis: Axis, values: Sequence[float], places: Array) -> None:
    """Ticks at the cells, where there are few, or where the axis alone would not tell them."""
    if len(values) <= 8 or not np.array_equal(values, places):
        axis.set_ticks(places, [f"{value:g}" for value in values])


def _half_line(ax: Axes, x: Array, y: Array, grid: Array) -> None:
    """Where half are recovered, if there is such a place."""
    if min(grid.shape) < 2 or not np.nanmin(grid) < 0.5 < np.nanmax(grid):
        return
    half = ax.contour(x, y, np.ma.masked_invalid(grid), levels=[0.5], colors="white")
    half.set(linewidth=2.0, path_effects=[withStroke(linewidth=3.4, foreground="#222222")])


def _grid(rows: list[Row], x: str, y: str, at: Mapping[str, Sequence[float]]) -> Array:
    """The rates as a matrix, NaN where there is none."""
    grid = np.full((len(at[y]), len(at[x])), np.nan)
    for row in rows:
        grid[at[y].index(row[y]), at[x].index(row[x])] = row["rate"]
    return grid


def _edges(at: Array) -> Array:
    """Borders of cells around these places."""
    if at.size == 1:
        return np.array([at[0] - 0.5, at[0] + 0.5])
    middle = (at[1:] + at[:-1]) / 2
    return np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])


def _single(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _label_ends(
    experiment: Experiment, ax: Axes, ends: Mapping[str, tuple[float, float, str]]
) -> None:
    """Write each name beside the end of its line, moved apart where they would overlap."""
    ax.margins(x=0.03)
    # Limits are worked out when they are asked for, and the transform below does not ask.
    ax.get_xlim(), ax.get_ylim()
    to_axes = ax.transData + ax.transAxes.inverted()
    height = {label: float(to_axes.transform((x, y))[1]) for label, (x, y, _) in ends.items()}
    order = sorted(ends, key=height.__getitem__)
    heights = spread([height[label] for label in order], 0.056)
    for label, moved in zip(order, heights, strict=True):
        x, y, text = ends[label]
        colour = look(experiment, label)[0]
        arrow = ARROW | {"color": colour}
        ax.annotate(text, (x, y), (1.05, moved), color=darker(colour), arrowprops=arrow, **BESIDE)


BESIDE: Any = {"textcoords": "axes fraction", "va": "center", "fontweight": "bold"}
ARROW = {"arrowstyle": "-", "linewidth": 0.8, "relpos": (0.0, 0.5), "shrinkA": 2, "shrinkB": 3}


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Rising places, moved as little as needed to be at least a gap apart.

    Neighbours that would overlap become one block about their mean; blocks that then touch become
    one in turn.
    """
    blocks: list[list[float]] = []
    for place in places:
        block = [place]
        while blocks and _bottom(block, gap) < _bottom(blocks[-1], gap) + len(blocks[-1]) * gap:
            block = blocks.pop() + block
        blocks.append(block)
    return [_bottom(block, gap) + i * gap for block in blocks for i in range(len(block))]


def _bottom(block: Sequence[float], gap: float) -> float:
    return sum(block) / len(block) - gap * (len(block) - 1) / 2


# --- looks ----------------------------------------------------------------------------------------


def brief_seconds(seconds: float) -> str:
    """A power of ten of seconds, in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.999:
            return f"{seconds / size:g} {unit}"
    return f"{seconds * 1e9:g} ns"


def file_name(name: str) -> str:
    """A name that is safe for a file, and short enough for more to follow: 255 bytes may be all."""
    kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in name).strip(".")
    return kept.encode()[:160].decode(errors="ignore") or "experiment"


def _at(results: list[Row], where: Mapping[str, Any]) -> list[Row]:
    """The rows with these values."""
    return [row for row in results if all(row[name] == value for name, value in where.items())]


def _of(results: list[Row], label: str) -> list[Row]:
    """The rows of a contender that have a rate."""
    return [row for row in succeeded(results, "rate") if row["algorithm"] == label]


def _band(ax: Axes, axis: str, rows: list[Row], colour: str, **line: Any) -> None:
    """A line of rates with its Wilson band."""
    at, rate, low, high = ([row[name] for row in rows] for name in (axis, "rate", "low", "high"))
    ax.fill_between(at, low, high, color=colour, alpha=0.15, lw=0)
    ax.plot(at, rate, color=colour, linewidth=1.8, **line)
