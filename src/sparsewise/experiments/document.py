"""A document of few kinds of parts, written as Markdown and as one HTML file.

Text may hold ``**strong**`` and `` `code` `` and nothing else; `plain` keeps what users have named
from being taken for such.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sparsewise.wording import printable

SPECIAL = re.compile(r"([\\`*|<>\[\]])")
MARKS = re.compile(r"\\(?P<plain>.)|\*\*(?P<strong>.+?)\*\*|`(?P<code>[^`]+)`|RMP_(?P<sub>σ)")


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    level: int
    text: str

    def markdown(self) -> str:
        """As Markdown."""
        return f"{'#' * self.level} {self.text}"

    def html(self) -> str:
        """As HTML."""
        name = re.sub(r"\W+", "-", self.text.lower()).strip("-")
        return f'<h{self.level} id="{html.escape(name)}">{inline(self.text)}</h{self.level}>'


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; a note stands out from the text."""

    text: str
    note: bool = False

    def markdown(self) -> str:
        """As Markdown."""
        return f"> {self.text}" if self.note else self.text

    def html(self) -> str:
        """As HTML."""
        kind = ' class="note"' if self.note else ""
        return f"<p{kind}>{inline(self.text)}</p>"


@dataclass(frozen=True)
class Items:
    """A list."""

    texts: Sequence[str]

    def markdown(self) -> str:
        """As Markdown."""
        return "\n".join(f"- {text}" for text in self.texts)

    def html(self) -> str:
        """As HTML."""
        return "<ul>" + "".join(f"<li>{inline(text)}</li>" for text in self.texts) + "</ul>"


@dataclass(frozen=True)
class Table:
    """A table: text in the first column, numbers in the others, unless it is `textual`."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    textual: bool = False

    def markdown(self) -> str:
        """As Markdown."""
        rule = [":--" if self._left(i) else "--:" for i in range(len(self.header))]
        lines = [self.header, rule, *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def html(self) -> str:
        """As HTML; wide tables scroll on their own."""
        head = self._html_row(self.header, "th")
        body = "".join(self._html_row(row, "td") for row in self.rows)
        return f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'

    def _left(self, column: int) -> bool:
        return column == 0 or self.textual

    def _html_row(self, row: Sequence[str], tag: str) -> str:
        kinds = [' class="left"' if self._left(i) else "" for i in range(len(row))]
        cells = [
            f"<{tag}{kind}>{inline(cell)}</{tag}>" for kind, cell in zip(kinds, row, strict=True)
        ]
        return f"<tr>{''.join(cells)}</tr>"


@dataclass(frozen=True)
class Image:
    """A figure: files NAME.png and NAME.svg in a folder beside the document."""

    folder: Path
    name: str
    caption: str

    def markdown(self) -> str:
        """As Markdown, a link to the files."""
        path = f"{self.folder.name}/{self.name}"
        return f"![{self.caption}]({path}.png)\n\n*{self.caption}* ([SVG]({path}.svg))"

    def html(self) -> str:
        """As HTML, with the drawing itself inside."""
        data = base64.b64encode((self.folder / f"{self.name}.svg").read_bytes()).decode()
        caption = html.escape(self.caption)
        return (
            f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{caption}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )


Part = Heading | Paragraph | Items | Table | Image


def to_markdown(parts: Sequence[Part]) -> str:
    """The whole as Markdown."""
    return "\n\n".join(part.markdown() for part in parts) + "\n"


def to_html(parts: Sequence[Part], title: str) -> str:
    """The whole as one HTML file that asks for no other."""
    before, after = PAGE.split("{body}")
    head = before.replace("{title}", html.escape(title))
    return head + "\n".join(part.html() for part in parts) + after


def plain(text: str) -> str:
    """Text of a user, on one line, that marks nothing."""
    return SPECIAL.sub(r"\\\1", printable(text))


def inline(text: str) -> str:
    """Text as HTML, with what is strong or code marked."""
    parts, end = [], 0
    for match in MARKS.finditer(text):
        parts += [html.escape(text[end : match.start()]), _marked(match)]
        end = match.end()
    return "".join([*parts, html.escape(text[end:])])


def _marked(match: re.Match[str]) -> str:
    if match["strong"] is not None:
        return f"<strong>{inline(match['strong'])}</strong>"
    if match["code"] is not None:
        return f"<code>{html.escape(match['code'])}</code>"
    if match["sub"] is not None:
        return f"RMP<sub>{match['sub']}</sub>"
    return html.escape(match["plain"])


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
