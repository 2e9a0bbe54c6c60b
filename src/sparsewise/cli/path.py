"""``sparsewise path``: every step of a method, with the criteria of the models on the way."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from sparsewise.cli.fit import add_arguments, fitted
from sparsewise.cli.options import check_place

if TYPE_CHECKING:
    from sparsewise.report import Fit


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "path",
        parents=[common],
        help="show every step of a method, and which one each criterion likes best",
        description="Show every step of a method: squared residual, R² and, for least squares and "
        "basis pursuit, the criteria, with the best of each marked by a star.",
        epilog="The method is forward unless a word says otherwise; see sparsewise fit --help for "
        "these. NAMES are separated by commas.",
    )
    parser.set_defaults(run=run)
    add_arguments(parser)
    output = parser.add_argument_group("output")
    form = output.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print the table as CSV instead")
    form.add_argument("--json", action="store_true", help="print one JSON object instead")
    output.add_argument("--plot", metavar="FILE", help="draw the path: .png, .pdf or .svg")


def run(args: argparse.Namespace) -> int:
    """Run ``sparsewise path``."""
    check_place("--plot", args.plot)
    if args.plot is not None:
        from sparsewise.cli.figures import check_format

        check_format(args.plot)
    from sparsewise.cli import methods

    words = {word for word in methods.OPTIONS if getattr(args, word) is not None}
    fit = fitted(args, default=None if words else "forward", path_only=True)
    try:
        if args.plot is not None:  # before anything is printed, as for fit
            from sparsewise.cli.figures import draw_path

            draw_path(fit, args.plot)
    finally:
        _show(fit, args)
    return 130 if fit.interrupted else 0


def _show(fit: Fit, args: argparse.Namespace) -> None:
    from sparsewise.report import Page, show_path

    if args.csv:
        sys.stdout.write(fit.model.path_.write_csv())
    elif args.json:
        print(json.dumps(fit.path_fields(), indent=2, allow_nan=False))
    else:
        show_path(fit, Page())
