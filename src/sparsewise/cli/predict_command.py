"""``sparsewise predict``: the targets that a saved model expects for the rows of a table."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sparsewise._util.files import safe_names, write_file
from sparsewise.cli.options import FILES, Command, add_form, check_place, form, reading

if TYPE_CHECKING:
    from sparsewise.io.model import LinearModel


def add(command: Command) -> None:
    """Add the command."""
    parser = command(
        "predict",
        help="predict the target of new rows by a saved model",
        description="Predict the target of each row of a table, by a model that sparsewise fit "
        "--save wrote. The table needs the columns that the model uses, by the same names; others "
        "are ignored.",
        epilog="What is printed is CSV: a header, then a line for each row of the table, with all "
        "digits. Its columns are prediction and std; of several targets those are called after "
        "them, and the standard deviations, which come last, std(NAME).",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="what sparsewise fit --save wrote")
    parser.add_argument("data", nargs="+", metavar="DATA", help=FILES)
    add_form(parser)
    parser.add_argument(
        "--std",
        action="store_true",
        help="standard deviations of new observations, too: noise, and uncertainty of coefficients",
    )
    parser.add_argument(
        "--missing",
        choices=("error", "blank"),
        default="error",
        help="what a row with a missing value, or a level that the model does not know, comes to: "
        "an error (the default), or a blank prediction",
    )
    parser.add_argument("--out", metavar="FILE", help="write to a file instead")


def run(args: argparse.Namespace) -> None:
    """Run ``sparsewise predict``."""
    from sparsewise.io.model import LinearModel

    check_place("--out", args.out)
    lines = _lines(LinearModel.load(args.model), args)
    if args.out is None:
        for text in lines:
            sys.stdout.write(text)
    else:
        write_file(args.out, (text.encode() for text in lines))


def _lines(model: LinearModel, args: argparse.Namespace) -> Iterator[str]:
    """Yield the header and a line for each row, many at a time."""
    from sparsewise.io.tables import encode, open_table

    stored = open_table(args.data, form=form(args))
    with reading("predicting all rows", 2 * stored.size) as report:  # files are read twice
        blocks = encode(stored, model.encoding, model.features, args.missing, report)
        yield from _csv(model, blocks, args.std)


def _csv(model: LinearModel, blocks: Iterator[Any], std: bool) -> Iterator[str]:
    """Yield columns of numbers as text that reads back exactly."""
    import numpy as np

    header = _header(model, std)
    targets = 1 if isinstance(model.target, str) else len(model.target)
    blank = "," * (targets * (1 + std) - 1)
    for X in blocks:
        complete = ~np.isnan(X).any(axis=1)
        rows = X[complete]
        columns = model.predict(rows, return_std=True) if std else (model.predict(rows),)
        cells = iter(np.column_stack(columns).tolist())
        lines = (",".join(map(repr, next(cells))) if whole else blank for whole in complete)
        yield header + "".join(line + "\n" for line in lines)
        header = ""


def _header(model: LinearModel, std: bool) -> str:
    """Return what the columns are called: after the targets, where there are several."""
    names, deviations = ["prediction"], ["std"]
    if not isinstance(model.target, str):
        names = list(model.target)
        deviations = [f"std({name})" for name in names]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(
        safe_names([*names, *(deviations if std else ())])
    )
    return text.getvalue()
