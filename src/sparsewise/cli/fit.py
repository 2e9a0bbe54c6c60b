"""``sparsewise fit``: choose the features of a table that explain its target."""

from __future__ import annotations

import argparse
import json
import math
import warnings
from typing import TYPE_CHECKING, Any

from sparsewise.cli import methods
from sparsewise.cli.options import (
    add_table,
    at_least,
    check_place,
    dependent_columns,
    load,
    not_negative,
    positive,
    reduced,
)
from sparsewise.errors import InputError
from sparsewise.wording import listing, printable

if TYPE_CHECKING:
    from sparsewise.estimators.base import SparseRegressor
    from sparsewise.report import Fit
    from sparsewise.tables import Table

# A certificate takes about n m² steps, or 50 m² where there are fewer rows: its m² inner products
# are sorted, too. So many take a second or two, which is no longer than reading such a table.
MOST_STEPS = 5e9
# Seconds that fit has for an exact search: certify is there for those who can wait.
SHORT_SEARCH = 1.0


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "fit",
        parents=[common],
        help="choose the features of a table that explain its target",
        description="Choose the features of a table that explain its target.",
        epilog="The method is rmp, Sparse Bayesian Learning with the noise inferred, unless a word "
        "says otherwise: --criterion, --cv, --sparsity and --residual mean forward, --delta rmp0, "
        "--batch gomp, --updates sbl, --penalty fista, --debias bpdn. forward, backward, foba and "
        "stepwise, if named without a word that stops them, choose by the BIC; rmp0 asks of a "
        "feature to lower the squared residual by s² log n, its price in the BIC (s²: residual "
        "variance with all features); omp and its kin take as many features as the BIC chooses on "
        "the path of omp. bpdn, bp-candes, bp-ard and focuss, if named without --residual, leave a "
        "residual as large as the noise of all n rows, s √n. NAMES are separated by commas.",
    )
    parser.set_defaults(run=run)
    add_arguments(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print one JSON object instead")
    output.add_argument("--plot", metavar="FILE", help="draw the model: .png, .pdf or .svg")
    output.add_argument(
        "--save", metavar="MODEL", help="write the model as JSON, for sparsewise predict"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that tell what to fit, and how."""
    data = add_table(parser, features="candidates (default: all other columns)")
    data.add_argument("--include", metavar="NAMES", default="", help="features to keep in any case")
    how = parser.add_argument_group("method")
    how.add_argument("--method", metavar="NAME", help="see: sparsewise algorithms (default: rmp)")
    how.add_argument(
        "--criterion",
        metavar="NAME",
        help="what chooses on a path: aic, aicc, bic, ebic, cp, adjusted_r2, loo or cv (methods "
        "forward, backward, foba, stepwise)",
    )
    how.add_argument(
        "--cv", type=at_least(2), metavar="K", help="let the error of K folds choose (same methods)"
    )
    how.add_argument("--sparsity", type=at_least(0), metavar="K", help="at most K features")
    how.add_argument(
        "--residual", type=not_negative, metavar="R", help="stop once the norm of the residual is R"
    )
    how.add_argument(
        "--delta",
        type=not_negative,
        metavar="D",
        help="add while the squared residual falls by more than D², drop while it grows by at most "
        "D²",
    )
    how.add_argument(
        "--batch", type=at_least(1), metavar="B", help="features per step (method gomp; default: 2)"
    )
    l1 = parser.add_argument_group(
        "basis pursuit (methods bp, bpdn, bp-candes, bp-ard, focuss, ista, fista)"
    )
    l1.add_argument(
        "--penalty",
        type=not_negative,
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
        type=positive,
        metavar="S",
        help="standard deviation of the noise, in the target's units (default: inferred; method "
        "bp-ard takes it, too)",
    )
    bayes.add_argument(
        "--price",
        type=not_negative,
        metavar="P",
        help="what a feature must raise the log evidence by (default: log m for m features; 0 "
        "takes any that raises it)",
    )
    bayes.add_argument(
        "--updates", metavar="RULE", help="em, mackay or convex (method sbl; default: em)"
    )


def run(args: argparse.Namespace) -> int:
    """Run ``sparsewise fit``."""
    check_place("--save", args.save)
    check_place("--plot", args.plot)
    if args.plot is not None:
        from sparsewise.cli.figures import check_format

        check_format(args.plot)
    fit = fitted(args)
    try:
        # Before anything is printed: whoever reads the first lines and leaves wants the files, too.
        if args.save is not None:
            save(fit, args.save)
        if args.plot is not None:
            from sparsewise.cli.figures import draw_fit

            draw_fit(fit, args.plot)
    finally:
        _show(fit, args.json)
    return 130 if fit.interrupted else 0


def _show(fit: Fit, as_json: bool) -> None:
    from sparsewise.report import Page, show_fit

    if as_json:
        # As ASCII: it can be written in any encoding.
        print(json.dumps(fit.fields(), indent=2, allow_nan=False))
    else:
        show_fit(fit, Page())


def fitted(args: argparse.Namespace, default: str | None = None, path_only: bool = False) -> Fit:
    """Return the model that the arguments ask for; less is said of it if the path is wanted."""
    given = {word: getattr(args, word) for word in methods.OPTIONS}
    words = {word: value for word, value in given.items() if value is not None}
    method = methods.choose(args.method or default, words)

    from sparsewise.report import WITHOUT_INTERCEPT, Fit

    table, include = load(args)
    intercept = not args.no_intercept
    model, notes = methods.build(
        method,
        words,
        table,
        include=include or None,
        fit_intercept=intercept,
        certify=SHORT_SEARCH if not path_only and _can_be_certified(table) else False,
    )
    interrupted, warned = _fit(model, table, include)
    if model.criteria_.total == 0:
        value = "constant: the model is its mean" if intercept else "zero: so is the model"
        notes = [f"the target is {value}"]
    notes = [] if path_only else [*notes, *warned, *_l1_notes(model, words)]
    if not intercept:
        notes.append(WITHOUT_INTERCEPT)
    if interrupted:
        notes.append("Ctrl-C ended it early: the model is the one met so far")
    return Fit(
        label=table.label,
        target=table.target,
        names=table.names,
        rows=len(table.y),
        encoding=table.encoding,
        dropped=table.dropped,
        method=method,
        model=model,
        notes=(*table.notes, *notes),
        weights=args.weights,
        sigma_given="sigma" in words,
        certificate=None if path_only or interrupted else _certificate(table, model),
        interrupted=interrupted,
    )


def _fit(model: SparseRegressor, table: Table, include: list[str]) -> tuple[bool, list[str]]:
    """Fit the model to the table; return whether Ctrl-C ended that, and what was warned of."""
    import polars as pl

    from sparsewise.cli.patience import patience
    from sparsewise.engine.halting import interruptible
    from sparsewise.results import Stop

    X, y = pl.DataFrame(table.X, schema=list(table.names)), pl.Series(table.target, table.y)
    with patience("fitting"), warnings.catch_warnings(record=True) as caught, interruptible():
        warnings.simplefilter("always")
        try:
            model.fit(X, y, sample_weight=table.weights)
        except (ValueError, TypeError) as error:
            _refuse_dependent(table, include, model.fit_intercept)
            raise InputError(methods.in_options(str(error))) from error
    early = model.solution_.stop is Stop.INTERRUPTED
    return early, [methods.in_options(str(warning.message)) for warning in caught]


def _refuse_dependent(table: Table, include: list[str], intercept: bool) -> None:
    """Name the features that can't be in any model together, if that is what is wrong."""
    columns = table.positions(include)
    found = dependent_columns(reduced(table, intercept).design, columns) if columns else []
    if found:
        them = "it" if len(found) == 1 else "them"
        raise InputError(
            f"{listing(table.names[j] for j in found)} can't be told from the rest of what is "
            f"included (constant or a combination): leave {them} out of --include"
        )


def _l1_notes(model: SparseRegressor, words: dict[str, Any]) -> list[str]:
    """Say what a coefficient costs, what that does to it, and how small a residual was sought."""
    from sparsewise.estimators import BasisPursuitRegressor
    from sparsewise.results import L1Solution

    if not isinstance(model, BasisPursuitRegressor):
        return []
    solution, notes = model.solution_, []
    if model.residual is None and model.residual_ is not None and model.criteria_.total > 0:
        noise = model.residual_ / math.sqrt(model.n_rows_)
        notes.append(
            f"residual = {model.residual_:.4g}: s √n, as large as the noise (s = {noise:.4g})"
        )
    if not solution.support.size or not isinstance(solution, L1Solution):
        return notes
    notes.append("features cost as columns of norm 1 would, so that their units don't matter")
    if words.get("debias"):
        notes.append("the coefficients are refitted by least squares")
    elif model.residual_ or words.get("penalty"):
        notes.append("the coefficients are shrunk, as they cost; --debias refits them")
    return notes


def _can_be_certified(table: Table) -> bool:
    """Return whether a certificate takes no longer than reading the table."""
    n, m = table.X.shape
    return max(n, 50) * m**2 <= MOST_STEPS


def _certificate(table: Table, model: SparseRegressor) -> str | None:
    """Say whether the chosen features are the best of their number, unless there are none."""
    if not model.solution_.support.size or model.criteria_.total == 0:
        return None
    if not _can_be_certified(table):
        return "not looked at, as so large a table takes a while: sparsewise certify does it"
    if hasattr(model, "uncertified_"):
        reason = model.uncertified_.rstrip(".")
        return f"not certified: {reason[:1].lower()}{reason[1:]}"
    return model.certificate_.sentence([printable(name) for name in table.names])


def save(fit: Fit, path: str) -> None:
    """Write the model for ``sparsewise predict``."""
    from sparsewise.models import LinearModel

    LinearModel.from_estimator(
        fit.model,
        target=fit.target,
        names=fit.names,
        encoding=fit.encoding,
        method=fit.method,
        facts=fit.facts(),
    ).save(path)
