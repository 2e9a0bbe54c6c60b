"""The command ``sparsewise``: fit a table, list the algorithms.

Exit codes: 0 done, 1 an error of ours, 2 bad input (one line on standard error), 130 Ctrl-C.
What is heavy (numba, polars, rich, scikit-learn) is imported where it is used, so that ``--help``
answers at once.
"""

from __future__ import annotations

import argparse
import inspect
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from sparsewise import __version__
from sparsewise.messages import InputError, count, listing, look_up, printable

if TYPE_CHECKING:
    from sparsewise.solution import Solution
    from sparsewise.tables import FloatArray, Table

Algorithm = Callable[..., "Solution"]

STOPPING_WORDS = ("sparsity", "residual", "delta")
# What of an algorithm's signature can be set here.
WORDS = (*STOPPING_WORDS, "batch")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    debug = False
    try:
        _replace_unwritable_characters()
        args = build_parser().parse_args(argv)
        debug = getattr(args, "debug", False)
        args.run(args)
        if sys.stdout is not None:
            sys.stdout.flush()
    except InputError as error:
        if debug:
            raise
        return _complain(str(error), code=2)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has left, as `head` does: not an error worth a word.
        _discard_output()
        return 141
    except Exception as error:
        if debug:
            raise
        cause = f"{type(error).__name__}: {error}"
        return _complain(f"internal error ({cause}); --debug shows where", code=1)
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands; each command sets ``run``."""
    common = _Parser(add_help=False)
    common.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the traceback of an error",
    )
    parser = _Parser(
        prog="sparsewise",
        parents=[common],
        description="Sparse regression by stepwise algorithms.",
        epilog="Try: sparsewise fit --example diabetes",
    )
    parser.add_argument("--version", action="version", version=f"sparsewise {__version__}")
    parser.set_defaults(run=lambda args: parser.print_help())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_fit(commands, common)
    _add_algorithms(commands, common)
    return parser


# --- sparsewise fit -------------------------------------------------------------------------------


def _add_fit(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "fit",
        parents=[common],
        help="choose the features of a table that explain its target",
        description="Choose the features of a table that explain its target.",
        epilog="With neither --sparsity, --residual nor --delta, a feature must lower the squared "
        "residual by s² log n, its price in the Bayesian information criterion (s²: residual "
        "variance with all features). NAMES are separated by commas.",
    )
    parser.set_defaults(run=fit)
    data = parser.add_argument_group("data")
    data.add_argument("data", nargs="?", metavar="DATA", help="CSV or TSV file; - for stdin")
    data.add_argument("--example", metavar="NAME", help="a built-in table instead: diabetes")
    data.add_argument("--target", metavar="COLUMN", help="the column to explain")
    data.add_argument("--features", metavar="NAMES", help="candidates (default: all other columns)")
    data.add_argument("--exclude", metavar="NAMES", default="", help="columns to leave out")
    data.add_argument("--include", metavar="NAMES", default="", help="features to keep in any case")
    data.add_argument("--no-intercept", action="store_true", help="force the fit through 0")
    how = parser.add_argument_group("method")
    how.add_argument("--method", metavar="NAME", help="see: sparsewise algorithms")
    how.add_argument("--sparsity", type=int, metavar="K", help="at most K features")
    how.add_argument(
        "--residual", type=float, metavar="R", help="stop once the norm of the residual is R"
    )
    how.add_argument(
        "--delta",
        type=float,
        metavar="D",
        help="add while the squared residual falls by more than D², drop while it grows by at most "
        "D²",
    )
    how.add_argument("--batch", type=int, metavar="B", help="features per step (method gomp)")


def fit(args: argparse.Namespace) -> None:
    """Run ``sparsewise fit``."""
    from sparsewise.algorithms import ALGORITHMS

    words = {word: getattr(args, word) for word in WORDS if getattr(args, word) is not None}
    method = args.method or _default_method(words)
    look_up([method], ALGORITHMS, "method")
    _check_words(method, ALGORITHMS[method], words)

    from sparsewise.problem import DependentColumnsError
    from sparsewise.report import Fit, Page, show_fit
    from sparsewise.tables import positions, split_names

    table = _load(args)
    include = positions(split_names(args.include), table.names)
    intercept = not args.no_intercept
    A, y, centre = _centred(table) if intercept else (table.X, table.y, None)
    notes = []
    if not words.keys() & set(STOPPING_WORDS):
        words["delta"], note = _bic_delta(A, y, intercept)
        notes.append(note)
    if not intercept:
        notes.append("without an intercept, R² compares with 0 rather than with the mean")
    with Page(sys.stderr).status("fitting"):
        try:
            solution = ALGORITHMS[method](A, y, include=include, **words)
        except DependentColumnsError as error:
            raise InputError(_dependent(method, error.columns, include, table.names)) from error
        except (ValueError, TypeError) as error:
            raise InputError(str(error)) from error
    show_fit(
        Fit(
            label=table.label,
            target=table.target,
            names=table.names,
            n_rows=y.size,
            solution=solution,
            intercept=None if centre is None else _intercept(*centre, solution.coef),
            total=float(y @ y),
            notes=notes,
        ),
        Page(),
    )


def _load(args: argparse.Namespace) -> Table:
    """Read the table that the arguments name."""
    from sparsewise.tables import load_example, read_table, select, split_names

    if (args.data is None) == (args.example is None):
        raise InputError("give one table: a file, - for standard input, or --example diabetes")
    raw = read_table(args.data) if args.example is None else load_example(args.example)
    features = None if args.features is None else split_names(args.features)
    exclude = split_names(args.exclude)
    both = [name for name in split_names(args.include) if name in exclude]
    if both:
        raise InputError(f"{listing(both)} can't be included and excluded at once")
    return select(raw, target=args.target, features=features, exclude=exclude)


def _default_method(words: dict[str, float]) -> str:
    """Return rmp0 where delta decides alone, and forward where a size or a residual does."""
    return "gomp" if "batch" in words else "forward" if words.keys() - {"delta"} else "rmp0"


def _check_words(method: str, algorithm: Algorithm, words: dict[str, float]) -> None:
    """Raise an error where the words given and those the algorithm takes don't meet."""
    takes = _words_of(algorithm)
    for word in words:
        if word not in takes:
            raise InputError(f"{method} does not take --{word}; it takes {_options(takes)}")
    # Where no stopping word is given, delta has a default.
    given = words.keys() | ({"delta"} if not words.keys() & set(STOPPING_WORDS) else set())
    missing = [word for word, needed in takes.items() if needed and word not in given]
    if missing:
        raise InputError(f"{method} needs {_options(missing)}")
    if not given & takes.keys():
        raise InputError(f"{method} needs one of {_options(takes)}")


def _words_of(algorithm: Algorithm) -> dict[str, bool]:
    """Return the words that an algorithm takes, and whether it needs them."""
    parameters = inspect.signature(algorithm).parameters
    return {w: parameters[w].default is inspect.Parameter.empty for w in WORDS if w in parameters}


def _options(words: Any) -> str:
    return ", ".join(f"--{word}" for word in words)


def _centred(table: Table) -> tuple[FloatArray, FloatArray, tuple[FloatArray, float]]:
    """Subtract the means, which is what an intercept does; return them, too.

    A constant column becomes exactly zero: rounding must not leave a direction of noise.
    """
    import numpy as np

    def centre(values: FloatArray) -> tuple[FloatArray, Any]:
        mean = values.mean(axis=0)
        constant = values.min(axis=0) == values.max(axis=0)
        return np.where(constant, 0.0, values - mean), np.where(constant, values[0], mean)

    X, X_mean = centre(table.X)
    y, y_mean = centre(table.y)
    return X, y, (X_mean, float(y_mean))


def _intercept(X_mean: FloatArray, y_mean: float, coef: FloatArray) -> float:
    """Return what brings the centred model back to the table's own zero."""
    from sparsewise.report import ROUNDING

    shift = float(X_mean @ coef)
    intercept = y_mean - shift
    is_rounding = abs(intercept) <= math.sqrt(ROUNDING) * max(abs(y_mean), abs(shift))
    return 0.0 if is_rounding else intercept


def _dependent(
    method: str, columns: Sequence[int], include: Sequence[int], names: Sequence[str]
) -> str:
    """Say which columns can't be in the first model together, and the way out."""
    from sparsewise.tables import as_argument

    dependent = [names[j] for j in columns]
    trouble = f"{listing(dependent)} can't be told from the rest (constant or a combination)"
    if set(columns) <= set(include):
        return f"{trouble}: leave {'it' if len(columns) == 1 else 'them'} out of --include"
    return (
        f"{method} starts from all features, but {trouble}: --exclude {as_argument(dependent)}, "
        "or use rmp0, foba or forward"
    )


def _bic_delta(A: FloatArray, y: FloatArray, intercept: bool) -> tuple[float, str]:
    """Return delta, delta² = s² log n: the price of a feature in the BIC; and words for it.

    With the noise variance known, BIC = ‖r‖²/s² + k log n (Schwarz 1978); s² is estimated by the
    least-squares fit on all features.
    """
    import numpy as np

    from sparsewise.report import ROUNDING

    n, m = A.shape
    if not y.any():
        value = "constant: the model is its mean" if intercept else "zero: so is the model"
        return 0.0, f"the target is {value}"
    if n <= m + intercept:
        raise InputError(
            f"{count(n, 'row')} can't tell the noise of {count(m, 'feature')}: "
            "choose when to stop by --sparsity, --residual or --delta"
        )
    norms = np.linalg.norm(A, axis=0)
    U = A / np.where(norms > 0, norms, 1.0)
    coef, _, rank, _ = np.linalg.lstsq(U, y, rcond=None)
    squared = float(np.sum((y - U @ coef) ** 2))
    if squared <= ROUNDING * float(y @ y):
        squared = 0.0
    variance = squared / (n - int(rank) - intercept)
    delta = math.sqrt(variance * math.log(n))
    return delta, (
        f"delta = {delta:.4g}: a feature must be worth delta² = s² log n, its price in the BIC "
        f"(s² = {variance:.4g}, the residual variance with all features)"
    )


# --- sparsewise algorithms ------------------------------------------------------------------------


def _add_algorithms(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "algorithms",
        parents=[common],
        help="list the methods and the words that stop them",
        description="List the methods and the words that stop them.",
    )
    parser.set_defaults(run=algorithms)


def algorithms(args: argparse.Namespace) -> None:
    """Run ``sparsewise algorithms``."""
    from sparsewise.algorithms import ALGORITHMS
    from sparsewise.report import Page, show_algorithms

    show_algorithms(
        (
            (
                name,
                _first_sentence(algorithm),
                ", ".join(w + "*" * needed for w, needed in _words_of(algorithm).items()),
            )
            for name, algorithm in ALGORITHMS.items()
        ),
        Page(),
    )


def _first_sentence(algorithm: Algorithm) -> str:
    paragraph = (inspect.getdoc(algorithm) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).split(". ")[0].rstrip(".").replace("`", "")


# --- the parser and the two streams ---------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all our errors."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_help_formatter, **options)

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


def _help_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=20, width=80)


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
