"""The command ``sparsewise``: fit a table, predict from a model, look at a path, certify a choice.

A table is fitted by `solve`, a search from several starts that needs no threshold, unless a method
is named or an option means another. One file for each command.

Exit codes: 0 done, 1 an error of ours or of a cluster, 2 bad input (one line on standard error),
130 Ctrl-C.
What is heavy (numba, polars, rich, scikit-learn) is imported where it is used, so that ``--help``
answers at once. Polars and Rich are the extra ``cli``; help and ``warm-up`` do without.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from functools import partial

from sparsewise import kernels
from sparsewise._util.text import printable
from sparsewise.cli import (
    algorithms_command,
    certify_command,
    fit_command,
    path_command,
    predict_command,
    warm_up_command,
)
from sparsewise.cli.options import Parser
from sparsewise.cli.spelling import sentence
from sparsewise.errors import ClusterError, InputError
from sparsewise.version import __version__

COMMANDS = (
    fit_command,
    predict_command,
    path_command,
    certify_command,
    algorithms_command,
    warm_up_command,
)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why standard output can't be written to; of any other file it is an `InputError`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    debug = False
    kernels.COMPILATION.announces = False  # commands that take their time say so themselves
    try:
        _replace_unwritable_characters()
        args = build_parser().parse_args(argv)
        debug = getattr(args, "debug", False)
        if args.needs_extra:
            _check_extra()
        code: int = args.run(args) or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except (InputError, ClusterError) as error:
        if debug:
            raise
        return _complain(sentence(error), code=2 if isinstance(error, InputError) else 1)
    except KeyboardInterrupt as stop:
        return _complain(str(stop), code=130) if stop.args else 130
    except BrokenPipeError:
        # Whoever read our output has left, as `head` does: not an error worth a word.
        _discard_output()
        return 141
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
            _discard_output()
            return _complain(f"can't write standard output: {error.strerror}", code=2)
        cause = f"{type(error).__name__}: {error}"
        return _complain(f"internal error ({cause}); --debug shows where", code=1)
    return code


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands; each command sets ``run``."""
    common = Parser(add_help=False)
    common.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the traceback of an error",
    )
    parser = Parser(
        prog="sparsewise",
        parents=[common],
        description="Sparse regression: Sparse Bayesian Learning, stepwise algorithms and basis "
        "pursuit.",
        epilog="Try: sparsewise fit --example diabetes",
    )
    parser.add_argument("--version", action="version", version=f"sparsewise {__version__}")
    parser.set_defaults(run=lambda args: parser.print_help(), needs_extra=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for module in COMMANDS:
        module.add(partial(commands.add_parser, parents=[common]))
    for command in commands.choices.values():
        command.set_defaults(needs_extra=command.get_default("needs_extra") is None)
    return parser


def _check_extra() -> None:
    """Raise an error if Polars or Rich is not installed, before anything is read or fitted."""
    try:
        import polars as polars
        import rich as rich
    except ImportError as error:
        raise InputError(
            f"the command line needs {error.name}, which is not installed; "
            'install it with: pip install "sparsewise[cli]"'
        ) from None


def _complain(message: str, code: int) -> int:
    """Print one line on standard error and hand the exit code back."""
    if sys.stderr is not None:
        print(f"sparsewise: {printable(message)}", file=sys.stderr)
    return code


def _replace_unwritable_characters() -> None:
    """Let a narrow encoding show ? for a character it lacks, where it would raise an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _discard_output() -> None:
    """Point standard output to nowhere, so that Python's last flush finds a listener."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
