"""What is asked for by name: columns of a table, or levels of a categorical one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from sparsewise._util.text import listing, look_up, quoted
from sparsewise.errors import InputError
from sparsewise.io.model import MISSING_LEVEL, Source

# Row labels that pandas saves as a column: no measurement.
ROW_LABELS = re.compile(r"__index_level_\d+__")


def check_once(targets: Sequence[str]) -> None:
    """Raise an error for a target that is named twice."""
    twice = [name for name, times in Counter(targets).items() if times > 1]
    if twice:
        raise InputError(f"names {listing(twice)} more than once", parameter="target")


def check_roles(
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


@dataclass
class Requested:
    """What is asked for by name.

    Parameters
    ----------
    columns : sequence of str
        The columns of the table.
    taken : set of str
        Those that are something else than features: the target, say.
    features : sequence of str, optional
        The candidates; all that are left if not given.
    exclude : sequence of str
        What to leave out of these.
    categorical : set of str
        Columns of which each level is a feature.
    indicated : bool
        Whether missing values have features of their own.
    """

    columns: Sequence[str]
    taken: set[str]
    features: Sequence[str] | None
    exclude: Sequence[str]
    categorical: set[str]
    indicated: bool = False
    notes: list[str] = field(default_factory=list)

    def source(self, name: str) -> str:
        """Return the column that a feature is made of."""
        if name not in self.columns:
            for column in sorted(self.categorical, key=len, reverse=True):
                if name.startswith(f"{column}="):
                    return column
            column = name.removesuffix(f"={MISSING_LEVEL}")
            if self.indicated and column in self.columns:
                return column
        look_up([name], self.columns, "column")
        return name

    def sources(self) -> list[str]:
        """Return the columns that features are to be made of, in the table's or the given order."""
        excluded = {name for name in self.exclude if self.source(name) == name} | self.taken
        if self.features is not None:
            named = dict.fromkeys(self.source(name) for name in self.features)
            return [name for name in named if name not in excluded]
        wanted = [name for name in self.columns if name not in excluded]
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
                if name in self.columns:
                    yield from levels.get(name, ())
                elif self.source(name) in levels:
                    look_up([name], levels[self.source(name)], "feature")
                    yield name

        wanted = made if self.features is None else dict.fromkeys(expanded(self.features))
        excluded = set(expanded(self.exclude))
        return tuple(name for name in wanted if name not in excluded)
