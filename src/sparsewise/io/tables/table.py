"""The chosen columns of a table as numbers: in memory, or some rows of its files at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from sparsewise import plan
from sparsewise._util.progress import waiting
from sparsewise._util.text import count
from sparsewise.errors import InputError, Parameter
from sparsewise.io.model import Source
from sparsewise.io.tables import imputing, validation
from sparsewise.io.tables.imputing import FloatArray
from sparsewise.io.tables.names import positions
from sparsewise.io.tables.parsing import ParsedRows
from sparsewise.io.tables.profile import Profile
from sparsewise.io.tables.reading import RawTable
from sparsewise.io.tables.schema import Schema
from sparsewise.io.tables.stored_files import Report, Stored, changed
from sparsewise.suffstats.condensed import Condensed

Labels = npt.NDArray[Any]

CHUNK = 2**25
"""Bytes of numbers that are handed out together."""


class Chunk(NamedTuple):
    """Some rows as numbers, and the folds they belong to."""

    features: pl.DataFrame
    targets: pl.DataFrame
    weights: FloatArray | None
    folds: Labels | None

    def __len__(self) -> int:  # rows, not fields
        return self.targets.height

    @property
    def X(self) -> FloatArray:
        """The features as a matrix, contiguous by columns."""
        return self.features.to_numpy(order="fortran")

    @property
    def y(self) -> FloatArray:
        """The target; of several, each is a column."""
        return self.targets.to_numpy() if self.targets.width > 1 else self.target.to_numpy()

    @property
    def target(self) -> Any:
        """The target by its name; several as a frame."""
        return self.targets if self.targets.width > 1 else self.targets.to_series()


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose targets are to be explained by the features called ``names``.

    Attributes
    ----------
    stored : Stored
        Where the rows are.
    schema : Schema
        The columns that are used, and how.
    names : tuple of str
        The features.
    encoding : tuple of Source
        The columns that the features are made of.
    rows : int
        Rows without a missing value.
    counted_rows : int
        How many of them count: those of weight 0 do not.
    rows_before : tuple of int
        How many rows that count come before each part of the files.
    dropped : int
        Rows left out for their missing values.
    folds : tuple of str
        The labels of folds, in order; empty if no column tells them.
    notes : tuple of str
        What was left out, filled in or is odd.
    data : Chunk or None
        All rows, if they are in memory.
    """

    stored: Stored
    schema: Schema
    names: tuple[str, ...]
    encoding: tuple[Source, ...]
    rows: int = 0
    counted_rows: int = 0
    rows_before: tuple[int, ...] = ()
    dropped: int = 0
    folds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    data: Chunk | None = None

    @property
    def label(self) -> str:
        """What the table is called."""
        return self.stored.label

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns to be explained: one, or several by the same features."""
        return self.schema.targets

    @property
    def target(self) -> str | list[str]:
        """The target by its name, or several by theirs."""
        return self.targets[0] if len(self.targets) == 1 else list(self.targets)

    @property
    def X(self) -> FloatArray:
        """The features of a table in memory as a matrix."""
        assert self.data is not None
        return self.data.X

    @property
    def y(self) -> FloatArray:
        """The target of a table in memory; of several, each is a column."""
        assert self.data is not None
        return self.data.y

    @property
    def bytes(self) -> int:
        """What the numbers take in memory."""
        return self.rows * (len(self.names) + len(self.targets)) * 8

    @property
    def condenses(self) -> bool:
        """Whether triangles are much smaller than the rows, and these far away or too large."""
        pays = plan.condenses(plan.CONDENSE_UNREAD, self.rows, len(self.names), len(self.targets))
        return pays and (self.stored.cluster is not None or self.bytes > plan.TABLE_IN_MEMORY)

    def positions(self, names: Iterable[str]) -> list[int]:
        """Return where features stand; a column of text stands for its levels.

        With all of them but the first, since these tell that one.
        """
        levels = {source.name: source.features for source in self.encoding if source.levels}
        features = []
        for name in names:
            encoded = levels.get(name, ())
            independent = encoded[1:] if len(encoded) > 1 else encoded
            features += [level for level in independent if level in self.names] or [name]
        return positions(features, self.names)

    def features_named(self, names: Iterable[str]) -> list[str]:
        """Return the features that these names stand for."""
        return [self.names[j] for j in self.positions(names)]

    # ------------------------------------------------------------------ rows as numbers

    def features(self, rows: ParsedRows) -> pl.DataFrame:
        """Return the features of complete rows."""
        columns: dict[str, pl.Series] = {}
        for source in self.encoding:
            if source.levels is None:
                numbers = rows.values(source.name)
                filled = numbers if source.fill is None else numbers.fill_null(float(source.fill))
                columns[source.name] = filled
                if source.indicator:
                    columns[source.missing] = numbers.is_null().cast(pl.Float64)
            else:
                columns |= _indicators(source, rows)
        return pl.DataFrame({name: columns[name] for name in self.names})

    def chunk(self, rows: ParsedRows) -> Chunk:
        """Return complete rows as numbers."""
        schema = self.schema
        targets = pl.DataFrame({name: rows.values(name) for name in schema.targets})
        weights = folds = None
        if schema.weights is not None:
            weights = rows.values(schema.weights).to_numpy()
        if schema.fold is not None:
            folds = np.array(rows.values(schema.fold).to_list(), dtype=str)
        return Chunk(self.features(rows), targets, weights, folds)

    def chunks(self, report: Report | None = None) -> Iterator[Chunk]:
        """Yield all rows, some after the other; `report` is told how much was read."""
        rows = 0
        for chunk in self._chunks(self.stored, report):
            rows += len(chunk)
            yield chunk
        if rows != self.rows:
            raise changed(self.label)

    def _chunks(self, part: Stored, report: Report | None) -> Iterator[Chunk]:
        """Yield so many rows at once, or more, but for the last ones."""
        least = max(1, CHUNK // (8 * (len(self.names) + len(self.targets))))
        chunks: list[Chunk] = []
        for rows in part.parsed(self.schema, report):
            try:
                chunks.append(self.chunk(rows))
            except pl.exceptions.PolarsError:  # a level that was not there before
                raise changed(part.label) from None
            if sum(map(len, chunks)) >= least:
                yield _stacked(chunks)
                chunks = []
        if any(map(len, chunks)):
            yield _stacked(chunks)

    def gathered(self, report: Report | None = None) -> Table:
        """Return the table with all rows in memory."""
        _check_memory(self.rows, len(self.names))
        rows = self.stored.parsed(self.schema, report)
        data = _stacked([self.chunk(piece) for piece in rows])
        return replace(self, data=data, stored=replace(self.stored, kept=()))

    # ------------------------------------------------------------------ rows as triangles

    def condensed(self, folds: int | None = None, report: Report | None = None) -> Condensed:
        """Gather all rows in triangles, one for each fold.

        Parameters
        ----------
        folds : int, optional
            How many folds of neighbouring rows, if no column tells them.
        report : callable, optional
            Is told how much was read.
        """
        if self.schema.fold is not None:
            folds = None
        if folds is not None and folds > self.counted_rows:
            rows = count(self.counted_rows, "row")
            raise InputError(f"asks for more folds than {rows}", "ask for fewer.", parameter="cv")
        recipe = replace(self, stored=Stored(self.label, ()), data=None)  # no rows travel
        total: Condensed = self.stored.total(
            partial(_condense, recipe, folds), report, self.rows_before
        )
        if total.count != self.counted_rows:
            raise changed(self.label)
        return total


def _indicators(source: Source, rows: ParsedRows) -> dict[str, pl.Series]:
    """Return a feature of zeros and ones for each encoded level of a column."""
    cells = rows.values(source.name)
    if source.fill is not None:
        cells = cells.fill_null(str(source.fill))
    levels = list(source.levels or ())
    codes = cells.replace_strict(levels, list(range(len(levels))), return_dtype=pl.Int32)
    return {
        name: (codes == levels.index(level)).cast(pl.Float64)
        for name, level in zip(source.features, source.encoded, strict=True)
    }


def _stacked(chunks: Sequence[Chunk]) -> Chunk:
    """Return rows below each other."""
    if len(chunks) == 1:
        return chunks[0]
    features, targets, weights, folds = zip(*chunks, strict=True)
    return Chunk(
        pl.concat(features, rechunk=True),
        pl.concat(targets, rechunk=True),
        None if weights[0] is None else np.concatenate(weights),
        None if folds[0] is None else np.concatenate(folds),
    )


def _check_memory(n: int, m: int) -> None:
    """Raise an error for a matrix that there is no memory for."""
    try:
        np.empty((n, m))
    except MemoryError:
        wrong = f"{n} rows and {m} features need {n * m * 8 / 1e9:.0f} GB, which is more than "
        how = "there is: choose fewer by ", Parameter("features"), " or ", Parameter("exclude")
        raise InputError((wrong, *how)) from None


def _condense(
    table: Table, folds: int | None, part: Stored, before: int, report: Report | None = None
) -> Condensed:
    """Gather the rows of a part in triangles; so many rows that count come before them."""
    total = Condensed()
    for chunk in table._chunks(part, report):
        counts = np.ones(len(chunk), bool) if chunk.weights is None else chunk.weights > 0
        labels = chunk.folds
        if folds is not None:
            labels = _equal_folds(before + np.cumsum(counts) - counts, table.counted_rows, folds)
        before += int(counts.sum())
        total.update(chunk.features, chunk.y, chunk.weights, fold=labels)
    total.target_names = list(table.targets) if total.n_targets else None
    return total


def _equal_folds(places: Labels, rows: int, folds: int) -> Labels:
    """Return the fold of each place: neighbouring rows, as those of a table in memory."""
    # The first n mod k folds have a row more.
    size, more = divmod(rows, folds)
    ends = np.arange(1, folds) * size + np.minimum(np.arange(1, folds), more)
    return np.searchsorted(ends, places, side="right")


# --- from columns by name to a table --------------------------------------------------------------


def select(
    stored: RawTable | Stored,
    target: str | Sequence[str] | None = None,
    *,
    report: Report | None = None,
    chosen: Sequence[str] = (),
    **names: Any,
) -> Table:
    """Choose target and features by name, look at all rows, and decide how they become numbers.

    The rows of a table in memory are numbers then; those of files are read again, some at a time.
    A feature made of a column of text is called ``column=level``; where features are named, either
    name will do.

    Parameters
    ----------
    stored : RawTable or Stored
        The columns as read, or files.
    target : str or sequence of str, optional
        The column to be explained, or several; an example has a default.
    report : callable, optional
        Is told how much was read.
    chosen : sequence of str
        Names that must be among the candidates.
    features : sequence of str, optional
        The candidates; all columns but the targets if not given.
    exclude : sequence of str
        What to leave out of the candidates.
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
    stored = Stored.of(stored)
    target = stored.default_target or () if target is None else target
    schema = Schema(
        available=stored.columns,
        targets=(target,) if isinstance(target, str) else tuple(target),
        several=stored.several,
        **names,
    ).chosen(chosen)
    stored.check_columns(schema.columns)
    stored = stored.keeping(schema)
    profiles: list[Profile] = stored.each(partial(_profile, schema), report)
    profile = sum(profiles, Profile())

    def medians(columns: Sequence[str]) -> dict[str, float]:
        size = imputing.readings(columns) * stored.size
        with waiting("finding medians", size, unasked=True) as wait:
            return imputing.medians(
                columns,
                lambda *bits: stored.total(partial(_histogram, schema, columns, bits), wait.update),
            )

    encoding, features, notes = schema.encode(profile, stored.label, medians)
    table = Table(
        stored=stored,
        schema=schema,
        names=features,
        encoding=encoding,
        rows=profile.complete,
        counted_rows=profile.counted,
        rows_before=tuple(accumulate((part.counted for part in profiles), initial=0))[:-1],
        dropped=profile.rows - profile.complete,
        folds=() if schema.fold is None else validation.folds_of(profile, schema.fold),
        notes=notes,
    )
    return table.gathered() if stored.in_memory else table


def encode(
    stored: RawTable | Stored,
    encoding: Sequence[Source],
    names: Sequence[str],
    missing: str = "error",
    report: Report | None = None,
) -> Iterator[FloatArray]:
    """Make the features of a table as those of another were made, some rows after the other.

    All rows are looked at first: what can't be used is refused before anything is made of it.

    Parameters
    ----------
    stored : RawTable or Stored
        The columns as read, or files; columns that the encoding does not name are ignored.
    encoding : sequence of Source
        The columns that the features are made of.
    names : sequence of str
        The features, one a column of the result.
    missing : {"error", "blank"}
        What becomes of a row with a missing value, or with a level that is not in the encoding: an
        error, or a row of NaN.
    report : callable, optional
        Is told how much was read.
    """
    stored = Stored.of(stored)
    schema = Schema.of_model(encoding, missing == "blank", stored.several)
    for file in stored.files:
        schema.check_columns(file.names, file.label)
    stored = stored.keeping(schema)
    profile = _profile(schema, stored, report=report)
    schema.check(profile, stored.label)
    table = Table(
        stored=stored,
        schema=schema,
        names=tuple(names),
        encoding=tuple(encoding),
    )
    for rows in stored.parsed(schema, report):
        X = np.full((rows.profile.rows, len(names)), np.nan, order="F")
        if names:
            X[rows.complete.to_numpy()] = table.features(rows).to_numpy()
        yield X


def _profile(schema: Schema, part: Stored, report: Report | None = None) -> Profile:
    """Return what all rows of a part hold, and keep none of them."""
    return sum((rows.profile for rows in part.parsed(schema, report)), Profile())


def _histogram(
    schema: Schema, columns: Sequence[str], bits: Any, part: Stored, report: Report | None = None
) -> FloatArray:
    return imputing.counted(part.parsed(schema, report), columns, schema.weights, *bits)
