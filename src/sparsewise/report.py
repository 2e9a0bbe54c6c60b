"""Print a fitted model for people: calm tables, no colour unless on a terminal, 80 columns."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from rich.box import Box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sparsewise.bayes import BayesianSolution, log_evidence
from sparsewise.guarantees.search import MOST_COLUMNS
from sparsewise.l1 import L1Solution, Reweighted
from sparsewise.messages import count, printable, shortened
from sparsewise.tolerances import tolerances

if TYPE_CHECKING:
    from sparsewise.guarantees import Certificate
    from sparsewise.solution import Solution

WIDTH = 80
# A longer path is shown by its first and last steps.
FIRST_STEPS, LAST_STEPS = 25, 10
# A squared residual below this share of the target's is rounding error.
ROUNDING = tolerances(np.dtype(np.float64)).exact
# Inferred noise doesn't fall below this share of the target.
LEAST_NOISE = tolerances(np.dtype(np.float64)).quiet

WITHOUT_INTERCEPT = "without an intercept, R² compares with 0 rather than with the mean"

# One thin rule under the header and nothing else.
RULE = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
PLAIN_RULE = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


@dataclass(frozen=True)
class Fit:
    """A model of a table, in the table's own units."""

    label: str
    target: str
    names: Sequence[str]
    n_rows: int
    solution: Solution
    intercept: float | None
    total: float  # squared norm of the (centred) target
    notes: Sequence[str] = ()
    intercept_std: float | None = None
    sigma_given: bool = False
    certificate: str | None = None  # whether the choice is the best of its size

    @property
    def bayesian(self) -> BayesianSolution | None:
        """The solution, if it has a posterior."""
        return self.solution if isinstance(self.solution, BayesianSolution) else None

    @property
    def is_exact(self) -> bool:
        """Whether a Bayesian model infers no noise: its evidence has no bound then."""
        if self.bayesian is None or self.sigma_given:
            return False
        least = LEAST_NOISE * math.sqrt(self.total / self.free_rows(self.bayesian))
        return self.bayesian.sigma <= 1.001 * least

    def free_rows(self, solution: BayesianSolution) -> int:
        """Return how many rows are left by the intercept and the features with a flat prior."""
        return self.n_rows - int(np.isinf(solution.gamma).sum()) - (self.intercept is not None)


@dataclass(frozen=True)
class Certified:
    """A choice among the columns of a table and its certificate, in the table's own units."""

    label: str
    target: str
    names: Sequence[str]
    n_rows: int
    certificate: Certificate
    intercept: bool
    total: float  # squared norm of the (centred) target
    better_squared: float | None  # squared residual of the better subset, if one is known
    time_limit: float

    @property
    def squared(self) -> float:
        """The squared residual of the choice."""
        return self.certificate.residual_norm**2

    def named(self, columns: Iterable[int]) -> list[str]:
        """Return the names of columns, safe to print."""
        return [printable(self.names[j]) for j in columns]

    def fields(self) -> dict[str, Any]:
        """Return all there is to know, ready for JSON: None for what is infinite or unknown."""
        found, total = self.certificate, self.total
        swap, better = found.swap, found.better
        return {
            "status": found.status,
            "sentence": found.sentence(self.names),
            "table": self.label,
            "target": self.target,
            "features": [self.names[j] for j in found.columns],
            "candidates": len(self.names),
            "rows": self.n_rows,
            "intercept": self.intercept,
            "r2": _share(self.squared, total),
            "residual_norm": found.residual_norm,
            "bound": _finite(found.bound),
            "margin": _finite(found.margin),
            "exchanged": found.exchanged,
            "singular_value": found.singular_value,
            "source": found.source,
            "min_abs": found.min_abs,
            "proof": found.proof,
            "better": None if better is None else [self.names[j] for j in better],
            "better_r2": None
            if self.better_squared is None
            else _share(self.better_squared, total),
            "swap": None
            if swap is None
            else {"out": self.names[swap.out], "into": self.names[swap.into], "fall": swap.fall},
            "swap_optimal": found.swap_optimal,
            "time_limit": _finite(self.time_limit),
        }


class Page(Console):
    """Where a report goes: at most 80 columns, plain text unless it is a terminal."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(file=file or sys.stdout, highlight=False, markup=False, emoji=False)
        self.width = min(self.width, WIDTH)
        self.plain = not self.encoding.lower().startswith("utf")

    def on_broken_pipe(self) -> None:
        """Leave it to the command line to end quietly."""
        raise BrokenPipeError

    def heading(self, text: str) -> None:
        """Print a line that opens a part of the report."""
        self.print()
        self.print(Text(text, style="bold"))

    def table(self, columns: dict[str, str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Print rows under a header; ``columns`` maps each title to ``left`` or ``right``."""
        box = PLAIN_RULE if self.plain else RULE
        table = Table(box=box, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for title, side in columns.items():
            table.add_column(
                title,
                justify="right" if side == "right" else "left",
                no_wrap=side == "right",
                overflow="fold",
                header_style="dim",
            )
        for row in rows:
            table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
        self.print(Padding(table, (0, 0, 0, 2), expand=False))

    def facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Print pairs of a word and what there is to say about it."""
        indent = 9
        for word, sentence in pairs:
            lines = wrap(sentence, max(self.width - indent, 1))
            words = f"\n{' ' * indent}".join(lines)
            self.print(Text.assemble((word.ljust(indent), "dim"), words))


def show_fit(fit: Fit, page: Page) -> None:
    """Print the chosen features, the path, why it stopped, and one line of summary."""
    solution = fit.solution
    page.print(Text(f"{printable(fit.target)} explained by {_size(fit)}", style="bold"))
    _show_coefficients(fit, page)
    page.heading("Path")
    page.table(
        {
            "step": "right",
            "action": "left",
            "feature": "left",
            "size": "right",
            **({"log evidence": "right"} if _tells_evidence(fit) else {}),
            "squared residual": "right",
            "R²": "right",
        },
        _path_rows(fit),
    )
    page.print()
    summary = (
        f"{printable(fit.label)}: {count(fit.n_rows, 'row')}, "
        f"{count(len(fit.names), 'feature')}; method {solution.algorithm}, "
        f"{count(solution.n_passes, 'pass', 'passes')} over A"
    )
    page.facts(
        [
            *(("noise", sentence) for sentence in _noise(fit)),
            *_l1(fit),
            *([("subset", fit.certificate)] if fit.certificate is not None else []),
            ("stopped", f"{solution.stop}"),
            ("advice", f"{solution.stop.advice}"),
            *(("note", note) for note in fit.notes),
            ("summary", summary),
        ]
    )


def show_certificate(certified: Certified, page: Page) -> None:
    """Print the verdict on a choice of features, the figures behind it, and how it was found."""
    found = certified.certificate
    choice = shortened(certified.named(found.columns))
    sentence = found.sentence([printable(name) for name in certified.names])
    headline = wrap(f"{choice}: {sentence}", page.width)
    page.print(Text("\n".join(headline), style="bold"))
    page.heading("Fit")
    page.table(
        {"choice": "left", "features": "left", "squared residual": "right", "R²": "right"},
        _choices(certified),
    )
    page.heading("Figures")
    page.table({"figure": "left", "value": "right"}, _figures(found))
    page.print()
    page.facts(
        [
            *([("bound", _origin(found))] if _has_bound(found) else []),
            ("proof", _proof(certified)),
            *(("swaps", sentence) for sentence in _swaps(certified)),
            *([] if certified.intercept else [("note", WITHOUT_INTERCEPT)]),
            (
                "summary",
                f"{printable(certified.label)}: {count(certified.n_rows, 'row')}, "
                f"{count(len(certified.names), 'candidate')} to explain "
                f"{printable(certified.target)}",
            ),
        ]
    )


def show_algorithms(rows: Iterable[tuple[str, str, str]], page: Page) -> None:
    """Print a table of algorithms: name, what it does, and the words it takes."""
    page.table({"method": "left", "what it does": "left", "words": "left"}, rows)
    page.print()
    page.print(
        "* is needed; without a star, one of the words is enough. sigma, price, updates\n"
        "and debias may all be left out; sparsewise fit has defaults for residual and\n"
        "delta: see sparsewise fit --help.",
        style="dim",
    )


def _noise(fit: Fit) -> Iterator[str]:
    """Yield what a Bayesian model says of the noise and of itself."""
    if fit.is_exact:
        yield "σ = 0: the fit is exact to eight digits, and the evidence without bound"
    elif fit.bayesian is not None:
        origin = "as given" if fit.sigma_given else "inferred"
        evidence = f"log evidence = {fit.bayesian.log_evidence:.2f}"
        yield f"σ = {fit.bayesian.sigma:.4g}, {origin}; {evidence}"


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


def _choices(certified: Certified) -> Iterator[tuple[str, ...]]:
    """Yield the choice, and what is better if that is known: features, squared residual, R²."""
    found, total = certified.certificate, certified.total
    rows = [("yours", found.columns, certified.squared)]
    if found.better is not None and certified.better_squared is not None:
        rows.append(("better", found.better, certified.better_squared))
    squared = [value if value > ROUNDING * total else 0.0 for _, _, value in rows]
    for (title, columns, _), value, amount in zip(
        rows, squared, numerals(squared, figures=6), strict=True
    ):
        yield title, ", ".join(certified.named(columns)), amount, _r_squared(value, total)


def _figures(found: Certificate) -> Iterator[tuple[str, str]]:
    """Yield the figures that the bound is made of."""
    yield "residual (norm)", f"{found.residual_norm:.4g}"
    yield "bound: certain below", "any" if math.isinf(found.bound) else f"{found.bound:.4g}"
    yield "smallest coefficient (columns of norm 1)", f"{found.min_abs:.4g}"
    if _has_bound(found):
        yield "singular value, at least", f"{found.singular_value:.4g}"


def _has_bound(found: Certificate) -> bool:
    """Return whether there was anything to be ruled out by a bound."""
    return found.exchanged > 0 and math.isfinite(found.bound)


def _origin(found: Certificate) -> str:
    """Return where the bound comes from."""
    exchanged = found.exchanged
    others = "any other" if exchanged == 1 else f"any {exchanged} others"
    return (
        f"lowest where {count(exchanged, 'feature')} would be exchanged; the singular value, "
        f"of the choice and {others}, comes from {found.source}"
    )


def _proof(certified: Certified) -> str:
    """Return how the verdict was found, or why there is none."""
    found = certified.certificate
    if found.status == "optimal":
        return _proof_of_the_best(found)
    if found.better is not None:
        how = "the better subset was found by"
        if found.proof == "search":
            return f"{how} the exact search: no other of this size fits better"
        by = "exchanging one feature" if found.swap else "the exact search"
        return f"{how} {by}; others may be better still"
    if found.exchanged == 0:
        return "none: leave out what adds nothing, and certify the rest"
    if len(certified.names) > MOST_COLUMNS:
        return f"none: the exact search takes at most {MOST_COLUMNS} candidates"
    if certified.time_limit == 0:
        return "none: --time-limit SECONDS allows an exact search"
    return f"none in {certified.time_limit:g} s of exact search: --time-limit SECONDS allows more"


def _proof_of_the_best(found: Certificate) -> str:
    if found.proof == "search":
        return "by search: every other subset of this size was looked at or ruled out"
    if found.exchanged == 0:
        return "there are no other columns to choose from"
    if math.isinf(found.bound):
        return "every exchange was looked at: no other choice of this size fits as well"
    return "by the bound: no other choice of at most as many features fits as well"


def _swaps(certified: Certified) -> Iterator[str]:
    """Yield what exchanging one feature for another can do, if that was looked at."""
    found, total = certified.certificate, certified.total
    if found.swap_optimal:
        yield "no exchange of one feature for another fits better"
    if found.swap is not None:
        into, out = certified.named([found.swap.into, found.swap.out])
        fall = numerals([found.swap.fall])[0]
        share = f" and raises R² by {found.swap.fall / total:.2g}" if total > 0 else ""
        yield f"{into} in place of {out} lowers the squared residual by {fall}{share}"


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
    if fit.bayesian is not None:
        columns["± std"] = "right"
        cells.append(numerals(_deviations(fit, fit.bayesian), figures=3))
    page.table(columns, zip(*cells, strict=True))


def _deviations(fit: Fit, solution: BayesianSolution) -> list[float]:
    """Return the posterior standard deviation of each coefficient shown."""
    first = [] if fit.intercept_std is None else [fit.intercept_std]
    deviations = [*first, *solution.std[solution.support].tolist()]
    return [0.0] * len(deviations) if fit.is_exact else deviations


def _tells_evidence(fit: Fit) -> bool:
    return fit.bayesian is not None and not fit.is_exact


def _path_rows(fit: Fit) -> Iterator[tuple[str | Text, ...]]:
    """Yield the start and every step; of a long path only the two ends."""
    solution, steps = fit.solution, list(fit.solution.path)
    squared = [solution.path.initial.squared_residual, *(step.squared_residual for step in steps)]
    squared = [value if value > ROUNDING * fit.total else 0.0 for value in squared]
    amounts = numerals(squared, figures=6)
    shares = [_r_squared(value, fit.total) for value in squared]
    evidences = _evidences(fit)
    start = ("0", "start", _start_name(fit), str(len(solution.path.start)))
    for_start = (*start, *evidences[0], amounts[0], shares[0])
    yield tuple(Text(cell, style="dim") for cell in for_start)
    hidden = len(steps) - FIRST_STEPS - LAST_STEPS
    for number, step in enumerate(steps, start=1):
        if hidden > 1 and FIRST_STEPS < number <= FIRST_STEPS + hidden:
            if number == FIRST_STEPS + 1:
                blank = ("",) * (3 + len(evidences[0]))
                yield "", "...", f"({hidden} more steps)", *blank
            continue
        yield (
            str(number),
            Text(step.action, style="" if step.action == "add" else "yellow"),
            printable(fit.names[step.column]),
            str(step.size),
            *evidences[number],
            amounts[number],
            shares[number],
        )
    if isinstance(solution, L1Solution):
        yield _end_row(fit, solution)


def _end_row(fit: Fit, solution: L1Solution) -> tuple[str | Text, ...]:
    """Return where a path ends: past its last bend, or at the refit of its support."""
    squared = solution.residual_norm**2
    squared = squared if squared > ROUNDING * fit.total else 0.0
    cells = (
        "",
        "refit" if solution.debiased else "end",
        "",
        str(solution.support.size),
        numerals([fit.total, squared], figures=6)[1],
        _r_squared(squared, fit.total),
    )
    return tuple(Text(cell, style="dim") for cell in cells)


def _evidences(fit: Fit) -> list[tuple[str, ...]]:
    """Return the log evidence of the start and of every step, each as no cell or one."""
    path, solution = fit.solution.path, fit.bayesian
    if solution is None or not _tells_evidence(fit):
        return [()] * (1 + len(path))
    first = ""
    # Other starts have prior variances that aren't told; of a tiny target the squares are lost.
    if np.isinf(solution.gamma[list(path.start)]).all() and solution.sigma**2 > 0:
        squares = (math.sqrt(path.initial.squared_residual) / solution.sigma) ** 2
        rows = fit.free_rows(solution)
        first = f"{log_evidence(solution.sigma, rows, 0.0, squares, False):.2f}"
    return [(first,), *((f"{step.log_evidence:.2f}",) for step in path)]


def _start_name(fit: Fit) -> str:
    start = fit.solution.path.start
    if len(start) == 1:
        return printable(fit.names[start[0]])
    return "" if not start else f"({len(start)} features)"


def _share(squared: float, total: float) -> float | None:
    """Return the share of the target's squared norm that is explained; None if it has none."""
    return 1 - squared / total if total > 0 else None


def _r_squared(squared: float, total: float) -> str:
    """Return that share in four decimals."""
    share = _share(squared, total)
    # Adding 0 takes the sign off a zero.
    return "-" if share is None else f"{round(share, 4) + 0.0:.4f}"


def _finite(value: float) -> float | None:
    """Return the value, or None for an infinite one, which JSON doesn't know."""
    return value if math.isfinite(value) else None


def _size(fit: Fit) -> str:
    chosen = fit.solution.support.size
    r2 = _r_squared(fit.solution.residual_norm**2, fit.total)
    features = count(len(fit.names), "feature")
    return f"{chosen} of {features}" + (f", R² = {r2}" if r2 != "-" else "")


def numerals(values: Sequence[float], figures: int = 5) -> list[str]:
    """Write numbers with one number of decimals, so that their points stand under each other.

    The largest shows at least ``figures`` significant figures, the others three where six decimals
    are enough for that; what is smaller still is written with a power of ten, as all are when even
    the largest is out of the usual range.
    """
    sizes = [abs(value) for value in values if value != 0]
    if not sizes:
        return ["0"] * len(values)
    top, low = (math.floor(math.log10(size)) for size in (max(sizes), min(sizes)))
    if not -4 <= top <= 9:
        return [f"{value:.{figures - 1}e}" for value in values]
    least = max(0, figures - 1 - top)
    decimals = max(least, min(2 - low, 6))
    return [_numeral(value, decimals) for value in values]


def _numeral(value: float, decimals: int) -> str:
    too_small = 0 < abs(value) < 10.0 ** (1 - decimals)
    return f"{value:.1e}" if too_small else f"{value:.{decimals}f}"
