"""Names of columns, as people write them."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Sequence

from sparsewise._util.text import look_up, quoted
from sparsewise.errors import InputError


def positions(names: Sequence[str], of: Sequence[str]) -> list[int]:
    """Return where each name (once) stands in ``of``; an unknown one is an error."""
    look_up(names, of, "feature")
    return [of.index(name) for name in dict.fromkeys(names)]


def split_names(text: str) -> list[str]:
    """Split ``a,b,"c,d"`` into names; a name with a comma is quoted as in a CSV file."""
    try:
        row = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        raise InputError(f"can't read {quoted(text)} as names separated by commas") from None
    return [name.strip() for name in row if name.strip()]


def target_names(text: str, columns: Sequence[str]) -> list[str]:
    """Return the targets that ``a,b,"c,d"`` names; a column that is called just that is the one."""
    return [text] if text in columns else split_names(text) or [text]


def as_argument(names: Iterable[str]) -> str:
    """Return names as the value of a command-line option, quoted where the shell needs it."""
    buffer = io.StringIO()
    # With a line end, as the writer quotes what holds a character of it.
    csv.writer(buffer, lineterminator="\r\n").writerow(names)
    return shlex.quote(buffer.getvalue().removesuffix("\r\n"))
