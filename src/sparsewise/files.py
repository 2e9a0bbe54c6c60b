"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


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
