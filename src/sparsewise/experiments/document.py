"""A document of few kinds of parts, written as Markdown and as one HTML file.

Text may hold ``**strong**`` and `` `code` `` and nothing else; `plain` keeps what users have named
from being taken for such.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sparsewise.wording import printable

SPECIAL = re.compile(r"([\\`*|<>\[\]])")
MARKS = re.compile(r"\\(?P<plain>.)|\*\*(?P<strong>.+?)\*\*|`(?P<code>[^`]+)`|RMP_(?P<sub>σ)")
MARKED = {
    "plain": "{}",
    "strong": "<strong>{}</strong>",
    "code": "<code>{}</code>",
    "sub": "RMP<sub>{}</sub>",
}


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


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, textual: bool = False) -> Part:
    """A table: text in the first column, numbers in the others, unless it is `textual`.

    In HTML, wide tables scroll on their own.
    """
    left = [textual or i == 0 for i in range(len(header))]

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
    """The whole as one HTML file that asks for no other."""
    before, after = PAGE.split("{body}")
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


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root { --ink: #1c1e21; --soft: #5b6168; --paper: #ffffff; --line: #dfe2e6; --tint: #f4f6f8;
  --mark: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --soft: #a2a9b0; --paper: #15181b; --line: #353b41; --tint: #1f2429;
    --mark: #56b4e9; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.2rem; background: var(--paper);
  color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.6rem 0 1rem; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 2.4rem 0 0.8rem; padding-top: 1rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.6rem 0 0.5rem; }
p, ul { max-width: 46rem; }
li { margin: 0.35rem 0; }
.note { border-left: 4px solid var(--mark); background: var(--tint); padding: 0.6rem 0.9rem;
  border-radius: 0 6px 6px 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.82rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.45rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
.left { text-align: left; }
td:first-child { font-weight: 600; }
sub { line-height: 0; }
code { background: var(--tint); padding: 0.1em 0.3em; border-radius: 4px; font-size: 0.92em; }
figure { margin: 1.2rem 0; }
figure img { display: block; width: 100%; height: auto; background: #ffffff; padding: 0.4rem;
  border: 1px solid var(--line); border-radius: 8px; }
figcaption { color: var(--soft); font-size: 0.9rem; margin-top: 0.4rem; }
@media print {
  :root { --ink: #000000; --soft: #444444; --paper: #ffffff; --line: #bbbbbb; --tint: #f4f4f4; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  figure, tr, li, .note { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .wide { overflow: visible; }
  table { font-size: 8.5pt; }
  th, td { padding: 0.2rem 0.4rem; }
}
</style>
</head>
<body>
{body}
</body>
</html>
"""
