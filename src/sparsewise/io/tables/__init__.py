"""Tables: target, features and weights chosen by name, from files to numbers."""

from __future__ import annotations

from sparsewise.io.tables.formats import Form
from sparsewise.io.tables.names import as_argument, positions, split_names, target_names
from sparsewise.io.tables.reading import RawTable, load_example, read_table
from sparsewise.io.tables.stored_files import Stored, open_files, open_table
from sparsewise.io.tables.table import Chunk, Table, encode, select
from sparsewise.io.tables.validation import MOST_LEVELS

__all__ = [
    "MOST_LEVELS",
    "Chunk",
    "Form",
    "RawTable",
    "Stored",
    "Table",
    "as_argument",
    "encode",
    "load_example",
    "open_files",
    "open_table",
    "positions",
    "read_table",
    "select",
    "split_names",
    "target_names",
]
