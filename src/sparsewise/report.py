"""Print a fitted model for people: calm tables, no colour unless on a terminal, 80 columns."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, TextIO

import numpy as np
from rich.box import Box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sparsewise.bayes import BayesianSolution, log_evidence
from sparsewise.messages import count, printable
from sparsewise.tolerances import tolerances

if TYPE_CHECKING:
    from sparsewise.solution import Solution

WIDTH = 80
# A longer path is shown by its first and last steps.
FIRST_STEPS, LAST_STEPS = 25, 10
# A squared residual below this share of the target's is rounding error.
ROUNDING = tolerances(np.dtype(np.float64)).exact
# Inferred noise doesn't fall below this share of the target.
LEAST_NOISE = tolerances(np.dtype(np.float64)).quiet

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
            ("stopped", f"{solution.stop}"),
            ("advice", f"{solution.stop.advice}"),
            *(("note", note) for note in fit.notes),
            ("summary", summary),
        ]
    )


def show_algorithms(rows: Iterable[tuple[str, str, str]], page: Page) -> None:
    """Print a table of algorithms: name, what it does, and the words it takes."""
    page.table({"method": "left", "what it does": "left", "words": "left"}, rows)
    page.print()
    page.print(
        "* is needed; without a star, one of the words is enough. sigma, price and\n"
        "updates may all be left out.",
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


def _r_squared(squared: float, total: float) -> str:
    """Return the share of the target's squared norm that is explained."""
    # Adding 0 takes the sign off a zero.
    return f"{round(1 - squared / total, 4) + 0.0:.4f}" if total > 0 else "-"


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
