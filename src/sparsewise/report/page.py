"""Where a report goes: calm tables, no colour unless on a terminal, 80 columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TextIO

from rich.box import Box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

WIDTH = 80
# One thin rule under the header and nothing else.
RULE = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
PLAIN_RULE = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


class Page(Console):
    """Where a report goes: at most 80 columns, plain text unless it is a terminal."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(file=file or sys.stdout, highlight=False, markup=False, emoji=False)
        self.width = min(self.width, WIDTH)
        self.plain = not self.encoding.lower().startswith("utf")

    def on_broken_pipe(self) -> None:
        """Leave it to the command line to end quietly."""
        raise BrokenPipeError

    def heading(self, text: str) -> None:
        """Print a line that opens a part of the report."""
        self.print()
        self.print(Text(text, style="bold"))

    def table(self, columns: dict[str, str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Print rows under a header; ``columns`` maps each title to ``left`` or ``right``."""
        box = PLAIN_RULE if self.plain else RULE
        table = Table(box=box, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for title, side in columns.items():
            table.add_column(
                title,
                justify="right" if side == "right" else "left",
                no_wrap=side == "right",
                overflow="fold",
                header_style="dim",
            )
        for row in rows:
            table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
        self.print(Padding(table, (0, 0, 0, 2), expand=False))

    def facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Print pairs of a word and what there is to say about it."""
        indent = 9
        for word, sentence in pairs:
            lines = wrap(sentence, max(self.width - indent, 1))
            words = f"\n{' ' * indent}".join(lines)
            self.print(Text.assemble((word.ljust(indent), "dim"), words))
