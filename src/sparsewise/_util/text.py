"""Text for messages and reports: counts, lists, printable names, line wrapping."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from sparsewise.errors import InputError


def printable(text: str) -> str:
    """Return the text on one line, with control characters replaced."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def quoted(name: str) -> str:
    """Return a name in quotation marks, on one line."""
    return f'"{printable(name)}"'


def shortened(words: Sequence[str], most: int = 8) -> str:
    """Join the words by commas; a long list ends with how many more there are."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return ", ".join(words)


def listing(names: Iterable[str]) -> str:
    """Return the names in quotation marks, joined by commas."""
    return shortened([quoted(name) for name in names])


def count(number: int, one: str, many: str = "") -> str:
    """Return "1 row", "2 rows", ..."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def look_up(names: Iterable[str], known: Iterable[str], kind: str) -> None:
    """Raise an error for the first name that isn't known, with suggestions."""
    known = list(known)
    for name in names:
        if name not in known:
            raise InputError(f"there is no {kind} {quoted(name)}; {_suggestion(name, known)}")


def _suggestion(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), [k.lower() for k in known], n=3)
    meant = list(dict.fromkeys(k for c in close for k in known if k.lower() == c))[:3]
    if meant:
        return f"did you mean {' or '.join(quoted(k) for k in meant)}?"
    return f"there are {listing(known)}" if len(known) > 1 else f"there is {listing(known)}"


# --- lines ----------------------------------------------------------------------------------------


def width(text: str) -> int:
    """The number of terminal cells that a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def padded(text: str, size: int) -> str:
    """The text padded with blanks to this width."""
    return text + " " * (size - width(text))


def folded(text: str, most: int) -> Iterator[str]:
    """Lines of at most `most` cells, broken between words where possible."""
    line = ""
    for word in text.split(" "):
        if line and width(line) + 1 + width(word) <= most:
            line += " " + word
            continue
        if line:
            yield line
        while width(word) > most:
            end = _fitting(word, most)
            yield word[:end]
            word = word[end:]
        line = word
    yield line


def _fitting(word: str, most: int) -> int:
    """How many characters fit into `most` cells; at least one."""
    end, taken = 0, 0
    while end < len(word) and (taken := taken + width(word[end])) <= most:
        end += 1
    return max(end, 1)
