"""The format of a file, by its first bytes; and its content, unpacked and in UTF-8."""

from __future__ import annotations

import codecs
import importlib
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from sparsewise._util.files import open_file
from sparsewise._util.text import quoted
from sparsewise.errors import InputError, Parameter

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

TEXT, PARQUET, ARROW, ARROW_STREAM, EXCEL = "text", "Parquet", "Arrow", "Arrow stream", "Excel"
"""What is read."""

HEAD = 2**16
"""Bytes that tell what a file is."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""How a text begins that is in another encoding, and says so."""

BLOCK = 2**23
"""Bytes of text that are read at a time: as cells and numbers they take some ten times as much."""

LONGEST_RECORD = 2**27
"""Bytes of text that may belong to one row: in more, a quotation mark was never closed."""

DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " "}
"""Those that are hard to type."""


@dataclass(frozen=True)
class Form:
    """How a text is written, and which sheet of a workbook is meant, where that is not plain.

    Parameters
    ----------
    encoding : str, optional
        Of its characters; UTF-8, or what a byte order mark says, if not given.
    delimiter : str, optional
        What is between cells; the one of comma, tab and semicolon that makes most cells of the
        header if not given.
    decimal : str
        What is before the decimals of a number: a point or a comma.
    sheet : str, optional
        Name or number, from 1, of the sheet of a workbook; the first if not given.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            object.__setattr__(self, "encoding", _known_encoding(self.encoding))
        if self.decimal not in (".", ","):
            raise InputError(f"must be . or , and not {quoted(self.decimal)}", parameter="decimal")
        if self.delimiter is None:
            return
        delimiter = DELIMITERS.get(self.delimiter, self.delimiter)
        object.__setattr__(self, "delimiter", delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
            raise InputError(
                f"must be one character, tab or space, and not {quoted(delimiter)}",
                parameter="delimiter",
            )
        if delimiter == self.decimal:
            raise InputError(
                ("and ", Parameter("decimal"), f" can't both be {quoted(delimiter)}"),
                parameter="delimiter",
            )

    def unusual(self, kind: str | None = None) -> str | None:
        """The first parameter that is not at its default, and has no meaning for such a file."""
        default = Form()
        changed = (name for name in vars(default) if getattr(self, name) != getattr(default, name))
        of_kind = {TEXT: ("encoding", "delimiter", "decimal"), EXCEL: ("sheet",)}
        meaningful = () if kind is None else of_kind.get(kind, ())
        return next((name for name in changed if name not in meaningful), None)


def _known_encoding(name: str) -> str | None:
    """Return what Python calls an encoding; UTF-8 is what a text has anyway."""
    try:
        b"a".decode(name)
        encoding = codecs.lookup(name).name
    except UnicodeError:
        encoding = name
    except (LookupError, ValueError):
        raise InputError(
            f"is unknown: {quoted(name)}; latin-1, cp1252 and utf-16 are common",
            parameter="encoding",
        ) from None
    return None if encoding in ("utf-8", "utf-8-sig") else encoding


# --- what it is -----------------------------------------------------------------------------------


def detect(path: str) -> tuple[str, Packing | None]:
    """Return what a file is, by its content, and how it is packed, if it is."""
    with open_file(path) as raw:
        packing = packing_of(raw.read(HEAD))
        raw.seek(0)
        with unpacked(raw, path) as file:
            head = file.read(HEAD)
            if packing is not None:  # its end would take all of it to be read
                return kind_of(head), packing
            file.seek(-min(4, len(head)), io.SEEK_END)
            return kind_of(head, file.read()), None


def kind_of(head: bytes, tail: bytes = b"") -> str:
    """Tell what a file is by its first bytes, and the last four."""
    if head.startswith(b"PAR1") and (tail == b"PAR1" or b"\0" in head):
        return PARQUET
    if head.startswith(b"ARROW1\0"):
        return ARROW
    if head.startswith(b"\xff\xff\xff\xff") and b"\0" in head:
        return ARROW_STREAM
    workbook = head.startswith(b"PK\x03\x04") and b"xl/" in head
    return EXCEL if workbook or head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") else TEXT


PANDAS = re.compile(rb'\{\s*"(index_columns|column_indexes|columns|partition_columns)"')
"""How what pandas notes on the columns of a file begins."""


def declared_categories(file: BinaryIO, kind: str) -> set[str]:
    """Return the columns that pandas had as categories: of those that are numbers, only it tells.

    Its note is text among what a Parquet or Arrow file says of its columns: at its end, but at the
    beginning of a stream.
    """
    if kind == ARROW_STREAM:
        file.seek(4)
        about = file.read(int.from_bytes(file.read(4), "little"))
    else:  # a footer, its length in four bytes, and how the file began
        mark = 4 if kind == PARQUET else 6
        size = file.seek(-4 - mark, io.SEEK_END)
        length = min(int.from_bytes(file.read(4), "little"), size)
        file.seek(size - length)
        about = file.read(length)
    for start in PANDAS.finditer(about):
        with suppress(ValueError, TypeError, KeyError):
            note, _ = json.JSONDecoder().raw_decode(about[start.start() :].decode(errors="replace"))
            columns = note["columns"]
            return {one["name"] for one in columns if one["pandas_type"] == "categorical"}
    return set()


OTHERS = (
    (rb'\s*(\{\s*"|\[\s*[\[{"\d])', "JSON"),
    (rb"(?i)\s*<(!doctype html|html|head|body)\b", "a web page"),
    (rb"\s*<\?xml", "XML"),
    (rb"PK\x03\x04", "a zip archive"),
    (rb"%PDF-", "PDF"),
    (rb"\x93NUMPY", "an array of NumPy"),
    (rb"\x89HDF", "HDF5"),
    (rb"SQLite format 3\0", "a database of SQLite"),
    (rb"RD[AX][23]\n|X\n\0", "data of R"),
    (rb"FEA1", "Feather of the first version"),
)
"""What else people have, by how it begins."""


def check_not_other(head: bytes, label: str) -> None:
    """Raise an error for what is no table that can be read, and say what it is."""
    for beginning, what in OTHERS:
        if re.match(beginning, head):
            advice = "unpack it" if "zip" in what else "save the table as CSV, Parquet or Feather"
            raise InputError(f"{label} is {what}: {advice}")


def check_text(data: bytes, label: str) -> bytes:
    """Return text in UTF-8; anything else is an error."""
    if b"\0" in data:
        raise InputError(
            f"{label} is no text, as it has bytes of zero: save the table as CSV, Parquet or "
            "Feather"
        )
    try:
        data.decode()
        return data
    except UnicodeDecodeError as error:
        # Of one byte for each character, only that of Windows has letters from 80 to 9f.
        windows = any(0x80 <= byte < 0xA0 for byte in data[error.start : error.start + HEAD])
        odd = f"{label} is not UTF-8 text (it has a byte {data[error.start]:02x}): try "
        raise InputError((odd, Parameter("encoding", "cp1252" if windows else "latin-1"))) from None


# --- what is in it --------------------------------------------------------------------------------


class Packing(NamedTuple):
    """A way to compress files: how these begin, what it is called, which modules open them."""

    beginning: bytes
    name: str
    modules: tuple[str, ...]


PACKINGS = (
    Packing(b"\x1f\x8b", "gzip", ("gzip",)),
    Packing(b"BZh", "bzip2", ("bz2",)),
    Packing(b"\xfd7zXZ\0", "xz", ("lzma",)),
    Packing(b"\x28\xb5\x2f\xfd", "zstd", ("compression.zstd", "backports.zstd")),
)


def packing_of(head: bytes) -> Packing | None:
    """Tell by its first bytes how a file is compressed, if it is."""
    return next((packing for packing in PACKINGS if head.startswith(packing.beginning)), None)


@contextmanager
def unpacked(raw: BinaryIO, label: str) -> Iterator[BinaryIO]:
    """Give what is in a file, from its beginning; itself, if it is not compressed."""
    packing = packing_of(raw.read(8))
    raw.seek(0)
    if packing is None:
        yield raw
        return
    module = _module(packing, label)
    try:
        with module.open(raw) as file:
            yield file
    except InputError:
        raise
    except Exception as error:
        if not _is_damage(error, module):
            raise
        what = f"compressed by {packing.name}"
        raise InputError(f"can't read {label}: it is {what}, but cut short or damaged") from None


def _module(packing: Packing, label: str) -> Any:
    """The module that unpacks, if there is one."""
    for name in packing.modules:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise InputError(
        f"{label} is compressed by {packing.name}: install what reads it with: pip install "
        f"'sparsewise[{packing.name}]', or unpack it first"
    )


def _is_damage(error: Exception, module: Any) -> bool:
    """Whether an error tells of bytes that can't be unpacked, and not of the disk."""
    if isinstance(error, OSError):
        return error.errno is None
    own = tuple(
        getattr(module, name) for name in ("LZMAError", "ZstdError") if hasattr(module, name)
    )
    return isinstance(error, (EOFError, zlib.error, *own))


def whole(source: str, label: str, form: Form) -> bytes:
    """Return all bytes of a file, or of standard input, unpacked."""
    if source == "-":
        data = _read(sys.stdin.buffer, label, form)
    else:
        with open_file(source) as raw:
            data = _read(raw, label, form)
    if packing_of(data) is None:
        return data
    with unpacked(io.BytesIO(data), label) as file:
        return _read(file, label, form)


def _read(file: BinaryIO, label: str, form: Form) -> bytes:
    """Read all of it; what may have no end, as a device, is refused before it fills the memory."""
    data = file.read(HEAD)
    if packing_of(data) is not None or kind_of(data) != TEXT:
        return data + file.read()
    check_beginning(data, label, form)
    blocks, line = [data], 0
    while block := file.read(BLOCK):
        blocks.append(block)
        line = 0 if b"\n" in block or b"\r" in block else line + len(block)
        check_line(line, label)
    return b"".join(blocks)


def check_beginning(head: bytes, label: str, form: Form) -> None:
    """Raise an error for what is no table, or begins with zeros that no encoding explains."""
    check_not_other(head, label)
    if form.encoding is None and not any(head.startswith(mark) for mark, _ in MARKS):
        check_text(head if b"\0" in head else b"", label)


def check_line(length: int, label: str) -> None:
    """Raise an error for a line of so many bytes that it may have no end."""
    if length > LONGEST_RECORD:
        raise InputError(
            f"a row of {label} does not end within {LONGEST_RECORD // 2**20} MB: is a quotation "
            "mark never closed?"
        )


def in_utf8(data: bytes, label: str, form: Form) -> bytes:
    """Return the bytes of a text in UTF-8, if what is said of its encoding is true."""
    with recoded(io.BytesIO(data), label, form) as file:
        return data if isinstance(file, io.BytesIO) else file.read()


@contextmanager
def recoded(file: BinaryIO, label: str, form: Form) -> Iterator[BinaryIO]:
    """Give a text, from its beginning, in UTF-8."""
    head = file.read(4)
    file.seek(0)
    marked = next((encoding for mark, encoding in MARKS if head.startswith(mark)), None)
    encoding = form.encoding or marked
    if encoding is None:
        yield file
        return
    try:
        yield cast(BinaryIO, io.BufferedReader(_Recoded(file, encoding)))
    except UnicodeError:
        option = Parameter("encoding", encoding)
        raise InputError(
            (f"{label} is not text in {encoding}: try another than ", option)
        ) from None


class _Recoded(io.RawIOBase):
    """The characters of a text, in UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self.text = io.TextIOWrapper(file, encoding, newline="")
        self.rest = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, room: WriteableBuffer) -> int:
        """Write as many bytes as there is room for."""
        view = memoryview(room)
        if not self.rest:
            self.rest = self.text.read(max(1, len(view) // 4)).encode()
        data, self.rest = self.rest[: len(view)], self.rest[len(view) :]
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Leave the file open for whoever opened it."""
        if not self.closed:
            self.text.detach()
        super().close()


@contextmanager
def open_text(path: str, form: Form) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a text: what is in it, unpacked and in UTF-8, and the file itself.

    How far the file is read tells how much is left.
    """
    with open_file(path) as raw, unpacked(raw, path) as file, recoded(file, path, form) as text:
        yield text, raw
