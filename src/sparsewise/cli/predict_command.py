"""``sparsewise predict``: the targets that a saved model expects for the rows of a table."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from sparsewise.cli.options import Command, check_place
from sparsewise.files import write_text


def add(command: Command) -> None:
    """Add the command."""
    parser = command(
        "predict",
        help="predict the target of new rows by a saved model",
        description="Predict the target of each row of a table, by a model that sparsewise fit "
        "--save wrote. The table needs the columns that the model uses, by the same names; others "
        "are ignored.",
        epilog="What is printed is CSV: a header, then a line for each row of the table, with all "
        "digits.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="what sparsewise fit --save wrote")
    parser.add_argument("data", metavar="DATA", help="CSV, TSV or Parquet file; - for stdin")
    parser.add_argument(
        "--std",
        action="store_true",
        help="standard deviations of new observations, too: noise, and uncertainty of coefficients",
    )
    parser.add_argument("--out", metavar="FILE", help="write to a file instead")


def run(args: argparse.Namespace) -> None:
    """Run ``sparsewise predict``."""
    from sparsewise.models import LinearModel
    from sparsewise.tables import encode, read_table

    check_place("--out", args.out)
    model = LinearModel.load(args.model)
    X = encode(read_table(args.data), model.encoding, model.features)
    columns = {"prediction": model.predict(X)}
    if args.std:
        columns["std"] = model.predict(X, return_std=True)[1]
    text = _csv(columns)
    if args.out is None:
        sys.stdout.write(text)
    else:
        write_text(args.out, text)


def _csv(columns: dict[str, Any]) -> str:
    """Return columns of numbers as text that reads back exactly."""
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]) + "\n"
