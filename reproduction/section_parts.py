"""What sections of a report are made of: tables by contender, claims and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reproduction.catalogue import DECLARED, is_among
from reproduction.claims import Claim
from reproduction.declaration import Experiment
from reproduction.document import Part, heading, items, note, plain, table
from reproduction.peers import absent
from sparsewise._util.text import count

NOTHING = "–"
"""Where a table has no value."""


class Section(NamedTuple):
    """What there is to say of an experiment.

    Attributes
    ----------
    headline : str
        All of it in one sentence.
    before, after : sequence of Part
        What stands before its figures, and after them.
    """

    headline: str
    before: Sequence[Part] = ()
    after: Sequence[Part] = ()


def smaller(experiment: Experiment) -> str:
    """What a quick look at an experiment of the package leaves out."""
    if not is_among(experiment, DECLARED):
        return ""
    whole = DECLARED[experiment.name]
    sizes = (
        (experiment.realizations, whole.realizations, "realisation"),
        (len(experiment.cells()), len(whole.cells()), "cell"),
    )
    said = [f"{count(n, what)} in place of {most:,}" for n, most, what in sizes if n < most]
    if not said:
        return ""
    return (
        f"Smaller than the whole experiment: {' and '.join(said)}. Intervals are wide, and what "
        "agrees or differs here may do so by chance."
    )


def by_label(
    rows: Mapping[str, Mapping[Any, str]], columns: Mapping[Any, str], *, texts: int = 1
) -> Part:
    """A table with a line for each contender; `columns` has the heads, the first `texts` words."""
    body = [
        [plain(label), *(cells.get(column, NOTHING) for column in columns)]
        for label, cells in rows.items()
    ]
    return table(["algorithm", *columns.values()], body, texts=texts)


def left_out(experiment: Experiment) -> list[Part]:
    """Who could not take part, and why."""
    present = {one.label for one in experiment.contenders}
    declared = DECLARED[experiment.name].contenders
    reasons = [absent(one) for one in declared if one.label not in present]
    return [note(f"{plain(reason)}.") for reason in reasons if reason]


# --- claims ---------------------------------------------------------------------------------------


class Words(NamedTuple):
    """How claims of one kind are told.

    Attributes
    ----------
    head, whose : str
        What stands above them, and before each.
    counted : tuple of str
        What one of them is called, and several.
    agrees, partly, differs : tuple of str
        What became of one: as a word, and in a sentence on one and on several.
    undecided : str
        The sentence where nothing can be told.
    """

    head: str
    whose: str
    counted: tuple[str, str]
    agrees: tuple[str, str, str]
    partly: tuple[str, str, str]
    differs: tuple[str, str, str]
    undecided: str

    def of(self, claim: Claim) -> tuple[str, str, str]:
        """What became of a claim that is decided."""
        if claim.agrees:
            return self.agrees
        return self.partly if claim.partly else self.differs


THE_PAPER = Words(
    head="What the paper says of it",
    whose="The paper",
    counted=("statement in the paper", "statements in the paper"),
    agrees=("Agrees", "agrees", "agree"),
    partly=("Agrees in part", "agrees in part", "agree in part"),
    differs=("Differs", "differs", "differ"),
    undecided="Too little was run to compare it with the paper.",
)
AIMS = Words(
    head="What it is to reach",
    whose="The aim",
    counted=("aim", "aims"),
    agrees=("Reached", "is reached", "are reached"),
    partly=("Reached in part", "is reached in part", "are reached in part"),
    differs=("Missed", "is missed", "are missed"),
    undecided="Too little was run to tell whether its aims are reached.",
)


def claimed(
    experiment: Experiment,
    parts: Sequence[Part],
    stated: Sequence[Claim],
    words: Words = THE_PAPER,
) -> Section:
    """A section that ends with what is claimed of it."""
    said = _count_claims(experiment, stated, words)
    return Section(said, after=[*parts, *claim_parts(stated, words)])


def claim_parts(stated: Sequence[Claim], words: Words = THE_PAPER) -> list[Part]:
    """Each claim, and what became of it."""
    lines = [
        f"**{UNTOLD if claim.agrees is None else words.of(claim)[0]}.** {words.whose}: "
        f"{claim.paper} Here: {claim.here}"
        for claim in stated
    ]
    return [heading(3, words.head), items(lines)] if lines else []


def _count_claims(experiment: Experiment, stated: Sequence[Claim], words: Words) -> str:
    decided = [claim for claim in stated if claim.agrees is not None]
    if not decided:
        return words.undecided
    found = Counter(words.of(claim) for claim in decided)
    said = ", ".join(
        f"{found[one]} {one[1 if found[one] == 1 else 2]}"
        for one in (words.agrees, words.partly, words.differs)
        if found[one]
    )
    few = " (a smaller run)" if smaller(experiment) else ""
    return f"Of {count(len(decided), *words.counted)}, {said}{few}."


UNTOLD = "Can't be told"
