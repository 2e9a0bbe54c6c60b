"""Tables: target, features and weights chosen by name, from a file to a matrix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sparsewise.errors import InputError
from sparsewise.models import Source
from sparsewise.tables.cells import (
    MOST_LEVELS,
    FloatArray,
    cells_of,
    complete_rows,
    encoding_of,
    filled_rows,
    matrix,
    missing_counts,
    numbers,
    refuse_text,
    refuse_unknown,
    weights_of,
)
from sparsewise.tables.names import as_argument, positions, split_names
from sparsewise.tables.reading import RawTable, load_example, read_table
from sparsewise.wording import listing, look_up, quoted

__all__ = [
    "MOST_LEVELS",
    "FloatArray",
    "RawTable",
    "Table",
    "as_argument",
    "encode",
    "load_example",
    "positions",
    "read_table",
    "select",
    "split_names",
]


# Row labels that pandas saves as a column: no measurement.
ROW_LABELS = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class Table:
    """A numeric table: y is to be explained by the columns of X, called ``names``."""

    label: str
    names: tuple[str, ...]
    X: FloatArray
    target: str
    y: FloatArray
    weights: FloatArray | None = None
    dropped: int = 0  # rows left out for their missing values
    encoding: tuple[Source, ...] = ()  # the columns that the features were made of
    notes: tuple[str, ...] = ()  # what was left out, in words

    @property
    def counted_rows(self) -> int:
        """How many rows count: those of weight 0 do not."""
        return len(self.y) if self.weights is None else int((self.weights > 0).sum())

    def positions(self, names: Iterable[str]) -> list[int]:
        """Return where features stand; a column of text stands for its levels.

        With all of them but the first, since these tell that one.
        """
        levels = {source.name: source.features for source in self.encoding if source.levels}
        wanted = []
        for name in names:
            made = levels.get(name, ())
            few = made[1:] if len(made) > 1 else made
            wanted += [one for one in few if one in self.names] or [name]
        return positions(wanted, self.names)


def select(
    raw: RawTable,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    chosen: Sequence[str] = (),
    categorical: Sequence[str] = (),
    weights: str | None = None,
    drop_missing: bool = False,
) -> Table:
    """Choose target and features by name, and turn their cells into numbers.

    A feature made of a column of text is called ``column=level``; where features are named, either
    name will do.

    Parameters
    ----------
    raw : RawTable
        The columns as read.
    target : str, optional
        The column to be explained; an example has a default.
    features : sequence of str, optional
        The candidates; all columns but the target if not given.
    exclude : sequence of str
        What to leave out of the candidates.
    chosen : sequence of str
        Names that must be among the candidates.
    categorical : sequence of str
        Columns of which each level becomes a feature of zeros and ones; of two levels, the second.
    weights : str, optional
        A column that says how often each row counts; no feature then.
    drop_missing : bool
        Whether rows with a missing value in a column that is used are left out.
    """
    target = raw.default_target if target is None else target
    if target is None:
        raise InputError(
            f"is needed: one of the columns {listing(raw.columns)}", parameter="target"
        )
    look_up([target, *([] if weights is None else [weights])], raw.columns, "column")
    look_up(categorical, raw.columns, "column")
    _check_roles(target, weights, (*(features or ()), *chosen), categorical)
    requested = _Requested(raw, {target, weights}, features, exclude, set(categorical))
    for name in chosen:
        requested.source(name)
    sources = requested.sources()
    if not sources:
        raise InputError("no features are left: the table needs a column besides the target")
    used = dict.fromkeys([target, *([] if weights is None else [weights]), *sources])
    cells = {name: cells_of(raw, name, name in requested.categorical) for name in used}
    refuse_text(cells, target, weights)
    kept, dropped, notes = complete_rows(raw, cells, drop_missing)
    encoding, constant = encoding_of(cells, sources, requested.categorical, kept)
    names = requested.names(encoding)
    if not names:
        raise InputError("no features are left: the table needs one that varies")
    return Table(
        label=raw.label,
        names=names,
        X=matrix(cells, encoding, names, kept),
        target=target,
        y=numbers(cells[target], target, kept),
        weights=None if weights is None else weights_of(cells[weights], weights, kept),
        dropped=dropped,
        encoding=encoding,
        notes=(*requested.notes, *notes, *constant),
    )


def encode(raw: RawTable, encoding: Sequence[Source], names: Sequence[str]) -> FloatArray:
    """Make the features of a table as those of another were made, one column for each name.

    Parameters
    ----------
    raw : RawTable
        The columns as read; those that the encoding does not name are ignored.
    encoding : sequence of Source
        The columns that the features are made of.
    names : sequence of str
        The features wanted, in this order.
    """
    lacking = [source.name for source in encoding if source.name not in raw.columns]
    if lacking:
        columns = "a column" if len(lacking) == 1 else "columns"
        raise InputError(f"{raw.label} lacks {columns} that the model needs: {listing(lacking)}")
    cells = {source.name: cells_of(raw, source.name, bool(source.levels)) for source in encoding}
    for name, column in cells.items():
        if column.refused:
            raise InputError(
                f"column {quoted(name)} of {raw.label} holds {column.refused} "
                f"({column.example}), where the model needs numbers"
            )
    kept = filled_rows(raw)
    if missing := missing_counts(cells, kept):
        raise InputError(
            f"missing values (of {kept.sum()} rows): {missing}; the model needs them all"
        )
    for source in encoding:
        if source.levels is not None:
            refuse_unknown(cells[source.name], source, kept)
    return matrix(cells, encoding, names, kept)


def _check_roles(
    target: str, weights: str | None, features: Sequence[str], categorical: Sequence[str]
) -> None:
    """Raise an error for a column that is to be two things at once."""
    roles = {"the target": target} | ({} if weights is None else {"the weights": weights})
    for role, name in roles.items():
        if name in features:
            raise InputError(f"{quoted(name)} can't be {role} and a feature at once")
        if name in categorical:
            raise InputError(f"{quoted(name)} can't be {role} and categorical: it must be numbers")
    if target == weights:
        raise InputError(f"{quoted(target)} can't be the target and the weights at once")


@dataclass
class _Requested:
    """What is asked for by name: columns of the table, or levels of a categorical one."""

    raw: RawTable
    taken: set[str | None]  # the target and the weights
    features: Sequence[str] | None
    exclude: Sequence[str]
    categorical: set[str]
    notes: list[str] = field(default_factory=list)

    def source(self, name: str) -> str:
        """Return the column that a feature is made of."""
        if name not in self.raw.columns:
            for column in sorted(self.categorical, key=len, reverse=True):
                if name.startswith(f"{column}="):
                    return column
        look_up([name], self.raw.columns, "column")
        return name

    def sources(self) -> list[str]:
        """Return the columns that features are to be made of, in the table's or the given order."""
        excluded = {name for name in self.exclude if self.source(name) == name} | self.taken
        if self.features is not None:
            named = dict.fromkeys(self.source(name) for name in self.features)
            return [name for name in named if name not in excluded]
        wanted = [name for name in self.raw.columns if name not in excluded]
        labels = [name for name in wanted if ROW_LABELS.fullmatch(name)]
        if labels:
            self.notes.append(f"{listing(labels)} holds row labels and is left out")
        return [name for name in wanted if name not in labels]

    def names(self, encoding: Sequence[Source]) -> tuple[str, ...]:
        """Return the candidates by their own names."""
        made = [name for source in encoding for name in source.features]
        twice = [name for name, times in Counter(made).items() if times > 1]
        if twice:
            raise InputError(
                f"a column and a level are both called {listing(twice)}: rename the column"
            )
        levels = {source.name: source.features for source in encoding}

        def expanded(names: Iterable[str]) -> Iterator[str]:
            for name in names:
                if name in self.raw.columns:
                    yield from levels.get(name, ())
                elif self.source(name) in levels:
                    look_up([name], levels[self.source(name)], "feature")
                    yield name

        wanted = made if self.features is None else dict.fromkeys(expanded(self.features))
        excluded = set(expanded(self.exclude))
        return tuple(name for name in wanted if name not in excluded)
