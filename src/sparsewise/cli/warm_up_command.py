"""``sparsewise warm-up``: compile ahead of time what first calls would wait for."""

from __future__ import annotations

import argparse

from sparsewise.cli.options import Command


def add(command: Command) -> None:
    """Add the command."""
    parser = command(
        "warm-up",
        help="compile ahead of time what first calls would wait for",
        description="Compile ahead of time what first calls would wait for, as in the image of a "
        "container; say where it is kept, and how long it took.",
    )
    parser.add_argument(
        "types",
        nargs="*",
        metavar="TYPE",
        help="of entries: float64 (the default), float32, complex128, complex64",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run ``sparsewise warm-up``."""
    from sparsewise.cli.warm_up import TYPES, warm_up

    def tell(line: str) -> None:
        print(line, flush=True)

    warm_up(args.types or TYPES[:1], tell)
