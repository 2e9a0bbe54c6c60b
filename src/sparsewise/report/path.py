"""The steps that led to a model, and the criteria on the way."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from rich.text import Text

from sparsewise.numerals import numerals
from sparsewise.report.model import Fit
from sparsewise.report.page import Page
from sparsewise.report.shares import r_squared, rounded
from sparsewise.results import L1Solution, log_evidence
from sparsewise.selection.criteria import SHORT_NAMES
from sparsewise.wording import printable


def show_steps(fit: Fit, page: Page, first: int = 0, last: int = 0) -> None:
    """Print the path; of a long one only so many first and last steps, if they are given."""
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
        _path_rows(fit, first, last),
    )


def _path_rows(fit: Fit, first: int = 0, last: int = 0) -> Iterator[tuple[str | Text, ...]]:
    """Yield the start and every step; of a long path only the two ends, if they are given."""
    solution, steps = fit.solution, list(fit.solution.path)
    squared = [solution.path.initial.squared_residual, *(step.squared_residual for step in steps)]
    squared = [rounded(value, fit.total) for value in squared]
    amounts = numerals(squared, figures=6)
    shares = [r_squared(value, fit.total) for value in squared]
    evidences = _evidences(fit)
    start = ("0", "start", _start_name(fit), str(len(solution.path.start)))
    for_start = (*start, *evidences[0], amounts[0], shares[0])
    yield tuple(Text(cell, style="dim") for cell in for_start)
    hidden = len(steps) - first - last if first else 0
    for number, step in enumerate(steps, start=1):
        if hidden > 1 and first < number <= first + hidden:
            if number == first + 1:
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
    squared = fit.squared
    cells = (
        "",
        "refit" if solution.debiased else "end",
        "",
        str(solution.support.size),
        numerals([fit.total, squared], figures=6)[1],
        r_squared(squared, fit.total),
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


def _tells_evidence(fit: Fit) -> bool:
    return fit.bayesian is not None and not fit.is_exact


def _start_name(fit: Fit) -> str:
    start = fit.solution.path.start
    if len(start) == 1:
        return printable(fit.names[start[0]])
    return "" if not start else f"({len(start)} features)"


def show_criteria(fit: Fit, best: dict[str, int], page: Page) -> None:
    """Print the criteria at every step, side by side as far as the page is wide."""
    steps = [str(step) for step in fit.model.path_["step"]]
    cells = {SHORT_NAMES[name]: _marked(fit, name, step) for name, step in best.items()}
    while cells:
        width, titles = 8, list[str]()
        for title, column in cells.items():
            width += 2 + max(map(len, [title, *column]))
            if titles and width > page.width:
                break
            titles.append(title)
        side_by_side = {"step": steps, **{title: cells.pop(title) for title in titles}}
        page.table(dict.fromkeys(side_by_side, "right"), zip(*side_by_side.values(), strict=True))
        if cells:
            page.print()


def _marked(fit: Fit, name: str, best: int) -> list[str]:
    """Return a criterion at every step, with a star behind the best."""
    values = [math.nan if value is None else float(value) for value in fit.model.path_[name]]
    if name == "adjusted_r2":
        texts = [f"{round(value, 4) + 0.0:.4f}" for value in values]
    else:
        texts = numerals([value if math.isfinite(value) else 0.0 for value in values], figures=6)
    return [
        (text if math.isfinite(value) else _odd(value)) + ("*" if i == best else " ")
        for i, (text, value) in enumerate(zip(texts, values, strict=True))
    ]


def _odd(value: float) -> str:
    """Return a value that is no number in words."""
    return "-" if math.isnan(value) else "-∞" if value < 0 else "∞"
