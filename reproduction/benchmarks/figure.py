"""The figure: how many times quicker than each peer, on a logarithmic axis, as SVG.

Written by hand: it needs no library, its text has the reader's own font, and two figures differ
where numbers do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from reproduction.benchmarks.ours import OURS
from reproduction.benchmarks.outcomes import Outcome
from reproduction.benchmarks.pages import DESCRIPTION, measured
from reproduction.benchmarks.peers import YARDSTICKS


@dataclass(frozen=True)
class Colours:
    """Those of one background."""

    paper: str
    ink: str
    muted: str
    faint: str
    quick: str
    slow: str


# GitHub's own papers; the dots are of Okabe and Ito (2008), told apart by the colour-blind, too.
LIGHT = Colours("#ffffff", "#1f2328", "#59636e", "#d8dee4", "#0072b2", "#d55e00")
DARK = Colours("#0d1117", "#f0f6fc", "#9198a1", "#30363d", "#56b4e9", "#f0883e")

WIDTH = 860
LEFT, RIGHT = 376, 676  # of the axis
ROW, PROBLEM_GAP, GROUP_GAP = 17, 5, 30
TOP, BOTTOM = 78, 20
FONT = "-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Line:
    """All comparisons with one peer on one problem, and where they go."""

    y: float
    group: str  # named on the first line of each
    problem: str  # likewise
    peer: str
    outcomes: tuple[Outcome, ...]


def svg(found: Iterable[Outcome], colours: Colours) -> str:
    """The figure as text."""
    lines = _lines([one for one in found if _is_shown(one)])
    height = (lines[-1].y if lines else TOP) + ROW / 2 + BOTTOM
    low, high = _range([one for line in lines for one in line.outcomes])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" font-family="{FONT}" font-size="12" role="img">',
        f"<title>{escape(DESCRIPTION)}</title>",
        f'<rect width="{WIDTH}" height="{height:g}" fill="{colours.paper}"/>',
        *_key(colours),
        *_axis(low, high, height - BOTTOM, colours),
    ]
    for line in lines:
        parts += _line(line, low, high, colours)
    return "\n".join([*parts, "</svg>", ""])


def _is_shown(one: Outcome) -> bool:
    """Times against peers; yardsticks and functions of our own are for the tables."""
    c = one.comparison
    peer = c.against not in YARDSTICKS and c.against not in OURS
    return peer and c.measured == "time" and one.ratio is not None


def _lines(found: Sequence[Outcome]) -> list[Line]:
    """Comparisons by group, problem and peer, from top to bottom."""
    lines: list[Line] = []
    y = float(TOP)
    for group, in_group in groupby(found, key=lambda one: one.case.group):
        y += GROUP_GAP
        heading = group
        for problem, here in groupby(in_group, key=lambda one: one.case.label):
            by_peer: dict[str, list[Outcome]] = {}
            for one in here:
                by_peer.setdefault(one.comparison.against, []).append(one)
            for peer, all_of_it in by_peer.items():
                lines.append(Line(y, heading, problem, peer, tuple(all_of_it)))
                heading = problem = ""
                y += ROW
            y += PROBLEM_GAP
    return lines


def _range(found: Sequence[Outcome]) -> tuple[float, float]:
    """The powers of ten between which all ratios lie, with some air."""
    powers = [-math.log10(one.ratio) for one in found if one.ratio]
    return min([*powers, -1.0]) - 0.2, max([*powers, 1.0]) + 0.2


def _place(power: float, low: float, high: float) -> float:
    return LEFT + (RIGHT - LEFT) * (power - low) / (high - low)


def _key(colours: Colours) -> list[str]:
    """What a dot says, at the top."""
    dots = (
        (20, "quicker", colours.quick, True),
        (104, "slower", colours.slow, True),
        (182, "hollow: with a worse answer", colours.muted, False),
    )
    parts = [_text(16, 20, "How many times quicker than its peers", colours.ink, "start", True)]
    for x, words, colour, filled in dots:
        parts.append(_dot(x + 2, 42, colour, filled, colours.paper))
        parts.append(_text(x + 12, 42, words, colours.muted, "start"))
    return parts


def _axis(low: float, high: float, bottom: float, colours: Colours) -> list[str]:
    """A line per decade, that of equal time stronger."""
    parts = []
    for power in range(math.ceil(low), math.floor(high) + 1):
        x = _place(power, low, high)
        equal = power == 0
        colour, width = (colours.muted, 1.5) if equal else (colours.faint, 1)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom:g}" stroke="{colour}" '
            f'stroke-width="{width}"/>'
        )
        name = "equal" if equal else f"{10**power}×" if power > 0 else f"1/{10**-power}"
        parts.append(_text(x, TOP - 10, name, colours.ink if equal else colours.muted))
    return parts


def _line(line: Line, low: float, high: float, colours: Colours) -> list[str]:
    """Problem, peer, a dot per comparison, and our functions in the order of the dots."""
    parts = []
    if line.group:
        parts.append(_text(16, line.y - ROW - 2, line.group, colours.ink, "start", True))
    if line.problem:
        parts.append(_text(16, line.y, line.problem, colours.muted, "start"))
    parts.append(_text(LEFT - 12, line.y, _peer(line.peer), colours.ink, "end"))
    order = sorted(line.outcomes, key=lambda one: one.ratio or 0.0, reverse=True)
    for one in order:
        assert one.ratio is not None
        x = _place(-math.log10(one.ratio), low, high)
        colour = colours.quick if one.ratio <= 1 else colours.slow
        words = f"{one.comparison.ours}, {one.comparison.against}: {measured(one)}"
        parts.append(_dot(x, line.y, colour, one.as_good, colours.paper, words))
    names = ", ".join(dict.fromkeys(_function(one) for one in order))
    parts.append(_text(RIGHT + 14, line.y, _cut(names), colours.muted, "start"))
    return parts


def _peer(name: str) -> str:
    """Long names, shortened."""
    return {
        "scikit-learn SequentialFeatureSelector": "SequentialFeatureSelector",
        "SequentialFeatureSelector, told the number": "the same, told the number",
        "the same rounds on Clarabel": "ARD rounds on Clarabel",
    }.get(name, name)


def _function(one: Outcome) -> str:
    """What was called, without its words."""
    return one.comparison.ours.split(",")[0].split("(")[0]


def _cut(names: str, most: int = 24) -> str:
    return names if len(names) <= most else names[: names.rindex(",", 0, most)] + ", …"


def _text(
    x: float, y: float, words: str, colour: str, anchor: str = "middle", strong: bool = False
) -> str:
    weight = ' font-weight="600"' if strong else ""
    return (
        f'<text x="{x:.1f}" y="{y + 4:g}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{escape(words)}</text>"
    )


def _dot(x: float, y: float, colour: str, filled: bool, paper: str, words: str = "") -> str:
    title = f"<title>{escape(words)}</title>" if words else ""
    return (
        f'<circle cx="{x:.1f}" cy="{y:g}" r="4.5" fill="{colour if filled else paper}" '
        f'stroke="{colour if not filled else paper}" stroke-width="{1 if filled else 2}">'
        f"{title}</circle>"
    )
