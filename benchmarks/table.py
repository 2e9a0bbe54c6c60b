"""Results as text, as Markdown and as JSON; and the verdict on what was to be reached."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import GEMVS, THOUSAND, Case, Comparison
from benchmarks.measure import Measurement
from benchmarks.peers import Answer

BEGIN = "<!-- benchmarks:begin -->"
END = "<!-- benchmarks:end -->"
AS_GOOD = 1 + 1e-6  # squared residuals, errors, or Σ|x|, this close in ratio are the same
SAME_EVIDENCE = 1e-2  # rises of the log evidence that sparsewise leaves, unless told otherwise
PACKAGES = (
    *("numpy", "numba", "spams-bin", "scikit-learn", "fastcan", "abess", "pysindy"),
    *("sklearn-rvm", "clarabel", "ecos", "spgl1"),
)

Results = Mapping[str, Mapping[str, Measurement]]  # case name -> contender name -> figures


@dataclass(frozen=True)
class Outcome:
    """A comparison with its figures; `ratio` is None where one side could not be measured."""

    comparison: Comparison
    title: str
    ratio: float | None = None  # of the bests
    paired_ratio: float | None = None  # median over the rounds: far from `ratio` means noise
    problems: int = 0  # solved by both
    same_supports: int = 0  # how many of these with the same support
    recovered: tuple[int, int] | None = None  # of these, the support behind the data found
    residual_ratio: float | None = None  # of the sums of squared residuals over these
    evidence_gain: float | None = None  # mean of the differences in log evidence over these
    error_ratio: float | None = None  # of the sums of test errors over these
    objective_ratio: float | None = None  # the largest of the ratios of Σ|x| over these
    excess: tuple[float, float] | None = None  # the largest over these, of the bound on ‖r‖
    failure: str | None = None

    @property
    def verdict(self) -> str:
        """Whether the bound was kept, and by answers as good."""
        if self.comparison.bound is None:
            return ""
        if self.ratio is None:
            return "not measured"
        bound = self.comparison.bound
        kept = self.ratio < bound if self.comparison.strict else self.ratio <= bound
        if kept and not self.as_good:
            return "reached in time, worse answer"
        return "reached" if kept else "missed"

    @property
    def as_good(self) -> bool:
        """Whether our answers are no worse by what this comparison judges them by."""
        judged = self.comparison.judged
        if self.problems == 0:
            return True
        if judged in ("residual", "evidence") and self.same_supports == self.problems:
            return True  # what is left is rounding, or where the iterations end
        if judged == "evidence":
            return self.evidence_gain is not None and self.evidence_gain >= -SAME_EVIDENCE
        if judged == "recovery":
            return self.recovered is not None and self.recovered[0] >= self.recovered[1]
        if judged == "error":
            return self.error_ratio is not None and self.error_ratio <= AS_GOOD
        if judged == "objective":
            if self.objective_ratio is None or self.excess is None:
                return False
            return self.objective_ratio <= AS_GOOD and 1 + self.excess[0] <= AS_GOOD
        return self.residual_ratio is None or self.residual_ratio <= AS_GOOD

    @property
    def answers(self) -> str:
        """Our answers beside theirs, as a reader would say it."""
        judged = self.comparison.judged
        if judged == "evidence" and self.evidence_gain is not None:
            gain = 0.0 if abs(self.evidence_gain) < SAME_EVIDENCE else self.evidence_gain
            same = "same log evidence" if gain == 0.0 else f"log evidence {gain:+.2f}"
            return f"{same}; {self._found}" if self.recovered and any(self.recovered) else same
        if judged == "recovery" and self.recovered:
            return self._found
        if judged == "error" and self.error_ratio is not None:
            return f"test error {self.error_ratio:.3f}"
        if judged == "objective" and self.objective_ratio is not None and self.excess:
            off = self.objective_ratio - 1
            norm = "no larger ℓ1 norm" if off <= AS_GOOD - 1 else f"ℓ1 norm larger by {off:.0e}"
            ours, theirs = (f"{e:.0e}" if e > 1e-9 else "0" for e in self.excess)
            return f"{norm}; bound exceeded by {ours} : {theirs}"
        if self.problems and self.same_supports == self.problems:
            return "same support"
        return "" if self.residual_ratio is None else f"squared residual {self.residual_ratio:.3g}"

    @property
    def _found(self) -> str:
        ours, theirs = self.recovered or (0, 0)
        return f"support found {ours} : {theirs} of {self.problems}"


def compare(comparison: Comparison, case: Case, results: Mapping[str, Measurement]) -> Outcome:
    """Put two contenders of one case side by side, on the problems that both have solved."""
    ours, other = results[comparison.ours], results[comparison.against]
    if ours.best is None or other.best is None:
        return Outcome(comparison, case.title, failure=ours.failure or other.failure)
    rounds = [a / b for a, b in zip(ours.samples, other.samples, strict=False)]
    pairs = list(zip(ours.answers, other.answers, strict=False))
    return Outcome(
        comparison,
        case.title,
        ratio=ours.best / other.best,
        paired_ratio=statistics.median(rounds) if rounds else None,
        problems=len(pairs),
        same_supports=sum(np.array_equal(a.support, b.support) for a, b in pairs),
        **_side_by_side(pairs),
    )


def _side_by_side(pairs: Sequence[tuple[Answer, Answer]]) -> dict[str, Any]:
    """What our answers and theirs are worth, as far as both sides can say."""

    def both(name: str) -> tuple[list[Any], list[Any]] | None:
        values = [(getattr(a, name), getattr(b, name)) for a, b in pairs]
        if not values or any(None in pair for pair in values):
            return None
        return [a for a, _ in values], [b for _, b in values]

    found: dict[str, Any] = {}
    if squares := both("squared_residual"):
        found["residual_ratio"] = sum(squares[0]) / sum(squares[1])
    if recovered := both("recovered"):
        found["recovered"] = (sum(recovered[0]), sum(recovered[1]))
    if evidence := both("log_evidence"):
        found["evidence_gain"] = statistics.mean(evidence[0]) - statistics.mean(evidence[1])
    if errors := both("test_error"):
        found["error_ratio"] = sum(errors[0]) / sum(errors[1])
    if objectives := both("objective"):
        found["objective_ratio"] = max(a / b for a, b in zip(*objectives, strict=True))
    if excess := both("excess"):
        found["excess"] = (max(excess[0]), max(excess[1]))
    return found


def outcomes(
    cases: Iterable[Case], comparisons: Sequence[Comparison], results: Results
) -> list[Outcome]:
    """All comparisons of the cases that were measured, in the order in which they were declared."""
    known = {case.name: case for case in cases}
    return [compare(c, known[c.case], results[c.case]) for c in comparisons if c.case in results]


# --- text


def case_text(case: Case, measurements: Iterable[Measurement]) -> str:
    """One line per contender: time, noise, time per step in GEMVs, and what the answers are worth.

    Size, passes and residual are those of the first problem, the rest is over all of them.
    """
    rows = list(measurements)
    gemvs = next((row.best for row in rows if row.contender == GEMVS), None)
    head = ["", "best", "noise", "samples", "GEMVs/step", "features", "passes", "squared residual"]
    head += ["support found", "mean log evidence", "mean test error"]
    lines = [head, *(_row(case, row, gemvs) for row in rows)]
    return f"\n{case.name}: {case.title}\n{_aligned(_filled(lines))}"


def _row(case: Case, row: Measurement, gemvs: float | None) -> list[str]:
    if row.best is None:
        return [row.contender, f"failed: {row.failure}"]
    answer = row.answers[0] if row.answers else None
    return [
        row.contender,
        _quantity(row.best, case.unit),
        "" if row.noise is None else f"{row.noise:.2f}",
        str(len(row.samples) or ""),
        f"{row.best / gemvs:.2f}" if gemvs and row.contender != GEMVS else "",
        str(answer.support.size) if answer else "",
        "" if answer is None or answer.passes is None else str(answer.passes),
        f"{answer.squared_residual:.6e}" if answer else "",
        *_worth(row.answers),
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
    head = [
        "case",
        "ours",
        "against",
        "ratio",
        "paired",
        "bound",
        "",
        "answers",
        "squared residuals",
        "same supports",
    ]
    lines = [head]
    for one in found:
        c = one.comparison
        lines.append(
            [c.case, c.ours, c.against]
            + ([f"failed: {one.failure}"] if one.ratio is None else [f"{one.ratio:.4f}"])
            + ["" if one.paired_ratio is None else f"{one.paired_ratio:.4f}"]
            + ["" if c.bound is None else f"{'<' if c.strict else '≤'} {c.bound:.4g}", one.verdict]
            + [one.answers]
            + ["" if one.residual_ratio is None else f"{one.residual_ratio:.9f}"]
            + [f"{one.same_supports} of {one.problems}" if one.problems else ""]
        )
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


def _quantity(value: float, unit: str) -> str:
    if unit == "B":
        return f"{value / 2**20:.1f} MiB"
    if value >= 1.0:
        return f"{value:.3g} s"
    return f"{1e3 * value:.3g} ms" if value >= 1e-3 else f"{1e6 * value:.3g} µs"


# --- Markdown


def markdown(found: Iterable[Outcome]) -> str:
    """The table of the README: ratios only, since absolute times do not travel."""
    lines = [
        "| problem | sparsewise | against | measured | answers | target |",
        "|---|---|---|---|---|---|",
    ]
    title = ""
    for one in found:
        lines.append(_markdown_row(one, "" if one.title == title else one.title))
        title = one.title
    return "\n".join([*lines, "", f"{METHOD} {versions()}."])


METHOD = (
    "Measured by `python -m benchmarks`: one thread, compilation outside the clock, contenders "
    "taking turns in one process, processor time, best of several, ratios from the same run. "
    "A GEMV is one product Aᵀv. Squared residual: ours over theirs, theirs refitted by least "
    "squares (64×128: over up to 1000 problems). `rmp`, `fast_sbl` and `sbl` are given σ "
    "where they don't infer it, as the others do. Log evidence: mean of ours minus theirs, by "
    "the dense formula at that σ. Support found: how often the columns "
    "behind the data were chosen, ours : theirs. Test error: mean square, ours over theirs. "
    "ℓ1 norm: of each problem's x, compared to 1e-6; ‖A x - y‖ ≤ 0.01 exceeded at most by, "
    "relatively, ours : theirs. Clarabel and ECOS run as they come; spgl1 with tolerances of 1e-6; "
    "`lars_path` on 10⁶ y, as it ends early on a target of norm one."
)


def _markdown_row(one: Outcome, title: str) -> str:
    c = one.comparison
    target = "" if c.bound is None else f"{_limit(c, c.bound)}: {one.verdict}"
    ratio = f"not measured ({one.failure})" if one.ratio is None else _words(c, one.ratio)
    return f"| {title} | `{c.ours}` | {c.against} | {ratio} | {one.answers} | {target} |"


def _words(c: Comparison, ratio: float) -> str:
    """A ratio as a reader would say it."""
    if c.against == GEMVS:
        return f"{ratio:.2f} GEMVs per step"
    if c.against == THOUSAND:
        return f"{1000 * ratio:,.0f} GEMVs"
    if c.case == "memory":
        return f"{100 * ratio:.1f} % of it"
    if ratio > 0.8:
        return f"{ratio:.2f}× the time"
    return f"{1 / ratio:.{0 if ratio < 0.1 else 1}f}× quicker"


def _limit(c: Comparison, bound: float) -> str:
    """A bound as a reader would say it."""
    if bound == 1.0 and c.strict:
        return "quicker"
    words = _words(c, bound)
    return f"at least {words}" if words.endswith("quicker") else f"at most {words}"


def versions() -> str:
    """The packages that took part, with their versions."""
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def rewrite_region(path: Path, text: str) -> None:
    """Replace what stands between the two markers of the file."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} lacks the markers {BEGIN} and {END}.")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


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
                {**asdict(one), "verdict": one.verdict, "as_good": one.as_good} for one in found
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
