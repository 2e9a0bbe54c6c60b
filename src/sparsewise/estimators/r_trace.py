"""The rounds of a stepwise search in words, as R's ``step`` prints them.

What is known here of R was found by looking at what it prints (version 4.2.2); see the tables in
tests/data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sparsewise._util.text import padded, width
from sparsewise.criteria.information import BY_LOSS, SHORT_NAMES
from sparsewise.engine.step_choice import Round

WIDTH = 80
"""A table of R as wide as this is broken."""

LINE = 60
"""A formula is broken at the first operator beyond this many bytes (UTF-8) of a line."""

DIGITS = 5
"""Significant digits of a table; a header has two more."""

INDENT = 4
RESERVED = re.compile(
    "if|else|repeat|while|function|for|next|break|in|TRUE|FALSE|NULL|Inf|NaN|"
    "NA(_(integer|real|complex|character)_)?"
)
ESCAPES = {"\\": "\\\\", "`": "\\`", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

LABELS = {**{name: SHORT_NAMES[name] for name in BY_LOSS}, "adjusted_r2": "adj. R2"}
"""How the criteria are called in a trace, which is plain ASCII."""


@dataclass
class Trace:
    """Prints each round of a stepwise search: to be its ``watch``.

    Parameters
    ----------
    criterion : str
        One of `sparsewise.criteria.information.BY_LOSS`.
    target : str or tuple of str
        Name of the target, or of several.
    name : callable
        From a column to its name.
    intercept : bool
        Whether the model has a constant.
    """

    criterion: str
    target: str | tuple[str, ...]
    name: Callable[[int], str]
    intercept: bool = True
    first: bool = field(default=True, init=False)

    def __call__(self, decision: Round) -> None:
        """Print one round."""
        text = round_text(
            self.target,
            self.name,
            LABELS[self.criterion],
            decision,
            first=self.first,
            intercept=self.intercept,
            largest=self.criterion == "adjusted_r2",
        )
        print(text, end="", flush=True)
        self.first = False


def round_text(
    target: str | tuple[str, ...],
    name: Callable[[int], str],
    criterion: str,
    decision: Round,
    *,
    first: bool,
    intercept: bool = True,
    largest: bool = False,
) -> str:
    """One round: criterion and formula of the model, and a table of the steps open to it.

    Parameters
    ----------
    target : str or tuple of str
        Name of the target, or of several.
    name : callable
        From a column to its name.
    criterion : str
        What the criterion is called: "AIC".
    decision : Round
        What was known before the decision.
    first : bool
        Whether it is the first round.
    intercept : bool
        Whether the model has a constant.
    largest : bool
        Whether the largest value of the criterion is best, so that its cost is the negative of it.

    Returns
    -------
    str
        Lines of text, each with its end; those of all rounds make up R's trace.
    """
    sign = -1.0 if largest else 1.0
    value = rounded(sign * decision.cost, 2)
    chosen = [quoted(name(j)) for j in decision.order]
    lines = [
        f"{'Start' if first else 'Step'}:  {criterion}={number(value)}",
        *formula_lines(response(target), chosen, intercept),
        "",
        *table_lines(name, criterion, decision, sign),
    ]
    return ("" if first else "\n") + "".join(f"{line}\n" for line in lines)


def response(target: str | tuple[str, ...]) -> str:
    """What stands before the tilde: one target, or several as columns of a matrix."""
    if isinstance(target, str):
        return quoted(target)
    return f"cbind({', '.join(map(quoted, target))})"


def quoted(name: str) -> str:
    """A name as R writes it in a formula: in backticks unless it is one word to R."""
    letters = all(c.isalpha() or c.isdecimal() or c in "._" for c in name)
    begins = name[:1].isalpha() or (name[:1] == "." and not name[1:2].isdecimal())
    if letters and begins and not RESERVED.fullmatch(name):
        return name
    return f"`{''.join(map(visible, name))}`"


def visible(c: str) -> str:
    """A character as R writes it between backticks: what could control a terminal by its number."""
    if c in ESCAPES or c.isprintable():
        return ESCAPES.get(c, c)
    number = ord(c)
    return f"\\{number:03o}" if number < 128 else f"\\u{number:04x}"


# --- the formula ---------------------------------------------------------------------------------


def formula_lines(target: str, terms: Sequence[str], intercept: bool) -> list[str]:
    """``target ~ term + term``, broken into lines.

    A line is broken after an operator once it is too long; the line after the tilde is indented,
    and so is, once more, what follows an operator of the sum.
    """
    operands = [*terms] if terms else ["1"]
    operators = [" + "] * (len(operands) - 1)
    if not intercept:
        operands.append("1")
        operators.append(" - ")
    lines = [f"{target} ~ "]
    depth = 0
    if len(lines[-1].encode()) > LINE:
        depth = 1
        lines.append(" " * INDENT)
    lines[-1] += operands[0]
    for operator, operand in zip(operators, operands[1:], strict=True):
        lines[-1] += operator
        if len(lines[-1].encode()) > LINE:
            lines.append(" " * INDENT * (depth + 1))
        lines[-1] += operand
    return lines


# --- the table -----------------------------------------------------------------------------------


def table_lines(
    name: Callable[[int], str], criterion: str, decision: Round, sign: float = 1.0
) -> list[str]:
    """The steps that can be taken, and none, from the best to the worst; no table if none can."""
    additions, deletions = decision.additions, decision.deletions
    rows = [("<none>", math.nan, math.nan, decision.rss, decision.cost)]
    for mark, moves in (("-", deletions), ("+", additions)):
        for j, change, rss, cost in zip(*(v.tolist() for v in moves), strict=True):
            rows.append((f"{mark} {quoted(name(j))}", 1.0, change, rss, cost))
    if len(rows) == 1:
        return []
    rows.sort(key=lambda row: row[-1])
    labels, df, change, rss, cost = zip(*rows, strict=True)
    columns = {
        "Df": numbers(df, DIGITS),
        "Sum of Sq": numbers(zapped(change), DIGITS),
        "RSS": numbers(zapped(rss), DIGITS),
        criterion: numbers(zapped([sign * c for c in cost]), DIGITS),
    }
    return matrix_lines(labels, columns)


def matrix_lines(labels: Sequence[str], columns: dict[str, list[str]]) -> list[str]:
    """Labels to the left, columns to the right; in several parts if they are too wide for one."""
    labels = [label.replace("\\", "\\\\") for label in labels]
    margin = max(map(width, labels))
    parts: list[list[list[str]]] = []
    taken = WIDTH
    for head, cells in columns.items():
        size = max(map(width, [head, *cells]))
        if taken + 1 + size >= WIDTH:
            parts.append([[padded(label, margin) for label in ["", *labels]]])
            taken = margin
        parts[-1].append([" " * (size - width(cell)) + cell for cell in [head, *cells]])
        taken += 1 + size
    return [" ".join(row) for part in parts for row in zip(*part, strict=True)]


# --- numbers -------------------------------------------------------------------------------------


def zapped(values: Iterable[float], digits: int = DIGITS) -> list[float]:
    """Values rounded to `digits` digits of the largest of them."""
    values = list(values)
    largest = max((abs(v) for v in values if not math.isnan(v)), default=0.0)
    if largest == 0:
        return values
    places = 0 if math.isinf(largest) else max(0, math.floor(digits - math.log10(largest) + 0.5))
    return [rounded(v, places) for v in values]


def rounded(value: float, places: int) -> float:
    """Value to so many decimals; infinity and NaN as they are."""
    return round(value, places) if math.isfinite(value) else value


def number(value: float) -> str:
    """One number by itself."""
    return numbers([value], DIGITS + 2)[0]


def numbers(values: Sequence[float], digits: int) -> list[str]:
    """All values with as many decimals as the one that needs most of them for `digits` digits.

    With an exponent if that is shorter. NaN is left blank.
    """
    finite = [v for v in values if math.isfinite(v)]
    known = [significant(v, digits) for v in finite]
    decimals = max((max(0, count - 1 - power) for count, power in known), default=0)
    fixed = [f"{v + 0.0:.{decimals}f}" for v in finite]
    mantissa = max((count - 1 for count, _ in known), default=0)
    exponential = [f"{v + 0.0:.{mantissa}e}" for v in finite]
    shorter = max(map(len, fixed), default=0) <= max(map(len, exponential), default=0)
    texts = iter(fixed if shorter else exponential)
    return [next(texts) if math.isfinite(v) else unusual(v) for v in values]


def significant(value: float, digits: int) -> tuple[int, int]:
    """How many of `digits` digits are needed (no zeros at the end), and the power of ten."""
    mantissa, power = f"{abs(value):.{digits - 1}e}".split("e")
    return max(1, len(mantissa.replace(".", "").rstrip("0"))), int(power)


def unusual(value: float) -> str:
    """Infinity, or nothing for what is not known."""
    if math.isnan(value):
        return ""
    return "Inf" if value > 0 else "-Inf"
