"""What follows from a survey of all rows: errors, and how features are made of columns.

Whatever is wrong is said in the user's terms: which column, how many cells, in which row the first
one is, and what to do about it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from sparsewise._util.text import count, listing, quoted, shortened
from sparsewise.errors import InputError, Parameter, Part
from sparsewise.io.model import MISSING_LEVEL, Source
from sparsewise.io.tables import parsing as cells
from sparsewise.io.tables.names import as_argument
from sparsewise.io.tables.parsing import GROUPS, sorted_levels
from sparsewise.io.tables.profile import MOST_REMEMBERED, Found, Survey

# More are rather names of rows than groups of them.
MOST_LEVELS = 1000
FEWEST_NUMBERED = 20
"""Rows from which on a column that numbers them is no coincidence."""
COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
"""A number that may have a decimal comma."""


def refuse_text(survey: Survey, roles: Sequence[tuple[str, str]], several: bool) -> None:
    """Raise an error for columns that hold no numbers, with the way out."""
    refused = {name: found for name, found in survey.columns.items() if found.refused}
    refuse_commas(refused, several)
    for role, name in roles:
        if name in refused:
            what = held(refused[name], several)
            raise InputError(f"the {role} {quoted(name)} holds {what}: use numbers")
    if not refused:
        return
    groups = [name for name, found in refused.items() if found.refused in GROUPS]
    them = "it" if len(refused) == 1 else "them"
    leave_out = f": leave {them} out with ", Parameter("exclude", as_argument(refused))
    levels = Parameter("categorical", as_argument(groups))
    encode: tuple[Part, ...] = (", or make a 0/1 feature of each level with ", levels)
    others = encode if groups else (f", or turn {them} into numbers first",)
    if len(refused) == 1:
        [(name, found)] = refused.items()
        wrong = f"column {quoted(name)} holds {held(found, several)}"
    else:
        kinds = dict.fromkeys(found.refused for found in refused.values())
        wrong = f"the columns {listing(refused)} hold {' and '.join(kinds)}"
    raise InputError((wrong, *leave_out, *others))


def refuse_commas(refused: Mapping[str, Found], several: bool) -> None:
    """Raise an error for columns of numbers with a comma, as far as the first of each tells."""
    firsts = {
        name: found.first
        for name, found in refused.items()
        if found.first is not None and COMMA.fullmatch(found.first.text)
    }
    if not firsts:
        return
    columns = f"column {listing(firsts)} holds"
    if len(firsts) > 1:
        columns = f"the columns {listing(firsts)} hold"
    example = next(iter(firsts.values())).example(several)
    wrong = f"{columns} numbers with a comma ({example}): if decimals follow it, read them with "
    raise InputError((wrong, Parameter("decimal", ",")))


def held(found: Found, several: bool) -> str:
    """Return what a column holds in place of numbers, with an example."""
    example = "" if found.first is None else found.first.example(several)
    return f"{found.refused} ({example})"


def refuse_no_rows(survey: Survey, label: str) -> None:
    """Raise an error for a table without rows."""
    if not survey.rows:
        raise InputError(f"{label} has a header, but no rows")


def missing_counts(survey: Survey, columns: Collection[str]) -> str:
    """Return how many values are missing in which of these columns, in words."""
    counts = {name: found.missing for name, found in survey.columns.items() if name in columns}
    return shortened([f"{quoted(name)} {times}" for name, times in counts.items() if times])


def refuse_missing(survey: Survey, drop_missing: bool, filled: frozenset[str]) -> list[str]:
    """Raise an error for missing values, or return a note on the rows that are left out."""
    n, missing = survey.rows, missing_counts(survey, frozenset(survey.columns) - filled)
    if not missing:
        return []
    if not drop_missing:
        rows = "leave these rows out with ", Parameter("drop_missing", True)
        columns = " or a column with ", Parameter("exclude")
        impute: tuple[Part, ...] = (", or fill them in with ", Parameter("impute", "median"))
        if filled:  # what is missing is not a feature
            impute = ()
        raise InputError(f"missing values (of {n} rows): {missing}", (*rows, *columns, *impute))
    dropped = n - survey.kept
    if dropped == n:
        raise InputError(
            f"every row has a missing value (of {n} rows): {missing}",
            ("leave columns out with ", Parameter("exclude")),
        )
    return [f"{count(dropped, 'row')} of {n} left out for missing values: {missing}"]


def encoding_of(
    survey: Survey, sources: Sequence[str], categorical: set[str], filled: Collection[str]
) -> tuple[tuple[Source, ...], list[str]]:
    """Return how features are made of columns, and notes on those that none are made of."""
    encoding, notes = [], []
    for name in sources:
        if name not in categorical:
            encoding.append(Source(name))
            continue
        levels = levels_of(survey, name)
        if survey.columns[name].missing and name in filled:
            levels = sorted_levels({*levels, MISSING_LEVEL})
        if len(levels) > 1:
            encoding.append(Source(name, levels))
        else:
            notes.append(f"{quoted(name)} is {quoted(levels[0])} in every row, and left out")
    return tuple(encoding), notes


def odd_columns(survey: Survey, encoding: Sequence[Source]) -> list[str]:
    """Return notes on columns that are the same in every row, and on those that number the rows."""
    found, notes = {source: survey.columns[source.name] for source in encoding}, []
    constant = {source.name: one.low for source, one in found.items() if one.is_constant}
    if constant and survey.kept > 1:
        same = f"is {next(iter(constant.values())):g}" if len(constant) == 1 else "are the same"
        notes.append(f"{listing(constant)} {same} in every row")
    numbering = [
        source.name
        for source, one in found.items()
        if one.first_number is not None or len(one.levels) == survey.kept
    ]
    if numbering and survey.kept >= FEWEST_NUMBERED:
        number = "numbers" if len(numbering) == 1 else "number"
        notes.append(f"{listing(numbering)} {number} the rows: leave out what is no measurement")
    return notes


def levels_of(survey: Survey, name: str) -> tuple[str, ...]:
    """Return the levels of a column, in order; too many are refused."""
    levels = survey.columns[name].levels
    if len(levels) > MOST_LEVELS:
        number = f"{len(levels)}" if len(levels) < MOST_REMEMBERED else f"{MOST_REMEMBERED} or more"
        wrong = f"column {quoted(name)} has {number} levels, more than {MOST_LEVELS}: leave it "
        leave_out = "out with ", Parameter("exclude", as_argument([name]))
        raise InputError((wrong, *leave_out, ", or group them first"))
    return sorted_levels(levels)


def folds_of(survey: Survey, name: str) -> tuple[str, ...]:
    """Return the labels of folds, in order; a single one leaves nothing to learn from."""
    folds = levels_of(survey, name)
    if len(folds) < 2:
        raise InputError(
            f"the column of folds {quoted(name)} is {quoted(folds[0])} in every row: give two or "
            "more"
        )
    return folds


def refuse_large(survey: Survey, several: bool) -> None:
    """Raise an error for numbers whose squares would overflow."""
    for name, found in survey.columns.items():
        if found.too_large is not None:
            raise InputError(
                f"column {quoted(name)} has a value beyond {cells.LARGEST:g} in "
                f"{found.too_large.where(several)}: correct it, or use another unit"
            )


def refuse_weights(survey: Survey, name: str, several: bool) -> None:
    """Raise an error for weights of which some are negative, or all zero."""
    negative = survey.columns[name].negative
    if negative is not None:
        raise InputError(
            f"the weights {quoted(name)} are negative in {negative.where(several)}: they tell how "
            "often a row counts"
        )
    if not survey.counted:
        raise InputError(f"the weights {quoted(name)} are all 0: no row would count")


def refuse_unknown(survey: Survey, encoding: Sequence[Source], several: bool) -> None:
    """Raise an error for a level that the model has never met."""
    for source in encoding:
        unknown = survey.columns[source.name].unknown
        if unknown is not None:
            raise InputError(
                f"column {quoted(source.name)} has the level {quoted(unknown.text)} in "
                f"{unknown.where(several)}, which the model does not know; it knows "
                f"{listing(source.levels or ())}"
            )
