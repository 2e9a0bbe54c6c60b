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
    """The columns of a table that are used, and as what: chosen by name, or given by a model.

    Parameters
    ----------
    columns : tuple of str
        The columns that are used.
    targets : tuple of str
        The columns to be explained; none where a model predicts them.
    weights : str, optional
        The column that says how often each row counts.
    fold : str, optional
        The column that says to which fold each row belongs.
    categorical : collection of str
        Columns whose cells are levels, told apart by their text.
    levels : mapping
        The only levels that a column may have, where a model knows them already.
    imputed : frozenset of str
        Columns whose missing values are filled in: no row is incomplete for them.
    skip_unknown : bool
        Whether a row with another level is incomplete.
    several : bool
        Whether the table has several files, so that a row is told with its file.
    available : sequence of str
        All columns of the table.
    features : sequence of str, optional
        The candidates; all columns that are left if not given.
    exclude : sequence of str
        What to leave out of the candidates.
    drop_missing : bool
        Whether rows with a missing value are left out.
    impute : {"median", "indicator"}, optional
        What missing values of features are filled in by.
    """

    columns: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    weights: str | None = None
    fold: str | None = None
    categorical: Collection[str] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    imputed: frozenset[str] = frozenset()
    skip_unknown: bool = False
    several: bool = False
    available: Sequence[str] = ()
    features: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    drop_missing: bool = False
    impute: str | None = None

    @property
    def roles(self) -> list[tuple[str, str]]:
        """The columns that are no features, with what they are."""
        others = ("column of weights", self.weights), ("column of folds", self.fold)
        named = [(role, name) for role, name in others if name is not None]
        return [*(("target", name) for name in self.targets), *named]

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that features are made of."""
        taken = [name for _, name in self.roles]
        return tuple(name for name in self.columns if name not in taken)

    def has_text(self, name: str) -> bool:
        """Whether the cells of a column are told apart by their text."""
        return name in self.categorical or name == self.fold

    # ------------------------------------------------------------------ for a fit

    def chosen(self, names: Sequence[str]) -> Schema:
        """Return the columns that are used for a fit; these names must be among the candidates."""
        if self.impute is not None:
            look_up([self.impute], IMPUTE, "way to impute")
        if not self.targets:
            raise InputError(
                f"is needed: one of the columns {listing(self.available)}", parameter="target"
            )
        taken = [name for _, name in self.roles]
        look_up([*taken, *self.categorical], self.available, "column")
        if repeated := _repeated(self.targets):
            raise InputError(f"names {listing(repeated)} more than once", parameter="target")
        _check_roles(self.roles, (*(self.features or ()), *names), self.categorical)
        for name in names:
            self._source(name)
        excluded = {name for name in self.exclude if self._source(name) == name}.union(taken)
        candidates = self.available if self.features is None else map(self._source, self.features)
        sources = [name for name in dict.fromkeys(candidates) if name not in excluded]
        if self.features is None:
            sources = [name for name in sources if not ROW_LABELS.fullmatch(name)]
        if not sources:
            besides = "the target" if len(self.targets) == 1 else "the targets"
            raise InputError(f"no features are left: the table needs a column besides {besides}")
        imputed = frozenset(sources if self.impute else ())
        return replace(self, columns=tuple(dict.fromkeys([*taken, *sources])), imputed=imputed)

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

    def encode(
        self, profile: Profile, label: str, medians: Medians
    ) -> tuple[tuple[Source, ...], tuple[str, ...], tuple[str, ...]]:
        """Return how features are made of columns, the features, and notes.

        Raise an error for what can't be used. Where missing values are filled in, `medians` finds
        the medians of columns.
        """
        validation.check_numbers(profile, self.roles)
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
        left = [name for name in self.available if name not in (*self.columns, *self.exclude)]
        labels = [name for name in left if self.features is None and ROW_LABELS.fullmatch(name)]
        left_out = [f"{listing(labels)} holds row labels and is left out"] if labels else []
        return encoding, names, (*left_out, *dropped, *imputed, *constant, *odd)

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

    # ------------------------------------------------------------------ for predictions

    @classmethod
    def of_model(cls, encoding: Sequence[Source], blank: bool, several: bool) -> Schema:
        """Return what the encoding of a model needs; incomplete rows are refused, or blank."""
        levels = {source.name: source.levels for source in encoding if source.levels}
        return cls(
            columns=tuple(source.name for source in encoding),
            categorical=frozenset(levels),
            levels=levels,
            imputed=frozenset(source.name for source in encoding if source.fill is not None),
            skip_unknown=blank,
            several=several,
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
            validation.check_levels(profile, self.levels)
        validation.check_size(profile)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _check_roles(
    roles: Sequence[tuple[str, str]], features: Sequence[str], categorical: Collection[str]
) -> None:
    """Raise an error for a column that is to be two things at once."""
    named = [(f"the {role.removeprefix('column of ')}", name) for role, name in roles]
    for role, name in named:
        if name in features:
            raise InputError(f"{quoted(name)} can't be {role} and a feature at once")
        if name in categorical:
            raise InputError(f"{quoted(name)} can't be {role} and categorical: it is no feature")
    for (role, name), (other, same) in combinations(named, 2):
        if name == same:
            raise InputError(f"{quoted(name)} can't be {role} and {other} at once")
