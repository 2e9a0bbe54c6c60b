"""What has been done, kept line by line, and a folder that one run at a time writes to."""

from __future__ import annotations

import errno
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from sparsewise._util.files import write_whole
from sparsewise._util.text import printable
from sparsewise.errors import InputError, Parameter

Record = dict[str, Any]
"""What is kept of a unit: its settings, values and error, and how long it took."""

LOCK = ".lock"
SEAL = '{{"crc32": "{:08x}", '
"""How a line begins: a checksum of what the record is without it."""

RESUME = Parameter("resume", True)
OUT = Parameter("folder")


class Journal:
    """Finished units, one JSON line each; a line is on the disk before the next unit is told.

    A line that is not as it was written, cut off by a kill or damaged, is passed over: its unit is
    done again. Each begins with a checksum of the rest, so that not even one bit changes unnoticed.
    Lines of earlier releases have none, and are read as well.

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
        line = _sealed(json.dumps(record, allow_nan=False, default=_plain).encode()) + b"\n"
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
                wrong = f"another run is writing to {printable(str(folder))}: wait for its end, "
                raise InputError((wrong, "or choose another ", OUT)) from None
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
    wrong = f"can't write {printable(str(path))}: {reason}"
    return InputError(wrong, ("what is done is kept for ", RESUME))


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
        raise InputError(f"can't read {printable(str(path))}: {error.strerror}") from None


def _identity(settings: dict[str, Any]) -> str:
    try:
        return json.dumps(settings, sort_keys=True, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        where = f"{settings.get('contender')} of {settings.get('experiment')}"
        wrong = f"the parameters of {where} can't be written down: {error}"
        raise InputError(printable(wrong)) from None


def _plain(value: Any) -> Any:
    """A number or a list for what NumPy has."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is neither a number, a word nor a list of such")


# --- lines ----------------------------------------------------------------------------------------


def _sealed(line: bytes) -> bytes:
    """The text of a record with its checksum."""
    return SEAL.format(zlib.crc32(line)).encode() + line[1:]


def _unsealed(line: bytes) -> bytes:
    """The text without its checksum; as it is if there is none, or if it is wrong."""
    seal = len(SEAL.format(0))
    bare = b"{" + line[seal:]
    return bare if line == _sealed(bare) else line


def _parsed(line: bytes) -> Record | None:
    """A record, or None for what isn't one: a checksum that is wrong is no field of one."""
    try:
        record = json.loads(_unsealed(line.removesuffix(b"\r")))
        fits = isinstance(record, dict) and _is_record(**record) and _identity(record["settings"])
    except (ValueError, RecursionError):
        return None
    return record if fits else None


def _is_record(
    settings: Any = ..., values: Any = ..., error: Any = ..., seconds: Any = 0.0, **more: Any
) -> bool:
    """Whether these are the fields of a record: values or an error, a value for each draw."""
    if more or not isinstance(settings, dict) or not isinstance(values, dict):
        return False
    if not _is_number(seconds) or not isinstance(error, str | None):
        return False
    return bool(values) != bool(error) and _are_columns(list(values.values()))


def _are_columns(many: list[Any]) -> bool:
    """Whether all are lists of numbers, of equal length."""
    lists = all(isinstance(one, list) and len(one) == len(many[0]) for one in many)
    return lists and all(_is_number(value) for one in many for value in one)


def _is_number(value: Any) -> bool:
    """Whether it is a finite float, or a whole number that could be one."""
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max
