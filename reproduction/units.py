"""Finished units on the disk: one JSON file each. Whatever has its file is done.

A file is written under another name first and then put in place, so that a run can be killed at any
moment: each file is there as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from sparsewise._util.text import printable
from sparsewise.errors import InputError

Record = dict[str, Any]
"""What is known of a unit: its settings, its values or its error, and how long it took."""

UNREADABLE = (OSError, ValueError, TypeError, KeyError, RecursionError)
"""What comes of reading a file that was cut off, damaged, or written by another program."""


def path_of(folder: Path, settings: dict[str, Any]) -> Path:
    """The file of a unit. Its name has a digest of the settings: others lead to another file."""
    where = f"{settings['experiment']}-{settings['contender']}"
    digest = hashlib.sha256(_written(settings).encode()).hexdigest()[:16]
    return folder / f"{re.sub(r'[^A-Za-z0-9]+', '-', where)[:60].strip('-')}-{digest}.json"


def load(folder: Path, settings: dict[str, Any]) -> Record | None:
    """The record of a unit that is done; None if there is none, or none that can be read."""
    path = path_of(folder, settings)
    try:
        record = json.loads(path.read_bytes())
        lengths = {len(many) for many in record["values"].values()}
        if _written(record["settings"]) != _written(settings) or len(lengths) != 1:
            raise ValueError("it belongs to other settings, or lacks values")
        return {"settings": settings, "seconds": float(record["seconds"]), "error": None} | {
            "values": {name: [float(x) for x in many] for name, many in record["values"].items()}
        }
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        wrong = f"can't read {path}, so its unit is run again: {error}"
        print(printable(wrong)[:500], file=sys.stderr)
        return None


def save(folder: Path, record: Record) -> None:
    """Put the file of a unit in place; one that failed has none, so that it is tried again."""
    if record["error"] is None:
        write(path_of(folder, record["settings"]), json.dumps(record, default=_plain))


def write(path: Path, content: str | bytes) -> None:
    """Write a file as a whole, or say in one sentence why that is not possible.

    A link in its place is replaced, and nothing is written where it points to.
    """
    draft = path.with_name(f".{os.getpid()}-{os.urandom(4).hex()}.draft")
    try:
        with draft.open("xb") as file:  # nor is one followed in place of the draft
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a file that can't be written, on a full disk for instance."""
    wrong = f"can't write {printable(str(path))}: {error.strerror or error}"
    return InputError(f"{wrong}; what is done is kept for --resume")


def _written(settings: dict[str, Any]) -> str:
    try:
        return json.dumps(settings, sort_keys=True, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        where = f"{settings.get('contender')} of {settings.get('experiment')}"
        raise InputError(
            printable(f"the parameters of {where} can't be written down: {error}")
        ) from None


def _plain(value: Any) -> Any:
    """A number or a list in place of NumPy's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is neither a number, a word nor a list of such")
