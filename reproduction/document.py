"""A document of few kinds of parts, written as Markdown and as one HTML file.

Text may hold ``**strong**`` and `` `code` `` and nothing else; `plain` keeps what users have named
from being taken for such.
"""

from __future__ import annotations

import base64
import html
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparsewise._util.text import printable

SPECIAL = re.compile(r"([\\`*|<>\[\]])")
MARKS = re.compile(r"\\(?P<plain>.)|\*\*(?P<strong>.+?)\*\*|`(?P<code>[^`]+)`|RMP_(?P<sub>σ)")
MARKED = {
    "plain": "{}",
    "strong": "<strong>{}</strong>",
    "code": "<code>{}</code>",
    "sub": "RMP<sub>{}</sub>",
}


def _texts(found: Any) -> Any:
    """Line breaks become spaces."""
    if isinstance(found, dict):
        return {name: _texts(value) for name, value in found.items()}
    return " ".join(found.split())


TEXTS = _texts(tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8")))
"""The prose of reports."""


class Part(NamedTuple):
    """A part of a document, as Markdown and as HTML."""

    markdown: str
    html: str


def heading(level: int, text: str) -> Part:
    """A heading; level 1 is the title."""
    name = html.escape(re.sub(r"\W+", "-", text.lower()).strip("-"))
    return Part(f"{'#' * level} {text}", f'<h{level} id="{name}">{inline(text)}</h{level}>')


def paragraph(text: str) -> Part:
    """A paragraph."""
    return Part(text, f"<p>{inline(text)}</p>")


def note(text: str) -> Part:
    """A paragraph that stands out from the text."""
    return Part(f"> {text}", f'<p class="note">{inline(text)}</p>')


def items(texts: Sequence[str]) -> Part:
    """A list."""
    lines = "".join(f"<li>{inline(text)}</li>" for text in texts)
    return Part("\n".join(f"- {text}" for text in texts), f"<ul>{lines}</ul>")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int | None = 1) -> Part:
    """A table: text in as many columns, the first; None: in all. Numbers in the others.

    In HTML, wide tables scroll on their own.
    """
    left = [texts is None or i < texts for i in range(len(header))]

    def html_row(row: Sequence[str], tag: str) -> str:
        starts = [f'<{tag} class="left">' if one else f"<{tag}>" for one in left]
        cells = zip(starts, row, strict=True)
        return f"<tr>{''.join(f'{start}{inline(cell)}</{tag}>' for start, cell in cells)}</tr>"

    lines = [header, [":--" if one else "--:" for one in left], *rows]
    body = "".join(html_row(row, "td") for row in rows)
    whole = f"<table><thead>{html_row(header, 'th')}</thead><tbody>{body}</tbody></table>"
    return Part(
        "\n".join(f"| {' | '.join(line)} |" for line in lines), f'<div class="wide">{whole}</div>'
    )


def image(folder: Path, name: str, caption: str) -> Part:
    """A figure: a link to NAME.png and NAME.svg in a folder beside; in HTML the drawing itself."""
    path, text = f"{folder.name}/{name}", html.escape(caption)
    data = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
    return Part(
        f"![{caption}]({path}.png)\n\n*{caption}* ([SVG]({path}.svg))",
        f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{text}">'
        f"<figcaption>{text}</figcaption></figure>",
    )


def to_markdown(parts: Sequence[Part]) -> str:
    """The whole as Markdown."""
    return "\n\n".join(part.markdown for part in parts) + "\n"


def to_html(parts: Sequence[Part], title: str) -> str:
    """The whole as one HTML file that asks for no other; page.html is what is around it."""
    page = Path(__file__).with_name("page.html").read_text("utf-8")
    before, after = page.split("{body}")
    head = before.replace("{title}", html.escape(title))
    return head + "\n".join(part.html for part in parts) + after


def plain(text: str) -> str:
    """Text of a user, on one line, that marks nothing."""
    return SPECIAL.sub(r"\\\1", printable(text))


def inline(text: str) -> str:
    """Text as HTML, with what is strong or code marked."""
    return MARKS.sub(_marked, html.escape(text))


def _marked(match: re.Match[str]) -> str:
    kind = str(match.lastgroup)
    inner = MARKS.sub(_marked, match[kind]) if kind == "strong" else match[kind]
    return MARKED[kind].format(inner)


# --- pages with tables between marks --------------------------------------------------------------

REGION = "<!-- {}:begin -->", "<!-- {}:end -->"


def rewrite(path: Path, told: Mapping[str, str]) -> None:
    """Put each text between the marks of its part of a page; a page without them is an error."""
    text = path.read_text(encoding="utf-8")
    for part, content in told.items():
        begin, end = (mark.format(part) for mark in REGION)
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise ValueError(f"{path} lacks the marks {begin} and {end}.")
        text = f"{before}{begin}\n{content}\n{end}{after}"
    path.write_text(text, encoding="utf-8")
