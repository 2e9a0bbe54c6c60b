"""Tables: target, features and weights chosen by name, from files to a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from sparsewise.io.model import Source
from sparsewise.io.tables.formats import Form
from sparsewise.io.tables.imputing import medians
from sparsewise.io.tables.layout import Chunk, Layout, Table, matrix, surveyed
from sparsewise.io.tables.names import as_argument, positions, split_names, target_names
from sparsewise.io.tables.parsing import FloatArray
from sparsewise.io.tables.profile import look
from sparsewise.io.tables.reading import RawTable, load_example, read_table
from sparsewise.io.tables.schema import Needed
from sparsewise.io.tables.stored_files import Stored, open_files, open_table
from sparsewise.io.tables.stream import Stream, predicted, scan
from sparsewise.io.tables.validation import MOST_LEVELS

__all__ = [
    "MOST_LEVELS",
    "Chunk",
    "FloatArray",
    "Form",
    "Layout",
    "RawTable",
    "Stored",
    "Stream",
    "Table",
    "as_argument",
    "encode",
    "load_example",
    "open_files",
    "open_table",
    "positions",
    "predicted",
    "read_table",
    "scan",
    "select",
    "split_names",
    "target_names",
]


def select(
    raw: RawTable | Stored, target: str | Sequence[str] | None = None, **names: Any
) -> Table:
    """Choose target and features by name, and turn their cells into numbers.

    A feature made of a column of text is called ``column=level``; where features are named, either
    name will do.

    Parameters
    ----------
    raw : RawTable or Stored
        The columns as read, of one file or several.
    target : str or sequence of str, optional
        The column to be explained, or several; an example has a default.
    features : sequence of str, optional
        The candidates; all columns but the targets if not given.
    exclude : sequence of str
        What to leave out of the candidates.
    chosen : sequence of str
        Names that must be among the candidates.
    categorical : sequence of str
        Columns of which each level becomes a feature of zeros and ones; of two levels, the second.
    weights : str, optional
        A column that says how often each row counts; no feature then.
    fold : str, optional
        A column that says to which fold each row belongs; no feature then.
    drop_missing : bool
        Whether rows with a missing value in a column that is used are left out.
    impute : {"median", "indicator"}, optional
        What missing values of features are filled in by: medians, with a feature "column=missing"
        of zeros and ones besides by "indicator". Of a categorical column, missing is a level.
    """
    stored = Stored.of(raw)
    choice = stored.choice(target, **names)
    # Cells are kept from one look to the other: they are in memory anyway.
    looked = [look(piece, choice.wanted) for piece in stored.pieces(choice.wanted.names)]
    find = partial(medians, looked)
    layout = choice.layout(surveyed(looked), stored.label, stored.several, find)
    return Table.gathered(layout, looked)


def encode(
    raw: RawTable | Stored,
    encoding: Sequence[Source],
    names: Sequence[str],
    missing: str = "error",
) -> FloatArray:
    """Make the features of a table as those of another were made, one column for each name.

    Parameters
    ----------
    raw : RawTable or Stored
        The columns as read; those that the encoding does not name are ignored.
    encoding : sequence of Source
        The columns that the features are made of.
    names : sequence of str
        The features wanted, in this order.
    missing : {"error", "blank"}
        What becomes of a row with a missing value, or with a level that is not in the encoding: an
        error, or a row of NaN.
    """
    stored = Stored.of(raw)
    needed = Needed(tuple(encoding), tuple(names), missing == "blank")
    stored.check_needed(needed)
    looked = [look(piece, needed.wanted) for piece in stored.pieces(needed.wanted.names)]
    layout = needed.layout(surveyed(looked), stored.label, stored.several)
    return matrix(layout, looked, needed.blank)
