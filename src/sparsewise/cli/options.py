"""What several commands share: a parser with short errors, numbers in range, and a table."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sparsewise._util.text import count, listing, quoted
from sparsewise.cli.methods import check_targets
from sparsewise.cli.spelling import FILE_OPTIONS
from sparsewise.errors import InputError, Parameter

if TYPE_CHECKING:
    from sparsewise._util.dask_cluster import Cluster
    from sparsewise.design import Design
    from sparsewise.io.tables import Form, Stored, Table
    from sparsewise.problem.preprocessing import Reduced
    from sparsewise.suffstats.condensed import Condensed

N = TypeVar("N", int, float)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all our errors."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_help_formatter, **options)

    def error(self, message: str) -> NoReturn:
        """Raise the error that every command raises for bad input."""
        raise InputError(f"{message} (see {self.prog} --help)")


Command = Callable[..., Parser]
"""Takes the name of a command and its help, description and epilog."""


def _help_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=20, width=80)


def at_least(least: int) -> Callable[[str], int]:
    """Read whole numbers that are not smaller."""
    return _reader(int, lambda number: number >= least, f"a whole number, at least {least}")


def _reader(kind: type[N], is_fine: Callable[[N], bool], what: str) -> Callable[[str], N]:
    """Read what can be used; anything else is refused, saying what it must be."""

    def read(text: str) -> N:
        with suppress(ValueError):
            if is_fine(number := kind(text)):
                return number
        raise argparse.ArgumentTypeError(f"must be {what}, not {text}")

    return read


not_negative = _reader(float, lambda x: 0 <= x < math.inf, "a finite number, at least 0")
positive = _reader(float, lambda x: 0 < x < math.inf, "a finite number above 0")
seconds = _reader(float, lambda x: x >= 0, "at least 0 seconds")


# --- a table --------------------------------------------------------------------------------------


FILES = (
    "CSV, TSV, Parquet, Feather or Excel files with the same columns, folders of them, or patterns "
    "such as 'data/*.parquet'; - for stdin. Texts may be compressed (gzip, bzip2, xz, zstd). "
    "Beyond 128 MB they are read in pieces, and need not fit in memory."
)


def add_form(data: Any) -> None:
    """Add the options that say how a text is written, and which sheet is meant."""
    data.add_argument(
        "--encoding",
        metavar="NAME",
        help="of a text: latin-1, cp1252, utf-16, ... (default: utf-8)",
    )
    data.add_argument(
        "--delimiter",
        metavar="SIGN",
        help="what is between cells of a text: one character, tab or space (default: comma, tab or "
        "semicolon, whichever makes most columns)",
    )
    data.add_argument(
        "--decimal",
        metavar="SIGN",
        default=".",
        help="what is before the decimals of a number in text: . or , (default: .)",
    )
    data.add_argument(
        "--sheet",
        metavar="NAME",
        help="of an Excel file: its name or number (default: 1, the first)",
    )


def form(args: argparse.Namespace) -> Form:
    """Return how texts are written, and which sheet is meant, by the arguments."""
    from sparsewise.io.tables import Form

    return Form(**{name: getattr(args, name) for name in FILE_OPTIONS})


def add_table(parser: argparse.ArgumentParser, features: str) -> Any:
    """Add the options that name a table and its columns; return their group."""
    data = parser.add_argument_group("data")
    data.add_argument("data", nargs="*", metavar="DATA", help=FILES)
    data.add_argument("--example", metavar="NAME", help="a built-in table instead: diabetes")
    add_form(data)
    data.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column to explain; or several, by commas, that are to share their features, each "
        "weighed by its size",
    )
    data.add_argument("--features", metavar="NAMES", help=features)
    data.add_argument("--exclude", metavar="NAMES", default="", help="columns to leave out")
    data.add_argument(
        "--categorical",
        metavar="NAMES",
        default="",
        help="columns of which each level becomes a feature column=level of zeros and ones (of two "
        "levels, the second)",
    )
    data.add_argument(
        "--weights",
        metavar="COLUMN",
        help="how often each row counts: 2 as if it were there twice, 0 not at all",
    )
    data.add_argument(
        "--drop-missing", action="store_true", help="leave out rows with a missing value"
    )
    data.add_argument(
        "--impute",
        metavar="HOW",
        help="fill in missing values of features, when predicting, too: by their median, or by "
        "indicator with a feature column=missing of zeros and ones besides; missing is a level of "
        "a categorical column",
    )
    data.add_argument("--no-intercept", action="store_true", help="force the fit through 0")
    return data


def read(args: argparse.Namespace) -> Stored:
    """Find the table that the arguments name, and read it if it is small."""
    from sparsewise.io.tables import Stored, load_example, open_table

    if bool(args.data) == (args.example is not None):
        raise InputError("give one table: files, - for standard input, or --example diabetes")
    if args.data:
        return open_table(args.data, form=form(args))
    if (option := form(args).unusual()) is not None:
        raise InputError("is for files, not for an example", parameter=option)
    return Stored.of(load_example(args.example))


@contextmanager
def workers(args: argparse.Namespace) -> Iterator[Cluster | None]:
    """Give the Dask workers that the arguments ask for, if they do."""
    if args.dask is None:
        yield None
        return
    from sparsewise._util.dask_cluster import Cluster, connect

    if not args.data:
        raise InputError("--dask needs files for its workers to read")
    with connect(args.dask) as client:
        yield Cluster(client)


def load(
    args: argparse.Namespace, method: str, cluster: Cluster | None = None
) -> tuple[Table, list[str]]:
    """Read the table and choose its columns; return the features to include, too."""
    from sparsewise.io.tables import open_files, split_names

    if cluster is None:
        stored = read(args)
    else:
        stored = replace(open_files(args.data, form(args)), cluster=cluster)
    check_targets(method, targets(stored, args) or ())
    features = None if args.features is None else split_names(args.features)
    include = split_names(args.include)
    refuse_both(include, split_names(args.exclude), "included")
    start = [] if args.start in (None, "all", "none") else split_names(args.start)
    refuse_both(start, split_names(args.exclude), "begun with")
    names = {"features": features, "chosen": [*include, *start], "fold": args.fold_column}
    table = select(stored, args, **names)
    return table, table.features_named(include)


def select(stored: Stored, args: argparse.Namespace, **names: Any) -> Table:
    """Choose columns by the arguments, and look at all rows."""
    from sparsewise.io import tables

    names |= {
        "target": targets(stored, args),
        "exclude": tables.split_names(args.exclude),
        "categorical": tables.split_names(args.categorical),
        "weights": args.weights,
        "drop_missing": args.drop_missing,
        "impute": args.impute,
    }
    with reading("looking at all rows", stored.size) as report:
        table = tables.select(stored, report=report, **names)
    if table.data is None and not table.condenses:
        table = gathered(table)
    if table.counted_rows < 2:
        rows = count(table.counted_rows, "row")
        raise InputError(f"{rows} can't tell a model: more are needed")
    return table


def targets(stored: Stored, args: argparse.Namespace) -> list[str] | None:
    """Return the targets that the arguments name, if they do."""
    from sparsewise.io.tables import target_names

    return None if args.target is None else target_names(args.target, stored.columns)


def gathered(table: Table) -> Table:
    """Return the table with all rows in memory, unless they are too many."""
    memory = _memory()
    if memory is not None and 2 * table.bytes > memory:  # algorithms have copies of their own
        wrong = f"the numbers of all rows take {table.bytes / 1e9:.0f} GB, too much for memory, "
        wrong += "and this can't be done without: choose fewer by "
        how = Parameter("features"), " or ", Parameter("exclude"), ", or fit by "
        raise InputError((wrong, *how, Parameter("criterion", "ric"), " or cv"))
    with reading("reading all rows", table.stored.size) as report:
        return table.gathered(report)


def _memory() -> int | None:
    """Return the bytes of memory that there are, where the system says so."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def condensed(table: Table, folds: int | None = None) -> Condensed:
    """Return the triangles of all rows of files."""
    with reading("condensing all rows", table.stored.size) as report:
        return table.condensed(folds, report)


@contextmanager
def reading(action: str, size: int) -> Iterator[Callable[[int], None]]:
    """Show how much of the files was read, and say so if Ctrl-C ends it."""
    from sparsewise._util.progress import waiting

    try:
        with waiting(action, size, unasked=True) as wait:
            yield wait.update
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Ctrl-C came before all rows were read") from None


def reduced(table: Table, intercept: bool) -> Reduced:
    """Return the table without weights and intercept, as the algorithms see it."""
    from sparsewise.model_selection.condensed_data import CondensedData
    from sparsewise.problem.preprocessing import reduce

    if table.data is None:
        rows = condensed(table)
        return CondensedData(condensed=rows, intercept=intercept, include=[], exclude=[]).reduced
    return reduce(table.X, table.y, table.data.weights, intercept)


def dependent_columns(design: Design, columns: Sequence[int]) -> list[int]:
    """Return those of the columns that are zero, or combinations of the ones before them."""
    import numpy as np

    from sparsewise.design.unit_columns import unit_factor

    norms, n = design.norms(), design.shape[0]
    nonzero = [j for j in columns if norms[j] > 0]
    _, R = unit_factor(design, np.array(nonzero[:n], dtype=int))
    rest = np.square(np.diagonal(R))
    tolerance = design.tolerances.dependent
    independent = {j for j, r in zip(nonzero, rest, strict=False) if r > tolerance}
    return [j for j in columns if j not in independent]


def refuse_both(names: list[str], excluded: list[str], what: str) -> None:
    """Raise an error for names that are asked for and excluded."""
    both = [name for name in names if name in excluded]
    if both:
        raise InputError(f"{listing(both)} can't be {what} and excluded at once")


def check_place(option: str, path: str | None) -> None:
    """Raise an error for a file that can't be written, before there is anything to lose."""
    if path is None:
        return
    # By os.path, which answers for names that are too long for a file, too.
    if os.path.isdir(path) or not path:
        raise InputError(f"{option} needs a file, but {quoted(path)} is a folder")
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise InputError(f"{option} can't write {quoted(path)}: there is no such folder")
