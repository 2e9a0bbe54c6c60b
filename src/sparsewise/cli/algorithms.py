"""``sparsewise algorithms``: all methods, the words they take and what they are good for."""

from __future__ import annotations

import argparse
import inspect
from typing import Any


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "algorithms",
        parents=[common],
        help="list the methods, what they are good for and the words they take",
        description="List the methods, what they are good for and the words they take.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run ``sparsewise algorithms``."""
    from sparsewise.algorithms import ALGORITHMS
    from sparsewise.cli.methods import GOOD_FOR, words_of
    from sparsewise.report import Page

    rows = []
    for name, algorithm in ALGORITHMS.items():
        words = ", ".join(word + "*" * needed for word, needed in words_of(name).items())
        rows.append((name, f"{_first_sentence(algorithm)}. For {GOOD_FOR[name]}.", words))
    page = Page()
    page.table({"method": "left", "what it does, and is good for": "left", "words": "left"}, rows)
    page.print()
    page.print(
        "* is needed; all other words have defaults: see sparsewise fit --help.", style="dim"
    )


def _first_sentence(algorithm: Any) -> str:
    paragraph = (inspect.getdoc(algorithm) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).split(". ")[0].rstrip(".").replace("`", "")
