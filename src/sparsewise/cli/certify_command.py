"""``sparsewise certify``: tell whether a choice of features is the best of its size."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparsewise._util.text import count, listing
from sparsewise.cli import options
from sparsewise.errors import InputError

if TYPE_CHECKING:
    from sparsewise.io.tables import Table
    from sparsewise.problem.preprocessing import Reduced
    from sparsewise.problem.problem import Problem


def add(command: options.Command) -> None:
    """Add the command."""
    parser = command(
        "certify",
        help="tell whether a choice of features is the best of its size",
        description="Tell whether a choice of features is the best of its size: whether as many "
        "others of the table's columns leave a smaller residual.",
        epilog="All columns but the target are candidates, unless excluded. There are three "
        "answers: the choice is certified; another one that fits better is named; or neither could "
        "be shown. The bound compares the residual with the smallest coefficients; where it "
        "does not decide and there are at most 200 candidates, all subsets of this size are "
        "searched by leaps and bounds. NAMES are separated by commas.",
    )
    parser.set_defaults(run=run)
    data = options.add_table(parser, features="the choice to certify")
    data.add_argument(
        "--include",
        metavar="NAMES",
        default="",
        help="those of the choice that are in every subset it is compared with",
    )
    how = parser.add_argument_group("search and output")
    how.add_argument(
        "--time-limit",
        type=options.seconds,
        default=10.0,
        metavar="SECONDS",
        help="for the exact search (default: 10; 0: bound and single exchanges only)",
    )
    how.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: argparse.Namespace) -> None:
    """Run ``sparsewise certify``."""
    from sparsewise import guarantees
    from sparsewise._util.progress import waiting
    from sparsewise.io.tables import split_names
    from sparsewise.problem.problem import problem
    from sparsewise.summary.certificate_text import Certified, show_certificate
    from sparsewise.summary.terminal import Page

    stored = options.read(args)
    chosen = split_names(args.features or "")
    if not chosen:
        raise InputError(
            f"--features is needed: the choice to certify, of {listing(stored.columns)}"
        )
    include = split_names(args.include)
    options.refuse_both(chosen, split_names(args.exclude), "certified")
    if missing := [name for name in include if name not in chosen]:
        raise InputError(
            f"--include names {listing(missing)}, but --features does not: every subset has to "
            "have what is included, the choice too"
        )
    table = options.select(stored, args, chosen=chosen)
    columns = table.positions(chosen)
    plain = options.reduced(table, not args.no_intercept)
    _check_choice(plain, columns, table, not args.no_intercept)
    units = problem(plain.design, plain.target, multi_target=True)
    with waiting("certifying", unasked=True):
        certificate = guarantees.certify(
            plain.design,
            plain.target,
            columns,
            swaps=True,
            time_limit=args.time_limit,
            include=table.positions(include),
        )
    better = certificate.better
    certified = Certified(
        label=table.label,
        target=", ".join(table.targets),
        names=table.names,
        rows=table.rows,
        certificate=certificate,
        intercept=not args.no_intercept,
        total=units.scale,
        better_residual=None if better is None else _residual(units, list(better)),
        time_limit=args.time_limit,
        targets=len(table.targets),
    )
    if args.json:
        # As ASCII: it can be written in any encoding.
        fields = certified.fields() | {"target": table.target}
        print(json.dumps(fields, indent=2, allow_nan=False))
    else:
        show_certificate(certified, Page())


def _check_choice(plain: Reduced, columns: Sequence[int], table: Table, intercept: bool) -> None:
    """Raise an error for a choice that has no unique fit, and for a target without variation."""
    n, k = table.counted_rows, len(columns)
    constant = "constant" if intercept else "zero"
    if k + intercept > n:
        besides = " and the intercept" if intercept else ""
        raise InputError(
            f"{count(n, 'row')} can't tell {count(k, 'feature')}{besides} apart: choose fewer"
        )
    if not plain.target.any():
        what, them = ("target", "it") if len(table.targets) == 1 else ("targets", "them")
        verb = _is(table.targets)
        raise InputError(
            f"the {what} {listing(table.targets)} {verb} {constant}: any choice explains {them}"
        )
    norms = plain.design.norms()
    zero = [table.names[j] for j in columns if norms[j] == 0]
    if zero:
        raise InputError(f"{listing(zero)} {_is(zero)} {constant}: leave {_them(zero)} out")
    dependent = [table.names[j] for j in options.dependent_columns(plain.design, columns)]
    if dependent:
        depends = "depends" if len(dependent) == 1 else "depend"
        raise InputError(
            f"{listing(dependent)} {depends} linearly on the other chosen features, so that fewer "
            f"fit as well: leave {_them(dependent)} out"
        )


def _residual(units: Problem, columns: list[int]) -> float:
    """Return the residual (norm) of a least-squares fit on these columns, none of them zero."""
    import numpy as np

    U, Y = units.design.unit_columns(np.array(columns)), units.Y.T
    return float(np.linalg.norm(Y - U @ np.linalg.lstsq(U, Y, rcond=None)[0])) * units.scale


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
