"""``sparsewise fit``: choose the features of a table that explain its target."""

from __future__ import annotations

import argparse
import json

from sparsewise.algorithms import Family
from sparsewise.algorithms.solve import EFFORT
from sparsewise.cli import figures
from sparsewise.cli.methods import DEFAULT, DEFAULTS, choosers, family, starters, takers
from sparsewise.cli.options import Command, add_table, at_least, check_place, not_negative, positive
from sparsewise.cli.spelling import OPTIONS, as_option
from sparsewise.cli.table_fit import TableFit, fit_table


def add(command: Command) -> None:
    """Add the command."""
    parser = command(
        "fit",
        help="choose the features of a table that explain its target",
        description="Choose the features of a table that explain its target.",
        epilog=_epilog(),
    )
    parser.set_defaults(run=run)
    add_arguments(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object instead (log_evidence on its path: at the final σ)",
    )
    output.add_argument("--plot", metavar="FILE", help="draw the model: .png, .pdf or .svg")
    output.add_argument(
        "--plot-residuals",
        metavar="FILE",
        help="draw residuals, and observed targets, against predicted ones: .png, .pdf or .svg",
    )
    output.add_argument(
        "--save", metavar="MODEL", help="write the model as JSON, for sparsewise predict"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what to fit, and how."""
    data = add_table(parser, features="candidates (default: all other columns)")
    data.add_argument("--include", metavar="NAMES", default="", help="features to keep in any case")
    data.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="let the workers of this Dask scheduler read the files, which they must see by the "
        "same names (tcp://host:8786, say)",
    )
    how = parser.add_argument_group("method")
    how.add_argument(
        "--method", metavar="NAME", help=f"see: sparsewise algorithms (default: {DEFAULT})"
    )
    how.add_argument(
        "--criterion",
        metavar="NAME",
        help="what chooses on a path: aic, aicc, bic, ebic, ric, cp, adjusted_r2, loo or cv "
        f"(methods {choosers()})",
    )
    how.add_argument(
        "--cv", type=at_least(2), metavar="K", help="let the error of K folds choose (same methods)"
    )
    how.add_argument(
        "--fold-column",
        metavar="COLUMN",
        help="rows with the same entry are a fold, predicted from the others (instead of --cv)",
    )
    how.add_argument(
        "--max-features",
        type=at_least(0),
        metavar="K",
        help="follow the path to K features and no further (same methods; default: as far as it is "
        "worth it)",
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
        "--ridge",
        type=not_negative,
        metavar="L",
        help="shrink coefficients: add L times their sum of squares, for features of norm 1, to "
        f"the squared residual (methods {takers('ridge')}; default: 0)",
    )
    how.add_argument(
        "--batch",
        type=at_least(1),
        metavar="B",
        help=f"features per step (method {takers('batch')}; default: 2)",
    )
    how.add_argument(
        "--start",
        metavar="NAMES",
        help=f"features to begin with, all or none (methods {starters()}; default: all for "
        "stepwise, as step of R, none for others)",
    )
    search = parser.add_argument_group(f"search from several starts (method {DEFAULT})")
    search.add_argument(
        "--effort",
        type=at_least(1),
        metavar="K",
        help=f"K starts at most (default: {EFFORT}; fewer are used where the answer is plain)",
    )
    search.add_argument(
        "--seed", type=at_least(0), metavar="S", help="other starts, for another number"
    )
    l1 = parser.add_argument_group(f"basis pursuit (methods {family(Family.L1)})")
    l1.add_argument(
        "--penalty",
        type=not_negative,
        metavar="L",
        help="what a coefficient costs beside half the squared residual, for columns of norm 1 "
        f"(methods {takers('penalty')})",
    )
    l1.add_argument(
        "--debias",
        action="store_true",
        default=None,
        help=f"refit the choice by least squares (method {DEFAULT}, too)",
    )
    bayes = parser.add_argument_group(
        f"Sparse Bayesian Learning (methods {family(Family.BAYESIAN)})"
    )
    bayes.add_argument(
        "--sigma",
        type=positive,
        metavar="S",
        help="standard deviation of the noise, in the target's units (default: inferred; methods "
        f"{takers('sigma', Family.SEARCH, Family.L1)} take it, too)",
    )
    bayes.add_argument(
        "--price",
        type=not_negative,
        metavar="P",
        help="what a feature must raise the log evidence by (default: log m for m features; 0 "
        "takes any that raises it)",
    )
    bayes.add_argument(
        "--updates",
        metavar="RULE",
        help=f"em, mackay or convex (method {takers('updates')}; default: em)",
    )


def _epilog() -> str:
    meant = ", ".join(f"{OPTIONS[option]} {method}" for option, method in DEFAULTS.items())
    bounded = takers("residual", Family.L1)
    return (
        f"The method is {DEFAULT}, which searches from several starts for the model of least RIC "
        "(--criterion: ric, bic, aic or cv), unless it is named or an option means another: "
        f"{meant}. {choosers()}, if named without an option "
        "that stops them, choose by the RIC; other stepwise methods ask of a feature to lower the "
        "squared residual by s² log n, its price in the BIC (s²: residual variance with all "
        "features), and those that take --sparsity have as many features as the RIC chooses on a "
        f"path. {bounded}, if named without --residual, leave a residual as large as the noise of "
        "all n rows, s √n. NAMES are separated by commas."
    )


def run(args: argparse.Namespace) -> int:
    """Run ``sparsewise fit``."""
    check_place("--save", args.save)
    figures.check_figure("--plot", args.plot)
    figures.check_figure("--plot-residuals", args.plot_residuals)
    fit = fit_table(args)
    try:
        # Before anything is printed: whoever reads the first lines and leaves wants the files, too.
        if args.save is not None:
            save(fit, args.save)
        if args.plot is not None:
            figures.draw_fit(fit.model, args.plot)
        if args.plot_residuals is not None:
            figures.draw_residuals(fit.model, fit.table, args.plot_residuals)
    finally:
        if args.json:
            model = fit.description.fields(as_option)
            # As ASCII: it can be written in any encoding.
            fields = fit.fields(**model, interrupted=fit.interrupted)
            print(json.dumps(fields, indent=2, allow_nan=False))
        else:
            from sparsewise.summary.terminal import Page, show_model

            show_model(fit.description, fit.facts(), Page())
    return 130 if fit.interrupted else 0


def save(fit: TableFit, path: str) -> None:
    """Write the model for ``sparsewise predict``."""
    from sparsewise.io.model import LinearModel

    description = fit.description
    LinearModel.from_estimator(
        fit.model,
        target=fit.table.target,
        names=fit.table.names,
        encoding=fit.table.encoding,
        method=fit.method,
        facts={
            "table": fit.table.label,
            "candidates": description.candidates,
            "criterion": description.criterion,
            "r2": description.r2,
            "stop": str(description.stop),
        },
    ).save(path)
