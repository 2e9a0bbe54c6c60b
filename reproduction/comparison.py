"""Tables 1 and 2 beside the paper's values: which cells agree, and which do not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from reproduction.catalogue import DECLARED, is_among
from reproduction.declaration import Experiment
from reproduction.paper import EXPERIMENTS, PAPER
from reproduction.tables import Row as Result
from reproduction.tables import Z, succeeded, wilson

PAPER_TRIALS = 1024
"""Realisations behind each of the paper's values."""

ROUNDING = 0.005
"""How far a printed value may be from the rate behind it."""

EXPLANATIONS: dict[tuple[str, str, int | None], str] = {}
"""Why a cell differs, by experiment, contender and k; None for k: why a whole row does."""

NO_EXPLANATION = "no explanation"


class Compared(NamedTuple):
    """One cell here and in the paper.

    Attributes
    ----------
    experiment, label, k
        Which cell.
    successes, trials : int
        What was found here.
    paper : float
        The paper's rate, rounded to two decimals.
    """

    experiment: str
    label: str
    k: int
    successes: int
    trials: int
    paper: float

    @property
    def rate(self) -> float:
        """How often the support was recovered here."""
        return self.successes / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of Wilson for the rate here."""
        return wilson(self.successes, self.trials)

    @property
    def difference(self) -> float:
        """The rate here, less the paper's."""
        return self.rate - self.paper

    @property
    def variance(self) -> float:
        """Of the difference, if both rates are draws of one probability."""
        return float(_variance(self.successes, self.trials, self.paper))

    @property
    def margin(self) -> float:
        """The joint 95 % interval: how large a difference chance and rounding explain."""
        return Z * math.sqrt(self.variance) + ROUNDING

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the margin."""
        return abs(self.difference) <= self.margin

    @property
    def explanation(self) -> str:
        """Why it differs, where that is known."""
        return EXPLANATIONS.get((self.experiment, self.label, self.k), NO_EXPLANATION)


class Row(NamedTuple):
    """All cells of a contender: the mean difference, and what chance and rounding explain of it."""

    experiment: str
    label: str
    difference: float
    margin: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the margin."""
        return abs(self.difference) <= self.margin

    @property
    def explanation(self) -> str:
        """Why it differs, where that is known."""
        return EXPLANATIONS.get((self.experiment, self.label, None), NO_EXPLANATION)


def declared_in_paper(experiment: Experiment) -> bool:
    """Whether it is one of the paper's, perhaps made smaller; a name alone does not tell."""
    return is_among(experiment, EXPERIMENTS)


def kind_of(experiment: Experiment) -> str:
    """How it is shown: what is judged by what is known of it must be as it was declared."""
    return experiment.kind if is_among(experiment, DECLARED) else "rates"


def compared(results: Iterable[Result], experiment: str) -> list[Compared]:
    """Every cell of a table that was run, beside the paper's value."""
    sizes, paper = EXPERIMENTS[experiment].grid["k"], PAPER[experiment]
    found = []
    for row in succeeded(results, "rate"):
        label, k = row["algorithm"], row.get("k")
        if row["experiment"] == experiment and label in paper and k in sizes:
            printed = paper[label][sizes.index(k)]
            found.append(Compared(experiment, label, k, row["successes"], row["trials"], printed))
    return found


def rows(cells: Sequence[Compared]) -> list[Row]:
    """Contender by contender; small differences that all point one way show here."""
    found = []
    for label in dict.fromkeys(cell.label for cell in cells):
        mine = [cell for cell in cells if cell.label == label]
        mean = sum(cell.difference for cell in mine) / len(mine)
        # Different k are different draws, so variances add up.
        deviation = math.sqrt(sum(cell.variance for cell in mine)) / len(mine)
        found.append(Row(mine[0].experiment, label, mean, Z * deviation + ROUNDING))
    return found


def expected_outside(cells: Sequence[Compared]) -> float:
    """How many cells fall outside their margin on average if nothing but chance differs."""
    return sum(_chance_outside(cell) for cell in cells)


def _variance(successes: Any, trials: int, paper: Any) -> Any:
    pooled = (successes + PAPER_TRIALS * paper) / (trials + PAPER_TRIALS)
    return pooled * (1 - pooled) * (1 / trials + 1 / PAPER_TRIALS)


def _chance_outside(cell: Compared) -> float:
    """By adding up both binomial distributions, at the pooled rate, over all that is likely."""
    from scipy.stats import binom

    pooled = (cell.successes + PAPER_TRIALS * cell.paper) / (cell.trials + PAPER_TRIALS)
    here, there = _likely(cell.trials, pooled), _likely(PAPER_TRIALS, pooled)
    printed = np.round(there / PAPER_TRIALS, 2)[:, None]
    margins = Z * np.sqrt(_variance(here, cell.trials, printed)) + ROUNDING
    outside = np.abs(here / cell.trials - printed) > margins
    weights = np.outer(binom.pmf(there, PAPER_TRIALS, pooled), binom.pmf(here, cell.trials, pooled))
    return float(weights[outside].sum())


def _likely(trials: int, rate: float) -> Any:
    """Counts that are not too far from what is expected."""
    reach = 10 + 8 * math.sqrt(trials * rate * (1 - rate))
    least, most = max(0, trials * rate - reach), min(trials, trials * rate + reach)
    return np.arange(math.floor(least), math.ceil(most) + 1)


def sentences(cells: Sequence[Compared]) -> list[str]:
    """What the comparison comes to, in sentences."""
    if not cells:
        return ["No cell of this table was run to its end, so that nothing can be compared."]
    different = [cell for cell in cells if not cell.agrees]
    chance = expected_outside(cells)
    return [
        _count_sentence(len(cells), len(different)),
        f"By chance alone {chance:.1f} of {len(cells)} would be expected to fall outside: fewer "
        "than 5 %, because the paper's values are rounded and a rate of 0 or 1 hardly scatters. "
        "All algorithms see the same draws, so that their differences go together.",
        *(
            f"**{cell.label} at k = {cell.k} differs**: {cell.rate:.3f} here, {cell.paper:.2f} in "
            f"the paper, where {cell.margin:.3f} could be chance: {cell.explanation}."
            for cell in different
        ),
        *_row_sentences(rows(cells)),
        *_width_sentences(cells),
    ]


def _count_sentence(many: int, different: int) -> str:
    if many == 1:
        return f"The one cell {'differs from' if different else 'agrees with'} the paper."
    if different == 0:
        return f"**All {many} cells agree with the paper**: within the joint 95 % interval."
    return (
        f"**{many - different} of {many} cells agree with the paper**, {different} "
        f"{'lies' if different == 1 else 'lie'} outside the joint 95 % interval."
    )


def _row_sentences(found: Sequence[Row]) -> list[str]:
    off = [row for row in found if not row.agrees]
    if not off:
        return ["Nor is any algorithm off on average over all k."]
    return [
        f"On average over all k, {row.label} comes out "
        f"{'higher' if row.difference > 0 else 'lower'} than in the paper by "
        f"{abs(row.difference):.3f}, of which {row.margin:.3f} could be chance and rounding: "
        f"{row.explanation}."
        for row in off
    ]


def _width_sentences(cells: Sequence[Compared]) -> list[str]:
    fewest = min(cell.trials for cell in cells)
    if fewest >= PAPER_TRIALS / 4:
        return []
    widest = max(cell.margin for cell in cells)
    return [
        f"With {fewest} realisations a cell the intervals are wide, up to ±{widest:.2f}: that a "
        "cell agrees says little. The paper has 1,024."
    ]
