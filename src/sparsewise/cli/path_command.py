"""``sparsewise path``: every step of a method, with the criteria of the models on the way."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import TYPE_CHECKING

from sparsewise._util.files import as_csv
from sparsewise.cli import figures
from sparsewise.cli.fit_command import add_arguments
from sparsewise.cli.methods import DEFAULTS, given_parameters
from sparsewise.cli.options import Command
from sparsewise.cli.spelling import as_option
from sparsewise.cli.table_fit import TableFit, fit_table, path_frame

if TYPE_CHECKING:
    from sparsewise.estimators.frames import Frame

METHOD = DEFAULTS["criterion"]
"""What makes the path unless an option means another: that on which criteria choose."""


def add(command: Command) -> None:
    """Add the command."""
    parser = command(
        "path",
        help="show every step of a method, and which one each criterion likes best",
        description="Show every step of a method: squared residual, R² and, for least squares and "
        "basis pursuit, the criteria, with the best of each marked by a star.",
        epilog=f"The method is {METHOD} unless an option means another; see sparsewise fit --help. "
        "NAMES are separated by commas.",
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
    figures.check_figure("--plot", args.plot)
    means_method = given_parameters(args).keys() - {"ridge", "debias"}  # which mean none
    fit = fit_table(args, default=None if means_method else METHOD, path_only=True)
    try:
        if args.plot is not None:  # before anything is printed, as for fit
            figures.draw_path(fit.model, args.plot)
    finally:
        _show(fit, args)
    return 130 if fit.interrupted else 0


def _show(fit: TableFit, args: argparse.Namespace) -> None:
    frame = path_frame(fit.model)
    if args.csv:
        sys.stdout.write(as_csv(frame))
        return
    best = best_steps(frame)
    if args.json:
        print(json.dumps(fit.fields(best=best), indent=2, allow_nan=False))
        return
    from sparsewise.summary.terminal import Page, show_path

    choice = [fact for fact in fit.description.sentences(as_option) if fact[0] == "choice"]
    criteria = {name: frame[name].to_list() for name in best}
    facts = [*choice, *fit.table_facts()]
    show_path(fit.description, criteria, best, fit.method, facts, Page())


def best_steps(frame: Frame) -> dict[str, int]:
    """Return the step at which each criterion is best, of equal ones the first."""
    from sparsewise.criteria.base import first_least
    from sparsewise.criteria.information import SHORT_NAMES

    best = {}
    for name in (name for name in SHORT_NAMES if name in frame.columns):
        sign = -1.0 if name == "adjusted_r2" else 1.0
        costs = [math.inf if value is None else sign * value for value in frame[name]]
        if min(costs) < math.inf:
            best[name] = first_least(costs)
    return best
