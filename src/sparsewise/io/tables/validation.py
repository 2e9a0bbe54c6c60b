"""What follows from the profile of all rows: errors, and how features are made of columns.

Whatever is wrong is said in the user's terms: which column, how many cells, in which row the first
one is, and what to do about it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from sparsewise._util.text import count, listing, quoted, shortened
from sparsewise.errors import InputError, Parameter, Part
from sparsewise.io.model import MISSING_LEVEL, Source
from sparsewise.io.tables import parsing
from sparsewise.io.tables.names import as_argument
from sparsewise.io.tables.parsing import sorted_levels
from sparsewise.io.tables.profile import MOST_REMEMBERED, ColumnProfile, Profile

# More are rather names of rows than groups of them.
MOST_LEVELS = 1000
FEWEST_NUMBERED = 20
"""Rows from which on a column that numbers them is no coincidence."""
COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
"""A number that may have a decimal comma."""
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ]|$)|\d{1,2}:\d{2}(:|$)")
"""How a date or a time begins."""


def check_numbers(profile: Profile, roles: Sequence[tuple[str, str]]) -> None:
    """Raise an error for columns that hold no numbers, with the way out."""
    refused = profile.refused
    check_commas(refused)
    for role, name in roles:
        if name in refused:
            content = refused[name].content
            raise InputError(f"the {role} {quoted(name)} holds {content}: use numbers")
    if not refused:
        return
    groups = [name for name, column in refused.items() if _tells_groups(column)]
    them = "it" if len(refused) == 1 else "them"
    leave_out = f": leave {them} out with ", Parameter("exclude", as_argument(refused))
    levels = Parameter("categorical", as_argument(groups))
    encode: tuple[Part, ...] = (", or make a 0/1 feature of each level with ", levels)
    others = encode if groups else (f", or turn {them} into numbers first",)
    if len(refused) == 1:
        [(name, column)] = refused.items()
        wrong = f"column {quoted(name)} holds {column.content}"
    else:
        kinds = dict.fromkeys(column.refused for column in refused.values())
        wrong = f"the columns {listing(refused)} hold {' and '.join(kinds)}"
    raise InputError((wrong, *leave_out, *others))


def _tells_groups(column: ColumnProfile) -> bool:
    """Whether rows may share a level: not where these are dates, all different, or too many."""
    if column.first is not None and DATE.match(column.first.text):
        return False
    few = 0 < len(column.levels) <= MOST_LEVELS
    return few and (len(column.levels) < column.others or column.refused == "categories")


def check_commas(refused: Mapping[str, ColumnProfile]) -> None:
    """Raise an error for columns of numbers with a comma, as far as the first of each tells."""
    firsts = {
        name: column.first
        for name, column in refused.items()
        if column.first is not None and COMMA.fullmatch(column.first.text)
    }
    if not firsts:
        return
    columns = f"column {listing(firsts)} holds"
    if len(firsts) > 1:
        columns = f"the columns {listing(firsts)} hold"
    example = next(iter(firsts.values())).example
    wrong = f"{columns} numbers with a comma ({example}): if decimals follow it, read them with "
    raise InputError((wrong, Parameter("decimal", ",")))


def check_rows(profile: Profile, label: str) -> None:
    """Raise an error for a table without rows."""
    if not profile.rows:
        raise InputError(f"{label} has a header, but no rows")


def missing_counts(profile: Profile, columns: Collection[str]) -> str:
    """Return how many values are missing in which of these columns, in words."""
    counts = {name: column.missing for name, column in profile.columns.items() if name in columns}
    return shortened([f"{quoted(name)} {times}" for name, times in counts.items() if times])


def check_missing(profile: Profile, drop_missing: bool, imputed: frozenset[str]) -> list[str]:
    """Raise an error for missing values, or return a note on the rows that are left out."""
    n, missing = profile.rows, missing_counts(profile, profile.columns.keys() - imputed)
    if not missing:
        return []
    if not drop_missing:
        rows = "leave these rows out with ", Parameter("drop_missing", True)
        columns = " or a column with ", Parameter("exclude")
        impute: tuple[Part, ...] = (", or fill them in with ", Parameter("impute", "median"))
        if imputed:  # what is missing is not a feature
            impute = ()
        raise InputError(f"missing values (of {n} rows): {missing}", (*rows, *columns, *impute))
    dropped = n - profile.complete
    if dropped == n:
        raise InputError(
            f"every row has a missing value (of {n} rows): {missing}",
            ("leave columns out with ", Parameter("exclude")),
        )
    return [f"{count(dropped, 'row')} of {n} left out for missing values: {missing}"]


def encoding_of(
    profile: Profile, sources: Sequence[str], categorical: Collection[str], imputed: Collection[str]
) -> tuple[tuple[Source, ...], list[str]]:
    """Return how features are made of columns, and notes on those that none are made of."""
    encoding, notes = [], []
    for name in sources:
        if name not in categorical:
            encoding.append(Source(name))
            continue
        levels = levels_of(profile, name)
        if profile.columns[name].missing and name in imputed:
            levels = sorted_levels({*levels, MISSING_LEVEL})
        if len(levels) > 1:
            encoding.append(Source(name, levels))
        else:
            notes.append(f"{quoted(name)} is {quoted(levels[0])} in every row, and left out")
    return tuple(encoding), notes


def odd_columns(profile: Profile, encoding: Sequence[Source]) -> list[str]:
    """Return notes on columns that are the same in every row, and on those that number the rows."""
    columns, notes = {source.name: profile.columns[source.name] for source in encoding}, []
    constant = {name: column.low for name, column in columns.items() if column.is_constant}
    if constant and profile.complete > 1:
        same = f"is {next(iter(constant.values())):g}" if len(constant) == 1 else "are the same"
        notes.append(f"{listing(constant)} {same} in every row")
    numbering = [
        name
        for name, column in columns.items()
        if column.first_number is not None or len(column.levels) == profile.complete
    ]
    if numbering and profile.complete >= FEWEST_NUMBERED:
        number = "numbers" if len(numbering) == 1 else "number"
        notes.append(f"{listing(numbering)} {number} the rows: leave out what is no measurement")
    return notes


def levels_of(profile: Profile, name: str) -> tuple[str, ...]:
    """Return the levels of a column, in order; too many are refused."""
    levels = profile.columns[name].levels
    if len(levels) > MOST_LEVELS:
        number = f"{len(levels)}" if len(levels) < MOST_REMEMBERED else f"{MOST_REMEMBERED} or more"
        wrong = f"column {quoted(name)} has {number} levels, more than {MOST_LEVELS}: leave it "
        leave_out = "out with ", Parameter("exclude", as_argument([name]))
        raise InputError((wrong, *leave_out, ", or group them first"))
    return sorted_levels(levels)


def folds_of(profile: Profile, name: str) -> tuple[str, ...]:
    """Return the labels of folds, in order; a single one leaves nothing to learn from."""
    folds = levels_of(profile, name)
    if len(folds) < 2:
        raise InputError(
            f"the column of folds {quoted(name)} is {quoted(folds[0])} in every row: give two or "
            "more"
        )
    return folds


def check_size(profile: Profile) -> None:
    """Raise an error for numbers whose squares would overflow."""
    for name, column in profile.columns.items():
        if column.too_large is not None:
            raise InputError(
                f"column {quoted(name)} has a value beyond {parsing.LARGEST:g} in "
                f"{column.too_large}: correct it, or use another unit"
            )


def check_weights(profile: Profile, name: str) -> None:
    """Raise an error for weights of which some are negative, or all zero."""
    negative = profile.columns[name].negative
    if negative is not None:
        raise InputError(
            f"the weights {quoted(name)} are negative in {negative}: they tell how often a row "
            "counts"
        )
    if not profile.counted:
        raise InputError(f"the weights {quoted(name)} are all 0: no row would count")


def check_levels(profile: Profile, levels: Mapping[str, Sequence[str]]) -> None:
    """Raise an error for a level that the model has never met."""
    for name, known in levels.items():
        unknown = profile.columns[name].unknown
        if unknown is not None:
            raise InputError(
                f"column {quoted(name)} has the level {quoted(unknown.text)} in {unknown}, which "
                f"the model does not know; it knows {listing(known)}"
            )
