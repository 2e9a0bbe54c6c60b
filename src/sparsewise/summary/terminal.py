"""A description on a terminal: calm tables, no colour elsewhere, at most 80 columns."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from rich.box import Box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sparsewise._util.numbers import numerals
from sparsewise._util.progress import is_dumb
from sparsewise._util.text import count, folded, padded, printable, width
from sparsewise.criteria.information import SHORT_NAMES
from sparsewise.summary.contents import Description, PathRow
from sparsewise.summary.plain_text import MARGIN, WIDTH, beside, coefficient_cells, side_by_side
from sparsewise.summary.r2 import r_squared

# One thin rule under the header and nothing else.
RULE = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
PLAIN_RULE = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
# A longer path is shown by its first and last steps.
FIRST_STEPS, LAST_STEPS = 25, 10
# Of a way back from many features the end tells more: there the model is small.
FIRST_BACK, LAST_BACK = 2, 12
# Columns of text are folded, but not to less than this.
FOLDED = 8
# A narrower page has shorter titles.
NARROW = 70


class Page(Console):
    """Where a report goes: at most 80 columns, plain text unless it is a terminal."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(
            file=file or sys.stdout,
            color_system=None if is_dumb() else "auto",
            highlight=False,
            markup=False,
            emoji=False,
        )
        self.width = min(self.width, WIDTH)
        self.plain = not self.encoding.lower().startswith("utf")

    def on_broken_pipe(self) -> None:
        """Leave it to the command line to end quietly."""
        raise BrokenPipeError

    def title(self, text: str) -> None:
        """Print what all of it is about."""
        self.print(Text("\n".join(folded(text, self.width)), style="bold"))

    def heading(self, text: str) -> None:
        """Print a line that opens a part of the report."""
        self.print()
        self.title(text)

    def table(self, columns: dict[str, str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Print rows under a header; ``columns`` maps each title to ``left`` or ``right``.

        Text is folded where the page is narrow, but no number is cut: such a table is too wide.
        """
        cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
        box = PLAIN_RULE if self.plain else RULE
        table = Table(box=box, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        needed = 2
        for i, (title, side) in enumerate(columns.items()):
            size = max(map(width, [title, *(row[i].plain for row in cells)]))
            needed += 2 + (size if side == "right" else min(size, FOLDED))
            table.add_column(
                title,
                justify="right" if side == "right" else "left",
                no_wrap=side == "right",
                overflow="fold",
                header_style="dim",
            )
        for row in cells:
            table.add_row(*row)
        own, self.width = self.width, max(self.width, needed)
        self.print(Padding(table, (0, 0, 0, 2), expand=False), crop=False)
        self.width = own

    def tables(self, cells: list[tuple[str, ...]], most: int, first: str = "left") -> None:
        """Print a table, its header first, in as many parts as it takes for this width."""
        for i, (header, *rows) in enumerate(side_by_side(cells, most)):
            if i:
                self.print()
            self.table({title: "right" if j else first for j, title in enumerate(header)}, rows)

    def facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Print pairs of a label and what there is to say."""
        self.print()
        for label, sentence in pairs:
            for first, line in beside(label, sentence, self.width):
                self.print(Text.assemble((padded(first, MARGIN), "dim"), line))


# --- a model --------------------------------------------------------------------------------------


def show_model(description: Description, facts: Iterable[tuple[str, str]], page: Page) -> None:
    """Print the chosen features, the path, and these facts."""
    page.title(description.title)
    page.heading("Chosen features")
    cells = coefficient_cells(description)
    if len(cells) == 1:
        page.print("  nothing: every prediction is 0")
    else:
        page.tables(cells, page.width - 2)
    page.heading("Path")
    is_way_back = description.path[0].size > len(description.features)
    ends = (FIRST_BACK, LAST_BACK) if is_way_back else (FIRST_STEPS, LAST_STEPS)
    _show_steps(description, page, *ends)
    page.facts(facts)


def _show_steps(description: Description, page: Page, first: int = 0, last: int = 0) -> None:
    """Print the path; of a long one only so many first and last steps, if they are given."""
    evidence = any(row.log_evidence is not None for row in description.path)
    columns = {"step": "right", "action": "left", "feature": "left", "size": "right"}
    loss = "‖r‖²" if page.width < NARROW else "squared residual"
    known = ("log evidence", loss, "R²") if evidence else (loss, "R²")
    columns |= dict.fromkeys(known, "right")
    rows = list(_path_cells(description.path, evidence))
    steps = sum(row.number is not None for row in description.path) - 1
    if first and steps > first + last + 1:
        hidden = slice(1 + first, 1 + steps - last)
        gap = ["", "...", f"({steps - first - last} more steps)"]
        rows[hidden] = [[Text(cell) for cell in gap] + [Text("")] * (len(columns) - 3)]
    page.table(columns, rows)


def _path_cells(path: Sequence[PathRow], evidence: bool) -> Iterator[list[Text]]:
    for row, amount in zip(path, numerals([row.loss for row in path], figures=6), strict=True):
        value = row.log_evidence
        known = [] if not evidence else [""] if value is None else [f"{value:.2f}"]
        number = "" if row.number is None else str(row.number)
        cells = [row.action, _names(row), str(row.size), *known, amount, r_squared(row.r2)]
        dim = "" if row.number else "dim"  # where it begins and ends
        other = "" if row.action == "add" else "yellow"
        yield [
            Text(cell, style=other if row.number and cell is row.action else dim)
            for cell in (number, *cells)
        ]


def _names(row: PathRow) -> str:
    if row.number == 0 and len(row.features) > 1:
        return f"({len(row.features)} features)"
    return printable(", ".join(row.features))


# --- a path ---------------------------------------------------------------------------------------


def show_path(
    description: Description,
    criteria: Mapping[str, Sequence[float | None]],
    best: Mapping[str, int],
    method: str,
    facts: Iterable[tuple[str, str]],
    page: Page,
) -> None:
    """Print every step, the criteria of the models on the way, where each is best, and facts."""
    page.title(f"{printable(description.target)} explained step by step: method {method}")
    page.heading("Path")
    _show_steps(description, page)
    if best:
        page.heading("Criteria")
        _show_criteria({name: criteria[name] for name in best}, best, page)
    sizes = [row.size for row in description.path]
    where = (
        (SHORT_NAMES[name], f"best at step {step}, with {count(sizes[step], 'feature')}")
        for name, step in best.items()
    )
    page.facts([*where, *facts])


def _show_criteria(
    criteria: Mapping[str, Sequence[float | None]], best: Mapping[str, int], page: Page
) -> None:
    """Print the criteria at every step, side by side as far as the page is wide."""
    columns = [
        [SHORT_NAMES[name], *_marked(values, name == "adjusted_r2", best[name])]
        for name, values in criteria.items()
    ]
    steps = ["step", *map(str, range(len(columns[0]) - 1))]
    page.tables(list(zip(steps, *columns, strict=True)), page.width - 4, first="right")


def _marked(values: Sequence[float | None], is_share: bool, best: int) -> list[str]:
    """Return a criterion at every step, with a star behind the best."""
    known = [math.nan if value is None else float(value) for value in values]
    if is_share:
        texts = [r_squared(value) for value in known]
    else:
        texts = numerals([value if math.isfinite(value) else 0.0 for value in known], figures=6)
    return [
        (text if math.isfinite(value) else _odd(value)) + ("*" if i == best else " ")
        for i, (text, value) in enumerate(zip(texts, known, strict=True))
    ]


def _odd(value: float) -> str:
    """Return a value that is no number in words."""
    return "-" if math.isnan(value) else "-∞" if value < 0 else "∞"
