"""Print the certificate of a choice of features."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparsewise._util.numbers import numerals
from sparsewise._util.text import count, printable, shortened
from sparsewise.subsets.leaps_and_bounds import MOST_COLUMNS
from sparsewise.summary.r2 import (
    WITHOUT_INTERCEPT,
    finite,
    r_squared,
    rounded,
)
from sparsewise.summary.terminal import Page

if TYPE_CHECKING:
    from sparsewise.guarantees import Certificate


TINY = float(sys.float_info.min)
"""Squares below this have lost digits."""


@dataclass(frozen=True)
class Certified:
    """A choice among the columns of a table and its certificate, in the table's own units."""

    label: str
    target: str
    names: Sequence[str]
    rows: int
    certificate: Certificate
    intercept: bool
    total: float  # norm of the (centred) target
    better_residual: float | None  # residual (norm) of the better subset, if one is known
    time_limit: float
    targets: int = 1

    def left(self, residual: float) -> float:
        """Return the share of the target's square that a residual leaves unexplained."""
        part = residual / self.total if self.total > 0 else 0.0
        return part * part

    def explained(self, residual: float | None) -> float | None:
        """Return the share that is explained (R²), if that is known."""
        return None if residual is None or self.total == 0 else 1 - self.left(residual)

    def named(self, columns: Iterable[int]) -> list[str]:
        """Return the names of columns, safe to print."""
        return [printable(self.names[j]) for j in columns]

    def fields(self) -> dict[str, Any]:
        """Return all there is to know, ready for JSON: None for what is infinite or unknown."""
        certificate, names = self.certificate, self.names
        swap, better = certificate.swap, certificate.better
        return {
            "status": certificate.status,
            "sentence": certificate.sentence(names),
            "table": self.label,
            "target": self.target,
            "features": [names[j] for j in certificate.columns],
            "include": [names[j] for j in certificate.include],
            "candidates": len(names),
            "rows": self.rows,
            "intercept": self.intercept,
            "r2": self.explained(certificate.residual_norm),
            "residual_norm": certificate.residual_norm,
            "bound": finite(certificate.bound),
            "margin": finite(certificate.margin),
            "exchanged": certificate.exchanged,
            "singular_value": certificate.singular_value,
            "source": certificate.source,
            "min_abs": certificate.min_abs,
            "proof": certificate.proof,
            "better": None if better is None else [names[j] for j in better],
            "better_r2": self.explained(self.better_residual),
            "swap": swap
            and {"out": names[swap.out], "into": names[swap.into], "fall": finite(swap.fall)},
            "swap_optimal": certificate.swap_optimal,
            "ties": [[names[j] for j in columns] for columns in certificate.ties],
            "reason": certificate.reason or None,
            "time_limit": finite(self.time_limit),
        }


def show_certificate(certified: Certified, page: Page) -> None:
    """Print the verdict on a choice of features, the figures behind it, and how it was found."""
    certificate = certified.certificate
    choice = shortened(certified.named(certificate.columns))
    sentence = certificate.sentence([printable(name) for name in certified.names])
    page.title(f"{choice}: {sentence}")
    page.heading("Fit")
    amounts, title = _amounts(certified)
    page.table(
        {"choice": "left", "features": "left", title: "right", "R²": "right"},
        _choices(certified, amounts),
    )
    page.heading("Figures")
    page.table({"figure": "left", "value": "right"}, _figures(certificate))
    page.facts(
        [
            *([("bound", _origin(certificate))] if _has_bound(certificate) else []),
            ("proof", _proof(certified)),
            *([("ties", _as_good(certified))] if certificate.ties else []),
            *(("swaps", sentence) for sentence in _swaps(certified)),
            *([("targets", _weighed(certified))] if certified.targets > 1 else []),
            *([] if certified.intercept else [("note", WITHOUT_INTERCEPT)]),
            (
                "table",
                f"{printable(certified.label)}: {count(certified.rows, 'row')}, "
                f"{count(len(certified.names), 'candidate')} to explain "
                f"{printable(certified.target)}",
            ),
        ]
    )


def _weighed(certified: Certified) -> str:
    """Return what several targets come to."""
    about = " about its mean" if certified.intercept else ""
    return (
        f"{certified.targets}, with the same features; each counts by its norm{about}, and squared "
        "residuals, squared coefficients and R² are means over them"
    )


def _residuals(certified: Certified) -> list[float]:
    """Return the residual of the choice, and of what is better if that is known; 0 if rounding."""
    norms = [certified.certificate.residual_norm, certified.better_residual]
    return [
        norm if rounded(certified.left(norm), 1.0) else 0.0 for norm in norms if norm is not None
    ]


def _amounts(certified: Certified) -> tuple[list[str], str]:
    """Return the squared residuals, or the residuals where their squares are out of range."""
    residuals = _residuals(certified)
    squared = [norm * norm for norm in residuals]
    if all(
        math.isfinite(square) and (square > TINY or not norm)
        for square, norm in zip(squared, residuals, strict=True)
    ):
        return numerals(squared, figures=6), "squared residual"
    return numerals(residuals, figures=6), "residual"


def _choices(certified: Certified, amounts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the choice, and what is better if that is known: features, residual, R²."""
    certificate = certified.certificate
    rows = [("yours", certificate.columns), ("better", certificate.better or ())]
    for (title, columns), residual, amount in zip(
        rows, _residuals(certified), amounts, strict=False
    ):
        explained = certified.explained(residual)
        yield title, ", ".join(certified.named(columns)), amount, r_squared(explained)


def _figures(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Yield the figures that the bound is made of."""
    yield "residual (norm)", f"{certificate.residual_norm:.4g}"
    bound = certificate.bound
    yield "bound: certain below", "any" if math.isinf(bound) else f"{bound:.4g}"
    yield "smallest coefficient (columns of norm 1)", f"{certificate.min_abs:.4g}"
    if _has_bound(certificate):
        yield "singular value, at least", f"{certificate.singular_value:.4g}"


def _has_bound(certificate: Certificate) -> bool:
    """Return whether there was anything to be ruled out by a bound."""
    return certificate.exchanged > 0 and math.isfinite(certificate.bound)


def _origin(certificate: Certificate) -> str:
    """Return where the bound comes from."""
    exchanged = certificate.exchanged
    others = "any other" if exchanged == 1 else f"any {exchanged} others"
    return (
        f"lowest where {count(exchanged, 'feature')} would be exchanged; the singular value, "
        f"of the choice and {others}, comes from {certificate.source}"
    )


def _proof(certified: Certified) -> str:
    """Return how the verdict was found, or why there is none."""
    certificate = certified.certificate
    if certificate.status == "optimal":
        return _proof_of_the_best(certificate)
    if certificate.better is not None:
        how = "the better subset was found by"
        if certificate.proof == "search":
            return f"{how} the exact search: no other of this size fits better"
        by = "exchanging one feature" if certificate.swap else "the exact search"
        return f"{how} {by}; others may be better still"
    if certificate.reason:
        return f"none: {certificate.reason}"
    if certificate.exchanged == 0:
        return "none: leave out what adds nothing, and certify the rest"
    if len(certified.names) > MOST_COLUMNS:
        return f"none: the exact search takes at most {MOST_COLUMNS} candidates"
    if certified.time_limit == 0:
        return "none: --time-limit SECONDS allows an exact search"
    return f"none in {certified.time_limit:g} s of exact search: --time-limit SECONDS allows more"


def _proof_of_the_best(certificate: Certificate) -> str:
    if certificate.ties:
        return "by search: no other subset of this size fits better"
    if certificate.proof == "search":
        return "by search: every other subset of this size was looked at or ruled out"
    if certificate.exchanged == 0:
        return "there are no other columns to choose from"
    if math.isinf(certificate.bound):
        return "every exchange was looked at: no other choice of this size fits as well"
    return "by the bound: no other choice of at most as many features fits as well"


def _as_good(certified: Certified) -> str:
    """Return the choices that fit as well."""
    return shortened([f"({', '.join(certified.named(one))})" for one in certified.certificate.ties])


def _swaps(certified: Certified) -> Iterator[str]:
    """Yield what exchanging one feature for another can do, if that was looked at."""
    certificate = certified.certificate
    if certificate.swap_optimal:
        yield "no exchange of one feature for another fits better"
    if certificate.swap is not None:
        into, out = certified.named([certificate.swap.into, certificate.swap.out])
        part = certificate.swap.fall / certified.total / certified.total if certified.total else 0.0
        if math.isfinite(part) and part > 0:
            fall = numerals([certificate.swap.fall])[0]
            rise = f" and raises R² by {part:.2g}"
            yield f"{into} in place of {out} lowers the squared residual by {fall}{rise}"
        else:  # squares are out of range
            yield f"{into} in place of {out} lowers the residual"
