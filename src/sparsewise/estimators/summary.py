"""A fitted model for people: one table, as text and as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from sparsewise.estimators.trace import padded, width
from sparsewise.numerals import numerals
from sparsewise.results import BayesianSolution, L1Solution, Stop
from sparsewise.selection.criteria import BY_RESIDUAL, NAMES
from sparsewise.wording import count, printable, shortened

if TYPE_CHECKING:
    from sparsewise.estimators.base import SparseRegressor

WIDTH = 80
"""No line of text is wider."""

MARGIN = 12
"""Where the sentences begin, after the words they are about."""

NOTHING_LEFT = "there are no more rows than coefficients"

TOLD = (
    Stop.BEST,
    Stop.CRITERION,
    Stop.DELTA,
    Stop.EXHAUSTED,
    Stop.PENALTY,
    Stop.RESIDUAL,
    Stop.SPARSITY,
)
"""Reasons for stopping that go without saying once the rule of choice has been told."""


@dataclass(frozen=True, repr=False)
class Summary:
    """A title, the coefficients, and what else there is to say; prints as text, shows as HTML.

    Attributes
    ----------
    title : str
        What is explained by how much.
    header : tuple of str
        Titles of the table: feature, coefficient, and where it is known its standard error.
    rows : list of tuple of str
        The intercept and every chosen feature.
    facts : list of (str, str)
        Pairs of a word and what there is to say about it.
    """

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    facts: list[tuple[str, str]]

    def __str__(self) -> str:
        facts = [line for word, sentence in self.facts for line in _fact(word, sentence)]
        table = [*self._table(), ""] if self.rows else []
        return "\n".join([*_folded(self.title, WIDTH), "", *table, *facts])

    __repr__ = __str__

    def _table(self) -> Iterator[str]:
        """Names to the left, folded where they are long; numbers to the right."""
        numbers = [row[1:] for row in (self.header, *self.rows)]
        widths = [max(map(width, column)) for column in zip(*numbers, strict=True)]
        most = WIDTH - sum(2 + size for size in widths)
        names = [_name(row[0], most) for row in (self.header, *self.rows)]
        margin = max(width(line) for lines in names for line in lines)
        for i, (lines, cells) in enumerate(zip(names, numbers, strict=True)):
            aligned = [
                " " * (size - width(cell)) + cell for cell, size in zip(cells, widths, strict=True)
            ]
            yield "  ".join([padded(lines[0], margin), *aligned])
            yield from lines[1:]
            if i == 0:
                yield "─" * (margin + sum(2 + size for size in widths))

    def _repr_html_(self) -> str:
        # No colours and no fonts: those of the notebook serve by day and by night. Two tables, so
        # that long sentences don't draw the columns of numbers apart.
        table = ""
        if self.rows:
            head = "".join(_cell("th", title, i > 0) for i, title in enumerate(self.header))
            body = "".join(_html_row(row, numbers=True) for row in self.rows)
            table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        facts = "".join(_html_row(fact, numbers=False) for fact in self.facts)
        return (
            f"<div><p>{escape(self.title)}</p>{table}"
            f"<table style='max-width: 50em'><tbody>{facts}</tbody></table></div>"
        )


def _html_row(row: tuple[str, ...], numbers: bool) -> str:
    cells = "".join(_cell("td", text, numbers) for text in row[1:])
    return f"<tr>{_cell('th', row[0], False)}{cells}</tr>"


def _cell(tag: str, text: str, number: bool) -> str:
    return f"<{tag} style='text-align: {'right' if number else 'left'}'>{escape(text)}</{tag}>"


def _name(text: str, most: int) -> list[str]:
    """A name on as many lines as it takes, all but the first indented."""
    if width(text) <= most:
        return [text]
    first, *more = _folded(text, most - 2)
    return [first, *(f"  {line}" for line in more)]


def _fact(word: str, sentence: str) -> Iterator[str]:
    """A word, and beside it a sentence on as many lines as it takes."""
    lines = _folded(sentence, WIDTH - MARGIN)
    for first, line in zip_longest([word], lines, fillvalue=""):
        yield padded(first, MARGIN) + line


def _folded(text: str, most: int) -> Iterator[str]:
    """Lines of at most `most` places, broken between words where that is possible."""
    line = ""
    for word in text.split(" "):
        if line and width(line) + 1 + width(word) <= most:
            line += " " + word
            continue
        if line:
            yield line
        while width(word) > most:
            end = _fitting(word, most)
            yield word[:end]
            word = word[end:]
        line = word
    yield line


def _fitting(word: str, most: int) -> int:
    """How many characters fit into so many places; at least one."""
    end, taken = 0, 0
    while end < len(word) and (taken := taken + width(word[end])) <= most:
        end += 1
    return max(end, 1)


# --- what there is to say -------------------------------------------------------------------------


def summarise(model: SparseRegressor) -> Summary:
    """The summary of a fitted estimator."""
    size, m = model.solution_.support.size, model.n_features_in_
    share = _r_squared(model)
    told = "" if share is None else f", R² = {share:.4f}"
    title = f"{printable(model._target)} explained by {size} of {count(m, 'feature')}{told}"
    header, rows = _table(model)
    return Summary(title, header, rows, list(_facts(model)))


def _table(model: SparseRegressor) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    support = model.solution_.support
    names = [printable(model._name(j)) for j in support]
    values = model.coef_[support].tolist()
    known = None if _no_std(model) else model.coef_std_
    std = None if known is None else known[support].tolist()
    if model.fit_intercept:
        names, values = ["(intercept)", *names], [model.intercept_, *values]
        std = None if std is None else [model.intercept_std_, *std]
    if std is None:
        return ("feature", "coefficient"), list(zip(names, numerals(values), strict=True))
    header = ("feature", "coefficient", "± std" if _is_bayesian(model) else "std. error")
    return header, list(zip(names, numerals(values), numerals(std, figures=3), strict=True))


def _facts(model: SparseRegressor) -> Iterator[tuple[str, str]]:
    solution, size = model.solution_, model.solution_.support.size
    yield from _std(model)
    yield "rows", _rows(model.n_rows_)
    yield from _wishes(model)
    if model.criteria_.total > 0:
        yield from _choice(model)
    yield "noise", _noise(model)
    certificate = getattr(model, "certificate_", None)
    if certificate is not None:
        names = [printable(model._name(j)) for j in range(model.n_features_in_)]
        yield "subset", certificate.sentence(names)
    elif size and model.certify is False:
        yield "subset", "certify=True asks whether other features, as many, fit better"
    if solution.stop is Stop.ZERO_TARGET:
        constant = "constant" if model.fit_intercept else "zero"
        yield "stopped", f"the target is {constant}: nothing is left to explain"
    elif solution.stop not in TOLD:
        yield "stopped", solution.stop.reason


def _std(model: SparseRegressor) -> Iterator[tuple[str, str]]:
    """What the standard errors mean, or why there are none."""
    why = _no_std(model)
    if why and model.solution_.support.size:
        yield "std. error", f"none: {why}"
    elif _is_bayesian(model) and not why:
        yield (
            "± std",
            "posterior standard deviation, conditional on the selection: as if these features, "
            "their prior variances and the noise had been given",
        )
    elif not model.solution_.support.size:
        if model.fit_intercept and not why:
            yield "std. error", "conditional on the selection: as if no feature had any effect"
    else:
        given = set(model._columns("include"))
        if given.issuperset(model.solution_.support.tolist()):
            yield "std. error", "of the least-squares fit; all features were asked for"
        else:
            yield (
                "std. error",
                "conditional on the selection: as if these features had been given; having been "
                "chosen by the same data they are less certain than that",
            )


def _no_std(model: SparseRegressor) -> str:
    """Why the coefficients have no standard errors; empty if they do."""
    if model.noise_ == 0:
        return "the fit is exact"
    if model.coef_std_ is not None:
        return ""
    if model.solution_.least_squares:
        return NOTHING_LEFT
    if hasattr(model, "debias"):
        return "the coefficients are shrunk (debias=True refits them)"
    return f"{model.solution_.algorithm} does not refit the coefficients (omp does)"


def _rows(rows: float) -> str:
    return f"{rows:.0f}" if float(rows).is_integer() else f"{rows:g}, the sum of the weights"


def _wishes(model: SparseRegressor) -> Iterator[tuple[str, str]]:
    for word in ("include", "exclude"):
        columns = model._columns(word)
        if columns:
            yield f"{word}d", shortened([printable(model._name(j)) for j in columns])


def _noise(model: SparseRegressor) -> str:
    if model.noise_ is None:
        return f"unknown: {NOTHING_LEFT}"
    if model.noise_ == 0:
        return "σ = 0: the fit is exact, but for rounding"
    given = _is_bayesian(model) and getattr(model, "sigma", None) is not None
    return f"σ = {model.noise_:.4g}{', as given' if given else ''}"


# --- by what the choice was made ------------------------------------------------------------------


def _choice(model: SparseRegressor) -> Iterator[tuple[str, str]]:
    """What decided on the features, and the criteria of the model."""
    solution = model.solution_
    if isinstance(solution, BayesianSolution):
        yield "evidence", _evidence(solution)
    elif hasattr(model, "debias"):
        yield "ℓ1 norm", _l1(model)
    elif hasattr(model, "criterion"):
        yield "choice", _stepwise(model)
    else:
        yield "choice", _pursuit(model)
    if solution.least_squares and not _is_exact(model):
        yield "criteria", ", ".join(_values(model))


def _evidence(solution: BayesianSolution) -> str:
    price = f"; each feature had to raise it by {solution.price:.3g}" if solution.price else ""
    return f"log evidence = {solution.log_evidence:.2f}{price}"


def _l1(model: Any) -> str:
    """What is least, and under which condition."""
    solution = model.solution_
    if not isinstance(solution, L1Solution):
        return f"least Σ|β|^0.8 with a residual of norm {solution.residual_norm:.4g}"
    least = f"Σ w|β| = {solution.objective:.6g}"
    if model.penalty is not None:
        return f"the lasso, least ½‖r‖² + λ Σ w|β| at λ = {model.penalty:g}; {least}"
    source = "" if model.residual is not None else ", that of the noise"
    refitted = " (before the features were refitted)" if solution.debiased else ""
    return f"{least}, least with a residual of norm {model.residual_:.4g}{source}{refitted}"


def _stepwise(model: Any) -> str:
    """The rule, and how many sizes it chose from."""
    if model.delta is not None:
        return (
            "every feature had to lower the squared residual by more than delta², "
            f"delta = {model.delta_:g}"
        )
    sizes = model.solution_.path.sizes
    if model.sparsity is not None:
        most = count(model.sparsity, "feature")
        return f"at most {most}, as asked for, on the {_WAYS[model.direction]}"
    if hasattr(model, "cv_errors_"):
        return _folds(model)
    name = NAMES[model.criterion]
    if model.direction == "both" and model.criterion in BY_RESIDUAL:
        change = "raises" if model.criterion == "adjusted_r2" else "lowers"
        return f"no single feature more or less {change} {name}"
    most = "largest" if model.criterion == "adjusted_r2" else "least"
    error = f" (mean square {model.loo_:.5g})" if hasattr(model, "loo_") else ""
    among = f"of {_span(sizes)} on the {_WAYS[model.direction]}"
    return f"{most} {name}{error} {among}"


_WAYS = {
    "forward": "forward path",
    "backward": "backward path",
    "both": "path forward and back",
    "foba": "foba path",
}


def _folds(model: Any) -> str:
    """The error of folds left out, and whether the least or the smallest as good."""
    errors = model.cv_errors_
    i, best = errors.sizes.tolist().index(errors.chosen), int(errors.mean.argmin())
    error = f"mean squared error {_squared(errors, i)} in {count(len(errors.by_fold), 'fold')}"
    sizes = _span(errors.sizes.tolist())
    if not model.one_standard_error:
        return f"{error}, the least of {sizes}"
    if i == best:
        return f"{error}, the least of {sizes}; none smaller is within one standard error"
    features = count(int(errors.sizes[best]), "feature")
    return (
        f"{error}; the fewest features within one standard error of the least, "
        f"{_squared(errors, best)} with {features}, of {sizes}"
    )


def _squared(errors: Any, i: int) -> str:
    return f"{errors.mean[i]:.5g} ± {errors.std[i]:.3g}"


def _pursuit(model: Any) -> str:
    """What was asked of a pursuit."""
    asked = []
    if model.sparsity is not None:
        asked.append(f"at most {count(model.sparsity, 'feature')}, as asked for")
    if model.residual is not None:
        asked.append(f"a residual of norm {model.residual:.4g}")
    if not asked or (model.sparsity is None and model.algorithm in _OF_FIXED_SIZE):
        asked.append("as many features as have the least BIC on the path of omp")
    return " and ".join(asked)


_OF_FIXED_SIZE = ("srr", "ompr", "subspace_pursuit")


def _values(model: SparseRegressor) -> Iterator[str]:
    """The criterion of choice first, and those that people ask for."""
    own = getattr(model, "criterion", "bic")
    names = dict.fromkeys([own, "aic", "bic", "adjusted_r2"])
    solution = model.solution_
    for name in names:
        if name in BY_RESIDUAL:
            value = float(
                model.criteria_.values(name, solution.residual_norm**2, solution.support.size)
            )
            if math.isfinite(value):
                decimals = 4 if name == "adjusted_r2" else 2
                yield f"{NAMES[name]} = {value:.{decimals}f}"


def _span(sizes: Iterable[int]) -> str:
    """How many sizes, and from where to where."""
    sizes = sorted(sizes)
    if len(sizes) == 1:
        return "one size"
    return f"{len(sizes)} sizes ({sizes[0]} to {count(sizes[-1], 'feature')})"


def _is_bayesian(model: SparseRegressor) -> bool:
    return isinstance(model.solution_, BayesianSolution)


def _is_exact(model: SparseRegressor) -> bool:
    return bool(model.criteria_.is_exact(model.solution_.residual_norm**2))


def _r_squared(model: SparseRegressor) -> float | None:
    total = model.criteria_.total
    return None if total == 0 else round(1 - model.solution_.residual_norm**2 / total, 4) + 0.0
