"""Results as text and as JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from reproduction import measure
from reproduction.benchmarks.answers import Answer
from reproduction.benchmarks.cases import Case
from reproduction.benchmarks.outcomes import Outcome, Results
from reproduction.benchmarks.peers import GEMVS
from reproduction.benchmarks.race import Measurement

PACKAGES = (
    *("numpy", "scipy", "numba", "spams-bin", "scikit-learn", "fastcan", "abess", "pysindy"),
    *("sklearn-rvm", "clarabel", "ecos", "spgl1", "pylops"),
)


# --- text


def case_text(case: Case, measurements: Iterable[Measurement]) -> str:
    """One line per contender: time, noise, time per step in GEMVs, and what the answers are worth.

    Size, passes and residual are those of the first problem, the rest is over all of them.
    """
    rows = list(measurements)
    gemvs = next((row.best for row in rows if row.contender == GEMVS), None)
    head = ["", "best", "noise", "samples", "GEMVs/step", "features", "passes", "squared residual"]
    head += ["support found", "mean log evidence", "mean test error", "peak memory"]
    lines = [head, *(_row(row, gemvs) for row in rows)]
    return f"\n{case.name}: {case.title}\n{_aligned(_filled(lines))}"


def _row(row: Measurement, gemvs: float | None) -> list[str]:
    if row.best is None:
        return [row.contender, f"failed: {row.failure}"]
    answer = row.answers[0] if row.answers else None
    return [
        row.contender,
        measure.duration(row.best),
        "" if row.noise is None else f"{row.noise:.2f}",
        str(len(row.samples) or ""),
        f"{row.best / gemvs:.2f}" if gemvs and row.contender != GEMVS else "",
        str(answer.support.size) if answer else "",
        "" if answer is None or answer.passes is None else str(answer.passes),
        f"{answer.squared_residual:.6e}" if answer else "",
        *_worth(row.answers),
        "" if row.memory is None else f"{percent(row.memory)} of the array",
    ]


def _worth(answers: Sequence[Answer]) -> list[str]:
    """Supports found, mean log evidence and mean test error."""
    found = [answer.recovered for answer in answers if answer.recovered is not None]
    evidence = [answer.log_evidence for answer in answers if answer.log_evidence is not None]
    errors = [answer.test_error for answer in answers if answer.test_error is not None]
    return [
        f"{sum(found)} of {len(found)}" if found else "",
        f"{statistics.mean(evidence):.3f}" if evidence else "",
        f"{statistics.mean(errors):.5g}" if errors else "",
    ]


def _filled(lines: Sequence[list[str]]) -> list[list[str]]:
    """Without the columns of which only the head is left."""
    full = [line for line in lines[1:] if len(line) == len(lines[0])]
    keep = [j < 2 or any(line[j] for line in full) for j in range(len(lines[0]))]
    return [[text for text, kept in zip(line, keep, strict=False) if kept] for line in lines]


def outcomes_text(found: Iterable[Outcome]) -> str:
    """One line per comparison, with the bound and the verdict where there is one."""
    head = ["case", "ours", "against", "ratio", "paired", "bound", "", "answers"]
    lines = [[*head, "squared residuals", "same supports"]]
    for one in found:
        c = one.comparison
        bound = "" if c.bound is None else f"{'<' if c.strict else '≤'} {c.bound:.4g}"
        ratio = f"failed: {one.failure}" if one.ratio is None else f"{one.ratio:.4f}"
        paired = "" if one.paired_ratio is None else f"{one.paired_ratio:.4f}"
        residuals = "" if one.residual_ratio is None else f"{one.residual_ratio:.9f}"
        same = f"{one.same_supports} of {one.problems}" if one.problems else ""
        figures = [ratio, paired, bound, one.verdict, one.answers, residuals, same]
        lines.append([c.case, c.ours, c.against, *figures])
    title = "ratios (ours ÷ theirs, same run): of the bests, and paired (median over the rounds)"
    return f"\n{title}\n{_aligned(lines)}"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest full row; a short row (a failure) may run over."""
    full = [line for line in lines if len(line) == len(lines[0])]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    padded = (
        "  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def percent(share: float) -> str:
    """A share, with a digit more where it is small."""
    return f"{100 * share:.{1 if share < 0.1 else 0}f} %"


def versions() -> str:
    """The packages that took part, with their versions."""
    found = measure.versions(PACKAGES)
    return ", ".join(f"{package} {version}" for package, version in found.items())


# --- JSON


def as_json(found: Iterable[Outcome], results: Results) -> str:
    """All figures, for machines."""
    return json.dumps(
        {
            "versions": versions(),
            "measurements": {
                case: [_plain(row) for row in rows.values()] for case, rows in results.items()
            },
            "comparisons": [
                {
                    **asdict(replace(one, case=None)),
                    "case": one.case.name,
                    "verdict": one.verdict,
                    "as_good": one.as_good,
                }
                for one in found
            ],
        },
        indent=1,
    )


def _plain(row: Measurement) -> dict[str, Any]:
    """A measurement without its answers but the first, which belongs to a timed problem."""
    plain = asdict(replace(row, answers=row.answers[:1]))
    for answer in plain["answers"]:
        answer["support"] = answer["support"].tolist()
    return {**plain, "problems": len(row.answers)}
