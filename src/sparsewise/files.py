"""Files: read with an error for people, written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from sparsewise.errors import InputError
from sparsewise.wording import quoted


def write_whole(path: Path, content: bytes) -> None:
    """Write to a file beside it first, then put that in its place: a failure leaves the old one."""
    if path.exists() and not path.is_file():  # a device or a pipe can't be replaced
        path.write_bytes(content)
        return
    draft = path.with_name(f".{path.name[:80]}.{os.getpid()}-{os.urandom(4).hex()}.draft")
    # Not by tempfile: its files are for their owner's eyes only.
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read_file(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Read so many bytes, or all; what can't be read is an `InputError`."""
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except FileNotFoundError:
        raise InputError(f"there is no file {quoted(os.fspath(path))}") from None
    except (OSError, ValueError) as error:
        raise _failed("read", path, error) from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ASCII as a whole or not at all; what can't be written is an `InputError`."""
    try:
        write_whole(Path(os.path.realpath(path)), text.encode("ascii"))
    except (OSError, ValueError) as error:
        raise _failed("write", path, error) from None


def _failed(do: str, path: str | os.PathLike[str], error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or error  # of a null byte in the name there is none
    return InputError(f"can't {do} {quoted(os.fspath(path))}: {reason}")
