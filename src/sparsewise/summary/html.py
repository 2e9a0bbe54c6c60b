"""A description as HTML, for notebooks.

No colours and no fonts: those of the notebook serve by day and by night.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def page(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    facts: Iterable[tuple[str, str]],
) -> str:
    """Two tables, so that long sentences don't draw the columns of numbers apart."""
    table = ""
    if rows:
        head = "".join(_cell("th", title, i > 0) for i, title in enumerate(header))
        body = "".join(_row(row, numbers=True) for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    sentences = "".join(_row(fact, numbers=False) for fact in facts)
    return (
        f"<div><p>{escape(title)}</p>{table}"
        f"<table style='max-width: 50em'><tbody>{sentences}</tbody></table></div>"
    )


def _row(row: Sequence[str], numbers: bool) -> str:
    cells = "".join(_cell("td", text, numbers) for text in row[1:])
    return f"<tr>{_cell('th', row[0], False)}{cells}</tr>"


def _cell(tag: str, text: str, number: bool) -> str:
    return f"<{tag} style='text-align: {'right' if number else 'left'}'>{escape(text)}</{tag}>"
