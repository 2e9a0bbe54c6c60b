"""What has been done, kept line by line, and a folder that one run at a time writes to."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from sparsewise.errors import Either, InputError
from sparsewise.files import write_whole
from sparsewise.wording import printable

Record = dict[str, Any]
"""What is kept of a unit: its settings, values and error, and how long it took."""

LOCK = ".lock"

RESUME = Either("resume=True", "--resume")
OUT = Either("folder", "--out")


class Journal:
    """Finished units, one JSON line each; a line is on the disk before the next unit is told.

    A line that can't be read, cut off by a kill or damaged, is passed over: its unit is done again.

    Parameters
    ----------
    path : Path
        The file; it is made with the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        content = _content(path)
        self._cut = bool(content) and not content.endswith(b"\n")
        for line in content.split(b"\n"):
            if (record := _parsed(line)) is not None:
                self._remember(record)

    def find(self, settings: dict[str, Any]) -> Record | None:
        """The record of a unit with these settings, if it is done and didn't fail."""
        record = self.records.get(_identity(settings))
        return None if record is None or record["error"] else record

    def add(self, record: Record) -> None:
        """Keep a record, on the disk before this returns."""
        line = json.dumps(record, allow_nan=False, default=_plain).encode() + b"\n"
        size = self.path.stat().st_size if self.path.exists() else 0
        try:
            with self.path.open("ab") as file:
                # What was cut off must not spoil what follows.
                file.write(b"\n" + line if self._cut else line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            # What fitted may lack nothing but its end, and would count as done though never told.
            with suppress(OSError):
                os.truncate(self.path, size)
            self._cut = True
            raise unwritable(self.path, error) from None
        self._cut = False
        self._remember(record)

    def _remember(self, record: Record) -> None:
        """The last word on a unit counts, except that failing can't undo a success."""
        key = _identity(record["settings"])
        if not record["error"] or key not in self.records or self.records[key]["error"]:
            self.records[key] = record


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder. However this one ends, the system undoes the lock."""
    try:
        file = (folder / LOCK).open("ab")
    except OSError as error:
        raise unwritable(folder / LOCK, error) from None
    with file:
        try:
            _lock(file)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                wrong = f"another run is writing to {folder}: wait for its end, or choose another "
                raise InputError((wrong, OUT)) from None
            # Some file systems know no locks; there it is up to the user.
        yield


def write_result(path: Path, content: bytes) -> None:
    """Write a file of a run as a whole, or say in one sentence why that can't be."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> InputError:
    """The error for a file that can't be written, on a full disk for instance."""
    reason = error.strerror or str(error)
    return InputError(f"can't write {path}: {reason}", ("what is done is kept for ", RESUME))


if sys.platform == "win32":

    def _lock(file: IO[bytes]) -> None:
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:

    def _lock(file: IO[bytes]) -> None:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}") from None


def _identity(settings: dict[str, Any]) -> str:
    try:
        return json.dumps(settings, sort_keys=True, default=_plain)
    except (TypeError, ValueError) as error:
        where = f"{settings['contender']} of {settings['experiment']}"
        wrong = f"the parameters of {where} can't be written down: {error}"
        raise InputError(printable(wrong)) from None


def _plain(value: Any) -> Any:
    """A number or a list for what NumPy has."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is neither a number, a word nor a list of such")


def _parsed(line: bytes) -> Record | None:
    """A record, or None for what isn't one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match record:
        case {"settings": dict(), "values": dict(values), "error": str() | None as error}:
            if all(map(_numbers, values.values())) and bool(values) != bool(error):
                return dict(record)
    return None


def _numbers(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(one, int | float) for one in found)
