"""The table of the README and the page of all comparisons: ratios, as times don't travel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from reproduction.benchmarks.cases import Comparison
from reproduction.benchmarks.ours import OURS
from reproduction.benchmarks.outcomes import Outcome
from reproduction.benchmarks.peers import ARRAY, GEMVS, THOUSAND, YARDSTICKS
from reproduction.benchmarks.table import percent, versions
from reproduction.measure import duration
from reproduction.tables import markdown

DESCRIPTION = "How many times quicker than each peer, on a logarithmic axis"

TEMPLATE = Path(__file__).with_name("page.md")


def readme(found: Sequence[Outcome]) -> str:
    """What stands between the markers: the figure, the headlines, and where to read on."""
    lines = [
        *_picture("docs/"),
        "",
        _summary(found),
        "",
        _table([one for one in found if one.comparison.headline]),
        "",
        "All comparisons, and how they are made: [docs/benchmarks.md](docs/benchmarks.md).",
    ]
    return "\n".join(lines)


def page(found: Sequence[Outcome]) -> str:
    """The whole page: every comparison, by group, and the method."""
    groups = dict.fromkeys(one.case.group for one in found)
    tables = [
        f"## {group}\n\n{_table([one for one in found if one.case.group == group])}"
        for group in groups
    ]
    parts = {"{picture}": "\n".join(_picture("")), "{summary}": _summary(found)}
    parts |= {"{tables}": "\n\n".join(tables), "{versions}": versions()}
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


def _picture(folder: str) -> list[str]:
    """The figure, light or dark as the page it is on."""
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{folder}benchmarks-dark.svg">',
        f'  <img alt="{DESCRIPTION}" src="{folder}benchmarks.svg">',
        "</picture>",
    ]


def _summary(found: Iterable[Outcome]) -> str:
    """How many targets were reached, and that none is hidden."""
    aimed = [one for one in found if one.comparison.bound is not None]
    reached = sum(one.verdict == "reached" for one in aimed)
    return f"{reached} of {len(aimed)} targets are reached; those that are not are shown, too."


def _table(found: Sequence[Outcome]) -> str:
    """One row per comparison; a problem is named once."""
    memory = any(part is not None for one in found for part in one.memory)
    head = ["problem", "sparsewise", "against", "measured", "answers"]
    rows, title = [head + (["memory", "target"] if memory else ["target"])], ""
    for one in found:
        rows.append(_row(one, "" if one.case.title == title else one.case.title, memory))
        title = one.case.title
    return markdown(rows)


def _row(one: Outcome, title: str, memory: bool) -> list[str]:
    c = one.comparison
    target = "" if c.bound is None else f"{_limit(c, c.bound)}: {one.verdict}"
    cells = [title, f"`{c.ours}`", _name(c.against), measured(one), one.answers]
    cells += [_memory(one), target] if memory else [target]
    return [cell.replace("|", "\\|") for cell in cells]


def _name(against: str) -> str:
    """Functions of our own are told from peers."""
    if against.startswith("bare "):
        return f"bare `{against.removeprefix('bare ')}`"
    return f"our `{against}`" if against in OURS else against


def _memory(one: Outcome) -> str:
    if one.memory == (None, None):
        return ""
    parts = one.memory[:1] if one.comparison.against in YARDSTICKS else one.memory
    return " : ".join("?" if part is None else percent(part) for part in parts)


def measured(one: Outcome) -> str:
    """The figure as a reader would say it, or why there is none."""
    if one.figure is None:
        return f"failed: {one.failure}"
    return _words(one.comparison, one.figure)


def _words(c: Comparison, figure: float) -> str:
    if c.against == GEMVS:
        return f"{figure:.2f} GEMVs per step"
    if c.against == THOUSAND:
        return f"{1000 * figure:,.0f} GEMVs"
    if c.measured == "extra time":
        return f"{duration(abs(figure))} {'more' if figure >= 0 else 'less'}"
    if c.against == ARRAY:
        return f"{percent(figure)} of it as extra memory"
    if figure > 0.8:
        return f"{figure:.2f}× the time"
    return f"{1 / figure:,.{0 if figure < 0.1 else 1}f}× quicker"


def _limit(c: Comparison, bound: float) -> str:
    """A bound as a reader would say it."""
    if bound == 1.0 and c.strict:
        return "quicker"
    words = _words(c, bound)
    if words.endswith("quicker"):
        return f"at least {words}"
    return f"less than {words}" if c.strict else f"at most {words}"
