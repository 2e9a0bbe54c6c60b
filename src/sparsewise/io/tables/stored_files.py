"""Files that are read piece by piece, as often as it takes, in little memory.

Numbers of a Parquet or Arrow file are read some rows at a time. A text is cut where a line ends
outside quotation marks, and each piece is read as a small file would be; a compressed one is
unpacked whenever it is read.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any, BinaryIO

import polars as pl

from sparsewise import plan
from sparsewise._util.dask_cluster import Cluster
from sparsewise._util.files import open_file
from sparsewise._util.text import listing, quoted, shortened
from sparsewise.errors import InputError
from sparsewise.io.tables import formats
from sparsewise.io.tables.formats import (
    ARROW,
    BYTE_ORDER_MARK,
    HEAD,
    PARQUET,
    TEXT,
    Form,
    check_beginning,
    check_line,
    check_text,
    declared_categories,
    detect,
    open_text,
)
from sparsewise.io.tables.parsing import ParsedRows, parse
from sparsewise.io.tables.reading import (
    RawTable,
    as_declared,
    empty_text,
    header_bytes,
    header_of,
    read_table,
    text_frame,
    tidy_names,
    typed_frame,
    without_blank_end,
)
from sparsewise.io.tables.schema import Schema

READ = 2**27
"""Bytes of the numbers of Parquet that are read at a time: less would read its pages more often."""

COLUMNS = 64
"""Columns of Parquet that are read at a time: of each a page, of a megabyte, is looked at."""

ROW_GROUP = 2**26
"""Bytes of a row group that are read at a time: of each column all, whatever rows are wanted."""

PIECE = 2**25
"""Bytes of the numbers of Parquet that are handed out together."""

PARTS_PER_THREAD = 4
"""Parts for each thread of a worker, at least, that all end at about the same time."""

LARGEST_PART = 2 * READ
"""Bytes of numbers in a part for a worker: one that is lost loses no more."""

TEXTS = (".csv", ".tsv", ".txt")
PACKED = ("", ".gz", ".bz2", ".xz", ".zst")
ENDINGS = (
    *(".parquet", ".pq", ".feather", ".arrow", ".ipc", ".xlsx"),
    *(text + packed for packed in PACKED for text in TEXTS),
)
"""How files end that are taken of a folder."""

Report = Callable[[int], None]
"""Is told how much was read, in the units of `size`."""


# --- Parquet --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TypedFile:
    """A Parquet or Arrow file, or some rows of it.

    Parameters
    ----------
    label : str
        Where it is.
    columns : mapping
        What each column is called in the file, by the name that we call it.
    start, end : int
        The rows, from the first to before the last.
    at_once : int
        How many columns to read at a time.
    categories : frozenset of str
        Columns of the file that were declared to be categories.
    kind : str
        Parquet, or Arrow.
    """

    label: str
    columns: dict[str, str]
    start: int
    end: int
    at_once: int
    categories: frozenset[str] = frozenset()
    kind: str = PARQUET

    is_text = False

    @classmethod
    def opened(cls, path: str, kind: str = PARQUET) -> TypedFile:
        """Read what there is of columns and rows."""
        table = _scanned(path, kind)
        frame = typed_frame(lambda: table.head(0).collect(), path, kind)
        names = tidy_names(frame.columns, path)
        rows = typed_frame(lambda: table.select(pl.len()).collect(), path, kind).item()
        # All of the file may be one row group.
        at_once = ROW_GROUP * len(names) // max(1, os.path.getsize(path))
        columns = dict(zip(names, frame.columns, strict=True))
        with open_file(path) as file:
            categories = frozenset(declared_categories(file, kind))
        return cls(path, columns, 0, rows, min(max(1, at_once), COLUMNS), categories, kind)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.columns)

    @property
    def size(self) -> int:
        """Eight bytes for each cell."""
        return (self.end - self.start) * len(self.columns) * 8

    def pieces(self, names: Sequence[str]) -> Iterator[RawTable]:
        """Yield some rows after the other."""
        names = names or self.names[:1]  # a column at least, or there would be no rows
        columns = [self.columns[name] for name in names]
        for start, rows in _stretches(self.start, self.end, READ // (8 * len(columns))):
            frame = self._read(columns, start, rows)
            for first, length in _stretches(0, rows, PIECE // (8 * len(columns))):
                cells = dict(zip(names, frame[first : first + length].get_columns(), strict=True))
                size = length * len(self.columns) * 8
                yield RawTable(
                    self.label, cells, first_row=start + first, size=size, kind=self.kind
                )

    def _read(self, columns: Sequence[str], start: int, rows: int) -> pl.DataFrame:
        """Read some rows, a few columns at a time: what is looked at of the file is in memory."""
        frames = []
        for first, width in _stretches(0, len(columns), self.at_once):
            table = _scanned(self.label, self.kind).select(columns[first : first + width])
            part = table.slice(start, rows)
            frames.append(typed_frame(part.collect, self.label, self.kind))
        if any(frame.height != rows for frame in frames):
            raise changed(self.label)
        return as_declared(pl.concat(frames, how="horizontal"), self.categories)


def _stretches(start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield beginnings and lengths that make up a range, none of them longer than that."""
    most = max(1, most)
    return ((first, min(most, end - first)) for first in range(start, end, most))


def _scanned(path: str, kind: str) -> pl.LazyFrame:
    """A Parquet or Arrow file; its name is no pattern, whatever its characters."""
    if kind == PARQUET:
        return pl.scan_parquet(path, glob=False)
    return pl.scan_ipc(glob.escape(path))


def changed(label: str) -> InputError:
    """A file that is not what it was when it was looked at."""
    return InputError(f"{label} has changed while it was read: try again once it is written")


# --- text -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextFile:
    """A CSV or TSV file.

    Parameters
    ----------
    label : str
        Where it is.
    names : tuple of str
        The columns.
    separator : str
        What is between cells.
    start : int
        Bytes before the first row, unpacked and in UTF-8.
    size : int
        Bytes of the file.
    old_line_ends : bool
        Whether lines end with a carriage return alone.
    form : Form
        How it is written.
    """

    label: str
    names: tuple[str, ...]
    separator: str
    start: int
    size: int
    old_line_ends: bool
    form: Form

    is_text = True
    kind = TEXT

    @classmethod
    def opened(cls, path: str, form: Form) -> TextFile:
        """Read the header."""
        with open_text(path, form) as (text, raw):
            head = text.read(HEAD)
            size = os.fstat(raw.fileno()).st_size
        check_beginning(head, path, form)
        start = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
        old_line_ends = not _has_line_feed(path, form)
        for block, _ in _blocks(path, form, start, old_line_ends):
            if block.strip():
                separator, header = header_of(block, path, form)
                start += header_bytes(block, separator)
                return cls(path, tuple(header), separator, start, size, old_line_ends, form)
            start += len(block)
        raise empty_text(path)

    def pieces(self, names: Sequence[str]) -> Iterator[RawTable]:
        """Yield some rows after the other."""
        header = list(self.names)
        before, blank = 0, b""
        for block, size in _blocks(self.label, self.form, self.start, self.old_line_ends):
            rows, blank = without_blank_end(blank + block, len(header))
            frame = text_frame(rows, self.separator, header, self.label, before)
            yield RawTable(
                self.label,
                dict(zip(header, frame.get_columns(), strict=True)),
                is_text=True,
                first_row=before,
                size=size,
                decimal=self.form.decimal,
            )
            before += frame.height


def _has_line_feed(path: str, form: Form) -> bool:
    with open_text(path, form) as (text, _):
        return any(b"\n" in data for data in iter(lambda: text.read(formats.BLOCK), b""))


def _blocks(path: str, form: Form, start: int, old_line_ends: bool) -> Iterator[tuple[bytes, int]]:
    """Yield the text from there on, cut where rows end; and how much of the file each took."""
    with open_text(path, form) as (text, raw):
        _skip(text, start)
        rest, place = b"", raw.tell()
        while data := text.read(formats.BLOCK):
            rest += data.replace(b"\r", b"\n") if old_line_ends else data
            if end := _last_row_end(rest):
                yield check_text(rest[:end], path), raw.tell() - place
                rest, place = rest[end:], raw.tell()
            else:
                check_line(len(rest), path)
        if rest:
            yield check_text(rest, path), raw.tell() - place


def _skip(file: BinaryIO, number: int) -> int:
    """Read so many bytes and forget them, for what is unpacked can't seek; return how many came."""
    left = number
    while left > 0 and (data := file.read(min(left, formats.BLOCK))):
        left -= len(data)
    return number - left


def _last_row_end(data: bytes) -> int:
    """Return where the last row ends that is there as a whole; 0 if none is.

    Behind a line feed with an even number of quotation marks before it: others are within cells.
    """
    quotes = data.count(b'"')
    end = data.rfind(b"\n") + 1
    behind = len(data)
    while end:
        quotes -= data.count(b'"', end, behind)
        if quotes % 2 == 0:
            return end
        behind, end = end, data.rfind(b"\n", 0, end - 1) + 1
    return 0


# --- several files --------------------------------------------------------------------------------


File = RawTable | TypedFile | TextFile
"""What can be read piece by piece: a file, or a table that is in memory already."""


@dataclass(frozen=True)
class Stored:
    """A table in one file or several, each with the same columns.

    Parameters
    ----------
    label : str
        What it is called.
    files : tuple of File
        Its rows, one file after the other.
    default_target : str, optional
        The column to be explained, if no other is named.
    kept : tuple of ParsedRows
        All rows, parsed already, of a table in memory.
    cluster : Cluster, optional
        The workers that read the files, which they must see under the same names: profiles and
        triangles travel, no rows.
    """

    label: str
    files: tuple[File, ...]
    default_target: str | None = None
    kept: tuple[ParsedRows, ...] = ()
    cluster: Cluster | None = None

    @classmethod
    def of(cls, raw: RawTable | Stored) -> Stored:
        """Return a table that is in memory as one that can be read piece by piece."""
        return cls(raw.label, (raw,), raw.default_target) if isinstance(raw, RawTable) else raw

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all files, in the order in which they are met."""
        return tuple(dict.fromkeys(name for file in self.files for name in file.names))

    @property
    def several(self) -> bool:
        """Whether a row must be told with its file."""
        return len(self.files) > 1

    @property
    def in_memory(self) -> bool:
        """Whether all rows are in memory already."""
        return all(isinstance(file, RawTable) for file in self.files)

    @property
    def size(self) -> int:
        """How much there is to read."""
        return sum(file.size for file in self.files)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise an error for a file that lacks a column which is used, and others have."""
        for file in self.files:
            lacking = [name for name in names if name not in file.names]
            if lacking:
                has = next(other for other in self.files if lacking[0] in other.names)
                raise InputError(
                    f"{file.label} lacks the column {quoted(lacking[0])}, which {has.label} has"
                    ": all files need the columns that are used"
                )

    def parsed(self, schema: Schema, report: Report | None = None) -> Iterator[ParsedRows]:
        """Yield some rows after the other, parsed."""
        if self.kept:
            yield from self.kept
            return
        for file in self.files:
            for piece in file.pieces(schema.columns):
                yield parse(piece, schema)
                if report is not None:  # once it was dealt with
                    report(piece.size)

    def keeping(self, schema: Schema) -> Stored:
        """Return a table whose rows are parsed once, if they are in memory anyway."""
        return replace(self, kept=tuple(self.parsed(schema))) if self.in_memory else self

    def each(
        self, task: Callable[..., Any], report: Report | None = None, *arguments: Sequence[Any]
    ) -> list[Any]:
        """Return the results of a task, one for each part; all files are one without workers."""
        if self.cluster is None:
            return [task(self, *(values[0] for values in arguments), report=report)]
        return self.cluster.results(_submit(self, self.cluster, task, report, *arguments))

    def total(
        self, task: Callable[..., Any], report: Report | None = None, *arguments: Sequence[Any]
    ) -> Any:
        """Return the sum of the results of a task: of workers two and two, where they are."""
        if self.cluster is None:
            [total] = self.each(task, report, *arguments)
            return total
        futures = _submit(self, self.cluster, task, report, *arguments)
        while len(futures) > 1:
            pairs = futures[: len(futures) // 2 * 2]
            sums = self.cluster.ask(add, pairs[::2], pairs[1::2])
            futures = [*sums, *futures[len(pairs) :]]
        [total] = self.cluster.results(futures)
        return total


def _submit(
    stored: Stored,
    cluster: Cluster,
    task: Callable[..., Any],
    report: Report | None,
    *arguments: Sequence[Any],
) -> list[Any]:
    """Ask workers for a task on every part, and report the parts that are done."""
    parts = [Stored(file.label, (file,)) for file in _parts(stored, cluster.threads)]
    futures = cluster.ask(task, parts, *map(list, arguments))
    if report is not None:
        for future, part in zip(futures, parts, strict=True):
            future.add_done_callback(lambda done, size=part.size: report(size))
    return futures


def _parts(stored: Stored, threads: int) -> Iterator[File]:
    """Cut Parquet and Arrow files into parts of equal rows; a text is read as a whole."""
    most = min(LARGEST_PART, stored.size // (PARTS_PER_THREAD * threads))
    for file in stored.files:
        if not isinstance(file, TypedFile):
            yield file
            continue
        length = max(1, most // (8 * len(file.columns)))
        for start in range(file.start, max(file.end, file.start + 1), length):
            yield replace(file, start=start, end=min(start + length, file.end))


def open_files(sources: Sequence[str], form: Form | None = None) -> Stored:
    """Find the files of a table for other machines to read, by names that they know, too."""
    paths = [path for source in sources for path in _paths(source)]
    for path in paths:
        if not os.path.isfile(path):
            missing = path != "-" and not os.path.exists(path)
            wrong = f"there is no file {quoted(path)}"
            raise InputError(wrong if missing else f"{path} is nothing other machines could read")
    files = open_table([os.path.abspath(path) for path in paths], in_memory=-1, form=form)
    return replace(files, label=shortened(list(sources), most=3))


def open_table(
    sources: Sequence[str], in_memory: int | None = None, form: Form | None = None
) -> Stored:
    """Find the files of a table, and read them as a whole if they are small.

    Parameters
    ----------
    sources : sequence of str
        Files, folders, patterns such as ``data/*.parquet``; ``"-"`` is standard input.
    in_memory : int, optional
        Bytes up to which a table counts as small; `plan.TABLE_IN_MEMORY` if not given.
    form : Form, optional
        How texts are written, where that is not to be found out.
    """
    most, form = plan.TABLE_IN_MEMORY if in_memory is None else in_memory, form or Form()
    label = shortened(list(sources), most=3)
    paths = [path for source in sources for path in _paths(source)]
    repeated = [path for number, path in enumerate(paths) if path in paths[:number]]
    if repeated:
        raise InputError(f"{listing(dict.fromkeys(repeated))} is given more than once")
    is_file = [os.path.isfile(path) for path in paths]  # what is no file can be read but once
    large = all(is_file) and _exceeds(paths, most)
    files = [_opened(path, form) if large else read_table(path, form) for path in paths]
    _check_formats(files, form)
    return Stored(label if len(paths) > 1 else files[0].label, tuple(files))


def _opened(path: str, form: Form) -> File:
    """Open a file to be read piece by piece; one that can't be is read as a whole."""
    kind, packing = detect(path)
    if kind == TEXT:
        return TextFile.opened(path, form)
    if packing is not None:
        raise InputError(
            f"{path} is {kind} within {packing.name} and too large to be read as a whole: unpack it"
        )
    return TypedFile.opened(path, kind) if kind in (PARQUET, ARROW) else read_table(path, form)


def _paths(source: str) -> list[str]:
    """Return the files that a name stands for, in order."""
    if source == "-" or os.path.isfile(source):
        return [source]
    if os.path.isdir(source):
        names = sorted(os.listdir(source))
        paths = [
            os.path.join(source, name)
            for name in names
            if name.lower().endswith(ENDINGS) and not name.startswith((".", "_"))
        ]
        paths = [path for path in paths if os.path.isfile(path)]
        if not paths:
            endings = ", ".join(ENDINGS)
            raise InputError(f"can't read the folder {quoted(source)}: no file ends in {endings}")
        return paths
    if glob.has_magic(source):
        paths = [path for path in sorted(glob.glob(source, recursive=True)) if os.path.isfile(path)]
        if not paths:
            raise InputError(f"there is no file like {quoted(source)}")
        return paths
    return [source]  # whoever reads it says what is wrong


def _exceeds(paths: Sequence[str], most: int) -> bool:
    """Whether files together take more bytes than that."""
    for path in paths:
        most -= _bytes(path, most)
        if most < 0:
            return True
    return False


def _bytes(path: str, most: int) -> int:
    """Return what a table takes: its text, or 8 bytes for each cell; counted to one more."""
    try:
        kind, packing = detect(path)
        if packing is not None:
            with open_text(path, Form()) as (text, _):
                return _skip(text, most + 1)
        if kind in (PARQUET, ARROW):
            return TypedFile.opened(path, kind).size
        return os.path.getsize(path)
    except (InputError, OSError):
        return 0  # whoever reads it says what is wrong


def _check_formats(files: Sequence[File], form: Form) -> None:
    """Raise an error for text and typed columns side by side, and for a form of what has none."""
    first, option = files[0], form.unusual(files[0].kind)
    for file in files:
        if file.is_text != first.is_text:
            text, other = (file, first) if file.is_text else (first, file)
            raise InputError(
                f"{text.label} is text and {other.label} is {other.kind}: give files of one kind"
            )
    if option is not None:
        kind = "Excel files" if option == "sheet" else "text"
        raise InputError(f"is for {kind}, and {first.label} is {first.kind}", parameter=option)
