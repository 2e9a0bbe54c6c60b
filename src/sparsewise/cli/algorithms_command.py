"""``sparsewise algorithms``: all methods, the options they take and what they are good for."""

from __future__ import annotations

import argparse

from sparsewise.cli.options import Command


def add(command: Command) -> None:
    """Add the command."""
    parser = command(
        "algorithms",
        help="list the methods, what they are good for and the options they take",
        description="List the methods, what they are good for and the options they take.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run ``sparsewise algorithms``."""
    from sparsewise.algorithms import ALGORITHMS
    from sparsewise.estimators.by_algorithm import parameters_of
    from sparsewise.summary.terminal import Page

    rows = []
    for name, algorithm in ALGORITHMS.items():
        options = parameters_of(name).items()
        takes = ", ".join(option + "*" * needed for option, needed in options)
        headline = algorithm.headline.replace("`", "")
        rows.append((name, f"{headline}. For {algorithm.good_for}.", takes))
    page = Page()
    titles = ("method", "what it does, and is good for", "options")
    page.table(dict.fromkeys(titles, "left"), rows)
    page.print()
    page.print(
        "* is needed; all other options have defaults: see sparsewise fit --help.", style="dim"
    )
