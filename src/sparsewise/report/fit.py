"""Print a fitted model, or the path to it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.text import Text

from sparsewise.numerals import numerals
from sparsewise.report.model import Fit, best_steps, criterion_of
from sparsewise.report.page import Page
from sparsewise.report.path import show_criteria, show_steps
from sparsewise.report.shares import r_squared
from sparsewise.results import L1Solution, Reweighted
from sparsewise.selection.criteria import SHORT_NAMES
from sparsewise.wording import count, printable, shortened

# A longer path is shown by its first and last steps.
FIRST_STEPS, LAST_STEPS = 25, 10
WITHOUT_INTERCEPT = "without an intercept, R² compares with 0 rather than with the mean"


def show_fit(fit: Fit, page: Page) -> None:
    """Print the chosen features, the path, why it stopped, and one line of summary."""
    solution = fit.solution
    page.print(Text(f"{printable(fit.target)} explained by {_size(fit)}", style="bold"))
    _show_coefficients(fit, page)
    page.heading("Path")
    show_steps(fit, page, FIRST_STEPS, LAST_STEPS)
    page.print()
    page.facts(
        [
            *(("noise", sentence) for sentence in _noise(fit)),
            *(("± std", sentence) for sentence in _conditional(fit)),
            *(("criteria", sentence) for sentence in _criteria(fit)),
            *_l1(fit),
            *([("subset", fit.certificate)] if fit.certificate is not None else []),
            ("stopped", f"{solution.stop}"),
            ("advice", f"{solution.stop.advice}"),
            *(("note", note) for note in fit.notes),
            ("summary", _summary(fit)),
        ]
    )


def show_path(fit: Fit, page: Page) -> None:
    """Print every step, the criteria of the models on the way, and where each is best."""
    target = printable(fit.target)
    page.print(Text(f"{target} explained step by step: method {fit.method}", style="bold"))
    page.heading("Path")
    show_steps(fit, page)
    best = best_steps(fit)
    if best:
        page.heading("Criteria")
        show_criteria(fit, best, page)
    page.print()
    sizes = fit.model.path_["size"].to_list()
    page.facts(
        [
            *(
                (SHORT_NAMES[name], f"best at step {step}, with {count(sizes[step], 'feature')}")
                for name, step in best.items()
            ),
            *(("CV", sentence) for sentence in _folds(fit)),
            *(("note", note) for note in fit.notes),
            ("summary", _summary(fit)),
        ]
    )


def _show_coefficients(fit: Fit, page: Page) -> None:
    support = fit.solution.support
    names = [printable(fit.names[j]) for j in support]
    values = [float(fit.solution.coef[j]) for j in support]
    if fit.intercept is not None:
        names.insert(0, "(intercept)")
        values.insert(0, fit.intercept)
    page.heading("Chosen features")
    if not names:
        page.print("  nothing: every prediction is 0")
        return
    columns, cells = {"feature": "left", "coefficient": "right"}, [names, numerals(values)]
    if fit.deviations is not None:
        columns["± std"] = "right"
        cells.append(numerals(fit.deviations, figures=3))
    page.table(columns, zip(*cells, strict=True))


def _size(fit: Fit) -> str:
    chosen = fit.solution.support.size
    r2 = r_squared(fit.squared, fit.total)
    features = count(len(fit.names), "feature")
    return f"{chosen} of {features}" + (f", R² = {r2}" if r2 != "-" else "")


def _summary(fit: Fit) -> str:
    rows = count(fit.rows, "row")
    if fit.weights is not None:
        rows += f" of weight {fit.model.n_rows_:g} by {printable(fit.weights)}"
    return (
        f"{printable(fit.label)}: {rows}, {count(len(fit.names), 'feature')}; method "
        f"{fit.method}, {count(fit.solution.n_passes, 'pass', 'passes')} over A"
    )


def _noise(fit: Fit) -> Iterator[str]:
    """Yield what the model says of the noise, and a Bayesian one of itself."""
    if fit.is_exact and fit.bayesian is None:
        yield "σ = 0: the fit is exact"
    elif fit.is_exact:
        yield "σ = 0: the fit is exact to eight digits, and the evidence without bound"
    elif fit.bayesian is not None:
        origin = "as given" if fit.sigma_given else "inferred"
        evidence = f"log evidence = {fit.bayesian.log_evidence:.2f}"
        yield f"σ = {fit.bayesian.sigma:.4g}, {origin}; {evidence}"
    elif fit.model.noise_ is not None:
        yield f"σ = {fit.model.noise_:.4g}, that of the residual"


def _conditional(fit: Fit) -> Iterator[str]:
    """Yield what standard deviations take for granted."""
    if fit.deviations is not None and fit.solution.support.size and not fit.is_exact:
        yield "conditional on the selection: as if these features had been given"


def _criteria(fit: Fit) -> Iterator[str]:
    """Yield the criteria of a least-squares model, the one that has chosen first."""
    values = fit.criteria()
    chosen = criterion_of(fit)
    shown = [name for name in dict.fromkeys([chosen, "aic", "bic", "adjusted_r2"]) if name]
    told = [f"{SHORT_NAMES[name]} {values[name]:.6g}" for name in shown if name in values]
    if told:
        yield ", ".join(told)
    yield from _folds(fit)


def _folds(fit: Fit) -> Iterator[str]:
    """Yield what cross-validation has chosen, and why."""
    errors = getattr(fit.model, "cv_errors_", None)
    if errors is None:
        return
    at = errors.sizes.tolist().index(errors.chosen)
    error = f"mean squared error of folds {errors.mean[at]:.6g} ± {errors.std[at]:.3g}"
    rule = "the fewest within a standard error of the best"
    yield f"{error} with {count(int(errors.chosen), 'feature')}, {rule}"


def _l1(fit: Fit) -> Iterator[tuple[str, str]]:
    """Yield what the coefficients cost, and the rounds of weights that led there."""
    solution = fit.solution
    if not isinstance(solution, L1Solution):
        return
    before = " before the refit" if solution.debiased else ""
    figures = [f"Σ w|x| = {solution.objective:.6g}{before}"]
    if math.isfinite(solution.penalty):  # for the empty model, any large enough
        figures.append(f"penalty {solution.penalty:.4g}")
    if solution.bound is not None:
        figures.append(f"residual at most {solution.bound:.4g}")
    yield "l1", ", ".join(figures)
    if isinstance(solution, Reweighted):
        sizes = shortened([str(one.size) for one in solution.rounds], most=20)
        yield "rounds", f"{len(solution.rounds)}, with {sizes} features"
