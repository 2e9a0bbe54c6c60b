"""The command ``sparsewise``: fit a table, certify a choice of features, list the algorithms.

A table is fitted by Sparse Bayesian Learning, which needs no threshold, unless a method or a word
that stops one is given.

Exit codes: 0 done, 1 an error of ours, 2 bad input (one line on standard error), 130 Ctrl-C.
What is heavy (numba, polars, rich, scikit-learn) is imported where it is used, so that ``--help``
answers at once.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from sparsewise import __version__
from sparsewise.messages import InputError, count, listing, look_up, printable, quoted

if TYPE_CHECKING:
    from sparsewise.solution import Solution
    from sparsewise.tables import FloatArray, RawTable, Table

Algorithm = Callable[..., "Solution"]

STOPPING_WORDS = ("sparsity", "residual", "delta")
# What of an algorithm's signature can be set here.
WORDS = (*STOPPING_WORDS, "penalty", "batch", "sigma", "price", "updates", "debias")

# A certificate takes about n m² steps, or 50 m² where there are fewer rows: its m² inner products
# are sorted, too. So many take a second or two, which is no longer than reading such a table.
MOST_STEPS = 5e9
# Seconds that fit has for an exact search: certify is there for those who can wait.
SHORT_SEARCH = 1.0


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
        description="Sparse regression: Sparse Bayesian Learning, stepwise algorithms and basis "
        "pursuit.",
        epilog="Try: sparsewise fit --example diabetes",
    )
    parser.add_argument("--version", action="version", version=f"sparsewise {__version__}")
    parser.set_defaults(run=lambda args: parser.print_help())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_fit(commands, common)
    _add_certify(commands, common)
    _add_algorithms(commands, common)
    return parser


# --- sparsewise fit -------------------------------------------------------------------------------


def _add_fit(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "fit",
        parents=[common],
        help="choose the features of a table that explain its target",
        description="Choose the features of a table that explain its target.",
        epilog="The method is rmp, Sparse Bayesian Learning with the noise inferred, unless a word "
        "says otherwise: --delta means rmp0, --sparsity and --residual forward, --batch gomp, "
        "--updates sbl, --penalty fista, --debias bpdn. rmp0, foba, forward, backward and lace, if "
        "named without a word that stops them, ask of a feature to lower the squared residual by "
        "s² log n, its price in the Bayesian information criterion (s²: residual variance with all "
        "features). bpdn, bp_candes, bp_ard and focuss, if named without --residual, leave a "
        "residual as large as the noise of all n rows, s √n. NAMES are separated by commas.",
    )
    parser.set_defaults(run=fit)
    data = _add_data(parser, features="candidates (default: all other columns)")
    data.add_argument("--include", metavar="NAMES", default="", help="features to keep in any case")
    how = parser.add_argument_group("method")
    how.add_argument("--method", metavar="NAME", help="see: sparsewise algorithms (default: rmp)")
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
    l1 = parser.add_argument_group(
        "basis pursuit (methods bp, bpdn, bp-candes, bp-ard, focuss, ista, fista)"
    )
    l1.add_argument(
        "--penalty",
        type=float,
        metavar="L",
        help="what a coefficient costs beside half the squared residual, for columns of norm 1 "
        "(methods ista, fista)",
    )
    l1.add_argument(
        "--debias", action="store_true", default=None, help="refit the choice by least squares"
    )
    bayes = parser.add_argument_group("Sparse Bayesian Learning (methods rmp, fast-sbl, sbl)")
    bayes.add_argument(
        "--sigma",
        type=float,
        metavar="S",
        help="standard deviation of the noise, in the target's units (default: inferred; method "
        "bp-ard takes it, too)",
    )
    bayes.add_argument(
        "--price",
        type=float,
        metavar="P",
        help="what a feature must raise the log evidence by (default: log m for m features; 0 "
        "takes any that raises it)",
    )
    bayes.add_argument(
        "--updates", metavar="RULE", help="em, mackay or convex (method sbl; default: em)"
    )


def _add_data(parser: argparse.ArgumentParser, features: str) -> Any:
    """Add the options that name a table and its columns; return their group."""
    data = parser.add_argument_group("data")
    data.add_argument("data", nargs="?", metavar="DATA", help="CSV or TSV file; - for stdin")
    data.add_argument("--example", metavar="NAME", help="a built-in table instead: diabetes")
    data.add_argument("--target", metavar="COLUMN", help="the column to explain")
    data.add_argument("--features", metavar="NAMES", help=features)
    data.add_argument("--exclude", metavar="NAMES", default="", help="columns to leave out")
    data.add_argument("--no-intercept", action="store_true", help="force the fit through 0")
    return data


def fit(args: argparse.Namespace) -> None:
    """Run ``sparsewise fit``."""
    from sparsewise.algorithms import ALGORITHMS

    words = {word: getattr(args, word) for word in WORDS if getattr(args, word) is not None}
    method = _default_method(words) if args.method is None else args.method.replace("-", "_")
    look_up([method], ALGORITHMS, "method")
    algorithm = ALGORITHMS[method]
    _check_words(method, algorithm, words)

    from sparsewise.problem import DependentColumnsError
    from sparsewise.report import WITHOUT_INTERCEPT, Fit, Page, show_fit
    from sparsewise.tables import positions, split_names

    table = _load(args)
    include = positions(split_names(args.include), table.names)
    intercept, n_rows = not args.no_intercept, len(table.y)
    A, y, centre = _centred(table) if intercept else (table.X, table.y, None)
    sigma_given = "sigma" in words
    notes = _fill_in(words, algorithm, A, y, intercept)
    if _is_l1(algorithm):
        _check_included(A, include, table.names)
        if "sigma" in _words_of(algorithm) and words["residual"] > 0:  # the noise of each row
            words.setdefault("sigma", words["residual"] / math.sqrt(n_rows))
    if not intercept:
        notes.append(WITHOUT_INTERCEPT)
    if _is_bayesian(algorithm):
        _check_rows(n_rows, len(include), intercept)
    if intercept and (_is_bayesian(algorithm) or _is_l1(algorithm)):
        A, y = _rotated(A), _rotated(y)
    with Page(sys.stderr).status("fitting"):
        try:
            solution = algorithm(A, y, include=include, **words, **_weights(algorithm, A))
        except DependentColumnsError as error:
            raise InputError(_dependent(method, error.columns, include, table.names)) from error
        except (ValueError, TypeError) as error:
            raise InputError(str(error)) from error
    if _is_l1(algorithm) and solution.support.size:
        notes += _l1_notes(words)
    with Page(sys.stderr).status("certifying"):
        certificate = _certificate(A, y, solution, table.names)
    show_fit(
        Fit(
            label=table.label,
            target=table.target,
            names=table.names,
            n_rows=n_rows,
            solution=solution,
            intercept=None if centre is None else _intercept(*centre, solution.coef),
            intercept_std=None if centre is None else _intercept_std(centre[0], solution, n_rows),
            total=float(y @ y),
            sigma_given=sigma_given,
            notes=notes,
            certificate=certificate,
        ),
        Page(),
    )


def _read(args: argparse.Namespace) -> RawTable:
    """Read the table that the arguments name."""
    from sparsewise.tables import load_example, read_table

    if (args.data is None) == (args.example is None):
        raise InputError("give one table: a file, - for standard input, or --example diabetes")
    return read_table(args.data) if args.example is None else load_example(args.example)


def _load(args: argparse.Namespace) -> Table:
    """Read the table and choose its columns."""
    from sparsewise.tables import select, split_names

    raw = _read(args)
    features = None if args.features is None else split_names(args.features)
    exclude = split_names(args.exclude)
    both = [name for name in split_names(args.include) if name in exclude]
    if both:
        raise InputError(f"{listing(both)} can't be included and excluded at once")
    return select(raw, target=args.target, features=features, exclude=exclude)


def _default_method(words: dict[str, Any]) -> str:
    """Return the method that the words call for; without any, one that needs no threshold."""
    if "batch" in words:
        return "gomp"
    if "debias" in words and "penalty" not in words:
        return "bpdn"
    if words.keys() & {"sparsity", "residual"}:
        return "forward"
    if "delta" in words:
        return "rmp0"
    if "penalty" in words:
        return "fista"
    return "sbl" if "updates" in words else "rmp"


def _is_bayesian(algorithm: Algorithm) -> bool:
    return "price" in _words_of(algorithm)


def _is_l1(algorithm: Algorithm) -> bool:
    """Return whether coefficients have a price, so that they are shrunk and can be debiased."""
    return "debias" in _words_of(algorithm)


def _default_word(algorithm: Algorithm) -> str | None:
    """Return the word that decides what a feature must be worth and that has a default here."""
    if _is_bayesian(algorithm):
        return "price"
    if _is_l1(algorithm):
        return "residual" if "residual" in _words_of(algorithm) else None
    return "delta"


def _check_words(method: str, algorithm: Algorithm, words: dict[str, Any]) -> None:
    """Raise an error where the words given and those the algorithm takes don't meet."""
    takes = _words_of(algorithm)
    for word in words:
        if word not in takes:
            raise InputError(f"{method} does not take --{word}; it takes {_options(takes)}")
    if _is_bayesian(algorithm):
        return
    # Where no stopping word is given, one has a default.
    given = words.keys() | ({_default_word(algorithm)} - {None} if not _stops(words) else set())
    missing = [word for word, needed in takes.items() if needed and word not in given]
    if missing:
        raise InputError(f"{method} needs {_options(missing)}")
    if not given & takes.keys() and not _is_l1(algorithm):
        raise InputError(f"{method} needs one of {_options(takes)}")


def _stops(words: dict[str, Any]) -> bool:
    return bool(words.keys() & set(STOPPING_WORDS))


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


def _rotated(centred: FloatArray) -> FloatArray:
    """Return centred columns in a basis of what is orthogonal to the constant: n - 1 rows.

    These are the rows below the first of H x, with the reflection H that takes the constant to the
    first axis. A flat prior on the intercept leaves exactly this of the data: lengths and angles
    are kept, and the evidence counts the one row less that the mean has used up. Nor is there an
    n-th direction left for rounding errors to spoil an exact fit with.
    """
    rest: FloatArray = centred[1:] - centred[0] / (math.sqrt(len(centred)) + 1)
    return rest


def _check_rows(n: int, included: int, intercept: bool) -> None:
    """Raise an error where flat priors explain any target, and nothing tells the noise."""
    if n <= included + intercept:
        flat = [count(included, "included feature")] if included else []
        flat += ["the intercept"] if intercept else []
        raise InputError(
            f"{count(n, 'row')} can't tell the noise besides {' and '.join(flat)}: more are needed"
        )


def _intercept(X_mean: FloatArray, y_mean: float, coef: FloatArray) -> float:
    """Return what brings the centred model back to the table's own zero."""
    from sparsewise.report import ROUNDING

    shift = float(X_mean @ coef)
    intercept = y_mean - shift
    is_rounding = abs(intercept) <= math.sqrt(ROUNDING) * max(abs(y_mean), abs(shift))
    return 0.0 if is_rounding else intercept


def _intercept_std(X_mean: FloatArray, solution: Solution, n_rows: int) -> float | None:
    """Return the posterior standard deviation of the intercept, if the model has a posterior.

    The mean of the target and the coefficients are independent given the noise, and the intercept
    is their difference: σ²/n + x̄ᵀΣx̄.
    """
    from sparsewise.bayes import BayesianSolution

    if not isinstance(solution, BayesianSolution):
        return None
    means = X_mean[solution.support]
    variance = float(means @ solution.covariance @ means)
    return math.hypot(solution.sigma / math.sqrt(n_rows), math.sqrt(max(variance, 0.0)))


def _dependent(
    method: str, columns: Sequence[int], include: Sequence[int], names: Sequence[str]
) -> str:
    """Say which columns can't be in the first model together, and the way out."""
    from sparsewise.tables import as_argument

    dependent = [names[j] for j in columns]
    trouble = f"{listing(dependent)} can't be told from the rest (constant or a combination)"
    if set(columns) <= set(include):
        return f"{trouble}: leave {_them(dependent)} out of --include"
    return (
        f"{method} starts from all features, but {trouble}: --exclude {as_argument(dependent)}, "
        "or use rmp0, foba or forward"
    )


def _fill_in(
    words: dict[str, Any], algorithm: Algorithm, A: FloatArray, y: FloatArray, intercept: bool
) -> list[str]:
    """Give the word that decides what a feature must be worth its default; return notes on it."""
    word = _default_word(algorithm)
    if word is None or (word != "price" and _stops(words)):
        return []
    if not y.any():
        words.setdefault(word, 0.0)
        value = "constant: the model is its mean" if intercept else "zero: so is the model"
        return [f"the target is {value}"]
    if word in words:
        return []
    if word == "residual":
        words[word], note = _noisy_residual(A, y, intercept, words.get("sigma"))
    else:
        default = {"price": _uniform_price, "delta": _bic_delta}[word]
        words[word], note = default(A, y, intercept)
    return [note]


def _uniform_price(A: FloatArray, y: FloatArray, intercept: bool) -> tuple[float, str]:
    """Return the price of having been chosen among m features, log m; and words for it.

    The Bayesian criterion alone lets in every third feature of pure noise. A single feature pays
    as one of two.
    """
    m = A.shape[1]
    price = math.log(max(m, 2))
    why = f"log {m}, being one of {m}" if m > 1 else "log 2"
    return price, (
        f"price = {price:.4g}: a feature must raise the log evidence by {why}; "
        "--price 0 takes any that raises it"
    )


def _bic_delta(A: FloatArray, y: FloatArray, intercept: bool) -> tuple[float, str]:
    """Return delta, delta² = s² log n: the price of a feature in the BIC; and words for it.

    With the noise variance known, BIC = ‖r‖²/s² + k log n (Schwarz 1978).
    """
    variance = _noise_variance(
        A, y, intercept, "choose when to stop by --sparsity, --residual or --delta, or use rmp"
    )
    delta = math.sqrt(variance * math.log(len(y)))
    return delta, (
        f"delta = {delta:.4g}: a feature must be worth delta² = s² log n, its price in the BIC "
        f"(s² = {variance:.4g}, the residual variance with all features)"
    )


def _noisy_residual(
    A: FloatArray, y: FloatArray, intercept: bool, sigma: float | None
) -> tuple[float, str]:
    """Return s √n, the norm of the noise of n rows; and words for it.

    The discrepancy principle (Morozov 1966): a residual as large as the noise, since what is
    smaller fits the noise, too.
    """
    if sigma is None:
        way_out = "say by --residual what may be left (0: an exact fit), or use rmp"
        variance = _noise_variance(A, y, intercept, way_out)
        origin = f"s² = {variance:.4g}, the residual variance with all features"
    else:
        variance, origin = sigma**2, f"s = {sigma:.4g}, as given"
    residual = math.sqrt(variance * len(y))
    return residual, f"residual = {residual:.4g}: s √n, as large as the noise ({origin})"


def _noise_variance(A: FloatArray, y: FloatArray, intercept: bool, way_out: str) -> float:
    """Return s², the residual variance of least squares on all features."""
    import numpy as np

    from sparsewise.report import ROUNDING

    n, m = A.shape
    if n <= m + intercept:
        raise InputError(
            f"{count(n, 'row')} can't tell the noise of {count(m, 'feature')}: {way_out}"
        )
    norms = np.linalg.norm(A, axis=0)
    U = A / np.where(norms > 0, norms, 1.0)
    coef, _, rank, _ = np.linalg.lstsq(U, y, rcond=None)
    squared = float(np.sum((y - U @ coef) ** 2))
    if squared <= ROUNDING * float(y @ y):
        squared = 0.0
    return squared / (n - int(rank) - intercept)


def _weights(algorithm: Algorithm, A: FloatArray) -> dict[str, Any]:
    """Return weights that make units irrelevant, if the algorithm takes any: the norms of A.

    The others scale the columns themselves.
    """
    import numpy as np

    takes_them = "weights" in inspect.signature(algorithm).parameters
    return {"weights": np.linalg.norm(A, axis=0)} if takes_them else {}


def _l1_notes(words: dict[str, Any]) -> list[str]:
    """Say what a coefficient costs, and what that does to it."""
    notes = ["features cost as columns of norm 1 would, so that their units don't matter"]
    if words.get("debias"):
        notes.append("the coefficients are refitted by least squares")
    elif words.get("residual") or words.get("penalty"):
        notes.append("the coefficients are shrunk, as they cost; --debias refits them")
    return notes


def _check_included(A: FloatArray, include: Sequence[int], names: Sequence[str]) -> None:
    """Raise an error where features that cost nothing can't be told from each other."""
    columns = [j for j in include if not A[:, j].any()]
    if include and not columns:
        n = len(A)
        columns = [*_dependent_columns(A, include[:n]), *include[n:]]
    if columns:
        raise InputError(_dependent("", columns, include, names))


def _certificate(
    A: FloatArray, y: FloatArray, solution: Solution, names: Sequence[str]
) -> str | None:
    """Say whether the chosen features are the best of their number, unless there are none."""
    from sparsewise.guarantees import certify

    n, m = A.shape
    if not solution.support.size or not y.any():
        return None
    if max(n, 50) * m**2 > MOST_STEPS:
        return "not looked at, as so large a table takes a while: sparsewise certify does it"
    try:
        certificate = certify(A, y, solution, swaps=True, time_limit=SHORT_SEARCH)
    except ValueError as error:
        reason = str(error).rstrip(".")
        return f"not certified: {reason[:1].lower()}{reason[1:]}"
    return certificate.sentence([printable(name) for name in names])


# --- sparsewise certify ---------------------------------------------------------------------------


def _add_certify(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "certify",
        parents=[common],
        help="tell whether a choice of features is the best of its size",
        description="Tell whether a choice of features is the best of its size: whether as many "
        "others of the table's columns leave a smaller residual.",
        epilog="All columns but the target are candidates, unless excluded. There are three "
        "answers: the choice is certified; another one that fits better is named; or neither could "
        "be shown. The bound compares the residual with the smallest coefficients; where it "
        "does not decide and there are at most 200 candidates, all subsets of this size are "
        "searched by leaps and bounds. NAMES are separated by commas.",
    )
    parser.set_defaults(run=certify)
    _add_data(parser, features="the choice to certify")
    how = parser.add_argument_group("search and output")
    how.add_argument(
        "--time-limit",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="for the exact search (default: 10; 0: bound and single exchanges only)",
    )
    how.add_argument("--json", action="store_true", help="print one JSON object instead")


def certify(args: argparse.Namespace) -> None:
    """Run ``sparsewise certify``."""
    from sparsewise import guarantees
    from sparsewise.report import Certified, Page, show_certificate
    from sparsewise.tables import positions, select, split_names

    if not args.time_limit >= 0:
        raise InputError(f"--time-limit must be at least 0 seconds, not {args.time_limit:g}")
    raw = _read(args)
    chosen, exclude = split_names(args.features or ""), split_names(args.exclude)
    if not chosen:
        raise InputError(f"--features is needed: the choice to certify, of {listing(raw.columns)}")
    both = [name for name in chosen if name in exclude]
    if both:
        raise InputError(f"{listing(both)} can't be certified and excluded at once")
    table = select(raw, target=args.target, chosen=chosen, exclude=exclude)
    columns = positions(chosen, table.names)
    intercept = not args.no_intercept
    A, y = _centred(table)[:2] if intercept else (table.X, table.y)
    _check_choice(A, y, columns, table, intercept)
    with Page(sys.stderr).status("certifying"):
        try:
            certificate = guarantees.certify(A, y, columns, swaps=True, time_limit=args.time_limit)
        except ValueError as error:
            raise InputError(str(error)) from error
    better = certificate.better
    certified = Certified(
        label=table.label,
        target=table.target,
        names=table.names,
        n_rows=len(y),
        certificate=certificate,
        intercept=intercept,
        total=float(y @ y),
        better_squared=None if better is None else _squared_residual(A[:, list(better)], y),
        time_limit=args.time_limit,
    )
    if args.json:
        # As ASCII: it can be written in any encoding.
        print(json.dumps(certified.fields(), indent=2, allow_nan=False))
    else:
        show_certificate(certified, Page())


def _check_choice(
    A: FloatArray, y: FloatArray, columns: Sequence[int], table: Table, intercept: bool
) -> None:
    """Raise an error for a choice that has no unique fit, and for a target without variation."""
    n = len(y)
    constant = "constant" if intercept else "zero"
    if len(columns) + intercept > n:
        besides = " and the intercept" if intercept else ""
        raise InputError(
            f"{count(n, 'row')} can't tell {count(len(columns), 'feature')}{besides} apart: "
            "choose fewer"
        )
    if not y.any():
        raise InputError(f"the target {quoted(table.target)} is {constant}: any choice explains it")
    zero = [table.names[j] for j in columns if not A[:, j].any()]
    if zero:
        raise InputError(f"{listing(zero)} {_verb(zero)} {constant}: leave {_them(zero)} out")
    dependent = [table.names[j] for j in _dependent_columns(A, columns)]
    if dependent:
        depends = "depends" if len(dependent) == 1 else "depend"
        raise InputError(
            f"{listing(dependent)} {depends} linearly on the other chosen features, so that fewer "
            f"fit as well: leave {_them(dependent)} out"
        )


def _dependent_columns(A: FloatArray, columns: Sequence[int]) -> list[int]:
    """Return those of the columns that are combinations of the ones before them."""
    import numpy as np

    from sparsewise.design import as_design
    from sparsewise.guarantees.dictionary import unit_factor
    from sparsewise.tolerances import tolerances

    _, R = unit_factor(as_design(A), np.array(columns))
    rest = np.square(np.diagonal(R))
    return [j for j, r in zip(columns, rest, strict=True) if r <= tolerances(A.dtype).dependent]


def _squared_residual(A: FloatArray, y: FloatArray) -> float:
    """Return the squared residual of a least-squares fit on all columns, none of them zero."""
    import numpy as np

    U = A / np.abs(A).max(axis=0)
    return float(np.sum((y - U @ np.linalg.lstsq(U, y, rcond=None)[0]) ** 2))


def _verb(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


# --- sparsewise algorithms ------------------------------------------------------------------------


def _add_algorithms(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "algorithms",
        parents=[common],
        help="list the methods and the words they take",
        description="List the methods and the words they take.",
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
