"""Which columns of a table are used, and as what: chosen by name for a fit, or given by a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from sparsewise._util.text import listing, look_up, quoted
from sparsewise.errors import InputError, Parameter
from sparsewise.io.model import MISSING_LEVEL, Source
from sparsewise.io.tables import validation
from sparsewise.io.tables.profile import Profile

IMPUTE = ("median", "indicator")
"""How missing values may be filled in."""

ROW_LABELS = re.compile(r"__index_level_\d+__")
"""Row labels that pandas saves as a column: no measurement."""

Medians = Callable[[Sequence[str]], dict[str, float]]
"""From columns of numbers to their medians."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The columns that are used, and how their cells are read.

    Parameters
    ----------
    columns : tuple of str
        The columns that are used.
    text : frozenset of str
        Those of them whose cells are levels, told apart by their text.
    weights : str, optional
        The column that says how often each row counts.
    levels : mapping
        The only levels that a column may have, where a model knows them already.
    imputed : frozenset of str
        Columns whose missing values are filled in: no row is incomplete for them.
    skip_unknown : bool
        Whether a row with another level is incomplete.
    targets : tuple of str
        The columns to be explained; none where a model predicts them.
    fold : str, optional
        The column that says to which fold each row belongs.
    several : bool
        Whether the table has several files, so that a row is told with its file.
    """

    columns: tuple[str, ...] = ()
    text: frozenset[str] = frozenset()
    weights: str | None = None
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    imputed: frozenset[str] = frozenset()
    skip_unknown: bool = False
    targets: tuple[str, ...] = ()
    fold: str | None = None
    several: bool = False


# --- for a fit ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FitSchema(Schema):
    """Targets, features, weights and folds, chosen by name among the columns of a table.

    Parameters
    ----------
    available : sequence of str
        The columns of the table.
    features : sequence of str, optional
        The candidates; all columns that are left if not given.
    exclude : sequence of str
        What to leave out of the candidates.
    chosen : sequence of str
        Names that must be among the candidates.
    categorical : sequence of str
        Columns of which each level is a feature.
    drop_missing : bool
        Whether rows with a missing value are left out.
    impute : {"median", "indicator"}, optional
        What missing values of features are filled in by.

    Attributes
    ----------
    sources : tuple of str
        The columns that features are made of.
    notes : tuple of str
        What was left out.
    """

    available: Sequence[str]
    features: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    chosen: Sequence[str] = ()
    categorical: Sequence[str] = ()
    drop_missing: bool = False
    impute: str | None = None
    sources: tuple[str, ...] = field(init=False)
    notes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.impute is not None:
            look_up([self.impute], IMPUTE, "way to impute")
        if not self.targets:
            raise InputError(
                f"is needed: one of the columns {listing(self.available)}", parameter="target"
            )
        role = "the target" if len(self.targets) == 1 else "a target"
        roles = [(role, name) for name in self.targets]
        others = [("the weights", self.weights), ("the folds", self.fold)]
        roles += [(role, name) for role, name in others if name is not None]
        taken = [name for _, name in roles]
        look_up([*taken, *self.categorical], self.available, "column")
        if repeated := _repeated(self.targets):
            raise InputError(f"names {listing(repeated)} more than once", parameter="target")
        _check_roles(roles, (*(self.features or ()), *self.chosen), self.categorical)
        for name in self.chosen:
            self._source(name)
        sources, notes = self._sources(taken)
        if not sources:
            besides = "the target" if len(self.targets) == 1 else "the targets"
            raise InputError(f"no features are left: the table needs a column besides {besides}")
        columns = tuple(dict.fromkeys([*taken, *sources]))
        vars(self).update(
            columns=columns,
            text=frozenset(columns).intersection({*self.categorical, self.fold}),
            imputed=frozenset(sources if self.impute else ()),
            sources=sources,
            notes=notes,
        )

    def _source(self, name: str) -> str:
        """Return the column that a feature is made of."""
        if name not in self.available:
            for column in sorted(self.categorical, key=len, reverse=True):
                if name.startswith(f"{column}="):
                    return column
            column = name.removesuffix(f"={MISSING_LEVEL}")
            if self.impute == "indicator" and column in self.available:
                return column
        look_up([name], self.available, "column")
        return name

    def _sources(self, taken: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns that features are made of, and a note on those left out."""
        excluded = {name for name in self.exclude if self._source(name) == name}.union(taken)
        if self.features is not None:
            named = dict.fromkeys(self._source(name) for name in self.features)
            return tuple(name for name in named if name not in excluded), ()
        sources = [name for name in self.available if name not in excluded]
        labels = [name for name in sources if ROW_LABELS.fullmatch(name)]
        notes = (f"{listing(labels)} holds row labels and is left out",) if labels else ()
        return tuple(name for name in sources if name not in labels), notes

    def encode(
        self, profile: Profile, label: str, medians: Medians
    ) -> tuple[tuple[Source, ...], tuple[str, ...], tuple[str, ...]]:
        """Return how features are made of columns, the features, and notes.

        Raise an error for what can't be used. Where missing values are filled in, `medians` finds
        the medians of columns.
        """
        roles = [("target", name) for name in self.targets]
        others = [("column of weights", self.weights), ("column of folds", self.fold)]
        roles += [(role, name) for role, name in others if name is not None]
        validation.check_numbers(profile, roles)
        validation.check_rows(profile, label)
        dropped = validation.check_missing(profile, self.drop_missing, self.imputed)
        encoding, constant = validation.encoding_of(
            profile, self.sources, self.categorical, self.imputed
        )
        if self.impute is not None:
            fills = medians([name for name in self.sources if name not in self.categorical])
            encoding = tuple(self._imputed(source, profile, fills) for source in encoding)
        names = self._features(encoding)
        if not names:
            raise InputError("no features are left: the table needs one that varies")
        validation.check_size(profile)
        if self.weights is not None:
            validation.check_weights(profile, self.weights)
        missing = validation.missing_counts(profile, self.imputed)
        imputed = [f"missing values filled in: {missing}"] if missing else []
        odd = validation.odd_columns(profile, encoding)
        return encoding, names, (*self.notes, *dropped, *imputed, *constant, *odd)

    def _imputed(self, source: Source, profile: Profile, fills: Mapping[str, float]) -> Source:
        """Return a column with what stands for its missing values."""
        missing = profile.columns[source.name].missing > 0
        if source.levels is not None:
            return replace(source, fill=MISSING_LEVEL if missing else None)
        indicator = missing and self.impute == "indicator"
        return replace(source, fill=fills[source.name], indicator=indicator)

    def _features(self, encoding: Sequence[Source]) -> tuple[str, ...]:
        """Return the candidates by their own names."""
        encoded = [name for source in encoding for name in source.features]
        if repeated := _repeated(encoded):
            raise InputError(
                f"a column and a level are both called {listing(repeated)}: rename the column"
            )
        by_source = {source.name: source.features for source in encoding}

        def expanded(names: Iterable[str]) -> Iterator[str]:
            for name in names:
                if name in self.available:
                    yield from by_source.get(name, ())
                elif self._source(name) in by_source:
                    look_up([name], by_source[self._source(name)], "feature")
                    yield name

        names = encoded if self.features is None else dict.fromkeys(expanded(self.features))
        excluded = set(expanded(self.exclude))
        return tuple(name for name in names if name not in excluded)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _check_roles(
    roles: Sequence[tuple[str, str]], features: Sequence[str], categorical: Sequence[str]
) -> None:
    """Raise an error for a column that is to be two things at once."""
    for role, name in roles:
        if name in features:
            raise InputError(f"{quoted(name)} can't be {role} and a feature at once")
        if name in categorical:
            raise InputError(f"{quoted(name)} can't be {role} and categorical: it is no feature")
    for (role, name), (other, same) in combinations(roles, 2):
        if name == same:
            raise InputError(f"{quoted(name)} can't be {role} and {other} at once")


# --- for predictions ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ModelSchema(Schema):
    """The columns, levels and features that a model needs of a table."""

    encoding: tuple[Source, ...]

    @classmethod
    def of(cls, encoding: Sequence[Source], blank: bool, several: bool) -> ModelSchema:
        """Return what the encoding of a model needs; incomplete rows are refused, or blank."""
        levels = {source.name: source.levels for source in encoding if source.levels}
        return cls(
            columns=tuple(source.name for source in encoding),
            text=frozenset(levels),
            levels=levels,
            imputed=frozenset(source.name for source in encoding if source.fill is not None),
            skip_unknown=blank,
            several=several,
            encoding=tuple(encoding),
        )

    def check_columns(self, columns: Collection[str], label: str) -> None:
        """Raise an error for columns that are not there."""
        lacking = [name for name in self.columns if name not in columns]
        if lacking:
            them = "a column" if len(lacking) == 1 else "columns"
            raise InputError(f"{label} lacks {them} that the model needs: {listing(lacking)}")

    def check(self, profile: Profile, label: str) -> None:
        """Raise an error for rows that the model can't use."""
        refused = profile.refused
        validation.check_commas(refused)
        for name, column in refused.items():
            file = (column.first and column.first.file) or label
            raise InputError(
                f"column {quoted(name)} of {file} holds {column.content}, where the model needs "
                "numbers"
            )
        validation.check_rows(profile, label)
        if not self.skip_unknown:
            missing = validation.missing_counts(profile, set(self.columns) - self.imputed)
            if missing:
                needs = "the model needs them all: leave predictions blank with "
                raise InputError(
                    f"missing values (of {profile.rows} rows): {missing}",
                    (needs, Parameter("missing", "blank")),
                )
            validation.check_levels(profile, self.encoding)
        validation.check_size(profile)
