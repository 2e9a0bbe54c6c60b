"""A description as text of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Self

from sparsewise._util.numbers import numerals
from sparsewise._util.text import folded, padded, printable, width
from sparsewise.summary.contents import Description

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
        Titles of the table: feature, coefficient, and where it is known its standard error; or the
        names of several targets.
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
        cells = [self.header, *self.rows] if self.rows else []
        tables = [line for part in side_by_side(cells, WIDTH) for line in (*_table(part), "")]
        return "\n".join([*folded(self.title, WIDTH), "", *tables, *facts])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from sparsewise.summary.html import page

        return page(self.title, self.header, self.rows, self.facts)


def _table(cells: list[tuple[str, ...]]) -> Iterator[str]:
    """Names to the left, folded where they are long; numbers to the right."""
    numbers = [row[1:] for row in cells]
    widths = _widths(numbers)
    most = WIDTH - sum(2 + size for size in widths)
    names = [_name(row[0], most) for row in cells]
    margin = max(width(line) for lines in names for line in lines)
    for i, (lines, row) in enumerate(zip(names, numbers, strict=True)):
        aligned = [
            " " * (size - width(cell)) + cell for cell, size in zip(row, widths, strict=True)
        ]
        yield "  ".join([padded(lines[0], margin), *aligned])
        yield from lines[1:]
        if i == 0:
            yield "─" * (margin + sum(2 + size for size in widths))


def _widths(cells: list[tuple[str, ...]]) -> list[int]:
    """How wide each column is."""
    return [max(map(width, column)) for column in zip(*cells, strict=True)]


def side_by_side(cells: list[tuple[str, ...]], most: int) -> list[list[tuple[str, ...]]]:
    """A table in as many parts as it takes for none to be wider than `most`.

    Each has the first column, which is folded if it takes more than a third, and some others.
    """
    if not cells:
        return []
    name, *widths = _widths(cells)
    room = most - min(name, most // 3)
    ends, taken = [1], 0
    for i, size in enumerate(widths, 1):
        if taken and taken + 2 + size > room:
            ends.append(i)
            taken = 0
        taken += 2 + size
    ends.append(len(widths) + 1)
    return [[(row[0], *row[a:b]) for row in cells] for a, b in pairwise(ends)]


def coefficient_cells(description: Description) -> list[tuple[str, ...]]:
    """A header, the intercept and every chosen feature: name, coefficient, standard deviation.

    Several targets have a column each, with both in it.
    """
    some, std_title = description.coefficients, description.std_title
    columns = [["feature", *(printable(one.name) for one in some)]]
    titles = [printable(one.name) for one in description.targets]
    for t, title in enumerate(titles or ["coefficient"]):
        values = numerals([one.values[t] for one in some])
        stds = numerals([one.stds[t] for one in some], figures=3) if std_title else []
        if titles and stds:
            size = max(map(len, stds))
            values = [f"{value} ± {std:>{size}}" for value, std in zip(values, stds, strict=True)]
        columns.append([title, *values])
        if std_title and not titles:
            columns.append([std_title, *stds])
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
