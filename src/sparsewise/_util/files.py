"""Reading files with clear errors, and writing them atomically."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sparsewise._util.text import quoted
from sparsewise.errors import InputError

if TYPE_CHECKING:
    import polars as pl

CONTROLS = r"[\p{C}\p{Zl}\p{Zp}]"
FORMULAS = r"^[=+\-@＝＋－＠]"  # noqa: RUF001  (spreadsheets accept full-width characters as well)
"""The first character of text that a spreadsheet would evaluate as a formula."""


def write_whole(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file atomically: to a draft beside it, which then replaces it.

    A failure leaves the old file. The new file has the owner and the permissions of the old one; a
    link stays a link. The content may come in pieces.
    """
    pieces = [content] if isinstance(content, bytes) else content
    if path.exists() and not path.is_file():  # a device or a pipe can't be replaced
        with path.open("wb") as file:
            file.writelines(pieces)
        return
    path = Path(os.path.realpath(path))
    old = path.stat() if path.exists() else None
    if old is not None and not os.access(path, os.W_OK):  # replacing it would not check that
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    for left in _abandoned(path):
        with suppress(OSError):
            left.unlink()
    draft = path.with_name(f"{_drafts(path)}{os.getpid()}-{os.urandom(4).hex()}.draft")
    # Not tempfile, whose files only their owner may read, whatever the umask.
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(handle, "wb") as file:
            if old is not None:
                _take_after(old, handle)
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _drafts(path: Path) -> str:
    """The prefix of a file's drafts: short, since the file's name may have the maximal length."""
    return f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:12]}-"


def _abandoned(path: Path) -> Iterator[Path]:
    """Drafts of the file left by processes that were killed."""
    if os.name != "posix":
        return
    for draft in path.parent.glob(f"{_drafts(path)}*.draft"):
        process = draft.name.split("-")[1]
        if process.isdecimal() and not _is_alive(int(process)):
            yield draft


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends no signal, only checks whether one could be sent
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _take_after(old: os.stat_result, handle: int) -> None:
    """Give an open file the owner and the permissions of another, as far as allowed."""
    if os.name == "posix":
        with suppress(OSError):
            os.fchown(handle, old.st_uid, old.st_gid)
        with suppress(OSError):
            os.fchmod(handle, stat.S_IMODE(old.st_mode))


def read_file(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Read at most `most` bytes, or all; failure is an `InputError`."""
    with open_file(path) as file:
        return file.read(most)


@contextmanager
def open_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to read its bytes; failure is an `InputError`."""
    try:
        file = open(path, "rb")  # noqa: SIM115  (closed below)
    except FileNotFoundError:
        raise InputError(f"there is no file {quoted(os.fspath(path))}") from None
    except (OSError, ValueError) as error:
        raise _failed("read", path, error) from None
    with file:
        try:
            yield file
        except OSError as error:
            raise _failed("read", path, error) from None


def write_file(path: str | os.PathLike[str], content: bytes | Iterable[bytes]) -> None:
    """Write a file atomically; failure is an `InputError`."""
    try:
        write_whole(Path(path), content)
    except InputError:  # raised while the content was produced
        raise
    except (OSError, ValueError) as error:
        raise _failed("write", path, error) from None


def _failed(do: str, path: str | os.PathLike[str], error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or error  # absent for a null byte in the name
    return InputError(f"can't {do} {quoted(os.fspath(path))}: {reason}")


def as_csv(frame: pl.DataFrame) -> str:
    """A table as CSV that is safe to open and to print.

    Control characters in text become ?, and text that a spreadsheet would evaluate as a formula
    gets a leading apostrophe: ``=1+1`` becomes ``'=1+1``. Numbers are not changed.
    """
    import polars.selectors as cs

    return frame.with_columns(_safe(cs.string()).name.keep()).write_csv()


def safe_names(names: Sequence[str]) -> list[str]:
    """Names of columns as `as_csv` writes text."""
    import polars as pl

    return pl.DataFrame({"": names}).select(_safe(pl.col(""))).to_series().to_list()


def _safe(text: pl.Expr) -> pl.Expr:
    import polars as pl

    text = text.str.replace_all(CONTROLS, "?")
    start = pl.when(text.str.contains(FORMULAS)).then(pl.lit("'")).otherwise(pl.lit(""))
    return start + text
