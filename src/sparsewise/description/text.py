"""A description as text of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Self

from sparsewise.description.contents import Description
from sparsewise.numerals import numerals
from sparsewise.wording import folded, padded, printable, width

WIDTH = 80
"""No line is wider."""

MARGIN = 12
"""Where the sentences begin, after their labels."""


@dataclass(frozen=True, repr=False)
class Summary:
    """A title, the coefficients, and what else there is to say; prints as text, shows as HTML.

    Attributes
    ----------
    title : str
        What is explained by how much.
    header : tuple of str
        Titles of the table: feature, coefficient, and where it is known its standard error.
    rows : list of tuple of str
        The intercept and every chosen feature.
    facts : list of (str, str)
        Pairs of a label and what there is to say.
    """

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    facts: list[tuple[str, str]]

    @classmethod
    def of(cls, description: Description) -> Self:
        """The description in the spelling of Python."""
        header, *rows = coefficient_cells(description)
        return cls(description.title, header, rows, description.sentences())

    def __str__(self) -> str:
        facts = [
            padded(first, MARGIN) + line
            for label, sentence in self.facts
            for first, line in beside(label, sentence, WIDTH)
        ]
        table = [*self._table(), ""] if self.rows else []
        return "\n".join([*folded(self.title, WIDTH), "", *table, *facts])

    __repr__ = __str__

    def _table(self) -> Iterator[str]:
        """Names to the left, folded where they are long; numbers to the right."""
        numbers = [row[1:] for row in (self.header, *self.rows)]
        widths = [max(map(width, column)) for column in zip(*numbers, strict=True)]
        most = WIDTH - sum(2 + size for size in widths)
        names = [_name(row[0], most) for row in (self.header, *self.rows)]
        margin = max(width(line) for lines in names for line in lines)
        for i, (lines, cells) in enumerate(zip(names, numbers, strict=True)):
            aligned = [
                " " * (size - width(cell)) + cell for cell, size in zip(cells, widths, strict=True)
            ]
            yield "  ".join([padded(lines[0], margin), *aligned])
            yield from lines[1:]
            if i == 0:
                yield "─" * (margin + sum(2 + size for size in widths))

    def _repr_html_(self) -> str:
        from sparsewise.description.html import page

        return page(self.title, self.header, self.rows, self.facts)


def coefficient_cells(description: Description) -> list[tuple[str, ...]]:
    """A header, the intercept and every chosen feature: name, coefficient, standard deviation."""
    some = description.coefficients
    columns = [
        ["feature", *(printable(one.name) for one in some)],
        ["coefficient", *numerals([one.value for one in some])],
    ]
    if description.std_title:
        stds = numerals([one.std or 0.0 for one in some], figures=3)
        columns.append([description.std_title, *stds])
    return list(zip(*columns, strict=True))


def beside(label: str, sentence: str, most: int) -> Iterator[tuple[str, str]]:
    """A label, and beside it a sentence on as many lines as it takes."""
    return zip_longest([label], folded(sentence, max(most - MARGIN, 1)), fillvalue="")


def _name(text: str, most: int) -> list[str]:
    """A name on as many lines as it takes, all but the first indented."""
    if width(text) <= most:
        return [text]
    first, *more = folded(text, most - 2)
    return [first, *(f"  {line}" for line in more)]
